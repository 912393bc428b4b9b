package sqtt

// waveRun goes through a window's events: wave tokens, TIMESTAMPs and MISCs, which are nearly all of them. It keeps few values,
// so that they stay in registers.
type waveRun struct {
	scan  *laneScan
	live  *[numSlots]liveWave
	bits  *waveBits
	place *[numSlots]uint32 // see waveBits.places
	begun *[numBegun]uint64 // see waveBits.newBegun
	waves []Wave            // with room for one more per event
	n     int               // waves so far
	open  int               // waves begun, less those that ended

	origin Cycles // time at the window's start, and what TIMESTAMPs added since
	first  int64  // the window's first bit
	runs   uint32

	markers []Marker
}

// room is how many of n events may be taken: each may end a wave.
func (r *waveRun) room(n int) int { return min(n, len(r.waves)-r.n) }

// rdnaGeneric takes the events up to the first one that is something else, or for which there may be no room, and says how many.
func (r *waveRun) rdnaGeneric(events []uint64, base Cycles) int {
	b := r.bits
	base += r.origin
	events = events[:r.room(len(events))]
	for i, e := range events {
		w := r.scan.load64(uint16(e))
		x, now := uint32(w), base+Cycles(e>>scanTime)
		switch {
		case x&31 == 0b01100: // WAVE_START
			k := b.startKey(x) % numSlots
			if r.live[k].run == r.runs {
				return i
			}
			r.start(k, e, x, now)
		case x&31 == 0b10101: // WAVE_END
			k := b.endKey(x) % numSlots
			if r.live[k].run != r.runs {
				return i
			}
			r.end(k, now)
		case x&(127|miscSave|miscStallBegin|miscStallEnd) == 0b1010001: // a MISC that only passes time, which scanning counted
		case x&(127|1<<8|b.realtime) == 1: // a TIMESTAMP's delta
			by := Cycles(w >> 12 & b.delta)
			base += by
			r.origin += by
		case x&(127|1<<8|b.realtime) == 1|b.realtime: // a realtime marker
			if len(r.markers) == cap(r.markers) {
				return i
			}
			r.markers = append(r.markers, Marker{now, int64(w >> 12 & b.delta)})
		default:
			return i
		}
	}
	return len(events)
}

// start begins a wave in a slot where none runs.
func (r *waveRun) start(k slotKey, e uint64, raw uint32, now Cycles) {
	r.live[k%numSlots] = liveWave{start: now, off: r.first + int64(uint16(e))*4, run: r.runs, raw: raw}
	r.open++
}

// end ends the wave that runs in a slot.
func (r *waveRun) end(k slotKey, now Cycles) {
	l := &r.live[k%numSlots]
	l.run = 0
	r.waves[r.n] = r.wave(k, l.raw, l.start, now)
	r.n++
	r.open--
}

// wave is the wave of a slot that the WAVE_START raw began.
func (r *waveRun) wave(k slotKey, raw uint32, start, stop Cycles) Wave {
	at := uint64(r.place[k%numSlots]) | r.begun[raw>>(r.bits.pipe&31)%numBegun]
	return Wave{start, stop, uint8(at), uint8(at >> 8), uint8(at >> 16), uint8(at >> 24), uint8(at >> 32), uint8(at >> 40)}
}
