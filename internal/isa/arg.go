package isa

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

func (in *Inst) arg(op *Op, i int, y bool) Arg { return Arg{} }

// Decode decodes the instruction at the start of code.
func Decode(arch Arch, code []byte) (Inst, error) { return Inst{}, nil }

// AppendText appends the instruction at pc as LLVM's disassembler prints it, for waves of the given size.
func AppendText(dst []byte, arch Arch, wave int, pc uint64, in *Inst) []byte { return dst }

// ConstBits is the bit pattern of an inline constant (codes 128 to 248) as an operand of the given type and size.
func ConstBits(code uint16, t Type, bits int) uint64 { return 0 }
