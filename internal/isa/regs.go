package isa

import "strings"

// RegFile is a register file, for dependencies.
type RegFile uint8

const (
	FileVGPR RegFile = iota
	FileAGPR
	FileScalar // by scalar code: SGPRs, VCC, TTMPs, M0, EXEC
	FileSCC
)

// RegRange is a run of registers that an instruction reads or writes.
type RegRange struct {
	File  RegFile
	Write bool
	N     uint8
	First uint16
}

// AppendRegs appends the registers that the instruction reads and writes as waves of the given size execute it: named
// and implicit ones, a register that is both once for each. The float mode and FLAT_SCRATCH are left out: nothing
// waits for them. Registers reached through M0 (v_movrel*, s_movrel*) count as the ones that the encoding names.
func (in *Inst) AppendRegs(dst []RegRange, wave int) []RegRange {
	dst = in.appendOpRegs(dst, in.Op, false, wave)
	if in.OpY != nil {
		dst = in.appendOpRegs(dst, in.OpY, true, wave)
	}
	return dst
}

func (in *Inst) appendOpRegs(dst []RegRange, op *Op, y bool, wave int) []RegRange {
	for i := range int(op.count) {
		a := in.arg(op, i, y)
		r := RegRange{First: a.Reg, N: uint8(in.argRegs(op, &a, wave))}
		switch a.Kind {
		case ArgVGPR:
			r.File = FileVGPR
		case ArgAGPR:
			r.File = FileAGPR
		case ArgScalar:
			r.File, r.First = FileScalar, in.maskReg(&a, wave)
			switch {
			case a.Reg == in.Arch.Null():
				continue
			case a.Reg == in.Arch.M0():
				r.N = 1
			case a.Reg >= SrcVccz && a.Reg <= SrcScc:
				r = [3]RegRange{{File: FileScalar, First: VccLo, N: uint8(wave / 32)}, {File: FileScalar, First: ExecLo, N: uint8(wave / 32)}, {File: FileSCC, N: 1}}[a.Reg-SrcVccz]
			case a.Reg >= 128:
				continue // constants and apertures
			}
		default:
			continue
		}
		if a.Dir.Reads() {
			dst = append(dst, r)
		}
		if a.Dir.Writes() && (a.Dir != OutRtn && !(op.Has(FlagRtnOpt) && a.Dir == InOut) || in.Returns()) {
			r.Write = true
			dst = append(dst, r)
		}
	}
	dst = in.appendImplicit(dst, op.Reads, false, wave)
	writes := op.Writes
	if op.Format == VOPC && in.Form == SDWA && in.Flag(FieldSD) {
		writes &^= RegVCC
		dst = append(dst, RegRange{File: FileScalar, Write: true, First: in.sdwaDst(), N: 2})
	}
	return in.appendImplicit(dst, writes, true, wave)
}

func (in *Inst) appendImplicit(dst []RegRange, regs Regs, write bool, wave int) []RegRange {
	mask := uint8(wave / 32)
	if regs&RegSCC != 0 {
		dst = append(dst, RegRange{File: FileSCC, Write: write, N: 1})
	}
	if regs&RegVCC != 0 {
		dst = append(dst, RegRange{File: FileScalar, Write: write, First: VccLo, N: mask})
	}
	if regs&RegEXEC != 0 {
		dst = append(dst, RegRange{File: FileScalar, Write: write, First: ExecLo, N: mask})
	}
	if regs&RegM0 != 0 {
		dst = append(dst, RegRange{File: FileScalar, Write: write, First: in.Arch.M0(), N: 1})
	}
	return dst
}

// argRegs is the number of registers of an operand for the wave's size.
func (in *Inst) argRegs(op *Op, a *Arg, wave int) int {
	n := a.Regs()
	switch {
	case in.maskArg(a):
		return wave / 32
	case op.Format == MIMG && (a.Field == FieldVdata || a.Field == FieldVaddr):
		data, addr := in.imageSizes(imageOpOf(op.Name), in.Size == 12)
		if a.Field == FieldVdata {
			return data
		}
		if in.Size == 12 {
			return 1
		}
		return addr
	case wave == 64 && a.Field == FieldVdst && op.Format == GLOBAL && strings.HasPrefix(op.Name, "global_load_tr_"):
		return n / 2
	case wave == 64 && op.Class == Matrix && !in.Arch.CDNA() && in.halvesInWave64(a):
		return max(n/2, 1)
	}
	return n
}

// halvesInWave64 tells whether a WMMA operand takes half the registers in wave64: C and D always, as twice the lanes
// hold it; A and B only on RDNA4, where lanes no longer hold them twice.
func (in *Inst) halvesInWave64(a *Arg) bool {
	return a.Field == FieldVdst || a.Field == FieldSrc2 && !in.Op.Has(FlagSWMMAC) || in.Arch == RDNA4 && a.Field != FieldSrc2
}
