package kfd

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// ibBytes is the arena that submissions' packets go through. Those larger than half of it get memory of their own.
const ibBytes = 4 << 20

// ring hands out pieces of the arena in turn. Positions grow for ever; a piece never wraps.
type ring struct{ size, head, tail uint64 }

func (r *ring) reset() { r.tail = r.head }

// release frees everything before the position.
func (r *ring) release(pos uint64) { r.tail = max(r.tail, pos) }

// take gives the offset of n bytes and the position behind them; ok is false while too much is in use.
func (r *ring) take(n uint64) (off, end uint64, ok bool) {
	head := r.head
	if left := r.size - head%r.size; left < n {
		head += left
	}
	if head+n-r.tail > r.size {
		return 0, 0, false
	}
	r.head = head + n
	return head % r.size, r.head, true
}

const (
	packetBytes   = 64      // of an AQL dispatch packet, and its alignment
	launchDwords  = 192     // at most
	copyDwords    = 7 + 2   // DMA_DATA, PRED_EXEC
	partDwords    = 32      // flushes after a part
	frameDwords   = 128     // begin and end of a submission
	dmaBytes      = 1 << 25 // of one DMA_DATA; its count has 26 bits
	perDieDwords  = 16
	maxGroupItems = 1024
)

// encode writes the packets of a submission and returns where they are. d.submit is held.
func (d *Device) encode(ctx context.Context, s *submission, parts []device.Part) (addr uint64, n int, err error) {
	dwords, launches := uint64(frameDwords+perDieDwords*d.gpu.Dies), uint64(0)
	for i, p := range parts {
		dwords += partDwords
		switch p := p.(type) {
		case device.Words:
			dwords += uint64(len(p))
		case device.Launch:
			if err := d.checkLaunch(&p); err != nil {
				return 0, 0, fmt.Errorf("part %d: %w", i, err)
			}
			dwords += launchDwords + perDieDwords*uint64(d.gpu.Dies)
			launches++
		case device.Copy:
			dwords += copyDwords * (p.Bytes/dmaBytes + 1)
		case device.CopyRows:
			each := copyDwords * (p.Bytes/dmaBytes + 1)
			if p.Rows > pm4.MaxIndirect/each {
				return 0, 0, fmt.Errorf("part %d: a copy of %d rows is too long for one submission", i, p.Rows)
			}
			dwords += each * p.Rows
		case device.Fill:
			if p.Bytes%4 != 0 || p.Dst%4 != 0 {
				return 0, 0, fmt.Errorf("part %d: a fill of %d bytes at %#x is not made of dwords", i, p.Bytes, p.Dst)
			}
			dwords += copyDwords * (p.Bytes/dmaBytes + 1)
		default:
			return 0, 0, fmt.Errorf("part %d: %w: a part of type %T", i, device.ErrNotSupported, p)
		}
	}
	if dwords > pm4.MaxIndirect {
		return 0, 0, fmt.Errorf("a submission of %d dwords, %d are the most", dwords, pm4.MaxIndirect)
	}
	bytes := roundUp(launches*packetBytes+dwords*4, packetBytes)
	var base unsafe.Pointer
	if bytes > ibBytes/2 {
		if s.big, err = d.allocate(bytes, 0, flagsShared); err != nil {
			return 0, 0, err
		}
		base, addr, s.ibEnd = s.big.ptr(), s.big.addr, d.arena.head
	} else {
		var off uint64
		err := d.room(ctx, func(*flight) bool {
			var ok bool
			off, s.ibEnd, ok = d.arena.take(bytes)
			return ok
		})
		if err != nil {
			return 0, 0, err
		}
		base, addr = unsafe.Add(d.ib.ptr(), off), d.ib.addr+off
	}
	// Dispatch packets first, then the words, written where the GPU reads them.
	e := encoder{d: d, seq: s.seq, packets: unsafe.Slice((*byte)(base), launches*packetBytes)[:0], packetAddr: addr}
	words := unsafe.Slice((*uint32)(unsafe.Add(base, launches*packetBytes)), dwords)
	e.s = pm4.Stream(words[:0])
	e.begin()
	for i, p := range parts {
		if err := e.part(p); err != nil {
			if s.big != nil {
				_ = s.big.free()
			}
			return 0, 0, fmt.Errorf("part %d: %w", i, err)
		}
	}
	e.end()
	if len(e.s) > len(words) || len(e.packets) > int(launches*packetBytes) {
		panic(fmt.Sprintf("kfd: a submission of %d dwords was taken for %d", len(e.s), len(words)))
	}
	s.launches = e.launches
	return addr + launches*packetBytes, len(e.s), nil
}

// encoder appends one submission's packets.
type encoder struct {
	d          *Device
	seq        uint64
	s          pm4.Stream
	packets    []byte
	packetAddr uint64 // of packets[0]
	launches   []string
}

func (e *encoder) family() gpu.Family { return e.d.gpu.Family }

// begin stamps the time at which all earlier work has ended.
func (e *encoder) begin() {
	clear(unsafe.Slice((*byte)(unsafe.Pointer(e.d.slot(e.seq, 0))), slotBytes))
	e.s = e.s.AcquireMem(e.family(), pm4.System)
	e.onDie(0, func() {
		e.s = e.s.ReleaseMem(e.family(), pm4.Agent, e.d.slotAddr(e.seq, slotStart), pm4.ReleaseClock, 0, 0)
	})
}

// end waits for all dies, stamps the time, stores the number of the submission and raises the event.
func (e *encoder) end() {
	d := e.d
	if d.gpu.Dies > 1 {
		// The acquire waits until the die's L2 is written back; only then is the die counted as arrived.
		e.s = e.s.AcquireMem(e.family(), pm4.System)
		e.s = appendAtomicAdd(e.s, d.slotAddr(e.seq, slotBarrier), 1)
	}
	e.onDie(0, func() {
		if d.gpu.Dies > 1 {
			e.s = e.s.WaitMem(d.slotAddr(e.seq, slotBarrier), pm4.GreaterEqual, uint32(d.gpu.Dies), 0xffffffff)
		}
		e.s = e.s.ReleaseMem(e.family(), pm4.System, d.slotAddr(e.seq, slotStop), pm4.ReleaseClock, 0, 0)
		e.s = e.s.ReleaseMem(e.family(), pm4.System, d.sig.addr, pm4.Release64, e.seq, 0)
		e.s = e.s.ReleaseMem(e.family(), pm4.System, d.events.addr+8*uint64(d.event.mailbox), pm4.Release64, uint64(d.event.signal), d.event.signal)
	})
}

// onDie appends packets for one die alone.
func (e *encoder) onDie(die int, f func()) {
	if e.d.gpu.Dies == 1 {
		f()
		return
	}
	at := len(e.s)
	e.s = e.s.PredExec(1<<die, 0)
	f()
	e.s = e.s.EndPredExec(at)
}

// atomicAdd32 is ATOMIC_MEM's operation gl2_op_atomic_add_32.
const atomicAdd32 = 79

func appendAtomicAdd(s pm4.Stream, addr uint64, v uint32) pm4.Stream {
	return append(s, 3<<30|7<<16|uint32(pm4.OpAtomicMem)<<8, atomicAdd32, uint32(addr), uint32(addr>>32), v, 0, 0, 0, 0)
}

func (e *encoder) part(p device.Part) error {
	switch p := p.(type) {
	case device.Words:
		e.s = append(e.s, p...)
		return nil
	case device.Launch:
		return e.launch(&p)
	case device.Copy:
		e.copy(p)
	case device.CopyRows:
		for r := range p.Rows {
			e.copy(device.Copy{Dst: p.Dst + r*p.DstPitch, Src: p.Src + r*p.SrcPitch, Bytes: p.Bytes})
		}
	case device.Fill:
		for left := p.Bytes; left > 0; {
			n := min(left, dmaBytes)
			e.dma(dmaSrcData, uint64(p.Value), p.Dst, n)
			p.Dst, left = p.Dst+n, left-n
		}
	}
	// What follows sees the data: they went through L2.
	e.s = e.s.AcquireMem(e.family(), pm4.System)
	return nil
}

// Bits of DMA_DATA: both ends through L2, and the queue waits for the transfer. The wait's bit is that of the graphics queue's
// packet; the compute queue's headers leave it reserved, and that it waits there is a guess until a real GPU was asked.
const (
	dmaSrcL2   = 3 << 29
	dmaSrcData = 2 << 29
	dmaDstL2   = 3 << 20
	dmaSync    = 1 << 31
	dmaRawWait = 1 << 30 // of the count's dword
)

func (e *encoder) copy(p device.Copy) {
	for left := p.Bytes; left > 0; {
		n := min(left, dmaBytes)
		e.dma(dmaSrcL2, p.Src, p.Dst, n)
		p.Src, p.Dst, left = p.Src+n, p.Dst+n, left-n
	}
}

func (e *encoder) dma(src uint32, from, to, n uint64) {
	e.onDie(0, func() {
		e.s = append(e.s, 3<<30|5<<16|uint32(pm4.OpDmaData)<<8, src|dmaDstL2|dmaSync,
			uint32(from), uint32(from>>32), uint32(to), uint32(to>>32), uint32(n)|dmaRawWait)
	})
}
