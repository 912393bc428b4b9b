package kfd

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
)

// Address ranges: device i of the process has 1 TiB from spaceBase + i TiB. The first is far from where Linux
// puts programs, heaps and mappings, from Go's arenas, and from the race detector's shadow of them (0x2000_0000_0000
// to 0x3060_0000_0000); all are below 2^47 and above 64 KiB, inside every GPUVM aperture.
const (
	spaceBase  = 0x4000_0000_0000
	spaceBytes = 1 << 40
	spaces     = 32
	pageBytes  = 4096
	hugeBytes  = 2 << 20  // big buffers are aligned to it, for the GPU's large pages
	guardBytes = 64 << 10 // between two buffers: an index just past one faults
	blockBytes = 16 << 30 // no buffer crosses a multiple: gfx11's trace write pointers count modulo 16 GiB
)

var spacesInUse struct {
	sync.Mutex
	used [spaces]bool
}

// space hands out addresses upwards and starts again at its end; what is still mapped is stepped over.
type space struct {
	index            int
	base, next, last uint64
}

func acquireSpace() (space, error) {
	spacesInUse.Lock()
	defer spacesInUse.Unlock()
	for i, used := range spacesInUse.used {
		if !used {
			spacesInUse.used[i] = true
			base := uint64(spaceBase + i*spaceBytes)
			return space{index: i, base: base, next: base, last: base + spaceBytes}, nil
		}
	}
	return space{}, fmt.Errorf("%d devices are open already", spaces)
}

func (s *space) release() {
	spacesInUse.Lock()
	spacesInUse.used[s.index] = false
	spacesInUse.Unlock()
}

// take gives the next range of size bytes, pages, aligned.
func (s *space) take(size, align uint64) (uint64, error) {
	fit := func(from uint64) (uint64, bool) {
		va := (from + align - 1) &^ (align - 1)
		if size <= blockBytes && va/blockBytes != (va+size-1)/blockBytes {
			va = (va + blockBytes - 1) &^ (blockBytes - 1)
		}
		return va, va+size <= s.last
	}
	va, ok := fit(s.next)
	if !ok {
		if va, ok = fit(s.base); !ok {
			return 0, fmt.Errorf("a buffer of %d bytes does not fit the address space", size)
		}
	}
	s.next = va + size + guardBytes
	return va, nil
}

// memory is one allocation with its mappings.
type memory struct {
	d      *Device
	addr   uint64
	size   uint64
	flags  uint32
	handle uint64
	held   bool // the host's range at addr is reserved or mapped
	alloc  bool // handle is valid
	mapped bool // on the GPU
}

// ptr is the host's view, at the same address as the GPU's.
func (m *memory) ptr() unsafe.Pointer { return at(uintptr(m.addr)) }

func (m *memory) bytes() []byte { return unsafe.Slice((*byte)(m.ptr()), m.size) }

// word is the 64-bit number at an offset.
func (m *memory) word(off uint64) *uint64 { return (*uint64)(unsafe.Add(m.ptr(), off)) }

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// allocate makes memory of both sides' view at one address. flags are abi.Alloc bits.
func (d *Device) allocate(size, align uint64, flags uint32) (*memory, error) {
	return d.allocateWith(size, align, flags, nil)
}

// allocateWith is allocate, and calls ready with the memory before anybody else can free it.
func (d *Device) allocateWith(size, align uint64, flags uint32, ready func(*memory)) (*memory, error) {
	if size == 0 || size > spaceBytes/2 {
		return nil, fmt.Errorf("a buffer of %d bytes: want from 1 to %d", size, uint64(spaceBytes/2))
	}
	if align == 0 {
		align = pageBytes
	}
	if align&(align-1) != 0 || align > blockBytes {
		return nil, fmt.Errorf("alignment %d is no power of two up to %d", align, uint64(blockBytes))
	}
	m := &memory{d: d, size: roundUp(size, pageBytes), flags: flags}
	if m.size >= hugeBytes {
		align = max(align, hugeBytes)
	}
	d.memMu.Lock()
	defer d.memMu.Unlock()
	if d.memClosed {
		return nil, device.ErrClosed
	}
	if err := m.make(max(align, pageBytes), flags); err != nil {
		return nil, errors.Join(err, m.undo())
	}
	d.mem[m] = struct{}{}
	if ready != nil {
		ready(m)
	}
	return m, nil
}

func (m *memory) make(align uint64, flags uint32) error {
	d := m.d
	for try := 0; ; try++ {
		var err error
		if m.addr, err = d.space.take(m.size, align); err != nil {
			return err
		}
		_, err = d.sys.Mmap(uintptr(m.addr), uintptr(m.size), unix.PROT_NONE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE, -1, 0)
		if err == nil {
			m.held = true
			break
		}
		if !errors.Is(err, unix.EEXIST) || try == 1000 {
			return fmt.Errorf("reserve %d bytes at %#x: %w", m.size, m.addr, err)
		}
	}
	a := abi.AllocMemoryOfGPUArgs{VAAddr: m.addr, Size: m.size, GPUID: d.node.GPUID, Flags: flags}
	if err := d.ioctl(d.kfd, abi.AllocMemoryOfGPU, unsafe.Pointer(&a)); err != nil {
		return fmt.Errorf("allocate %d bytes of GPU memory: %w", m.size, err)
	}
	m.handle, m.alloc = a.Handle, true
	if _, err := d.sys.Mmap(uintptr(m.addr), uintptr(m.size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_FIXED, d.drm, int64(a.MmapOffset)); err != nil {
		return fmt.Errorf("map %d bytes of GPU memory: %w", m.size, err)
	}
	if err := d.mapOnGPU(m, abi.MapMemoryToGPU); err != nil {
		return fmt.Errorf("map %d bytes on the GPU: %w", m.size, err)
	}
	m.mapped = true
	return nil
}

func (d *Device) mapOnGPU(m *memory, req uintptr) error {
	// The list of GPUs lies outside Go's heap: the kernel reads it through its address.
	a := abi.MapMemoryToGPUArgs{Handle: m.handle, DeviceIDsArrayPtr: uint64(uintptr(d.args)), NDevices: 1}
	if err := d.ioctl(d.kfd, req, unsafe.Pointer(&a)); err != nil {
		return err
	}
	if a.NSuccess != 1 {
		return unix.EIO
	}
	return nil
}

// undo gives back what make got. Each step is tried once.
func (m *memory) undo() error {
	var errs []error
	if m.mapped {
		m.mapped = false
		errs = append(errs, m.d.mapOnGPU(m, abi.UnmapMemoryFromGPU))
	}
	if m.held {
		m.held = false
		errs = append(errs, m.d.sys.Munmap(m.ptr(), uintptr(m.size)))
	}
	if m.alloc {
		m.alloc = false
		a := abi.FreeMemoryOfGPUArgs{Handle: m.handle}
		errs = append(errs, m.d.ioctl(m.d.kfd, abi.FreeMemoryOfGPU, unsafe.Pointer(&a)))
	}
	return errors.Join(errs...)
}

// free is idempotent and safe after Close, which frees all.
func (m *memory) free() error {
	m.d.memMu.Lock()
	defer m.d.memMu.Unlock()
	if _, ok := m.d.mem[m]; !ok {
		return nil
	}
	delete(m.d.mem, m)
	if err := m.undo(); err != nil {
		return fmt.Errorf("free GPU memory at %#x: %w", m.addr, err)
	}
	return nil
}

// Sets of flags as the runtimes use them.
const (
	flagsSystem = abi.AllocGTT | abi.AllocWritable | abi.AllocExecutable | abi.AllocNoSubstitute
	flagsShared = flagsSystem | abi.AllocCoherent | abi.AllocUncached
	flagsVRAM   = abi.AllocVRAM | abi.AllocWritable | abi.AllocNoSubstitute | abi.AllocPublic
)
