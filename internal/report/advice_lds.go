package report

import (
	"slices"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/isa"
)

// ldsLatency is how long an LDS access takes when nothing is in its way, in cycles: 34 on RDNA and 60 on GFX9 in captures; with room for others.
const ldsLatency = 64

// conflictTimes is by how much an LDS access must be slower than a queue without conflicts explains. Ours.
const conflictTimes = 1.5

// minTimed is how many latencies must be known.
const minTimed = 8

// queued is how long an LDS access takes at most without bank conflicts: each wave that shares the LDS has as much outstanding as this one had
// on average, and lanes are served 32 dwords at a time. GFX9 shows time in steps of 4 cycles: a turn is one at most. The LDS of a CU serves 4 SIMDs on
// GFX9; that of a WGP has two halves for 4. Waves of SIMDs that are not traced are taken to do the same.
func (h *Hot) queued(lds *analysis.InstCost) float64 {
	lanes, step, simds := h.waveSize(lds.Where), 1.0, 2.0
	if h.arch.CDNA() {
		lanes, step, simds = 64, 4, 4
	}
	words := float64(lds.Timed.Words) / float64(lds.Timed.N)
	return ldsLatency + words*float64(lanes)/32*step*simds*h.occupancy()
}

// waveSize is the lanes of the waves that run the code at a place; 32 where it does not say.
func (h *Hot) waveSize(w analysis.Where) int {
	if w.Object >= 0 && w.Object < len(h.Objects) && h.Objects[w.Object] != nil {
		if f := h.code.at(w.Object, w.PC); f != nil && f.Wave > 0 {
			return f.Wave
		}
	}
	return 32
}

// conflicts says whether an LDS instruction takes longer than a full queue explains: half of its known latencies do, and most of its waits tell one.
func (h *Hot) conflicts(lds *analysis.InstCost) bool {
	return lds.Timed.N >= minTimed && 2*lds.Timed.N >= lds.Timed.Of && float64(lds.Timed.Median()) >= conflictTimes*h.queued(lds)
}

// slowLDS is the waits of one kernel for LDS accesses that conflict.
type slowLDS struct {
	kernel    int32
	wait, lds *analysis.InstCost // that cost most
	cycles    int64
	waits     int64
}

// slowLDS lists them by kernel.
func (h *Hot) slowLDS() []*slowLDS {
	var list []*slowLDS
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || load.Class != isa.LDS || !h.conflicts(load) {
			return
		}
		kernel := load.Kernel
		i := slices.IndexFunc(list, func(s *slowLDS) bool { return s.kernel == kernel })
		if i < 0 {
			i = len(list)
			list = append(list, &slowLDS{kernel: kernel, wait: wait, lds: load})
		}
		list[i].cycles += cycles
		list[i].waits++
	})
	return slices.DeleteFunc(list, func(s *slowLDS) bool { return !h.worth(s.cycles) })
}

func ldsConflict(h *Hot, r *Rule) []Advice {
	var list []Advice
	for _, s := range h.slowLDS() {
		p := h.Place(s.lds.Where)
		list = append(list, h.at(r, s.wait, s.cycles, "%d cycles (%s) at %s for LDS, %d of them here for %s at %#x (%s): half of %d accesses took %d cycles or more from issue "+
			"to data, and a full queue without conflicts explains %.0f", s.cycles, h.share(s.cycles), Plural(s.waits, "wait"), s.wait.Cycles(), p.Text, s.lds.PC, p.Line(), s.lds.Timed.N,
			s.lds.Timed.Median(), h.queued(s.lds)))
	}
	return list
}

// ldsWait speaks of waits for LDS in kernels without conflicts.
func ldsWait(h *Hot, r *Rule) []Advice {
	var list []Advice
	slow := h.slowLDS()
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || load.Class != isa.LDS || load.Loads == 0 || !h.worth(cycles) || len(list) >= 3 {
			return
		}
		p := h.Place(load.Where)
		if slices.ContainsFunc(slow, func(s *slowLDS) bool { return s.kernel == load.Kernel }) {
			return
		}
		list = append(list, h.at(r, wait, cycles, "%d cycles (%s) waiting for %s at %#x (%s), %d cycles from issue to data on average over %d accesses",
			cycles, h.share(cycles), p.Text, load.PC, p.Line(), load.LatencySum/load.Loads, load.Loads))
	})
	return list
}
