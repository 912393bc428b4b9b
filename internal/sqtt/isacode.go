package sqtt

import (
	"encoding/binary"
	"sort"

	"github.com/rigprof/rigprof/internal/isa"
)

// Program is the code that ran, in one or more code objects, as a [Code].
type Program struct {
	arch     isa.Arch
	segments []codeSegment // by address

	kernels, functions []uint64
}

type codeSegment struct {
	base uint64
	code []byte
}

// NewProgram makes an empty program of an instruction set.
func NewProgram(arch isa.Arch) *Program { return &Program{arch: arch} }

// Add adds the code that lay at an address. It is kept, not copied. Where code overlaps, what was added last holds.
func (p *Program) Add(base uint64, code []byte) {
	i := sort.Search(len(p.segments), func(i int) bool { return p.segments[i].base > base })
	p.segments = append(p.segments, codeSegment{})
	copy(p.segments[i+1:], p.segments[i:])
	p.segments[i] = codeSegment{base, code}
}

// AddKernel tells where a kernel begins, AddFunction where code does that others call.
func (p *Program) AddKernel(entry uint64) { p.kernels = append(p.kernels, entry) }

// AddFunction is for code as AddKernel for kernels.
func (p *Program) AddFunction(entry uint64) { p.functions = append(p.functions, entry) }

// Kernels are where kernels begin.
func (p *Program) Kernels() []uint64 { return p.kernels }

// Functions are where code begins that kernels call.
func (p *Program) Functions() []uint64 { return p.functions }

// bytes are the bytes from pc to the end of its segment.
func (p *Program) bytes(pc uint64) []byte {
	i := sort.Search(len(p.segments), func(i int) bool { return p.segments[i].base > pc }) - 1
	if i < 0 || pc-p.segments[i].base >= uint64(len(p.segments[i].code)) {
		return nil
	}
	return p.segments[i].code[pc-p.segments[i].base:]
}

// Decode is the instruction at pc.
func (p *Program) Decode(pc uint64) (isa.Inst, bool) {
	b := p.bytes(pc)
	if len(b) < 4 {
		return isa.Inst{}, false
	}
	in, err := isa.DecodeLenient(p.arch, b)
	return in, err == nil
}

// At is the instruction at pc as the walk sees it.
func (p *Program) At(pc uint64) (Insn, bool) {
	in, ok := p.Decode(pc)
	if !ok {
		size := encodedSize(p.arch, p.bytes(pc))
		return Insn{Size: size}, size > 0
	}
	t := isa.Trace(&in, 32)
	out := Insn{Size: in.Size, Category: categoryOf(&in, &t), Again: t.Exit}
	switch {
	case t.Kind == isa.TraceEnd:
		out.Step = StepEnd
	case t.Kind == isa.TraceNone && t.Header0:
		out.Step = StepBarrier
	case t.Kind == isa.TraceNone:
		out.Step = StepSkip
	}
	if target, ok := in.Target(pc); ok {
		out.Offset = int32(target - pc - uint64(in.Size))
	}
	out.Leaves = t.NewPC
	out.Always = in.Op.Has(isa.FlagBranch) && !in.Op.Has(isa.FlagCond) && !in.Op.Has(isa.FlagCall)
	return out, true
}

// categoryOf is the category of the record that an instruction sends.
func categoryOf(in *isa.Inst, t *isa.TraceInfo) Category {
	if t.Branch {
		return CategoryJump
	}
	switch t.Kind {
	case isa.TraceVALU:
		return CategoryVALU
	case isa.TraceImm:
		return CategoryImmed
	case isa.TraceInst:
		ops := &gfx11Ops
		switch {
		case in.Arch.CDNA():
			ops = &gfx9Ops
		case in.Arch == isa.RDNA4:
			ops = &gfx12Ops
		}
		return ops[t.Op].category
	case isa.TraceEnd:
		return CategoryMessage
	}
	return CategoryNone
}

// encodedSize is the length of an instruction that the tables lack: hardware runs some that no document names, and the walk
// needs no more of them. 0 where the length does not show.
func encodedSize(a isa.Arch, code []byte) uint8 {
	if len(code) < 8 {
		return 0
	}
	w := binary.LittleEndian.Uint32(code)
	size := uint8(4)
	switch op := w >> 26; {
	case w == 0: // padding
		return 0
	case w>>30 != 3: // SOP*, VOP1, VOP2, VOPC
		if w>>31 == 0 && w&0x1ff == 0xff || w>>31 == 1 && w>>28 < 11 && (w&0xff == 0xff || w>>8&0xff == 0xff) {
			size = 8 // a literal
		}
	case !a.CDNA() && (op == 0x33 || op == 0x35) || a.CDNA() && op == 0x34: // VOP3P, VOP3
		size = 8
		if s := binary.LittleEndian.Uint32(code[4:]); !a.CDNA() && (s&0x1ff == 0xff || s>>9&0x1ff == 0xff || s>>18&0x1ff == 0xff) {
			size = 12
		}
	case a == isa.RDNA4 && op >= 0x36 && op != 0x3d: // VDS, VMEM; SMEM is shorter
		size = 12
		if op == 0x36 {
			size = 8
		}
	default:
		size = 8
	}
	return size
}
