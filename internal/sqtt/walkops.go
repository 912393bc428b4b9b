package sqtt

import (
	"github.com/rigprof/rigprof/internal/gpu"
)

// walkOps says what a record means to the walk.
type walkOps struct {
	mask [numEventKinds]uint32 // of a token's bits from opAt on, those that say which of ops it is
	slot [numEventKinds]uint8  // the token's bit where the slot begins
	ops  [numOps]opInst        // by the token's lowest two bits, which differ between the kinds, and above by those
}

const (
	opAt     = 12
	numOps   = 4 << 8
	opSize   = 8 // bytes of an opInst
	lowImmed = 1 // the lowest two bits of an IMM_ONE
	lowInst  = 2 // of an INST
	lowVALU  = 3 // of a VALU_INST
)

// opInst is the last eight bytes of the Inst that a record makes. What is behind the Inst's fields says more of it.
type opInst struct {
	Category
	_      bool  // its newPC: never
	clocks uint8 // with a zero behind it
	_      [4]uint8
	how    opHow
}

// opHow says how a record moves a wave on. In one of the bits stands where that is in tracedWave.ready and codeNode.succ.
type opHow uint8

const (
	opTaken  opHow = 4    // a branch is taken
	opNoUnit opHow = 8    // it waited from readyNoUnit on
	opOther  opHow = 0x80 // it does not: it is work of another SIMD
	opRare   opHow = 0x81 // it goes the long way
)

// of is what a record means.
func (ops *walkOps) of(kind eventKind, token uint64) *opInst {
	x := uint32(token)
	return &ops.ops[(x>>opAt&ops.mask[kind]<<2|x&3)%numOps]
}

// slotOf is the slot that a record's token names.
func (ops *walkOps) slotOf(kind eventKind, token uint64) uint32 {
	return uint32(token) >> (ops.slot[kind] & 31) & 31
}

func newWalkOps(f gpu.Family) *walkOps {
	tab := new(walkOps)
	tab.mask[eventInst] = 255
	tab.slot = [numEventKinds]uint8{eventVALU: 7, eventImmed: 7, eventInst: 8}
	if f == gpu.GFX12 {
		tab.slot[eventInst] = 7
	}
	for i := range tab.ops {
		op, o, info := i>>2, &tab.ops[i], opInfo{}
		switch {
		case i == lowVALU:
			info = opInfo{CategoryVALU, 1}
		case i == lowImmed:
			info = opInfo{CategoryImmed, 1}
		case i&3 != lowInst:
			o.how = opRare // never
			continue
		case f == gpu.GFX12:
			info = gfx12Ops[op]
		default:
			op >>= 1 // the slot's highest bit
			info = gfx11Ops[op]
		}
		o.Category, o.clocks = info.category, info.clocks
		switch {
		case info.category == CategoryNone || info.category == categoryOther:
			o.how = opOther
		case i&3 == lowInst && op == newPCOp || info.clocks >= clocksDerated || info.category > categoryOther:
			o.how = opRare
		case info.category == CategoryJump:
			o.how = opTaken
		case info.category == CategoryImmed:
			o.clocks, o.how = 1, opNoUnit
		}
	}
	return tab
}
