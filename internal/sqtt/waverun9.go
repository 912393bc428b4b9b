package sqtt

import "encoding/binary"

// eventRun9 goes through the events of a GFX9 window: starts and ends of waves, TIME_RESETs whose TIME is in the window, and what the
// walk needs.
type eventRun9 struct {
	win    *window
	live   *[numSlots]liveWave
	walk   *walk  // nil: for waves alone
	traced uint32 // 1 and the CU whose waves are walked; 0: none
	runs   uint32
	waves  []Wave // with room for one more per event
	n      int    // waves so far
	open   int    // waves begun, less those that ended

	origin Cycles // time at the window's start, and what TIME_RESETs added since
	first  int64  // the window's first bit
	blocks *blockScan9
	clock  *plain
}

// waveKey9 is the slot that a GFX9 wave token names: cu 6..9, wave 10..13, simd 14..15.
func waveKey9(w uint32) slotKey {
	return slotKey(w >> 6 & 0x3ff)
}

// fill9 sets all of a wave but its times from its slot and the WAVE_START raw. The count is lanes, or above 64 a step of saving
// and restoring waves.
func fill9(w *Wave, k slotKey, raw uint32) {
	count := raw >> 22 & 127
	at := uint32(k)&15 | uint32(k)&0x300 | uint32(k)&0xf0<<12 | count&uint32(int32(count-65)>>31)<<24 // no lanes above 64
	queue := raw>>18&3 | raw>>8&0x300
	w.CU, w.SIMD, w.Slot, w.Lanes = uint8(at), uint8(at>>8), uint8(at>>16), uint8(at>>24)
	w.ME, w.Pipe = uint8(queue), uint8(queue>>8)
}

// some takes events from i on up to the first one that needs a closer look, or to stop, and says where that is.
func (r *eventRun9) some(events []uint64, i, stop int, base Cycles) int {
	n, open := r.n, 0
	base += r.origin
	origin := base
	_ = r.win[0]
loop:
	for ; i < stop; i++ {
		e := events[i]
		j := e << 1 & (windowBytes - 1)
		w := binary.LittleEndian.Uint64(r.win[j : j+8])
		now := base + Cycles(e>>scanTime)*4
		k := waveKey9(uint32(w))
		l := &r.live[k%numSlots]
		switch w & 15 {
		case 3: // WAVE_START
			if l.run == r.runs {
				break loop
			}
			l.start, l.off, l.run, l.raw = now, r.first+int64(j)*8, r.runs, uint32(w)
			open++
			if uint32(k)&15+1 == r.traced {
				r.walk.start9(k, uint32(w), now)
			}
		case 6: // WAVE_END
			if l.run != r.runs || n >= len(r.waves) {
				break loop
			}
			l.run = 0
			wave := &r.waves[n]
			n++
			open--
			wave.Start, wave.Stop = l.start, now
			fill9(wave, k, l.raw)
			if uint32(k)&15+1 == r.traced {
				r.walk.stop(walkSlot9(k), now)
			}
		case 0: // MISC
			if w&scan9Plain != misc9TimeReset<<13 || r.clock.look != 0 {
				break loop
			}
			ts, found := r.blocks.timeAfter(r.win, events[i:])
			if !found {
				break loop
			}
			base += r.clock.reset(now, ts) - now
		default:
			switch kind := gfx9Keys[w&15].kind; kind {
			case KindIssue, KindInst, KindInstPc, KindRegCs, KindRegCsPriv:
				r.walk.token9(kind, w, now)
			default:
				break loop
			}
		}
	}
	r.n = n
	r.open += open
	r.origin += base - origin
	return i
}

// fast9 decodes one window of a GFX9 stream, of which size bytes are the stream's.
func (d *WaveDecoder) fast9(s *scanBuffers, win *window, buf []byte, size int, final bool) (more bool) {
	kinds, at := waveKinds9, d.pos/8
	r := eventRun9{
		win: win, live: d.live, runs: d.runs, walk: d.walk,
		origin: d.now, first: (d.base + int64(at)) * 8, blocks: &s.blocks, clock: &d.plain,
	}
	if k := d.walk; k != nil {
		kinds, r.traced = walkKinds9, 1+k.cu
		if k.cache.full {
			k.forget()
		}
	}
	end, pieces := s.scan9(kinds, win, uint64(size/2))
	n := 0
	for _, p := range pieces {
		n += len(p.events)
	}
	r.waves, r.n = d.roomFor(n)
	var p Packet
	for _, piece := range pieces {
		for events := piece.events; ; events = events[1:] {
			events = events[r.run(events, Cycles(piece.base)*4):]
			if len(events) == 0 {
				break
			}
			e := events[0]
			i := int(uint16(e)) * 2
			w := binary.LittleEndian.Uint32(win[i : i+4])
			now := r.origin + Cycles(piece.base+e>>scanTime)*4
			if by, ok := d.timeReset(w, now, buf, at+i, final); ok {
				r.origin += by
				continue
			}
			d.now, d.pos, d.res.Waves, d.open = now-Cycles(w>>4&uint32(kinds.time[w&15]))*4, (at+i)*8, r.waves[:r.n], d.open+r.open
			r.open = 0
			if !d.next(&p, buf, d.pos, final) { // a TIME_RESET whose TIME is to come
				return false
			}
			p.Off += d.base * 8
			d.token(&p)
			r.waves, r.n = d.res.Waves[:len(r.waves)], len(d.res.Waves)
			if w&15 == 0 { // only MISCs change time but by their own delta
				r.origin += d.now - now
			}
		}
	}
	d.res.Waves = r.waves[:r.n]
	d.open += r.open
	d.now = r.origin + Cycles(end>>scanTime)*4
	d.pos = (at + int(uint16(end))*2) * 8
	return size == windowBytes
}

// timeReset takes the MISC w at byte i if it is a TIME_RESET whose TIME is in buf, and tells by how much it moves the clock.
func (d *WaveDecoder) timeReset(w uint32, now Cycles, buf []byte, i int, final bool) (by Cycles, ok bool) {
	if w&scan9Plain != misc9TimeReset<<13 || d.look != 0 {
		return 0, false
	}
	ts, found, on := nextTime(buf, i+2, i+2+lookAhead, final)
	if on >= 0 {
		return 0, false
	}
	if found {
		by = d.reset(now, ts) - now
	}
	return by, true
}
