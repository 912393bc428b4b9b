package kfd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/profile"
)

// Options qualifies Open.
type Options struct {
	Spec      string // what opens this device again
	Simulated bool
	KeepPower bool                                 // do not ask for the stable power state
	WaitLimit time.Duration                        // of a Wait whose context has no deadline; 0: an hour
	Uncounted func(block string, event int) string // Info.Uncounted
	Unsampled func(event int) string               // Info.Unsampled
}

// Device is an opened GPU.
type Device struct {
	sys  System
	opts Options
	node Node
	gpu  *gpu.GPU
	regs *pm4.RegTable
	info device.Info

	kfd, drm int            // descriptors, -1: closed
	args     unsafe.Pointer // a page outside Go's heap for what requests point to
	refHz    int64
	prof     *profile.Device
	closed   sync.Once
	closeErr error

	memMu     sync.Mutex
	mem       map[*memory]struct{}
	memClosed bool
	space     space
	hasSpace  bool

	buffers struct { // that Alloc gave
		mu    sync.Mutex
		bytes int64
	}

	event   eventIDs
	q       queue
	scratch scratchArea
	events  *memory // page of event slots
	sig     *memory // completion number and the slots of submissions
	ib      *memory // packets of submissions
	arena   ring

	submit sync.Mutex // held while a submission is built and handed over, by Abort and by Close
	flight flight
	reaper sync.WaitGroup
	stop   bool // the reaper ends, guarded by flight.mu
}

type eventIDs struct{ signal, memory, hardware, mailbox uint32 }

// Layout of the argument page.
const (
	argGPUs   = 0
	argEvents = 64
)

// Open opens the node-th GPU of the topology.
func Open(sys System, node int, o Options) (*Device, error) {
	nodes, err := Nodes(sys)
	if err != nil {
		return nil, err
	}
	if node < 0 || node >= len(nodes) {
		return nil, fmt.Errorf("%w: there is no GPU %d, the kernel shows %d", device.ErrNotSupported, node, len(nodes))
	}
	d := &Device{sys: sys, opts: o, node: nodes[node], kfd: -1, drm: -1, mem: map[*memory]struct{}{}}
	if d.opts.WaitLimit == 0 {
		d.opts.WaitLimit = time.Hour
	}
	if err := d.open(node); err != nil {
		return nil, errors.Join(fmt.Errorf("open GPU %d: %w", node, err), d.Close())
	}
	return d, nil
}

func (d *Device) open(node int) error {
	var err error
	if d.kfd, err = d.openNode("/dev/kfd"); err != nil {
		return err
	}
	if d.drm, err = d.openNode(fmt.Sprintf("/dev/dri/renderD%d", d.node.Props["drm_render_minor"])); err != nil {
		return err
	}
	if d.args, err = d.sys.Mmap(0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0); err != nil {
		return fmt.Errorf("map a page for arguments: %w", err)
	}
	*(*uint32)(unsafe.Add(d.args, argGPUs)) = d.node.GPUID
	dev := (*abi.DRMInfoDevice)(unsafe.Add(d.args, argEvents)) // later the events stand there
	a := abi.DRMInfo{ReturnPointer: uint64(uintptr(unsafe.Pointer(dev))), ReturnSize: uint32(unsafe.Sizeof(*dev)), Query: abi.InfoDevInfo}
	if err := d.ioctl(d.drm, abi.DRMAmdgpuInfo, unsafe.Pointer(&a)); err != nil {
		return fmt.Errorf("ask for device information: %w", err)
	}
	if d.gpu, err = d.node.shape(uint8(dev.PCIRev)); err != nil {
		return err
	}
	if d.regs, err = pm4.RegsFor(d.gpu.GC); err != nil {
		return err
	}
	if dev.GPUCounterFreq > 0 {
		d.gpu.RefClockHz = int64(dev.GPUCounterFreq) * 1000
	}
	d.refHz = d.gpu.RefClockHz
	d.gpu.Live = liveUnits(d.gpu, &dev.CUBitmap)
	if d.space, err = acquireSpace(); err != nil {
		return err
	}
	d.hasSpace = true
	var v abi.GetVersionArgs
	if err := d.ioctl(d.kfd, abi.GetVersion, unsafe.Pointer(&v)); err != nil {
		return fmt.Errorf("ask for the driver's version: %w", err)
	}
	if v.MajorVersion != 1 {
		return fmt.Errorf("%w: amdkfd's interface is version %d.%d, rigprof speaks 1.x", device.ErrNotSupported, v.MajorVersion, v.MinorVersion)
	}
	vm := abi.AcquireVMArgs{DRMFD: uint32(d.drm), GPUID: d.node.GPUID}
	if err := d.ioctl(d.kfd, abi.AcquireVM, unsafe.Pointer(&vm)); err != nil {
		return fmt.Errorf("take the address space: %w", err)
	}
	if err := d.apertures(); err != nil {
		return err
	}
	d.fillInfo(node)
	if err := d.createEvents(); err != nil {
		return err
	}
	if d.sig, err = d.allocate(sigBytes, 0, flagsShared); err != nil {
		return err
	}
	if d.ib, err = d.allocate(ibBytes, 0, flagsShared); err != nil {
		return err
	}
	d.arena = ring{size: ibBytes}
	if err := d.q.init(d); err != nil {
		return err
	}
	if err := d.q.create(); err != nil {
		return err
	}
	d.flight.init()
	d.prof = profile.NewDevice(d.info.Name)
	d.reaper.Go(d.reap)
	return nil
}

func (d *Device) openNode(path string) (int, error) {
	fd, err := d.sys.Open(path)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return -1, fmt.Errorf("%w: %s: %v", device.ErrNotSupported, path, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return -1, fmt.Errorf("%w: permission for %s is lacking (groups render and video usually have it): %v", device.ErrNotSupported, path, err)
	}
	return -1, fmt.Errorf("open %s: %w", path, err)
}

// ioctl is the one place that makes requests. arg stays where it is: requests are made with values that the
// compiler moved to the heap, since an interface method takes them.
func (d *Device) ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	for {
		err := d.sys.Ioctl(fd, req, arg)
		switch err {
		case nil:
			return nil
		case unix.EINTR, unix.EAGAIN:
			continue
		}
		return fmt.Errorf("ioctl %#x: %w", req, err)
	}
}

// apertures checks that the addresses chosen by space are the GPU's.
func (d *Device) apertures() error {
	const most = 64 // GPUs of a machine
	size := uintptr(most) * unsafe.Sizeof(abi.ProcessDeviceApertures{})
	page, err := d.sys.Mmap(0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
	if err != nil {
		return fmt.Errorf("map a page for apertures: %w", err)
	}
	a := abi.GetProcessAperturesNewArgs{KFDProcessDeviceAperturesPtr: uint64(uintptr(page)), NumOfNodes: most}
	err = d.ioctl(d.kfd, abi.GetProcessAperturesNew, unsafe.Pointer(&a))
	aps := slices.Clone(unsafe.Slice((*abi.ProcessDeviceApertures)(page), min(a.NumOfNodes, most)))
	if err = errors.Join(err, d.sys.Munmap(page, size)); err != nil {
		return fmt.Errorf("ask for apertures: %w", err)
	}
	for _, ap := range aps {
		if ap.GPUID != d.node.GPUID {
			continue
		}
		d.q.ldsHi, d.q.scratchHi = uint32(ap.LDSBase>>32), uint32(ap.ScratchBase>>32)
		if ap.GPUVMBase > d.space.base || ap.GPUVMLimit < d.space.last-1 {
			return fmt.Errorf("%w: the GPU's addresses are %#x to %#x, buffers go from %#x on", device.ErrNotSupported, ap.GPUVMBase, ap.GPUVMLimit, d.space.base)
		}
		return nil
	}
	return fmt.Errorf("the driver states no apertures of GPU %d", d.node.GPUID)
}

// fillInfo fills Info, and asks for the power state.
func (d *Device) fillInfo(node int) {
	var avail abi.AvailableMemoryArgs
	avail.GPUID = d.node.GPUID
	if err := d.ioctl(d.kfd, abi.AvailableMemory, unsafe.Pointer(&avail)); err != nil {
		avail.Available = 0 // before 6.1: not asked again
	}
	d.info = device.Info{
		Name:      fmt.Sprintf("GPU %d: %s (%s)", node, d.gpu.Name, d.gpu.Target),
		Spec:      d.opts.Spec,
		GPU:       d.gpu,
		Live:      d.gpu.LiveUnits(),
		Simulated: d.opts.Simulated,
		VRAMBytes: avail.Available,
		Uncounted: d.opts.Uncounted,
		Unsampled: d.opts.Unsampled,
	}
	if d.opts.Simulated {
		d.info.Name = fmt.Sprintf("simulated %s (%s)", d.gpu.Name, d.gpu.Target)
	}
	if d.opts.KeepPower {
		d.info.PowerReason = "the stable power state was not asked for"
	} else {
		d.info.PowerReason = d.stabilise()
	}
	d.info.StablePower = d.info.PowerReason == ""
}

// liveUnits reads the bitmap of working CUs of one die: engine s, array a stands at [s%4][a + 2*(s/4)], or, where engines have one
// array and there are more than four, at [s%4][s/4] (gfx90a). The kernel gives one bitmap for all dies (the first's); a WGP works
// if both its CUs do.
func liveUnits(g *gpu.GPU, bitmap *[4][4]uint32) [][]uint32 {
	live := make([][]uint32, g.Engines())
	for e := range live {
		live[e] = make([]uint32, g.SAs)
		s := e % g.SEs
		for a := range live[e] {
			col := a + 2*(s/4)
			if g.SAs == 1 {
				col = s / 4
			}
			if col > 3 {
				continue
			}
			bits := bitmap[s%4][col]
			if g.Family == gpu.GFX9 {
				live[e][a] = bits & (1<<g.Units - 1)
				continue
			}
			for u := range g.Units {
				if bits>>(2*u)&3 == 3 {
					live[e][a] |= 1 << u
				}
			}
		}
	}
	return live
}

const (
	eventSlots     = 4096
	eventPageBytes = eventSlots * 8
)

// createEvents gives the kernel a page of event slots and makes the three events that the driver waits for.
func (d *Device) createEvents() error {
	var err error
	if d.events, err = d.allocate(eventPageBytes, 0, flagsShared); err != nil {
		return err
	}
	make1 := func(kind, autoReset uint32) (id, slot uint32, err error) {
		a := abi.CreateEventArgs{EventType: kind, AutoReset: autoReset, NodeID: uint32(d.node.Index)}
		if kind == abi.EventSignal {
			a.EventPageOffset = d.events.handle
		}
		if err := d.ioctl(d.kfd, abi.CreateEvent, unsafe.Pointer(&a)); err != nil {
			return 0, 0, fmt.Errorf("create an event: %w", err)
		}
		if a.EventSlotIndex >= eventSlots {
			return 0, 0, fmt.Errorf("the driver put an event into slot %d", a.EventSlotIndex)
		}
		return a.EventID, a.EventSlotIndex, nil
	}
	if d.event.signal, d.event.mailbox, err = make1(abi.EventSignal, 1); err != nil {
		return err
	}
	if d.event.memory, _, err = make1(abi.EventMemory, 0); err != nil {
		return err
	}
	d.event.hardware, _, err = make1(abi.EventHWException, 0)
	return err
}

// Info implements device.Device.
func (d *Device) Info() device.Info {
	info := d.info
	info.Live = d.gpu.LiveUnits()
	return info
}

// Close implements device.Device.
func (d *Device) Close() error {
	d.closed.Do(func() { d.closeErr = d.close() })
	return d.closeErr
}

func (d *Device) close() error {
	d.submit.Lock()
	defer d.submit.Unlock()
	if d.prof != nil {
		d.collect()
		d.prof.Close(context.Background()) // reads what has ended, which waits for nothing
	}
	var errs []error
	errs = append(errs, d.q.destroy())
	d.collect()
	d.fail(device.ErrClosed)
	d.stopReaper()
	d.memMu.Lock()
	d.memClosed = true
	for m := range d.mem {
		delete(d.mem, m)
		errs = append(errs, m.undo())
	}
	d.memMu.Unlock()
	errs = append(errs, d.q.unmapDoorbell())
	for _, id := range []uint32{d.event.signal, d.event.memory, d.event.hardware} {
		if id != 0 {
			a := abi.EventArgs{EventID: id}
			errs = append(errs, d.ioctl(d.kfd, abi.DestroyEvent, unsafe.Pointer(&a)))
		}
	}
	if d.args != nil {
		errs = append(errs, d.sys.Munmap(d.args, pageBytes))
		d.args = nil
	}
	for _, fd := range []*int{&d.drm, &d.kfd} {
		if *fd >= 0 {
			errs = append(errs, d.sys.Close(*fd))
			*fd = -1
		}
	}
	if d.hasSpace {
		d.space.release()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", d.info.Name, err)
	}
	return nil
}
