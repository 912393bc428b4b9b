package sqtt

import (
	"encoding/binary"
	"math/bits"
)

// waveRun goes through a window's events: wave tokens and TIMESTAMPs, which are nearly all of them. It keeps few values,
// so that they stay in registers.
type waveRun struct {
	win   *window
	live  *[numSlots]liveWave
	bits  *waveBits
	place *[numSlots]uint32 // see waveBits.places
	waves []Wave            // with room for one more per event
	n     int               // waves so far
	open  int               // waves begun, less those that ended

	origin Cycles // time at the window's start, and what TIMESTAMPs added since
	first  int64  // the window's first nibble
	runs   uint32
}

// rdna takes the events up to the first one that is something else, and says how many.
func (r *waveRun) rdna(events []uint64, base Cycles) int {
	win, live, b := r.win, r.live, r.bits
	waves, n := r.waves, r.n
	base += r.origin
	starts := 0
	_, _, _ = win[0], live[0], b.low
	i := 0
	for ; i < len(events); i++ {
		e := events[i]
		j := e >> 1 & (windowBytes - 1)
		w := binary.LittleEndian.Uint64(win[j:j+8]) >> (e << 2 & 4)
		nops := uint64(bits.TrailingZeros32(uint32(w)|1<<12)) &^ 3
		w >>= nops
		now := base + Cycles(e>>scanTime)
		x := uint32(w)
		switch {
		case x&31 == 0b01100: // WAVE_START
			now += Cycles(x >> 5 & 3)
			l := &live[(x>>7&b.low[0]|x>>8&b.high[0])%numSlots]
			if l.run == r.runs {
				goto out
			}
			l.start, l.off, l.raw, l.run = now, (r.first+int64(e&(1<<16-1)+nops>>2))*4, x, r.runs
			starts++
		case x&31 == 0b10101: // WAVE_END
			now += Cycles(x >> 5 & 7)
			k := (x>>8&b.low[1] | x>>9&b.high[1]) % numSlots
			l := &live[k]
			if l.run != r.runs || n >= len(waves) {
				goto out
			}
			l.run = 0
			wave := &waves[n]
			n++
			wave.Start, wave.Stop = l.start, now
			place, raw := r.place[k], l.raw
			wave.CU, wave.SIMD, wave.Slot, wave.Lanes = uint8(place), uint8(place>>8), uint8(place>>16), lanesOf[raw>>25]
			queue := raw >> (b.pipe & 31)
			wave.ME, wave.Pipe = uint8(queue>>2&1), uint8(queue&3)
		case x&(127|1<<8) == 1: // TIMESTAMP
			if w&uint64(b.realtime) != 0 {
				goto out
			}
			value := w >> 12 & (1<<36 - 1)
			if b.wide {
				j := (e&(1<<16-1) + nops>>2) & (2*windowBytes - 1)
				value = (binary.LittleEndian.Uint64(win[j>>1:j>>1+8])>>(j&1*4) | uint64(win[j>>1+8])<<60*(j&1)) >> 12
			}
			base += Cycles(value)
			r.origin += Cycles(value)
		case x&(127|miscSave|miscStallBegin|miscStallEnd) == 0b1010001: // a MISC that passes time, which scanning counted
		default:
			goto out
		}
	}
out:
	r.open += starts - (n - r.n)
	r.n = n
	return i
}
