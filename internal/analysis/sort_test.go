package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Spans come sorted, whatever the times.
func TestSortSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	var scratch []span
	for _, most := range []int64{1, 7, 2000, 1 << 20, 1 << 40, math.MaxInt64} {
		for _, n := range []int{0, 1, 100, radixMin, 5000} {
			s := make([]span, n)
			for i := range s {
				s[i] = span{from: r.Int64N(most), to: int64(i), rank: i % numRank}
				if i%3 == 0 && most == math.MaxInt64 {
					s[i].from = -s[i].from
				}
			}
			want := slices.Clone(s)
			slices.SortStableFunc(want, func(a, b span) int {
				switch {
				case a.from < b.from:
					return -1
				case a.from > b.from:
					return 1
				}
				return 0
			})
			scratch = sortSpans(s, scratch)
			for i := range s {
				if s[i].from != want[i].from {
					t.Fatalf("%d spans up to %d: %d at %d, want %d", n, most, s[i].from, i, want[i].from)
				}
			}
			slices.SortFunc(s, func(a, b span) int { return int(a.to - b.to) })
			for i := range s {
				if s[i].to != int64(i) {
					t.Fatalf("%d spans up to %d: one is lost", n, most)
				}
			}
		}
	}
}
