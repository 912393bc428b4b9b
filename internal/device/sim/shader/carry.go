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
	if hasAVX {
		return avxAddC(d, a, b, ci)
	}
	for l := range d {
		r := uint64(a[l]) + uint64(b[l]) + uint64(ci>>l&1)
		d[l] = uint32(r)
		co |= uint32(r>>32) << l
	}
	return co
}

func kSubC(d, a, b *lanes, ci uint32) (co uint32) {
	if hasAVX {
		return avxSubC(d, a, b, ci)
	}
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

func runMad64(w *wave, u *uop) {
	a, b := w.lanes(&u.a, &w.t[0]), w.lanes(&u.b, &w.t[1])
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

// runShl64 is v_lshlrev_b64 of a register by a constant, which is how indices become addresses.
func runShl64(w *wave, u *uop) {
	n := uint32(u.imm)
	al, ah := &w.v[u.b.reg], &w.v[u.b.reg+1]
	dl, dh := &w.v[u.d], &w.v[u.d+1]
	if w.exec != w.full {
		dl, dh = &w.t[3], &w.t[4]
	}
	for l := 0; l < w.n && l < 64; l++ {
		v := (uint64(al[l]) | uint64(ah[l])<<32) << (n & 63)
		dl[l], dh[l] = uint32(v), uint32(v>>32)
	}
	if w.exec != w.full {
		w.put(&w.v[u.d], dl, w.exec)
		w.put(&w.v[u.d+1], dh, w.exec)
	}
}
