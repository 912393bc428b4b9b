package sqtt

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// slow is set under the race detector: fewer streams are tried.
var slow bool

// counted is how many whole tokens a stream has, without listing them.
func counted(f gpu.Family, buf []byte) int64 {
	var l Lister
	l.Reset(f, HeaderAuto)
	_ = l.Feed(buf, nil)
	_ = l.Close(nil)
	return l.Tokens
}

// checkStream checks what must hold for any bytes: tokens advance, the fast path equals the plain one, and a stream in
// pieces equals the whole.
func checkStream(f gpu.Family, buf []byte, piece int) error {
	last, n := int64(-1), int64(0)
	for p := range Packets(f, buf) {
		n++
		if p.Off <= last || p.Bits == 0 || p.Off+int64(p.Bits) > int64(len(buf))*8 {
			return fmt.Errorf("token %v of %d bits at bit %d after bit %d of %d bytes", p.Kind, p.Bits, p.Off, last, len(buf))
		}
		last = p.Off
	}
	if got := counted(f, buf); got != n {
		return fmt.Errorf("%d tokens counted, %d listed", got, n)
	}
	want := referenceWaves(f, HeaderAuto, buf)
	whole := DecodeWaves(f, buf)
	if err := sameResult(*whole, want); err != nil {
		return fmt.Errorf("fast path: %w", err)
	}
	var d WaveDecoder
	d.Reset(f, HeaderAuto)
	for rest := buf; len(rest) > 0; {
		n := min(piece, len(rest))
		d.Feed(rest[:n])
		rest = rest[n:]
		if cap(d.carry) > 2*(lookAhead+4*piece+1<<10) {
			return fmt.Errorf("%d bytes kept", cap(d.carry))
		}
	}
	d.Close()
	if !slices.Equal(d.Result().Losses.First, whole.Losses.First) {
		return fmt.Errorf("in pieces of %d: losses at %+v, whole %+v", piece, d.Result().Losses.First, whole.Losses.First)
	}
	if err := sameResult(*d.Result(), *whole); err != nil {
		return fmt.Errorf("in pieces of %d: %w of the whole", piece, err)
	}
	return nil
}

// sameResult compares all but the places of losses, which the reference does not note.
func sameResult(got, want Result) error {
	if i := firstDifference(got.Waves, want.Waves); i >= 0 {
		return fmt.Errorf("wave %d differs: %d waves, want %d", i, len(got.Waves), len(want.Waves))
	}
	if i := firstDifference(got.Markers, want.Markers); i >= 0 {
		return fmt.Errorf("marker %d differs: %d markers, want %d", i, len(got.Markers), len(want.Markers))
	}
	order := func(a, b Wave) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.CU, b.CU), cmp.Compare(a.SIMD, b.SIMD), cmp.Compare(a.Slot, b.Slot))
	}
	got.Open, want.Open = slices.SortedFunc(slices.Values(got.Open), order), slices.SortedFunc(slices.Values(want.Open), order)
	if i := firstDifference(got.Open, want.Open); i >= 0 {
		return fmt.Errorf("open wave %d differs: %d waves, want %d", i, len(got.Open), len(want.Open))
	}
	got.Open, want.Open = nil, nil
	got.Losses.First, want.Losses.First = nil, nil
	got.Waves, want.Waves, got.Markers, want.Markers = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%+v, want %+v", got, want)
	}
	return nil
}

func fuzzFamily(f *testing.F, family gpu.Family, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), uint16(3))
		f.Add(bytes.Repeat([]byte(s), 600), uint16(1000)) // beyond one window, with both scans
	}
	rng := rand.New(rand.NewPCG(1, 2))
	f.Add(randomStream(rng, family, 3000), uint16(100))
	f.Fuzz(func(t *testing.T, buf []byte, piece uint16) {
		if err := checkStream(family, buf, int(piece)+1); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzGFX9(f *testing.F) {
	fuzzFamily(f, gpu.GFX9, "\xf0\x2f\x00\x60\x00\x00\x01\x00\x53\x7d\xf8\xad\x45\x02\x00\x00", "\x03\x00\x00\x04\x10\x00\x06\x00")
}

func FuzzGFX11(f *testing.F) {
	fuzzFamily(f, gpu.GFX11, "\x91\x01\x90\x68\x00\x00\x00\x00\xd1\x26\x00", "\xac\xac\x80\xde\x51\x30\x00\x15\x03\x00")
}

func FuzzGFX12(f *testing.F) {
	fuzzFamily(f, gpu.GFX12, "\x11\x02\x70\x68\x08\x10\x13\x09\x8c\x8f\x43\xde", "\x9c\x8f\x43\xde\x00\x11\x22\x15\x04\x02")
}

// randomStream is a stream of a family with about n tokens: whole ones of random kinds and fields, waves and padding more
// often than by chance.
func randomStream(rng *rand.Rand, f gpu.Family, n int) []byte {
	s := bitStream{}
	keys := keysOf(f)
	if f == gpu.GFX12 {
		s.put(0x0913100868700211, 0, 64)
	}
	for range n {
		key := uint64(rng.Uint32() & 0xff)
		switch rng.IntN(8) {
		case 0, 1: // a wave starts or ends
			key = [2]uint64{0b01100, 0b10101}[rng.IntN(2)] | key&0xe0
			if f == gpu.GFX9 {
				key = [2]uint64{3, 6}[rng.IntN(2)] | key&0xf0
			}
		case 2: // padding
			if f != gpu.GFX9 {
				s.put(0, 0, 4*(1+rng.IntN(5)))
				continue
			}
			key &= 0xf0
		}
		l := keys[key]
		if l.bits == 0 || l.kind == KindHeader && rng.IntN(20) > 0 {
			continue
		}
		raw := rng.Uint64()&^0xff | key
		if rng.IntN(2) == 0 && l.bits > 8 { // few slots, so that starts and ends meet
			raw &= 0x1c3f00f8f4f3f9ff
		}
		s.put(raw, uint64(rng.Uint32()), int(l.bits))
		if rng.IntN(400) == 0 {
			s.put(0, 0, 16*rng.IntN(60)) // a hole
		}
	}
	return s.bytes
}

// bitStream assembles tokens.
type bitStream struct {
	bytes []byte
	half  bool // the last byte has a nibble left
}

func (s *bitStream) put(lo, hi uint64, bits int) {
	for i := 0; i < bits; i += 4 {
		v := byte(lo & 15)
		lo, hi = lo>>4|hi<<60, hi>>4
		if s.half {
			s.bytes[len(s.bytes)-1] |= v << 4
		} else {
			s.bytes = append(s.bytes, v)
		}
		s.half = !s.half
	}
}

func TestRandomStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	waves := 0
	streams, tokens := 200, 30000
	if slow { // bytes that are kept are looked at one by one there, piece by piece
		streams, tokens = 30, 3000
	}
	for i := range streams {
		f := [3]gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]
		buf := randomStream(rng, f, 20+rng.IntN(tokens))
		if i%5 == 4 { // as it comes from a broken disk
			for range 1 + rng.IntN(20) {
				buf[rng.IntN(len(buf))] ^= 1 << rng.IntN(8)
			}
		}
		if i%7 == 6 {
			for j := range len(buf) / 8 {
				binary.LittleEndian.PutUint64(buf[j*8:], rng.Uint64())
			}
		}
		if err := checkStream(f, buf, 1+rng.IntN(1<<rng.IntN(16))); err != nil {
			t.Fatalf("%v stream %d of %d bytes: %v", f, i, len(buf), err)
		}
		waves += len(DecodeWaves(f, buf).Waves)
	}
	if waves < 5000 && !slow {
		t.Errorf("%d waves in all: the streams test little", waves)
	}
}

// TestDecodersInParallel: decoders of one process share nothing that the streams of others could change.
func TestDecodersInParallel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	type stream struct {
		f   gpu.Family
		buf []byte
	}
	var streams []stream
	var want []Result
	for i := range 12 {
		s := stream{f: [3]gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]}
		s.buf = randomStream(rng, s.f, 3000)
		streams, want = append(streams, s), append(want, *DecodeWaves(s.f, s.buf))
	}
	var wg sync.WaitGroup
	for range 4 {
		for i, s := range streams {
			wg.Go(func() {
				if err := sameResult(*DecodeWaves(s.f, s.buf), want[i]); err != nil {
					t.Errorf("%v stream %d: %v", s.f, i, err)
				}
				if n := counted(s.f, s.buf); n == 0 {
					t.Errorf("%v stream %d has no tokens", s.f, i)
				}
			})
		}
	}
	wg.Wait()
}

// TestPrefixes: the waves of a prefix are those of the whole whose end token is within it, to the cycle. A GFX9 TIME_RESET may have its TIME behind the
// prefix: then all times after it, and no others, lack what that TIME says was lost.
func TestPrefixes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	exact, shifted := map[gpu.Family]int{}, 0
	streams := 60
	if slow {
		streams = 12
	}
	for i := range streams {
		f := [3]gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}[i%3]
		buf := randomStream(rng, f, 300)
		type span struct{ start, stop, end int64 } // first bits of both tokens, and the one behind the second
		var spans []span
		var resets []span // start: the TIME_RESET, end: behind its TIME
		var live [numSlots]int64
		open := false // the last TIME_RESET looks for its TIME
		for p := range Packets(f, buf) {
			k := slotKey(0)
			end := p.Kind == KindWaveEnd
			switch {
			case f == gpu.GFX9 && p.Kind == KindMisc && p.Raw>>13 == misc9TimeReset:
				if open {
					resets = resets[:len(resets)-1] // without TIME it moves nothing
				}
				resets, open = append(resets, span{start: p.Off, stop: p.Off + int64(p.Bits)}), true
				continue
			case f == gpu.GFX9 && p.Kind == KindTime && open:
				resets[len(resets)-1].end, open = p.Off+int64(p.Bits), false
				continue
			case !end && p.Kind != KindWaveStart && p.Kind != KindWaveStartExt:
				continue
			case f == gpu.GFX9:
				k = waveKey9(uint32(p.Raw))
			case end:
				k = waveBitsOf(p.Family).endKey(uint32(p.Raw))
			default:
				k = waveBitsOf(p.Family).startKey(uint32(p.Raw))
			}
			if end && live[k] > 0 {
				spans = append(spans, span{live[k] - 1, p.Off, p.Off + int64(p.Bits)})
			}
			live[k] = 0
			if !end {
				live[k] = p.Off + 1
			}
		}
		whole := DecodeWaves(f, buf).Waves
		n := 0
		for size := range len(buf) + 1 {
			for n < len(spans) && spans[n].end <= int64(size)*8 {
				n++
			}
			got := DecodeWaves(f, buf[:size]).Waves
			if len(got) != n {
				t.Fatalf("%v stream %d: %d waves in %d bytes, want %d", f, i, len(got), size, n)
			}
			reset := int64(math.MaxInt64) // the one whose TIME the prefix lacks
			for _, r := range resets {
				if bits := int64(size) * 8; r.stop <= bits && bits < r.end {
					reset = r.start
				}
			}
			lost, known := Cycles(0), false
			for j, w := range got {
				for _, at := range []struct {
					bit int64
					v   *Cycles
					of  Cycles
				}{{spans[j].start, &w.Start, whole[j].Start}, {spans[j].stop, &w.Stop, whole[j].Stop}} {
					if at.bit < reset {
						exact[f]++
						continue
					}
					if !known {
						lost, known = at.of-*at.v, true
					}
					*at.v += lost
					shifted++
				}
				if w != whole[j] {
					t.Fatalf("%v stream %d: wave %d of %d bytes is %+v, want %+v (%d cycles lost from bit %d on)", f, i, j, size, got[j], whole[j], lost, reset)
				}
			}
		}
	}
	t.Logf("times compared: %v, and %d behind a TIME_RESET whose TIME is cut off", exact, shifted)
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12} {
		if exact[f] < 2000 && !slow {
			t.Errorf("%v: %d times compared: the streams test little", f, exact[f])
		}
	}
	if shifted < 300 && !slow {
		t.Errorf("%d times behind a TIME_RESET without its TIME", shifted)
	}
}
