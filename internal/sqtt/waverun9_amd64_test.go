//go:build !purego

package sqtt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestWaveRun9Twins takes the events of random windows by the assembly and by its portable twin.
func TestWaveRun9Twins(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	var s scanBuffers
	var win window
	waves, records, taken := 0, 0, 0
	for i := range 300 {
		clear(win[:])
		kinds, buf := waveKinds9, randomStream(rng, gpu.GFX9, 200+rng.IntN(3000))
		var walkers [2]Walker
		var given [2][]Inst
		for j := range walkers {
			walkers[j].Reset(gpu.GFX9, WalkOptions{}, noiseCode{}, func(w *WaveInsts) { given[j] = append(given[j], w.Insts...) })
		}
		if i%3 == 0 {
			kinds, buf = walkKinds9, randomTrace(rng, gpu.GFX9, 200+rng.IntN(3000))
		}
		n := copy(win[:windowBytes], buf)
		_, pieces := s.scan9(kinds, &win, uint64(n/2))
		room := make([]Wave, windowBytes)
		if i%10 == 9 {
			room = room[:rng.IntN(20)]
		}
		clocks := [2]plain{{base: int64(rng.IntN(1 << 20)), hasBase: i%2 == 0}}
		clocks[1] = clocks[0]
		asm := eventRun9{win: &win, live: new([numSlots]liveWave), runs: 7, waves: room, first: 1000, origin: 50, blocks: &s.blocks, clock: &clocks[0]}
		plain := asm
		plain.live, plain.waves, plain.clock = new([numSlots]liveWave), make([]Wave, len(room)), &clocks[1]
		if i%3 == 0 {
			asm.walk, asm.traced = &walkers[0].walk, 1
			plain.walk, plain.traced = &walkers[1].walk, 1
		}
		for _, p := range pieces {
			for events := p.events; len(events) > 0; {
				got, want := asm.run(events, Cycles(p.base)*4), plain.some(events, 0, len(events), Cycles(p.base)*4)
				if got != want {
					t.Fatalf("window %d: %d events taken, want %d", i, got, want)
				}
				taken += got
				events = events[min(got+1, len(events)):]
			}
		}
		if asm.n != plain.n || asm.open != plain.open || asm.origin != plain.origin || clocks[0] != clocks[1] || *asm.live != *plain.live {
			t.Fatalf("window %d: %d waves, %d open, origin %d, want %d, %d, %d", i, asm.n, asm.open, asm.origin, plain.n, plain.open, plain.origin)
		}
		if !slices.Equal(asm.waves[:asm.n], plain.waves[:plain.n]) || !slices.Equal(given[0], given[1]) {
			t.Fatalf("window %d: waves or records differ", i)
		}
		waves, records = waves+asm.n, records+len(given[0])
	}
	if waves < 9000 || records < 20000 || taken < 100000 {
		t.Errorf("%d waves, %d records, %d events in all: the windows test little", waves, records, taken)
	}
}
