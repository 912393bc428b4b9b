package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rigprof/rigprof/internal/isa"
)

// Wave is one traced wave; Stop is not before Start.
type Wave struct {
	Dispatch       int
	Engine         int
	CU, SIMD, Slot int
	Start, Stop    int64
	Insts          []Inst
}

// Inst is one executed instruction of a wave.
type Inst struct {
	Time  int64 // it stood ready to issue
	Stall int32 // cycles until it issued
	Dur   int32 // stall and run
	Site  int32 // index into the sites
}

// Where is an instruction of a code object; PC is the file's virtual address. Object -1: not known, PC is the runtime's.
type Where struct {
	Object int
	PC     uint64
}

// Site is one instruction of the code.
type Site struct {
	Where
	Class isa.Class
	Adds  Counters // that it keeps busy until its data is there
	Waits Waits    // of waits: how much may be left
}

// Cost is cycles of waves.
type Cost struct {
	Hits   int64 `json:"hits"`
	Idle   int64 `json:"idle"`
	Stall  int64 `json:"stall"`
	Issue  int64 `json:"issue"`
	Hidden int64 `json:"hidden"`
}

// Cycles is the whole: idle, stall and issue.
func (c Cost) Cycles() int64 { return c.Idle + c.Stall + c.Issue }

// Exposed is the cycles that nothing hid.
func (c Cost) Exposed() int64 { return c.Cycles() - c.Hidden }

// Add adds another cost.
func (c *Cost) Add(o Cost) {
	c.Hits += o.Hits
	c.Idle += o.Idle
	c.Stall += o.Stall
	c.Issue += o.Issue
	c.Hidden += o.Hidden
}

// Profile is what the waves cost.
type Profile struct {
	Total Cost
	Insts []InstCost // of each site
	Waves []Cost     // of each wave
	Idle  Cost       // of waves without a traced instruction

	// Occupancy is how many traced waves shared a SIMD on average while any ran there.
	Occupancy float64
}

// InstCost is one instruction's cost over all waves.
type InstCost struct {
	Site
	Cost
	Waves    int64 // that ran it
	MaxStall int64

	// Of memory instructions that a wait waited for: cycles from issue to the end of that wait, an upper bound of their latency.
	Loads, LatencySum, LatencyMax int64
	Between                       int64 // instructions between them and those waits, in all
	// Of waits: cycles by the site waited for, and how many instructions they waited for in all.
	WaitedFor map[int32]int64
	Drained   int64

	lastWave int
}

// pipe ranks. An instruction that no pipe runs has rank 0 as well: anything of a pipe hides it.
const (
	rankNone   = 0
	rankScalar = 1
	rankMemory = 2
	rankVector = 3
	rankMatrix = 4
	numRank    = 5
)

func rankOf(c isa.Class) int {
	switch c {
	case isa.Matrix:
		return rankMatrix
	case isa.VALU, isa.VALUTrans, isa.VALU64:
		return rankVector
	case isa.VMEM, isa.Global, isa.Flat, isa.Scratch, isa.LDS, isa.Image, isa.Export:
		return rankMemory
	case isa.SALU, isa.SMEM_:
		return rankScalar
	}
	return rankNone
}

// window is an instruction's share of its wave's life: idle from begin to ready, stall from ready to issue, issue to end, and tail
// cycles of idle after it that nothing followed.
type window struct{ begin, ready, issue, end int64 }

// windows calls f with the window of each instruction in order; they follow each other without gap from the wave's start.
func (w *Wave) windows(f func(i int, x window)) {
	prev := w.Start
	for i := range w.Insts {
		in := &w.Insts[i]
		ready := max(in.Time, prev)
		issue := max(in.Time+int64(in.Stall), ready)
		end := max(in.Time+int64(in.Dur), issue)
		ready, issue, end = min(ready, w.Stop), min(issue, w.Stop), min(end, w.Stop)
		f(i, window{prev, ready, issue, end})
		prev = end
	}
}

// Run analyses waves. Waves of one SIMD may come in any order.
func Run(waves []Wave, sites []Site) *Profile {
	p := &Profile{Insts: make([]InstCost, len(sites)), Waves: make([]Cost, len(waves))}
	for i := range sites {
		p.Insts[i].Site = sites[i]
	}
	by := map[simdKey][]int{}
	var order []simdKey
	for i := range waves {
		k := simdKey{waves[i].Dispatch, waves[i].Engine, waves[i].CU, waves[i].SIMD}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], i)
	}
	for _, k := range order {
		busy := busyOf(waves, by[k], sites)
		for _, i := range by[k] {
			p.wave(i, &waves[i], busy)
		}
	}
	p.Occupancy = occupancy(waves, by)
	return p
}

// occupancy is the sum of the waves' lives over the time in which any of their SIMD ran.
func occupancy(waves []Wave, by map[simdKey][]int) float64 {
	var lives, busy int64
	for _, list := range by {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(waves[a].Start, waves[b].Start) })
		var until int64
		for n, i := range list {
			w := &waves[i]
			lives += w.Stop - w.Start
			if n == 0 {
				until = w.Start
			}
			if w.Stop > until {
				busy += w.Stop - max(w.Start, until)
				until = w.Stop
			}
		}
	}
	if busy == 0 {
		return 0
	}
	return float64(lives) / float64(busy)
}

type simdKey struct{ dispatch, engine, cu, simd int }

func (p *Profile) wave(i int, w *Wave, busy *busyTimes) {
	var sum Cost
	last := w.Start
	var lastInst *InstCost
	var q queues
	w.windows(func(k int, x window) {
		ic := &p.Insts[w.Insts[k].Site]
		c := Cost{Hits: 1, Idle: x.ready - x.begin, Stall: x.issue - x.ready, Issue: x.end - x.issue}
		r := rankOf(ic.Class)
		c.Hidden = busy.overlap(max(r, rankScalar), x.begin, x.issue) + busy.overlap(r+1, x.issue, x.end)
		ic.Cost.Add(c)
		ic.MaxStall = max(ic.MaxStall, c.Stall)
		if ic.lastWave != i+1 {
			ic.lastWave = i + 1
			ic.Waves++
		}
		sum.Add(c)
		last, lastInst = x.end, ic
		q.step(p, w.Insts[k].Site, x)
	})
	if tail := w.Stop - last; tail > 0 {
		c := Cost{Idle: tail, Hidden: busy.overlap(rankScalar, last, w.Stop)}
		sum.Add(c)
		if lastInst != nil {
			lastInst.Cost.Add(c)
		} else {
			p.Idle.Add(c)
		}
	}
	p.Waves[i] = sum
	p.Total.Add(sum)
}

// Sorted lists the instructions that ran by falling key, at equal keys by place.
func (p *Profile) Sorted(key func(*InstCost) int64) []*InstCost {
	list := make([]*InstCost, 0, len(p.Insts))
	for i := range p.Insts {
		if p.Insts[i].Hits > 0 {
			list = append(list, &p.Insts[i])
		}
	}
	slices.SortFunc(list, func(a, b *InstCost) int {
		return cmp.Or(cmp.Compare(key(b), key(a)), cmp.Compare(a.Object, b.Object), cmp.Compare(a.PC, b.PC))
	})
	return list
}

// busyTimes is when a SIMD's pipes ran: by[r] is the merged times of pipes of rank r and higher.
type busyTimes struct{ by [numRank + 1]merged }

// merged is disjoint intervals in order; sum[i] is the length of those before i.
type merged struct {
	from, to []int64
	sum      []int64
}

func busyOf(waves []Wave, list []int, sites []Site) *busyTimes {
	type span struct{ from, to int64 }
	var spans [numRank][]span
	for _, i := range list {
		w := &waves[i]
		for k := range w.Insts {
			in := &w.Insts[k]
			if r := rankOf(sites[in.Site].Class); r > rankNone && in.Dur > in.Stall {
				spans[r] = append(spans[r], span{in.Time + int64(in.Stall), in.Time + int64(in.Dur)})
			}
		}
	}
	b := &busyTimes{}
	var all []span
	for r := numRank - 1; r >= rankScalar; r-- {
		all = append(all, spans[r]...)
		slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		m := &b.by[r]
		for _, s := range all {
			if n := len(m.to); n > 0 && s.from <= m.to[n-1] {
				m.to[n-1] = max(m.to[n-1], s.to)
				continue
			}
			m.from, m.to = append(m.from, s.from), append(m.to, s.to)
		}
		m.sum = make([]int64, len(m.from)+1)
		for i := range m.from {
			m.sum[i+1] = m.sum[i] + m.to[i] - m.from[i]
		}
	}
	return b
}

// overlap is how much of from..to the pipes of at least the rank were busy.
func (b *busyTimes) overlap(rank int, from, to int64) int64 {
	if rank >= numRank || to <= from {
		return 0
	}
	m := &b.by[rank]
	return m.until(to) - m.until(from)
}

// until is the busy time before t.
func (m *merged) until(t int64) int64 {
	i := sort.Search(len(m.from), func(i int) bool { return m.from[i] >= t })
	if i == 0 {
		return 0
	}
	return m.sum[i-1] + min(m.to[i-1], t) - m.from[i-1]
}

// State is what a wave does at a time.
type State uint8

// The states, in the order of a window's parts.
const (
	Idle State = iota
	Stall
	Issue
)

// States calls f with the wave's states from its start to its end, in order and without gaps.
func (w *Wave) States(f func(s State, from, to int64)) {
	last := w.Start
	w.windows(func(_ int, x window) {
		f(Idle, x.begin, x.ready)
		f(Stall, x.ready, x.issue)
		f(Issue, x.issue, x.end)
		last = x.end
	})
	f(Idle, last, w.Stop)
}
