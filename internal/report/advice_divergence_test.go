package report

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/isa"
)

// walkedCode makes waves that run a kernel's code, 4 cycles an instruction: jump says which conditional branches are taken, by their number in the code and
// the round of the outer loop; a wave ends with s_endpgm.
func walkedCode(t *testing.T, file string, waves int, jump func(branch int, name string, round int) bool) *Hot {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o, err := codeobj.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	entry, size := o.Kernels[0].Entry, o.Kernels[0].Size
	var sites []analysis.Site
	code := map[uint64]isa.Inst{}
	site, branch := map[uint64]int32{}, map[uint64]int{}
	for pc := entry; pc < entry+size; {
		in, err := isa.Decode(isa.RDNA3, o.Bytes(pc))
		if err != nil {
			t.Fatal(err)
		}
		code[pc], site[pc] = in, int32(len(sites))
		sites = append(sites, analysis.SiteOf(analysis.Where{PC: pc}, &in))
		if strings.HasPrefix(in.Op.Name, "s_cbranch") {
			branch[pc] = len(branch)
		}
		pc += uint64(in.Size)
	}
	for i := range sites {
		sites[i].Kernel = 1
	}
	var list []wholeWave
	for n := range waves {
		w := wholeWave{Wave: analysis.Wave{Engine: 1, Slot: n}}
		at, round := int64(0), 0
		for pc := entry; ; at += 4 {
			in, ok := code[pc]
			if !ok || len(w.Insts) > 1<<16 {
				t.Fatalf("astray at %#x", pc)
			}
			w.Insts = append(w.Insts, analysis.Inst{Time: at, Dur: 4, Site: site[pc]})
			if in.Op.Class == isa.End {
				break
			}
			pc += uint64(in.Size)
			to, direct := in.Target(pc - uint64(in.Size))
			if b, conditional := branch[pc-uint64(in.Size)]; direct && (!conditional || jump(b, in.Op.Name, round)) {
				if to < pc {
					round++
				}
				pc = to
			}
		}
		w.Stop = at + 4
		list = append(list, w)
	}
	return newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100", partOf(list, sites), newCodeMap(isa.RDNA3, []*codeobj.Object{o}, []string{"divergent.co"}),
		[]hotKernel{noKernel, {"divergent", "divergent", 0}}, none(newQuality()))
}

// divergence speaks where waves run both sides of an if, and not of waves that run one, however deep they go.
func TestDivergence(t *testing.T) {
	const rounds = 50
	for _, c := range []struct {
		name  string
		jumps func(exec, round int) bool // whether a branch on the exec mask, by number in the code, is taken
		want  bool
	}{
		{"every path", func(int, int) bool { return false }, true},
		{"the deepest path alone", func(exec, _ int) bool { return exec > 2 }, false},
		{"the first sides alone, in turns with the second", func(exec, round int) bool { return (exec > 2) != (round%2 == 0) }, false},
		{"the second side alone", func(exec, _ int) bool { return exec < 4 }, false},
	} {
		h := walkedCode(t, "../../testdata/kernels/gfx1100/divergent.co", 2, func(branch int, name string, round int) bool {
			if !strings.HasPrefix(name, "s_cbranch_exec") {
				return branch > 0 && round >= rounds // the loop's end; the first guards the loop
			}
			return c.jumps(branch-2, round)
		})
		var spoke *Advice
		for _, a := range h.Advise() {
			if a.Rule == "divergence" {
				spoke = &a
			}
		}
		rows := h.Hotspots("branch", "cycles").Rows
		if top := strings.HasPrefix(rows[0].Name, "both sides of divergent.cl:13: s_cbranch_execz 43 at 0x18ec"); top != c.want || !c.want && len(rows) != 1 {
			t.Errorf("%s: by branch %+v", c.name, rows)
		}
		if (spoke != nil) != c.want {
			t.Errorf("%s: %+v", c.name, spoke)
		}
		if spoke != nil && (!strings.HasPrefix(spoke.Insn, "s_cbranch_execz") || !strings.Contains(spoke.Source, "divergent.cl:") || spoke.Cycles < h.Profile.Total.Cycles()/2 ||
			!strings.HasPrefix(spoke.Evidence, "100 of 100 executions at least run both sides of this if")) {
			t.Errorf("%s: %+v", c.name, spoke)
		}
	}
}

// Where the trace lacks executions of a branch, no more of them are told of than it has.
func TestThrough(t *testing.T) {
	h := walkedCode(t, "../../testdata/kernels/gfx1100/divergent.co", 2, func(branch int, name string, round int) bool {
		return !strings.HasPrefix(name, "s_cbranch_exec") && branch > 0 && round >= 50
	})
	s := h.codeSums()
	branch := s.bothWays().list[0].branch
	branch.Hits -= 10
	if x := s.bothWays().list[0]; x.branch != branch || x.through != 90 || branch.Hits != 90 {
		t.Errorf("%d of %d executions", x.through, branch.Hits)
	}
}

// Instructions belong to the first if around them, and count once, whichever way ifs overlap.
func TestOutermost(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		s := &codeSums{}
		for pc := range uint64(60) {
			if r.IntN(4) > 0 { // the others did not run
				s.list = append(s.list, &analysis.InstCost{Site: analysis.Site{Where: analysis.Where{Object: r.IntN(2), PC: 4 * pc}}, Cost: analysis.Cost{Issue: 1 + r.Int64N(9)}})
			}
		}
		slices.SortFunc(s.list, func(a, b *analysis.InstCost) int { return comparePlaces(a, b.Where) })
		ways := &bothWays{of: map[analysis.Where]int{}}
		for _, c := range s.list {
			if r.IntN(8) > 0 {
				continue
			}
			first := span{c.PC + 4, c.PC + 8 + 4*r.Uint64N(20)}
			ways.list = append(ways.list, sides{branch: c, of: [2]span{first, {first.to, first.to + 4*r.Uint64N(20)}}})
		}
		s.assign(ways)
		var cycles int64
		want := map[analysis.Where]int{}
		for _, c := range s.list {
			inside := false
			for n := range ways.list {
				x := &ways.list[n]
				in := c.Object == x.branch.Object && (x.of[0].has(c.PC) || x.of[1].has(c.PC))
				if _, ok := want[c.Where]; !ok && (in || c == x.branch) {
					want[c.Where] = n
				}
				inside = inside || in
			}
			if inside {
				cycles += c.Cycles()
			}
		}
		if !maps.Equal(ways.of, want) || ways.cycles != cycles {
			t.Fatalf("%d cycles, want %d; %v, want %v", ways.cycles, cycles, ways.of, want)
		}
	}
}
