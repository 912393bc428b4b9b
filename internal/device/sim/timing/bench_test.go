package timing_test

import (
	"context"
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// replay hands out logs again and again.
type replay struct {
	logs []*shader.GroupLog
	next int
}

func (r *replay) Next() (*shader.GroupLog, error) {
	if r.next == len(r.logs) {
		return nil, io.EOF
	}
	l := r.logs[r.next]
	r.next++
	return &shader.GroupLog{ID: l.ID, Waves: l.Waves, Prog: l.Prog}, nil // what is released is the copy
}

// BenchmarkReplay times logs that are there already: the model alone.
func BenchmarkReplay(b *testing.B) {
	for _, c := range []struct {
		arch, capture string
		dispatch      int
	}{{"gfx1200", "gemmbig", 2}, {"gfx1200", "handlong", 0}, {"gfx1100", "gemm", 0}, {"gfx950", "gemm", 0}} {
		for _, listen := range []bool{false, true} {
			name := c.arch + "/" + c.capture
			if listen {
				name += "/traced"
			}
			b.Run(name, func(b *testing.B) {
				dir := sharedtest.Path(b, "captures", c.arch, c.capture)
				var m captureMeta
				readJSON(b, filepath.Join(dir, "meta.json"), &m)
				g := captureGPU(b, c.arch)
				machine, err := timing.New(g, nil)
				if err != nil {
					b.Fatal(err)
				}
				mem, k := newKernel(b, dir, &m, c.dispatch, g)
				k.Groups[1] = min(k.Groups[1], 8)
				run := shader.NewMachine(mem).Run(context.Background(), k)
				var r replay
				var insts uint64
				for {
					l, err := run.Next()
					if err != nil {
						break
					}
					r.logs = append(r.logs, l)
					for i := range l.Waves {
						insts += l.Waves[i].Insts
					}
				}
				dies := make([]int, g.Dies)
				for i := range dies {
					dies[i] = i
				}
				var obs []timing.Observer
				if listen {
					obs = append(obs, &counter{})
				}
				at := int64(1000)
				before := cpuSeconds()
				b.ReportAllocs()
				for b.Loop() {
					r.next = 0
					res, err := machine.Dispatch(context.Background(), timing.Dispatch{Start: at, Kernel: k, Source: &r, Dies: dies, Traced: listen}, obs...)
					if err != nil {
						b.Fatal(err)
					}
					at = res.End
				}
				b.ReportMetric(float64(insts)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Minst/s")
				b.ReportMetric(float64(insts)*float64(b.N)/(cpuSeconds()-before)/1e6, "Minst/cpu-s")
			})
		}
	}
}

// cpuSeconds is the process's CPU time: what counts where other work shares the machine.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// counter wants the instructions of one SIMD of each of two engines, as the default trace does.
type counter struct{ n int }

func (c *counter) Detailed(engine, sa, unit, simd int) bool {
	return engine < 2 && sa == 0 && unit == 0 && simd == 0
}

func (c *counter) Events(evs []timing.Event) { c.n += len(evs) }
