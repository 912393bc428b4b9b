package sqtt

import (
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// waveScanner11 and waveScanner12 find waves, markers and losses.
var (
	waveScanner11 = sync.OnceValue(func() *scanner { return rdnaScanner(newScanTable(gpu.GFX11, waveEvents)) })
	waveScanner12 = sync.OnceValue(func() *scanner { return rdnaScanner(newScanTable(gpu.GFX12, waveEvents)) })
)

// rdnaScanner scans nibble streams by a table.
func rdnaScanner(tab *scanTable) *scanner {
	return &scanner{
		one: func(win *window, acc, limit uint64, ev *eventList, n uint) (uint64, uint, uint32) {
			return scanOne(tab, win, acc, limit, ev, n)
		},
		two: func(win *window, a, alimit uint64, aev *eventList, b, blimit uint64, bev *eventList) (uint64, uint, uint64, uint, uint32) {
			return scanTwo(tab, win, a, alimit, aev, b, blimit, bev)
		},
	}
}

func scanOne(tab *scanTable, win *window, acc, limit uint64, ev *eventList, n uint) (end uint64, events uint, stall uint32) {
	_, _, _ = tab[0], win[0], ev[0]
	for uint64(uint16(acc)) < limit {
		i := acc >> 1 & (windowBytes - 1)
		w := (uint32(win[i]) | uint32(win[i+1])<<8 | uint32(win[i+2])<<16 | uint32(win[i+3])<<24) >> (acc & 1 * 4)
		e := tab[uint16(w)]
		ev[n%maxEvents] = acc
		n += uint(e >> scanEvent)
		stall |= w & e
		acc += uint64(e & scanAdd)
	}
	return acc, n, stall & scanStalls
}

func scanTwo(tab *scanTable, win *window, a, alimit uint64, aev *eventList, b, blimit uint64, bev *eventList) (aend uint64, n uint, bend uint64, m uint, stall uint32) {
	_, _, _, _ = tab[0], win[0], aev[0], bev[0]
	for uint64(uint16(a)) < alimit && uint64(uint16(b)) < blimit {
		i := a >> 1 & (windowBytes - 1)
		j := b >> 1 & (windowBytes - 1)
		w := (uint32(win[i]) | uint32(win[i+1])<<8 | uint32(win[i+2])<<16 | uint32(win[i+3])<<24) >> (a & 1 * 4)
		v := (uint32(win[j]) | uint32(win[j+1])<<8 | uint32(win[j+2])<<16 | uint32(win[j+3])<<24) >> (b & 1 * 4)
		e := tab[uint16(w)]
		f := tab[uint16(v)]
		aev[n%maxEvents] = a
		bev[m%maxEvents] = b
		n += uint(e >> scanEvent)
		m += uint(f >> scanEvent)
		stall |= w&e | v&f
		a += uint64(e & scanAdd)
		b += uint64(f & scanAdd)
	}
	return a, n, b, m, stall & scanStalls
}

// startKey is the slot that a WAVE_START or WAVE_START_EXT names.
func startKey(w uint64, gfx12 bool) slotKey {
	k := uint32(w)
	if gfx12 { // sa 7, simd 8..9, wgp 10..13, wave 15..19
		return slotKey(k>>10&15 | k>>7&1<<4 | k>>8&3<<5 | k>>15&31<<7)
	}
	return slotKey(k>>10&7 | k>>7&1<<3 | k>>8&3<<5 | k>>13&31<<7) // wgp 10..12, wave 13..17
}

// endKey is the slot that a WAVE_END names.
func endKey(w uint64, gfx12 bool) slotKey {
	k := uint32(w)
	if gfx12 { // sa 8, simd 9..10, wgp 11..14, wave 15..19
		return slotKey(k>>11&15 | k>>8&1<<4 | k>>9&3<<5 | k>>15&31<<7)
	}
	return slotKey(k>>11&7 | k>>8&1<<3 | k>>9&3<<5 | k>>15&31<<7) // wgp 11..13
}

// startOf is the wave that a WAVE_START begins. Its count is 0x60 and more: lanes less one; others are steps of saving and
// restoring waves.
func startOf(w uint64, gfx12 bool, now Cycles, off int64) liveWave {
	k := uint32(w)
	l := liveWave{start: now, off: off}
	if count := k >> 25 & 127; count >= 0x60 {
		l.lanes = uint8(count - 0x5f)
	}
	if gfx12 {
		l.pipe, l.me = uint8(k>>20&3), uint8(k>>22&1)
	} else {
		l.pipe, l.me = uint8(k>>21&3), uint8(k>>23&1)
	}
	return l
}

// fastRDNA decodes one window of an RDNA stream, of which size bytes are the stream's.
func (d *WaveDecoder) fastRDNA(s *scanBuffers, win *window, buf []byte, size int) (more bool) {
	at := d.pos / 8
	start := uint64(d.pos % 8 / 4)
	gfx12 := d.family == gpu.GFX12
	sc := waveScanner11()
	if gfx12 {
		sc = waveScanner12()
	}
	end, pieces, stall := s.scanWindow(sc, win, start, uint64(2*size))
	if stall != 0 { // rare
		return d.plainUntil(buf, at*8+int(uint16(end))*4, false)
	}
	first := (d.base + int64(at)) * 8
	origin := d.now // time at the window's start, and the TIMESTAMPs since
	for _, piece := range pieces {
		for _, e := range piece.events {
			nibble := win.skipNops(uint16(e))
			w := win.load64(nibble)
			now := origin + Cycles(piece.base+e>>scanTime)
			off := first + int64(nibble)*4
			switch w & 31 {
			case 0b01100: // WAVE_START
				d.start(startKey(w, gfx12), startOf(w, gfx12, now+Cycles(w>>5&3), off))
				continue
			case 0b10101: // WAVE_END
				d.stop(endKey(w, gfx12), now+Cycles(w>>5&7), off)
				continue
			}
			d.now, d.pos = now, at*8+int(nibble)*4
			p, _ := d.next(buf, d.pos, true) // scanning made sure that it is whole
			p.Off += d.base * 8
			d.token(&p)
			if d.ext { // unless no extension unit follows
				next := win.skipAllNops(nibble + uint16(p.Bits/4))
				d.ext = int(next) >= 2*size-windowTail || win.load(next)&1 != 0
			}
			if d.ext || (d.family == gpu.GFX12) != gfx12 { // the tokens behind it read otherwise
				d.pos += int(p.Bits)
				d.slow = 1000 // if there are more of these, scanning windows in vain would be slower
				return true
			}
			if p.Kind == KindTimestamp {
				origin += d.now - now
			}
		}
	}
	d.now = origin + Cycles(end>>scanTime)
	d.pos = at*8 + int(uint16(end))*4
	return size == windowBytes
}
