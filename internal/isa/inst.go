package isa

// place is where a layout keeps a field. Width 0: nowhere.
type place struct{ lo, width uint8 }

// Field is the raw value of a bit field, 0 where the encoding lacks it. No field crosses a dword.
func (in *Inst) Field(f Field) uint32 {
	p := layouts[in.layout].fields[f]
	return in.Raw[p.lo>>5&3] >> (p.lo & 31) & uint32(1<<p.width-1)
}

// HasField tells whether the encoding has the field.
func (in *Inst) HasField(f Field) bool { return layouts[in.layout].fields[f].width != 0 }

// Flag is Field for a single bit.
func (in *Inst) Flag(f Field) bool { return in.Field(f) != 0 }

// Dwords are the instruction's own dwords.
func (in *Inst) Dwords() []uint32 { return in.Raw[:in.Size/4] }

// OpSelHi is the three op_sel_hi bits of VOP3P, source 0 lowest.
func (in *Inst) OpSelHi() uint32 { return in.Field(FieldOpSelHi) | in.Field(FieldOpSelHi2)<<2 }

// Returns tells whether an atomic returns the value from before.
func (in *Inst) Returns() bool {
	switch {
	case !in.Op.Has(FlagRtnOpt):
		return in.Op.Has(FlagRtn)
	case in.Arch == RDNA4:
		return in.Field(FieldTH)&1 != 0
	case in.Arch.CDNA() && in.Op.Format != SMEM:
		return in.Flag(FieldSC0)
	}
	return in.Flag(FieldGLC)
}

// Offset is the immediate offset of a memory instruction in bytes, signed where the encoding has it so. DS: the
// 16-bit offset; instructions with two offsets read FieldOffset0 and FieldOffset1.
func (in *Inst) Offset() int32 {
	if in.Op.Format == DS {
		return int32(in.Field(FieldOffset0) | in.Field(FieldOffset1)<<8)
	}
	p := layouts[in.layout].fields[FieldOffset]
	v := in.Field(FieldOffset)
	if layouts[in.layout].signedOffset {
		return int32(v<<(32-p.width)) >> (32 - p.width)
	}
	return int32(v)
}

// Simm16 is the sign-extended immediate of SOPK and SOPP.
func (in *Inst) Simm16() int32 { return int32(int16(in.Field(FieldSimm16))) }

// Target is where a direct branch at pc goes. ok is false for other instructions.
func (in *Inst) Target(pc uint64) (target uint64, ok bool) {
	if !in.Op.Has(FlagBranch) || in.Op.Has(FlagIndirect) || in.Op.Format != SOPP && in.Op.Format != SOPK {
		return 0, false
	}
	return pc + uint64(in.Size) + uint64(int64(in.Simm16())*4), true
}
