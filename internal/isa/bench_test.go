package isa

import (
	"testing"
	"time"
)

// benchCode is this project's vectors of a target one after the other: every operation about as often.
func benchCode(b *testing.B, target string) (Arch, []byte) {
	arch, _ := ArchOf(target)
	var code []byte
	for _, v := range readOwn(b) {
		if v.target == target {
			code = append(code, v.code...)
		}
	}
	return arch, code
}

func BenchmarkDecode(b *testing.B)        { benchDecode(b, Decode) }
func BenchmarkDecodeLenient(b *testing.B) { benchDecode(b, DecodeLenient) }

func benchDecode(b *testing.B, decode func(Arch, []byte) (Inst, error)) {
	for _, target := range llvmTargets {
		b.Run(target, func(b *testing.B) {
			arch, code := benchCode(b, target)
			b.ReportAllocs()
			var best float64
			for b.Loop() {
				n, from := 0, time.Now()
				for off := 0; off < len(code); n++ {
					in, err := decode(arch, code[off:])
					if err != nil {
						b.Fatal(err)
					}
					off += int(in.Size)
				}
				best = max(best, float64(n)/time.Since(from).Seconds())
			}
			b.ReportMetric(best/1e6, "best-Minst/s")
		})
	}
}

func BenchmarkText(b *testing.B) {
	for _, target := range llvmTargets {
		b.Run(target, func(b *testing.B) {
			arch, code := benchCode(b, target)
			var insts []Inst
			for off := 0; off < len(code); {
				in, err := Decode(arch, code[off:])
				if err != nil {
					b.Fatal(err)
				}
				insts = append(insts, in)
				off += int(in.Size)
			}
			text := make([]byte, 0, 4<<20)
			b.ReportAllocs()
			var best float64
			for b.Loop() {
				from := time.Now()
				text = text[:0]
				for i := range insts {
					text = AppendText(text, arch, waveOf(arch), 0, &insts[i])
				}
				best = max(best, float64(len(insts))/time.Since(from).Seconds())
			}
			b.ReportMetric(best/1e6, "best-Minst/s")
		})
	}
}
