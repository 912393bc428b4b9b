package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/pm4"
)

const (
	doorbellBytes = 0x2000 // the process's slice of doorbells, 8 bytes each
	minRingBytes  = 1024
)

// queue is one hardware queue and the goroutine that stands for it.
type queue struct {
	p           *process
	id          uint32
	aql         bool
	dies        uint32 // that run it
	ring        []byte
	ringAddr    uint64 // as the GPU sees it
	amdQueue    uint64 // of an AQL queue
	write, read *uint64
	bell        *uint64
	rung        chan struct{} // one token: something may be new
	processed   uint64        // dwords or AQL packets
	state       cp.Queue
	ctx         context.Context
	cancel      context.CancelFunc
	done        sync.WaitGroup
}

func (p *process) createQueue(a *abi.CreateQueueArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.gpu == nil || a.GPUID != p.gpu.id || a.QueuePercentage&0xff > 100 || a.QueuePriority > 15 {
		return unix.EINVAL
	}
	if a.QueueType != abi.QueueTypeCompute && a.QueueType != abi.QueueTypeComputeAQL {
		return unix.EINVAL
	}
	if a.RingSize < minRingBytes || bits.OnesCount32(a.RingSize) != 1 || a.RingBaseAddress%256 != 0 {
		return unix.EINVAL
	}
	q := &queue{p: p, id: p.nextQ, aql: a.QueueType == abi.QueueTypeComputeAQL, rung: make(chan struct{}, 1)}
	exact := func(va, size uint64) *mapping { // since 6.12 some buffers must be one mapping of their size
		if m := p.find(va); m != nil && m.va == va && uint64(len(m.bytes)) == size {
			return m
		}
		return nil
	}
	ring := exact(a.RingBaseAddress, roundUp(uint64(a.RingSize), pageBytes))
	wp, rp := p.find(a.WritePointerAddress), p.find(a.ReadPointerAddress)
	if ring == nil || wp == nil || wp != rp || len(wp.bytes) != pageBytes || a.WritePointerAddress%8 != 0 || a.ReadPointerAddress%8 != 0 {
		return unix.EINVAL
	}
	if a.EOPBufferSize < 4096 || exact(a.EOPBufferAddress, roundUp(a.EOPBufferSize, pageBytes)) == nil {
		return unix.EINVAL
	}
	if err := p.gpu.checkSaveArea(p, a); err != nil {
		return err
	}
	if p.bells == nil {
		bells, err := unix.MmapPtr(p.fd, 0, nil, doorbellBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		p.bells = bells
	}
	slot := q.id % (doorbellBytes / 8)
	for _, o := range p.queues {
		if o.id%(doorbellBytes/8) == slot {
			return unix.ENOSPC
		}
	}
	word := func(m *mapping, va uint64) *uint64 { return (*uint64)(unsafe.Pointer(&m.bytes[va-m.va])) }
	q.ringAddr, q.amdQueue = a.RingBaseAddress, a.WritePointerAddress-cp.QueueWriteIndex
	q.ring, q.write, q.read = ring.bytes[:a.RingSize], word(wp, a.WritePointerAddress), word(rp, a.ReadPointerAddress)
	q.bell = (*uint64)(unsafe.Add(p.bells, 8*slot))
	atomic.StoreUint64(q.bell, 0)
	q.dies = 1<<p.gpu.Dies - 1
	if !q.aql {
		q.dies = 1 << (a.QueuePercentage >> 8 & 0xff) // a PM4 queue is one die's
		if q.dies >= 1<<p.gpu.Dies {
			return unix.EINVAL
		}
	}
	p.nextQ++
	p.queues[q.id] = q
	a.QueueID, a.DoorbellOffset = q.id, uint64(8*slot)
	q.state = cp.Queue{Memory: p, Runner: p.runner, VMID: p.vmid, Executable: p.executable, Interrupt: p.events.interrupt}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	q.done.Go(q.run)
	return nil
}

func (p *process) destroyQueue(a *abi.DestroyQueueArgs) error {
	p.mu.Lock()
	q := p.queues[a.QueueID]
	delete(p.queues, a.QueueID)
	p.mu.Unlock()
	if q == nil {
		return unix.EINVAL
	}
	q.stop()
	return nil
}

// stop ends what runs and waits for the goroutine.
func (q *queue) stop() {
	q.cancel()
	q.done.Wait()
}

// rung tells the queues that a doorbell was written.
func (p *process) rung() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.queues {
		select {
		case q.rung <- struct{}{}:
		default:
		}
	}
}

func (q *queue) run() {
	for {
		select {
		case <-q.ctx.Done():
			return
		case <-q.rung:
		}
		if err := q.drain(); err != nil {
			if q.ctx.Err() == nil {
				q.p.gpu.failed(q.p, err)
			}
			return
		}
	}
}

// drain executes what stands between the read pointer and the doorbell. One queue at a time has the GPU.
func (q *queue) drain() error {
	g := q.p.gpu
	if err := g.begin(q.ctx, q.p); err != nil {
		return err
	}
	defer g.finish()
	if q.aql {
		return q.drainAQL()
	}
	size := uint64(len(q.ring) / 4)
	for {
		end := atomic.LoadUint64(q.bell)
		if end == q.processed {
			return nil
		}
		n := end - q.processed
		if end < q.processed || n > size {
			return fmt.Errorf("the doorbell says that %d dwords are written, %d were executed and the ring holds %d", end, q.processed, size)
		}
		words := make([]uint32, n)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(q.ring[(q.processed+uint64(i))%size*4:])
		}
		// Packet by packet, so that the read pointer tells how far it got.
		for len(words) > 0 {
			k := packetDwords(words)
			if err := g.cp.Run(q.ctx, &q.state, q.dies, words[:k], int(q.processed)); err != nil {
				return err
			}
			g.ticked()
			words = words[k:]
			q.processed += uint64(k)
			atomic.StoreUint64(q.read, q.processed)
		}
	}
}

// packetDwords is the length of the first packet, or of all where that is not one.
func packetDwords(words []uint32) int {
	for p, err := range pm4.Packets(words) {
		if err == nil {
			return len(p.Raw)
		}
		break
	}
	return len(words)
}

// drainAQL runs AQL packets. Their doorbell is the index of the last one.
func (q *queue) drainAQL() error {
	g := q.p.gpu
	size := uint64(len(q.ring) / pm4.AQLBytes)
	for q.processed < atomic.LoadUint64(q.write) {
		at := q.ring[q.processed%size*pm4.AQLBytes:][:pm4.AQLBytes]
		head := atomic.LoadUint32((*uint32)(unsafe.Pointer(&at[0])))
		if pm4.AQLType(head) == pm4.AQLInvalid {
			return nil // not published yet: its doorbell comes
		}
		addr := q.ringAddr + q.processed%size*pm4.AQLBytes
		if err := g.cp.AQL(q.ctx, &q.state, q.dies, addr, q.processed, q.amdQueue); err != nil {
			return err
		}
		g.ticked()
		binary.LittleEndian.PutUint16(at, uint16(pm4.AQLInvalid))
		q.processed++
		atomic.StoreUint64(q.read, q.processed)
	}
	return nil
}
