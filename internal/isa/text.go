package isa

// AppendText appends the instruction at pc as LLVM's disassembler prints it, for waves of the given size.
func AppendText(dst []byte, arch Arch, wave int, pc uint64, in *Inst) []byte {
	return appendName(dst, in)
}

func appendName(dst []byte, in *Inst) []byte {
	op := in.Op
	switch in.Form {
	case DPP16, DPP8:
		switch {
		case op.Format == VOPC:
			return append(dst, op.Base()...)
		case op.Format == VOP1 || op.Format == VOP2:
			if op.Name == "v_nop" {
				return append(dst, op.Name...)
			}
			return append(append(dst, op.Base()...), "_dpp"...)
		}
		return append(append(dst, op.Base()...), "_e64_dpp"...)
	case SDWA:
		if op.Name == "v_nop" {
			return append(dst, op.Name...)
		}
		return append(append(dst, op.Base()...), "_sdwa"...)
	}
	return append(dst, op.Name...)
}
