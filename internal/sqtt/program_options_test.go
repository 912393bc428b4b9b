package sqtt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// drawn is options drawn at random, and what they ask for in a test's own words.
type drawn struct {
	opts      []sqtt.Option
	all       *sqtt.Target
	targets   map[int]sqtt.Target
	detail    []int // nil: the default
	tokens    []string
	waveTypes []string
	events    []uint32
	rate      uint32
	units     uint32
	hasStatus bool
	status    int64
}

func draw(rng *rand.Rand, g *gpu.GPU) drawn {
	d := drawn{targets: map[int]sqtt.Target{}}
	target := func() sqtt.Target {
		t := sqtt.Target{Array: rng.IntN(g.SAs), Unit: rng.IntN(g.Units)}
		if g.Family == gpu.GFX9 {
			t.SIMDMask = rng.Uint32N(16)
		} else {
			t.SIMD = rng.IntN(4)
		}
		return t
	}
	some := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(string) bool { return rng.IntN(2) == 0 })
	}
	if rng.IntN(2) == 0 {
		t := target()
		d.all = &t
		d.opts = append(d.opts, sqtt.WithTarget(t))
	}
	for range rng.IntN(3) {
		e, t := rng.IntN(g.Engines()), target()
		if _, ok := d.targets[e]; !ok {
			d.targets[e] = t
			d.opts = append(d.opts, sqtt.WithEngineTarget(e, t))
		}
	}
	if rng.IntN(2) == 0 {
		d.detail = []int{}
		for e := range g.Engines() {
			if rng.IntN(4) == 0 {
				d.detail = append(d.detail, e)
			}
		}
		d.opts = append(d.opts, sqtt.WithDetail(d.detail...))
	}
	if rng.IntN(2) == 0 {
		d.tokens = some(sqtt.TokenClasses(g.Family))
		d.opts = append(d.opts, sqtt.WithTokens(d.tokens...))
	}
	if rng.IntN(2) == 0 {
		d.waveTypes = some(sqtt.WaveTypes(g.Family))
		d.opts = append(d.opts, sqtt.WithWaveTypes(d.waveTypes...))
	}
	if g.Family == gpu.GFX9 && rng.IntN(2) == 0 {
		for range 1 + rng.IntN(8) {
			d.events = append(d.events, rng.Uint32N(512))
		}
		d.rate, d.units = rng.Uint32N(32), rng.Uint32()
		d.opts = append(d.opts, sqtt.WithCounters(d.events, int(d.rate), d.units))
	}
	if rng.IntN(2) == 0 {
		d.hasStatus, d.status = true, 1<<50+rng.Int64N(1<<40)*4 // far from the ends
		d.opts = append(d.opts, sqtt.WithStatus(d.status))
	}
	rng.Shuffle(len(d.opts), func(i, j int) { d.opts[i], d.opts[j] = d.opts[j], d.opts[i] })
	return d
}

// lossRegister counts what a trace lost; on GFX9 what it wrote.
func lossRegister(g *gpu.GPU) string {
	if g.Family == gpu.GFX9 {
		return "SQ_THREAD_TRACE_CNTR"
	}
	return "SQ_THREAD_TRACE_DROPPED_CNTR"
}

// write is what a register of an engine should hold if it holds v by default. Classes of tokens are in the order of their bits.
func (d *drawn) write(t *testing.T, g *gpu.GPU, tab *pm4.RegTable, engine int, name string, v uint32) uint32 {
	put := func(field string, x uint32) {
		t.Helper()
		f, ok := tab.Field(name, field)
		if !ok {
			t.Fatalf("%s has no field %s", name, field)
		}
		v = v&^f.Mask() | f.Put(x)
	}
	bit := map[bool]uint32{true: 1}
	switch name {
	case "SQ_THREAD_TRACE_MASK":
		at, ok := d.targets[engine]
		if d.all != nil && !ok {
			at, ok = *d.all, true
		}
		switch {
		case !ok:
		case g.Family == gpu.GFX9:
			put("CU_SEL", uint32(at.Unit))
			put("SH_SEL", uint32(at.Array))
			put("SIMD_EN", at.SIMDMask)
			if at.SIMDMask == 0 {
				put("SIMD_EN", 15)
			}
		default:
			put("WGP_SEL", uint32(at.Unit))
			put("SA_SEL", uint32(at.Array))
			put("SIMD_SEL", uint32(at.SIMD))
		}
		if d.waveTypes != nil && g.Family != gpu.GFX9 {
			types := uint32(0)
			for i, stage := range []string{"ps", "", "gs", "", "hs", "", "cs"} {
				types |= bit[slices.Contains(d.waveTypes, stage)] << i
			}
			put("WTYPE_INCLUDE", types)
		}
	case "SQ_THREAD_TRACE_MODE":
		if d.waveTypes != nil {
			for _, stage := range []string{"PS", "VS", "GS", "ES", "HS", "LS", "CS"} {
				put("MASK_"+stage, bit[slices.Contains(d.waveTypes, string([]byte{stage[0] | 32, 's'}))])
			}
		}
	case "SQ_THREAD_TRACE_PERF_MASK":
		if d.events != nil {
			put("SH0_MASK", d.units)
			put("SH1_MASK", d.units)
		}
	case "SQ_THREAD_TRACE_TOKEN_MASK":
		detailed := engine < 2
		if d.detail != nil {
			detailed = slices.Contains(d.detail, engine)
		}
		inst := sqtt.InstructionClasses(g.Family)
		on, known := uint32(0), uint32(0)
		for i, class := range sqtt.TokenClasses(g.Family) {
			known |= 1 << i
			wanted := class != "perf"
			if d.tokens != nil {
				wanted = slices.Contains(d.tokens, class)
			}
			if (wanted || class == "perf" && d.events != nil) && (detailed || !slices.Contains(inst, class)) {
				on |= 1 << i
			}
		}
		if g.Family == gpu.GFX9 {
			put("TOKEN_MASK", on)
		} else {
			put("TOKEN_EXCLUDE", known&^on)
		}
	}
	return v
}

// expected are the default program's words with what the options change and nothing else.
func (d *drawn) expected(t *testing.T, g *gpu.GPU, program []uint32, stop bool) []uint32 {
	t.Helper()
	tab, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	reg := func(name string) pm4.Reg {
		r, ok := tab.Lookup(name)
		if !ok {
			t.Fatalf("no register %s", name)
		}
		return r
	}
	var out pm4.Stream
	die, engine, pred := 0, 0, -1
	for p, err := range pm4.Packets(program) {
		if err != nil {
			t.Fatal(err)
		}
		at := len(out)
		out = append(out, p.Raw...)
		name := ""
		switch p.Op {
		case pm4.OpPredExec:
			die, pred = int(p.Body[0]>>24), at+1
		case pm4.OpSetUconfigReg, pm4.OpSetShReg:
			base := pm4.UconfigBase
			if p.Op == pm4.OpSetShReg {
				base = pm4.ShBase
			}
			name = tab.Name(base + pm4.Reg(p.Body[0]))
			if name == "GRBM_GFX_INDEX" {
				engine = int(p.Body[1] >> 16 & 0xff)
				for bit := die; bit > 1; bit >>= 1 {
					engine += g.SEs
				}
			} else if !stop {
				out[at+2] = d.write(t, g, tab, engine, name, p.Body[1])
			}
		}
		switch {
		case stop && d.hasStatus && p.Op == pm4.OpCopyData: // the end word's
			before := len(out)
			out = out.CopyRegToMem(reg("SQ_THREAD_TRACE_STATUS"), uint64(d.status)+8*uint64(engine), true)
			out = out.CopyRegToMem(reg(lossRegister(g)), uint64(d.status)+8*uint64(engine)+4, true)
			if pred >= 0 {
				out[pred] += uint32(len(out) - before)
			}
		case stop && d.events != nil && name == "GRBM_GFX_INDEX" && p.Body[1]>>31 != 0:
			out = out.SetUconfig(reg("CP_PERFMON_CNTL"), 2).SetUconfig(reg("CP_PERFMON_CNTL"), 0)
			out = out.SetSh(reg("COMPUTE_PERFCOUNT_ENABLE"), 0).SetUconfig(reg("RLC_PERFMON_CLK_CNTL"), 0)
		case !stop && d.events != nil && name == "SPI_CONFIG_CNTL":
			out = out.SetUconfig(reg("RLC_PERFMON_CLK_CNTL"), 1).SetSh(reg("COMPUTE_PERFCOUNT_ENABLE"), 1).SetUconfig(reg("CP_PERFMON_CNTL"), 0)
			for i, ev := range d.events {
				out = out.SetUconfig(reg(fmt.Sprintf("SQ_PERFCOUNTER%d_SELECT", i)), 0x0f0ff000|ev)
			}
			out = out.SetUconfig(reg("SQ_PERFCOUNTER_MASK"), d.units&0xffff|d.units<<16).SetUconfig(reg("SQ_PERFCOUNTER_CTRL"), 0xffff007f|d.rate<<8)
			out = out.SetUconfig(reg("CP_PERFMON_CNTL"), 1).EventWrite(0x407) // CS_PARTIAL_FLUSH, index 4
		}
	}
	return out
}

// TestOptionsChangeTheirWordsOnly: programs with options drawn at random are the default ones but for the words that these options mean, in whatever order
// they are given.
func TestOptionsChangeTheirWordsOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	changed := 0
	for range 600 {
		g := shapes[rng.IntN(len(shapes))]
		live := g.LiveUnits()
		clear(live[rng.IntN(len(live))])
		d := draw(rng, &g)
		for _, stop := range []bool{false, true} {
			program := func(opts ...sqtt.Option) []uint32 {
				t.Helper()
				words, err := sqtt.Start(&g, live, 8192, 1<<30, opts...)
				if stop {
					words, err = sqtt.Stop(&g, live, 1<<30, opts...)
				}
				if err != nil {
					t.Fatal(err)
				}
				return words
			}
			plain, got := program(), program(d.opts...)
			if want := d.expected(t, &g, plain, stop); !slices.Equal(got, want) {
				t.Fatalf("%s, stop %v, %+v: %d words, want %d; they differ from dword %d on", g.Target, stop, d, len(got), len(want), diffAt(got, want))
			}
			if !slices.Equal(got, plain) {
				changed++
			}
		}
	}
	if changed < 700 {
		t.Errorf("%d of 1200 programs were changed", changed)
	}
}

// TestExplicitDefaults: what the defaults are said to be gives the default words.
func TestExplicitDefaults(t *testing.T) {
	for i := range shapes {
		g := &shapes[i]
		live := g.LiveUnits()
		tokens := slices.DeleteFunc(sqtt.TokenClasses(g.Family), func(c string) bool { return c == "perf" })
		for _, tc := range []struct {
			what string
			opts []sqtt.Option
		}{
			{"detail", []sqtt.Option{sqtt.WithDetail(0, 1)}},
			{"target", []sqtt.Option{sqtt.WithTarget(sqtt.Target{})}},
			{"an engine's target", []sqtt.Option{sqtt.WithEngineTarget(1, sqtt.Target{})}},
			{"tokens", []sqtt.Option{sqtt.WithTokens(tokens...)}},
			{"wave types", []sqtt.Option{sqtt.WithWaveTypes(sqtt.WaveTypes(g.Family)...)}},
			{"SIMDs", []sqtt.Option{sqtt.WithTarget(sqtt.Target{SIMDMask: map[gpu.Family]uint32{gpu.GFX9: 15}[g.Family]})}},
			{"all", []sqtt.Option{
				sqtt.WithDetail(1, 0), sqtt.WithTarget(sqtt.Target{}), sqtt.WithTokens(tokens...), sqtt.WithWaveTypes(sqtt.WaveTypes(g.Family)...),
			}},
		} {
			want, err1 := sqtt.Start(g, live, 4096, 0)
			got, err2 := sqtt.Start(g, live, 4096, 0, tc.opts...)
			if err1 != nil || err2 != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %s: start differs at %d: %v %v", g.Target, tc.what, diffAt(got, want), err1, err2)
			}
			want, err1 = sqtt.Stop(g, live, 0)
			got, err2 = sqtt.Stop(g, live, 0, tc.opts...)
			if err1 != nil || err2 != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %s: stop differs at %d: %v %v", g.Target, tc.what, diffAt(got, want), err1, err2)
			}
		}
	}
}
