package cp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// Config is what a Processor is made of.
type Config struct {
	GPU       *gpu.GPU
	Regs      *pm4.RegTable
	Units     []Unit
	Listeners []Listener
	// Pace is called before the host can see that work up to the time is done; it may sleep.
	Pace func(ctx context.Context, now int64) error
	// WaitLimit is how long a wait on memory may last on the host; 0: 10 s. The host may write that memory.
	WaitLimit time.Duration
}

// Queue is what a Processor needs to know of a queue whose packets it executes. It keeps the queue's persistent state, the
// registers of SET_SH_REG, while other queues have the processor. Make a new one for each queue.
type Queue struct {
	Memory Memory
	Runner Runner
	VMID   func() uint32 // that the next dispatch's waves run in; nil: 0
	// Executable reports whether packets may be fetched from the address; nil: from anywhere.
	Executable func(addr uint64) bool
	// Interrupt is raised by RELEASE_MEM once its store has landed.
	Interrupt func(contextID uint32)

	sh []shState // per die; nil: as after reset
}

type shState [shEnd - shBase]uint32

// Processor executes packets. It is not for use by several goroutines at once.
type Processor struct {
	Config
	*Queue    // whose packets are executed
	regs      *pm4.RegTable
	names     names
	units     []Unit
	listeners []Listener
	owners    []int8 // of registers, by address: a unit, itself or nobody
	files     []*regFile
	cost      cost
	now       int64
	active    uint32 // dies that execute
	depth     int    // of indirect buffers
	atomicRtn uint64 // what the last ATOMIC_MEM read
}

// cost is how many shader cycles packets take. Distances between register writes of one packet and of successive packets are
// those of the captures (gfx1100: 60..84 and 3..4, gfx1200: 17..19 and 1); the others are guesses of the right size.
type cost struct {
	packet, register, memory, cache, wait int64
}

var costs = map[gpu.Family]cost{
	gpu.GFX9:  {packet: 60, register: 4, memory: 300, cache: 600, wait: 64},
	gpu.GFX11: {packet: 60, register: 4, memory: 300, cache: 600, wait: 64},
	gpu.GFX12: {packet: 17, register: 1, memory: 200, cache: 400, wait: 64},
}

const (
	maxDepth        = 3       // the ring, an indirect buffer and one inside it
	maxRegWait      = 1 << 16 // looks at a register before its wait is given up: nothing else can change it any more
	defaultMemLimit = 10 * time.Second
)

// New makes a processor of powered-on, idle dies.
func New(c Config) (*Processor, error) {
	n, err := findNames(c.Regs, c.GPU.SEs)
	if err != nil {
		return nil, err
	}
	if c.WaitLimit == 0 {
		c.WaitLimit = defaultMemLimit
	}
	p := &Processor{Config: c, regs: c.Regs, names: n, units: c.Units, listeners: c.Listeners, cost: costs[c.GPU.Family]}
	p.findOwners()
	for d := range c.GPU.Dies {
		p.files = append(p.files, newRegFile(d, c.GPU.SEs))
	}
	return p, nil
}

// connect gives the processor to a queue.
func (p *Processor) connect(q *Queue) {
	p.Queue = q
	if q.sh == nil {
		q.sh = make([]shState, len(p.files))
		for d := range q.sh {
			for _, r := range p.names.threadMgmt {
				q.sh[d][r-shBase] = 0xffffffff
			}
		}
	}
	for d, f := range p.files {
		f.sh = &q.sh[d]
	}
}

// Now is the GPU's time in shader cycles.
func (p *Processor) Now() int64 { return p.now }

// Ticks is a time on the constant clock.
func (p *Processor) Ticks(now int64) uint64 {
	ref, clk := p.GPU.RefClockHz, p.GPU.ClockHz
	return uint64(now/clk*ref + now%clk*ref/clk)
}

// Run executes packets of a ring on the dies of the mask. off is where they start, for errors.
func (p *Processor) Run(ctx context.Context, q *Queue, dies uint32, words []uint32, off int) error {
	p.connect(q)
	p.active, p.depth = dies, 0
	return p.run(ctx, words, 0, off)
}

// RunIndirect executes n dwords of packets at addr, as INDIRECT_BUFFER does.
func (p *Processor) RunIndirect(ctx context.Context, q *Queue, dies uint32, addr uint64, n int) error {
	p.connect(q)
	p.active, p.depth = dies, 0
	return p.indirect(ctx, addr, n)
}

func (p *Processor) run(ctx context.Context, words []uint32, buf uint64, base int) error {
	all := p.active
	defer func() { p.active = all }()
	predicated := 0 // dwords still under PRED_EXEC
	for off := 0; off < len(words); {
		if err := ctx.Err(); err != nil {
			return err
		}
		var pkt pm4.Packet
		for q, err := range pm4.Packets(words[off:]) {
			if err != nil {
				return &PacketError{Op: pm4.Op(words[off] >> 8), Word: words[off], Buf: buf, Off: base + off, Err: err}
			}
			pkt = q
			break
		}
		n := len(pkt.Raw) // > 0: every turn advances
		fail := func(err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, ok := errors.AsType[*PacketError](err); ok {
				return err // of a packet inside
			}
			return &PacketError{Op: pkt.Op, Word: pkt.Raw[0], Buf: buf, Off: base + off, Err: err}
		}
		switch {
		case pkt.Op == pm4.OpPredExec:
			if len(pkt.Body) != 1 {
				return fail(errLength)
			}
			// A ring's PRED_EXEC has no effect.
			if p.depth > 0 {
				predicated = int(pkt.Body[0] & 0x3fff)
				if predicated > len(words)-off-n {
					return fail(fmt.Errorf("%d dwords to predicate, %d are left", predicated, len(words)-off-n))
				}
				p.active = all & (pkt.Body[0] >> 24)
				off += n
				if predicated == 0 {
					p.active = all
				}
				continue
			}
		case pkt.Op == pm4.OpCondExec:
			skip, err := p.condExec(pkt.Body)
			if err != nil {
				return fail(err)
			}
			if skip > len(words)-off-n {
				return fail(fmt.Errorf("%d dwords to skip, %d are left", skip, len(words)-off-n))
			}
			n += skip
		case p.active != 0:
			if err := p.execute(ctx, pkt); err != nil {
				return fail(err)
			}
		}
		if predicated > 0 {
			if predicated -= n; predicated < 0 {
				return fail(errors.New("PRED_EXEC ends inside the packet"))
			}
			if predicated == 0 {
				p.active = all
			}
		}
		off += n
	}
	return nil
}

var errLength = errors.New("the packet's length is wrong")

func (p *Processor) execute(ctx context.Context, pkt pm4.Packet) error {
	p.now += p.cost.packet
	b := pkt.Body
	switch pkt.Op {
	case pm4.OpNop:
		return nil
	case pm4.OpSetShReg, pm4.OpSetShRegIndex:
		return p.set(shBase, shEnd, b, pkt.Op == pm4.OpSetShRegIndex)
	case pm4.OpSetUconfigReg:
		return p.set(uconfigBase, uconfigEnd, b, false)
	case pm4.OpEventWrite:
		return p.event(b)
	case pm4.OpWriteData:
		return p.writeData(b)
	case pm4.OpCopyData:
		return p.copyData(b)
	case pm4.OpWaitRegMem:
		return p.waitRegMem(ctx, b, false)
	case pm4.OpWaitRegMem64:
		return p.waitRegMem(ctx, b, true)
	case pm4.OpAcquireMem:
		return p.acquireMem(b)
	case pm4.OpReleaseMem:
		return p.releaseMem(ctx, b)
	case pm4.OpAtomicMem:
		return p.atomicMem(ctx, b)
	case pm4.OpDmaData:
		return p.dmaData(b)
	case pm4.OpIndirectBuffer:
		if len(b) != 3 {
			return errLength
		}
		return p.indirect(ctx, uint64(b[0]&^3)|uint64(b[1])<<32, int(b[2]&pm4.MaxIndirect))
	case pm4.OpDispatchDirect:
		if len(b) != 4 {
			return errLength
		}
		return p.dispatch(ctx, [3]uint32(b), b[3])
	case pm4.OpDispatchIndirect:
		if len(b) != 3 {
			return errLength
		}
		var groups [3]uint32
		for i := range groups {
			v, err := p.load32(uint64(b[0]&^3) | uint64(b[1])<<32 + 4*uint64(i))
			if err != nil {
				return err
			}
			groups[i] = v
		}
		return p.dispatch(ctx, groups, b[2])
	}
	return fmt.Errorf("opcode %#02x is unknown to compute queues of this simulator", uint8(pkt.Op))
}

// indirect runs a buffer of packets.
func (p *Processor) indirect(ctx context.Context, addr uint64, n int) error {
	if n == 0 {
		return nil
	}
	if p.depth+1 >= maxDepth {
		return errors.New("indirect buffers are nested too deeply")
	}
	if p.Executable != nil && !p.Executable(addr) {
		return &MemoryError{Addr: addr, NoExec: true}
	}
	b, err := p.bytes(addr, 4*uint64(n), false)
	if err != nil {
		return err
	}
	p.depth++
	defer func() { p.depth-- }()
	return p.run(ctx, unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), n), addr, 0)
}

// bytes are n bytes of memory.
func (p *Processor) bytes(addr, n uint64, write bool) ([]byte, error) {
	b, ok := p.Memory.Map(addr, write)
	if !ok {
		return nil, &MemoryError{Addr: addr, Write: write}
	}
	if uint64(len(b)) < n {
		return nil, &MemoryError{Addr: addr + uint64(len(b)), Write: write}
	}
	return b[:n:n], nil
}

func (p *Processor) load32(addr uint64) (uint32, error) {
	b, err := p.bytes(addr, 4, false)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (p *Processor) load64(addr uint64) (uint64, error) {
	b, err := p.bytes(addr, 8, false)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (p *Processor) condExec(b []uint32) (skip int, err error) {
	if len(b) != 4 {
		return 0, errLength
	}
	v, err := p.load32(uint64(b[0]&^3) | uint64(b[1])<<32)
	if err != nil || v != 0 {
		return 0, err
	}
	return int(b[3] & 0x3fff), nil
}
