package sqtt

import "math/bits"

// walkEvents are the kinds that the walk needs besides those of waves.
func walkEvents(k Kind) bool {
	switch k {
	case KindInst, KindValuInst, KindImmOne, KindImmediate, KindWaveReady, KindNewPc, KindReg,
		KindIssue, KindInstPc, KindRegCs, KindRegCsPriv:
		return true
	}
	return waveEvents(k)
}

// token takes what a token of an RDNA stream means to traced waves. w is its low bits.
func (k *walk) token(kind Kind, gfx12 bool, w uint64, hi uint8, now Cycles) {
	switch kind {
	case KindValuInst:
		k.issue(k.slot(uint32(w>>7&31)), CategoryVALU, 1, false, now)
	case KindInst:
		if gfx12 {
			k.inst(uint32(w>>7&31), uint32(w>>12&255), &gfx12Ops, now)
		} else {
			k.inst(uint32(w>>8&31), uint32(w>>13&127), &gfx11Ops, now)
		}
	case KindImmOne:
		k.immediate(k.slot(uint32(w>>7&31)), now)
	case KindImmediate:
		for m := uint32(w >> 8 & 0xffff); m != 0; m &= m - 1 {
			k.immediate(k.slot(uint32(bits.TrailingZeros32(m))), now)
		}
	case KindWaveReady:
		for m := uint32(w >> 8 & 0xffff); m != 0; m &= m - 1 {
			i := uint32(bits.TrailingZeros32(m))
			if t := k.slots[i]; t.live {
				k.ready(t, now, gfx12)
			}
		}
	case KindNewPc:
		pc := w >> 16 & (1<<46 - 1)
		if t := k.slots[w>>11&31]; t.live {
			k.newPC(t, pc<<2)
		}
		_ = hi // address bits above 62 are copies of the sign
	case KindReg:
		if w>>15&1 != 0 { // compute registers
			k.register(uint8(w>>9&3), uint8(w>>7&3), uint32(w>>16&0xffff), uint32(w>>32))
		}
	case KindMisc:
		if w&miscSave != 0 {
			for i := k.used; i != 0; i &= i - 1 {
				t := k.slots[bits.TrailingZeros64(i)%64]
				t.standby = t.live
				k.settle(t)
			}
		}
	case KindHeader:
		k.header(w, gfx12)
	}
}

// Compute registers that say where a dispatch's code begins, as offsets from 0x2e00.
const (
	regPGMLo = 0xc
	regPGMHi = 0xd
)

// register takes a write of a compute register.
func (k *walk) register(me, pipe uint8, addr, data uint32) {
	p := &k.programs[me&3][pipe&3]
	switch addr {
	case regPGMLo:
		p.lo = data
	case regPGMHi:
		p.hi = data
	}
}

// header takes what a HEADER says of the trace: version 7..12, dsimd 13..14, dwgp 15..17, dsa 19, dprate 28..31, dp_derate 33..35, and on
// GFX12 exclude_barrier_wait 59. In a GFX12 stream one of another version is none.
func (k *walk) header(w uint64, gfx12 bool) {
	if gfx12 && w>>7&0x3f != 4 {
		return
	}
	k.dsimd, k.dwgp, k.dsa = uint8(w>>13&3), uint8(w>>15&7), uint8(w>>19&1)
	k.dprate = 1
	if n := w >> 28 & 7; n != 0 {
		k.dprate = 1 << (n - 1)
	}
	k.dprateRed = uint8(min(uint64(k.dprate)<<(w>>33&7), 253))
	k.noBarrierWait = gfx12 && w>>59&1 != 0
}

// newPCOp is the op of an INST behind which a NEW_PC tells where the wave goes on.
const newPCOp = 5

// inst takes an INST of a wave.
func (k *walk) inst(slot, op uint32, ops *[256]opInfo, now Cycles) {
	c, clocks := ops[op&255].category, uint32(ops[op&255].clocks)
	if c >= categoryOther || c == CategoryNone {
		k.special(slot, c, now)
		return
	}
	t := k.slots[slot%64]
	if !t.live {
		t = k.slot(slot)
	}
	switch {
	case c == CategoryImmed:
		k.immediate(t, now)
		return
	case clocks == clocksDPRate:
		clocks = uint32(k.dprate)
	case clocks == clocksDerated:
		clocks = uint32(k.dprateRed)
	}
	k.issue(t, c, clocks, op == newPCOp, now)
}

// special takes an INST that is no instruction of the program.
func (k *walk) special(slot uint32, c Category, now Cycles) {
	t := k.slots[slot%64]
	if !t.live {
		return
	}
	switch c {
	case categoryTrap:
		t.standby = true
		k.settle(t)
	case categoryRFE:
		if t.standby {
			t.standby = false
			k.unlink(t)
			k.jump(t, len(t.insts)-1)
			k.settle(t)
		}
	}
}

// unit is what the keys of waves in the traced SIMD have in the bits of mask.
func (k *walk) unit(bits *waveBits) (unit, mask uint32) {
	return uint32(k.dsa) | uint32(k.dsimd)<<1 | uint32(k.dwgp)<<3, bits.units()
}
