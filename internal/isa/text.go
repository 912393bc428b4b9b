package isa

import (
	"strconv"
	"strings"
)

// AppendText appends the instruction at pc as LLVM's disassembler prints it, for waves of the given size. Branch
// targets print as the 16-bit number of the encoding, as llvm-mc does; see [Inst.Target] for the address.
func AppendText(dst []byte, arch Arch, wave int, pc uint64, in *Inst) []byte {
	p := printer{b: dst, in: *in, wave: wave, family: familyOf(arch)}
	switch in.Op.Format {
	case SOP1, SOP2, SOPC, SOPK, SOPP:
		p.scalar()
	case SMEM:
		p.smem()
	case DS:
		p.ds()
	case FLAT, GLOBAL, SCRATCH:
		p.flat()
	case MUBUF, MTBUF:
		p.buffer()
	case MIMG:
		p.image()
	case EXP:
		p.export()
	case LDSDIR:
		p.ldsdir()
	case VOPD:
		p.dual()
	default:
		p.vector()
	}
	return p.b
}

// Indices of the family columns of the name tables.
const (
	familyCDNA = iota
	familyRDNA3
	familyRDNA4
	numFamily
)

func familyOf(a Arch) int {
	switch {
	case a.CDNA():
		return familyCDNA
	case a == RDNA4:
		return familyRDNA4
	}
	return familyRDNA3
}

// printer appends one instruction's text.
type printer struct {
	b      []byte
	in     Inst // a copy, so that the caller's stays on its stack
	wave   int
	family int
	n      int // operands printed
}

func (p *printer) str(s string)      { p.b = append(p.b, s...) }
func (p *printer) dec(v int64)       { p.b = strconv.AppendInt(p.b, v, 10) }
func (p *printer) hex(v uint64)      { p.b = strconv.AppendUint(append(p.b, "0x"...), v, 16) }
func (p *printer) byte(c byte)       { p.b = append(p.b, c) }
func (p *printer) name()             { p.str(p.in.Op.Name) }
func (p *printer) flag(f Field) bool { return p.in.Flag(f) }

// next starts an operand: a space before the first, a comma before the others.
func (p *printer) next() {
	if p.n == 0 {
		p.byte(' ')
	} else {
		p.str(", ")
	}
	p.n++
}

// opt prints a word where the flag is set.
func (p *printer) opt(f Field, word string) {
	if p.flag(f) {
		p.str(word)
	}
}

func (p *printer) num(label string, v uint64) {
	p.str(label)
	p.b = strconv.AppendUint(p.b, v, 10)
}

// tuple prints a register or a range of them.
func (p *printer) tuple(prefix string, first, n int) {
	p.str(prefix)
	if n <= 1 {
		p.dec(int64(first))
		return
	}
	p.byte('[')
	p.dec(int64(first))
	p.byte(':')
	p.dec(int64(first + n - 1))
	p.byte(']')
}

// sreg prints n scalar registers from a code on.
func (p *printer) sreg(code uint16, n int) {
	cdna := p.family == familyCDNA
	pair := func(lo, hi, both string, odd bool) {
		switch {
		case n == 2:
			p.str(both)
		case odd:
			p.str(hi)
		default:
			p.str(lo)
		}
	}
	switch {
	case code < 102 || code < 106 && !cdna:
		p.tuple("s", int(code), n)
	case code < 104 && n <= 2:
		pair("flat_scratch_lo", "flat_scratch_hi", "flat_scratch", code&1 != 0)
	case code < 106 && n <= 2:
		pair("xnack_mask_lo", "xnack_mask_hi", "xnack_mask", code&1 != 0)
	case code < 106:
		p.tuple("s", int(code), n)
	case code < 108 && n <= 2:
		pair("vcc_lo", "vcc_hi", "vcc", code&1 != 0)
	case code < 108:
		p.tuple("s", int(code), n)
	case code < 124:
		p.tuple("ttmp", int(code)-Ttmp0, n)
	case code == 124 && cdna || code == 125 && !cdna:
		p.str("m0")
	case code == 124 || code == 125:
		p.str("null")
	case code < 128:
		pair("exec_lo", "exec_hi", "exec", code&1 != 0)
	case code == 230:
		p.str("src_flat_scratch_base_lo")
	case code == 231:
		p.str("src_flat_scratch_base_hi")
	case code == SrcSharedBase:
		p.str("src_shared_base")
	case code == SrcSharedLimit:
		p.str("src_shared_limit")
	case code == SrcPrivateBase:
		p.str("src_private_base")
	case code == SrcPrivateLimit:
		p.str("src_private_limit")
	case code == 239:
		p.str("src_pops_exiting_wave_id")
	case code == SrcVccz:
		p.str("src_vccz")
	case code == SrcExecz:
		p.str("src_execz")
	case code == SrcScc:
		p.str("src_scc")
	case code == 254:
		p.str("src_lds_direct")
	default:
		p.num("reserved_", uint64(code))
	}
}

var floatText = [9]string{"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"}

// constant prints an inline constant.
func (p *printer) constant(code uint16, bits int) {
	switch {
	case code <= 192:
		p.dec(int64(code) - 128)
	case code <= 208:
		p.dec(192 - int64(code))
	case code == 248 && bits == 64:
		p.str("0.15915494309189532")
	default:
		p.str(floatText[code-240])
	}
}

// inlineFloat tells whether v is the pattern of an inline float of the given column of floatConst.
func inlineFloat(v uint64, col int) bool {
	for i := range floatConst {
		if floatConst[i][col] == v {
			return true
		}
	}
	return false
}

// literal prints the literal dword as an operand of the given size and element type. What an inline constant could
// have stood for is marked lit(), as LLVM 22 does.
func (p *printer) literal(v uint32, bits int, t Type, count int) {
	small := int32(v) >= -16 && int32(v) <= 64
	text := v
	if f := p.in.Op.Format; bits == 16 && (f == SOP1 || t != TypeF16 && (f == SOP2 || f == SOPC)) {
		bits, t = 32, TypeB32 // LLVM has 32-bit operands there
	}
	switch {
	case bits == 64 && t == TypeF64: // the upper half of a double: LLVM prints what it knows by name
		for i := range floatConst {
			if floatConst[i][2] == uint64(v)<<32 {
				p.str(floatText[i])
				return
			}
		}
		if v == 0 {
			p.byte('0')
			return
		}
		small = false
	case bits == 64:
		small = v <= 64
	case bits == 16 && t == TypeBF16:
		n := int16(v)
		small = n >= -16 && n <= 64 || inlineFloat(uint64(v)<<16&0xffffffff, 1)
	case bits == 16 && (t == TypeFP8 || t == TypeBF8) && p.family == familyCDNA:
		small = small || inlineFloat(uint64(v), 1)
	case bits == 16 && p.in.Op.Format != SOPC && (t == TypeF16 || t == TypeFP8 || t == TypeBF8): // judged by the low half
		n := int16(v)
		small = n >= -16 && n <= 64 || inlineFloat(uint64(v&0xffff), 0)
		if !small {
			text &= 0xffff
		}
	case bits == 16: // judged as 32 bits
		small = small || inlineFloat(uint64(v), 1)
		if !small {
			text &= 0xffff
		}
	case t == TypeF16 && count == 2:
		small = small || inlineFloat(uint64(v), 0)
	case t == TypeBF16 && count == 2:
		small = small || inlineFloat(uint64(v)<<16, 1)
	default:
		small = small || inlineFloat(uint64(v), 1)
	}
	if !small {
		p.hex(uint64(text))
		return
	}
	p.str("lit(")
	p.hex(uint64(text))
	p.byte(')')
}

// maskReg is an operand's scalar register: of a lane mask in wave64 the even one, as LLVM has it.
func (in *Inst) maskReg(a *Arg, wave int) uint16 {
	if wave == 64 && in.maskArg(a) {
		b := *a
		b.Type, b.Bits = TypeB64, 64
		in.align(&b)
		return b.Reg
	}
	return a.Reg
}

// plainHex prints a literal whose integers alone LLVM marks.
func (p *printer) plainHex(v uint32) {
	if n := int32(v); n >= -16 && n <= 64 {
		p.str("lit(")
		p.hex(uint64(v))
		p.byte(')')
		return
	}
	p.hex(uint64(v))
}

// bitsOf is an operand's size for this wave size.
func (p *printer) bitsOf(a *Arg) int {
	if p.in.maskArg(a) {
		return p.wave
	}
	return int(a.Bits)
}

// arg prints an operand without modifiers.
func (p *printer) arg(a *Arg) {
	bits := p.bitsOf(a)
	n := p.in.argRegs(p.in.Op, a, p.wave)
	switch a.Kind {
	case ArgNone:
		p.str("off")
	case ArgVGPR:
		p.tuple("v", int(a.Reg), n)
		if p.halves(a) {
			if a.Hi {
				p.str(".h")
			} else {
				p.str(".l")
			}
		}
	case ArgAGPR:
		p.tuple("a", int(a.Reg), n)
	case ArgScalar:
		p.sreg(p.in.maskReg(a, p.wave), n)
	case ArgConst:
		if a.Field == FieldSrc1 && p.in.Form >= DPP16 && strings.HasPrefix(p.in.Op.Name, "v_fmac_") {
			p.hex(uint64(a.Reg)) // LLVM prints the code, as if it were the number
			return
		}
		if a.Reg >= 240 && p.int16(a) {
			p.hex(floatConst[a.Reg-240][0])
			return
		}
		if p.in.Op.Class == Matrix && p.family == familyRDNA3 && p.wave == 32 {
			bits = 64 // LLVM prints them as if C had 64-bit elements
		} else {
			bits /= packed(a)
		}
		p.constant(a.Reg, bits)
	case ArgLiteral:
		switch op := p.in.Op; {
		case op.Has(FlagMix):
			p.literal(p.in.Lit, 16, TypeF16, 1)
			return
		case op.Class == Matrix && p.family == familyRDNA3:
			p.hex(uint64(p.in.Lit))
			return
		case op.Name == "v_pk_fmac_f16":
			p.plainHex(p.in.Lit)
			return
		case op.Class == Matrix && a.Field == FieldSrc2 && a.Type == TypeF16:
			p.literal(p.in.Lit, 16, TypeF16, 1)
			return
		case a.Field == FieldSrc1 && p.family != familyCDNA && strings.HasPrefix(p.in.Op.Name, "v_cmp") && strings.Contains(p.in.Op.Name, "_class_f16"):
			p.literal(p.in.Lit, 16, TypeF16, 1)
			return
		}
		p.literal(p.in.Lit, bits, a.Type, int(a.Count))
	case ArgImm:
		p.hex(uint64(a.Imm))
	}
}

// int16 tells whether LLVM takes an operand for a 16-bit integer: of a float constant it then prints the bits.
func (p *printer) int16(a *Arg) bool {
	switch p.in.Op.Format {
	case SOPC:
		return a.Type == TypeF16
	case SOP1, SOP2:
		return false
	}
	return a.Bits == 16 && !a.Type.Float() || a.Field == FieldSrc2 && p.family != familyCDNA && strings.HasPrefix(p.in.Op.Name, "v_align")
}

func packed(a *Arg) int { return max(int(a.Count), 1) }

// halves tells whether LLVM names the half of a 16-bit VGPR operand: on gfx11, and on gfx12 where it matters.
func (p *printer) halves(a *Arg) bool {
	if a.Bits != 16 || p.family != familyRDNA3 && !(p.family == familyRDNA4 && (p.in.movesHalf() || p.in.anyHi())) {
		return false
	}
	switch p.in.Op.Format {
	case VOP1, VOP2, VOPC, VINTERP:
		return true
	case VOP3:
		return !p.in.strayHalf()
	}
	return false
}

// strayHalf tells whether a VOP3 instruction of gfx11 has an op_sel bit for an operand that it has not. LLVM then falls
// back on the form without halves and prints none of the bits.
func (in *Inst) strayHalf() bool {
	if in.Arch == RDNA4 || in.Arch.CDNA() || in.Op.Format != VOP3 {
		return false
	}
	bits := in.mod(FieldOpSel, modOpSel)
	if bits == 0 {
		return false
	}
	for i := range int(in.Op.count) {
		o := &operandPool[int(in.Op.first)+i]
		if f := o.Field; o.Type == TypeMask {
			continue
		} else if f != FieldVdst {
			bits &^= 1 << sourceOf(f)
		} else if !in.Op.Has(FlagSDST) {
			bits &^= 8
		}
	}
	return bits != 0
}
