package timing

import (
	"github.com/rigprof/rigprof/internal/device/sim/shader"
)

// Source hands out what workgroups did, in dispatch order; io.EOF ends it. *shader.Run is one.
type Source interface {
	Next() (*shader.GroupLog, error)
}

// Page is what the page tables say of an address.
type Page struct {
	Shift uint8 // log2 of the bytes that one translation covers
	Host  bool  // the memory is the host's, behind the bus
}

// Dispatch is one grid to place and time.
type Dispatch struct {
	Start  int64 // when the packet was processed, in shader cycles
	Kernel *shader.Kernel
	Source Source
	Dies   []int // that share the workgroups, in turn; nil: die 0
	// ThreadMgmt[e] is COMPUTE_STATIC_THREAD_MGMT of engine e, numbered across dies: a bit per CU, SA 0 in the low
	// half, SA 1 in the high half. nil: every CU.
	ThreadMgmt []uint32
	// Pages looks an address up; nil: the GPU's own memory in pages of 2 MiB.
	Pages          func(addr uint64) Page
	ResourceLimits uint32 // COMPUTE_RESOURCE_LIMITS
	ID             int    // of the dispatch, for events; any number
	Traced         bool   // COMPUTE_THREAD_TRACE_ENABLE
	Counted        bool   // COMPUTE_PERFCOUNT_ENABLE
}

// Result is what became of a dispatch.
type Result struct {
	Start, End int64 // first wave's start and last wave's end, in shader cycles
	Groups     uint64
	Waves      uint64
	Insts      uint64
	Cut        uint64 // waves whose log stopped early: they end too soon
}

// Place is where a wave runs. Engines are numbered across dies; a unit is a WGP, on gfx9 a CU.
type Place struct {
	Engine, SA, Unit, SIMD, Slot uint8
}

// EventKind says what an Event tells.
type EventKind uint8

// Event kinds, in the order in which hardware writes them within one clock.
const (
	WaveEnd     EventKind = iota
	SentData              // a wave sent Data to the trace; Code: 1 from s_ttracedata_imm. Waves of every SIMD tell
	Issue                 // an instruction of a detailed SIMD left its wave
	OtherSIMD             // memory instruction of the SIMD that shares the memory path with a detailed one
	WaveReady             // the next instruction could issue, but had to wait for its turn
	Immediate             // a wait ended, or an instruction that needs no unit was done
	WaveStart             //
	ExecALU               // Code: 1 SALU, 2 VALU
	ExecMem               // Code: 0 LDS, 1 LDS of the other SIMD, 2 VMEM, 3 VMEM of the other SIMD
	NewPC                 // where a jump to an address in registers went
	Stall                 // gfx9: the next instruction had to wait from here on
	Typed                 // gfx9: Code is the type of the wave's oldest issue without one
	AllLaunched           // RDNA: the command processor knows that the dispatch's last workgroup started; Place.Engine is the die's first
	numEventKinds
)

// Event is one thing that happened. It is valid during the call that hands it over.
type Event struct {
	Time  int64
	PC    uint64 // Issue, Immediate: of the instruction; NewPC: of the next one; WaveStart: the entry
	Stats *Stats // WaveEnd: what the wave did
	Data  uint32
	Place Place
	Kind  EventKind
	Code  uint8 // Issue, OtherSIMD: INST op, or CodeVALU
	Lanes uint8 // WaveStart: active lanes
	VMID  uint8
	Wide  bool // the wave has 64 lanes
	First bool // WaveStart: first wave of its workgroup
	Flags uint8
}

// Event flags.
const (
	Traced      = 1 << iota // the dispatch has COMPUTE_THREAD_TRACE_ENABLE
	Counted                 // the dispatch has COMPUTE_PERFCOUNT_ENABLE
	BarrierWait             // gfx12: an s_barrier_wait's immediate
)

// CodeVALU is the Code of an Issue that is a VALU_INST token on RDNA. On gfx9 Code is the INST type.
const CodeVALU = 0xff

// Observer sees events in order of time, waves of all engines together.
type Observer interface {
	// Detailed asks whether instructions of waves on a SIMD are wanted, once per SIMD and dispatch.
	Detailed(engine, sa, unit, simd int) bool
	// Events hands over what happened; the slice is reused.
	Events(evs []Event)
}

// Stat numbers what is counted of a wave. Instruction kinds come first: each executed instruction counts in one.
type Stat uint8

// Stats of a wave.
const (
	StatSALU Stat = iota
	StatSMEM
	StatSMEMStore
	StatVALU // what has no kind of its own below
	StatAddF16
	StatAddF32
	StatAddF64
	StatMulF16
	StatMulF32
	StatMulF64
	StatFmaF16
	StatFmaF32
	StatFmaF64
	StatTransF16
	StatTransF32
	StatTransF64
	StatInt32
	StatInt64
	StatCvt
	StatMatrixI8
	StatMatrixF16
	StatMatrixBF16
	StatMatrixF32
	StatMatrixF64
	StatMatrixF8
	StatMatrixF6F4
	StatBufferLoad
	StatBufferStore
	StatBufferAtomic // without a result, those with one are next
	StatBufferAtomicRtn
	StatGlobalLoad
	StatGlobalStore
	StatGlobalAtomic
	StatGlobalAtomicRtn
	StatFlatLoad
	StatFlatStore
	StatFlatAtomic
	StatFlatAtomicRtn
	StatScratchLoad
	StatScratchStore
	StatLDS
	StatLDSDirect
	StatBranch
	StatMessage
	StatBarrier
	StatWait
	StatImmediate
	StatDelay
	StatEnd
	StatExport
	StatImage
	NumInstStats
)

// Times and amounts that follow the kinds.
const (
	StatWaitAny     = NumInstStats + iota // cycles in which the wave waited at a wait
	StatWaitInst                          // cycles in which it could issue but for its unit or turn
	StatWaitInstLDS                       // of those, for LDS
	StatLDSActive                         // cycles of the LDS for its instructions
	StatLDSConflict                       // of those, for bank conflicts
	StatLevelLDS                          // cycles that its LDS instructions were in flight, added up
	StatLevelVMEM
	StatLevelSMEM
	StatCyclesVALU // cycles of the VALU
	StatCyclesVMEM // cycles of the address unit
	StatCyclesSALU
	StatCyclesMatrix
	StatMopsI8 // multiplications and additions of matrix instructions / 512, in the order of StatMatrixI8 and so on
	StatMopsF16
	StatMopsBF16
	StatMopsF32
	StatMopsF64
	StatMopsF8
	StatMopsF6F4
	StatICacheHit
	StatICacheMiss
	StatDCacheHit // lines of scalar accesses
	StatDCacheMiss
	StatLevelFetch   // cycles that its fetches of code took, added up
	StatSMEM1        // scalar loads of one dword, of 2, 4, 8 and 16 behind it
	StatSMEM2        //
	StatSMEM4        //
	StatSMEM8        //
	StatSMEM16       //
	StatFlatLDS      // flat instructions that went to the LDS
	StatLDSLoad      // of the LDS instructions
	StatLDSStore     //
	StatLDSAtomic    //
	StatCyclesTA     // cycles of the address path, with those of lines
	StatCyclesTD     // cycles of the path that data of loads come back on
	StatCyclesBuf    // StatCyclesTA of buffer instructions
	StatL0Load       // lines that loads ask the CU's cache for, and so on
	StatL0Store      //
	StatL0Atomic     // without a result
	StatL0AtomicRtn  //
	StatL0Hit        // of loads
	StatL0Miss       //
	StatL2Load       // lines of loads that the L2 was asked for
	StatL2LoadWait   // cycles that lines of loads and of atomics with a result took in the L2, added up
	StatL2StoreWait  // of stores and other atomics
	StatTranslate    // lines of vector accesses whose addresses were translated
	StatTranslateHit // of those, by what the CU had at hand
	StatCyclesLanes  // StatCyclesVALU times the lanes that vector instructions had, on average
	NumStats
)

// Stats are a wave's counts.
type Stats struct {
	Start, End int64
	Insts      uint64
	N          [NumStats]int64
}
