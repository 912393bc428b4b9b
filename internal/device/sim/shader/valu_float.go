package shader

import "math"

// Arithmetic of float32, float16 and float64. Where MODE does not ask for the default, sums and products are
// formed exactly (or rounded to odd) in a wider format and rounded once.

func defineFloats() {
	def("v_add_f32", vdef{k2: kAddF32, m2: func(m *mode, a, b uint32) uint32 { return mFma32(m, f32(a), 1, f32(b)) }, flush: true})
	def("v_sub_f32", vdef{k2: kSubF32, m2: func(m *mode, a, b uint32) uint32 { return mFma32(m, f32(a), 1, -f32(b)) }, flush: true})
	def("v_subrev_f32", vdef{k2: func(d, a, b *lanes) { kSubF32(d, b, a) }, m2: func(m *mode, a, b uint32) uint32 { return mFma32(m, f32(b), 1, -f32(a)) }, flush: true})
	def("v_mul_f32", vdef{k2: kMulF32, m2: mMul32, flush: true})
	def("v_fma_f32", vdef{k3: kFmaF32, m3: func(m *mode, a, b, c uint32) uint32 { return mFma32(m, f32(a), f32(b), f32(c)) }, flush: true})
	def("v_fmac_f32", vdef{k3: kFmaF32, m3: vdefs["v_fma_f32"].m3, flush: true, acc: true})
	def("v_fmaak_f32 v_fmamk_f32", *vdefs["v_fma_f32"])
	def("v_mul_dx9_zero_f32 v_mul_legacy_f32", vdef{m2: func(m *mode, a, b uint32) uint32 {
		if a<<1 == 0 || b<<1 == 0 {
			return 0
		}
		return mMul32(m, a, b)
	}, flush: true})
	// gfx90a's multiply-adds round the product too and know no denormals, whatever MODE says (MI200 ISA: "1ULP accuracy,
	// denormals are flushed"; that a product between is flushed as well is unconfirmed).
	mad32 := func(m *mode, a, b, c uint32) uint32 {
		p := flush32(mMul32(m, flush32(a), flush32(b)))
		return flush32(mFma32(m, f32(p), 1, f32(flush32(c))))
	}
	def("v_mad_f32 v_madak_f32 v_madmk_f32", vdef{m3: mad32, flush: true})
	def("v_mac_f32", vdef{m3: mad32, flush: true, acc: true})
	def("v_mad_legacy_f32", vdef{m3: func(m *mode, a, b, c uint32) uint32 {
		if a, b := flush32(a), flush32(b); a<<1 == 0 || b<<1 == 0 {
			return flush32(c)
		}
		return mad32(m, a, b, c)
	}, flush: true})
	dx9 := func(m *mode, a, b, c uint32) uint32 {
		if m.in32 {
			a, b = flush32(a), flush32(b)
		}
		if a<<1 == 0 || b<<1 == 0 {
			return c // as it is, denormal or not
		}
		if m.in32 {
			c = flush32(c)
		}
		r := mFma32(m, f32(a), f32(b), f32(c))
		if m.out32 {
			return flush32(r)
		}
		return r
	}
	def("v_fma_dx9_zero_f32", vdef{m3: dx9})
	def("v_fmac_dx9_zero_f32", vdef{m3: dx9, acc: true})
	def("v_min_f32 v_min_num_f32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = minF32(a[i], b[i])
		}
	}, flush: true})
	def("v_max_f32 v_max_num_f32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = maxF32(a[i], b[i])
		}
	}, flush: true})
	def("v_minimum_f32", vdef{l2: minimumF32, flush: true})
	def("v_maximum_f32", vdef{l2: maximumF32, flush: true})
	def3 := func(suffix string, mn, mx, minimum, maximum func(a, b uint32) uint32, nan func(uint32) bool) {
		then := func(f, g func(a, b uint32) uint32) vdef {
			return vdef{l3: func(a, b, c uint32) uint32 { return g(f(a, b), c) }, flush: true}
		}
		def("v_min3_"+suffix+" v_min3_num_"+suffix, then(mn, mn))
		def("v_max3_"+suffix+" v_max3_num_"+suffix, then(mx, mx))
		def("v_minmax_"+suffix+" v_minmax_num_"+suffix, then(mn, mx))
		def("v_maxmin_"+suffix+" v_maxmin_num_"+suffix, then(mx, mn))
		def("v_minimum3_"+suffix, then(minimum, minimum))
		def("v_maximum3_"+suffix, then(maximum, maximum))
		def("v_minimummaximum_"+suffix, then(minimum, maximum))
		def("v_maximumminimum_"+suffix, then(maximum, minimum))
		def("v_med3_"+suffix+" v_med3_num_"+suffix, vdef{l3: func(a, b, c uint32) uint32 {
			if nan(a) || nan(b) || nan(c) {
				return mn(mn(a, b), c)
			}
			return mx(mn(a, b), mn(mx(a, b), c))
		}, flush: true})
	}
	def3("f32", minF32, maxF32, minimumF32, maximumF32, isNaN32)
	def3("f16", minF16, maxF16, minimumF16, maximumF16, isNaN16)
	def("v_mullit_f32", vdef{m3: func(m *mode, a, b, c uint32) uint32 {
		lim := float32(math.MaxFloat32)
		if f32(b) == -lim || f32(b) == float32(math.Inf(-1)) || isNaN32(b) || !(f32(c) > 0) {
			return u32(-lim)
		}
		return mMul32(m, a, b)
	}, flush: true})

	one := func(f func(x float64) float64) func(m *mode, a uint32) uint32 {
		return func(m *mode, a uint32) uint32 { return d2f(f(float64(f32(a))), m.rm32) }
	}
	// The transcendental units take denormals as zero of float32 whatever MODE says.
	flushed := func(f func(x float64) float64) func(a uint32) uint32 {
		return func(a uint32) uint32 { return flush32(u32(float32(f(float64(f32(flush32(a))))))) }
	}
	def("v_floor_f32", vdef{m1: one(math.Floor), flush: true})
	def("v_ceil_f32", vdef{m1: one(math.Ceil), flush: true})
	def("v_trunc_f32", vdef{m1: one(math.Trunc), flush: true})
	def("v_rndne_f32", vdef{m1: one(math.RoundToEven), flush: true})
	def("v_fract_f32", vdef{l1: func(a uint32) uint32 {
		x := float64(f32(a))
		r := u32(float32(x - math.Floor(x)))
		if r == 0x3f800000 {
			return 0x3f7fffff
		}
		return r
	}, flush: true})
	def("v_sqrt_f32", vdef{m1: one(math.Sqrt), flush: true})
	def("v_rsq_f32", vdef{k1: func(d, a *lanes) {
		for i := range d {
			d[i] = u32(float32(1 / math.Sqrt(float64(f32(a[i])))))
		}
	}, flush: true})
	def("v_rcp_f32 v_rcp_iflag_f32", vdef{k1: func(d, a *lanes) {
		for i := range d {
			d[i] = u32(1 / f32(a[i]))
		}
	}, flush: true})
	def("v_exp_f32 v_exp_legacy_f32", vdef{l1: flushed(exp2)})
	def("v_log_f32 v_log_legacy_f32", vdef{l1: flushed(math.Log2)})
	def("v_sin_f32", vdef{l1: flushed(sinTurns)})
	def("v_cos_f32", vdef{l1: flushed(cosTurns)})
	def("v_frexp_exp_i32_f32", vdef{l1: func(a uint32) uint32 {
		if a&0x7f800000 == 0x7f800000 || a<<1 == 0 {
			return 0
		}
		_, e := math.Frexp(float64(f32(a)))
		return uint32(e)
	}, flush: true})
	def("v_frexp_mant_f32", vdef{l1: func(a uint32) uint32 {
		if a&0x7f800000 == 0x7f800000 {
			return a
		}
		f, _ := math.Frexp(float64(f32(a)))
		return u32(float32(f))
	}, flush: true})
	def("v_ldexp_f32", vdef{m2: func(m *mode, a, b uint32) uint32 {
		return d2f(ldexpClamped(float64(f32(a)), int32(b)), m.rm32)
	}, flush: true})
	def("v_cubeid_f32", vdef{l3: func(a, b, c uint32) uint32 { id, _, _, _ := cube(f32(a), f32(b), f32(c)); return u32(id) }, flush: true})
	def("v_cubesc_f32", vdef{l3: func(a, b, c uint32) uint32 { _, s, _, _ := cube(f32(a), f32(b), f32(c)); return u32(s) }, flush: true})
	def("v_cubetc_f32", vdef{l3: func(a, b, c uint32) uint32 { _, _, t, _ := cube(f32(a), f32(b), f32(c)); return u32(t) }, flush: true})
	def("v_cubema_f32", vdef{l3: func(a, b, c uint32) uint32 { _, _, _, m := cube(f32(a), f32(b), f32(c)); return u32(m) }, flush: true})
	def("v_div_fixup_f32", vdef{m3: divFixup32, flush: true})

	// float16
	h1 := func(f func(x float64) float64) func(m *mode, a uint32) uint32 {
		return func(m *mode, a uint32) uint32 { return d2h(f(float64(h2f(a))), m.rm64) }
	}
	hfma := func(m *mode, a, b, c uint32) uint32 {
		return d2h(fmaOdd(float64(h2f(a)), float64(h2f(b)), float64(h2f(c))), m.rm64)
	}
	add16 := func(m *mode, a, b uint32) uint32 { return mSum16(m, h2f(a), h2f(b)) }
	def("v_add_f16", vdef{m2: add16, flush: true})
	def("v_sub_f16", vdef{m2: func(m *mode, a, b uint32) uint32 { return mSum16(m, h2f(a), -h2f(b)) }, flush: true})
	def("v_subrev_f16", vdef{m2: func(m *mode, a, b uint32) uint32 { return mSum16(m, h2f(b), -h2f(a)) }, flush: true})
	def("v_mul_f16", vdef{m2: func(m *mode, a, b uint32) uint32 { return d2h(float64(h2f(a)*h2f(b)), m.rm64) }, flush: true})
	def("v_fma_f16 v_fmaak_f16 v_fmamk_f16 v_fma_legacy_f16", vdef{m3: hfma, flush: true})
	def("v_fmac_f16", vdef{m3: hfma, flush: true, acc: true})
	mad16 := func(m *mode, a, b, c uint32) uint32 {
		return mSum16(m, h2f(d2h(float64(h2f(a)*h2f(b)), m.rm64)), h2f(c))
	}
	def("v_mad_f16 v_mad_legacy_f16 v_madak_f16 v_madmk_f16", vdef{m3: mad16, flush: true})
	def("v_mac_f16", vdef{m3: mad16, flush: true, acc: true})
	def("v_min_f16 v_min_num_f16", vdef{l2: minF16, flush: true})
	def("v_max_f16 v_max_num_f16", vdef{l2: maxF16, flush: true})
	def("v_minimum_f16", vdef{l2: minimumF16, flush: true})
	def("v_maximum_f16", vdef{l2: maximumF16, flush: true})
	def("v_floor_f16", vdef{m1: h1(math.Floor), flush: true})
	def("v_ceil_f16", vdef{m1: h1(math.Ceil), flush: true})
	def("v_trunc_f16", vdef{m1: h1(math.Trunc), flush: true})
	def("v_rndne_f16", vdef{m1: h1(math.RoundToEven), flush: true})
	def("v_fract_f16", vdef{l1: func(a uint32) uint32 {
		x := float64(h2f(a))
		return min2(f2h(float32(x-math.Floor(x))), 0x3bff)
	}, flush: true})
	def("v_sqrt_f16", vdef{m1: h1(math.Sqrt), flush: true})
	def("v_rsq_f16", vdef{m1: h1(func(x float64) float64 { return 1 / math.Sqrt(x) }), flush: true})
	def("v_rcp_f16", vdef{m1: h1(func(x float64) float64 { return 1 / x }), flush: true})
	def("v_exp_f16", vdef{m1: h1(exp2), flush: true})
	def("v_log_f16", vdef{m1: h1(math.Log2), flush: true})
	def("v_sin_f16", vdef{m1: h1(sinTurns), flush: true})
	def("v_cos_f16", vdef{m1: h1(cosTurns), flush: true})
	def("v_frexp_exp_i16_f16", vdef{l1: func(a uint32) uint32 {
		if a&0x7c00 == 0x7c00 || a&0x7fff == 0 {
			return 0
		}
		_, e := math.Frexp(float64(h2f(a)))
		return uint32(e) & 0xffff
	}, flush: true})
	def("v_frexp_mant_f16", vdef{l1: func(a uint32) uint32 {
		if a&0x7c00 == 0x7c00 {
			return a
		}
		f, _ := math.Frexp(float64(h2f(a)))
		return f2h(float32(f))
	}, flush: true})
	def("v_ldexp_f16", vdef{m2: func(m *mode, a, b uint32) uint32 {
		return d2h(ldexpClamped(float64(h2f(a)), sext(b, 16)), m.rm64)
	}, flush: true})
	def("v_div_fixup_f16 v_div_fixup_legacy_f16", vdef{l3: divFixup16, flush: true})

	// float64
	def("v_add_f64", vdef{x2: func(m *mode, a, b uint64) uint64 {
		if m.rm64 == roundEven {
			return u64(f64(a) + f64(b))
		}
		return u64(fma64(f64(a), 1, f64(b), m.rm64))
	}, flush: true})
	def("v_mul_f64", vdef{x2: func(m *mode, a, b uint64) uint64 {
		if m.rm64 == roundEven {
			return u64(f64(a) * f64(b))
		}
		x, y := f64(a), f64(b)
		return u64(fma64(x, y, math.Copysign(0, math.Copysign(1, x)*math.Copysign(1, y)), m.rm64))
	}, flush: true})
	def("v_fma_f64", vdef{x3: func(m *mode, a, b, c uint64) uint64 { return u64(fma64(f64(a), f64(b), f64(c), m.rm64)) }, flush: true})
	def("v_fmac_f64", vdef{x3: vdefs["v_fma_f64"].x3, flush: true, acc: true})
	def("v_min_f64 v_min_num_f64", vdef{w2: minF64, flush: true})
	def("v_max_f64 v_max_num_f64", vdef{w2: maxF64, flush: true})
	def("v_minimum_f64", vdef{w2: func(a, b uint64) uint64 {
		if isNaN64(a) || isNaN64(b) {
			return quiet64(a, b)
		}
		return minF64(a, b)
	}, flush: true})
	def("v_maximum_f64", vdef{w2: func(a, b uint64) uint64 {
		if isNaN64(a) || isNaN64(b) {
			return quiet64(a, b)
		}
		return maxF64(a, b)
	}, flush: true})
	d1 := func(f func(x float64) float64) func(a uint64) uint64 {
		return func(a uint64) uint64 { return u64(f(f64(a))) }
	}
	def("v_floor_f64", vdef{w1: d1(math.Floor), flush: true})
	def("v_ceil_f64", vdef{w1: d1(math.Ceil), flush: true})
	def("v_trunc_f64", vdef{w1: d1(math.Trunc), flush: true})
	def("v_rndne_f64", vdef{w1: d1(math.RoundToEven), flush: true})
	def("v_fract_f64", vdef{w1: func(a uint64) uint64 {
		r := u64(f64(a) - math.Floor(f64(a)))
		if r == 0x3ff<<52 {
			return 0x3fefffffffffffff
		}
		return r
	}, flush: true})
	def("v_rcp_f64", vdef{w1: d1(func(x float64) float64 { return 1 / x }), flush: true})
	def("v_sqrt_f64", vdef{w1: d1(math.Sqrt), flush: true})
	def("v_rsq_f64", vdef{w1: d1(func(x float64) float64 { return 1 / math.Sqrt(x) }), flush: true})
	def("v_frexp_exp_i32_f64", vdef{w1: func(a uint64) uint64 {
		if a>>52&0x7ff == 0x7ff || a<<1 == 0 {
			return 0
		}
		_, e := math.Frexp(f64(a))
		return uint64(uint32(e))
	}, flush: true})
	def("v_frexp_mant_f64", vdef{w1: func(a uint64) uint64 {
		if a>>52&0x7ff == 0x7ff {
			return a
		}
		f, _ := math.Frexp(f64(a))
		return u64(f)
	}, flush: true})
	def("v_ldexp_f64", vdef{x2: func(m *mode, a, b uint64) uint64 {
		return u64(ldexp64(f64(a), int32(b), m.rm64))
	}, flush: true})
	def("v_div_fixup_f64", vdef{x3: divFixup64, flush: true})
	def("v_trig_preop_f64", vdef{w2: trigPreop, flush: true})

	// float32 pairs of CDNA: each half is compiled as the single operation.
	def("v_pk_fma_f32", *vdefs["v_fma_f32"])
	def("v_pk_mul_f32", *vdefs["v_mul_f32"])
	def("v_pk_add_f32", *vdefs["v_add_f32"])
}

func min2(a, b uint32) uint32 {
	if isNaN16(a) {
		return a
	}
	return min(a, b)
}

func kAddF32(d, a, b *lanes) {
	for i := range d {
		d[i] = u32(f32(a[i]) + f32(b[i]))
	}
}

func kSubF32(d, a, b *lanes) {
	for i := range d {
		d[i] = u32(f32(a[i]) - f32(b[i]))
	}
}

func kMulF32(d, a, b *lanes) {
	for i := range d {
		d[i] = u32(f32(a[i]) * f32(b[i]))
	}
}

func kFmaF32(d, a, b, c *lanes) {
	for i := range d {
		d[i] = u32(fma32(f32(a[i]), f32(b[i]), f32(c[i])))
	}
}

func mFma32(m *mode, a, b, c float32) uint32 {
	if m.rm32 == roundEven {
		return u32(fma32(a, b, c))
	}
	r := fmaOdd(float64(a), float64(b), float64(c))
	if r == 0 { // an exact zero sum is negative when rounding down, unless both terms are positive zeros
		p := float64(a) * float64(b)
		if p == 0 && c == 0 && math.Signbit(p) == math.Signbit(float64(c)) {
			return u32(c)
		}
		return u32(float32(signedZero(false, true, m.rm32)))
	}
	return uint32(f32f.from(r, m.rm32, false))
}

func mMul32(m *mode, a, b uint32) uint32 {
	if m.rm32 == roundEven {
		return u32(f32(a) * f32(b))
	}
	return uint32(f32f.from(float64(f32(a))*float64(f32(b)), m.rm32, false))
}

// mSum16 adds two numbers that are float16 values: exact in a float64.
func mSum16(m *mode, a, b float32) uint32 {
	s := float64(a) + float64(b)
	if s == 0 && m.rm64 == roundDown && (a != 0 || math.Signbit(float64(a)) != math.Signbit(float64(b))) {
		return 0x8000
	}
	return d2h(s, m.rm64)
}

// Minimum and maximum of AMD: a number wins over NaN, -0 is below +0.
func minF32(a, b uint32) uint32 {
	x, y := f32(a), f32(b)
	switch {
	case x < y:
		return a
	case y < x:
		return b
	case x == y:
		return a | b&0x80000000
	case x != x:
		if y != y {
			return a | 0x400000
		}
		return b
	}
	return a
}

func maxF32(a, b uint32) uint32 {
	x, y := f32(a), f32(b)
	switch {
	case x > y:
		return a
	case y > x:
		return b
	case x == y:
		return a &^ (^b & 0x80000000)
	case x != x:
		if y != y {
			return a | 0x400000
		}
		return b
	}
	return a
}

func minimumF32(a, b uint32) uint32 {
	if isNaN32(a) {
		return a | 0x400000
	}
	if isNaN32(b) {
		return b | 0x400000
	}
	return minF32(a, b)
}

func maximumF32(a, b uint32) uint32 {
	if isNaN32(a) {
		return a | 0x400000
	}
	if isNaN32(b) {
		return b | 0x400000
	}
	return maxF32(a, b)
}

// order16 maps float16 codes to integers that order as the numbers do, -0 below +0.
func order16(a uint32) int32 {
	v := sext(a, 16)
	if v < 0 {
		return v ^ 0x7fff
	}
	return v
}

func minF16(a, b uint32) uint32 {
	a, b = a&0xffff, b&0xffff
	switch {
	case isNaN16(a) && isNaN16(b):
		return a | 0x200
	case isNaN16(a):
		return b
	case isNaN16(b) || order16(a) <= order16(b):
		return a
	}
	return b
}

func maxF16(a, b uint32) uint32 {
	a, b = a&0xffff, b&0xffff
	switch {
	case isNaN16(a) && isNaN16(b):
		return a | 0x200
	case isNaN16(a):
		return b
	case isNaN16(b) || order16(a) >= order16(b):
		return a
	}
	return b
}

func minimumF16(a, b uint32) uint32 {
	if isNaN16(a) {
		return a&0xffff | 0x200
	}
	if isNaN16(b) {
		return b&0xffff | 0x200
	}
	return minF16(a, b)
}

func maximumF16(a, b uint32) uint32 {
	if isNaN16(a) {
		return a&0xffff | 0x200
	}
	if isNaN16(b) {
		return b&0xffff | 0x200
	}
	return maxF16(a, b)
}

func quiet64(a, b uint64) uint64 {
	if isNaN64(a) {
		return a | 1<<51
	}
	return b | 1<<51
}

func minF64(a, b uint64) uint64 {
	x, y := f64(a), f64(b)
	switch {
	case x < y:
		return a
	case y < x:
		return b
	case x == y:
		return a | b&(1<<63)
	case x != x && y != y:
		return quiet64(a, b)
	case x != x:
		return b
	}
	return a
}

func maxF64(a, b uint64) uint64 {
	x, y := f64(a), f64(b)
	switch {
	case x > y:
		return a
	case y > x:
		return b
	case x == y:
		return a &^ (^b & (1 << 63))
	case x != x && y != y:
		return quiet64(a, b)
	case x != x:
		return b
	}
	return a
}

func exp2(x float64) float64 {
	if x != x {
		return x
	}
	return math.Exp2(x)
}

// sinTurns is the sine of a number of turns, which is what the hardware takes.
func sinTurns(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return math.Sin(2 * math.Pi * (x - math.Floor(x)))
}

func cosTurns(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return math.Cos(2 * math.Pi * (x - math.Floor(x)))
}

// ldexpClamped scales a float32 or narrower number; beyond these exponents every result is zero or infinity.
func ldexpClamped(x float64, e int32) float64 { return math.Ldexp(x, int(min(max(e, -500), 500))) }

func ldexp64(x float64, e int32, rm uint8) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	fr, xe := math.Frexp(math.Abs(x))
	return math.Float64frombits(f64f.pack(math.Signbit(x), uint64(fr*(1<<53)), xe-53+int(min(max(e, -5000), 5000)), rm, false))
}
