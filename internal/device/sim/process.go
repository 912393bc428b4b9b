package sim

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
)

const vramBytes = 64 << 30 // of each GPU, as far as programs are told

// process is what one opened /dev/kfd holds.
type process struct {
	k      *Kernel
	fd     int
	events events

	mu     sync.Mutex
	gpu    *GPU  // whose VM was acquired
	drm    *file // and by which render node
	drmFD  int
	bos    map[uint64]*bo
	nextBO uint64
	queues map[uint32]*queue
	nextQ  uint32
	bells  unsafe.Pointer // the doorbell page as the kernel sees it; nil: no queue yet
	closed bool
	trap   abi.SetTrapHandlerArgs // the handler that s_trap enters; zero: none

	runner     *runner
	vmids      []uint32
	dispatches int // so far, guarded by the GPU's busy
	fault      atomic.Pointer[error]

	table atomic.Pointer[[]mapping] // of the GPU's addresses, ascending
}

// bo is one allocation.
type bo struct {
	va, size, off uint64
	flags         uint32
	host          unsafe.Pointer // the kernel's view
	mapped        bool           // on the GPU
}

// mapping is one range of GPU addresses.
type mapping struct {
	va    uint64
	bytes []byte
	flags uint32
}

func newProcess(k *Kernel, fd int) *process {
	p := &process{k: k, fd: fd, bos: map[uint64]*bo{}, queues: map[uint32]*queue{}, nextBO: 1, nextQ: 1}
	p.events.init()
	return p
}

// close ends the queues first: their goroutines use the memory.
func (p *process) close() error {
	p.mu.Lock()
	p.closed = true
	qs := p.queues
	p.queues = map[uint32]*queue{}
	p.mu.Unlock()
	for _, q := range qs {
		q.stop()
	}
	p.events.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for h, b := range p.bos {
		delete(p.bos, h)
		errs = append(errs, p.release(b))
	}
	p.publish()
	if p.bells != nil {
		errs = append(errs, unix.MunmapPtr(p.bells, doorbellBytes))
		p.bells = nil
	}
	if p.gpu != nil {
		p.gpu.leave(p)
	}
	return errors.Join(errs...)
}

func (p *process) acquireVM(a *abi.AcquireVMArgs) error {
	f := p.k.file(int(a.DRMFD))
	if f == nil || f.gpu == nil || f.gpu.id != a.GPUID {
		return unix.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gpu != nil {
		return unix.EBUSY
	}
	if err := f.gpu.enter(p); err != nil {
		return err
	}
	p.gpu, p.drm, p.drmFD = f.gpu, f, int(a.DRMFD)
	return nil
}

// setTrapHandler gives the process's waves a second-level trap handler: amdkfd's own first level, which saves waves of
// queues that it takes off the GPU, is not simulated.
func (p *process) setTrapHandler(a *abi.SetTrapHandlerArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gpu == nil || p.gpu.id != a.GPUID {
		return unix.EINVAL
	}
	p.trap = *a
	return nil
}

// trapHandler is the handler's address and that of its memory.
func (p *process) trapHandler() (tba, tma uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trap.TBAAddr, p.trap.TMAAddr
}

func (p *process) availableMemory(a *abi.AvailableMemoryArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gpu == nil || p.gpu.id != a.GPUID {
		return unix.EINVAL
	}
	a.Available = vramBytes
	for _, b := range p.bos {
		if b.flags&abi.AllocVRAM != 0 {
			a.Available -= b.size
		}
	}
	return nil
}

// domains are the flags of which a request has exactly one; others than these are not modelled.
func domain(flags uint32) bool {
	switch flags & abi.AllocDomains {
	case abi.AllocVRAM, abi.AllocGTT:
		return true
	}
	return false
}

func (p *process) allocMemory(a *abi.AllocMemoryOfGPUArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.gpu == nil || a.GPUID != p.gpu.id || a.Size == 0 || !domain(a.Flags) || a.Flags&^abi.AllocKnown != 0 {
		return unix.EINVAL
	}
	size := roundUp(a.Size, pageBytes)
	if a.VAAddr%pageBytes != 0 || a.VAAddr < vmBase || a.VAAddr+size > vmLimit+1 {
		return unix.EINVAL
	}
	all := size
	for _, b := range p.bos {
		if a.VAAddr < b.va+b.size && b.va < a.VAAddr+size {
			return unix.EINVAL
		}
		all += b.size
	}
	if all > vramBytes || size > hostBytes() {
		return unix.ENOMEM
	}
	// The file only grows; its holes cost nothing.
	p.k.mu.Lock()
	off := p.drm.end
	p.drm.end += int64(size)
	end := p.drm.end
	p.k.mu.Unlock()
	if err := unix.Ftruncate(p.drmFD, end); err != nil {
		return err
	}
	host, err := unix.MmapPtr(p.drmFD, off, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	h := p.nextBO
	p.nextBO++
	p.bos[h] = &bo{va: a.VAAddr, size: size, off: uint64(off), flags: a.Flags, host: host}
	a.Handle, a.MmapOffset = h, uint64(off)
	return nil
}

// hostBytes is how much memory this machine has. More than that cannot be filled: trying would end other programs.
func hostBytes() uint64 {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return vramBytes
	}
	return s.Totalram * uint64(s.Unit)
}

// release gives an allocation's pages back. p.mu is held.
func (p *process) release(b *bo) error {
	err := unix.MunmapPtr(b.host, uintptr(b.size))
	b.host = nil
	// Fails where the program closed the render node first; the pages then went with the file.
	_ = unix.Fallocate(p.drmFD, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(b.off), int64(b.size))
	return err
}

func (p *process) freeMemory(a *abi.FreeMemoryOfGPUArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.bos[a.Handle]
	if b == nil {
		return unix.EINVAL
	}
	if b.mapped {
		return unix.EBUSY
	}
	delete(p.bos, a.Handle)
	return p.release(b)
}

func (p *process) mapMemory(a *abi.MapMemoryToGPUArgs, on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.bos[a.Handle]
	if b == nil || a.NDevices == 0 || a.NDevices > 64 || a.DeviceIDsArrayPtr == 0 {
		return unix.EINVAL
	}
	for i, id := range unsafe.Slice((*uint32)(pointer(a.DeviceIDsArrayPtr)), a.NDevices) {
		if id != p.gpu.id {
			return unix.EINVAL
		}
		b.mapped = on
		a.NSuccess = uint32(i) + 1
	}
	p.publish()
	return nil
}

// publish makes the table anew. p.mu is held.
func (p *process) publish() {
	var t []mapping
	for _, b := range p.bos {
		if b.mapped {
			t = append(t, mapping{va: b.va, bytes: unsafe.Slice((*byte)(b.host), b.size), flags: b.flags})
		}
	}
	slices.SortFunc(t, func(a, b mapping) int { return cmp.Compare(a.va, b.va) })
	p.table.Store(&t)
}

func (p *process) find(addr uint64) *mapping {
	t := p.table.Load()
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(*t, addr, func(m mapping, a uint64) int { return cmp.Compare(m.va, a) })
	if !ok {
		i--
	}
	if i < 0 || addr-(*t)[i].va >= uint64(len((*t)[i].bytes)) {
		return nil
	}
	return &(*t)[i]
}

// Map implements cp.Memory and shader.Memory.
func (p *process) Map(addr uint64, write bool) ([]byte, bool) {
	m := p.find(addr)
	if m == nil || write && m.flags&abi.AllocWritable == 0 {
		return nil, false
	}
	return m.bytes[addr-m.va:], true
}

// vmid is the address space of the next dispatch.
func (p *process) vmid() uint32 {
	v := p.vmids[p.dispatches%len(p.vmids)]
	p.dispatches++
	return v
}

func (p *process) executable(addr uint64) bool {
	m := p.find(addr)
	return m != nil && m.flags&abi.AllocExecutable != 0
}
