package kfd

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

const (
	ringBytes   = 64 << 10
	ringDwords  = ringBytes / 4
	ringPackets = ringBytes / pm4.AQLBytes
	eopBytes    = 4096
	normal      = 7 // queue priority, 0..15

	// Offsets in the pointers page, those of amd_queue, which AQL queues and kernels that ask for their queue expect.
	offWritePtr   = 56
	offLDSHi      = 64
	offScratchHi  = 68
	offReadPtr    = 128
	offReadOffset = 136

	doorbellSlice = 0x2000
)

// queue is the compute queue. A device of one die has a PM4 queue, one of several an AQL queue.
type queue struct {
	d    *Device
	aql  bool
	ring *memory
	ptrs *memory
	eop  *memory
	cwsr *memory

	ctxBytes, ctlBytes uint32
	ldsHi, scratchHi   uint32
	regs               registers

	alive    bool
	id       uint32
	slice    unsafe.Pointer // mapped doorbells; nil: none
	doorbell *uint64
	write    uint64 // next dword, or AQL packet
}

func (q *queue) init(d *Device) error {
	q.d, q.aql = d, d.gpu.Dies > 1
	if err := q.regs.find(d.regs); err != nil {
		return err
	}
	var err error
	if q.ring, err = d.allocate(ringBytes, 0, flagsShared); err != nil {
		return err
	}
	if q.ptrs, err = d.allocate(pageBytes, 0, flagsShared); err != nil {
		return err
	}
	if q.eop, err = d.allocate(eopBytes, 0, abi.AllocVRAM|abi.AllocWritable|abi.AllocExecutable|abi.AllocNoSubstitute|abi.AllocPublic); err != nil {
		if q.eop, err = d.allocate(eopBytes, 0, flagsSystem); err != nil {
			return err
		}
	}
	return q.initSaveArea()
}

// Sizes of the context save area per die, where topology states none; kfd_queue.c. It holds the registers and LDS of every wave.
const (
	sgprBytesPerCU = 0x4000
	hwRegBytes     = 0x1000 // per CU
	ctlPerWave9    = 8
	ctlPerWave10   = 12
	ctlHeader      = 40
	debugPerWave   = 32
	debugAlign     = 64
)

func (q *queue) initSaveArea() error {
	d := q.d
	cus := uint64(max(1, d.node.cus()))
	waves := cus * 32
	ctl := uint64(ctlPerWave10)
	if d.gpu.Family == gpu.GFX9 {
		waves = min(cus*40, uint64(d.gpu.SEs)*512)
		ctl = ctlPerWave9
	}
	q.ctlBytes = uint32(d.node.Props["ctl_stack_size"])
	if q.ctlBytes == 0 {
		q.ctlBytes = uint32(roundUp(ctlHeader+waves*ctl+8, pageBytes))
	}
	q.ctxBytes = uint32(d.node.Props["cwsr_size"])
	if q.ctxBytes == 0 {
		vgpr := uint64(d.gpu.VGPRs) * 4 * 64 * 4 // registers of 4 bytes, 64 lanes or two times 32, 4 SIMDs or two times 2
		q.ctxBytes = q.ctlBytes + uint32(roundUp(cus*(vgpr+sgprBytesPerCU+uint64(d.gpu.LDSBytes)+hwRegBytes), pageBytes))
	}
	debug := roundUp(waves*debugPerWave, debugAlign)
	dies := uint64(d.gpu.Dies)
	var err error
	if q.cwsr, err = d.allocate(roundUp((uint64(q.ctxBytes)+debug)*dies, pageBytes), 0, flagsSystem); err != nil {
		return err
	}
	for i := range dies {
		h := (*abi.ContextSaveAreaHeader)(unsafe.Add(q.cwsr.ptr(), i*uint64(q.ctxBytes)))
		h.DebugOffset = uint32((dies-i)*uint64(q.ctxBytes) + i*debug)
		h.DebugSize = uint32(debug * (dies - i))
	}
	return nil
}

// create makes the kernel's queue over the memory. The ring starts empty.
func (q *queue) create() error {
	d := q.d
	clear(q.ptrs.bytes())
	b := q.ptrs.bytes()
	binary.LittleEndian.PutUint32(b[offLDSHi:], q.ldsHi)
	binary.LittleEndian.PutUint32(b[offScratchHi:], q.scratchHi)
	binary.LittleEndian.PutUint32(b[offReadOffset:], offReadPtr)
	q.write = 0
	if q.aql {
		for i := range ringPackets {
			binary.LittleEndian.PutUint16(q.ring.bytes()[i*pm4.AQLBytes:], uint16(pm4.AQLInvalid))
		}
	}
	a := abi.CreateQueueArgs{
		RingBaseAddress: q.ring.addr, RingSize: ringBytes,
		WritePointerAddress: q.ptrs.addr + offWritePtr, ReadPointerAddress: q.ptrs.addr + offReadPtr,
		GPUID: d.node.GPUID, QueueType: abi.QueueTypeCompute, QueuePercentage: 100, QueuePriority: normal,
		EOPBufferAddress: q.eop.addr, EOPBufferSize: eopBytes,
		CtxSaveRestoreAddress: q.cwsr.addr, CtxSaveRestoreSize: q.ctxBytes, CtlStackSize: q.ctlBytes,
	}
	if q.aql {
		a.QueueType = abi.QueueTypeComputeAQL
	}
	if err := d.ioctl(d.kfd, abi.CreateQueue, unsafe.Pointer(&a)); err != nil {
		return fmt.Errorf("create a queue: %w", err)
	}
	q.alive, q.id = true, a.QueueID
	if q.slice == nil {
		p, err := d.sys.Mmap(0, doorbellSlice, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, d.kfd, int64(a.DoorbellOffset&^(doorbellSlice-1)))
		if err != nil {
			return fmt.Errorf("map doorbells: %w", err)
		}
		q.slice = p
	}
	q.doorbell = (*uint64)(unsafe.Add(q.slice, a.DoorbellOffset&(doorbellSlice-1)))
	return nil
}

// run hands an indirect buffer of n dwords to the GPU. The caller makes sure that the ring has room.
func (q *queue) run(addr uint64, n int) {
	if q.aql {
		at := q.ring.bytes()[q.write%ringPackets*pm4.AQLBytes:][:pm4.AQLBytes]
		p := pm4.AQLPM4{Header: pm4.AQLHeader(pm4.AQLVendor, true, pm4.FenceSystem, pm4.FenceSystem), Addr: addr, Dwords: n}
		var room [pm4.AQLBytes]byte
		packet := p.AppendTo(room[:0])
		copy(at[4:], packet[4:])
		// The header turns the slot valid: it goes last.
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&at[0])), binary.LittleEndian.Uint32(packet))
		q.write++
		atomic.StoreUint64(q.ptrs.word(offWritePtr), q.write)
		q.d.sys.Ring(q.doorbell, q.write-1)
		return
	}
	var room [4]uint32
	for i, w := range pm4.Stream(room[:0]).IndirectBuffer(addr, n) {
		at := (*uint32)(unsafe.Add(q.ring.ptr(), (q.write+uint64(i))%ringDwords*4))
		atomic.StoreUint32(at, w)
	}
	q.write += uint64(len(room))
	atomic.StoreUint64(q.ptrs.word(offWritePtr), q.write)
	q.d.sys.Ring(q.doorbell, q.write)
}

// destroy ends the kernel's queue, and with it all that runs on it.
func (q *queue) destroy() error {
	if !q.alive {
		return nil
	}
	q.alive = false
	a := abi.DestroyQueueArgs{QueueID: q.id}
	return q.d.ioctl(q.d.kfd, abi.DestroyQueue, unsafe.Pointer(&a))
}

func (q *queue) unmapDoorbell() error {
	if q.slice == nil {
		return nil
	}
	p := q.slice
	q.slice, q.doorbell = nil, nil
	return q.d.sys.Munmap(p, doorbellSlice)
}
