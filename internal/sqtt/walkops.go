package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// walkOps says what a token means to the walk.
type walkOps struct {
	kind [256]opKind // by a token's low byte
	slot [256]uint8  // likewise, the bit where a record's slot begins
	row  [256]opRow  // likewise, which of ops it is
	ops  [numOps]opInst
}

// opRow is the row of ops that a token has: its bits from 12 on, masked, and base.
type opRow struct{ mask, base uint32 }

// Rows of ops: 0..255 are INST's, by bits 12..19.
const (
	opRowVALU = 256 + iota
	opRowImmed
	numOps
)

// opInst is the last eight bytes of the Inst that a record makes. What is behind the Inst's fields says more of it.
type opInst struct {
	Category
	_      bool // its newPC: never
	clocks uint8
	taken  uint8 // 1: a branch is
	noUnit uint8 // readyUnit or readyNoUnit
	kind   opKind
	_      [2]uint8
}

type opKind uint8

const (
	opPlain opKind = iota // a record of the table's
	opOther               // none: it is work of another SIMD
	opReady               // GFX12's WAVE_READY
	opStart
	opEnd
	opReg
	opMisc
	opTime
	opRare // for the long way
)

// of is the row that a token has in ops.
func (ops *walkOps) of(token uint64) *opInst {
	r := &ops.row[token&255]
	return &ops.ops[uint32(token)>>12&r.mask+r.base]
}

func newWalkOps(f gpu.Family) *walkOps {
	tab := new(walkOps)
	for b := range tab.kind {
		tab.slot[b] = 7
		kind, row := opRare, opRow{}
		switch keysOf(f)[b].kind {
		case KindValuInst:
			kind, row.base = opPlain, opRowVALU
		case KindImmOne:
			kind, row.base = opPlain, opRowImmed
		case KindInst:
			kind, row.mask = opPlain, 255
			if f != gpu.GFX12 {
				tab.slot[b] = 8
			}
		case KindWaveReady:
			if f == gpu.GFX12 {
				kind = opReady
			}
		case KindWaveStart:
			kind = opStart
		case KindWaveEnd:
			kind = opEnd
		case KindReg:
			kind = opReg
		case KindMisc:
			kind = opMisc
		case KindTimestamp:
			kind = opTime
		}
		tab.kind[b], tab.row[b] = kind, row
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
			o.kind = opOther
		case op == newPCOp || info.clocks >= clocksDerated || info.category > categoryOther:
			o.kind = opRare
		case info.category == CategoryJump:
			o.taken = 1
		case info.category == CategoryImmed:
			o.clocks, o.noUnit = 1, readyNoUnit
		}
	}
	return tab
}
