package device

import (
	"errors"
	"fmt"
	"strings"
)

// What callers test.
var (
	ErrNotSupported = errors.New("not supported")
	ErrAborted      = errors.New("aborted")
	ErrClosed       = errors.New("device is closed")
)

// Fault is why the GPU could not go on with a submission. The device takes no more work; open it again.
type Fault struct {
	Device string
	Kernel string // that ran when it happened, "" where that is not known
	Memory bool   // a memory access fault at Addr; else Detail says what
	Addr   uint64 // page-granular on real GPUs
	Reason string // "page not present", "write to read-only page", "page not executable"
	Detail string // what the driver or the simulator says beyond that
}

func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", f.Device)
	if f.Kernel != "" {
		fmt.Fprintf(&b, "kernel %s: ", f.Kernel)
	}
	if f.Memory {
		fmt.Fprintf(&b, "memory fault at address %#x", f.Addr)
		if f.Reason != "" {
			fmt.Fprintf(&b, " (%s)", f.Reason)
		}
	} else {
		b.WriteString("the GPU stopped")
	}
	if f.Detail != "" {
		b.WriteString(": " + f.Detail)
	}
	return b.String()
}

// Lost is the error of everything that a device was asked when it went away.
type Lost struct {
	Device string
	Err    error
}

func (l *Lost) Error() string { return fmt.Sprintf("%s is lost: %v", l.Device, l.Err) }
func (l *Lost) Unwrap() error { return l.Err }
