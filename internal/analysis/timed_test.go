package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
)

// Buckets are in order and at most a fifth of their number wide; the median is that of the numbers, down to its bucket's begin.
func TestTimed(t *testing.T) {
	for i := range 200 {
		from := bucketFrom(i)
		if bucketOf(from) != i || from > 0 && bucketOf(from-1) != i-1 {
			t.Fatalf("bucket %d from %d: %d, below %d", i, from, bucketOf(from), bucketOf(from-1))
		}
	}
	r := rand.New(rand.NewPCG(4, 4))
	for range 100 {
		var a, b Timed
		var all []int64
		for i := range 1 + r.IntN(50) {
			n := r.Int64N(1 << r.IntN(40))
			all = append(all, n)
			if i%2 == 0 {
				a.add(n, 1)
			} else {
				b.add(n, 2)
			}
		}
		words := a.Words + b.Words
		a.join(&b)
		slices.Sort(all)
		want := all[len(all)/2]
		if m := a.Median(); bucketOf(m) != bucketOf(want) || m > want || a.N != int64(len(all)) || a.Words != words {
			t.Fatalf("median %d of %v", m, all)
		}
	}
	var none Timed
	if none.Median() != 0 {
		t.Error("a median of nothing")
	}
}

// A latency is known where a wait stood still for the youngest of LDS accesses alone, and its own line of code was there.
func TestTimedWaits(t *testing.T) {
	lds, load := Site{Class: isa.LDS, Adds: AddsLDS, Words: 2}, Site{Class: isa.Global, Adds: AddsLoad}
	wait := func(pc uint64, load int16) Site {
		return Site{Where: Where{PC: pc}, Class: isa.Wait, Waits: Waits{load, -1, 0, -1}}
	}
	for _, c := range []struct {
		name  string
		first Site
		wait  Site
		stall int32
		n     int64
		words int64
	}{
		{"two reads", lds, wait(4, -1), 50, 1, 4},
		{"over at once", lds, wait(4, -1), 2, 0, 0},
		{"a line of code begins", lds, wait(512, -1), 50, 0, 0},
		{"a load came too", load, wait(4, 0), 50, 0, 0},
		{"a load is left", load, wait(4, 1), 50, 1, 2},
	} {
		sites := []Site{c.first, lds, c.wait}
		p := runWhole([]wholeWave{{Wave{Stop: 500}, []Inst{{0, 0, 1, 0}, {1, 0, 1, 1}, {2, c.stall, c.stall + 1, 2}}}}, sites)
		got := p.Insts[1].Timed
		if got.N != c.n || got.Words != c.words || c.n > 0 && got.Median() != 48 || p.Insts[0].Timed.N != 0 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	// ds_load_b128 v[2:5], v1; ds_store_2addr_b64 v0, v[2:3], v[4:5]; ds_add_rtn_u32 v1, v2, v3; ds_read2_b32 v[2:3], v1 offset1:1
	for _, c := range []struct {
		arch  isa.Arch
		bytes []byte
		words uint8
	}{
		{isa.RDNA4, []byte{0x00, 0x00, 0xfc, 0xdb, 0x01, 0x00, 0x00, 0x02}, 4},
		{isa.RDNA4, []byte{0x00, 0x00, 0x38, 0xd9, 0x00, 0x02, 0x04, 0x00}, 4},
		{isa.RDNA3, []byte{0x00, 0x00, 0x80, 0xd8, 0x02, 0x03, 0x00, 0x01}, 1},
		{isa.CDNA3, []byte{0x00, 0x01, 0x6e, 0xd8, 0x01, 0x00, 0x00, 0x02}, 2},
	} {
		if s := decoded(t, c.arch, c.bytes...); s.Words != c.words {
			t.Errorf("%x: %d dwords a lane, want %d", c.bytes, s.Words, c.words)
		}
	}
}
