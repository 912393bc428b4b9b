package perfctr

import (
	"fmt"
	"slices"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Plan splits counters and metrics into passes that a GPU can count at once: each pass is names for NewLayout. Every counter is measured
// once; a level counter that is summed over time stands before its accumulator, one such pair in a pass, since the accumulator's name
// may be listed once. What is asked for first comes in the earliest pass with room.
func Plan(g *gpu.GPU, names []string) ([][]string, error) {
	var needs []Need
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return nil, fmt.Errorf("%s is listed twice", n)
		}
		ns, err := Needs(g, n)
		if err != nil {
			return nil, err
		}
		for _, n := range ns {
			if !slices.Contains(needs, n) {
				needs = append(needs, n)
			}
		}
	}
	t := tableOf(g.Target)
	accumulator := accumulatorOf(g)
	var passes []pass
	// Pairs first: they need two registers side by side.
	for _, level := range []bool{true, false} {
		for _, n := range needs {
			if n.Level != level || !level && slices.ContainsFunc(passes, func(p pass) bool { return slices.Contains(p.names, n.Name) && n.Name != accumulator }) {
				continue
			}
			add := []string{n.Name}
			if level {
				add = append(add, accumulator)
			}
			passes = place(passes, t, add)
		}
	}
	out := make([][]string, len(passes))
	for i := range passes {
		out[i] = passes[i].names
	}
	return out, nil
}

type pass struct {
	names []string
	used  map[uint8]int // registers of a block
}

// place puts names that belong together into the first pass that has room for them and none of them.
func place(passes []pass, t *counterTable, names []string) []pass {
	block := t.find(names[0]).block
	for i := range passes {
		p := &passes[i]
		if p.used[block]+len(names) > int(t.blocks[block].counters) || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(p.names, n) }) {
			continue
		}
		p.names = append(p.names, names...)
		p.used[block] += len(names)
		return passes
	}
	return append(passes, pass{names: slices.Clone(names), used: map[uint8]int{block: len(names)}})
}
