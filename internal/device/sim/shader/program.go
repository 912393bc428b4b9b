package shader

import (
	"sync"
	"sync/atomic"

	"github.com/rigprof/rigprof/internal/isa"
)

// Program is the code that a kernel reached, decoded. Instructions keep their index; more may be added when
// a jump goes to an address in registers.
type Program struct {
	arch isa.Arch
	wave int

	mu     sync.Mutex
	state  atomic.Pointer[programState]
	mem    Memory
	checks []codeBytes // what was compiled, to see whether it is still there

	ordered bool // groups must run one after the other: set by what compile saw
	counts  bool // has ordered counts
	maxV    int  // VGPRs in use, AGPRs in maxA
	maxA    int
	konsts  map[uint32]*vreg
	lookups map[elem]*lookup
}

type programState struct {
	insts []ProgInst
	code  []uop // one more than insts per straight line: its continuation
	class []isa.Class
	valu  []uint32 // of the vector unit before each index, and in all
	byPC  map[uint64]int
}

type codeBytes struct {
	pc   uint64
	data []byte
}

// Insts are the instructions found so far. The slice must not be written; it is valid for ever, and
// instructions that are found later are in the slice of a later call.
func (p *Program) Insts() []ProgInst { return p.state.Load().insts }

func (p *Program) view() []ProgInst { return p.state.Load().insts }

// Arch is the instruction set, WaveSize the lanes of a wave.
func (p *Program) Arch() isa.Arch { return p.arch }

// WaveSize is 32 or 64.
func (p *Program) WaveSize() int { return p.wave }

// maxCode bounds a program: a jump into data would otherwise decode all of memory.
const maxCode = 1 << 20

// target is the index of the instruction at pc, which it compiles if it is new.
func (p *Program) target(pc uint64) int {
	if i, ok := p.state.Load().byPC[pc]; ok {
		return i
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.state.Load()
	if i, ok := st.byPC[pc]; ok {
		return i
	}
	next := &programState{insts: st.insts, code: append([]uop(nil), st.code...), class: append([]isa.Class(nil), st.class...), valu: append([]uint32(nil), st.valu...), byPC: make(map[uint64]int, len(st.byPC)+64)}
	for k, v := range st.byPC {
		next.byPC[k] = v
	}
	next.insts = append([]ProgInst(nil), st.insts...)
	p.grow(next, pc)
	p.state.Store(next)
	return next.byPC[pc]
}

// grow compiles the straight line at pc and all that direct branches reach from it.
func (p *Program) grow(st *programState, pc uint64) {
	todo := []uint64{pc}
	var branches []int
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, ok := st.byPC[pc]; ok {
			continue
		}
		code, _ := p.mem.Map(pc, false)
		start, used := pc, 0
		begin := len(st.code)
		for {
			if at, ok := st.byPC[pc]; ok { // run into known code: go on there
				p.add(st, ProgInst{PC: pc}, uop{run: runJoin, target: int32(at)})
				break
			}
			if len(st.insts) >= maxCode {
				st.byPC[pc] = p.add(st, ProgInst{PC: pc}, uop{run: runTooLong})
				break
			}
			in, err := isa.DecodeLenient(p.arch, code[used:])
			idle := false
			if err != nil {
				var ok bool
				if in, idle, ok = p.undocumented(code[used:]); ok {
					err = nil
				}
			}
			if err != nil || in.Size == 0 {
				u := uop{run: runIllegal}
				if used >= len(code) {
					u.run = runNoCode
				}
				st.byPC[pc] = p.add(st, ProgInst{PC: pc}, u)
				break
			}
			pi := ProgInst{PC: pc, Inst: in, Class: in.Op.Class}
			u := p.compile(&pi)
			if idle {
				u.run = runNop
			}
			i := p.add(st, pi, u)
			st.byPC[pc] = i
			if t, ok := in.Target(pc); ok {
				branches = append(branches, i)
				todo = append(todo, t)
			}
			pc += uint64(in.Size)
			used += int(in.Size)
			if endsLine(&in) {
				break
			}
		}
		skipNops(st.code[begin:], st.insts[begin:])
		p.checks = append(p.checks, codeBytes{start, append([]byte(nil), code[:used]...)})
	}
	for _, i := range branches {
		t, _ := st.insts[i].Inst.Target(st.insts[i].PC)
		st.code[i].target = int32(st.byPC[t])
	}
}

// undocumented decodes what the instruction tables refuse, because LLVM does, but hardware takes. idle: it does nothing
// here.
//
//   - Scalar instructions that RDNA3.5 has and RDNA3 does not. In the trace of a RX 7900 XTX that runs every operation
//     each of 56 such words is one scalar record of one cycle, and the wave goes on. What it writes is not known; here
//     that is nothing.
//   - Long forms of v_readfirstlane_b32, v_swap_b32, v_accvgpr_mov_b32 and, on RDNA4, v_mov_b16, and RDNA4's v_swap_b16,
//     which AMD's machine-readable tables have.
func (p *Program) undocumented(code []byte) (in isa.Inst, idle, ok bool) {
	if len(code) < 4 {
		return in, false, false
	}
	w := le.Uint32(code)
	var err error
	switch op := w >> 16 & 0x3ff; {
	case p.arch == isa.RDNA3 && w>>30 == 2: // SOP2, SOP1, SOPC
		in, err = isa.DecodeLenient(isa.RDNA35, code)
		return in, true, err == nil && (in.Op.Format == isa.SOP1 || in.Op.Format == isa.SOP2 || in.Op.Format == isa.SOPC)
	case p.arch == isa.RDNA4 && (w>>25 == 0x3f && w>>9&0xff == 102 || w>>26 == 0x35 && op == 412):
		in, err = isa.DecodeLenient(isa.RDNA35, code)
		return in, false, err == nil
	case len(code) < 8:
	case p.arch.CDNA() && w>>26 == 0x34 && (op == 322 || op == 401 || op == 402):
		return p.short(code, op-320)
	case !p.arch.CDNA() && w>>26 == 0x35 && op == 386:
		return p.short(code, op-384)
	}
	return in, false, false
}

// short decodes a VOP3 instruction of one source as the short form of the same operation.
func (p *Program) short(code []byte, op uint32) (in isa.Inst, idle, ok bool) {
	src := le.Uint32(code[4:]) & 0x1ff
	vop1 := le.AppendUint32(nil, 0x7e000000|le.Uint32(code)&0xff<<17|op<<9|src)
	in, err := isa.DecodeLenient(p.arch, vop1)
	if err != nil || in.Size != 4 {
		return in, false, false
	}
	in.Size = 8
	in.Raw[1] = le.Uint32(code[4:])
	return in, false, true
}

func (p *Program) add(st *programState, pi ProgInst, u uop) int {
	u.index = int32(len(st.insts))
	u.next = u.index + 1
	st.insts = append(st.insts, pi)
	st.class = append(st.class, pi.Class)
	if len(st.valu) == 0 {
		st.valu = append(st.valu, 0)
	}
	n := st.valu[len(st.valu)-1]
	switch pi.Class {
	case isa.VALU, isa.VALUTrans, isa.VALU64, isa.Matrix:
		n++
	}
	st.valu = append(st.valu, n)
	st.code = append(st.code, u)
	return int(u.index)
}

// skipNops lets operations that neither stop the wave nor look at where it is go on behind those that do nothing, such as
// waits for counters. Counts are kept for whole straight lines, so these are counted all the same.
func skipNops(code []uop, insts []ProgInst) {
	for i := len(code) - 2; i >= 0; i-- {
		u, then := &code[i], &code[i+1]
		if then.nop && (u.nop || goesOn(&insts[i])) {
			u.next = then.next
		}
	}
}

func goesOn(pi *ProgInst) bool {
	if pi.Inst.Op == nil {
		return false
	}
	switch pi.Inst.Op.Format {
	case isa.SOP2, isa.SOPC, isa.VOP1, isa.VOP2, isa.VOPC, isa.VOP3, isa.VOP3SD, isa.VOP3P, isa.VOP3PX, isa.VOPD, isa.GLOBAL:
		return true
	case isa.DS:
		return pi.Mem && !pi.Inst.Flag(isa.FieldGds)
	}
	return false
}

// endsLine tells whether control never goes on behind the instruction.
func endsLine(in *isa.Inst) bool {
	if in.Op.Has(isa.FlagEnd) {
		return true
	}
	switch in.Op.Name {
	case "s_branch", "s_setpc_b64", "s_rfe_b64", "s_rfe_restore_b64":
		return true
	}
	return false
}

// unchanged tells whether memory still holds what was compiled.
func (p *Program) unchanged() bool {
	for _, c := range p.checks {
		b, _ := p.mem.Map(c.pc, false)
		if len(b) < len(c.data) || string(b[:len(c.data)]) != string(c.data) {
			return false
		}
	}
	return true
}
