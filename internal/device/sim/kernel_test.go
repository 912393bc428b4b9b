package sim

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// client is a program that makes requests by hand.
type client struct {
	t        *testing.T
	k        *Kernel
	kfd, drm int
	id       uint32
	page     unsafe.Pointer // for what requests point to
}

func newClient(t *testing.T, k *Kernel) *client {
	t.Helper()
	c := &client{t: t, k: k, id: k.gpus[0].id}
	var err error
	if c.kfd, err = k.Open("/dev/kfd"); err != nil {
		t.Fatal(err)
	}
	if c.drm, err = k.Open("/dev/dri/renderD128"); err != nil {
		t.Fatal(err)
	}
	if c.page, err = k.Mmap(0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.Munmap(c.page, pageBytes)
		_ = k.Close(c.drm)
		_ = k.Close(c.kfd)
	})
	return c
}

func testKernel(t *testing.T, name string) *Kernel {
	t.Helper()
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	k, err := New([]*gpu.GPU{g}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the clients'
		if fds, maps := k.Leaks(); fds != 0 || maps != 0 {
			t.Errorf("%d descriptors and %d mappings are left", fds, maps)
		}
	})
	return k
}

func (c *client) do(req uintptr, arg unsafe.Pointer) error { return c.k.Ioctl(c.kfd, req, arg) }

func (c *client) want(err, want error, what string) {
	c.t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		c.t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (c *client) acquire() {
	c.t.Helper()
	a := abi.AcquireVMArgs{DRMFD: uint32(c.drm), GPUID: c.id}
	c.want(c.do(abi.AcquireVM, unsafe.Pointer(&a)), nil, "acquire")
}

// memory allocates and maps on the GPU; the bytes are a view through the render node.
func (c *client) memory(va, size uint64, flags uint32) (handle uint64) {
	c.t.Helper()
	a := abi.AllocMemoryOfGPUArgs{VAAddr: va, Size: size, GPUID: c.id, Flags: flags}
	c.want(c.do(abi.AllocMemoryOfGPU, unsafe.Pointer(&a)), nil, "allocate")
	*(*uint32)(c.page) = c.id
	m := abi.MapMemoryToGPUArgs{Handle: a.Handle, DeviceIDsArrayPtr: uint64(uintptr(c.page)), NDevices: 1}
	c.want(c.do(abi.MapMemoryToGPU, unsafe.Pointer(&m)), nil, "map")
	return a.Handle
}

func TestMemoryRequests(t *testing.T) {
	c := newClient(t, testKernel(t, "gfx1100"))
	const va, rw = 0x10000000, abi.AllocVRAM | abi.AllocWritable
	early := abi.AllocMemoryOfGPUArgs{VAAddr: va, Size: pageBytes, GPUID: c.id, Flags: rw}
	c.want(c.do(abi.AllocMemoryOfGPU, unsafe.Pointer(&early)), unix.EINVAL, "allocate before the VM is there")
	wrong := abi.AcquireVMArgs{DRMFD: uint32(c.kfd), GPUID: c.id}
	c.want(c.do(abi.AcquireVM, unsafe.Pointer(&wrong)), unix.EINVAL, "acquire with another descriptor")
	c.acquire()
	again := abi.AcquireVMArgs{DRMFD: uint32(c.drm), GPUID: c.id}
	c.want(c.do(abi.AcquireVM, unsafe.Pointer(&again)), unix.EBUSY, "acquire again")
	h := c.memory(va, 3*pageBytes, rw)
	for _, x := range []struct {
		what string
		a    abi.AllocMemoryOfGPUArgs
	}{
		{"overlap", abi.AllocMemoryOfGPUArgs{VAAddr: va + pageBytes, Size: pageBytes, GPUID: c.id, Flags: rw}},
		{"no domain", abi.AllocMemoryOfGPUArgs{VAAddr: 2 * va, Size: pageBytes, GPUID: c.id, Flags: abi.AllocWritable}},
		{"two domains", abi.AllocMemoryOfGPUArgs{VAAddr: 2 * va, Size: pageBytes, GPUID: c.id, Flags: rw | abi.AllocGTT}},
		{"unknown flag", abi.AllocMemoryOfGPUArgs{VAAddr: 2 * va, Size: pageBytes, GPUID: c.id, Flags: rw | 1<<15}},
		{"no size", abi.AllocMemoryOfGPUArgs{VAAddr: 2 * va, GPUID: c.id, Flags: rw}},
		{"odd address", abi.AllocMemoryOfGPUArgs{VAAddr: 2*va + 8, Size: pageBytes, GPUID: c.id, Flags: rw}},
		{"low address", abi.AllocMemoryOfGPUArgs{VAAddr: 0, Size: pageBytes, GPUID: c.id, Flags: rw}},
		{"high address", abi.AllocMemoryOfGPUArgs{VAAddr: 1 << 47, Size: pageBytes, GPUID: c.id, Flags: rw}},
		{"other GPU", abi.AllocMemoryOfGPUArgs{VAAddr: 2 * va, Size: pageBytes, GPUID: 1, Flags: rw}},
	} {
		c.want(c.do(abi.AllocMemoryOfGPU, unsafe.Pointer(&x.a)), unix.EINVAL, x.what)
	}
	large := abi.AllocMemoryOfGPUArgs{VAAddr: 2 * va, Size: vramBytes, GPUID: c.id, Flags: rw}
	c.want(c.do(abi.AllocMemoryOfGPU, unsafe.Pointer(&large)), unix.ENOMEM, "more than is left")
	large.Size = hostBytes() + pageBytes
	c.want(c.do(abi.AllocMemoryOfGPU, unsafe.Pointer(&large)), unix.ENOMEM, "more than this machine has")
	f := abi.FreeMemoryOfGPUArgs{Handle: h}
	c.want(c.do(abi.FreeMemoryOfGPU, unsafe.Pointer(&f)), unix.EBUSY, "free what is mapped")
	m := abi.MapMemoryToGPUArgs{Handle: h, DeviceIDsArrayPtr: uint64(uintptr(c.page)), NDevices: 1}
	*(*uint32)(c.page) = 1
	c.want(c.do(abi.UnmapMemoryFromGPU, unsafe.Pointer(&m)), unix.EINVAL, "unmap from another GPU")
	*(*uint32)(c.page) = c.id
	c.want(c.do(abi.UnmapMemoryFromGPU, unsafe.Pointer(&m)), nil, "unmap")
	c.want(c.do(abi.FreeMemoryOfGPU, unsafe.Pointer(&f)), nil, "free")
	c.want(c.do(abi.FreeMemoryOfGPU, unsafe.Pointer(&f)), unix.EINVAL, "free again")
	v := abi.AvailableMemoryArgs{GPUID: c.id}
	c.want(c.do(abi.AvailableMemory, unsafe.Pointer(&v)), nil, "available")
	if v.Available != vramBytes {
		t.Errorf("%d bytes are available", v.Available)
	}
}

func TestRequestErrors(t *testing.T) {
	c := newClient(t, testKernel(t, "gfx1100"))
	var x [64]uint64
	c.want(c.do(0xc0084bff, unsafe.Pointer(&x)), unix.ENOTTY, "unknown request")
	c.want(c.k.Ioctl(c.drm, 0xc00864ff, unsafe.Pointer(&x)), unix.ENOTTY, "unknown request of the render node")
	c.want(c.k.Ioctl(-1, abi.GetVersion, unsafe.Pointer(&x)), unix.EBADF, "bad descriptor")
	c.want(c.k.Close(-1), unix.EBADF, "close of a bad descriptor")
	clk := abi.GetClockCountersArgs{GPUID: 3}
	c.want(c.do(abi.GetClockCounters, unsafe.Pointer(&clk)), unix.EINVAL, "clock of no GPU")
	for _, p := range []string{"/dev/dri/renderD129", "/dev/dri/card0", "/etc/passwd"} {
		_, err := c.k.Open(p)
		c.want(err, unix.ENOENT, p)
	}
	_, err := c.k.ReadFile(nodesDir)
	c.want(err, unix.ENOENT, "read a directory")
	_, err = c.k.ReadDir("/nowhere")
	c.want(err, unix.ENOENT, "list nothing")
	_, err = c.k.Mmap(0, pageBytes, unix.PROT_READ, unix.MAP_SHARED, c.drm, 1<<40)
	c.want(err, unix.EINVAL, "map behind the end")
	_, err = c.k.Mmap(0, pageBytes, unix.PROT_READ, unix.MAP_SHARED, 1<<20, 0)
	c.want(err, unix.EBADF, "map a bad descriptor")
	ctx := abi.DRMCtx{Op: abi.CtxSetStablePstate, CtxID: 9}
	c.want(c.k.Ioctl(c.drm, abi.DRMAmdgpuCtx, unsafe.Pointer(&ctx)), unix.EINVAL, "power state of no context")
	info := abi.DRMInfo{Query: 0x77}
	c.want(c.k.Ioctl(c.drm, abi.DRMAmdgpuInfo, unsafe.Pointer(&info)), unix.EINVAL, "unknown query")
	info = abi.DRMInfo{Query: abi.InfoDevInfo}
	c.want(c.k.Ioctl(c.drm, abi.DRMAmdgpuInfo, unsafe.Pointer(&info)), unix.EINVAL, "nowhere to put the answer")
}

func TestTrapHandler(t *testing.T) {
	c := newClient(t, testKernel(t, "gfx1100"))
	a := abi.SetTrapHandlerArgs{TBAAddr: 0x1000, TMAAddr: 0x2000, GPUID: c.id}
	c.want(c.do(abi.SetTrapHandler, unsafe.Pointer(&a)), unix.EINVAL, "before the VM is acquired")
	c.acquire()
	p := c.k.file(c.kfd).process
	d := cp.Dispatch{}
	if k := p.runner.kernel(&d); k.TrapBase != 0 || k.TrapMem != 0 {
		t.Errorf("no handler: %#x, %#x", k.TrapBase, k.TrapMem)
	}
	c.want(c.do(abi.SetTrapHandler, unsafe.Pointer(&a)), nil, "set")
	if k := p.runner.kernel(&d); k.TrapBase != 0x1000 || k.TrapMem != 0x2000 {
		t.Errorf("handler %#x, %#x", k.TrapBase, k.TrapMem)
	}
}

func TestPowerState(t *testing.T) {
	k := testKernel(t, "gfx1100")
	a, b := newClient(t, k), newClient(t, k)
	set := func(c *client, flags uint32) error {
		x := abi.DRMCtx{Op: abi.CtxAlloc}
		c.want(k.Ioctl(c.drm, abi.DRMAmdgpuCtx, unsafe.Pointer(&x)), nil, "context")
		x = abi.DRMCtx{Op: abi.CtxSetStablePstate, CtxID: x.Op, Flags: flags}
		return k.Ioctl(c.drm, abi.DRMAmdgpuCtx, unsafe.Pointer(&x))
	}
	get := func() uint32 {
		x := abi.DRMCtx{Op: abi.CtxGetStablePstate}
		a.want(k.Ioctl(a.drm, abi.DRMAmdgpuCtx, unsafe.Pointer(&x)), nil, "get")
		return x.Op
	}
	a.want(set(a, abi.PstatePeak), nil, "set")
	a.want(set(b, abi.PstatePeak), unix.EBUSY, "set by another")
	if get() != abi.PstatePeak {
		t.Error("the state is not held")
	}
	a.want(set(a, abi.PstateNone), nil, "drop")
	a.want(set(b, abi.PstatePeak), nil, "set by the other")
	a.want(k.Close(b.drm), nil, "close")
	if get() != abi.PstateNone {
		t.Error("the state outlives the descriptor")
	}
}

func (c *client) event(kind, reset uint32, page uint64) (id uint32, err error) {
	a := abi.CreateEventArgs{EventType: kind, AutoReset: reset, EventPageOffset: page}
	err = c.do(abi.CreateEvent, unsafe.Pointer(&a))
	return a.EventID, err
}

// wait waits for events; the result is WaitEventsArgs.WaitResult.
func (c *client) wait(all, ms uint32, ids ...uint32) (uint32, error) {
	ev := unsafe.Slice((*abi.EventData)(unsafe.Add(c.page, 64)), len(ids))
	for i := range ev {
		ev[i] = abi.EventData{EventID: ids[i]}
	}
	a := abi.WaitEventsArgs{EventsPtr: uint64(uintptr(c.page)) + 64, NumEvents: uint32(len(ids)), WaitForAll: all, Timeout: ms}
	err := c.do(abi.WaitEvents, unsafe.Pointer(&a))
	return a.WaitResult, err
}

func TestEvents(t *testing.T) {
	c := newClient(t, testKernel(t, "gfx1100"))
	c.acquire()
	_, err := c.event(abi.EventSignal, 1, 0)
	c.want(err, unix.EINVAL, "a signal without a page")
	small := c.memory(0x20000000, pageBytes, abi.AllocGTT|abi.AllocWritable)
	_, err = c.event(abi.EventSignal, 1, small)
	c.want(err, unix.EINVAL, "a page that is too small")
	page := c.memory(0x30000000, eventSlots*8, abi.AllocGTT|abi.AllocWritable)
	a, err := c.event(abi.EventSignal, 1, page)
	c.want(err, nil, "signal")
	b, err := c.event(abi.EventSignal, 0, page)
	c.want(err, nil, "second signal")
	_, err = c.event(99, 0, 0)
	c.want(err, unix.EINVAL, "unknown kind")
	check := func(what string, got uint32, err error, want uint32) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", what, got, err, want)
		}
	}
	r, err := c.wait(0, 1, a, b)
	check("nothing set", r, err, abi.WaitTimeout)
	set := abi.EventArgs{EventID: a}
	c.want(c.do(abi.SetEvent, unsafe.Pointer(&set)), nil, "set")
	r, err = c.wait(1, 1, a, b)
	check("one of two", r, err, abi.WaitTimeout)
	r, err = c.wait(0, 1000, a, b)
	check("any", r, err, abi.WaitComplete)
	r, err = c.wait(0, 0, a)
	check("it reset itself", r, err, abi.WaitTimeout)
	go func() {
		time.Sleep(2 * time.Millisecond)
		set := abi.EventArgs{EventID: b}
		_ = c.do(abi.SetEvent, unsafe.Pointer(&set))
	}()
	r, err = c.wait(0, 0xffffffff, b)
	check("without end", r, err, abi.WaitComplete)
	r, err = c.wait(0, 0, b)
	check("it stays set", r, err, abi.WaitComplete)
	reset := abi.EventArgs{EventID: b}
	c.want(c.do(abi.ResetEvent, unsafe.Pointer(&reset)), nil, "reset")
	r, err = c.wait(0, 0, b)
	check("reset", r, err, abi.WaitTimeout)
	c.want(c.do(abi.DestroyEvent, unsafe.Pointer(&reset)), nil, "destroy")
	c.want(c.do(abi.DestroyEvent, unsafe.Pointer(&reset)), unix.EINVAL, "destroy again")
	_, err = c.wait(0, 0, b)
	c.want(err, unix.EINVAL, "wait for what is gone")
	// An interrupt counts only for a slot that was written.
	p := c.k.file(c.kfd).process
	p.events.interrupt(a)
	r, err = c.wait(0, 0, a)
	check("interrupt without a store", r, err, abi.WaitTimeout)
	atomic.StoreUint64(p.events.slot(a), uint64(a))
	p.events.interrupt(a)
	r, err = c.wait(0, 0, a)
	check("interrupt", r, err, abi.WaitComplete)
	if atomic.LoadUint64(p.events.slot(a)) != unsignaled {
		t.Error("the slot is still set")
	}
}

func TestQueueRequests(t *testing.T) {
	c := newClient(t, testKernel(t, "gfx1100"))
	c.acquire()
	const rw = abi.AllocGTT | abi.AllocWritable | abi.AllocExecutable
	props := c.k.files[nodesDir+"/1/properties"]
	ctx, ctl := property(props, "cwsr_size"), property(props, "ctl_stack_size")
	c.memory(0x10000000, 0x1000, rw)      // ring
	c.memory(0x20000000, pageBytes, rw)   // pointers
	c.memory(0x30000000, pageBytes, rw)   // end of pipe
	c.memory(0x40000000, ctx+0x20000, rw) // context save
	c.memory(0x50000000, 2*pageBytes, rw) // data
	good := abi.CreateQueueArgs{
		RingBaseAddress: 0x10000000, RingSize: 0x1000, WritePointerAddress: 0x20000038, ReadPointerAddress: 0x20000080, GPUID: c.id,
		QueuePercentage: 100, QueuePriority: 7, EOPBufferAddress: 0x30000000, EOPBufferSize: 4096,
		CtxSaveRestoreAddress: 0x40000000, CtxSaveRestoreSize: uint32(ctx), CtlStackSize: uint32(ctl),
	}
	for what, f := range map[string]func(a *abi.CreateQueueArgs){
		"ring size":      func(a *abi.CreateQueueArgs) { a.RingSize = 0x1001 },
		"ring mapping":   func(a *abi.CreateQueueArgs) { a.RingSize = 0x2000 },
		"ring address":   func(a *abi.CreateQueueArgs) { a.RingBaseAddress += 0x100 },
		"pointer":        func(a *abi.CreateQueueArgs) { a.WritePointerAddress = 0x60000000 },
		"percentage":     func(a *abi.CreateQueueArgs) { a.QueuePercentage = 101 },
		"die":            func(a *abi.CreateQueueArgs) { a.QueuePercentage = 100 | 1<<8 },
		"priority":       func(a *abi.CreateQueueArgs) { a.QueuePriority = 16 },
		"type":           func(a *abi.CreateQueueArgs) { a.QueueType = 1 },
		"end of pipe":    func(a *abi.CreateQueueArgs) { a.EOPBufferSize = 2048 },
		"control stack":  func(a *abi.CreateQueueArgs) { a.CtlStackSize -= 4096 },
		"save area size": func(a *abi.CreateQueueArgs) { a.CtxSaveRestoreSize -= 4096 },
		"GPU":            func(a *abi.CreateQueueArgs) { a.GPUID++ },
	} {
		a := good
		f(&a)
		c.want(c.do(abi.CreateQueue, unsafe.Pointer(&a)), unix.EINVAL, what)
	}
	a := good
	c.want(c.do(abi.CreateQueue, unsafe.Pointer(&a)), nil, "queue")
	bells, err := c.k.Mmap(0, doorbellBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, c.kfd, int64(a.DoorbellOffset&^(doorbellBytes-1)))
	if err != nil {
		t.Fatal(err)
	}
	// Packets that wrap around the ring's end.
	p := c.k.file(c.kfd).process
	mem := func(va uint64) []byte {
		b, ok := p.Map(va, true)
		if !ok {
			t.Fatalf("%#x is not mapped", va)
		}
		return b
	}
	words := pm4.Stream(nil).Nop(1022).WriteData(0x50000000, 0x1234)
	for i, w := range words {
		binary.LittleEndian.PutUint32(mem(0x10000000+uint64(i%1024)*4), w)
		if i == 1021 {
			c.ring(bells, a.DoorbellOffset, 1022)
			c.until(func() bool { return atomic.LoadUint64(p.word(0x20000080)) == 1022 })
		}
	}
	c.ring(bells, a.DoorbellOffset, uint64(len(words)))
	c.until(func() bool { return binary.LittleEndian.Uint32(mem(0x50000000)) == 0x1234 })
	// A doorbell that makes no sense stops the process and says so.
	c.ring(bells, a.DoorbellOffset, 1<<40)
	c.until(func() bool { return c.k.Explain(c.kfd) != "" })
	d := abi.DestroyQueueArgs{QueueID: a.QueueID}
	c.want(c.do(abi.DestroyQueue, unsafe.Pointer(&d)), nil, "destroy")
	c.want(c.do(abi.DestroyQueue, unsafe.Pointer(&d)), unix.EINVAL, "destroy again")
	c.want(c.k.Munmap(bells, doorbellBytes), nil, "unmap")
}

func (c *client) ring(bells unsafe.Pointer, off, v uint64) {
	c.k.Ring((*uint64)(unsafe.Add(bells, off&(doorbellBytes-1))), v)
}

// until waits for a condition that another goroutine brings about.
func (c *client) until(f func() bool) {
	c.t.Helper()
	for end := time.Now().Add(5 * time.Second); !f(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			c.t.Fatal("it did not happen")
		}
	}
}

func (p *process) word(va uint64) *uint64 {
	m := p.find(va)
	return (*uint64)(unsafe.Pointer(&m.bytes[va-m.va]))
}

func TestVersion(t *testing.T) {
	for target, want := range map[string]int{
		"gfx90a": 90010, "gfx942": 90402, "gfx950": 90500, "gfx1100": 110000, "gfx1103": 110003, "gfx1151": 110501, "gfx1201": 120001, "x": 0,
	} {
		if got := version(target); got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
}

// Sizes of the context save area, as the kernel's formula gives them for real boards.
func TestSaveAreaSizes(t *testing.T) {
	for _, c := range []struct {
		name     string
		ctl, ctx uint64
	}{
		{"MI250X", 0x9000, 0x400f000},
		{"MI300X", 0x3000, 0x1621000},
		{"MI300A", 0x3000, 0x1621000},
		{"RX 7900 XTX", 0xa000, 0x2bea000},
		{"RX 7800 XT", 0x6000, 0x1b72000},
		{"RX 7600", 0x4000, 0xaa4000},
		{"Radeon 8060S", 0x4000, 0x124c000},
		{"RX 9070 XT", 0x7000, 0x1d47000},
		{"RX 9060 XT", 0x4000, 0xea4000},
		{"MI355X", 0x3000, 0x15a3000},
	} {
		props := testKernel(t, c.name).files[nodesDir+"/1/properties"]
		if ctl, ctx := property(props, "ctl_stack_size"), property(props, "cwsr_size"); ctl != c.ctl || ctx != c.ctx {
			t.Errorf("%s: %#x and %#x, want %#x and %#x", c.name, ctl, ctx, c.ctl, c.ctx)
		}
	}
}
