package sqtt

import "math/bits"

// walkRun goes through a window's events for the walk: records of the traced SIMD's waves, wave tokens of the others, and what
// only passes time.
type walkRun struct {
	waveRun
	walk    *walk // nil: there is none
	ops     *walkOps
	slots   [32]*tracedWave // the walk's
	hurried Cycles          // the origin when hurry was called last
	unit    uint32          // what keys of waves in the traced SIMD have in the bits of units
	units   uint32
}

// begin makes the run one of a walk.
func (r *walkRun) begin(k *walk, ops *walkOps) {
	if k.cache.full {
		k.forget()
	}
	r.walk, r.ops = k, ops
	copy(r.slots[:], k.slots[:])
	r.unit, r.units = k.unit(r.bits)
	r.hurry()
}

// hurry keeps the time for which waves stand ready in its bounds.
func (r *walkRun) hurry() {
	r.walk.hurry(r.origin)
	r.hurried = r.origin
}

// takeGeneric takes the events up to the first one that is something rare, or for which there may be no room, and says how many.
// Of a record it does what issue, immediate and ready do with all that is usual.
func (r *walkRun) takeGeneric(events []uint64, base Cycles) int {
	ops, nodes := r.ops, r.walk.cache.nodes
	base += r.origin
	events = events[:r.room(len(events))]
	_, _ = r.scan.planes[0], ops.kind[0]
	for n, e := range events {
		w := r.scan.load64(uint16(e))
		now := base + Cycles(e>>scanTime)
		kind := ops.kind[w&255]
		switch kind {
		case opPlain:
			op := ops.of(w)
			if op.kind == opOther {
				continue
			}
			t := r.slots[w>>(ops.slot[w&255]&63)&31]
			h, room := len(t.insts), t.insts[:cap(t.insts)]
			if op.kind != opPlain || uint(t.at/nodeSize) >= uint(len(nodes)) || h >= len(room) { // nodeRare is beyond all of them
				return n
			}
			in, node := &room[h], &nodes[t.at/nodeSize]
			t.insts = t.insts[:h+1]
			in.PC = node.pc
			t.at = node.succ[op.taken&1]
			from := Cycles(min(uint64(now), uint64(t.ready[op.noUnit&1])))
			stall := uint32(now - from)
			in.Time, in.Stall, in.Dur = from, stall, stall+uint32(op.clocks)
			in.Category, in.newPC = op.Category, false
			t.ready = [2]Cycles{never, now + Cycles(op.clocks)}
		case opReady:
			for m := uint32(w>>8) & 0xffff; m != 0; m &= m - 1 {
				r.slots[bits.TrailingZeros32(m)&15].ready[readyUnit] = now
			}
		default:
			by, ok := r.other(kind, e, w, now)
			if !ok {
				return n
			}
			base += by
		}
	}
	return len(events)
}

// other takes a token w that makes no record, and tells by how much it moves the clock; false where it is rare.
func (r *walkRun) other(kind opKind, e, w uint64, now Cycles) (by Cycles, ok bool) {
	b, x := r.bits, uint32(w)
	switch kind {
	case opStart:
		k := b.startKey(x) % numSlots
		if r.live[k].run == r.runs || uint32(k)&r.units == r.unit {
			return 0, false
		}
		r.start(k, e, x, now)
	case opEnd:
		k := b.endKey(x) % numSlots
		if r.live[k].run != r.runs || uint32(k)&r.units == r.unit {
			return 0, false
		}
		r.end(k, now)
	case opReg:
		if x>>15&1 != 0 {
			r.walk.register(uint8(x>>9&3), uint8(x>>7&3), x>>16, uint32(w>>32))
		}
	case opMisc:
		return 0, x&(miscSave|miscStallBegin|miscStallEnd) == 0 // only time passes
	case opTime:
		value := Cycles(w >> 12 & b.delta)
		switch x & (1<<8 | b.realtime) {
		case 0: // a delta
			if uint64(r.origin+value-r.hurried) >= longReady/2 {
				return 0, false
			}
			r.origin += value
			return value, true
		case b.realtime:
			if len(r.markers) == cap(r.markers) {
				return 0, false
			}
			r.markers = append(r.markers, Marker{now, int64(value)})
		default: // packets were lost
			return 0, false
		}
	default:
		return 0, false
	}
	return 0, true
}

// rare takes an event that take does not; false where all that the token means to the decoder is to be done.
func (r *walkRun) rare(e, token uint64, kind Kind, now Cycles) bool {
	switch kind {
	case KindWaveStart:
		return r.startTraced(e, uint32(token), now)
	case KindWaveEnd:
		return r.endTraced(uint32(token), now)
	case KindValuInst, KindInst, KindImmOne, KindImmediate, KindWaveReady:
		r.walk.token(kind, r.bits == &waveBits12, token, 0, now)
		return true
	}
	return false
}

// startTraced takes the WAVE_START of a wave in the traced SIMD. It is false where that is not as usual.
func (r *walkRun) startTraced(e uint64, raw uint32, now Cycles) bool {
	k := r.bits.startKey(raw) % numSlots
	if r.live[k].run == r.runs || uint32(k)&r.units != r.unit || raw>>25 < 90 {
		return false
	}
	r.start(k, e, raw, now)
	r.walk.start(uint32(k)>>(r.bits.slot&31), r.wave(k, raw, now, 0))
	return true
}

// endTraced does the same with a WAVE_END.
func (r *walkRun) endTraced(x uint32, now Cycles) bool {
	k := r.bits.endKey(x) % numSlots
	if r.live[k].run != r.runs || uint32(k)&r.units != r.unit || r.n >= len(r.waves) {
		return false
	}
	r.walk.stop(uint32(k)>>(r.bits.slot&31), now)
	r.end(k, now)
	return true
}
