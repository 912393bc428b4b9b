// Package codeobj reads AMDGPU code objects: the ELF files that hold a GPU's kernels, of versions 3 to 6, alone or inside
// clang offload bundles and host executables.
//
// Sources: LLVM's AMDGPUUsage (ELF header, kernel descriptor, metadata), clang's offload bundle format, and objects of
// clang 19 and 22. Addresses are the ELF file's virtual addresses unless a function says otherwise; a kernel that was
// loaded at base runs at base plus its address.
//
// Every length and offset that a file states is checked against the bytes at hand before it is used, and nothing is
// allocated to a size that a file merely claims. Errors are of type *FormatError where a place in the file can be named.
package codeobj

import (
	"errors"
	"fmt"
)

// ErrNotCodeObject is wrapped by errors about files that are no AMDGPU code object at all.
var ErrNotCodeObject = errors.New("not an AMDGPU code object")

// FormatError tells where a file stopped making sense.
type FormatError struct {
	Off  int64  // bytes from the start of the file, or of the decompressed bundle; -1: no single place
	What string // the part that was being read: "ELF header", "metadata note"
	Err  error
}

func (e *FormatError) Error() string {
	if e.Off < 0 {
		return fmt.Sprintf("codeobj: %s: %v", e.What, e.Err)
	}
	return fmt.Sprintf("codeobj: %s at byte %#x: %v", e.What, e.Off, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

func badAt(off int64, what, format string, args ...any) error {
	return &FormatError{Off: off, What: what, Err: fmt.Errorf(format, args...)}
}
