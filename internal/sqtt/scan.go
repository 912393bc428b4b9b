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
//	bits 19..21  set on a MISC, whose save and stall flags are there
//	bits 22..30  their time
//	bit  31      the last token is an event, and only NOPs stand before it
const (
	scanTime   = 22
	scanAdd    = 1<<31 - 1<<scanTime | 1<<5 - 1
	scanStalls = 7 << 19
	scanEvent  = 31
)

const (
	windowBytes = 16 << 10
	windowSlack = 16 // bytes beyond the window that loads and tokens may touch
	windowTail  = 32 // units at a window's end where no scan starts blindly: longer than any entry's tokens and key
	maxEvents   = 2 * windowBytes
)

type (
	window    [windowBytes + windowSlack]byte
	scanTable [1 << 16]uint32
	eventList [maxEvents]uint64 // scan words before the event, and before the NOPs in front of it
)

// newScanTable makes the table that scans a family's tokens by the next 16 bits. isEvent says which kinds are events.
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
			if have < 8 || uint32(l.lo+l.w) > have || // the time is beyond the key
				!nops && event || pos > 0 && l.kind == KindMisc { // its flags must stay in their place
				break
			}
			pos += uint32(max(l.bits, 4))
			time += rest>>l.lo&(1<<l.w-1) + uint32(l.addend)
			nops = false
			if event {
				flags |= 1 << scanEvent
				break
			}
			if l.kind == KindMisc {
				flags |= scanStalls
			}
		}
		tab[key] = pos/4 | time<<scanTime | flags
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
	win  window
	a, b eventList
}

var scanPool = sync.Pool{New: func() any { return new(scanBuffers) }}

// piece is a run of events whose times are from base on.
type piece struct {
	events []uint64
	base   uint64 // scan time to add
}

// scanner is how a family's windows are scanned. Units are nibbles, or 16 bits on GFX9.
type scanner struct {
	// one scans from acc until the position limit and appends events to ev from n on. stall collects MISC stall flags.
	one func(win *window, acc, limit uint64, ev *eventList, n uint) (end uint64, events uint, stall uint32)
	// two does so at two places at once until one of them reaches its limit. One scan waits for its own loads most of
	// the time; two take hardly longer.
	two func(win *window, a, alimit uint64, aev *eventList, b, blimit uint64, bev *eventList) (aend uint64, n uint, bend uint64, m uint, stall uint32)
}

// scanWindow scans the tokens of the first size units of a window, from unit start on. In a full window it leaves the last few
// to the next one. It gives the scan word at the end, the events in one or two pieces, and the MISC stall flags seen (those of
// bytes that turned out to be no token among them).
//
// The window's second half is scanned at the same time as the first, from a guess: its middle. Token streams find their
// step by themselves: the scan that comes out of the first half soon stands where the guess went, and from there on all
// that the guess led to holds, with another base for its times. Where they do not meet, the first scan goes on alone.
func (s *scanBuffers) scanWindow(sc *scanner, win *window, start, size uint64) (end uint64, pieces [2]piece, stall uint32) {
	const least = 256 // units that are worth two scans
	limit := max(start, size-min(size, windowTail))
	mid := (start + limit) / 2 &^ 63
	if mid < start+least/2 {
		a, n, stall := sc.one(win, start, limit, &s.a, 0)
		a, n = sc.tail(win, a, size, &s.a, n)
		return a, [2]piece{{events: s.a[:n]}}, stall
	}
	a, n, b, m, stall := sc.two(win, start, mid, &s.a, mid, limit, &s.b)
	var more uint32
	a, n, more = sc.one(win, a, mid, &s.a, n)
	stall |= more
	b, m, more = sc.one(win, b, limit, &s.b, m)
	stall |= more

	// Follow both until they stand at one place. The guess is followed anew from where it began; skip counts its events.
	g, skip := mid, uint(0)
	for uint16(a) != uint16(g) {
		if uint64(uint16(a)) >= limit || uint64(uint16(g)) >= limit {
			a, n, more = sc.one(win, a, limit, &s.a, n)
			a, n = sc.tail(win, a, size, &s.a, n)
			return a, [2]piece{{events: s.a[:n]}}, stall | more
		}
		if uint16(a) < uint16(g) {
			a, n, more = sc.one(win, a, uint64(uint16(a))+1, &s.a, n)
			stall |= more
		} else {
			var events uint
			g, events, _ = sc.one(win, g, uint64(uint16(g))+1, &s.a, n) // behind a's events nothing is kept
			skip += events - n
		}
	}
	b, m = sc.tail(win, b, size, &s.b, m)
	base := a>>scanTime - g>>scanTime
	return b + base<<scanTime, [2]piece{{events: s.a[:n]}, {events: s.b[skip:m], base: base}}, stall
}

// tail goes on from limit to the stream's end, as long as entries are wholly before it.
func (sc *scanner) tail(win *window, acc, size uint64, ev *eventList, n uint) (end uint64, events uint) {
	for uint64(uint16(acc)) < size {
		next, m, stall := sc.one(win, acc, uint64(uint16(acc))+1, ev, n)
		if uint64(uint16(next)) > size || stall != 0 {
			break
		}
		acc, n = next, m
	}
	return acc, n
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

// event is the nibble of an event's token and its low 52 bits. Up to two NOPs stand before it.
func (w *window) event(e uint64) (nibble uint16, raw uint64) {
	raw = w.load64(uint16(e))
	nops := uint(bits.TrailingZeros32(uint32(raw)|1<<12)) &^ 3
	return uint16(e) + uint16(nops>>2), raw >> nops
}

// skipAllNops is the first nibble from the given one on that is not 0, or the window's end.
func (w *window) skipAllNops(nibble uint16) uint16 {
	for nibble < 2*windowBytes && w.load(nibble)&15 == 0 {
		nibble++
	}
	return nibble
}
