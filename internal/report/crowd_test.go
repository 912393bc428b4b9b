package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/sqtt"
)

// However waves are cut into pieces, as many are together as a plain count says.
func TestCrowd(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for range 200 {
		var waves []sqtt.Wave
		for range r.IntN(60) {
			start := r.Int64N(300)
			waves = append(waves, sqtt.Wave{Start: sqtt.Cycles(start), Stop: sqtt.Cycles(start + r.Int64N(80)), CU: uint8(r.IntN(2)), SIMD: uint8(r.IntN(2))})
		}
		slices.SortStableFunc(waves, func(a, b sqtt.Wave) int { return int(a.Stop - b.Stop) }) // as they end
		var c crowd
		for rest := waves; ; {
			n := min(r.IntN(9), len(rest))
			oldest := sqtt.Cycles(math.MaxInt64)
			for _, w := range rest[n:] {
				oldest = min(oldest, w.Start)
			}
			c.add(rest[:n], oldest)
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
		}
		c.close()
		check := func(name string, got *together, in func(w *sqtt.Wave) bool) {
			most, lives, busy, n := int64(0), int64(0), int64(0), int64(0)
			for at := range int64(400) {
				now := int64(0)
				for i := range waves {
					if w := &waves[i]; in(w) && int64(w.Start) <= at && at < int64(w.Stop) {
						now++
					}
				}
				most, lives = max(most, now), lives+now
				if now > 0 {
					busy++
				}
			}
			for i := range waves {
				if in(&waves[i]) {
					n++
				}
			}
			if got.waves != n || got.lives != lives || got.busy != busy || got.most != most && lives > 0 {
				t.Fatalf("%s: %d waves, most %d, lives %d, busy %d; want %d, %d, %d, %d", name, got.waves, got.most, got.lives, got.busy, n, most, lives, busy)
			}
		}
		check("engine", &c.all, func(*sqtt.Wave) bool { return true })
		for cu, x := range c.units {
			check("unit", x, func(w *sqtt.Wave) bool { return int(w.CU) == cu })
		}
		for s, x := range c.simds {
			check("SIMD", x, func(w *sqtt.Wave) bool { return int(w.CU) == s.cu && int(w.SIMD) == s.simd })
		}
	}
}

// Steps that are too many become means and maxima over pieces of time: the area stays, the greatest too.
func TestSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	var s steps
	var at, n, most int64
	area := 0.0
	const many = 5 * maxSteps
	for range many {
		d := 1 + r.Int64N(40)
		area += float64(n * d)
		at += d
		n = max(0, n+r.Int64N(7)-3)
		most = max(most, n)
		s.add(at, n)
	}
	got, top := 0.0, int64(0)
	for i, x := range s.list {
		top = max(top, x.most)
		if i+1 < len(s.list) {
			got += x.n * float64(s.list[i+1].time-x.time)
		}
	}
	if len(s.list) > 2*maxSteps || top != most || s.list[0].time < 0 || got < area*.999 || got > area*1.001 || s.list[len(s.list)-1].time != at {
		t.Errorf("%d steps, most %d of %d, area %.0f of %.0f, to %d of %d", len(s.list), top, most, got, area, s.list[len(s.list)-1].time, at)
	}
}

// A wave that never ends bounds what is kept of the others: by unit and by SIMD no more than of the whole engine.
func TestCrowdBounded(t *testing.T) {
	var c crowd
	const many, piece, units = 3 * maxEdges / 2, 1 << 18, 4
	for n := int64(0); n < many; n += piece {
		var waves []sqtt.Wave
		for i := n; i < n+piece; i++ {
			waves = append(waves, sqtt.Wave{Start: sqtt.Cycles(i), Stop: sqtt.Cycles(i + 2), CU: uint8(i % units)})
		}
		c.add(waves, 0)
	}
	kept := 0
	for _, u := range c.units {
		kept += len(u.edges)
	}
	if len(c.all.edges) > maxEdges || kept > maxEdges+units {
		t.Errorf("%d edges of the engine are kept, %d of its units, at most %d", len(c.all.edges), kept, maxEdges)
	}
	c.close()
	if c.all.waves != many || c.all.most != 2 {
		t.Errorf("%d waves, %d at once", c.all.waves, c.all.most)
	}
}

// Edges that come later are put among those before; nothing is put in order before anything can be counted: a stream of which one wave never ends
// would be sorted again with each piece.
func TestCrowdOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 3))
	for range 300 {
		var x together
		var want []edge
		for range 1 + r.IntN(4) {
			for range r.IntN(12) {
				at := r.Int64N(50)
				x.add(at, at+r.Int64N(30))
			}
			want = slices.Clone(x.edges)
			slices.SortFunc(want, edge.compare)
			x.sort()
			if !slices.Equal(x.edges, want) || x.sorted != len(want) {
				t.Fatalf("%v, want %v", x.edges, want)
			}
		}
	}
	var x together
	x.add(5, 9)
	x.add(7, 8)
	if x.settle(5, nil); x.sorted != 0 || len(x.edges) != 4 {
		t.Errorf("nothing can be counted: %+v", x)
	}
	if x.settle(8, nil); x.sorted != 2 || x.first != 8 || x.n != 2 {
		t.Errorf("%+v", x)
	}
}
