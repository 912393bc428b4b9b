package shader

import (
	"math/bits"
	"strings"
)

// Loads that transpose a tile between lanes. Each lane reads some bytes; what it gets are elements that others read.
//
// gfx950, from LDS (CDNA4 ISA, 11.4, which tells the values of K and M but not the lanes; these as Triton's compiler has
// them, queryLDSTransLoadParams and chooseDsReadTrLayout): in each group of 16 lanes, what they read in order is a matrix
// of 16 columns, and lane i gets column i.
//
// gfx12, from memory (RDNA4 ISA, 11.6.2, without lanes; these as two users measured them on gfx1201): with 16-bit elements,
// lane l gets from each lane of its group of 8 element l%8; with 8-bit elements the groups interleave in fours. In wave64
// lanes 0 to 31 read, and the upper lanes get the second half of what a wave of 32 would; no measurement of that is known.

// transpose is a compiled transposing load.
type transpose struct {
	bits  uint // of an element
	bytes int  // that a lane reads
}

// column moves the elements that a group of lanes read: in is what each lane read, n elements each.
func (t *transpose) column(in, out *[64][4]uint32, n, lanes int) {
	for l := range lanes {
		group, i := l&^15, l&15
		out[l] = [4]uint32{}
		for row := range n {
			e := row*16 + i // in the matrix
			src := in[group+e/n]
			put(&out[l], uint(row), t.bits, get(&src, uint(e%n), t.bits))
		}
	}
}

// get is element i of some registers; elements of 6 bits cross them.
func get(r *[4]uint32, i, width uint) uint32 {
	at := i * width
	v := uint64(r[at/32])
	if at/32 < 3 {
		v |= uint64(r[at/32+1]) << 32
	}
	return uint32(v >> (at % 32) & (1<<width - 1))
}

func put(r *[4]uint32, i, width uint, v uint32) {
	at := i * width
	x := uint64(v) << (at % 32)
	r[at/32] |= uint32(x)
	if at/32 < 3 {
		r[at/32+1] |= uint32(x >> 32)
	}
}

// dsTranspose compiles gfx950's ds_read_b64_tr_b4, _b8, _b16 and ds_read_b96_tr_b6.
func (c *compiler) dsTranspose(m *memOp, what string) bool {
	size, elem, ok := strings.Cut(what, "_tr_b")
	if !ok {
		return false
	}
	t := &transpose{bits: map[string]uint{"4": 4, "6": 6, "8": 8, "16": 16}[elem], bytes: 8}
	if size == "b96" {
		t.bytes = 12
	}
	m.bytes, m.words, m.load = t.bytes, t.bytes/4, true
	m.tr = t
	c.u.run = runDSTranspose
	c.ext()
	return true
}

func runDSTranspose(w *wave, u *uop) {
	m := u.x.mem
	t := m.tr
	w.ldsAddresses(m, m.off)
	w.refLDS(m, m.bytes, w.exec)
	var in, out [64][4]uint32
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		if b := bytesAt(w.g.lds, w.addr[l], t.bytes); b != nil {
			for k := range m.words {
				in[l][k] = le.Uint32(b[4*k:])
			}
		}
	}
	t.column(&in, &out, t.bytes*8/int(t.bits), w.n)
	w.putWords(m.dst, m.words, &out)
}

// putWords writes registers of the lanes that EXEC enables.
func (w *wave) putWords(dst uint16, words int, v *[64][4]uint32) {
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		for k := range words {
			w.v[dst+uint16(k)][l] = v[l][k]
		}
	}
}

// globalTranspose compiles gfx12's global_load_tr_b64 and _b128.
func (c *compiler) globalTranspose(m *memOp, what string) bool {
	switch what {
	case "tr_b64":
		m.tr = &transpose{bits: 8, bytes: 8}
	case "tr_b128":
		m.tr = &transpose{bits: 16, bytes: 16}
	default:
		return false
	}
	m.bytes, m.words, m.load = m.tr.bytes, m.tr.bytes/4, true
	c.u.run = runGlobalTranspose
	return true
}

func runGlobalTranspose(w *wave, u *uop) {
	m := u.x.mem
	t := m.tr
	w.addresses(m)
	mask := w.exec & 0xffffffff
	var in, out [64][4]uint32
	for x := mask; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		b := w.memory(u, m, l, false)
		if w.stop == stopFault {
			return
		}
		for k := range m.words {
			in[l][k] = le.Uint32(b[4*k:])
		}
	}
	words := m.words
	first := func(l int) int { return 0 }
	count := 8
	if w.n == 64 {
		words, count = words/2, 4
		first = func(l int) int { return l / 32 * 4 }
	}
	for l := range w.n {
		from := l % 32
		for i := range count {
			e := first(l) + i
			src := from&^7 + e
			if t.bits == 8 {
				src = from&^15 + e/4*8 + from/8%2*4 + e%4
			}
			put(&out[l], uint(i), t.bits, get(&in[src], uint(from%8), t.bits))
		}
	}
	w.refGlobal(m, m.bytes, mask)
	w.putWords(m.dst, words, &out)
}
