package isa

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

// TestCodeObjects decodes the code of every compiled kernel: compilers' output has no instruction that is refused.
func TestCodeObjects(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "kernels", "co"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, dir := range dirs {
		arch, ok := ArchOf(filepath.Base(dir))
		if !ok {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.co"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			obj, err := elf.NewFile(f)
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
				if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value < text.Addr || s.Value+s.Size > text.Addr+uint64(len(code)) {
					continue
				}
				body := code[s.Value-text.Addr:][:s.Size]
				for off := 0; off < len(body); total++ {
					in, err := Decode(arch, body[off:])
					if err != nil {
						if strings.Trim(string(body[off:]), "\x00") == "" {
							break // padding inside the symbol
						}
						t.Errorf("%s: %s+%#x: %v", filepath.Base(name), s.Name, off, err)
						break
					}
					off += int(in.Size)
				}
			}
			f.Close()
		}
	}
	t.Logf("%d instructions", total)
}
