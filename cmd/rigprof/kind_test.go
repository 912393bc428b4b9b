package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
)

// A file that is no code object is named as it was typed, with what it is and what to do.
func TestCodeFileError(t *testing.T) {
	trace, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	if err != nil {
		t.Fatal(err)
	}
	object, err := os.ReadFile("../../testdata/kernels/gfx1100/vadd.co")
	if err != nil {
		t.Fatal(err)
	}
	host := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00\x01" + strings.Repeat("\x00", 43)) // x86-64, no sections
	for _, c := range []struct{ data, want, try string }{
		{"", "empty", "was it written?"},
		{"\x1f\x8b\x08\x00", "gzip data", "unpack it first"},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d", "a PNG image", "want a code object (.co, .hsaco)"},
		{"!<arch>\nfoo.o/", "a static library", "ar x"},
		{"BC\xc0\xde5\x14\x00\x00", "LLVM bitcode", "compile and link it"},
		{"__kernel void f(__global float *a) {}\n", `text that begins "__kernel void f(__global float *a) {}"`, "compile and link it"},
		{"\n  name: vadd\n", `text that begins "name: vadd"`, "want a code object"},
		{"x" + strings.Repeat("ö", 300), `text that begins "x` + strings.Repeat("ö", 39) + `…"`, "want a code object"},
		{"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "git lfs pull"},
		{"\xde\xad\xbe\xef", "of no kind that rigprof knows (it begins de ad be ef)", "want a code object"},
		{string(object[:3]), "the first 3 bytes of an ELF file", "take a whole copy"},
		{string(object[:30]), "the first 30 bytes of an ELF file", "take a whole copy"},
		{string(host), "a program, library or object file for x86-64 without code for a GPU (no section .hip_fatbin)", "--offload-arch"},
		{string(trace), "a thread trace of gfx11", "before --code"},
	} {
		_, cerr := codeobj.Objects([]byte(c.data))
		if !errors.Is(cerr, codeobj.ErrNotCodeObject) {
			t.Errorf("%q: %v", c.data[:min(len(c.data), 20)], cerr)
			continue
		}
		got := codeFileError("dir/a.co", []byte(c.data), cerr).Error()
		if !strings.HasPrefix(got, "dir/a.co is not an AMDGPU code object but "+c.want+"; ") || !strings.Contains(got, c.try) {
			t.Errorf("%q: %s", c.data[:min(len(c.data), 20)], got)
		}
	}
	_, cerr := codeobj.Objects(object[:900])
	if got := codeFileError("a.co", object[:900], cerr).Error(); !strings.HasPrefix(got, "a.co ends early, at 900 bytes: take a whole copy") {
		t.Error(got)
	}
}
