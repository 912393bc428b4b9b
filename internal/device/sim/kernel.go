package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
)

// Options qualifies a simulated GPU. The zero value is a quiet one.
type Options struct {
	Unstable  bool                   // another process holds the power state: the stable one cannot be had
	VMIDs     []uint32               // of the process: its dispatches have them in turn, as after re-mappings; nil: 8, the first that amdkfd has
	WaitLimit time.Duration          // of packets that wait for memory; 0: 10 s
	Loads     []count.Load           // waves of other processes, as long as the GPU's clock goes
	Groups    func(*shader.GroupLog) // shown each workgroup that was executed, for tests; nil: nobody
}

// Kernel is a simulated kernel with one or more GPUs. Create it with New; Close ends what programs left open.
type Kernel struct {
	files map[string]string // of /sys, by path; directories are what paths have in common
	gpus  []*GPU

	mu       sync.Mutex
	fds      map[int]*file
	users    []*process // of fds; replaced, never changed
	mappings map[unsafe.Pointer]uintptr
}

// file is an open device node.
type file struct {
	k       *Kernel
	gpu     *GPU     // of a render node
	process *process // of /dev/kfd
	end     int64    // of what the memfd holds
	pstate  uint32   // context of this render node that holds the stable power state; 0: none
	nextCtx uint32
}

// New makes a kernel whose topology shows the GPUs in order, behind one CPU node.
func New(models []*gpu.GPU, o Options) (*Kernel, error) {
	k := &Kernel{fds: map[int]*file{}, mappings: map[unsafe.Pointer]uintptr{}}
	if len(o.VMIDs) == 0 {
		o.VMIDs = []uint32{8}
	}
	for i, m := range models {
		g, err := newGPU(m, i, o)
		if err != nil {
			return nil, err
		}
		k.gpus = append(k.gpus, g)
	}
	k.files = topology(k.gpus)
	return k, nil
}

// Open implements kfd.System.
func (k *Kernel) Open(path string) (int, error) {
	f := &file{k: k, nextCtx: 1}
	if path != "/dev/kfd" {
		var minor int
		if _, err := fmt.Sscanf(path, "/dev/dri/renderD%d", &minor); err != nil || minor < firstRender || minor >= firstRender+len(k.gpus) {
			return -1, unix.ENOENT
		}
		f.gpu = k.gpus[minor-firstRender]
	}
	fd, err := unix.MemfdCreate("rigprof:"+path, unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if f.gpu == nil {
		f.process = newProcess(k, fd)
		f.end = doorbellBytes
		if err := unix.Ftruncate(fd, doorbellBytes); err != nil {
			return -1, errors.Join(err, unix.Close(fd))
		}
	}
	k.mu.Lock()
	k.fds[fd] = f
	k.listUsers()
	k.mu.Unlock()
	return fd, nil
}

// Close implements kfd.System.
func (k *Kernel) Close(fd int) error {
	k.mu.Lock()
	f := k.fds[fd]
	delete(k.fds, fd)
	k.listUsers()
	k.mu.Unlock()
	if f == nil {
		return unix.EBADF
	}
	var err error
	if f.process != nil {
		err = f.process.close()
	}
	if f.gpu != nil && f.pstate != 0 {
		f.gpu.setStable(f, false)
	}
	return errors.Join(err, unix.Close(fd))
}

// listUsers makes the list of processes anew, in the order of their descriptors. k.mu is held.
func (k *Kernel) listUsers() {
	k.users = nil
	for _, fd := range slices.Sorted(maps.Keys(k.fds)) {
		if p := k.fds[fd].process; p != nil {
			k.users = append(k.users, p)
		}
	}
}

func (k *Kernel) file(fd int) *file {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fds[fd]
}

// Mmap implements kfd.System.
func (k *Kernel) Mmap(addr, length uintptr, prot, flags, fd int, off int64) (unsafe.Pointer, error) {
	if fd >= 0 {
		f := k.file(fd)
		if f == nil {
			return nil, unix.EBADF
		}
		k.mu.Lock()
		end := f.end
		k.mu.Unlock()
		if off < 0 || off%pageBytes != 0 || off+int64(length) > end {
			return nil, unix.EINVAL
		}
	}
	p, err := unix.MmapPtr(fd, off, pointer(uint64(addr)), length, prot, flags)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.mappings[p] = length
	k.mu.Unlock()
	return p, nil
}

// Munmap implements kfd.System.
func (k *Kernel) Munmap(addr unsafe.Pointer, length uintptr) error {
	k.mu.Lock()
	delete(k.mappings, addr)
	k.mu.Unlock()
	return unix.MunmapPtr(addr, length)
}

// ReadFile implements kfd.System.
func (k *Kernel) ReadFile(path string) ([]byte, error) {
	s, ok := k.files[path]
	if !ok {
		return nil, unix.ENOENT
	}
	return []byte(s), nil
}

// ReadDir implements kfd.System.
func (k *Kernel) ReadDir(path string) ([]string, error) {
	seen := map[string]bool{}
	for p := range k.files {
		if rest, ok := strings.CutPrefix(p, path+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			seen[name] = true
		}
	}
	if len(seen) == 0 {
		return nil, unix.ENOENT
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// Ring implements kfd.System.
func (k *Kernel) Ring(doorbell *uint64, v uint64) {
	atomic.StoreUint64(doorbell, v)
	for _, p := range k.processes() {
		p.rung()
	}
}

// processes are those that have /dev/kfd open. A process's lock comes before the kernel's: it is not to be taken under it.
func (k *Kernel) processes() []*process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.users
}

// Explain implements kfd.System: what the kernel's log would say of the process's fault.
func (k *Kernel) Explain(fd int) string {
	f := k.file(fd)
	if f == nil || f.process == nil {
		return ""
	}
	if err := f.process.fault.Load(); err != nil {
		return explain(*err)
	}
	return ""
}

// explain tells a fault. What the events and the driver say already is left out: the packet is the dispatch, the kernel is known.
func explain(err error) string {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[*shader.Fault](err); ok {
		text := strings.TrimPrefix(f.Error(), "shader: kernel: ")
		return strings.TrimPrefix(text, shader.ErrMemory.Error()+": ")
	}
	return err.Error()
}

func (k *Kernel) gpu(id uint32) *GPU {
	for _, g := range k.gpus {
		if g.id == id {
			return g
		}
	}
	return nil
}

// Leaks counts descriptors and mappings that programs have not given back.
func (k *Kernel) Leaks() (descriptors, mappings int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.fds), len(k.mappings)
}

// Ioctl implements kfd.System.
func (k *Kernel) Ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	f := k.file(fd)
	if f == nil {
		return unix.EBADF
	}
	if f.process == nil {
		return f.drmIoctl(req, arg)
	}
	p := f.process
	switch req {
	case abi.GetVersion:
		*(*abi.GetVersionArgs)(arg) = abi.GetVersionArgs{MajorVersion: 1, MinorVersion: 17}
		return nil
	case abi.GetProcessAperturesNew:
		return k.apertures((*abi.GetProcessAperturesNewArgs)(arg))
	case abi.AcquireVM:
		return p.acquireVM((*abi.AcquireVMArgs)(arg))
	case abi.SetTrapHandler:
		return p.setTrapHandler((*abi.SetTrapHandlerArgs)(arg))
	case abi.AvailableMemory:
		return p.availableMemory((*abi.AvailableMemoryArgs)(arg))
	case abi.AllocMemoryOfGPU:
		return p.allocMemory((*abi.AllocMemoryOfGPUArgs)(arg))
	case abi.FreeMemoryOfGPU:
		return p.freeMemory((*abi.FreeMemoryOfGPUArgs)(arg))
	case abi.MapMemoryToGPU:
		return p.mapMemory((*abi.MapMemoryToGPUArgs)(arg), true)
	case abi.UnmapMemoryFromGPU:
		return p.mapMemory((*abi.MapMemoryToGPUArgs)(arg), false)
	case abi.CreateEvent:
		return p.events.create(p, (*abi.CreateEventArgs)(arg))
	case abi.DestroyEvent:
		return p.events.destroy((*abi.EventArgs)(arg))
	case abi.SetEvent:
		return p.events.set((*abi.EventArgs)(arg), true)
	case abi.ResetEvent:
		return p.events.set((*abi.EventArgs)(arg), false)
	case abi.WaitEvents:
		return p.events.wait((*abi.WaitEventsArgs)(arg))
	case abi.CreateQueue:
		return p.createQueue((*abi.CreateQueueArgs)(arg))
	case abi.DestroyQueue:
		return p.destroyQueue((*abi.DestroyQueueArgs)(arg))
	case abi.GetClockCounters:
		return k.clockCounters((*abi.GetClockCountersArgs)(arg))
	}
	return unix.ENOTTY
}

// Apertures of every amdkfd process: 4 GiB each in the non-canonical hole, kfd_flat_memory.c.
const (
	ldsBase     = 1 << 48
	scratchBase = 2 << 48
	aperture    = 1<<32 - 1
	vmBase      = 1 << 16
	vmLimit     = 1<<47 - 1
)

func (k *Kernel) apertures(a *abi.GetProcessAperturesNewArgs) error {
	if a.NumOfNodes == 0 { // a question for the number
		a.NumOfNodes = uint32(len(k.gpus))
		return nil
	}
	a.NumOfNodes = min(a.NumOfNodes, uint32(len(k.gpus)))
	out := unsafe.Slice((*abi.ProcessDeviceApertures)(pointer(a.KFDProcessDeviceAperturesPtr)), a.NumOfNodes)
	for i := range out {
		out[i] = abi.ProcessDeviceApertures{
			LDSBase: ldsBase, LDSLimit: ldsBase | aperture, ScratchBase: scratchBase, ScratchLimit: scratchBase | aperture,
			GPUVMBase: vmBase, GPUVMLimit: vmLimit, GPUID: k.gpus[i].id,
		}
	}
	return nil
}

func (k *Kernel) clockCounters(a *abi.GetClockCountersArgs) error {
	g := k.gpu(a.GPUID)
	if g == nil {
		return unix.EINVAL
	}
	a.GPUClockCounter = g.ticks.Load()
	a.CPUClockCounter = clock(unix.CLOCK_MONOTONIC_RAW)
	a.SystemClockCounter = clock(unix.CLOCK_BOOTTIME)
	a.SystemClockFreq = 1e9
	return nil
}

func clock(id int32) uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return uint64(ts.Nano())
}

// pointer makes a pointer of an address that a program passed, outside Go's heap.
func pointer(addr uint64) unsafe.Pointer {
	p := uintptr(addr)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

// drmIoctl serves the render node.
func (f *file) drmIoctl(req uintptr, arg unsafe.Pointer) error {
	switch req {
	case abi.DRMAmdgpuInfo:
		a := (*abi.DRMInfo)(arg)
		switch a.Query {
		case abi.InfoTimestamp:
			return copyOut(a, (*[8]byte)(unsafe.Pointer(new(f.gpu.ticks.Load())))[:])
		case abi.InfoDevInfo:
			dev := f.gpu.deviceInfo()
			return copyOut(a, (*[unsafe.Sizeof(dev)]byte)(unsafe.Pointer(&dev))[:])
		}
		return unix.EINVAL
	case abi.DRMAmdgpuCtx:
		a := (*abi.DRMCtx)(arg)
		switch a.Op {
		case abi.CtxAlloc:
			*a = abi.DRMCtx{Op: f.nextCtx}
			f.nextCtx++
			return nil
		case abi.CtxFree:
			return nil
		case abi.CtxGetStablePstate:
			*a = abi.DRMCtx{}
			if f.gpu.stable.Load() {
				a.Op = abi.PstatePeak
			}
			return nil
		case abi.CtxSetStablePstate:
			if a.CtxID == 0 || a.CtxID >= f.nextCtx || a.Flags > abi.PstatePeak {
				return unix.EINVAL
			}
			return f.gpu.setStable(f, a.Flags != abi.PstateNone)
		}
		return unix.EINVAL
	}
	return unix.ENOTTY
}

func copyOut(a *abi.DRMInfo, b []byte) error {
	if a.ReturnPointer == 0 || a.ReturnSize == 0 {
		return unix.EINVAL
	}
	copy(unsafe.Slice((*byte)(pointer(a.ReturnPointer)), a.ReturnSize), b)
	return nil
}
