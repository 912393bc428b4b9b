package sqtt

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// walkOps says what record a token makes, by its bits 0..3, then 12..19 (see index).
type walkOps struct {
	kind     opTable[opKind]
	slot     opTable[uint8] // the bit of the token where its slot begins
	noUnit   opTable[uint8] // readyUnit or readyNoUnit
	taken    opTable[uint8] // 1: a branch is
	clocks   opTable[uint8]
	category opTable[Category]
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
	opRare
)

func (ops *walkOps) index(token uint64) uint { return uint(token&15<<8 | token>>12&255) }

func newWalkOps(f gpu.Family) *walkOps {
	tab := new(walkOps)
	for i := range numOps {
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
func (k *walk) run(events []uint64, base Cycles, s *laneScan, ops *walkOps) int {
	if uint64(base) >= 1<<40 || len(events) == 0 {
		return 0 // the time may not fit where it is kept
	}
	return k.records(events, uint64(base)<<scanTime, s, ops)
}

// recordsGeneric is run with a time to add to the events.
func (k *walk) recordsGeneric(events []uint64, add uint64, s *laneScan, ops *walkOps) int {
	nodes := k.cache.nodes
	_, _, _ = s.planes[0], ops.kind[0], k.slots[0]
	for n, e := range events {
		e += add
		i := int(bits.RotateLeft16(uint16(e), 15))
		w := binary.LittleEndian.Uint64(s.planes[i : i+8])
		now := e >> scanTime
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
		h, room := len(t.insts), t.insts[:cap(t.insts)]
		if uint(t.at) >= uint(len(nodes)) || h >= len(room) { // nodeRare is beyond all of them
			return n
		}
		in, node := &room[h], &nodes[t.at]
		t.insts = t.insts[:h+1]
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
