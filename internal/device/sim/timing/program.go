package timing

import (
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// Units that an instruction issues to.
const (
	portVALU   = iota
	portMatrix // RDNA: behind a queue that the VALU port feeds
	portSALU   // scalar memory too
	portVMEM
	portLDS
	portBranch // messages and barriers too
	portImm    // what needs no unit
	numPorts
)

// What issuing an instruction does beside taking its unit.
const (
	doALU = iota
	doSMEM
	doVMEM
	doLDS
	doFlat // counts with memory and, on gfx9, with LDS
	doWait
	doBarrier // gfx9, gfx11: arrive and wait
	doSignal  // gfx12: arrive
	doJoin    // gfx12: wait
	doBranch
	doSleep
	doData // a word to the trace
	doImm
	doDelay // not issued
	doEnd
)

// Counters that waits wait for.
const (
	cntLoad  = iota // vmcnt, loadcnt
	cntStore        // vscnt, storecnt; gfx9: loads and stores share cntLoad
	cntDS           // LDS; lgkmcnt where scalar memory shares it
	cntKM           // gfx12: scalar memory
	numCnts
)

// Consumers of registers.
const (
	byVALU = iota
	bySALU
	bySMEM
	byMem
	byBranch
	numBy
)

// Producers of registers.
const (
	fromVALU = iota
	fromSALU
	fromVCC  // VCC, written by the VALU
	fromMask // another scalar register that the VALU wrote
)

// What a hint waits for.
const (
	waitVALU   = 1 << iota // all of the wave's VALU instructions
	waitScalar             // those that write scalar registers
	waitSALU
)

// Registers in a wave's table of results: VGPRs, AGPRs, scalar registers by code, SCC.
const (
	regAGPR   = 256
	regScalar = 512
	regSCC    = 640
	numRegs   = 641
)

type span struct{ first, n uint16 }

// sop is an instruction as the model sees it.
type sop struct {
	do, port, by uint8
	stat         Stat
	cnt          uint8 // counter that a memory instruction goes by
	busy         uint8 // cycles that its unit is taken
	late         uint8 // cycles that its result comes later than the pair of units tells
	exec         uint8 // cycles to its EXEC token; 0: none
	execCode     uint8
	hint         uint8  // what a doDelay waits for
	mops         uint16 // 512 operations of a matrix instruction
	show         isa.TraceKind
	op, opTaken  uint8
	newPC        bool
	line         bool // begins a line of code, or its first instruction may
	mem          bool // has a MemRef
	barrierWait  bool
	short        bool // sends a byte, not a word
	nsrc, ndst   uint8
	nscalar      uint8 // of src: scalar registers, which come first
	src          [8]uint16
	dst          [4]span
	sleep        int32
	wait         [numCnts]int8 // -1: does not care
	other        uint8         // INST op that the SIMD sharing the path sees; 0: none
	pc           uint64
}

// code is a program compiled for one family and wave size.
type code struct {
	prog *shader.Program
	ops  []sop
	wide bool
}

const (
	lineShift = 7 // of memory: 128 bytes
	lineBytes = 1 << lineShift
	codeShift = 8 // instructions come 256 bytes at a time, as stalls of the ops captures show
)

func (m *Machine) codeOf(p *shader.Program) *code {
	c := m.codes[p]
	if c == nil {
		c = &code{prog: p, wide: p.WaveSize() == 64}
		m.codes[p] = c
	}
	insts := p.Insts()
	for i := len(c.ops); i < len(insts); i++ {
		o := m.compile(&insts[i], p.WaveSize())
		o.line = i == 0 || insts[i].PC>>codeShift != insts[i-1].PC>>codeShift || insts[i-1].PC+uint64(insts[i-1].Inst.Size) != insts[i].PC
		c.ops = append(c.ops, o)
	}
	return c
}

func (m *Machine) compile(pi *shader.ProgInst, wave int) sop {
	o := sop{pc: pi.PC, mem: pi.Mem, wait: [numCnts]int8{-1, -1, -1, -1}, busy: uint8(m.p.step)}
	in := &pi.Inst
	if in.Op == nil { // code that could not be decoded: never executed
		o.do, o.stat = doDelay, StatDelay
		return o
	}
	info := isa.Trace(in, wave)
	o.show, o.op, o.opTaken, o.newPC = info.Kind, info.Op, info.OpTaken, info.NewPC
	name := in.Op.Base()
	switch in.Op.Class {
	case isa.SALU:
		o.do, o.port, o.by, o.stat = doALU, portSALU, bySALU, StatSALU
		if o.show == isa.TraceInst {
			o.exec, o.execCode = uint8(m.p.saluExec), 1
		}
		if m.gfx12 && info.Op == 0x98 {
			o.late = uint8(m.p.saluFloat)
		} else if strings.HasPrefix(name, "s_mul") && m.gfx12 {
			o.late = uint8(m.p.saluMul)
		}
		if strings.HasPrefix(name, "s_barrier") {
			m.barrierOp(&o, in, name)
		} else if name == "s_sleep_var" {
			o.do, o.port, o.stat = doImm, portImm, StatImmediate
		}
	case isa.SMEM_:
		o.do, o.port, o.by, o.stat, o.cnt = doSMEM, portSALU, bySMEM, StatSMEM, cntDS
		if m.gfx12 {
			o.cnt = cntKM
		}
		if in.Op.Has(isa.FlagStore) {
			o.stat = StatSMEMStore
		}
		if o.show == isa.TraceInst {
			o.exec, o.execCode = uint8(m.p.smemExec), 1
		}
	case isa.VALU, isa.VALUTrans, isa.VALU64, isa.Matrix:
		m.vectorOp(&o, in, name, wave)
	case isa.VMEM, isa.Global, isa.Scratch, isa.Flat, isa.Image:
		m.memoryOp(&o, in)
	case isa.LDS:
		o.do, o.port, o.by, o.stat, o.cnt = doLDS, portLDS, byMem, StatLDS, cntDS
		o.exec, o.execCode = uint8(m.p.ldsExec), 0
		if in.Op.Format == isa.LDSDIR {
			o.stat = StatLDSDirect
		}
		if o.op >= 0x29 && o.op <= 0x2e {
			o.other = 0x50 + max(o.op, 0x2a) - 0x2a
		}
	case isa.Branch:
		o.do, o.port, o.by, o.stat = doBranch, portBranch, byBranch, StatBranch
		if in.Op.Format != isa.SOPP { // s_call, s_setpc, s_swappc: the counters of real GPUs take them for SALU
			o.stat = StatSALU
			if name == "s_call_b64" { // an execution of the SALU in the traces of all operations
				o.exec, o.execCode = uint8(m.p.saluExec), 1
			}
		}
	case isa.Wait:
		o.do, o.port, o.by, o.stat = doWait, portImm, byBranch, StatWait
		m.waitOp(&o, in, name)
	case isa.Message, isa.Export:
		o.do, o.port, o.by, o.stat = doImm, portBranch, byBranch, StatMessage
		if in.Op.Class == isa.Export {
			o.stat = StatExport
		}
	case isa.Barrier:
		m.barrierOp(&o, in, name)
	case isa.Delay:
		o.do, o.stat = doDelay, StatDelay
		if name == "s_wait_alu" || name == "s_waitcnt_depctr" {
			o.hint = depctr(uint32(in.Simm16()))
		}
	case isa.End:
		o.do, o.port, o.stat = doEnd, portBranch, StatEnd
	default:
		o.do, o.port, o.by, o.stat = doImm, portImm, byBranch, StatImmediate
		switch name {
		case "s_nop":
			o.do, o.sleep = doSleep, in.Simm16()&0xf*int32(m.p.step)
		case "s_sleep":
			o.do, o.sleep = doSleep, 64*(in.Simm16()&0x7f)
		case "s_ttracedata":
			o.do = doData
		case "s_ttracedata_imm":
			o.do, o.short = doData, true
		}
	}
	m.registers(&o, in)
	return o
}

// depctr reads the counts of s_wait_alu; a field of ones does not wait. Layout: LLVM's DepCtr fields.
func depctr(v uint32) (hint uint8) {
	if v>>12&15 != 15 {
		hint |= waitVALU
	}
	if v>>9&7 != 7 || v>>1&1 == 0 {
		hint |= waitScalar
	}
	if v&1 == 0 {
		hint |= waitSALU
	}
	return hint
}

// barrierOp is about the workgroup's barrier alone, number -1: what waves do at others is not timed.
func (m *Machine) barrierOp(o *sop, in *isa.Inst, name string) {
	const minusOne = 193 // the inline constant
	o.do, o.port, o.by, o.stat, o.exec = doBarrier, portBranch, byBranch, StatBarrier, 0
	switch {
	case strings.HasPrefix(name, "s_barrier_signal") && in.Field(isa.FieldSsrc0) == minusOne:
		o.do = doSignal
	case strings.HasPrefix(name, "s_barrier_wait") && in.Simm16() == -1:
		o.do, o.port, o.barrierWait = doJoin, portImm, true
		o.show = isa.TraceImm
	case name != "s_barrier":
		o.do = doImm
	}
}

// waitOp reads the counts of a wait. Sources: the ISA documents' s_waitcnt layouts.
func (m *Machine) waitOp(o *sop, in *isa.Inst, name string) {
	v := int32(uint16(in.Simm16()))
	set := func(c int, n, none int32) {
		if n < none {
			o.wait[c] = int8(min(n, 127))
		}
	}
	switch name {
	case "s_waitcnt":
		switch m.g.Family {
		case gpu.GFX9:
			set(cntLoad, v&15|v>>14&3<<4, 63)
			set(cntDS, v>>8&15, 15)
		default:
			set(cntLoad, v>>10&63, 63)
			set(cntDS, v>>4&63, 63)
		}
	case "s_waitcnt_vscnt", "s_wait_storecnt":
		set(cntStore, v&63, 63)
	case "s_waitcnt_vmcnt", "s_wait_loadcnt":
		set(cntLoad, v&63, 63)
	case "s_waitcnt_lgkmcnt", "s_wait_dscnt":
		set(cntDS, v&63, 63)
	case "s_wait_kmcnt":
		set(cntKM, v&31, 31)
	case "s_wait_loadcnt_dscnt":
		set(cntLoad, v>>8&63, 63)
		set(cntDS, v&63, 63)
	case "s_wait_storecnt_dscnt":
		set(cntStore, v>>8&63, 63)
		set(cntDS, v&63, 63)
	case "s_wait_idle":
		o.wait = [numCnts]int8{}
	}
}

func (m *Machine) memoryOp(o *sop, in *isa.Inst) {
	o.do, o.port, o.by, o.cnt = doVMEM, portVMEM, byMem, cntLoad
	o.exec, o.execCode = uint8(m.p.vmemExec), 2
	store := in.Op.Has(isa.FlagStore) && !in.Op.Has(isa.FlagAtomic)
	atomic := in.Op.Has(isa.FlagAtomic)
	if (store || atomic && !in.Returns()) && m.g.Family != gpu.GFX9 {
		o.cnt = cntStore
	}
	pick := func(load, st, at Stat) Stat {
		switch {
		case atomic && in.Returns() && at != StatScratchStore:
			return at + 1
		case atomic:
			return at
		case store:
			return st
		}
		return load
	}
	switch in.Op.Class {
	case isa.Global:
		o.stat = pick(StatGlobalLoad, StatGlobalStore, StatGlobalAtomic)
	case isa.Scratch:
		o.stat = pick(StatScratchLoad, StatScratchStore, StatScratchStore)
	case isa.Flat:
		o.stat = pick(StatFlatLoad, StatFlatStore, StatFlatAtomic)
		o.do = doFlat
	case isa.Image:
		o.stat = StatImage
	default:
		o.stat = pick(StatBufferLoad, StatBufferStore, StatBufferAtomic)
	}
	if in.Op.Has(isa.FlagCache) && !o.mem {
		o.do, o.exec = doImm, 0
	}
	// The op counts the registers sent: the paired SIMD sees as many cycles of the shared path.
	var n uint8
	switch {
	case o.op >= 0x1c && o.op <= 0x20:
		o.other = 0x55 + o.op - 0x1c
	case o.op >= 0x21 && o.op <= 0x22:
		n = o.op - 0x20
	case o.op >= 0x23 && o.op <= 0x28:
		n = o.op - 0x22
	case o.op >= 0x2f && o.op <= 0x30:
		n = o.op - 0x2e
	case o.op >= 0x31 && o.op <= 0x36:
		n = o.op - 0x30
	}
	if n > 0 {
		o.other = 0x59 + n
		if m.gfx12 {
			o.other = 0xbb + n
		}
	}
}

func (m *Machine) vectorOp(o *sop, in *isa.Inst, name string, wave int) {
	o.do, o.port, o.by = doALU, portVALU, byVALU
	o.exec, o.execCode = uint8(m.p.valuExec), 2
	o.stat = valuStat(in, name)
	busy := m.p.step
	f64 := strings.Contains(name, "_f64")
	cdna := in.Arch.CDNA()
	switch {
	case in.Op.Class == isa.Matrix:
		busy = matrixCycles(in.Arch, name)
		o.stat = matrixStat(name)
		if mm, nn, kk, blocks := matrixShape(name); mm > 0 {
			o.mops = uint16(mm * nn * kk * blocks / 256)
		} else if cdna {
			o.stat = StatVALU // v_accvgpr_read, write
		}
		o.late = uint8(min(busy, 200))
		if !cdna {
			o.port = portMatrix
		}
	case strings.HasPrefix(name, "v_s_"): // a pipe of its own
	case in.Op.Class == isa.VALUTrans:
		busy = m.p.valuTrans
		if f64 {
			busy = max(busy, m.p.valu64)
		}
	case f64 && !strings.HasPrefix(name, "v_cmp"):
		busy = m.p.valu64
		if !cdna {
			o.exec = uint8(m.p.f64Exec)
		}
	case strings.HasPrefix(name, "v_mul_lo_u32"), strings.HasPrefix(name, "v_mul_hi_u32"), strings.HasPrefix(name, "v_mul_hi_i32"),
		strings.HasPrefix(name, "v_mad_u64"), strings.HasPrefix(name, "v_mad_i64"), strings.HasPrefix(name, "v_mad_co"):
		if !strings.Contains(name, "24") {
			busy = m.p.valuMul
		}
	case strings.Contains(name, "b64") && strings.Contains(name, "sh"), strings.HasSuffix(name, "_i64") || strings.HasSuffix(name, "_u64"):
		busy = m.p.valuShift64
	}
	if wave == 64 && !cdna && in.Op.Class != isa.Matrix {
		busy *= 2 // two passes of 32 lanes
		o.late += uint8(m.p.step)
	}
	if in.Op.Class != isa.Matrix && busy > m.p.step {
		o.late += uint8(busy - m.p.step)
	}
	o.busy = uint8(min(busy, 255))
	if o.show == isa.TraceImm || o.show == isa.TraceNone {
		o.exec = 0
	}
}

// valuStat is the kind that CDNA's counters tell VALU instructions apart by.
func valuStat(in *isa.Inst, name string) Stat {
	typed := func(f16, f32, f64 Stat) Stat {
		switch {
		case strings.Contains(name, "f16"):
			return f16
		case strings.Contains(name, "f64"):
			return f64
		case strings.Contains(name, "f32"):
			return f32
		}
		return StatVALU
	}
	switch {
	case strings.HasPrefix(name, "v_cvt"):
		return StatCvt
	case in.Op.Class == isa.VALUTrans:
		return typed(StatTransF16, StatTransF32, StatTransF64)
	case strings.Contains(name, "_f16"), strings.Contains(name, "_f32"), strings.Contains(name, "_f64"):
		switch {
		case strings.HasPrefix(name, "v_add"), strings.HasPrefix(name, "v_sub"), strings.HasPrefix(name, "v_pk_add"):
			return typed(StatAddF16, StatAddF32, StatAddF64)
		case strings.HasPrefix(name, "v_mul"), strings.HasPrefix(name, "v_pk_mul"):
			return typed(StatMulF16, StatMulF32, StatMulF64)
		case strings.HasPrefix(name, "v_fma"), strings.HasPrefix(name, "v_mad"), strings.HasPrefix(name, "v_mac"), strings.HasPrefix(name, "v_pk_fma"):
			return typed(StatFmaF16, StatFmaF32, StatFmaF64)
		}
		return StatVALU
	case strings.HasSuffix(name, "64"):
		return StatInt64
	case strings.HasSuffix(name, "i32"), strings.HasSuffix(name, "u32"):
		return StatInt32
	}
	return StatVALU
}

// registers notes what the instruction reads and writes. Of operands of several registers the first and last are looked at.
func (m *Machine) registers(o *sop, in *isa.Inst) {
	null := in.Arch.Null()
	src := func(r uint16) {
		if int(o.nsrc) < len(o.src) {
			o.src[o.nsrc] = r
			o.nsrc++
		}
	}
	dst := func(first, n uint16) {
		if n == 0 || first >= numRegs {
			return
		}
		if int(o.ndst) < len(o.dst) {
			o.dst[o.ndst] = span{first, min(n, numRegs-first)}
			o.ndst++
		}
	}
	arg := func(a isa.Arg) {
		var r uint16
		n := uint16(max(a.Regs(), 1))
		switch a.Kind {
		case isa.ArgVGPR:
			r = a.Reg
		case isa.ArgAGPR:
			r = regAGPR + a.Reg
		case isa.ArgScalar:
			if a.Reg >= 128 || a.Reg == null {
				if a.Reg == isa.SrcScc {
					src(regSCC)
				}
				return
			}
			r = regScalar + a.Reg
		default:
			return
		}
		if a.Dir.Reads() {
			src(r)
			if n > 1 {
				src(r + n - 1)
			}
		}
		if a.Dir.Writes() && o.do == doALU {
			dst(r, n)
		}
	}
	for i := range in.NumArgs() {
		arg(in.Arg(i))
	}
	for i := range in.NumArgsY() {
		arg(in.ArgY(i))
	}
	implicit := func(r isa.Regs, f func(uint16, uint16)) {
		if r&isa.RegSCC != 0 {
			f(regSCC, 1)
		}
		if r&isa.RegVCC != 0 {
			f(regScalar+isa.VccLo, 2)
		}
		if r&isa.RegEXEC != 0 && in.Op.Format != isa.SMEM {
			f(regScalar+isa.ExecLo, 2)
		}
		if r&isa.RegM0 != 0 {
			f(regScalar+in.Arch.M0(), 1)
		}
	}
	implicit(in.Op.Reads, func(r, _ uint16) { src(r) })
	if o.do == doALU {
		implicit(in.Op.Writes, dst)
	}
	defer func() {
		slices.SortStableFunc(o.src[:o.nsrc], func(a, b uint16) int { return int(b>>9) - int(a>>9) }) // regScalar is 512
		for o.nscalar < o.nsrc && o.src[o.nscalar] >= regScalar {
			o.nscalar++
		}
	}()
	switch in.Op.Name { // branches read what they test; the tables list it for some only
	case "s_cbranch_scc0", "s_cbranch_scc1":
		src(regSCC)
	case "s_cbranch_vccz", "s_cbranch_vccnz":
		src(regScalar + isa.VccLo)
	case "s_cbranch_execz", "s_cbranch_execnz":
		src(regScalar + isa.ExecLo)
	}
}
