package sqtt

import (
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// tokenBits writes tokens of whole nibbles end to end.
type tokenBits struct {
	b    []byte
	bits int
}

func (t *tokenBits) put(v uint64, bits int) {
	for i := 0; i < bits; i += 4 {
		if t.bits%8 == 0 {
			t.b = append(t.b, 0)
		}
		t.b[t.bits/8] |= byte(v>>i&15) << (t.bits % 8)
		t.bits += 4
	}
}

// The tokens are made by hand from the documented bit ranges: no capture holds ones that count.
func TestShaderData(t *testing.T) {
	const word = 0xdeadbeef
	var g9, g11, g12 tokenBits
	g9.put(0|10<<4, 16)                                           // MISC: 40 cycles
	g9.put(12|1<<4|5<<6|7<<10|2<<14|word<<16, 48)                 // CU 5, wave 7, SIMD 2, 4 cycles on
	g11.put(0x11|3<<7, 64)                                        // HEADER
	g11.put(0b00110|3<<5|1<<8|2<<9|5<<11|9<<15|word<<20, 52)      // array 1, SIMD 2, WGP 5, wave 9, 3 cycles on
	g11.put(0b00110|1<<14|word<<20, 52)                           // exec set: ignored
	g11.put(0b10110|2<<5|4<<15|0xa5<<20, 28)                      // wave 4, a byte
	g11.put(0b10110|1<<14, 28)                                    // ignored
	g12.put(0x11|4<<7, 64)                                        // HEADER of RDNA4
	g12.put(0b0000110|3<<7|1<<10|2<<11|9<<13|17<<17|word<<22, 56) // array 1, SIMD 2, WGP 9, wave 17
	g12.put(0b0000110|word<<22|1<<54, 56)                         // a trap handler's
	g12.put(0b1000110|1<<7|3<<17|0x5a<<22, 32)                    // wave 3, a byte
	g12.put(0b1000110|0x5a<<22|2<<30, 32)                         // a trap handler's
	for _, c := range []struct {
		name   string
		family gpu.Family
		stream tokenBits
		tokens int64
		want   []ShaderData
	}{
		{"gfx9", gpu.GFX9, g9, 2, []ShaderData{{Time: 44, Off: 16, Value: word, CU: 5, SIMD: 2, Slot: 7}}},
		{"gfx11", gpu.GFX11, g11, 5, []ShaderData{
			{Time: 3, Off: 64, Value: word, CU: 8 + 5, SIMD: 2, Slot: 9},
			{Time: 5, Off: 64 + 104, Value: 0xa5, Short: true, Slot: 4},
		}},
		{"gfx12", gpu.GFX12, g12, 5, []ShaderData{
			{Time: 3, Off: 64, Value: word, CU: 16 + 9, SIMD: 2, Slot: 17},
			{Time: 4, Off: 64 + 112, Value: 0x5a, Short: true, Slot: 3},
		}},
	} {
		got := ReadShaderData(c.family, HeaderNo, c.stream.b)
		if tokens := counted(c.family, c.stream.b); tokens != c.tokens {
			t.Errorf("%s: %d tokens, want %d", c.name, tokens, c.tokens)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzShaderData(f *testing.F) {
	f.Add(uint8(0), []byte{0x60, 0, 0x5c, 0x9d, 0xef, 0xbe, 0xad, 0xde})
	f.Add(uint8(1), []byte{0x91, 1, 0, 0, 0, 0, 0, 0, 0x66, 0xad, 0xf4, 0xee, 0xdb, 0xea, 0x0d})
	f.Fuzz(func(t *testing.T, family uint8, b []byte) {
		fam := []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[family%3]
		data := ReadShaderData(fam, HeaderAuto, b)
		if tokens := counted(fam, b); int64(len(data)) > tokens {
			t.Fatalf("%d words in %d tokens", len(data), tokens)
		}
		for _, d := range data {
			if d.Off < 0 || d.Off >= int64(len(b))*8 {
				t.Fatalf("a word at bit %d of %d bytes", d.Off, len(b))
			}
		}
	})
}

// What our captures hold, kernels without s_ttracedata ran, is all to be ignored.
func TestShaderDataOfCaptures(t *testing.T) {
	for _, s := range captureStreams(t, "*/*") {
		if data := ReadShaderData(s.Family, HeaderAuto, s.Buf); len(data) > 0 {
			t.Errorf("%s: %+v", s.Name, data[0])
		}
	}
}
