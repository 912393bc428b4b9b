package sqtt

import (
	"encoding/binary"
	"math/bits"
)

// waveKinds9 are for waves and losses of GFX9 streams, walkScanner9 for what the walk needs besides.
var (
	waveKinds9   = newScan9Kinds(waveEvents)
	walkScanner9 = walkKinds9()
)

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

// run9 takes the plain MISCs, at most three, from where a scan stands. It gives the scan word behind them, the token there and
// what kinds has for it.
func run9(kinds *scan9Kinds, win *window, acc uint64) (at, token uint64, e uint32) {
	i := acc << 1 & (windowBytes - 1)
	w := binary.LittleEndian.Uint64(win[i : i+8])
	run := uint(bits.TrailingZeros64(w&(scan9Plain|scan9Plain<<16|scan9Plain<<32)|1<<48)) & 48 // their bits
	times := w >> 4 & (0xff | 0xff<<16 | 0xff<<32) & (1<<run - 1)
	w >>= run
	return acc + uint64(run>>4) + (times * (1 | 1<<16 | 1<<32) >> 32 & 0xffff << scanTime), w, kinds[w&15]
}

// step9 is what a token and its kind add to a scan word, and 1 for an event.
func step9(token uint64, e uint32) (add uint64, event uint) {
	return uint64(e&7) | (token & uint64(e) >> 4 & 0xff << scanTime), uint(e >> (16 + token>>13&7) & 1)
}

// scan9One scans to the chain's limit, scan9Two and scan9FourGeneric until one of the chains reaches its own. One scan waits for its
// own loads most of the time; four take hardly longer.
func scan9One(kinds *scan9Kinds, win *window, c *chain) {
	acc, limit, ev, n := c.acc, c.limit, c.ev, c.n
	_, _ = win[0], ev[0]
	for uint64(uint16(acc)) < limit {
		at, token, e := run9(kinds, win, acc)
		ev[n%maxEvents] = at
		add, event := step9(token, e)
		acc, n = at+add, n+event
	}
	c.acc, c.n = acc, n
}

func scan9Two(kinds *scan9Kinds, win *window, ca, cb *chain) {
	a, al, aev, an := ca.acc, ca.limit, ca.ev, ca.n
	b, bl, bev, bn := cb.acc, cb.limit, cb.ev, cb.n
	_, _, _ = win[0], aev[0], bev[0]
	for uint64(uint16(a)) < al && uint64(uint16(b)) < bl {
		at, atok, ae := run9(kinds, win, a)
		bt, btok, be := run9(kinds, win, b)
		aev[an%maxEvents] = at
		bev[bn%maxEvents] = bt
		add, event := step9(atok, ae)
		a, an = at+add, an+event
		add, event = step9(btok, be)
		b, bn = bt+add, bn+event
	}
	ca.acc, ca.n, cb.acc, cb.n = a, an, b, bn
}

func scan9FourGeneric(kinds *scan9Kinds, win *window, ca, cb, cc, cd *chain) {
	a, al, aev, an := ca.acc, ca.limit, ca.ev, ca.n
	b, bl, bev, bn := cb.acc, cb.limit, cb.ev, cb.n
	c, cl, cev, cn := cc.acc, cc.limit, cc.ev, cc.n
	d, dl, dev, dn := cd.acc, cd.limit, cd.ev, cd.n
	_, _, _, _, _ = win[0], aev[0], bev[0], cev[0], dev[0]
	for uint64(uint16(a)) < al && uint64(uint16(b)) < bl && uint64(uint16(c)) < cl && uint64(uint16(d)) < dl {
		at, atok, ae := run9(kinds, win, a)
		bt, btok, be := run9(kinds, win, b)
		ct, ctok, ce := run9(kinds, win, c)
		dt, dtok, de := run9(kinds, win, d)
		aev[an%maxEvents] = at
		bev[bn%maxEvents] = bt
		cev[cn%maxEvents] = ct
		dev[dn%maxEvents] = dt
		add, event := step9(atok, ae)
		a, an = at+add, an+event
		add, event = step9(btok, be)
		b, bn = bt+add, bn+event
		add, event = step9(ctok, ce)
		c, cn = ct+add, cn+event
		add, event = step9(dtok, de)
		d, dn = dt+add, dn+event
	}
	ca.acc, ca.n, cb.acc, cb.n = a, an, b, bn
	cc.acc, cc.n, cd.acc, cd.n = c, cn, d, dn
}

// chain is one scan: it stands at acc and stops at or behind limit. Its events are ev[:n].
type chain struct {
	acc, limit uint64
	ev         *eventList
	n          uint
	start      uint64
}

func (c *chain) pos() uint64 { return c.acc & (1<<16 - 1) }

func (c *chain) to(kinds *scan9Kinds, win *window, limit uint64) {
	c.limit = limit
	scan9One(kinds, win, c)
}

const scanChains = 4

// scanWindow scans the tokens of the first size units of a window, from unit start on. In a full window it leaves the last few
// to the next one. It gives the scan word at the end and the events in one or more pieces. The window's quarters are scanned at
// the same time, as laneScan does with RDNA windows.
func (s *scanBuffers) scanWindow(kinds *scan9Kinds, win *window, start, size uint64) (end uint64, pieces []piece) {
	const least = 256 // units that are worth a scan of their own
	limit := max(start, size-min(size, windowTail))
	c := &s.chains
	for i := range c {
		c[i] = chain{ev: &s.events[i], limit: limit}
	}
	c[0].acc = start
	n := 1
	if quarter := (limit - start) / scanChains &^ 63; quarter >= least {
		n = scanChains
		for i := 1; i < n; i++ {
			c[i].acc = (start + uint64(i)*quarter) &^ 63
			c[i].start = c[i].acc
			c[i-1].limit = c[i].acc
		}
		scan9Four(kinds, win, &c[0], &c[1], &c[2], &c[3])
		last := 0 // the one of those before i that is not at its limit yet
		for i := 1; i < n; i++ {
			scan9Two(kinds, win, &c[last], &c[i])
			if c[last].pos() >= c[last].limit {
				last = i
			}
		}
		scan9One(kinds, win, &c[last])
	} else {
		scan9One(kinds, win, &c[0])
	}

	// Follow two neighbours until they stand at one place. The guess is followed anew from where it began, to count the events
	// before that place.
	cur, skip, base := &c[0], uint(0), uint64(0)
	pieces = s.pieces[:0]
	for j := 1; j < n; j++ {
		next := &c[j]
		stop := next.limit
		g := &s.guess
		g.acc = next.start
		skipped := uint(0)
		for cur.pos() != g.pos() && cur.pos() < stop && g.pos() < stop {
			if cur.pos() < g.pos() {
				cur.to(kinds, win, cur.pos()+1)
			} else {
				g.ev, g.n = cur.ev, cur.n // behind cur's events nothing is kept
				g.to(kinds, win, g.pos()+1)
				skipped += g.n - cur.n
			}
		}
		if cur.pos() != g.pos() {
			cur.to(kinds, win, stop)
			continue
		}
		pieces = append(pieces, piece{events: cur.ev[skip:cur.n], base: base})
		base += cur.acc>>scanTime - g.acc>>scanTime
		cur, skip = next, skipped
	}
	cur.tail(kinds, win, size)
	pieces = append(pieces, piece{events: cur.ev[skip:cur.n], base: base})
	return cur.acc + base<<scanTime, pieces
}

// tail goes on to the stream's end, as long as entries are wholly before it.
func (c *chain) tail(kinds *scan9Kinds, win *window, size uint64) {
	for c.pos() < size {
		before := *c
		if c.to(kinds, win, c.pos()+1); c.pos() > size {
			*c = before
			return
		}
	}
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
	w.CU, w.SIMD, w.Slot, w.Lanes = uint8(at), uint8(at>>8), uint8(at>>16), uint8(at>>24)
	w.ME, w.Pipe = uint8(raw>>18&3), uint8(raw>>16&3)
}

// fast9 decodes one window of a GFX9 stream, of which size bytes are the stream's.
func (d *WaveDecoder) fast9(s *scanBuffers, win *window, buf []byte, size int, final bool) (more bool) {
	at := d.pos / 8
	if d.walk != nil {
		return d.walk9(s, win, buf, size, final)
	}
	end, pieces := s.scanWindow(waveKinds9, win, 0, uint64(size/2))
	waves, n := d.roomFor(pieces)
	// Its origin is the time at the window's start, and what TIME_RESETs added since.
	r := waveRun{live: d.live, waves: waves, n: n, origin: d.now, first: (d.base + int64(at)) * 8, runs: d.runs}
	var p Packet
	for _, piece := range pieces {
		for events := piece.events; ; events = events[1:] {
			events = events[r.gfx9(win, events, Cycles(piece.base)*4):]
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
			d.now, d.pos, d.res.Waves, d.open = now, (at+i)*8, r.waves[:r.n], d.open+r.open
			r.open = 0
			if !d.next(&p, buf, d.pos, final) { // a TIME_RESET whose TIME is to come
				return false
			}
			p.Off += d.base * 8
			d.token(&p)
			r.waves, r.n = d.res.Waves[:len(waves)], len(d.res.Waves)
			if w&15 == 0 { // only MISCs change time but by their own delta
				r.origin += d.now - now - Cycles(w>>4&0xff)*4
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
	if w&0xe00f != misc9TimeReset<<13 || d.look != 0 {
		return 0, false
	}
	stamped := now + Cycles(w>>4&0xff)*4
	ts, found, on := nextTime(buf, i+2, i+2+lookAhead, final)
	if on >= 0 {
		return 0, false
	}
	if found {
		by = d.reset(stamped, ts) - stamped
	}
	return by, true
}
