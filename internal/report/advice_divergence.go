package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/isa"
)

// maskReach is how many instructions before a branch the mask of its other side is made at most, elseReach how many behind the end of a side the
// branch around the else stands.
const (
	maskReach = 2
	elseReach = 8
)

// span is code that a branch jumps over.
type span struct{ from, to uint64 }

func (s span) has(pc uint64) bool { return pc >= s.from && pc < s.to }

// sides is an if and its else, each behind a branch on the exec mask.
type sides struct {
	branch  *analysis.InstCost
	of      [2]span
	through int64 // executions that went through both, at least
	cycles  int64
	line    string // of sidesLine
}

// bothWays are the ifs of which most executions run both sides, an outer one before those inside it.
type bothWays struct {
	list   []sides
	of     map[analysis.Where]int // of a branch and what is in its sides: the outermost such if
	cycles int64                  // in the sides of any
}

// codeSums are costs by place, of all kernels that ran the code.
type codeSums struct {
	h    *Hot
	list []*analysis.InstCost // by place
	sum  []int64              // cycles of those before each, and of all
	at   map[analysis.Where]*analysis.InstCost
}

func (h *Hot) codeSums() *codeSums {
	s := &codeSums{h: h, at: map[analysis.Where]*analysis.InstCost{}}
	for _, c := range h.Profile.Sorted(func(c *analysis.InstCost) int64 { return c.Cycles() }) {
		if x := s.at[c.Where]; x != nil {
			x.Cost.Add(c.Cost)
			continue
		}
		x := *c // its kernel is that with most cycles
		s.at[c.Where] = &x
		s.list = append(s.list, &x)
	}
	slices.SortFunc(s.list, func(a, b *analysis.InstCost) int { return comparePlaces(a, b.Where) })
	s.sum = make([]int64, len(s.list)+1)
	for i, c := range s.list {
		s.sum[i+1] = s.sum[i] + c.Cycles()
	}
	return s
}

func comparePlaces(c *analysis.InstCost, w analysis.Where) int {
	return cmp.Or(cmp.Compare(c.Object, w.Object), cmp.Compare(c.PC, w.PC))
}

// decode is the instruction at a place.
func (s *codeSums) decode(w analysis.Where) (isa.Inst, bool) {
	if w.Object < 0 || w.Object >= len(s.h.Objects) || s.h.Objects[w.Object] == nil {
		return isa.Inst{}, false
	}
	in, err := isa.DecodeLenient(s.h.arch, s.h.Objects[w.Object].Bytes(w.PC))
	return in, err == nil && in.Op != nil
}

// jumped is what a branch on an empty exec mask jumps over.
func jumped(in *isa.Inst, pc uint64) (span, bool) {
	if !strings.HasPrefix(in.Op.Name, "s_cbranch_execz") {
		return span{}, false
	}
	to, ok := in.Target(pc)
	return span{pc + uint64(in.Size), to}, ok && to > pc // else a loop's end
}

// otherSide finds the else of an if that ends at a place. Compilers begin it by turning the mask round, and branch around it unless it is short.
func (s *codeSums) otherSide(w analysis.Where) (span, bool) {
	turned := false
	for range elseReach {
		in, ok := s.decode(w)
		if !ok {
			break
		}
		name := in.Op.Name
		turned = turned || strings.HasPrefix(name, "s_and_not1_saveexec") || strings.HasPrefix(name, "s_andn2_saveexec") || strings.HasPrefix(name, "s_or_saveexec")
		if in.Op.Has(isa.FlagBranch) {
			x, ok := jumped(&in, w.PC)
			return x, ok && turned
		}
		w.PC += uint64(in.Size)
	}
	return span{}, false
}

// hits is how often the first instruction of a span ran.
func (s *codeSums) hits(object int, x span) int64 {
	if c := s.at[analysis.Where{Object: object, PC: x.from}]; c != nil {
		return c.Hits
	}
	return 0
}

// in is where in the list stands what ran in a span.
func (s *codeSums) in(object int, x span) (from, to int) {
	from, _ = slices.BinarySearchFunc(s.list, analysis.Where{Object: object, PC: x.from}, comparePlaces)
	to, _ = slices.BinarySearchFunc(s.list, analysis.Where{Object: object, PC: x.to}, comparePlaces)
	return from, max(from, to)
}

// bothWays looks for them once.
func (h *Hot) bothWays() *bothWays {
	if h.ifs == nil {
		h.ifs = h.codeSums().bothWays()
	}
	return h.ifs
}

func (s *codeSums) bothWays() *bothWays {
	ways := &bothWays{of: map[analysis.Where]int{}}
	sinceMask := maskReach // instructions since one that makes the mask of an else
	for _, c := range s.list {
		in, ok := s.decode(c.Where)
		if !ok {
			continue
		}
		if sinceMask++; strings.HasPrefix(in.Op.Name, "s_xor_b") {
			sinceMask = 0
		}
		first, ok := jumped(&in, c.PC)
		if !ok || sinceMask > maskReach {
			continue
		}
		second, ok := s.otherSide(analysis.Where{Object: c.Object, PC: first.to})
		if !ok {
			continue
		}
		through := s.hits(c.Object, first) + s.hits(c.Object, second) - c.Hits
		x := sides{branch: c, of: [2]span{first, second}, through: min(through, c.Hits)} // more where the trace lacks executions of the branch
		if 2*x.through < c.Hits {
			continue
		}
		for _, side := range x.of {
			from, to := s.in(c.Object, side)
			x.cycles += s.sum[to] - s.sum[from]
		}
		ways.list = append(ways.list, x)
	}
	s.assign(ways)
	return ways
}

// assign gives instructions to their outermost if. What has one is jumped over from then on, so that ifs in ifs take no more time.
func (s *codeSums) assign(ways *bothWays) {
	next := make([]int, len(s.list)+1) // by place in the list: itself, or one nearer to the next that is in no side yet
	for i := range next {
		next[i] = i
	}
	free := func(k int) int {
		for next[k] != k {
			next[k] = next[next[k]]
			k = next[k]
		}
		return k
	}
	give := func(w analysis.Where, n int) {
		if _, ok := ways.of[w]; !ok {
			ways.of[w] = n
		}
	}
	for n := range ways.list {
		x := &ways.list[n]
		give(x.branch.Where, n)
		for _, side := range x.of {
			from, to := s.in(x.branch.Object, side)
			for k := free(from); k < to; k = free(k) {
				give(s.list[k].Where, n)
				ways.cycles += s.list[k].Cycles()
				next[k] = k + 1
			}
		}
	}
}

// sidesLine is the line of an if: its branch's or, where that has none, that of the first instruction behind it.
func (h *Hot) sidesLine(x *sides) string {
	if x.line != "" {
		return x.line
	}
	at := h.Place(x.branch.Where)
	for w := x.branch.Where; !at.hasLine() && w.PC < x.of[0].to; w.PC += 4 {
		if p := h.Place(w); p.hasLine() {
			at = p
		}
	}
	x.line = at.Line()
	return x.line
}

// divergence looks for ifs whose both sides most executions run: the waves have lanes for each.
func divergence(h *Hot, r *Rule) []Advice {
	ways := h.bothWays()
	list, cycles := ways.list, ways.cycles
	if len(list) == 0 || !h.worth(cycles) {
		return nil
	}
	worst := &list[0]
	for i := range list {
		if list[i].cycles > worst.cycles {
			worst = &list[i]
		}
	}
	a := h.at(r, worst.branch, cycles, "%d of %d executions at least run both sides of this if: %d cycles (%s) in the sides of %s whose lanes went both ways, %d in this one's",
		worst.through, worst.branch.Hits, cycles, h.share(cycles), Plural(int64(len(list)), "if"), worst.cycles)
	a.Source = h.sidesLine(worst)
	return []Advice{a}
}

// branchGroup is the group of an instruction by branch: the outermost if that went both ways around it.
func (h *Hot) branchGroup(c *analysis.InstCost) (hotKey, HotRow) {
	ways := h.bothWays()
	n, ok := ways.of[c.Where]
	if !ok {
		return hotKey{object: -1}, HotRow{Name: "inside no if whose both sides are known to have run"}
	}
	x := &ways.list[n]
	b := x.branch.Where
	p := h.Place(b)
	return hotKey{object: b.Object, pc: b.PC, name: p.Text}, HotRow{
		Name:   fmt.Sprintf("both sides of %s: %s at %s", h.sidesLine(x), p.Text, addressOf(b)),
		Object: h.code.name(b.Object), Address: addressOf(b), Source: h.sidesLine(x), Class: className(x.branch.Class),
	}
}
