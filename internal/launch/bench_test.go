package launch

import "testing"

func BenchmarkFill(b *testing.B) {
	mem := make([]byte, 4<<20)
	for _, arg := range []string{"buf:f32[1M]", "buf:f32[1M]=const:1", "buf:f32[1M]=iota", "buf:f32[1M]=rand:1"} {
		p, err := ParseArg(arg)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(arg[11:], func(b *testing.B) {
			b.SetBytes(int64(len(mem)))
			for b.Loop() {
				if err := p.Fill.Write(mem, p.Type); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
