package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// eventKind is what an event of an RDNA window is.
type eventKind uint8

const (
	eventNone  eventKind = iota
	eventPiece           // no token: behind a piece's last event
	eventRare            // for a closer look
	eventInst            // records
	eventImmed
	eventVALU
	eventReady
	eventTime
	eventReg
	eventMisc
	eventEnd
	eventStart
	numEventKinds
)

// eventCode is an event's kind, and how far its token begins before the end of the entry that it is in. Scanning puts it into
// the event's word, so that nobody has to look at the token for it.
type eventCode uint8

const (
	eventCodeAt   = 16
	eventCodeMask = (numEventCodes - 1) << eventCodeAt

	firstCode     = 32 // entries without an event have the code 0
	numEventCodes = 2 * firstCode
)

// eventForm is what a code says: nibbles from the token's begin to the entry's end.
type eventForm struct {
	kind    eventKind
	nibbles uint8
}

// eventForms has the forms by code less firstCode: first those of tokens with a handler of their own, then what is rare, by
// nibbles.
var eventForms = func() (forms [firstCode]eventForm) {
	n := copy(forms[:], []eventForm{
		codePiece - firstCode:  {eventPiece, 0},
		codeInst - firstCode:   {eventInst, 5},
		codeVALU - firstCode:   {eventVALU, 3},
		codeVALU4 - firstCode:  {eventVALU, 4}, // with a NOP behind it
		codeImmed - firstCode:  {eventImmed, 3},
		codeImmed4 - firstCode: {eventImmed, 4},
		codeReady - firstCode:  {eventReady, 6},
		codeTime12 - firstCode: {eventTime, 12}, // GFX11
		codeTime16 - firstCode: {eventTime, 16}, // GFX12
		codeReg - firstCode:    {eventReg, 16},
		codeMisc - firstCode:   {eventMisc, 6},
		codeEnd - firstCode:    {eventEnd, 5},
		codeStart - firstCode:  {eventStart, 8},
	})
	for i := range forms[n:] {
		forms[n+i] = eventForm{eventRare, uint8(i)}
	}
	return forms
}()

const (
	codePiece eventCode = firstCode + iota
	codeInst
	codeVALU
	codeVALU4
	codeImmed
	codeImmed4
	codeReady
	codeTime12
	codeTime16
	codeReg
	codeMisc
	codeEnd
	codeStart
	codeRare // of no nibbles
)

// eventCodeOf is the code of an event whose token begins so many nibbles before its entry's end. A token that is shorter or longer
// than handlers know is something rare.
func eventCodeOf(kind eventKind, nibbles int) eventCode {
	for i, f := range eventForms {
		if f == (eventForm{kind, uint8(nibbles)}) {
			return firstCode + eventCode(i)
		}
	}
	return codeRare + eventCode(nibbles)
}

func (c eventCode) form() eventForm { return eventForms[c%firstCode] }

func eventCodeIn(e uint64) eventCode { return eventCode(e >> eventCodeAt % numEventCodes) }

// nibbleOf is where an event's token begins in its window.
func nibbleOf(e uint64) uint16 { return uint16(e) - uint16(eventCodeIn(e).form().nibbles) }

func timeOf(e uint64) Cycles { return Cycles(e >> laneTime) }

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
