package sqtt

import (
	"encoding/binary"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// The walk's windows of RDNA streams are scanned as those of waves are (see scanTable), but nearly every other token is an
// event. So an entry may have tokens before its event and NOPs behind, and the scan word that is kept of an event has the
// place where its token begins and the time with its delta. MISCs are events, so scans need not collect their flags.
//
//	bits 0..4    length of the entry's tokens, in nibbles
//	bits 8..12   how many of them from the event's first on
//	bits 22..30  their time
//	bit  31      there is an event
type walkTable [1 << 16]uint32

const (
	walkAdd   = 511<<scanTime | 31
	walkBack  = 8
	walkEvent = 31
)

func newWalkTable(f gpu.Family) *walkTable {
	keys := keysOf(f)
	tab := new(walkTable)
	for key := range uint32(len(tab)) {
		var pos, time, event uint32
		for pos < 16 && event == 0 {
			rest, have := key>>pos, 16-pos
			if rest&15 == 0 {
				pos += 4
				continue
			}
			l := &keys[rest&0xff]
			if have < 8 || uint32(l.lo+l.w) > have {
				break
			}
			if walkEvents(l.kind) || l.kind == KindMisc {
				event = 1<<walkEvent - pos/4<<walkBack
			}
			pos += uint32(max(l.bits, 4))
			time += rest>>l.lo&(1<<l.w-1) + uint32(l.addend)
		}
		for event != 0 && pos < 16 && key>>pos&15 == 0 {
			pos += 4
		}
		if event != 0 {
			event += pos / 4 << walkBack
		}
		tab[key] = pos/4 | time<<scanTime | event
	}
	return tab
}

var (
	walkScanner11 = sync.OnceValue(func() *scanner { return walkScanner(newWalkTable(gpu.GFX11)) })
	walkScanner12 = sync.OnceValue(func() *scanner { return walkScanner(newWalkTable(gpu.GFX12)) })
)

func walkScanner(tab *walkTable) *scanner {
	return &scanner{
		one:  func(win *window, c *chain) uint32 { return walkOne(tab, win, c) },
		two:  func(win *window, a, b *chain) uint32 { return walkTwo(tab, win, a, b) },
		four: func(win *window, a, b, c, d *chain) uint32 { return walkFour(tab, win, a, b, c, d) },
	}
}

func (tab *walkTable) entry(win *window, acc uint64) uint32 {
	i := acc >> 1 & (windowBytes - 1)
	return tab[uint16(binary.LittleEndian.Uint32(win[i:i+4])>>(acc&1*4))]
}

func walkOne(tab *walkTable, win *window, c *chain) (stall uint32) {
	acc, limit, ev, n := c.acc, c.limit, c.ev, c.n
	_, _, _ = tab[0], win[0], ev[0]
	for uint64(uint16(acc)) < limit {
		e := tab.entry(win, acc)
		acc += uint64(e & walkAdd)
		ev[n%maxEvents] = acc - uint64(e>>walkBack&31)
		n += uint(e >> walkEvent)
	}
	c.acc, c.n = acc, n
	return 0
}

func walkTwo(tab *walkTable, win *window, ca, cb *chain) (stall uint32) {
	a, al, aev, an := ca.acc, ca.limit, ca.ev, ca.n
	b, bl, bev, bn := cb.acc, cb.limit, cb.ev, cb.n
	_, _, _, _ = tab[0], win[0], aev[0], bev[0]
	for uint64(uint16(a)) < al && uint64(uint16(b)) < bl {
		ae, be := tab.entry(win, a), tab.entry(win, b)
		a += uint64(ae & walkAdd)
		b += uint64(be & walkAdd)
		aev[an%maxEvents] = a - uint64(ae>>walkBack&31)
		bev[bn%maxEvents] = b - uint64(be>>walkBack&31)
		an += uint(ae >> walkEvent)
		bn += uint(be >> walkEvent)
	}
	ca.acc, ca.n, cb.acc, cb.n = a, an, b, bn
	return 0
}

func walkFour(tab *walkTable, win *window, ca, cb, cc, cd *chain) (stall uint32) {
	a, al, aev, an := ca.acc, ca.limit, ca.ev, ca.n
	b, bl, bev, bn := cb.acc, cb.limit, cb.ev, cb.n
	c, cl, cev, cn := cc.acc, cc.limit, cc.ev, cc.n
	d, dl, dev, dn := cd.acc, cd.limit, cd.ev, cd.n
	_, _, _, _, _, _ = tab[0], win[0], aev[0], bev[0], cev[0], dev[0]
	for uint64(uint16(a)) < al && uint64(uint16(b)) < bl && uint64(uint16(c)) < cl && uint64(uint16(d)) < dl {
		ae, be, ce, de := tab.entry(win, a), tab.entry(win, b), tab.entry(win, c), tab.entry(win, d)
		a += uint64(ae & walkAdd)
		b += uint64(be & walkAdd)
		c += uint64(ce & walkAdd)
		d += uint64(de & walkAdd)
		aev[an%maxEvents] = a - uint64(ae>>walkBack&31)
		bev[bn%maxEvents] = b - uint64(be>>walkBack&31)
		cev[cn%maxEvents] = c - uint64(ce>>walkBack&31)
		dev[dn%maxEvents] = d - uint64(de>>walkBack&31)
		an += uint(ae >> walkEvent)
		bn += uint(be >> walkEvent)
		cn += uint(ce >> walkEvent)
		dn += uint(de >> walkEvent)
	}
	ca.acc, ca.n, cb.acc, cb.n = a, an, b, bn
	cc.acc, cc.n, cd.acc, cd.n = c, cn, d, dn
	return 0
}
