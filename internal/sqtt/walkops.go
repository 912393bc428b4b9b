package sqtt

import (
	"math"

	"github.com/rigprof/rigprof/internal/gpu"
)

// walkOps says what a record means to the walk.
type walkOps struct {
	row    [numEventKinds]opRow  // which of ops it is
	double [numEventKinds]uint32 // 0: the slot is the token's bits 8..12. All ones: 7..11
	ops    [numOps]opInst
}

// opRow is the row of ops that a token has: its bits from opShift on, masked, and base, in bytes.
type opRow struct{ mask, base uint32 }

// Rows of ops: 0..255 are INST's, by bits 12..19.
const (
	opRowVALU = 256 + iota
	opRowImmed
	numOps

	opSize  = 8 // bytes of an opInst
	opShift = 12 - 3
)

// opInst is the last eight bytes of the Inst that a record makes. What is behind the Inst's fields says more of it.
type opInst struct {
	Category
	_      bool // its newPC: never
	clocks uint8
	succ   uint8 // where in codeNode.succ the wave goes on: 4 where a branch is taken
	ready  int8  // where in tracedWave.ready the time is from which it waited; else opOther, opRare
	_      [3]uint8
}

// Of records that are not plain.
const (
	opOther = -1 - iota // none: it is work of another SIMD
	opRare              // for the long way
)

// of is the row that a record has in ops.
func (ops *walkOps) of(kind eventKind, token uint64) *opInst {
	r := &ops.row[kind%numEventKinds]
	return &ops.ops[(uint32(token)>>opShift&r.mask+r.base)/opSize]
}

// slot is the slot that a record's token names.
func (ops *walkOps) slot(kind eventKind, token uint64) uint32 {
	x := uint32(token)
	return (x + x&ops.double[kind%numEventKinds]) >> 8 & 31
}

func newWalkOps(f gpu.Family) *walkOps {
	tab := new(walkOps)
	tab.row[eventVALU].base, tab.double[eventVALU] = opRowVALU*opSize, math.MaxUint32
	tab.row[eventImmed].base, tab.double[eventImmed] = opRowImmed*opSize, math.MaxUint32
	tab.row[eventInst].mask = 255 * opSize
	if f == gpu.GFX12 {
		tab.double[eventInst] = math.MaxUint32
	}
	for i := range tab.ops {
		op, info := i, opInfo{category: CategoryImmed}
		switch {
		case i == opRowVALU:
			info = opInfo{CategoryVALU, 1}
		case i < 256 && f == gpu.GFX12:
			info = gfx12Ops[i]
		case i < 256:
			op = i >> 1
			info = gfx11Ops[op]
		}
		o := &tab.ops[i]
		o.Category, o.clocks = info.category, info.clocks
		switch {
		case info.category == CategoryNone || info.category == categoryOther:
			o.ready = opOther
		case op == newPCOp || info.clocks >= clocksDerated || info.category > categoryOther:
			o.ready = opRare
		case info.category == CategoryJump:
			o.succ = 4
		case info.category == CategoryImmed:
			o.clocks, o.ready = 1, 8*readyNoUnit
		}
	}
	return tab
}
