package shader

import (
	"encoding/binary"
	"math/bits"

	"github.com/rigprof/rigprof/internal/isa"
)

// window remembers the mappings that a worker touched last.
type window struct {
	mem Memory
	seg [8]segment // most recent first

	patterns ldsPatterns
	tiles    *tileBuffers // of matrix instructions, when there were any
}

type segment struct {
	base  uint64
	b     []byte
	write bool
}

func newWindow(mem Memory) *window { return &window{mem: mem} }

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
			copy(x.seg[1:i+1], x.seg[:i])
			x.seg[0] = s
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
	space  Space
	flat   bool
	bytes  int // per lane
	words  int // registers of a lane
	sext   bool
	d16    bool // into or from one half of the register
	high   bool // that is the upper half
	addr   uint16
	hasV   bool
	v64    bool // 64-bit addresses
	saddr  uint16
	hasS   bool
	off    int64
	data   uint16
	dst    uint16
	cmp    uint16 // second data operand
	rtn    bool
	atom   func(old, data, cmp uint64) uint64
	write  bool
	second int64 // DS with two addresses: offset of the other, -1: none
	load   bool
	addTID bool // the lane number times 4 is added to the address
	buf    bufOp
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

// refGlobal logs a vector access to memory: the addresses are in w.addr.
func (w *wave) refGlobal(m *memOp, bytes int, mask uint64) {
	if !w.logs {
		return
	}
	r := MemRef{Lanes: uint8(bits.OnesCount64(mask)), Write: m.write, Atomic: m.atom != nil, Space: m.space}
	if mask == 0 {
		r.Space = SpaceNone
		w.log.ref(r)
		return
	}
	if m.space == SpaceScratch {
		// Lanes are interleaved in dwords: a lane offset is a line per dword of all lanes.
		r.Addr = w.addr[bits.TrailingZeros64(mask)]
		r.Bytes = uint32(bytes) * uint32(r.Lanes)
		r.Lines = uint16(max((bytes+3)/4*w.n*4/128, 1))
		w.log.ref(r)
		return
	}
	// Lines are counted with the last few remembered, then exactly where they do not come in order.
	lowest := ^uint64(0)
	last := ^uint64(0)
	lines := 0
	sorted := true
	for x := mask; x != 0; x &= x - 1 {
		a := w.addr[bits.TrailingZeros64(x)]
		lowest = min(lowest, a)
		first, end := a>>7, (a+uint64(bytes)-1)>>7
		if first == last && end == last {
			continue
		}
		if last != ^uint64(0) && first < last {
			sorted = false
			break
		}
		lines += int(end-first) + 1
		if first == last {
			lines--
		}
		last = end
	}
	if !sorted {
		lowest, last, lines = w.countLines(bytes, mask)
	}
	r.Span = uint32(min(last-lowest>>7, 1<<32-1))
	r.Addr, r.Lines, r.Bytes = lowest, uint16(lines), uint32(bytes)*uint32(r.Lanes)
	w.log.ref(r)
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

// refLDS logs an LDS access with the passes that bank conflicts cost. Banks are 32 of 4 bytes; 32 lanes go at a
// time, fewer where a lane moves more than a dword.
func (w *wave) refLDS(m *memOp, bytes int, mask uint64) {
	if !w.logs {
		return
	}
	r := MemRef{Lanes: uint8(bits.OnesCount64(mask)), Write: m.write, Atomic: m.atom != nil, Space: SpaceLDS}
	if mask == 0 {
		r.Space = SpaceNone
		w.log.ref(r)
		return
	}
	words := max((bytes+3)/4, 1)
	group := max(32/words, 8)
	if w.arch == isa.CDNA4 && words >= 4 && !m.write {
		group = 16 // reads twice as wide as CDNA3's, as the gfx950 gemm capture's SQ_LDS_IDX_ACTIVE shows
	}
	if mask == w.full && m.second < 0 {
		if low, n, ok := w.simpleLDS(words, group); ok {
			r.Addr, r.LDSCycles, r.Bytes = low, uint16(n), uint32(bytes)*uint32(r.Lanes)
			w.log.ref(r)
			return
		}
	}
	c := w.mem.patterns.find(&w.addr, mask, words, group, w.n)
	if c.cycles != 0 {
		r.Addr, r.LDSCycles, r.Bytes = w.addr[0]&^3+c.low, c.cycles, uint32(bytes)*uint32(r.Lanes)
		w.log.ref(r)
		return
	}
	cycles := 0
	low := ^uint64(0)
	for first := 0; first < w.n; first += group {
		part := mask >> first & (1<<group - 1)
		if part == 0 {
			cycles++ // takes its turn all the same: one lane's ds_load_b128 is active for 4 cycles in the gemm captures
			continue
		}
		cycles += w.bankPasses(first, part, words, &low)
	}
	c.cycles, c.low = uint16(max(cycles, 1)), low-w.addr[0]&^3
	r.Addr, r.LDSCycles, r.Bytes = low, c.cycles, uint32(bytes)*uint32(r.Lanes)
	w.log.ref(r)
}

// ldsPattern is how the lanes of an LDS access lie to each other. Moving all of them by the same number of dwords does
// not change which conflict.
type ldsPattern struct {
	mask     uint64
	words, n int
	group    int
	cycles   uint16 // 0: not known yet
	low      uint64 // lowest address less lane 0's dword
	rel      [64]uint64
}

// ldsPatterns are those seen last: loops and unrolled code repeat few.
type ldsPatterns struct {
	p    [4]ldsPattern
	next int
}

// find returns the pattern of an access; it is new where cycles is 0.
func (c *ldsPatterns) find(a *[64]uint64, mask uint64, words, group, n int) *ldsPattern {
	base := a[0] &^ 3
next:
	for i := range c.p {
		p := &c.p[i]
		if p.mask != mask || p.words != words || p.group != group || p.n != n || p.rel[1] != a[1]-base || p.rel[31] != a[31]-base {
			continue
		}
		var diff uint64
		for l := 0; l < n && l < 64; l++ {
			diff |= p.rel[l] ^ (a[l] - base)
		}
		if diff != 0 {
			continue next
		}
		return p
	}
	p := &c.p[c.next]
	c.next = (c.next + 1) % len(c.p)
	p.mask, p.words, p.group, p.n, p.cycles = mask, words, group, n, 0
	for l := 0; l < n && l < 64; l++ {
		p.rel[l] = a[l] - base
	}
	return p
}

// simpleLDS recognizes the usual patterns: all lanes at one address, or one lane's data after the other's.
func (w *wave) simpleLDS(words, group int) (low uint64, cycles int, ok bool) {
	a := &w.addr
	low = a[0]
	step := a[1] - low
	if step != 0 && step != uint64(4*words) {
		return 0, 0, false
	}
	var diff uint64
	at := low
	for l := 0; l < w.n && l < 64; l++ {
		diff |= a[l] ^ at
		at += step
	}
	if diff != 0 {
		return 0, 0, false
	}
	if step == 0 {
		return low, w.n / group, true
	}
	return low, max(w.n*words/32, w.n/group), true
}

// bankPasses is the largest number of different dwords that one bank must serve.
func (w *wave) bankPasses(first int, part uint64, words int, low *uint64) int {
	// Usually no bank has two dwords to serve.
	var one [32]uint32
	clash := false
	for x := part; x != 0 && !clash; x &= x - 1 {
		a := w.addr[(first+bits.TrailingZeros64(x))&63]
		*low = min(*low, a)
		for k := range words {
			d := uint32(a>>2) + uint32(k)
			b := &one[d&31]
			clash = clash || *b != 0 && *b != d+1
			*b = d + 1
		}
	}
	if !clash {
		return 1
	}
	var seen [32][4]uint32 // dwords of a bank, plus one
	var count [32]uint8
	var more map[uint32]bool
	worst := 1
	for ; part != 0; part &= part - 1 {
		a := w.addr[first+bits.TrailingZeros64(part)]
		*low = min(*low, a)
		for k := range words {
			d := uint32(a>>2) + uint32(k)
			b := d & 31
			n := int(count[b])
			dup := false
			for i := range min(n, 4) {
				dup = dup || seen[b][i] == d+1
			}
			if n >= 4 && !dup {
				if more == nil {
					more = map[uint32]bool{}
				}
				dup = more[d]
				more[d] = true
			}
			if dup {
				continue
			}
			if n < 4 {
				seen[b][n] = d + 1
			}
			count[b]++
			worst = max(worst, n+1)
		}
	}
	return worst
}
