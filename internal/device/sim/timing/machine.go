package timing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
)

// window is how many cycles of one SIMD are simulated before the next one's turn. No effect of one SIMD on another is faster.
const window = 20

const never = math.MaxInt64

// busBytesPerSec is a PCIe 4.0 bus of 16 lanes.
const busBytesPerSec = 32e9

// maxCodes bounds the programs that a Machine remembers.
const maxCodes = 256

// Machine is the time model of one GPU. It lives over dispatches: caches stay warm in their second level, and the pointers by
// which workgroups are placed go on. It is for one goroutine at a time.
type Machine struct {
	g         *gpu.GPU
	p         *model
	gfx12     bool
	gfx9      bool
	vgprGrain int
	latency   [numBy][4]int32 // by consumer and producer
	memLine   int64           // 1/16 cycles of a die's memory for a line
	busLine   int64           // the same of the bus to the host
	codes     map[*shader.Program]*code

	dies    []*die
	engines []*engine
	units   []*unit
	simds   []*simd
	arrays  []*array

	codeEpoch uint64

	// of the dispatch in progress
	need      needs
	mgmt      []uint32
	pages     func(uint64) Page
	dispatch  uint32 // number of it, not 0
	taking    []int
	handed    uint64
	source    Source
	eof       bool
	kernel    *shader.Kernel
	flags     uint8
	chosen    []*simd
	tentative [4]int
	active    []*simd
	ends      heap
	launched  int64 // start of the last workgroup so far
	handedOut bool  // it was the last one
	events    eventQueue
	observers []Observer
	res       Result
	free      []*wave
	freeGroup []*group
	times     []int64 // zeros, for tally
}

// New makes the model of a GPU, all its units idle. live is Live of the device; nil: the GPU's own.
func New(g *gpu.GPU, live [][]uint32) (*Machine, error) {
	p := models()[g.Family]
	if p == nil {
		return nil, fmt.Errorf("timing: no model for %s GPUs", g.Family)
	}
	if g.SIMDs != 4 {
		return nil, fmt.Errorf("timing: a unit of %d SIMDs", g.SIMDs)
	}
	if live == nil {
		live = g.LiveUnits()
	}
	m := &Machine{g: g, p: p, gfx12: g.Family == gpu.GFX12, gfx9: g.Family == gpu.GFX9, vgprGrain: 16, codes: map[*shader.Program]*code{}}
	if g.VGPRs == 1536 {
		m.vgprGrain = 24
	}
	latency := [4][numBy]int64{
		fromVALU: {byVALU: p.valuVALU, bySALU: p.valuSALU, bySMEM: p.valuSALU, byMem: p.valuVMEM, byBranch: p.valuBranch},
		fromSALU: {byVALU: p.saluVALU, bySALU: p.saluSALU, bySMEM: p.saluSMEM, byMem: p.saluVMEM, byBranch: p.saluBranch},
		fromVCC:  {byVALU: p.maskVALU, bySALU: p.valuSALU, bySMEM: p.valuSALU, byMem: p.valuVMEM, byBranch: p.valuBranch},
		fromMask: {byVALU: p.valuVALU, bySALU: p.valuSALU, bySMEM: p.valuSALU, byMem: p.valuVMEM, byBranch: p.valuBranch},
	}
	for by := range m.latency {
		for from := range latency {
			m.latency[by][from] = int32(latency[from][by])
		}
	}
	rate := g.MemBytesPerSec
	if rate <= 0 {
		rate = 500e9
	}
	m.memLine = max(lineBytes*16*g.ClockHz/rate*int64(g.Dies), 1)
	m.busLine = max(lineBytes*16*g.ClockHz/busBytesPerSec, 1)
	m.build(live)
	return m, nil
}

func (m *Machine) build(live [][]uint32) {
	g := m.g
	cus := 2
	if m.gfx9 {
		cus = 1
	}
	for d := range g.Dies {
		channels := max(g.L2Channels, 1)
		dd := &die{
			walked: map[pageID]int64{}, l2: newL2(max(g.L2Bytes, 1<<20), channels),
			stats: make([]L2Stats, channels), l2Free: make([]int64, channels), l2Span: make([]busySpan, channels),
		}
		for range g.SEs {
			dd.engines = append(dd.engines, &engine{die: d, waves: make([]int, g.SAs)})
		}
		// The first workgroup after reset goes to engine 1 of an RDNA GPU; gfx950 captures show engines 2 and 0, in this order of frequency.
		if m.gfx9 {
			dd.next = 2 % g.SEs
		} else {
			dd.next = 1 % g.SEs
		}
		m.dies = append(m.dies, dd)
		m.engines = append(m.engines, dd.engines...)
	}
	lines := int(m.p.icacheKiB) << 10 >> codeShift
	for e, eng := range m.engines {
		for sa := range g.SAs {
			arr := &array{l1: newCache(g.L1Bytes)}
			m.arrays = append(m.arrays, arr)
			for n := range g.Units {
				u := &unit{die: m.dies[eng.die], array: arr, engine: e, sa: sa, no: n, scalar: newCache(16 << 10), icache: make([]icacheLine, lines)}
				u.live = live[e][sa]>>n&1 != 0
				for c := range cus {
					k := cu{lds: g.LDSBytes, l0: newCache(g.L0Bytes)}
					if m.gfx9 {
						k.next = n
					}
					_ = c
					u.cus = append(u.cus, k)
				}
				for i := range g.SIMDs {
					c := 0
					if cus > 1 {
						c = i & 1
					}
					s := &simd{m: m, u: u, cu: c, no: i, index: len(m.simds), vgprs: g.VGPRs, next: never}
					u.simds = append(u.simds, s)
					m.simds = append(m.simds, s)
				}
				if u.live {
					eng.units = append(eng.units, u)
				}
				m.units = append(m.units, u)
			}
		}
	}
}

// L2 is what the channels of a die's L2 counted since the Machine was made.
func (m *Machine) L2(die int) []L2Stats { return m.dies[die].stats }

// Busy is in which of the cycles so far a die's units had work.
func (m *Machine) Busy(die int) BusyStats { return m.dies[die].busy }

// Dispatch places and times the workgroups that the source hands out. It returns when all have ended; or the source's or the
// context's error, and the Machine is idle again.
func (m *Machine) Dispatch(ctx context.Context, d Dispatch, obs ...Observer) (Result, error) {
	if len(m.codes) >= maxCodes {
		clear(m.codes) // programs that were replaced since; those in use are compiled again
	}
	m.need = m.needsOf(d.Kernel)
	m.need.limits = limitsOf(d.ResourceLimits)
	m.pages = d.Pages
	m.dispatch = max(m.dispatch+1, 1)
	m.mgmt, m.source, m.kernel, m.eof, m.handed = d.ThreadMgmt, d.Source, d.Kernel, false, 0
	m.taking = append(m.taking[:0], d.Dies...)
	if len(m.taking) == 0 {
		m.taking = append(m.taking, 0)
	}
	m.flags = 0
	if d.Traced {
		m.flags |= Traced
	}
	if d.Counted {
		m.flags |= Counted
	}
	if !m.possible() {
		return Result{}, errors.New("timing: a workgroup fits no unit that the dispatch may use: its waves, VGPRs or LDS are too many, or COMPUTE_STATIC_THREAD_MGMT or COMPUTE_RESOURCE_LIMITS allows none")
	}
	m.observers = obs
	for _, s := range m.simds {
		s.detail = false
		for _, o := range obs {
			s.detail = s.detail || o.Detailed(s.u.engine, s.u.sa, s.u.no, s.no)
		}
	}
	for _, s := range m.simds {
		s.watched = s.detail || s.partner().detail
	}
	m.codeEpoch += 1 << epochShift
	for _, u := range m.units { // an acquire stands before each kernel
		u.scalar.clear()
		for c := range u.cus {
			u.cus[c].l0.clear()
		}
	}
	for _, a := range m.arrays {
		if a.l1.sets != nil {
			a.l1.clear()
		}
	}
	m.res = Result{Start: -1}
	m.launched, m.handedOut = d.Start, false
	err := m.run(ctx, d.Start+m.p.dispatchToWave)
	if m.res.Start < 0 {
		m.res.Start = d.Start
		m.res.End = max(m.res.End, d.Start)
	}
	for _, die := range m.dies {
		die.writeBack(m.p.storeMem)
	}
	m.events.endBy(m.res.End)
	m.events.flush(never, obs)
	if err != nil {
		m.abandon()
	}
	m.source, m.kernel, m.observers = nil, nil, nil
	return m.res, err
}

// possible tells whether an empty GPU has room for a workgroup of the dispatch.
func (m *Machine) possible() bool {
	for _, d := range m.taking {
		ok := false
		for _, e := range m.dies[d].engines {
			for _, u := range e.units {
				if _, fit := m.choose(u); fit {
					ok = true
				}
			}
			e.full = false
		}
		if !ok {
			return false
		}
	}
	return true
}

func (m *Machine) run(ctx context.Context, from int64) error {
	for i := 0; ; i++ {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		end := from + window
		m.release(end)
		waiting := false
		for _, d := range m.taking {
			dd := m.dies[d]
			if err := m.place(dd, from, end); err != nil {
				return err
			}
			waiting = waiting || len(dd.queue) > 0
		}
		if m.eof && !waiting && !m.handedOut {
			m.tellLaunched()
		}
		next := int64(never)
		for k := 0; k < len(m.active); k++ {
			s := m.active[k]
			if s.next < end {
				s.run(end)
			}
			if s.n == 0 {
				s.listed = false
				m.active[k] = m.active[len(m.active)-1]
				m.active = m.active[:len(m.active)-1]
				k--
				continue
			}
			next = min(next, s.next)
		}
		m.release(end)
		m.events.flush(end, m.observers)
		next = min(next, m.ends.first())
		if waiting {
			for _, d := range m.taking {
				dd := m.dies[d]
				if len(dd.queue) == 0 {
					continue
				}
				for _, e := range dd.engines {
					if !e.full {
						next = min(next, max(e.start, end))
					}
				}
			}
		}
		if next == never {
			if waiting {
				return errors.New("timing: workgroups wait and nothing runs") // our own mistake
			}
			if len(m.active) == 0 {
				return nil
			}
			return errors.New("timing: waves wait for each other")
		}
		from = max(end, next)
	}
}

// next takes a workgroup from the source.
func (m *Machine) next() (*shader.GroupLog, error) {
	g, err := m.source.Next()
	if err == io.EOF {
		m.eof = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.res.Groups++
	return g, nil
}

// abandon empties the GPU after a failure.
func (m *Machine) abandon() {
	for _, s := range m.active {
		for s.n > 0 {
			w := s.waves[s.n-1]
			s.n--
			m.drop(w)
		}
		s.next, s.listed = never, false
	}
	m.active = m.active[:0]
	for len(m.ends.e) > 0 {
		e := m.ends.pop()
		if e.kind == endSlot {
			m.freeSlot(e.w)
		} else {
			m.drop(e.w)
		}
	}
	for _, d := range m.dies {
		for _, g := range d.queue {
			g.Release()
		}
		d.queue = nil
	}
}
