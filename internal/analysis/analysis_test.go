package analysis

import (
	"math/rand/v2"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
)

// Two waves of one SIMD: the second's vector instructions hide the first's wait.
func TestHidden(t *testing.T) {
	sites := []Site{{Class: isa.Global}, {Class: isa.Wait}, {Class: isa.VALU}, {Class: isa.VALU}}
	waves := []Wave{
		{Stop: 30, Insts: []Inst{
			{0, 0, 2, 0},
			{2, 20, 21, 1}, // from 2 to 23
		}},
		{Slot: 1, Stop: 30, Insts: []Inst{{5, 0, 4, 2}, {9, 0, 4, 3}}}, // busy 5..13
	}
	p := Run(waves, sites)
	if c := p.Insts[1].Cost; c.Hidden != 8 || c.Stall != 20 || c.Issue != 1 || c.Idle != 7 {
		t.Errorf("wait: %+v", c)
	}
	if c := p.Insts[2].Cost; c.Hidden != 0 || c.Idle != 5 { // a load ran meanwhile, but it ranks lower
		t.Errorf("first vector instruction: %+v", c)
	}
	if c := p.Insts[0].Cost; c.Hidden != 0 {
		t.Errorf("load: %+v", c)
	}
	if p.Occupancy != 2 {
		t.Errorf("occupancy %v", p.Occupancy)
	}
}

// A wait for all but one load names the older of two.
func TestWaits(t *testing.T) {
	one := Waits{Load: 1, Store: -1, LDS: -1, Scalar: -1}
	sites := []Site{{Class: isa.Global, Adds: AddsLoad}, {Class: isa.Global, Adds: AddsLoad}, {Class: isa.Wait, Waits: one}}
	p := Run([]Wave{{Stop: 100, Insts: []Inst{{0, 0, 1, 0}, {1, 0, 1, 1}, {2, 60, 61, 2}}}}, sites)
	if c := p.Insts[0]; c.Loads != 1 || c.LatencySum != 63 {
		t.Errorf("first load: %+v", c)
	}
	if c := p.Insts[1]; c.Loads != 0 {
		t.Errorf("second load: %+v", c)
	}
	if c := p.Insts[2]; c.WaitedFor[0] != 61 || c.Drained != 1 {
		t.Errorf("wait: %+v", c)
	}
}

// Whatever the input, the parts add up to the waves' lives and hidden stays within them.
func TestConserved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		sites := make([]Site, 8)
		for i := range sites {
			sites[i].Class = isa.Class(r.IntN(20))
		}
		var waves []Wave
		var life int64
		for i := range 1 + r.IntN(6) {
			w := Wave{SIMD: r.IntN(2), Slot: i, Start: r.Int64N(50)}
			w.Stop = w.Start + r.Int64N(300)
			at := w.Start
			for range r.IntN(20) {
				at += r.Int64N(20) - 3 // overlaps happen
				stall := r.Int64N(10)
				w.Insts = append(w.Insts, Inst{at, int32(stall), int32(stall + r.Int64N(6)), int32(r.IntN(len(sites)))})
				at += stall
			}
			life += w.Stop - w.Start
			waves = append(waves, w)
		}
		p := Run(waves, sites)
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
