package trace

import "github.com/rigprof/rigprof/internal/device/sim/timing"

// writer9 packs CDNA tokens. They are bytes; times count 4 shader cycles.
type writer9 struct {
	sink  *sink
	chunk [chunkBytes + 8]byte
	n     int
	start int64 // time at which the stream's clock stood at base9
	now   int64 // decoder's time, in cycles
	group []token9
	at    int64 // time of group
}

// token9 is a token with a time bit of its own.
type token9 struct {
	v    uint64
	bits uint8
}

// base9 is what a decoder's clock says after the tokens that begin every real stream: a saturated TIME_RESET, whose TIME then
// takes four cycles off.
const base9 = 1016

const (
	misc9      = 0x0000 // plus the delta at bit 4
	misc9Reset = 0x2ff0 // TIME_RESET with delta 255
	misc9Begin = 0x6000 // type 3, seen at the start only
)

func (w *writer9) reset(s *sink, now int64) {
	*w = writer9{sink: s, start: now, now: base9, at: now, group: w.group[:0]}
	w.put(misc9Reset, 16)
	w.put(misc9Begin, 16)
	w.put(misc9, 16)
	w.time(now)
}

// time is a TIME token with the fillers that follow it.
func (w *writer9) time(now int64) {
	w.put(1|uint64(now)<<16, 64)
	for range 9 {
		w.put(misc9, 16)
	}
}

func (w *writer9) put(v uint64, bits uint8) {
	for range bits / 8 {
		w.chunk[w.n] = byte(v)
		v >>= 8
		w.n++
	}
	if w.n >= chunkBytes {
		w.sink.write((*[chunkBytes]byte)(w.chunk[:chunkBytes]))
		copy(w.chunk[:], w.chunk[chunkBytes:w.n])
		w.n -= chunkBytes
	}
}

func (w *writer9) add(t int64, k token9) {
	if t > w.at {
		w.flushGroup()
		w.at = t
	}
	w.group = append(w.group, k)
}

// issue marks an instruction of a slot; ISSUE tokens of a SIMD in one clock share one token.
func (w *writer9) issue(t int64, simd, slot uint8, state uint64) {
	if slot > 9 {
		return // the token has ten slots, the hardware eight
	}
	if t > w.at {
		w.flushGroup()
		w.at = t
	}
	key := 0xd | uint64(simd)<<5
	for i := range w.group {
		k := &w.group[i]
		if k.v&0x6f == key && k.v>>(8+2*slot)&3 == 0 {
			k.v |= state << (8 + 2*slot)
			return
		}
	}
	w.group = append(w.group, token9{key | state<<(8+2*slot), 32})
}

func (w *writer9) flushGroup() {
	if len(w.group) == 0 {
		return
	}
	to := (w.at - w.start + base9) &^ 3
	d := (to - w.now) / 4
	w.now = to
	long := d > 255
	first := uint64(0)
	switch {
	case long:
		w.put(misc9Reset, 16)
	case d == 1:
		first = 1 << 4
	case d > 1:
		w.put(misc9|uint64(d)<<4, 16)
	}
	for _, k := range w.group {
		w.put(k.v|first, k.bits)
		first = 0
	}
	w.group = w.group[:0]
	if long {
		w.put(misc9, 16)
		w.time(w.start + to - base9)
	}
}

func (w *writer9) finish() {
	w.flushGroup()
	for range 9 {
		w.put(misc9, 16)
	}
	for w.n != 0 {
		w.put(misc9, 16)
	}
}

// Tokens. Layouts: the SQ_THREAD_TRACE_WORD structures of the GC 9.4.3 header, confirmed on gfx950 for those below.

func place9(sa, cu, simd, slot uint8) uint64 {
	return uint64(sa)<<5 | uint64(cu&15)<<6 | uint64(slot&15)<<10 | uint64(simd&3)<<14
}

func waveStart9(sa, cu, simd, slot uint8, count int) token9 {
	return token9{3 | place9(sa, cu, simd, slot) | uint64(count)<<22, 32}
}

func waveEnd9(sa, cu, simd, slot uint8) token9 { return token9{6 | place9(sa, cu, simd, slot), 16} }

func inst9(simd, slot, typ uint8) token9 {
	return token9{10 | uint64(slot&15)<<5 | uint64(simd&3)<<9 | uint64(typ)<<11, 16}
}

func instPC9(simd, slot uint8, pc uint64) token9 {
	return token9{11 | uint64(slot&15)<<5 | uint64(simd&3)<<9 | pc>>2<<16, 64}
}

func shaderData9(sa, cu, simd, slot uint8, v uint32) token9 {
	return token9{12 | place9(sa, cu, simd, slot) | uint64(v)<<16, 48}
}

// perf9 is a sample of four counters of a CU.
func perf9(sa, cu, bank int, v [4]uint16) token9 {
	k := 14 | uint64(sa&1)<<5 | uint64(cu&15)<<6 | uint64(bank&3)<<10
	for i, n := range v {
		k |= uint64(n&0x1fff) << (12 + 13*i)
	}
	return token9{k, 64}
}

// regCS9 is a write in the compute block; me_raw 1 is compute.
func regCS9(addr uint16, data uint32) token9 {
	return token9{5 | 1<<7 | uint64(addr&0x7f)<<9 | uint64(data)<<16, 48}
}

func reg9(addr uint16, data uint32) token9 {
	return token9{2 | 1<<7 | 3<<10 | 1<<15 | uint64(addr)<<16 | uint64(data)<<32, 64}
}

// Bits of CDNA's TOKEN_MASK.
const (
	tok9WaveStart = 3
	tok9WaveEnd   = 6
	tok9Inst      = 10
	tok9InstPC    = 11
	tok9Data      = 12
	tok9Issue     = 13
	tok9Perf      = 14
)

// take9 turns an event of a CDNA GPU into a token.
func (u *unit) take9(e *timing.Event) {
	if u.value[rMode]&gfx9MaskCS == 0 {
		return
	}
	p := &e.Place
	switch e.Kind {
	case timing.WaveStart:
		if u.wants9(tok9WaveStart) {
			u.w9.add(e.Time, waveStart9(p.SA, p.Unit, p.SIMD, p.Slot, int(e.Lanes)))
		}
		return
	case timing.WaveEnd:
		if u.wants9(tok9WaveEnd) {
			u.w9.add(e.Time, waveEnd9(p.SA, p.Unit, p.SIMD, p.Slot))
		}
		return
	case timing.SentData:
		if u.wants9(tok9Data) {
			u.w9.add(e.Time, shaderData9(p.SA, p.Unit, p.SIMD, p.Slot, e.Data))
		}
		return
	}
	if !u.inDetail(int(p.SA), int(p.Unit), int(p.SIMD)) {
		return
	}
	switch e.Kind {
	case timing.Stall, timing.Issue, timing.Immediate:
		if !u.wants9(tok9Issue) {
			return
		}
		state := uint64(1)
		if e.Kind == timing.Issue {
			state = 2
		} else if e.Kind == timing.Immediate {
			state = 3
		}
		u.w9.issue(e.Time, p.SIMD, p.Slot, state)
	case timing.Typed:
		if u.wants9(tok9Inst) && u.value[rTokenMask2]>>(e.Code&31)&1 != 0 {
			u.w9.add(e.Time, inst9(p.SIMD, p.Slot, e.Code))
		}
	case timing.NewPC:
		if u.wants9(tok9InstPC) {
			u.w9.add(e.Time, instPC9(p.SIMD, p.Slot, e.PC))
		}
	}
}
