package sqtt_test

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

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sharedtest"
	"github.com/rigprof/rigprof/internal/sqtt"
)

type programGolden struct {
	GPUs map[string]struct {
		Processor, Target, GC string
		Xccs                  int
		ShaderEngines         int `json:"shader_engines"`
	}
	Lengths []struct {
		GPU, Buffer, Word string
		Length            int64
	}
	Cases []struct {
		ID, Fn, GPU, Error string
		Args               struct {
			Size    int64
			Address json.RawMessage
			Wgps    [][]uint32
		}
		Words []string
	}
}

func readProgramGolden(t testing.TB) programGolden {
	f, err := os.Open(sharedtest.Path(t, "golden", "pm4.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		GPUs    json.RawMessage
		Lengths json.RawMessage
		Cases   []json.RawMessage
	}
	if err := json.NewDecoder(z).Decode(&raw); err != nil {
		t.Fatal(err)
	}
	var g programGolden
	if err := json.Unmarshal(raw.GPUs, &g.GPUs); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw.Lengths, &g.Lengths); err != nil {
		t.Fatal(err)
	}
	for _, c := range raw.Cases {
		if !strings.Contains(string(c), `"thread_trace.`) {
			continue
		}
		g.Cases = append(g.Cases, struct {
			ID, Fn, GPU, Error string
			Args               struct {
				Size    int64
				Address json.RawMessage
				Wgps    [][]uint32
			}
			Words []string
		}{})
		if err := json.Unmarshal(c, &g.Cases[len(g.Cases)-1]); err != nil {
			t.Fatalf("%s: %v", c[:80], err)
		}
	}
	return g
}

// shape is the GPU that a golden name means, as far as a program asks.
func (g *programGolden) shape(name string) *gpu.GPU {
	s := g.GPUs[name]
	f := gpu.FamilyOf(s.Processor)
	arrays, units := 2, 10
	if f == gpu.GFX9 {
		arrays = 1
	}
	return &gpu.GPU{Target: s.Processor, GC: s.GC, Family: f, Dies: s.Xccs, SEs: s.ShaderEngines, SAs: arrays, Units: units, SIMDs: 4}
}

func parseHex(t testing.TB, s string) int64 {
	v, err := strconv.ParseInt(strings.Trim(s, `"`), 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// nowServed are cases of a processor that the golden data's implementation had no registers for and ours does.
var nowServed = map[string]bool{"start/gfx90a/live/4k": true}

func TestGoldenPrograms(t *testing.T) {
	g := readProgramGolden(t)
	same, errs := 0, 0
	for _, c := range g.Cases {
		if nowServed[c.ID] {
			continue
		}
		dev, address := g.shape(c.GPU), parseHex(t, string(c.Args.Address))
		var got []uint32
		var err error
		if c.Fn == "thread_trace.start" {
			got, err = sqtt.Start(dev, c.Args.Wgps, c.Args.Size, address)
		} else {
			got, err = sqtt.Stop(dev, c.Args.Wgps, address)
		}
		if c.Error != "" {
			errs++
			if err == nil || got != nil {
				t.Errorf("%s: %d words, error %v, want an error like %q and no words", c.ID, len(got), err, c.Error)
			}
			continue
		}
		want := make([]uint32, len(c.Words))
		for i, w := range c.Words {
			want[i] = uint32(parseHex(t, w))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: error %v, words differ from dword %d on", c.ID, err, diffAt(got, want))
			continue
		}
		same++
	}
	t.Logf("%d programs equal, %d errors", same, errs)
	if same < 150 || errs < 60 {
		t.Errorf("only %d programs and %d errors were compared", same, errs)
	}
}

func diffAt(a, b []uint32) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestGoldenLengths(t *testing.T) {
	g := readProgramGolden(t)
	for _, l := range g.Lengths {
		if got := sqtt.Length(g.shape(l.GPU), parseHex(t, l.Buffer), uint32(parseHex(t, l.Word))); got != l.Length {
			t.Errorf("%s buffer %s word %s: %d, want %d", l.GPU, l.Buffer, l.Word, got, l.Length)
		}
	}
	if len(g.Lengths) < 300 {
		t.Errorf("%d lengths", len(g.Lengths))
	}
}

// TestLength: words from the registers' descriptions (Mesa's ac_sqtt.c): WPTR*32, on gfx11.0 less the address.
func TestLength(t *testing.T) {
	for _, tc := range []struct {
		gc     string
		buffer int64
		word   uint32
		want   int64
	}{
		{"9.4.3", 0x100000, 0x20000001, 32},
		{"11.0.0", 0x100000, 0x8008, 256},
		{"11.0.4", 0x100000, 0x8000, 0},
		{"11.0.3", 0x400100000, 0x8001, 32}, // both terms modulo 2^29 units
		{"11.5.1", 0x100000, 0x8008, 0x100100},
		{"11.0.0", 0x100000, 1, -1048544},
		{"12.0.1", 0x100000, 0xffffffff, (1<<29 - 1) * 32},
	} {
		if got := sqtt.Length(&gpu.GPU{GC: tc.gc}, tc.buffer, tc.word); got != tc.want {
			t.Errorf("GC %s: %d, want %d", tc.gc, got, tc.want)
		}
	}
}

// machine is the little of a command processor that shows what a program does: registers per engine and stores, by die.
type machine struct {
	t      testing.TB
	tab    *pm4.RegTable
	dies   int
	ses    int
	regs   map[int]map[string]uint32 // by global engine
	stores map[uint64][2]string      // address -> register, engine
	waits  map[int][]string
	order  map[int][]string // register writes of an engine
	once   map[string]int   // number of writes of unselected registers
}

func run(t testing.TB, g *gpu.GPU, words []uint32) *machine {
	tab, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, tab: tab, dies: g.Dies, ses: g.SEs, regs: map[int]map[string]uint32{}, stores: map[uint64][2]string{}, waits: map[int][]string{}, order: map[int][]string{}, once: map[string]int{}}
	sel := make([]uint32, g.Dies) // GRBM_GFX_INDEX of each die
	for d := range sel {
		sel[d] = 0xe0000000
	}
	predEnd, predMask := 0, uint32(0)
	for p, err := range pm4.Packets(words) {
		if err != nil {
			t.Fatal(err)
		}
		mask := uint32(1)<<g.Dies - 1
		if p.Off < predEnd {
			mask = predMask
		}
		for d := range g.Dies {
			if mask>>d&1 == 0 {
				continue
			}
			var engines []int
			if sel[d]>>31 != 0 {
				for e := range g.SEs {
					engines = append(engines, d*g.SEs+e)
				}
			} else {
				engines = []int{d*g.SEs + int(sel[d]>>16&0xff)}
			}
			switch p.Op {
			case pm4.OpSetUconfigReg, pm4.OpSetShReg:
				base := pm4.UconfigBase
				if p.Op == pm4.OpSetShReg {
					base = pm4.ShBase
				}
				for i, v := range p.Body[1:] {
					name := tab.Name(base + pm4.Reg(p.Body[0]) + pm4.Reg(i))
					if name == "" {
						t.Fatalf("register %#x has no name", uint32(base)+p.Body[0])
					}
					if name == "GRBM_GFX_INDEX" {
						sel[d] = v
						continue
					}
					if len(engines) > 1 {
						m.once[name]++
					}
					for _, e := range engines {
						if m.regs[e] == nil {
							m.regs[e] = map[string]uint32{}
						}
						m.regs[e][name] = v
						m.regs[e]["selection of "+name] = sel[d]
						m.order[e] = append(m.order[e], name)
					}
				}
			case pm4.OpCopyData:
				if len(engines) != 1 {
					t.Errorf("a store of %d engines at once", len(engines))
				}
				at := uint64(p.Body[3]) | uint64(p.Body[4])<<32
				if _, ok := m.stores[at]; ok {
					t.Errorf("two stores to %#x", at)
				}
				if p.Body[0]>>20&1 == 0 {
					t.Errorf("the store to %#x is not confirmed", at)
				}
				m.stores[at] = [2]string{tab.Name(pm4.Reg(p.Body[1])), fmt.Sprint(engines[0])}
			case pm4.OpWaitRegMem:
				m.waits[engines[0]] = append(m.waits[engines[0]], fmt.Sprintf("%s&%#x", tab.Name(pm4.Reg(p.Body[1])), p.Body[4]))
			}
		}
		if p.Op == pm4.OpPredExec {
			predMask, predEnd = p.Body[0]>>24, p.Off+2+int(p.Body[0]&0x3fff)
		}
	}
	for d := range sel {
		if sel[d] != 0xe0000000 {
			t.Errorf("die %d is left with GRBM_GFX_INDEX %#x", d, sel[d])
		}
	}
	return m
}

var shapes = []gpu.GPU{
	{Target: "gfx90a", GC: "9.4.2", Family: gpu.GFX9, Dies: 1, SEs: 8, SAs: 1, Units: 14},
	{Target: "gfx942", GC: "9.4.3", Family: gpu.GFX9, Dies: 8, SEs: 4, SAs: 1, Units: 10},
	{Target: "gfx950", GC: "9.5.0", Family: gpu.GFX9, Dies: 2, SEs: 4, SAs: 1, Units: 10},
	{Target: "gfx1100", GC: "11.0.0", Family: gpu.GFX11, Dies: 1, SEs: 6, SAs: 2, Units: 4},
	{Target: "gfx1101", GC: "11.0.3", Family: gpu.GFX11, Dies: 1, SEs: 3, SAs: 2, Units: 5},
	{Target: "gfx1151", GC: "11.5.1", Family: gpu.GFX11, Dies: 1, SEs: 2, SAs: 2, Units: 5},
	{Target: "gfx1201", GC: "12.0.1", Family: gpu.GFX12, Dies: 1, SEs: 4, SAs: 2, Units: 4},
}

// TestProgramProperties runs random programs on a small machine, some with options: each engine's buffer and end word is used only while that engine of that
// die is selected, harvested engines are left alone, and the last write of an engine is the one that starts it.
func TestProgramProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		g := shapes[rng.IntN(len(shapes))]
		live := g.LiveUnits()
		for e := range live {
			if rng.IntN(3) == 0 {
				clear(live[e])
			} else if rng.IntN(3) == 0 {
				live[e][0] = rng.Uint32()
			}
		}
		size := []int64{4096, sqtt.MaxSize, 4096 * (1 + rng.Int64N(1<<20))}[rng.IntN(3)]
		address := rng.Int64N((1<<48-size*int64(len(live)))/4096+1) * 4096
		var o drawn
		if rng.IntN(2) == 0 {
			o = draw(rng, &g)
		}
		words, err := sqtt.Start(&g, live, size, address, o.opts...)
		if err != nil {
			t.Fatal(err)
		}
		m := run(t, &g, words)
		for e := range live {
			dead := !slices.ContainsFunc(live[e], func(u uint32) bool { return u != 0 })
			base, bytes, ok := m.buffer(&g, e)
			if ok == dead {
				t.Fatalf("%s engine %d, live %x: traced %v", g.Target, e, live[e], ok)
			}
			if ok && (base != address+int64(e)*size || bytes != size) {
				t.Fatalf("%s engine %d: buffer %#x+%#x, want %#x+%#x", g.Target, e, base, bytes, address+int64(e)*size, size)
			}
			last := map[gpu.Family]string{gpu.GFX9: "SQ_THREAD_TRACE_MODE", gpu.GFX11: "SQ_THREAD_TRACE_CTRL", gpu.GFX12: "SQ_THREAD_TRACE_CTRL"}[g.Family]
			if w := m.order[e]; ok && !slices.Equal(w[len(w)-2:], []string{last, "COMPUTE_THREAD_TRACE_ENABLE"}) {
				t.Fatalf("%s engine %d ends with %v", g.Target, e, w[len(w)-2:])
			}
		}
		if n := m.once["SQ_THREAD_TRACE_MASK"] + m.once["SQ_THREAD_TRACE_CTRL"]; n != 0 {
			t.Fatalf("%s: trace registers are written to all engines at once", g.Target)
		}

		at := rng.Int64N(1<<46) * 4
		words, err = sqtt.Stop(&g, live, at, o.opts...)
		if err != nil {
			t.Fatal(err)
		}
		m = run(t, &g, words)
		if o.hasStatus {
			for e := range live {
				for i, want := range []string{"SQ_THREAD_TRACE_STATUS", lossRegister(&g)} {
					word := uint64(o.status) + 8*uint64(e) + 4*uint64(i)
					if got, ok := m.stores[word]; ok && got != [2]string{want, fmt.Sprint(e)} {
						t.Fatalf("%s engine %d: stores %v to %#x", g.Target, e, got, word)
					}
					delete(m.stores, word)
				}
			}
		}
		stored := 0
		for e := range live {
			dead := !slices.ContainsFunc(live[e], func(u uint32) bool { return u != 0 })
			got, ok := m.stores[uint64(at)+4*uint64(e)]
			if ok == dead || ok && got != [2]string{"SQ_THREAD_TRACE_WPTR", fmt.Sprint(e)} {
				t.Fatalf("%s engine %d: stores %v %v", g.Target, e, got, ok)
			}
			if ok && len(m.waits[e]) == 0 || !ok && len(m.waits[e]) != 0 {
				t.Fatalf("%s engine %d: waits %v", g.Target, e, m.waits[e])
			}
			if ok {
				stored++
			}
		}
		if stored != len(m.stores) {
			t.Fatalf("%d stores for %d live engines", len(m.stores), stored)
		}
	}
}

// buffer is where engine e's registers let it write, and whether they let it.
func (m *machine) buffer(g *gpu.GPU, e int) (base, size int64, ok bool) {
	r := m.regs[e]
	switch g.Family {
	case gpu.GFX9:
		return int64(r["SQ_THREAD_TRACE_BASE"])<<12 | int64(r["SQ_THREAD_TRACE_BASE2"])<<44, int64(r["SQ_THREAD_TRACE_SIZE"]) << 12, r["SQ_THREAD_TRACE_MODE"]>>21&3 == 1
	case gpu.GFX11:
		s := r["SQ_THREAD_TRACE_BUF0_SIZE"]
		return int64(r["SQ_THREAD_TRACE_BUF0_BASE"])<<12 | int64(s&0xf)<<44, int64(s>>8&0x3fffff) << 12, r["SQ_THREAD_TRACE_CTRL"]&3 == 1
	}
	return int64(r["SQ_THREAD_TRACE_BUF0_BASE_LO"])<<12 | int64(r["SQ_THREAD_TRACE_BUF0_BASE_HI"])<<44, int64(r["SQ_THREAD_TRACE_BUF0_SIZE"]) << 12, r["SQ_THREAD_TRACE_CTRL"]&3 == 1
}

func TestProgramErrors(t *testing.T) {
	g := shapes[3]
	live := g.LiveUnits()
	noGC, nine, odd := g, g, g
	noGC.GC, nine.Dies, odd.Target, odd.Family = "10.3.0", 9, "gfx1030", gpu.Unknown
	for _, tc := range []struct {
		name, want string
		f          func() ([]uint32, error)
	}{
		{"size", "buffers of 4097 bytes", func() ([]uint32, error) { return sqtt.Start(&g, live, 4097, 0) }},
		{"size at its limit", "", func() ([]uint32, error) { return sqtt.Start(&g, live, sqtt.MaxSize, 4096) }},
		{"size past it", "from 4096 to 17179865088", func() ([]uint32, error) { return sqtt.Start(&g, live, sqtt.MaxSize+4096, 0) }},
		{"negative size", "buffers of -4096", func() ([]uint32, error) { return sqtt.Start(&g, live, -4096, 0) }},
		{"address", "buffers at 0x800", func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 0x800) }},
		{"negative address", "not negative", func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, -4096) }},
		{"last address", "", func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 1<<48-6*4096) }},
		{"address past it", "end past 0x1000000000000", func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 1<<48-5*4096) }},
		{"stop address", "multiple of 4", func() ([]uint32, error) { return sqtt.Stop(&g, live, 2) }},
		{"stop negative", "multiple of 4", func() ([]uint32, error) { return sqtt.Stop(&g, live, -4) }},
		{"live", "live units of 5 engines", func() ([]uint32, error) { return sqtt.Start(&g, live[:5], 4096, 0) }},
		{"stop live", "live units of 0 engines", func() ([]uint32, error) { return sqtt.Stop(&g, nil, 0) }},
		{"GC", `"10.3.0"`, func() ([]uint32, error) { return sqtt.Start(&noGC, live, 4096, 0) }},
		{"target", "no trace program", func() ([]uint32, error) { return sqtt.Start(&odd, live, 4096, 0) }},
		{"dies", "gfx1100 has 9 dies", func() ([]uint32, error) { return sqtt.Stop(&nine, live, 0) }},
		{"unit", "unit 4 of array 0: gfx1100 has 2 arrays of 4 units", func() ([]uint32, error) {
			return sqtt.Start(&g, live, 4096, 0, sqtt.WithTarget(sqtt.Target{Unit: 4}))
		}},
		{"SIMD", "SIMD 4", func() ([]uint32, error) {
			return sqtt.Start(&g, live, 4096, 0, sqtt.WithEngineTarget(1, sqtt.Target{SIMD: 4}))
		}},
		{"SIMD mask", "traces one SIMD", func() ([]uint32, error) {
			return sqtt.Start(&g, live, 4096, 0, sqtt.WithTarget(sqtt.Target{SIMDMask: 3}))
		}},
		{"gfx9 SIMD", "by mask", func() ([]uint32, error) {
			return sqtt.Start(&shapes[0], shapes[0].LiveUnits(), 4096, 0, sqtt.WithTarget(sqtt.Target{SIMD: 1}))
		}},
		{"engine", "engine 6", func() ([]uint32, error) {
			return sqtt.Start(&g, live, 4096, 0, sqtt.WithEngineTarget(6, sqtt.Target{}))
		}},
		{"detail", "engine -1", func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 0, sqtt.WithDetail(-1)) }},
		{"tokens", `token class "inst_pc"`, func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 0, sqtt.WithTokens("inst_pc")) }},
		{"waves", `wave type "ls": gfx1100 has ps, gs, hs, cs`, func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 0, sqtt.WithWaveTypes("ls")) }},
		{"counters", "gfx1100 has none", func() ([]uint32, error) { return sqtt.Start(&g, live, 4096, 0, sqtt.WithCounters([]uint32{4}, 1, 1)) }},
		{"no counters", "0 counters", func() ([]uint32, error) {
			return sqtt.Stop(&shapes[0], shapes[0].LiveUnits(), 0, sqtt.WithCounters(nil, 1, 1))
		}},
		{"event", "event 512", func() ([]uint32, error) {
			return sqtt.Stop(&shapes[0], shapes[0].LiveUnits(), 0, sqtt.WithCounters([]uint32{512}, 1, 1))
		}},
		{"status", "status words at 0x3", func() ([]uint32, error) { return sqtt.Stop(&g, live, 0, sqtt.WithStatus(3)) }},
	} {
		words, err := tc.f()
		if tc.want == "" {
			if err != nil || len(words) == 0 {
				t.Errorf("%s: %v", tc.name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tc.want) || words != nil {
			t.Errorf("%s: %d words, %v, want %q", tc.name, len(words), err, tc.want)
		}
	}
}

func TestProgramOptions(t *testing.T) {
	reg := func(g *gpu.GPU, e int, name string, opts ...sqtt.Option) uint32 {
		t.Helper()
		words, err := sqtt.Start(g, g.LiveUnits(), 4096, 0, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, g, words).regs[e][name]
	}
	g9, g11, g12 := &shapes[1], &shapes[3], &shapes[6]
	for _, tc := range []struct {
		what      string
		got, want uint32
	}{
		{"gfx11 unit 3 of array 1, SIMD 2", reg(g11, 5, "SQ_THREAD_TRACE_MASK", sqtt.WithTarget(sqtt.Target{Array: 1, Unit: 3, SIMD: 2})), 0x15632},
		{"gfx11 another engine's unit", reg(g11, 4, "SQ_THREAD_TRACE_MASK", sqtt.WithEngineTarget(5, sqtt.Target{Unit: 3})), 0x15400},
		{"gfx11 this engine's unit", reg(g11, 5, "SQ_THREAD_TRACE_MASK", sqtt.WithEngineTarget(5, sqtt.Target{Unit: 3})), 0x15430},
		{"gfx9 CU 9, SIMD 0 and 3", reg(g9, 31, "SQ_THREAD_TRACE_MASK", sqtt.WithTarget(sqtt.Target{Unit: 9, SIMDMask: 9})), 0xc989},
		{"gfx12 detail off", reg(g12, 0, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithDetail()), 0x083f6127},
		{"gfx12 detail on", reg(g12, 3, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithDetail(3)), 0x083f6000},
		{"gfx11 tokens", reg(g11, 0, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithTokens("wave_start_end", "inst")), 0x3f1000 | 0x7ff&^0x110},
		{"gfx11 tokens without detail", reg(g11, 2, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithTokens("wave_start_end", "inst")), 0x3f1000 | 0x7ff&^0x010},
		{"gfx12 tokens", reg(g12, 0, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithTokens("realtime")), 0x083f6000 | 0x7ff},
		{"gfx9 tokens", reg(g9, 0, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithTokens("misc", "timestamp", "wave_start", "wave_end", "inst")), 0xff044b},
		{"gfx11 compute waves", reg(g11, 0, "SQ_THREAD_TRACE_MASK", sqtt.WithWaveTypes("cs")), 0x10000},
		{"gfx9 compute waves", reg(g9, 0, "SQ_THREAD_TRACE_MODE", sqtt.WithWaveTypes("cs")), 0x06240000},
		{"gfx9 counters: token class", reg(g9, 0, "SQ_THREAD_TRACE_TOKEN_MASK", sqtt.WithCounters([]uint32{4, 26}, 5, 0x3)), 0xffffff},
		{"gfx9 counters: select", reg(g9, 7, "SQ_PERFCOUNTER1_SELECT", sqtt.WithCounters([]uint32{4, 26}, 5, 0x3)), 0x0f0ff01a},
		{"gfx9 counters: units", reg(g9, 0, "SQ_THREAD_TRACE_PERF_MASK", sqtt.WithCounters([]uint32{4, 26}, 5, 0x3)), 0x00030003},
		{"gfx9 counters: rate", reg(g9, 0, "SQ_PERFCOUNTER_CTRL", sqtt.WithCounters([]uint32{4, 26}, 5, 0x3)), 0xffff057f},
		{"gfx9 counters: on", reg(g9, 0, "CP_PERFMON_CNTL", sqtt.WithCounters([]uint32{4}, 5, 0x3)), 1},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %#x, want %#x", tc.what, tc.got, tc.want)
		}
	}
	words, err := sqtt.Stop(g9, g9.LiveUnits(), 0x1000, sqtt.WithCounters([]uint32{4}, 5, 3), sqtt.WithStatus(0x2000))
	if err != nil {
		t.Fatal(err)
	}
	m := run(t, g9, words)
	if got := m.stores[0x2000+8*31+4]; got != [2]string{"SQ_THREAD_TRACE_CNTR", "31"} || m.stores[0x2000+8*31][0] != "SQ_THREAD_TRACE_STATUS" {
		t.Errorf("status words: %v", got)
	}
	if m.regs[0]["CP_PERFMON_CNTL"] != 0 || m.once["CP_PERFMON_CNTL"] == 0 || m.once["RLC_PERFMON_CLK_CNTL"] == 0 {
		t.Error("stop leaves the counters on")
	}
	if n := len(sqtt.TokenClasses(gpu.GFX12)); n != 12 || len(sqtt.TokenClasses(gpu.GFX9)) != 16 {
		t.Errorf("%d token classes", n)
	}
}

// TestGfx90aIsGfx942WithoutPredication: the two share one driver program (aqlprofile), so a die of the same shape gets the same words.
func TestGfx90aIsGfx942WithoutPredication(t *testing.T) {
	a, b := shapes[0], shapes[0]
	b.Target, b.GC = "gfx942", "9.4.3"
	w1, err1 := sqtt.Start(&a, a.LiveUnits(), 1<<20, 1<<20)
	w2, err2 := sqtt.Start(&b, b.LiveUnits(), 1<<20, 1<<20)
	if err1 != nil || err2 != nil || !slices.Equal(w1, w2) {
		t.Errorf("programs differ at %d: %v %v", diffAt(w1, w2), err1, err2)
	}
}

func TestProgramsDoNotAllocate(t *testing.T) {
	g := &shapes[1]
	live := g.LiveUnits()
	buf := make([]uint32, 0, 4096)
	if n := testing.AllocsPerRun(50, func() {
		if _, err := sqtt.AppendStart(buf, g, live, 1<<20, 1<<30); err != nil {
			t.Fatal(err)
		}
		if _, err := sqtt.AppendStop(buf, g, live, 1<<30); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStart(b *testing.B) {
	g := &shapes[1]
	live := g.LiveUnits()
	buf := make([]uint32, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sqtt.AppendStart(buf, g, live, 1<<20, 1<<30); err != nil {
			b.Fatal(err)
		}
	}
}
