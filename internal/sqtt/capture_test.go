package sqtt

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// captureStream is one engine's stream of a real capture and what AMD's decoder says of it.
type captureStream struct {
	Name   string // "gfx1100/gemm/se0.sqtt"
	Family gpu.Family
	Buf    []byte
	Dir    string
	Golden amdStream
}

type amdStream struct {
	Dispatch int         `json:"dispatch"`
	SE       int         `json:"se"`
	File     string      `json:"file"`
	Waves    [][6]int64  `json:"waves"` // sa, cu, simd, slot, start, end
	Realtime [][2]int64  `json:"realtime"`
	Insts    []amdInsts  `json:"inst_waves"`
	InstsCU0 *[]amdInsts `json:"inst_waves_target_cu0"`
}

type amdInsts struct {
	SA, CU, SIMD, Slot int
	Begin, End         int64
	Insts              [][5]*int64
}

var captureFamilies = map[string]gpu.Family{"gfx1100": gpu.GFX11, "gfx1200": gpu.GFX12, "gfx950": gpu.GFX9}

// captureStreams reads every stream of the captures whose folder matches the pattern.
func captureStreams(t testing.TB, pattern string) []captureStream {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(sharedtest.Path(t, "captures"), pattern))
	var all []captureStream
	for _, dir := range dirs {
		var g struct{ Streams []amdStream }
		path := filepath.Join(dir, "golden_amd.json")
		if b, err := os.ReadFile(path); err == nil {
			if err := json.Unmarshal(b, &g); err != nil {
				t.Fatal(err)
			}
		} else {
			readJSONGz(t, path+".gz", &g)
		}
		for _, s := range g.Streams {
			buf, err := os.ReadFile(filepath.Join(dir, s.File))
			if err != nil {
				t.Fatal(err)
			}
			arch := filepath.Base(filepath.Dir(dir))
			all = append(all, captureStream{
				Name:   filepath.Join(arch, filepath.Base(dir), s.File),
				Family: captureFamilies[arch], Buf: buf, Dir: dir, Golden: s,
			})
		}
	}
	if len(all) == 0 {
		t.Fatalf("no capture matches %s", pattern)
	}
	return all
}

func TestCaptureWaves(t *testing.T) {
	streams, waves, markers := 0, 0, 0
	for _, s := range captureStreams(t, "*/*") {
		r := DecodeWaves(s.Family, s.Buf)
		streams, waves, markers = streams+1, waves+len(r.Waves), markers+len(r.Markers)
		got := [][6]int64{}
		for _, w := range r.Waves {
			got = append(got, [6]int64{int64(w.Array(s.Family)), int64(w.Unit(s.Family)), int64(w.SIMD), int64(w.Slot), int64(w.Start), int64(w.Stop)})
		}
		if i := firstDifference(got, s.Golden.Waves); i >= 0 {
			t.Errorf("%s: wave %d differs: %d waves, want %d", s.Name, i, len(got), len(s.Golden.Waves))
		}
		if i := firstDifference(markerRows(mergeMarkers(r.Markers)), s.Golden.Realtime); i >= 0 {
			t.Errorf("%s: marker %d differs: got %d, want %d", s.Name, i, len(mergeMarkers(r.Markers)), len(s.Golden.Realtime))
		}
		if r.Losses.Any() || r.Losses.TailBits > 8 {
			t.Errorf("%s: losses %+v", s.Name, r.Losses)
		}
		if r.Family != s.Family {
			t.Errorf("%s: family %v", s.Name, r.Family)
		}
		if want := map[bool]int{true: 8}[s.Family == gpu.GFX9]; r.Header != want {
			t.Errorf("%s: software header of %d bytes, want %d", s.Name, r.Header, want)
		}
	}
	if streams != 291 {
		t.Errorf("%d streams, want 291", streams)
	}
	t.Logf("%d streams, %d waves, %d markers", streams, waves, markers)
}

// mergeMarkers does what AMD's decoder does with markers at one shader time or whose count does not grow: two become
// one at the average of both.
func mergeMarkers(ms []Marker) []Marker {
	var out []Marker
	for _, m := range ms {
		if n := len(out); n > 0 && (out[n-1].Shader == m.Shader || m.Realtime <= out[n-1].Realtime) {
			out[n-1].Shader = (out[n-1].Shader + m.Shader) / 2
			out[n-1].Realtime = (out[n-1].Realtime + m.Realtime) / 2
			continue
		}
		out = append(out, m)
	}
	return out
}

// TestCapturePackets compares every token with the listings of an independent walker. They leave out NOPs and end after
// 20,000 rows for long streams.
func TestCapturePackets(t *testing.T) {
	rows := 0
	for _, s := range captureStreams(t, "*/*") {
		listing := strings.TrimSuffix(filepath.Join(s.Dir, s.Golden.File), ".sqtt") + ".packets.tsv.gz"
		f, err := os.Open(listing)
		if err != nil {
			continue
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(z)
		lines.Scan() // heading
		n := 0
		for p := range Packets(s.Family, s.Buf) {
			if p.Kind == KindNop {
				continue
			}
			if !lines.Scan() {
				if n != 20000 {
					t.Errorf("%s: more than the %d tokens listed", s.Name, n)
				}
				break
			}
			n++
			want := strings.Split(lines.Text(), "\t")
			digits := (int(p.Bits) + 3) / 4
			raw := fmt.Sprintf("%0*x", min(digits, 16), p.Raw)
			if digits > 16 {
				raw = fmt.Sprintf("%02x", p.Hi) + raw
			}
			got := []string{strconv.FormatInt(p.Off, 10), strconv.Itoa(int(p.Bits)), p.Kind.String(), strconv.FormatInt(int64(p.Time), 10), raw}
			if m, ok := p.Marker(); ok {
				got = append(got, strconv.FormatInt(m.Realtime, 10))
			}
			for len(want) > 5 && want[len(want)-1] == "" {
				want = want[:len(want)-1]
			}
			if strings.Join(got, "\t") != strings.Join(want, "\t") {
				t.Errorf("%s: row %d: got %q, want %q", s.Name, n, got, want)
				break
			}
		}
		if lines.Scan() {
			t.Errorf("%s: ends before %q", s.Name, lines.Text())
		}
		f.Close()
		rows += n
	}
	if rows == 0 {
		t.Error("no listing compared")
	}
	t.Logf("%d tokens compared", rows)
}
