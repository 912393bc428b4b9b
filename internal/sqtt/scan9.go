package sqtt

import (
	"encoding/binary"
	"math/bits"
)

// waveKinds9 are for waves and losses of GFX9 streams, walkKinds9 for what the walk needs besides.
var (
	waveKinds9 = newScan9Kinds(waveEvents)
	walkKinds9 = newScan9Kinds(walkEvents)
)

// GFX9 tokens are whole 16-bit units, most of them MISCs that only pass time. A step takes up to three of those at once
// and one token of any kind.
//
// scan9Kinds says by a token's low four bits
//
//	bits 0..2    its length in units
//	bits 4..11   mask of its time in 4 cycles, from bit 4 of the token on
//	bits 16..23  whether it is an event, by the token's bits 13..15
type scan9Kinds struct {
	step [16]uint32

	// The same for blocks. Of long bits 7, 6 and 5 are set for lengths of at least 2, 3 and 4 units, bit 4 for a TIME.
	long, event, time [16]uint8
}

func newScan9Kinds(isEvent func(Kind) bool) *scan9Kinds {
	t := new(scan9Kinds)
	for key := range t.step {
		l := &gfx9Keys[key]
		units := l.bits / 16
		t.time[key] = 1<<l.w - 1
		switch {
		case l.kind == KindMisc:
			t.event[key] = 1<<misc9TimeReset | 1<<misc9Lost | 1<<misc9StallBegin | 1<<misc9StallEnd
		case !isEvent(l.kind) || l.kind == KindReg: // the walk takes no GFX9 REG
		case l.kind == KindRegCs || l.kind == KindRegCsPriv: // bits 9..15 are their address, of which the first 16 are of use
			t.event[key] = 1 << 0
		default:
			t.event[key] = 0xff
		}
		t.step[key] = uint32(units) | uint32(t.time[key])<<4 | uint32(t.event[key])<<16
		t.long[key] = 0xe0 << (4 - units)
		if l.kind == KindTime {
			t.long[key] |= 1 << 4
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
	return acc + uint64(run>>4) + (times * (1 | 1<<16 | 1<<32) >> 32 & 0xffff << scanTime), w, kinds.step[w&15]
}

// step9 is what a token and its kind add to a scan word: its time and its length; and 1 for an event.
func step9(token uint64, e uint32) (time, length uint64, event uint) {
	return token & uint64(e) >> 4 & 0xff << scanTime, uint64(e & 7), uint(e >> (16 + token>>13&7) & 1)
}

// scan9One scans to the chain's limit, scan9Two and scan9FourGeneric until one of the chains reaches its own. One scan waits for its
// own loads most of the time; four take hardly longer.
func scan9One(kinds *scan9Kinds, win *window, c *chain) {
	acc, limit, ev, n := c.acc, c.limit, c.ev, c.n
	_, _ = win[0], ev[0]
	for uint64(uint16(acc)) < limit {
		at, token, e := run9(kinds, win, acc)
		time, length, event := step9(token, e)
		ev[n%maxEvents] = at + time
		acc, n = at+time+length, n+event
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
		time, length, event := step9(atok, ae)
		aev[an%maxEvents] = at + time
		a, an = at+time+length, an+event
		time, length, event = step9(btok, be)
		bev[bn%maxEvents] = bt + time
		b, bn = bt+time+length, bn+event
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
		time, length, event := step9(atok, ae)
		aev[an%maxEvents] = at + time
		a, an = at+time+length, an+event
		time, length, event = step9(btok, be)
		bev[bn%maxEvents] = bt + time
		b, bn = bt+time+length, bn+event
		time, length, event = step9(ctok, ce)
		cev[cn%maxEvents] = ct + time
		c, cn = ct+time+length, cn+event
		time, length, event = step9(dtok, de)
		dev[dn%maxEvents] = dt + time
		d, dn = dt+time+length, dn+event
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

// byChains scans the tokens of the first size units of a window. In a full window it leaves the last few to the next one. It
// gives the scan word at the end and the events in one or more pieces. The window's quarters are scanned at the same time, as
// laneScan does with RDNA windows.
func (s *scanBuffers) byChains(kinds *scan9Kinds, win *window, size uint64) (end uint64, pieces []piece) {
	const least = 256 // units that are worth a scan of their own
	limit := size - min(size, windowTail)
	c := &s.chains
	for i := range c {
		c[i] = chain{ev: &s.events[i], limit: limit}
	}
	n := 1
	if quarter := limit / scanChains &^ 63; quarter >= least {
		n = scanChains
		for i := 1; i < n; i++ {
			c[i].acc = uint64(i) * quarter
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
