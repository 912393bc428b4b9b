package analysis

import (
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
)

// decoded is an instruction's site, from its bytes as llvm-mc writes them.
func decoded(t *testing.T, arch isa.Arch, b ...byte) Site {
	t.Helper()
	in, err := isa.Decode(arch, b)
	if err != nil {
		t.Fatal(err)
	}
	return SiteOf(Where{}, &in)
}

// Instructions count in the counters that the compiler's own waits for them name.
func TestCounters(t *testing.T) {
	for _, c := range []struct {
		name  string
		arch  isa.Arch
		bytes []byte
		adds  Counters
	}{
		{"global_load_b32 v1, v2, s[2:3]", isa.RDNA4, []byte{0x02, 0x00, 0x05, 0xee, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00}, AddsLoad},
		{"global_store_b32 v1, v4, s[2:3]", isa.RDNA4, []byte{0x02, 0x80, 0x06, 0xee, 0x00, 0x00, 0x00, 0x02, 0x01, 0x00, 0x00, 0x00}, AddsStore},
		{"flat_load_b32 v1, v[2:3]", isa.RDNA4, []byte{0x7c, 0x00, 0x05, 0xec, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00}, AddsLoad | AddsLDS},
		{"global_inv scope:SCOPE_DEV", isa.RDNA4, []byte{0x7c, 0xc0, 0x0a, 0xee, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00}, AddsLoad},
		{"global_wb scope:SCOPE_DEV", isa.RDNA4, []byte{0x7c, 0x00, 0x0b, 0xee, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00}, AddsStore},
		{"global_wbinv scope:SCOPE_SYS", isa.RDNA4, []byte{0x7c, 0xc0, 0x13, 0xee, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00}, AddsStore},
		{"buffer_gl0_inv", isa.RDNA3, []byte{0x00, 0x00, 0xac, 0xe0, 0x00, 0x00, 0x00, 0x00}, 0},
		{"buffer_inv sc1", isa.CDNA3, []byte{0x00, 0x80, 0xa4, 0xe0, 0x00, 0x00, 0x00, 0x00}, 0},
		{"buffer_wbl2 sc1", isa.CDNA3, []byte{0x00, 0x80, 0xa0, 0xe0, 0x00, 0x00, 0x00, 0x00}, AddsLoad},
		{"global_store_dword v1, v4, s[2:3]", isa.CDNA3, []byte{0x00, 0x80, 0x70, 0xdc, 0x01, 0x04, 0x02, 0x00}, AddsLoad},
	} {
		if s := decoded(t, c.arch, c.bytes...); s.Adds != c.adds {
			t.Errorf("%s: counters %#b, want %#b", c.name, s.Adds, c.adds)
		}
	}
}

// A wait that takes off several kinds of memory names the slowest, unless it has been under way for long, and tells nothing about the faster ones' latency.
func TestWaitsForSeveral(t *testing.T) {
	load, lds, scalar := Site{Class: isa.Global, Adds: AddsLoad}, Site{Class: isa.LDS, Adds: AddsLDS}, Site{Class: isa.SMEM_, Adds: AddsLDS}
	flat := Site{Class: isa.Flat, Adds: AddsLoad | AddsLDS}
	both := Site{Class: isa.Wait, Waits: Waits{Load: 0, Store: -1, LDS: 0, Scalar: -1}}
	for _, c := range []struct {
		name          string
		first, second Site
		later         int64 // by how much the second one issues later
		named         int32
		loads         [2]int64
		drained       int64
	}{
		{"load, LDS", load, lds, 1, 0, [2]int64{1, 0}, 1},
		{"LDS, load", lds, load, 1, 1, [2]int64{0, 1}, 1},
		{"load, LDS much later", load, lds, 2000, 1, [2]int64{1, 0}, 1},
		{"scalar, LDS", scalar, lds, 1, 0, [2]int64{1, 0}, 0},
		{"scalar, LDS much later", scalar, lds, 600, 1, [2]int64{1, 0}, 0},
		{"load, scalar", load, scalar, 600, 1, [2]int64{1, 0}, 1},
		{"load, load", load, load, 1, 1, [2]int64{1, 1}, 2},
		{"LDS, LDS", lds, lds, 1, 1, [2]int64{1, 1}, 0},
		{"flat alone", flat, Site{Class: isa.VALU}, 1, 0, [2]int64{1, 0}, 1},
	} {
		sites := []Site{c.first, c.second, both}
		p := runWhole([]wholeWave{{Wave{Stop: 5000}, []Inst{{0, 0, 1, 0}, {c.later, 0, 1, 1}, {c.later + 1, 700, 701, 2}}}}, sites)
		w := &p.Insts[2]
		if len(w.WaitedFor) != 1 || w.WaitedFor[c.named] != 701 || w.Drained != c.drained {
			t.Errorf("%s: waited for %v, drained %d", c.name, w.WaitedFor, w.Drained)
		}
		if got := [2]int64{p.Insts[0].Loads, p.Insts[1].Loads}; got != c.loads {
			t.Errorf("%s: latencies of %v accesses, want %v", c.name, got, c.loads)
		}
	}
	// The limits of s_waitcnt vmcnt(0) lgkmcnt(0) and of s_wait_loadcnt_dscnt 0x102.
	if s := decoded(t, isa.RDNA3, 0x07, 0x00, 0x89, 0xbf); s.Waits != (Waits{0, -1, 0, -1}) {
		t.Errorf("%+v", s.Waits)
	}
	if s := decoded(t, isa.RDNA4, 0x02, 0x01, 0xc8, 0xbf); s.Waits != (Waits{1, -1, 2, -1}) {
		t.Errorf("%+v", s.Waits)
	}
}

// GFX9 writes a record when a wave comes to a barrier and one when it leaves: that is one hit, however the stream is cut.
func TestBarrierOnce(t *testing.T) {
	sites := []Site{{Class: isa.Barrier}, {Class: isa.VALU}}
	recs := []Inst{{10, 0, 4, 0}, {90, 0, 4, 0}, {100, 0, 4, 1}, {110, 0, 4, 0}, {150, 0, 4, 0}}
	for cut := range len(recs) + 1 {
		for _, late := range []bool{false, true} { // the end comes behind
			r := NewRun()
			for _, s := range sites {
				r.AddSite(s)
			}
			l := r.Begin(Wave{})
			r.Add(l, recs[:cut])
			if cut < len(recs) {
				r.Advance(recs[cut].Time)
			}
			r.Add(l, recs[cut:])
			if late {
				r.Advance(200)
			}
			r.End(l, 200)
			p := r.Close()
			if c := p.Insts[0].Cost; c != (Cost{Hits: 2, Idle: 10 + 6 + 46, Stall: 90 + 44}) {
				t.Errorf("cut at %d: barrier %+v", cut, c)
			}
			if c := p.Insts[1].Cost; c != (Cost{Hits: 1, Issue: 4}) {
				t.Errorf("cut at %d: behind it %+v", cut, c)
			}
		}
	}
}
