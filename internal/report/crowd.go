package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/rigprof/rigprof/internal/sqtt"
)

// crowd counts how many waves of a stream ran at once, on the engine, on each unit and on each SIMD, while the waves come in the order they
// end. It keeps those that end behind the start of one that still runs.
type crowd struct {
	all   together
	units map[int]*together
	simds map[slot]*together
	steps steps
}

// together counts waves at once.
type together struct {
	waves int64 // in all
	most  int64 // at once
	lives int64 // the sum of their cycles
	busy  int64 // cycles in which any ran

	edges  []edge // not counted yet
	sorted int    // how many of them are in order, from the first on
	first  int64  // no edge is before
	n      int64
	last   int64
}

type edge struct {
	time int64
	step int64
}

// maxEdges bounds what one wave that never ends makes keep; with more, the most at once and the cycles are lower bounds.
const maxEdges = 1 << 20

// add takes waves that ended. Those that end later started at oldest or later.
func (c *crowd) add(ended []sqtt.Wave, oldest sqtt.Cycles) {
	if c.units == nil {
		c.units, c.simds = map[int]*together{}, map[slot]*together{}
	}
	for i := range ended {
		w := &ended[i]
		a, b := int64(w.Start), int64(w.Stop)
		c.all.add(a, b)
		at(c.units, int(w.CU)).add(a, b)
		at(c.simds, slot{cu: int(w.CU), simd: int(w.SIMD)}).add(a, b)
	}
	c.settle(int64(oldest))
}

func at[K comparable](m map[K]*together, k K) *together {
	t := m[k]
	if t == nil {
		t = &together{}
		m[k] = t
	}
	return t
}

func (c *crowd) settle(before int64) {
	c.all.settle(before, c.steps.add)
	before = max(before, c.all.last) // what the engine counted early the others do, or they would keep as much each
	for _, t := range c.units {
		t.settle(before, nil)
	}
	for _, t := range c.simds {
		t.settle(before, nil)
	}
}

// close counts what is left.
func (c *crowd) close() { c.settle(math.MaxInt64) }

func (t *together) add(start, stop int64) {
	t.waves++
	// Where edges were counted early, what comes behind counts from there on.
	start, stop = max(start, t.last), max(stop, t.last)
	if first := min(start, stop); first < t.first || len(t.edges) == 0 {
		t.first = first
	}
	t.edges = append(t.edges, edge{start, 1}, edge{stop, -1})
}

func (a edge) compare(b edge) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.step, b.step))
}

// sort puts the edges in order. Those that came since it was called last are mostly behind those before: they are put among them from the end on.
func (t *together) sort() {
	come := t.edges[t.sorted:]
	slices.SortFunc(come, edge.compare)
	if i, j := t.sorted, len(t.edges); i > 0 && len(come) > 0 && come[0].compare(t.edges[i-1]) < 0 {
		come = slices.Clone(come)
		for k := len(come); k > 0; j-- {
			if i > 0 && t.edges[i-1].compare(come[k-1]) > 0 {
				i--
				t.edges[j-1] = t.edges[i]
			} else {
				k--
				t.edges[j-1] = come[k]
			}
		}
	}
	t.sorted = len(t.edges)
}

// settle counts the edges before a time; step, which may be nil, gets the number of waves from then on.
func (t *together) settle(before int64, step func(time, n int64)) {
	if len(t.edges) == 0 || t.first >= before && len(t.edges) <= maxEdges {
		return
	}
	t.sort()
	k := 0
	for ; k < len(t.edges) && (t.edges[k].time < before || len(t.edges)-k > maxEdges); k++ {
		e := t.edges[k]
		if t.n > 0 {
			t.busy += e.time - t.last
			t.lives += t.n * (e.time - t.last)
		}
		t.n, t.last = t.n+e.step, e.time
		t.most = max(t.most, t.n)
		if step != nil {
			step(e.time, t.n)
		}
	}
	if k > len(t.edges)/2 {
		t.edges = append(t.edges[:0], t.edges[k:]...)
	} else { // many are left, and would be moved each time
		t.edges = t.edges[k:]
	}
	t.sorted = len(t.edges)
	if t.sorted > 0 {
		t.first = t.edges[0].time
	}
}

// maxSteps bounds the steps that are kept exactly.
const maxSteps = 1 << 16

// steps is how many waves ran over time: from each step's time on. Past maxSteps of them neighbours are joined: then n is the mean, and most the
// greatest, until the next step.
type steps struct {
	list []step
	per  int64 // cycles that a step lasts at least; 0: exact
}

type step struct {
	time int64
	n    float64
	most int64
}

func (s *steps) add(time, n int64) {
	if k := len(s.list) - 1; k >= 0 {
		last := &s.list[k]
		if last.time == time {
			last.n, last.most = float64(n), n
			return
		}
	}
	s.list = append(s.list, step{time, float64(n), n})
	if len(s.list) > 2*maxSteps {
		s.coarsen()
	}
}

// coarsen halves the list at least.
func (s *steps) coarsen() {
	span := s.list[len(s.list)-1].time - s.list[0].time
	s.per = max(2*s.per, 2*span/maxSteps, 1)
	out := s.list[:1]
	for i := 1; i < len(s.list); i++ {
		x, last := s.list[i], &out[len(out)-1]
		if i+1 == len(s.list) {
			out = append(out, x)
			break
		}
		end := s.list[i+1].time
		if end-last.time > s.per {
			out = append(out, x)
			continue
		}
		a, b := float64(x.time-last.time), float64(end-x.time)
		last.n = (last.n*a + x.n*b) / (a + b)
		last.most = max(last.most, x.most)
	}
	s.list = out
}
