package analysis

import (
	"cmp"
	"slices"

	"github.com/rigprof/rigprof/internal/isa"
)

// Wave is one traced wave; Stop is not before Start.
type Wave struct {
	Dispatch       int
	Engine         int
	CU, SIMD, Slot int
	Start, Stop    int64
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

// Site is one instruction of the code, or, where kernels share a function, of the code as the waves of one kernel ran it.
type Site struct {
	Where
	Kernel int32 // that the waves ran, by the caller's numbers
	Class  isa.Class
	Adds   Counters // that it keeps busy until its data is there
	Waits  Waits    // of waits: how much may be left
	Words  uint8    // of LDS instructions: dwords that they move for each lane
}

// key tells sites apart.
func (s *Site) key() siteKey { return siteKey{s.Where, s.Kernel} }

type siteKey struct {
	Where
	kernel int32
}

func (s *Site) compare(o *Site) int {
	return cmp.Or(cmp.Compare(s.Object, o.Object), cmp.Compare(s.PC, o.PC), cmp.Compare(s.Kernel, o.Kernel))
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
	Idle  Cost       // of waves without a traced instruction
	Waves int64

	busy int64 // time in which any wave was on a SIMD, summed over SIMDs
}

// Occupancy is how many traced waves shared a SIMD on average while any ran there.
func (p *Profile) Occupancy() float64 {
	if p.busy == 0 {
		return 0
	}
	return float64(p.Total.Cycles()) / float64(p.busy)
}

// Join adds up the profiles of several streams. What the waves of one kernel ran at the same place is one; the sites stand in order of place, then kernel.
func Join(parts []*Profile) *Profile {
	p := &Profile{}
	index := map[siteKey]int32{}
	for _, part := range parts {
		for i := range part.Insts {
			c := &part.Insts[i]
			if _, ok := index[c.key()]; !ok {
				index[c.key()] = 0
				p.Insts = append(p.Insts, InstCost{Site: c.Site, rank: c.rank})
			}
		}
	}
	slices.SortFunc(p.Insts, func(a, b InstCost) int { return a.compare(&b.Site) })
	for i := range p.Insts {
		index[p.Insts[i].key()] = int32(i)
	}
	for _, part := range parts {
		p.Total.Add(part.Total)
		p.Idle.Add(part.Idle)
		p.Waves += part.Waves
		p.busy += part.busy
		remap := make([]int32, len(part.Insts))
		for i := range part.Insts {
			remap[i] = index[part.Insts[i].key()]
		}
		for i := range part.Insts {
			p.Insts[remap[i]].join(&part.Insts[i], remap)
		}
	}
	return p
}

func (c *InstCost) join(o *InstCost, remap []int32) {
	c.Cost.Add(o.Cost)
	c.Waves += o.Waves
	c.MaxStall = max(c.MaxStall, o.MaxStall)
	c.Loads += o.Loads
	c.LatencySum += o.LatencySum
	c.LatencyMax = max(c.LatencyMax, o.LatencyMax)
	c.Between += o.Between
	c.Timed.join(&o.Timed)
	c.Drained += o.Drained
	for site, n := range o.WaitedFor {
		if c.WaitedFor == nil {
			c.WaitedFor = map[int32]int64{}
		}
		c.WaitedFor[remap[site]] += n
	}
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
	Timed                         Timed // of LDS instructions: those whose latency is known
	// Of waits: cycles by the site waited for, and how many instructions of vector memory they waited for in all.
	WaitedFor map[int32]int64
	Drained   int64

	rank int
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

// Window is an instruction's share of its wave's life: idle from Begin to Ready, stall from Ready to Issue, issue from there to End.
type Window struct{ Begin, Ready, Issue, End int64 }

// Sorted lists the instructions that ran by falling key, at equal keys by place, then kernel.
func (p *Profile) Sorted(key func(*InstCost) int64) []*InstCost {
	list := make([]*InstCost, 0, len(p.Insts))
	for i := range p.Insts {
		if p.Insts[i].Hits > 0 {
			list = append(list, &p.Insts[i])
		}
	}
	slices.SortFunc(list, func(a, b *InstCost) int {
		return cmp.Or(cmp.Compare(key(b), key(a)), a.compare(&b.Site))
	})
	return list
}
