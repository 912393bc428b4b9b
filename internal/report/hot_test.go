package report

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// wholeWave is a wave with all its records.
type wholeWave struct {
	analysis.Wave
	Insts []analysis.Inst
}

// partOf gives waves as a stream does.
func partOf(waves []wholeWave, sites []analysis.Site) []*hotPart {
	p := &hotPart{streamPlace: streamPlace{engine: 1}}
	p.feed = func(run *analysis.Run) int {
		for _, s := range sites {
			run.AddSite(s)
		}
		for _, w := range waves {
			l := run.Begin(w.Wave)
			run.Add(l, w.Insts)
			run.End(l, w.Stop)
		}
		return 0
	}
	for _, w := range waves {
		p.crowd.add([]sqtt.Wave{{CU: uint8(w.CU), SIMD: uint8(w.SIMD), Slot: uint8(w.Slot), Start: sqtt.Cycles(w.Start), Stop: sqtt.Cycles(w.Stop)}}, 0)
	}
	p.crowd.close()
	return []*hotPart{p}
}

func none(q Quality) func() Quality { return func() Quality { return q } }

func rowsOf(h *Hot) (rows []WaveCost) {
	h.eachWave(func(w *WaveCost) { rows = append(rows, *w) })
	return rows
}

// hotOfTest is two waves that ran vadd's first instructions; the second also one that no code object holds.
func hotOfTest(t testing.TB) *Hot {
	t.Helper()
	data, err := os.ReadFile("../../testdata/kernels/gfx1100/vadd.co")
	if err != nil {
		t.Fatal(err)
	}
	o, err := codeobj.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	var sites []analysis.Site
	entry := o.Kernels[0].Entry
	for pc := entry; len(sites) < 12; {
		in, err := isa.Decode(isa.RDNA3, o.Bytes(pc))
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, analysis.SiteOf(analysis.Where{PC: pc}, &in))
		pc += uint64(in.Size)
	}
	sites = append(sites, analysis.Site{Where: unplaced(6), Class: isa.VALU})
	for i := range sites {
		sites[i].Kernel = 1
	}
	var waves []wholeWave
	for slot := range 2 {
		w := wholeWave{Wave: analysis.Wave{Engine: 1, Slot: slot, Start: 100 + int64(slot), Stop: 2000}}
		at := w.Start + 50
		for i := range sites {
			if slot == 0 && i == len(sites)-1 {
				break
			}
			stall := int32(0)
			if sites[i].Class == isa.Wait {
				stall = 600
			}
			w.Insts = append(w.Insts, analysis.Inst{Time: at, Stall: stall, Dur: stall + 1 + int32(i%3), Site: int32(i)})
			at += int64(stall) + 5
		}
		waves = append(waves, w)
	}
	q := newQuality()
	q.Note(capture.Info, "", "</script><b>&")
	simulated := true
	h := newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100", Simulated: &simulated}, "gfx1100", partOf(waves, sites), newCodeMap(isa.RDNA3, []*codeobj.Object{o}, []string{"vadd.co"}),
		[]hotKernel{noKernel, {hostile, hostile, 0}}, none(q))
	h.family = gpu.GFX11
	return h
}

func must2(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHotspots(t *testing.T) {
	h := hotOfTest(t)
	d := h.Hotspots("insn", "stall")
	r := d.Rows[0]
	if r.Name != "s_waitcnt lgkmcnt(0)" || r.Stall != 1200 || r.Hits != 2 || r.Source != "vadd.cl:4" {
		t.Errorf("first row %+v", r)
	}
	if len(r.WaitsFor) != 1 || !strings.HasPrefix(r.WaitsFor[0].Name, "s_load_b") || r.WaitsFor[0].Cycles != r.Cycles || d.Tables(0)[0].Rows[0][8] != r.WaitsFor[0].Address {
		t.Errorf("the first row waits for %+v", r.WaitsFor)
	}
	a, err := h.Annotate("vadd")
	must2(t, err)
	var b bytes.Buffer
	must2(t, a.WriteText(&b, AnnotateText{Source: func(file string, line int) (string, bool) { return "SOURCE", true }}))
	for _, want := range []string{"vadd: ", "; vadd.cl:4  SOURCE", "s_waitcnt lgkmcnt(0)", "cycles of waves or code that no code object"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if _, err := h.Annotate("nothing"); err == nil || !strings.Contains(err.Error(), "vadd") {
		t.Errorf("%v", err)
	}
	l := h.WaveList()
	l.Width = 40
	tables := l.Tables(1)
	if r := tables[1].Rows[0]; r[2] != "2" || r[3] != "2" || r[5] != "1" {
		t.Errorf("occupancy %v", r)
	}
	if n := len(tables[2].Rows); n != 2 || len(tables[2].Rows[0][1]) != 40 {
		t.Errorf("picture %v", tables[2].Rows)
	}
}

// TestSort checks that rows stand in the order of the column that the key names, and that the title says so.
func TestSort(t *testing.T) {
	h := hotOfTest(t)
	for key, column := range map[string]func(r *HotRow) int64{
		"stall": func(r *HotRow) int64 { return r.Stall }, "duration": func(r *HotRow) int64 { return r.Stall + r.Issue },
		"hits": func(r *HotRow) int64 { return r.Hits }, "nonhidden": func(r *HotRow) int64 { return r.Exposed }, "cycles": func(r *HotRow) int64 { return r.Cycles },
		"latency": func(r *HotRow) int64 {
			if r.Latency == nil {
				return math.MinInt64
			}
			return *r.Latency
		},
	} {
		for _, by := range HotBy {
			d := h.Hotspots(by, key)
			for i := 1; i < len(d.Rows); i++ {
				if column(&d.Rows[i-1]) < column(&d.Rows[i]) {
					t.Errorf("by %s, sorted by %s: row %d %+v stands above %+v", by, key, i, d.Rows[i-1], d.Rows[i])
				}
			}
			if key == "latency" && by != "class" && (d.Rows[0].Latency == nil || !slices.Contains(d.Tables(0)[0].Rows[0], fmt.Sprint(*d.Rows[0].Latency))) {
				t.Errorf("by %s: the first row by latency is %+v", by, d.Rows[0])
			}
			if title := d.Tables(0)[0].Title; !strings.HasSuffix(title, " wave cycles in all, "+hotOrder[key]+" first; simulated: times are modelled") || hotOrder[key] == "" {
				t.Errorf("%q", title)
			}
		}
	}
	if len(HotSort) != 6 || len(hotKeys) != 6 {
		t.Errorf("keys %v", HotSort)
	}
}

// A wave that ends long after its last instruction waits for its stores.
func TestStoreDrain(t *testing.T) {
	end := analysis.Site{Where: analysis.Where{PC: 0x19b8}, Class: isa.End}
	h := hotOfTest(t)
	waves := []wholeWave{{analysis.Wave{Stop: 3000}, []analysis.Inst{{Time: 0, Dur: 500}, {Time: 500, Stall: 2500, Dur: 2500, Site: 1}}}}
	h = newHot(h.Device, "gfx1100", partOf(waves, []analysis.Site{{Where: analysis.Where{PC: 0x1900}}, end}), h.code, nil, none(newQuality()))
	found := false
	for _, a := range h.Advise() {
		found = found || a.Rule == "store-drain" && a.Cycles == 2500 && a.Insn == "s_endpgm"
	}
	if !found {
		t.Errorf("%+v", h.Advise())
	}
}

// A run of every rule's page of explanation: a rule without numbers in it has no threshold.
func TestRules(t *testing.T) {
	for _, r := range Rules() {
		if r.Explain == "" || r.Title == "" || r.check == nil {
			t.Errorf("rule %q is not whole", r.Name)
		}
	}
	h := hotOfTest(t)
	for _, a := range h.Advise() {
		if !strings.ContainsAny(a.Evidence, "0123456789") && a.Rule != "incomplete" {
			t.Errorf("%s speaks without numbers: %s", a.Rule, a.Evidence)
		}
	}
}

// captureHot loads a real capture of the reference data with its code objects.
func captureHot(t testing.TB, name string) *Hot {
	t.Helper()
	files, code := sharedRun(t, name)
	h, err := HotFiles("", files, code)
	must2(t, err)
	return h
}

// Totals hold on real captures too, and nearly every instruction has its place.
func TestCaptures(t *testing.T) {
	for _, name := range []string{"gfx1100/gemm3k", "gfx1200/gemmbig", "gfx1200/sync", "gfx950/gemm3k"} {
		t.Run(name, func(t *testing.T) {
			h := captureHot(t, name)
			conserved(t, h)
			var lost int64
			for i := range h.Profile.Insts {
				if c := &h.Profile.Insts[i]; c.Object < 0 {
					lost += c.Hits
				}
			}
			if h.Profile.Total.Hits == 0 || lost*100 > h.Profile.Total.Hits {
				t.Errorf("%d of %d instructions have no place", lost, h.Profile.Total.Hits)
			}
		})
	}
}

// Every output is the same however a stream is cut.
func TestPieces(t *testing.T) {
	whole := scanPiece
	defer func() { scanPiece = whole }()
	for _, name := range []string{"gfx1100/gemm3k", "gfx1100/ops", "gfx1100/sync", "gfx1200/gemmbig", "gfx1200/handlong", "gfx1200/sync", "gfx950/gemm", "gfx950/gemm3k"} {
		t.Run(name, func(t *testing.T) {
			var want [5]string
			for _, piece := range []int{4 << 20, 1000, 16 << 10} {
				if scanPiece = piece; piece == 1000 && name == "gfx1200/gemmbig" {
					continue // 2000 of them take a while
				}
				h := captureHot(t, name)
				var got [5]bytes.Buffer
				must2(t, h.Hotspots("insn", "cycles").WriteJSON(&got[0]))
				must2(t, h.WaveList().WriteJSON(&got[1]))
				must2(t, h.WaveList().WriteCSV(&got[2]))
				l := h.WaveList()
				l.Width = 50
				for _, table := range l.Tables(10) {
					must2(t, table.CSV(&got[3]))
				}
				must2(t, h.WriteHTML(&got[4]))
				for i := range got {
					if s := got[i].String(); piece == 4<<20 {
						want[i] = s
					} else if s != want[i] {
						t.Errorf("output %d differs in pieces of %d", i, piece)
					}
				}
			}
		})
	}
}

// Waves' lives, the number of instructions and their stalls are what AMD's decoder found.
func TestAgainstAMD(t *testing.T) {
	for _, name := range []string{"gfx1100/gemm3k", "gfx1200/gemm3k", "gfx1200/gemmbig"} {
		t.Run(name, func(t *testing.T) {
			h := captureHot(t, name)
			var golden struct {
				Streams []struct {
					Dispatch  int
					InstWaves []struct {
						Begin, End int64
						Insts      [][5]*int64 // time, duration, stall, category, pc offset
					} `json:"inst_waves"`
				}
			}
			dir := sharedtest.Path(t, "captures", name)
			b, err := os.ReadFile(filepath.Join(dir, "golden_amd.json"))
			if err != nil {
				f, err := os.Open(filepath.Join(dir, "golden_amd.json.gz"))
				must2(t, err)
				z, err := gzip.NewReader(f)
				must2(t, err)
				b, err = io.ReadAll(z)
				must2(t, err)
			}
			must2(t, json.Unmarshal(b, &golden))
			var lives, hits, stall int64
			for _, s := range golden.Streams {
				for _, w := range s.InstWaves {
					lives += w.End - w.Begin
					for _, in := range w.Insts {
						hits++
						stall += *in[2]
					}
				}
			}
			var got int64
			for i := range h.Profile.Insts {
				if c := &h.Profile.Insts[i]; c.Class != isa.End && c.Class != isa.Barrier { // their stall is ours to define
					got += c.Stall
				}
			}
			// Where records of a wave overlap, our window of the later one begins at the earlier one's end: at most one stalled cycle in a thousand.
			if p := h.Profile.Total; p.Cycles() != lives || p.Hits != hits || got > stall || (stall-got)*1000 > stall {
				t.Errorf("%d cycles, %d instructions, %d stalled; AMD's decoder has %d, %d, %d", p.Cycles(), p.Hits, got, lives, hits, stall)
			}
		})
	}
}

func BenchmarkHotspots(b *testing.B) {
	for b.Loop() {
		h := captureHot(b, "gfx1200/gemmbig")
		if n := len(h.Hotspots("line", "cycles").Rows); n == 0 {
			b.Fatal(fmt.Sprint(n))
		}
	}
}

// TestHotNames checks how waves are named and what rows without a load's latency say.
func TestHotNames(t *testing.T) {
	h := hotOfTest(t)
	if got := rowsOf(h)[0].Kernel; got != hostile {
		t.Errorf("kernel %q, want the dispatch's", got)
	}
	d := h.Hotspots("insn", "cycles")
	table := d.CSV()
	at := slices.Index(names(table.Columns), "latency_mean")
	for i, cells := range table.Rows {
		mean, most := cells[at], cells[at+1]
		if (mean == "") != (d.Rows[i].Latency == nil) || (most == "") != (d.Rows[i].LatencyMax == nil) || (mean == "") != (most == "") {
			t.Errorf("latency columns %q and %q, row %+v", mean, most, d.Rows[i])
		}
	}
}

// TestHotEmpty checks that a trace without instructions says so first, and only once why.
func TestHotEmpty(t *testing.T) {
	q := newQuality()
	h := newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100", nil, nil, nil, none(q))
	for _, v := range []interface{ Tables(int) []Table }{h.Hotspots("insn", "cycles"), h.WaveList()} {
		if first := v.Tables(0)[0]; first.Title != "" || len(first.Notes) != 1 || !strings.HasPrefix(first.Notes[0], "no ") {
			t.Errorf("%T begins with %+v", v, first)
		}
	}
	if n := h.Quality.Notes; len(n) != 1 || n[0].Text != "no instruction was traced" {
		t.Errorf("%+v", n)
	}
	q.Note(capture.Warning, "", "%s (engine 0)", noWaveThere)
	if h = newHot(DeviceDoc{}, "gfx1100", nil, nil, nil, none(q)); len(h.Quality.Notes) != 1 {
		t.Errorf("%+v", h.Quality.Notes)
	}
}

// TestUnplaced checks that an instruction whose address is not known shows none.
func TestUnplaced(t *testing.T) {
	rows := hotOfTest(t).Hotspots("insn", "cycles").Rows
	n := 0
	for i := range rows {
		if strings.Contains(rows[i].Name, "unknown address") {
			n++
			if rows[i].Address != "" {
				t.Errorf("%+v", rows[i])
			}
		} else if rows[i].Address == "" {
			t.Errorf("%+v", rows[i])
		}
	}
	if n != 1 {
		t.Errorf("%d instructions without an address", n)
	}
}

// TestSimulatedIsTold reads every text output of one profile as a simulated GPU's, as a GPU's and as trace files', which do not tell.
func TestSimulatedIsTold(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		simulated   *bool
		cell, field string
		folded      bool
	}{{&yes, "true", `"simulated":true`, true}, {&no, "false", `"simulated":false`, false}, {nil, "", `"simulated":null`, false}} {
		h := hotOfTest(t)
		h.Device.Simulated = c.simulated
		code, err := h.Annotate("")
		must(t, err)
		for name, write := range map[string]func(io.Writer) error{
			"hotspots": h.Hotspots("insn", "cycles").WriteCSV, "annotate": code.CSV().CSV, "waves": h.WaveList().WriteCSV,
		} {
			var b bytes.Buffer
			must(t, write(&b))
			rows, err := csv.NewReader(&b).ReadAll()
			must(t, err)
			at := slices.Index(rows[0], "simulated")
			if at < 0 || len(rows) < 2 {
				t.Fatalf("%s: %d rows below %q", name, len(rows)-1, rows[0])
			}
			for _, r := range rows[1:] {
				if r[at] != c.cell {
					t.Errorf("%s: simulated %q, want %q", name, r[at], c.cell)
				}
			}
		}
		var b bytes.Buffer
		must(t, h.Hotspots("insn", "cycles").WriteJSON(&b))
		if !strings.Contains(b.String(), c.field) {
			t.Errorf("JSON lacks %s", c.field)
		}
		b.Reset()
		must(t, h.WriteFolded(&b))
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "simulated Radeon;") != c.folded {
				t.Errorf("folded: %q", line)
			}
		}
	}
}
