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

// TestOwn checks the vectors of testdata: encodings that this project made up and this package's text for them. LLVM
// 22.1.8 printed the same for each when they were made. gfx90a, which has no other vectors, has most.
func TestOwn(t *testing.T) {
	if *update {
		writeOwn(t)
	}
	f, err := os.Open(ownFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]bool{} // names by target
	for s := bufio.NewScanner(z); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if s.Text()[0] == '#' || len(c) != 4 {
			continue
		}
		arch, _ := ArchOf(c[0])
		wave, err1 := strconv.Atoi(c[1])
		b, err2 := hex.DecodeString(c[2])
		if err1 != nil || err2 != nil {
			t.Fatalf("%q", s.Text())
		}
		in, err := DecodeStrict(arch, append(b, 0, 0, 0x80, 0xbf)) // what follows does not matter
		if err != nil {
			t.Errorf("%s: %s (%s): %v", c[0], c[2], c[3], err)
			continue
		}
		if got := string(AppendText(nil, arch, wave, 0, &in)); got != c[3] || int(in.Size) != len(b) {
			t.Errorf("%s: %s: got %q of %d bytes, want %q of %d", c[0], c[2], got, in.Size, c[3], len(b))
		}
		if seen[c[0]] == nil {
			seen[c[0]] = map[string]bool{}
		}
		seen[c[0]][in.Op.Name] = true
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
