package isa

// Where the modifier bits lie in Op.shown and Op.ignored. A VOP3P operation's op_sel_hi bits are inverted: 1 is their rest.
const (
	modAbs   = 0 // one bit a source
	modNeg   = 3
	modNegHi = 6
	modOpSel = 9 // three sources and the destination
	modHi    = 13
	modClamp = 1 << 16
	modOmod  = 1 << 17
	modCbsz  = 18
	modAbid  = 21
	modBlgp  = 25
	modLds   = 1 << 28
)

// modBits gathers the modifiers that are set.
func (in *Inst) modBits() uint32 {
	v := in.Field(FieldAbs)<<modAbs | in.Field(FieldNeg)<<modNeg | in.Field(FieldNegHi)<<modNegHi | in.Field(FieldOpSel)<<modOpSel |
		in.Field(FieldCbsz)<<modCbsz | in.Field(FieldAbid)<<modAbid | in.Field(FieldBlgp)<<modBlgp
	if in.Op.Format == VOP3P && in.HasField(FieldOpSelHi) {
		v |= (in.OpSelHi() ^ 7) << modHi
	}
	if in.Flag(FieldClamp) {
		v |= modClamp
	}
	if in.Field(FieldOmod) != 0 {
		v |= modOmod
	}
	return v
}

// modifiersExist tells whether LLVM takes the modifiers that are set.
func (in *Inst) modifiersExist() bool {
	bad := in.modBits() &^ (in.Op.shown | in.Op.ignored)
	if in.Arch != CDNA4 { // which LLVM 19 does not know
		bad &^= in.Op.older
	}
	if in.Form >= DPP16 && in.Op.selectsByte() {
		bad &^= 15 << modOpSel // of the four select bits of these LLVM looks only at two, but in the plain form
	}
	if in.strayHalf() { // the form without halves takes less
		bad |= in.modBits() & in.Op.ignored & (63 << modAbs)
	}
	return bad == 0
}

// mod is the field's bits as far as LLVM prints them for this operation; shift is the field's place among the modifiers.
func (in *Inst) mod(f Field, shift int) uint32 { return in.Field(f) & (in.Op.shown >> shift) }

// selectsByte tells whether op_sel bits choose a byte, in the conversions of one 8-bit float on gfx12.
func (o *Op) selectsByte() bool {
	switch o.Name {
	case "v_cvt_f32_fp8_e64", "v_cvt_f32_bf8_e64", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32":
		return true
	}
	return false
}
