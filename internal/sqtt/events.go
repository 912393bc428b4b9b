package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// eventKind is what an event of an RDNA window is. Scanning puts it into the event's word, so that nobody has to look at the token
// for it:
//
//	bits 0..15   where the token begins, in nibbles of the window
//	bits 16..21  the kind
//	bits 22..63  time since the window's start in cycles, with the token's delta
//
// That is what the scan word at the entry's end makes when laneEntry.back is added, which is negative: it borrows a cycle, by which
// the scan words of lanes are ahead.
type eventKind uint8

const eventKindAt = 16

// From eventRare on they stand in the order of their handlers; see laneScan.handle.
const (
	eventPiece eventKind = numEventKinds - 11 + iota // no token: behind a piece's last event
	eventInst                                        // records
	eventImmed
	eventVALU
	eventRare // for a closer look
	eventReady
	eventTime
	eventReg
	eventMisc
	eventEnd
	eventStart

	numEventKinds = 64
	eventNone     = eventKind(0)
)

func eventKindOf(e uint64) eventKind { return eventKind(e >> eventKindAt % numEventKinds) }

func timeOf(e uint64) Cycles { return Cycles(e >> scanTime) }

// waveEventOf says which tokens waves, markers and losses need.
func waveEventOf(k Kind) eventKind {
	switch {
	case k == KindWaveStart:
		return eventStart
	case k == KindWaveEnd:
		return eventEnd
	case k == KindMisc:
		return eventMisc
	case k == KindTimestamp:
		return eventTime
	case waveEvents(k):
		return eventRare
	}
	return eventNone
}

// walkEventOf says which tokens of a family the walk needs: nearly all.
func walkEventOf(f gpu.Family) func(Kind) eventKind {
	return func(k Kind) eventKind {
		switch {
		case k == KindReg:
			return eventReg
		case k == KindValuInst:
			return eventVALU
		case k == KindImmOne:
			return eventImmed
		case k == KindInst:
			return eventInst
		case k == KindWaveReady && f == gpu.GFX12:
			return eventReady
		case waveEventOf(k) == eventNone && walkEvents(k):
			return eventRare
		}
		return waveEventOf(k)
	}
}
