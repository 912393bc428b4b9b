package kfd

import (
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The seam's real side, on files that every machine has.
func TestLinux(t *testing.T) {
	var sys System = Linux{}
	if _, err := sys.Open("/nonexistent"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("open: %v", err)
	}
	fd, err := sys.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	var arg [8]uint64
	if err := sys.Ioctl(fd, 0xc0284b05, unsafe.Pointer(&arg)); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("ioctl: %v", err)
	}
	if err := sys.Close(fd); err != nil {
		t.Error(err)
	}
	p, err := sys.Mmap(0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	sys.Ring((*uint64)(p), 7)
	if *(*uint64)(p) != 7 {
		t.Error("the doorbell did not take its value")
	}
	if err := sys.Munmap(p, pageBytes); err != nil {
		t.Error(err)
	}
	if b, err := sys.ReadFile("/proc/self/comm"); err != nil || len(b) == 0 {
		t.Errorf("read: %q, %v", b, err)
	}
	if names, err := sys.ReadDir("/proc/self/task"); err != nil || len(names) == 0 {
		t.Errorf("list: %v, %v", names, err)
	}
	if why := sys.Explain(0); why != "" {
		t.Error(why)
	}
}
