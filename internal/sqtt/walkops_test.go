package sqtt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// TestWalkRunTwins compares what the machine's twin makes of a window's events, and what it leaves of the waves, with the portable
// one's.
func TestWalkRunTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 11))
	var walkers [2]Walker
	for i := range walkers {
		w := &walkers[i]
		w.Reset(gpu.GFX12, WalkOptions{}, noiseCode{}, nil)
		for pc := uint64(4); pc < 1<<14; pc += 4 {
			page := &noPage
			_ = w.walk.cache.node(&page, pc)
		}
	}
	nodes := len(walkers[0].walk.cache.nodes)
	var s laneScan
	var win window
	records, waves, markers, stops, starts, ends := 0, 0, 0, 0, 0, 0
	for i := range 40 {
		f, b := gpu.GFX11, &waveBits11
		if i%2 != 0 {
			f, b = gpu.GFX12, &waveBits12
		}
		tables := rdnaTablesOf(f)
		size := copy(win[:windowBytes], randomTrace(rng, f, 200+rng.IntN(6000)))
		_, pieces := s.window(tables.walk(), win[:], 0, 0, uint64(2*size))
		runs := [2]*rdnaRun{new(rdnaRun), &s.rdna}
		few, base := rng.IntN(5), Cycles(rng.IntN(1<<20))
		for i := range runs {
			w := &walkers[i]
			w.bits = b
			w.place()
			*runs[i] = rdnaRun{
				scan: &s, src: win[:], next: int(pieces[0].first), live: w.live, begun: tables.begun(), bits: b, waves: make([]Wave, 2*windowBytes), first: 800,
				origin: base, runs: w.runs, markers: make([]Marker, 0, few),
			}
			runs[i].begin(&w.walk, tables.ops)
		}
		for more := true; more; stops++ {
			for slot := range uint32(16) {
				at, room, live := nodeID(rng.IntN(nodes)*nodeSize), 1+rng.IntN(60), rng.IntN(2) == 0
				full := partRecords // or more: then what started there is not taken
				if rng.IntN(2) == 0 {
					room = partRecords
				} else if rng.IntN(2) == 0 {
					full++
				}
				if rng.IntN(200) == 0 {
					at = nodeRare
				}
				for i := range walkers {
					t := walkers[i].walk.slot(slot)
					t.at, t.insts, t.live = at, slices.Grow(t.insts[:0], full)[:partRecords-room:full], live
					runs[i].starts[slot%8] = at
				}
			}
			more = runs[0].takeGeneric()
			if got := runs[1].take(); got != more || runs[0].next != runs[1].next || runs[0].piece != runs[1].piece {
				t.Fatalf("window %d: at event %d of piece %d, %t, want %d, %d, %t", i, runs[1].next, runs[1].piece, got, runs[0].next, runs[0].piece, more)
			}
			want := runs[0].steps[:runs[0].untold]
			if got := runs[1].steps[:runs[1].untold]; !slices.Equal(got, want) || runs[0].starts != runs[1].starts {
				t.Fatalf("window %d: steps of traced waves %v, want %v, or starts %v, want %v", i, got, want, runs[1].starts, runs[0].starts)
			}
			for _, s := range want {
				if s.raw != 0 {
					starts++
				} else {
					ends++
				}
			}
			runs[0].untold, runs[1].untold = 0, 0
			for slot := range 16 {
				a, b := walkers[0].walk.slots[slot], walkers[1].walk.slots[slot]
				if a.at != b.at || a.live != b.live || a.ready != b.ready || !slices.Equal(a.insts, b.insts) {
					t.Fatalf("window %d, wave %d: at %#x, ready %d, %d records, want %#x, %d, %d", i, slot, b.at, b.ready, len(b.insts), a.at, a.ready, len(a.insts))
				}
				records += len(a.insts)
			}
			e := s.events[runs[0].next]
			w, _ := load(win[:], int(nibbleOf(e))*4)
			raw := uint32(w)
			k := b.startKey(raw) % numSlots
			for i := range runs {
				r := runs[i]
				if more && eventCodeIn(e).form().kind == eventStart && r.live[k].run != r.runs {
					r.start(k, e, raw, r.now(e)) // as startTraced does, without telling the walk
				}
				r.next++
			}
		}
		a, c := runs[0], runs[1]
		if a.origin != c.origin || a.open != c.open || a.n != c.n || !slices.Equal(a.waves[:a.n], c.waves[:c.n]) || !slices.Equal(a.markers, c.markers) {
			t.Fatalf("window %d: origin %d, %d open, %d waves, %d markers, want %d, %d, %d, %d", i, c.origin, c.open, c.n, len(c.markers), a.origin, a.open, a.n, len(a.markers))
		}
		if *walkers[0].live != *walkers[1].live || walkers[0].walk.programs != walkers[1].walk.programs {
			t.Fatalf("window %d: other waves run, or programs %v, want %v", i, walkers[1].walk.programs, walkers[0].walk.programs)
		}
		waves += a.n
		markers += len(a.markers)
	}
	if records < 20000 || waves < 1000 || markers < 50 || stops < 1000 || starts < 30 || ends < 30 {
		t.Errorf("%d records, %d waves, %d markers, %d stops, %d starts and %d ends of traced waves: the windows test little",
			records, waves, markers, stops, starts, ends)
	}
}

// TestLongStalls: what a wave waits for 2^32 cycles and longer, by one jump of the time or by many, is as without the fast path.
func TestLongStalls(t *testing.T) {
	for _, jump := range []uint64{1 << 20, 1 << 27, 1 << 29, 1 << 31, 1 << 33, 1 << 45} {
		s := newTrace12()
		s.pgm(0, 0x10, 0)
		for slot := range uint64(4) {
			s.start(0, slot)
		}
		for i := range uint64(6000) {
			slot := i % 4
			s.ready(1, 1<<slot)
			for range 1 + i%3 {
				s.put(1|jump<<12, 0, 64) // TIMESTAMP
			}
			s.valu(2, slot)
			if i%7 < 3 {
				s.put(1|jump<<12, 0, 64)
			}
			s.imm(1, slot)
		}
		fast, _ := walked(t, gpu.GFX12, s.bytes, len(s.bytes), false)
		plain, _ := walked(t, gpu.GFX12, s.bytes, len(s.bytes), true)
		if i := firstDifferentWave(fast, plain); i >= 0 || len(fast) != 4 {
			t.Fatalf("jumps of %#x: wave %d of %d differs", jump, i, len(fast))
		}
		long := uint32(0)
		for _, in := range fast[0].Insts {
			long = max(long, in.Stall)
		}
		if want := uint32(min(jump, maxDur-255)); long < want {
			t.Errorf("jumps of %#x: the longest stall is %#x", jump, long)
		}
	}
}

// everywhere has a VALU instruction at every address.
type everywhere struct{}

func (everywhere) At(uint64) (Insn, bool) { return valu4, true }

// TestManyPages: a stream that jumps about in more code than is kept.
func TestManyPages(t *testing.T) {
	s := newTrace12()
	s.pgm(0, 0x10, 0)
	s.start(0, 0)
	s.start(0, 1)
	const jumps = 2*maxPages + 100
	for i := range uint64(jumps) {
		s.inst(1, 0, newPCOp)
		s.newPC(0, (i+2)<<pageShift)
		s.valu(1, 0)
		s.valu(1, 1)
	}
	var w Walker
	records := [2]int{}
	w.Reset(gpu.GFX12, WalkOptions{}, everywhere{}, joined(t, func(p *WaveInsts) {
		for i, in := range p.Insts {
			want := uint64(0x1000 + 4*i)
			if p.Wave.Slot == 0 && i > 0 {
				want = uint64(1+(i+1)/2)<<pageShift + 4*uint64(1-i%2)
			}
			if in.PC != want {
				t.Fatalf("wave %d: record %d at %#x, want %#x", p.Wave.Slot, i, in.PC, want)
			}
		}
		records[p.Wave.Slot] = len(p.Insts)
	}))
	for rest := s.bytes; len(rest) > 0; {
		n := min(len(rest), 10000)
		w.Feed(rest[:n])
		rest = rest[n:]
		if n := len(w.walk.cache.pages); n > maxPages+4000 {
			t.Fatalf("%d pages kept", n)
		}
	}
	w.Close()
	if records != [2]int{2 * jumps, jumps} {
		t.Errorf("%d records, want %d and %d", records, 2*jumps, jumps)
	}
}
