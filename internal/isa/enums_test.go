package isa

import (
	"bufio"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

// TestEnums prints one instruction for every code of the shared spelling tables, which are LLVM 19's. Left out is
// where 22 differs: FLAT_SCRATCH's base, which it takes on all targets, the hardware registers' names on gfx12, and the
// neutral s_waitcnt_depctr, which 19 does not print on gfx11.
func TestEnums(t *testing.T) {
	f, err := os.Open(sharedtest.Path(t, "isa", "enums.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// op gives the opcodes of the instruction that a table used: cdna, rdna3, rdna4.
	op := func(arch Arch, a, b, c uint32) uint32 {
		return [numFamily]uint32{a, b, c}[familyOf(arch)]
	}
	build := map[string]func(arch Arch, code uint32) []uint32{
		"SOPP opcode": func(_ Arch, code uint32) []uint32 { return []uint32{0xbf800000 | code<<16 | 4} },
		"hwreg id": func(a Arch, code uint32) []uint32 {
			return []uint32{0xb0000000 | op(a, 17, 17, 17)<<23 | 5<<16 | code | 31<<11}
		},
		"s_sendmsg immediate":   func(a Arch, code uint32) []uint32 { return []uint32{0xbf800000 | op(a, 16, 54, 54)<<16 | code} },
		"s_sendmsg_rtn_b32":     func(_ Arch, code uint32) []uint32 { return []uint32{0xbe800000 | 5<<16 | 76<<8 | code} },
		"s_waitcnt immediate":   func(a Arch, code uint32) []uint32 { return []uint32{0xbf800000 | op(a, 12, 9, 9)<<16 | code} },
		"s_waitcnt_depctr":      func(_ Arch, code uint32) []uint32 { return []uint32{0xbf800000 | 8<<16 | code} },
		"s_delay_alu immediate": func(_ Arch, code uint32) []uint32 { return []uint32{0xbf800000 | 7<<16 | code} },
		"src9_b32":              func(_ Arch, code uint32) []uint32 { return []uint32{0x7e000000 | 1<<17 | 1<<9 | code, 0xdeadbeef} },
		"ssrc8_b32":             func(_ Arch, code uint32) []uint32 { return []uint32{0xbe800000 | 1<<16 | code, 0xdeadbeef} },
		"ssrc8_b64":             func(_ Arch, code uint32) []uint32 { return []uint32{0xbe800000 | 2<<16 | 1<<8 | code, 0xdeadbeef} },
		"sdst7_b32":             func(_ Arch, code uint32) []uint32 { return []uint32{0xbe800000 | code<<16 | 0<<8 | 128} },
		"sdst7_b64":             func(_ Arch, code uint32) []uint32 { return []uint32{0xbe800000 | code<<16 | 1<<8 | 128} },
		"dpp_ctrl":              func(_ Arch, code uint32) []uint32 { return []uint32{0x7e0402fa, 0xff000001 | code<<8} },
	}
	var targets []string
	checked := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		if s.Text()[0] == '#' {
			continue
		}
		if c[0] == "table" {
			targets = c[2:]
			continue
		}
		for prefix, words := range build {
			if !strings.HasPrefix(c[0], prefix) {
				continue
			}
			code, err := strconv.ParseUint(c[1], 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			for i, target := range targets {
				arch, _ := ArchOf(target)
				var b []byte
				for _, w := range words(arch, uint32(code)) {
					b = binary.LittleEndian.AppendUint32(b, w)
				}
				in, err := Decode(arch, b)
				got := ""
				if err == nil {
					got = string(AppendText(nil, arch, waveOf(arch), 0, &in))
				}
				want := c[2+i]
				checked[prefix]++
				if strings.Contains(got, "SCHED_MODE") { // 22's name
					continue
				}
				if strings.Contains(got, "src_flat_scratch_base") || want == "" && (prefix == "s_waitcnt_depctr" || strings.HasPrefix(prefix, "s_delay")) {
					continue
				}
				if want == "" && got != "" || !strings.Contains(older(got), want) {
					t.Errorf("%s %s %s: got %q, want %q", target, c[0], c[1], got, want)
				}
			}
		}
	}
	for prefix := range build {
		if checked[prefix] < 20 {
			t.Errorf("%s: only %d codes", prefix, checked[prefix])
		}
	}
}
