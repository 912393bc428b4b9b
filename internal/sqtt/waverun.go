package sqtt

import "math/bits"

// waveRun goes through a window's events: wave tokens and TIMESTAMPs, which are nearly all of them. It keeps few values,
// so that they stay in registers.
type waveRun struct {
	scan  *laneScan
	live  *[numSlots]liveWave
	bits  *waveBits
	place *[numSlots]uint32 // see waveBits.places
	waves []Wave            // with room for one more per event
	n     int               // waves so far
	open  int               // waves begun, less those that ended

	origin Cycles // time at the window's start, and what TIMESTAMPs added since
	first  int64  // the window's first bit
	runs   uint32

	markers []Marker
}

// rdnaGeneric takes the events up to the first one that is something else, and says how many.
func (r *waveRun) rdnaGeneric(events []uint64, base Cycles) int {
	b := r.bits
	n := r.n
	base += r.origin
	gfx12 := b == &waveBits12
	i := 0
loop:
	for ; i < len(events); i++ {
		e := events[i]
		w := r.scan.load64(uint16(e))
		nops := bits.TrailingZeros32(uint32(w)|1<<12) &^ 3
		x := uint32(w >> uint(nops))
		switch x & 31 {
		case 0b01100: // WAVE_START
			k := x >> 7 & 0x7ff // b.startKey in fewer steps
			if gfx12 {
				k = x>>7&0x7f | x>>8&0xf80
			}
			l := &r.live[k]
			if l.run == r.runs {
				break loop
			}
			l.raw, l.run = x, r.runs
			l.start = base + Cycles(e>>scanTime) + Cycles(x>>5&3)
			l.off = r.first + int64(uint16(e))*4 + int64(nops)
			r.open++
			continue
		case 0b10101: // WAVE_END
			k := x >> 8 & 0xfff // b.endKey
			if !gfx12 {
				k = x>>8&0x3f | x>>9&0x7c0
			}
			l := &r.live[k]
			if l.run != r.runs || n >= len(r.waves) {
				break loop
			}
			l.run = 0
			wave := &r.waves[n]
			n++
			wave.Start, wave.Stop = l.start, base+Cycles(e>>scanTime)+Cycles(x>>5&7)
			at, queue := r.place[k]|lanesOf[l.raw>>25]<<24, l.raw>>20
			if !gfx12 {
				queue >>= 1
			}
			wave.CU, wave.SIMD, wave.Slot, wave.Lanes = uint8(at), uint8(at>>8), uint8(at>>16), uint8(at>>24)
			wave.ME, wave.Pipe = uint8(queue>>2&1), uint8(queue&3)
			continue
		}
		if x&(127|miscSave|miscStallBegin|miscStallEnd) == 0b1010001 { // a MISC that only passes time, which scanning counted
			continue
		}
		if x&(127|1<<8) != 1 { // not a TIMESTAMP, or one behind lost packets
			break
		}
		value := Cycles(r.scan.load64(uint16(e)+uint16(nops>>2)) >> 12 & b.delta)
		if x&b.realtime != 0 {
			r.markers = append(r.markers, Marker{base + Cycles(e>>scanTime), int64(value)})
			continue
		}
		base += value
		r.origin += value
	}
	r.open -= n - r.n
	r.n = n
	return i
}
