package report

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

// nibbles writes an RDNA3 stream by formats' documents: fields at their bits, tokens end to end.
type nibbles struct {
	bits uint // written
	b    []byte
}

func (n *nibbles) put(v uint64, bits uint) {
	for i := uint(0); i < bits; i += 4 {
		if n.bits%8 == 0 {
			n.b = append(n.b, 0)
		}
		n.b[n.bits/8] |= byte(v>>i&15) << (n.bits % 8)
		n.bits += 4
	}
}

func (n *nibbles) header() { n.put(0x11|3<<7, 64) }

// time lets cycles pass: 4 to 19 a token.
func (n *nibbles) time(cycles uint64) {
	for cycles >= 4 {
		d := min(cycles, 19)
		if cycles-d > 0 && cycles-d < 4 {
			d -= 4
		}
		n.put(0b1000|(d-4)<<4, 8)
		cycles -= d
	}
}

func (n *nibbles) start(sa, wgp, simd, slot uint64) {
	n.put(0b01100|sa<<7|simd<<8|wgp<<10|slot<<13|0x7f<<25, 32)
}

func (n *nibbles) end(sa, wgp, simd, slot uint64) {
	n.put(0b10101|sa<<8|simd<<9|wgp<<11|slot<<15, 20)
}

// bytesOf is a StreamFile's Open of bytes in memory.
func bytesOf(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

// A stream that cannot be read to its end is an error or a loss that says so, also where only the second pass fails.
func TestUnreadable(t *testing.T) {
	cut := func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(twoWaves()), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
	}
	if _, err := Decode([]StreamFile{{Name: "a", Open: cut, Family: gpu.GFX11}}); err == nil || err.Error() != "a: unexpected EOF" {
		t.Errorf("error %v", err)
	}
	opens := 0
	gone := func() (io.ReadCloser, error) {
		if opens++; opens > 1 {
			return cut()
		}
		return bytesOf(twoWaves())()
	}
	d, err := Decode([]StreamFile{{Name: "a", Open: gone, Family: gpu.GFX11}})
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer) error{"chrome": d.Chrome, "json": d.WriteJSON, "csv": d.WriteCSV} {
		if err := write(io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	d.Tables(0)
	if n := d.Quality.Notes; len(n) == 0 || n[len(n)-1].Text != "the tables are not whole: unexpected EOF" {
		t.Errorf("notes %+v", n)
	}
}

// Views of instructions read the stream again, and tell where they could not.
func TestUnreadableAgain(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must(t, err)
	opens := 0
	gone := func() (io.ReadCloser, error) {
		if opens++; opens > 1 {
			data := data[:len(data)/2]
			return io.NopCloser(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
		}
		return bytesOf(data)()
	}
	h, err := HotFiles("gfx1100", []StreamFile{{Name: "a", Open: gone, Family: gpu.GFX11}}, nil)
	must(t, err)
	l := h.WaveList()
	for name, write := range map[string]func(io.Writer) error{"html": h.WriteHTML, "json": l.WriteJSON, "csv": l.WriteCSV} {
		if err := write(io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	l.Tables(0)
	if n := l.Quality.Notes; n[len(n)-1].Text != "the tables are not whole: a, read again: unexpected EOF" {
		t.Errorf("notes %+v", n)
	}
}

// twoWaves is a stream with two waves, one in each array, and a third that has no end.
func twoWaves() []byte {
	var n nibbles
	n.header()
	n.time(100)
	n.start(0, 0, 0, 0)
	n.time(10)
	n.start(1, 2, 1, 3)
	n.time(500)
	n.end(0, 0, 0, 0)
	n.start(0, 0, 0, 1)
	n.time(40)
	n.end(1, 2, 1, 3)
	for len(n.b)%32 != 0 {
		n.put(0, 4)
	}
	return n.b
}

// record makes a capture in memory.
func record(t *testing.T, write func(w *capture.Writer)) *capture.Capture {
	t.Helper()
	var buf bytes.Buffer
	w, err := capture.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	stable := true
	must(t, w.Device(capture.Device{
		Name: "Radeon", Target: "gfx1100", Family: "gfx11", Simulated: true, Dies: 1, SEs: 2, SAs: 2, Units: 4, SIMDs: 4, Slots: 16,
		Live: [][]uint32{{15, 15}, {15, 7}}, ClockHz: 1e9, StablePower: &stable,
	}))
	write(w)
	must(t, w.Close())
	c, err := capture.Read(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostile is a kernel's name that breaks careless writers.
const hostile = "k<a,\"b\">\n\x1b[31m;=cmd"

func launchOfTest(waves int64) capture.Dispatch {
	start, end := int64(1000), int64(3500)
	return capture.Dispatch{
		Kernel: hostile, Grid: [3]uint32{128, 1, 1}, Groups: [3]uint32{2, 1, 1}, Block: [3]uint32{64, 1, 1}, Wave: 32, Waves: waves,
		StartNs: &start, EndNs: &end,
	}
}

func traced(t *testing.T, full bool) *Traced {
	t.Helper()
	c := record(t, func(w *capture.Writer) {
		must(t, w.Dispatch(launchOfTest(3)))
		detail := &capture.Detail{Alive: true}
		must(t, w.Trace(capture.Trace{Engine: 0, Family: "gfx11", Buffer: 4096, Full: full, Dropped: 7, Detail: detail}, twoWaves()))
		must(t, w.Trace(capture.Trace{Engine: 1, Family: "gfx11", Buffer: 4096}, nil))
	})
	v, err := Trace(c)
	must(t, err)
	return v
}

func TestTrace(t *testing.T) {
	v := traced(t, false)
	want := []EngineWave{{0, Wave{CU: 0, Start: 100, Stop: 610, Lanes: 32}}, {0, Wave{CU: 8 + 2, SIMD: 1, Slot: 3, Start: 110, Stop: 650, Lanes: 32}}}
	if got := v.Dispatches[0].Waves; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("waves %v, want %v", got, want)
	}
	q := v.Quality
	if q.WavesComplete != 2 || q.WavesStartOnly != 1 || *q.WavesLaunched != 3 || len(q.EnginesWithoutData) != 1 || q.PowerState != "stable" || !*q.Simulated {
		t.Errorf("quality %+v", q)
	}
	if !q.Warned() {
		t.Error("a missing wave is no warning")
	}
	if n := *v.Dispatches[0].DurationNs; n != 2500 {
		t.Errorf("duration %d", n)
	}
}

// A full buffer names engine, loss and flag.
func TestFullBuffer(t *testing.T) {
	var notes strings.Builder
	v := traced(t, true)
	for _, n := range v.Quality.Notes {
		notes.WriteString(noteLine(n) + "\n")
	}
	for _, want := range []string{"engine 0 was full", "7 lost", "--buffer-size above 4 KiB"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("no %q in\n%s", want, notes.String())
		}
	}
}

// An empty trace is never silent.
func TestNothingTraced(t *testing.T) {
	c := record(t, func(w *capture.Writer) {
		must(t, w.Dispatch(launchOfTest(3)))
		must(t, w.Trace(capture.Trace{Engine: 0, Family: "gfx11", Buffer: 4096, Detail: &capture.Detail{Unit: 3}}, nil))
	})
	v, err := Trace(c)
	must(t, err)
	text := ""
	for _, n := range v.Quality.Notes {
		text += noteLine(n) + "\n"
	}
	for _, want := range []string{"nothing was traced of 3 waves", "engine 1, not traced", "--engines all", "WGP 3 SIMD 0 is harvested", "--unit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Every format stays valid with a hostile kernel name.
func TestFormats(t *testing.T) {
	counted := countersView(t)
	counted.PerUnit = true
	for name, v := range map[string]struct {
		csv    *Table
		json   any
		chrome func(*bytes.Buffer) error
	}{
		"trace":    {traced(t, false).CSV(), traced(t, false), func(b *bytes.Buffer) error { return traced(t, false).Chrome(b) }},
		"counters": {counted.CSV(), counted, func(b *bytes.Buffer) error { return counted.Chrome(b) }},
	} {
		var b bytes.Buffer
		must(t, v.csv.CSV(&b))
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(rows) < 2 || rows[1][1] != hostile {
			t.Errorf("%s: csv %v: %q", name, err, rows)
		}
		b.Reset()
		must(t, WriteJSON(&b, v.json))
		var doc struct {
			Schema     string
			Device     struct{ Simulated bool }
			Dispatches []struct{ Kernel string }
			Quality    map[string]any
		}
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Dispatches[0].Kernel != hostile || doc.Schema != "rigprof/"+name+"/1" ||
			!doc.Device.Simulated || doc.Quality["notes"] == nil {
			t.Errorf("%s: json %v: %+v", name, err, doc)
		}
		b.Reset()
		must(t, v.chrome(&b))
		var trace struct{ TraceEvents []map[string]any }
		if err := json.Unmarshal(b.Bytes(), &trace); err != nil || len(trace.TraceEvents) < 3 {
			t.Errorf("%s: chrome %v: %d events", name, err, len(trace.TraceEvents))
		}
	}
}

// countersView is one pass of SQ_WAVES and GRBM_COUNT: engine 0's first WGP ran 3 waves, engine 5's last has a full register.
func countersView(t *testing.T) *Counted {
	t.Helper()
	g, err := gpu.Lookup("gfx1100")
	must(t, err)
	names := []string{"SQ_WAVES", "GRBM_COUNT", "SQ_INSTS_VALU"}
	l, err := perfctr.NewLayout(g, names)
	must(t, err)
	samples := make([]byte, l.Bytes)
	var layout []capture.Counter
	for _, p := range l.Counters {
		layout = append(layout, capture.Counter{
			Name: p.Name, Block: p.Block, Event: p.Event, Instances: p.Instances, Engines: p.Engines, Arrays: p.Arrays, WGPs: p.WGPs, Offset: p.Offset,
		})
	}
	waves := l.Counters[0]
	binary.LittleEndian.PutUint64(samples[waves.Offset:], 3)
	binary.LittleEndian.PutUint64(samples[waves.Offset+8*(waves.Words(1)-1):], math.MaxUint32)
	binary.LittleEndian.PutUint64(samples[l.Counters[1].Offset:], 77)
	stable := false
	c := record(t, func(w *capture.Writer) {
		must(t, w.Device(capture.Device{
			Name: g.Name, Target: g.Target, Family: "gfx11", Simulated: true, Dies: 1, SEs: g.SEs, SAs: g.SAs, Units: g.Units, Live: g.LiveUnits(), StablePower: &stable,
		}))
		must(t, w.Dispatch(launchOfTest(3)))
		must(t, w.Counters(capture.Counters{Asked: append(names, "no_such"), Names: names, Layout: layout}, samples))
	})
	v, err := Counters(c)
	must(t, err)
	return v
}

func TestCounters(t *testing.T) {
	v := countersView(t)
	cs := v.Dispatches[0].Counters
	if got := cs[0]; got.Value != uint64(3+math.MaxUint32) || !got.AtLeast || got.Units[0].Engine != 0 || *got.Units[0].Value != 3 {
		t.Errorf("SQ_WAVES %+v", got)
	}
	if got := cs[1]; got.Value != uint64(77) || len(got.Units) != 1 {
		t.Errorf("GRBM_COUNT %+v", got)
	}
	if got := cs[2]; got.Value != nil || !strings.Contains(got.Reason, "stable power state") {
		t.Errorf("SQ_INSTS_VALU %+v", got)
	}
	if got := cs[3]; got.Value != nil || got.Reason == "" {
		t.Errorf("an unknown name: %+v", got)
	}
	if n := len(v.Quality.CountersUnmeasured); n != 2 {
		t.Errorf("%d counters unmeasured", n)
	}
}

func TestDecode(t *testing.T) {
	d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(twoWaves()), Family: gpu.GFX11}, {Name: "empty", Open: bytesOf(nil), Family: gpu.GFX11}})
	must(t, err)
	if s := d.Streams[0]; s.Waves != 2 || s.Losses.OpenAtEnd != 1 || s.Packets == 0 || s.Family != "gfx11" {
		t.Errorf("%+v", s)
	}
	var b bytes.Buffer
	must(t, WritePackets(&b, StreamFile{Open: bytesOf(twoWaves()), Family: gpu.GFX11}))
	if first, _, _ := strings.Cut(b.String(), "\n"); !strings.HasPrefix(first, "0\t0\tHEADER\tversion=3") {
		t.Errorf("first token %q", first)
	}
}

// TestTwice checks that a file given twice, or its copy, is told of, and that files which are merely alike are not.
func TestTwice(t *testing.T) {
	file := func(name string, b []byte) StreamFile {
		return StreamFile{Name: name, Open: bytesOf(b), Family: gpu.FamilyOf("gfx1100")}
	}
	scanOf := func(f StreamFile) *scanned { return f.scan(scan{}) }
	other := slices.Clone(twoWaves())
	other[len(other)-1] ^= 0x80
	if a, b := scanOf(file("", other)), scanOf(file("", twoWaves())); a.Bytes != b.Bytes || a.waves != b.waves || a.End != b.End {
		t.Fatalf("not alike: %+v, %+v", a.Result, b.Result)
	}
	for _, tt := range []struct {
		files []StreamFile
		want  []string
	}{
		{[]StreamFile{file("a", twoWaves()), file("b", other), file("idle0", twoWaves()[:8]), file("idle1", twoWaves()[:8])}, nil},
		{[]StreamFile{file("a", twoWaves()), file("b", other), file("a", twoWaves()), file("c", other)}, []string{"a is given more than once: what it holds is counted again each time", "b and c hold the same: it is counted again each time"}},
	} {
		decoded, err := Decode(tt.files)
		must(t, err)
		h, err := HotFiles("gfx1100", tt.files, nil)
		must(t, err)
		for _, q := range []*Quality{&decoded.Quality, &h.Quality} {
			var got []string
			for _, n := range q.Notes {
				if strings.Contains(n.Text, "counted again") {
					got = append(got, n.Text)
				}
			}
			if !slices.Equal(got, tt.want) || (len(tt.want) > 0 && !q.Warned()) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		}
	}
}

func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	must(t, WriteJSON(&b, map[string]any{"a": []any{}, "b": []any{map[string]any{"x": "}\",[{"}, 2}, "c": "<&>"}))
	want := "{\n  \"a\": [],\n  \"b\": [\n    {\"x\":\"}\\\",[{\"},\n    2\n  ],\n  \"c\": \"<&>\"\n}\n"
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{"vadd": "vadd", "a\nb\x1b[1m": `a\nb\x1b[1m`, "é世": "é世"} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestCut checks that a stream whose waves do not end is not called idle.
func TestCut(t *testing.T) {
	b := twoWaves()
	d, err := Decode([]StreamFile{{Name: "a", Family: gpu.GFX11, Open: bytesOf(b[:len(b)/2])}})
	must(t, err)
	if s := d.Streams[0]; s.Waves != 0 || s.Losses.OpenAtEnd == 0 {
		t.Fatalf("%+v", s)
	}
	if !slices.ContainsFunc(d.Quality.Notes, func(n capture.Note) bool { return n.Advice == "is the file whole?" }) {
		t.Errorf("%+v", d.Quality.Notes)
	}
}

// TestNames checks that a name that is no UTF-8 leaves CSV text.
func TestNames(t *testing.T) {
	table := Table{Columns: []Column{Text("name")}}
	table.Add("a\xffb")
	var b bytes.Buffer
	must(t, table.CSV(&b))
	if b.String() != "name\na\ufffdb\n" {
		t.Errorf("%q", b.String())
	}
}

// Markers are read by a pass of their own, which tells of errors too.
func TestUnreadableMarkers(t *testing.T) {
	data, opens := markedStream(), 0
	gone := func() (io.ReadCloser, error) {
		if opens++; opens == 2 { // the pass behind the first
			return io.NopCloser(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
		}
		return bytesOf(data)()
	}
	h, err := HotFiles("gfx1100", []StreamFile{{Name: "a", Open: gone, Family: gpu.GFX11}}, nil)
	must(t, err)
	if !slices.ContainsFunc(h.Quality.Notes, func(n capture.Note) bool { return n.Text == "markers of a are not whole: unexpected EOF" }) {
		t.Errorf("notes %+v", h.Quality.Notes)
	}
}
