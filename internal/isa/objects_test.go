package isa

import (
	"debug/elf"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

// kernelCode gives the code of every function of the compiled kernels of a target.
func kernelCode(t testing.TB, target string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "kernels", "co"), target, "*.co"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range files {
		obj, err := elf.Open(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		syms, err := obj.Symbols()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := obj.Section(".text")
		code, err := text.Data()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, s := range syms {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value >= text.Addr && s.Value+s.Size <= text.Addr+uint64(len(code)) {
				out[filepath.Base(name)+" "+s.Name] = code[s.Value-text.Addr:][:s.Size]
			}
		}
		obj.Close()
	}
	return out
}

// TestCodeObjects decodes the code of every compiled kernel: compilers' output has no instruction that is refused.
func TestCodeObjects(t *testing.T) {
	for _, target := range append([]string{"gfx90a"}, vectorTargets...) {
		arch, _ := ArchOf(target)
		n := 0
		for name, body := range kernelCode(t, target) {
			for off := 0; off < len(body); n++ {
				in, err := Decode(arch, body[off:])
				if err != nil {
					if strings.Trim(string(body[off:]), "\x00") != "" { // padding inside the symbol
						t.Errorf("%s: %s+%#x: %v", target, name, off, err)
					}
					break
				}
				off += int(in.Size)
			}
		}
		if n < 1000 {
			t.Errorf("%s: only %d instructions", target, n)
		}
	}
}
