package count_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// What real GPUs counted beside their thread traces, the simulated ones count too: instructions and LDS cycles, to the last one. Buffers
// are zeros here, so only kernels whose course does not hang on data, and whose addresses come from their arguments, are compared.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		capture, target string
		dispatches      []int
	}{
		{"gfx1100/empty", "gfx1100", []int{0}},
		{"gfx1100/plus", "gfx1100", []int{0}},
		{"gfx1100/gemm", "gfx1100", []int{0}},
		{"gfx1100/gemm3k", "gfx1100", []int{0, 1, 2}},
		{"gfx1200/empty", "gfx1201", []int{0}},
		{"gfx1200/plus", "gfx1201", []int{0}},
		{"gfx1200/gemm", "gfx1201", []int{0}},
		{"gfx1200/gemm3k", "gfx1200", []int{0, 1, 2}},
		{"gfx1200/handwritten", "gfx1201", []int{0}},
		{"gfx1200/wmma", "gfx1201", []int{0}},
		{"gfx950/empty", "gfx950", []int{0}},
		{"gfx950/plus", "gfx950", []int{0}},
		{"gfx950/gemm", "gfx950", []int{0}},
		{"gfx950/gemm3k", "gfx950", []int{0, 1, 2}},
	} {
		t.Run(c.capture, func(t *testing.T) {
			dir := sharedtest.Path(t, "captures", c.capture)
			var meta struct {
				Programs []struct {
					Tag  int    `json:"tag"`
					File string `json:"file"`
				} `json:"programs"`
				Dispatches []struct {
					Tag int `json:"program_tag"`
					PMC struct {
						File    string `json:"file"`
						Samples []struct {
							Name string `json:"name"`
							Off  int    `json:"off"`
							Size int    `json:"size"`
						} `json:"samples"`
					} `json:"pmc"`
					Trace struct {
						Groups [3]uint32 `json:"grid_workgroups"`
						Block  [3]uint32 `json:"num_thread"`
					} `json:"from_trace"`
				} `json:"dispatches"`
			}
			b, err := os.ReadFile(dir + "/meta.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &meta); err != nil {
				t.Fatal(err)
			}
			for _, i := range c.dispatches {
				d := &meta.Dispatches[i]
				real, err := os.ReadFile(dir + "/" + d.PMC.File)
				if err != nil {
					t.Fatal(err)
				}
				file := ""
				for _, p := range meta.Programs {
					if p.Tag == d.Tag {
						file = p.File
					}
				}
				object, err := os.ReadFile(dir + "/" + file)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]uint64{}
				names := []string{}
				for _, s := range d.PMC.Samples {
					switch s.Name {
					case "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQC_LDS_IDX_ACTIVE", "SQC_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT":
						names = append(names, s.Name)
						for _, v := range values(real, s.Off, s.Size/8) {
							want[s.Name] += v
						}
					}
				}
				g := open(t, c.target, sim.Options{})
				l := &launch.Launch{Block: d.Trace.Block}
				for k := range 3 {
					l.Grid[k] = d.Trace.Groups[k] * d.Trace.Block[k]
				}
				o, err := codeobj.Open(object)
				if err != nil {
					t.Fatal(err)
				}
				for range o.Kernels[0].Args { // pointers
					p, err := launch.ParseArg("buf:1048576")
					if err != nil {
						t.Fatal(err)
					}
					l.Params = append(l.Params, p)
				}
				p, _ := g.loadObject(object, l)
				cs := g.program(names...)
				g.must(device.Words(cs.start), p, device.Words(cs.stop))
				got := g.totals(cs)
				for _, n := range names {
					if got[n] != want[n] {
						t.Errorf("dispatch %d: %s is %d, %d on the real GPU", i, n, got[n], want[n])
					}
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
