package shader

import (
	"math"

	"github.com/rigprof/rigprof/internal/isa"
)

// lanes returns a source operand's lanes, forming them in t where they are not in memory already.
func (w *wave) lanes(o *opnd, t *vreg) *vreg {
	switch o.kind {
	case fromV:
		return &w.v[o.reg]
	case fromK:
		return o.k
	}
	if w.n == 32 && hasAVX {
		avxFill(lo(t), w.sget(o.reg))
		return t
	}
	fill(t, w.sget(o.reg))
	return t
}

func runK1(w *wave, u *uop) {
	a := w.lanes(&u.a, &w.t[0])
	if w.exec == w.full {
		d := &w.v[u.d]
		u.k1(lo(d), lo(a))
		if w.n == 64 {
			u.k1(hi(d), hi(a))
		}
		return
	}
	if w.exec == 0 {
		return
	}
	t := &w.t[3]
	u.k1(lo(t), lo(a))
	if w.n == 64 {
		u.k1(hi(t), hi(a))
	}
	w.put(&w.v[u.d], t, w.exec)
}

// runMov is runK1 for the operation that only copies.
func runMov(w *wave, u *uop) {
	d := &w.v[u.d]
	if u.a.kind == fromS && w.exec == w.full {
		x := w.sget(u.a.reg)
		if w.n == 32 && hasAVX {
			avxFill(lo(d), x)
			return
		}
		fill(d, x)
		return
	}
	w.put(d, w.lanes(&u.a, &w.t[0]), w.exec)
}

func runK2(w *wave, u *uop) {
	a := w.lanes(&u.a, &w.t[0])
	b := w.lanes(&u.b, &w.t[1])
	if w.exec == w.full {
		d := &w.v[u.d]
		u.k2(lo(d), lo(a), lo(b))
		if w.n == 64 {
			u.k2(hi(d), hi(a), hi(b))
		}
		return
	}
	if w.exec == 0 {
		return
	}
	t := &w.t[3]
	u.k2(lo(t), lo(a), lo(b))
	if w.n == 64 {
		u.k2(hi(t), hi(a), hi(b))
	}
	w.put(&w.v[u.d], t, w.exec)
}

func runK3(w *wave, u *uop) {
	a := w.lanes(&u.a, &w.t[0])
	b := w.lanes(&u.b, &w.t[1])
	c := w.lanes(&u.c, &w.t[2])
	if w.exec == w.full {
		d := &w.v[u.d]
		u.k3(lo(d), lo(a), lo(b), lo(c))
		if w.n == 64 {
			u.k3(hi(d), hi(a), hi(b), hi(c))
		}
		return
	}
	if w.exec == 0 {
		return
	}
	t := &w.t[3]
	u.k3(lo(t), lo(a), lo(b), lo(c))
	if w.n == 64 {
		u.k3(hi(t), hi(a), hi(b), hi(c))
	}
	w.put(&w.v[u.d], t, w.exec)
}

// The float forms of runK: MODE decides whether the fast loop is right.

func runF1(w *wave, u *uop) {
	if w.m.plain {
		runK1(w, u)
		return
	}
	runNarrow(w, u)
}

func runF2(w *wave, u *uop) {
	if w.m.plain {
		runK2(w, u)
		return
	}
	runNarrow(w, u)
}

func runF3(w *wave, u *uop) {
	if w.m.plain {
		runK3(w, u)
		return
	}
	runNarrow(w, u)
}

// fetch forms source i with its modifiers, flushed if the operation asks for it.
func (w *wave) fetch(u *uop, i int, flush bool) *vreg {
	o := u.src(i)
	m := &u.x.src[i]
	t := &w.t[i]
	v := w.lanes(o, t)
	if u.x.dpp != nil && i == int(u.x.dppOn) {
		w.dpp(u.x.dpp, t, v)
		v = t
	}
	if m.plain && !flush {
		return v
	}
	if !m.plain {
		w.modify(m, t, v)
		v = t
	}
	if flush {
		switch {
		case m.typ == isa.TypeF32 && w.m.in32:
			for l := range t {
				t[l] = flush32(v[l])
			}
			v = t
		case m.typ == isa.TypeF16 && w.m.in64:
			for l := range t {
				t[l] = flush16(v[l])
			}
			v = t
		}
	}
	return v
}

func (u *uop) src(i int) *opnd {
	switch i {
	case 0:
		return &u.a
	case 1:
		return &u.b
	}
	return &u.c
}

// modify applies SDWA selection, the high half, sign extension, absolute value and negation, in this order.
func (w *wave) modify(m *srcMod, t, v *vreg) {
	sign := uint32(0x80000000)
	if m.bits == 16 {
		sign = 0x8000
	}
	shift, width := uint32(0), uint(32)
	switch {
	case m.sel < 4:
		shift, width = 8*uint32(m.sel), 8
	case m.sel < 6:
		shift, width = 16*uint32(m.sel-4), 16
	case m.half:
		shift, width = 16, 16
	case m.bits == 16:
		width = 16
	}
	keep, flip := ^uint32(0), uint32(0)
	if m.abs {
		keep = ^sign
	}
	if m.neg {
		flip = sign
	}
	mask := uint32(1<<width - 1)
	if m.sext {
		for l := range t {
			t[l] = uint32(sext(v[l]>>shift, width))&keep ^ flip
		}
		return
	}
	for l := range t {
		t[l] = v[l]>>shift&mask&keep ^ flip
	}
}

// runNarrow is the general form for operands of up to 32 bits.
func runNarrow(w *wave, u *uop) {
	if w.exec == 0 {
		return
	}
	d := u.x.def
	var s [3]*vreg
	for i := range d.n {
		s[i] = w.fetch(u, i, d.flush)
	}
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	t := &w.t[3]
	w.compute(u, d, t, s)
	w.finish(u, t, mask)
}

func (w *wave) compute(u *uop, d *vdef, t *vreg, s [3]*vreg) {
	n := w.n
	if u.x.dst.clamp && d.sat != nil {
		w.saturate(u, d, t, s)
		return
	}
	plain := w.m.plain
	switch d.n {
	case 1:
		a := s[0]
		switch {
		case d.k1 != nil && (plain || d.m1 == nil):
			d.k1(lo(t), lo(a))
			if n == 64 {
				d.k1(hi(t), hi(a))
			}
		case d.m1 != nil:
			for l := range n {
				t[l] = d.m1(&w.m, a[l])
			}
		default:
			for l := range n {
				t[l] = d.l1(a[l])
			}
		}
	case 2:
		a, b := s[0], s[1]
		switch {
		case d.k2 != nil && (plain || d.m2 == nil):
			d.k2(lo(t), lo(a), lo(b))
			if n == 64 {
				d.k2(hi(t), hi(a), hi(b))
			}
		case d.m2 != nil:
			for l := range n {
				t[l] = d.m2(&w.m, a[l], b[l])
			}
		default:
			for l := range n {
				t[l] = d.l2(a[l], b[l])
			}
		}
	default:
		a, b, c := s[0], s[1], s[2]
		switch {
		case d.k3 != nil && (plain || d.m3 == nil):
			d.k3(lo(t), lo(a), lo(b), lo(c))
			if n == 64 {
				d.k3(hi(t), hi(a), hi(b), hi(c))
			}
		case d.m3 != nil:
			for l := range n {
				t[l] = d.m3(&w.m, a[l], b[l], c[l])
			}
		default:
			for l := range n {
				t[l] = d.l3(a[l], b[l], c[l])
			}
		}
	}
}

func signed(t isa.Type) bool { return t >= isa.TypeI8 && t <= isa.TypeI64 }

// saturate computes an integer operation exactly and clamps it to the destination's range.
func (w *wave) saturate(u *uop, d *vdef, t *vreg, s [3]*vreg) {
	dt, bits := u.x.dst.typ, uint(u.x.dst.bits)
	lo, hi := int64(0), int64(1)<<bits-1
	if signed(dt) {
		lo, hi = -1<<(bits-1), 1<<(bits-1)-1
	}
	for l := range w.n {
		var v [3]int64
		for i := range d.n {
			sb := uint(u.x.src[i].bits)
			if sb > 32 {
				sb = 32
			}
			if signed(dt) {
				v[i] = int64(sext(s[i][l], sb))
			} else {
				v[i] = int64(s[i][l] & uint32(1<<sb-1))
			}
		}
		t[l] = uint32(clampInt(d.sat(v[0], v[1], v[2]), lo, hi)) & uint32(1<<bits-1)
	}
}

// finish flushes, scales and clamps the result in t and writes it to the lanes of mask.
func (w *wave) finish(u *uop, t *vreg, mask uint64) {
	x := &u.x.dst
	switch x.typ {
	case isa.TypeF32:
		w.finishF32(u, t)
	case isa.TypeF16:
		w.finishF16(u, t)
	}
	w.store(u, t, mask)
}

// finishF32 and its like: the output modifier works only where results are flushed and IEEE mode is off.
func (w *wave) finishF32(u *uop, t *vreg) {
	x := &u.x.dst
	if u.x.def != nil && u.x.def.flush && w.m.out32 {
		for l := range t {
			t[l] = flush32(t[l])
		}
	}
	if x.omod != 0 && w.m.out32 && !w.m.ieee {
		f := [4]float32{1, 2, 4, 0.5}[x.omod]
		for l := range t {
			t[l] = u32(f32(t[l]) * f)
		}
	}
	if x.clamp {
		for l := range t {
			t[l] = w.clamp32(t[l])
		}
	}
}

func (w *wave) clamp32(v uint32) uint32 {
	f := f32(v)
	switch {
	case f != f:
		if w.m.dx10 {
			return 0
		}
		return v
	case f >= 1:
		return 0x3f800000
	case f > 0:
		return v
	}
	return 0
}

func (w *wave) clamp16(v uint32) uint32 {
	f := h2f(v)
	switch {
	case f != f:
		if w.m.dx10 {
			return 0
		}
		return v
	case f >= 1:
		return 0x3c00
	case f > 0:
		return v
	}
	return 0
}

func (w *wave) clamp64(v uint64) uint64 {
	f := f64(v)
	switch {
	case f != f:
		if w.m.dx10 {
			return 0
		}
		return v
	case f >= 1:
		return u64(1)
	case f > 0:
		return v
	}
	return 0
}

func (w *wave) finishF16(u *uop, t *vreg) {
	x := &u.x.dst
	if u.x.def != nil && u.x.def.flush && w.m.out64 {
		for l := range t {
			t[l] = flush16(t[l])
		}
	}
	if x.omod != 0 && w.m.out64 && !w.m.ieee {
		f := [4]float32{1, 2, 4, 0.5}[x.omod]
		for l := range t {
			t[l] = f2h(h2f(t[l]) * f)
		}
	}
	if x.clamp {
		for l := range t {
			t[l] = w.clamp16(t[l])
		}
	}
}

// store writes a narrow result: whole, one half, or what SDWA selects.
func (w *wave) store(u *uop, t *vreg, mask uint64) {
	x := &u.x.dst
	d := &w.v[u.d]
	switch {
	case x.sdwa:
		w.storeSDWA(x, d, t, mask)
		return
	case x.bits <= 16 && x.half:
		for l := range t {
			t[l] = d[l]&0xffff | t[l]<<16
		}
	case x.bits <= 16 && x.keep:
		for l := range t {
			t[l] = d[l]&0xffff0000 | t[l]&0xffff
		}
	case x.bits <= 16:
		for l := range t {
			t[l] &= 0xffff
		}
	}
	w.put(d, t, mask)
}

func (w *wave) storeSDWA(x *dstMod, d, t *vreg, mask uint64) {
	shift, width := uint32(0), uint(32)
	switch {
	case x.sel < 4:
		shift, width = 8*uint32(x.sel), 8
	case x.sel < 6:
		shift, width = 16*uint32(x.sel-4), 16
	}
	field := uint32(1<<width-1) << shift
	for l := range t {
		v := t[l] << shift & field
		switch {
		case width == 32:
		case x.unused == 1: // sign above, zero below
			v = uint32(sext(t[l], width)) << shift
		case x.unused == 2:
			v |= d[l] &^ field
		}
		t[l] = v
	}
	w.put(d, t, mask)
}

// runWide is the general form for operands of up to 64 bits.
func runWide(w *wave, u *uop) {
	if w.exec == 0 {
		return
	}
	d := u.x.def
	for i := range d.n {
		w.fetchWide(u, i, d.flush)
	}
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	a, b, c, t := &w.x[0], &w.x[1], &w.x[2], &w.x[3]
	n := w.n
	switch {
	case d.w1 != nil:
		for l := range n {
			t[l] = d.w1(a[l])
		}
	case d.w2 != nil:
		for l := range n {
			t[l] = d.w2(a[l], b[l])
		}
	case d.w3 != nil:
		for l := range n {
			t[l] = d.w3(a[l], b[l], c[l])
		}
	case d.x1 != nil:
		for l := range n {
			t[l] = d.x1(&w.m, a[l])
		}
	case d.x2 != nil:
		for l := range n {
			t[l] = d.x2(&w.m, a[l], b[l])
		}
	case d.x3 != nil:
		for l := range n {
			t[l] = d.x3(&w.m, a[l], b[l], c[l])
		}
	}
	w.finishWide(u, t, mask)
}

func (w *wave) finishWide(u *uop, t *[64]uint64, mask uint64) {
	x := &u.x.dst
	if x.bits <= 32 {
		n := &w.t[3]
		for l := range n {
			n[l] = uint32(t[l])
		}
		w.finish(u, n, mask)
		return
	}
	if x.typ == isa.TypeF64 {
		for l := range t {
			if u.x.def != nil && u.x.def.flush && w.m.out64 {
				t[l] = flush64(t[l])
			}
			if x.omod != 0 && w.m.out64 && !w.m.ieee {
				t[l] = u64(f64(t[l]) * [4]float64{1, 2, 4, 0.5}[x.omod])
			}
			if x.clamp {
				t[l] = w.clamp64(t[l])
			}
		}
	}
	w.putWide(u.d, t, mask)
}

func (w *wave) putWide(d uint16, t *[64]uint64, mask uint64) {
	dl, dh := &w.v[d], &w.v[d+1]
	if mask == w.full {
		for l := 0; l < w.n && l < 64; l++ {
			dl[l], dh[l] = uint32(t[l]), uint32(t[l]>>32)
		}
		return
	}
	for l := range w.n {
		if mask>>l&1 != 0 {
			dl[l], dh[l] = uint32(t[l]), uint32(t[l]>>32)
		}
	}
}

// fetchWide forms source i in w.x[i].
func (w *wave) fetchWide(u *uop, i int, flush bool) {
	o, m := u.src(i), &u.x.src[i]
	t := &w.x[i]
	if m.bits <= 32 {
		v := w.fetch(u, i, flush)
		for l := range t {
			t[l] = uint64(v[l])
		}
		return
	}
	switch o.kind {
	case fromV:
		vl, vh := &w.v[o.reg], &w.v[o.reg+1]
		if i == 0 && u.x.dpp != nil {
			w.dpp(u.x.dpp, &w.t[0], vl)
			w.dpp(u.x.dpp, &w.t[1], vh)
			vl, vh = &w.t[0], &w.t[1]
		}
		for l := 0; l < w.n && l < 64; l++ {
			t[l] = uint64(vl[l]) | uint64(vh[l])<<32
		}
	case fromS:
		v := w.sget64(o.reg)
		for l := range t {
			t[l] = v
		}
	default:
		for l := range t {
			t[l] = u.x.kv[i]
		}
	}
	if m.abs {
		for l := range t {
			t[l] &= math.MaxInt64
		}
	}
	if m.neg {
		for l := range t {
			t[l] ^= 1 << 63
		}
	}
	if flush && m.typ == isa.TypeF64 && w.m.in64 {
		for l := range t {
			t[l] = flush64(t[l])
		}
	}
}
