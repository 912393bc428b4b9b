package isa

// Arch is an instruction set. Targets of one Arch share encodings.
type Arch uint8

const (
	NoArch Arch = iota
	CDNA2       // gfx90a
	CDNA3       // gfx942
	CDNA4       // gfx950
	RDNA3       // gfx1100 to gfx1103
	RDNA35      // gfx1150 to gfx1153
	RDNA4       // gfx1200, gfx1201
	numArch
)

// ArchOf is the instruction set of a target such as "gfx1100". A generic target has that of the first processor that runs it,
// whose instructions its code keeps to.
func ArchOf(target string) (Arch, bool) {
	switch target {
	case "gfx90a":
		return CDNA2, true
	case "gfx942", "gfx9-4-generic":
		return CDNA3, true
	case "gfx950":
		return CDNA4, true
	case "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx11-generic":
		return RDNA3, true
	case "gfx1150", "gfx1151", "gfx1152", "gfx1153":
		return RDNA35, true
	case "gfx1200", "gfx1201", "gfx12-generic":
		return RDNA4, true
	}
	return NoArch, false
}

// CDNA tells whether the architecture is gfx9: wave64 only, AGPRs, SDWA.
func (a Arch) CDNA() bool { return a >= CDNA2 && a <= CDNA4 }

func (a Arch) String() string {
	return [...]string{"none", "CDNA2", "CDNA3", "CDNA4", "RDNA3", "RDNA3.5", "RDNA4"}[a]
}

// Format is an encoding. RDNA4 renamed some (VFLAT, VBUFFER, VIMAGE, VDSDIR, VEXPORT…); they go by the older name here:
// one Format per meaning, whatever its bits.
type Format uint8

const (
	NoFormat Format = iota
	SOP1
	SOP2
	SOPC
	SOPK
	SOPP
	SMEM
	VOP1
	VOP2
	VOPC
	VOP3   // also compares and readlane with a scalar destination
	VOP3SD // VOP3 with a scalar second destination: carry out, div_scale
	VOP3P  // packed, dot, mix, WMMA and MFMA
	VOP3PX // CDNA4: MFMA with block scales, 16 bytes
	VOPD   // RDNA: two operations in one instruction
	VINTERP
	LDSDIR
	DS
	FLAT
	GLOBAL
	SCRATCH
	MUBUF
	MTBUF
	MIMG
	EXP
	numFormat
)

// Class tells which unit runs an instruction and how it issues.
type Class uint8

const (
	NoClass   Class = iota
	SALU            // scalar ALU, also s_getreg, s_setreg, s_getpc
	SMEM_           // scalar loads, stores, cache operations, s_memtime
	VALU            // one pass per 32 lanes
	VALUTrans       // quarter rate: exp, log, rcp, rsq, sqrt, sin, cos
	VALU64          // 64-bit float arithmetic, 64-bit integer multiply, 32-bit multiply at quarter rate
	Matrix          // MFMA, SMFMAC, WMMA, SWMMAC
	VMEM            // MUBUF, MTBUF
	Global          // GLOBAL
	Flat            // FLAT
	Scratch         // SCRATCH
	LDS             // DS, LDSDIR
	Branch          // s_branch, s_cbranch_*, s_call, s_setpc, s_swappc, s_trap, s_rfe
	Wait            // s_waitcnt*, s_wait_*
	Message         // s_sendmsg*
	Barrier         // s_barrier*
	Immediate       // s_nop, s_clause, s_sleep, s_setprio and other SOPP that need no unit
	Delay           // s_delay_alu, s_waitcnt_depctr, s_wait_alu: hints that send nothing to a trace
	End             // s_endpgm*
	Export          // EXP
	Image           // MIMG
	numClass
)

// Flags are properties of an operation.
type Flags uint64

const (
	FlagAtomic     Flags = 1 << iota
	FlagBarrier          // joins waves
	FlagBranch           // may change the PC
	FlagCache            // acts on a cache
	FlagCall             // writes the return address
	FlagCond             // conditional branch
	FlagCrosslane        // moves data between lanes
	FlagD16              // touches one half of a VGPR, or 16-bit elements in memory
	FlagDot              // dot product
	FlagDP               // 64-bit float
	FlagDstAlsoSrc       // reads its destination too
	FlagDual             // a VOPD half
	FlagEnd              // ends the wave
	FlagExport           //
	FlagFlat             // generic address
	FlagGDS              //
	FlagHint             // no effect on results
	FlagIndirect         // jumps to an address in registers
	FlagLDS              // reads or writes LDS
	FlagLiteral          // always followed by a literal
	FlagLoad             //
	FlagMsg              //
	FlagRtn              // atomic that always returns
	FlagRtnOpt           // atomic that returns when [Inst.Returns]
	FlagScalarMem        //
	FlagStore            //
	FlagTrans            // transcendental
	FlagW64              // has a 64-bit operand
	FlagWait             //
	FlagWMMA             //
	FlagMFMA             //
	FlagSMFMAC           //
	FlagSWMMAC           //
	FlagWritesExec       //
	FlagWritesSCC        //
	FlagDPP16            // has a DPP16 form
	FlagDPP8             // has a DPP8 form
	FlagSDWA             // has an SDWA form
	FlagLit              // takes literals
	FlagSDST             // the vdst byte names a scalar register
	FlagTrue16           // RDNA: 16-bit VGPR operands of the short forms use bit 7 as the half
	FlagMix              // v_fma_mix*, v_mad_mix*: neg_hi means abs, op_sel_hi chooses f16
	FlagSlotX            // VOPD: may be the first half
	FlagSlotY            // VOPD: may be the second half
)

// Regs is a set of registers that an operation reads or writes without naming them.
type Regs uint8

const (
	RegSCC Regs = 1 << iota
	RegVCC
	RegEXEC
	RegM0
	RegMODE // depends on the float mode
	RegFlatScratch
)

// Dir tells how an operand is used.
type Dir uint8

const (
	In     Dir = 1
	Out    Dir = 2
	InOut  Dir = 3
	OutRtn Dir = 6 // Out, and only where [Inst.Returns]
)

// Reads and Writes tell the direction; an OutRtn operand counts as written.
func (d Dir) Reads() bool  { return d&In != 0 }
func (d Dir) Writes() bool { return d&Out != 0 }

// Type is the type of one element of an operand.
type Type uint8

const (
	TypeAny Type = iota
	TypeB8
	TypeB16
	TypeB32
	TypeB64
	TypeB96
	TypeB128
	TypeB256
	TypeU8
	TypeU16
	TypeU24
	TypeU32
	TypeU64
	TypeI8
	TypeI16
	TypeI24
	TypeI32
	TypeI64
	TypeI4
	TypeU4
	TypeIU4 // signed or unsigned by the neg bits
	TypeIU8
	TypeF16
	TypeBF16
	TypeF32
	TypeF64
	TypeFP8
	TypeBF8
	TypeFP6
	TypeBF6
	TypeFP4
	TypeMask // one bit per lane: 32 or 64 bits by the wave's size
	TypeRsrc // buffer or image resource, sampler
	numType
)

var typeBits = [numType]uint16{
	TypeAny: 32, TypeB8: 8, TypeB16: 16, TypeB32: 32, TypeB64: 64, TypeB96: 96, TypeB128: 128, TypeB256: 256,
	TypeU8: 8, TypeU16: 16, TypeU24: 24, TypeU32: 32, TypeU64: 64, TypeI8: 8, TypeI16: 16, TypeI24: 24, TypeI32: 32,
	TypeI64: 64, TypeI4: 4, TypeU4: 4, TypeIU4: 4, TypeIU8: 8, TypeF16: 16, TypeBF16: 16, TypeF32: 32, TypeF64: 64,
	TypeFP8: 8, TypeBF8: 8, TypeFP6: 6, TypeBF6: 6, TypeFP4: 4, TypeMask: 64, TypeRsrc: 32,
}

// Bits is the size of one element.
func (t Type) Bits() int { return int(typeBits[t]) }

// Float tells whether inline float constants take this type's bit pattern.
func (t Type) Float() bool { return t >= TypeF16 && t <= TypeFP4 }

// Operand is one operand of a table row, in the order in which the tables list them (destinations first where the
// hardware's documents have it so; look at Dir, not at the place).
type Operand struct {
	Field Field
	Dir   Dir
	Type  Type  // of one element
	Count uint8 // elements per lane of packed and matrix operands; 0 or 1: scalar
	Kind  Kind
	Bits  uint16 // of the whole operand per lane (scalar operands: in all); masks are stated for wave64
}

// Kind is the set of registers and constants that an operand may name.
type Kind uint8

const (
	KindNone   Kind = iota
	KindVGPR        // VGPR number
	KindAV          // VGPR, or AGPR where the acc bit says so
	KindAcc         // AGPR only
	KindSGPR        // scalar register
	KindSSrc        // scalar register or constant
	KindSrc         // scalar register, constant or VGPR
	KindSrcV        // VGPR in a 9-bit field
	KindSrcAV       // VGPR or AGPR in a 9-bit field
	KindSrcVI       // VGPR or inline constant (matrix C)
	KindSrcAVI      // VGPR, AGPR or inline constant
	KindSrcAcc      // AGPR in a 9-bit field
	KindSoff        // SMEM offset register, absent by the soffset rules
	KindImm         // number: simm16, message, hwreg, label…
)

// Op is a row of the static instruction tables.
type Op struct {
	Name    string // LLVM's spelling of the base form: "v_add_f32_e32"
	Flags   Flags
	Code    uint16 // opcode within the format
	first   uint16 // first operand in operandPool
	count   uint8
	set     uint8 // in layoutSets
	Format  Format
	Class   Class
	Reads   Regs   // implicit
	Writes  Regs   // implicit
	shown   uint32 // modifier bits that LLVM prints, see mods.go
	ignored uint32 // those that it takes without a word
	older   uint32 // those that LLVM 19 took and 22 refuses
	trace   traceRow
}

// Operands are the operands in table order. The slice must not be written.
func (o *Op) Operands() []Operand { return operandPool[o.first : o.first+uint16(o.count)] }

// Has tells whether all the given flags are set.
func (o *Op) Has(f Flags) bool { return o.Flags&f == f }

// Base is the name without _e32 or _e64.
func (o *Op) Base() string {
	if n := len(o.Name) - 4; n > 0 && (o.Name[n:] == "_e32" || o.Name[n:] == "_e64") {
		return o.Name[:n]
	}
	return o.Name
}

// Form is the variant of an encoding that an instruction uses.
type Form uint8

const (
	Base Form = iota
	Lit       // a literal dword follows
	DPP16
	DPP8
	SDWA
)

// Inst is one decoded instruction: a value, valid as long as the program runs.
type Inst struct {
	Op     *Op
	OpY    *Op // second half of a VOPD instruction, else nil
	Raw    [4]uint32
	Lit    uint32 // the literal where Form is Lit
	Arch   Arch
	Form   Form
	Size   uint8 // bytes
	layout uint8
}

// Field names a bit field. The same field may lie elsewhere in another format or architecture.
type Field uint8

// Fields. A field that a format lacks reads as 0.
const (
	NoField Field = iota

	FieldSdst
	FieldSsrc0
	FieldSsrc1
	FieldSimm16
	FieldSbase // SGPR pair number: register = 2*value
	FieldSdata
	FieldSoffset   // scalar register (MUBUF on gfx9 and RDNA3: also constants)
	FieldSoffsetEn // CDNA SMEM
	FieldImm       // CDNA SMEM
	FieldOffset    // immediate offset, raw bits; see [Inst.Offset]
	FieldOffset0   // DS
	FieldOffset1   // DS

	FieldVdst // a scalar register where FlagSDST is set
	FieldSrc0 // 9 bits; in DPP and SDWA forms the 8 bits of the VGPR (SDWA: SGPR where FieldS0)
	FieldSrc1 // 9 bits, or the VGPR number of VOP2 and VOPC (SDWA: SGPR where FieldS1)
	FieldSrc2
	FieldAbs     // 3 bits
	FieldNeg     // 3 bits; VOP3P: neg_lo
	FieldNegHi   // VOP3P
	FieldOpSel   // VOP3: 4 bits, VOP3P: 3
	FieldOpSelHi // VOP3P, sources 0 and 1; see [Inst.OpSelHi]
	FieldOpSelHi2
	FieldClamp
	FieldOmod
	FieldWaitExp // VINTERP

	FieldSrcX0 // VOPD
	FieldSrcX1
	FieldVdstX
	FieldSrcY0
	FieldSrcY1
	FieldVdstY // raw: half the register number
	FieldOpX
	FieldOpY

	FieldDppCtrl
	FieldDppFI
	FieldDppBC // bound_ctrl
	FieldDppBankMask
	FieldDppRowMask
	FieldDpp8 // all 24 bits, lane 0's select lowest
	FieldSrc0Neg
	FieldSrc0Abs
	FieldSrc1Neg
	FieldSrc1Abs
	FieldSrc0Sext // SDWA
	FieldSrc1Sext
	FieldDstSel
	FieldDstUnused
	FieldSrc0Sel
	FieldSrc1Sel
	FieldS0
	FieldS1
	FieldSD // SDWA VOPC: FieldSdst counts, else VCC

	FieldCbsz // MFMA
	FieldAbid
	FieldBlgp
	FieldAccCD // C and D are AGPRs
	FieldAcc   // MFMA: 2 bits, A and B are AGPRs; memory: data are AGPRs
	FieldScaleSrc0
	FieldScaleSrc1

	FieldVaddr
	FieldData // DS data0, FLAT data
	FieldData1
	FieldVdata // buffers and images
	FieldSaddr
	FieldSve // scratch: vaddr counts
	FieldRsrc
	FieldSamp
	FieldOffen
	FieldIdxen
	FieldFormat // RDNA buffer format
	FieldDfmt
	FieldNfmt
	FieldTfe
	FieldLds
	FieldGds
	FieldGLC // RDNA3, CDNA SMEM
	FieldSLC
	FieldDLC
	FieldSC0 // CDNA
	FieldSC1
	FieldNT
	FieldScope // RDNA4
	FieldTH
	FieldNV
	FieldScaleOffset // gfx12: bits that only gfx1250 uses

	FieldDim // images
	FieldDmask
	FieldUnorm
	FieldDA // gfx90a: the image is an array
	FieldR128
	FieldA16
	FieldD16
	FieldLwe
	FieldNsa
	FieldVaddr1
	FieldVaddr2
	FieldVaddr3
	FieldVaddr4

	FieldEn // EXP
	FieldTarget
	FieldDone
	FieldRow
	FieldExp0
	FieldExp1
	FieldExp2
	FieldExp3
	FieldAttr
	FieldAttrChan
	FieldWaitVdst
	FieldWaitVmVsrc

	numField
)
