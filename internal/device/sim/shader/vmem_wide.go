package shader

import (
	"math/bits"
	"unsafe"
)

// Global loads and stores of 2 to 4 dwords a lane.

func runLoadWide(w *wave, u *uop) {
	m := u.x.mem
	mask := w.exec
	size := m.bytes
	runs, row := w.addressesBy(m, size)
	if row && mask == w.full {
		if b := w.mem.find(w.addr[0], size*w.n, false); b != nil {
			b = b[:size*w.n]
			for k := range m.words {
				d := &w.v[m.dst+uint16(k)]
				p := b[4*k:]
				if hasAVX {
					w.stepped(d, unsafe.Pointer(&p[0]), uint32(size))
					continue
				}
				for l := 0; l < w.n && l < 64; l++ {
					d[l] = le.Uint32(p[l*size:])
				}
			}
			w.refRow(m, size)
			return
		}
	}
	if w.gatherWide(m) {
		w.refRuns(m, size, mask, runs)
		return
	}
	for x := mask; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x) & 63
		b := w.mem.find(w.addr[l], size, false)
		if b == nil {
			var p [16]byte
			if !w.mem.span(w.addr[l], p[:size], false) {
				w.badAddress(u, w.addr[l], l, false)
				return
			}
			b = p[:]
		}
		b = b[:size]
		for k := range m.words {
			w.v[m.dst+uint16(k)][l] = le.Uint32(b[4*k:])
		}
	}
	w.refRuns(m, size, mask, runs)
}

func (w *wave) gatherWide(m *memOp) bool {
	if w.exec != w.full {
		return false
	}
	for k := range m.words {
		if !w.gatherDword(&w.v[m.dst+uint16(k)], m.bytes, k) {
			return false
		}
	}
	return true
}

func runStoreWide(w *wave, u *uop) {
	m := u.x.mem
	mask := w.exec
	size := m.bytes
	runs, row := w.addressesBy(m, size)
	if row && mask == w.full {
		if b := w.mem.find(w.addr[0], size*w.n, true); b != nil {
			b = b[:size*w.n]
			for k := range m.words {
				d := &w.v[m.data+uint16(k)]
				p := b[4*k:]
				for l := 0; l < w.n && l < 64; l++ {
					le.PutUint32(p[l*size:], d[l])
				}
			}
			w.refRow(m, size)
			return
		}
	}
	for x := mask; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x) & 63
		var p [16]byte
		for k := range m.words {
			le.PutUint32(p[4*k:], w.v[m.data+uint16(k)][l])
		}
		if b := w.mem.find(w.addr[l], size, true); b != nil {
			copy(b[:size], p[:])
		} else if !w.mem.span(w.addr[l], p[:size], true) {
			w.badAddress(u, w.addr[l], l, true)
			return
		}
	}
	w.refRuns(m, size, mask, runs)
}
