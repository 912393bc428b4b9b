package shader

import (
	"math/bits"
	"unsafe"
)

// Global loads and stores of a dword a lane or less. Lanes usually follow each other in memory.

// addressesBy is addresses. Bit g of runs says that each address of lanes 8*g to 8*g+7 is step above that of the lane
// before, row that each lane's is.
func (w *wave) addressesBy(m *memOp, step int) (runs uint32, row bool) {
	all := uint32(1)<<(w.n/8) - 1
	if !hasAVX || !m.hasV {
		w.addresses(m)
		if w.strided(step) {
			return all, true
		}
		return 0, false
	}
	base := uint64(m.off)
	if m.hasS {
		base += w.sget64(m.saddr)
	}
	a, s := &w.addr, uint64(step)
	low, high := &w.v[m.addr], &w.v[m.addr+1]
	if m.v64 {
		runs = avxAddress64(a, low, high, base, s, w.n)
	} else {
		runs = avxAddress32(a, low, base, s, w.n)
	}
	runs >>= 8 - w.n/8
	row = runs == all
	for l := 8; row && l < w.n; l += 8 {
		row = a[l] == a[l-8]+8*s
	}
	return runs, row
}

// strided tells whether the lanes' data follow each other without gaps.
func (w *wave) strided(bytes int) bool {
	a := &w.addr
	at := a[0]
	var diff uint64
	for l := 0; l < w.n && l < 64; l++ {
		diff |= a[l] ^ at
		at += uint64(bytes)
	}
	return diff == 0
}

func runLoad32(w *wave, u *uop) {
	m := u.x.mem
	runs, row := w.addressesBy(m, 4)
	d := &w.v[m.dst]
	mask := w.exec
	a := &w.addr
	if row && mask == w.full {
		if b := w.mem.find(a[0], 4*w.n, false); b != nil {
			w.loadRow(d, b)
			w.refRow(m, 4)
			return
		}
	}
	if runs == 0 && mask == w.full && w.gatherDword(d, 4, 0) {
		w.refRuns(m, 4, mask, runs)
		return
	}
	seg := &w.mem.seg[0]
	for l := 0; l < w.n && l < 64; l += 8 {
		part := mask >> l & 255
		if part == 255 && runs>>(l/8)&1 != 0 {
			if off := a[l] - seg.base; off < uint64(len(seg.b)) && uint64(len(seg.b))-off >= 32 {
				load8((*[8]uint32)(d[l:]), seg.b[off:])
				continue
			}
			if b := w.mem.find(a[l], 32, false); b != nil {
				load8((*[8]uint32)(d[l:]), b)
				continue
			}
		}
		for x := part; x != 0; x &= x - 1 {
			i := (l + bits.TrailingZeros64(x)) & 63
			if off := a[i] - seg.base; off < uint64(len(seg.b)) && uint64(len(seg.b))-off >= 4 {
				d[i] = le.Uint32(seg.b[off:])
				continue
			}
			b := w.mem.find(a[i], 4, false)
			if b == nil {
				var p [4]byte
				if !w.mem.span(a[i], p[:], false) {
					w.badAddress(u, a[i], i, false)
					return
				}
				b = p[:]
			}
			d[i] = le.Uint32(b)
		}
	}
	w.refRuns(m, 4, mask, runs)
}

// gatherDword loads dword k of each lane's bytes, at least 4. It returns false where they are not all in one mapping.
func (w *wave) gatherDword(d *vreg, bytes, k int) bool {
	if !hasAVX || w.mem.find(w.addr[0], bytes, false) == nil {
		return false
	}
	seg := &w.mem.seg[0]
	p, limit := unsafe.Pointer(&seg.b[4*k]), uint64(len(seg.b)-bytes+1)
	return avxGather(d, &w.addr, p, seg.base, limit, w.n)
}

func load8(d *[8]uint32, b []byte) {
	b = b[:32]
	if hasAVX { // the processor is little-endian too
		copy32(unsafe.Pointer(d), unsafe.Pointer(&b[0]))
		return
	}
	for i := range d {
		d[i] = le.Uint32(b[4*i:])
	}
}

// loadRow loads a dword a lane from consecutive bytes.
func (w *wave) loadRow(d *vreg, b []byte) {
	b = b[:4*w.n]
	if hasAVX {
		w.stepped(d, unsafe.Pointer(&b[0]), 4)
		return
	}
	for l := range d {
		if 4*l+4 > len(b) {
			break
		}
		d[l] = le.Uint32(b[4*l:])
	}
}

func runStore32(w *wave, u *uop) {
	m := u.x.mem
	runs, row := w.addressesBy(m, 4)
	d := &w.v[m.data]
	mask := w.exec
	a := &w.addr
	if row && mask == w.full {
		if b := w.mem.find(a[0], 4*w.n, true); b != nil {
			w.storeRow(d, b)
			w.refRow(m, 4)
			return
		}
	}
	for l := 0; l < w.n && l < 64; l += 8 {
		part := mask >> l & 255
		if part == 255 && runs>>(l/8)&1 != 0 {
			if b := w.mem.find(a[l], 32, true); b != nil {
				store8((*[8]uint32)(d[l:]), b)
				continue
			}
		}
		for x := part; x != 0; x &= x - 1 {
			i := (l + bits.TrailingZeros64(x)) & 63
			b := w.mem.find(a[i], 4, true)
			if b == nil {
				var p [4]byte
				le.PutUint32(p[:], d[i])
				if !w.mem.span(a[i], p[:], true) {
					w.badAddress(u, a[i], i, true)
					return
				}
				continue
			}
			le.PutUint32(b, d[i])
		}
	}
	w.refRuns(m, 4, mask, runs)
}

// copy32 copies 32 bytes without a call.
func copy32(d, s unsafe.Pointer) {
	to, from := (*[4]uint64)(d), (*[4]uint64)(s)
	to[0], to[1], to[2], to[3] = from[0], from[1], from[2], from[3]
}

func store8(d *[8]uint32, b []byte) {
	b = b[:32]
	if hasAVX {
		copy32(unsafe.Pointer(&b[0]), unsafe.Pointer(d))
		return
	}
	for i, x := range d {
		le.PutUint32(b[4*i:], x)
	}
}

func (w *wave) storeRow(d *vreg, b []byte) {
	b = b[:4*w.n]
	if hasAVX {
		p := unsafe.Pointer(&b[0])
		*(*lanes)(p) = *lo(d)
		if w.n == 64 {
			*(*lanes)(unsafe.Add(p, 128)) = *hi(d)
		}
		return
	}
	for l := range d {
		if 4*l+4 > len(b) {
			break
		}
		le.PutUint32(b[4*l:], d[l])
	}
}

// runLoadSmall loads one or two bytes a lane.
func runLoadSmall(w *wave, u *uop) {
	m := u.x.mem
	size := m.bytes
	runs, row := w.addressesBy(m, size)
	mask := w.exec
	a, d, t := &w.addr, &w.v[m.dst], &w.t[3]
	full := mask == w.full
	done := 0 // lanes
	switch {
	case !full:
	case row && size == 2 && hasAVX:
		if b := w.mem.find(a[0], 2*w.n, false); b != nil {
			b = b[:2*w.n]
			avxWidenU16(lo(t), unsafe.Pointer(&b[0]))
			if w.n == 64 {
				avxWidenU16(hi(t), unsafe.Pointer(&b[64]))
			}
			done = w.n
		}
	case w.gatherDword(t, 4, 0):
		done = w.n
	}
	for l := done; l < w.n && l < 64; l += 8 {
		part := mask >> l & 255
		if part == 255 && runs>>(l/8)&1 != 0 {
			if b := w.mem.find(a[l], 8*size, false); b != nil {
				widen8((*[8]uint32)(t[l:]), b, size)
				continue
			}
		}
		seg := &w.mem.seg[0]
		for x := part; x != 0; x &= x - 1 {
			i := (l + bits.TrailingZeros64(x)) & 63
			var b []byte
			if off := a[i] - seg.base; off < uint64(len(seg.b)) && uint64(len(seg.b))-off >= 2 {
				b = seg.b[off:]
			} else if b = w.memory(u, m, i, false); b == nil {
				return
			}
			if size == 2 {
				t[i] = uint32(le.Uint16(b))
			} else {
				t[i] = uint32(b[0])
			}
		}
	}
	// What is above the data's bits is not defined here.
	to := t
	if full {
		to = d
	}
	keep := uint32(1)<<(8*size&31) - 1
	switch {
	case m.sext || size == 1 && (m.high || m.d16):
		shift := uint(32-8*size) & 31
		for l := 0; l < w.n && l < 64; l++ {
			x := t[l] & keep
			if m.sext {
				x = uint32(int32(x<<shift) >> shift)
			}
			switch {
			case m.high:
				x = d[l]&0xffff | x<<16
			case m.d16:
				x = d[l]&0xffff0000 | x&0xffff
			}
			to[l] = x
		}
	case m.high:
		for l := 0; l < w.n && l < 64; l++ {
			to[l] = d[l]&0xffff | t[l]<<16
		}
	case m.d16:
		for l := 0; l < w.n && l < 64; l++ {
			to[l] = d[l]&0xffff0000 | t[l]&0xffff
		}
	default:
		for l := 0; l < w.n && l < 64; l++ {
			to[l] = t[l] & keep
		}
	}
	if !full {
		w.put(d, t, mask)
	}
	if row && full {
		w.refRow(m, size)
		return
	}
	w.refRuns(m, size, mask, runs)
}

func widen8(d *[8]uint32, b []byte, size int) {
	if size == 2 {
		b = b[:16]
		for i := range d {
			d[i] = uint32(le.Uint16(b[2*i:]))
		}
		return
	}
	for i, x := range b[:8] {
		d[i&7] = uint32(x)
	}
}

// runStoreSmall stores one or two bytes a lane.
func runStoreSmall(w *wave, u *uop) {
	m := u.x.mem
	w.addresses(m)
	d := &w.v[m.data]
	a := &w.addr
	shift := 16 * b2u(m.high)
	size := m.bytes
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x) & 63
		b := w.mem.find(a[l], size, true)
		if b == nil {
			w.badAddress(u, a[l], l, true)
			return
		}
		if v := d[l] >> (shift & 31); size == 2 {
			le.PutUint16(b, uint16(v))
		} else {
			b[0] = byte(v)
		}
	}
	w.refGlobal(m, size, w.exec)
}

// refRow is refGlobal for accesses of all lanes that follow each other in memory.
func (w *wave) refRow(m *memOp, bytes int) {
	if !w.logs {
		return
	}
	first := w.addr[0]
	size := uint32(bytes * w.n)
	span := (first+uint64(size)-1)>>7 - first>>7
	w.log.ref(MemRef{Addr: first, Bytes: size, Span: uint32(span), Lines: uint16(span + 1), Lanes: uint8(w.n), Space: m.space, Write: m.write})
}

// refGlobal logs a vector access to memory: the addresses are in w.addr.
func (w *wave) refGlobal(m *memOp, bytes int, mask uint64) { w.refRuns(m, bytes, mask, 0) }

// refRuns is refGlobal where bit g of runs says that the data of lanes 8*g to 8*g+7 follow each other.
func (w *wave) refRuns(m *memOp, bytes int, mask uint64, runs uint32) {
	if !w.logs {
		return
	}
	r := MemRef{Lanes: uint8(bits.OnesCount64(mask)), Write: m.write, Atomic: m.atom != nil, Space: m.space}
	if mask == 0 {
		r.Space = SpaceNone
		w.log.ref(r)
		return
	}
	r.Bytes = uint32(bytes) * uint32(r.Lanes)
	if m.space == SpaceScratch {
		// Lanes are interleaved in dwords: a lane offset is a line per dword of all lanes.
		r.Addr = w.addr[bits.TrailingZeros64(mask)]
		r.Lines = uint16(max((bytes+3)/4*w.n*4/128, 1))
		w.log.ref(r)
		return
	}
	if hasAVX && mask == w.full && runs == 0 && w.refLines(&r, bytes) {
		w.log.ref(r)
		return
	}
	// Lines are counted with the last one remembered, then exactly where they do not come in order.
	lowest := ^uint64(0)
	last := ^uint64(0)
	lines := 0
count:
	for l := 0; l < w.n && l < 64; l += 8 {
		part := mask >> l & 255
		size := uint64(bytes)
		if part == 255 && runs>>(l/8)&1 != 0 {
			part, size = 1, 8*size
		}
		for x := part; x != 0; x &= x - 1 {
			a := w.addr[(l+bits.TrailingZeros64(x))&63]
			lowest = min(lowest, a)
			first, end := a>>7, (a+size-1)>>7
			if first == last && end == last {
				continue
			}
			if last != ^uint64(0) && first < last {
				lowest, last, lines = w.countLines(bytes, mask)
				break count
			}
			lines += int(end-first) + 1
			if first == last {
				lines--
			}
			last = end
		}
	}
	r.Span = uint32(min(last-lowest>>7, 1<<32-1))
	r.Addr, r.Lines = lowest, uint16(lines)
	w.log.ref(r)
}

// refLines fills in the lines of all lanes' accesses where addresses ascend, or those of 16 lanes do and the others' are in
// the same lines, as operands of matrix instructions are. It returns false elsewhere.
func (w *wave) refLines(r *MemRef, bytes int) bool {
	a := &w.addr
	n := avxLines(a, w.n, uint64(bytes))
	top := w.n - 1
	r.Addr = a[0]
	if n < 0 {
		if n = avxLines(a, 16, uint64(bytes)); n < 0 {
			return false
		}
		top = 15
		var diff uint64
		for l := 16; l < w.n && l < 64; l++ {
			diff |= (a[l]^a[l-16])>>7 | (a[l]^(a[l]+uint64(bytes)-1))>>7
			r.Addr = min(r.Addr, a[l])
		}
		if diff != 0 {
			return false
		}
	}
	r.Lines = uint16(n)
	r.Span = uint32(min(a[top]>>7-r.Addr>>7, 1<<32-1))
	return true
}

// countLines counts distinct lines with a small hash table; last is the highest one's number.
func (w *wave) countLines(bytes int, mask uint64) (lowest, last uint64, n int) {
	const size = 512 // more than 64 lanes' lines
	var table [size]uint64
	lowest = ^uint64(0)
	for x := mask; x != 0; x &= x - 1 {
		a := w.addr[bits.TrailingZeros64(x)]
		lowest = min(lowest, a)
		for line := a >> 7; line <= (a+uint64(bytes)-1)>>7; line++ {
			h := line * 0x9e3779b97f4a7c15 >> 55
			for table[h] != 0 && table[h] != line+1 {
				h = (h + 1) % size
			}
			if table[h] == 0 {
				table[h] = line + 1
				last = max(last, line)
				n++
			}
		}
	}
	return lowest, last, n
}
