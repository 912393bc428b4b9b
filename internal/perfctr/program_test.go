package perfctr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/pm4"
)

// machine executes a counting program: registers by name and the GRBM_GFX_INDEX they were written under, stores by address.
type machine struct {
	tab    *pm4.RegTable
	writes []string           // in order, "REG=value" with @index unless all is selected
	stores map[uint64]string  // address -> "die/index/REG" or "0"
	reads  map[uint64]pm4.Reg // memory -> register
	bad    []string
}

func run(t testing.TB, g *gpu.GPU, words []uint32) *machine {
	t.Helper()
	tab, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{tab: tab, stores: map[uint64]string{}, reads: map[uint64]pm4.Reg{}}
	sel := make([]uint32, g.Dies)
	predEnd, predMask := 0, uint32(0)
	complain := func(format string, args ...any) { m.bad = append(m.bad, fmt.Sprintf(format, args...)) }
	for p, err := range pm4.Packets(words) {
		if err != nil {
			complain("%v", err)
			return m
		}
		mask := uint32(1)<<g.Dies - 1
		if p.Off < predEnd {
			mask = predMask
			if p.Off+len(p.Raw) > predEnd {
				complain("PRED_EXEC ends inside the packet at %d", p.Off)
			}
		}
		die := 0
		for d := range g.Dies {
			if mask>>d&1 != 0 {
				die = d
			}
		}
		switch p.Op {
		case pm4.OpPredExec:
			predMask, predEnd = p.Body[0]>>24, p.Off+2+int(p.Body[0]&0x3fff)
		case pm4.OpSetUconfigReg, pm4.OpSetShReg:
			base := pm4.UconfigBase
			if p.Op == pm4.OpSetShReg {
				base = pm4.ShBase
			}
			name := tab.Name(base + pm4.Reg(p.Body[0]))
			if name == "" {
				complain("no register %#x", p.Body[0])
			}
			if name == "GRBM_GFX_INDEX" {
				for d := range sel {
					if mask>>d&1 != 0 {
						sel[d] = p.Body[1]
					}
				}
				continue
			}
			w := fmt.Sprintf("%s=%#x", name, p.Body[1])
			if sel[die] != everything {
				w += fmt.Sprintf("@%#x", sel[die])
			}
			m.writes = append(m.writes, w)
		case pm4.OpWriteData:
			at := uint64(p.Body[1]) | uint64(p.Body[2])<<32
			if p.Body[0] != 0x100500 {
				complain("WRITE_DATA control %#x", p.Body[0])
			}
			for i, v := range p.Body[3:] {
				m.put(at+4*uint64(i), fmt.Sprint(v), complain)
			}
		case pm4.OpCopyData:
			src, dst := uint64(p.Body[1])|uint64(p.Body[2])<<32, uint64(p.Body[3])|uint64(p.Body[4])<<32
			switch p.Body[0] {
			case 0x100204, 0x100200: // performance counter or register to memory, confirmed
				if src>>32 != 0 {
					complain("register %#x", src)
				}
				m.put(dst, fmt.Sprintf("%d/%#x/%s", die, sel[die], tab.Name(pm4.Reg(src))), complain)
			case 0x100402: // memory to performance counter register
				m.reads[src] = pm4.Reg(dst)
				m.writes = append(m.writes, tab.Name(pm4.Reg(dst))+"=memory")
			default:
				complain("COPY_DATA control %#x", p.Body[0])
			}
		case pm4.OpEventWrite:
			m.writes = append(m.writes, tab.EventName(p.Body[0]))
		case pm4.OpAcquireMem:
			m.writes = append(m.writes, "ACQUIRE_MEM")
		default:
			complain("packet %v", p.Op)
		}
	}
	for d := range sel {
		if sel[d] != everything {
			complain("die %d is left with GRBM_GFX_INDEX %#x", d, sel[d])
		}
	}
	return m
}

func (m *machine) put(at uint64, what string, complain func(string, ...any)) {
	if _, ok := m.stores[at]; ok {
		complain("two stores to %#x", at)
	}
	m.stores[at] = what
}

func check(t *testing.T, m *machine) {
	t.Helper()
	for _, b := range m.bad {
		t.Error(b)
	}
}

func TestStart(t *testing.T) {
	for _, tc := range []struct {
		gpu, names string
		want       string
	}{
		{"gfx1100", "SQ_WAVES GRBM_GUI_ACTIVE SQ_INSTS_VALU GL2C_HIT", `CS_PARTIAL_FLUSH ACQUIRE_MEM CP_PERFMON_CNTL=0x0 SQ_PERFCOUNTER_CTRL=0x55
			SQ_PERFCOUNTER_CTRL2=0x1ffff SQ_PERFCOUNTER0_SELECT=0x4 GRBM_PERFCOUNTER0_SELECT=0x2 SQ_PERFCOUNTER2_SELECT=0x3e GL2C_PERFCOUNTER0_SELECT=0x2a
			COMPUTE_PERFCOUNT_ENABLE=0x1 CP_PERFMON_CNTL=0x1 CS_PARTIAL_FLUSH`},
		{"gfx942", "SQ_WAVES SQ_BUSY_CYCLES TCC_HIT CPC_CPC_STAT_BUSY", `CS_PARTIAL_FLUSH ACQUIRE_MEM RLC_PERFMON_CLK_CNTL=0x1 CP_PERFMON_CNTL=0x0 SQ_PERFCOUNTER_MASK=0xffffffff
			SQ_PERFCOUNTER_CTRL=0xffff007f SQ_PERFCOUNTER0_SELECT=0xf0ff004 SQ_PERFCOUNTER1_SELECT=0xf0ff003 TCC_PERFCOUNTER0_SELECT=0x11 CPC_PERFCOUNTER0_SELECT=0x19
			COMPUTE_PERFCOUNT_ENABLE=0x1 CP_PERFMON_CNTL=0x1 CS_PARTIAL_FLUSH`},
		{"gfx90a", "TCC_HIT", `CS_PARTIAL_FLUSH ACQUIRE_MEM RLC_PERFMON_CLK_CNTL=0x1 CP_PERFMON_CNTL=0x0 SQ_PERFCOUNTER_MASK=0xffffffff
			SQ_PERFCOUNTER_CTRL=0xffff007f TCC_PERFCOUNTER0_SELECT=0x11 COMPUTE_PERFCOUNT_ENABLE=0x1 CP_PERFMON_CNTL=0x1 CS_PARTIAL_FLUSH`},
		{"gfx1102", "TCP_REQ_MISS TA_TA_BUSY", `CS_PARTIAL_FLUSH ACQUIRE_MEM CP_PERFMON_CNTL=0x0 SQ_PERFCOUNTER_CTRL=0x55 SQ_PERFCOUNTER_CTRL2=0x1ffff
			TCP_PERFCOUNTER0_SELECT=0x11 TA_PERFCOUNTER0_SELECT=0xf COMPUTE_PERFCOUNT_ENABLE=0x1 CP_PERFMON_CNTL=0x1 CS_PARTIAL_FLUSH`},
		{"gfx1201", "SQ_WAVES TCP_REQ", `CS_PARTIAL_FLUSH ACQUIRE_MEM CP_PERFMON_CNTL_1=0x0 SQ_PERFCOUNTER_CTRL=0x55 SQ_PERFCOUNTER_CTRL2=0x1ffff
			SQ_PERFCOUNTER0_SELECT=0x4 TCP_PERFCOUNTER0_SELECT=0x9 COMPUTE_PERFCOUNT_ENABLE=0x1 CP_PERFMON_CNTL_1=0x1 CS_PARTIAL_FLUSH`},
	} {
		g := lookup(t, tc.gpu)
		words, err := perfctr.Start(g, layout(t, g, strings.Fields(tc.names)...))
		if err != nil {
			t.Fatal(err)
		}
		m := run(t, g, words)
		check(t, m)
		if d := cmp.Diff(strings.Fields(tc.want), m.writes); d != "" {
			t.Errorf("%s: %s", tc.gpu, d)
		}
	}
}

func TestStartFiltered(t *testing.T) {
	g := lookup(t, "gfx1201")
	l := layout(t, g, "SQ_WAVES", "SQ_INSTS_SALU")
	words, err := perfctr.StartFiltered(g, l, 0x123456784)
	if err != nil {
		t.Fatal(err)
	}
	m := run(t, g, words)
	check(t, m)
	want := strings.Fields(`CS_PARTIAL_FLUSH ACQUIRE_MEM CP_PERFMON_CNTL_1=0x0 SQ_PERFCOUNTER_CTRL=0x55 SQ_PERFCOUNTER0_SELECT=0x4 SQ_PERFCOUNTER2_SELECT=0x2e
		SQ_PERFCOUNTER_CTRL2=memory COMPUTE_PERFCOUNT_ENABLE=0x1 CP_PERFMON_CNTL_1=0x1 CS_PARTIAL_FLUSH`)
	if d := cmp.Diff(want, m.writes); d != "" || m.reads[0x123456784] != 0xd9e2 {
		t.Errorf("%s, reads %x", d, m.reads)
	}
	live := g.LiveUnits()
	a, err1 := perfctr.Stop(g, live, l, 64)
	b, err2 := perfctr.StopFiltered(g, live, l, 64)
	if err1 != nil || err2 != nil || !slices.Equal(a, b) {
		t.Errorf("filtered and unfiltered stop differ: %v %v", err1, err2)
	}
}

// TestStop: every word of the samples is stored once, from the copy that its place in the layout means, and 0 where nothing runs.
func TestStop(t *testing.T) {
	for _, tc := range []struct{ gpu, names, after string }{
		{"gfx1100", "SQ_WAVES GRBM_COUNT SQ_INSTS_VALU GL2C_HIT", "SQ_PERFCOUNTER_CTRL2=0x0 COMPUTE_PERFCOUNT_ENABLE=0x0 CP_PERFMON_CNTL=0x0 ACQUIRE_MEM"},
		{"gfx1101", "TA_TA_BUSY TCP_REQ TCP_REQ_MISS", "SQ_PERFCOUNTER_CTRL2=0x0 COMPUTE_PERFCOUNT_ENABLE=0x0 CP_PERFMON_CNTL=0x0 ACQUIRE_MEM"},
		{"rx 7900 xt", "SQ_WAVES", "SQ_PERFCOUNTER_CTRL2=0x0 COMPUTE_PERFCOUNT_ENABLE=0x0 CP_PERFMON_CNTL=0x0 ACQUIRE_MEM"},
		{"gfx1201", "TCP_REQ SQ_WAVES TA_TA_BUSY", "SQ_PERFCOUNTER_CTRL2=0x0 COMPUTE_PERFCOUNT_ENABLE=0x0 CP_PERFMON_CNTL_1=0x0 ACQUIRE_MEM"},
		{"gfx942", "TCC_HIT SQ_WAVES TCP_TOTAL_CACHE_ACCESSES GRBM_COUNT SQ_BUSY_CYCLES", "SQ_PERFCOUNTER_CTRL=0x0 COMPUTE_PERFCOUNT_ENABLE=0x0 CP_PERFMON_CNTL=0x0 RLC_PERFMON_CLK_CNTL=0x0 ACQUIRE_MEM"},
		{"gfx90a", "SQ_WAVES TCC_HIT", "SQ_PERFCOUNTER_CTRL=0x0 COMPUTE_PERFCOUNT_ENABLE=0x0 CP_PERFMON_CNTL=0x0 RLC_PERFMON_CLK_CNTL=0x0 ACQUIRE_MEM"},
	} {
		g := lookup(t, tc.gpu)
		l := layout(t, g, strings.Fields(tc.names)...)
		live := g.LiveUnits()
		clear(live[len(live)-1])
		const base = 0x7f0000000000
		words, err := perfctr.Stop(g, live, l, base)
		if err != nil {
			t.Fatal(err)
		}
		m := run(t, g, words)
		check(t, m)
		perfmon := "CP_PERFMON_CNTL"
		if g.Family == gpu.GFX12 {
			perfmon += "_1"
		}
		if d := cmp.Diff(append([]string{"CS_PARTIAL_FLUSH", perfmon + "=0x402"}, strings.Fields(tc.after)...), m.writes); d != "" {
			t.Errorf("%s: %s", tc.gpu, d)
		}
		if len(m.stores) != l.Bytes/4 {
			t.Errorf("%s: %d words stored, want %d", tc.gpu, len(m.stores), l.Bytes/4)
		}
		readings, err := perfctr.Read(g, l, make([]byte, l.Bytes), perfctr.Conditions{StablePower: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range l.Counters {
			c := &l.Counters[i]
			for w := range c.Words(g.Dies) {
				u := readings[i].Unit(g, w)
				lo, hi := wantStores(g, live, c, u)
				at := uint64(base + c.Offset + 8*w)
				if m.stores[at] != lo || m.stores[at+4] != hi {
					t.Fatalf("%s %s %+v: %q %q, want %q %q", tc.gpu, c.Name, u, m.stores[at], m.stores[at+4], lo, hi)
				}
			}
		}
	}
}

// wantStores says, from the blocks' description alone, what the two words of a value must come from.
func wantStores(g *gpu.GPU, live [][]uint32, c *perfctr.Placed, u perfctr.Unit) (lo, hi string) {
	engine := uint32(u.Engine % g.SEs)
	index := uint32(0)
	switch {
	case c.WGPs > 1:
		if live[u.Engine][u.Array]>>u.WGP&1 == 0 {
			return "0", "0"
		}
		index = engine<<16 | uint32(u.Array)<<8 | uint32(u.WGP<<2|u.Instance)
	case c.Engines > 1:
		index = engine<<16 | 1<<29
		if c.Instances > 1 {
			index |= uint32(u.Instance)
			if u.Instance >= g.Units || live[u.Engine][0]>>u.Instance&1 == 0 {
				return "0", "0"
			}
		} else if index |= 1 << 30; live[u.Engine][0] == 0 {
			return "0", "0"
		}
	default:
		index = 1<<31 | 1<<29
		if c.Instances > 1 {
			index |= uint32(u.Instance)
			if u.Instance >= g.L2Channels {
				return "0", "0"
			}
		} else {
			index |= 1 << 30
		}
	}
	lo = fmt.Sprintf("%d/%#x/%s_PERFCOUNTER%d_LO", u.Die, index, c.Block, c.Register)
	if c.Block == "SQ" && g.Family != gpu.GFX9 {
		return lo, "0"
	}
	return lo, strings.TrimSuffix(lo, "LO") + "HI"
}

func TestProgramErrors(t *testing.T) {
	g, g12 := lookup(t, "gfx1100"), lookup(t, "gfx1201")
	l, l12 := layout(t, g, "SQ_WAVES"), layout(t, g12, "SQ_WAVES")
	live := g.LiveUnits()
	oldGC, nine := *g, *g
	oldGC.GC, nine.Dies = "10.3.0", 9
	l9 := layout(t, &nine, "SQ_WAVES")
	other := *g
	other.GC = "9.4.3"
	grbm := layout(t, g12, "SQ_WAVES", "GRBM_COUNT")
	for _, tc := range []struct {
		name, want string
		f          func() ([]uint32, error)
	}{
		{"another GPU's layout", "the layout is of gfx1201", func() ([]uint32, error) { return perfctr.Start(g, l12) }},
		{"GC", `"10.3.0"`, func() ([]uint32, error) { return perfctr.Start(&oldGC, l) }},
		{"dies", "gfx1100 on 9 dies", func() ([]uint32, error) { return perfctr.Start(&nine, l9) }},
		{"register", "GL2C_HIT: GC 9.4.3 has no register 0 of block GL2C", func() ([]uint32, error) { return perfctr.Start(&other, layout(t, g, "GL2C_HIT")) }},
		{"no filter", "gfx1100 on 1 dies has no filter", func() ([]uint32, error) { return perfctr.StartFiltered(g, l, 0) }},
		{"filtered block", "GRBM_COUNT: the filter chooses", func() ([]uint32, error) { return perfctr.StartFiltered(g12, grbm, 0) }},
		{"filtered stop", "GRBM_COUNT: the filter chooses", func() ([]uint32, error) { return perfctr.StopFiltered(g12, g12.LiveUnits(), grbm, 0) }},
		{"filter address", "filter word at 0x2", func() ([]uint32, error) { return perfctr.StartFiltered(g12, l12, 2) }},
		{"negative filter address", "not negative", func() ([]uint32, error) { return perfctr.StartFiltered(g12, l12, -4) }},
		{"stop address", "values at 0x4", func() ([]uint32, error) { return perfctr.Stop(g, live, l, 4) }},
		{"negative stop address", "multiple of 8", func() ([]uint32, error) { return perfctr.Stop(g, live, l, -8) }},
		{"engines", "live units of 5 engines: gfx1100 has 6", func() ([]uint32, error) { return perfctr.Stop(g, live[:5], l, 0) }},
		{"arrays", "live units of 1 arrays", func() ([]uint32, error) { return perfctr.Stop(g, [][]uint32{{1}, {1}, {1}, {1}, {1}, {1}}, l, 0) }},
	} {
		if words, err := tc.f(); err == nil || !strings.Contains(err.Error(), tc.want) || words != nil {
			t.Errorf("%s: %d words, %v, want %q", tc.name, len(words), err, tc.want)
		}
	}
}

// TestMutations drops and alters each packet's words of a start and a stop program: every one must show.
func TestMutations(t *testing.T) {
	for _, name := range []string{"gfx1100", "gfx1201", "gfx942"} {
		g := lookup(t, name)
		if g.Dies > 2 {
			g.Dies, g.Live = 2, g.Live[:8]
		}
		l := layout(t, g, "SQ_WAVES", "GRBM_COUNT")
		start, err1 := perfctr.Start(g, l)
		stop, err2 := perfctr.Stop(g, g.LiveUnits(), l, 4096)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for _, words := range [][]uint32{start, stop} {
			show := func(w []uint32) string { m := run(t, g, w); return fmt.Sprint(m.writes, m.stores, m.bad) }
			want := show(words)
			total, seen := 0, 0
			for p := range pm4.Packets(words) {
				if p.Op == pm4.OpAcquireMem {
					continue // its words say which caches; the machine has none
				}
				dropped := slices.Clone(words)
				for i := range p.Raw {
					dropped[p.Off+i] = pm4.OneDwordNop
				}
				total++
				if show(dropped) != want {
					seen++
				}
				for i := 1; i < len(p.Raw); i++ {
					altered := slices.Clone(words)
					altered[p.Off+i] ^= 1
					total++
					if show(altered) != want {
						seen++
					}
				}
			}
			if seen != total {
				t.Errorf("%s: %d of %d mutations show", name, seen, total)
			}
		}
	}
}

func TestProgramsDoNotAllocate(t *testing.T) {
	g := lookup(t, "gfx942")
	l := layout(t, g, "SQ_WAVES", "TCC_HIT", "GRBM_COUNT")
	live := g.LiveUnits()
	buf := make([]uint32, 0, 1<<15)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := perfctr.AppendStart(buf, g, l); err != nil {
			t.Fatal(err)
		}
		if _, err := perfctr.AppendStop(buf, g, live, l, 0); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStop(b *testing.B) {
	g := lookup(b, "gfx1100")
	l := layout(b, g, "SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_BUSY_CYCLES", "GRBM_COUNT", "GRBM_GUI_ACTIVE")
	live := g.LiveUnits()
	buf := make([]uint32, 0, 1<<15)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := perfctr.AppendStop(buf, g, live, l, 0); err != nil {
			b.Fatal(err)
		}
	}
}
