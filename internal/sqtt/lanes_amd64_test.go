package sqtt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestLaneTwins compares the assembly with its portable twins.
func TestLaneTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	var asm, plain laneScan
	var win window
	events := 0
	for i := range 200 {
		f := gpu.GFX11 + gpu.Family(i%2)
		tab := waveLanes11()
		if f == gpu.GFX12 {
			tab = waveLanes12()
		}
		clear(win[:])
		copy(win[:], randomStream(rng, f, 200+rng.IntN(3000)))
		if i%9 == 8 {
			for j := range win {
				win[j] = byte(rng.Uint32())
			}
		}
		size := 16 * (2 + rng.IntN(len(win)/16-1))
		fillPlanes(asm.planes[:planeOdd], asm.planes[planeOdd:], win[:size])
		fillGeneric(plain.planes[:planeOdd], plain.planes[planeOdd:], win[:size])
		for _, at := range []int{0, planeOdd} {
			if a, b := asm.planes[at:at+size-16], plain.planes[at:at+size-16]; !slices.Equal(a, b) {
				t.Fatalf("window %d of %d bytes: planes from %d on differ", i, size, at)
			}
		}
		asm.planes = plain.planes
		for j := range scanLanes {
			asm.acc[j] = uint64(rng.IntN(2*windowBytes)) | rng.Uint64()>>34<<scanTime
			asm.n[j] = uint64(j) * laneEvents
			asm.limit[j] = asm.acc[j]&0xffff + uint64(500*(i%4)+rng.IntN(2000))
		}
		plain.acc, plain.n, plain.limit = asm.acc, asm.n, asm.limit
		asm.run(tab)
		plain.runGeneric(tab)
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
	if events < 10000 {
		t.Errorf("%d events in all: the windows test little", events)
	}
}
