package shader

import (
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// dot compiles the dot products of packed elements.
func (c *compiler) dot(name string) bool {
	base := strings.Replace(strings.Replace(name, "v_dot2acc_", "v_dot2c_", 1), "c_", "_", 1)
	acc := base != name
	in := c.in
	var f func(m *mode, a, b, d uint32) uint32
	negA, negB := c.x.src[0].neg, c.x.src[1].neg
	vop3p := in.Op.Format == isa.VOP3P
	sel := [2][2]uint{{0, 16}, {0, 16}} // bit offsets of the two halves
	if vop3p || in.Op.Format == isa.VOP3 {
		for i := range sel {
			m := &c.x.src[i]
			if vop3p {
				sel[i] = [2]uint{16 * uint(b2u(m.opSel)), 16 * uint(b2u(m.opSelHi))}
			}
		}
	}
	for i, o := range []*opnd{&c.u.a, &c.u.b} { // a float constant stands in the low half, with the elements' pattern
		if a, ok := c.constArg(i); ok && o.kind == fromK && strings.Contains(base, "f16") {
			c.constant(i, isa.ConstBits(a.Reg, a.Type, 16)&0xffff)
		}
	}
	neg := [2][2]bool{}
	if vop3p {
		neg = [2][2]bool{{negA, c.x.src[0].negHi}, {negB, c.x.src[1].negHi}}
		c.x.src[0].neg, c.x.src[1].neg = false, false
		c.x.src[2].neg = c.x.src[2].neg != c.x.src[2].negHi
		c.x.src[2].plain = c.x.src[2].plain && !c.x.src[2].neg
	} // VOP3 forms negate the whole register, so the high half only
	halves := func(i int, v uint32) (uint32, uint32) {
		x, y := v>>sel[i][0]&0xffff, v>>sel[i][1]&0xffff
		if neg[i][0] {
			x ^= 0x8000
		}
		if neg[i][1] {
			y ^= 0x8000
		}
		return x, y
	}
	clamp := in.Op.Format != isa.VOPD && in.Flag(isa.FieldClamp)
	sat := func(v int64, sgn bool) uint32 {
		if clamp {
			if sgn {
				return uint32(clampInt(v, -1<<31, 1<<31-1))
			}
			return uint32(clampInt(v, 0, 1<<32-1))
		}
		return uint32(v)
	}
	ints := func(width uint, sa, sb bool) func(m *mode, a, b, d uint32) uint32 {
		return func(_ *mode, a, b, d uint32) uint32 {
			sum := int64(d)
			if sa || sb {
				sum = int64(int32(d))
			}
			for i := uint(0); i < 32; i += width {
				x, y := int64(a>>i&(1<<width-1)), int64(b>>i&(1<<width-1))
				if sa {
					x = int64(sext(a>>i, width))
				}
				if sb {
					y = int64(sext(b>>i, width))
				}
				sum += x * y
			}
			return sat(sum, sa || sb)
		}
	}
	floats := func(cv func(uint32) float32) func(m *mode, a, b, d uint32) uint32 {
		return func(m *mode, a, b, d uint32) uint32 {
			a0, a1 := halves(0, a)
			b0, b1 := halves(1, b)
			// Exact products, each added with one rounding.
			r := mFma32(m, cv(a0), cv(b0), f32(d))
			return mFma32(m, cv(a1), cv(b1), f32(r))
		}
	}
	switch base {
	case "v_dot2_f32_f16":
		f = floats(h2f)
	case "v_dot2_f32_bf16":
		f = floats(bf2f)
	case "v_dot2_f16_f16":
		f = func(m *mode, a, b, d uint32) uint32 {
			a0, a1 := halves(0, a)
			b0, b1 := halves(1, b)
			r := fmaOdd(float64(h2f(a0)), float64(h2f(b0)), float64(h2f(d)))
			r = fmaOdd(float64(h2f(a1)), float64(h2f(b1)), r)
			return d2h(r, m.rm64)
		}
	case "v_dot2_bf16_bf16":
		f = func(m *mode, a, b, d uint32) uint32 {
			a0, a1 := halves(0, a)
			b0, b1 := halves(1, b)
			r := fmaOdd(float64(bf2f(a0)), float64(bf2f(b0)), float64(bf2f(d&0xffff)))
			r = fmaOdd(float64(bf2f(a1)), float64(bf2f(b1)), r)
			return uint32(bf16f.from(r, roundEven, false))
		}
	case "v_dot2_i32_i16":
		f = ints(16, true, true)
	case "v_dot2_u32_u16":
		f = ints(16, false, false)
	case "v_dot4_i32_i8":
		f = ints(8, true, true)
	case "v_dot4_u32_u8":
		f = ints(8, false, false)
	case "v_dot8_i32_i4":
		f = ints(4, true, true)
	case "v_dot8_u32_u4":
		f = ints(4, false, false)
	case "v_dot4_i32_iu8": // the neg bits say signed
		f = ints(8, negA, negB)
		if !negA && !negB {
			inner := f
			f = func(m *mode, a, b, d uint32) uint32 {
				if clamp {
					return uint32(clampInt(int64(int32(d))+int64(inner0(a, b, 8)), -1<<31, 1<<31-1))
				}
				return inner(m, a, b, d)
			}
		}
	case "v_dot8_i32_iu4":
		f = ints(4, negA, negB)
		if !negA && !negB {
			inner := f
			f = func(m *mode, a, b, d uint32) uint32 {
				if clamp {
					return uint32(clampInt(int64(int32(d))+int64(inner0(a, b, 4)), -1<<31, 1<<31-1))
				}
				return inner(m, a, b, d)
			}
		}
	case "v_dot4_f32_fp8_fp8", "v_dot4_f32_fp8_bf8", "v_dot4_f32_bf8_fp8", "v_dot4_f32_bf8_bf8":
		fa, fb := &fp8ocp, &fp8ocp
		if strings.HasPrefix(base, "v_dot4_f32_bf8") {
			fa = &bf8ocp
		}
		if strings.HasSuffix(base, "_bf8") {
			fb = &bf8ocp
		}
		f = func(m *mode, a, b, d uint32) uint32 {
			r := float64(f32(d))
			for i := 0; i < 32; i += 8 {
				r = fmaOdd(fa.value(uint64(a>>i&255)), fb.value(uint64(b>>i&255)), r)
			}
			return d2f(r, roundEven)
		}
	default:
		return false
	}
	if vop3p {
		// op_sel arranges the halves of all three registers, whatever they hold.
		third := [2]uint{16 * uint(b2u(c.x.src[2].opSel)), 16 * uint(b2u(c.x.src[2].opSelHi))}
		all := [3][2]uint{sel[0], sel[1], third}
		if all != [3][2]uint{{0, 16}, {0, 16}, {0, 16}} {
			sel[0], sel[1] = [2]uint{0, 16}, [2]uint{0, 16}
			inner := f
			pick := func(i int, v uint32) uint32 { return v>>all[i][0]&0xffff | v>>all[i][1]<<16 }
			f = func(m *mode, a, b, d uint32) uint32 { return inner(m, pick(0, a), pick(1, b), pick(2, d)) }
		}
		for i := range 2 {
			c.x.src[i].plain = !c.x.src[i].abs
		}
	}
	c.x.def = &vdef{n: 3, m3: f, flush: strings.Contains(base, "_f32_") || strings.Contains(base, "_f16_")}
	if acc {
		c.accSource(2)
	}
	c.u.run = runNarrow
	if !strings.Contains(base, "_f32_") && !strings.Contains(base, "_f16_") && !strings.Contains(base, "_bf16_") {
		c.x.dst.clamp = false
	}
	return true
}

// inner0 is an unsigned dot product.
func inner0(a, b uint32, width uint) (sum uint32) {
	for i := uint(0); i < 32; i += width {
		sum += (a >> i & (1<<width - 1)) * (b >> i & (1<<width - 1))
	}
	return sum
}
