package sqtt

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// captureProgram reads the code objects of a capture at the addresses where they ran, and gives the address of the first.
func captureProgram(t testing.TB, dir string) (*Program, []uint64) {
	t.Helper()
	var meta struct {
		Arch     string
		Programs []struct {
			File     string
			LoadBase string `json:"load_base"`
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		t.Fatal(err)
	}
	arch, ok := isa.ArchOf(meta.Arch)
	if !ok {
		t.Fatalf("%s: no instruction set", meta.Arch)
	}
	p := NewProgram(arch)
	var bases []uint64
	for _, m := range meta.Programs {
		f, err := elf.Open(filepath.Join(dir, m.File))
		if err != nil {
			t.Fatal(err)
		}
		base, err := strconv.ParseUint(m.LoadBase, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, base)
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_EXECINSTR != 0 {
				code, err := s.Data()
				if err != nil {
					t.Fatal(err)
				}
				p.Add(base+s.Addr, code)
			}
		}
		f.Close()
	}
	return p, bases
}

type waveID struct {
	sa, cu, simd, slot int
	begin              int64
}

func TestCaptureInstructions(t *testing.T) {
	total, differ, waves := 0, map[string]int{}, 0
	for _, s := range captureStreams(t, "*/*") {
		golden := s.Golden.Insts
		if s.Golden.InstsCU0 != nil {
			golden = *s.Golden.InstsCU0
		}
		want := map[waveID][][5]*int64{}
		for _, g := range golden {
			if len(g.Insts) > 0 {
				want[waveID{g.SA, g.CU, g.SIMD, g.Slot, g.Begin}] = g.Insts
			}
		}
		code, bases := captureProgram(t, s.Dir)
		shown := 0
		Walk(s.Family, WalkOptions{}, s.Buf, code, func(w *WaveInsts) {
			if len(w.Insts) == 0 {
				return
			}
			id := waveID{w.Wave.Array(s.Family), w.Wave.Unit(s.Family), int(w.Wave.SIMD), int(w.Wave.Slot), int64(w.Wave.Start)}
			g, ok := want[id]
			if !ok {
				t.Errorf("%s: wave %+v is not in golden", s.Name, id)
				return
			}
			delete(want, id)
			waves++
			total += len(w.Insts)
			if len(g) != len(w.Insts) {
				differ[filepath.Dir(s.Name)+" count"]++
				t.Logf("%s %+v: %d instructions, want %d", s.Name, id, len(w.Insts), len(g))
			}
			for i := range min(len(g), len(w.Insts)) {
				in := &w.Insts[i]
				what := ""
				switch {
				case g[i][4] != nil && in.PC != bases[min(s.Golden.Dispatch, len(bases)-1)]+uint64(*g[i][4]):
					what = "pc"
				case g[i][4] == nil && in.PC == 0:
					what = "null pc"
				case int64(in.Category) != *g[i][3]:
					what = "category"
				case int64(in.Time) != *g[i][0]:
					what = "time"
				case int64(in.Stall) != *g[i][2]:
					what = "stall"
				case int64(in.Dur) != *g[i][1]:
					what = "duration"
				}
				if what == "" {
					continue
				}
				differ[filepath.Dir(s.Name)+" "+what]++
				if shown++; shown < 4 {
					pc := int64(-1)
					if g[i][4] != nil {
						pc = *g[i][4]
					}
					t.Logf("%s %+v #%d: %s: got %d %d %d %v %#x, want %d %d %d %v %#x", s.Name, id, i, what, in.Time, in.Dur, in.Stall, in.Category, in.PC,
						*g[i][0], *g[i][1], *g[i][2], Category(*g[i][3]), pc)
				}
			}
		})
		for id := range want {
			t.Errorf("%s: wave %+v has no instructions", s.Name, id)
		}
	}
	t.Logf("%d waves, %d instructions; differences %v", waves, total, differ)
}

var _ = gpu.GFX9
