package kfd

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Linux is the running kernel.
type Linux struct{}

// Open implements System.
func (Linux) Open(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Close implements System.
func (Linux) Close(fd int) error { return unix.Close(fd) }

// Ioctl implements System.
func (Linux) Ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(arg)); e != 0 {
		return e
	}
	return nil
}

// Mmap implements System.
func (Linux) Mmap(addr, length uintptr, prot, flags, fd int, off int64) (unsafe.Pointer, error) {
	return mmap(addr, length, prot, flags, fd, off)
}

// Munmap implements System.
func (Linux) Munmap(addr unsafe.Pointer, length uintptr) error { return unix.MunmapPtr(addr, length) }

// ReadFile implements System.
func (Linux) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// ReadDir implements System.
func (Linux) ReadDir(path string) ([]string, error) {
	es, err := os.ReadDir(path)
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name()
	}
	return names, err
}

// Ring implements System.
func (Linux) Ring(doorbell *uint64, v uint64) { atomic.StoreUint64(doorbell, v) }

// Explain implements System. The kernel's log says more, to root.
func (Linux) Explain(int) string { return "" }

func mmap(addr, length uintptr, prot, flags, fd int, off int64) (unsafe.Pointer, error) {
	return unix.MmapPtr(fd, off, at(addr), length, prot, flags)
}

// at makes a pointer of an address outside Go's heap.
func at(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }
