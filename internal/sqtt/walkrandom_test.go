package sqtt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// noiseCode has an instruction at every fourth address up to 64 KiB, of a kind that the address decides.
type noiseCode struct{}

func (noiseCode) At(pc uint64) (Insn, bool) {
	if pc >= 1<<16 || pc%4 != 0 {
		return Insn{}, false
	}
	h := uint32(pc>>2) * 2654435761 >> 8
	in := Insn{Size: uint8(4 + 4*(h%3)), Category: Category(1 + h>>4%uint32(numCategories-1)), Offset: int32(h>>12%256)*4 - 600}
	switch h >> 20 % 16 {
	case 0, 1, 2:
		in.Step = StepSkip
	case 3:
		in.Step = StepBarrier
	case 4:
		in.Again = true
	case 5:
		in.Leaves = true
	case 6:
		if h>>24%8 == 0 {
			in.Step = StepEnd
		}
	}
	return in, true
}

// Kernels are where the registers of randomTrace point at.
func (noiseCode) Kernels() (entries []uint64) {
	for i := range uint64(16) {
		entries = append(entries, i*15<<8)
	}
	return entries
}

func (noiseCode) Functions() []uint64 { return []uint64{0x1234} }

// randomTrace is a stream with instruction tokens of waves of the traced SIMD, and waves of others.
func randomTrace(rng *rand.Rand, f gpu.Family, n int) []byte {
	s := bitStream{}
	bits := func(v uint64, at int) uint64 { return v << at }
	slot := func() uint64 { return uint64(rng.IntN(4)) }
	reg := func(addr, data uint64) {
		if f == gpu.GFX9 {
			s.put(5|bits(1, 7)|bits(addr, 9)|bits(data, 16), 0, 48)
		} else {
			s.put(9|bits(1, 9)|bits(1, 15)|bits(addr, 16)|bits(data, 32), 0, 64)
		}
	}
	if f == gpu.GFX12 {
		s.put(0x0913100868700211, 0, 64)
	}
	for range n {
		d := uint64(rng.IntN(8))
		w := slot()
		unit := uint64(rng.IntN(2) * rng.IntN(16)) // CU; of RDNA array, SIMD and the WGP's lowest bit
		switch k := rng.IntN(100); {
		case k < 2:
			reg(regPGMHi, 0)
			reg(regPGMLo, uint64(rng.IntN(16)*15))
		case k < 5:
			switch f {
			case gpu.GFX9:
				s.put(3|bits(unit, 6)|bits(w, 10)|bits(64, 22), 0, 32)
			case gpu.GFX11:
				s.put(0b01100|bits(d&3, 5)|bits(unit, 7)|bits(w, 13)|bits(1, 23)|bits(0x7f, 25), 0, 32)
			default:
				s.put(0b01100|bits(d&3, 5)|bits(unit, 7)|bits(w, 15)|bits(1, 22)|bits(0x7f, 25), 0, 32)
			}
		case k < 7:
			if f == gpu.GFX9 {
				s.put(6|bits(unit, 6)|bits(w, 10), 0, 16)
			} else {
				s.put(0b10101|bits(d, 5)|bits(unit, 8)|bits(w, 15), 0, 20)
			}
		case k < 8 && f == gpu.GFX9:
			s.put(11|bits(w, 5)|bits(uint64(rng.IntN(1<<14)), 16), 0, 64)
		case k < 8:
			s.put(0b0100001|bits(d, 8)|bits(w, 11)|bits(uint64(rng.IntN(1<<14)), 16), 0, int(keysOf(f)[0b0100001].bits))
		case k < 10:
			if f != gpu.GFX9 {
				s.put(0b10100|bits(d, 5)|bits(uint64(1+rng.IntN(15)), 8), 0, 24)
			}
		case k == 10 && rng.IntN(5) == 0: // loss
			if f == gpu.GFX9 {
				s.put(bits(misc9Lost, 13), 0, 16)
			} else {
				s.put(1|bits(1, 8)|bits(uint64(rng.IntN(100)), 12), 0, int(keysOf(f)[1].bits))
			}
		case f == gpu.GFX9 && k < 40:
			s.put(bits(d, 4), 0, 16)
		case f == gpu.GFX9 && k < 70:
			s.put(13|bits(uint64(rng.Uint32()&0xff), 8), 0, 32)
		case f == gpu.GFX9:
			s.put(10|bits(w, 5)|bits(uint64(rng.IntN(32)), 11), 0, 16)
		case k < 40:
			s.put(0b011|bits(d, 3)|bits(w, 7), 0, 12)
		case k < 60:
			op := uint64(rng.IntN(0x80))
			if op == 6 || op == 8 { // traps, rarely
				op = uint64(rng.IntN(9))
			}
			if f == gpu.GFX11 {
				s.put(0b010|bits(d, 4)|bits(w, 8)|bits(op, 13), 0, 20)
			} else {
				s.put(0b010|bits(d, 3)|bits(w, 7)|bits(op, 12), 0, 20)
			}
		case k < 70:
			s.put(0b1101|bits(d, 4)|bits(w, 7), 0, 12)
		case k < 72:
			s.put(0b00100|bits(d, 5)|bits(uint64(rng.IntN(16)), 8), 0, 24)
		case k < 85:
			s.put(0b1110|bits(d&3, 4), 0, 8)
		case k == 85 && rng.IntN(30) == 0:
			s.put(0b1010001|bits(miscSave, 0), 0, 24)
		case k == 86:
			s.put(0b1010001|bits(d, 7), 0, 24)
		case k == 87: // TIMESTAMP, one in four of them realtime
			rt := uint64(rng.IntN(4)) / 3
			if f == gpu.GFX12 {
				s.put(1|bits(rt, 7)|bits(d, 12), 0, 64)
			} else {
				s.put(1|bits(rt, 9)|bits(d, 12), 0, 64)
			}
		default:
			s.put(0, 0, 4)
		}
	}
	return s.bytes
}

// walked is what a walk gives, whole waves.
func walked(t testing.TB, f gpu.Family, buf []byte, piece int, plain bool) ([]WaveInsts, *Result) {
	var out []WaveInsts
	w := walkers.Get().(*Walker)
	defer walkers.Put(w)
	w.Reset(f, WalkOptions{}, noiseCode{}, joined(t, func(wi *WaveInsts) { out = append(out, *wi) }))
	if plain {
		w.slow = 1 << 60
	}
	for len(buf) > 0 {
		n := min(piece, len(buf))
		w.Feed(buf[:n])
		buf = buf[n:]
	}
	w.Close()
	r := *w.Result()
	r.Waves, r.Markers, r.Losses.First = slices.Clone(r.Waves), slices.Clone(r.Markers), slices.Clone(r.Losses.First)
	return out, &r
}

// walkers keep what they know of noiseCode.
var walkers = sync.Pool{New: func() any { return new(Walker) }}

// checkWalk checks what must hold for any bytes: the fast path equals the plain one and a stream in pieces equals the whole; the
// parts of a wave join up.
func checkWalk(t testing.TB, f gpu.Family, buf []byte, piece int) error {
	whole, r := walked(t, f, buf, len(buf)+1, false)
	plain, pr := walked(t, f, buf, len(buf)+1, true)
	if i := firstDifferentWave(whole, plain); i >= 0 || !sameWhole(r, pr) {
		return fmt.Errorf("fast path differs from plain at wave %d of %d", i, len(whole))
	}
	pieces, sr := walked(t, f, buf, piece, false)
	if i := firstDifferentWave(whole, pieces); i >= 0 || !sameWhole(r, sr) {
		return fmt.Errorf("in pieces of %d: wave %d of %d differs", piece, i, len(whole))
	}
	if waves := DecodeWaves(f, buf); !slices.Equal(waves.Waves, r.Waves) {
		return fmt.Errorf("%d waves, without the walk %d", len(r.Waves), len(waves.Waves))
	}
	return nil
}

// sameWhole compares results with the places of losses.
func sameWhole(a, b *Result) bool {
	return sameResult(*a, *b) == nil && slices.Equal(a.Losses.First, b.Losses.First)
}

func firstDifferentWave(a, b []WaveInsts) int {
	for i := range min(len(a), len(b)) {
		x, y := &a[i], &b[i]
		if x.Wave != y.Wave || x.First != y.First || x.Last != y.Last || x.StartPC != y.StartPC || firstDifference(x.Insts, y.Insts) >= 0 {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

func TestRandomWalks(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	placed, records := 0, 0
	for i := range 150 {
		f := [3]gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]
		buf := randomTrace(rng, f, 200+rng.IntN(20000))
		if i%5 == 4 {
			for range 1 + rng.IntN(20) {
				buf[rng.IntN(len(buf))] ^= 1 << rng.IntN(8)
			}
		}
		if err := checkWalk(t, f, buf, 1+rng.IntN(1<<rng.IntN(14))); err != nil {
			t.Fatalf("%v stream %d of %d bytes: %v", f, i, len(buf), err)
		}
		waves, _ := walked(t, f, buf, len(buf), false)
		for _, w := range waves {
			records += len(w.Insts)
			for _, in := range w.Insts {
				if in.PC != 0 {
					placed++
				}
			}
		}
	}
	if records < 100000 || placed < records/10 {
		t.Errorf("%d records, %d with an address: the streams test little", records, placed)
	}
}

func FuzzWalk(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, family := range []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12} {
		f.Add(randomTrace(rng, family, 300), byte(family), uint16(50))
	}
	f.Fuzz(func(t *testing.T, buf []byte, family byte, piece uint16) {
		f := []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[family%3]
		if err := checkWalk(t, f, buf, int(piece)+1); err != nil {
			t.Fatal(err)
		}
	})
}

// TestWalkHoles: the walk comes upon holes in the same place however the stream is cut.
func TestWalkHoles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	for i := range 40 {
		f := [3]gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]
		buf := randomTrace(rng, f, 200+rng.IntN(20000))
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(buf))
			clear(buf[at:min(len(buf), at+rng.IntN(600))])
		}
		piece := 1 + rng.IntN(1<<rng.IntN(14))
		if err := checkWalk(t, f, buf, piece); err != nil {
			t.Fatalf("%v stream %d of %d bytes, pieces of %d: %v", f, i, len(buf), piece, err)
		}
	}
}
