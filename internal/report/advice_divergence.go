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
}

// codeSums are costs by place, of all kernels that ran the code.
type codeSums struct {
	h    *Hot
	list []*analysis.InstCost // by place
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
	slices.SortFunc(s.list, func(a, b *analysis.InstCost) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.PC, b.PC))
	})
	return s
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

// in calls f for what ran in a span.
func (s *codeSums) in(object int, x span, f func(*analysis.InstCost)) {
	i, _ := slices.BinarySearchFunc(s.list, analysis.Where{Object: object, PC: x.from}, func(c *analysis.InstCost, w analysis.Where) int {
		return cmp.Or(cmp.Compare(c.Object, w.Object), cmp.Compare(c.PC, w.PC))
	})
	for ; i < len(s.list) && s.list[i].Object == object && s.list[i].PC < x.to; i++ {
		f(s.list[i])
	}
}

// bothWays lists the ifs of which most executions run both sides, an outer one before those inside it.
func (h *Hot) bothWays() []sides {
	if !h.asked {
		h.ifs, h.asked = h.codeSums().bothWays(), true
	}
	return h.ifs
}

func (s *codeSums) bothWays() []sides {
	var list []sides
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
		x := sides{branch: c, of: [2]span{first, second}, through: s.hits(c.Object, first) + s.hits(c.Object, second) - c.Hits}
		if 2*x.through < c.Hits {
			continue
		}
		for _, side := range x.of {
			s.in(c.Object, side, func(i *analysis.InstCost) { x.cycles += i.Cycles() })
		}
		list = append(list, x)
	}
	return list
}

// sidesLine is the line of an if: its branch's or, where that has none, that of the first instruction behind it.
func (h *Hot) sidesLine(x *sides) string {
	at := h.Place(x.branch.Where)
	for w := x.branch.Where; !at.hasLine() && w.PC < x.of[0].to; w.PC += 4 {
		if p := h.Place(w); p.hasLine() {
			at = p
		}
	}
	return at.Line()
}

// divergence looks for ifs whose both sides most executions run: the waves have lanes for each.
func divergence(h *Hot, r *Rule) []Advice {
	list := h.bothWays()
	if len(list) == 0 {
		return nil
	}
	s := h.codeSums()
	inside := map[*analysis.InstCost]bool{}
	var cycles int64
	for i := range list {
		for _, side := range list[i].of {
			s.in(list[i].branch.Object, side, func(c *analysis.InstCost) {
				if !inside[c] {
					inside[c] = true
					cycles += c.Cycles()
				}
			})
		}
	}
	if !h.worth(cycles) {
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
	list := h.bothWays()
	for i := range list {
		x := &list[i]
		b := x.branch.Where
		if c.Where != b && (c.Object != b.Object || !x.of[0].has(c.PC) && !x.of[1].has(c.PC)) {
			continue
		}
		p := h.Place(b)
		return hotKey{object: b.Object, pc: b.PC, name: p.Text}, HotRow{
			Name:   fmt.Sprintf("both sides of %s: %s at %s", h.sidesLine(x), p.Text, addressOf(b)),
			Object: h.code.name(b.Object), Address: addressOf(b), Source: h.sidesLine(x), Class: className(x.branch.Class),
		}
	}
	return hotKey{object: -1}, HotRow{Name: "inside no if whose both sides ran"}
}
