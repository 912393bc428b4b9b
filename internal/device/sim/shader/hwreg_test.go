package shader

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

var targets = []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201"}

func familyColumn(target string) string {
	switch {
	case strings.HasPrefix(target, "gfx9"):
		return "cdna"
	case strings.HasPrefix(target, "gfx11"):
		return "rdna3"
	}
	return "rdna4"
}

// TestHardwareRegisters reads every number on every target: those that LLVM or AMD's documents name can be read.
func TestHardwareRegisters(t *testing.T) {
	more := map[string][]int{ // of AMD's tables, which LLVM does not name
		"rdna3": {16, 17, 25, 28}, "rdna4": {28},
	}
	for _, target := range targets {
		var known []int
		for _, r := range tableLines(t, "names.tsv") {
			if n, _ := strconv.Atoi(r["code"]); r["kind"] == "hwreg" && r[familyColumn(target)] != "" {
				known = append(known, n)
			}
		}
		known = append(known, more[familyColumn(target)]...)
		known = append(known, hwNone)
		if target == "gfx90a" { // one die, no sampling
			known = slices.DeleteFunc(known, func(n int) bool { return n >= 20 && n <= 24 })
		}
		for id := range 64 {
			size := 32
			off := 0
			if id == 3 || strings.HasPrefix(target, "gfx12") && id == 18 { // beside the exception flags
				off, size = 8, 8
			}
			a := (&assembler{t: t, target: target}).op("s_getreg_b32", fields{"sdst": 4, "simm16": id | off<<6 | (size-1)<<11})
			_, _, f := single(t, a, true, nil)
			if ok := f == nil; ok != slices.Contains(known, id) {
				t.Errorf("%s: register %d: %v", target, id, f)
			}
		}
	}
}

func TestRegisterValues(t *testing.T) {
	read := func(id, off, size int) int { return id | off<<6 | (size-1)<<11 }
	for _, c := range []struct {
		target string
		reg    int
		want   uint32
	}{
		{"gfx942", read(hwMode, 0, 32), 0xf0 | 0x300 | 1<<23},
		{"gfx1100", read(hwMode, 4, 4), 0xf},
		{"gfx1201", read(hwMode, 0, 32), 0xf0 | 1<<23}, // neither DX10_CLAMP nor IEEE there
		{"gfx942", read(hwStatus, 0, 32), statusValid | 1<<10 | 1 | 2<<3},
		{"gfx1100", read(hwStatus, 0, 32), statusValid | 1<<10 | 1 | 2<<3 | 1<<29},
		{"gfx1201", read(hwStatus, 0, 32), statusValid | 1<<10},
		{"gfx1201", read(hwPriv, 9, 5), 1 | 2<<3},
		{"gfx942", read(hwHWID, 20, 4), 9},
		{"gfx1100", read(hwHWID2, 24, 4), 9},
		{"gfx942", read(hwXCC, 0, 4), 3},
		{"gfx942", read(hwGPRAlloc, 6, 12), 11 | 17<<6}, // 48 VGPRs, accumulation from 68
		{"gfx1100", read(hwGPRAlloc, 12, 8), 5},
		{"gfx942", read(hwLDSAlloc, 12, 9), 5},  // 1280 bytes in units of 256
		{"gfx1201", read(hwLDSAlloc, 12, 9), 3}, // of 512
		{"gfx942", read(hwSHMem, 16, 16), 1},
		{"gfx1100", read(hwSHMem, 0, 16), 2},
		{"gfx942", read(hwTMALo, 0, 32), 0x9000},
		{"gfx1100", read(hwFlatLo, 0, 32), 0x5000},
	} {
		a := (&assembler{t: t, target: c.target}).op("s_setprio", fields{"simm16": 2}).op("s_getreg_b32", fields{"sdst": 4, "simm16": c.reg})
		w, _, f := single(t, a, true, func(w *wave) { w.scc = 1 }, func(k *Kernel) {
			k.RSRC1 = 0xf<<16 | 1<<21 | 1<<23 | 1<<26 | 5
			k.RSRC3, k.VMID, k.XCC, k.LDSBytes, k.ScratchBase, k.TrapMem = 16, 9, 3, 1280, 0x5000, 0x9000
			k.Block[0] = 32
		})
		if f != nil || w.s[4] != c.want {
			t.Errorf("%s register %d: %#x, want %#x (%v)", c.target, c.reg&63, w.s[4], c.want, f)
		}
	}
}

// TestSetreg: MODE is the program's, the rest the trap handler's or nobody's.
func TestSetreg(t *testing.T) {
	write := func(target string, id, off, size int, v uint32, priv bool) *wave {
		a := (&assembler{t: t, target: target}).op("s_setreg_b32", fields{"sdst": 4, "simm16": id | off<<6 | (size-1)<<11})
		w, _, f := single(t, a, true, func(w *wave) { w.s[4], w.priv = v, priv })
		if f != nil {
			t.Errorf("%s register %d: %v", target, id, f)
		}
		return w
	}
	if w := write("gfx1100", hwMode, 0, 4, 0xffff_ff05, false); w.modeBits&0xff != 0xf5 || w.m.rm32 != roundUp {
		t.Errorf("MODE %x", w.modeBits)
	}
	if w := write("gfx1201", hwMode, 8, 2, 3, false); w.modeReg()&0x300 != 0 {
		t.Errorf("MODE %x", w.modeReg())
	}
	if w := write("gfx942", hwStatus, 0, 1, 1, false); w.scc != 0 {
		t.Error("a program wrote STATUS")
	}
	if w := write("gfx942", hwStatus, 0, 1, 1, true); w.scc != 1 {
		t.Error("a trap handler did not write STATUS")
	}
	if w := write("gfx1201", hwPriv, 14, 1, 1, true); !w.halt {
		t.Error("a trap handler did not set HALT")
	}
	if w := write("gfx1100", hwTrapSts, 0, 32, ^uint32(0), false); w.trapSts != 0x1ff {
		t.Errorf("TRAPSTS %x", w.trapSts)
	}
}

// TestMessages sends every message on every target: those with names have no effect, or an answer.
func TestMessages(t *testing.T) {
	for _, target := range targets {
		names := map[int]string{}
		for _, r := range tableLines(t, "names.tsv") {
			if n, _ := strconv.Atoi(r["code"]); r["kind"] == "msg" {
				names[n] = r[familyColumn(target)]
			}
		}
		for id := 1; id < 16; id++ {
			a := (&assembler{t: t, target: target}).op("s_sendmsg", fields{"simm16": id})
			_, _, f := single(t, a, true, nil)
			if want := names[id] != "" && names[id] != "MSG_GET_DOORBELL"; want != (f == nil) {
				t.Errorf("%s: message %d %s: %v", target, id, names[id], f)
			}
		}
		if strings.HasPrefix(target, "gfx9") {
			continue
		}
		answers := map[int]uint64{msgRtnTMA: 0x1_0000_9000, msgRtnTBA: 0x1_0000_8000 | 1<<63, msgRtnRealtime: 0}
		for id := 128; id < 144; id++ {
			a := (&assembler{t: t, target: target}).op("s_sendmsg_rtn_b64", fields{"sdst": 4, "ssrc0": id})
			w, _, f := single(t, a, true, nil, func(k *Kernel) { k.TrapBase, k.TrapMem = 0x1_0000_8000, 0x1_0000_9000 })
			want, ok := answers[id]
			if ok != (f == nil) || ok && w.sget64(4) != want {
				t.Errorf("%s: message %d %s: %x, %v", target, id, names[id], w.sget64(4), f)
			}
		}
	}
}
