package analysis

import (
	"math/rand/v2"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
)

func pc(n uint64) Where { return Where{PC: n} }

// Two waves of one SIMD: the second's vector instruction hides the first's wait.
func TestHidden(t *testing.T) {
	waves := []Wave{
		{Stop: 30, Insts: []Inst{
			{pc(0), 0, 0, 2, isa.Global},
			{pc(8), 2, 20, 21, isa.Wait}, // from 2 to 23
		}},
		{Slot: 1, Stop: 30, Insts: []Inst{{pc(16), 5, 0, 4, isa.VALU}, {pc(20), 9, 0, 4, isa.VALU}}}, // busy 5..13
	}
	p := Run(waves)
	if c := p.Insts[pc(8)].Cost; c.Hidden != 8 || c.Stall != 20 || c.Issue != 1 || c.Idle != 7 {
		t.Errorf("wait: %+v", c)
	}
	if c := p.Insts[pc(16)].Cost; c.Hidden != 0 || c.Idle != 5 { // a load ran meanwhile, but it ranks lower
		t.Errorf("first vector instruction: %+v", c)
	}
	if c := p.Insts[pc(0)].Cost; c.Hidden != 0 {
		t.Errorf("load: %+v", c)
	}
}

// Whatever the input, the parts add up to the waves' lives and hidden stays within them.
func TestConserved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var waves []Wave
		var life int64
		for i := range 1 + r.IntN(6) {
			w := Wave{SIMD: r.IntN(2), Slot: i, Start: r.Int64N(50)}
			w.Stop = w.Start + r.Int64N(300)
			at := w.Start
			for range r.IntN(20) {
				at += r.Int64N(20) - 3 // overlaps happen
				stall := r.Int64N(10)
				w.Insts = append(w.Insts, Inst{pc(uint64(r.IntN(8))), at, stall, stall + r.Int64N(6), isa.Class(r.IntN(20))})
				at += stall
			}
			life += w.Stop - w.Start
			waves = append(waves, w)
		}
		p := Run(waves)
		var byInst, byWave Cost
		for _, c := range p.Insts {
			byInst.Add(c.Cost)
			if c.Hidden < 0 || c.Hidden > c.Cycles() {
				t.Fatalf("hidden %d of %d", c.Hidden, c.Cycles())
			}
		}
		byInst.Add(p.Idle)
		for _, c := range p.Waves {
			byWave.Add(c)
		}
		if byInst != p.Total || byWave != p.Total || p.Total.Cycles() != life {
			t.Fatalf("instructions %+v, waves %+v, total %+v, lives %d", byInst, byWave, p.Total, life)
		}
	}
}
