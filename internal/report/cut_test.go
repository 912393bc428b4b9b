package report

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
)

// A capture of which a copy lacks the end does not make up what it lacks: nothing is blamed on the flags, and where nothing is left there is no view.
func TestCutCapture(t *testing.T) {
	var b bytes.Buffer
	w, err := capture.NewWriter(&b)
	must(t, err)
	must(t, w.Meta(capture.Meta{Tool: "rigprof trace"}))
	must(t, w.Device(capture.Device{Name: "RX 7900 XTX", Target: "gfx1100", Family: "gfx11", Simulated: true, Live: [][]uint32{{1}, {1}}}))
	start := b.Len()
	must(t, w.Dispatch(launchOfTest(4)))
	must(t, w.Trace(capture.Trace{Family: "gfx11", Buffer: 4096}, twoWaves()))
	second := b.Len()
	must(t, w.Trace(capture.Trace{Engine: 1, Family: "gfx11", Buffer: 4096}, twoWaves()))
	must(t, w.Close())
	read := func(file []byte) *capture.Capture {
		c, err := capture.Read(bytes.NewReader(file), int64(len(file)))
		must(t, err)
		return c
	}

	for _, size := range []int{16, 20, start, start + 5} {
		c := read(b.Bytes()[:size])
		_, terr := Trace(c)
		_, cerr := Counters(c)
		_, herr := HotCapture(c)
		for _, err := range []error{terr, cerr, herr} {
			if err == nil || !strings.Contains(err.Error(), "nothing") {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	}

	v, err := Trace(read(b.Bytes()[:second+5]))
	must(t, err)
	if !v.Quality.noted(capture.Loss, "part of the capture is missing") || slices.ContainsFunc(v.Quality.Notes, func(n capture.Note) bool { return strings.Contains(n.Advice, "--engines") }) {
		t.Errorf("notes %+v", v.Quality.Notes)
	}
	if lost, engines := v.Quality.rowOf(t, "lost"), v.Quality.rowOf(t, "engines"); !strings.Contains(lost, "missing of the capture") || strings.Contains(engines, "1 of 1") {
		t.Errorf("lost %q, engines %q", lost, engines)
	}

	// The whole one, and one whose record of the device alone is damaged.
	file := bytes.Clone(b.Bytes())
	v, err = Trace(read(file))
	must(t, err)
	if lost := v.Quality.rowOf(t, "lost"); strings.Contains(lost, "capture") || *v.Quality.Simulated != true {
		t.Errorf("whole: lost %q", lost)
	}
	file[bytes.Index(file, []byte("RX 7900"))]++
	v, err = Trace(read(file))
	must(t, err)
	if v.Quality.Simulated != nil || v.Device.Simulated != nil || v.Quality.rowOf(t, "run on") != "" || v.title() != "an unknown GPU" {
		t.Errorf("without a device: %+v %q", v.Device, v.Quality.rowOf(t, "run on"))
	}
}

// Forms without a quality block have what is wrong with the data where they have room for it.
func TestWarningsInExports(t *testing.T) {
	const loss = "loss: damaged capture: cut off at byte 5"
	h := calledHot(t)
	h.Quality = newQuality()
	h.Quality.Note(capture.Info, "", "good to know")
	whole := h.Quality.Warnings()
	h.Quality.Note(capture.Loss, "", "damaged capture: cut off at byte 5")
	if got := h.Quality.Warnings(); len(whole) != 0 || len(got) != 1 || got[0] != loss {
		t.Errorf("warnings %q, before %q", got, whole)
	}

	var b bytes.Buffer
	must(t, h.Export(&b, "pprof"))
	p, err := profile.Parse(&b)
	must(t, err)
	if !slices.Contains(p.Comments, loss) {
		t.Errorf("pprof: comments %q", p.Comments)
	}
	b.Reset()
	must(t, h.Export(&b, "speedscope"))
	var ss struct {
		Name     string
		Profiles []struct{ Name string }
	}
	must(t, json.Unmarshal(b.Bytes(), &ss))
	if !strings.HasSuffix(ss.Name, "; "+loss) || ss.Profiles[0].Name != "cycles (data is missing)" {
		t.Errorf("speedscope: %+v", ss)
	}

	v := Traced{Device: DeviceDoc{Name: "x"}, Quality: h.Quality}
	b.Reset()
	must(t, v.Chrome(&b))
	if !strings.Contains(b.String(), loss) || strings.Contains(b.String(), "good to know") {
		t.Errorf("chrome: %s", b.String())
	}
}

// A trace file that ends inside a line was not written so by hardware.
func TestCutTraceFile(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must(t, err)
	gfx9 := make([]byte, 64)
	for _, c := range []struct {
		data   []byte
		family gpu.Family
		cut    bool
	}{
		{data, gpu.GFX11, false},
		{data[:len(data)-1], gpu.GFX11, true},
		{data[:len(data)-24], gpu.GFX11, true},
		{data[:len(data)-32], gpu.GFX11, false},
		{gfx9[:40], gpu.GFX9, false},
		{gfx9[:39], gpu.GFX9, true},
		{nil, gpu.GFX9, false},
	} {
		d, err := Decode([]StreamFile{{Name: "se0", Open: bytesOf(c.data), Family: c.family}})
		must(t, err)
		if got := d.Quality.noted(capture.Warning, "se0: ends inside one of the 32-byte lines"); got != c.cut {
			t.Errorf("%d bytes of %v: cut %v, notes %+v", len(c.data), c.family, got, d.Quality.Notes)
		}
	}
}
