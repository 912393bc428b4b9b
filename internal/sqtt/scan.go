package sqtt

import "sync"

// The fast path reads a stream in two passes over windows that stay in the nearest caches. The first, scanning, only
// finds where the tokens of interest (events) are and when: it takes a table's word for up to four tokens at once (GFX9: takes a
// run of MISCs by arithmetic) and has no branch but its loop. The second handles the events.
//
// A scan's position and time share one word, so that one addition advances both:
//
//	bits 0..15   position in the window, in nibbles (GFX9: in 16-bit units)
//	bits 16..21  RDNA: the code of an event
//	bits 24..39  RDNA: events so far
//	bits 22..63  GFX9: time since the window's start in 4 cycles
//	bits 40..63  RDNA: time since the window's start in cycles
//
// and so do what a table's entry adds: the length of its tokens and their time.
const (
	scanTime  = 22 // GFX9
	laneEvent = 24 // RDNA
	laneTime  = 40
)

const (
	windowBytes = 16 << 10
	windowSlack = 32 // bytes beyond the window that loads and tokens may touch
	windowTail  = 32 // units at a window's end where no scan starts blindly: longer than any entry's tokens and key
	maxEvents   = 2 * windowBytes
)

type (
	window    [windowBytes + windowSlack]byte
	eventList [maxEvents]uint64 // GFX9: scan words where the events begin, with their time
)

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
	blocks blockScan9
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
