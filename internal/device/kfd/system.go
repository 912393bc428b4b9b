package kfd

import "unsafe"

// System is the kernel as the driver needs it.
type System interface {
	// Open opens a device node for reading and writing; the descriptor closes on exec.
	Open(path string) (fd int, err error)
	Close(fd int) error

	// Ioctl makes one request. Errors are errno values; EINTR is left to the caller.
	Ioctl(fd int, req uintptr, arg unsafe.Pointer) error

	// Mmap maps length bytes as mmap(2) does. A descriptor of -1 goes with MAP_ANONYMOUS.
	Mmap(addr, length uintptr, prot, flags, fd int, off int64) (unsafe.Pointer, error)
	Munmap(addr unsafe.Pointer, length uintptr) error

	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]string, error)

	// Ring stores a doorbell value, after all stores before it.
	Ring(doorbell *uint64, v uint64)

	// Explain tells more about why the GPU stopped than the events of an open /dev/kfd do, or "".
	Explain(fd int) string
}
