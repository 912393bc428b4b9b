package sqtt

import "math/bits"

// rdnaRun goes through the events of an RDNA window: tokens of waves, of time and, where there is a walk, records of the traced
// SIMD's waves.
type rdnaRun struct {
	scan  *laneScan // which it is the run of
	src   []byte    // the stream from the window on, for what goes by tokens
	live  *[numSlots]liveWave
	bits  *waveBits
	begun *[numBegun]uint64 // see waveBits.newBegun
	next  int               // the event, by its place in the scan's events
	piece int               // the piece that it is in
	waves []Wave            // with room for one more per event
	n     int               // waves so far
	open  int               // waves begun, less those that ended, since the decoder took them over

	origin Cycles // time at the window's start, and what TIMESTAMPs added since
	first  int64  // the window's first bit
	runs   uint32

	markers []Marker

	walk    *walk // nil: there is none
	ops     *walkOps
	slots   [32]*tracedWave // the walk's
	unit    uint16          // what the places of waves in the traced SIMD have in their lower half; noUnit: there is none
	hurried Cycles          // the origin when hurry was called last
	ahead   uint64          // TIMESTAMPs take the origin less far than that from there; without a walk as far as may be

	// Where waves of the traced SIMD start, by the queue as WAVE_START names it, me above pipe; nodeRare where that is not known.
	starts  [8]nodeID
	startPC [8]uint64
	untold  int // starts and ends of traced waves that the walk does not know of yet
	steps   [maxSteps]tracedStep

	tables pairTables
}

const maxSteps = 32

// tracedStep is a WAVE_START or WAVE_END of the traced SIMD.
type tracedStep struct {
	at  nodeID // where the wave that ended stood; until the walk is told it stands at nodeRare
	raw uint32 // the WAVE_START; 0: a WAVE_END
	now Cycles
	in  uint32 // the slot's key times the size of a liveWave
}

// noUnit is of no wave.
const noUnit = 1<<16 - 1

// begin makes the run one of a walk, or of none.
func (r *rdnaRun) begin(k *walk, ops func() *walkOps) {
	r.scan.handle()
	r.untold = 0
	if k == nil {
		r.walk, r.unit, r.hurried, r.ahead = nil, noUnit, 0, 1<<64-1
		r.tables.make(r.bits, r.begun, nil)
		return
	}
	if k.cache.full {
		k.forget()
	}
	copy(r.slots[:], k.slots[:])
	r.walk, r.ops, r.ahead = k, ops(), longReady/2
	r.tables.make(r.bits, r.begun, r.ops)
	r.resume()
}

// release lets go of what others use until the next window.
func (r *rdnaRun) release() {
	r.src, r.live, r.begun, r.waves, r.markers, r.walk = nil, nil, nil, nil, nil, nil
	clear(r.slots[:])
}

// resume brings up to date what the walk may have changed: a HEADER names another SIMD, waves stand ready for long.
func (r *rdnaRun) resume() {
	if r.walk == nil {
		return
	}
	r.forgetStarts()
	unit, _ := r.walk.unit(r.bits)
	r.unit = uint16(r.live[unit%numSlots].place)
	r.walk.hurry(r.origin)
	r.hurried = r.origin
}

// takeGeneric takes the events from r.next on up to the first one that is something rare; false at the window's end.
func (r *rdnaRun) takeGeneric() bool {
	for {
		p := &r.scan.pieces[r.piece]
		events := r.scan.events[r.next : p.end+1]
		n, kind := r.takeSome(events, Cycles(p.base))
		r.next += n
		if kind != eventPiece {
			return !r.atEnd()
		}
		r.piece++
		r.next = int(r.scan.pieces[r.piece].first)
	}
}

// takeSome takes the events of a piece up to the first one that is something rare, which behind the last there is. It gives that one's
// index and kind.
func (r *rdnaRun) takeSome(events []uint64, base Cycles) (n int, kind eventKind) {
	nibbles, src, b := &r.scan.nibbles, r.src, r.bits
	for i, e := range events {
		form := eventCodeIn(e).form()
		w := nibbles.token(src, uint16(e)-uint16(form.nibbles))
		now, x, done := r.origin+base+timeOf(e), uint32(w), false
		switch form.kind {
		case eventVALU, eventImmed, eventInst:
			done = r.record(form.kind, w, now)
		case eventReady:
			for m := x >> 8 & 0xffff; m != 0; m &= m - 1 {
				r.slots[bits.TrailingZeros32(m)&15].ready[readyUnit] = now
			}
			done = true
		case eventStart:
			k := b.startKey(x) % numSlots
			if done = r.live[k].run != r.runs && (!r.traced(k) || r.startTraced(k, x, now)); done {
				r.start(k, e, x, now)
			}
		case eventEnd:
			k := b.endKey(x) % numSlots
			if done = r.live[k].run == r.runs && r.n < len(r.waves) && (!r.traced(k) || r.endTraced(k, now)); done {
				r.end(k, now)
			}
		case eventReg:
			if done = true; x>>15&1 != 0 { // a compute register
				r.walk.register(uint8(x>>9&3), uint8(x>>7&3), x>>16, uint32(w>>32))
				if addr := x >> 16; addr == regPGMLo || addr == regPGMHi {
					r.forgetStarts()
				}
			}
		case eventMisc: // mostly only time passes, which scanning counted
			done = x&(miscSave|miscStallBegin|miscStallEnd) == 0
		case eventTime:
			done = r.time(w, now)
		}
		if !done {
			return i, form.kind
		}
	}
	return len(events), eventRare // never
}

// atEnd says whether all events are taken.
func (r *rdnaRun) atEnd() bool { return r.next == int(r.scan.pieces[r.piece].end) }

// now is the time of an event in the current piece.
func (r *rdnaRun) now(e uint64) Cycles {
	return r.origin + Cycles(r.scan.pieces[r.piece].base) + timeOf(e)
}

// traced says whether a slot is of the traced SIMD.
func (r *rdnaRun) traced(k slotKey) bool { return uint16(r.live[k%numSlots].place) == r.unit }

// record takes a record: it does what issue and immediate do with all that is usual.
func (r *rdnaRun) record(kind eventKind, w uint64, now Cycles) bool {
	op, nodes := r.ops.of(kind, w), r.walk.cache.nodes
	if op.how >= opOther {
		return op.how == opOther
	}
	t := r.slots[r.ops.slotOf(kind, w)]
	h, room := len(t.insts), t.insts[:cap(t.insts)]
	if uint(t.at/nodeSize) >= uint(len(nodes)) || h >= min(partRecords, len(room)) { // nodeRare is beyond all of them
		return false
	}
	in, node := &room[h], &nodes[t.at/nodeSize]
	t.insts = t.insts[:h+1]
	in.PC = node.pc
	t.at = node.succ[op.how/opTaken&1]
	from := Cycles(min(uint64(now), uint64(t.ready[op.how/opNoUnit&1])))
	stall := uint32(now - from)
	in.Time, in.Stall, in.Dur = from, stall, stall+uint32(op.clocks)
	in.Category, in.newPC = op.Category, false
	t.setReady(now + Cycles(op.clocks))
	return true
}

// time takes a TIMESTAMP.
func (r *rdnaRun) time(w uint64, now Cycles) bool {
	b := r.bits
	value := Cycles(w >> 12 & b.delta)
	switch uint32(w) & (1<<8 | b.realtime) {
	case 0: // a delta
		if uint64(r.origin+value-r.hurried) >= r.ahead {
			return false
		}
		r.origin += value
	case b.realtime:
		if len(r.markers) == cap(r.markers) {
			return false
		}
		r.markers = append(r.markers, Marker{now, int64(value)})
	default: // packets were lost
		return false
	}
	return true
}

// start begins a wave in a slot where none runs.
func (r *rdnaRun) start(k slotKey, e uint64, raw uint32, now Cycles) {
	l := &r.live[k%numSlots]
	l.start, l.off, l.run, l.raw = now, r.first+int64(nibbleOf(e))*4, r.runs, raw
	r.open++
}

// end ends the wave that runs in a slot.
func (r *rdnaRun) end(k slotKey, now Cycles) {
	l := &r.live[k%numSlots]
	l.run = 0
	w := &r.waves[r.n]
	w.Start, w.Stop = l.start, now
	r.place(w, k, l.raw)
	r.n++
	r.open--
}

// place sets all but the times of the wave of a slot that the WAVE_START raw began.
func (r *rdnaRun) place(w *Wave, k slotKey, raw uint32) {
	at := uint64(r.live[k%numSlots].place) | r.begun[raw>>(r.bits.pipe&31)%numBegun]
	w.CU, w.SIMD, w.Slot = uint8(at), uint8(at>>8), uint8(at>>16)
	w.Lanes, w.ME, w.Pipe = uint8(at>>24), uint8(at>>32), uint8(at>>40)
}

// rare takes an event that take does not; false where all that the token means to the decoder is to be done.
func (r *rdnaRun) rare(e, token uint64, kind Kind, now Cycles) bool {
	if r.walk == nil {
		return false
	}
	switch kind {
	case KindWaveStart:
		return r.startAnew(e, uint32(token), now)
	case KindValuInst, KindInst, KindImmOne, KindImmediate, KindWaveReady:
		r.walk.token(kind, r.bits == &waveBits12, token, 0, now)
		return true
	}
	return false
}

// startAnew takes the WAVE_START of a wave in the traced SIMD. It is false where that is not as usual.
func (r *rdnaRun) startAnew(e uint64, raw uint32, now Cycles) bool {
	k := r.bits.startKey(raw) % numSlots
	if r.live[k].run == r.runs || !r.traced(k) || raw>>25 < 90 {
		return false
	}
	r.start(k, e, raw, now)
	slot := uint32(k) >> (r.bits.slot & 31)
	w := Wave{Start: now}
	r.place(&w, k, raw)
	r.walk.start(slot, &w)
	if t := r.slots[slot&31]; t.startPC != 0 && t.at-1 < nodeRare-1 {
		queue := r.queue(raw)
		r.starts[queue], r.startPC[queue] = t.at, t.startPC
	}
	return true
}

// queue is a WAVE_START's place in starts.
func (r *rdnaRun) queue(raw uint32) uint32 { return raw >> (r.bits.pipe & 31) & 7 }

// forgetStarts is for when programs or the code's nodes are others.
func (r *rdnaRun) forgetStarts() {
	for i := range r.starts {
		r.starts[i] = nodeRare
	}
}

// startTraced keeps the start of a wave, where those of its queue are known, for the walk; false where that is not so, or there is no
// room. So waves may start and end without a stop at each.
func (r *rdnaRun) startTraced(k slotKey, raw uint32, now Cycles) bool {
	t, at := r.slots[k>>(r.bits.slot&31)&31], r.starts[r.queue(raw)]
	if raw>>25 < 90 || r.untold >= maxSteps || t.live || cap(t.insts) != partRecords || at >= nodeRare {
		return false
	}
	r.steps[r.untold] = tracedStep{raw: raw, now: now, in: uint32(k) * liveSize}
	r.untold++
	t.at, t.live = at, true
	t.setReady(never)
	t.insts = t.insts[:0]
	return true
}

// endTraced does the same with the wave's end. At nodeRare there may be no wave, or its end looks for its place by what the registers
// say now.
func (r *rdnaRun) endTraced(k slotKey, now Cycles) bool {
	t := r.slots[k>>(r.bits.slot&31)&31]
	if r.untold >= maxSteps || t.at == nodeRare {
		return false
	}
	r.steps[r.untold] = tracedStep{at: t.at, now: now, in: uint32(k) * liveSize}
	r.untold++
	t.at = nodeRare
	return true
}

// tell tells the walk of the waves that started and ended, before it is told of anything that came behind.
func (r *rdnaRun) tell() {
	for _, s := range r.steps[:r.untold] { // first, as the walk's user may not come back
		r.walk.used |= 1 << (s.in / liveSize >> (r.bits.slot & 31) & 31)
	}
	for i := range r.untold {
		s := &r.steps[i%maxSteps]
		k := slotKey(s.in / liveSize)
		slot := uint32(k) >> (r.bits.slot & 31)
		if s.raw == 0 {
			r.slots[slot&31].at = s.at
			r.walk.stop(slot, s.now)
			continue
		}
		t := r.walk.renew(slot, r.startPC[r.queue(s.raw)])
		t.wave.Start, t.wave.Stop = s.now, -1
		r.place(&t.wave, k, s.raw)
	}
	r.untold = 0
}
