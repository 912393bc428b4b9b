package sqtt

import (
	"encoding/binary"
	"math/bits"
)

// waveScanner9 finds waves and losses of GFX9 streams, walkScanner9 what the walk needs besides.
var (
	waveScanner9 = scanner9(newScan9Kinds(waveEvents))
	walkScanner9 = scanner9(newScan9Kinds(walkEvents))
)

func scanner9(kinds *scan9Kinds) *scanner {
	return &scanner{
		one: func(win *window, acc, limit uint64, ev *eventList, n uint) (uint64, uint, uint32) {
			return scan9One(kinds, win, acc, limit, ev, n)
		},
		two: func(win *window, a, alimit uint64, aev *eventList, b, blimit uint64, bev *eventList) (uint64, uint, uint64, uint, uint32) {
			return scan9Two(kinds, win, a, alimit, aev, b, blimit, bev)
		},
	}
}

// GFX9 tokens are whole 16-bit units, most of them MISCs that only pass time. A step takes up to three of those at once
// and one token of any kind.
//
// scan9Kinds says by a token's low four bits
//
//	bits 0..2    its length in units
//	bits 4..11   mask of its time in 4 cycles, from bit 4 of the token on
//	bits 16..23  whether it is an event, by the token's bits 13..15
type scan9Kinds [16]uint32

func newScan9Kinds(isEvent func(Kind) bool) *scan9Kinds {
	t := new(scan9Kinds)
	for key := range t {
		l := &gfx9Keys[key]
		t[key] = uint32(l.bits/16) | (1<<l.w-1)<<4
		switch {
		case l.kind == KindMisc:
			t[key] |= (1<<misc9TimeReset | 1<<misc9Lost | 1<<misc9StallBegin | 1<<misc9StallEnd) << 16
		case isEvent(l.kind):
			t[key] |= 0xff << 16
		}
	}
	return t
}

// scan9Plain are the bits of a unit that are 0 in a MISC of type TIME.
const scan9Plain = 0xe00f

func scan9One(kinds *scan9Kinds, win *window, acc, limit uint64, ev *eventList, n uint) (end uint64, events uint, stall uint32) {
	_, _ = win[0], ev[0]
	for uint64(uint16(acc)) < limit {
		i := acc << 1 & (windowBytes - 1)
		w := uint64(win[i]) | uint64(win[i+1])<<8 | uint64(win[i+2])<<16 | uint64(win[i+3])<<24 |
			uint64(win[i+4])<<32 | uint64(win[i+5])<<40 | uint64(win[i+6])<<48 | uint64(win[i+7])<<56
		run := uint(bits.TrailingZeros64(w&(scan9Plain|scan9Plain<<16|scan9Plain<<32)|1<<48)) & 48 // bits of plain MISCs
		times := w >> 4 & (0xff | 0xff<<16 | 0xff<<32) & (1<<run - 1)
		acc += uint64(run>>4) + (times * (1 | 1<<16 | 1<<32) >> 32 & 0xffff << scanTime)
		u := w >> run
		e := kinds[u&15]
		ev[n%maxEvents] = acc
		n += uint(e >> (16 + u>>13&7) & 1)
		acc += uint64(e&7) | (u & uint64(e) >> 4 & 0xff << scanTime)
	}
	return acc, n, 0
}

func scan9Two(kinds *scan9Kinds, win *window, a, alimit uint64, aev *eventList, b, blimit uint64, bev *eventList) (aend uint64, n uint, bend uint64, m uint, stall uint32) {
	_, _, _ = win[0], aev[0], bev[0]
	for uint64(uint16(a)) < alimit && uint64(uint16(b)) < blimit {
		i := a << 1 & (windowBytes - 1)
		j := b << 1 & (windowBytes - 1)
		w := uint64(win[i]) | uint64(win[i+1])<<8 | uint64(win[i+2])<<16 | uint64(win[i+3])<<24 |
			uint64(win[i+4])<<32 | uint64(win[i+5])<<40 | uint64(win[i+6])<<48 | uint64(win[i+7])<<56
		v := uint64(win[j]) | uint64(win[j+1])<<8 | uint64(win[j+2])<<16 | uint64(win[j+3])<<24 |
			uint64(win[j+4])<<32 | uint64(win[j+5])<<40 | uint64(win[j+6])<<48 | uint64(win[j+7])<<56
		run := uint(bits.TrailingZeros64(w&(scan9Plain|scan9Plain<<16|scan9Plain<<32)|1<<48)) & 48
		run2 := uint(bits.TrailingZeros64(v&(scan9Plain|scan9Plain<<16|scan9Plain<<32)|1<<48)) & 48
		times := w >> 4 & (0xff | 0xff<<16 | 0xff<<32) & (1<<run - 1)
		times2 := v >> 4 & (0xff | 0xff<<16 | 0xff<<32) & (1<<run2 - 1)
		a += uint64(run>>4) + (times * (1 | 1<<16 | 1<<32) >> 32 & 0xffff << scanTime)
		b += uint64(run2>>4) + (times2 * (1 | 1<<16 | 1<<32) >> 32 & 0xffff << scanTime)
		u := w >> run
		u2 := v >> run2
		e := kinds[u&15]
		e2 := kinds[u2&15]
		aev[n%maxEvents] = a
		bev[m%maxEvents] = b
		n += uint(e >> (16 + u>>13&7) & 1)
		m += uint(e2 >> (16 + u2>>13&7) & 1)
		a += uint64(e&7) | (u & uint64(e) >> 4 & 0xff << scanTime)
		b += uint64(e2&7) | (u2 & uint64(e2) >> 4 & 0xff << scanTime)
	}
	return a, n, b, m, 0
}

// waveKey9 is the slot that a GFX9 wave token names: cu 6..9, wave 10..13, simd 14..15.
func waveKey9(w uint32) slotKey {
	return slotKey(w >> 6 & 0x3ff)
}

// fill9 sets all of a wave but its times from its slot and the WAVE_START raw. The count is lanes, or above 64 a step of saving
// and restoring waves.
func fill9(w *Wave, k slotKey, raw uint32) {
	w.CU, w.Slot, w.SIMD = uint8(k&15), uint8(k>>4&15), uint8(k>>8)
	count := raw >> 22 & 127
	w.Lanes = uint8(count & uint32(int32(count-65)>>31)) // all of it, or 0 above 64
	w.ME, w.Pipe = uint8(raw>>18&3), uint8(raw>>16&3)
}

// fast9 decodes one window of a GFX9 stream, of which size bytes are the stream's.
func (d *WaveDecoder) fast9(s *scanBuffers, win *window, buf []byte, size int, final bool) (more bool) {
	at := d.pos / 8
	if d.walk != nil {
		return d.walk9(s, win, buf, size, final)
	}
	end, pieces, _ := s.scanWindow(waveScanner9, win, 0, uint64(size/2))
	first := d.base + int64(at)
	origin := d.now // time at the window's start, and what TIME_RESETs added since
	live, runs := d.live, d.runs
	waves, n := d.roomFor(len(pieces[0].events) + len(pieces[1].events))
	var p Packet
	for _, piece := range pieces {
		for _, e := range piece.events {
			i := int(uint16(e)) * 2
			w := binary.LittleEndian.Uint32(win[i : i+4])
			now := origin + Cycles(piece.base+e>>scanTime)*4
			if w&15 == 3 || w&15 == 6 { // WAVE_START or WAVE_END; see fastRDNA
				end := w >> 2 & 1
				k := waveKey9(w)
				now += Cycles(w>>4&1) * 4
				l := &live[k]
				if (l.run == runs) != (end != 0) { // rare
					if d.unpaired(l, end != 0, (first+int64(i))*8, now) {
						continue
					}
				}
				wave := &waves[n]
				fill9(wave, k, l.raw)
				wave.Start, wave.Stop = l.start, now
				n += int(end)
				d.open += 1 - 2*int(end)
				l.start, l.off, l.raw, l.run = now, (first+int64(i))*8, w, runs&(end-1)
				continue
			}
			d.now, d.pos = now, (at+i)*8
			if !d.next(&p, buf, d.pos, final) { // a TIME_RESET whose TIME is to come
				d.res.Waves = waves[:n]
				return false
			}
			p.Off += d.base * 8
			d.token(&p)
			origin += d.now - now - Cycles(w>>4&0xff)*4
		}
	}
	d.res.Waves = waves[:n]
	d.now = origin + Cycles(end>>scanTime)*4
	d.pos = (at + int(uint16(end))*2) * 8
	return size == windowBytes
}
