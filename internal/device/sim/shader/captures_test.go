package shader_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// TestOpsCaptures runs the kernels whose one wave goes through nearly every instruction, and compares the way that it
// takes with what AMD's decoder read from the hardware's trace.
func TestOpsCaptures(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1200"} {
		dir := sharedtest.Path(t, "captures", target, "ops")
		var meta struct {
			Programs []struct {
				File string
				Base uint64 `json:"load_base_int"`
			}
			Dispatches []struct {
				FromTrace struct {
					Entry string `json:"entry_pc"`
					Rsrc1 string `json:"pgm_rsrc1"`
					Rsrc2 string `json:"pgm_rsrc2"`
				} `json:"from_trace"`
			}
		}
		readJSON(t, filepath.Join(dir, "meta.json"), &meta)
		data, err := os.ReadFile(filepath.Join(dir, meta.Programs[0].File))
		if err != nil {
			t.Fatal(err)
		}
		o, err := codeobj.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		mem := &arena{next: meta.Programs[0].Base}
		_, hi := o.Span()
		base, b, _ := mem.Alloc(hi)
		if err := o.LoadInto(b, base); err != nil {
			t.Fatal(err)
		}
		args, a, _ := mem.Alloc(4096)
		buf, _, _ := mem.Alloc(1 << 16)
		for i := range 3 {
			binary.LittleEndian.PutUint64(a[8*i:], buf)
		}
		d := meta.Dispatches[0].FromTrace
		arch, _ := isa.ArchOf(target)
		k := &shader.Kernel{
			Arch: arch, Entry: number(t, d.Entry), Wave32: true, RSRC1: uint32(number(t, d.Rsrc1)), RSRC2: uint32(number(t, d.Rsrc2)),
			Groups: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, LDSBytes: 1 << 16, Log: shader.LogFull, Budget: 1 << 20,
		}
		k.UserData[0], k.UserData[1] = uint32(args), uint32(args>>32)
		run := shader.NewMachine(mem).Run(t.Context(), k)
		g, err := run.Next()
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		var went []uint64 // offsets of executed instructions
		for _, p := range g.Waves[0].Pieces {
			for range p.Count {
				for _, in := range g.Prog.Insts()[p.First : p.First+p.N] {
					went = append(went, in.PC-base)
				}
			}
		}
		run.Close()
		var golden struct {
			Streams []struct {
				Waves []struct {
					Insts [][5]*int64
				} `json:"inst_waves"`
			}
		}
		readJSON(t, filepath.Join(dir, "golden_amd.json"), &golden)
		seen, at, records := 0, 0, 0
		for _, s := range golden.Streams {
			for _, w := range s.Waves {
				records += len(w.Insts) // every instruction of these kernels sends one
				for _, in := range w.Insts {
					if in[4] == nil { // the decoder lost its way in the code, not the wave
						continue
					}
					pc := uint64(*in[4])
					for at < len(went) && went[at] != pc {
						at++
					}
					if at == len(went) {
						t.Fatalf("%s: hardware went from %d instructions to %#x, which is not on the simulated way", target, seen, pc)
					}
					seen++
				}
			}
		}
		if records != len(went) || seen < 100 {
			t.Errorf("%s: %d instructions executed, %d in the trace, %d of them at a known address", target, len(went), records, seen)
		}
	}
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func number(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
