package sqtt

import (
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// walkOps says what record a token makes, by its bits 12..19, then 0..3 (see index).
type walkOps struct {
	kind     opTable[opKind]
	slot     opTable[uint8] // the bit of the token where its slot begins
	noUnit   opTable[uint8] // readyUnit or readyNoUnit
	taken    opTable[uint8] // 1: a branch is
	clocks   opTable[uint8]
	category opTable[opCategory]
}

// opCategory is what an Inst has in its last eight bytes.
type opCategory struct {
	Category
	_ [7]uint8
}

// opTable is a bit longer than what is used of it, so that what belongs to one op is not all in one set of the first-level
// cache.
type opTable[T any] [numOps + 128]T

const numOps = 1 << 12

type opKind uint8

const (
	opPlain opKind = iota // one of the table's
	opOther               // none: it is work of another SIMD
	opReady               // none: GFX12's WAVE_READY, or an IMMEDIATE
	opStart               // none: a WAVE_START, if bit 4 is 0
	opEnd                 // none: a WAVE_END, if bit 4 is 1
	opReg                 // none: a REG
	opToken               // none, as far as the table knows
)

func (ops *walkOps) index(token uint64) uint { return uint(token>>8&0xff0 | token&15) }

func newWalkOps(f gpu.Family) *walkOps {
	tab := new(walkOps)
	for i := range numOps {
		plain := opInfo{clocks: 1}
		tab.slot[i] = 7
		switch key := i & 15; {
		case key == 0b0100 && f == gpu.GFX12:
			tab.kind[i] = opReady
			continue
		case key&7 == 0b011: // VALU_INST
			plain.category = CategoryVALU
		case key == 0b1101: // IMM_ONE
			plain.category = CategoryImmed
		case key&7 == 0b010: // INST
			plain = gfx12Ops[i>>4]
			op := i >> 4
			if f != gpu.GFX12 {
				op >>= 1
				plain, tab.slot[i] = gfx11Ops[op], 8
			}
			if plain.category == CategoryNone || plain.category == categoryOther {
				tab.kind[i] = opOther
				continue
			}
			if op == newPCOp || plain.clocks >= clocksDerated || plain.category > categoryOther {
				tab.kind[i] = opToken
				continue
			}
		case key == 0b1100:
			tab.kind[i] = opStart
			continue
		case key == 0b0101:
			tab.kind[i] = opEnd
			continue
		case key == 0b1001:
			tab.kind[i] = opReg
			continue
		default:
			tab.kind[i] = opToken
			continue
		}
		tab.category[i].Category, tab.clocks[i] = plain.category, plain.clocks
		switch plain.category {
		case CategoryJump:
			tab.taken[i] = 1
		case CategoryImmed:
			tab.clocks[i], tab.noUnit[i] = 1, readyNoUnit
		}
	}
	return tab
}

var (
	walkOps11 = sync.OnceValue(func() *walkOps { return newWalkOps(gpu.GFX11) })
	walkOps12 = sync.OnceValue(func() *walkOps { return newWalkOps(gpu.GFX12) })
)
