package cp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// Offsets in amd_queue, the structure that holds an AQL queue's read and write indices (amd_hsa_queue.h).
const (
	// QueueWriteIndex is where the write index stands, which is how the kernel is told of the structure.
	QueueWriteIndex = 56

	queueTmpring    = 140
	queueDescriptor = 144 // scratch_resource_descriptor, 4 dwords
	queueScratch    = 160 // scratch_backing_memory_location
	queueProperties = 180
	queueProfiling  = 1 << 3 // of the properties: signals get times
)

// Offsets in amd_signal (amd_hsa_signal.h).
const (
	signalValue   = 8
	signalMailbox = 16
	signalEventID = 24
	signalStart   = 32
	signalEnd     = 40
)

// Offsets in a kernel descriptor, and bits of its kernel_code_properties (AMDGPUUsage, "Kernel Descriptor").
const (
	descEntry      = 16
	descRSRC3      = 44
	descProperties = 56
	descPreload    = 58
	descBytes      = 64

	propSegmentBuffer = 1 << 0
	propDispatchPtr   = 1 << 1
	propQueuePtr      = 1 << 2
	propKernargPtr    = 1 << 3
	propDispatchID    = 1 << 4
	propScratchInit   = 1 << 5
	propPrivateSize   = 1 << 6
	propWave32        = 1 << 10
)

// AQL executes one AQL packet that stands at addr, the packet with the index, of a queue whose amd_queue is at queue. It
// returns when the packet's work has ended and its signal was told.
func (p *Processor) AQL(ctx context.Context, q *Queue, dies uint32, addr, index, queue uint64) error {
	p.connect(q)
	p.active, p.depth = dies, 0
	b, err := p.bytes(addr, pm4.AQLBytes, false)
	if err != nil {
		return err
	}
	start := p.Ticks(p.now)
	t := pm4.AQLType(binary.LittleEndian.Uint16(b))
	switch t {
	case pm4.AQLVendor:
		var v pm4.AQLPM4
		if v, err = pm4.ParseAQLPM4(b); err == nil {
			err = p.indirect(ctx, v.Addr, v.Dwords)
		}
	case pm4.AQLKernelDispatch:
		var d pm4.AQLDispatch
		if d, err = pm4.ParseAQLDispatch(b); err == nil {
			err = p.aqlDispatch(ctx, &d, addr, index, queue)
		}
	case pm4.AQLBarrierAnd, pm4.AQLBarrierOr:
		var a pm4.AQLBarrier
		if a, err = pm4.ParseAQLBarrier(b); err == nil {
			err = p.aqlBarrier(ctx, &a, t == pm4.AQLBarrierOr)
		}
	default:
		err = errors.New("it is for agents or invalid")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = p.complete(ctx, binary.LittleEndian.Uint64(b[56:]), start, queue)
	}
	if err != nil {
		return fmt.Errorf("AQL packet %d of type %d: %w", index, t, err)
	}
	return nil
}

// aqlDispatch sets the registers that the packet and the kernel's descriptor ask for, and starts the grid.
func (p *Processor) aqlDispatch(ctx context.Context, d *pm4.AQLDispatch, addr, index, queue uint64) error {
	desc, err := p.bytes(d.KernelObject, descBytes, false)
	if err != nil {
		return fmt.Errorf("kernel descriptor: %w", err)
	}
	le := binary.LittleEndian
	entry := d.KernelObject + le.Uint64(desc[descEntry:])
	props, preload := le.Uint16(desc[descProperties:]), le.Uint16(desc[descPreload:])
	qb, err := p.bytes(queue, 256, false)
	if err != nil {
		return fmt.Errorf("amd_queue: %w", err)
	}
	var user []uint32
	add64 := func(v uint64) { user = append(user, uint32(v), uint32(v>>32)) }
	if props&propSegmentBuffer != 0 {
		for i := range 4 {
			user = append(user, le.Uint32(qb[queueDescriptor+4*i:]))
		}
	}
	if props&propDispatchPtr != 0 {
		add64(addr)
	}
	if props&propQueuePtr != 0 {
		add64(queue)
	}
	if props&propKernargPtr != 0 {
		add64(d.KernargAddress)
	}
	if props&propDispatchID != 0 {
		add64(index)
	}
	if props&propScratchInit != 0 {
		add64(le.Uint64(qb[queueScratch:]))
	}
	if props&propPrivateSize != 0 {
		user = append(user, d.PrivateBytes)
	}
	for i := range int(preload & 0x7f) {
		v, err := p.load32(d.KernargAddress + 4*uint64(int(preload>>7)+i))
		if err != nil {
			return fmt.Errorf("preloaded arguments: %w", err)
		}
		user = append(user, v)
	}
	unit := uint32(512)
	if p.GPU.Target == "gfx950" {
		unit = 1280
	}
	const ldsShift, ldsMask = 15, 0x1ff
	rsrc2 := le.Uint32(desc[52:])&^(ldsMask<<ldsShift) | (d.LDSBytes+unit-1)/unit<<ldsShift
	initiator := uint32(pm4.InitiatorShaderEnable | pm4.InitiatorStartAtZero | useThreadDimensions)
	if props&propWave32 != 0 && p.GPU.Family != gpu.GFX9 {
		initiator |= pm4.InitiatorWave32
	}
	scratch := le.Uint64(qb[queueScratch:])
	n := &p.names
	for die, f := range p.files {
		if p.active>>die&1 == 0 {
			continue
		}
		f.set(n.pgmLo, uint32(entry>>8))
		f.set(n.pgmLo+1, uint32(entry>>40))
		f.set(n.pktLo, uint32(addr))
		f.set(n.pktLo+1, uint32(addr>>32))
		f.set(n.rsrc1, le.Uint32(desc[48:]))
		f.set(n.rsrc1+1, rsrc2)
		f.set(n.rsrc3, le.Uint32(desc[descRSRC3:]))
		f.set(n.tmpring, le.Uint32(qb[queueTmpring:]))
		f.set(n.scratchLo, uint32(scratch>>8))
		f.set(n.scratchLo+1, uint32(scratch>>40))
		for i, v := range user {
			if i < 16 {
				f.set(n.userData+pm4.Reg(i), v)
			}
		}
		for i, w := range d.Workgroup {
			f.set(n.start+pm4.Reg(i), 0)
			f.set(n.numThread+pm4.Reg(i), uint32(max(w, 1)))
		}
	}
	p.now += p.cost.cache + p.cost.packet // fences, then the packet
	p.Runner.CodeWritten()
	grid := d.Grid
	for i := range grid {
		grid[i] = max(grid[i], 1)
	}
	return p.dispatch(ctx, grid, initiator)
}

// aqlBarrier waits until all of its signals, or one, are 0.
func (p *Processor) aqlBarrier(ctx context.Context, a *pm4.AQLBarrier, anyOne bool) error {
	p.now += p.cost.packet
	for began := time.Now(); ; {
		named, zero := 0, 0
		for _, s := range a.Signals {
			if s == 0 {
				continue
			}
			named++
			m, err := p.bytes(s+signalValue, 8, false)
			if err != nil {
				return err
			}
			if atomic.LoadInt64((*int64)(unsafe.Pointer(&m[0]))) == 0 {
				zero++
			}
		}
		if zero == named || anyOne && zero > 0 {
			return nil
		}
		if time.Since(began) > p.WaitLimit {
			return fmt.Errorf("%d of %d signals are not 0 after %v", named-zero, named, p.WaitLimit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Microsecond):
		}
	}
}

// complete tells a signal that a packet has ended: times, value, then mailbox and interrupt.
func (p *Processor) complete(ctx context.Context, signal, start, queue uint64) error {
	if signal == 0 {
		return nil
	}
	m, err := p.bytes(signal, 64, true)
	if err != nil {
		return fmt.Errorf("completion signal: %w", err)
	}
	p.now += p.cost.cache
	if p.Pace != nil {
		if err := p.Pace(ctx, p.now); err != nil {
			return err
		}
	}
	word := func(off int) *uint64 { return (*uint64)(unsafe.Pointer(&m[off])) }
	if qb, err := p.bytes(queue, 256, false); err == nil && binary.LittleEndian.Uint32(qb[queueProperties:])&queueProfiling != 0 {
		atomic.StoreUint64(word(signalStart), start)
		atomic.StoreUint64(word(signalEnd), p.Ticks(p.now))
	}
	atomic.AddInt64((*int64)(unsafe.Pointer(&m[signalValue])), -1)
	if box := atomic.LoadUint64(word(signalMailbox)); box != 0 {
		id := binary.LittleEndian.Uint32(m[signalEventID:])
		if err := p.store(box, uint64(id), true); err != nil {
			return fmt.Errorf("event mailbox: %w", err)
		}
		if p.Interrupt != nil {
			p.Interrupt(id)
		}
	}
	return nil
}
