package sqtt

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// goldenTrace is one synthetic trace of golden/decode.json.gz.
type goldenTrace struct {
	ID               string      `json:"id"`
	Format           string      `json:"format"`
	Trace            []byte      `json:"trace"`
	Disputed         bool        `json:"disputed"`
	Waves            [][5]int64  `json:"waves"`
	WavesCorrected   *[][5]int64 `json:"waves_if_corrected"`
	Markers          [][2]int64  `json:"markers"`
	MarkersCorrected *[][2]int64 `json:"markers_if_corrected"`
	Clock            [][2]int64  `json:"clock"`
	Prefix           []int       `json:"prefix_wave_counts"`
}

func readJSONGz(t testing.TB, path string, v any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(v); err != nil {
		t.Fatal(err)
	}
}

func familyOfFormat(s string) gpu.Family {
	return map[string]gpu.Family{"gfx9": gpu.GFX9, "rdna3": gpu.GFX11, "rdna4": gpu.GFX12}[s]
}

// notGolden are the synthetic traces that a confirmed rule of the format contradicts.
var notGolden = map[string]string{
	"rdna4/mixed-disputed/613":   "extension units after a GFX12 WAVE_START_EXT are not known to it",
	"rdna4/mixed-disputed/617":   "extension units after a GFX12 WAVE_START_EXT are not known to it",
	"rdna4/header-mid-trace/637": "extension units after a GFX12 WAVE_START_EXT are not known to it",
}

func goldenTraces(t testing.TB) []goldenTrace {
	t.Helper()
	var g struct{ Traces []goldenTrace }
	readJSONGz(t, sharedtest.Path(t, "golden", "decode.json.gz"), &g)
	return g.Traces
}

func waveRows(ws []Wave) [][5]int64 {
	rows := [][5]int64{}
	for _, w := range ws {
		rows = append(rows, [5]int64{int64(w.CU), int64(w.SIMD), int64(w.Slot), int64(w.Start), int64(w.Stop)})
	}
	return rows
}

func markerRows(ms []Marker) [][2]int64 {
	rows := [][2]int64{}
	for _, m := range ms {
		rows = append(rows, [2]int64{int64(m.Shader), m.Realtime})
	}
	return rows
}

func firstDifference[T comparable](got, want []T) int {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return i
		}
	}
	if len(got) != len(want) {
		return min(len(got), len(want))
	}
	return -1
}

func TestGoldenTraces(t *testing.T) {
	for _, g := range goldenTraces(t) {
		if notGolden[g.ID] != "" {
			continue
		}
		f := familyOfFormat(g.Format)
		r := DecodeWaves(f, g.Trace)
		waves, markers, clock := g.Waves, g.Markers, g.Clock
		if g.WavesCorrected != nil {
			waves = *g.WavesCorrected
		}
		if g.MarkersCorrected != nil {
			markers = *g.MarkersCorrected
			clock = nil
		}
		if i := firstDifference(waveRows(r.Waves), waves); i >= 0 {
			t.Errorf("%s: wave %d: got %d waves, want %d", g.ID, i, len(r.Waves), len(waves))
		}
		if i := firstDifference(markerRows(r.Markers), markers); i >= 0 {
			t.Errorf("%s: marker %d of %d, want %d", g.ID, i, len(r.Markers), len(markers))
		}
		if c, ok := NewClock(r.Markers); ok != (len(g.Clock) > 0) {
			t.Errorf("%s: clock %v, golden has %d samples", g.ID, ok, len(g.Clock))
		} else if ok {
			for _, s := range clock {
				if got := c.At(Cycles(s[0])); got != s[1] {
					t.Errorf("%s: clock at %d is %d, want %d", g.ID, s[0], got, s[1])
				}
			}
		}
		if g.WavesCorrected == nil {
			for n, want := range g.Prefix {
				if got := len(DecodeWaves(f, g.Trace[:n]).Waves); got != want {
					t.Errorf("%s: %d waves in %d bytes, want %d", g.ID, got, n, want)
					break
				}
			}
		}
	}
}
