package isa

import "strings"

// check refuses source codes, tuples and lane controls that mean nothing.
func (in *Inst) check() error {
	if !in.operandsExist(in.Op, false) || in.OpY != nil && !in.operandsExist(in.OpY, true) || in.Form == DPP16 && !in.dppExists() {
		return ErrOperand
	}
	return nil
}

// Decode decodes the instruction at the start of code, and refuses all that LLVM's disassembler refuses, though hardware
// may run it: bits that are not zero where the operation has no such operand, modifiers that it does not take, and on
// gfx12 the upper halves of registers in short 16-bit forms, which LLVM knows only by an option. Where LLVM 19 and 22
// differ it takes what either takes. Dual instructions pass in wave64 too: the wave's size is not known here. It
// allocates only for the error, a [*DecodeError].
func Decode(arch Arch, code []byte) (Inst, error) {
	in, err := DecodeLenient(arch, code)
	if err != nil {
		return in, err
	}
	ok := in.zeroFields()
	switch in.Op.Format {
	case VOP1, VOP2, VOPC:
		if in.Op.count > 0 && (in.Form == DPP16 || in.Form == SDWA) {
			ok = ok && in.shortModifiersExist()
		}
		ok = ok && (in.Arch != RDNA4 || !in.anyHi() || in.movesHalf())
	case VOP3, VOP3SD, VOP3P, VINTERP:
		ok = ok && in.modifiersExist()
	}
	if !ok {
		return in, fail(&in, code, ErrOperand)
	}
	return in, nil
}

// anyHi tells whether an operand lies in the upper half of a register.
func (in *Inst) anyHi() bool {
	if in.Op.Has(FlagTrue16) {
		for i := range int(in.Op.count) {
			if a := in.arg(in.Op, i, false); a.Hi {
				return true
			}
		}
	}
	return false
}

func (in *Inst) operandsExist(op *Op, y bool) bool {
	l := &layouts[in.layout].fields
	list := operandPool[op.first : op.first+uint16(op.count)]
	for i := range list {
		o := &list[i]
		f := o.Field
		if op.Format == VOPD && !y && f == FieldSrcY0 {
			f = FieldSrcX0
		}
		switch o.Kind {
		case KindImm:
			continue
		case KindVGPR, KindAV, KindAcc:
			if o.Kind != KindVGPR && o.Bits > 32 && in.pastLast(op, i) {
				return false
			}
			if (in.Form != SDWA || f != FieldSrc1) && !(f == FieldVdst && op.Has(FlagSDST)) {
				continue
			}
		case KindSGPR, KindSSrc, KindSrc:
			p := l[f]
			v := in.Raw[p.lo>>5&3] >> (p.lo & 31) & uint32(1<<p.width-1)
			switch { // what always exists, the common cases first
			case f == FieldRsrc, f == FieldSamp:
			case v >= SrcVGPR:
				continue
			case f == FieldSbase:
				if v < 48 {
					continue
				}
			case v < 100 && o.Bits <= 64, v < 128 && o.Bits <= 32, v >= 128 && v <= 208, v >= 240 && v <= 248, v == SrcLiteral && in.Form == Lit:
				if o.Kind != KindSGPR || v < 128 {
					continue
				}
			}
		}
		if !in.argExists(op, i, y) {
			return false
		}
	}
	return true
}

// pastLast tells whether an operand is a run of AGPRs that does not end with a255.
func (in *Inst) pastLast(op *Op, i int) bool {
	a := in.arg(op, i, false)
	return a.Kind == ArgAGPR && int(a.Reg)+a.Regs() > 256
}

// argExists is the complete test of one operand.
func (in *Inst) argExists(op *Op, i int, y bool) bool {
	a := in.arg(op, i, y)
	switch a.Kind {
	case ArgScalar:
		if !in.scalarExists(&a) {
			return false
		}
		k := op.Operands()[i].Kind
		return !(k == KindSrcV || k == KindSrcAV || k == KindSrcVI || k == KindSrcAVI) || a.Reg >= 124
	case ArgAGPR:
		return int(a.Reg)+a.Regs() <= 256
	case ArgConst, ArgLiteral:
		k := op.Operands()[i].Kind
		return k != KindSrcV && k != KindSrcAV && k != KindSrcAcc
	}
	return true
}

// movesHalf tells whether LLVM 22 knows the operation's halves on gfx12 too.
func (in *Inst) movesHalf() bool {
	b := in.Op.Base()
	return b == "v_mov_b16" || b == "v_swap_b16"
}

// scalarExists tells whether a scalar register or special source of the operand's size exists.
func (in *Inst) scalarExists(a *Arg) bool {
	r, n := a.Reg, a.Regs()
	if in.maskArg(a) {
		n = 1 // the wave's size is not known here
	}
	cdna := in.Arch.CDNA()
	top := uint16(106)
	if cdna {
		top = 102
	}
	switch {
	case r < top:
		return n <= 2 || int(r)+n <= 106
	case r < 106: // CDNA: FLAT_SCRATCH, XNACK_MASK
		return n == 1 || n == 2 && r&1 == 0
	case r < Ttmp0:
		return n == 1 || n == 2 && r == VccLo
	case r < 124:
		return int(r)+n <= 124
	case r == in.Arch.Null():
		return true
	case r == in.Arch.M0():
		return n == 1
	case r < 128:
		return n == 1 || n == 2 && r == ExecLo
	case r == 231 && n > 1, r == 230 && n > 2:
		return false
	case r == 230 || r == 231, r >= SrcSharedBase && r <= 239, r >= SrcVccz && r <= SrcScc:
		return n <= 2 || in.Op.Class == Matrix && (!cdna || in.Arch != CDNA4 && in.Op.Has(FlagSMFMAC) && a.Field == FieldSrc1)
	case r == 254:
		return n == 1
	}
	return false
}

// zeroFields tells whether the bits that mean nothing for this operation are zero where LLVM wants them so.
func (in *Inst) zeroFields() bool {
	op := in.Op
	rdna := !in.Arch.CDNA()
	zero := func(fields ...Field) bool {
		for _, f := range fields {
			if in.Field(f) != 0 && !op.names(f) {
				return false
			}
		}
		return true
	}
	switch op.Format {
	case LDSDIR: // gfx12 has a wait in the second of the two bits
		return in.Raw[0]>>22&1 == 0 && (in.Arch == RDNA4 || in.Raw[0]>>23&1 == 0)
	case DS:
		if in.Arch == RDNA4 && in.Raw[0]>>17&1 != 0 || !in.gdsExists() {
			return false
		}
		if op.count == 0 && (in.Field(FieldOffset0) != 0 || in.Field(FieldOffset1) != 0 || in.Flag(FieldGds)) && op.Name == "ds_nop" {
			return false
		}
		return zero(FieldVaddr, FieldData, FieldData1, FieldVdst)
	case FLAT:
		none := uint32(124)
		if !rdna {
			none = 0
		}
		if in.Arch == CDNA2 && !in.flatBits() {
			return false
		}
		return !in.Flag(FieldSve) && in.Field(FieldSaddr) == none
	case GLOBAL, SCRATCH:
		if in.Arch == CDNA2 && !in.flatBits() {
			return false
		}
		if rdna && op.count == 0 && in.Field(FieldSaddr) != 124 {
			return false
		}
		return !(op.Format == GLOBAL && in.Flag(FieldSve) && in.Arch != CDNA2) && !(op.Has(FlagLDS) && in.Flag(FieldAcc))
	case SMEM:
		switch {
		case in.Arch == RDNA4:
			return !op.names(FieldSdata) || in.Field(FieldSdata) < 32 || !op.immData()
		case rdna:
			return (op.count > 0 && !op.immData()) || !in.Flag(FieldGLC) && !in.Flag(FieldDLC)
		}
		return op.names(FieldSoffset) || !in.Flag(FieldImm)
	case MUBUF:
		if in.Arch == RDNA4 && in.Offset() < 0 && in.pastV255() {
			return false
		}
		if !rdna {
			return in.bufferBits()
		}
		if op.count == 0 && (in.Flag(FieldOffen) || in.Flag(FieldIdxen) || in.Flag(FieldGLC) || in.Flag(FieldDLC)) {
			return false
		}
		return !in.Flag(FieldTfe) || op.count > 0 && !op.Has(FlagAtomic) && !op.Has(FlagLDS)
	case MTBUF:
		return !in.Flag(FieldTfe) && !(in.Arch == RDNA4 && in.Offset() < 0 && in.pastV255())
	case MIMG:
		if !rdna && in.Raw[0]&1 != 0 {
			return false
		}
		return zero(FieldSamp) && in.imageBits()
	case SOPP:
		return op.count > 0 || op.Name == "s_endpgm" || op.Name == "s_waitcnt" || in.Field(FieldSimm16) == 0
	case VOP1, VOP2, VOPC:
		switch {
		case op.count == 0 && op.Format == VOP1:
			return in.Field(FieldVdst) == 0
		case op.count == 0:
			return in.Raw[0]&0x01ffffff == 0
		}
	case VOPD:
		return (op.count > 2 || in.Field(FieldSrcX1) == 0) && (in.OpY.count > 2 || in.Field(FieldSrcY1) == 0)
	case VOP3, VOP3SD:
		return op.count > 0 || in.Field(FieldVdst) == 0
	case VOP3P:
		return !(rdna && in.Raw[0]>>23&1 != 0) && !(op.Name == "v_mfma_ld_scale_b32" && in.Field(FieldVdst) != 0)
	}
	return true
}

// pastV255 tells whether a run of VGPRs ends past the last one. LLVM 22 takes that and 19 does not; of gfx12's negative
// buffer offsets it is the other way round.
func (in *Inst) pastV255() bool {
	for i := range int(in.Op.count) {
		if a := in.arg(in.Op, i, false); a.Kind == ArgVGPR && int(a.Reg)+a.Regs() > 256 {
			return true
		}
	}
	return false
}

// gdsExists tells whether the GDS bit is as LLVM wants it: set for the semaphores, 0 for what moves data between lanes.
func (in *Inst) gdsExists() bool {
	name := in.Op.Name
	switch {
	case name == "ds_ordered_count", strings.HasSuffix(name, "_gs_reg_rtn"):
		return in.Flag(FieldGds)
	case strings.HasPrefix(name, "ds_gws"):
		return in.Flag(FieldGds) && (in.Op.count > 0 || !in.Flag(FieldAcc))
	case strings.HasSuffix(name, "permute_b32"), strings.HasPrefix(name, "ds_bvh"):
		return !in.Flag(FieldGds)
	}
	return name != "ds_nop" || !in.Flag(FieldAcc)
}

// bufferBits checks the bits of gfx9's MUBUF that only some operations have.
func (in *Inst) bufferBits() bool {
	op := in.Op
	lds := in.Flag(FieldLds)
	if op.count == 0 || op.Name == "buffer_store_lds_dword" {
		if in.Flag(FieldOffen) || in.Flag(FieldIdxen) || in.Flag(FieldAcc) || lds != (op.count != 0) {
			return false
		}
		switch op.Name {
		case "buffer_invl2":
			return !in.Flag(FieldSC0) && !in.Flag(FieldSC1)
		case "buffer_wbinvl1", "buffer_wbinvl1_vol":
			return !in.Flag(FieldSC0) && !in.Flag(FieldSC1) && (in.Arch == CDNA2 || !in.Flag(FieldNT))
		}
		return true
	}
	if lds && (op.shown&modLds == 0 || in.Flag(FieldAcc) || in.Arch != CDNA4 && strings.HasPrefix(op.Name, "buffer_load_dwordx")) {
		return false
	}
	return !(in.Arch == CDNA2 && in.Flag(FieldSC1) && in.noSCC())
}

// flatBits checks gfx90a's bits of FLAT, GLOBAL and SCRATCH: the loads to LDS and the coherence bit.
func (in *Inst) flatBits() bool {
	if in.Op.Format != FLAT && in.Flag(FieldSve) && (in.Op.shown&modLds == 0 || in.Flag(FieldAcc)) {
		return false
	}
	return !(in.Flag(FieldSC1) && in.noSCC())
}

// noSCC tells whether the operation is one of gfx90a's float atomics, which LLVM refuses with the coherence bit.
func (in *Inst) noSCC() bool {
	n := in.Op.Name
	return in.Op.Has(FlagAtomic) && (strings.HasSuffix(n, "_f64") || strings.HasSuffix(n, "_f32") || strings.HasSuffix(n, "_pk_add_f16"))
}

// immData tells whether the data field holds a number: probes and prefetches.
func (o *Op) immData() bool {
	for i := range o.Operands() {
		if p := &operandPool[int(o.first)+i]; p.Field == FieldSdata {
			return p.Kind == KindImm
		}
	}
	return false
}

// dppExists tells whether the lane control means something.
func (in *Inst) dppExists() bool {
	c := in.Field(FieldDppCtrl)
	cdna := in.Arch.CDNA()
	switch {
	case c < 0x100, c > 0x100 && c < 0x110, c > 0x110 && c < 0x120, c > 0x120 && c < 0x130, c == 0x140, c == 0x141, c >= 0x150 && c < 0x160:
		return true
	case c == 0x130, c == 0x134, c == 0x138, c == 0x13c, c == 0x142, c == 0x143:
		return cdna
	}
	return !cdna && c >= 0x160 && c < 0x170
}

// shortModifiersExist checks the modifiers of DPP16 and SDWA: floats have neg and abs, integers in SDWA sext.
func (in *Inst) shortModifiersExist() bool {
	op := in.Op
	var float, either, named [2]bool // either: LLVM has both kinds
	floatDst := false
	for i := range int(op.count) {
		o := &operandPool[int(op.first)+i]
		if s := sourceOf(o.Field); s == 0 || s == 1 {
			class := strings.Contains(op.Name, "_class_")
			float[s] = o.Type >= TypeF16 && o.Type <= TypeF64 && !(s == 1 && (class || strings.HasPrefix(op.Name, "v_ldexp")))
			either[s] = !in.Arch.CDNA() && (o.Bits == 16 || o.Type == TypeI16 || o.Type == TypeU16) || s == 0 && class ||
				strings.HasPrefix(op.Name, "v_cndmask") || in.Form == DPP16 && strings.HasPrefix(op.Name, "v_dot")
			named[s] = true
		} else if o.Type.Float() {
			floatDst = true
		}
	}
	if in.Form == DPP16 && (strings.HasPrefix(op.Name, "v_cmpx_class") || strings.HasPrefix(op.Name, "v_ldexp")) {
		either[1] = true // LLVM ignores them
	}
	for s, f := range [2][3]Field{{FieldSrc0Neg, FieldSrc0Abs, FieldSrc0Sext}, {FieldSrc1Neg, FieldSrc1Abs, FieldSrc1Sext}} {
		if !float[s] && !either[s] && (in.Flag(f[0]) || in.Flag(f[1])) || (float[s] || !named[s]) && in.Flag(f[2]) {
			return false
		}
	}
	if in.Form == SDWA && op.Format != VOPC && !floatDst && in.Field(FieldOmod) != 0 {
		return false
	}
	if in.Form == SDWA && op.Format == VOPC && in.Flag(FieldSD) && !in.scalarExists(&Arg{Reg: in.sdwaDst(), Bits: 64}) {
		return false
	}
	if in.Form == SDWA && !named[1] && (in.Field(FieldSrc1Sel) != 0 || in.Flag(FieldS1)) {
		return false
	}
	return true
}

// imageBits checks the fields that only some image operations have.
func (in *Inst) imageBits() bool {
	o := imageOpOf(in.Op.Name)
	name := in.Op.Name
	if in.Flag(FieldD16) && (o.atomic || o.bvh || strings.HasSuffix(name, "_pck") || strings.HasSuffix(name, "_sgn") || strings.HasPrefix(name, "image_get")) {
		return false
	}
	if o.bvh { // no mask, no shape: LLVM wants all channels, an untyped resource and no sampler
		if in.Field(FieldDmask) != 0xf || !in.Flag(FieldR128) || in.Field(FieldDim) != 0 || in.Flag(FieldTfe) {
			return false
		}
		return in.Arch == RDNA4 && in.Field(FieldScope) == 0 && in.Field(FieldTH) == 0 || in.Flag(FieldUnorm) && in.Raw[0]>>12&7 == 0
	}
	if in.Arch != RDNA4 {
		return true
	}
	if in.HasField(FieldVaddr4) { // VIMAGE
		return o.bvh || in.Field(FieldVaddr4) == 0
	}
	three := o.extra == 0 && !o.lod && !o.grads && !strings.HasPrefix(name, "image_msaa")
	return !three || in.Field(FieldVaddr3) == 0
}
