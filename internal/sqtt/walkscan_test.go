package sqtt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestWalkWindow compares what a window's lanes find with one scan from token to token.
func TestWalkWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 10))
	var s, one laneScan
	found := 0
	for i := range 300 {
		f := gpu.GFX11 + gpu.Family(i%2)
		tab := rdnaTables11.walk()
		if f == gpu.GFX12 {
			tab = rdnaTables12.walk()
		}
		var win window
		n := copy(win[:windowBytes], randomTrace(rng, f, 100+rng.IntN(12000)))
		if i%3 == 2 {
			for range 1 + rng.IntN(40) {
				win[rng.IntN(n)] ^= 1 << rng.IntN(8)
			}
		}
		size, start := uint64(2*n), uint64(rng.IntN(3))
		end, pieces := s.window(tab, win[:], 0, start, size)
		var got []uint64
		for _, p := range pieces {
			for _, e := range s.events[p.first:p.end] {
				got = append(got, uncounted(e+p.base<<laneTime))
			}
		}
		one.nibbles.fill(win[:])
		acc := one.one(tab, start, uint64(uint16(end)), one.eventsOf(0))
		var want []uint64
		for _, e := range one.events[:eventsIn(acc)] {
			want = append(want, uncounted(e))
		}
		if uncounted(acc) != uncounted(end) || !slices.Equal(got, want) {
			t.Fatalf("%v window %d of %d bytes: %d events to %x, want %d to %x", f, i, n, len(got), end, len(want), acc)
		}
		if end := uint64(uint16(end)); end > size || end+2*windowTail < size {
			t.Fatalf("%v window %d: scanned to %d of %d", f, i, end, size)
		}
		found += len(got)
	}
	if found < 100000 {
		t.Errorf("%d events in all: the windows test little", found)
	}
}

// uncounted is a scan word without its number of events, which is another in each lane.
func uncounted(acc uint64) uint64 { return acc &^ (0xffff << laneEvent) }

// TestLaneEntries: the times of a whole window's entries fit into a scan word, and nothing stands between its fields.
func TestLaneEntries(t *testing.T) {
	for _, f := range []gpu.Family{gpu.GFX11, gpu.GFX12} {
		for _, tab := range []*laneTable{rdnaTablesOf(f).waves(), rdnaTablesOf(f).walk()} {
			for i, e := range tab.entry {
				if n := e.nibbles(); n == 0 || uint64(e)>>laneTime*(2*windowBytes+2*laneTail)/n >= 1<<(64-laneTime) {
					t.Fatalf("%v: entry %#x: %d nibbles of %d cycles", f, i, n, e>>laneTime)
				}
				// Handlers are found by all of the code's byte.
				event, code := e>>laneEvent&1, uint64(e)>>eventCodeAt&0xff
				if code >= numEventCodes || (code >= firstCode) != (event == 1) || e&^(31|0xff<<eventCodeAt|1<<laneEvent)<<(64-laneTime) != 0 {
					t.Fatalf("%v: entry %#x is %#x", f, i, e)
				}
			}
		}
	}
}

// TestLaneNibbles compares what a window's nibbles give with the window.
func TestLaneNibbles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	nibbles := new(laneNibbles)
	var win window
	for _, size := range []int{0, 1, 7, 8, 39, 40, 41, 1000, windowBytes, len(win)} {
		for i := range win[:size] {
			win[i] = byte(rng.Uint32())
		}
		clear(win[size:])
		nibbles.fill(win[:size])
		for n := range uint16(2 * size) {
			want, _ := load(win[:], int(n)*4)
			if got := nibbles.token(win[:size], n); got != want {
				t.Fatalf("%d bytes, nibble %d: token %#x, want %#x", size, n, got, want)
			}
			if got := nibbles.at(n); got != byte(want&15) {
				t.Fatalf("%d bytes: nibble %d is %#x, want %#x", size, n, got, want&15)
			}
			if got := bitsOfKey(uint32(nibbles.key(uint64(n) | 5<<laneEvent | 5<<laneTime))); got != uint32(want&0xffff) {
				t.Fatalf("%d bytes, nibble %d: key of %#x, want %#x", size, n, got, want&0xffff)
			}
		}
	}
}
