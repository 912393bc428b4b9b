package isa

import "strings"

// suffix prints the name with the ending of its form.
func (p *printer) vectorName() {
	op := p.in.Op
	switch p.in.Form {
	case DPP16, DPP8:
		switch {
		case op.Name == "v_nop":
			p.name()
		case op.Format == VOPC:
			p.str(op.Base())
		case op.Format == VOP1 || op.Format == VOP2:
			p.str(op.Base())
			p.str("_dpp")
		default:
			p.str(op.Base())
			p.str("_e64_dpp")
		}
	case SDWA:
		if op.Name == "v_nop" {
			p.name()
			return
		}
		p.str(op.Base())
		p.str("_sdwa")
	default:
		p.name()
	}
}

func (p *printer) vcc() {
	if p.wave == 32 {
		p.str("vcc_lo")
	} else {
		p.str("vcc")
	}
}

// vector prints VOP1, VOP2, VOPC, VOP3, VOP3P and VINTERP.
func (p *printer) vector() {
	in := &p.in
	op := in.Op
	p.vectorName()
	if op.Format == VOPC {
		p.compareDst()
	}
	if op.Format == VOP3PX {
		p.scaled()
		return
	}
	carry := (op.Format == VOP2) && (op.Reads|op.Writes)&RegVCC != 0
	for i := range in.NumArgs() {
		a := in.Arg(i)
		if op.Has(FlagSDST) && a.Field == FieldVdst && op.Writes&RegEXEC != 0 && p.family != familyCDNA {
			continue // v_cmpx writes only EXEC
		}
		p.next()
		p.source(&a)
		if carry && a.Field == FieldVdst && op.Writes&RegVCC != 0 {
			p.next()
			p.vcc()
		}
		if op.Has(FlagLiteral) && a.Field == FieldSrc0 && strings.Contains(op.Name, "mk_") {
			p.next()
			p.hex(uint64(in.Lit))
		}
	}
	if carry && op.Reads&RegVCC != 0 {
		p.next()
		p.vcc()
	}
	if op.Has(FlagLiteral) && strings.Contains(op.Name, "ak_") {
		p.next()
		p.hex(uint64(in.Lit))
	}
	p.vectorModifiers()
}

// scaled prints the MFMA with block scales: the scales come last.
func (p *printer) scaled() {
	in := &p.in
	for _, f := range [...]Field{FieldVdst, FieldSrc0, FieldSrc1, FieldSrc2, FieldScaleSrc0, FieldScaleSrc1} {
		for i := range in.NumArgs() {
			if a := in.Arg(i); a.Field == f {
				p.next()
				p.source(&a)
			}
		}
	}
	if v := in.Field(FieldOpSel) & 3; v != 0 {
		p.bitList(" op_sel:[", v, 3)
	}
	if v := in.Field(FieldOpSelHi); v != 0 {
		p.bitList(" op_sel_hi:[", v, 3)
	}
	p.matrixModifiers()
}

// sdwaDst is the first register that an SDWA compare with a destination of its own writes.
func (in *Inst) sdwaDst() uint16 {
	a := Arg{Reg: uint16(in.Field(FieldSdst)), Bits: 64}
	in.align(&a)
	return a.Reg
}

// compareDst prints the implicit or SDWA destination of VOPC.
func (p *printer) compareDst() {
	in := &p.in
	if in.Op.Writes&RegEXEC != 0 && p.family != familyCDNA {
		return
	}
	p.next()
	if in.Form == SDWA && in.Flag(FieldSD) {
		p.sreg(in.sdwaDst(), 2)
		return
	}
	p.vcc()
}

// modifiable tells whether LLVM prints an operand's neg and abs bits in a short form: those of float operands, by the
// operation's type.
func (p *printer) modifiable(a *Arg) bool {
	op := p.in.Op
	switch {
	case strings.HasPrefix(op.Name, "v_cndmask"):
		return true
	case strings.HasPrefix(op.Name, "v_ldexp"):
		return a.Field == FieldSrc0
	case strings.HasPrefix(op.Name, "v_pk_fmac"):
		return p.in.Form == DPP16
	}
	return a.Type.Float() || p.family == familyCDNA && !strings.HasPrefix(op.Name, "v_dot")
}

// source prints an operand with its modifiers.
func (p *printer) source(a *Arg) {
	neg, abs := a.Neg, a.Abs
	switch op := p.in.Op; op.Format {
	case VOP1, VOP2, VOPC:
		if !p.modifiable(a) {
			neg, abs = false, false
		}
	case VOP3P, VOP3PX:
		if !op.Has(FlagMix) {
			neg, abs = false, false
		}
	default:
		if src := sourceOf(a.Field); src < 0 || strings.HasPrefix(op.Name, "v_bitop3") {
			neg, abs = false, false
		} else {
			neg = neg && op.shown>>modNeg>>src&1 != 0
			abs = abs && op.shown>>modAbs>>src&1 != 0
		}
	}
	if a.Sext {
		p.str("sext(")
	}
	at := len(p.b)
	if neg {
		p.byte('-')
	}
	if abs {
		p.byte('|')
	}
	p.arg(a)
	if abs {
		p.byte('|')
	}
	if neg && !abs && (p.b[at+1] == '-' || p.b[at+1] >= '0' && p.b[at+1] <= '9') { // a number
		p.b = append(p.b[:at], "neg("...)
		p.arg(a)
		p.byte(')')
	}
	if a.Sext {
		p.byte(')')
	}
}

// num2 prints a number unless it is 0.
func (p *printer) num2(label string, v uint32) {
	if v != 0 {
		p.num(label, uint64(v))
	}
}

// bitList prints bits as a list in brackets.
func (p *printer) bitList(label string, bits uint32, n int) {
	p.str(label)
	for i := range n {
		if i > 0 {
			p.byte(',')
		}
		p.byte('0' + byte(bits>>i&1))
	}
	p.byte(']')
}

// sources is the number of sources of a VOP3 operation.
func (o *Op) sources() int {
	n := 0
	for _, a := range o.Operands() {
		if s := sourceOf(a.Field); s >= n {
			n = s + 1
		}
	}
	return n
}

var omodNames = [4]string{"", " mul:2", " mul:4", " div:2"}

func (p *printer) vectorModifiers() {
	in := &p.in
	op := in.Op
	n := op.sources()
	switch op.Format {
	case VOP3, VINTERP:
		if strings.HasPrefix(op.Name, "v_bitop3") {
			if v := in.Field(FieldOmod)<<6 | in.Field(FieldAbs)<<3 | in.Field(FieldNeg); v != 0 {
				p.str(" bitop3:")
				if v <= 10 {
					p.dec(int64(v))
				} else {
					p.hex(uint64(v))
				}
			}
		}
		if strings.Contains(op.Name, "_swap_b32") {
			p.num2(" bound_ctrl:", in.Field(FieldOpSel)>>1&1)
			p.num2(" fi:", in.Field(FieldOpSel)&1)
			break
		}
		if op.Format == VINTERP {
			p.opt(FieldClamp, " clamp")
			if !strings.Contains(op.Name, "f16") {
				break
			}
		}
		if strings.HasPrefix(op.Name, "v_permlane16_b32") || strings.HasPrefix(op.Name, "v_permlanex16_b32") || strings.Contains(op.Name, "16_var_b32") {
			if v := in.Field(FieldOpSel) & 3; v != 0 {
				p.bitList(" op_sel:[", v, 2) // fetch inactive lanes, bound control
			}
			break
		}
		if op.Name == "v_fmac_f16_e64" {
			if in.Form >= DPP16 && p.family == familyRDNA4 {
				break
			}
			n = 3 // the destination counts as a source
		}
		if p.family == familyRDNA4 && (strings.HasPrefix(op.Name, "v_cvt_f32_fp8") || strings.HasPrefix(op.Name, "v_cvt_f32_bf8")) {
			v := in.Field(FieldOpSel) // bit 1 is the low one
			p.num2(" byte_sel:", v>>1&1|v&1<<1)
			break
		}
		if p.family == familyRDNA4 && (strings.HasPrefix(op.Name, "v_cvt_sr_fp8") || strings.HasPrefix(op.Name, "v_cvt_sr_bf8")) {
			p.num2(" byte_sel:", in.Field(FieldOpSel)>>2)
			break
		}
		if strings.HasPrefix(op.Name, "v_cvt_scalef32_") && strings.Contains(op.Name, "pk_fp4_") && n == 2 {
			n = 3
		}
		if strings.HasPrefix(op.Name, "v_cvt_sr_") && !strings.HasSuffix(op.Name, "16_f32") {
			n = 3 // LLVM counts an absent third source
		}
		if op.Name == "v_cndmask_b16" {
			break // the halves say it
		}
		if v := in.mod(FieldOpSel, modOpSel); v != 0 && !in.strayHalf() {
			if strings.HasPrefix(op.Name, "v_cmp") && (op.Writes&RegEXEC != 0 || p.family != familyRDNA3 || in.Form >= DPP16) {
				p.bitList(" op_sel:[", v, n) // no half to write
				break
			}
			bits := v & (1<<n - 1)
			bits |= v >> 3 << n
			p.bitList(" op_sel:[", bits, n+1)
		}
	case VOP3P, VOP3PX:
		if in.HasField(FieldCbsz) {
			if !strings.Contains(op.Name, "accvgpr") {
				p.matrixModifiers()
			}
			return
		}
		opSel := in.mod(FieldOpSel, modOpSel)
		if op.Has(FlagSWMMAC) {
			p.num2(" index_key:", opSel)
		} else if opSel != 0 {
			p.bitList(" op_sel:[", opSel, n)
		}
		hi := in.OpSelHi() // rests at 1, but for the mixed operations
		if op.Has(FlagMix) && hi != 0 || (hi^7)&(op.shown>>modHi) != 0 && !op.Has(FlagMix) {
			p.bitList(" op_sel_hi:[", hi, n)
		}
		if !op.Has(FlagMix) {
			if v := in.mod(FieldNeg, modNeg); v != 0 {
				p.bitList(" neg_lo:[", v, n)
			}
			if v := in.mod(FieldNegHi, modNegHi); v != 0 {
				p.bitList(" neg_hi:[", v, n)
			}
		}
	}
	if op.Format != VINTERP {
		p.opt(FieldClamp, " clamp")
	}
	if !strings.HasPrefix(op.Name, "v_bitop3") {
		p.str(omodNames[in.Field(FieldOmod)])
	}
	if op.Format == VINTERP {
		p.num(" wait_exp:", uint64(in.Field(FieldWaitExp)))
	}
	switch in.Form {
	case DPP16:
		p.dpp16()
	case DPP8:
		p.str(" dpp8:[")
		v := in.Field(FieldDpp8)
		for i := range 8 {
			if i > 0 {
				p.byte(',')
			}
			p.byte('0' + byte(v>>(3*i)&7))
		}
		p.byte(']')
		marker := in.Raw[0] & 0x1ff
		if in.Size == 12 {
			marker = in.Raw[1] & 0x1ff
		}
		if marker == markDPP8FI {
			p.str(" fi:1")
		}
	case SDWA:
		p.sdwa()
	}
}

func (p *printer) matrixModifiers() {
	in := &p.in
	if v := in.Field(FieldCbsz); v != 0 {
		p.num(" cbsz:", uint64(v))
	}
	if v := in.Field(FieldAbid); v != 0 && in.Op.Format != VOP3PX {
		p.num(" abid:", uint64(v))
	}
	v := in.Field(FieldBlgp)
	switch {
	case v == 0:
	case strings.HasPrefix(in.Op.Name, "v_mfma_f64") && in.Arch != CDNA2:
		p.bitList(" neg:[", v, 3)
	default:
		p.num(" blgp:", uint64(v))
	}
}

func (p *printer) dpp16() {
	in := &p.in
	c := in.Field(FieldDppCtrl)
	switch {
	case c < 0x100:
		p.str(" quad_perm:[")
		for i := range 4 {
			if i > 0 {
				p.byte(',')
			}
			p.byte('0' + byte(c>>(2*i)&3))
		}
		p.byte(']')
	case c > 0x100 && c < 0x110:
		p.num(" row_shl:", uint64(c&15))
	case c > 0x110 && c < 0x120:
		p.num(" row_shr:", uint64(c&15))
	case c > 0x120 && c < 0x130:
		p.num(" row_ror:", uint64(c&15))
	case c == 0x130:
		p.str(" wave_shl:1")
	case c == 0x134:
		p.str(" wave_rol:1")
	case c == 0x138:
		p.str(" wave_shr:1")
	case c == 0x13c:
		p.str(" wave_ror:1")
	case c == 0x140:
		p.str(" row_mirror")
	case c == 0x141:
		p.str(" row_half_mirror")
	case c == 0x142:
		p.str(" row_bcast:15")
	case c == 0x143:
		p.str(" row_bcast:31")
	case c >= 0x150 && c < 0x160 && p.family == familyCDNA:
		p.num(" row_newbcast:", uint64(c&15))
	case c >= 0x150 && c < 0x160:
		p.num(" row_share:", uint64(c&15))
	case c >= 0x160 && c < 0x170:
		p.num(" row_xmask:", uint64(c&15))
	default:
		p.str(" /* unknown dpp_ctrl */")
	}
	p.str(" row_mask:")
	p.hex(uint64(in.Field(FieldDppRowMask)))
	p.str(" bank_mask:")
	p.hex(uint64(in.Field(FieldDppBankMask)))
	p.opt(FieldDppBC, " bound_ctrl:1")
	p.opt(FieldDppFI, " fi:1")
}

var sdwaSels = [8]string{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "DWORD"}

func (p *printer) sdwa() {
	in := &p.in
	if in.Op.Name == "v_nop" {
		return
	}
	if in.Op.Format != VOPC && !strings.Contains(in.Op.Name, "_fp8") && !strings.Contains(in.Op.Name, "_bf8") {
		p.str(" dst_sel:")
		p.str(sdwaSels[in.Field(FieldDstSel)])
		p.str(" dst_unused:")
		p.str([4]string{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD"}[in.Field(FieldDstUnused)])
	}
	p.str(" src0_sel:")
	p.str(sdwaSels[in.Field(FieldSrc0Sel)])
	if in.Op.Format != VOP1 {
		p.str(" src1_sel:")
		p.str(sdwaSels[in.Field(FieldSrc1Sel)])
	}
}

// dual prints VOPD.
func (p *printer) dual() {
	in := &p.in
	half := func(op *Op, y bool) {
		p.str(op.Name)
		p.n = 0
		for _, f := range [...]Field{FieldVdstY, FieldSrcY0, FieldSrcY1} {
			for i, o := range op.Operands() {
				if o.Field != f {
					continue
				}
				a := in.arg(op, i, y)
				p.next()
				if a.Kind == ArgLiteral && y && strings.Contains(in.Op.Name, "mk_") && op.Has(FlagLiteral) {
					p.plainLiteral(in.Lit)
				} else {
					p.arg(&a)
				}
				if f == FieldSrcY0 && op.Has(FlagLiteral) && strings.Contains(op.Name, "mk_") {
					p.next()
					p.hex(uint64(in.Lit))
				}
			}
		}
		if op.Has(FlagLiteral) && strings.Contains(op.Name, "ak_") {
			p.next()
			p.hex(uint64(in.Lit))
		}
	}
	half(in.Op, false)
	p.str(" :: ")
	half(in.OpY, true)
}
