package timing_test

import (
	"bufio"
	"compress/gzip"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// TestTokensAsInCaptures counts what traced engines show of each kernel: as many instructions, immediates and executions as the
// listed streams of hardware hold.
func TestTokensAsInCaptures(t *testing.T) {
	compared := 0
	for _, arch := range []string{"gfx1100", "gfx1200"} {
		metas, _ := filepath.Glob(sharedtest.Path(t, "captures", arch) + "/*/meta.json")
		for _, path := range metas {
			dir := filepath.Dir(path)
			capture := filepath.Base(dir)
			if capture == "gemmbig" { // listed in part only
				continue
			}
			var m captureMeta
			readJSON(t, path, &m)
			g := captureGPU(t, arch)
			machine, err := timing.New(g, nil)
			if err != nil {
				t.Fatal(err)
			}
			at := int64(1000)
			for d := range m.Dispatches {
				o := &observer{detail: func(engine, sa, unit, simd int) bool { return engine < 2 && sa == 0 && unit == 0 && simd == 0 }}
				res, err := simulate(t, machine, g, dir, capture, &m, d, at, o)
				if err != nil {
					continue // TestCaptures tells
				}
				at = res.End + 100000
				for _, s := range m.Dispatches[d].Ses {
					list := filepath.Join(dir, strings.TrimSuffix(s.File, ".sqtt")+".packets.tsv.gz")
					want, ok := listed(t, list)
					if !ok {
						continue
					}
					got := o.tokens(s.Se)
					// Where a kernel masked to one CU starts depends on what ran before it.
					if capture == "gemm3k" && got["WAVE_START"] == want["WAVE_START"] && got["INST"] != want["INST"] {
						continue
					}
					compared++
					if !maps.Equal(got, want) {
						t.Errorf("%s/%s %s, engine %d: modelled %v, real %v", arch, capture, m.Dispatches[d].Kernel, s.Se, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d streams compared", compared)
}

// tokens counts an engine's events as the tokens that they become.
func (o *observer) tokens(engine int) map[string]int {
	n := map[string]int{}
	for _, e := range o.events {
		switch {
		case int(e.Place.Engine) != engine:
		case e.Kind == timing.WaveStart:
			n["WAVE_START"]++
		case e.Kind == timing.WaveEnd:
			n["WAVE_END"]++
		case e.Kind == timing.Issue && e.Code == timing.CodeVALU:
			n["VALU_INST"]++
		case e.Kind == timing.Issue, e.Kind == timing.OtherSIMD:
			n["INST"]++
		case e.Kind == timing.Immediate && e.Flags&timing.BarrierWait == 0:
			n["IMM"]++
		case e.Kind == timing.ExecALU:
			n["ALU_EXEC"]++
		case e.Kind == timing.ExecMem:
			n["VMEM_EXEC"]++
		case e.Kind == timing.NewPC:
			n["NEW_PC"]++
		}
	}
	return n
}

// listed counts the packets of a listing; one that stands for several counts as those.
func listed(t *testing.T, path string) (map[string]int, bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false // an engine without instruction trace
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for s := bufio.NewScanner(z); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		raw, err := strconv.ParseUint(c[min(4, len(c)-1)], 16, 64)
		if len(c) < 5 || err != nil {
			continue
		}
		switch c[2] {
		case "IMM_ONE":
			n["IMM"]++
		case "IMMEDIATE":
			n["IMM"] += bits.OnesCount16(uint16(raw >> 8))
		case "ALU_EXEC":
			n["ALU_EXEC"] += bits.OnesCount8(uint8(raw >> 6 & 3))
		case "INST", "VALU_INST", "VMEM_EXEC", "WAVE_START", "WAVE_END", "NEW_PC":
			n[c[2]]++
		}
	}
	return n, true
}

// TestIssuesAsInCaptures is the same for CDNA: instructions issued, done at once, and typed.
func TestIssuesAsInCaptures(t *testing.T) {
	const capture = "gemm" // the only one whose waves meet the traced CU on a machine without history
	dir := sharedtest.Path(t, "captures", "gfx950", capture)
	var m captureMeta
	readJSON(t, filepath.Join(dir, "meta.json"), &m)
	g := captureGPU(t, "gfx950")
	machine, err := timing.New(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{detail: func(engine, sa, unit, simd int) bool { return engine == 0 && unit == 0 }}
	if _, err := simulate(t, machine, g, dir, capture, &m, 0, 1000, o); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	f, err := os.Open(filepath.Join(dir, "se0.packets.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(z); s.Scan(); {
		c := strings.Split(s.Text(), "\t")
		raw, _ := strconv.ParseUint(c[min(4, len(c)-1)], 16, 64)
		switch c[min(2, len(c)-1)] {
		case "ISSUE":
			for slot := range 10 {
				switch raw >> (8 + 2*slot) & 3 {
				case 2:
					want["issue"]++
				case 3:
					want["immediate"]++
				}
			}
		case "INST":
			want["type "+strconv.Itoa(int(raw>>11&31))]++
		case "WAVE_START":
			want["start"]++
		}
	}
	got := map[string]int{}
	for _, e := range o.events {
		switch {
		case e.Place.Engine != 0:
		case e.Kind == timing.WaveStart:
			got["start"]++
		case e.Kind == timing.Issue:
			got["issue"]++
		case e.Kind == timing.Immediate:
			got["immediate"]++
		case e.Kind == timing.Typed:
			got["type "+strconv.Itoa(int(e.Code))]++
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("modelled %v, real %v", got, want)
	}
}
