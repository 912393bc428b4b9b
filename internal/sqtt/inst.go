package sqtt

// Category is the kind of unit that a traced instruction used, as its token tells.
type Category uint8

// The categories of instructions. Their numbers up to BVH are those of AMD's decoder.
const (
	CategoryNone Category = iota
	CategorySMEM
	CategorySALU
	CategoryVMEM
	CategoryFLAT
	CategoryLDS
	CategoryVALU
	CategoryJump    // a branch, taken
	CategoryNext    // a branch, not taken
	CategoryImmed   // s_waitcnt, s_nop and others that no unit runs
	CategoryContext // saving or restoring the wave
	CategoryMessage // s_sendmsg, s_barrier_signal, s_endpgm
	CategoryBVH
	CategoryExport
	numCategories

	// Of INST tokens that are no instruction of a wave.
	categoryOther // and above: work of the SIMD that shares the path
	categoryTrap
	categoryRFE
	categoryReplay
)

// How ops.tsv names them.
const (
	categorySMEM      = CategorySMEM
	categorySALU      = CategorySALU
	categoryVMEM      = CategoryVMEM
	categoryFLAT      = CategoryFLAT
	categoryLDS       = CategoryLDS
	categoryVALU      = CategoryVALU
	categoryJUMP      = CategoryJump
	categoryNEXT      = CategoryNext
	categoryIMMED     = CategoryImmed
	categoryMESSAGE   = CategoryMessage
	categoryBVH       = CategoryBVH
	categoryEXPORT    = CategoryExport
	categoryTRAP      = categoryTrap
	categoryREPLAY    = categoryReplay
	categoryOTHERLDS  = categoryOther
	categoryOTHERFLAT = categoryOther
	categoryOTHERVMEM = categoryOther
)

var categoryNames = [numCategories]string{
	"NONE", "SMEM", "SALU", "VMEM", "FLAT", "LDS", "VALU", "JUMP", "NEXT", "IMMED", "CONTEXT", "MESSAGE", "BVH", "EXPORT",
}

// String is the category's name, "VALU".
func (c Category) String() string {
	if c < numCategories {
		return categoryNames[c]
	}
	return "?"
}

// opInfo is what the op of an INST token stands for.
type opInfo struct {
	category Category
	clocks   uint8
}

// Clocks that the stream's HEADER tells.
const (
	clocksDerated = 254
	clocksDPRate  = 255
)

// Inst is one executed instruction of a traced wave. It was issued at Time+Stall.
type Inst struct {
	PC    uint64 // its address; 0 where it is not known
	Time  Cycles // when the wave was ready for it
	Stall uint32 // cycles until it was issued
	Dur   uint32 // cycles from Time until the wave could go on, Stall included
	Category
	newPC bool // the next instruction's address comes in a token
}

// WaveInsts are instructions of one traced wave, in order.
type WaveInsts struct {
	Wave    Wave   // Stop is -1 while it runs, Start -1 where it started before the trace
	StartPC uint64 // where it began; 0 where the trace does not tell
	First   int    // Insts[0]'s number in the wave; above 0 where earlier ones were given already
	Last    bool   // no more of this wave come
	Insts   []Inst // the walk's own, for the time of the call
	Open    []Inst // from Flush: those behind Insts, which may still change; also the walk's own
}
