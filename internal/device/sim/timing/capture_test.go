package timing_test

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// space is an address space of a few mappings.
type space struct {
	at   []uint64
	data [][]byte
}

func (s *space) add(at uint64, b []byte) { s.at, s.data = append(s.at, at), append(s.data, b) }

func (s *space) Map(addr uint64, _ bool) ([]byte, bool) {
	for i, a := range s.at {
		if addr >= a && addr-a < uint64(len(s.data[i])) {
			return s.data[i][addr-a:], true
		}
	}
	return nil, false
}

type captureMeta struct {
	Arch       string
	Dispatches []struct {
		Index      int
		ProgramTag int    `json:"program_tag"`
		Kernel     string `json:"kernel"`
		Waves      int    `json:"waves_total"`
		Ses        []struct {
			Se   int
			File string
		}
		Trace struct {
			Entry   string   `json:"entry_pc"`
			Groups  []uint32 `json:"grid_workgroups"`
			Threads []uint32 `json:"num_thread"`
			RSRC1   string   `json:"pgm_rsrc1"`
			RSRC2   string   `json:"pgm_rsrc2"`
			RSRC3   string   `json:"pgm_rsrc3"`
		} `json:"from_trace"`
	}
	Programs []struct {
		Tag  int
		File string
		Base uint64 `json:"load_base_int"`
	}
}

type golden struct {
	Streams []struct {
		Dispatch int
		Se       int
		Waves    [][6]int64
	}
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		f, err = os.Open(path + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(f.Name(), ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewDecoder(r).Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func hex(s string) uint32 {
	v, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	return uint32(v)
}

// observer keeps the events of a dispatch.
type observer struct {
	detail func(engine, sa, unit, simd int) bool
	events []timing.Event
	stats  []timing.Stats
}

func (o *observer) Detailed(engine, sa, unit, simd int) bool {
	return o.detail != nil && o.detail(engine, sa, unit, simd)
}

func (o *observer) Events(evs []timing.Event) {
	for _, e := range evs {
		if e.Kind == timing.WaveEnd {
			o.stats = append(o.stats, *e.Stats)
		}
		e.Stats = nil
		o.events = append(o.events, e)
	}
}

// wave is one wave's place and times.
type wave struct {
	place      timing.Place
	start, end int64
}

func (o *observer) waves(t testing.TB) (out []wave) {
	open := map[timing.Place]int64{}
	for _, e := range o.events {
		switch e.Kind {
		case timing.WaveStart:
			if _, ok := open[e.Place]; ok {
				t.Errorf("a second wave starts at %+v", e.Place)
			}
			open[e.Place] = e.Time
		case timing.WaveEnd:
			out = append(out, wave{e.Place, open[e.Place], e.Time})
			delete(open, e.Place)
		}
	}
	if len(open) != 0 {
		t.Errorf("%d waves do not end", len(open))
	}
	return out
}

// captureGPU is the machine that a capture was made on.
func captureGPU(t testing.TB, arch string) *gpu.GPU {
	name := map[string]string{"gfx1100": "gfx1100", "gfx1200": "gfx1201", "gfx950": "gfx950"}[arch]
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if arch == "gfx950" { // the harvesting that its streams show
		for e := range g.Live {
			g.Live[e][0] = 0xff << (e & 1)
		}
	}
	return g
}

const (
	kernargBase = 0x7f0000000000
	bufferBase  = 0x7f1000000000
	bufferBytes = 4 << 20  // enough for all but the largest
	largeBytes  = 68 << 20 // of gemmbig
)

// newKernel sets a dispatch of a capture up: code where it was, a buffer for each argument.
func newKernel(t testing.TB, dir string, m *captureMeta, d int, g *gpu.GPU) (*space, *shader.Kernel) {
	t.Helper()
	disp := m.Dispatches[d]
	mem := &space{}
	for _, p := range m.Programs {
		if p.Tag != disp.ProgramTag {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			t.Fatal(err)
		}
		obj, err := codeobj.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := obj.Span()
		img := make([]byte, hi-lo+4096)
		if err := obj.LoadInto(img, p.Base); err != nil {
			t.Fatal(err)
		}
		mem.add(p.Base+lo, img)
	}
	args := make([]byte, 4096)
	// Each kernel of a capture writes a buffer of its own; the last one of three reads what the others wrote.
	order := []int{d, 3, 4, 5, 6, 7}
	if d == 2 {
		order = []int{2, 0, 1, 5, 6, 7}
	}
	for i, b := range order {
		at := bufferBase + uint64(b)<<32
		binary.LittleEndian.PutUint64(args[8*i:], at)
		size := bufferBytes
		if strings.HasSuffix(dir, "gemmbig") {
			size = largeBytes
		}
		mem.add(at, make([]byte, size))
	}
	base := uint64(kernargBase + d<<16) // each dispatch has its own
	mem.add(base, args)
	target := g.Target
	arch, _ := isa.ArchOf(target)
	entry, _ := strconv.ParseUint(strings.TrimPrefix(disp.Trace.Entry, "0x"), 16, 64)
	k := &shader.Kernel{
		Arch: arch, Entry: entry, Wave32: !arch.CDNA(), RSRC1: hex(disp.Trace.RSRC1), RSRC2: hex(disp.Trace.RSRC2), RSRC3: hex(disp.Trace.RSRC3),
		Groups: [3]uint32(disp.Trace.Groups), Block: [3]uint32(disp.Trace.Threads), Name: disp.Kernel, Log: shader.LogFull,
	}
	k.LDSBytes = min(k.RSRC2>>15&0x1ff*512, uint32(g.LDSBytes))
	k.UserData[0], k.UserData[1] = uint32(base), uint32(base>>32)
	return mem, k
}

// threadMgmt are the CU masks that the captures were made with.
func threadMgmt(g *gpu.GPU, capture string) []uint32 {
	if capture != "gemm3k" && capture != "gemmbig" {
		return nil
	}
	m := make([]uint32, g.Engines())
	for e := range m {
		switch {
		case capture == "gemmbig":
			if e < 2 {
				m[e] = 0xffffffff
			}
		case g.Family == gpu.GFX9 && e%g.SEs == 0:
			m[e] = 3
		case g.Family == gpu.GFX9:
			m[e] = 2 // bit 1: the odd engines' first CU; one of the even ones' runs the rest
			if e%2 == 0 {
				m[e] = 1
			}
		case e == 0:
			m[e] = 1
		}
	}
	return m
}

// pages is what the page tables of a capture's process say. Buffers have pages of their own. The arguments of two captures were in the
// host's memory: only their first loads take 8000 cycles and more, in each dispatch again, whatever else is touched first.
func pages(g *gpu.GPU, capture string) func(uint64) timing.Page {
	small := capture == "plus" || capture == "sync"
	host := g.Family == gpu.GFX12 && (capture == "gemm3k" || capture == "gemmbig")
	return func(addr uint64) timing.Page {
		if small {
			return timing.Page{Shift: 63}
		}
		return timing.Page{Shift: 21, Host: host && addr>>32 == kernargBase>>32}
	}
}

// simulate runs dispatch d of a capture on a machine.
func simulate(t testing.TB, machine *timing.Machine, g *gpu.GPU, dir, capture string, m *captureMeta, d int, start int64, o *observer) (timing.Result, error) {
	t.Helper()
	mem, k := newKernel(t, dir, m, d, g)
	sm := shader.NewMachine(mem)
	run := sm.Run(context.Background(), k)
	defer run.Close()
	dies := make([]int, g.Dies)
	for i := range dies {
		dies[i] = i
	}
	res, err := machine.Dispatch(context.Background(), timing.Dispatch{
		Start: start, Kernel: k, Source: run, Dies: dies, ThreadMgmt: threadMgmt(g, capture), Traced: true, Pages: pages(g, capture),
	}, o)
	return res, err
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

var long = flag.Bool("long", false, "time the large captures too")

// TestCaptures runs the kernels of the captures and compares what the model says with what hardware did.
func TestCaptures(t *testing.T) {
	var all []float64
	fmt.Fprintf(t.Output(), "%-28s %-26s %6s %9s %9s %7s %9s %9s %7s %7s\n", "capture", "kernel", "waves", "measured", "modelled", "error", "span", "modelled", "place", "slot")
	for _, arch := range []string{"gfx1100", "gfx1200", "gfx950"} {
		metas, _ := filepath.Glob(sharedtest.Path(t, "captures", arch) + "/*/meta.json")
		for _, path := range metas {
			dir := filepath.Dir(path)
			capture := filepath.Base(dir)
			if capture == "gemmbig" && !*long {
				continue
			}
			var m captureMeta
			readJSON(t, path, &m)
			var gold golden
			readJSON(t, filepath.Join(dir, "golden_amd.json"), &gold)
			g := captureGPU(t, arch)
			machine, err := timing.New(g, nil)
			if err != nil {
				t.Fatal(err)
			}
			at := int64(1000)
			for d := range m.Dispatches {
				o := &observer{}
				res, err := simulate(t, machine, g, dir, capture, &m, d, at, o)
				if err != nil {
					t.Logf("%s/%s: %v", arch, capture, err)
					continue
				}
				at = res.End + 100000
				got := o.waves(t)
				var real []wave
				var gd, rd []float64
				engines := map[uint8]bool{}
				var realSpan, span int64
				for _, s := range gold.Streams {
					if s.Dispatch != d {
						continue
					}
					engines[uint8(s.Se)] = true
					for _, w := range s.Waves {
						real = append(real, wave{timing.Place{Engine: uint8(s.Se), SA: uint8(w[0]), Unit: uint8(w[1]), SIMD: uint8(w[2]), Slot: uint8(w[3])}, w[4], w[5]})
					}
				}
				for e := range engines {
					realSpan = max(realSpan, spanOf(real, e))
					span = max(span, spanOf(got, e))
				}
				places := map[timing.Place]int{}
				noSlot := map[timing.Place]int{}
				for _, w := range real {
					rd = append(rd, float64(w.end-w.start))
					places[w.place]++
					p := w.place
					p.Slot = 0
					noSlot[p]++
				}
				samePlace, sameSlot := 0, 0
				for _, w := range got {
					if !engines[w.place.Engine] {
						continue
					}
					gd = append(gd, float64(w.end-w.start))
					if places[w.place] > 0 {
						places[w.place]--
						sameSlot++
					}
					p := w.place
					p.Slot = 0
					if noSlot[p] > 0 {
						noSlot[p]--
						samePlace++
					}
				}
				if len(rd) == 0 || len(gd) == 0 {
					t.Errorf("%s/%s: %d real and %d modelled waves", arch, capture, len(rd), len(gd))
					continue
				}
				slices.Sort(rd)
				slices.Sort(gd)
				var errs []float64
				for i := range rd {
					x := gd[i*len(gd)/len(rd)]
					errs = append(errs, math.Abs(x-rd[i])/rd[i])
				}
				e := median(errs)
				all = append(all, e)
				fmt.Fprintf(t.Output(), "%-28s %-26s %6d %9.0f %9.0f %6.0f%% %9d %9d %6.0f%% %6.0f%%\n", arch+"/"+capture, m.Dispatches[d].Kernel, len(rd), median(rd), median(gd), 100*e,
					realSpan, span, 100*float64(samePlace)/float64(len(rd)), 100*float64(sameSlot)/float64(len(rd)))
			}
		}
	}
	t.Logf("median error of wave duration over %d dispatches: %.0f%%", len(all), 100*median(all))
	if median(all) > 0.15 {
		t.Errorf("the model is %.0f%% off", 100*median(all))
	}
}

// Kernels of one workgroup, the first of their process, run where MI350X ran them: on engine 2 of die 0. The traces of such kernels show no
// instruction there either, as programs trace engines 0 and 1 in detail.
func TestFirstGroupCDNA(t *testing.T) {
	for _, capture := range []string{"empty", "plus"} {
		dir := sharedtest.Path(t, "captures", "gfx950", capture)
		var m captureMeta
		readJSON(t, filepath.Join(dir, "meta.json"), &m)
		var gold golden
		readJSON(t, filepath.Join(dir, "golden_amd.json"), &gold)
		g := captureGPU(t, "gfx950")
		machine, err := timing.New(g, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := &observer{}
		if _, err := simulate(t, machine, g, dir, capture, &m, 0, 1000, o); err != nil {
			t.Fatal(err)
		}
		ours := o.waves(t)
		for _, s := range gold.Streams {
			if len(s.Waves) > 0 && (len(s.Waves) != 1 || len(ours) != 1 || int(ours[0].place.Engine) != s.Se) {
				t.Errorf("%s: %d waves on engine %d, modelled %+v", capture, len(s.Waves), s.Se, ours)
			}
		}
	}
}

// spanOf is the time from an engine's first start to its last end.
func spanOf(ws []wave, e uint8) int64 {
	lo, hi := int64(math.MaxInt64), int64(0)
	for _, w := range ws {
		if w.place.Engine == e {
			lo, hi = min(lo, w.start), max(hi, w.end)
		}
	}
	if hi == 0 {
		return 0
	}
	return hi - lo
}

type goldenInsts struct {
	Streams []struct {
		Dispatch, Se int
		InstWaves    []struct {
			Slot       int
			Begin, End int64
			Insts      [][5]any // time, duration, stall, category, pc
		} `json:"inst_waves"`
	}
}

// gaps collects the distances of issues of one capture, real and modelled.
type gaps struct {
	n, same, near int
	longReal      []float64 // over 20 cycles: relative errors
}

func (g *gaps) add(real, model int64) {
	g.n++
	d := real - model
	if d == 0 {
		g.same++
	}
	if d >= -2 && d <= 2 {
		g.near++
	}
	if real > 20 {
		g.longReal = append(g.longReal, math.Abs(float64(d))/float64(real))
	}
}

// TestIssueGaps compares, instruction by instruction of the traced waves, how long after the one before each issued.
func TestIssueGaps(t *testing.T) {
	var all gaps
	fmt.Fprintf(t.Output(), "%-28s %-26s %8s %7s %9s %22s\n", "capture", "kernel", "gaps", "equal", "within 2", "error of gaps over 20")
	for _, arch := range []string{"gfx1100", "gfx1200"} {
		metas, _ := filepath.Glob(sharedtest.Path(t, "captures", arch) + "/*/meta.json")
		for _, path := range metas {
			dir := filepath.Dir(path)
			capture := filepath.Base(dir)
			if capture == "gemmbig" && !*long {
				continue
			}
			var m captureMeta
			readJSON(t, path, &m)
			var gold goldenInsts
			readJSON(t, filepath.Join(dir, "golden_amd.json"), &gold)
			g := captureGPU(t, arch)
			machine, err := timing.New(g, nil)
			if err != nil {
				t.Fatal(err)
			}
			at := int64(1000)
			for d := range m.Dispatches {
				o := &observer{detail: func(engine, sa, unit, simd int) bool { return engine < 2 && sa == 0 && unit == 0 && simd == 0 }}
				res, err := simulate(t, machine, g, dir, capture, &m, d, at, o)
				if err != nil {
					continue // TestCaptures tells
				}
				at = res.End + 100000
				var one gaps
				for _, s := range gold.Streams {
					if s.Dispatch != d {
						continue
					}
					modelled := o.issues(s.Se)
					for _, w := range s.InstWaves {
						q := modelled[uint8(w.Slot)]
						if len(q) == 0 {
							continue
						}
						ours := q[0]
						modelled[uint8(w.Slot)] = q[1:]
						n := len(w.Insts)
						if n != len(ours) && n != len(ours)+1 { // the decoder adds s_endpgm
							continue
						}
						last, lastOurs := w.Begin, ours[0]
						for i := range ours {
							at := int64(w.Insts[i][0].(float64)) + int64(w.Insts[i][2].(float64))
							if i > 0 {
								one.add(at-last, ours[i]-lastOurs)
							}
							last, lastOurs = at, ours[i]
						}
					}
				}
				if one.n == 0 {
					continue
				}
				fmt.Fprintf(t.Output(), "%-28s %-26s %8d %6.0f%% %8.0f%% %21.0f%%\n", arch+"/"+capture, m.Dispatches[d].Kernel, one.n,
					100*float64(one.same)/float64(one.n), 100*float64(one.near)/float64(one.n), 100*median(one.longReal))
				all.n += one.n
				all.same += one.same
				all.near += one.near
				all.longReal = append(all.longReal, one.longReal...)
			}
		}
	}
	t.Logf("%d gaps: %.0f%% equal, %.0f%% within 2 cycles; median error of those over 20 cycles %.0f%%", all.n, 100*float64(all.same)/float64(all.n),
		100*float64(all.near)/float64(all.n), 100*median(all.longReal))
}

// issues are the times of the instructions of each wave of an engine's traced SIMD, by slot, in order of starts.
func (o *observer) issues(engine int) map[uint8][][]int64 {
	out := map[uint8][][]int64{}
	for _, e := range o.events {
		p := e.Place
		if int(p.Engine) != engine || p.SA != 0 || p.Unit != 0 || p.SIMD != 0 {
			continue
		}
		switch e.Kind {
		case timing.WaveStart:
			out[p.Slot] = append(out[p.Slot], nil)
		case timing.Issue, timing.Immediate:
			if e.Flags&timing.BarrierWait != 0 {
				continue
			}
			ws := out[p.Slot]
			ws[len(ws)-1] = append(ws[len(ws)-1], e.Time)
		}
	}
	for slot, ws := range out {
		out[slot] = slices.DeleteFunc(ws, func(w []int64) bool { return len(w) == 0 })
	}
	return out
}
