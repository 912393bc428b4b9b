package kfd

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// registers are those a launch writes. Zero: the GC version lacks it.
type registers struct {
	pgmLo, rsrc1, rsrc3, tmpring, scratchLo, restart, userData, limits, start pm4.Reg
}

func (r *registers) find(t *pm4.RegTable) error {
	for _, f := range []struct {
		reg  *pm4.Reg
		name string
	}{
		{&r.pgmLo, "COMPUTE_PGM_LO"},
		{&r.rsrc1, "COMPUTE_PGM_RSRC1"},
		{&r.rsrc3, "COMPUTE_PGM_RSRC3"},
		{&r.tmpring, "COMPUTE_TMPRING_SIZE"},
		{&r.scratchLo, "COMPUTE_DISPATCH_SCRATCH_BASE_LO"},
		{&r.restart, "COMPUTE_RESTART_X"},
		{&r.userData, "COMPUTE_USER_DATA_0"},
		{&r.limits, "COMPUTE_RESOURCE_LIMITS"},
		{&r.start, "COMPUTE_START_X"},
	} {
		reg, ok := t.Lookup(f.name)
		if !ok {
			return fmt.Errorf("GC %s has no register %s", t.GC, f.name)
		}
		*f.reg = reg
	}
	return nil
}

// checkLaunch refuses what would hang or fault the GPU.
func (d *Device) checkLaunch(l *device.Launch) error {
	items := uint64(1)
	for i, b := range l.Block {
		if b == 0 || l.Grid[i] == 0 {
			return fmt.Errorf("kernel %s: grid %v and block %v must not be empty", l.Name, l.Grid, l.Block)
		}
		items *= uint64(b)
		if items > maxGroupItems {
			return fmt.Errorf("kernel %s: block %v has more than %d work-items", l.Name, l.Block, maxGroupItems)
		}
	}
	if int(l.LDSBytes) > d.gpu.LDSBytes {
		return fmt.Errorf("kernel %s: %d bytes of LDS, %d are the most", l.Name, l.LDSBytes, d.gpu.LDSBytes)
	}
	if l.Entry%256 != 0 || l.Entry == 0 {
		return fmt.Errorf("kernel %s: entry %#x is not aligned to 256 bytes", l.Name, l.Entry)
	}
	if l.Properties&device.PropWave32 != 0 && d.gpu.Family == gpu.GFX9 {
		return fmt.Errorf("kernel %s: %w: waves of 32 lanes on %s", l.Name, device.ErrNotSupported, d.gpu.Target)
	}
	return nil
}

// ldsShift is where RSRC2's LDS_SIZE stands; its unit is that of the target.
const ldsShift = 15

func (d *Device) ldsUnit() uint32 {
	if d.gpu.Target == "gfx950" {
		return 1280
	}
	return 512
}

// launch appends the registers of a dispatch, in the order that other compute drivers write them, and the dispatch.
func (e *encoder) launch(l *device.Launch) error {
	d, r := e.d, &e.d.q.regs
	user, err := e.userData(l)
	if err != nil {
		return err
	}
	wave := uint32(64)
	initiator := uint32(pm4.InitiatorShaderEnable | pm4.InitiatorStartAtZero)
	if l.Properties&device.PropWave32 != 0 {
		wave = 32
		initiator |= pm4.InitiatorWave32
	}
	tmpring, scratch, perDie, err := d.scratchFor(l.PrivateBytes, wave)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", l.Name, err)
	}
	rsrc2 := l.RSRC2 &^ (0x1ff << ldsShift)
	rsrc2 |= (l.LDSBytes + d.ldsUnit() - 1) / d.ldsUnit() << ldsShift

	e.s = e.s.SetSh(r.pgmLo, uint32(l.Entry>>8), uint32(l.Entry>>40))
	e.s = e.s.SetSh(r.rsrc1, l.RSRC1, rsrc2)
	e.s = e.s.SetSh(r.rsrc3, l.RSRC3)
	e.s = e.s.SetSh(r.tmpring, tmpring)
	for die := range d.gpu.Dies {
		at := scratch + uint64(die)*perDie
		e.onDie(die, func() { e.s = e.s.SetSh(r.scratchLo, uint32(at>>8), uint32(at>>40)) })
		if scratch == 0 {
			break
		}
	}
	e.s = e.s.SetSh(r.restart, 0, 0, 0)
	if len(user) > 0 {
		e.s = e.s.SetSh(r.userData, user...)
	}
	e.s = e.s.SetSh(r.limits, 0)

	var groups, threads [3]uint32
	for i, n := range l.Grid {
		groups[i] = (n-1)/l.Block[i] + 1
		threads[i] = l.Block[i] | ((n-1)%l.Block[i]+1)<<16 // the last workgroup's size above the full one's
		if n%l.Block[i] != 0 {
			initiator |= pm4.InitiatorPartial
		}
	}
	if initiator&pm4.InitiatorPartial == 0 {
		threads = l.Block
	}
	e.s = e.s.SetSh(r.start, 0, 0, 0, threads[0], threads[1], threads[2])
	e.s = e.s.DispatchDirect(groups[0], groups[1], groups[2], initiator)
	e.s = e.s.EventWrite(pm4.EventCSPartialFlush)
	e.launches = append(e.launches, l.Name)
	e.onDie(0, func() { // so that a fault finds the kernel
		e.s = e.s.WriteData(d.slotAddr(e.seq, slotProgress), uint32(len(e.launches)))
	})
	return nil
}

// maxUserData is how many user registers a wave can be given.
const maxUserData = 16

// userData lays out the user registers in the order that the kernel descriptor's properties define.
func (e *encoder) userData(l *device.Launch) ([]uint32, error) {
	d := e.d
	var u []uint32
	add64 := func(v uint64) { u = append(u, uint32(v), uint32(v>>32)) }
	if l.Properties&device.PropPrivateSegmentBuffer != 0 {
		_, scratch, _, err := d.scratchFor(l.PrivateBytes, 64)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", l.Name, err)
		}
		// A swizzled buffer resource over the scratch area, as ROCr builds it: uint32, index stride of 64 lanes, lane ids added.
		u = append(u, uint32(scratch), uint32(scratch>>32)|1<<31, 0xffffffff, 0x00e24fac)
	}
	if l.Properties&device.PropDispatchPtr != 0 {
		add64(e.dispatchPacket(l))
	}
	if l.Properties&device.PropQueuePtr != 0 {
		add64(d.q.ptrs.addr)
	}
	if l.Properties&device.PropKernargSegmentPtr != 0 {
		add64(l.Kernarg)
	}
	if l.Properties&device.PropDispatchID != 0 {
		add64(e.seq)
	}
	if l.Properties&device.PropFlatScratchInit != 0 {
		_, scratch, _, err := d.scratchFor(l.PrivateBytes, 64)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", l.Name, err)
		}
		add64(scratch)
	}
	if l.Properties&device.PropPrivateSegmentSize != 0 {
		u = append(u, l.PrivateBytes)
	}
	if n := int(l.KernargPreload & 0x7f); n > 0 { // dwords of the arguments from an offset, which is in dwords too
		words, err := d.peek(l.Kernarg+4*uint64(l.KernargPreload>>7), n)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: preload arguments: %w", l.Name, err)
		}
		u = append(u, words...)
	}
	if len(u) > maxUserData {
		return nil, fmt.Errorf("kernel %s: %d user registers, %d are the most", l.Name, len(u), maxUserData)
	}
	return u, nil
}

// peek reads dwords of a buffer.
func (d *Device) peek(addr uint64, n int) ([]uint32, error) {
	d.memMu.Lock()
	defer d.memMu.Unlock()
	for m := range d.mem {
		if addr >= m.addr && addr+4*uint64(n) <= m.addr+m.size {
			out := make([]uint32, n)
			for i := range out {
				out[i] = uint32(*m.word((addr - m.addr + 4*uint64(i)) &^ 7) >> (addr + 4*uint64(i)) & 4 * 8)
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("%#x is in no buffer", addr)
}

// dispatchPacket writes the AQL packet that a kernel may read its sizes from, and returns its address.
func (e *encoder) dispatchPacket(l *device.Launch) uint64 {
	addr := e.packetAddr + uint64(len(e.packets))
	p := pm4.AQLDispatch{
		Header:     pm4.AQLHeader(pm4.AQLKernelDispatch, true, pm4.FenceSystem, pm4.FenceSystem),
		Dimensions: 3, Grid: l.Grid, PrivateBytes: l.PrivateBytes, LDSBytes: l.LDSBytes,
		KernelObject: l.DescriptorAddr, KernargAddress: l.Kernarg,
	}
	for i, b := range l.Block {
		p.Workgroup[i] = uint16(b)
	}
	e.packets = p.AppendTo(e.packets)
	return addr
}

// scratchArea is the private memory of all waves that can run at once.
type scratchArea struct {
	m     *memory
	total uint64
}

const (
	scratchMost = 4 << 30 // bytes; fewer waves get scratch beyond it
	tmpringMax  = 0xfff   // WAVES
)

// scratchFor returns COMPUTE_TMPRING_SIZE, the address and the bytes per die for a kernel's private memory. The area grows
// as kernels ask; it is replaced only while nothing runs.
func (d *Device) scratchFor(perLane, wave uint32) (tmpring uint32, addr, perDie uint64, err error) {
	if perLane == 0 {
		return 0, 0, 0, nil
	}
	unit, perSE := uint64(256), uint64(d.gpu.SEs) // of WAVESIZE; from gfx11 on WAVES is per engine
	if d.gpu.Family == gpu.GFX9 {
		unit, perSE = 1024, 1
	}
	waveBytes := roundUp(uint64(perLane)*uint64(wave), unit)
	slots := uint64(d.gpu.SEs * d.gpu.SAs * d.gpu.Units * d.gpu.SIMDs * d.gpu.Slots)
	waves := min(slots, scratchMost/uint64(d.gpu.Dies)/waveBytes, tmpringMax*perSE) / perSE
	if waves == 0 {
		return 0, 0, 0, fmt.Errorf("%d bytes of private memory per work-item are too many", perLane)
	}
	perDie = roundUp(waves*perSE*waveBytes, pageBytes)
	if total := perDie * uint64(d.gpu.Dies); total > d.scratch.total {
		m, err := d.allocate(total, 0, flagsVRAM)
		if err != nil {
			if m, err = d.allocate(total, 0, flagsSystem); err != nil {
				return 0, 0, 0, fmt.Errorf("private memory of all waves: %w", err)
			}
		}
		// The former area stays for what is in flight; Close frees it.
		d.scratch = scratchArea{m: m, total: total}
	}
	return uint32(waves) | uint32(waveBytes/unit)<<12, d.scratch.m.addr, perDie, nil
}
