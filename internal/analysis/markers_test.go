package analysis

import (
	"math/rand/v2"
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

// Words arrive late by different times; the clock in them says when they were sent, but for a constant.
func TestUndelay(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	const bits, shift, offset = 12, 3, 987654321
	var sent, arrived []int64
	var clocks []uint32
	at := int64(1000)
	least := int64(1 << 40)
	for range 300 {
		at += r.Int64N(5000) &^ 7 // beyond the clock's range in all
		delay := 16 + r.Int64N(2000)&^7
		least = min(least, delay)
		sent, arrived = append(sent, at), append(arrived, at+delay)
		clocks = append(clocks, uint32((at+offset)>>shift)&(1<<bits-1))
	}
	most := Undelay(arrived, clocks, bits, shift)
	for i := range sent {
		if d := arrived[i] - sent[i] - least; d < -8 || d > 8 {
			t.Fatalf("word %d at %d, sent at %d, the least delay is %d", i, arrived[i], sent[i], least)
		}
	}
	if most < 1500 || most > 2010 {
		t.Errorf("%d cycles at most", most)
	}
	if n := Undelay(nil, nil, bits, shift); n != 0 {
		t.Errorf("%d", n)
	}
}
