package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plainMarker reads words without a function map; id 9 has two words of payload.
func plainMarker(v uint32, _ bool) Marker {
	m := Marker{ID: v >> 2, Enter: v&2 != 0, Exit: v&1 != 0}
	if m.ID == 9 {
		m.Payload = 2
	}
	return m
}

func TestSpans(t *testing.T) {
	enter := func(id uint32) uint32 { return id<<2 | 2 }
	const exit = 1
	for _, c := range []struct {
		name      string
		marks     []Mark
		want      []Span
		unmatched int
	}{
		{"nested", []Mark{{10, enter(1), false}, {20, enter(2), false}, {25, 3 << 2, true}, {30, exit, true}, {40, exit, true}}, []Span{
			{ID: 1, Start: 10, Stop: 40}, {ID: 2, Start: 20, Stop: 30, Depth: 1}, {ID: 3, Start: 25, Stop: 25, Depth: 2, Point: true},
		}, 0},
		{"exit and enter in one", []Mark{{10, enter(1), false}, {20, enter(2) | exit, false}, {30, exit, false}}, []Span{
			{ID: 1, Start: 10, Stop: 20}, {ID: 2, Start: 20, Stop: 30},
		}, 0},
		{"exits without a span", []Mark{{5, exit, false}, {10, enter(2) | exit, false}, {30, exit, false}, {31, exit, false}}, []Span{{ID: 2, Start: 10, Stop: 30}}, 3},
		{"open at the end", []Mark{{10, enter(1), false}, {20, enter(2), false}}, []Span{
			{ID: 1, Start: 10, Stop: 100, Open: true}, {ID: 2, Start: 20, Stop: 100, Depth: 1, Open: true},
		}, 0},
		{"payload", []Mark{{10, 9 << 2, false}, {11, exit, false}, {12, enter(1), false}, {13, enter(4), false}, {14, exit, false}}, []Span{
			{ID: 9, Start: 10, Stop: 10, Point: true, Payload: []uint32{exit, enter(1)}}, {ID: 4, Start: 13, Stop: 14},
		}, 0},
		{"reserved", []Mark{{10, 0, false}, {11, 2, false}, {12, 3, false}}, nil, 0},
	} {
		got, unmatched := Spans(c.marks, 100, plainMarker)
		if d := cmp.Diff(c.want, got); d != "" || unmatched != c.unmatched {
			t.Errorf("%s: %d unmatched, want %d; %s", c.name, unmatched, c.unmatched, d)
		}
	}
}

// Whatever the words are, spans nest.
func FuzzSpans(f *testing.F) {
	f.Add([]byte{6, 10, 12, 1, 1, 1, 36, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var marks []Mark
		for i, v := range b {
			marks = append(marks, Mark{Time: int64(i), Value: uint32(v)})
		}
		spans, unmatched := Spans(marks, int64(len(b)), plainMarker)
		if len(spans)+unmatched > 2*len(b) {
			t.Fatalf("%d spans of %d words", len(spans), len(b))
		}
		var stack []int64
		for _, s := range spans {
			if s.Stop < s.Start || s.Depth > len(stack) {
				t.Fatalf("%+v under %v", s, stack)
			}
			stack = stack[:s.Depth]
			if n := len(stack); n > 0 && s.Stop > stack[n-1] {
				t.Fatalf("%+v reaches out of a span that ends at %d", s, stack[n-1])
			}
			if !s.Point {
				stack = append(stack, s.Stop)
			}
		}
	})
}
