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
	Always   bool     // a jump: the instruction behind it does not follow
	Leaves   bool     // the wave goes on where a token tells: indirect jumps and calls
	Offset   int32    // of a direct branch: bytes from the next instruction to its target
}

// Code gives the instruction at an address, false where there is none. The walk keeps the answer.
type Code interface {
	At(pc uint64) (Insn, bool)
}

// codeCache keeps what a Code said, by address.
type codeCache struct {
	code  Code
	pages map[uint64]*codePage
	last  *codePage  // the one that page gave last
	full  bool       // it is time to forget
	nodes []codeNode // by nodeID
	spots []uint64   // where a wave stands at each
	edges []codeEdge // by nodeID without nodeRare
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
	node          nodeID // nodeRare where a record here is not plain
}

// nodeID is where a wave may stand: nodeSize times the node's number, as assembly adds it to an address. With nodeRare set the next
// record needs thought: it is an edge's number, or nodeRare itself, which says nothing.
type nodeID uint32

const nodeSize = 16 // bytes of a codeNode

const (
	nodeNowhere nodeID = 0 // of waves whose records get no address, for now or at all
	nodeRare    nodeID = 1 << 31
)

// codeNode is a place whose next record needs no thought: it belongs to one instruction, behind none or some that send
// nothing, and the wave goes on at one of two others.
type codeNode struct {
	pc   uint64    // the record's address
	succ [2]nodeID // behind it, and behind a branch that is taken
}

// codeEdge is where a node leads while nobody looked there.
type codeEdge struct {
	start uint64
	from  nodeID
	taken uint8
}

// begin makes the cache empty.
func (c *codeCache) begin(code Code) {
	*c = codeCache{
		code: code, pages: map[uint64]*codePage{}, last: &noPage,
		nodes: append(c.nodes[:0], codeNode{}), spots: append(c.spots[:0], 0), edges: append(c.edges[:0], codeEdge{}),
	}
}

// offCode is an address where no code is.
const offCode = 1<<64 - 4

var noPage = codePage{base: 1 << 63} // of no address

// page is the page of an address.
func (c *codeCache) page(pc uint64) *codePage {
	base := pc >> pageShift << pageShift
	p := c.pages[base]
	if p == nil {
		p = &codePage{base: base}
		c.pages[base] = p
		c.full = len(c.pages) >= maxPages
	}
	c.last = p
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
		got, ok := c.code.At(pc)
		*in = cachedInsn{Insn: got, known: true, absent: !ok || got.Size == 0, node: nodeRare}
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
	in.node = nodeID(len(c.nodes) * nodeSize)
	after := pc + skip + uint64(at.Size)
	taken := after + uint64(int64(at.Offset))
	if at.Category != CategoryJump && at.Category != CategoryNone {
		taken = offCode // the record is not of this code
	}
	c.spots = append(c.spots, pc)
	c.nodes = append(c.nodes, codeNode{pc: pc + skip, succ: [2]nodeID{c.edge(after, in.node, 0), c.edge(taken, in.node, 1)}})
}

func (c *codeCache) edge(start uint64, from nodeID, taken uint8) nodeID {
	if start == 0 {
		return nodeNowhere
	}
	c.edges = append(c.edges, codeEdge{start, from, taken})
	return nodeRare | nodeID(len(c.edges)-1)
}

// start is where a wave stands at a node; 0: it does not say.
func (c *codeCache) start(n nodeID) uint64 {
	if n&nodeRare != 0 {
		return c.edges[n&^nodeRare].start
	}
	return c.spots[n/nodeSize]
}

// follow is the node that an edge leads to, or nodeRare.
func (c *codeCache) follow(page **codePage, n nodeID) nodeID {
	e := c.edges[n&^nodeRare]
	if e.start == 0 {
		return nodeRare
	}
	to := c.node(page, e.start)
	if to != nodeRare {
		c.nodes[e.from/nodeSize].succ[e.taken&1] = to
	}
	return to
}

// node is the node of an address, or nodeRare.
func (c *codeCache) node(page **codePage, pc uint64) nodeID {
	if in := c.at(page, pc); in != nil {
		return in.node
	}
	return nodeRare
}
