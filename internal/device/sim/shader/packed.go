package shader

import (
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// packed compiles v_pk_*: two results from the halves that op_sel (low result) and op_sel_hi (high result) choose.
func (c *compiler) packed(name string) bool {
	base := "v_" + name[len("v_pk_"):]
	if strings.HasSuffix(name, "_f32") || strings.HasSuffix(name, "mov_b32") {
		return c.packed32(name, base)
	}
	d := vdefs[base]
	if d == nil || d.wide() {
		return false
	}
	if base == "v_fmac_f16" && c.in.Op.Format != isa.VOP3P { // VOP2: both halves, no selection
		for i := range 2 {
			c.x.src[i].opSelHi = true
		}
	}
	c.x.def = d
	if d.acc {
		c.u.c = opnd{kind: fromV, reg: c.u.d}
		c.x.src[2] = srcMod{typ: isa.TypeF16, bits: 32, opSelHi: true, sel: 6}
	}
	c.x.dst.typ = c.x.src[0].typ
	c.u.n = uint8(d.n)
	c.u.run = runPacked
	return true
}

func runPacked(w *wave, u *uop) {
	if w.exec == 0 {
		return
	}
	d := u.x.def
	var los, his [3]*vreg
	buf := &w.p
	for i := range d.n {
		v := w.lanes(u.src(i), &w.t[i])
		if i == 0 && u.x.dpp != nil {
			w.dpp(u.x.dpp, &w.t[0], v)
			v = &w.t[0]
		}
		m := &u.x.src[i]
		los[i], his[i] = &buf[2*i], &buf[2*i+1]
		w.half(los[i], v, m.opSel, m.neg, m.typ, d.flush)
		w.half(his[i], v, m.opSelHi, m.negHi, m.typ, d.flush)
	}
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	tl, th := &w.t[3], &w.t[4]
	w.packedHalf(u, d, tl, los)
	w.packedHalf(u, d, th, his)
	for l := range tl {
		tl[l] = tl[l]&0xffff | th[l]<<16
	}
	w.put(&w.v[u.d], tl, mask)
}

func (w *wave) packedHalf(u *uop, d *vdef, t *vreg, s [3]*vreg) {
	x := &u.x.dst
	if x.clamp && d.sat != nil {
		lo, hi := int64(0), int64(65535)
		sgn := signed(x.typ)
		if sgn {
			lo, hi = -32768, 32767
		}
		for l := range w.n {
			var v [3]int64
			for i := range d.n {
				if sgn {
					v[i] = int64(sext(s[i][l], 16))
				} else {
					v[i] = int64(s[i][l] & 0xffff)
				}
			}
			t[l] = uint32(clampInt(d.sat(v[0], v[1], v[2]), lo, hi))
		}
		return
	}
	save := x.clamp
	w.compute(u, d, t, s)
	if x.typ == isa.TypeF16 {
		if d.flush && w.m.out64 {
			for l := range t {
				t[l] = flush16(t[l])
			}
		}
		if save {
			for l := range t {
				t[l] = w.clamp16(t[l] & 0xffff)
			}
		}
	}
}

// half takes one half of a packed operand.
func (w *wave) half(t, v *vreg, high, neg bool, typ isa.Type, flush bool) {
	sh := 16 * b2u(high)
	flip := uint32(0)
	if neg && (typ == isa.TypeF16 || typ == isa.TypeBF16) {
		flip = 0x8000
	}
	for l := range t {
		t[l] = v[l]>>sh&0xffff ^ flip
	}
	if flush && typ == isa.TypeF16 && w.m.in64 {
		for l := range t {
			t[l] = flush16(t[l])
		}
	}
}

// packed32 compiles CDNA's pairs of 32-bit operations: op_sel chooses the register of a pair.
func (c *compiler) packed32(name, base string) bool {
	d := vdefs[base]
	if d == nil {
		return false
	}
	c.x.def = d
	n := d.n
	if base == "v_mov_b32" {
		n = 2
	}
	c.u.n = uint8(n)
	c.u.run = runPacked32
	if base == "v_mov_b32" {
		c.u.run = runPackedMov
	}
	return true
}

// pairHalf is one register of a 64-bit source.
func (w *wave) pairHalf(u *uop, i int, high bool, t *vreg) *vreg {
	o := u.src(i)
	h := uint16(b2u(high))
	switch o.kind {
	case fromV:
		return &w.v[o.reg+h]
	case fromS:
		fill(t, w.sget(o.reg+h))
		return t
	}
	return o.k // a constant is the same in both halves
}

func runPacked32(w *wave, u *uop) {
	d := u.x.def
	out := [2]*vreg{&w.p[3], &w.p[4]}
	direct := w.exec == w.full && !u.highReads(u.d)
	if direct {
		out = [2]*vreg{&w.v[u.d], &w.v[u.d+1]}
	}
	for h := range out {
		var s [3]*vreg
		buf := w.p[:3]
		for i := range d.n {
			m := &u.x.src[i]
			sel, neg := m.opSel, m.neg
			if h == 1 {
				sel, neg = m.opSelHi, m.negHi
			}
			v := w.pairHalf(u, i, sel, &buf[i])
			if neg || d.flush && w.m.in32 {
				for l := range v {
					x := v[l]
					if neg {
						x ^= 0x80000000
					}
					if d.flush && w.m.in32 {
						x = flush32(x)
					}
					buf[i][l] = x
				}
				v = &buf[i]
			}
			s[i] = v
		}
		t := out[h]
		w.compute(u, d, t, s)
		if d.flush && w.m.out32 {
			for l := range t {
				t[l] = flush32(t[l])
			}
		}
		if u.x.dst.clamp {
			for l := range t {
				t[l] = w.clamp32(t[l])
			}
		}
	}
	if direct {
		return
	}
	w.put(&w.v[u.d], out[0], w.exec)
	w.put(&w.v[u.d+1], out[1], w.exec)
}

// highReads tells whether the high result of a pair depends on the register.
func (u *uop) highReads(reg uint16) bool {
	for i := range int(u.n) {
		if o := u.src(i); o.kind == fromV && o.reg+uint16(b2u(u.x.src[i].opSelHi)) == reg {
			return true
		}
	}
	return false
}

// runPackedMov takes the low result from source 0, the high one from source 1.
func runPackedMov(w *wave, u *uop) {
	a := *w.pairHalf(u, 0, u.x.src[0].opSel, &w.p[0])
	b := *w.pairHalf(u, 1, u.x.src[1].opSel, &w.p[1])
	w.put(&w.v[u.d], &a, w.exec)
	w.put(&w.v[u.d+1], &b, w.exec)
}

// fmaMix compiles v_fma_mix_f32, mixlo and mixhi: each source is a float32 or a half of its register as a float16.
func (c *compiler) fmaMix(name string) {
	switch {
	case strings.HasSuffix(name, "mixlo_f16"):
		c.x.mix = 1
	case strings.HasSuffix(name, "mixhi_f16"):
		c.x.mix = 2
	}
	c.x.def = vdefs["v_fma_f32"]
	c.u.run = runFmaMix
}

func runFmaMix(w *wave, u *uop) {
	var s [3]vreg
	for i := range s {
		v := w.lanes(u.src(i), &w.t[i])
		if i == 0 && u.x.dpp != nil {
			w.dpp(u.x.dpp, &w.t[0], v)
			v = &w.t[0]
		}
		m := &u.x.src[i]
		for l := range w.n {
			x := v[l]
			if m.opSelHi {
				if m.opSel {
					x >>= 16
				}
				x &= 0xffff
				if w.m.in64 {
					x = flush16(x)
				}
				x = u32(h2f(x))
			} else if w.m.in32 {
				x = flush32(x)
			}
			if m.negHi || m.abs { // neg_hi means abs here
				x &^= 0x80000000
			}
			if m.neg {
				x ^= 0x80000000
			}
			s[i][l] = x
		}
	}
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	t := &w.t[3]
	for l := range w.n {
		if u.x.mix == 0 {
			t[l] = mFma32(&w.m, f32(s[0][l]), f32(s[1][l]), f32(s[2][l]))
			continue
		}
		t[l] = f2h(f32(mFma32(&w.m, f32(s[0][l]), f32(s[1][l]), f32(s[2][l]))))
		if w.m.out64 {
			t[l] = flush16(t[l])
		}
		if u.x.dst.clamp {
			t[l] = w.clamp16(t[l])
		}
	}
	d := &w.v[u.d]
	switch u.x.mix {
	case 0:
		if w.m.out32 {
			for l := range t {
				t[l] = flush32(t[l])
			}
		}
		if u.x.dst.clamp {
			for l := range t {
				t[l] = w.clamp32(t[l])
			}
		}
	case 1:
		for l := range t {
			t[l] = d[l]&0xffff0000 | t[l]&0xffff
		}
	case 2:
		for l := range t {
			t[l] = d[l]&0xffff | t[l]<<16
		}
	}
	w.put(d, t, mask)
}
