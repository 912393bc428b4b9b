package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/isa"
)

// turn is one pass of a made-up loop: a site, the cycles it stalls, the cycles it runs.
type turn struct{ site, stall, run int32 }

// adviceOf gives the rules that speak of waves that run a loop so many times, the waves starting one cycle after another.
func adviceOf(sites []analysis.Site, loop []turn, times, waves int) []Advice {
	var list []wholeWave
	for s := range waves {
		w := wholeWave{Wave: analysis.Wave{Slot: s, Start: int64(s)}}
		at := w.Start
		for range times {
			for _, t := range loop {
				w.Insts = append(w.Insts, analysis.Inst{Time: at, Stall: t.stall, Dur: t.stall + t.run, Site: t.site})
				at += int64(t.stall + t.run)
			}
		}
		w.Stop = at
		list = append(list, w)
	}
	for i := range sites {
		sites[i].Where = analysis.Where{Object: 9, PC: uint64(0x100 + 4*i)}
	}
	return newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100", partOf(list, sites), nil, nil, none(newQuality())).Advise()
}

func waitSite(load, lds int16) analysis.Site {
	return analysis.Site{Class: isa.Wait, Waits: analysis.Waits{Load: load, Store: -1, LDS: lds, Scalar: -1}}
}

// Only what a full queue of all waves does not explain is a bank conflict.
func TestConflicts(t *testing.T) {
	read := func(words uint8) analysis.Site {
		return analysis.Site{Class: isa.LDS, Adds: analysis.AddsLDS, Words: words}
	}
	load := analysis.Site{Class: isa.Global, Adds: analysis.AddsLoad}
	loop := func(reads int, stall int32) []turn {
		return append(slices.Repeat([]turn{{0, 0, 1}}, reads), turn{1, stall, 1})
	}
	few := slices.Concat(slices.Repeat(loop(1, 40), 9), loop(1, 600)) // one in ten waits for something else
	for _, c := range []struct {
		name     string
		sites    []analysis.Site
		loop     []turn
		waves    int
		conflict bool
	}{
		{"one read, slow", []analysis.Site{read(1), waitSite(-1, 0)}, loop(1, 300), 2, true},
		{"one read, fast", []analysis.Site{read(1), waitSite(-1, 0)}, loop(1, 60), 2, false},
		{"a full queue", []analysis.Site{read(4), waitSite(-1, 0)}, loop(16, 300), 4, false},
		{"a full queue that takes longer than it should", []analysis.Site{read(4), waitSite(-1, 0)}, loop(16, 1500), 4, true},
		{"few are slow", []analysis.Site{read(1), waitSite(-1, 0)}, few, 2, false},
		{"vector memory came with it", []analysis.Site{read(1), waitSite(0, 0), load}, append([]turn{{2, 0, 1}}, loop(1, 300)...), 2, false},
	} {
		var rules []string
		for _, a := range adviceOf(c.sites, c.loop, 20, c.waves) {
			if a.Rule == "lds-conflict" || a.Rule == "lds-wait" {
				rules = append(rules, a.Rule)
			}
		}
		if got := slices.Contains(rules, "lds-conflict"); got != c.conflict || len(rules) > 1 {
			t.Errorf("%s: %v", c.name, rules)
		}
	}
}

// Each rule speaks where its fault is and is silent without it, names an instruction, and has numbers.
func TestEachRule(t *testing.T) {
	load := analysis.Site{Class: isa.Global, Adds: analysis.AddsLoad}
	lds := analysis.Site{Class: isa.LDS, Adds: analysis.AddsLDS, Words: 1}
	scalar := analysis.Site{Class: isa.SMEM_, Adds: analysis.AddsLDS}
	valu := analysis.Site{Class: isa.VALU}
	work := slices.Repeat([]turn{{2, 0, 4}}, 8) // more than may stand between a load and its wait
	for _, c := range []struct {
		rule         string
		sites        []analysis.Site
		loop         []turn
		times, waves int
		site         int // that it names
		not          []turn
		notWaves     int
	}{
		{"memory-wait", []analysis.Site{load, waitSite(0, -1), valu}, []turn{{0, 0, 1}, {1, 900, 1}, {2, 0, 4}}, 1, 2, 1, []turn{{0, 0, 1}, {1, 1, 1}, {2, 0, 600}}, 2},
		{"memory-bound", []analysis.Site{load, waitSite(0, -1), valu}, []turn{{0, 0, 1}, {1, 900, 1}, {2, 0, 4}}, 1, 8, 1, []turn{{0, 0, 1}, {1, 900, 1}, {2, 0, 4}}, 2},
		{"wait-for-all", []analysis.Site{load, waitSite(0, -1), valu}, []turn{{0, 0, 1}, {0, 0, 1}, {1, 300, 1}, {2, 0, 4}}, 20, 2, 1, []turn{{0, 0, 1}, {1, 300, 1}, {2, 0, 4}}, 2},
		{"dependent-load", []analysis.Site{load, waitSite(0, -1), valu}, []turn{{0, 0, 1}, {1, 300, 1}}, 20, 2, 0, append([]turn{{0, 0, 1}}, append(work, turn{1, 300, 1})...), 2},
		{"scalar-load-loop", []analysis.Site{scalar, waitSite(-1, 0), valu}, append([]turn{{0, 0, 1}}, append(work, turn{1, 100, 1})...), 20, 2, 0, append([]turn{{0, 0, 1}}, append(work, turn{1, 0, 1})...), 2},
		{"scalar-load-once", []analysis.Site{scalar, waitSite(-1, 0), valu}, []turn{{0, 0, 1}, {1, 900, 1}, {2, 0, 4}}, 2, 2, 1, []turn{{0, 0, 1}, {1, 5, 1}, {2, 0, 600}}, 2},
		{"lds-wait", []analysis.Site{lds, waitSite(-1, 0), valu}, []turn{{0, 0, 1}, {1, 50, 1}}, 20, 2, 1, []turn{{0, 0, 1}, {1, 300, 1}}, 2},
		{"lds-conflict", []analysis.Site{lds, waitSite(-1, 0), valu}, []turn{{0, 0, 1}, {1, 300, 1}}, 20, 2, 1, []turn{{0, 0, 1}, {1, 50, 1}}, 2},
		{"simd-idle", []analysis.Site{load, waitSite(-1, -1), valu}, []turn{{2, 0, 600}}, 2, 1, 2, []turn{{2, 0, 600}}, 4},
		{"barrier-imbalance", []analysis.Site{load, {Class: isa.Barrier}, valu}, []turn{{2, 0, 100}, {1, 900, 1}}, 2, 2, 1, []turn{{2, 0, 900}, {1, 20, 1}}, 2},
		{"store-drain", []analysis.Site{load, {Class: isa.End}, valu}, []turn{{2, 0, 100}, {1, 3000, 1}}, 1, 2, 1, []turn{{2, 0, 3000}, {1, 20, 1}}, 2},
	} {
		spoke := func(loop []turn, waves int) *Advice {
			list := adviceOf(slices.Clone(c.sites), loop, c.times, waves)
			for i := range list {
				if list[i].Rule == c.rule {
					return &list[i]
				}
			}
			return nil
		}
		a := spoke(c.loop, c.waves)
		if a == nil {
			t.Errorf("%s is silent", c.rule)
			continue
		}
		if want := fmt.Sprintf("%#x", 0x100+4*c.site); a.Address != want || a.Insn == "" || a.Source == "" || a.Cycles < minCycles || !strings.ContainsAny(a.Evidence, "0123456789") {
			t.Errorf("%s: %+v", c.rule, a)
		}
		if a := spoke(c.not, c.notWaves); a != nil {
			t.Errorf("%s speaks without its fault: %+v", c.rule, a)
		}
	}
	q := newQuality()
	q.Note(capture.Loss, "", "a buffer was full")
	q.WavesStartOnly = 3
	list := newHot(DeviceDoc{}, "gfx1100", nil, nil, nil, none(q)).Advise()
	if len(list) != 1 || list[0].Rule != "incomplete" || !strings.Contains(list[0].Evidence, "3 begun") {
		t.Errorf("%+v", list)
	}
}

// The instruction with most exposed cycles is that of all kernels that ran it.
func TestIdleInShared(t *testing.T) {
	site := func(pc uint64, kernel int32) analysis.Site {
		return analysis.Site{Where: analysis.Where{PC: pc}, Kernel: kernel, Class: isa.VALU}
	}
	var waves []wholeWave
	for i, cycles := range []int32{6000, 6000, 10000} {
		waves = append(waves, wholeWave{analysis.Wave{SIMD: i, Stop: int64(cycles)}, []analysis.Inst{{Dur: cycles, Site: int32(i)}}})
	}
	h := newHot(DeviceDoc{}, "gfx1100", partOf(waves, []analysis.Site{site(8, 1), site(8, 2), site(16, 1)}), nil, nil, none(newQuality()))
	for _, a := range h.Advise() {
		if a.Rule == "simd-idle" && a.Address == "0x8" && strings.Contains(a.Evidence, " 12000 of them here") {
			return
		}
	}
	t.Errorf("%+v", h.Advise())
}
