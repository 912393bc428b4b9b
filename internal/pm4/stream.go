package pm4

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Stream is a run of type-3 packets, in dwords. Methods append a packet and return the longer stream; with enough capacity
// they allocate nothing.
type Stream []uint32

// Events of EVENT_WRITE: type in bits 0..5, index in bits 8..11. On compute queues index 4 goes with the partial flushes, 0 with the rest.
const (
	EventCSPartialFlush    = 0x07 | 4<<8
	EventPerfcounterStart  = 0x17
	EventPerfcounterStop   = 0x18
	EventPerfcounterSample = 0x1b
	EventThreadTraceStart  = 0x33
	EventThreadTraceStop   = 0x34
	EventThreadTraceMarker = 0x35
	EventThreadTraceFinish = 0x37
)

// Compare is the function of WAIT_REG_MEM: what (value & mask) must be to the reference.
type Compare uint32

// The comparisons.
const (
	Always Compare = iota
	Less
	LessEqual
	Equal
	NotEqual
	GreaterEqual
	Greater
)

// Holds reports whether (value & mask) compares so with ref.
func (c Compare) Holds(value, mask, ref uint64) bool {
	v := value & mask
	switch c {
	case Always:
		return true
	case Less:
		return v < ref
	case LessEqual:
		return v <= ref
	case Equal:
		return v == ref
	case NotEqual:
		return v != ref
	case GreaterEqual:
		return v >= ref
	case Greater:
		return v > ref
	}
	return false
}

// PollInterval is the pause between two looks that WAIT_REG_MEM packets state; Mesa and tinygrad use the same.
const PollInterval = 4

// Selectors of COPY_DATA and WRITE_DATA. MemL2 is memory through the L2, PerfReg a register reached as performance counters are
// (user queues may read privileged counter registers so, and every UCONFIG register).
const (
	SelReg     = 0
	SelMemL2   = 2
	SelPerfReg = 4
	SelImm     = 5 // source of COPY_DATA
	SelMemory  = 5 // destination of WRITE_DATA
	SelClock   = 9

	copy64      = 1 << 16
	copyConfirm = 1 << 20
)

// Scope is how far the effect of a cache packet reaches.
type Scope uint8

// The scopes: the other parts of this GPU, or every device and the host too.
const (
	Agent Scope = iota
	System
)

// header starts a packet whose body is the given number of dwords.
func (s Stream) header(op Op, body int) Stream {
	if body < 1 || body > maxBody-1 { // the count that would mean maxBody is the one-dword NOP's
		panic(fmt.Sprintf("pm4: body of %d dwords", body))
	}
	return append(s, type3|uint32(body-1)<<16|uint32(op)<<8)
}

// SetUconfig writes vals to consecutive registers from r on. It panics if they leave the UCONFIG range: our tables choose
// registers, input never does.
func (s Stream) SetUconfig(r Reg, vals ...uint32) Stream {
	return s.set(OpSetUconfigReg, uconfigBase, uconfigEnd, r, vals)
}

// SetSh writes vals to consecutive registers from r on; it panics as SetUconfig does.
func (s Stream) SetSh(r Reg, vals ...uint32) Stream {
	return s.set(OpSetShReg, shBase, shEnd, r, vals)
}

// SetReg writes vals with the packet of r's space.
func (s Stream) SetReg(r Reg, vals ...uint32) Stream {
	if r >= shBase && r < shEnd {
		return s.SetSh(r, vals...)
	}
	return s.SetUconfig(r, vals...)
}

func (s Stream) set(op Op, base, end, r Reg, vals []uint32) Stream {
	if r < base || r+Reg(len(vals)) > end || len(vals) == 0 {
		panic(fmt.Sprintf("pm4: registers %#x+%d are outside %#x..%#x", uint32(r), len(vals), uint32(base), uint32(end)))
	}
	s = append(s.header(op, 1+len(vals)), uint32(r-base))
	return append(s, vals...)
}

// Nop appends n dwords that do nothing.
func (s Stream) Nop(n int) Stream {
	for ; n > 0; n-- {
		s = append(s, OneDwordNop)
	}
	return s
}

// EventWrite appends an event: one of the constants above.
func (s Stream) EventWrite(event uint32) Stream {
	return append(s.header(OpEventWrite, 1), event)
}

// Bits of ACQUIRE_MEM. gfx9's COHER_CNTL: instruction cache 29, scalar cache 27, vector L1 22, L2 action 23, L2 write-back 18.
// From gfx10 on GCR_CNTL: GLI_INV 0..1, GLM_WB 4, GLM_INV 5, GLK_WB 6, GLK_INV 7, GLV_INV 8, GL1_INV 9, GL2_INV 14, GL2_WB 15.
const (
	coherAgent  = 1<<27 | 1<<22
	coherSystem = 1<<29 | 1<<27 | 1<<23 | 1<<22 | 1<<18
	gcrAgent    = 0x3f0
	gcrSystem   = 0xc3f1

	acquirePollInterval = 10 // gfx9's; what Linux and tinygrad write
)

// AcquireMem makes what others wrote, in the scope, visible to the packets and waves that follow. The whole address space is
// named (size_hi has 8 bits, the rest of that dword is ignored; all ones as other drivers write it). With System, changed
// lines of the L2 are written back too, and instruction caches dropped.
func (s Stream) AcquireMem(f gpu.Family, scope Scope) Stream {
	const all = 0xffffffff
	if f == gpu.GFX9 {
		coher := uint32(coherAgent)
		if scope == System {
			coher = coherSystem
		}
		return append(s.header(OpAcquireMem, 6), coher, all, all, 0, 0, acquirePollInterval)
	}
	gcr := uint32(gcrAgent)
	if scope == System {
		gcr = gcrSystem
	}
	return append(s.header(OpAcquireMem, 7), 0, all, all, 0, 0, 0, gcr)
}

// ReleaseData is what RELEASE_MEM stores.
type ReleaseData uint32

// Kinds of stored data.
const (
	ReleaseNothing ReleaseData = iota
	Release32
	Release64
	ReleaseClock // the GPU's clock, 64 bits
)

// Bits of RELEASE_MEM's second dword: the event CACHE_FLUSH_AND_INV_TS with end-of-pipe index; on gfx9 TC_WB and TC_NC, which write
// back what other devices would not see; from gfx10 on, for System, GL2_WB in forward sequence and on gfx11 GLM_WB and GLM_INV (gfx12 has
// no metadata cache), for Agent nothing, as the L2 is where its parts meet.
const (
	releaseEvent  = 0x14 | 5<<8
	releaseGfx9   = 1<<15 | 1<<19
	releaseGLM    = 1<<12 | 1<<13
	releaseGL2    = 1<<21 | 1<<22
	releaseIntBit = 2 << 24 // interrupt once the write is confirmed
)

// ReleaseMem stores value at addr once all earlier work is done and its writes have reached the scope. interrupt, if not 0, is the
// context id of an interrupt that follows the store.
func (s Stream) ReleaseMem(f gpu.Family, scope Scope, addr uint64, data ReleaseData, value uint64, interrupt uint32) Stream {
	w := uint32(releaseEvent)
	switch {
	case f == gpu.GFX9:
		w |= releaseGfx9
	case scope == System && f == gpu.GFX11:
		w |= releaseGLM | releaseGL2
	case scope == System:
		w |= releaseGL2
	}
	sel := uint32(data) << 29
	if interrupt != 0 {
		sel |= releaseIntBit
	}
	return append(s.header(OpReleaseMem, 7), w, sel, uint32(addr), uint32(addr>>32), uint32(value), uint32(value>>32), interrupt)
}

// WaitReg waits until register r, masked, compares with ref.
func (s Stream) WaitReg(r Reg, c Compare, ref, mask uint32) Stream {
	return append(s.header(OpWaitRegMem, 6), uint32(c), uint32(r), 0, ref, mask, PollInterval)
}

const waitMemory = 1 << 4

// WaitMem waits until the dword at addr, masked, compares with ref.
func (s Stream) WaitMem(addr uint64, c Compare, ref, mask uint32) Stream {
	return append(s.header(OpWaitRegMem, 6), uint32(c)|waitMemory, uint32(addr), uint32(addr>>32), ref, mask, PollInterval)
}

// CopyRegToMem stores register r, 32 bits, at addr; confirm keeps the next packet until the store has landed.
func (s Stream) CopyRegToMem(r Reg, addr uint64, confirm bool) Stream {
	return s.CopyData(SelPerfReg|SelMemL2<<8|confirmBit(confirm), uint64(r), addr)
}

// CopyClockToMem stores the GPU's clock, 64 bits, at addr.
func (s Stream) CopyClockToMem(addr uint64, confirm bool) Stream {
	return s.CopyData(SelClock|SelMemL2<<8|copy64|confirmBit(confirm), 0, addr)
}

// CopyMemToReg loads the dword at addr into register r; the packets after it see the new value.
func (s Stream) CopyMemToReg(addr uint64, r Reg) Stream {
	return s.CopyData(SelMemL2|SelPerfReg<<8|copyConfirm, addr, uint64(r))
}

// CopyData appends COPY_DATA with the control dword as given.
func (s Stream) CopyData(control uint32, src, dst uint64) Stream {
	return append(s.header(OpCopyData, 5), control, uint32(src), uint32(src>>32), uint32(dst), uint32(dst>>32))
}

func confirmBit(on bool) uint32 {
	if on {
		return copyConfirm
	}
	return 0
}

// WriteData stores vals at addr, confirmed.
func (s Stream) WriteData(addr uint64, vals ...uint32) Stream {
	s = append(s.header(OpWriteData, 3+len(vals)), SelMemory<<8|copyConfirm, uint32(addr), uint32(addr>>32))
	return append(s, vals...)
}

// MaxPredExec is how many dwords one PRED_EXEC can govern.
const MaxPredExec = 1<<14 - 1

// PredExec lets the next n dwords run on the dies of the mask only. Call it with 0 and SetPredExec later if n is not known yet.
func (s Stream) PredExec(dies uint32, n int) Stream {
	if dies > 0xff || n < 0 || n > MaxPredExec {
		panic(fmt.Sprintf("pm4: PRED_EXEC of %d dwords for dies %#x", n, dies))
	}
	return append(s.header(OpPredExec, 1), dies<<24|uint32(n))
}

// EndPredExec lets the PRED_EXEC whose header is at dword at govern all that was appended since.
func (s Stream) EndPredExec(at int) Stream {
	n := len(s) - at - 2
	if n > MaxPredExec || Op(s[at]>>8) != OpPredExec {
		panic(fmt.Sprintf("pm4: PRED_EXEC at %d over %d dwords", at, n))
	}
	s[at+1] = s[at+1]&^MaxPredExec | uint32(n)
	return s
}

// MaxIndirect is how many dwords one INDIRECT_BUFFER can run.
const MaxIndirect = 1<<20 - 1

// IndirectBuffer runs n dwords of packets at addr.
func (s Stream) IndirectBuffer(addr uint64, n int) Stream {
	if n < 0 || n > MaxIndirect {
		panic(fmt.Sprintf("pm4: INDIRECT_BUFFER of %d dwords", n))
	}
	return append(s.header(OpIndirectBuffer, 3), uint32(addr), uint32(addr>>32), uint32(n)|1<<23)
}

// Bits of COMPUTE_DISPATCH_INITIATOR.
const (
	InitiatorShaderEnable = 1 << 0
	InitiatorPartial      = 1 << 1 // the last workgroups of a dimension may be smaller
	InitiatorStartAtZero  = 1 << 2
	InitiatorWave32       = 1 << 15 // GFX11 on
)

// DispatchDirect starts x*y*z workgroups with the COMPUTE_* registers as they stand.
func (s Stream) DispatchDirect(x, y, z, initiator uint32) Stream {
	return append(s.header(OpDispatchDirect, 4), x, y, z, initiator)
}
