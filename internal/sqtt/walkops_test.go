package sqtt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestRecordTwins compares the records that the machine's twin makes of a window's events, and what it leaves of the waves, with
// the portable one's.
func TestRecordTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 11))
	var walks [2]*walk
	for i := range walks {
		var w Walker
		w.Reset(gpu.GFX12, WalkOptions{}, noiseCode{}, nil)
		walks[i] = &w.walk
		for pc := uint64(4); pc < 1<<14; pc += 4 {
			page := &noPage
			_ = w.walk.cache.node(&page, pc)
		}
	}
	nodes := len(walks[0].cache.nodes)
	var s laneScan
	var win window
	records, stops := 0, 0
	for i := range 100 {
		f, tab, ops := gpu.GFX11, walkTable11(), walkOps11()
		if i%2 != 0 {
			f, tab, ops = gpu.GFX12, walkTable12(), walkOps12()
		}
		size := copy(win[:windowBytes], randomTrace(rng, f, 200+rng.IntN(6000)))
		_, pieces := s.walkWindow(tab, &win, 0, uint64(2*size))
		add := uint64(rng.IntN(1<<20)) << scanTime
		for _, p := range pieces {
			for events := p.events; len(events) > 0; {
				for slot := range uint32(16) {
					at, room := nodeID(rng.IntN(nodes)), 1+rng.IntN(60)
					if rng.IntN(200) == 0 {
						at = nodeRare
					}
					for _, k := range walks {
						t := k.slot(slot)
						t.at, t.insts = at, slices.Grow(t.insts[:0], room)[:0:room]
					}
				}
				n := walks[0].recordsGeneric(events, add, &s, ops)
				if got := walks[1].records(events, add, &s, ops); got != n {
					t.Fatalf("window %d: %d of %d events, want %d", i, got, len(events), n)
				}
				for slot := range 16 {
					a, b := walks[0].slots[slot], walks[1].slots[slot]
					if a.at != b.at || a.ready != b.ready || !slices.Equal(a.insts, b.insts) {
						t.Fatalf("window %d, wave %d: at %#x, ready %d, %d records, want %#x, %d, %d", i, slot, b.at, b.ready, len(b.insts), a.at, a.ready, len(a.insts))
					}
					records += len(a.insts)
				}
				stops++
				events = events[min(n+1, len(events)):]
			}
		}
	}
	if records < 20000 || stops < 1000 {
		t.Errorf("%d records, %d stops: the windows test little", records, stops)
	}
}
