package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

func (n *nibbles) word(sa, wgp, simd, slot, value uint64) {
	n.put(0b00110|sa<<8|simd<<9|wgp<<11|slot<<15|value<<20, 52)
}

func (n *nibbles) byte(sa, wgp, simd, slot, value uint64) {
	n.put(0b10110|sa<<8|simd<<9|wgp<<11|slot<<15|value<<20, 28)
}

// markedStream is made by hand, as no capture holds markers: what testdata's markers.cl sends on one slot, with a wave of
// another array that ends inside a span, an exit too many, and a word after the last wave of its slot.
func markedStream() []byte {
	var n nibbles
	n.header()
	n.time(100)
	n.start(0, 0, 0, 0)
	n.start(1, 2, 1, 3)
	n.time(20)
	n.byte(0, 0, 0, 0, 1<<2|2) // enter load
	n.byte(1, 2, 1, 3, 1)      // exit of nothing
	n.time(30)
	n.byte(0, 0, 0, 0, 2<<2|3) // exit load, enter sum
	n.word(1, 2, 1, 3, 200<<2|2)
	n.time(10)
	n.word(0, 0, 0, 0, 70<<2) // value,
	n.word(0, 0, 0, 0, 1)     // and the value, which is no exit
	n.byte(0, 0, 0, 0, 1<<2|2)
	n.time(40)
	n.byte(0, 0, 0, 0, 1)
	n.byte(0, 0, 0, 0, 1)
	n.put(0b10110|1<<14|1<<20, 28) // exec set: ignored
	n.time(10)
	n.end(0, 0, 0, 0)
	n.time(10)
	n.end(1, 2, 1, 3)
	n.time(10)
	n.word(1, 2, 1, 3, 5<<2)
	for len(n.b)%32 != 0 {
		n.put(0, 4)
	}
	return n.b
}

const markedView = `dispatch,engine,array,wgp,simd,slot,wave start,start,stop,cycles,depth,kind,marker
0,1,0,0,0,0,100,120,150,30,0,span,load
0,1,0,0,0,0,100,150,200,50,0,function,sum(float*)
0,1,0,0,0,0,100,160,160,0,1,point,value
0,1,0,0,0,0,100,160,200,40,1,span,load
0,1,1,2,1,3,100,150,220,70,0,span,marker 200
0,1,1,2,1,3,,230,230,0,0,point,marker 5
`

func markedCapture(t *testing.T) *capture.Capture {
	t.Helper()
	object, err := os.ReadFile("../codeobj/testdata/markers.co")
	must(t, err)
	return record(t, func(w *capture.Writer) {
		must(t, w.Object(capture.Object{Name: "markers.co", Target: "gfx1100", Base: 0x10000}, object))
		must(t, w.Dispatch(launchOfTest(2)))
		must(t, w.Trace(capture.Trace{Engine: 1, Family: "gfx11", Buffer: 4096}, markedStream()))
	})
}

func TestMarkers(t *testing.T) {
	h, err := HotCapture(markedCapture(t))
	must(t, err)
	l := h.WaveList()
	titles := map[string]Table{}
	for _, tab := range l.Tables(0) {
		titles[tab.Title] = tab
	}
	tab := titles["markers"]
	var b bytes.Buffer
	must(t, tab.CSV(&b))
	if b.String() != markedView {
		t.Errorf("markers\n%s, want\n%s", b.String(), markedView)
	}
	b.Reset()
	tab = titles["markers by name, of all waves in the traces"]
	must(t, tab.CSV(&b))
	if want := "count,cycles,mean,longest,kind,marker\n2,70,35.0,40,span,load\n1,70,70.0,70,span,marker 200\n1,50,50.0,50,function,sum(float*)\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("sums\n%s, want\n%s", b.String(), want)
	}
	var notes strings.Builder
	for _, n := range l.Quality.Notes {
		notes.WriteString(n.Text + "\n")
	}
	for _, want := range []string{"no capture of hardware has confirmed", "1 exit marker has no span", "1 marker word of waves that begin or end outside"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("no note %q in\n%s", want, notes.String())
		}
	}
	b.Reset()
	must(t, l.WriteJSON(&b))
	var doc struct {
		Markers []struct {
			Name, Source string
			Open         bool
			Payload      []uint32
		}
	}
	must(t, json.Unmarshal(b.Bytes(), &doc))
	m := doc.Markers
	if len(m) != 6 || m[1].Source != "markers.cl:12" || len(m[2].Payload) != 1 || m[2].Payload[0] != 1 || m[3].Open || !m[4].Open {
		t.Errorf("JSON markers %+v", m)
	}
}

func TestFoldedMarkers(t *testing.T) {
	h, err := HotCapture(markedCapture(t))
	must(t, err)
	h.kernels[h.parts[0].kernel].name = "k;1"
	var b bytes.Buffer
	must(t, h.Export(&b, "folded-markers"))
	if want := strings.ReplaceAll("R;k:1;load 30\nR;k:1;marker 200 70\nR;k:1;sum(float*) 10\nR;k:1;sum(float*);load 40\n", "R", "simulated Radeon"); b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if err := hotOfTest(t).Export(&b, "folded-markers"); err == nil {
		t.Error("no error without markers")
	}
}

// In the timeline markers nest in their waves, on the same thread.
func TestMarkersChrome(t *testing.T) {
	v, err := Trace(markedCapture(t))
	must(t, err)
	var b bytes.Buffer
	must(t, v.Chrome(&b))
	var doc struct {
		TraceEvents []struct {
			Ph, Name string
			Pid, Tid int
			Args     map[string]any
		}
	}
	must(t, json.Unmarshal(b.Bytes(), &doc))
	lanes := map[int][]string{}
	for _, e := range doc.TraceEvents {
		if e.Ph == "X" {
			lanes[e.Tid] = append(lanes[e.Tid], e.Name)
		}
	}
	var first, second bool
	for _, names := range lanes {
		switch strings.Join(names, "|") {
		case hostile + "|load|sum(float*)|load|value":
			first = true
		case hostile + "|marker 200|marker 5":
			second = true
		}
	}
	if len(lanes) != 2 || !first || !second {
		t.Errorf("lanes %v", lanes)
	}
}

// Trace files have names with their code object, numbers without.
func TestMarkersOfFiles(t *testing.T) {
	object, err := os.ReadFile("../codeobj/testdata/markers.co")
	must(t, err)
	files := []StreamFile{{Name: "se0", Open: bytesOf(markedStream()), Family: gpu.GFX11}}
	for _, c := range []struct {
		code []CodeFile
		want string
	}{
		{nil, "marker 1"},
		{[]CodeFile{{Name: "markers.co", Data: object}}, "load"},
		{[]CodeFile{{Name: "markers.co", Data: object}, {Name: "again.co", Base: 1 << 20, Data: object}}, "marker 1"},
	} {
		h, err := HotFiles("gfx1100", files, c.code)
		must(t, err)
		if m := h.Markers; len(m) == 0 || m[0].Name != c.want {
			t.Errorf("%d objects: %+v, want %q first", len(c.code), m, c.want)
		}
	}
}

// A capture without markers says nothing of them.
func TestNoMarkers(t *testing.T) {
	v := traced(t, false)
	if v.markers != nil {
		t.Errorf("%+v", v.markers)
	}
	var b bytes.Buffer
	must(t, hotOfTest(t).WaveList().WriteJSON(&b))
	if strings.Contains(b.String(), "marker") {
		t.Error("the document has markers")
	}
	for _, n := range v.Quality.Notes {
		if strings.Contains(n.Text, "marker") {
			t.Error(n.Text)
		}
	}
}

// Markers stand in speedscope's file as spans over time, in the waves' CSV as rows, and below the picture of the slots.
func TestMarkersElsewhere(t *testing.T) {
	h, err := HotCapture(markedCapture(t))
	must(t, err)
	var b bytes.Buffer
	must(t, h.Export(&b, "speedscope"))
	var ss struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Type, Name string
			Events     []struct {
				Type  string
				Frame int
				At    int64
			}
			EndValue int64
		}
	}
	must(t, json.Unmarshal(b.Bytes(), &ss))
	var first strings.Builder
	evented := 0
	for _, p := range ss.Profiles {
		if p.Type != "evented" {
			continue
		}
		var open []int
		last := int64(0)
		for _, e := range p.Events {
			if evented == 0 {
				fmt.Fprintf(&first, "%s %s %d\n", e.Type, ss.Shared.Frames[e.Frame].Name, e.At)
			}
			if e.At < last || e.Type == "C" && (len(open) == 0 || open[len(open)-1] != e.Frame) {
				t.Errorf("%s: %+v after %d, open %v", p.Name, e, last, open)
				break
			}
			last = e.At
			if e.Type == "O" {
				open = append(open, e.Frame)
			} else {
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 || p.EndValue != last {
			t.Errorf("%s: open %v, ends at %d, not %d", p.Name, open, last, p.EndValue)
		}
		evented++
	}
	const want = "O load 120\nC load 150\nO sum(float*) 150\nO value 160\nC value 160\nO load 160\nC load 200\nC sum(float*) 200\n"
	if evented != 2 || first.String() != want {
		t.Errorf("%d profiles over time, the first\n%swant\n%s", evented, first.String(), want)
	}
	b.Reset()
	must(t, h.WaveList().WriteCSV(&b))
	if row := "\n0,,true,1,0,0,0,0,150,200,50,,,,,,function,sum(float*),0,\n"; !strings.Contains(b.String(), row) {
		t.Errorf("no row %q in\n%s", row, b.String())
	}
	g := newGrid(100, 200, 10)
	g.rows[slot{}] = make([]int64, 30)
	p := h.picture(h.parts[0], g)
	if len(p.Rows) != 2 || p.Rows[1][1] != "  aaabaaaa" || !strings.Contains(p.Notes[0], "a load, b sum(float*)") {
		t.Errorf("picture %+v", p)
	}
	var page pageData
	h.pageMarkers(&page)
	if len(page.Markers) != 6 || page.Markers[1] != [8]int64{0, 0, 0, 0, 150, 200, 0, 1} || page.Names[1] != "sum(float*)" {
		t.Errorf("page %+v, %q", page.Markers, page.Names)
	}
}

// The clock in a marker tells when it was sent; words of payload, of the program's own and of the short form have none.
func TestUndelay(t *testing.T) {
	m := codeobj.ParseFuncMap("U:1:a\nU:2:b\nR:2:extra_payload_count=1\nM:shader_clock_bits=8;shader_clock_shift=2\n")
	word := func(time int64, id, clock uint32) sqtt.ShaderData {
		return sqtt.ShaderData{Time: sqtt.Cycles(time), Value: clock<<24 | id<<2 | 2}
	}
	data := []sqtt.ShaderData{
		word(1000, 1, 10),               // 40 cycles, so 960 late
		word(1100, 2, 20),               // 80: 1020, or 60 more than that
		{Time: 1104, Value: 0xff000006}, // its payload
		word(1200, 1, 60),               // 240: 960
		{Time: 1300, Value: 7<<2 | 2, Short: true},
		word(1400, 9, 0), // the program's own
	}
	if most := undelay(data, m); most != 60 {
		t.Errorf("at most %d cycles", most)
	}
	for i, want := range []sqtt.Cycles{1000, 1040, 1104, 1200, 1300, 1400} {
		if data[i].Time != want {
			t.Errorf("word %d at %d, want %d", i, data[i].Time, want)
		}
	}
	if most := undelay(data, codeobj.ParseFuncMap("U:1:a\n")); most >= 0 {
		t.Errorf("%d without a clock", most)
	}
}

// A stream's markers are those of its number, wherever it stands in the list of streams.
func TestMarkersIn(t *testing.T) {
	var list []MarkerSpan
	for stream, n := range []int{2, 0, 3} {
		for range n {
			list = append(list, MarkerSpan{stream: stream})
		}
	}
	for stream, want := range []int{2, 0, 3, 0} {
		got := markersIn(list, stream)
		if len(got) != want || slices.ContainsFunc(got, func(m MarkerSpan) bool { return m.stream != stream }) {
			t.Errorf("stream %d: %+v", stream, got)
		}
	}
	object, err := os.ReadFile("../codeobj/testdata/markers.co")
	must(t, err)
	h, err := HotCapture(record(t, func(w *capture.Writer) {
		must(t, w.Object(capture.Object{Name: "markers.co", Target: "gfx1100", Base: 0x10000}, object))
		must(t, w.Dispatch(launchOfTest(2)))
		for _, engine := range []int{2, 0, 1} {
			must(t, w.Trace(capture.Trace{Engine: engine, Family: "gfx11", Buffer: 4096}, markedStream()))
		}
	}))
	must(t, err)
	for stream, engine := range []Index{2, 0, 1} {
		if p := h.part(stream); p.stream != stream || p.engine != engine || len(markersIn(h.Markers, stream)) != len(h.Markers)/3 {
			t.Errorf("stream %d: %+v", stream, p)
		}
	}
	if h.part(3) != nil {
		t.Error("there are three streams")
	}
}

// Words behind the first maxWords of a stream are left out, and told of.
func TestMaxWords(t *testing.T) {
	defer func(n int) { maxWords = n }(maxWords)
	maxWords = 4
	const want = "6 marker words behind the first 4"
	h, err := HotCapture(markedCapture(t))
	must(t, err)
	if l := h.WaveList(); len(h.Markers) != 3 || !l.Quality.noted(capture.Loss, "engine 1: "+want) {
		t.Errorf("capture: %+v, notes %+v", h.Markers, l.Quality.Notes)
	}
	h, err = HotFiles("gfx1100", []StreamFile{{Name: "se0", Open: bytesOf(markedStream()), Family: gpu.GFX11}}, nil)
	must(t, err)
	if l := h.WaveList(); len(h.Markers) == 0 || !l.Quality.noted(capture.Loss, "se0: "+want) {
		t.Errorf("file: %+v, notes %+v", h.Markers, l.Quality.Notes)
	}
	d, err := Decode([]StreamFile{{Name: "se0", Open: bytesOf(markedStream()), Family: gpu.GFX11}})
	must(t, err)
	var b bytes.Buffer
	must(t, d.Chrome(&b))
	if !d.Quality.noted(capture.Loss, "se0: "+want) || !strings.Contains(b.String(), "se0: "+want) {
		t.Errorf("decode: notes %+v, file %s", d.Quality.Notes, b.String())
	}
}
