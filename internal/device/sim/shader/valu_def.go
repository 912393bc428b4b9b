package shader

import (
	"math/bits"
	"strings"
)

type lanes = [32]uint32

// vdef says what a vector operation computes. Of the functions one of the narrow kind (k, l, m: operands of
// up to 32 bits) or of the wide kind (w, x: up to 64 bits) is set; the number is that of the sources.
type vdef struct {
	n int

	// k works on 32 lanes at once. Float operations compute with default rounding and denormals kept.
	k1 func(d, a *lanes)
	k2 func(d, a, b *lanes)
	k3 func(d, a, b, c *lanes)
	// l works on one lane. m does and depends on MODE; it is preferred to k where MODE is not the default.
	l1 func(a uint32) uint32
	l2 func(a, b uint32) uint32
	l3 func(a, b, c uint32) uint32
	m1 func(m *mode, a uint32) uint32
	m2 func(m *mode, a, b uint32) uint32
	m3 func(m *mode, a, b, c uint32) uint32
	// w and x are l and m for operands of up to 64 bits.
	w1 func(a uint64) uint64
	w2 func(a, b uint64) uint64
	w3 func(a, b, c uint64) uint64
	x1 func(m *mode, a uint64) uint64
	x2 func(m *mode, a, b uint64) uint64
	x3 func(m *mode, a, b, c uint64) uint64

	// sat is the exact result of an integer operation, which clamp then limits to the destination's type.
	sat func(a, b, c int64) int64

	flush bool // denormals are flushed as MODE says
	acc   bool // the destination is the last source
}

// vdefs holds the operations by name without encoding suffix. VOPD halves and packed forms lead here too.
var vdefs = map[string]*vdef{}

func def(names string, d vdef) {
	switch {
	case d.k3 != nil, d.l3 != nil, d.m3 != nil, d.w3 != nil, d.x3 != nil:
		d.n = 3
	case d.k2 != nil, d.l2 != nil, d.m2 != nil, d.w2 != nil, d.x2 != nil:
		d.n = 2
	default:
		d.n = 1
	}
	p := &d
	for n := range strings.FieldsSeq(names) {
		vdefs[n] = p
	}
}

func (d *vdef) wide() bool {
	return d.w1 != nil || d.w2 != nil || d.w3 != nil || d.x1 != nil || d.x2 != nil || d.x3 != nil
}

// mode is the MODE register, taken apart.
type mode struct {
	rm32, rm64 uint8 // rm64 serves float16 too
	in32, out32,
	in64, out64 bool // flush denormal inputs, results
	dx10, ieee, ovfl16 bool
	plain              bool // nearest even, all denormals kept
}

func (m *mode) set(bits uint32) {
	m.rm32, m.rm64 = uint8(bits&3), uint8(bits>>2&3)
	m.in32, m.out32 = bits&0x10 == 0, bits&0x20 == 0
	m.in64, m.out64 = bits&0x40 == 0, bits&0x80 == 0
	m.dx10, m.ieee, m.ovfl16 = bits&0x100 != 0, bits&0x200 != 0, bits&(1<<23) != 0
	m.plain = bits&0xff == 0xf0
}

func sext(v uint32, n uint) int32   { return int32(v<<(32-n)) >> (32 - n) }
func sext64(v uint64, n uint) int64 { return int64(v<<(64-n)) >> (64 - n) }

func defineIntegers() {
	def("v_mov_b32 v_mov_b16 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32 v_accvgpr_read v_accvgpr_write",
		vdef{k1: func(d, a *lanes) { *d = *a }})
	def("v_mov_b64", vdef{w1: func(a uint64) uint64 { return a }})
	def("v_not_b32", vdef{k1: func(d, a *lanes) {
		for i := range d {
			d[i] = ^a[i]
		}
	}})
	def("v_not_b16", vdef{l1: func(a uint32) uint32 { return ^a & 0xffff }})
	def("v_add_nc_u32 v_add_u32", vdef{k2: kAdd, sat: satAdd})
	def("v_add_nc_i32 v_add_i32", vdef{k2: kAdd, sat: satAdd})
	def("v_sub_nc_u32 v_sub_u32", vdef{k2: kSub, sat: satSub})
	def("v_sub_nc_i32 v_sub_i32", vdef{k2: kSub, sat: satSub})
	def("v_subrev_nc_u32 v_subrev_u32", vdef{k2: func(d, a, b *lanes) { kSub(d, b, a) }, sat: func(a, b, _ int64) int64 { return b - a }})
	def("v_and_b32", vdef{k2: kAnd})
	def("v_or_b32", vdef{k2: kOr})
	def("v_xor_b32", vdef{k2: kXor})
	def("v_xnor_b32", vdef{l2: func(a, b uint32) uint32 { return ^(a ^ b) }})
	def("v_and_b16", vdef{k2: kAnd})
	def("v_or_b16", vdef{k2: kOr})
	def("v_xor_b16", vdef{k2: kXor})
	def("v_lshlrev_b32", vdef{k2: kShl})
	def("v_lshrrev_b32", vdef{k2: kShr})
	def("v_ashrrev_i32", vdef{k2: kSar})
	def("v_lshlrev_b16", vdef{l2: func(a, b uint32) uint32 { return b << (a & 15) & 0xffff }})
	def("v_lshrrev_b16", vdef{l2: func(a, b uint32) uint32 { return b & 0xffff >> (a & 15) }})
	def("v_ashrrev_i16", vdef{l2: func(a, b uint32) uint32 { return uint32(sext(b, 16)>>(a&15)) & 0xffff }})
	def("v_lshlrev_b64", vdef{w2: func(a, b uint64) uint64 { return b << (a & 63) }})
	def("v_lshrrev_b64", vdef{w2: func(a, b uint64) uint64 { return b >> (a & 63) }})
	def("v_ashrrev_i64", vdef{w2: func(a, b uint64) uint64 { return uint64(int64(b) >> (a & 63)) }})
	def("v_lshl_add_u64", vdef{w3: func(a, b, c uint64) uint64 { return a<<(b&7) + c }})

	def("v_add3_u32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i] + b[i] + c[i]
		}
	}})
	def("v_lshl_add_u32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i]<<(b[i]&31) + c[i]
		}
	}})
	def("v_add_lshl_u32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = (a[i] + b[i]) << (c[i] & 31)
		}
	}})
	def("v_lshl_or_b32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i]<<(b[i]&31) | c[i]
		}
	}})
	def("v_and_or_b32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i]&b[i] | c[i]
		}
	}})
	def("v_or3_b32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i] | b[i] | c[i]
		}
	}})
	def("v_xor3_b32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i] ^ b[i] ^ c[i]
		}
	}})
	def("v_xad_u32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i] ^ b[i] + c[i]
		}
	}})
	vdefs["v_xad_u32"].k3 = func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = (a[i] ^ b[i]) + c[i]
		}
	}
	def("v_mad_u32_u24", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i]&0xffffff*(b[i]&0xffffff) + c[i]
		}
	}, sat: func(a, b, c int64) int64 { return a&0xffffff*(b&0xffffff) + c }})
	def("v_mad_i32_i24", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = uint32(sext(a[i], 24)*sext(b[i], 24)) + c[i]
		}
	}, sat: func(a, b, c int64) int64 { return sext64(uint64(a), 24)*sext64(uint64(b), 24) + c }})
	def("v_mul_u32_u24", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = a[i] & 0xffffff * (b[i] & 0xffffff)
		}
	}, sat: func(a, b, _ int64) int64 { return a & 0xffffff * (b & 0xffffff) }})
	def("v_mul_i32_i24", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = uint32(sext(a[i], 24) * sext(b[i], 24))
		}
	}, sat: func(a, b, _ int64) int64 { return sext64(uint64(a), 24) * sext64(uint64(b), 24) }})
	def("v_mul_lo_u32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = a[i] * b[i]
		}
	}})
	def("v_mul_hi_u32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = uint32(uint64(a[i]) * uint64(b[i]) >> 32)
		}
	}})
	def("v_mul_hi_i32", vdef{l2: func(a, b uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) }})
	def("v_mul_hi_u32_u24", vdef{l2: func(a, b uint32) uint32 { return uint32(uint64(a&0xffffff) * uint64(b&0xffffff) >> 32) }})
	def("v_mul_hi_i32_i24", vdef{l2: func(a, b uint32) uint32 { return uint32(int64(sext(a, 24)) * int64(sext(b, 24)) >> 32) }})
	def("v_min_u32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = min(a[i], b[i])
		}
	}})
	def("v_max_u32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = max(a[i], b[i])
		}
	}})
	def("v_min_i32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = uint32(min(int32(a[i]), int32(b[i])))
		}
	}})
	def("v_max_i32", vdef{k2: func(d, a, b *lanes) {
		for i := range d {
			d[i] = uint32(max(int32(a[i]), int32(b[i])))
		}
	}})
	def("v_bfe_u32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i] >> (b[i] & 31) & (1<<(c[i]&31) - 1)
		}
	}})
	def("v_bfe_i32", vdef{l3: func(a, b, c uint32) uint32 {
		w := c & 31
		if w == 0 {
			return 0
		}
		return uint32(sext(uint32(int32(a)>>(b&31)), uint(w)))
	}})
	def("v_bfi_b32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = a[i]&b[i] | ^a[i]&c[i]
		}
	}})
	def("v_bfm_b32", vdef{l2: func(a, b uint32) uint32 { return (1<<(a&31) - 1) << (b & 31) }})
	def("v_alignbit_b32", vdef{k3: func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = uint32((uint64(a[i])<<32 | uint64(b[i])) >> (c[i] & 31))
		}
	}})
	def("v_alignbyte_b32", vdef{l3: func(a, b, c uint32) uint32 { return uint32((uint64(a)<<32 | uint64(b)) >> (8 * (c & 3))) }})
	def("v_perm_b32", vdef{k3: func(d, a, b, c *lanes) {
		if hasAVX && avxPerm(d, a, b, c) {
			return
		}
		for i := range d {
			d[i] = permB32(a[i], b[i], c[i])
		}
	}})
	def("v_bfrev_b32", vdef{l1: bits.Reverse32})
	def("v_screen_partition_4se_b32", vdef{l1: func(a uint32) uint32 { return uint32(strings.IndexByte("0123456789abcdef", screenPartition[a&0xff])) }})
	def("v_bcnt_u32_b32", vdef{l2: func(a, b uint32) uint32 { return uint32(bits.OnesCount32(a)) + b }})
	def("v_clz_i32_u32 v_ffbh_u32", vdef{l1: func(a uint32) uint32 {
		if a == 0 {
			return ^uint32(0)
		}
		return uint32(bits.LeadingZeros32(a))
	}})
	def("v_ctz_i32_b32 v_ffbl_b32", vdef{l1: func(a uint32) uint32 {
		if a == 0 {
			return ^uint32(0)
		}
		return uint32(bits.TrailingZeros32(a))
	}})
	def("v_cls_i32 v_ffbh_i32", vdef{l1: clsI32})
	def("v_bitop3_b32 v_bitop3_b16", vdef{}) // the truth table is in the modifiers: compiled apart
	def("v_prng_b32", vdef{l1: prng})
	def("v_sad_u8", vdef{l3: func(a, b, c uint32) uint32 { return sadU8(a, b) + c }})
	def("v_sad_hi_u8", vdef{l3: func(a, b, c uint32) uint32 { return sadU8(a, b)<<16 + c }})
	def("v_sad_u16", vdef{l3: func(a, b, c uint32) uint32 { return absDiff(a&0xffff, b&0xffff) + absDiff(a>>16, b>>16) + c }})
	def("v_sad_u32", vdef{l3: func(a, b, c uint32) uint32 { return absDiff(a, b) + c }})
	def("v_msad_u8", vdef{l3: func(a, b, c uint32) uint32 { return msadU8(a, b) + c }})
	def("v_lerp_u8", vdef{l3: func(a, b, c uint32) (r uint32) {
		for i := 0; i < 32; i += 8 {
			r |= (a>>i&255 + b>>i&255 + c>>i&1) >> 1 << i
		}
		return r
	}})
	def("v_qsad_pk_u16_u8", vdef{w3: func(a, b, c uint64) (r uint64) {
		for i := range 4 {
			r |= uint64(uint16(sadU8(uint32(a>>(8*i)), uint32(b))+uint32(c>>(16*i)&0xffff))) << (16 * i)
		}
		return r
	}})
	def("v_mqsad_pk_u16_u8", vdef{w3: func(a, b, c uint64) (r uint64) {
		for i := range 4 {
			r |= uint64(uint16(msadU8(uint32(a>>(8*i)), uint32(b))+uint32(c>>(16*i)&0xffff))) << (16 * i)
		}
		return r
	}})

	def("v_min3_u32", vdef{l3: func(a, b, c uint32) uint32 { return min(a, b, c) }})
	def("v_max3_u32", vdef{l3: func(a, b, c uint32) uint32 { return max(a, b, c) }})
	def("v_med3_u32", vdef{l3: func(a, b, c uint32) uint32 { return max(min(a, b), min(max(a, b), c)) }})
	def("v_minmax_u32", vdef{l3: func(a, b, c uint32) uint32 { return max(min(a, b), c) }})
	def("v_maxmin_u32", vdef{l3: func(a, b, c uint32) uint32 { return min(max(a, b), c) }})
	i3 := func(f func(a, b, c int32) int32) func(a, b, c uint32) uint32 {
		return func(a, b, c uint32) uint32 { return uint32(f(int32(a), int32(b), int32(c))) }
	}
	def("v_min3_i32", vdef{l3: i3(func(a, b, c int32) int32 { return min(a, b, c) })})
	def("v_max3_i32", vdef{l3: i3(func(a, b, c int32) int32 { return max(a, b, c) })})
	def("v_med3_i32", vdef{l3: i3(func(a, b, c int32) int32 { return max(min(a, b), min(max(a, b), c)) })})
	def("v_minmax_i32", vdef{l3: i3(func(a, b, c int32) int32 { return max(min(a, b), c) })})
	def("v_maxmin_i32", vdef{l3: i3(func(a, b, c int32) int32 { return min(max(a, b), c) })})

	// 16-bit integers.
	u2 := func(f func(a, b uint32) uint32) func(a, b uint32) uint32 {
		return func(a, b uint32) uint32 { return f(a&0xffff, b&0xffff) & 0xffff }
	}
	h2 := func(f func(a, b int32) int32) func(a, b uint32) uint32 {
		return func(a, b uint32) uint32 { return uint32(f(sext(a, 16), sext(b, 16))) & 0xffff }
	}
	h3 := func(f func(a, b, c int32) int32) func(a, b, c uint32) uint32 {
		return func(a, b, c uint32) uint32 {
			return uint32(f(sext(a, 16), sext(b, 16), sext(c, 16))) & 0xffff
		}
	}
	u3 := func(f func(a, b, c uint32) uint32) func(a, b, c uint32) uint32 {
		return func(a, b, c uint32) uint32 { return f(a&0xffff, b&0xffff, c&0xffff) & 0xffff }
	}
	add16 := u2(func(a, b uint32) uint32 { return a + b })
	sub16 := u2(func(a, b uint32) uint32 { return a - b })
	mul16 := u2(func(a, b uint32) uint32 { return a * b })
	def("v_add_nc_u16 v_add_u16 v_add_nc_i16 v_add_i16", vdef{l2: add16, sat: satAdd})
	def("v_sub_nc_u16 v_sub_u16 v_sub_nc_i16 v_sub_i16", vdef{l2: sub16, sat: satSub})
	def("v_subrev_u16", vdef{l2: func(a, b uint32) uint32 { return sub16(b, a) }, sat: func(a, b, _ int64) int64 { return b - a }})
	def("v_mul_lo_u16", vdef{l2: mul16, sat: func(a, b, _ int64) int64 { return a * b }})
	def("v_min_u16", vdef{l2: u2(func(a, b uint32) uint32 { return min(a, b) })})
	def("v_max_u16", vdef{l2: u2(func(a, b uint32) uint32 { return max(a, b) })})
	def("v_min_i16", vdef{l2: h2(func(a, b int32) int32 { return min(a, b) })})
	def("v_max_i16", vdef{l2: h2(func(a, b int32) int32 { return max(a, b) })})
	mad16 := u3(func(a, b, c uint32) uint32 { return a*b + c })
	satMad := func(a, b, c int64) int64 { return a*b + c }
	def("v_mad_u16 v_mad_legacy_u16 v_mad_i16 v_mad_legacy_i16", vdef{l3: mad16, sat: satMad})
	def("v_min3_u16", vdef{l3: u3(func(a, b, c uint32) uint32 { return min(a, b, c) })})
	def("v_max3_u16", vdef{l3: u3(func(a, b, c uint32) uint32 { return max(a, b, c) })})
	def("v_med3_u16", vdef{l3: u3(func(a, b, c uint32) uint32 { return max(min(a, b), min(max(a, b), c)) })})
	def("v_min3_i16", vdef{l3: h3(func(a, b, c int32) int32 { return min(a, b, c) })})
	def("v_max3_i16", vdef{l3: h3(func(a, b, c int32) int32 { return max(a, b, c) })})
	def("v_med3_i16", vdef{l3: h3(func(a, b, c int32) int32 { return max(min(a, b), min(max(a, b), c)) })})
	def("v_mad_u32_u16", vdef{l3: func(a, b, c uint32) uint32 { return a&0xffff*(b&0xffff) + c }, sat: satMad})
	def("v_mad_i32_i16", vdef{l3: func(a, b, c uint32) uint32 { return uint32(sext(a, 16)*sext(b, 16)) + c }, sat: satMad})
	def("v_cvt_i32_i16", vdef{l1: func(a uint32) uint32 { return uint32(sext(a, 16)) }})
	def("v_cvt_u32_u16", vdef{l1: func(a uint32) uint32 { return a & 0xffff }})
	def("v_pack_b32_f16", vdef{l2: func(a, b uint32) uint32 { return a&0xffff | b<<16 }, flush: true})
	def("v_sat_pk_u8_i16", vdef{l1: func(a uint32) uint32 {
		return uint32(clampInt(int64(sext(a, 16)), 0, 255) | clampInt(int64(sext(a>>16, 16)), 0, 255)<<8)
	}})
	def("v_ashr_pk_i8_i32", vdef{l3: func(a, b, c uint32) uint32 {
		return uint32(uint8(clampInt(int64(int32(a)>>(c&31)), -128, 127))) | uint32(uint8(clampInt(int64(int32(b)>>(c&31)), -128, 127)))<<8
	}})
	def("v_ashr_pk_u8_i32", vdef{l3: func(a, b, c uint32) uint32 {
		return uint32(clampInt(int64(int32(a)>>(c&31)), 0, 255) | clampInt(int64(int32(b)>>(c&31)), 0, 255)<<8)
	}})
}

func satAdd(a, b, _ int64) int64 { return a + b }
func satSub(a, b, _ int64) int64 { return a - b }

func clampInt(v, lo, hi int64) int64 { return min(max(v, lo), hi) }

func kAdd(d, a, b *lanes) {
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func kSub(d, a, b *lanes) {
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func kAnd(d, a, b *lanes) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func kOr(d, a, b *lanes) {
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func kXor(d, a, b *lanes) {
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func kShl(d, a, b *lanes) {
	for i := range d {
		d[i] = b[i] << (a[i] & 31)
	}
}

func kShr(d, a, b *lanes) {
	for i := range d {
		d[i] = b[i] >> (a[i] & 31)
	}
}

func kSar(d, a, b *lanes) {
	for i := range d {
		d[i] = uint32(int32(b[i]) >> (a[i] & 31))
	}
}

func absDiff(a, b uint32) uint32 { return max(a, b) - min(a, b) }

func sadU8(a, b uint32) (r uint32) {
	for i := 0; i < 32; i += 8 {
		r += absDiff(a>>i&255, b>>i&255)
	}
	return r
}

// msadU8 leaves out the bytes whose reference, in b, is zero.
func msadU8(a, b uint32) (r uint32) {
	for i := 0; i < 32; i += 8 {
		if b>>i&255 != 0 {
			r += absDiff(a>>i&255, b>>i&255)
		}
	}
	return r
}

func permB32(a, b, c uint32) (r uint32) {
	v := uint64(a)<<32 | uint64(b)
	for i := 0; i < 32; i += 8 {
		s := c >> i & 255
		var x uint32
		switch {
		case s >= 13:
			x = 255
		case s == 12:
		case s >= 8: // the sign of byte 1, 3, 5 or 7
			x = 255 * uint32(v>>(16*(s-8)+15)&1)
		default:
			x = uint32(v >> (8 * s) & 255)
		}
		r |= x << i
	}
	return r
}

func clsI32(a uint32) uint32 {
	if a == 0 || a == ^uint32(0) {
		return ^uint32(0)
	}
	return uint32(bits.LeadingZeros32(a ^ uint32(int32(a)>>31)))
}

// The definitions refer to each other, so they are made in order.
func init() {
	defineIntegers()
	defineFloats()
	defineConversions()
	if hasAVX {
		useAVX()
	}
}

// screenPartition holds v_screen_partition_4se_b32's results as hexadecimal digits (MI200 ISA).
const screenPartition = "137f5fff7ffffffff26efafffbffffffdf4cff5fffdfffff9bf8fffafffeffff" +
	"ffff4cdf6fffeffffffff89bf99ffdffffff7f13ff9fffbfffff6ef26ff6fff7" +
	"bfffffff23bfaffff7fffffff19df5ffffefffffef8cffaffffdffff67f4fff5" +
	"9fffdfffffff8ceff66ffefffffff467ff6fff7fffffbf239ff9fffbffff9df1"
