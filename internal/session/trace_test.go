package session

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/device/open"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// traced records a launch with options and gives its capture.
func traced(t *testing.T, target, name string, change func(*TraceOptions)) (*capture.Capture, error) {
	t.Helper()
	var buf bytes.Buffer
	o := TraceOptions{Options: optionsOn(t, target, name, &buf, open.Options{}), BufferSize: 1 << 20}
	if change != nil {
		change(&o)
	}
	_, err := Trace(t.Context(), o)
	return read(t, &o.Options, &buf), err
}

// kindsOf counts the tokens of a trace.
func kindsOf(t *testing.T, c *capture.Capture, engine int) map[sqtt.Kind]int {
	t.Helper()
	for i := range c.Traces {
		if c.Traces[i].Engine != engine {
			continue
		}
		b, err := c.Traces[i].Bytes.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		n := map[sqtt.Kind]int{}
		for p := range sqtt.Packets(familyOf(c.Traces[i].Family), b) {
			n[p.Kind]++
		}
		return n
	}
	t.Fatalf("no trace of engine %d", engine)
	return nil
}

func familyOf(name string) gpu.Family {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12} {
		if f.String() == name {
			return f
		}
	}
	return gpu.Unknown
}

// Where nobody says which engines trace instructions, all do if there are no more workgroups than engines; else the first two that are traced.
func TestDetailAuto(t *testing.T) {
	for _, c := range []struct {
		target, launch string
		engines        []int
		detail         int
		tells          bool
	}{
		{"gfx942", "vadd", nil, 2, false}, // 64 workgroups, 32 engines
		{"gfx942", "chase_8k", nil, 32, true},
		{"gfx1201", "chase_8k", nil, 4, true},
		{"gfx1201", "bank_conflict_1", nil, 4, true},             // 4 workgroups
		{"gfx1201", "bank_conflict_1", []int{0, 1, 2}, 2, false}, // on 3 engines
		{"gfx1201", "vadd", []int{3}, 1, false},
		{"gfx1201", "vadd", []int{1, 2, 3}, 2, false},
		{"gfx942", "vadd", []int{3}, 2, false}, // of each die
	} {
		got, err := traced(t, c.target, c.launch, func(o *TraceOptions) { o.DetailAuto, o.Engines = true, c.engines })
		if err != nil {
			t.Fatal(err)
		}
		detail, tells := 0, false
		for i := range got.Traces {
			if got.Traces[i].Detail != nil {
				detail++
				e := got.Traces[i].Engine
				if k := kindsOf(t, got, e); c.launch == "vadd" && k[sqtt.KindInst] == 0 { // every unit has something to do
					t.Errorf("%s %s on engines %v: engine %d traced no instructions", c.target, c.launch, c.engines, e)
				}
			}
		}
		for _, n := range got.Notes {
			tells = tells || strings.HasPrefix(n.Text, "every engine traces instructions")
		}
		if detail != c.detail || tells != c.tells {
			t.Errorf("%s %s on engines %v: %d trace instructions, told: %v", c.target, c.launch, c.engines, detail, tells)
		}
	}
}

// Each option changes what the simulated trace unit writes, as its registers say.
func TestTraceOptions(t *testing.T) {
	usual, err := traced(t, "gfx1100", "vadd", nil)
	if err != nil || len(usual.Traces) != 6 {
		t.Fatalf("%v, %d traces", err, len(usual.Traces))
	}
	if d := usual.Traces[0].Detail; d == nil || *d != (capture.Detail{Alive: true}) || usual.Traces[2].Detail != nil {
		t.Errorf("detail %+v, %+v", d, usual.Traces[2].Detail)
	}
	usualKinds := kindsOf(t, usual, 0)
	if usualKinds[sqtt.KindInst] == 0 || usualKinds[sqtt.KindWaveStart] == 0 {
		t.Fatalf("the usual trace has %v", usualKinds)
	}

	c, err := traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.Tokens = []string{"wave_start_end", "reg"} })
	if err != nil {
		t.Fatal(err)
	}
	k := kindsOf(t, c, 0)
	if k[sqtt.KindWaveStart] != usualKinds[sqtt.KindWaveStart] || k[sqtt.KindInst]+k[sqtt.KindValuInst]+k[sqtt.KindImmediate]+k[sqtt.KindWaveReady] != 0 || c.Traces[0].Detail != nil || !slices.Equal(c.Traces[0].Tokens, []string{"wave_start_end", "reg"}) {
		t.Errorf("of wave starts and ends alone: %v, %+v", k, c.Traces[0])
	}
	c, err = traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.WaveTypes = []string{"ps"} })
	if k = kindsOf(t, c, 0); err != nil || k[sqtt.KindWaveStart] != 0 {
		t.Errorf("of pixel waves: %v, %v", k, err)
	}
	c, err = traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.DetailAll = true })
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Traces {
		if c.Traces[i].Detail == nil || kindsOf(t, c, i)[sqtt.KindInst] == 0 {
			t.Errorf("engine %d traced no instructions: %+v", i, c.Traces[i].Detail)
		}
	}
	c, err = traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.Engines, o.Detail = []int{1, 3}, []int{} })
	if err != nil || len(c.Traces) != 2 || c.Traces[0].Engine != 1 || c.Traces[1].Engine != 3 || c.Traces[0].Detail != nil || kindsOf(t, c, 1)[sqtt.KindInst] != 0 {
		t.Errorf("engines 1 and 3 without instructions: %v, %+v", err, c.Traces)
	}
	// Another unit for engine 1: its instructions are those of other waves.
	c, err = traced(t, "gfx1100", "vadd", func(o *TraceOptions) {
		o.Target = sqtt.Target{Array: 1, Unit: 2, SIMD: 3}
		o.Units = map[int]sqtt.Target{1: {Unit: 3, SIMD: 1}}
	})
	if err != nil || *c.Traces[0].Detail != (capture.Detail{Array: 1, Unit: 2, SIMD: 3, Alive: true}) || *c.Traces[1].Detail != (capture.Detail{Unit: 3, SIMD: 1, Alive: true}) {
		t.Errorf("%v, %+v, %+v", err, c.Traces[0].Detail, c.Traces[1].Detail)
	}
	if k = kindsOf(t, c, 1); k[sqtt.KindInst] == 0 {
		t.Errorf("unit 3 of engine 1: %v", k)
	}
	// gfx9: SIMDs by mask, counters in the trace.
	c, err = traced(t, "gfx942", "reduce", func(o *TraceOptions) {
		o.Target.SIMDMask = 0b1010
		o.Counters, o.CounterRate = []string{"SQ_WAVES", "SQ_INSTS_VALU"}, 3
	})
	if err != nil || len(c.Traces) != 32 || *c.Traces[0].Detail != (capture.Detail{SIMD: -1, SIMDs: 0b1010, Alive: true}) {
		t.Fatalf("%v, %d traces, %+v", err, len(c.Traces), c.Traces[0].Detail)
	}
	if d := c.Traces[0].Detail; d.Has(0) || !d.Has(1) || d.Has(2) || !d.Has(3) {
		t.Errorf("SIMDs of %+v", d)
	}
	var waves, valu uint64
	for i := range c.Traces {
		b, err := c.Traces[i].Bytes.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sqtt.ReadCounterSamples(gpu.GFX9, sqtt.HeaderNo, b) {
			if s.Bank != 0 || s.Values[2] != 0 || s.Values[3] != 0 {
				t.Errorf("%+v", s)
			}
			waves, valu = waves+uint64(s.Values[0]), valu+uint64(s.Values[1])
		}
	}
	if waves != uint64(c.Dispatches[0].Waves) || valu < waves {
		t.Errorf("the traces count %d waves and %d instructions, %d waves were launched", waves, valu, c.Dispatches[0].Waves)
	}
	if len(c.Notes) != 0 {
		t.Errorf("notes %+v", c.Notes)
	}
	c, err = traced(t, "gfx942", "reduce", func(o *TraceOptions) { o.Counters = []string{"SQ_WAVES", "SQ_BUSY_CYCLES"} })
	if err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0].Text, "SQ_BUSY_CYCLES is not in the traces") {
		t.Errorf("%v, notes %+v", err, c.Notes)
	}
}

// What a target cannot trace is an error before anything runs.
func TestBadTraceOptions(t *testing.T) {
	for _, tc := range []struct {
		target string
		change func(*TraceOptions)
		want   string
	}{
		{"gfx1100", func(o *TraceOptions) { o.Engines = []int{6} }, "engine 6: Radeon RX 7900 XTX has engines 0 to 5"},
		{"gfx1100", func(o *TraceOptions) { o.Detail = []int{9} }, "engine 9 traces instructions"},
		{"gfx1100", func(o *TraceOptions) { o.Tokens = []string{"inst_pc"} }, `token class "inst_pc"`},
		{"gfx1100", func(o *TraceOptions) { o.WaveTypes = []string{"vs"} }, `wave type "vs"`},
		{"gfx1100", func(o *TraceOptions) { o.Counters = []string{"SQ_WAVES"} }, "gfx1100 has none"},
		{"gfx942", func(o *TraceOptions) { o.Counters = []string{"SQ_FOO"} }, "gfx942 counts no SQ_FOO"},
		{"gfx942", func(o *TraceOptions) { o.Counters = []string{"TCC_HIT"} }, "not TCC ones"},
		{"gfx942", func(o *TraceOptions) { o.Counters, o.CounterRate = []string{"SQ_WAVES"}, 32 }, "rate 32"},
		{"gfx942", func(o *TraceOptions) { o.Units = map[int]sqtt.Target{0: {Array: 1}} }, "unit 0 of array 1"},
		{"gfx1100", func(o *TraceOptions) { o.BufferSize = 5000 }, "multiple of 4096"},
		{"gfx1100", func(o *TraceOptions) { o.BufferSize = 1 << 39 }, "--buffer-size makes them smaller"},
	} {
		c, err := traced(t, tc.target, "vadd", tc.change)
		if err == nil || !strings.Contains(err.Error(), tc.want) || len(c.Dispatches) != 0 {
			t.Errorf("%v, want %s; %d dispatches", err, tc.want, len(c.Dispatches))
		}
	}
}

// A buffer that was too small is told, with what the hardware counted as lost.
func TestFullBuffer(t *testing.T) {
	for target, items := range map[string]uint32{"gfx1100": 1 << 17, "gfx942": 1 << 20} {
		if target == "gfx942" && testing.Short() {
			continue // many engines to fill
		}
		c, err := traced(t, target, "vadd", func(o *TraceOptions) {
			o.BufferSize = 4096
			o.DetailAll = true
			o.Launch.Grid[0] = items
			o.Check = false
		})
		if err != nil {
			t.Fatal(err)
		}
		full := 0
		for _, tr := range c.Traces {
			if tr.Full && tr.Length > tr.Buffer {
				t.Errorf("%s: %+v", target, tr)
			}
			if tr.Full && tr.Dropped > 0 {
				full++
			}
		}
		if full == 0 {
			t.Errorf("%s: no buffer was full", target)
		}
	}
}

// The status words of every family, as registers have them.
func TestStateOf(t *testing.T) {
	for _, tc := range []struct {
		target          string
		status, counter uint32
		length, size    int64
		full, fault     bool
		dropped         int64
	}{
		{"gfx942", 0, 5, 160, 4096, false, false, 0},
		{"gfx942", 1 << 31, 200, 4096, 4096, true, false, 200*32 - 4096},
		{"gfx942", 1 << 28, 0, 0, 4096, false, true, 0},
		{"gfx1100", 0, 0, 4032, 4096, false, false, 0},
		{"gfx1100", 0, 7, 4064, 4096, true, false, 7},
		{"gfx1201", 1 << 24, 0, 0, 4096, false, true, 0},
	} {
		g, err := gpu.Lookup(tc.target)
		if err != nil {
			t.Fatal(err)
		}
		regs, err := pm4.RegsFor(g.GC)
		if err != nil {
			t.Fatal(err)
		}
		if s := stateOf(g, regs, tc.status, tc.counter, tc.length, tc.size); s != (traceState{tc.full, tc.fault, tc.dropped}) {
			t.Errorf("%s status %#x counter %d length %d: %+v", tc.target, tc.status, tc.counter, tc.length, s)
		}
	}
}

// Saved buffers hold what the kernel wrote; a name that is none says what there is.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.bin")
	_, err := traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.Saves = []launch.Save{{Ref: "2", Path: path}} })
	b, rerr := os.ReadFile(path)
	if err != nil || rerr != nil || len(b) != 65136 || bytes.Count(b, []byte{0}) == len(b) {
		t.Errorf("%v, %v, %d bytes", err, rerr, len(b))
	}
	if _, err := traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.Saves = []launch.Save{{Ref: "nix", Path: path}} }); err == nil || !strings.Contains(err.Error(), `no buffer "nix"`) {
		t.Errorf("%v", err)
	}
	if _, err := traced(t, "gfx1100", "vadd", func(o *TraceOptions) { o.Saves = []launch.Save{{Ref: "2", Path: filepath.Join(path, "x")}} }); err == nil {
		t.Error("a file below a file was written")
	}
}
