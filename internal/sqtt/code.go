package sqtt

// Step says how an instruction takes part in the walk.
type Step uint8

// The steps.
const (
	StepRecord  Step = iota // it sends a token
	StepSkip                // it sends nothing
	StepBarrier             // as StepSkip where the stream's HEADER leaves barrier waits out (GFX12), else StepRecord
	StepEnd                 // s_endpgm: the walk goes no further
)

// Insn is what the walk needs to know of an instruction in a code object.
type Insn struct {
	Size     uint8    // bytes
	Step     Step     //
	Category Category // of the record that it sends, Jump for a branch
	Again    bool     // it sends a second record when the wave goes on (GFX9 s_barrier)
	Wait     bool     // resynchronisation must not skip it: a wait or a load
	Offset   int32    // of a direct branch: bytes from the next instruction to its target
}

// Code gives the instruction at an address, false where there is none. The walk asks once for each address.
type Code interface {
	At(pc uint64) (Insn, bool)
}

// codeCache keeps what a Code said, by address.
type codeCache struct {
	code  Code
	pages map[uint64]*codePage
	slab  []codeNode // to make nodes of
}

const (
	pageShift = 12
	// maxPages bounds the cache against streams that jump about.
	maxPages = 1 << 12
)

// codePage is the instructions of 4 KiB by their first dword.
type codePage struct {
	base  uint64
	insns [1 << (pageShift - 2)]cachedInsn
}

type cachedInsn struct {
	Insn
	known, absent bool
	node          *codeNode // nil where a record here is not plain
}

// codeNode is where a wave may stand. Most are plain: there the next record needs no thought. It belongs to one instruction, behind
// none or some that send nothing, and the wave goes on at one of two nodes.
type codeNode struct {
	pc    uint64       // the record's address
	succ  [2]*codeNode // behind it, and behind a branch that is taken
	rare  bool         // it is not plain, or nobody looked so far
	start uint64       // where the wave stands; 0: not known
}

// Nodes of no address.
var (
	nodeNowhere = &codeNode{} // of waves whose records get none, for now or at all
	nodeRare    = &codeNode{rare: true}
)

func init() { nodeNowhere.succ = [2]*codeNode{nodeNowhere, nodeNowhere} }

var noPage = codePage{base: 1 << 63} // of no address

// page is the page of an address.
func (c *codeCache) page(pc uint64) *codePage {
	base := pc >> pageShift << pageShift
	p := c.pages[base]
	if p == nil {
		if len(c.pages) >= maxPages || c.pages == nil {
			c.pages = map[uint64]*codePage{}
		}
		p = &codePage{base: base}
		c.pages[base] = p
	}
	return p
}

// at is the instruction at an address, or nil. page is the wave's current one, and kept so.
func (c *codeCache) at(page **codePage, pc uint64) *cachedInsn {
	p := *page
	if pc-p.base >= 1<<pageShift {
		p = c.page(pc)
		*page = p
	}
	in := &p.insns[pc>>2%uint64(len(p.insns))]
	if !in.known {
		in.known = true
		got, ok := c.code.At(pc)
		in.Insn, in.absent = got, !ok || got.Size == 0
		c.resolve(in, pc)
	}
	if in.absent {
		return nil
	}
	return in
}

// resolve makes an address's node, through up to 200 bytes of instructions that send nothing.
func (c *codeCache) resolve(in *cachedInsn, pc uint64) {
	at, skip := in.Insn, uint64(0)
	for !in.absent && at.Size > 0 && at.Step == StepSkip && skip < 200 {
		skip += uint64(at.Size)
		at, _ = c.code.At(pc + skip)
	}
	if in.absent || at.Size == 0 || at.Step != StepRecord || at.Again {
		return
	}
	after := pc + skip + uint64(at.Size)
	in.node = c.make(codeNode{start: pc, pc: pc + skip})
	next := c.edge(after)
	in.node.succ = [2]*codeNode{next, next}
	if at.Offset != 0 {
		in.node.succ[1] = c.edge(after + uint64(int64(at.Offset)))
	}
}

// edge is the node at an address that nobody looked at so far.
func (c *codeCache) edge(pc uint64) *codeNode {
	if pc == 0 {
		return nodeNowhere
	}
	return c.make(codeNode{start: pc, rare: true})
}

func (c *codeCache) make(n codeNode) *codeNode {
	if len(c.slab) == cap(c.slab) {
		c.slab = make([]codeNode, 0, 128)
	}
	c.slab = append(c.slab, n)
	return &c.slab[len(c.slab)-1]
}

// node is the plain node of an address, or nodeRare.
func (c *codeCache) node(page **codePage, pc uint64) *codeNode {
	if in := c.at(page, pc); in != nil && in.node != nil {
		return in.node
	}
	return nodeRare
}
