package shader

import (
	"math"
	"math/bits"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// special compiles the vector operations that are more than a function of a lane's sources: carries, selects,
// lane access, packed and dot products, matrices. It tells whether name is one of them.
func (c *compiler) special(name string) bool {
	if f, ok := specials[name]; ok {
		c.u.run = f
		return true
	}
	switch {
	case name == "v_cndmask_b32" || name == "v_cndmask_b16":
		c.maskSource()
		c.u.run = runCndmask
		if c.x.src[0].plain && c.x.src[1].plain && c.x.dpp == nil && c.x.dst.plain() {
			c.u.run = runCndmaskFast
		}
	case c.carry(name):
	case name == "v_div_fmas_f32" || name == "v_div_fmas_f64":
		c.u.run = runDivFmas
		if strings.HasSuffix(name, "f64") {
			c.u.run = runDivFmas64
		}
		c.x.def = vdefs["v_fma_f32"]
	case name == "v_bitop3_b32" || name == "v_bitop3_b16":
		c.bitop3()
	case strings.HasPrefix(name, "v_pk_"):
		return c.packed(name)
	case strings.HasPrefix(name, "v_dot"):
		return c.dot(name)
	case strings.HasPrefix(name, "v_fma_mix") || strings.HasPrefix(name, "v_mad_mix"):
		c.fmaMix(name)
	case strings.HasPrefix(name, "v_wmma") || strings.HasPrefix(name, "v_swmmac") || strings.HasPrefix(name, "v_mfma") || strings.HasPrefix(name, "v_smfmac"):
		c.matrix(name)
	case strings.HasPrefix(name, "v_interp_"):
		c.u.run = runInterp
	case strings.HasPrefix(name, "v_s_"):
		d := vdefs["v_"+name[4:]]
		if d == nil {
			return false
		}
		c.x.def = d
		c.u.run = runScalarTrans
	default:
		return c.specialCvt(name)
	}
	return true
}

// maskSource puts the mask that the operation reads in c: VCC where it names none.
func (c *compiler) maskSource() {
	if c.u.c.kind == fromNone {
		c.u.c = opnd{kind: fromS, reg: isa.VccLo}
	}
}

// maskOf is a mask operand.
func (w *wave) maskOf(o *opnd, kv uint64) uint64 {
	if o.kind == fromK {
		return kv
	}
	return w.mask(o.reg)
}

var specials map[string]func(w *wave, u *uop)

func init() {
	specials = map[string]func(w *wave, u *uop){
		"v_nop": runNop, "v_clrexcp": runNop, "v_pipeflush": runNop,
		"v_mfma_ld_scale_b32": runNop, // scales of the MFMA behind it, with which it is one instruction; by itself it has no effect
		"v_readfirstlane_b32": runReadFirstLane, "v_readlane_b32": runReadLane, "v_writelane_b32": runWriteLane,
		"v_mbcnt_lo_u32_b32": runMbcntLo, "v_mbcnt_hi_u32_b32": runMbcntHi,
		"v_div_scale_f32": runDivScale, "v_div_scale_f64": runDivScale64,
		"v_mad_u64_u32": runMad64, "v_mad_co_u64_u32": runMad64, "v_mad_i64_i32": runMadI64, "v_mad_co_i64_i32": runMadI64,
		"v_mqsad_u32_u8": runMqsad,
		"v_swap_b32":     runSwap, "v_swap_b16": runSwap16,
		"v_movreld_b32": runMovrel, "v_movrels_b32": runMovrel, "v_movrelsd_b32": runMovrel, "v_movrelsd_2_b32": runMovrel, "v_swaprel_b32": runMovrel,
		"v_permlane16_b32": runPermlane, "v_permlanex16_b32": runPermlane,
		"v_permlane16_var_b32": runPermlaneVar, "v_permlanex16_var_b32": runPermlaneVar,
		"v_permlane64_b32": runPermlane64, "v_permlane16_swap_b32": runPermlaneSwap, "v_permlane32_swap_b32": runPermlaneSwap,
	}
}

func runNop(*wave, *uop) {}

func runCndmaskFast(w *wave, u *uop) {
	a := w.lanes(&u.a, &w.t[0])
	b := w.lanes(&u.b, &w.t[1])
	m := w.maskOf(&u.c, 0)
	d := &w.v[u.d]
	if w.exec != w.full {
		t := &w.t[3]
		selectLanes(lo(t), lo(a), lo(b), uint32(m))
		if w.n == 64 {
			selectLanes(hi(t), hi(a), hi(b), uint32(m>>32))
		}
		w.put(d, t, w.exec)
		return
	}
	selectLanes(lo(d), lo(a), lo(b), uint32(m))
	if w.n == 64 {
		selectLanes(hi(d), hi(a), hi(b), uint32(m>>32))
	}
}

func selectLanes(d, a, b *lanes, m uint32) {
	if hasAVX {
		avxSelect(d, a, b, m)
		return
	}
	for i := range d {
		d[i] = a[i] ^ (a[i]^b[i])&-(m>>i&1)
	}
}

func runCndmask(w *wave, u *uop) {
	a, b := w.fetch(u, 0, false), w.fetch(u, 1, false)
	m := w.maskOf(&u.c, u.x.kv[2])
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	t := &w.t[3]
	for l := range w.n {
		t[l] = a[l]
		if m>>l&1 != 0 {
			t[l] = b[l]
		}
	}
	w.store(u, t, mask)
}

func (w *wave) firstLane() int {
	if w.exec == 0 {
		return 0
	}
	return bits.TrailingZeros64(w.exec)
}

func runReadFirstLane(w *wave, u *uop) {
	v := w.lanes(&u.a, &w.t[0])
	w.sset(u.sd, v[w.firstLane()])
}

func runReadLane(w *wave, u *uop) {
	v := w.lanes(&u.a, &w.t[0])
	w.sset(u.sd, v[w.scalar(&u.b)&uint32(w.n-1)])
}

func runWriteLane(w *wave, u *uop) {
	w.v[u.d][w.scalar(&u.b)&uint32(w.n-1)] = w.scalar(&u.a)
}

// scalar is a source that is the same for all lanes; of a VGPR it takes the first active lane.
func (w *wave) scalar(o *opnd) uint32 {
	switch o.kind {
	case fromS:
		return w.sget(o.reg)
	case fromK:
		return o.k[0]
	case fromV:
		return w.v[o.reg][w.firstLane()]
	}
	return 0
}

func runMbcntLo(w *wave, u *uop) {
	a, b, t := w.fetch(u, 0, false), w.fetch(u, 1, false), &w.t[3]
	for l := range w.n {
		m := uint32(math.MaxUint32)
		if l < 32 {
			m = 1<<l - 1
		}
		t[l] = uint32(bits.OnesCount32(a[l]&m)) + b[l]
	}
	w.storeDPP(u, t)
}

func runMbcntHi(w *wave, u *uop) {
	a, b, t := w.fetch(u, 0, false), w.fetch(u, 1, false), &w.t[3]
	for l := range w.n {
		m := uint32(0)
		if l >= 32 {
			m = 1<<(l-32) - 1
		}
		t[l] = uint32(bits.OnesCount32(a[l]&m)) + b[l]
	}
	w.storeDPP(u, t)
}

func (w *wave) storeDPP(u *uop, t *vreg) {
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	w.store(u, t, mask)
}

func runSwap(w *wave, u *uop) {
	a, d := &w.v[u.a.reg], &w.v[u.d]
	old := *d
	w.put(d, a, w.exec)
	w.put(a, &old, w.exec)
}

func runSwap16(w *wave, u *uop) {
	a, d := &w.v[u.a.reg], &w.v[u.d]
	sa, sd := 16*b2u(u.x.src[0].half), 16*b2u(u.x.dst.half)
	for l := range w.n {
		if w.exec>>l&1 == 0 {
			continue
		}
		x, y := a[l]>>sa&0xffff, d[l]>>sd&0xffff
		a[l] = a[l]&^(0xffff<<sa) | y<<sa
		d[l] = d[l]&^(0xffff<<sd) | x<<sd
	}
}

// runMovrel moves between registers that M0 names relative to those of the instruction.
func runMovrel(w *wave, u *uop) {
	m0 := w.s[w.m0]
	s, d := uint32(0), uint32(0)
	switch u.x.name {
	case "v_movreld_b32":
		d = m0
	case "v_movrels_b32":
		s = m0
	case "v_movrelsd_b32":
		s, d = m0, m0
	default: // two 10-bit indices
		s, d = m0&0x3ff, m0>>16&0x3ff
	}
	dr := &w.v[(uint32(u.d)+d)&0xff]
	src := w.lanes(&u.a, &w.t[0])
	if u.a.kind == fromV {
		src = &w.v[(uint32(u.a.reg)+s)&0xff]
	}
	old := *dr
	w.put(dr, src, w.exec)
	if u.x.name == "v_swaprel_b32" {
		w.put(src, &old, w.exec)
	}
}

func runPermlane(w *wave, u *uop) {
	v := w.fetch(u, 0, false)
	sel := uint64(w.scalar(&u.b)) | uint64(w.scalar(&u.c))<<32
	cross := 0
	if strings.Contains(u.x.name, "x16") {
		cross = 16
	}
	w.permlane(u, v, func(l int) int { return (l^cross)&^15 | int(sel>>(4*(l&15))&15) })
}

func runPermlaneVar(w *wave, u *uop) {
	v := w.fetch(u, 0, false)
	sel := w.fetch(u, 1, false)
	cross := 0
	if strings.Contains(u.x.name, "x16") {
		cross = 16
	}
	w.permlane(u, v, func(l int) int { return (l^cross)&^15 | int(sel[l]&15) })
}

// permlane reads a lane that EXEC disables only with op_sel bit 0 (fi); else bit 1 (bound_ctrl) makes it 0, or the
// lane keeps its value.
func (w *wave) permlane(u *uop, v *vreg, from func(l int) int) {
	fi, bc := u.x.dst.opSel&1 != 0, u.x.dst.opSel&2 != 0
	t := &w.t[3]
	mask := w.exec
	for l := range w.n {
		j := from(l)
		switch {
		case fi || w.exec>>j&1 != 0:
			t[l] = v[j]
		case bc:
			t[l] = 0
		default:
			mask &^= 1 << l
		}
	}
	w.put(&w.v[u.d], t, mask)
}

func runPermlane64(w *wave, u *uop) {
	if w.n == 32 {
		return
	}
	v := *w.fetch(u, 0, false)
	t := &w.t[3]
	for l := range t {
		t[l] = v[l^32]
	}
	w.put(&w.v[u.d], t, w.exec)
}

// runPermlaneSwap exchanges odd rows (or the upper half) of the destination with even rows (the lower half) of
// the source, whatever EXEC says.
func runPermlaneSwap(w *wave, u *uop) {
	a, d := &w.v[u.a.reg], &w.v[u.d]
	step := 16
	if strings.Contains(u.x.name, "32_swap") {
		step = 32
	}
	for l := range 64 {
		if l&step == 0 {
			continue
		}
		d[l], a[l-step] = a[l-step], d[l]
	}
}

func runMqsad(w *wave, u *uop) {
	w.fetchWide(u, 0, false)
	b := *w.fetch(u, 1, false)
	for i := range 4 {
		t := &w.t[3]
		for l := range w.n {
			acc := uint32(0)
			switch u.c.kind {
			case fromV:
				acc = w.v[u.c.reg+uint16(i)][l]
			case fromS:
				acc = w.sget(u.c.reg + uint16(i))
			}
			t[l] = msadU8(uint32(w.x[0][l]>>(8*i)), b[l]) + acc
		}
		w.put(&w.v[u.d+uint16(i)], t, w.exec)
	}
}

func runScalarTrans(w *wave, u *uop) {
	d := u.x.def
	var s [3]*vreg
	s[0] = w.fetch(u, 0, d.flush)
	t := &w.t[3]
	w.compute(u, d, t, s)
	save := u.x.dst.typ
	switch {
	case save == isa.TypeF32:
		w.finishF32(u, t)
	default:
		w.finishF16(u, t)
	}
	w.sset(u.sd, t[0])
}

func (c *compiler) bitop3() {
	// The truth table lies where other operations have their modifiers: abs bits are 4:3 …, see runBitop3.
	c.u.run = runBitop3
	c.u.imm = int64(c.in.Field(isa.FieldOmod)<<6 | c.in.Field(isa.FieldAbs)<<3 | c.in.Field(isa.FieldNeg))
	for i := range c.x.src {
		c.x.src[i].neg, c.x.src[i].abs = false, false
		c.x.src[i].plain = !c.x.src[i].half
	}
	c.x.dst.omod = 0
}

// runBitop3 is any function of three bits: bit a*4+b*2+c of the table.
func runBitop3(w *wave, u *uop) {
	a, b, c, t := w.fetch(u, 0, false), w.fetch(u, 1, false), w.fetch(u, 2, false), &w.t[3]
	for l := range w.n {
		var r uint32
		for i := range 8 {
			if u.imm>>i&1 == 0 {
				continue
			}
			x, y, z := a[l], b[l], c[l]
			if i&4 == 0 {
				x = ^x
			}
			if i&2 == 0 {
				y = ^y
			}
			if i&1 == 0 {
				z = ^z
			}
			r |= x & y & z
		}
		t[l] = r
	}
	w.store(u, t, w.exec)
}

// runDivScale prepares a division for the reciprocal steps: a is what is scaled, b the denominator, c the numerator.
func runDivScale(w *wave, u *uop) {
	a, b, c, t := w.fetch(u, 0, true), w.fetch(u, 1, true), w.fetch(u, 2, true), &w.t[3]
	var vcc uint64
	for l := range w.n {
		v, flag := divScale32(a[l], b[l], c[l])
		t[l] = v
		vcc |= uint64(b2u(flag)) << l
	}
	w.put(&w.v[u.d], t, w.exec)
	w.setMask(u.sd, vcc&w.exec)
}

func runDivScale64(w *wave, u *uop) {
	w.fetchWide(u, 0, false)
	w.fetchWide(u, 1, false)
	w.fetchWide(u, 2, false)
	var vcc uint64
	t := &w.x[3]
	for l := range w.n {
		v, flag := divScale64(w.x[0][l], w.x[1][l], w.x[2][l])
		t[l] = v
		vcc |= uint64(b2u(flag)) << l
	}
	w.putWide(u.d, t, w.exec)
	w.setMask(u.sd, vcc&w.exec)
}

// runDivFmas is the last step of a division: VCC says that the result must be scaled back.
func runDivFmas(w *wave, u *uop) {
	a, b, c, t := w.fetch(u, 0, true), w.fetch(u, 1, true), w.fetch(u, 2, true), &w.t[3]
	vcc := w.vcc()
	for l := range w.n {
		if vcc>>l&1 == 0 {
			t[l] = mFma32(&w.m, f32(a[l]), f32(b[l]), f32(c[l]))
			continue
		}
		e := -64
		if exp32(c[l]) > 127 {
			e = 64
		}
		r := fmaOdd(float64(f32(a[l])), float64(f32(b[l])), float64(f32(c[l])))
		if f := uint32(f32f.from(r, w.m.rm32, false)); f<<1 == 0xff000000 {
			t[l] = f
			continue
		}
		t[l] = uint32(f32f.from(math.Ldexp(r, e), w.m.rm32, false)) // scaled before it is rounded
	}
	w.finish(u, t, w.exec)
}

func runDivFmas64(w *wave, u *uop) {
	for i := range 3 {
		w.fetchWide(u, i, true)
	}
	vcc := w.vcc()
	t := &w.x[3]
	for l := range w.n {
		x, y, z := f64(w.x[0][l]), f64(w.x[1][l]), f64(w.x[2][l])
		if vcc>>l&1 == 0 {
			t[l] = u64(fma64(x, y, z, w.m.rm64))
			continue
		}
		e := -128
		if w.x[2][l]>>52&0x7ff > 1023 {
			e = 128
		}
		t[l] = u64(fmaScaled(x, y, z, e, w.m.rm64))
	}
	w.finishWide(u, t, w.exec)
}

// runInterp interpolates over a quad: p10 is fma(P10, I, P0), p2 fma(P20, J, previous), where the parameters lie in
// lanes 0 to 2 of each quad.
func runInterp(w *wave, u *uop) {
	var s [3]vreg
	f16 := strings.Contains(u.x.name, "f16")
	for i := range s {
		v := w.lanes(u.src(i), &w.t[i])
		m := u.x.src[i]
		half := f16 && m.bits == 16
		m.plain = false
		w.modify(&m, &s[i], v)
		for l := range w.n {
			if half {
				s[i][l] = u32(h2f(s[i][l]))
			}
			if w.m.in32 {
				s[i][l] = flush32(s[i][l])
			}
		}
	}
	t := &w.t[3]
	md := w.m
	if strings.Contains(u.x.name, "rtz") {
		md.rm32, md.rm64 = roundZero, roundZero
	}
	p2 := strings.Contains(u.x.name, "_p2_")
	for l := range w.n {
		q := l &^ 3
		a, c := s[0][q+1], s[2][q]
		if p2 {
			a, c = s[0][q+2], s[2][l]
		}
		t[l] = mFma32(&md, f32(a), f32(s[1][l]), f32(c))
		if u.x.dst.typ == isa.TypeF16 {
			t[l] = d2h(float64(f32(t[l])), md.rm64)
		}
	}
	w.finish(u, t, w.exec)
}
