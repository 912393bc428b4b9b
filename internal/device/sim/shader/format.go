package shader

import (
	"math"
	"math/bits"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Typed buffer accesses: memory holds components of some format, registers hold float32 or 32-bit integers (in D16
// forms 16 bits, two components to a register).

// How a component's bits are a number. The order is that of gfx9's NUM_FORMAT.
const (
	numUnorm = iota
	numSnorm
	numUscaled
	numSscaled
	numUint
	numSint
	_
	numFloat
)

// bufFormat is the layout of an element: widths of the components from the lowest bit on.
type bufFormat struct {
	width    [4]uint8
	num      uint8
	reserved bool
}

// dataFormat is gfx9's pair of layout and kind of number.
func dataFormat(data, num uint32) bufFormat {
	return bufFormat{width: dataFormats[data&15], num: uint8(num & 7), reserved: data&15 == 15}
}

// Layouts in the order of gfx9's DATA_FORMAT. Names list components from the highest bit down.
var dataFormats = [16][4]uint8{
	1: {8}, 2: {16}, 3: {8, 8}, 4: {32}, 5: {16, 16}, 6: {11, 11, 10}, 7: {10, 11, 11}, 8: {2, 10, 10, 10}, 9: {10, 10, 10, 2},
	10: {8, 8, 8, 8}, 11: {32, 32}, 12: {16, 16, 16, 16}, 13: {32, 32, 32}, 14: {32, 32, 32, 32},
}

// unifiedFormat takes apart a format number of gfx11 and gfx12 (BUF_FMT_*). They run through the layouts; each has
// the kinds of number that make sense for it.
func unifiedFormat(n uint32) (f bufFormat, ok bool) {
	const all, noScaled, ints32, float = 0xbf, 0x33, 0xb0, 0x80
	if n == 0 {
		return f, true
	}
	at := uint32(1)
	for _, l := range [...]struct {
		data  int
		kinds uint8
	}{
		{1, 0x3f},
		{2, all},
		{3, 0x3f},
		{4, ints32},
		{5, all},
		{6, float},
		{7, float},
		{8, noScaled},
		{9, 0x3f},
		{10, 0x3f},
		{11, ints32},
		{12, all},
		{13, ints32},
		{14, ints32},
	} {
		for k := range uint8(8) {
			if l.kinds>>k&1 == 0 {
				continue
			}
			if at == n {
				return bufFormat{width: dataFormats[l.data], num: k}, true
			}
			at++
		}
	}
	return f, false
}

func (f *bufFormat) bytes() (n int) {
	for _, w := range f.width {
		n += int(w)
	}
	return n / 8
}

// smallFloat widens the unsigned 10- and 11-bit floats: 5 bits of exponent.
func smallFloat(v uint32, width uint8) float64 {
	man := uint(width - 5)
	e, m := int(v>>man), float64(v&(1<<man-1))/float64(uint32(1)<<man)
	switch e {
	case 0:
		return math.Ldexp(m, -14)
	case 31:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(1)
	}
	return math.Ldexp(1+m, e-15)
}

func toSmallFloat(x float64, width uint8) uint32 {
	f := format{5, width - 5, 15, ieee}
	if x < 0 {
		return 0
	}
	return uint32(f.from(x, roundEven, false)) & (1<<width - 1)
}

// load is a component as a register holds it.
func (f *bufFormat) load(v uint32, w uint8) uint32 {
	top := float64(uint64(1)<<w - 1)
	half := float64(uint64(1)<<(w-1) - 1)
	switch f.num {
	case numUnorm:
		return u32(float32(float64(v) / top))
	case numSnorm:
		return u32(float32(max(float64(sext(v, uint(w)))/half, -1)))
	case numUscaled:
		return u32(float32(v))
	case numSscaled:
		return u32(float32(sext(v, uint(w))))
	case numSint:
		return uint32(sext(v, uint(w)))
	case numFloat:
		switch w {
		case 16:
			return u32(h2f(v))
		case 10, 11:
			return u32(float32(smallFloat(v, w)))
		}
	}
	return v
}

// store is the opposite of load.
func (f *bufFormat) store(v uint32, w uint8) uint32 {
	x := float64(f32(v))
	if x != x && f.num != numFloat {
		x = 0
	}
	top := float64(uint64(1)<<w - 1)
	half := float64(uint64(1)<<(w-1) - 1)
	mask := uint32(uint64(1)<<w - 1)
	switch f.num {
	case numUnorm:
		return uint32(math.RoundToEven(min(max(x, 0), 1) * top))
	case numSnorm:
		return uint32(int32(math.RoundToEven(min(max(x, -1), 1)*half))) & mask
	case numUscaled:
		return uint32(toInt(x, 0, top))
	case numSscaled:
		return uint32(toInt(x, -half-1, half)) & mask
	case numUint:
		return min(v, mask)
	case numSint:
		return uint32(clampInt(int64(int32(v)), -int64(half)-1, int64(half))) & mask
	}
	switch w {
	case 16:
		return f2h(f32(v))
	case 10, 11:
		return toSmallFloat(x, w)
	}
	return v
}

func (f *bufFormat) integer() bool { return f.num == numUint || f.num == numSint }

// typed compiles buffer_load_format_*, buffer_store_format_* and tbuffer_*.
func (c *compiler) typed(unit, rest string, m *memOp) bool {
	in := c.in
	kind, ok := strings.CutPrefix(rest, "load_")
	if !ok {
		kind, ok = strings.CutPrefix(rest, "store_")
		m.write = true
	}
	d16 := strings.Contains(kind, "d16")
	hi := strings.Contains(kind, "hi_")
	if !ok || !strings.Contains(kind, "format") {
		return false
	}
	toLDS := strings.HasPrefix(kind, "lds") || in.Flag(isa.FieldLds)
	t := &typedOp{d16: d16, hi: hi, n: len(kind) - strings.LastIndexByte(kind, '_') - 1, fixed: unit == "tbuffer"}
	if t.fixed {
		if c.p.arch.CDNA() {
			t.f = dataFormat(in.Field(isa.FieldDfmt), in.Field(isa.FieldNfmt))
		} else if t.f, ok = unifiedFormat(in.Field(isa.FieldFormat)); !ok {
			t.f.reserved = true
		}
	}
	m.buf.on = true
	m.buf.offen, m.buf.idxen = in.Flag(isa.FieldOffen), in.Flag(isa.FieldIdxen)
	m.hasV = m.buf.offen || m.buf.idxen
	m.buf.typed = t
	c.x.mem = m
	c.u.run = runTyped
	if toLDS {
		c.u.run = runTypedLDS
	}
	c.ext()
	return true
}

type typedOp struct {
	f       bufFormat
	fixed   bool // f is the instruction's, not the resource's
	n       int  // components in registers
	d16, hi bool
}

// runTypedLDS loads into LDS, by way of a register that it borrows.
func runTypedLDS(w *wave, u *uop) {
	m := u.x.mem
	held := w.v[m.dst]
	runTyped(w, u)
	got := w.v[m.dst]
	w.v[m.dst] = held
	if w.stop == stopFault {
		return
	}
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		if to := bytesAt(w.g.lds, w.ldsPlace(&memOp{bytes: 4, off: m.off}, l), 4); to != nil {
			le.PutUint32(to, got[l])
		}
	}
}

func runTyped(w *wave, u *uop) {
	m := u.x.mem
	t := m.buf.typed
	word3 := w.sget(m.buf.rsrc + 3)
	f, ok := t.f, true
	if !t.fixed {
		if w.arch.CDNA() {
			f = dataFormat(word3>>15, word3>>12)
		} else {
			f, ok = unifiedFormat(word3 >> 12 & 0x7f)
		}
	}
	size := f.bytes()
	if !ok || f.num == 6 || f.reserved {
		w.fail(ErrUnsupported, u, "reserved buffer format")
		return
	}
	if size == 0 { // the invalid format makes an unbound resource: loads give zero, stores do nothing
		w.unbound(m)
		return
	}
	local := *m
	local.bytes = size
	mask := w.place(u, &local)
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		var b []byte
		if mask>>l&1 != 0 {
			b = w.memory(u, &local, l, m.write)
			if w.stop == stopFault {
				return
			}
		}
		if m.write {
			if b != nil {
				w.storeTyped(m, &f, b, l)
			}
			continue
		}
		w.loadTyped(m, &f, b, word3, l)
	}
	w.refGlobal(m, size, mask)
}

// unbound is an access to no resource.
func (w *wave) unbound(m *memOp) {
	if w.logs {
		w.log.ref(MemRef{Space: SpaceNone, Write: m.write})
	}
	if m.write {
		return
	}
	for x := w.exec; x != 0; x &= x - 1 {
		w.loadTyped(m, &bufFormat{}, nil, 0, bits.TrailingZeros64(x))
	}
}

// component is width bits of an element.
func component(b []byte, at uint, w uint8) uint32 {
	var v uint64
	for i := uint(0); i < 8 && int(at/8+i) < len(b) && i*8 < uint(w)+at%8; i++ {
		v |= uint64(b[at/8+i]) << (8 * i)
	}
	return uint32(v >> (at % 8) & (1<<w - 1))
}

func (w *wave) loadTyped(m *memOp, f *bufFormat, b []byte, word3 uint32, l int) {
	t := m.buf.typed
	one := u32(1)
	if f.integer() {
		one = 1
	}
	var c [4]uint32
	at := uint(0)
	for i, width := range f.width {
		switch {
		case width != 0 && b != nil:
			c[i] = f.load(component(b, at, width), width)
		case i == 3 && width == 0 && b != nil:
			c[i] = one
		}
		at += uint(width)
	}
	for i := range t.n {
		var v uint32
		switch sel := word3 >> (3 * i) & 7; {
		case sel == 1:
			v = one
		case sel >= 4:
			v = c[sel-4]
		}
		if !t.d16 {
			w.v[m.dst+uint16(i)][l] = v
			continue
		}
		if f.integer() {
			v &= 0xffff
		} else {
			v = f2h(f32(v))
		}
		d := &w.v[m.dst+uint16(i/2)][l]
		if t.hi || i&1 == 1 {
			*d = *d&0xffff | v<<16
		} else {
			*d = *d&0xffff0000 | v
		}
	}
}

func (w *wave) storeTyped(m *memOp, f *bufFormat, b []byte, l int) {
	t := m.buf.typed
	var elem [16]byte
	at := uint(0)
	for i, width := range f.width {
		if width == 0 {
			break
		}
		var v uint32
		switch {
		case i >= t.n:
		case !t.d16:
			v = w.v[m.data+uint16(i)][l]
		default:
			v = w.v[m.data+uint16(i/2)][l]
			if t.hi || i&1 == 1 {
				v >>= 16
			}
			switch {
			case f.num == numSint:
				v = uint32(sext(v, 16))
			case f.integer():
				v &= 0xffff
			default:
				v = u32(h2f(v))
			}
		}
		x := uint64(f.store(v, width)) << (at % 8)
		for k := at / 8; x != 0 && k < uint(len(elem)); k++ {
			elem[k] |= byte(x)
			x >>= 8
		}
		at += uint(width)
	}
	copy(b[:f.bytes()], elem[:])
}
