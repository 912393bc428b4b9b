package sqtt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// punch cuts about size bytes out of a stream, from the first token at byte from or later to another one's start, and puts a token
// there by which the hardware says that it lost some. cut is the time of the token before.
func punch(f gpu.Family, buf []byte, from, size int) (holed []byte, cut Cycles) {
	var s bitStream
	nibbles := func(lo, hi int64) {
		for n := lo; n < hi; n++ {
			s.put(uint64(buf[n/2]>>(n%2*4)&15), 0, 4)
		}
	}
	start := int64(-1)
	for p := range Packets(f, buf) {
		switch {
		case start < 0 && p.Off < int64(from)*8:
			cut = p.Time
		case start < 0:
			start = p.Off
			nibbles(0, start/4)
			if p.Family == gpu.GFX9 {
				s.put(misc9Lost<<13, 0, 16)
			} else {
				s.put(1|1<<8, 0, int(keysOf(p.Family)[1].bits))
			}
		case p.Off >= start+int64(size)*8:
			nibbles(p.Off/4, int64(len(buf))*2)
			return s.bytes, cut
		}
	}
	return s.bytes, cut
}

// blank zeroes whole lines of a stream, as where a buffer was not written. Behind them a token may begin in its middle.
func blank(f gpu.Family, buf []byte, from, size int) (holed []byte, cut Cycles) {
	from = from / emptyLine * emptyLine
	for p := range Packets(f, buf) {
		if p.Off+int64(p.Bits) > int64(from)*8 {
			break
		}
		cut = p.Time
	}
	holed = slices.Clone(buf)
	clear(holed[from:min(len(buf), from+(size/emptyLine+1)*emptyLine)])
	return holed, cut
}

// verdict counts the addresses of records behind a hole.
type verdict struct{ right, none, wrong int }

func (v *verdict) add(o verdict) {
	v.right, v.none, v.wrong = v.right+o.right, v.none+o.none, v.wrong+o.wrong
}

func (v verdict) String() string {
	return fmt.Sprintf("%d right, %d without address, %d wrong", v.right, v.none, v.wrong)
}

func wavesBySlot(waves []WaveInsts) map[[3]uint8][]WaveInsts {
	m := map[[3]uint8][]WaveInsts{}
	for _, w := range waves {
		k := [3]uint8{w.Wave.CU, w.Wave.SIMD, w.Wave.Slot}
		m[k] = append(m[k], w)
	}
	return m
}

// judge compares the walk of a stream with a hole behind time cut with that of the whole one. What is behind the hole are the last records
// of each slot; of the one that the hole is in, those before are told apart by time and by not being the same.
func judge(whole, holed []WaveInsts, cut Cycles) (v verdict) {
	all := wavesBySlot(whole)
	for slot, got := range wavesBySlot(holed) {
		want := all[slot]
		for more := true; more && len(got) > 0 && len(want) > 0; {
			g, w := got[len(got)-1].Insts, want[len(want)-1].Insts
			got, want = got[:len(got)-1], want[:len(want)-1]
			n := 0
			for ; n < len(g) && n < len(w); n++ {
				in, o := &g[len(g)-1-n], &w[len(w)-1-n]
				if in.Category != o.Category || in.Time <= cut {
					break
				}
				switch in.PC {
				case 0:
					v.none++
				case o.PC:
					v.right++
				default:
					v.wrong++
				}
			}
			more = n == len(g) || n == len(w)
		}
	}
	return v
}

// punchMany judges holes at several places of a stream.
func punchMany(t *testing.T, f gpu.Family, buf []byte, code Code, holes int, punch func(f gpu.Family, buf []byte, from, size int) ([]byte, Cycles)) (v verdict) {
	whole := wholeWaves(t, f, HeaderAuto, buf, code)
	rng := rand.New(rand.NewPCG(1, uint64(len(buf))))
	for range holes {
		size := 20 + rng.IntN(1+rng.IntN(min(len(buf)/4, 30000)))
		holed, cut := punch(f, buf, 64+rng.IntN(len(buf)-64), size)
		v.add(judge(whole, wholeWaves(t, f, HeaderAuto, holed, code), cut))
	}
	return v
}

// TestHoles: behind a hole no address is wrong and few are missing.
func TestHoles(t *testing.T) {
	by, blanked := map[string]*verdict{}, verdict{}
	for _, s := range captureStreams(t, "*/*") {
		code, _ := captureProgram(t, s.Dir)
		records := 0
		Walk(s.Family, WalkOptions{}, s.Buf, code, func(w *WaveInsts) { records += len(w.Insts) })
		if records < 100 {
			continue
		}
		name := filepath.Dir(s.Name)
		if by[name] == nil {
			by[name] = &verdict{}
		}
		holes := min(8, 4+len(s.Buf)/2000)
		by[name].add(punchMany(t, s.Family, s.Buf, code, holes, punch))
		blanked.add(punchMany(t, s.Family, s.Buf, code, holes, blank))
	}
	for name, v := range by {
		t.Logf("%s: %v", name, v)
		if v.wrong > 0 || v.none > 1+v.right/10 {
			t.Errorf("%s: %v", name, v)
		}
	}
	t.Logf("empty holes: %v", blanked)
	if blanked.wrong > blanked.right/100000 || blanked.none > blanked.right/500 {
		t.Errorf("empty holes: %v", blanked)
	}
}

// TestHolesOfOurs is TestHoles of a trace that the simulated GPU wrote.
func TestHolesOfOurs(t *testing.T) {
	buf, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	if err != nil {
		t.Fatal(err)
	}
	code := NewProgram(isa.RDNA3)
	addCode(t, code, "../../testdata/kernels/gfx1100/vadd.co", 0x200003412000)
	v := punchMany(t, gpu.GFX11, buf, code, 50, punch)
	if v.wrong > 0 || v.right < 500 || v.none > v.right/5 {
		t.Errorf("%v", v)
	}
}
