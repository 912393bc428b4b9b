package isa

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "make testdata/vectors.tsv.gz anew, of what LLVM 22 agrees with")

const ownFile = "testdata/vectors.tsv.gz"

// ownVector is a line of the file.
type ownVector struct {
	target string
	wave   int
	code   []byte
	text   string
}

func readOwn(t testing.TB) []ownVector {
	t.Helper()
	f, err := os.Open(ownFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []ownVector
	for s := bufio.NewScanner(z); s.Scan(); {
		if s.Text()[0] == '#' {
			continue
		}
		c := strings.Split(s.Text(), "\t")
		if len(c) != 4 {
			t.Fatalf("%q", s.Text())
		}
		wave, err1 := strconv.Atoi(c[1])
		code, err2 := hex.DecodeString(c[2])
		if err1 != nil || err2 != nil {
			t.Fatalf("%q", s.Text())
		}
		out = append(out, ownVector{c[0], wave, code, c[3]})
	}
	return out
}

// TestOwn checks the vectors of testdata: encodings that this project made up and this package's text for them. LLVM
// 22.1.8 printed the same for each when they were made. gfx90a, which has no other vectors, has most.
func TestOwn(t *testing.T) {
	if *update {
		writeOwn(t)
	}
	seen := map[string]map[string]bool{} // names by target
	for _, v := range readOwn(t) {
		arch, _ := ArchOf(v.target)
		in, err := Decode(arch, append(v.code, 0, 0, 0x80, 0xbf)) // what follows does not matter
		if err != nil {
			t.Errorf("%s: %s: %v", v.target, v.text, err)
			continue
		}
		if got := string(AppendText(nil, arch, v.wave, 0, &in)); got != v.text || int(in.Size) != len(v.code) {
			t.Errorf("%s: %x: got %q of %d bytes, want %q of %d", v.target, v.code, got, in.Size, v.text, len(v.code))
		}
		if seen[v.target] == nil {
			seen[v.target] = map[string]bool{}
		}
		seen[v.target][in.Op.Name] = true
	}
	for _, target := range llvmTargets {
		if n := len(seen[target]); n < 1200 {
			t.Errorf("%s: vectors of only %d operations", target, n)
		}
	}
}

// writeOwn makes the vectors up and keeps what LLVM prints alike.
func writeOwn(t *testing.T) {
	mc := llvmMC(t, 22)
	if mc == "" {
		t.Fatal("-update needs llvm-mc of LLVM 22")
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	fmt.Fprintf(z, "# Made by go test ./internal/isa -run TestOwn -update: target, wave size, bytes, text.\n")
	for _, target := range llvmTargets {
		arch, _ := ArchOf(target)
		wave, most := waveOf(arch), 1
		if target == "gfx90a" {
			most = 4
		}
		var codes [][]byte
		for _, c := range makeUp(arch, rand.New(rand.NewPCG(90, uint64(arch))), 24) {
			if !notAsked(arch, c) {
				codes = append(codes, c)
			}
		}
		texts, ask := disassembled(arch, wave, codes)
		kept := map[string]int{}
		for i, a := range askLLVM(t, mc, target, wave, ask) {
			if a.crash || a.refused || len(a.more) > 0 || a.text == "" || a.text != texts[i] {
				continue
			}
			name, _, _ := strings.Cut(a.text, " ")
			if kept[name]++; kept[name] <= most {
				fmt.Fprintf(z, "%s\t%d\t%x\t%s\n", target, wave, ask[i], a.text)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ownFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
