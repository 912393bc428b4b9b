package shader

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// small16 is two halves with small whole numbers of a 16-bit format: every order of adding products is exact.
func small16(kind string) func(r *rand.Rand) uint32 {
	return func(r *rand.Rand) uint32 {
		h := func() uint32 { return refRound(kind, float64(r.IntN(15)-7)) }
		return h() | h()<<16
	}
}

func finite32(r *rand.Rand) uint32 {
	return r.Uint32()&0x807fffff | (110+r.Uint32N(25))<<23
}

func finite16(r *rand.Rand) uint32 {
	return r.Uint32()&0x83ff83ff | (8+r.Uint32N(14))<<10 | (8+r.Uint32N(14))<<26
}

// whole32 is a float32 that is a whole number, for accumulators.
func whole32(r *rand.Rand) uint32 { return u32(float32(r.IntN(2001) - 1000)) }

func half16(x uint32, high bool) uint32 {
	if high {
		return x >> 16
	}
	return x & 0xffff
}

// saturated16 is x times full, the nearest whole number of it, within a signed or unsigned 16-bit number.
func saturated16(x float64, signed bool) uint32 {
	low, full := 0.0, 65535.0
	if signed {
		low, full = -1, 32767
	}
	if x != x {
		return 0
	}
	return uint32(int64(math.RoundToEven(min(max(x, low), 1)*full))) & 0xffff
}

// TestConversionValues: conversions of 8-bit floats, with random rounding, and to normalized integers.
func TestConversionValues(t *testing.T) {
	for _, c := range []struct{ target, fp8, bf8 string }{{"gfx942", "fp8z", "bf8z"}, {"gfx950", "fp8", "bf8"}, {"gfx1201", "fp8", "bf8"}} {
		for name, kind := range map[string]string{"fp8": c.fp8, "bf8": c.bf8} {
			v := valueTest{target: c.target, op: "v_cvt_pk_f32_" + name + "_e32", kind: "f32", out: 2}
			v.ref = func(s lane) []uint32 {
				return []uint32{refRound("f32", refValue(kind, s.a[0]&255)), refRound("f32", refValue(kind, s.a[0]>>8&255))}
			}
			v.run(t, 10)
			for sel := range 4 {
				v := valueTest{target: c.target, op: "v_cvt_sr_" + name + "_f32", set: fields{"opsel": sel << 2}, out: 1}
				v.gen = func(r *rand.Rand) uint32 { return r.Uint32()&0x807fffff | (112+r.Uint32N(22))<<23 }
				v.ref = func(s lane) []uint32 {
					return []uint32{s.d[0]&^(255<<(8*sel)) | refStochastic(kind, float64(f32(s.a[0])), s.b[0])<<(8*sel)}
				}
				v.run(t, 20)
			}
		}
	}
	for _, kind := range []string{"f16", "bf16"} {
		for sel := range 2 {
			v := valueTest{target: "gfx950", op: "v_cvt_sr_" + kind + "_f32", set: fields{"opsel": sel << 3}, out: 1, gen: finite32}
			v.ref = func(s lane) []uint32 {
				return []uint32{s.d[0]&^(0xffff<<(16*sel)) | refStochastic(kind, float64(f32(s.a[0])), s.b[0])<<(16*sel)}
			}
			v.run(t, 20)
		}
	}
	unit := func(r *rand.Rand) uint32 { // most of it within the range
		switch r.IntN(4) {
		case 0:
			return pattern(r)
		case 1:
			return 0x38003c00 ^ r.Uint32()&0x80008000 + r.Uint32()&0x00010001
		}
		return r.Uint32()&0x87ffffff | 0x38000000
	}
	for _, c := range []struct{ target, prefix string }{{"gfx942", "v_cvt_pknorm_"}, {"gfx1100", "v_cvt_pk_norm_"}, {"gfx1201", "v_cvt_pk_norm_"}} {
		for _, to := range []string{"i16", "u16"} {
			for _, from := range []string{"f16", "f32"} {
				op := c.prefix + to + "_" + from
				if instructions(t).name[c.target+" "+op] == nil {
					op += "_e64"
				}
				v := valueTest{target: c.target, op: op, out: 1, gen: unit}
				v.ref = func(s lane) []uint32 {
					x := func(v uint32) float64 {
						if from == "f16" {
							v &= 0xffff
						}
						return refValue(from, v)
					}
					return []uint32{saturated16(x(s.a[0]), to == "i16") | saturated16(x(s.b[0]), to == "i16")<<16}
				}
				v.run(t, 20)
			}
		}
	}
	v := valueTest{target: "gfx942", op: "v_cvt_pkaccum_u8_f32", out: 1}
	v.gen = func(r *rand.Rand) uint32 {
		if r.IntN(2) == 0 {
			return pattern(r)
		}
		return u32(float32(r.IntN(1200)-300) / 4)
	}
	v.ref = func(s lane) []uint32 {
		x := float64(f32(s.a[0]))
		if x != x {
			return nil // the documents do not say
		}
		at := s.b[0] & 3 * 8
		return []uint32{s.d[0]&^(255<<at) | uint32(math.Trunc(min(max(x, 0), 255)))<<at}
	}
	v.run(t, 20)
}

// TestDotValues: sums of products, on numbers with which no order of adding loses anything but the last rounding.
func TestDotValues(t *testing.T) {
	dot2 := func(kind string, a, b uint32) float64 {
		return refValue(kind, a&0xffff)*refValue(kind, b&0xffff) + refValue(kind, a>>16)*refValue(kind, b>>16)
	}
	for _, target := range []string{"gfx1100", "gfx1201"} {
		for _, kind := range []string{"f16", "bf16"} {
			for _, sel := range []int{0, 4, 8, 12} {
				v := valueTest{target: target, op: "v_dot2_" + kind + "_" + kind, set: fields{"opsel": sel}, out: 1, gen: small16(kind)}
				v.ref = func(s lane) []uint32 {
					x := refRound(kind, dot2(kind, s.a[0], s.b[0])+refValue(kind, half16(s.c[0], sel&4 != 0)))
					if sel&8 != 0 {
						return []uint32{s.d[0]&0xffff | x<<16}
					}
					return []uint32{s.d[0]&0xffff0000 | x}
				}
				v.run(t, 4)
			}
		}
		for _, kind := range []string{"f16", "bf16"} {
			v := valueTest{target: target, op: "v_dual_dot2acc_f32_" + kind, out: 1, kind: "f32", gen: small16(kind), acc: whole32}
			v.ref = func(s lane) []uint32 {
				return []uint32{refRound("f32", dot2(kind, s.a[0], s.a[2])+float64(f32(s.d[0])))}
			}
			v.run(t, 4)
		}
		v := valueTest{target: target, op: "v_dual_mul_dx9_zero_f32", out: 1, kind: "f32"}
		v.ref = func(s lane) []uint32 {
			x, y := f32(s.a[0]), f32(s.a[2])
			if x == 0 || y == 0 {
				return []uint32{0}
			}
			return []uint32{u32(x * y)}
		}
		v.run(t, 10)
	}
	v := valueTest{target: "gfx950", op: "v_dot2_f32_bf16", set: fields{"opsel_hi": 3, "opsel_hi2": 1}, out: 1, kind: "f32", gen: small16("bf16"), acc: whole32}
	v.ref = func(s lane) []uint32 {
		return []uint32{refRound("f32", dot2("bf16", s.a[0], s.b[0])+float64(f32(s.c[0])))}
	}
	v.run(t, 4)
	small8 := func(r *rand.Rand) uint32 { // whole numbers that both formats have
		x := uint32(0)
		for i := range 4 {
			x |= [...]uint32{0x00, 0x38, 0x3c, 0x40, 0xb8, 0xc0, 0xc4, 0x44}[r.IntN(8)] << (8 * i)
		}
		return x
	}
	for _, a := range []string{"fp8", "bf8"} {
		for _, b := range []string{"fp8", "bf8"} {
			v := valueTest{target: "gfx1201", op: "v_dot4_f32_" + a + "_" + b, out: 1, kind: "f32", gen: small8, acc: whole32}
			v.ref = func(s lane) []uint32 {
				x := 0.0
				for i := range 4 {
					x += refValue(a, s.a[0]>>(8*i)&255) * refValue(b, s.b[0]>>(8*i)&255)
				}
				return []uint32{refRound("f32", x+float64(f32(s.c[0])))}
			}
			v.run(t, 10)
		}
	}
}

// TestMultiplyAdds: gfx90a's, which round twice and flush denormals.
func TestMultiplyAdds(t *testing.T) {
	flush := func(x float32) float32 {
		if x != 0 && math.Abs(float64(x)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(x)))
		}
		return x
	}
	for _, op := range []string{"v_mad_f32", "v_mad_legacy_f32", "v_mac_f32_e32", "v_mac_f32_e64", "v_madak_f32", "v_madmk_f32"} {
		v := valueTest{target: "gfx90a", op: op, out: 1, kind: "f32"}
		const k = 0x40490fdb
		if op == "v_madak_f32" || op == "v_madmk_f32" {
			v.literal = k
		}
		v.ref = func(s lane) []uint32 {
			a, b, c := f32(s.a[0]), f32(s.b[0]), f32(s.c[0])
			switch {
			case strings.HasPrefix(op, "v_mac"):
				c = f32(s.d[0])
			case op == "v_madak_f32":
				c = f32(k)
			case op == "v_madmk_f32":
				b, c = f32(k), b
			}
			a, b, c = flush(a), flush(b), flush(c)
			p := flush(a * b)
			if op == "v_mad_legacy_f32" && (a == 0 || b == 0) {
				return []uint32{u32(c)}
			}
			return []uint32{u32(flush(p + c))}
		}
		v.run(t, 20)
	}
}

// TestHalfValues: operations of gfx9 on float16 that keep their own rules.
func TestHalfValues(t *testing.T) {
	round := func(x float64) float64 { return refValue("f16", refRound("f16", x)) }
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		for _, op := range []string{"v_mad_f16", "v_mad_legacy_f16", "v_mac_f16_e32", "v_mac_f16_e64", "v_madak_f16", "v_madmk_f16"} {
			if instructions(t).name[target+" "+op] == nil {
				t.Errorf("%s has no %s", target, op)
				continue
			}
			v := valueTest{target: target, op: op, out: 1, gen: finite16}
			const k = 0xbe12
			if op == "v_madak_f16" || op == "v_madmk_f16" {
				v.literal = k
			}
			v.ref = func(s lane) []uint32 {
				b, c := s.b[0], s.c[0]
				switch {
				case strings.Contains(op, "mac"):
					c = s.d[0]
				case op == "v_madak_f16":
					c = k
				case op == "v_madmk_f16":
					b, c = k, b
				}
				high := uint32(0)
				if op == "v_mad_f16" {
					high = s.d[0] &^ 0xffff
				}
				// The product is rounded too.
				return []uint32{high | refRound("f16", round(refValue("f16", s.a[0]&0xffff)*refValue("f16", b&0xffff))+refValue("f16", c&0xffff))}
			}
			v.run(t, 10)
		}
		for _, op := range []string{"v_div_fixup_f16", "v_div_fixup_legacy_f16"} {
			v := valueTest{target: target, op: op, out: 1, kind: "f16"}
			v.gen = func(r *rand.Rand) uint32 {
				return [...]uint32{0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0xc000, 1, 0x83ff, r.Uint32() & 0xffff}[r.IntN(10)]
			}
			v.ref = func(s lane) []uint32 {
				q := float64(refValue("f16", s.c[0]) / refValue("f16", s.b[0]))
				high := uint32(0)
				if op == "v_div_fixup_f16" {
					high = s.d[0] &^ 0xffff
				}
				if q != q || q == 0 && !(refValue("f16", s.c[0]) != 0 && !math.IsInf(refValue("f16", s.b[0]), 0)) || math.IsInf(q, 0) {
					return []uint32{high | refRound("f16", q)}
				}
				return []uint32{high | s.a[0]&0x7fff | (s.b[0]^s.c[0])&0x8000}
			}
			v.run(t, 20)
		}
	}
	for _, target := range []string{"gfx1100", "gfx1201"} {
		v := valueTest{target: target, op: "v_div_fixup_f16", out: 1, kind: "f16", gen: finite16}
		v.ref = func(s lane) []uint32 { return []uint32{s.d[0]&0xffff0000 | s.a[0]&0x7fff | (s.b[0]^s.c[0])&0x8000} }
		v.run(t, 4)
	}
	for _, target := range []string{"gfx90a", "gfx942"} {
		v := valueTest{target: target, op: "v_mad_legacy_i16", out: 1}
		v.ref = func(s lane) []uint32 { return []uint32{(s.a[0]*s.b[0] + s.c[0]) & 0xffff} }
		v.run(t, 4)
		v = valueTest{target: target, op: "v_exp_legacy_f32_e32", out: 1, ulp: 4}
		v.gen = func(r *rand.Rand) uint32 { return r.Uint32()&0x807fffff | (120+r.Uint32N(13))<<23 }
		v.ref = func(s lane) []uint32 { return []uint32{u32(float32(math.Exp2(float64(f32(s.a[0])))))} }
		v.run(t, 10)
		v = valueTest{target: target, op: "v_log_legacy_f32_e32", out: 1, ulp: 4}
		v.gen = func(r *rand.Rand) uint32 { return r.Uint32()&0x007fffff | (1+r.Uint32N(100))<<23 }
		v.ref = func(s lane) []uint32 { return []uint32{u32(float32(math.Log2(float64(f32(s.a[0])))))} }
		v.run(t, 10)
	}
}

// TestMaskedSums: v_mqsad_u32_u8 adds the differences of four bytes at four places, where the second source is not zero.
func TestMaskedSums(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1201"} {
		v := valueTest{target: target, op: "v_mqsad_u32_u8", out: 4}
		v.gen = func(r *rand.Rand) uint32 { return r.Uint32() &^ (255 << (8 * r.IntN(6))) }
		v.ref = func(s lane) []uint32 {
			d := make([]uint32, 4)
			wide := uint64(s.a[0]) | uint64(s.a[1])<<32
			for i := range d {
				d[i] = s.c[i]
				for j := range 4 {
					x, y := int(wide>>(8*(i+j))&255), int(s.b[0]>>(8*j)&255)
					if y != 0 {
						d[i] += uint32(max(x-y, y-x))
					}
				}
			}
			return d
		}
		v.run(t, 10)
	}
}
