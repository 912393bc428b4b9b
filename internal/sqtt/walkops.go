package sqtt

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// walkOps says what record a token makes, by its bits 0..3, then 12..19 (see index).
type walkOps struct {
	kind     [1 << 12]opKind
	slot     [1 << 12]uint8 // the bit of the token where its slot begins
	noUnit   [1 << 12]uint8 // readyUnit or readyNoUnit
	taken    [1 << 12]uint8 // 1: a branch is
	clocks   [1 << 12]uint8
	category [1 << 12]Category
}

type opKind uint8

const (
	opPlain opKind = iota // one of the table's
	opOther               // none: it is work of another SIMD
	opReady               // none: GFX12's WAVE_READY, or an IMMEDIATE
	opRare
)

func (ops *walkOps) index(token uint64) uint { return uint(token&15<<8 | token>>12&255) }

func newWalkOps(f gpu.Family) *walkOps {
	tab := new(walkOps)
	for i := range tab.kind {
		plain := opInfo{clocks: 1}
		tab.slot[i] = 7
		switch key := i >> 8; {
		case key == 0b0100 && f == gpu.GFX12:
			tab.kind[i] = opReady
			continue
		case key&7 == 0b011: // VALU_INST
			plain.category = CategoryVALU
		case key == 0b1101: // IMM_ONE
			plain.category = CategoryImmed
		case key&7 == 0b010: // INST
			plain = gfx12Ops[i&255]
			op := i & 255
			if f != gpu.GFX12 {
				op >>= 1
				plain, tab.slot[i] = gfx11Ops[op], 8
			}
			if plain.category == CategoryNone || plain.category == categoryOther {
				tab.kind[i] = opOther
				continue
			}
			if op == newPCOp || plain.clocks >= clocksDerated || plain.category > categoryOther {
				tab.kind[i] = opRare
				continue
			}
		default:
			tab.kind[i] = opRare
			continue
		}
		tab.category[i], tab.clocks[i] = plain.category, plain.clocks
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

// run takes the records of events, as long as they are plain ones; it gives how many. It is issue, immediate and ready of
// all that is usual, with nothing that depends on what the records are but their waves' state.
func (k *walk) run(events []uint64, base uint64, win *window, ops *walkOps) int {
	for n, e := range events {
		i := e >> 1 & (windowBytes - 1)
		w := binary.LittleEndian.Uint64(win[i:i+8]) >> (e & 1 * 4)
		now := base + e>>scanTime
		op := ops.index(w)
		if kind := ops.kind[op]; kind != opPlain {
			if kind == opOther {
				continue
			}
			if kind != opReady || w&16 == 0 {
				return n
			}
			for m := uint32(w>>8) & 0xffff; m != 0; m &= m - 1 {
				k.slots[bits.TrailingZeros32(m)&15].ready[readyUnit] = Cycles(now)
			}
			continue
		}
		t := k.slots[w>>(ops.slot[op]&63)&31]
		node := t.at
		h := len(t.insts)
		if node.rare || h >= cap(t.insts) {
			return n
		}
		t.insts = t.insts[:h+1]
		in := &t.insts[h]
		in.PC = node.pc
		t.at = node.succ[ops.taken[op]&1]
		from := min(now, uint64(t.ready[ops.noUnit[op]&1]))
		in.Time = Cycles(from)
		stall, clocks := uint32(now-from), ops.clocks[op]
		in.Stall, in.Dur = stall, stall+uint32(clocks)
		in.Category, in.newPC = ops.category[op], false
		t.ready = [2]Cycles{never, Cycles(now + uint64(clocks))}
	}
	return len(events)
}
