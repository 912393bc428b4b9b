package shader

import "strings"

// A comparison is made of three relations and their inversions; NaN makes all three false.
type relation struct {
	lt, eq func(a, b *lanes) uint32 // masks of 32 lanes
}

func kLtU32(a, b *lanes) (m uint32) {
	for i := range a {
		m |= b2u(a[i] < b[i]) << i
	}
	return m
}

func kEqU32(a, b *lanes) (m uint32) {
	for i := range a {
		m |= b2u(a[i] == b[i]) << i
	}
	return m
}

func kLtI32(a, b *lanes) (m uint32) {
	for i := range a {
		m |= b2u(int32(a[i]) < int32(b[i])) << i
	}
	return m
}

func kLtF32(a, b *lanes) (m uint32) {
	for i := range a {
		m |= b2u(f32(a[i]) < f32(b[i])) << i
	}
	return m
}

func kEqF32(a, b *lanes) (m uint32) {
	for i := range a {
		m |= b2u(f32(a[i]) == f32(b[i])) << i
	}
	return m
}

func laneRel(f func(a, b uint32) bool) func(a, b *lanes) uint32 {
	return func(a, b *lanes) (m uint32) {
		for i := range a {
			m |= b2u(f(a[i], b[i])) << i
		}
		return m
	}
}

var relations = map[string]relation{
	"u32": {kLtU32, kEqU32},
	"i32": {kLtI32, kEqU32},
	"f32": {kLtF32, kEqF32},
	"u16": {laneRel(func(a, b uint32) bool { return a&0xffff < b&0xffff }), laneRel(func(a, b uint32) bool { return a&0xffff == b&0xffff })},
	"i16": {laneRel(func(a, b uint32) bool { return int16(a) < int16(b) }), laneRel(func(a, b uint32) bool { return a&0xffff == b&0xffff })},
	"f16": {laneRel(func(a, b uint32) bool { return h2f(a) < h2f(b) }), laneRel(func(a, b uint32) bool { return h2f(a) == h2f(b) })},
}

// relate combines a relation's masks by the name of the comparison.
func relate(op string, r relation) func(a, b *lanes) uint32 {
	lt, eq := r.lt, r.eq
	switch op {
	case "f":
		return func(a, b *lanes) uint32 { return 0 }
	case "t", "tru":
		return func(a, b *lanes) uint32 { return ^uint32(0) }
	case "lt":
		return lt
	case "eq":
		return eq
	case "gt":
		return func(a, b *lanes) uint32 { return lt(b, a) }
	case "le":
		return func(a, b *lanes) uint32 { return lt(a, b) | eq(a, b) }
	case "ge":
		return func(a, b *lanes) uint32 { return lt(b, a) | eq(a, b) }
	case "lg":
		return func(a, b *lanes) uint32 { return lt(a, b) | lt(b, a) }
	case "ne", "neq":
		return func(a, b *lanes) uint32 { return ^eq(a, b) }
	case "nlt":
		return func(a, b *lanes) uint32 { return ^lt(a, b) }
	case "ngt":
		return func(a, b *lanes) uint32 { return ^lt(b, a) }
	case "nle":
		return func(a, b *lanes) uint32 { return ^(lt(a, b) | eq(a, b)) }
	case "nge":
		return func(a, b *lanes) uint32 { return ^(lt(b, a) | eq(a, b)) }
	case "nlg":
		return func(a, b *lanes) uint32 { return ^(lt(a, b) | lt(b, a)) }
	case "o":
		return func(a, b *lanes) uint32 { return lt(a, b) | lt(b, a) | eq(a, b) }
	case "u":
		return func(a, b *lanes) uint32 { return ^(lt(a, b) | lt(b, a) | eq(a, b)) }
	}
	return nil
}

// relate64 is relate for one pair of 64-bit values.
func relate64(op, typ string) func(a, b uint64) bool {
	var lt, eq func(a, b uint64) bool
	switch typ {
	case "u64":
		lt, eq = func(a, b uint64) bool { return a < b }, func(a, b uint64) bool { return a == b }
	case "i64":
		lt, eq = func(a, b uint64) bool { return int64(a) < int64(b) }, func(a, b uint64) bool { return a == b }
	case "f64":
		lt, eq = func(a, b uint64) bool { return f64(a) < f64(b) }, func(a, b uint64) bool { return f64(a) == f64(b) }
	default:
		return nil
	}
	switch op {
	case "f":
		return func(a, b uint64) bool { return false }
	case "t", "tru":
		return func(a, b uint64) bool { return true }
	case "lt":
		return lt
	case "eq":
		return eq
	case "gt":
		return func(a, b uint64) bool { return lt(b, a) }
	case "le":
		return func(a, b uint64) bool { return lt(a, b) || eq(a, b) }
	case "ge":
		return func(a, b uint64) bool { return lt(b, a) || eq(a, b) }
	case "lg":
		return func(a, b uint64) bool { return lt(a, b) || lt(b, a) }
	case "ne", "neq":
		return func(a, b uint64) bool { return !eq(a, b) }
	case "nlt":
		return func(a, b uint64) bool { return !lt(a, b) }
	case "ngt":
		return func(a, b uint64) bool { return !lt(b, a) }
	case "nle":
		return func(a, b uint64) bool { return !lt(a, b) && !eq(a, b) }
	case "nge":
		return func(a, b uint64) bool { return !lt(b, a) && !eq(a, b) }
	case "nlg":
		return func(a, b uint64) bool { return !lt(a, b) && !lt(b, a) }
	case "o":
		return func(a, b uint64) bool { return lt(a, b) || lt(b, a) || eq(a, b) }
	case "u":
		return func(a, b uint64) bool { return !lt(a, b) && !lt(b, a) && !eq(a, b) }
	}
	return nil
}

// compare compiles v_cmp_OP_TYPE and v_cmpx_OP_TYPE.
func (c *compiler) compare(name string) {
	rest, toExec := strings.CutPrefix(name, "v_cmpx_")
	if !toExec {
		rest = strings.TrimPrefix(name, "v_cmp_")
	}
	i := strings.LastIndexByte(rest, '_')
	if i < 0 {
		return
	}
	op, typ := rest[:i], rest[i+1:]
	float := typ[0] == 'f' && op != "class"
	if toExec {
		c.u.imm |= cmpToExec
		if !c.p.arch.CDNA() {
			c.u.imm |= cmpNoSdst
		}
	}
	if float {
		c.u.imm |= cmpFlush
	}
	c.u.n = 2
	if op == "class" {
		c.u.run = runClass
		c.u.imm |= map[string]int64{"f16": 16 << 8, "f32": 32 << 8, "f64": 64 << 8}[typ]
		return
	}
	if strings.HasSuffix(typ, "64") {
		f := relate64(op, typ)
		if f == nil {
			return
		}
		c.u.run = func(w *wave, u *uop) {
			flush := u.imm&cmpFlush != 0
			w.fetchWide(u, 0, flush)
			w.fetchWide(u, 1, flush)
			var m uint64
			for l := range w.n {
				m |= uint64(b2u(f(w.x[0][l], w.x[1][l]))) << l
			}
			w.compared(u, m)
		}
		return
	}
	r, ok := relations[typ]
	if !ok {
		return
	}
	c.u.cmp = relate(op, r)
	if c.u.cmp == nil {
		return
	}
	c.u.run = runCmp
	if c.x.src[0].plain && c.x.src[1].plain && c.x.dpp == nil && c.x.src[0].bits >= 32 && !toExec && !float {
		c.u.run = runCmpFast
	}
}

const (
	cmpToExec = 1 << iota
	cmpNoSdst
	cmpFlush
)

func runCmpFast(w *wave, u *uop) {
	a := w.lanes(&u.a, &w.t[0])
	b := w.lanes(&u.b, &w.t[1])
	if w.n == 32 {
		w.sset(u.sd, u.cmp(lo(a), lo(b))&uint32(w.exec))
		return
	}
	w.sset64(u.sd, (uint64(u.cmp(lo(a), lo(b)))|uint64(u.cmp(hi(a), hi(b)))<<32)&w.exec)
}

func runCmp(w *wave, u *uop) {
	flush := u.imm&cmpFlush != 0 && !w.m.plain
	a, b := w.fetch(u, 0, flush), w.fetch(u, 1, flush)
	m := uint64(u.cmp(lo(a), lo(b)))
	if w.n == 64 {
		m |= uint64(u.cmp(hi(a), hi(b))) << 32
	}
	w.compared(u, m)
}

func (w *wave) compared(u *uop, m uint64) {
	m &= w.exec
	if u.x.dpp != nil {
		m &= w.dppMask(u.x.dpp)
	}
	if u.imm&cmpNoSdst == 0 {
		w.setMask(u.sd, m)
	}
	if u.imm&cmpToExec != 0 {
		w.setExec(m)
	}
}

// runClass tests a float against a set of classes: bits 0 SNaN, 1 QNaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0,
// 7 +denormal, 8 +normal, 9 +inf.
func runClass(w *wave, u *uop) {
	var m uint64
	width := u.imm >> 8
	if width == 64 {
		w.fetchWide(u, 0, false)
		b := w.fetch(u, 1, false)
		for l := range w.n {
			m |= uint64(b[l]>>classOf(w.x[0][l], 11, 52)&1) << l
		}
		w.compared(u, m)
		return
	}
	a, b := w.fetch(u, 0, false), w.fetch(u, 1, false)
	for l := range w.n {
		var cl uint
		if width == 16 {
			cl = classOf(uint64(a[l]&0xffff), 5, 10)
		} else {
			cl = classOf(uint64(a[l]), 8, 23)
		}
		m |= uint64(b[l]>>cl&1) << l
	}
	w.compared(u, m)
}

func classOf(v uint64, exp, man uint) uint {
	neg := v>>(exp+man)&1 != 0
	e, f := v>>man&(1<<exp-1), v&(1<<man-1)
	var c uint
	switch {
	case e == 1<<exp-1 && f != 0:
		return uint(f >> (man - 1))
	case e == 1<<exp-1:
		c = 9
	case e != 0:
		c = 8
	case f != 0:
		c = 7
	default:
		c = 6
	}
	if neg {
		return 11 - c
	}
	return c
}
