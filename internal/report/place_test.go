package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

func TestPlaceOfFile(t *testing.T) {
	for _, tt := range []struct {
		name             string
		dispatch, engine Index
		want             string
	}{
		{"d2_se10.sqtt", 2, 10, "d2_se10.sqtt (dispatch 2 engine 10)"},
		{"a.b/se3.sqtt", -1, 3, "a.b/se3.sqtt (engine 3)"},
		{"vadd-gfx1100-se0.sqtt", -1, 0, "vadd-gfx1100-se0.sqtt (engine 0)"},
		{"out/4711_17388290_shader_engine_12_345.att", 345, 12, "out/4711_17388290_shader_engine_12_345.att (dispatch 345 engine 12)"},
		{"-", -1, -1, "standard input"},
		{"nose3.sqtt", -1, -1, "nose3.sqtt"},
		{"d1_se.sqtt", -1, -1, "d1_se.sqtt"},
		{"se3.d1", -1, 3, "se3.d1 (engine 3)"},
		{"se1234.sqtt", -1, -1, "se1234.sqtt"},
	} {
		p := placeOfFile(7, &StreamFile{Name: tt.name})
		if p.stream != 7 || p.dispatch != tt.dispatch || p.engine != tt.engine || p.name() != tt.want {
			t.Errorf("%s: %+v, %q", tt.name, p, p.name())
		}
	}
	places := placesOfFiles([]StreamFile{{Name: "x/se0.sqtt"}, {Name: "x/se1.sqtt"}})
	if places[1].file != "se1.sqtt" {
		t.Errorf("%+v", places)
	}
	places = placesOfFiles([]StreamFile{{Name: "x/se0.sqtt"}, {Name: "y/se0.sqtt"}})
	if places[1].file != "y/se0.sqtt" {
		t.Errorf("%+v", places)
	}
}

// filesHot is vadd's trace under several names.
func filesHot(t *testing.T, names ...string) *Hot {
	t.Helper()
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	var files []StreamFile
	for _, n := range names {
		files = append(files, StreamFile{Name: n, Open: bytesOf(data), Family: gpu.GFX11})
	}
	h, err := HotFiles("", files, []CodeFile{{"vadd.co", 0x200003412000, vaddCode(t)}})
	must2(t, err)
	return h
}

// TestFileEngines checks that files' names give engines and dispatches in every view, in order of number, and that nothing is made up where they do not.
func TestFileEngines(t *testing.T) {
	for _, tt := range []struct{ names, want []string }{
		{[]string{"d0_se10.sqtt", "d0_se2.sqtt"}, []string{"0|2|d0_se2.sqtt", "0|10|d0_se10.sqtt"}},
		{[]string{"b", "a"}, []string{"||b", "||a"}},
		{[]string{"x/se1.sqtt", "y/se1.sqtt"}, []string{"|1|x/se1.sqtt", "|1|y/se1.sqtt"}},
	} {
		h := filesHot(t, tt.names...)
		conserved(t, h)
		var b bytes.Buffer
		must2(t, h.WaveList().WriteCSV(&b))
		rows, err := csv.NewReader(&b).ReadAll()
		must2(t, err)
		b.Reset()
		at := func(name string) int { return slices.Index(rows[0], name) }
		var got []string
		for _, r := range rows[1:] {
			got = append(got, strings.Join([]string{r[at("dispatch")], r[at("engine")], r[at("file")]}, "|"))
			if r[at("kernel")] != "vadd" {
				t.Errorf("kernel %q", r[at("kernel")])
			}
		}
		if got = slices.Compact(got); !slices.Equal(got, tt.want) {
			t.Errorf("csv of %q: %q, want %q", tt.names, got, tt.want)
		}
		must2(t, h.WaveList().WriteJSON(&b))
		var doc struct {
			Waves []struct {
				Dispatch, Engine *Index
				File             string
			}
		}
		must2(t, json.Unmarshal(b.Bytes(), &doc))
		b.Reset()
		got = nil
		number := func(i *Index) string {
			if i == nil {
				return ""
			}
			return i.String()
		}
		for _, w := range doc.Waves {
			got = append(got, number(w.Dispatch)+"|"+number(w.Engine)+"|"+w.File)
		}
		if got = slices.Compact(got); !slices.Equal(got, tt.want) {
			t.Errorf("json of %q: %q, want %q", tt.names, got, tt.want)
		}
		must2(t, h.WriteHTML(&b))
		for i, s := range readPage(t, b.String()).data.Streams {
			if file := tt.want[i][strings.LastIndexByte(tt.want[i], '|')+1:]; !strings.HasPrefix(s.Name, file) || s.Kernel != "vadd" || s.Cycles == 0 {
				t.Errorf("the page's stream %d is %+v", i, s)
			}
		}
		l := h.WaveList()
		l.Width = 10
		with := []string{}
		for _, i := range h.Quality.EnginesWithData {
			with = append(with, i.String())
		}
		for i, w := range tt.want {
			if at := slices.Index(tt.names, w[strings.LastIndexByte(w, '|')+1:]); with[at] != strings.Split(w, "|")[1] {
				t.Errorf("quality: engines %q of %q; stream %d is %s", with, tt.names, i, w)
			}
		}
		tables := l.Tables(1)
		if cells := tables[1].Rows[0]; cells[1] != dash(strings.Split(tt.want[0], "|")[1]) || cells[len(cells)-1] != tables[0].Rows[0][len(tables[0].Rows[0])-1] {
			t.Errorf("occupancy %q", cells)
		}
	}
}

// TestCaptureEngines reads a real capture of 32 engines, whose files come in the order of their names' letters.
func TestCaptureEngines(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "captures", "gfx950/gemm"), "*.sqtt"))
	must2(t, err)
	h := captureHot(t, "gfx950/gemm")
	if len(h.parts) != len(paths) || len(paths) < 12 {
		t.Fatalf("%d streams of %d files", len(h.parts), len(paths))
	}
	for i, p := range h.parts {
		if int(p.engine) != i || p.dispatch != -1 {
			t.Errorf("stream %d: %s", i, p.name())
		}
	}
}

// TestNoWaves checks that a stream without waves is told of with a command that has what it names, whatever view tells.
func TestNoWaves(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	h, err := HotFiles("", []StreamFile{{Name: "se0.sqtt", Open: bytesOf(data[:32]), Family: gpu.GFX11}}, nil)
	must2(t, err)
	if !slices.ContainsFunc(h.Quality.Notes, func(n capture.Note) bool {
		return strings.HasSuffix(n.Text, "no wave starts and ends in it") && strings.Contains(n.Advice, "'rigprof decode --format packets' shows")
	}) {
		t.Errorf("%+v", h.Quality.Notes)
	}
}

// decode's tables have array and unit apart, though streams join them in one number, which CSV and JSON keep.
func TestDecodeTableUnits(t *testing.T) {
	var n nibbles
	n.header()
	n.time(20)
	n.start(1, 2, 3, 4)
	n.time(20)
	n.end(1, 2, 3, 4)
	f := StreamFile{Name: "a", Open: bytesOf(n.b), Family: gpu.GFX11}
	d, err := Decode([]StreamFile{f})
	must(t, err)
	waves := d.Tables(0)[1]
	if got := fmt.Sprint(names(waves.Columns), waves.Rows); !strings.HasPrefix(got, "[file array wgp simd slot start stop cycles] [[a 1 2 3 4 ") {
		t.Error(got)
	}
	var csv strings.Builder
	must(t, d.WriteCSV(&csv))
	if !strings.Contains(csv.String(), "file,family,cu,simd,slot,") || !strings.Contains(csv.String(), "\na,gfx11,10,3,4,") {
		t.Error(csv.String())
	}
	d, err = Decode([]StreamFile{f, {Name: "b", Open: bytesOf(nil), Family: gpu.GFX9}})
	must(t, err)
	if c := d.Tables(0)[1].Columns[2]; c.Name != "unit" {
		t.Errorf("streams of two families: column %q", c.Name)
	}
}
