package isa

import "strings"

// ArgKind is what an operand turned out to be.
type ArgKind uint8

const (
	ArgNone    ArgKind = iota // absent: null saddr, off, no soffset, unused vaddr
	ArgVGPR                   // Reg is the first VGPR
	ArgAGPR                   // Reg is the first AGPR
	ArgScalar                 // Reg is the scalar register code: 0..105 SGPRs, 106 VCC_LO, 108.. TTMP, 126 EXEC_LO, 235.. apertures, 251.. flags
	ArgConst                  // inline constant, Reg is its code; see [ConstBits]
	ArgLiteral                // the instruction's Lit
	ArgImm                    // the field's number, in Imm
)

// Arg is one operand of one instruction, resolved.
type Arg struct {
	Kind    ArgKind
	Dir     Dir
	Type    Type
	Count   uint8
	Reg     uint16 // register number or code, see Kind
	Bits    uint16 // size per lane; TypeMask: 64, to be cut to the wave's size
	Field   Field
	Neg     bool // negate (packed: the low half, see NegHi)
	Abs     bool
	NegHi   bool  // VOP3P
	OpSel   bool  // the operand's op_sel bit
	OpSelHi bool  // VOP3P
	Hi      bool  // 16-bit operand in the high half of the register: by op_sel in VOP3, by bit 7 of the number in short RDNA forms
	Sext    bool  // SDWA
	Sel     uint8 // SDWA select, 6 (dword) elsewhere
	Imm     uint32
}

// Regs is the number of 32-bit registers that the operand takes.
func (a *Arg) Regs() int { return int(a.Bits+31) / 32 }

// Scalar register codes. Null and M0 changed places between gfx9 and gfx11, see [Arch.Null] and [Arch.M0].
const (
	VccLo  = 106
	VccHi  = 107
	Ttmp0  = 108
	ExecLo = 126
	ExecHi = 127

	SrcSharedBase   = 235
	SrcSharedLimit  = 236
	SrcPrivateBase  = 237
	SrcPrivateLimit = 238
	SrcVccz         = 251
	SrcExecz        = 252
	SrcScc          = 253
	SrcLiteral      = 255
	SrcVGPR         = 256
)

// Null is the code that reads as 0 and drops writes.
func (a Arch) Null() uint16 {
	if a.CDNA() {
		return 125
	}
	return 124
}

// M0 is the code of M0.
func (a Arch) M0() uint16 {
	if a.CDNA() {
		return 124
	}
	return 125
}

// NumArgs is the number of operands of Op, NumArgsY of OpY.
func (in *Inst) NumArgs() int { return int(in.Op.count) }

// NumArgsY is the number of operands of a VOPD instruction's second half.
func (in *Inst) NumArgsY() int {
	if in.OpY == nil {
		return 0
	}
	return int(in.OpY.count)
}

// Arg resolves operand i of Op; ArgY operand i of OpY.
func (in *Inst) Arg(i int) Arg { return in.arg(in.Op, i, false) }

// ArgY resolves operand i of OpY.
func (in *Inst) ArgY(i int) Arg { return in.arg(in.OpY, i, true) }

// sourceOf is the number of a source field, -1 for others.
func sourceOf(f Field) int {
	switch f {
	case FieldSrc0, FieldSrcX0, FieldSrcY0:
		return 0
	case FieldSrc1, FieldSrcX1, FieldSrcY1:
		return 1
	case FieldSrc2:
		return 2
	}
	return -1
}

func (in *Inst) arg(op *Op, i int, y bool) Arg {
	o := &op.Operands()[i]
	a := Arg{Dir: o.Dir, Type: o.Type, Count: o.Count, Bits: o.Bits, Field: o.Field, Sel: 6}
	if op.Format == VOPD && !y {
		switch a.Field {
		case FieldSrcY0:
			a.Field = FieldSrcX0
		case FieldSrcY1:
			a.Field = FieldSrcX1
		case FieldVdstY:
			a.Field = FieldVdstX
		}
	}
	v := in.Field(a.Field)
	src := sourceOf(a.Field)
	switch o.Kind {
	case KindImm:
		a.Kind, a.Imm = ArgImm, v
		return a
	case KindSGPR, KindSoff:
		if src >= 0 || a.Field == FieldSsrc0 || a.Field == FieldSsrc1 {
			in.sourceArg(op, &a, o, v, src) // the field is wider than what the operand should name
		} else {
			in.scalarArg(&a, v)
		}
	case KindVGPR, KindAV, KindAcc:
		in.vectorArg(op, &a, o, v)
	default:
		in.sourceArg(op, &a, o, v, src)
	}
	in.modify(op, &a, src)
	return a
}

// scalarArg resolves a field that names only scalar registers.
func (in *Inst) scalarArg(a *Arg, v uint32) {
	a.Kind, a.Reg = ArgScalar, uint16(v)
	switch a.Field {
	case FieldSbase:
		a.Reg *= 2
	case FieldRsrc, FieldSamp:
		if in.Arch != RDNA4 {
			a.Reg *= 4
		}
	case FieldSaddr:
		if in.Arch.CDNA() && v == 0x7f || !in.Arch.CDNA() && v == 124 {
			a.Kind = ArgNone
		}
	case FieldSoffset:
		switch {
		case in.Op.Format != SMEM:
		case !in.Arch.CDNA():
			if v == 124 {
				a.Kind = ArgNone
			}
		case in.Flag(FieldSoffsetEn):
		case in.Flag(FieldImm):
			a.Kind = ArgNone
		default: // the register's number is in the offset field
			a.Reg = uint16(in.Field(FieldOffset) & 0x7f)
		}
	}
	in.align(a)
}

// align drops the low bits of a scalar tuple's number, as LLVM and the hardware do.
func (in *Inst) align(a *Arg) {
	switch {
	case a.Reg >= 124, a.Reg >= 102 && a.Reg < Ttmp0 && (a.Reg > 105 || in.Arch.CDNA()):
	case a.Bits > 64:
		a.Reg &^= 3
	case a.Bits == 64 && !in.maskArg(a):
		a.Reg &^= 1
	}
}

// maskArg tells whether the operand is a lane mask, whose size is the wave's.
func (in *Inst) maskArg(a *Arg) bool { return a.Type == TypeMask && !in.Arch.CDNA() }

// vectorArg resolves a field that holds a VGPR number.
func (in *Inst) vectorArg(op *Op, a *Arg, o *Operand, v uint32) {
	a.Kind, a.Reg = ArgVGPR, uint16(v&0xff)
	switch {
	case op.Has(FlagSDST) && a.Field == FieldVdst:
		a.Kind = ArgScalar
	case o.Kind == KindAcc:
		a.Kind = ArgAGPR
	case o.Kind == KindAV:
		acc := FieldAcc
		if op.Format == VOP3P || op.Format == VOP3PX {
			acc = FieldAccCD
		}
		if in.Flag(acc) {
			a.Kind = ArgAGPR
		}
	}
	switch a.Field {
	case FieldVdstY:
		a.Reg = uint16(v<<1 | ^in.Field(FieldVdstX)&1)
	case FieldSrc1:
		if in.Form == SDWA && in.Flag(FieldS1) {
			in.codeArg(op, a, o, v, 1)
			return
		}
	case FieldVaddr:
		in.addressArg(op, a)
	case FieldVdata:
		if in.Flag(FieldLds) {
			a.Kind = ArgNone
		}
		if in.Flag(FieldTfe) {
			a.Bits += 32
		}
	}
	if op.Has(FlagTrue16) && a.Bits == 16 {
		a.Hi, a.Reg = a.Reg&0x80 != 0, a.Reg&0x7f
	}
}

// addressArg sets the size of a memory instruction's vector address.
func (in *Inst) addressArg(op *Op, a *Arg) {
	switch op.Format {
	case GLOBAL:
		if s := in.Field(FieldSaddr); s != 0x7f && (in.Arch.CDNA() || s != 124) {
			a.Bits = 32
		}
	case SCRATCH:
		on := in.Flag(FieldSve)
		if in.Arch == CDNA2 {
			on = in.Field(FieldSaddr) == 0x7f
		}
		if !on {
			a.Kind = ArgNone
		}
	case MUBUF, MTBUF:
		switch offen, idxen := in.Flag(FieldOffen), in.Flag(FieldIdxen); {
		case offen && idxen:
			a.Bits = 64
		case offen || idxen:
			a.Bits = 32
		default:
			a.Kind = ArgNone
		}
	}
}

// sourceArg resolves an 8-bit or 9-bit source.
func (in *Inst) sourceArg(op *Op, a *Arg, o *Operand, v uint32, src int) {
	if src == 0 && in.Form >= DPP16 { // the marker's place is taken by 8 bits in the last dword
		a.Kind, a.Reg = ArgVGPR, uint16(v)
		if in.Form == SDWA && in.Flag(FieldS0) {
			in.codeArg(op, a, o, v, src)
		} else if in.Op.Has(FlagTrue16) && a.Bits == 16 {
			a.Hi, a.Reg = v&0x80 != 0, a.Reg&0x7f
		}
		return
	}
	if op.Format == VINTERP && a.Bits == 16 && in.Arch != RDNA4 {
		v |= SrcVGPR // LLVM does not look at the top bit
	}
	in.codeArg(op, a, o, v, src)
}

// codeArg resolves a source code of up to 9 bits.
func (in *Inst) codeArg(op *Op, a *Arg, o *Operand, v uint32, src int) {
	switch {
	case v >= SrcVGPR:
		a.Kind, a.Reg = ArgVGPR, uint16(v-SrcVGPR)
		switch o.Kind {
		case KindSrcAcc:
			a.Kind = ArgAGPR
		case KindSrcAV, KindSrcAVI:
			if src == 2 && in.Flag(FieldAccCD) || src < 2 && in.Field(FieldAcc)>>src&1 != 0 {
				a.Kind = ArgAGPR
			}
		}
		if in.Op.Has(FlagTrue16) && a.Bits == 16 {
			a.Hi, a.Reg = a.Reg&0x80 != 0, a.Reg&0x7f
		}
	case v == SrcLiteral && in.Form == Lit:
		a.Kind, a.Reg = ArgLiteral, SrcLiteral
	case v >= 128 && v <= 208 || v >= 240 && v <= 248:
		a.Kind, a.Reg = ArgConst, uint16(v)
	default:
		a.Kind, a.Reg = ArgScalar, uint16(v)
		in.align(a)
	}
	if op.Has(FlagMFMA) && src < 2 && strings.Contains(op.Name, "f8f6f4") {
		format := in.Field(FieldCbsz)
		if src == 1 {
			format = in.Field(FieldBlgp)
		}
		if a.Field == FieldSrc0 || a.Field == FieldSrc1 {
			a.Bits = [8]uint16{256, 256, 192, 192, 128, 256, 256, 256}[format]
		}
	}
}

// modify sets the operand's modifiers.
func (in *Inst) modify(op *Op, a *Arg, src int) {
	switch op.Format {
	case VOP1, VOP2, VOPC:
		if in.Form != DPP16 && in.Form != SDWA {
			return
		}
		switch src {
		case 0:
			a.Neg, a.Abs, a.Sext = in.Flag(FieldSrc0Neg), in.Flag(FieldSrc0Abs), in.Flag(FieldSrc0Sext)
			if in.Form == SDWA {
				a.Sel = uint8(in.Field(FieldSrc0Sel))
			}
		case 1:
			a.Neg, a.Abs, a.Sext = in.Flag(FieldSrc1Neg), in.Flag(FieldSrc1Abs), in.Flag(FieldSrc1Sext)
			if in.Form == SDWA {
				a.Sel = uint8(in.Field(FieldSrc1Sel))
			}
		default:
			if in.Form == SDWA && a.Field == FieldVdst {
				a.Sel = uint8(in.Field(FieldDstSel))
			}
		}
	case VOP3, VOP3SD, VOP3P, VINTERP, VOP3PX:
		if src < 0 {
			if a.Field == FieldVdst && (op.Format == VOP3 || op.Format == VINTERP) && in.Field(FieldOpSel)&8 != 0 {
				a.OpSel = true
				a.Hi = a.Bits == 16
			}
			return
		}
		a.Neg = in.Field(FieldNeg)>>src&1 != 0
		a.Abs = in.Field(FieldAbs)>>src&1 != 0
		a.NegHi = in.Field(FieldNegHi)>>src&1 != 0
		a.OpSel = in.Field(FieldOpSel)>>src&1 != 0
		a.OpSelHi = in.OpSelHi()>>src&1 != 0
		a.Hi = a.OpSel && a.Bits == 16 && op.Format != VOP3P
		if op.Has(FlagMix) {
			a.Abs, a.NegHi = a.NegHi, false
		}
	}
}

var floatConst = [9][3]uint64{ // 240..248 as f16, f32, f64
	{0x3800, 0x3f000000, 0x3fe0000000000000},
	{0xb800, 0xbf000000, 0xbfe0000000000000},
	{0x3c00, 0x3f800000, 0x3ff0000000000000},
	{0xbc00, 0xbf800000, 0xbff0000000000000},
	{0x4000, 0x40000000, 0x4000000000000000},
	{0xc000, 0xc0000000, 0xc000000000000000},
	{0x4400, 0x40800000, 0x4010000000000000},
	{0xc400, 0xc0800000, 0xc010000000000000},
	{0x3118, 0x3e22f983, 0x3fc45f306dc9c882},
}

// ConstBits is the bit pattern of an inline constant (codes 128 to 208 and 240 to 248) as an operand of the given
// type and size. Packed 16-bit float operands get the pattern in the low half only.
func ConstBits(code uint16, t Type, bits int) uint64 {
	var v uint64
	switch {
	case code >= 128 && code <= 192:
		v = uint64(code - 128)
	case code > 192 && code <= 208:
		v = -uint64(code - 192)
	case code >= 240 && code <= 248:
		p := &floatConst[code-240]
		switch {
		case t == TypeF64 || bits == 64 && t != TypeF32:
			v = p[2]
		case t == TypeF16 || bits == 16 && t != TypeBF16:
			v = p[0]
		case t == TypeBF16:
			v = p[1] >> 16
		default:
			v = p[1]
		}
	}
	if bits < 64 {
		v &= 1<<bits - 1
	}
	return v
}
