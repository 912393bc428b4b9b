package trace

// The kinds of RDNA tokens, in the order in which hardware writes those of one clock.
const (
	tokHeader = iota
	tokReg    // and REG_INIT
	tokWaveEnd
	tokEvent
	tokData // SHADER_DATA: before the instructions, as in the gfx11 gemm captures
	tokInst
	tokValu
	tokReady
	tokImm
	tokUtil
	tokWaveStart
	tokAlu
	tokMem
	tokNewPC
	tokOther
	tokRealtime
)

// token is one packet before its delta is known.
type token struct {
	lo   uint64
	hi   uint8 // bits 64..71
	kind uint8
	bits uint8
	at   uint8 // bit of the delta field
	wide uint8 // its width; 0: none
}

func (k *token) issued() bool { return k.kind >= tokInst && k.kind <= tokImm }

// layout says how the two RDNA generations differ.
type layout struct {
	gfx12     bool
	instDelta uint8 // bit of INST's delta
	timeBits  uint8 // TIMESTAMP's length
	timeValue uint8 // width of its value
	rtFlag    uint64
	idle      int64 // gaps above this are flushed to a chunk first
	newPCBits uint8
	wave, op  uint8 // bits of INST's fields
	startWave uint8
	meBit     uint8
	dataCode  uint64 // SHADER_DATA's first bits
	dataShort uint64 // SHADER_DATA_SHORT's
	dataAt    uint8  // bit of its delta, and of the field behind the delta in the next one
}

var (
	rdna3 = layout{
		instDelta: 4, timeBits: 48, timeValue: 36, rtFlag: 1 << 9, idle: 2050, newPCBits: 64, wave: 8, op: 13,
		startWave: 13, meBit: 23, dataCode: 0b00110, dataShort: 0b10110, dataAt: 5,
	}
	rdna4 = layout{
		gfx12: true, instDelta: 3, timeBits: 64, timeValue: 52, rtFlag: 1 << 7, idle: 2050, newPCBits: 72, wave: 7, op: 12,
		startWave: 15, meBit: 22, dataCode: 0b0000110, dataShort: 0b1000110, dataAt: 7,
	}
)

const chunkBytes = 32

// writer packs RDNA tokens into nibbles.
type writer struct {
	l     *layout
	sink  *sink
	acc   uint64 // bits not yet in buf, at most 7 after put
	accN  uint
	chunk [chunkBytes + 16]byte
	n     int   // bytes of chunk
	last  int64 // time of the last token
	group []token
	now   int64 // time of group
}

func (w *writer) reset(l *layout, s *sink, now int64) {
	*w = writer{l: l, sink: s, last: now, now: now, group: w.group[:0]}
}

// add puts a token into the stream at time t, which must not be before the last one's. One that is is moved up.
func (w *writer) add(t int64, k token) {
	if t > w.now {
		w.flushGroup()
		w.now = t
	}
	i := len(w.group)
	w.group = append(w.group, k)
	for i > 0 && w.group[i-1].kind > k.kind { // few at a time: insertion keeps the order of equals
		w.group[i] = w.group[i-1]
		i--
	}
	w.group[i] = k
}

// put appends up to 56 bits.
func (w *writer) put(v uint64, n uint) {
	w.acc |= v << w.accN
	w.accN += n
	for w.accN >= 8 {
		w.chunk[w.n] = byte(w.acc)
		w.n++
		w.acc >>= 8
		w.accN -= 8
	}
	if w.n >= chunkBytes {
		w.sink.write((*[chunkBytes]byte)(w.chunk[:chunkBytes]))
		copy(w.chunk[:], w.chunk[chunkBytes:w.n])
		w.n -= chunkBytes
	}
}

func (w *writer) putToken(k *token, delta uint64) {
	lo := k.lo | delta<<k.at
	if k.bits <= 32 {
		w.put(lo, uint(k.bits))
		return
	}
	w.put(lo&0xffffffff, 32)
	rest := uint(k.bits) - 32
	if rest > 32 {
		w.put(lo>>32, 32)
		w.put(uint64(k.hi), rest-32)
		return
	}
	w.put(lo>>32, rest)
}

// align pads with a NOP nibble to the next byte.
func (w *writer) align() {
	if w.accN&7 != 0 {
		w.put(0, 8-w.accN&7)
	}
}

// alignChunk pads to the next multiple of 32 bytes.
func (w *writer) alignChunk() {
	w.align()
	for w.n != 0 {
		w.put(0, 8)
	}
}

// flushGroup writes the tokens of one clock. The rule for gaps is the one of real streams: the first token's own field
// where it fits, else one TIME, MISC or TIMESTAMP by the gap's size.
func (w *writer) flushGroup() {
	if len(w.group) == 0 {
		return
	}
	d := w.now - w.last
	w.last = w.now
	if d > 0 {
		if d > w.l.idle {
			w.alignChunk()
		}
		w.align()
	}
	own := uint64(0)
	if first := &w.group[0]; d > 0 && first.wide > 0 && d < 1<<first.wide {
		own = uint64(d)
		d = 0
	}
	for d > 0 {
		d -= w.gap(d)
	}
	for i := range w.group {
		k := &w.group[i]
		// Only what one issue stage writes is packed nibble to nibble.
		if !k.issued() || i > 0 && !w.group[i-1].issued() {
			w.align()
		}
		w.putToken(k, own)
		own = 0
	}
	w.group = w.group[:0]
}

// gap writes a time packet for d clocks or as many as one holds.
func (w *writer) gap(d int64) int64 {
	switch {
	case d >= 4 && d <= 19:
		w.put(0x8|uint64(d-4)<<4, 8)
		return d
	case d < 512:
		w.put(0x51|uint64(d)<<7, 24)
		return d
	}
	d = min(d, 1<<w.l.timeValue-1)
	k := token{lo: 1 | uint64(d)<<12, bits: w.l.timeBits}
	w.putToken(&k, 0)
	return d
}

// finish writes everything out.
func (w *writer) finish() {
	w.flushGroup()
	w.alignChunk()
}

// Tokens. Layouts: AMD's decoder, confirmed on real streams for all but WAVE_START_EXT, which is not written.

func (l *layout) inst(wave, op uint8, wide bool) token {
	k := token{lo: 0b010 | uint64(wave)<<l.wave | uint64(op)<<l.op, kind: tokInst, bits: 20, at: l.instDelta, wide: 3}
	if wide {
		k.lo |= 1 << (l.wave - 1)
	}
	return k
}

func valuInst(wave uint8, wide bool) token {
	k := token{lo: 0b011 | uint64(wave)<<7, kind: tokValu, bits: 12, at: 3, wide: 3}
	if wide {
		k.lo |= 1 << 6
	}
	return k
}

func immOne(wave uint8) token {
	return token{lo: 0b1101 | uint64(wave)<<7, kind: tokImm, bits: 12, at: 4, wide: 3}
}

func immMask(mask uint16) token {
	return token{lo: 0b00100 | uint64(mask)<<8, kind: tokImm, bits: 24, at: 5, wide: 3}
}

func waveReady(mask uint16) token {
	return token{lo: 0b10100 | uint64(mask)<<8, kind: tokReady, bits: 24, at: 5, wide: 3}
}

func aluExec(src uint8) token {
	return token{lo: 0b1110 | uint64(src)<<6, kind: tokAlu, bits: 8, at: 4, wide: 2}
}

func memExec(src uint8) token {
	return token{lo: 0b1111 | uint64(src)<<6, kind: tokMem, bits: 8, at: 4, wide: 2}
}

func (l *layout) waveStart(sa, unit, simd, slot uint8, count uint64) token {
	return token{
		lo: 0b01100 | uint64(sa)<<7 | uint64(simd)<<8 | uint64(unit)<<10 | uint64(slot)<<l.startWave |
			1<<l.meBit | count<<25,
		kind: tokWaveStart, bits: 32, at: 5, wide: 2,
	}
}

func waveEnd(sa, unit, simd, slot uint8) token {
	return token{
		lo:   0b10101 | uint64(sa)<<8 | uint64(simd)<<9 | uint64(unit)<<11 | uint64(slot)<<15,
		kind: tokWaveEnd, bits: 20, at: 5, wide: 3,
	}
}

// shaderData is what a wave sends with s_ttracedata, short: with s_ttracedata_imm. RDNA3's exec bit, which says ignore, and RDNA4's
// kind, a trap handler's, are 0.
func (l *layout) shaderData(sa, unit, simd, slot uint8, v uint32, short bool) token {
	at := l.dataAt + 3
	wave := at + 7 // RDNA3 has the exec bit before the wave, RDNA4 a unit of 4 bits
	lo := uint64(sa)<<at | uint64(simd)<<(at+1) | uint64(unit)<<(at+3) | uint64(slot)<<wave
	k := token{lo: lo | l.dataCode | uint64(v)<<(wave+5), kind: tokData, bits: 52, at: l.dataAt, wide: 3}
	if short {
		k.lo, k.bits = lo|l.dataShort|uint64(v&0xff)<<(wave+5), 28
	}
	if l.gfx12 {
		k.bits += 4
	}
	return k
}

func (l *layout) newPC(wave uint8, pc uint64) token {
	dwords := pc >> 2 & (1<<46 - 1)
	k := token{lo: 0b0100001 | uint64(wave)<<11 | dwords<<16, kind: tokNewPC, bits: l.newPCBits, at: 8, wide: 3}
	return k
}

// regWrite is a REG token of me 1, pipe 0. cs: the address is an offset in the compute block.
func regWrite(cs bool, addr uint16, data uint32) token {
	k := token{lo: 0b1001 | 1<<9 | uint64(addr)<<16 | uint64(data)<<32, kind: tokReg, bits: 64, at: 4, wide: 3}
	if cs {
		k.lo |= 1 << 15
	}
	return k
}

// dispatchStart is the REG_INIT of type 2 that stands for a dispatch.
func dispatchStart(vmid, initiator uint32) token {
	return token{
		lo:   0b1110001 | uint64(vmid&15)<<10 | 1<<16 | 2<<18 | uint64(initiator&0xffffff)<<20,
		kind: tokReg, bits: 64, at: 7, wide: 3,
	}
}

func event(id uint8, bottom bool) token {
	k := token{lo: 0b01100001 | 1<<16 | uint64(id&63)<<18, kind: tokEvent, bits: 24, at: 8, wide: 3}
	if bottom {
		k.lo |= 1 << 11
	}
	return k
}

func (l *layout) realtime(ticks uint64) token {
	return token{lo: 1 | l.rtFlag | ticks<<12, kind: tokRealtime, bits: l.timeBits}
}

// Headers as real streams have them, with the fields for the traced unit zero.
const (
	header11      = 0x0000000068100191
	header12      = 0x0113100868100211
	header12Plain = 1 << 37 // no instructions are traced
	headerBarrier = 1 << 59 // s_barrier_wait sends nothing
)

func (l *layout) header(sa, unit, simd uint8, units int, detail, noBarrier bool) token {
	h := uint64(header11)
	if l.gfx12 {
		h = header12
		units--
		if !detail {
			h |= header12Plain
		}
		if noBarrier {
			h |= headerBarrier
		}
	}
	h |= uint64(simd)<<13 | uint64(unit&7)<<15 | uint64(sa)<<19 | uint64(units&7)<<21
	return token{lo: h, kind: tokHeader, bits: 64}
}

// sink is the memory that a stream goes to.
type sink struct {
	mem     Memory
	addr    uint64
	limit   int64 // bytes that may be written
	written int64
	dropped uint64 // chunks
	full    bool
	failed  bool // memory is not there
	b       []byte
	bAddr   uint64
}

// write stores a chunk, or drops it where the buffer is full.
func (s *sink) write(c *[chunkBytes]byte) {
	if s.full || s.failed || s.written+chunkBytes > s.limit {
		s.full = s.full || !s.failed
		s.dropped++
		return
	}
	at := s.addr + uint64(s.written)
	off := at - s.bAddr
	if s.b == nil || off+chunkBytes > uint64(len(s.b)) {
		b, ok := s.mem.Map(at, true)
		if !ok || len(b) < chunkBytes {
			s.failed = true
			s.dropped++
			return
		}
		s.b, s.bAddr, off = b, at, 0
	}
	copy(s.b[off:], c[:])
	s.written += chunkBytes
}
