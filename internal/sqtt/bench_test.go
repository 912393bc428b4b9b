package sqtt

import (
	"bytes"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/gpu"
)

// cpuSeconds is the process's CPU time, which a shared machine's load disturbs less than the wall's.
func cpuSeconds() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)*1e-6
}

// benchmarkStreams runs f over every stream of a capture. Besides wall MB/s it reports those of CPU time, cpuMB/s, and of the
// fastest run, bestMB/s: what the code does when nothing else is on the machine.
func benchmarkStreams(b *testing.B, capture string, f func(gpu.Family, []byte)) {
	streams := captureStreams(b, capture)
	total := 0
	for _, s := range streams {
		total += len(s.Buf)
	}
	runtime.GC()
	b.SetBytes(int64(total))
	b.ReportAllocs()
	before := cpuSeconds()
	best := time.Duration(1 << 62)
	for b.Loop() {
		start := time.Now()
		for i := range streams {
			f(streams[i].Family, streams[i].Buf)
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(total)/1e6/best.Seconds(), "bestMB/s")
	b.ReportMetric(float64(total)*float64(b.N)/1e6/(cpuSeconds()-before), "cpuMB/s")
}

var benchCaptures = []string{"gfx1100/gemm", "gfx1200/gemm", "gfx950/gemm", "gfx1200/gemmbig"}

func BenchmarkPackets(b *testing.B) {
	for _, c := range benchCaptures {
		b.Run(c, func(b *testing.B) {
			var n Cycles
			benchmarkStreams(b, c, func(f gpu.Family, buf []byte) {
				for p := range Packets(f, buf) {
					n += p.Time
				}
			})
		})
	}
}

func BenchmarkCount(b *testing.B) {
	for _, c := range benchCaptures {
		b.Run(c, func(b *testing.B) {
			benchmarkStreams(b, c, func(f gpu.Family, buf []byte) { counted(f, buf) })
		})
	}
}

func BenchmarkWaves(b *testing.B) {
	for _, c := range benchCaptures {
		b.Run(c, func(b *testing.B) {
			var d WaveDecoder
			benchmarkStreams(b, c, func(f gpu.Family, buf []byte) {
				d.Reset(f, HeaderAuto)
				d.Feed(buf)
				d.Close()
			})
		})
	}
}

// BenchmarkWavesLong decodes one stream of 64 MiB: the header and, again and again, the tokens behind it of a capture's first.
func BenchmarkWavesLong(b *testing.B) {
	for _, c := range benchCaptures[:3] {
		b.Run(c, func(b *testing.B) {
			first := captureStreams(b, c)[0]
			end := int64(0)
			for p := range Packets(first.Family, first.Buf) {
				end = p.Off + int64(p.Bits)
			}
			var twice bitStream // whole bytes, as one need not be
			for range 2 {
				for n := int64(16); n < end/4; n++ {
					twice.put(uint64(first.Buf[n/2]>>(n%2*4)&15), 0, 4)
				}
			}
			buf := append(bytes.Clone(first.Buf[:8]), bytes.Repeat(twice.bytes, 64<<20/len(twice.bytes))...)
			var d WaveDecoder
			b.SetBytes(int64(len(buf)))
			before, best := cpuSeconds(), time.Duration(1<<62)
			for b.Loop() {
				start := time.Now()
				d.Reset(first.Family, HeaderAuto)
				d.Feed(buf)
				d.Close()
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(len(buf))/1e6/best.Seconds(), "bestMB/s")
			b.ReportMetric(float64(len(buf))*float64(b.N)/1e6/(cpuSeconds()-before), "cpuMB/s")
			b.ReportMetric(float64(len(d.Result().Waves)), "waves")
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, c := range benchCaptures {
		b.Run(c, func(b *testing.B) {
			codes := map[string]*Program{}
			for _, s := range captureStreams(b, c) {
				codes[s.Dir], _ = captureProgram(b, s.Dir)
			}
			var code *Program
			for _, code = range codes {
				break
			}
			var w Walker
			n := 0
			count := func(p *WaveInsts) { n += len(p.Insts) }
			benchmarkStreams(b, c, func(f gpu.Family, buf []byte) {
				w.Reset(f, WalkOptions{}, code, count)
				w.Feed(buf)
				w.Close()
			})
			b.ReportMetric(float64(n)/float64(b.N), "insts/op")
		})
	}
}
