package report

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// TestSiteRoom has many kernels run the same code: what is kept ends at the bound, and no record is lost over it.
func TestSiteRoom(t *testing.T) {
	o, err := codeobj.Open(vaddCode(t))
	must2(t, err)
	code := []loadedCode{load("vadd.co", o, 1<<20)}
	code[0].funcs = withGaps(o, functions(o, isa.RDNA3))
	const kernels, insts = 1000, 12
	const other = kernels + 1
	for _, tt := range []struct {
		room, told int // how many kernels keep all of their own
	}{
		{0, 0},
		{3 * (kernelRoom + pageRoom + (insts+1)*siteRoom), 3},
		{maxSiteRoom, kernels},
	} {
		run := analysis.NewRun()
		sites := newSiteTable(run, programOf(isa.RDNA3, code), code, other, tt.room)
		for turn := range 2 {
			l := run.Begin(analysis.Wave{Slot: turn})
			at := int64(0)
			for k := range int32(kernels) {
				for i := range uint64(insts + 1) {
					in := sqtt.Inst{PC: code[0].base + o.Kernels[0].Entry + 4*i, Category: sqtt.CategoryVALU}
					if i == insts {
						in.PC = 0
					}
					site := sites.of(k+1, &in)
					if s := run.SiteAt(site); s.Kernel != k+1 && s.Kernel != other || (s.Object < 0) != (in.PC == 0) || in.PC != 0 && s.PC != in.PC-code[0].base {
						t.Fatalf("room %d: kernel %d at %#x is %+v", tt.room, k+1, in.PC, s)
					}
					run.Add(l, []analysis.Inst{{Time: at, Dur: 1, Site: site}})
					at++
				}
			}
			run.End(l, at)
		}
		p := run.Close()
		all := int64(2 * kernels * (insts + 1))
		if p.Total.Hits != all || p.Total.Cycles() != all {
			t.Errorf("room %d: %+v, want %d of each", tt.room, p.Total, all)
		}
		hits := map[int32]int64{}
		for i := range p.Insts {
			hits[p.Insts[i].Kernel] += p.Insts[i].Hits
		}
		for k := range int32(tt.told) {
			if hits[k+1] != 2*(insts+1) {
				t.Errorf("room %d: %d records of kernel %d", tt.room, hits[k+1], k+1)
			}
		}
		if want := all - int64(tt.told)*2*(insts+1); hits[other] != want {
			t.Errorf("room %d: %d records of other kernels, want %d", tt.room, hits[other], want)
		}
		if want := min(tt.told+1, kernels) * (insts + 1); len(p.Insts) != want || len(sites.byKernel) != tt.told+1 {
			t.Errorf("room %d: %d sites, want %d; %d kernels, want %d", tt.room, len(p.Insts), want, len(sites.byKernel), tt.told+1)
		}
		var q Quality
		noteOtherKernels(&q, p, other)
		if told := len(q.Notes) == 1 && strings.Contains(q.Notes[0].Text, "beyond "+Plural(int64(tt.told), "kernel")+` is shown as of "other kernels"`); told != (tt.told < kernels) {
			t.Errorf("room %d: %+v", tt.room, q.Notes)
		}
	}
}

// TestSiteRoomViews reads a trace with room for a part of its instructions: every view adds up as it does with room for all.
func TestSiteRoomViews(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	want := analysis.Cost{}
	for _, room := range []int{maxSiteRoom, 1, kernelRoom, kernelRoom + pageRoom, kernelRoom + pageRoom + 3*siteRoom} {
		target, code, err := openCode("", []CodeFile{{"vadd.co", 0x200003412000, vaddCode(t)}}, nil, nil)
		must2(t, err)
		s := &hotStream{StreamFile: &StreamFile{Name: "se0.sqtt", Open: bytesOf(data), Family: gpu.GFX11}, walked: true, siteRoom: room}
		h := makeHot(DeviceDoc{Name: "trace files", Target: target}, target, []*hotStream{s}, code, nil, newQuality)
		h.family = gpu.GFX11
		conserved(t, h)
		kernels := map[string]int64{}
		for _, r := range h.Hotspots("kernel", "cycles").Rows {
			kernels[r.Name] = r.Hits
		}
		told := slices.ContainsFunc(h.Quality.Notes, func(n capture.Note) bool {
			return n.Level == capture.Warning && strings.Contains(n.Text, `is shown as of "other kernels"`)
		})
		if room == maxSiteRoom {
			want = h.Profile.Total
			if told || len(kernels) != 1 || kernels["vadd"] == 0 {
				t.Errorf("with room for all: %v, %+v", kernels, h.Quality.Notes)
			}
			continue
		}
		few := room > kernelRoom+pageRoom
		if h.Profile.Total != want || !told || kernels["other kernels"] == 0 || (kernels["vadd"] > 0) != few {
			t.Errorf("room %d: %v of %+v, want %+v; %+v", room, kernels, h.Profile.Total, want, h.Quality.Notes)
		}
	}
}
