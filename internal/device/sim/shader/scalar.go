package shader

import (
	"math"
	"math/bits"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// sdef is a scalar operation. 32-bit sources come zero-extended.
type sdef struct {
	f   func(w *wave, a, b uint64) uint64
	scc uint8
}

// What happens to SCC.
const (
	sccKept    = iota
	sccNonzero // result is not 0
	sccOwn     // f sets it
)

// scalar compiles SOP1, SOP2, SOPC, SOPK and SOPP.
func (c *compiler) scalar() {
	in := c.in
	name := in.Op.Base()
	dstBits := uint16(0)
	c.u.sd = 0xffff
	si := 0
	for i := range in.NumArgs() {
		a := in.Arg(i)
		switch a.Field {
		case isa.FieldSdst:
			c.u.sd = a.Reg
			dstBits = a.Bits
			if a.Kind != isa.ArgScalar {
				c.u.sd = c.p.arch.Null()
			}
		case isa.FieldSsrc0, isa.FieldSsrc1:
			if si < 2 {
				c.source(si, a)
				si++
			}
		}
	}
	c.u.imm = int64(in.Simm16())
	if f := scalarOther[name]; f != nil {
		c.u.run = f
		c.x.name = name
		c.ext()
		return
	}
	if strings.HasPrefix(name, "s_wait") || strings.HasPrefix(name, "s_barrier_") {
		c.u.run = runNop
		if strings.HasPrefix(name, "s_barrier_") {
			c.u.run = nil
		}
		return
	}
	d, ok := sdefs[name]
	if !ok && in.Op.Format == isa.SOPK {
		// The destination is a source, the immediate the other.
		d, ok = sdefs[strings.Replace(strings.Replace(name, "k_", "_", 1), "s_mov_i32", "s_mov_b32", 1)]
		c.u.a = opnd{kind: fromS, reg: c.u.sd}
		v := uint64(uint32(c.u.imm))
		if strings.HasSuffix(name, "_u32") {
			v &= 0xffff
		}
		c.constant(1, v)
		if strings.HasPrefix(name, "s_movk") || strings.HasPrefix(name, "s_cmovk") {
			d, ok = sdefs["s_"+strings.TrimPrefix(strings.Replace(name, "k_i32", "_b32", 1), "s_")]
			c.constant(0, v)
		}
		if strings.HasPrefix(name, "s_cmpk") {
			dstBits = 0
		}
	}
	if !ok {
		c.scalarFloat(name)
		return
	}
	f := d.f
	scc := d.scc
	wide := false
	for i := range c.srcs {
		wide = wide || c.x.src[i].bits > 32
	}
	c.ext()
	if wide || dstBits > 32 {
		c.u.run = func(w *wave, u *uop) {
			r := f(w, w.sval(u, 0), w.sval(u, 1))
			if scc == sccNonzero {
				w.scc = b2u(r != 0)
			}
			switch {
			case u.sd == 0xffff || dstBits == 0:
			case dstBits > 32:
				w.sset64(u.sd, r)
			default:
				w.sset(u.sd, uint32(r))
			}
		}
		return
	}
	if dstBits == 0 {
		c.u.run = func(w *wave, u *uop) { f(w, uint64(w.s32(&u.a)), uint64(w.s32(&u.b))) }
		return
	}
	c.u.run = func(w *wave, u *uop) {
		r := uint32(f(w, uint64(w.s32(&u.a)), uint64(w.s32(&u.b))))
		if scc == sccNonzero {
			w.scc = b2u(r != 0)
		}
		w.sset(u.sd, r)
	}
}

func (w *wave) s32(o *opnd) uint32 {
	switch o.kind {
	case fromS:
		return w.sget(o.reg)
	case fromK:
		return o.k[0]
	}
	return 0
}

// sval is a scalar source of 32 or 64 bits.
func (w *wave) sval(u *uop, i int) uint64 {
	o := u.src(i)
	switch o.kind {
	case fromK:
		return u.x.kv[i]
	case fromS:
		if u.x.src[i].bits > 32 {
			return w.sget64(o.reg)
		}
		return uint64(w.sget(o.reg))
	}
	return 0
}

// scalarFloat compiles RDNA3.5's float operations on SGPRs: each is the vector operation on one lane.
func (c *compiler) scalarFloat(name string) {
	if strings.HasPrefix(name, "s_cmp_") {
		rest := name[6:]
		i := strings.LastIndexByte(rest, '_')
		if i < 0 {
			return
		}
		r, ok := relations[rest[i+1:]]
		if !ok || rest[i+1] != 'f' {
			return
		}
		cmp := relate(rest[:i], r)
		if cmp == nil {
			return
		}
		half := rest[i+1:] == "f16"
		c.u.run = func(w *wave, u *uop) {
			var a, b lanes
			a[0], b[0] = w.s32(&u.a), w.s32(&u.b)
			if half && w.m.in64 {
				a[0], b[0] = flush16(a[0]&0xffff), flush16(b[0]&0xffff)
			} else if !half && w.m.in32 {
				a[0], b[0] = flush32(a[0]), flush32(b[0])
			}
			w.scc = cmp(&a, &b) & 1
		}
		c.ext()
		return
	}
	shift := 0
	vn := "v_" + name[2:]
	if name == "s_cvt_hi_f32_f16" {
		vn, shift = "v_cvt_f32_f16", 16
	}
	d := vdefs[vn]
	if d == nil || d.wide() {
		return
	}
	half := strings.HasSuffix(name, "f16") || name == "s_cvt_f32_f16"
	outHalf := strings.HasSuffix(name, "_f16") && !strings.HasPrefix(name, "s_cvt_f32") && !strings.HasPrefix(name, "s_cvt_hi") || strings.HasPrefix(name, "s_cvt_f16")
	if name == "s_cvt_pk_rtz_f16_f32" {
		half, outHalf = false, false
	}
	if strings.HasPrefix(name, "s_cvt_f16_f32") {
		half = false
	}
	lit := c.in.Lit
	mk, ak := name == "s_fmamk_f32", name == "s_fmaak_f32"
	acc := d.acc
	toInt := strings.HasPrefix(name, "s_cvt_i32") || strings.HasPrefix(name, "s_cvt_u32")
	c.u.run = func(w *wave, u *uop) {
		s := [3]uint32{w.s32(&u.a) >> shift, w.s32(&u.b)}
		switch {
		case mk:
			s[1], s[2] = lit, s[1]
		case ak:
			s[2] = lit
		case acc:
			s[2] = w.sget(u.sd)
		}
		if d.flush {
			for i := range s {
				if half && w.m.in64 {
					s[i] = flush16(s[i] & 0xffff)
				} else if !half && w.m.in32 {
					s[i] = flush32(s[i])
				}
			}
		}
		r := d.one(&w.m, s)
		if d.flush && !toInt {
			if outHalf && w.m.out64 {
				r = flush16(r)
			} else if !outHalf && w.m.out32 && name != "s_cvt_pk_rtz_f16_f32" {
				r = flush32(r)
			}
		}
		w.sset(u.sd, r)
	}
	c.ext()
}

// one computes a narrow operation for a single lane.
func (d *vdef) one(m *mode, s [3]uint32) uint32 {
	switch {
	case d.m1 != nil:
		return d.m1(m, s[0])
	case d.m2 != nil:
		return d.m2(m, s[0], s[1])
	case d.m3 != nil:
		return d.m3(m, s[0], s[1], s[2])
	case d.l1 != nil:
		return d.l1(s[0])
	case d.l2 != nil:
		return d.l2(s[0], s[1])
	case d.l3 != nil:
		return d.l3(s[0], s[1], s[2])
	}
	var r, a, b, c lanes
	a[0], b[0], c[0] = s[0], s[1], s[2]
	switch {
	case d.k1 != nil:
		d.k1(&r, &a)
	case d.k2 != nil:
		d.k2(&r, &a, &b)
	case d.k3 != nil:
		d.k3(&r, &a, &b, &c)
	}
	return r[0]
}

var sdefs = map[string]sdef{}

func sd(names string, scc uint8, f func(w *wave, a, b uint64) uint64) {
	for n := range strings.FieldsSeq(names) {
		sdefs[n] = sdef{f, scc}
	}
}

func init() {
	pure := func(names string, scc uint8, f func(a, b uint64) uint64) {
		sd(names, scc, func(_ *wave, a, b uint64) uint64 { return f(a, b) })
	}
	pure32 := func(names string, scc uint8, f func(a, b uint32) uint32) {
		sd(names, scc, func(_ *wave, a, b uint64) uint64 { return uint64(f(uint32(a), uint32(b))) })
	}
	pure("s_mov_b32 s_mov_b64", sccKept, func(a, _ uint64) uint64 { return a })
	pure("s_not_b32 s_not_b64", sccNonzero, func(a, _ uint64) uint64 { return ^a })
	pure32("s_brev_b32", sccKept, func(a, _ uint32) uint32 { return bits.Reverse32(a) })
	pure("s_brev_b64", sccKept, func(a, _ uint64) uint64 { return bits.Reverse64(a) })
	pure32("s_bcnt0_i32_b32", sccNonzero, func(a, _ uint32) uint32 { return uint32(bits.OnesCount32(^a)) })
	pure32("s_bcnt1_i32_b32", sccNonzero, func(a, _ uint32) uint32 { return uint32(bits.OnesCount32(a)) })
	pure("s_bcnt0_i32_b64", sccNonzero, func(a, _ uint64) uint64 { return uint64(bits.OnesCount64(^a)) })
	pure("s_bcnt1_i32_b64", sccNonzero, func(a, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	first := func(n int, width int) uint64 {
		if n >= width {
			return 0xffffffff
		}
		return uint64(n)
	}
	pure("s_ff1_i32_b32 s_ctz_i32_b32", sccKept, func(a, _ uint64) uint64 { return first(bits.TrailingZeros32(uint32(a)), 32) })
	pure("s_ff0_i32_b32", sccKept, func(a, _ uint64) uint64 { return first(bits.TrailingZeros32(^uint32(a)), 32) })
	pure("s_ff1_i32_b64 s_ctz_i32_b64", sccKept, func(a, _ uint64) uint64 { return first(bits.TrailingZeros64(a), 64) })
	pure("s_ff0_i32_b64", sccKept, func(a, _ uint64) uint64 { return first(bits.TrailingZeros64(^a), 64) })
	pure("s_flbit_i32_b32 s_clz_i32_u32", sccKept, func(a, _ uint64) uint64 { return first(bits.LeadingZeros32(uint32(a)), 32) })
	pure("s_flbit_i32_b64 s_clz_i32_u64", sccKept, func(a, _ uint64) uint64 { return first(bits.LeadingZeros64(a), 64) })
	pure32("s_flbit_i32 s_cls_i32", sccKept, func(a, _ uint32) uint32 { return clsI32(a) })
	pure("s_flbit_i32_i64 s_cls_i32_i64", sccKept, func(a, _ uint64) uint64 {
		return first(bits.LeadingZeros64(a^uint64(int64(a)>>63)), 64)
	})
	sdefs["s_sext_i32_i8"] = sdef{func(_ *wave, a, _ uint64) uint64 { return uint64(uint32(int32(int8(a)))) }, sccKept}
	sdefs["s_sext_i32_i16"] = sdef{func(_ *wave, a, _ uint64) uint64 { return uint64(uint32(int32(int16(a)))) }, sccKept}
	pure32("s_abs_i32", sccNonzero, func(a, _ uint32) uint32 {
		if int32(a) < 0 {
			return -a
		}
		return a
	})
	pure("s_quadmask_b32 s_quadmask_b64", sccNonzero, func(a, _ uint64) (r uint64) {
		for i := range 16 {
			r |= uint64(b2u(a>>(4*i)&15 != 0)) << i
		}
		return r
	})
	pure("s_wqm_b32 s_wqm_b64", sccNonzero, func(a, _ uint64) (r uint64) {
		for i := 0; i < 64; i += 4 {
			if a>>i&15 != 0 {
				r |= 15 << i
			}
		}
		return r
	})
	sdefs["s_bitreplicate_b64_b32"] = sdef{func(_ *wave, a, _ uint64) (r uint64) {
		for i := range 32 {
			r |= (a >> i & 1) * 3 << (2 * i)
		}
		return r
	}, sccKept}

	// Arithmetic.
	sd("s_add_u32 s_add_co_u32", sccOwn, func(w *wave, a, b uint64) uint64 { r := a + b; w.scc = uint32(r >> 32); return r })
	sd("s_sub_u32 s_sub_co_u32", sccOwn, func(w *wave, a, b uint64) uint64 { w.scc = b2u(b > a); return a - b })
	sd("s_addc_u32 s_add_co_ci_u32", sccOwn, func(w *wave, a, b uint64) uint64 {
		r := a + b + uint64(w.scc)
		w.scc = uint32(r >> 32)
		return r
	})
	sd("s_subb_u32 s_sub_co_ci_u32", sccOwn, func(w *wave, a, b uint64) uint64 {
		r := a - b - uint64(w.scc)
		w.scc = uint32(r >> 63)
		return r
	})
	sd("s_add_i32 s_add_co_i32", sccOwn, func(w *wave, a, b uint64) uint64 {
		r := int64(int32(a)) + int64(int32(b))
		w.scc = b2u(r != int64(int32(r)))
		return uint64(uint32(r))
	})
	sd("s_sub_i32 s_sub_co_i32", sccOwn, func(w *wave, a, b uint64) uint64 {
		r := int64(int32(a)) - int64(int32(b))
		w.scc = b2u(r != int64(int32(r)))
		return uint64(uint32(r))
	})
	pure("s_mul_i32", sccKept, func(a, b uint64) uint64 { return uint64(uint32(a * b)) })
	pure("s_mul_hi_u32", sccKept, func(a, b uint64) uint64 { return a * b >> 32 })
	pure("s_mul_hi_i32", sccKept, func(a, b uint64) uint64 { return uint64(uint32(int64(int32(a)) * int64(int32(b)) >> 32)) })
	pure("s_mul_u64", sccKept, func(a, b uint64) uint64 { return a * b })
	pure("s_add_nc_u64", sccKept, func(a, b uint64) uint64 { return a + b })
	pure("s_sub_nc_u64", sccKept, func(a, b uint64) uint64 { return a - b })
	sd("s_min_i32", sccOwn, func(w *wave, a, b uint64) uint64 {
		w.scc = b2u(int32(a) < int32(b))
		return uint64(uint32(min(int32(a), int32(b))))
	})
	sd("s_max_i32", sccOwn, func(w *wave, a, b uint64) uint64 {
		w.scc = b2u(int32(a) >= int32(b))
		return uint64(uint32(max(int32(a), int32(b))))
	})
	sd("s_min_u32", sccOwn, func(w *wave, a, b uint64) uint64 { w.scc = b2u(a < b); return min(a, b) })
	sd("s_max_u32", sccOwn, func(w *wave, a, b uint64) uint64 { w.scc = b2u(a >= b); return max(a, b) })
	pure32("s_absdiff_i32", sccNonzero, func(a, b uint32) uint32 {
		d := a - b
		if int32(d) < 0 {
			return -d
		}
		return d
	})
	for i, n := range []string{"s_lshl1_add_u32", "s_lshl2_add_u32", "s_lshl3_add_u32", "s_lshl4_add_u32"} {
		sd(n, sccOwn, func(w *wave, a, b uint64) uint64 {
			r := a<<(i+1) + b
			w.scc = b2u(r>>32 != 0)
			return r
		})
	}
	sd("s_cselect_b32 s_cselect_b64", sccKept, func(w *wave, a, b uint64) uint64 {
		if w.scc != 0 {
			return a
		}
		return b
	})

	// Logic.
	pure("s_and_b32 s_and_b64", sccNonzero, func(a, b uint64) uint64 { return a & b })
	pure("s_or_b32 s_or_b64", sccNonzero, func(a, b uint64) uint64 { return a | b })
	pure("s_xor_b32 s_xor_b64", sccNonzero, func(a, b uint64) uint64 { return a ^ b })
	pure("s_andn2_b32 s_andn2_b64 s_and_not1_b32 s_and_not1_b64", sccNonzero, func(a, b uint64) uint64 { return a &^ b })
	pure("s_orn2_b32 s_orn2_b64 s_or_not1_b32 s_or_not1_b64", sccNonzero, func(a, b uint64) uint64 { return a | ^b })
	pure("s_nand_b32 s_nand_b64", sccNonzero, func(a, b uint64) uint64 { return ^(a & b) })
	pure("s_nor_b32 s_nor_b64", sccNonzero, func(a, b uint64) uint64 { return ^(a | b) })
	pure("s_xnor_b32 s_xnor_b64", sccNonzero, func(a, b uint64) uint64 { return ^(a ^ b) })
	pure("s_lshl_b32", sccNonzero, func(a, b uint64) uint64 { return a << (b & 31) })
	pure("s_lshr_b32", sccNonzero, func(a, b uint64) uint64 { return a >> (b & 31) })
	pure("s_ashr_i32", sccNonzero, func(a, b uint64) uint64 { return uint64(uint32(int32(a) >> (b & 31))) })
	pure("s_lshl_b64", sccNonzero, func(a, b uint64) uint64 { return a << (b & 63) })
	pure("s_lshr_b64", sccNonzero, func(a, b uint64) uint64 { return a >> (b & 63) })
	pure("s_ashr_i64", sccNonzero, func(a, b uint64) uint64 { return uint64(int64(a) >> (b & 63)) })
	pure("s_bfm_b32", sccKept, func(a, b uint64) uint64 { return uint64(uint32((1<<(a&31) - 1) << (b & 31))) })
	pure("s_bfm_b64", sccKept, func(a, b uint64) uint64 { return (1<<(a&63) - 1) << (b & 63) })
	width := func(b uint64, most uint64) uint64 { return min(b>>16&0x7f, most) }
	pure("s_bfe_u32", sccNonzero, func(a, b uint64) uint64 { return a >> (b & 31) & (1<<width(b, 32) - 1) })
	pure("s_bfe_i32", sccNonzero, func(a, b uint64) uint64 {
		n := width(b, 32)
		if n == 0 {
			return 0
		}
		return uint64(uint32(sext(uint32(int32(a)>>(b&31)), uint(n))))
	})
	pure("s_bfe_u64", sccNonzero, func(a, b uint64) uint64 {
		n := width(b, 64)
		return a >> (b & 63) & (uint64(1)<<n - 1)
	})
	pure("s_bfe_i64", sccNonzero, func(a, b uint64) uint64 {
		n := width(b, 64)
		if n == 0 {
			return 0
		}
		return uint64(sext64(uint64(int64(a)>>(b&63)), uint(n)))
	})
	pure("s_pack_ll_b32_b16", sccKept, func(a, b uint64) uint64 { return a&0xffff | b&0xffff<<16 })
	pure("s_pack_lh_b32_b16", sccKept, func(a, b uint64) uint64 { return a&0xffff | b&0xffff0000 })
	pure("s_pack_hh_b32_b16", sccKept, func(a, b uint64) uint64 { return a>>16 | b&0xffff0000 })
	pure("s_pack_hl_b32_b16", sccKept, func(a, b uint64) uint64 { return a>>16 | b&0xffff<<16 })

	// Comparisons set SCC.
	cmp := func(name string, f func(a, b uint64) bool) {
		sd(name, sccOwn, func(w *wave, a, b uint64) uint64 { w.scc = b2u(f(a, b)); return 0 })
	}
	for n, f := range map[string]func(a, b int64) bool{
		"eq": func(a, b int64) bool { return a == b }, "lg": func(a, b int64) bool { return a != b },
		"gt": func(a, b int64) bool { return a > b }, "ge": func(a, b int64) bool { return a >= b },
		"lt": func(a, b int64) bool { return a < b }, "le": func(a, b int64) bool { return a <= b },
	} {
		cmp("s_cmp_"+n+"_i32", func(a, b uint64) bool { return f(int64(int32(a)), int64(int32(b))) })
		cmp("s_cmp_"+n+"_u32", func(a, b uint64) bool { return f(int64(a), int64(b)) })
	}
	cmp("s_cmp_eq_u64", func(a, b uint64) bool { return a == b })
	cmp("s_cmp_lg_u64", func(a, b uint64) bool { return a != b })
	cmp("s_bitcmp0_b32", func(a, b uint64) bool { return a>>(b&31)&1 == 0 })
	cmp("s_bitcmp1_b32", func(a, b uint64) bool { return a>>(b&31)&1 != 0 })
	cmp("s_bitcmp0_b64", func(a, b uint64) bool { return a>>(b&63)&1 == 0 })
	cmp("s_bitcmp1_b64", func(a, b uint64) bool { return a>>(b&63)&1 != 0 })

	for op, f := range map[string]func(s, e uint64) uint64{
		"and": func(s, e uint64) uint64 { return s & e }, "or": func(s, e uint64) uint64 { return s | e },
		"xor": func(s, e uint64) uint64 { return s ^ e }, "nand": func(s, e uint64) uint64 { return ^(s & e) },
		"nor": func(s, e uint64) uint64 { return ^(s | e) }, "xnor": func(s, e uint64) uint64 { return ^(s ^ e) },
		"and_not0": func(s, e uint64) uint64 { return ^s & e }, "andn1": func(s, e uint64) uint64 { return ^s & e },
		"and_not1": func(s, e uint64) uint64 { return s &^ e }, "andn2": func(s, e uint64) uint64 { return s &^ e },
		"or_not0": func(s, e uint64) uint64 { return ^s | e }, "orn1": func(s, e uint64) uint64 { return ^s | e },
		"or_not1": func(s, e uint64) uint64 { return s | ^e }, "orn2": func(s, e uint64) uint64 { return s | ^e },
	} {
		for _, width := range []string{"_b32", "_b64"} {
			narrow := width == "_b32"
			exec := func(w *wave) uint64 {
				if narrow {
					return uint64(w.s[isa.ExecLo])
				}
				return w.sget64(isa.ExecLo)
			}
			set := func(w *wave, v uint64) {
				if narrow {
					v &= math.MaxUint32
					w.sset(isa.ExecLo, uint32(v))
				} else {
					w.sset64(isa.ExecLo, v)
				}
				w.scc = b2u(v != 0)
			}
			sd("s_"+op+"_saveexec"+width, sccOwn, func(w *wave, a, _ uint64) uint64 {
				old := exec(w)
				set(w, f(a, old))
				return old
			})
			sd("s_"+op+"_wrexec"+width, sccOwn, func(w *wave, a, _ uint64) uint64 {
				v := f(a, exec(w))
				if narrow {
					v &= math.MaxUint32
				}
				set(w, v)
				return v
			})
		}
	}
}
