//go:build !purego

package sqtt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestWalkTwins compares the assembly with its portable twin.
func TestWalkTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	var asm, plain laneScan
	var win window
	events := 0
	for i := range 200 {
		f := gpu.GFX11 + gpu.Family(i%2)
		tab := walkTable11()
		if f == gpu.GFX12 {
			tab = walkTable12()
		}
		clear(win[:])
		copy(win[:], randomTrace(rng, f, 200+rng.IntN(6000)))
		if i%9 == 8 {
			for j := range win {
				win[j] = byte(rng.Uint32())
			}
		}
		asm.fill(&win, windowBytes)
		plain.planes = asm.planes
		for j := range scanLanes {
			asm.acc[j] = uint64(rng.IntN(2*windowBytes)) | rng.Uint64()>>34<<scanTime
			asm.n[j] = uint64(j) * laneEvents
			asm.limit[j] = asm.acc[j]&0xffff + uint64(500*(i%4)+rng.IntN(2000))
		}
		plain.acc, plain.n, plain.limit = asm.acc, asm.n, asm.limit
		asm.walkRun(tab)
		plain.walkRunGeneric(tab)
		if asm.acc != plain.acc || asm.n != plain.n {
			t.Fatalf("window %d: lanes at %x with events to %d, want %x and %d", i, asm.acc, asm.n, plain.acc, plain.n)
		}
		for j := range uint64(scanLanes) {
			first, n := j*laneEvents, asm.n[j]
			if !slices.Equal(asm.events[first:n], plain.events[first:n]) {
				t.Fatalf("window %d: events of lane %d differ", i, j)
			}
			events += int(n - first)
		}
	}
	if events < 50000 {
		t.Errorf("%d events in all: the windows test little", events)
	}
}
