package device

import (
	"context"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Device is one opened GPU. Its methods may be called from several goroutines at once; submissions run one
// after the other, in the order of the calls.
type Device interface {
	Info() Info

	// Alloc gives memory that the GPU and the host both see, zeroed. The buffer is freed by its Free or by Close.
	Alloc(ctx context.Context, size uint64, o AllocOptions) (*Buffer, error)

	// Submit hands the parts to the GPU, which runs them in order once all earlier submissions ended. It
	// blocks only while the queue is full.
	Submit(ctx context.Context, parts ...Part) (Point, error)

	// Wait returns nil once the submission ended, the *Fault or *Lost that ended it, or an error that wraps
	// ctx's. The work goes on after a wait that ended early: wait again, Abort or Close. A context without
	// a deadline is bounded by the device's own limit on a wait.
	Wait(ctx context.Context, p Point) error

	// Times is when an ended submission began and ended on the GPU.
	Times(p Point) (Times, error)

	// Abort ends all work in flight, whose points fail with ErrAborted, and readies the device for more.
	Abort(ctx context.Context) error

	// Close waits for nothing: it ends work in flight and gives everything back. Calls after the first do nothing.
	Close() error
}

// Info describes an opened device.
type Info struct {
	Name        string // "GPU 0: Radeon RX 7900 XTX (gfx1100)"
	Spec        string // what opens it again, "0" or "sim:gfx1100"
	GPU         *gpu.GPU
	Live        [][]uint32 // Live[e][a]: mask of the units of array a of engine e that run work; the caller's copy
	Simulated   bool
	StablePower bool   // traces and counters are exact only in the stable power state
	PowerReason string // why StablePower is false
	VRAMBytes   uint64
	// Uncounted says why the device's counters do not know an event of a block, by its number; "" if they do. nil: they know all.
	Uncounted func(block string, event int) string
	// Unsampled says why the device samples no event of the SQ into its traces; "" if it does. nil: it samples all.
	Unsampled func(event int) string
}

// Memory is where a buffer lives.
type Memory uint8

// Memory kinds.
const (
	VRAM   Memory = iota // the GPU's own, seen by the host through the BAR; system memory where that fails
	System               // the host's
)

// AllocOptions qualifies an allocation. The zero value is writable VRAM.
type AllocOptions struct {
	Memory     Memory
	Executable bool   // holds code or packets
	Uncached   bool   // not kept in the GPU's L2: what the host polls, what trace units write
	Align      uint64 // a power of two, page size at least
}

// Buffer is memory that GPU and host share.
type Buffer struct {
	Addr  uint64 // as the GPU sees it
	Bytes []byte // as the host sees it; invalid after Free
	Place string // where it is, for profiles: the device's name or profile.Host
	free  func() error
}

// NewBuffer is for implementations of Device; free is called at most once.
func NewBuffer(addr uint64, b []byte, place string, free func() error) *Buffer {
	return &Buffer{Addr: addr, Bytes: b, Place: place, free: free}
}

// Free gives the memory back. It is idempotent. The GPU must not use the buffer any more.
func (b *Buffer) Free() error {
	if b == nil || b.free == nil {
		return nil
	}
	f := b.free
	b.free, b.Bytes = nil, nil
	return f()
}

// Point names a submission of one device. The zero Point is none.
type Point uint64

// Times are a submission's begin and end.
type Times struct {
	Start, Stop     uint64 // ticks of the GPU's constant clock
	StartNs, StopNs int64  // on the host's clock, profile.Now
	ErrorNs         int64  // how far StartNs and StopNs may be off
}

// Part is what a submission is made of: Words, Launch, Copy, CopyRows or Fill.
type Part interface{ part() }

// Words are packets, dwords that the queue's command processor executes.
type Words []uint32

// Launch runs a kernel. The user registers are set as Properties asks.
type Launch struct {
	Name                string    // for errors and profiles
	Entry               uint64    // address of the first instruction, 256-byte aligned
	RSRC1, RSRC2, RSRC3 uint32    // of the kernel descriptor
	Properties          uint16    // kernel_code_properties of the descriptor
	KernargPreload      uint16    // kernarg_preload of the descriptor
	Kernarg             uint64    // address of the kernel's arguments
	Grid                [3]uint32 // work-items; the last workgroup of a dimension is smaller where Block does not divide it
	Block               [3]uint32 // work-items of a workgroup
	LDSBytes            uint32    // static and dynamic
	PrivateBytes        uint32    // scratch of a work-item
	DescriptorAddr      uint64    // for the dispatch packet; may be 0
}

// Copy copies Bytes from Src to Dst, which do not overlap.
type Copy struct{ Dst, Src, Bytes uint64 }

// CopyRows copies Rows runs of Bytes each, whose starts are the pitches apart.
type CopyRows struct {
	Dst, Src           uint64
	DstPitch, SrcPitch uint64
	Bytes, Rows        uint64
}

// Fill writes Value over Bytes, a multiple of 4.
type Fill struct {
	Dst, Bytes uint64
	Value      uint32
}

func (Words) part()    {}
func (Launch) part()   {}
func (Copy) part()     {}
func (CopyRows) part() {}
func (Fill) part()     {}

// Bits of Launch.Properties, kernel_code_properties of AMDGPU kernel descriptors.
const (
	PropPrivateSegmentBuffer = 1 << 0 // 4 user registers
	PropDispatchPtr          = 1 << 1 // 2
	PropQueuePtr             = 1 << 2 // 2
	PropKernargSegmentPtr    = 1 << 3 // 2
	PropDispatchID           = 1 << 4 // 2
	PropFlatScratchInit      = 1 << 5 // 2
	PropPrivateSegmentSize   = 1 << 6 // 1
	PropWave32               = 1 << 10
	PropDynamicStack         = 1 << 11
)
