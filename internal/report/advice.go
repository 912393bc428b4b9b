package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/isa"
)

// Advice is one rule that the numbers support.
type Advice struct {
	Rule     string `json:"rule"`
	Title    string `json:"title"`
	Evidence string `json:"evidence"` // with its numbers
	Cycles   int64  `json:"cycles"`   // wave cycles at stake
	Kernel   string `json:"kernel,omitempty"`
	Address  string `json:"address,omitempty"`
	Insn     string `json:"instruction,omitempty"`
	Source   string `json:"source,omitempty"`
}

// Rule is one rule and its explanation.
type Rule struct {
	Name    string
	Title   string
	Explain string
	check   func(h *Hot, r *Rule) []Advice
}

// Thresholds. They are ours: below them the numbers are noise or not worth a change.
const (
	worthShare = 0.05 // of all wave cycles
	lowWaves   = 4    // waves on a SIMD at once that hide little
	minCycles  = 500
)

// Rules are all rules, in the order in which advice is given.
func Rules() []Rule { return rules }

var rules = []Rule{
	{
		"memory-wait", "waits for vector memory that few waves hide",
		"A wait (s_waitcnt vmcnt, s_wait_loadcnt, …) stalls until loads come back. Other waves of the SIMD could run meanwhile. The rule " +
			"speaks when waits cost at least 5 % of all wave cycles, most of them exposed (no other wave ran), and names how many waves shared the SIMD. " +
			"More waves (fewer registers or less LDS per workgroup, a larger grid), or loads issued earlier, hide the latency.",
		memoryWait,
	},
	{
		"memory-bound", "waits for vector memory although many waves share the SIMD",
		"Waits for loads cost at least 20 % of all wave cycles, and half of that or more is exposed although four or more waves share the SIMD: they all wait. More waves will " +
			"not help. Fetch less (reuse data in LDS or registers), make lanes of a wave read neighbouring addresses, use wider loads.",
		memoryBound,
	},
	{
		"wait-for-all", "a wait in a loop that drains every outstanding load",
		"A wait in a loop (8 or more times in each wave) lets no load stay outstanding although two or more are each time, and costs at least 5 % of all wave cycles. " +
			"Where the first value is used before the others, wait for it alone (vmcnt(N), loadcnt N with N > 0) and let the rest arrive meanwhile; compilers do this when loads and uses are apart.",
		waitForAll,
	},
	{
		"lds-wait", "waits for LDS",
		"A wait for LDS (lgkmcnt, dscnt) costs at least 5 % of all wave cycles, and bank conflicts do not show in the kernel. Where an access takes some tens of cycles its data is needed " +
			"at once: issue it earlier, load several at once (ds_load_b128), or let more waves share the SIMD. Where it takes hundreds it stands behind others in a full queue: read " +
			"less from LDS, for one by keeping values in registers.",
		ldsWait,
	},
	{
		"lds-conflict", "LDS accesses that take long: bank conflicts",
		"Waits for LDS accesses of a kernel cost at least 5 % of all wave cycles, and these accesses are slower than a full LDS queue explains: half of those whose end a wait shows take one and a half times " +
			"as long or longer as one access alone (64 cycles) and all that the waves sharing the LDS have outstanding with it, served 32 dwords at a time. Waits that took off other memory, too, or that begin a line " +
			"of code do not count. Lanes that reach one bank at different addresses are served one after the other: words 2, 4, 8, 16 or 32 apart take as many turns. Where " +
			"few waves run, short strides cost little, and the rule is silent. Pad rows by one element, or change the stride to an odd number.",
		ldsConflict,
	},
	{
		"scalar-load-loop", "scalar loads in a loop",
		"A scalar load runs again and again in each wave (hits per wave of 8 or more) and its wait costs at least 5 % of the cycles. Move loads of " +
			"values that do not change out of the loop, or load several at once (s_load_b128 and wider).",
		scalarLoop,
	},
	{
		"scalar-load-once", "waits for kernel arguments and other scalar loads outside loops",
		"Waits for scalar loads that a wave runs fewer than 8 times, such as those of the kernel's arguments, cost at least 10 % of all wave cycles in a kernel, most of them exposed. Each wave pays their whole latency " +
			"before it can begin. Let a wave do more (fewer waves, each in a loop over its elements), put work that needs no argument before the wait, load all at once (s_load_b256 and wider), pass " +
			"fewer arguments; on gfx90a, gfx942 and gfx950 the compiler can have arguments preloaded into registers (clang: -mllvm -amdgpu-kernarg-preload-count=16).",
		scalarOnce,
	},
	{
		"dependent-load", "loads that are waited for at once, in a loop",
		"A load in a loop is waited for within the next few instructions, every time: each turn pays the memory's whole latency. Load for the next turn " +
			"before working on this one. Where the next address comes from the data (pointer chasing), work on several chains at once or change the data structure.",
		dependentLoad,
	},
	{
		"barrier-imbalance", "waves wait for each other at barriers",
		"Time between waves' arrival at a kernel's barriers and their leaving costs at least 15 % of all wave cycles: the waves of a workgroup reach them at different times. " +
			"Balance the work between barriers, or use smaller workgroups.",
		barrierWait,
	},
	{
		"divergence", "branches that lanes of a wave take both ways",
		"An if on the exec mask runs its code for part of the lanes, then its else for the others: each side costs a full issue while lanes idle. A side that no lane needs is jumped over. The rule speaks " +
			"where most executions run both sides, so that lanes of one wave went both ways, and these sides cost at least 5 % of all wave cycles. How many lanes went which way no token tells. It sees no if whose " +
			"sides the compiler left without a branch (short ones) and none without an else. Sort work by path, or compute both sides without a branch if they are short.",
		divergence,
	},
	{
		"store-drain", "waves wait for their stores before they can end",
		"A wave's slot is free only once its stores are done. Time at s_endpgm costs at least 20 % of all wave cycles: writes are slow, most often since the lanes of a wave write " +
			"to addresses far apart. Let neighbouring lanes write neighbouring addresses (through LDS if need be), or write wider elements.",
		storeDrain,
	},
	{
		"simd-idle", "the SIMD has too few waves",
		"On average fewer than two waves shared the traced SIMD, and at least 5 % of all wave cycles are exposed. With one wave nothing hides any latency. The instruction named is the one with most " +
			"exposed cycles. Launch more workgroups, or let more fit (registers, LDS).",
		simdIdle,
	},
	{
		"incomplete", "the trace is not whole",
		"Tokens, waves or bytes are missing, so the numbers miss what was lost. See the quality block for what to change.",
		incomplete,
	},
}

// Advise runs every rule; the order is the rules', within one the cycles at stake.
func (h *Hot) Advise() []Advice {
	list := []Advice{}
	for i := range rules {
		list = append(list, rules[i].check(h, &rules[i])...)
	}
	return list
}

func (h *Hot) at(r *Rule, c *analysis.InstCost, cycles int64, format string, args ...any) Advice {
	p := h.Place(c.Where)
	return Advice{
		Rule: r.Name, Title: r.Title, Cycles: cycles, Evidence: fmt.Sprintf(format, args...),
		Kernel: h.kernelName(c.Kernel), Address: addressOf(c.Where), Insn: p.Text, Source: p.Line(),
	}
}

// worth says whether cycles are enough to speak of.
func (h *Hot) worth(cycles int64) bool {
	return cycles >= minCycles && float64(cycles) >= worthShare*float64(h.Profile.Total.Cycles())
}

func (h *Hot) share(cycles int64) string {
	return percent(cycles, h.Profile.Total.Cycles()) + " % of all wave cycles"
}

// waits calls f for each wait, with what it waited for most.
func (h *Hot) waits(f func(wait *analysis.InstCost, load *analysis.InstCost, cycles int64)) {
	for _, c := range h.Profile.Sorted(func(c *analysis.InstCost) int64 { return c.Stall + c.Idle }) {
		if c.Class != isa.Wait {
			continue
		}
		var best *analysis.InstCost
		var most int64
		for site, n := range c.WaitedFor {
			if l := &h.Profile.Insts[site]; best == nil || n > most || n == most && l.PC < best.PC {
				best, most = l, n
			}
		}
		f(c, best, c.Cycles())
	}
}

func isVMEM(c isa.Class) bool {
	return c == isa.VMEM || c == isa.Global || c == isa.Flat || c == isa.Scratch || c == isa.Image
}

func memoryWait(h *Hot, r *Rule) []Advice {
	var list []Advice
	occ := h.occupancy()
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || !isVMEM(load.Class) || !h.worth(cycles) || wait.Exposed()*2 < cycles || occ >= lowWaves || len(list) >= 3 {
			return
		}
		p := h.Place(load.Where)
		list = append(list, h.at(r, wait, cycles, "%d cycles (%s), %d of them exposed, waiting for %s at %s (%s); %.1f waves shared the SIMD",
			cycles, h.share(cycles), wait.Exposed(), p.Text, fmt.Sprintf("%#x", load.PC), p.Line(), occ))
	})
	return list
}

func memoryBound(h *Hot, r *Rule) []Advice {
	var list []Advice
	occ := h.occupancy()
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || !isVMEM(load.Class) || occ < lowWaves || !h.worth(cycles/4) || wait.Exposed()*2 < cycles || len(list) >= 3 {
			return
		}
		p := h.Place(load.Where)
		list = append(list, h.at(r, wait, cycles, "%d cycles (%s), %d of them exposed though %.1f waves shared the SIMD, waiting for %s at %#x (%s)",
			cycles, h.share(cycles), wait.Exposed(), occ, p.Text, load.PC, p.Line()))
	})
	return list
}

func waitForAll(h *Hot, r *Rule) []Advice {
	var list []Advice
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || !isVMEM(load.Class) || wait.Site.Waits.Load != 0 || wait.Waves == 0 || wait.Hits < loopHits*wait.Waves || wait.Drained < 2*wait.Hits ||
			!h.worth(cycles) || len(list) >= 3 {
			return
		}
		list = append(list, h.at(r, wait, cycles, "waits for %.1f loads each of the %d times it runs in a wave: %d cycles (%s)",
			float64(wait.Drained)/float64(wait.Hits), wait.Hits/wait.Waves, cycles, h.share(cycles)))
	})
	return list
}

func scalarLoop(h *Hot, r *Rule) []Advice {
	var list []Advice
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || load.Class != isa.SMEM_ || atOnce(load) || load.Waves == 0 || load.Hits < loopHits*load.Waves || !h.worth(cycles) || len(list) >= 3 {
			return
		}
		list = append(list, h.at(r, load, cycles, "runs %d times in each wave; waits for it cost %d cycles (%s)", load.Hits/load.Waves, cycles, h.share(cycles)))
	})
	return list
}

// scalarOnce joins the waits of a kernel.
func scalarOnce(h *Hot, r *Rule) []Advice {
	type sum struct {
		kernel     int32
		wait, load *analysis.InstCost // that cost most
		cycles     int64
		exposed    int64
		waits      int64
	}
	var sums []*sum
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || load.Class != isa.SMEM_ || load.Hits >= loopHits*load.Waves {
			return
		}
		i := slices.IndexFunc(sums, func(s *sum) bool { return s.kernel == wait.Kernel })
		if i < 0 {
			i = len(sums)
			sums = append(sums, &sum{kernel: wait.Kernel, wait: wait, load: load})
		}
		sums[i].cycles += cycles
		sums[i].exposed += wait.Exposed()
		sums[i].waits++
	})
	var list []Advice
	for _, s := range sums {
		if !h.worth(s.cycles/2) || s.exposed*2 < s.cycles || len(list) >= 3 {
			continue
		}
		p := h.Place(s.load.Where)
		list = append(list, h.at(r, s.wait, s.cycles, "%d cycles (%s), %d of them exposed, at %s for scalar loads that a wave runs once or a few times; %d of them here, %d a wave, for %s at %#x (%s)",
			s.cycles, h.share(s.cycles), s.exposed, Plural(s.waits, "wait"), s.wait.Cycles(), s.wait.Cycles()/max(s.wait.Waves, 1), p.Text, s.load.PC, p.Line()))
	}
	return list
}

// loopHits is how often a wave runs an instruction at least for it to count as in a loop.
const loopHits = 8

// maxBetween is how many instructions may stand between a load and its wait for the wait to be at once.
const maxBetween = 6

// atOnce says whether a load runs in a loop and is waited for within a few instructions, nearly every time.
func atOnce(load *analysis.InstCost) bool {
	return load.Waves > 0 && load.Hits >= loopHits*load.Waves && load.Loads*10 >= load.Hits*9 && load.Between <= maxBetween*load.Loads
}

func dependentLoad(h *Hot, r *Rule) []Advice {
	var list []Advice
	h.waits(func(wait, load *analysis.InstCost, cycles int64) {
		if load == nil || !isVMEM(load.Class) && load.Class != isa.SMEM_ || !atOnce(load) || !h.worth(cycles) || len(list) >= 3 {
			return
		}
		list = append(list, h.at(r, load, cycles, "runs %d times in each wave and is waited for every time: %d cycles from issue to data on average, %d cycles in all (%s)",
			load.Hits/load.Waves, load.LatencySum/max(load.Loads, 1), cycles, h.share(cycles)))
	})
	return list
}

// barrierShare is of all wave cycles. Waves whose work is balanced wait for each other too: some issue first.
const barrierShare = 0.15

// barrierWait joins the barriers of a kernel: waves that are late once are late at each.
func barrierWait(h *Hot, r *Rule) []Advice {
	type sum struct {
		worst                        *analysis.InstCost
		cycles, hits, longest, sites int64
	}
	kernels := map[int32]*sum{}
	var order []*sum
	for _, c := range h.Profile.Sorted(func(c *analysis.InstCost) int64 { return c.Cycles() }) {
		if c.Class != isa.Barrier {
			continue
		}
		k := c.Kernel
		s := kernels[k]
		if s == nil {
			s = &sum{worst: c}
			kernels[k] = s
			order = append(order, s)
		}
		s.cycles, s.longest = s.cycles+c.Cycles(), max(s.longest, c.MaxStall)
		if !strings.HasPrefix(h.Place(c.Where).Text, "s_barrier_signal") { // RDNA4 splits a barrier: waves wait behind it
			s.hits, s.sites = s.hits+c.Hits, s.sites+1
		}
	}
	var list []Advice
	for _, s := range order {
		if float64(s.cycles) < barrierShare*float64(h.Profile.Total.Cycles()) || !h.worth(s.cycles) {
			continue
		}
		list = append(list, h.at(r, s.worst, s.cycles, "%d cycles (%s) at %s, %d arrivals, %d on average, the longest %d; here %d",
			s.cycles, h.share(s.cycles), Plural(s.sites, "barrier"), s.hits, s.cycles/max(s.hits, 1), s.longest, s.worst.Cycles()))
	}
	return list
}

func storeDrain(h *Hot, r *Rule) []Advice {
	for _, c := range h.Profile.Sorted(func(c *analysis.InstCost) int64 { return c.Cycles() }) {
		if c.Class == isa.End && h.worth(c.Cycles()/4) {
			return []Advice{h.at(r, c, c.Cycles(), "%d cycles (%s) between the last instruction and the end of %s, %d on average",
				c.Cycles(), h.share(c.Cycles()), Plural(c.Hits, "wave"), c.Cycles()/c.Hits)}
		}
	}
	return nil
}

func simdIdle(h *Hot, r *Rule) []Advice {
	occ := h.occupancy()
	if h.Profile.Waves == 0 || occ >= 2 || h.Profile.Total.Hits == 0 {
		return nil
	}
	exposed := h.Profile.Total.Exposed()
	if !h.worth(exposed) {
		return nil
	}
	worst := slices.MaxFunc(h.codeSums().list, func(a, b *analysis.InstCost) int { return cmp.Compare(a.Exposed(), b.Exposed()) })
	// Rounded down, so that it does not read as the threshold.
	a := h.at(r, worst, exposed, "%.2f waves on average while any ran: %d cycles (%s) are exposed, %d of them here, more than at any other instruction",
		math.Floor(100*occ)/100, exposed, h.share(exposed), worst.Exposed())
	return []Advice{a}
}

func incomplete(h *Hot, r *Rule) []Advice {
	q := &h.Quality
	var why []string
	for _, n := range q.Notes {
		if n.Level == capture.Loss {
			why = append(why, n.Text)
		}
	}
	if len(why) == 0 {
		return nil
	}
	return []Advice{{
		Rule: r.Name, Title: r.Title, Evidence: fmt.Sprintf("%s whole, %d begun and %d ended alone; %s unreadable, %s of lost tokens, %s full: %s",
			Plural(q.WavesComplete, "wave"), q.WavesStartOnly, q.WavesEndOnly, Bytes(q.BytesLost), Plural(q.PacketsLost, "report"),
			Plural(int64(len(q.BufferFull)), "buffer"), strings.Join(why, "; ")),
	}}
}

// occupancy is how many waves shared a traced SIMD on average while any ran there.
func (h *Hot) occupancy() float64 { return h.Profile.Occupancy() }

func adviceTable(list []Advice) Table {
	t := Table{Title: "advice ('rigprof hotspots --explain RULE' tells more)", Columns: []Column{Text("rule"), Text("address"), Text("where"), Text("evidence")}}
	for _, a := range list {
		where := "-"
		if a.Insn != "" {
			where = fmt.Sprintf("%s: %s", a.Source, a.Insn)
		}
		t.Add(a.Rule, dash(a.Address), where, a.Evidence)
	}
	return t
}
