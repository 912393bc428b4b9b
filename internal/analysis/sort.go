package analysis

import (
	"cmp"
	"slices"
)

const (
	radixBits = 11
	radixMin  = 256 // fewer are sorted by comparing
)

// sortSpans sorts by begin, with a copy in scratch, which it gives back to be used again: a pass over the list for each 11 bits of the time
// between the first and the last.
func sortSpans(s, scratch []span) []span {
	if len(s) < radixMin {
		slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		return scratch
	}
	least, most := s[0].from, s[0].from
	for i := range s {
		least, most = min(least, s[i].from), max(most, s[i].from)
	}
	scratch = slices.Grow(scratch[:0], len(s))[:len(s)]
	from, to := s, scratch
	for shift := 0; shift < 64 && uint64(most-least)>>shift != 0; shift += radixBits {
		var count [1<<radixBits + 1]int
		for i := range from {
			count[uint64(from[i].from-least)>>shift&(1<<radixBits-1)+1]++
		}
		for i := range len(count) - 1 {
			count[i+1] += count[i]
		}
		for i := range from {
			k := uint64(from[i].from-least) >> shift & (1<<radixBits - 1)
			to[count[k]] = from[i]
			count[k]++
		}
		from, to = to, from
	}
	if &from[0] != &s[0] {
		copy(s, from)
	}
	return scratch
}
