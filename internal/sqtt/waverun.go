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

// rdnaGeneric takes the events up to the first one that is something else, or for which there may be no room, and says how many.
func (r *waveRun) rdnaGeneric(events []uint64, base Cycles) int {
	b := r.bits
	base += r.origin
	events = events[:min(len(events), len(r.waves)-r.n)]
	for i, e := range events {
		w := r.scan.load64(uint16(e))
		x, now := uint32(w), base+Cycles(e>>scanTime)
		switch {
		case x&31 == 0b01100: // WAVE_START
			l := &r.live[b.startKey(x)%numSlots]
			if l.run == r.runs {
				return i
			}
			*l = liveWave{start: now, off: r.first + int64(uint16(e))*4, run: r.runs, raw: x}
			r.open++
		case x&31 == 0b10101: // WAVE_END
			k := b.endKey(x) % numSlots
			l := &r.live[k]
			if l.run != r.runs {
				return i
			}
			l.run = 0
			at := uint64(r.place[k]) | r.begun[l.raw>>(b.pipe&31)%numBegun]
			r.waves[r.n] = Wave{l.start, now, uint8(at), uint8(at >> 8), uint8(at >> 16), uint8(at >> 24), uint8(at >> 32), uint8(at >> 40)}
			r.n++
			r.open--
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
