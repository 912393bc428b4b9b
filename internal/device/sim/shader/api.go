package shader

import (
	"errors"
	"fmt"

	"github.com/rigprof/rigprof/internal/isa"
)

// Memory is the address space that a kernel sees.
type Memory interface {
	// Map returns the bytes from addr to the end of its mapping, the longer the better; they are the
	// memory, not a copy. ok is false where nothing is mapped, or it is read-only and write is set.
	// It is called from several goroutines at once.
	Map(addr uint64, write bool) (b []byte, ok bool)
}

// Log says how much of a run is written down.
type Log uint8

// Log levels. Class counts are kept at every level.
const (
	LogNone Log = iota
	LogFull
)

// Kernel is one dispatch, as the command processor's registers describe it.
type Kernel struct {
	Arch                isa.Arch
	Entry               uint64 // address of the first instruction
	Wave32              bool   // else 64 lanes
	RSRC1, RSRC2, RSRC3 uint32 // COMPUTE_PGM_RSRCn
	UserData            [32]uint32
	Groups              [3]uint32 // workgroups in x, y, z
	Block               [3]uint32 // work-items of a full workgroup
	Partial             [3]uint32 // work-items of the last workgroup in each dimension; 0: full
	LDSBytes            uint32    // of a workgroup
	ScratchBase         uint64    // 0: private memory is kept inside the simulator
	ScratchBytes        uint32    // of a lane
	VMID                uint32
	TrapBase, TrapMem   uint64 // of the process's trap handler (TBA) and its memory (TMA); 0: none
	XCC                 uint32 // die, for HW_REG_XCC_ID
	Name                string // for messages, may be empty
	DispatchPkt         uint64
	Log                 Log
	Budget              uint64 // instructions a wave may execute; 0: no limit
	Serial              bool   // one workgroup at a time even where they could run in parallel
}

// GroupLog is what one workgroup did. Its slices are recycled by Release.
type GroupLog struct {
	ID    [3]uint32
	Waves []WaveLog
	Prog  *Program
}

// NumClasses is the number of isa.Class values.
const NumClasses = int(isa.Image) + 1

// WaveLog is what one wave did.
type WaveLog struct {
	Lanes  int     // active at its start
	Pieces []Piece // what it executed, in order
	Mem    []MemRef
	Data   []uint32 // what s_ttracedata and s_ttracedata_imm sent: M0, the immediate's low byte
	Insts  uint64   // executed instructions
	Class  [NumClasses]uint64

	VALULanes uint64 // active lanes of vector instructions, added up; without a log of pieces 0

	Cut bool // Pieces, Mem and Data stop early: the log grew too long
}

// Piece is a straight line of executed instructions. Conditional branches inside a piece fell
// through. A loop of one piece is one entry.
type Piece struct {
	First, N int32 // Program.Insts[First:First+N]
	Count    int32 // times in a row
	Taken    bool  // it ends with a taken branch
}

// Space is the memory that a MemRef went to.
type Space uint8

// Memory spaces.
const (
	SpaceNone    Space = iota // no active lane
	SpaceGlobal               // vector access to memory
	SpaceScalar               // scalar access to memory
	SpaceScratch              // private memory
	SpaceLDS
)

// MemRef is one executed memory instruction.
type MemRef struct {
	Addr      uint64 // lowest byte touched; an LDS offset for SpaceLDS, a lane offset for SpaceScratch
	Bytes     uint32 // that all lanes moved
	Span      uint32 // 128-byte lines from the lowest touched to the highest; 0: one line, or not known
	Lines     uint16 // distinct 128-byte lines
	LDSCycles uint16 // passes of the LDS, as many as groups of lanes without bank conflicts
	Lanes     uint8  // active
	Space     Space
	Write     bool
	Atomic    bool
}

// ProgInst is an instruction of a Program.
type ProgInst struct {
	PC    uint64
	Inst  isa.Inst
	Class isa.Class
	Mem   bool // each execution has a MemRef
}

// Fault is why a kernel could not go on. It wraps one of the errors below.
type Fault struct {
	Err    error
	Kernel string
	PC     uint64
	Inst   string // mnemonic, "" where there is none
	Group  [3]uint32
	Wave   int // in its workgroup
	Lane   int // -1: not one lane's doing
	Addr   uint64
	Write  bool
	Detail string
}

// What a Fault wraps.
var (
	ErrMemory      = errors.New("memory access fault")
	ErrIllegal     = errors.New("illegal instruction")
	ErrUnsupported = errors.New("instruction not supported")
	ErrTrap        = errors.New("trap")
	ErrBudget      = errors.New("instruction budget used up")
	ErrDeadlock    = errors.New("waves wait for each other")
)

func (f *Fault) Error() string {
	name := f.Kernel
	if name == "" {
		name = "kernel"
	}
	s := fmt.Sprintf("shader: %s: %v", name, f.Err)
	if f.Inst != "" {
		s += ": " + f.Inst
	}
	s += fmt.Sprintf(" at pc %#x", f.PC)
	if f.Err == ErrMemory {
		kind := "read of"
		if f.Write {
			kind = "write to"
		}
		s += fmt.Sprintf(", %s address %#x", kind, f.Addr)
	}
	s += fmt.Sprintf(", workgroup %d,%d,%d wave %d", f.Group[0], f.Group[1], f.Group[2], f.Wave)
	if f.Lane >= 0 {
		s += fmt.Sprintf(" lane %d", f.Lane)
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

func (f *Fault) Unwrap() error { return f.Err }
