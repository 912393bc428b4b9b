package isa

//go:generate go run ../tools/genisa -tables tables -out tables_gen.go

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// layout is the bit positions of one form of an encoding.
type layout struct {
	fields       [numField]place
	signedOffset bool
}

// encoding leads from the first dword to the row of ops.
type encoding struct {
	format Format
	opLo   uint8
	opMask uint16
	base   uint16 // of the format's opcodes in opIndex
	dwords uint8
	seg    uint8 // FLAT, GLOBAL and SCRATCH are told apart by the two bits from here; 0: not needed
}

// Reasons why bytes are no instruction.
var (
	ErrTruncated = errors.New("instruction is cut off")
	ErrOpcode    = errors.New("no such opcode")
	ErrOperand   = errors.New("no such operand")
)

// DecodeError tells which words are no instruction.
type DecodeError struct {
	Arch  Arch
	Words []uint32 // the dwords that were looked at
	Err   error    // ErrTruncated, ErrOpcode or ErrOperand
}

func (e *DecodeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "isa: %v:", e.Arch)
	for _, w := range e.Words {
		fmt.Fprintf(&b, " %08x", w)
	}
	return fmt.Sprintf("%s: %v", b.String(), e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// Values of an 8-bit or 9-bit source that stand for a form of the encoding.
const (
	markDPP8   = 233
	markDPP8FI = 234
	markSDWA   = 249
	markDPP16  = 250
)

// DecodeLenient decodes the instruction at the start of code as hardware reads it: bits that mean nothing may be anything.
// Simulators and trace decoders, which follow code that runs, use it; [Decode] refuses what LLVM refuses. It allocates
// only for the error, a [*DecodeError].
func DecodeLenient(arch Arch, code []byte) (Inst, error) {
	in := Inst{Arch: arch}
	if arch == NoArch || arch >= numArch || len(code) < 4 {
		return in, fail(&in, code, ErrTruncated)
	}
	w := binary.LittleEndian.Uint32(code)
	in.Raw[0] = w
	e := &encodings[encOf[arch][w>>23]]
	if e.seg != 0 {
		// The generator puts FLAT, GLOBAL and SCRATCH one after the other; the segment bits are 0, 2 and 1.
		switch w >> e.seg & 3 {
		case 2:
			e = &encodings[encOf[arch][w>>23]+1]
		case 1:
			e = &encodings[encOf[arch][w>>23]+2]
		case 3:
			return in, fail(&in, code, ErrOpcode)
		}
	}
	if e.format == NoFormat {
		return in, fail(&in, code, ErrOpcode)
	}
	n := int(e.dwords)
	if len(code) < n*4 {
		return in, fail(&in, code, ErrTruncated)
	}
	if n > 1 {
		in.Raw[1] = binary.LittleEndian.Uint32(code[4:])
		if n > 2 {
			in.Raw[2] = binary.LittleEndian.Uint32(code[8:])
		}
	}
	in.Size = uint8(n * 4)
	var err error
	switch {
	case e.format == VOPD:
		err = in.decodeVOPD(e)
	case arch == CDNA4 && w>>16 == 0xd3ac && len(code) >= 16 && code[11] == 0xd3 && (code[10] == 0xad || code[10] == 0xae) && code[9]>>3&0xf == 1:
		// The scales of the two f8f6f4 MFMA, where LLVM wants abid to be 1; before anything else an instruction of its own.
		return decodeVOP3PX(in, code)
	default:
		i := opIndex[int(e.base)+int(w>>e.opLo)&int(e.opMask)]
		if i == 0 {
			return in, fail(&in, code, ErrOpcode)
		}
		in.Op = &ops[i-1]
		err = in.decodeForm()
	}
	if err != nil {
		return in, fail(&in, code, err)
	}
	if size := int(in.Size); size > n*4 {
		if len(code) < size {
			return in, fail(&in, code, ErrTruncated)
		}
		for i := n; i < size/4; i++ {
			in.Raw[i] = binary.LittleEndian.Uint32(code[i*4:])
		}
		if in.Form == Lit {
			in.Lit = in.Raw[size/4-1]
		}
	}
	set := &layoutSets[in.Op.set]
	in.layout = set[in.Form]
	if in.Op.Format == MIMG && in.Size > 8 && arch != RDNA4 {
		in.layout = set[Lit] // the long form of MIMG stands in the literal's place
	}
	if in.layout == 0 {
		in.layout = set[Base]
	}
	if err := in.check(); err != nil {
		return in, fail(&in, code, err)
	}
	return in, nil
}

func fail(in *Inst, code []byte, err error) error {
	e := &DecodeError{Arch: in.Arch, Err: err}
	for n := max(int(in.Size), 4); n > 0 && len(code) >= 4; n -= 4 {
		e.Words = append(e.Words, binary.LittleEndian.Uint32(code))
		code = code[4:]
	}
	return e
}

// decodeForm finds the form from the markers in the source fields and lengthens the instruction by what follows.
func (in *Inst) decodeForm() error {
	w, op := in.Raw[0], in.Op
	switch op.Format {
	case SOP1:
		if w&0xff == SrcLiteral && op.names(FieldSsrc0) && !op.Has(FlagMsg) { // a message's number is no source
			in.longer(Lit)
		}
	case SOP2, SOPC:
		if op.Name == "s_set_gpr_idx_on" && w&0xff != SrcLiteral {
			return nil // its second operand is a number
		}
		if op.Has(FlagLiteral) || w&0xff == SrcLiteral || w>>8&0xff == SrcLiteral {
			in.longer(Lit)
		}
	case SOPK:
		if op.Has(FlagLiteral) {
			in.longer(Lit)
		}
	case VOP1, VOP2, VOPC:
		if op.Has(FlagLiteral) {
			in.longer(Lit)
			return nil
		}
		switch src0 := w & 0x1ff; {
		case src0 < markDPP8 || !op.names(FieldSrc0) && !op.Has(FlagDPP16):
		case src0 == SrcLiteral:
			in.longer(Lit)
		case src0 == markDPP16 && op.Has(FlagDPP16):
			in.longer(DPP16)
		case src0 == markDPP8 || src0 == markDPP8FI:
			if op.Has(FlagDPP8) {
				in.longer(DPP8)
			}
		case src0 == markSDWA && op.Has(FlagSDWA):
			in.longer(SDWA)
		}
	case VOP3, VOP3SD, VOP3P:
		if in.Arch.CDNA() {
			return nil
		}
		s0, s1, s2 := in.Raw[1]&0x1ff, in.Raw[1]>>9&0x1ff, in.Raw[1]>>18&0x1ff
		switch {
		case s0 == markDPP16 && op.Has(FlagDPP16):
			in.longer(DPP16)
		case (s0 == markDPP8 || s0 == markDPP8FI) && op.Has(FlagDPP8):
			in.longer(DPP8)
		case s0 == SrcLiteral && op.names(FieldSrc0), s1 == SrcLiteral && op.names(FieldSrc1), s2 == SrcLiteral && op.names(FieldSrc2):
			in.longer(Lit)
		}
	case MIMG:
		if in.Arch != RDNA4 && !in.Arch.CDNA() && w&1 != 0 { // NSA: a third dword of address registers
			in.longer(Lit)
			in.Form = Base
		}
	}
	return nil
}

func (in *Inst) longer(f Form) {
	in.Form = f
	in.Size += 4
}

// names tells whether an operand of op lies in the field.
func (o *Op) names(f Field) bool {
	for i := range o.Operands() {
		if operandPool[int(o.first)+i].Field == f {
			return true
		}
	}
	return false
}

func (in *Inst) decodeVOPD(e *encoding) error {
	w := in.Raw[0]
	x, y := opIndex[int(e.base)+int(w>>22&0xf)], opIndex[int(e.base)+int(w>>17&0x1f)]
	if x == 0 || y == 0 || !ops[x-1].Has(FlagSlotX) || !ops[y-1].Has(FlagSlotY) {
		return ErrOpcode
	}
	in.Op, in.OpY = &ops[x-1], &ops[y-1]
	if w&0x1ff == SrcLiteral || in.Raw[1]&0x1ff == SrcLiteral || (in.Op.Flags|in.OpY.Flags)&FlagLiteral != 0 {
		in.longer(Lit)
	}
	return nil
}

// decodeVOP3PX decodes the 16-byte matrix operations: scale operands first, then a VOP3P instruction.
func decodeVOP3PX(in Inst, code []byte) (Inst, error) {
	if len(code) < 16 {
		return in, fail(&in, code, ErrTruncated)
	}
	in.Size = 16
	for i := range in.Raw {
		in.Raw[i] = binary.LittleEndian.Uint32(code[i*4:])
	}
	w := in.Raw[2]
	if w>>23 != 0xd3800000>>23 {
		return in, fail(&in, code, ErrOpcode)
	}
	i := opIndex[int(encodings[encVOP3PX].base)+int(w>>16&0x7f)]
	if i == 0 {
		return in, fail(&in, code, ErrOpcode)
	}
	in.Op = &ops[i-1]
	in.layout = layoutSets[in.Op.set][Base]
	if err := in.check(); err != nil {
		return in, fail(&in, code, err)
	}
	return in, nil
}
