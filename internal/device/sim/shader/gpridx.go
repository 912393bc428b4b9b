package shader

import "github.com/rigprof/rigprof/internal/isa"

// CDNA can add an index from M0 to the VGPR numbers of vector operations. The mode is rare and costs nothing
// elsewhere: while it is on, a wave runs patched copies of its micro-operations.

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
		w.gprIdx = true
	case "s_set_gpr_idx_off":
		w.gprIdx = false
	case "s_set_gpr_idx_mode":
		*m0 = *m0&^0xf000 | uint32(u.imm)&15<<12
	case "s_set_gpr_idx_idx":
		*m0 = *m0&^0xff | w.s32(&u.a)&0xff
	}
	if w.stop == running {
		w.stop = stopReload // the loop for the new mode
	}
}

// runIndexed runs an instruction in index mode.
func (w *wave) runIndexed(u *uop) {
	switch w.prog.view()[u.index].Class {
	case isa.VALU, isa.VALUTrans, isa.VALU64:
	default:
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
