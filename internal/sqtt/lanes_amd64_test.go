//go:build !purego

package sqtt

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestSizes: sizes that the assembly has as numbers.
func TestSizes(t *testing.T) {
	for _, s := range []struct {
		of   reflect.Type
		size uintptr
	}{
		{reflect.TypeFor[liveWave](), liveSize},
		{reflect.TypeFor[Wave](), waveSize},
		{reflect.TypeFor[codeNode](), nodeSize},
		{reflect.TypeFor[opInst](), opSize},
		{reflect.TypeFor[laneEntry](), 8},
		{reflect.TypeFor[Inst](), 32},
		{reflect.TypeFor[Marker](), 16},
		{reflect.TypeFor[lanePiece](), 24},
		{reflect.TypeFor[tracedStep](), 24},
	} {
		if got := s.of.Size(); got != s.size {
			t.Errorf("%v has %d bytes, the assembly goes by %d", s.of, got, s.size)
		}
	}
	scan := reflect.TypeFor[laneScan]()
	if f, _ := scan.FieldByName("rdna"); f.Offset != 0 { // one register is of both
		t.Errorf("a laneScan's run is at byte %d", f.Offset)
	}
	if f, _ := scan.FieldByName("nibbles"); f.Offset%64 != 0 {
		t.Errorf("a laneScan's nibbles are at byte %d, which makes stores slow", f.Offset)
	}
	if n := reflect.TypeFor[tracedWave]().Size(); n%64 != 0 {
		t.Errorf("a tracedWave has %d bytes, so that some lie across cache lines", n)
	}
	if liveSize != 1<<5 { // as the keys of assembly are shifted
		t.Errorf("a liveWave has %d bytes", liveSize)
	}
}

// TestPairBits: bits that the assembly has as numbers.
func TestPairBits(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"lost", pairLost, inPairs(1 << 8)},
		{"realtime on GFX11", pairRealtime11, inPairs(waveBits11.realtime)},
		{"realtime on GFX12", pairRealtime12, inPairs(waveBits12.realtime)},
		{"of a MISC", pairMisc, inPairs(miscSave|miscStallBegin|miscStallEnd) >> (4 * 8)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, c.got, c.want)
		}
	}
	for _, f := range []gpu.Family{gpu.GFX11, gpu.GFX12} {
		for key, l := range keysOf(f) {
			if low, ok := map[Kind]int{KindImmOne: lowImmed, KindInst: lowInst, KindValuInst: lowVALU}[l.kind]; ok && key&3 != low {
				t.Errorf("%v: key %#x of a %v ends in other bits than %d", f, key, l.kind, low)
			}
			if kind := walkEventOf(f)(l.kind); kind != eventNone && int(eventCodeOf(kind, max(int(l.bits)/4, 4))) >= numEventCodes {
				t.Errorf("%v: tokens of key %#x are too long for an event's code", f, key)
			}
		}
	}
}

// TestLaneTwins compares the assembly with its portable twins.
func TestLaneTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	var asm, plain laneScan
	var win window
	events, most := uint64(0), uint64(0)
	for i := range 400 {
		f := gpu.GFX11 + gpu.Family(i%2)
		tab := [4]*laneTable{rdnaTables11.waves(), rdnaTables12.waves(), rdnaTables11.walk(), rdnaTables12.walk()}[i%4]
		clear(win[:])
		if i%4 < 2 {
			copy(win[:], randomStream(rng, f, 200+rng.IntN(3000)))
		} else {
			copy(win[:], randomTrace(rng, f, 200+rng.IntN(6000)))
		}
		if i%9 == 8 {
			for j := range win {
				win[j] = byte(rng.Uint32())
			}
		}
		size := fillBlock * (1 + rng.IntN(windowBytes/fillBlock))
		crowded := i%20 == 19 // tokens of no known kind are the shortest events
		if crowded {
			size = windowBytes
			for j := range win {
				win[j] = 0x77
			}
		}
		fillGeneric(plain.nibbles[:2*size], win[:size+8])
		for _, has := range [][2]bool{{}, {hasAVX2}, {hasAVX2, hasAVX512}} {
			clear(asm.nibbles[:])
			with(&hasAVX2, has[0], func() {
				with(&hasAVX512, has[1], func() { fillPairs(asm.nibbles[:2*size], win[:size+8]) })
			})
			if !slices.Equal(asm.nibbles[:2*size], plain.nibbles[:2*size]) {
				t.Fatalf("window %d of %d bytes: pairs differ with AVX2 %t, AVX-512 %t", i, size, has[0], has[1])
			}
		}
		asm.nibbles, asm.left = plain.nibbles, scanLanes
		for j := range scanLanes {
			asm.acc[j] = uint64(rng.IntN(2*windowBytes)) | uint64(rng.IntN(1<<22))<<laneTime
			asm.limit[j] = asm.acc[j]&0xffff + uint64(500*(i/4%4)+rng.IntN(2000)+1)
			if crowded {
				asm.acc[j], asm.limit[j] = uint64(rng.IntN(50)), 2*windowBytes-laneTail
			}
		}
		plain.acc, plain.limit, plain.left, plain.rounds = asm.acc, asm.limit, asm.left, 0
		plain.runGeneric(tab)
		acc, limit := asm.acc, asm.limit
		for _, pext := range []bool{false, true} {
			if pext && !fastPairs {
				continue
			}
			asm.acc, asm.limit, asm.left, asm.rounds = acc, limit, scanLanes, 0
			with(&fastPairs, pext, func() { asm.run(tab) })
			if asm.acc != plain.acc || asm.took != plain.took {
				t.Fatalf("window %d: lanes at %x after %d rounds, want %x and %d", i, asm.acc, asm.took, plain.acc, plain.took)
			}
			if asm.events != plain.events { // also where nothing was to be written
				t.Fatalf("window %d: events differ", i)
			}
			for j := range scanLanes {
				n := eventsIn(asm.acc[j])
				events, most = events+n, max(most, n)
				clear(asm.eventsOf(j)[:n])
			}
		}
		for j := range scanLanes {
			clear(plain.eventsOf(j)[:eventsIn(plain.acc[j])])
		}
	}
	if events < 100000 || most < 2*windowBytes-100 {
		t.Errorf("%d events in all, %d of a lane at most: the windows test little", events, most)
	}
}

// with calls f while a variable has another value.
func with(p *bool, v bool, f func()) {
	defer func(old bool) { *p = old }(*p)
	*p = v
	f()
}

// newLive has the places of an RDNA family's slots.
func newLive(b *waveBits) *[numSlots]liveWave {
	d := WaveDecoder{live: new([numSlots]liveWave), bits: b}
	d.place()
	return d.live
}

// TestWaveRunTwins takes the events of random windows by the assembly and by its portable twin.
func TestWaveRunTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	var s laneScan
	var win window
	waves, markers := 0, 0
	for i := range 200 {
		f, tab, b, begun := gpu.GFX11, rdnaTables11.waves(), &waveBits11, rdnaTables11.begun()
		if i%2 == 0 {
			f, tab, b, begun = gpu.GFX12, rdnaTables12.waves(), &waveBits12, rdnaTables12.begun()
		}
		clear(win[:])
		n := copy(win[:windowBytes], randomStream(rng, f, 200+rng.IntN(3000)))
		_, pieces := s.window(tab, win[:], 0, 0, uint64(2*n))
		room := make([]Wave, 2*windowBytes)
		asm := &s.rdna
		*asm = rdnaRun{
			scan: &s, src: win[:], next: int(pieces[0].first), live: newLive(b), bits: b, begun: begun, waves: room, first: 1000, runs: 7,
			markers: make([]Marker, 0, rng.IntN(200)),
		}
		asm.begin(nil, nil)
		plain := *asm
		plain.live, plain.waves, plain.markers = newLive(b), make([]Wave, len(room)), make([]Marker, 0, cap(asm.markers))
		for more := true; more; {
			got, want := asm.take(), plain.takeGeneric()
			if got != want || asm.next != plain.next || asm.piece != plain.piece {
				t.Fatalf("%v window %d: at event %d of piece %d, %t, want %d, %d, %t", f, i, asm.next, asm.piece, got, plain.next, plain.piece, want)
			}
			asm.next++
			plain.next++
			more = got
		}
		if asm.n != plain.n || asm.open != plain.open || asm.origin != plain.origin || *asm.live != *plain.live {
			t.Fatalf("%v window %d: %d waves, %d open, origin %d, want %d, %d, %d", f, i, asm.n, asm.open, asm.origin, plain.n, plain.open, plain.origin)
		}
		if !slices.Equal(asm.waves[:asm.n], plain.waves[:plain.n]) || !slices.Equal(asm.markers, plain.markers) {
			t.Fatalf("%v window %d: waves or markers differ", f, i)
		}
		waves, markers = waves+asm.n, markers+len(asm.markers)
	}
	if waves < 1500 || markers < 100 {
		t.Errorf("%d waves and %d markers in all: the windows test little", waves, markers)
	}
}
