package shader

import (
	"math/bits"

	"github.com/rigprof/rigprof/internal/isa"
)

// refLDS logs an LDS access, whose addresses are in w.addr, with the passes that bank conflicts cost. Banks are 32 of
// 4 bytes; 32 lanes go at a time, fewer where a lane moves more than a dword.
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
	r.Bytes = uint32(bytes) * uint32(r.Lanes)
	words := max((bytes+3)/4, 1)
	group := w.ldsGroup(m, words)
	if mask == w.full && m.second < 0 {
		if low, n, ok := w.simpleLDS(words, group); ok {
			r.Addr, r.LDSCycles = low, uint16(n)
			w.log.ref(r)
			return
		}
	}
	cycles := 0
	r.Addr = ^uint64(0)
	for first := 0; first < w.n; first += group {
		part := mask >> first & (1<<group - 1)
		if part == 0 {
			cycles++ // takes its turn all the same: one lane's ds_load_b128 is active for 4 cycles in the gemm captures
			continue
		}
		cycles += w.bankPasses(first, part, words, &r.Addr)
	}
	r.LDSCycles = uint16(max(cycles, 1))
	w.log.ref(r)
}

// ldsGroup is how many lanes LDS serves at once.
func (w *wave) ldsGroup(m *memOp, words int) int {
	if w.arch == isa.CDNA4 && words >= 4 && !m.write {
		return 16 // reads twice as wide as CDNA3's, as the gfx950 gemm capture's SQ_LDS_IDX_ACTIVE shows
	}
	return max(32/words, 8)
}

// refLDSLanes is refLDS of the lanes that EXEC enables, at the addresses in m.addr. Loops and unrolled code repeat few
// patterns, so those seen last are remembered.
func (w *wave) refLDSLanes(m *memOp, bytes int) {
	if !w.logs {
		return
	}
	v := &w.v[m.addr]
	base := v[0] &^ 3
	words := max((bytes+3)/4, 1)
	known := w.exec != 0 && m.off&3 == 0
	if known {
		if p := w.mem.patterns.find(w, v, base, words, w.ldsGroup(m, words), m.second < 0); p != nil {
			w.log.ref(MemRef{
				Addr: uint64(int64(base)+p.low) + uint64(uint32(m.off)), Bytes: uint32(bytes) * uint32(p.lanes), LDSCycles: p.cycles, Lanes: p.lanes,
				Space: SpaceLDS, Write: m.write, Atomic: m.atom != nil,
			})
			return
		}
	}
	w.ldsAddresses(m, m.off)
	k := len(w.log.Mem)
	w.refLDS(m, bytes, w.exec)
	if known && k < len(w.log.Mem) {
		r := &w.log.Mem[k]
		w.mem.patterns.add(w, v, base, words, w.ldsGroup(m, words), m.second < 0, r, int64(r.Addr)-int64(uint32(m.off))-int64(base))
	}
}

// ldsPattern is how the lanes of an LDS access lie to each other. Moving all of them by the same number of dwords does
// not change which conflict.
type ldsPattern struct {
	mask         uint64
	words, group int
	one          bool // a single address a lane
	lanes        uint8
	cycles       uint16 // 0: none here
	low          int64  // lowest address less lane 0's dword
	least, most  int64  // of rel
	rel          vreg   // addresses less lane 0's dword
}

// ldsPatterns are those seen last.
type ldsPatterns struct {
	p     [6]ldsPattern
	next  int
	fresh int // added since the last one was found again
}

func (c *ldsPatterns) clear() {
	for i := range c.p {
		c.p[i].cycles = 0
	}
	c.next, c.fresh = 0, 0
}

// find returns the pattern of an access, nil if it is new.
func (c *ldsPatterns) find(w *wave, v *vreg, base uint32, words, group int, one bool) *ldsPattern {
	for i := range c.p {
		p := &c.p[i]
		if p.cycles == 0 || p.mask != w.exec || p.words != words || p.group != group || p.one != one || p.rel[1] != v[1]-base || !moved(v, &p.rel, base, w.n) {
			continue
		}
		if b := int64(base); b+p.least < 0 || b+p.most >= 1<<32 {
			return nil // wraps
		}
		c.fresh = 0
		return p
	}
	return nil
}

func (c *ldsPatterns) add(w *wave, v *vreg, base uint32, words, group int, one bool, r *MemRef, low int64) {
	if c.fresh++; c.fresh > 64 && c.fresh%16 != 0 {
		return // addresses seem to be random
	}
	p := &c.p[c.next]
	p.cycles = 0
	p.least, p.most = 0, 0
	for l := range w.n {
		d := int64(v[l]) - int64(base)
		if d != int64(int32(d)) {
			return
		}
		p.rel[l] = uint32(d)
		p.least, p.most = min(p.least, d), max(p.most, d)
	}
	p.mask, p.words, p.group, p.one, p.lanes, p.cycles, p.low = w.exec, words, group, one, r.Lanes, r.LDSCycles, low
	c.next = (c.next + 1) % len(c.p)
}

// moved tells whether v is rel with base added to each lane.
func moved(v, rel *vreg, base uint32, n int) bool {
	if hasAVX {
		return avxMoved(v, rel, base, n)
	}
	var diff uint32
	for l := 0; l < n && l < 64; l++ {
		diff |= v[l] - base ^ rel[l]
	}
	return diff == 0
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

// ldsBanks counts without branches which dwords a group of lanes needs of each bank.
type ldsBanks struct {
	seen []uint32 // by dword of LDS: the turn that it was last needed in
	turn uint32
}

// next returns the table and the number of a new turn.
func (b *ldsBanks) next(dwords int) ([]uint32, uint32) {
	if b.turn++; len(b.seen) < dwords || b.turn == 0 {
		b.seen, b.turn = make([]uint32, dwords), 1
	}
	return b.seen, b.turn
}

// bankPasses is the largest number of different dwords that one bank must serve.
func (w *wave) bankPasses(first int, part uint64, words int, low *uint64) int {
	seen, turn := w.mem.banks.next(len(w.g.lds) / 4)
	var count [32]uint32
	worst := uint32(1)
	for x := part; x != 0; x &= x - 1 {
		a := w.addr[(first+bits.TrailingZeros64(x))&63]
		*low = min(*low, a)
		at := a >> 2
		for k := range uint64(words) {
			d := at + k
			if d >= uint64(len(seen)) {
				return w.bankPassesAnywhere(first, part, words, low)
			}
			n := count[d&31] + b2u(seen[d] != turn)
			seen[d] = turn
			count[d&31] = n
			worst = max(worst, n)
		}
	}
	return int(worst)
}

// bankPassesAnywhere is bankPasses for addresses that may lie outside LDS.
func (w *wave) bankPassesAnywhere(first int, part uint64, words int, low *uint64) int {
	// Distinct dwords, and which of them each bank has. A group of lanes moves at most 64.
	var dwords [64]uint32
	var of [32]uint64
	n, worst := 0, 1
	for ; part != 0; part &= part - 1 {
		a := w.addr[(first+bits.TrailingZeros64(part))&63]
		*low = min(*low, a)
	next:
		for k := range words {
			d := uint32(a>>2) + uint32(k)
			mine := &of[d&31]
			for x := *mine; x != 0; x &= x - 1 {
				if dwords[bits.TrailingZeros64(x)&63] == d {
					continue next
				}
			}
			dwords[n&63] = d
			*mine |= 1 << n
			n++
			worst = max(worst, bits.OnesCount64(*mine))
		}
	}
	return worst
}
