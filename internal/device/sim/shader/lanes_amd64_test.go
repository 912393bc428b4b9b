//go:build !purego

package shader

import (
	"math/rand/v2"
	"testing"
)

// TestAVX compares the assembly with the plain loops.
func TestAVX(t *testing.T) {
	if !hasAVX {
		t.Skip("the processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(7, 8))
	fill := func(v *lanes) {
		for i := range v {
			v[i] = pattern(r)
		}
	}
	same := func(name string, float bool, a, b, c, got, want *lanes) {
		t.Helper()
		for i := range got {
			if got[i] != want[i] && !(float && isNaN32(got[i]) && isNaN32(want[i])) {
				t.Fatalf("%s(%08x, %08x, %08x) = %08x, want %08x", name, a[i], b[i], c[i], got[i], want[i])
			}
		}
	}
	lane := func(f func(a, b uint32) uint32) func(d, a, b *lanes) {
		return func(d, a, b *lanes) {
			for i := range d {
				d[i] = f(a[i], b[i])
			}
		}
	}
	for range 3000 {
		var a, b, c, got, want lanes
		fill(&a)
		fill(&b)
		fill(&c)
		if r.IntN(3) == 0 {
			b = a
		}
		for _, o := range []struct {
			name     string
			avx, ref func(d, a, b *lanes)
			float    bool
		}{
			{"add f32", avxAddF32, kAddF32, true},
			{"sub f32", avxSubF32, kSubF32, true},
			{"mul f32", avxMulF32, kMulF32, true},
			{"add", avxAdd, kAdd, false},
			{"sub", avxSub, kSub, false},
			{"and", avxAnd, kAnd, false},
			{"or", avxOr, kOr, false},
			{"xor", avxXor, kXor, false},
			{"shl", avxShl, kShl, false},
			{"shr", avxShr, kShr, false},
			{"sar", avxSar, kSar, false},
			{"mul", avxMul, lane(func(a, b uint32) uint32 { return a * b }), false},
			{"mul u24", avxMulU24, lane(func(a, b uint32) uint32 { return a & 0xffffff * (b & 0xffffff) }), false},
			{"min u", avxMinU, lane(func(a, b uint32) uint32 { return min(a, b) }), false},
			{"max u", avxMaxU, lane(func(a, b uint32) uint32 { return max(a, b) }), false},
			{"min i", avxMinI, lane(func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }), false},
			{"max i", avxMaxI, lane(func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }), false},
		} {
			o.avx(&got, &a, &b)
			o.ref(&want, &a, &b)
			same(o.name, o.float, &a, &b, &c, &got, &want)
			alias := a
			o.avx(&alias, &alias, &b)
			same(o.name+" in place", o.float, &a, &b, &c, &alias, &want)
		}
		for _, o := range []struct {
			name     string
			avx, ref func(d, a, b, c *lanes)
			float    bool
		}{
			{"fma", avxFmaF32, kFmaF32, true},
			{"add3", avxAdd3, lane3(func(a, b, c uint32) uint32 { return a + b + c }), false},
			{"and or", avxAndOr, lane3(func(a, b, c uint32) uint32 { return a&b | c }), false},
			{"or3", avxOr3, lane3(func(a, b, c uint32) uint32 { return a | b | c }), false},
			{"xor3", avxXor3, lane3(func(a, b, c uint32) uint32 { return a ^ b ^ c }), false},
			{"mad u24", avxMadU24, lane3(func(a, b, c uint32) uint32 { return a&0xffffff*(b&0xffffff) + c }), false},
			{"shl add", avxShlAdd, lane3(func(a, b, c uint32) uint32 { return a<<(b&31) + c }), false},
			{"shl or", avxShlOr, lane3(func(a, b, c uint32) uint32 { return a<<(b&31) | c }), false},
			{"add shl", avxAddShl, lane3(func(a, b, c uint32) uint32 { return (a + b) << (c & 31) }), false},
			{"bfe u", avxBfeU, lane3(func(a, b, c uint32) uint32 { return a >> (b & 31) & (1<<(c&31) - 1) }), false},
			{"xad", avxXad, lane3(func(a, b, c uint32) uint32 { return (a ^ b) + c }), false},
		} {
			o.avx(&got, &a, &b, &c)
			o.ref(&want, &a, &b, &c)
			same(o.name, o.float, &a, &b, &c, &got, &want)
		}
		for _, o := range []struct {
			name     string
			avx, ref func(a, b *lanes) uint32
		}{
			{"lt u32", avxLtU32, kLtU32}, {"lt i32", avxLtI32, kLtI32}, {"eq u32", avxEqU32, kEqU32}, {"lt f32", avxLtF32, kLtF32}, {"eq f32", avxEqF32, kEqF32},
		} {
			if g, w := o.avx(&a, &b), o.ref(&a, &b); g != w {
				t.Fatalf("%s = %08x, want %08x", o.name, g, w)
			}
		}
		m := r.Uint32()
		avxSelect(&got, &a, &b, m)
		for i := range want {
			want[i] = a[i]
			if m>>i&1 != 0 {
				want[i] = b[i]
			}
		}
		same("select", false, &a, &b, &c, &got, &want)
		for _, sub := range []bool{false, true} {
			var co uint32
			for i := range want {
				v := uint64(a[i]) + uint64(b[i]) + uint64(m>>i&1)
				if sub {
					v = uint64(a[i]) - uint64(b[i]) - uint64(m>>i&1)
				}
				want[i] = uint32(v)
				co |= uint32(v>>32&1) << i
			}
			f := avxAddC
			if sub {
				f = avxSubC
			}
			if g := f(&got, &a, &b, m); g != co {
				t.Fatalf("carry (sub %v) = %08x, want %08x", sub, g, co)
			}
			same("with carry", false, &a, &b, &c, &got, &want)
		}
	}
}

func lane3(f func(a, b, c uint32) uint32) func(d, a, b, c *lanes) {
	return func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}
