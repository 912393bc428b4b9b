//go:build !purego

package sqtt

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestScan9Twins compares the events and times of GFX9 chains: the assembly's steps are longer than those of its portable twin.
func TestScan9Twins(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 4))
	kinds := newScan9Kinds(waveEvents)
	var lists [3 * scanChains]eventList
	var win window
	events := 0
	for i := range 200 {
		buf := randomStream(rng, gpu.GFX9, 3000)
		if i%2 == 0 { // long runs of MISCs, as captures have them
			for j := range len(buf) / 64 {
				if n := rng.IntN(50) &^ 1; rng.IntN(2) == 0 {
					for k := range n / 2 {
						buf[j*64+2*k], buf[j*64+2*k+1] = byte(rng.IntN(16)<<4), byte(rng.IntN(16))
					}
				}
			}
		}
		clear(win[:])
		copy(win[:windowBytes], buf)
		var asm, plain, four [scanChains]chain
		for j := range asm {
			asm[j] = chain{acc: uint64(rng.IntN(windowBytes/2 - 1000)), ev: &lists[j]}
			asm[j].limit = asm[j].acc + uint64(rng.IntN(900))
			plain[j] = asm[j]
			four[j] = asm[j]
			plain[j].ev, four[j].ev = &lists[scanChains+j], &lists[2*scanChains+j]
		}
		scan9FourGeneric(kinds, &win, &four[0], &four[1], &four[2], &four[3])
		scan9Four(kinds, &win, &asm[0], &asm[1], &asm[2], &asm[3])
		for j := range plain {
			limit := plain[j].limit
			scan9One(kinds, &win, &plain[j])
			scan9One(kinds, &win, &four[j])
			if n := plain[j].n; four[j].acc != plain[j].acc || four[j].n != n || !slices.Equal(four[j].ev[:n], plain[j].ev[:n]) {
				t.Fatalf("window %d: chain %d among four differs from one alone", i, j)
			}
			before := func(c *chain) []uint64 {
				n := c.n
				for n > 0 && c.ev[n-1]&0xffff >= limit {
					n--
				}
				return c.ev[:n]
			}
			a, b := before(&asm[j]), before(&plain[j])
			if !slices.Equal(a, b) {
				t.Fatalf("window %d, chain %d: events %x, want %x", i, j, a, b)
			}
			events += len(a)
			// Whoever is behind goes on to where the other one is, if it is a place where both stop, with the same time.
			for asm[j].pos() != plain[j].pos() && max(asm[j].pos(), plain[j].pos()) < limit+64 {
				c := &plain[j]
				if asm[j].pos() < plain[j].pos() {
					c = &asm[j]
				}
				c.limit = c.pos() + 1
				scan9One(kinds, &win, c)
			}
			if asm[j].pos() == plain[j].pos() && asm[j].acc != plain[j].acc {
				t.Fatalf("window %d, chain %d: at %x, want %x", i, j, asm[j].acc, plain[j].acc)
			}
		}
	}
	if events < 5000 {
		t.Errorf("%d events in all: the windows test little", events)
	}
}

// TestScan9Blocks compares what a window's blocks and its chains find with a walk from token to token.
func TestScan9Blocks(t *testing.T) {
	if !hasBlocks9 {
		t.Skip("the processor cannot")
	}
	rng := rand.New(rand.NewPCG(3, 7))
	var s scanBuffers
	var win window
	found, crossing := 0, 0
	for i := range 600 {
		kinds, isEvent := waveKinds9, waveEvents
		if i%2 == 0 {
			kinds, isEvent = walkKinds9, walkEvents
		}
		for j := range win {
			win[j] = byte(rng.Uint32()) // what is behind the window's end must not matter
		}
		n := copy(win[:windowBytes], randomStream(rng, gpu.GFX9, 1+rng.IntN(4000))) / 2
		if i%3 == 0 { // nearly no time goes by without a token, or much
			for j := range n {
				if rng.IntN(9) > 0 {
					win[2*j], win[2*j+1] = byte(rng.Uint32())&0xf0, byte(rng.Uint32())&0xf
				}
			}
		}
		size := uint64(1 + rng.IntN(n))
		if i%5 == 0 {
			size = uint64(n)
		}

		var events []uint64
		var begin, stamp [windowBlocks + 1]uint64
		pos, now := uint64(0), uint64(0)
		for {
			w := binary.LittleEndian.Uint64(win[2*pos : 2*pos+8])
			l := &gfx9Keys[w&0xff]
			after := pos + uint64(l.bits/16)
			if after > size {
				break
			}
			begin[pos/blockUnits] |= 1 << (pos % blockUnits)
			if l.kind == KindTime {
				stamp[pos/blockUnits] |= 1 << (pos % blockUnits)
			}
			now += w >> 4 & (1<<l.w - 1)
			typ := w >> 13 & 7
			switch {
			case l.kind == KindMisc && (typ == misc9TimeReset || typ == misc9Lost || typ == misc9StallBegin || typ == misc9StallEnd),
				(l.kind == KindRegCs || l.kind == KindRegCsPriv) && isEvent(l.kind) && w>>9&127 < 16,
				l.kind != KindRegCs && l.kind != KindRegCsPriv && l.kind != KindReg && isEvent(l.kind):
				events = append(events, now<<scanTime|pos)
			}
			pos = after
		}
		want := now<<scanTime | pos

		end, got := s.blocks.window(kinds, &win, &s.events[0], size)
		if end != want || !slices.Equal(got, events) {
			t.Fatalf("window %d of %d units: %d events to %x, want %d to %x", i, size, len(got), end, len(events), want)
		}
		for u := range pos {
			b, at := u/blockUnits, u%blockUnits
			if s.blocks.begin[b]>>at&1 != begin[b]>>at&1 || s.blocks.stamp[b]>>at&1 != stamp[b]>>at&1 {
				t.Fatalf("window %d: unit %d of %d is wrongly a token's or a TIME's begin", i, u, size)
			}
		}
		if pos < size {
			crossing++
		}

		end, pieces := s.byChains(kinds, &win, size)
		got = nil
		for _, p := range pieces {
			for _, e := range p.events {
				got = append(got, e+p.base<<scanTime)
			}
		}
		if n := len(got); end&0xffff > pos || pos-end&0xffff > windowTail || n > len(events) || !slices.Equal(got, events[:n]) || n < len(events) && events[n]&0xffff < end&0xffff {
			t.Fatalf("window %d of %d units: chains have %d events to %x, want %d to %x", i, size, len(got), end, len(events), want)
		}
		found += len(events)
	}
	if found < 200000 || crossing < 50 {
		t.Errorf("%d events in all, %d windows that end in a token: the windows test little", found, crossing)
	}
}

// TestWithoutBlocks9 decodes streams as processors do that have no AVX2.
func TestWithoutBlocks9(t *testing.T) {
	defer func(has bool) { hasBlocks9 = has }(hasBlocks9)
	hasBlocks9 = false
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 30 {
		if err := checkStream(gpu.GFX9, randomStream(rng, gpu.GFX9, rng.IntN(30000)), 1+rng.IntN(20000)); err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		if err := checkWalk(t, gpu.GFX9, randomTrace(rng, gpu.GFX9, rng.IntN(20000)), 1+rng.IntN(9000)); err != nil {
			t.Fatalf("trace %d: %v", i, err)
		}
	}
}
