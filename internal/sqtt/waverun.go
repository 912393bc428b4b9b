package sqtt

import (
	"encoding/binary"
	"math/bits"
)

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
	traced uint32 // GFX9: 1 and the CU whose waves are for the walk; 0: none

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

// gfx9 does the same for the events of a GFX9 window, of which it takes starts and ends of waves.
func (r *waveRun) gfx9(win *window, events []uint64, base Cycles) int {
	n := r.n
	base += r.origin
	_ = win[0]
	i := 0
loop:
	for ; i < len(events); i++ {
		e := events[i]
		j := e << 1 & (windowBytes - 1)
		w := binary.LittleEndian.Uint32(win[j : j+4])
		k := waveKey9(w) % numSlots
		l := &r.live[k]
		switch w & 15 {
		case 3: // WAVE_START
			if l.run == r.runs || uint32(k)&15+1 == r.traced {
				break loop
			}
			l.raw, l.run = w, r.runs
			l.start = base + Cycles(e>>scanTime)*4 + Cycles(w>>4&1)*4
			l.off = r.first + int64(j)*8
			r.open++
		case 6: // WAVE_END
			if l.run != r.runs || n >= len(r.waves) || uint32(k)&15+1 == r.traced {
				break loop
			}
			l.run = 0
			wave := &r.waves[n]
			n++
			wave.Start, wave.Stop = l.start, base+Cycles(e>>scanTime)*4+Cycles(w>>4&1)*4
			fill9(wave, k, l.raw)
		default:
			break loop
		}
	}
	r.open -= n - r.n
	r.n = n
	return i
}
