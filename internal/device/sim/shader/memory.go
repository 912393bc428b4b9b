package shader

import "encoding/binary"

// window remembers the mappings that a worker touched last.
type window struct {
	mem Memory
	seg [8]segment // the first is the one used last

	patterns ldsPatterns
	banks    ldsBanks
	tiles    *tileBuffers // of matrix instructions, when there were any
}

type segment struct {
	base  uint64
	b     []byte
	write bool
}

func newWindow(mem Memory) *window { return &window{mem: mem} }

// window returns one that remembers nothing but has its buffers.
func (m *Machine) window() *window {
	x, _ := m.windows.Get().(*window)
	if x == nil {
		return newWindow(m.mem)
	}
	x.seg = [len(x.seg)]segment{}
	x.patterns.clear()
	return x
}

// find returns at least n bytes from addr, nil where they are not all in one mapping.
func (x *window) find(addr uint64, n int, write bool) []byte {
	s := &x.seg[0]
	if off := addr - s.base; off < uint64(len(s.b)) && uint64(len(s.b))-off >= uint64(n) && (s.write || !write) {
		return s.b[off:]
	}
	return x.search(addr, n, write)
}

func (x *window) search(addr uint64, n int, write bool) []byte {
	for i := 1; i < len(x.seg); i++ {
		s := x.seg[i]
		if off := addr - s.base; off < uint64(len(s.b)) && uint64(len(s.b))-off >= uint64(n) && (s.write || !write) {
			x.seg[0], x.seg[i] = s, x.seg[0]
			return s.b[off:]
		}
	}
	// The mapping may begin below addr: a coarse start finds more of it.
	for _, align := range [...]uint64{1 << 21, 1 << 16, 1 << 12, 1} {
		base := addr &^ (align - 1)
		if b, ok := x.mem.Map(base, write); ok {
			if off := addr - base; uint64(len(b)) > off {
				copy(x.seg[1:], x.seg[:len(x.seg)-1])
				x.seg[0] = segment{base, b, write}
				if uint64(len(b))-off >= uint64(n) {
					return b[off:]
				}
				return nil
			}
		}
	}
	return nil
}

// span is find for bytes that may lie in two mappings: it copies them. ok is false where one is missing.
func (x *window) span(addr uint64, p []byte, write bool) bool {
	for i := range p {
		b := x.find(addr+uint64(i), 1, write)
		if b == nil {
			return false
		}
		if write {
			b[0] = p[i]
		} else {
			p[i] = b[0]
		}
	}
	return true
}

var le = binary.LittleEndian

// memOp is a compiled memory instruction.
type memOp struct {
	space   Space
	flat    bool
	bytes   int // per lane
	words   int // registers of a lane
	sext    bool
	d16     bool // into or from one half of the register
	high    bool // that is the upper half
	addr    uint16
	hasV    bool
	v64     bool // 64-bit addresses
	saddr   uint16
	hasS    bool
	off     int64
	data    uint16
	dst     uint16
	cmp     uint16 // second data operand
	rtn     bool
	atom    func(old, data, cmp uint64) uint64
	write   bool
	second  int64 // DS with two addresses: offset of the other, -1: none
	load    bool
	addTID  bool // the lane number times 4 is added to the address
	scratch bool // scalar access to the wave's private memory
	buf     bufOp
	tr      *transpose
}

// addresses fills w.addr with the byte addresses of the lanes that EXEC enables.
func (w *wave) addresses(m *memOp) {
	base := uint64(m.off)
	if m.hasS {
		base += w.sget64(m.saddr)
	}
	a := &w.addr
	switch {
	case !m.hasV:
		for l := range a {
			a[l] = base
		}
	case m.v64:
		vl, vh := &w.v[m.addr], &w.v[m.addr+1]
		for l := range w.n {
			a[l] = base + (uint64(vl[l&63]) | uint64(vh[l&63])<<32)
		}
	default:
		vl := &w.v[m.addr]
		for l := range w.n {
			a[l&63] = base + uint64(vl[l&63])
		}
	}
}

// badAddress ends the wave with a memory fault.
func (w *wave) badAddress(u *uop, addr uint64, lane int, write bool) {
	f := w.fail(ErrMemory, u, "")
	f.Addr, f.Lane, f.Write = addr, lane, write
}
