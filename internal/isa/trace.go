package isa

// TraceKind is the record that an executed instruction sends to a thread trace.
type TraceKind uint8

const (
	TraceNone TraceKind = iota // nothing
	TraceInst                  // RDNA: INST with Op. gfx9: ISSUE (state 2), then INST of type Op
	TraceVALU                  // RDNA: VALU_INST
	TraceImm                   // RDNA: IMM_ONE, or IMMEDIATE where several waves do one in a clock. gfx9: ISSUE with state 3
	TraceEnd                   // nothing of its own; the wave ends
)

// ClocksDPRate stands for execution clocks that depend on the GPU's double precision rate, which the trace header states.
const ClocksDPRate = 255

// TraceInfo tells what one executed instruction sends. See tables/trace_*.tsv for where each fact comes from.
type TraceInfo struct {
	Kind    TraceKind
	Op      uint8 // of TraceInst; a branch: when not taken
	OpTaken uint8 // a branch: when taken; else the same as Op
	Clocks  uint8 // execution clocks that AMD's decoder assumes; 0: not stated, ClocksDPRate
	Branch  bool  // Op and OpTaken differ
	NewPC   bool  // jumps to an address in registers: the trace carries the new PC
	Exit    bool  // gfx9 s_barrier: a second record, TraceImm, at the same PC when the barrier is left
	Seen    bool  // a hardware capture shows it, else it is inferred from the instruction's class
	// Header0 is set where Kind is TraceNone only if bit 59 of the trace's header is set, as in every capture; where
	// it is clear the record is TraceInst with Op (RDNA4 s_barrier_wait).
	Header0 bool
}

// Forms of a traceRow: what chooses between its two facts.
const (
	traceOne       = iota // the first always
	traceVaddr            // second: 64-bit vector address instead of a scalar base
	traceBoth             // second: both offen and idxen
	traceBranch           // second: taken
	traceSize             // second: 8 bytes
	traceA16              // second: a16
	traceWave             // second: wave32
	traceExit             // second: on leaving
	traceHeader           // second: header bit clear
	traceAddresses        // op and clocks: plus address dwords
	traceData             // op and clocks: plus address and data dwords
)

type traceFact struct {
	kind   TraceKind
	op     uint8
	clocks uint8
	seen   bool
}

type traceRow struct {
	form uint8
	fact [2]traceFact
}

// opExecWrite is the RDNA operation of scalar instructions that write EXEC, by sqtt's op table; saveexec rows have it
// from there, this is for the others.
const opExecWrite = 0x72

// Trace tells what the instruction sends to a thread trace when a wave of the given size executes it.
func Trace(in *Inst, wave int) TraceInfo {
	r := &in.Op.trace
	f := r.fact[0]
	n := 0
	info := TraceInfo{}
	switch r.form {
	case traceVaddr:
		s := in.Field(FieldSaddr)
		if s == 0x7f || s == 124 && !in.Arch.CDNA() {
			f = r.fact[1]
		}
	case traceBoth:
		if in.Flag(FieldOffen) && in.Flag(FieldIdxen) {
			f = r.fact[1]
		}
	case traceSize:
		if in.Size > 4 {
			f = r.fact[1]
		}
	case traceA16:
		if in.Flag(FieldA16) {
			f = r.fact[1]
		}
	case traceWave:
		if wave == 32 {
			f = r.fact[1]
		}
	case traceBranch:
		info.Branch = true
		info.OpTaken = r.fact[1].op
	case traceExit:
		info.Exit = true
	case traceHeader:
		info.Header0 = true
		f.op = r.fact[1].op
	case traceAddresses, traceData:
		data, addr := in.imageSizes(imageOpOf(in.Op.Name), in.Op.Format == MIMG && in.Size == 12)
		n = addr
		if r.form == traceData {
			n += data
		}
	}
	info.Kind, info.Op, info.Clocks, info.Seen = f.kind, f.op+uint8(n), f.clocks, f.seen
	if n > 0 {
		info.Clocks = uint8(n)
	}
	if !info.Branch {
		info.OpTaken = info.Op
	}
	op := in.Op
	if !in.Arch.CDNA() && op.Class == SALU && info.Kind == TraceInst && info.Op == 0 && (op.Format == SOP1 || op.Format == SOP2 || op.Format == SOPK) {
		if d := in.Field(FieldSdst); (d == ExecLo || d == ExecHi) && op.writes(FieldSdst) {
			info.Op, info.OpTaken, info.Seen = opExecWrite, opExecWrite, false
		}
	}
	info.NewPC = op.Class == Branch && (op.Has(FlagIndirect) || op.Has(FlagCall))
	return info
}

// writes tells whether the operand in the field is a destination.
func (o *Op) writes(f Field) bool {
	for i := range o.Operands() {
		if p := &operandPool[int(o.first)+i]; p.Field == f {
			return p.Dir.Writes()
		}
	}
	return false
}
