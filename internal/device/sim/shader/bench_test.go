package shader_test

import (
	"context"
	"io"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/device/sim/shader"
)

// BenchmarkKernels reports executed wave instructions a second: of all turns, of the best one, and by CPU time.
func BenchmarkKernels(b *testing.B) {
	dir, ls := launches(b)
	for _, c := range []struct {
		target, name string
		grid         [3]uint32
	}{
		{"gfx1100", "gemm_f32", [3]uint32{}},
		{"gfx1100", "stencil5", [3]uint32{}},
		{"gfx1100", "vadd", [3]uint32{}},
		{"gfx1100", "nbody", [3]uint32{}},
		{"gfx1100", "mandelbrot", [3]uint32{}},
		{"gfx1100", "softmax", [3]uint32{}},
		{"gfx1100", "gemm_f16", [3]uint32{}},
		{"gfx1100", "histogram", [3]uint32{}},
		{"gfx1100", "transpose_lds", [3]uint32{}},
		{"gfx1100", "spin_short", [3]uint32{}},
		{"gfx942", "gemm_f32", [3]uint32{}},
		{"gfx942", "stencil5", [3]uint32{}},
		{"gfx942", "gemm_f16", [3]uint32{}},
		{"gfx942", "nbody", [3]uint32{}},
		{"gfx1200", "gemm_f32", [3]uint32{}},
		{"gfx1200", "gemm_f16", [3]uint32{}},
	} {
		for _, log := range []shader.Log{shader.LogNone, shader.LogFull} {
			for i := range ls {
				l := &ls[i]
				if l.Name != c.name {
					continue
				}
				b.Run(c.target+"/"+c.name+map[shader.Log]string{shader.LogFull: "/log"}[log], func(b *testing.B) {
					j := prepare(b, c.target, filepath.Join(dir, "co", c.target, l.File+".co"), l)
					j.k.Log = log
					m := shader.NewMachine(j.mem)
					insts := uint64(0)
					best := 0.0
					b.ReportAllocs()
					start := cpuTime()
					for b.Loop() {
						from, before := time.Now(), insts
						run := m.Run(context.Background(), j.k)
						for {
							g, err := run.Next()
							if err == io.EOF {
								break
							}
							if err != nil {
								b.Fatal(err)
							}
							for i := range g.Waves {
								insts += g.Waves[i].Insts
							}
							g.Release()
						}
						best = max(best, float64(insts-before)/time.Since(from).Seconds())
					}
					b.ReportMetric(best/1e6, "best-Minsts/s")
					b.ReportMetric(float64(insts)/b.Elapsed().Seconds()/1e6, "Minsts/s")
					b.ReportMetric(float64(insts)/(cpuTime()-start).Seconds()/1e6, "Minsts/cpu-s")
				})
			}
		}
	}
}

// cpuTime is the time that this process has had on processors: on a busy machine the better measure.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
