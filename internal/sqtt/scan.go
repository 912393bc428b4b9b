package sqtt

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// The fast path reads a stream in two passes over blocks that stay in the first-level cache. The first, scanning, only
// finds where the tokens of interest (events) are and when: it takes a table's word for up to four tokens at once and has no
// branch but its loop. The second handles the events.
//
// A scan's position and time share one word, so that one addition advances both:
//
//	bits 0..15   position in the window, in nibbles (GFX9: in 16-bit units)
//	bits 22..63  time since the window's start in cycles (GFX9: in 4 cycles)
//
// and so does a table entry:
//
//	bits 0..4    length of the entry's tokens, in nibbles
//	bits 22..30  their time
//	bit  31      the last token is an event, and only NOPs stand before it
const (
	scanTime  = 22
	scanEvent = 31
)

const (
	windowBytes = 16 << 10
	windowSlack = 32 // bytes beyond the window that loads and tokens may touch
	windowTail  = 32 // units at a window's end where no scan starts blindly: longer than any entry's tokens and key
	maxEvents   = 2 * windowBytes
)

type (
	window    [windowBytes + windowSlack]byte
	scanTable [1 << 16]uint32
	eventList [maxEvents]uint64 // scan words before the event, and before the NOPs in front of it
)

// newScanTable makes the table that scans a family's tokens by the next 16 bits, bytes swapped: bits 8..11, which most tokens
// leave open, are the index's lowest, so that few cache lines hold what streams use. isEvent says which kinds are events.
func newScanTable(f gpu.Family, isEvent func(Kind) bool) *scanTable {
	keys := keysOf(f)
	tab := new(scanTable)
	for key := range uint32(len(tab)) {
		var pos, time, flags uint32
		nops := true
		for pos+4 <= 16 {
			rest, have := key>>pos, 16-pos
			if rest&15 == 0 {
				pos += 4
				continue
			}
			l := &keys[rest&0xff]
			event := isEvent(l.kind)
			if have < 8 || uint32(l.lo+l.w) > have || !nops && event { // the time is beyond the key
				break
			}
			pos += uint32(max(l.bits, 4))
			time += rest>>l.lo&(1<<l.w-1) + uint32(l.addend)
			nops = false
			if event {
				flags |= 1 << scanEvent
				break
			}
		}
		tab[bits.ReverseBytes16(uint16(key))] = pos/4 | time<<scanTime | flags
	}
	return tab
}

// waveEvents are the kinds that waves, markers and losses need. Unknown keys have the zero kind.
func waveEvents(k Kind) bool {
	switch k {
	case KindWaveStart, KindWaveStartExt, KindWaveEnd, KindTimestamp, KindHeader, KindUnknown:
		return true
	}
	return false
}

// scanBuffers are what one decoder scans with.
type scanBuffers struct {
	win    window
	chains [scanChains]chain
	guess  chain
	events [scanChains]eventList
	pieces [scanChains]piece
	lanes  *laneScan
}

var scanPool = sync.Pool{New: func() any { return new(scanBuffers) }}

// piece is a run of events whose times are from base on.
type piece struct {
	events []uint64
	base   uint64 // scan time to add
}

// chain is one scan: it stands at acc and stops at or behind limit. Its events are ev[:n].
type chain struct {
	acc, limit uint64
	ev         *eventList
	n          uint
	start      uint64
}

func (c *chain) pos() uint64 { return c.acc & (1<<16 - 1) }

// scanner is how a family's windows are scanned. Units are nibbles, or 16 bits on GFX9. Scans collect MISC stall flags.
type scanner struct {
	// one scans to the chain's limit, two and four until one of the chains reaches its own. One scan waits for its own loads
	// most of the time; four take hardly longer.
	one  func(win *window, c *chain) (stall uint32)
	two  func(win *window, a, b *chain) (stall uint32)
	four func(win *window, a, b, c, d *chain) (stall uint32)
}

// to scans to a limit.
func (sc *scanner) to(win *window, c *chain, limit uint64) (stall uint32) {
	c.limit = limit
	return sc.one(win, c)
}

const scanChains = 4

// scanWindow scans the tokens of the first size units of a window, from unit start on. In a full window it leaves the last few
// to the next one. It gives the scan word at the end, the events in one or more pieces, and the MISC stall flags seen (those of
// bytes that turned out to be no token among them).
//
// The window's quarters are scanned at the same time, all but the first from a guess: where they begin. Token streams find
// their step by themselves: the scan that comes out of one quarter soon stands where the next one's guess went, and from
// there on all that the guess led to holds, with another base for its times. Where they do not meet, the scan goes on alone
// to the next quarter.
func (s *scanBuffers) scanWindow(sc *scanner, win *window, start, size uint64) (end uint64, pieces []piece, stall uint32) {
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
		stall |= sc.four(win, &c[0], &c[1], &c[2], &c[3])
		last := 0 // the one of those before i that is not at its limit yet
		for i := 1; i < n; i++ {
			stall |= sc.two(win, &c[last], &c[i])
			if c[last].pos() >= c[last].limit {
				last = i
			}
		}
		stall |= sc.one(win, &c[last])
	} else {
		stall |= sc.one(win, &c[0])
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
				stall |= sc.to(win, cur, cur.pos()+1)
			} else {
				g.ev, g.n = cur.ev, cur.n // behind cur's events nothing is kept
				sc.to(win, g, g.pos()+1)
				skipped += g.n - cur.n
			}
		}
		if cur.pos() != g.pos() {
			stall |= sc.to(win, cur, stop)
			continue
		}
		pieces = append(pieces, piece{events: cur.ev[skip:cur.n], base: base})
		base += cur.acc>>scanTime - g.acc>>scanTime
		cur, skip = next, skipped
	}
	sc.tail(win, cur, size)
	pieces = append(pieces, piece{events: cur.ev[skip:cur.n], base: base})
	return cur.acc + base<<scanTime, pieces, stall
}

// tail goes on to the stream's end, as long as entries are wholly before it.
func (sc *scanner) tail(win *window, c *chain, size uint64) {
	for c.pos() < size {
		before := *c
		if stall := sc.to(win, c, c.pos()+1); c.pos() > size || stall != 0 {
			*c = before
			return
		}
	}
}

// load is 28 bits or more from a nibble on.
func (w *window) load(nibble uint16) uint32 {
	i := nibble >> 1 & (windowBytes - 1)
	return binary.LittleEndian.Uint32(w[i:i+4]) >> (nibble & 1 * 4)
}

// load64 is 60 bits or more from a nibble on; 64 on a byte boundary.
func (w *window) load64(nibble uint16) uint64 {
	i := nibble >> 1 & (windowBytes - 1)
	return binary.LittleEndian.Uint64(w[i:i+8]) >> (nibble & 1 * 4)
}

// skipAllNops is the first nibble from the given one on that is not 0, or the window's end.
func (w *window) skipAllNops(nibble uint16) uint16 {
	for nibble < 2*windowBytes && w.load(nibble)&15 == 0 {
		nibble++
	}
	return nibble
}
