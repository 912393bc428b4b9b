package isa

import "testing"

// benchCode is all canonical vectors of a target one after the other, or this package's own samples.
func benchCode(b *testing.B, target string) (Arch, []byte) {
	arch, _ := ArchOf(target)
	var code []byte
	for _, v := range readVectors(b, "enc_"+target) {
		if _, err := Decode(arch, v.code); err == nil {
			code = append(code, v.code...)
		}
	}
	return arch, code
}

func BenchmarkDecode(b *testing.B) {
	for _, target := range vectorTargets {
		b.Run(target, func(b *testing.B) {
			arch, code := benchCode(b, target)
			b.SetBytes(int64(len(code)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for off := 0; off < len(code); n++ {
					in, err := Decode(arch, code[off:])
					if err != nil {
						b.Fatal(err)
					}
					off += int(in.Size)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/inst")
		})
	}
}

func BenchmarkText(b *testing.B) {
	for _, target := range []string{"gfx942", "gfx1100", "gfx1201"} {
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
			for b.Loop() {
				text = text[:0]
				for i := range insts {
					text = AppendText(text, arch, waveOf(arch), 0, &insts[i])
				}
			}
			b.SetBytes(int64(len(text)))
		})
	}
}
