package shader

import (
	"math"
	"testing"
)

func TestUnifiedFormats(t *testing.T) {
	// Numbers of LLVM's BUF_FMT_* names for gfx11.
	for n, want := range map[uint32]bufFormat{
		0x02: {width: [4]uint8{8}, num: numSnorm}, 0x07: {width: [4]uint8{16}, num: numUnorm}, 0x0d: {width: [4]uint8{16}, num: numFloat}, 0x13: {width: [4]uint8{8, 8}, num: numSint},
		0x14: {width: [4]uint8{32}, num: numUint}, 0x16: {width: [4]uint8{32}, num: numFloat}, 0x1d: {width: [4]uint8{16, 16}, num: numFloat}, 0x1e: {width: [4]uint8{11, 11, 10}, num: numFloat},
		0x20: {width: [4]uint8{2, 10, 10, 10}, num: numUnorm}, 0x23: {width: [4]uint8{2, 10, 10, 10}, num: numSint}, 0x24: {width: [4]uint8{10, 10, 10, 2}, num: numUnorm},
		0x2a: {width: [4]uint8{8, 8, 8, 8}, num: numUnorm}, 0x2f: {width: [4]uint8{8, 8, 8, 8}, num: numSint}, 0x32: {width: [4]uint8{32, 32}, num: numFloat},
		0x39: {width: [4]uint8{16, 16, 16, 16}, num: numFloat}, 0x3a: {width: [4]uint8{32, 32, 32}, num: numUint}, 0x3f: {width: [4]uint8{32, 32, 32, 32}, num: numFloat},
	} {
		if got, ok := unifiedFormat(n); !ok || got != want {
			t.Errorf("format %#x: %v, want %v", n, got, want)
		}
	}
	if f, ok := unifiedFormat(0); !ok || f.bytes() != 0 {
		t.Errorf("the invalid format: %v, %v", f, ok)
	}
	for _, n := range []uint32{0x40, 0x7f} {
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
			f := bufFormat{width: [4]uint8{w}, num: num}
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
	f := bufFormat{width: [4]uint8{8}, num: numUnorm}
	if got := f.load(255, 8); f32(got) != 1 {
		t.Errorf("255 is %g", f32(got))
	}
	if got := f.store(u32(float32(math.NaN())), 8); got != 0 {
		t.Errorf("NaN is stored as %d", got)
	}
}
