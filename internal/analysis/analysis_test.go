package analysis

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rigprof/rigprof/internal/isa"
)

// runWhole gives waves to a Run at once.
func runWhole(waves []wholeWave, sites []Site) *Profile {
	r := NewRun()
	for _, s := range sites {
		r.AddSite(s)
	}
	for i := range waves {
		l := r.Begin(waves[i].Wave)
		r.Add(l, waves[i].Insts)
		r.End(l, waves[i].Stop)
	}
	return r.Close()
}

// Two waves of one SIMD: the second's vector instructions hide the first's wait.
func TestHidden(t *testing.T) {
	sites := []Site{{Class: isa.Global}, {Class: isa.Wait}, {Class: isa.VALU}, {Class: isa.VALU}}
	waves := []wholeWave{
		{Wave{Stop: 30}, []Inst{
			{0, 0, 2, 0},
			{2, 20, 21, 1}, // from 2 to 23
		}},
		{Wave{Slot: 1, Stop: 30}, []Inst{{5, 0, 4, 2}, {9, 0, 4, 3}}}, // busy 5..13
	}
	p := runWhole(waves, sites)
	if c := p.Insts[1].Cost; c.Hidden != 8 || c.Stall != 20 || c.Issue != 1 || c.Idle != 7 {
		t.Errorf("wait: %+v", c)
	}
	if c := p.Insts[2].Cost; c.Hidden != 0 || c.Idle != 5 { // a load ran meanwhile, but it ranks lower
		t.Errorf("first vector instruction: %+v", c)
	}
	if c := p.Insts[0].Cost; c.Hidden != 0 {
		t.Errorf("load: %+v", c)
	}
	if p.Occupancy() != 2 {
		t.Errorf("occupancy %v", p.Occupancy())
	}
}

// A wait for all but one load names the older of two.
func TestWaits(t *testing.T) {
	one := Waits{Load: 1, Store: -1, LDS: -1, Scalar: -1}
	sites := []Site{{Class: isa.Global, Adds: AddsLoad}, {Class: isa.Global, Adds: AddsLoad}, {Class: isa.Wait, Waits: one}}
	p := runWhole([]wholeWave{{Wave{Stop: 100}, []Inst{{0, 0, 1, 0}, {1, 0, 1, 1}, {2, 60, 61, 2}}}}, sites)
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

// A barrier lasts until its wave goes on, also where that shows long after other waves' times are settled.
func TestBarrier(t *testing.T) {
	sites := []Site{{Class: isa.Barrier}, {Class: isa.VALU}}
	r := NewRun()
	for _, s := range sites {
		r.AddSite(s)
	}
	a, b := r.Begin(Wave{}), r.Begin(Wave{Slot: 1})
	r.Add(a, []Inst{{10, 0, 1, 0}})
	r.Add(b, []Inst{{10, 0, 20, 1}, {40, 0, 30, 1}})
	r.Advance(100)
	r.Add(b, []Inst{{110, 0, 50, 1}})
	r.Advance(200)
	r.Add(a, []Inst{{150, 60, 70, 1}}) // ready at 150, issued at 210
	r.End(a, 230)
	r.End(b, 240)
	p := r.Close()
	if c := p.Insts[0].Cost; c.Stall != 140 || c.Issue != 0 || c.Hidden != 20+30+40 {
		t.Errorf("barrier: %+v", c)
	}
	if p.Total.Cycles() != 470 {
		t.Errorf("%d cycles", p.Total.Cycles())
	}
}

func randomWaves(r *rand.Rand) ([]wholeWave, []Site) {
	sites := make([]Site, 8)
	for i := range sites {
		sites[i] = Site{Where: Where{PC: uint64(i)}, Class: isa.Class(r.IntN(21)), Waits: noWaits}
		switch sites[i].Class {
		case isa.Wait:
			sites[i].Waits = Waits{int16(r.IntN(3)) - 1, -1, int16(r.IntN(3)) - 1, -1}
		case isa.Global, isa.LDS:
			sites[i].Adds = Counters(1 + r.IntN(7))
		}
	}
	var waves []wholeWave
	for i := range 1 + r.IntN(6) {
		w := wholeWave{Wave: Wave{SIMD: r.IntN(2), Slot: i, Start: r.Int64N(50)}}
		at := w.Start
		for range r.IntN(40) {
			at = max(w.Start, at+r.Int64N(20)-3) // overlaps happen
			stall := r.Int64N(10)
			w.Insts = append(w.Insts, Inst{at, int32(stall), int32(stall + r.Int64N(6)), int32(r.IntN(len(sites)))})
			at += stall
		}
		w.Stop = max(at, w.Start) + r.Int64N(30) // the last records may end after it
		waves = append(waves, w)
	}
	return waves, sites
}

// stream gives waves to a Run as a walk does: at random times what is certain by then.
func stream(r *rand.Rand, waves []wholeWave, sites []Site, done func(l *Life, i int)) *Profile {
	return streamInto(NewRun(), r, waves, sites, done)
}

func streamInto(run *Run, r *rand.Rand, waves []wholeWave, sites []Site, done func(l *Life, i int)) *Profile {
	for _, s := range sites {
		run.AddSite(s)
	}
	lives := make([]*Life, len(waves))
	given := make([]int, len(waves))
	gone := make([]bool, len(waves))
	which := map[int]int{}
	run.Done = func(l *Life) { done(l, which[l.N]) }
	for now := r.Int64N(60); ; now += r.Int64N(40) {
		left := false
		for i := range waves {
			w := &waves[i]
			if gone[i] || w.Start > now {
				left = left || !gone[i]
				continue
			}
			if lives[i] == nil {
				lives[i] = run.Begin(Wave{CU: w.CU, SIMD: w.SIMD, Slot: w.Slot, Start: w.Start})
			}
			if w.Stop <= now {
				run.Add(lives[i], w.Insts[given[i]:])
				run.End(lives[i], w.Stop)
				which[lives[i].N] = i
				gone[i] = true
				continue
			}
			left = true
			n := given[i]
			for n < len(w.Insts) && w.Insts[n].Time+int64(w.Insts[n].Stall) < now {
				n++
			}
			n = max(given[i], n-r.IntN(3))
			run.Add(lives[i], w.Insts[given[i]:n])
			given[i] = n
			ready, issue := now, now
			for _, in := range w.Insts[n:] {
				ready = min(ready, in.Time)
				issue = min(issue, in.Time+int64(in.Stall))
			}
			lives[i].Open(ready, issue)
		}
		run.Advance(now)
		if !left {
			return run.Close()
		}
	}
}

// A wave that is alone on its SIMD hides nothing, also where its instructions run into each other.
func TestAlone(t *testing.T) {
	sites := []Site{{Class: isa.VALU}, {Class: isa.Matrix}, {Class: isa.Global}, {Class: isa.SALU}}
	overlaps := []Inst{{0, 0, 8, 0}, {2, 1, 20, 1}, {4, 0, 40, 2}, {5, 0, 9, 3}, {6, 0, 60, 1}}
	p := runWhole([]wholeWave{{Wave{Stop: 80}, overlaps}}, sites)
	if p.Total.Hidden != 0 || p.Total.Cycles() != 80 {
		t.Errorf("%+v", p.Total)
	}
	r := rand.New(rand.NewPCG(3, 3))
	for n := range 200 {
		waves, sites := randomWaves(r)
		if p := runWhole(waves[:1], sites); p.Total.Hidden != 0 {
			t.Fatalf("run %d: %+v", n, p.Total)
		}
	}
	// Another wave's matrix instruction hides a vector one only while it runs itself, not while the one before it does.
	other := wholeWave{Wave{Slot: 1, Stop: 80}, []Inst{{0, 0, 30, 0}}}
	p = runWhole([]wholeWave{{Wave{Stop: 80}, overlaps[:2]}, other}, sites[:2])
	if h := p.Insts[0].Hidden; h != 14 { // from 8 to 22
		t.Errorf("%d hidden", h)
	}
}

// However a stream is cut, the sums are the plain reference's, and the parts add up to the waves' lives.
func TestStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 400 {
		waves, sites := randomWaves(r)
		want := newReference(waves, sites)
		got := make([]Cost, len(waves))
		p := stream(r, waves, sites, func(l *Life, i int) { got[i] = l.Cost })
		same := cmp.Options{cmpopts.IgnoreFields(InstCost{}, "rank"), cmp.AllowUnexported(Profile{}, InstCost{}, Timed{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(&want.Profile, p, same); diff != "" {
			t.Fatalf("run %d (-reference +stream):\n%s", n, diff)
		}
		if diff := cmp.Diff(want.waves, got); diff != "" {
			t.Fatalf("run %d, waves (-reference +stream):\n%s", n, diff)
		}
		if diff := cmp.Diff(&want.Profile, runWhole(waves, sites), same); diff != "" {
			t.Fatalf("run %d (-reference +at once):\n%s", n, diff)
		}
		var life int64
		byInst := p.Idle
		for i := range p.Insts {
			byInst.Add(p.Insts[i].Cost)
			if c := p.Insts[i].Cost; c.Hidden < 0 || c.Hidden > c.Cycles() {
				t.Fatalf("hidden %d of %d", c.Hidden, c.Cycles())
			}
		}
		for i := range waves {
			life += waves[i].Stop - waves[i].Start
		}
		if byInst != p.Total || p.Total.Cycles() != life {
			t.Fatalf("instructions %+v, total %+v, lives %d", byInst, p.Total, life)
		}
	}
}

// Past the bounds of memory cycles are still the waves' lives, and hidden ones a part of those that are.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	fewer := 0
	for n := range 300 {
		waves, sites := randomWaves(r)
		want := newReference(waves, sites)
		run := NewRun()
		run.maxPending, run.maxHistory = 5, 3
		p := streamInto(run, r, waves, sites, func(*Life, int) {})
		got, all := p.Total, want.Total
		if got.Hidden > all.Hidden {
			t.Fatalf("run %d: %d hidden, %d are", n, got.Hidden, all.Hidden)
		}
		if got.Hidden < all.Hidden {
			fewer++
		}
		if got.Hidden, all.Hidden = 0, 0; got != all {
			t.Fatalf("run %d: %+v, want %+v", n, got, all)
		}
	}
	if fewer == 0 {
		t.Error("the bounds were never reached")
	}
	// A record whose place never comes holds nothing up for ever.
	run := NewRun()
	run.maxPending = 100
	run.AddSite(Site{Class: isa.VALU})
	a, b := run.Begin(Wave{}), run.Begin(Wave{Slot: 1})
	for at := int64(0); at < 10000; at += 10 {
		run.Add(b, []Inst{{at, 0, 5, 0}})
		a.Open(1, 1)
		run.Advance(at + 10)
		if run.Pending() > 101 {
			t.Fatalf("%d records wait", run.Pending())
		}
	}
}

// Profiles of streams add up: the same place is one instruction, and waits name what they waited for.
func TestJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	waves, sites := randomWaves(r)
	a, b := runWhole(waves, sites), runWhole(waves, append([]Site{{Where: Where{PC: 99}, Class: isa.SALU}}, sites[1:]...))
	j := Join([]*Profile{a, b})
	if j.Total.Cycles() != a.Total.Cycles()+b.Total.Cycles() || j.Waves != a.Waves+b.Waves || len(j.Insts) != len(sites)+1 {
		t.Errorf("%d cycles, %d waves, %d instructions", j.Total.Cycles(), j.Waves, len(j.Insts))
	}
	var sum Cost
	for i := range j.Insts {
		sum.Add(j.Insts[i].Cost)
	}
	sum.Add(j.Idle)
	if sum != j.Total {
		t.Errorf("instructions %+v, total %+v", sum, j.Total)
	}
	// b's site 2 is j's site 2 again, moved by none, its site 0 the last one.
	if c := j.Insts[2]; c.Hits != a.Insts[2].Hits+b.Insts[2].Hits {
		t.Errorf("%d hits of site 2", c.Hits)
	}
}

// What the waves of two kernels ran in a function that both call stays apart.
func TestJoinKernels(t *testing.T) {
	site := func(kernel int32) Site { return Site{Where: Where{PC: 8}, Kernel: kernel, Class: isa.VALU} }
	one := func(s Site, stop int64) *Profile {
		return runWhole([]wholeWave{{Wave{Stop: stop}, []Inst{{0, 0, 4, 0}}}}, []Site{s})
	}
	j := Join([]*Profile{one(site(2), 10), one(site(1), 20), one(site(2), 30)})
	if len(j.Insts) != 2 || j.Insts[0].Kernel != 1 || j.Insts[0].Cycles() != 20 || j.Insts[1].Kernel != 2 || j.Insts[1].Cycles() != 40 {
		t.Errorf("%+v", j.Insts)
	}
}
