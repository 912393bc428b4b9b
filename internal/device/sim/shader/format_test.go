package shader

import (
	"math"
	"testing"
)

func TestUnifiedFormats(t *testing.T) {
	// Numbers of LLVM's BUF_FMT_* names for gfx11.
	for n, want := range map[uint32]bufFormat{
		0x02: {[4]uint8{8}, numSnorm}, 0x07: {[4]uint8{16}, numUnorm}, 0x0d: {[4]uint8{16}, numFloat}, 0x13: {[4]uint8{8, 8}, numSint},
		0x14: {[4]uint8{32}, numUint}, 0x16: {[4]uint8{32}, numFloat}, 0x1d: {[4]uint8{16, 16}, numFloat}, 0x1e: {[4]uint8{11, 11, 10}, numFloat},
		0x20: {[4]uint8{2, 10, 10, 10}, numUnorm}, 0x23: {[4]uint8{2, 10, 10, 10}, numSint}, 0x24: {[4]uint8{10, 10, 10, 2}, numUnorm},
		0x2a: {[4]uint8{8, 8, 8, 8}, numUnorm}, 0x2f: {[4]uint8{8, 8, 8, 8}, numSint}, 0x32: {[4]uint8{32, 32}, numFloat},
		0x39: {[4]uint8{16, 16, 16, 16}, numFloat}, 0x3a: {[4]uint8{32, 32, 32}, numUint}, 0x3f: {[4]uint8{32, 32, 32, 32}, numFloat},
	} {
		if got, ok := unifiedFormat(n); !ok || got != want {
			t.Errorf("format %#x: %v, want %v", n, got, want)
		}
	}
	for _, n := range []uint32{0, 0x40, 0x7f} {
		if f, ok := unifiedFormat(n); ok {
			t.Errorf("format %#x: %v, want none", n, f)
		}
	}
}

// TestComponents: every code of a component goes through a register and back.
func TestComponents(t *testing.T) {
	for num := range uint8(8) {
		if num == 6 {
			continue
		}
		for _, w := range []uint8{2, 8, 10, 11, 16} {
			if num == numFloat && w < 10 {
				continue
			}
			f := bufFormat{[4]uint8{w}, num}
			for v := range uint32(1) << w {
				r := f.load(v, w)
				if num == numFloat && isNaN32(r) || num == numSnorm && v == 1<<(w-1) {
					continue // NaN payloads; the second code of -1
				}
				if got := f.store(r, w); got != v {
					t.Fatalf("kind %d, %d bits: %#x becomes %08x, then %#x", num, w, v, r, got)
				}
			}
		}
	}
	f := bufFormat{[4]uint8{8}, numUnorm}
	if got := f.load(255, 8); f32(got) != 1 {
		t.Errorf("255 is %g", f32(got))
	}
	if got := f.store(u32(float32(math.NaN())), 8); got != 0 {
		t.Errorf("NaN is stored as %d", got)
	}
}
