package shader

import "github.com/rigprof/rigprof/internal/isa"

// CDNA can add an index from M0 to the VGPR numbers of vector operations, or skip vector operations. Both modes are rare
// and cost nothing elsewhere: while one is on, a wave looks at each micro-operation first and runs patched copies.

// Bits of the mode, as in M0[15:12].
const (
	idxSrc0 = 1 << iota
	idxSrc1
	idxSrc2
	idxDst
)

func runGprIdx(w *wave, u *uop) {
	m0 := &w.s[w.m0]
	switch u.x.name {
	case "s_set_gpr_idx_on": // the second source's field is the mode itself
		*m0 = *m0&^0xf0ff | w.s32(&u.a)&0xff | u.x.in.Field(isa.FieldSsrc1)&15<<12
		w.setMode(w.modeBits | modeGprIdx)
	case "s_set_gpr_idx_off":
		w.setMode(w.modeBits &^ modeGprIdx)
	case "s_set_gpr_idx_mode":
		*m0 = *m0&^0xf000 | uint32(u.imm)&15<<12
	case "s_set_gpr_idx_idx":
		*m0 = *m0&^0xff | w.s32(&u.a)&0xff
	}
}

// runSetVskip lets the wave pass over vector instructions, or ends that.
func runSetVskip(w *wave, u *uop) {
	mode := w.modeBits &^ modeVskip
	if w.s32(&u.a)>>(w.s32(&u.b)&31)&1 != 0 {
		mode |= modeVskip
	}
	w.setMode(mode)
}

// runPatched runs an instruction while MODE says to skip vector instructions or to index registers.
func (w *wave) runPatched(u *uop) {
	pi := &w.prog.view()[u.index]
	vector := false
	switch pi.Class {
	case isa.VALU, isa.VALUTrans, isa.VALU64:
		vector = true
	case isa.Matrix, isa.VMEM, isa.Global, isa.Flat, isa.Scratch, isa.LDS:
		if w.modeBits&modeVskip != 0 {
			if pi.Mem && w.logs {
				w.log.ref(MemRef{Space: SpaceNone})
			}
			return
		}
	}
	if vector && w.modeBits&modeVskip != 0 {
		return
	}
	if !vector || w.modeBits&modeGprIdx == 0 {
		u.run(w, u)
		return
	}
	m0 := w.s[w.m0]
	idx, mode := uint16(m0&0xff), m0>>12
	c := *u
	move := func(o *opnd, bit uint32) {
		if mode&bit != 0 && o.kind == fromV && o.reg < accBase {
			o.reg = (o.reg + idx) & 0xff
		}
	}
	move(&c.a, idxSrc0)
	move(&c.b, idxSrc1)
	move(&c.c, idxSrc2)
	if mode&idxDst != 0 && c.d < accBase {
		c.d = (c.d + idx) & 0xff
	}
	c.run(w, &c)
}
