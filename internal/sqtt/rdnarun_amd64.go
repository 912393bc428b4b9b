//go:build !purego

package sqtt

import (
	"math"

	"golang.org/x/sys/cpu"
)

// fastPairs says whether fields can be taken out of pairs quickly.
var fastPairs = cpu.X86.HasBMI2 && !slowPEXT()

// slowPEXT says whether the processor has PEXT as microcode, which takes longer than all that it would save: AMD's before Zen 3.
func slowPEXT() bool {
	_, b, c, d := cpuid(0)
	amd := b == 0x68747541 && d == 0x69746e65 && c == 0x444d4163   // AuthenticAMD
	hygon := b == 0x6f677948 && d == 0x6e65476e && c == 0x656e6975 // HygonGenuine
	a, _, _, _ := cpuid(1)
	family := a>>8&15 + a>>20&255
	return (amd || hygon) && family < 0x19
}

// cpuid is the instruction of that name.
func cpuid(leaf uint32) (a, b, c, d uint32)

// pairTables say where fields stand in laneNibbles.
type pairTables struct {
	of   *waveBits // the family's; nil: none are there yet
	from *walkOps  // of which records are there

	// Fields, in the eight pairs before the end of an event's entry, with which its token ends; of TIMESTAMPs and REGs in either
	// eight of the token's pairs.
	raw               uint64 // all of 32 bits
	startKey, endKey  uint64
	ready             uint64
	regAddr, regQueue uint64 // of the lower half
	timeLow, timeHigh uint64 // of either half

	// As walkOps has them, by an event's code.
	opMask, slotMask [numEventCodes]uint64

	ops   [numOps]opInst
	begun [numBegun]uint64 // see waveBits.newBegun
}

// Bits of a token in its first four pairs and, of a MISC, in its last two.
const (
	pairLost       = 1 << (2*8 + 4)     // bit 8
	pairRealtime11 = 1 << (2*8 + 4 + 1) // bit 9
	pairRealtime12 = 1 << (1*8 + 4 + 3) // bit 7
	pairMisc       = miscSave>>16<<4 | (miscStallBegin|miscStallEnd)>>20<<12
)

// inPairs is where bits stand in eight pairs.
func inPairs(bits uint32) uint64 { return spread(uint64(bits)) << 4 }

// beforeEnd is where bits of such a token, of at most 32, stand in the eight pairs before its entry's end.
func (c eventCode) beforeEnd(bits uint32) uint64 {
	return inPairs(bits) << (8 * (8 - c.form().nibbles))
}

// make makes the tables those of a family and, unless ops is nil, of its records.
func (t *pairTables) make(b *waveBits, begun *[numBegun]uint64, ops *walkOps) {
	if t.of != b {
		t.of, t.from = b, nil // field by field: a whole one would first be made on the stack
		t.begun = *begun
		t.raw = inPairs(math.MaxUint32)
		t.startKey = codeStart.beforeEnd(b.low[0]<<7 | b.high[0]<<8)
		t.endKey = codeEnd.beforeEnd(b.low[1]<<8 | b.high[1]<<9)
		t.ready = codeReady.beforeEnd(0xffff << 8)
		t.regAddr, t.regQueue = inPairs(0xffff<<16), inPairs(15<<7)
		t.timeLow, t.timeHigh = inPairs(0xfffff<<12), inPairs(uint32(b.delta>>20))
	}
	if ops == nil || t.from == ops {
		return
	}
	t.from = ops
	t.ops = ops.ops
	for i := range t.opMask {
		code := eventCode(i)
		kind := code.form().kind
		t.opMask[i] = code.beforeEnd(ops.mask[kind]<<opAt | 3)
		t.slotMask[i] = code.beforeEnd(31 << ops.slot[kind])
	}
}

// take is takeGeneric with all that events go by in registers. There is room for a wave more than the window may have.
func (r *rdnaRun) take() bool {
	if !fastPairs {
		return r.takeGeneric()
	}
	s := r.scan
	var nodes *codeNode
	if r.walk != nil {
		nodes = &r.walk.cache.nodes[0]
	}
	var began, wrote int
	if r.bits == &waveBits12 {
		began, wrote = rdnaRun12(r, &s.events[r.next], r.now(0), &r.waves[r.n], nodes)
	} else {
		began, wrote = rdnaRun11(r, &s.events[r.next], r.now(0), &r.waves[r.n], nodes)
	}
	ended := wrote / waveSize
	r.n += ended
	r.open += began - ended
	return !r.atEnd()
}

const waveSize = 24 // bytes of a Wave

// rdnaRun11 takes the events from the given one on, whose piece's times are from base on, up to one that is rare, and writes waves
// from next on, for which there must be room. It leaves in r where that is, and tells how many waves began and how many bytes it
// wrote.
//
//go:noescape
func rdnaRun11(r *rdnaRun, events *uint64, base Cycles, next *Wave, nodes *codeNode) (began, wrote int)

// rdnaRun12 does the same with GFX12's tokens.
//
//go:noescape
func rdnaRun12(r *rdnaRun, events *uint64, base Cycles, next *Wave, nodes *codeNode) (began, wrote int)

// handle finds the handlers, once: each kind's code begins at a multiple of handlerSize in its run.
func (s *laneScan) handle() {
	if s.handlers[0][0] != 0 {
		return
	}
	const handlerSize = 1024
	run11, run12 := rdnaRuns()
	at := [numEventKinds]uintptr{
		eventInst: 1, eventVALU: 1, eventImmed: 1, eventRare: 2, eventReady: 3, eventTime: 4, eventReg: 5, eventMisc: 6, eventEnd: 7,
		eventStart: 8, eventPiece: 9,
	}
	for b := range s.handlers[0] {
		code := eventCode(b)
		at11 := at[code.form().kind]
		at12 := at11
		switch code {
		case codeTime12: // GFX11's
			at12 = at[eventRare]
		case codeTime16:
			at11 = at[eventRare]
		}
		s.handlers[0][b], s.handlers[1][b] = run11+at11*handlerSize, run12+at12*handlerSize
	}
}

// rdnaRuns are where the runs' code begins.
func rdnaRuns() (run11, run12 uintptr)
