package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
)

// strays are the addresses where waves began that no code object holds, and how many waves began there: they say where the code that ran
// was loaded.
type strays map[uint64]int64

// maxStrays bounds the addresses that are kept: kernels are few, and a damaged stream makes up many.
const maxStrays = 64

func (s strays) add(pc uint64, code []loadedCode) {
	if pc == 0 || slices.ContainsFunc(code, func(c loadedCode) bool { return c.object != nil && pc >= c.lo && pc < c.hi }) {
		return
	}
	if _, ok := s[pc]; ok || len(s) < maxStrays {
		s[pc]++
	}
}

// join adds those of another stream.
func (s strays) join(t strays) {
	for pc, n := range t {
		s[pc] += n
	}
}

// note tells where waves began, and at which base code objects would have a kernel there.
func (s strays) note(q *Quality, code []loadedCode) {
	const few = 3
	if len(s) == 0 {
		return
	}
	order := slices.SortedFunc(maps.Keys(s), func(a, b uint64) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) })
	waves := int64(0)
	list := make([]string, 0, few)
	for i, pc := range order {
		waves += s[pc]
		if i < few {
			list = append(list, fmt.Sprintf("%#x", pc))
		}
	}
	at := strings.Join(list, ", ")
	if n := len(order) - len(list); n > 0 {
		at += fmt.Sprintf(" and %d more places", n)
	}
	var fits []string
	for i := range code {
		if c := &code[i]; c.object != nil {
			for _, base := range s.bases(c.object, few) {
				fits = append(fits, fmt.Sprintf("--code %s@%#x", c.name, base))
			}
		}
	}
	advice := "BASE in --code FILE@BASE is that less the address of the kernel in FILE ('rigprof asm FILE' shows it)"
	if len(fits) > 0 {
		advice = "a kernel would be there with " + strings.Join(fits, ", or ")
	}
	q.Note(capture.Warning, advice, "%s began at %s, where no code object is", Plural(waves, "wave"), at)
}

// loadAlign is what bases of code objects are multiples of: they are mapped by pages.
const loadAlign = 4096

// bases are where an object may have been loaded, as waves began at its kernels then: those that explain most waves first, and not many.
func (s strays) bases(o *codeobj.Object, limit int) []uint64 {
	votes := map[uint64]int64{}
	for pc, waves := range s {
		seen := map[uint64]bool{}
		for i := range o.Kernels {
			base := pc - o.Kernels[i].Entry
			if pc < o.Kernels[i].Entry || base%loadAlign != 0 || seen[base] {
				continue
			}
			seen[base] = true
			votes[base] += waves
		}
	}
	list := slices.SortedFunc(maps.Keys(votes), func(a, b uint64) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
	return list[:min(len(list), limit)]
}
