package analysis

import (
	"cmp"
	"slices"
)

// sortSpans sorts by begin.
func sortSpans(s []span) {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
}
