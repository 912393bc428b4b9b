package perfctr_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

func lookup(t testing.TB, name string) *gpu.GPU {
	t.Helper()
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func layout(t testing.TB, g *gpu.GPU, names ...string) *perfctr.Layout {
	t.Helper()
	l, err := perfctr.NewLayout(g, names)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGoldenLayouts compares tables, layouts, filter words and error texts with the independent implementation's. Cases of processors
// that it had no table for and that we have (gfx90a) end with ours.
func TestGoldenLayouts(t *testing.T) {
	f, err := os.Open(sharedtest.Path(t, "golden", "counters.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		GPUs map[string]struct {
			Processor, GC string
			Xccs          int
			ShaderEngines int `json:"shader_engines"`
			ComputeUnits  int `json:"compute_units"`
		}
		Tables map[string]struct {
			Registers map[string]int
			Counters  [][]any
		}
		Filter []struct {
			VMID int
			Word string
		} `json:"filter_from_seed_text"`
		Layouts []struct {
			GPU      string
			Names    []string
			Counters []struct {
				Name, Block                                               string
				Event, Register, Instances, Engines, Arrays, WGPs, Offset int
			}
			Bytes int
			Error string
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	shape := func(name string) *gpu.GPU {
		s := golden.GPUs[name]
		g := &gpu.GPU{Target: s.Processor, GC: s.GC, Family: gpu.FamilyOf(s.Processor), Dies: s.Xccs, SEs: s.ShaderEngines, SAs: 2}
		g.Units = s.ComputeUnits / 2 / 2 / g.SEs
		if g.Family == gpu.GFX9 {
			g.SAs, g.Units = 1, 10
		}
		return g
	}
	for name, want := range golden.Tables {
		g := shape(name)
		have := map[string]perfctr.Counter{}
		for _, c := range perfctr.Counters(g) {
			have[c.Name] = c
		}
		for block, n := range want.Registers {
			if got := perfctr.Limit(g, block); got != n {
				t.Errorf("%s: %d %s registers, want %d", name, got, block, n)
			}
		}
		for _, row := range want.Counters {
			c := have[row[0].(string)]
			got := fmt.Sprint(c.Name, c.Block, c.Event, c.Instances, c.Engines, c.Arrays, c.WGPs)
			if got != fmt.Sprint(row...) {
				t.Errorf("%s: %s, want %v", name, got, row)
			}
			delete(have, c.Name)
		}
		for n, c := range have {
			if want.Registers[c.Block] != 0 {
				t.Errorf("%s: the reference lacks %s", name, n)
			}
		}
	}
	same, errs := 0, 0
	for i, c := range golden.Layouts {
		g := shape(c.GPU)
		if g.Target == "gfx90a" && c.Error == "gfx90a counts no SQ_WAVES" {
			continue
		}
		l, err := perfctr.NewLayout(g, c.Names)
		if c.Error != "" {
			errs++
			if err == nil || err.Error() != c.Error {
				t.Errorf("layout %d of %s: %v, want %s", i, c.GPU, err, c.Error)
			}
			continue
		}
		if err != nil || l.Bytes != c.Bytes || len(l.Counters) != len(c.Counters) {
			t.Errorf("layout %d of %s: %v %v", i, c.GPU, l, err)
			continue
		}
		same++
		for j, w := range c.Counters {
			p := l.Counters[j]
			got := fmt.Sprint(p.Name, p.Block, p.Event, p.Register, p.Instances, p.Engines, p.Arrays, p.WGPs, p.Offset)
			if want := fmt.Sprint(w.Name, w.Block, w.Event, w.Register, w.Instances, w.Engines, w.Arrays, w.WGPs, w.Offset); got != want {
				t.Errorf("layout %d of %s: %s, want %s", i, c.GPU, got, want)
			}
		}
	}
	for _, f := range golden.Filter {
		w, err := perfctr.Filter(shape("gfx1201"), f.VMID)
		if want, _ := strconv.ParseUint(f.Word, 0, 32); err != nil || uint64(w) != want {
			t.Errorf("VMID %d: %#x %v, want %s", f.VMID, w, err, f.Word)
		}
	}
	t.Logf("%d layouts equal, %d errors", same, errs)
	if same+errs < 300 {
		t.Error("too few layouts were compared")
	}
}

func TestLayout(t *testing.T) {
	g := lookup(t, "gfx1100")
	l := layout(t, g, "GRBM_COUNT", "SQ_WAVES", "GL2C_HIT", "SQ_INSTS_VALU")
	type row struct{ Register, Offset, Words int }
	var got []row
	for i := range l.Counters {
		p := &l.Counters[i]
		got = append(got, row{p.Register, p.Offset, p.Words(g.Dies)})
	}
	want := []row{{0, 0, 1}, {0, 8, 48}, {0, 392, 32}, {1, 648, 48}}
	if d := cmp.Diff(want, got); d != "" || l.Bytes != 1032 {
		t.Errorf("%s, %d bytes", d, l.Bytes)
	}
	for _, tc := range []struct {
		names string
		want  string
	}{
		{"SQ_FOO SQ_FOO", "SQ_FOO is listed twice"},
		{"SQ_FOO", "gfx1100 counts no SQ_FOO"},
		{"GL2C_HIT GL2C_MISS GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B GL2C_EA_RDREQ_96B SQ_FOO", "gfx1100 counts at most 4 GL2C counters at once"},
	} {
		if _, err := perfctr.NewLayout(g, strings.Fields(tc.names)); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.names, err, tc.want)
		}
	}
	none := &gpu.GPU{Target: "gfx1030"}
	if _, err := perfctr.NewLayout(none, []string{"SQ_WAVES"}); err == nil || err.Error() != "gfx1030 counts no SQ_WAVES" || perfctr.Counters(none) != nil || perfctr.Limit(none, "SQ") != 0 {
		t.Errorf("a GPU without a table: %v", err)
	}
}

func TestDescription(t *testing.T) {
	if d := perfctr.Description("SQ_WAVES"); d != "waves launched" {
		t.Errorf("SQ_WAVES: %q", d)
	}
	if d := perfctr.Description("SQ_FOO"); d != "" {
		t.Errorf("SQ_FOO: %q", d)
	}
	for _, target := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1201"} {
		for _, c := range perfctr.Counters(lookup(t, target)) {
			if perfctr.Description(c.Name) == "" {
				t.Errorf("%s has no description", c.Name)
			}
		}
	}
}

func TestVerification(t *testing.T) {
	for target, want := range map[string][2]int{"gfx1100": {2, 0}, "gfx1103": {42, 0}, "gfx1150": {0, 38}, "gfx1151": {0, 7}, "gfx1201": {0, 0}} {
		g := &gpu.GPU{Target: target, Family: gpu.FamilyOf(target), Dies: 1, SEs: 1, SAs: 2, Units: 2}
		got := [2]int{}
		for _, c := range perfctr.Counters(g) {
			if c.Assumed {
				got[0]++
			}
			if c.Unverified {
				got[1]++
			}
		}
		if got != want {
			t.Errorf("%s: %v assumed and unverified, want %v", target, got, want)
		}
	}
}

func TestFilter(t *testing.T) {
	g := lookup(t, "gfx1201")
	for vmid, want := range map[int]uint32{0: 3, 8: 0x201, 15: 0x10001} {
		if w, err := perfctr.Filter(g, vmid); err != nil || w != want {
			t.Errorf("VMID %d: %#x %v, want %#x", vmid, w, err, want)
		}
	}
	for _, bad := range []int{-1, 16} {
		if _, err := perfctr.Filter(g, bad); err == nil {
			t.Errorf("VMID %d has a filter", bad)
		}
	}
	if _, err := perfctr.Filter(lookup(t, "gfx1100"), 0); err == nil || !strings.Contains(err.Error(), "gfx1100") {
		t.Errorf("gfx1100: %v", err)
	}
}

// machine executes a counting program: registers by name and the GRBM_GFX_INDEX they were written under, stores by address.
type machine struct {
	tab    *pm4.RegTable
	writes []string           // in order, "REG=value" with @index unless all is selected
	stores map[uint64]string  // address -> "die/index/REG" or "0"
	reads  map[uint64]pm4.Reg // memory -> register
	bad    []string
}

const everything = 0xe0000000

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

func TestRead(t *testing.T) {
	g := lookup(t, "gfx1100")
	l := layout(t, g, "SQ_WAVES", "SQ_INSTS_VALU", "GL2C_HIT", "GRBM_COUNT")
	samples := make([]byte, l.Bytes)
	put := func(counter, word int, v uint64) {
		for i := range 8 {
			samples[l.Counters[counter].Offset+8*word+i] = byte(v >> (8 * i))
		}
	}
	put(0, 0, 5)
	put(0, 47, 1<<32-1)
	put(2, 0, 7)
	put(2, 23, 1<<32)
	put(2, 31, 99) // an instance that the board lacks
	put(3, 0, 1<<40)
	rs, err := perfctr.Read(g, l, samples, perfctr.Conditions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []perfctr.Value{
		{N: 1<<32 + 4, AtLeast: true},
		{NA: "SQ_INSTS_VALU stays 0 outside the stable power state"},
		{N: 1<<32 + 7},
		{N: 1 << 40},
	} {
		if rs[i].Total != want {
			t.Errorf("%s: %+v, want %+v", rs[i].Counter.Name, rs[i].Total, want)
		}
	}
	if v := rs[2].Values[31]; v.NA != "the board has 24 GL2C instances" {
		t.Errorf("instance 31: %+v", v)
	}
	if u := rs[0].Unit(g, 47); u != (perfctr.Unit{Engine: 5, Array: 1, WGP: 3}) {
		t.Errorf("word 47 is of %+v", u)
	}
	if u := rs[2].Unit(g, 23); u != (perfctr.Unit{Instance: 23}) {
		t.Errorf("word 23 is of %+v", u)
	}
	rs, _ = perfctr.Read(g, l, samples, perfctr.Conditions{StablePower: true})
	if rs[1].Total != (perfctr.Value{}) {
		t.Errorf("SQ_INSTS_VALU in the stable state: %+v", rs[1].Total)
	}
	if _, err := perfctr.Read(g, l, samples[1:], perfctr.Conditions{}); err == nil {
		t.Error("short samples are read")
	}

	apu := lookup(t, "gfx1151")
	l = layout(t, apu, "SQ_WAIT_ANY", "SQ_WAVES")
	rs, _ = perfctr.Read(apu, l, make([]byte, l.Bytes), perfctr.Conditions{})
	if rs[0].Total.NA != "the event number of SQ_WAIT_ANY is not verified on gfx1151" || rs[1].Total.NA != "" {
		t.Errorf("unverified: %+v, verified: %+v", rs[0].Total, rs[1].Total)
	}
	rs, _ = perfctr.Read(apu, l, make([]byte, l.Bytes), perfctr.Conditions{Unverified: true})
	if rs[0].Total.NA != "" {
		t.Errorf("unverified on request: %+v", rs[0].Total)
	}

	mi := lookup(t, "gfx942")
	l = layout(t, mi, "TCP_TOTAL_CACHE_ACCESSES", "SQ_WAVES")
	rs, _ = perfctr.Read(mi, l, make([]byte, l.Bytes), perfctr.Conditions{})
	if u := rs[1].Unit(mi, 31); u != (perfctr.Unit{Die: 7, Engine: 31}) {
		t.Errorf("word 31 is of %+v", u)
	}
	if na := rs[0].Values[10*4].NA; na != "an engine is built with 10 TCP instances" || rs[0].Values[9*4].NA != "" {
		t.Errorf("TCP instance 10: %q", na)
	}
	if v := perfctr.Sum([]perfctr.Value{{N: 1<<64 - 1}, {N: 1}}); !v.AtLeast || v.N != 1<<64-1 {
		t.Errorf("a sum past 64 bits: %+v", v)
	}
}

func reading(name string, values ...uint64) perfctr.Reading {
	r := perfctr.Reading{Counter: perfctr.Counter{Name: name}}
	for _, v := range values {
		r.Values = append(r.Values, perfctr.Value{N: v})
	}
	return r
}

func TestEvaluate(t *testing.T) {
	g := lookup(t, "gfx1100")
	m := perfctr.Measured{}
	m.Add(g, []perfctr.Reading{
		reading("SQ_WAVES", 10, 0, 30, 0), reading("SQ_INSTS_VALU", 100, 300), reading("GRBM_GUI_ACTIVE", 50), reading("GRBM_COUNT", 200),
		reading("GL2C_HIT", 3, 1), reading("GL2C_MISS", 0, 0), reading("SQ_INST_LEVEL_LDS", 1), reading("SQ_ACCUM_PREV", 600), reading("SQ_INSTS_LDS", 20),
	})
	for _, tc := range []struct {
		expr string
		want perfctr.Number
	}{
		{"SQ_WAVES", perfctr.Number{F: 40}},
		{"VALUInsts", perfctr.Number{F: 10}},
		{"GPU_UTIL", perfctr.Number{F: 25}},
		{"L2CacheHit", perfctr.Number{F: 100}},
		{"CU_NUM", perfctr.Number{F: 96}},
		{"LdsLatency", perfctr.Number{F: 30}},
		{"reduce(SQ_WAVES,max) - reduce(SQ_WAVES, min) + reduce(SQ_WAVES,avr)*2", perfctr.Number{F: 50}},
		{"-(1.5+2)*-2", perfctr.Number{F: 7}},
		{"2-3-4", perfctr.Number{F: -5}},
		{"12/3/2", perfctr.Number{F: 2}},
		{"wave_front_size+array_count/simd_arrays_per_engine", perfctr.Number{F: 38}},
		{"SQ_WAVES/GL2C_MISS", perfctr.Number{NA: "it divides by 0"}},
		{"SQ_WAVES+SQ_INSTS_SALU", perfctr.Number{NA: "SQ_INSTS_SALU was not measured"}},
		{"SALUInsts", perfctr.Number{NA: "SQ_INSTS_SALU was not measured"}},
	} {
		got, err := perfctr.Evaluate(g, tc.expr, m)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v %v, want %+v", tc.expr, got, err, tc.want)
		}
	}
	full := reading("SQ_WAVES", 1)
	full.Values[0].AtLeast = true
	lost := reading("GRBM_COUNT", 1)
	lost.Values[0].NA = "the device was lost"
	m.Add(g, []perfctr.Reading{full, lost})
	if n, _ := perfctr.Evaluate(g, "VALUInsts", m); !n.AtLeast {
		t.Errorf("a metric of a full counter: %+v", n)
	}
	if n, _ := perfctr.Evaluate(g, "GPU_UTIL", m); n.NA != "the device was lost" {
		t.Errorf("a metric of what was not measured: %+v", n)
	}
	for expr, want := range map[string]string{
		"":                            "want a name",
		"SQ_FOO":                      "gfx1100 counts no SQ_FOO",
		"1+":                          "column 3: want a name, a number or (",
		"(1":                          "want )",
		"1)":                          `")" is left over`,
		"1..2":                        `"1..2" is no number`,
		"reduce SQ_WAVES":             "want ( after reduce",
		"reduce(SQ_WAVES)":            "want , in reduce",
		"reduce(SQ_WAVES,med)":        `reduce by "med"`,
		"reduce(SQ_WAVES,sum":         "want ) after reduce",
		"accumulate(SQ_WAVES,X)":      `accumulate by "X"`,
		"accumulate(SQ_FOO,HIGH_RES)": "counts no SQ_FOO",
		"SQ_WAVES $":                  "left over",
		strings.Repeat("(", 100):      "nested too deeply",
		strings.Repeat("-", 100):      "nested too deeply",
	} {
		if _, err := perfctr.Evaluate(g, expr, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", expr, err, want)
		}
	}
}

// TestMetrics: every metric of every model parses, needs counters that the target has, and is computed from counters of value 1 or says why not.
func TestMetrics(t *testing.T) {
	least := map[string]int{"gfx90a": 180, "gfx942": 160, "gfx950": 190, "gfx1100": 40, "gfx1103": 40, "gfx1150": 33, "gfx1151": 33, "gfx1152": 33, "gfx1201": 36}
	for target, n := range least {
		g, err := gpu.Lookup(target)
		if err != nil { // no model, but GPUs that state their shape themselves
			g = &gpu.GPU{Target: target, Family: gpu.FamilyOf(target), Dies: 1, SEs: 1, SAs: 2, Units: 4, SIMDs: 4, Slots: 16}
		}
		ms := perfctr.Metrics(g)
		if len(ms) < n {
			t.Errorf("%s: %d metrics, want at least %d", target, len(ms), n)
		}
		for _, mt := range ms {
			needs, err := perfctr.Needs(g, mt.Name)
			if err != nil {
				t.Errorf("%s: %v", target, err)
			}
			m := perfctr.Measured{}
			for _, nd := range needs {
				r := reading(nd.Name, 1, 1)
				m[nd] = &r
			}
			v, err := perfctr.Evaluate(g, mt.Name, m)
			if err != nil || v.NA != "" && v.NA != "it divides by 0" {
				t.Errorf("%s %s: %+v %v", target, mt.Name, v, err)
			}
			if _, err := perfctr.Plan(g, []string{mt.Name}); err != nil {
				t.Errorf("%s %s: %v", target, mt.Name, err)
			}
		}
	}
	if ms := perfctr.Metrics(&gpu.GPU{Target: "gfx1030"}); ms != nil {
		t.Errorf("gfx1030: %v", ms)
	}
}

func TestPlan(t *testing.T) {
	g := lookup(t, "gfx1100")
	for _, tc := range []struct {
		names string
		want  []string
	}{
		{"", nil},
		{"SQ_WAVES GRBM_COUNT", []string{"SQ_WAVES GRBM_COUNT"}},
		{"CU_NUM", nil},
		{"L2CacheHit GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B GL2C_EA_RDREQ_96B SQ_WAVES", []string{"GL2C_HIT GL2C_MISS GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B SQ_WAVES", "GL2C_EA_RDREQ_96B"}},
		{"SQ_WAVES LdsLatency", []string{"SQ_INST_LEVEL_LDS SQ_ACCUM_PREV SQ_WAVES SQ_INSTS_LDS"}},
		{"accumulate(SQ_INST_LEVEL_LDS,LOW_RES) accumulate(SQ_INST_LEVEL_GDS,LOW_RES)", []string{"SQ_INST_LEVEL_LDS SQ_ACCUM_PREV", "SQ_INST_LEVEL_GDS SQ_ACCUM_PREV"}},
	} {
		passes, err := perfctr.Plan(g, strings.Fields(tc.names))
		if err != nil {
			t.Errorf("%s: %v", tc.names, err)
		}
		var got []string
		for _, p := range passes {
			got = append(got, strings.Join(p, " "))
			if _, err := perfctr.NewLayout(g, p); err != nil {
				t.Errorf("%s: %v", tc.names, err)
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.names, d)
		}
	}
	if _, err := perfctr.Plan(g, []string{"SQ_FOO"}); err == nil {
		t.Error("SQ_FOO has a plan")
	}
	if _, err := perfctr.Plan(g, []string{"SQ_WAVES", "SQ_WAVES"}); err == nil || err.Error() != "SQ_WAVES is listed twice" {
		t.Errorf("twice: %v", err)
	}
}

// TestPlanIsComplete plans random choices of counters and metrics: each pass has a layout, and together they measure all that is needed.
func TestPlanIsComplete(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, target := range []string{"gfx90a", "gfx950", "gfx1100", "gfx1201"} {
		g := lookup(t, target)
		var all []string
		for _, c := range perfctr.Counters(g) {
			all = append(all, c.Name)
		}
		for _, m := range perfctr.Metrics(g) {
			if !slices.Contains(all, m.Name) {
				all = append(all, m.Name)
			}
		}
		for range 100 {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			names := all[:1+rng.IntN(min(40, len(all)))]
			passes, err := perfctr.Plan(g, names)
			if err != nil {
				t.Fatal(err)
			}
			m := perfctr.Measured{}
			for _, p := range passes {
				l := layout(t, g, p...)
				rs, err := perfctr.Read(g, l, make([]byte, l.Bytes), perfctr.Conditions{StablePower: true})
				if err != nil {
					t.Fatal(err)
				}
				m.Add(g, rs)
			}
			for _, n := range names {
				if v, err := perfctr.Evaluate(g, n, m); err != nil || v.NA != "" && v.NA != "it divides by 0" {
					t.Fatalf("%s %s: %+v %v", target, n, v, err)
				}
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

func FuzzEvaluate(f *testing.F) {
	f.Add("100*reduce(SQ_WAVES,sum)/(GRBM_COUNT+1)")
	f.Add("accumulate(SQ_INST_LEVEL_LDS, HIGH_RES)")
	g, err := gpu.Lookup("gfx1100")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		needs, err := perfctr.Needs(g, expr)
		v, err2 := perfctr.Evaluate(g, expr, perfctr.Measured{})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %v but %v", expr, err, err2)
		}
		if err == nil && len(needs) > 0 && v.NA == "" {
			t.Fatalf("%q: a value %v without %v", expr, v, needs)
		}
	})
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

// A counter that the device does not know is n/a with the device's reason, whatever was read.
func TestUnmeasured(t *testing.T) {
	g, err := gpu.Lookup("gfx1100")
	if err != nil {
		t.Fatal(err)
	}
	l, err := perfctr.NewLayout(g, []string{"SQ_WAVES", "GRBM_COUNT"})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := perfctr.Read(g, l, make([]byte, l.Bytes), perfctr.Conditions{StablePower: true, Unmeasured: map[string]string{"GRBM_COUNT": "no clock", "SQ_WAVES": ""}})
	if err != nil || rs[0].Total.NA != "" || rs[1].Total.NA != "no clock" || rs[1].Values[0].NA != "no clock" {
		t.Errorf("%v, %+v", err, rs)
	}
}
