package count_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/pm4"
)

// mutation is a register write of a program that is left out or writes something else.
type mutation struct {
	stop bool // of the stop program, else of the start
	what string
	at   int // dword that is altered
	val  uint32
}

// nobodys are registers that hold what software likes. A write that is left out goes there, so that the packets take as long as ever: else what counts
// cycles would differ by that alone.
var nobodys = map[pm4.Op]string{pm4.OpSetUconfigReg: "SCRATCH_REG0", pm4.OpSetShReg: "COMPUTE_NOWHERE", pm4.OpCopyData: "SCRATCH_REG0"}

// mutations are all that is tried on a program: each write left out, of 0, of the opposite, of one bit less. The name of one tells what the next packet is,
// which a GRBM_GFX_INDEX is for.
func mutations(t *testing.T, tab *pm4.RegTable, words []uint32, stop bool) []mutation {
	t.Helper()
	var out []mutation
	named := 0 // of them
	before := func(next string) {
		for ; named < len(out); named++ {
			out[named].what += ", before " + next
		}
	}
	for p, err := range pm4.Packets(words) {
		if err != nil {
			t.Fatal(err)
		}
		nowhere, ok := tab.Lookup(nobodys[p.Op])
		if !ok {
			continue
		}
		program := "start: "
		if stop {
			program = "stop: "
		}
		add := func(what string, at int, val uint32) {
			out = append(out, mutation{stop, program + what, p.Off + at, val})
		}
		switch p.Op {
		case pm4.OpCopyData:
			if p.Body[0]>>8&0xf != 0 { // from a register
				before("a read of " + tab.Name(pm4.Reg(p.Body[1])))
				break
			}
			name := tab.Name(pm4.Reg(p.Body[3]))
			before(name)
			add(name+" from memory dropped", 4, uint32(nowhere))
		default:
			base := pm4.UconfigBase
			if p.Op == pm4.OpSetShReg {
				base = pm4.ShBase
			}
			name, v := tab.Name(base+pm4.Reg(p.Body[0])), p.Body[1]
			name = fmt.Sprintf("%s %#x", name, v)
			before(name)
			add(name+" dropped", 1, uint32(nowhere-base))
			var tried []uint32
			for _, x := range []uint32{0, ^v, v & (v - 1)} {
				if x != v && !slices.Contains(tried, x) {
					add(fmt.Sprintf("%s becomes %#x", name, x), 2, x)
					tried = append(tried, x)
				}
			}
		}
	}
	before("the end")
	return out
}

func (m *mutation) apply(words []uint32) []uint32 {
	w := slices.Clone(words)
	w[m.at] = m.val
	return w
}

// scene is what a counting program is tried on.
type scene struct {
	g        *gpu.GPU
	kernels  []string
	names    []string
	filtered bool
	opts     sim.Options
}

// play counts one run with a mutated program on a GPU that somebody left in a mess, and looks at what the program leaves behind. The
// result is all that could be seen.
func (s *scene) play(t *testing.T, m *mutation) string {
	g := openModel(t, s.g, s.opts)
	defer g.Close()
	info := g.Info()
	tab, err := pm4.RegsFor(info.GPU.GC)
	if err != nil {
		t.Fatal(err)
	}
	reg := func(names ...string) pm4.Reg {
		for _, n := range names {
			if r, ok := tab.Lookup(n); ok {
				return r
			}
		}
		t.Fatalf("no register %v", names)
		return 0
	}
	index, cntl := reg("GRBM_GFX_INDEX"), reg("CP_PERFMON_CNTL", "CP_PERFMON_CNTL_1")
	enable, ctrl, ctrl2 := reg("COMPUTE_PERFCOUNT_ENABLE"), reg("SQ_PERFCOUNTER_CTRL"), reg("SQ_PERFCOUNTER_CTRL2")
	letAll := func(w pm4.Stream) pm4.Stream {
		if info.GPU.Family == gpu.GFX9 {
			return w.SetUconfig(ctrl, 0xffff007f)
		}
		return w.SetUconfig(ctrl2, 0x1ffff)
	}
	var run []device.Part
	for _, k := range s.kernels {
		p, _ := g.load(k)
		run = append(run, p)
	}
	and := func(before, after []uint32) []device.Part {
		return slices.Concat([]device.Part{device.Words(before)}, run, []device.Part{device.Words(after)})
	}
	c := g.program(s.names...)
	if s.filtered {
		word := g.memory(64)
		f, err := perfctr.Filter(info.GPU, 8)
		if err != nil {
			t.Fatal(err)
		}
		word.Bytes[0], word.Bytes[1], word.Bytes[2] = byte(f), byte(f>>8), byte(f>>16)
		if c.start, err = perfctr.StartFiltered(info.GPU, c.l, int64(word.Addr)); err != nil {
			t.Fatal(err)
		}
		if c.stop, err = perfctr.StopFiltered(info.GPU, info.Live, c.l, int64(c.samples.Addr)); err != nil {
			t.Fatal(err)
		}
	}
	// Somebody's counters of other events run and hold values, everything else is off, one WGP is selected.
	mess := letAll(pm4.Stream(nil)).SetUconfig(ctrl, 0xffff007f).SetSh(enable, 1).SetUconfig(cntl, 0)
	if info.GPU.Family == gpu.GFX9 {
		mess = mess.SetUconfig(reg("SQ_PERFCOUNTER_MASK"), ^uint32(0)).SetUconfig(reg("RLC_PERFMON_CLK_CNTL"), 1)
	}
	for _, b := range []string{"SQ", "GL2C", "TCC", "GRBM"} {
		for i := range 16 {
			if r, ok := tab.Lookup(fmt.Sprintf("%s_PERFCOUNTER%d_SELECT", b, i)); ok {
				e := map[string]uint32{"SQ": 2, "GL2C": 1, "TCC": 1, "GRBM": 34}[b]
				if b == "SQ" && info.GPU.Family == gpu.GFX9 {
					e |= 0xf0ff000
				}
				mess = mess.SetUconfig(r, e)
			}
		}
	}
	mess = mess.SetUconfig(cntl, 1)
	after := pm4.Stream(nil).SetUconfig(ctrl, 0).SetUconfig(ctrl2, 0).SetSh(enable, 0)
	if info.GPU.Family == gpu.GFX9 {
		after = after.SetUconfig(reg("SQ_PERFCOUNTER_MASK"), 0).SetUconfig(reg("RLC_PERFMON_CLK_CNTL"), 0)
	}
	after = after.SetUconfig(cntl, 0x401).SetUconfig(index, 1<<2|1<<8)
	if err := g.run(and(mess, after)...); err != nil {
		t.Fatal(err)
	}
	start, stop := c.start, c.stop
	if m != nil && m.stop {
		stop = m.apply(stop)
	} else if m != nil {
		start = m.apply(start)
	}
	var seen strings.Builder
	if err := g.run(and(start, slices.Concat(pm4.Stream(nil).SetUconfig(index, 1<<2|1<<8), stop))...); err != nil {
		return err.Error()
	}
	fmt.Fprintln(&seen, values(c.samples.Bytes, 0, c.l.Bytes/8))
	// What was left: values that are still there; counting that goes on in one way or another.
	probe := g.memory(1 << 16)
	at := probe.Addr
	read := func(w pm4.Stream, names ...string) pm4.Stream {
		for _, n := range names {
			if r, ok := tab.Lookup(n); ok {
				w = w.CopyRegToMem(r, at, true)
				at += 4
			}
		}
		return w
	}
	look := func(w pm4.Stream) pm4.Stream {
		index0 := at
		w = read(w, "GRBM_GFX_INDEX")
		for e := range info.GPU.SEs {
			for a := range info.GPU.SAs {
				w = w.SetUconfig(index, uint32(e)<<16|uint32(a)<<8|1<<30)
				w = read(w, "SQ_PERFCOUNTER0_LO", "SQ_PERFCOUNTER1_LO", "SQ_PERFCOUNTER2_LO", "SQ_PERFCOUNTER3_LO")
			}
		}
		return read(w, "GL2C_PERFCOUNTER0_LO", "TCC_PERFCOUNTER0_LO", "GRBM_PERFCOUNTER0_LO").CopyMemToReg(index0, index)
	}
	parts := []device.Part{device.Words(look(nil))}
	gate := ctrl2
	if info.GPU.Family == gpu.GFX9 {
		gate = ctrl
	}
	for i := range 3 { // as it stands; with every VMID let through; with the queue's waves counted
		w, restore := pm4.Stream(nil), pm4.Stream(nil)
		if i > 0 && info.GPU.Family == gpu.GFX9 {
			w = w.SetUconfig(reg("RLC_PERFMON_CLK_CNTL"), 1)
		}
		switch i {
		case 1:
			w = letAll(w.CopyRegToMem(gate, at, true))
			restore = restore.CopyMemToReg(at, gate)
			at += 4
		case 2:
			w = w.SetSh(enable, 1)
		}
		parts = append(parts, and(w.SetUconfig(cntl, 1), slices.Concat(look(pm4.Stream(nil).SetUconfig(cntl, 0x402)), restore))...)
	}
	// A process that takes GRBM_GFX_INDEX as it is.
	parts = append(parts, and(look(letAll(pm4.Stream(nil).SetUconfig(cntl, 0).SetSh(enable, 1)).SetUconfig(cntl, 1)),
		look(pm4.Stream(nil).SetUconfig(cntl, 0x402)))...)
	if err := g.run(parts...); err != nil {
		return err.Error()
	}
	fmt.Fprintln(&seen, probe.Bytes[:at-probe.Addr])
	return seen.String()
}

var allMutations = flag.Bool("all-mutations", false, "try every mutation of the counting programs, not a sample")

// scenes are what the programs of a model of each kind are tried on.
func scenes(t *testing.T) []*scene {
	model := func(target string) *gpu.GPU {
		g, err := gpu.Lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	// Waves of another queue of the process, as many fewer on each WGP as to tell it from the others.
	own := []count.Load{other(8)}
	own[0].Period, own[0].Life, own[0].Skew = 120, 50, 17
	own[0].Stats.N[timing.StatCyclesTA] = 3 // CUs that the kernels leave idle are told apart too
	return []*scene{
		{
			g: model("gfx1100"), kernels: []string{"gather", "spmv"}, opts: sim.Options{Loads: own},
			names: []string{"SQ_WAVE_CYCLES", "SQ_WAVES", "SQ_INSTS_VALU", "SQ_BUSY_CYCLES", "GL2C_HIT", "GRBM_COUNT"},
		},
		{
			g: model("gfx1151"), kernels: []string{"reduce", "vadd"}, opts: sim.Options{Loads: own},
			names: []string{"SQ_WAVE_CYCLES", "SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU"},
		},
		{
			g: model("gfx1201"), kernels: []string{"reduce", "gather"}, filtered: true, opts: sim.Options{Loads: append(own, other(9))},
			names: []string{"SQ_WAVE_CYCLES", "SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_BUSY_CYCLES"},
		},
		{
			g: model("gfx90a"), kernels: []string{"gather", "spmv"}, opts: sim.Options{Unstable: true, Loads: own},
			names: []string{
				"SQ_WAVE_CYCLES", "SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQC_ICACHE_REQ", "SQC_ICACHE_HITS", "SQ_BUSY_CYCLES", "TCC_HIT", "TCC_REQ", "TCC_WRITE",
			},
		},
		{ // two dies have everything that eight have, in a quarter of the time
			g: twoDies(model("gfx942")), kernels: []string{"gather", "spmv"}, opts: sim.Options{Unstable: true, Loads: own},
			names: []string{"SQ_WAVE_CYCLES", "SQ_WAVES", "SQC_ICACHE_REQ", "SQC_ICACHE_HITS", "SQ_BUSY_CYCLES", "TCC_HIT", "TCC_BUSY", "TCC_WRITE", "TA_TA_BUSY"},
		},
		{
			g: twoDies(model("gfx950")), kernels: []string{"gather", "spmv"}, opts: sim.Options{Unstable: true, Loads: own},
			names: []string{"SQ_WAVE_CYCLES", "SQ_WAVES", "SQC_ICACHE_REQ", "SQC_ICACHE_HITS", "SQ_BUSY_CYCLES", "TCC_HIT", "TCC_BUSY", "TCC_WRITE", "TA_TA_BUSY"},
		},
	}
}

// all are the mutations of a scene's programs.
func (s *scene) all(t *testing.T) []mutation {
	t.Helper()
	tab, err := pm4.RegsFor(s.g.GC)
	if err != nil {
		t.Fatal(err)
	}
	g := openModel(t, s.g, s.opts)
	defer g.Close()
	c := g.program(s.names...)
	start, stop := c.start, c.stop
	if s.filtered {
		if start, err = perfctr.StartFiltered(s.g, c.l, 0); err != nil {
			t.Fatal(err)
		}
		if stop, err = perfctr.StopFiltered(s.g, g.Info().Live, c.l, 0); err != nil {
			t.Fatal(err)
		}
	}
	return append(mutations(t, tab, start, false), mutations(t, tab, stop, true)...)
}

// Every register write of the counting programs matters: left out or changed, the run fails or shows other values. At least 95 of 100 do; survivors
// lists the others, and one that it does not list fails, as does one that shows in spite of it. A sample is tried, the same each time; with
// -all-mutations all are (make mutations).
func TestMutations(t *testing.T) {
	sample := 24 // of a model
	switch {
	case *allMutations:
		sample = 1 << 30
	case slow:
		t.Skip("under the race detector: the runs meet no more goroutines than the other tests'")
	case testing.Short():
		sample = 4
	}
	models, tried, quiet := 0, 0, 0
	for _, s := range scenes(t) {
		t.Run(s.g.Target, func(t *testing.T) {
			all := s.all(t)
			named := map[string]int{}
			for _, m := range all {
				named[m.what]++
			}
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			want := s.play(t, nil)
			if again := s.play(t, nil); again != want {
				t.Fatalf("two runs differ:\n%s\n%s", want, again)
			}
			n := min(len(all), sample)
			missed, shown, sum := map[string]int{}, map[string]int{}, 0
			for i := range n {
				if s.play(t, &all[i]) == want {
					missed[all[i].what]++
					sum++
				} else {
					shown[all[i].what]++
				}
			}
			t.Logf("%d of %d mutations show, of %d that there are", n-sum, n, len(all))
			if *allMutations && 20*sum > n {
				t.Errorf("%d of %d mutations change nothing", sum, n)
			}
			expected := survivorsOf(s.g.Target)
			for _, what := range slices.Sorted(maps.Keys(missed)) {
				if may := expected[what].of(named[what]); missed[what] > may {
					t.Errorf("%s: %d of %d change nothing, want %d", what, missed[what], named[what], may)
				} else {
					t.Logf("%d of %d: %s: %s", missed[what], named[what], what, expected[what].why)
				}
			}
			for what, e := range expected {
				switch may := e.of(named[what]); {
				case named[what] == 0:
					t.Errorf("survivors has %q, which is no mutation", what)
				case shown[what] > named[what]-may:
					t.Errorf("%s: %d of %d show, want %d", what, shown[what], named[what], named[what]-may)
				}
			}
			models++
			tried += n
			quiet += sum
		})
	}
	if models == len(scenes(t)) && !testing.Short() && 20*quiet > tried { // of fewer the share says little
		t.Errorf("%d of %d mutations change nothing", quiet, tried)
	}
	t.Logf("%d of %d mutations show", tried-quiet, tried)
}

// twoDies is the first two dies of a model.
func twoDies(g *gpu.GPU) *gpu.GPU {
	g.Dies = 2
	g.Live = g.Live[:g.Engines()]
	return g
}
