package cp

import (
	"context"
	"fmt"

	"github.com/rigprof/rigprof/internal/pm4"
)

// All is an index of Select that means every one.
const All = -1

// Select is which copies of a register an access means: a die and what GRBM_GFX_INDEX selects there.
type Select struct {
	Die      int
	SE       int // of the die, or All
	SA       int // of the engine, or All
	Instance int // of the block, or All; a WGP or CU where the block is the SQ
}

// Unit is a part of the GPU with registers of its own. It sees every die's accesses.
type Unit interface {
	Owns(r pm4.Reg) bool
	WriteReg(now int64, s Select, r pm4.Reg, v uint32) error
	// ReadReg reads one copy; none is 0.
	ReadReg(now int64, s Select, r pm4.Reg) (uint32, error)
}

// Listener sees what the processor does, in order of time. Trace units turn it into tokens.
type Listener interface {
	// RegWritten follows each register write of a packet, those to units included.
	RegWritten(now int64, s Select, r pm4.Reg, v uint32)
	// Event follows EVENT_WRITE; e is type | index<<8.
	Event(now int64, die int, e uint32)
}

// Runner runs dispatches to their end.
type Runner interface {
	Dispatch(ctx context.Context, d *Dispatch) (end int64, err error)
	// CodeWritten tells that instruction memory may have changed.
	CodeWritten()
}

// Dispatch is a started grid, as the COMPUTE registers describe it.
type Dispatch struct {
	Start               int64 // when the packet is processed
	Dies                []int // that run it; each has its own registers, those below are the first's
	Entry               uint64
	RSRC1, RSRC2, RSRC3 uint32
	UserData            [16]uint32
	Groups              [3]uint32
	Block               [3]uint32 // work-items of a full workgroup
	Partial             [3]uint32 // of the last workgroup in each dimension; 0: full
	Initiator           uint32    // COMPUTE_DISPATCH_INITIATOR
	Wave32              bool
	Tmpring             uint32   // COMPUTE_TMPRING_SIZE
	ScratchBase         []uint64 // per entry of Dies
	ResourceLimits      uint32
	PacketAddr          uint64 // COMPUTE_DISPATCH_PKT_ADDR
	VMID                uint32
	// ThreadMgmt[e] is COMPUTE_STATIC_THREAD_MGMT of engine e, numbered across dies: SA 0 in the low half, SA 1 in
	// the high half.
	ThreadMgmt  []uint32
	TraceEnable bool // COMPUTE_THREAD_TRACE_ENABLE
	CountEnable bool // COMPUTE_PERFCOUNT_ENABLE
}

// Memory is the GPU's address space: the bytes from addr to the end of its mapping.
type Memory interface {
	Map(addr uint64, write bool) (b []byte, ok bool)
}

// MemoryError is an access of the processor itself, or of the shader, to memory that is not there.
type MemoryError struct {
	Addr   uint64
	Write  bool
	NoExec bool   // instructions or packets from memory that is not executable
	Err    error  // more, may be nil
	Kernel string // may be empty
}

func (e *MemoryError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	kind := "read of"
	if e.Write {
		kind = "write to"
	}
	if e.NoExec {
		kind = "instruction fetch from"
	}
	return fmt.Sprintf("%s address %#x, which is not mapped so", kind, e.Addr)
}

func (e *MemoryError) Unwrap() error { return e.Err }

// PacketError tells which packet could not be executed.
type PacketError struct {
	Op   pm4.Op
	Buf  uint64 // address of the indirect buffer; 0: the queue's ring
	Off  int    // of the packet, in dwords from the buffer's start; for the ring from where the queue was created
	Err  error
	Word uint32 // the header
}

func (e *PacketError) Error() string {
	where := "the ring"
	if e.Buf != 0 {
		where = fmt.Sprintf("the indirect buffer at %#x", e.Buf)
	}
	return fmt.Sprintf("packet %v (%#08x) at dword %d of %s: %v", e.Op, e.Word, e.Off, where, e.Err)
}

func (e *PacketError) Unwrap() error { return e.Err }
