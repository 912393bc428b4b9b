package sqtt

import "encoding/binary"

// gfx9 is [waveRun.rdna] for the events of a GFX9 window, of which it takes starts and ends of waves, and TIME_RESETs whose TIME
// is in the window.
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
			l.start = base + Cycles(e>>scanTime)*4
			l.off = r.first + int64(j)*8
			r.open++
		case 6: // WAVE_END
			if l.run != r.runs || n >= len(r.waves) || uint32(k)&15+1 == r.traced {
				break loop
			}
			l.run = 0
			wave := &r.waves[n]
			n++
			wave.Start, wave.Stop = l.start, base+Cycles(e>>scanTime)*4
			fill9(wave, k, l.raw)
		case 0: // MISC
			if w&scan9Plain != misc9TimeReset<<13 || r.clock.look != 0 {
				break loop
			}
			ts, ok := r.blocks.timeAfter(win, events[i:])
			if !ok {
				break loop
			}
			now := base + Cycles(e>>scanTime)*4
			by := r.clock.reset(now, ts) - now
			base += by
			r.origin += by
		default:
			break loop
		}
	}
	r.open -= n - r.n
	r.n = n
	return i
}
