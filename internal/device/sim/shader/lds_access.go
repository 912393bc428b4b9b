package shader

import (
	"math/bits"
	"unsafe"
)

// Loads and stores of LDS. Lanes usually follow each other, or all read one place.

// shape is how the lanes' addresses lie to each other.
type shape uint8

const (
	scattered shape = iota
	inRange         // no lane leaves LDS; the assembly looks further
	inSteps         // each lane's is step above that of the lane before, and no lane leaves LDS
)

// ldsShape looks at addresses of accesses that end at most last bytes above them.
func (w *wave) ldsShape(addr *vreg, last uint64) (s shape, step uint32) {
	if w.exec != w.full {
		return scattered, 0
	}
	size := uint64(len(w.g.lds))
	if hasAVX {
		if uint64(avxLargest(addr, w.n))+last <= size {
			return inRange, 0
		}
		return scattered, 0
	}
	step = addr[1] - addr[0]
	if step <= 1<<12 && affine(addr, step, w.n) && uint64(addr[0])+uint64(step)*uint64(w.n-1)+last <= size {
		return inSteps, step
	}
	return scattered, 0
}

// affine tells whether each lane's value is step above that of the lane before.
func affine(v *vreg, step uint32, n int) bool {
	at := v[0]
	var diff uint32
	for l := 0; l < n && l < 64; l++ {
		diff |= v[l] ^ at
		at += step
	}
	return diff == 0
}

// ldsWords loads consecutive dwords of LDS at addr + off.
func (w *wave) ldsWords(dst uint16, words int, addr *vreg, off uint32, s shape, step uint32) {
	switch s {
	case inSteps:
		p := unsafe.Pointer(&w.g.lds[uint64(addr[0])+uint64(off)])
		for k := range words {
			w.stepped(&w.v[dst+uint16(k)], unsafe.Add(p, 4*k), step)
		}
	case inRange:
		avxLDS(&w.v[dst : dst+uint16(words)][0], addr, unsafe.Pointer(&w.g.lds[off]), words, w.n)
	default:
		for k := range words {
			w.ldsWord(&w.v[dst+uint16(k)], addr, off+uint32(4*k))
		}
	}
}

// stepped loads a dword a lane, the first from p, each next one step bytes on.
func (w *wave) stepped(d *vreg, p unsafe.Pointer, step uint32) {
	switch {
	case step == 0:
		x := *(*uint32)(p)
		if hasAVX {
			avxFill(lo(d), x)
			if w.n == 64 {
				avxFill(hi(d), x)
			}
			return
		}
		fill(d, x)
	case step == 4:
		*lo(d) = *(*lanes)(p)
		if w.n == 64 {
			*hi(d) = *(*lanes)(unsafe.Add(p, 128))
		}
	case hasAVX:
		avxStrided(lo(d), p, step)
		if w.n == 64 {
			avxStrided(hi(d), unsafe.Add(p, 32*step), step)
		}
	default:
		for l := 0; l < w.n && l < 64; l++ {
			d[l] = *(*uint32)(unsafe.Add(p, uint32(l)*step))
		}
	}
}

// ldsWord loads a dword of LDS a lane; d may be addr. Out of range reads zero.
func (w *wave) ldsWord(d, addr *vreg, off uint32) {
	lds := w.g.lds
	if len(lds) < 4 {
		lds = noLDS[:]
	}
	limit := uint64(len(lds) - 4)
	p := unsafe.Pointer(&lds[0])
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x) & 63
		if a := uint64(addr[l]) + uint64(off); a <= limit {
			d[l] = *(*uint32)(unsafe.Add(p, a))
		} else {
			d[l] = 0
		}
	}
}

var noLDS [4]byte

func runDSLoad32(w *wave, u *uop) {
	m := u.x.mem
	w.refLDSLanes(m, 4)
	addr := &w.v[m.addr]
	s, step := w.ldsShape(addr, uint64(m.off)+4)
	w.ldsWords(m.dst, 1, addr, uint32(m.off), s, step)
}

func runDSLoad(w *wave, u *uop) {
	m := u.x.mem
	size := m.bytes
	end := uint64(m.off)
	if m.second >= 0 {
		size *= 2
		end = max(end, uint64(m.second))
	}
	w.refLDSLanes(m, size)
	// The address register may be a destination.
	addr := &w.v[m.addr]
	if last := m.dst + uint16(size/4); m.addr >= m.dst && m.addr < last {
		w.t[5] = *addr
		addr = &w.t[5]
	}
	if m.bytes < 4 {
		w.dsLoad(m, addr, m.off, m.dst)
		return
	}
	s, step := w.ldsShape(addr, end+uint64(m.bytes))
	w.ldsWords(m.dst, m.words, addr, uint32(m.off), s, step)
	if m.second >= 0 {
		w.ldsWords(m.dst+uint16(m.words), m.words, addr, uint32(m.second), s, step)
	}
}

// dsLoad loads less than a dword a lane.
func (w *wave) dsLoad(m *memOp, addr *vreg, off int64, dst uint16) {
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		w.loadLane(m, bytesAt(w.g.lds, uint64(addr[l])+uint64(off), m.bytes), dst, l)
	}
}

func runDSStore32(w *wave, u *uop) {
	m := u.x.mem
	w.refLDSLanes(m, 4)
	v, d := &w.v[m.addr], &w.v[m.data]
	off, lds := uint64(m.off), w.g.lds
	if s, _ := w.ldsShape(v, off+4); s == inRange {
		avxLDSPut(v, d, unsafe.Pointer(&lds[off]), w.n)
		return
	}
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x) & 63
		if a := uint64(v[l]) + off; a+4 <= uint64(len(lds)) {
			le.PutUint32(lds[a:], d[l])
		}
	}
}

func runDSStore(w *wave, u *uop) {
	m := u.x.mem
	size := m.bytes
	if m.second >= 0 {
		size *= 2
	}
	w.refLDSLanes(m, size)
	v, lds := &w.v[m.addr], w.g.lds
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		if b := bytesAt(lds, uint64(v[l])+uint64(uint32(m.off)), m.bytes); b != nil {
			w.storeLane(m, b, m.data, l)
		}
		if m.second < 0 {
			continue
		}
		if b := bytesAt(lds, uint64(v[l])+uint64(m.second), m.bytes); b != nil {
			w.storeLane(m, b, m.cmp, l)
		}
	}
}

// runDSAdd is runDSAtomic for the operation that histograms are made with.
func runDSAdd(w *wave, u *uop) {
	m := u.x.mem
	w.refLDSLanes(m, 4)
	addr, data, dst := &w.v[m.addr], &w.v[m.data], &w.v[m.dst]
	off, lds := uint64(m.off), w.g.lds
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x) & 63
		old := uint32(0)
		if a := uint64(addr[l]) + off; a+4 <= uint64(len(lds)) {
			old = le.Uint32(lds[a:])
			le.PutUint32(lds[a:], old+data[l])
		}
		if m.rtn {
			dst[l] = old
		}
	}
}
