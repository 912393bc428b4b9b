package shader

import "math"

// Conversions. Out of range saturates, NaN becomes zero.

func toInt(x float64, lo, hi float64) int64 {
	switch {
	case x != x:
		return 0
	case x <= lo:
		return int64(lo)
	case x >= hi:
		return int64(hi)
	}
	return int64(x)
}

func toI32(x float64) uint32 { return uint32(toInt(x, math.MinInt32, math.MaxInt32)) }
func toU32(x float64) uint32 { return uint32(toInt(x, 0, math.MaxUint32)) }
func toI16(x float64) uint32 { return uint32(toInt(x, -32768, 32767)) & 0xffff }
func toU16(x float64) uint32 { return uint32(toInt(x, 0, 65535)) }

func snorm16(x float64) uint32 {
	return toI16(math.RoundToEven(min(max(x, -1), 1) * 32767))
}

func unorm16(x float64) uint32 {
	return toU16(math.RoundToEven(min(max(x, 0), 1) * 65535))
}

func defineConversions() {
	fromF32 := func(f func(x float64) uint32) vdef {
		return vdef{l1: func(a uint32) uint32 { return f(float64(f32(a))) }, flush: true}
	}
	fromF16 := func(f func(x float64) uint32) vdef {
		return vdef{l1: func(a uint32) uint32 { return f(float64(h2f(a))) }, flush: true}
	}
	def("v_cvt_i32_f32", fromF32(toI32))
	def("v_cvt_u32_f32", fromF32(toU32))
	def("v_cvt_floor_i32_f32 v_cvt_flr_i32_f32", fromF32(func(x float64) uint32 { return toI32(math.Floor(x)) }))
	def("v_cvt_nearest_i32_f32 v_cvt_rpi_i32_f32", fromF32(func(x float64) uint32 { return toI32(math.Floor(x + 0.5)) }))
	def("v_cvt_i16_f16", fromF16(toI16))
	def("v_cvt_u16_f16", fromF16(toU16))
	def("v_cvt_norm_i16_f16", fromF16(snorm16))
	def("v_cvt_norm_u16_f16", fromF16(unorm16))
	def("v_cvt_f32_i32", vdef{k1: func(d, a *lanes) {
		for i := range d {
			d[i] = u32(float32(int32(a[i])))
		}
	}, m1: func(m *mode, a uint32) uint32 { return d2f(float64(int32(a)), m.rm32) }})
	def("v_cvt_f32_u32", vdef{k1: func(d, a *lanes) {
		for i := range d {
			d[i] = u32(float32(a[i]))
		}
	}, m1: func(m *mode, a uint32) uint32 { return d2f(float64(a), m.rm32) }})
	def("v_cvt_f16_i16", vdef{m1: func(m *mode, a uint32) uint32 { return d2h(float64(sext(a, 16)), m.rm64) }})
	def("v_cvt_f16_u16", vdef{m1: func(m *mode, a uint32) uint32 { return d2h(float64(a&0xffff), m.rm64) }})
	def("v_cvt_f16_f32", vdef{m1: func(m *mode, a uint32) uint32 {
		if m.rm64 == roundEven {
			return f2h(f32(a))
		}
		return d2h(float64(f32(a)), m.rm64)
	}, flush: true})
	def("v_cvt_f32_f16", vdef{l1: func(a uint32) uint32 { return u32(h2f(a)) }, flush: true})
	def("v_cvt_f32_bf16", vdef{l1: func(a uint32) uint32 { return a << 16 }})
	for i, n := range []string{"v_cvt_f32_ubyte0", "v_cvt_f32_ubyte1", "v_cvt_f32_ubyte2", "v_cvt_f32_ubyte3"} {
		def(n, vdef{l1: func(a uint32) uint32 { return u32(float32(a >> (8 * i) & 255)) }})
	}
	def("v_cvt_off_f32_i4", vdef{l1: func(a uint32) uint32 { return u32(float32(sext(a, 4)) / 16) }})

	def("v_cvt_f32_f64", vdef{x1: func(m *mode, a uint64) uint64 { return uint64(d2f(f64(a), m.rm32)) }, flush: true})
	def("v_cvt_f64_f32", vdef{w1: func(a uint64) uint64 { return u64(float64(f32(uint32(a)))) }, flush: true})
	def("v_cvt_f64_i32", vdef{w1: func(a uint64) uint64 { return u64(float64(int32(a))) }})
	def("v_cvt_f64_u32", vdef{w1: func(a uint64) uint64 { return u64(float64(uint32(a))) }})
	def("v_cvt_i32_f64", vdef{w1: func(a uint64) uint64 { return uint64(toI32(f64(a))) }, flush: true})
	def("v_cvt_u32_f64", vdef{w1: func(a uint64) uint64 { return uint64(toU32(f64(a))) }, flush: true})

	def("v_cvt_pk_rtz_f16_f32 v_cvt_pkrtz_f16_f32", vdef{l2: func(a, b uint32) uint32 {
		return d2h(float64(f32(a)), roundZero) | d2h(float64(f32(b)), roundZero)<<16
	}, flush: true})
	def("v_cvt_pk_f16_f32", vdef{m2: func(m *mode, a, b uint32) uint32 {
		return d2h(float64(f32(a)), m.rm64) | d2h(float64(f32(b)), m.rm64)<<16
	}, flush: true})
	def("v_cvt_pk_bf16_f32", vdef{m2: func(m *mode, a, b uint32) uint32 {
		return uint32(bf16f.from(float64(f32(a)), m.rm32, false) | bf16f.from(float64(f32(b)), m.rm32, false)<<16)
	}, flush: true})
	pkF32 := func(f func(x float64) uint32) vdef {
		return vdef{l2: func(a, b uint32) uint32 { return f(float64(f32(a))) | f(float64(f32(b)))<<16 }, flush: true}
	}
	pkF16 := func(f func(x float64) uint32) vdef {
		return vdef{l2: func(a, b uint32) uint32 { return f(float64(h2f(a))) | f(float64(h2f(b)))<<16 }, flush: true}
	}
	def("v_cvt_pk_i16_f32", pkF32(toI16))
	def("v_cvt_pk_u16_f32", pkF32(toU16))
	def("v_cvt_pk_norm_i16_f32 v_cvt_pknorm_i16_f32", pkF32(snorm16))
	def("v_cvt_pk_norm_u16_f32 v_cvt_pknorm_u16_f32", pkF32(unorm16))
	def("v_cvt_pk_norm_i16_f16 v_cvt_pknorm_i16_f16", pkF16(snorm16))
	def("v_cvt_pk_norm_u16_f16 v_cvt_pknorm_u16_f16", pkF16(unorm16))
	def("v_cvt_pk_i16_i32", vdef{l2: func(a, b uint32) uint32 {
		return uint32(uint16(clampInt(int64(int32(a)), -32768, 32767))) | uint32(clampInt(int64(int32(b)), -32768, 32767))<<16
	}})
	def("v_cvt_pk_u16_u32", vdef{l2: func(a, b uint32) uint32 { return min(a, 65535) | min(b, 65535)<<16 }})
	def("v_cvt_pk_u8_f32 v_cvt_pkaccum_u8_f32", vdef{l3: func(a, b, c uint32) uint32 {
		s := 8 * (b & 3)
		if isNaN32(a) {
			return c | 255<<s
		}
		return c&^(255<<s) | uint32(toInt(float64(f32(a)), 0, 255))<<s
	}, flush: true})
	vdefs["v_cvt_pkaccum_u8_f32"] = &vdef{n: 3, l3: vdefs["v_cvt_pk_u8_f32"].l3, flush: true, acc: true}

	def("v_cvt_sr_f16_f32", vdef{l2: func(a, b uint32) uint32 { return uint32(stochastic(&f16f, f32(a), b, 13, false)) }, flush: true})
	def("v_cvt_sr_bf16_f32", vdef{l2: func(a, b uint32) uint32 { return uint32(stochastic(&bf16f, f32(a), b, 16, false)) }, flush: true})
}

// stochastic rounds by adding random bits below the last place: n of them, the top ones of r. Where the
// result is denormal the bits stay at the place they have for a normal number of the source.
func stochastic(f *format, x float32, r uint32, n uint, sat bool) uint64 {
	b := u32(x)
	if b&0x7f800000 == 0x7f800000 || b<<1 == 0 {
		return f.from(float64(x), roundEven, sat)
	}
	m, e := uint64(b&0x7fffff), exp32(b)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << 23
	}
	drop := 23 - uint(f.man)
	if be := e - 127 + int(f.bias); be < 1 {
		drop += uint(1 - be)
	}
	// 32 more bits keep what the shifts would lose.
	m <<= 32
	rnd := uint64(r) >> (32 - n) << 32
	if drop > 23-uint(f.man) {
		rnd <<= min(drop-(23-uint(f.man)), 31)
	}
	m += rnd
	return f.pack(b>>31 != 0, m, e-150-32, roundTrunc, sat)
}
