package sqtt

import (
	"math/bits"
	"sync"
)

// walkRun goes through a window's events for the walk: records of the traced SIMD's waves, wave tokens of the others, and what
// only passes time.
type walkRun struct {
	scan  *laneScan
	walk  *walk
	slots [32]*tracedWave // the walk's
	ops   *walkOps
	live  *[numSlots]liveWave
	place *[numSlots]uint32 // see waveBits.places
	begun *[numBegun]uint64 // see waveBits.newBegun
	bits  *waveBits
	waves []Wave // with room for one more per event
	n     int    // waves so far
	begin int    // waves begun and not counted by opened yet
	had   int    // of the n, those that opened counted

	origin  Cycles // time at the window's start, and what TIMESTAMPs added since
	hurried Cycles // the origin when hurry was called last
	first   int64  // the window's first bit
	runs    uint32
	unit    uint32 // what keys of waves in the traced SIMD have in the bits of units
	units   uint32

	markers []Marker
}

// opened is how many more waves run than when it was called last.
func (r *walkRun) opened() int {
	n := r.begin - (r.n - r.had)
	r.begin, r.had = 0, r.n
	return n
}

// room is how many of n events may be taken: each may end a wave.
func (r *walkRun) room(n int) int { return min(n, len(r.waves)-r.n) }

// takeGeneric takes the events up to the first one that is something rare, or for which there may be no room, and says how many. Of a record it does what issue,
// immediate and ready do with all that is usual.
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

// start begins a wave in a slot where none runs.
func (r *walkRun) start(k slotKey, e uint64, raw uint32, now Cycles) {
	r.live[k%numSlots] = liveWave{start: now, off: r.first + int64(uint16(e))*4, run: r.runs, raw: raw}
	r.begin++
}

// end ends the wave that runs in a slot.
func (r *walkRun) end(k slotKey, now Cycles) {
	l := &r.live[k%numSlots]
	l.run = 0
	r.waves[r.n] = r.wave(k, l.raw, l.start, now)
	r.n++
}

// wave is the wave of a slot that the WAVE_START raw began.
func (r *walkRun) wave(k slotKey, raw uint32, start, stop Cycles) Wave {
	at := uint64(r.place[k%numSlots]) | r.begun[raw>>(r.bits.pipe&31)%numBegun]
	return Wave{start, stop, uint8(at), uint8(at >> 8), uint8(at >> 16), uint8(at >> 24), uint8(at >> 32), uint8(at >> 40)}
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

// numBegun is how many values a WAVE_START's bits from its pipe on have.
const numBegun = 1 << 12

// newBegun has, by a WAVE_START's bits from its pipe on, what Wave says of it: Lanes << 24, ME << 32, Pipe << 40.
func (b *waveBits) newBegun() *[numBegun]uint64 {
	t := new([numBegun]uint64)
	for i := range uint32(numBegun) {
		w := b.wave(0, i<<b.pipe)
		t[i] = uint64(w.Lanes)<<24 | uint64(w.ME)<<32 | uint64(w.Pipe)<<40
	}
	return t
}

var (
	begun11 = sync.OnceValue(waveBits11.newBegun)
	begun12 = sync.OnceValue(waveBits12.newBegun)
)
