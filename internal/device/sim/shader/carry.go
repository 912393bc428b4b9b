package shader

import (
	"math"
	"math/bits"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Operations with a carry: 32-bit sums and differences whose carry is a mask, and the 64-bit operations that
// compilers make addresses with.

// carry compiles v_add_co_u32, v_subbrev_co_u32 and the like; ok is false for other names.
func (c *compiler) carry(name string) (ok bool) {
	var sub, rev, in bool
	switch {
	case strings.HasPrefix(name, "v_add_co_ci_"), strings.HasPrefix(name, "v_addc_co_"):
		in = true
	case strings.HasPrefix(name, "v_subrev_co_ci_"), strings.HasPrefix(name, "v_subbrev_co_"):
		sub, rev, in = true, true, true
	case strings.HasPrefix(name, "v_sub_co_ci_"), strings.HasPrefix(name, "v_subb_co_"):
		sub, in = true, true
	case strings.HasPrefix(name, "v_add_co_"):
	case strings.HasPrefix(name, "v_subrev_co_"):
		sub, rev = true, true
	case strings.HasPrefix(name, "v_sub_co_"):
		sub = true
	default:
		return false
	}
	if in && c.u.c.kind == fromNone {
		c.u.c = opnd{kind: fromS, reg: isa.VccLo}
	}
	c.u.imm = int64(b2u(in))
	c.u.carry = kAddC
	if sub {
		c.u.carry = kSubC
	}
	if hasAVX {
		c.u.carry = avxAddC
		if sub {
			c.u.carry = avxSubC
		}
	}
	if rev {
		c.u.a, c.u.b = c.u.b, c.u.a
		c.x.src[0], c.x.src[1] = c.x.src[1], c.x.src[0]
		c.x.kv[0], c.x.kv[1] = c.x.kv[1], c.x.kv[0]
		c.x.dppOn = 1
	}
	c.x.subtract = sub
	c.u.run = runCarry
	if c.x.src[0].plain && c.x.src[1].plain && c.x.dpp == nil && c.x.dst.plain() {
		c.u.run = runCarryFast
	}
	return true
}

func kAddC(d, a, b *lanes, ci uint32) (co uint32) {
	for l := range d {
		r := uint64(a[l]) + uint64(b[l]) + uint64(ci>>l&1)
		d[l] = uint32(r)
		co |= uint32(r>>32) << l
	}
	return co
}

func kSubC(d, a, b *lanes, ci uint32) (co uint32) {
	for l := range d {
		r := uint64(a[l]) - uint64(b[l]) - uint64(ci>>l&1)
		d[l] = uint32(r)
		co |= uint32(r>>63) << l
	}
	return co
}

func runCarryFast(w *wave, u *uop) {
	a, b := w.lanes(&u.a, &w.t[0]), w.lanes(&u.b, &w.t[1])
	var ci uint64
	if u.imm != 0 {
		ci = w.maskOf(&u.c, u.x.kv[2])
	}
	d := &w.v[u.d]
	t := d
	if w.exec != w.full {
		t = &w.t[3]
	}
	co := uint64(u.carry(lo(t), lo(a), lo(b), uint32(ci)))
	if w.n == 64 {
		co |= uint64(u.carry(hi(t), hi(a), hi(b), uint32(ci>>32))) << 32
	}
	if t != d {
		w.put(d, t, w.exec)
	}
	w.setMask(u.sd, co&w.exec)
}

// runCarry is the general form. The carry out of lanes that EXEC disables is 0.
func runCarry(w *wave, u *uop) {
	a, b := w.fetch(u, 0, false), w.fetch(u, 1, false)
	var ci uint64
	if u.imm != 0 {
		ci = w.maskOf(&u.c, u.x.kv[2])
	}
	mask := w.exec
	if u.x.dpp != nil {
		mask &= w.dppMask(u.x.dpp)
	}
	t := &w.t[3]
	co := uint64(u.carry(lo(t), lo(a), lo(b), uint32(ci)))
	if w.n == 64 {
		co |= uint64(u.carry(hi(t), hi(a), hi(b), uint32(ci>>32))) << 32
	}
	if u.x.dst.clamp {
		for x := co; x != 0; x &= x - 1 {
			t[bits.TrailingZeros64(x)] = ^-b2u(u.x.subtract)
		}
	}
	w.store(u, t, mask)
	w.setMask(u.sd, co&mask)
}

// lanes64 returns a 64-bit source's halves, formed in low and high where they are not in registers. It is for sources
// without modifiers.
func (w *wave) lanes64(u *uop, i int, low, high *vreg) (l, h *vreg) {
	o := u.src(i)
	v := u.x.kv[i]
	switch o.kind {
	case fromV:
		return &w.v[o.reg], &w.v[o.reg+1]
	case fromS:
		v = w.sget64(o.reg)
	}
	fill(low, uint32(v))
	fill(high, uint32(v>>32))
	return low, high
}

func runMad64(w *wave, u *uop) {
	a, b := w.lanes(&u.a, &w.t[0]), w.lanes(&u.b, &w.t[1])
	if hasAVX && w.exec == w.full && !u.x.dst.clamp && u.x.src[2].plain {
		cl, ch := w.lanes64(u, 2, &w.t[2], &w.t[3])
		dl, dh := &w.v[u.d], &w.v[u.d+1]
		w.setMask(u.sd, avxMad64(dl, dh, a, b, cl, ch, w.n))
		return
	}
	w.fetchWide(u, 2, false)
	dl, dh := &w.v[u.d], &w.v[u.d+1]
	c := &w.x[2]
	var co uint64
	clamp := u.x.dst.clamp
	for l := 0; l < w.n && l < 64; l++ {
		r, cy := bits.Add64(uint64(a[l])*uint64(b[l]), c[l], 0)
		if cy != 0 && clamp {
			r = math.MaxUint64
		}
		co |= cy << l
		c[l] = r
	}
	if w.exec == w.full {
		for l := 0; l < w.n && l < 64; l++ {
			dl[l], dh[l] = uint32(c[l]), uint32(c[l]>>32)
		}
	} else {
		w.putWide(u.d, c, w.exec)
	}
	w.setMask(u.sd, co&w.exec)
}

func runMadI64(w *wave, u *uop) {
	w.fetchWide(u, 0, false)
	w.fetchWide(u, 1, false)
	w.fetchWide(u, 2, false)
	t := &w.x[3]
	var co uint64
	for l := range w.n {
		p := int64(int32(w.x[0][l])) * int64(int32(w.x[1][l]))
		c := int64(w.x[2][l])
		r := p + c
		over := (p^r)&(c^r) < 0
		if over && u.x.dst.clamp {
			r = math.MaxInt64
			if p < 0 {
				r = math.MinInt64
			}
		}
		t[l] = uint64(r)
		// The carry is the 65th bit of the sum of the sign-extended terms.
		top := uint64(p>>63) + uint64(c>>63)
		_, cy := bits.Add64(uint64(p), uint64(c), 0)
		co |= (top + cy) & 1 << l
	}
	w.putWide(u.d, t, w.exec)
	w.setMask(u.sd, co&w.exec)
}

// shlAdd64 compiles shifts of 64 bits by a constant.
func (c *compiler) shlAdd64(name string) {
	if c.x.dpp != nil || !c.x.src[0].plain || !c.x.src[1].plain || c.x.dst.clamp {
		return
	}
	switch {
	case name == "v_lshlrev_b64" && c.u.a.kind == fromK:
		c.u.imm = int64(c.x.kv[0] & 63)
	case name == "v_lshl_add_u64" && c.u.b.kind == fromK && c.x.src[2].plain:
		c.u.imm = int64(c.x.kv[1] & 7)
	default:
		return
	}
	c.u.run = runShlAdd64
}

// runShlAdd64 is v_lshlrev_b64 or v_lshl_add_u64 by a constant, which is how indices become addresses: A << imm + C.
func runShlAdd64(w *wave, u *uop) {
	if w.exec == 0 {
		return
	}
	var al, ah *vreg
	cl, ch := &zeros, &zeros
	if u.c.kind == fromNone {
		al, ah = w.lanes64(u, 1, &w.t[0], &w.t[1])
	} else {
		al, ah = w.lanes64(u, 0, &w.t[0], &w.t[1])
		if !hasAVX || u.c.kind != fromS || u.imm > 32 {
			cl, ch = w.lanes64(u, 2, &w.t[2], &w.t[5])
		}
	}
	dl, dh := &w.v[u.d], &w.v[u.d+1]
	if w.exec != w.full {
		dl, dh = &w.t[3], &w.t[4]
	}
	if hasAVX && u.imm <= 32 && u.c.kind == fromS {
		avxShlAddOne(dl, dh, al, ah, w.sget64(u.c.reg), uint64(u.imm), w.n)
	} else if hasAVX && u.imm <= 32 {
		avxShlAdd64(dl, dh, al, ah, cl, ch, uint64(u.imm), w.n)
	} else {
		n := uint(u.imm) & 63
		for l := 0; l < w.n && l < 64; l++ {
			v := (uint64(al[l])|uint64(ah[l])<<32)<<n + (uint64(cl[l]) | uint64(ch[l])<<32)
			dl[l], dh[l] = uint32(v), uint32(v>>32)
		}
	}
	if w.exec != w.full {
		w.put(&w.v[u.d], dl, w.exec)
		w.put(&w.v[u.d+1], dh, w.exec)
	}
}

var zeros vreg
