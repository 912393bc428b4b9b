package timing

import (
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
)

// needs is what each workgroup of a dispatch takes.
type needs struct {
	waves  int
	vgprs  int  // of a SIMD, for each wave
	lds    int  // bytes
	wgp    bool // waves may be on both CUs of a WGP
	single bool // one wave: no barrier, SIMDs chosen by the long pattern
	limits
}

// limits are COMPUTE_RESOURCE_LIMITS, which packets and drivers leave at 0 most of the time. Fields: the GC headers. What they do: the
// comments on them in Mesa's radeonsi (MIT), which calls the counts plain numbers from GFX7 on.
type limits struct {
	waves  int // in an array at once, WAVES_PER_SH; 0: as many as fit
	groups int // on a CU at once, TG_PER_CU; 0: the same
	run    int // groups that go to a unit before it is the next one's turn, CU_GROUP_COUNT + 1
}

// limitsOf reads the register. LOCK_THRESHOLD, SIMD_DEST_CNTL and FORCE_SIMD_DIST choose among placements that no capture tells apart:
// they do nothing here. SIMD_DISABLE (CDNA) neither.
func limitsOf(v uint32) limits {
	return limits{waves: int(v & 0x3ff), groups: int(v >> 12 & 15), run: int(v>>24&7) + 1}
}

// cu is a compute unit: what its SIMDs share.
type cu struct {
	lds      int // bytes free
	groups   int // with more than one wave
	held     int // all groups
	placed   int // groups since reset
	next     int // gfx9: entry of the SIMD order
	start    int64
	l0       cache
	ldsFree  int64
	vmemFree int64
	back     int64 // when the last load's data are back
	tlb      tlb
}

// array is a shader array: what its units share.
type array struct {
	l1     cache
	stores int64 // when the path for stores is free
}

// unit is a WGP, on gfx9 a CU.
type unit struct {
	live       bool
	die        *die
	array      *array
	engine     int
	sa, no     int
	placed     int // groups since reset
	next       int // SIMD of the next wave of a workgroup on both CUs: a guess, no capture has one
	cus        []cu
	simds      []*simd
	scalar     cache // scalar cache
	scalarFree int64
	tlb        tlb
	icache     []icacheLine
}

// engine places workgroups on its units.
type engine struct {
	die   int
	units []*unit // live ones in the order that workgroups take them
	next  int
	run   int   // groups that the unit before next took in a row
	waves []int // of each array
	start int64 // earliest time of the next workgroup
	full  bool  // nothing fell free since the last failure to place
}

// die hands workgroups to its engines.
type die struct {
	engines []*engine
	next    int // engine
	queue   []*shader.GroupLog
	l2      l2
	l2Free  []int64 // per channel, in 1/16 cycles
	memFree int64
	busFree int64
	stats   []L2Stats        // per channel
	walked  map[pageID]int64 // when each page's translation came or comes
	busy    BusyStats

	l2Span                            []busySpan // per channel
	taSpan, tcSpan, memSpan, walkSpan busySpan
}

// gfx9Order is the order in which a CU's SIMDs get waves.
var gfx9Order = [4]int{0, 2, 1, 3}

// singleOrder is which SIMD of its CU's pair the j-th single-wave workgroup of a CU gets; the pattern that the captures show
// on even units, the other way round on odd ones.
var singleOrder = [4]int{0, 1, 1, 0}

func (m *Machine) needsOf(k *shader.Kernel) needs {
	size := 64
	if k.Wave32 {
		size = 32
	}
	items := int(k.Block[0]) * max(int(k.Block[1]), 1) * max(int(k.Block[2]), 1)
	n := needs{waves: max((items+size-1)/size, 1), lds: (int(k.LDSBytes) + 511) &^ 511}
	n.single = n.waves == 1
	grains := int(k.RSRC1 & 0x3f)
	switch {
	case m.g.Family == gpu.GFX9:
		n.vgprs = (grains + 1) * 8 // VGPRs and AGPRs are one file
	case size == 64:
		n.vgprs = roundUp((grains+1)*4, m.vgprGrain/2) * 2 // a wave64 register takes two wave32 ones
	default:
		n.vgprs = roundUp((grains+1)*8, m.vgprGrain)
	}
	n.vgprs = min(n.vgprs, m.g.VGPRs)
	n.wgp = m.g.Family != gpu.GFX9 && k.RSRC1>>29&1 != 0
	return n
}

func roundUp(v, g int) int { return (v + g - 1) / g * g }

// cuAllowed tells whether COMPUTE_STATIC_THREAD_MGMT lets the dispatch onto a CU.
func (m *Machine) cuAllowed(u *unit, c int) bool {
	if m.mgmt == nil {
		return true
	}
	bit := u.no
	if len(u.cus) > 1 {
		bit = u.no*2 + c
	}
	if u.engine >= len(m.mgmt) {
		return true
	}
	return m.mgmt[u.engine]>>(16*uint(u.sa)+uint(bit&15))&1 != 0
}

// place puts the next workgroups of a die on its units, as far as they start before end.
func (m *Machine) place(d *die, from, end int64) error {
	for {
		g, err := m.peek(d)
		if g == nil || err != nil {
			return err
		}
		placed := false
		for i := range d.engines {
			e := d.engines[(d.next+i)%len(d.engines)]
			if e.full {
				continue
			}
			at := max(e.start, from)
			if at >= end {
				return nil // it has room but no time: its turn stays
			}
			ok, starts := m.placeOn(e, g, at)
			if !ok {
				e.full = true
				continue
			}
			if starts > m.launched {
				m.launched = starts
			}
			d.next = (d.next + i + 1) % len(d.engines)
			d.queue = d.queue[1:]
			placed = true
			break
		}
		if !placed {
			return nil
		}
	}
}

// placeOn puts the workgroup on the engine's next unit with room.
func (m *Machine) placeOn(e *engine, log *shader.GroupLog, at int64) (ok bool, starts int64) {
	for i := range e.units {
		u := e.units[(e.next+i)%len(e.units)]
		c, ok := m.choose(u)
		if !ok {
			continue
		}
		if e.run++; i > 0 {
			e.run = 1
		}
		e.next = (e.next + i) % len(e.units)
		if e.run >= m.need.run {
			e.next, e.run = (e.next+1)%len(e.units), 0
		}
		cu := &u.cus[c]
		at = max(at, cu.start)
		for _, s := range m.chosen {
			at = max(at, s.slotFree)
		}
		n := int64(len(log.Waves))
		e.start = at + max(m.p.groupPeriod, n*m.p.wavePeriod)
		cu.start = at + max(m.p.cuPeriod, n*m.p.wavePeriod)
		m.launch(u, c, log, at)
		return true, at
	}
	return false, 0
}

// choose finds a CU of the unit with room for a workgroup, and the SIMDs of its waves, in m.chosen.
func (m *Machine) choose(u *unit) (c int, ok bool) {
	n := &m.need
	if m.g.Family == gpu.GFX9 {
		return 0, m.cuAllowed(u, 0) && m.fits(u, 0, n)
	}
	if n.wgp && !n.single {
		c := 0
		if !m.cuAllowed(u, 0) {
			c = 1
		}
		return c, m.cuAllowed(u, c) && m.fits(u, c, n)
	}
	for i := range u.cus {
		c := (u.placed + i) & 1
		if m.cuAllowed(u, c) && m.fits(u, c, n) {
			return c, true
		}
	}
	return 0, false
}

// groupsPerCU is how many workgroups with a barrier a CU holds.
const groupsPerCU = 16

func (m *Machine) fits(u *unit, c int, n *needs) bool {
	cu := &u.cus[c]
	if n.limits.waves > 0 && m.engines[u.engine].waves[u.sa]+n.waves > n.limits.waves || n.limits.groups > 0 && cu.held >= n.limits.groups {
		return false
	}
	if n.wgp {
		if n.lds > u.cus[0].lds+u.cus[1].lds {
			return false
		}
	} else if n.lds > cu.lds {
		return false
	}
	if !n.single && cu.groups >= groupsPerCU {
		return false
	}
	m.chosen = m.chosen[:0]
	for i := range m.tentative {
		m.tentative[i] = 0
	}
	gfx9 := m.g.Family == gpu.GFX9
	wide := n.wgp && !n.single && m.cuAllowed(u, 1-c) // over both CUs
	for w := range n.waves {
		var want int
		switch {
		case gfx9:
			want = gfx9Order[(cu.next+w)&3]
		case wide:
			want = (u.next + w) & 3
		case n.single && m.cuAllowed(u, 1-c):
			want = (singleOrder[cu.placed&3]^u.no&1)*2 + c
		case n.single:
			want = (cu.placed&1)*2 + c
		default:
			want = (w&1)*2 + c
		}
		s := u.simds[want]
		if !m.room(s, want, n) { // the least loaded one
			s = nil
			for i, o := range u.simds {
				if !gfx9 && !wide && i&1 != c || !m.room(o, i, n) {
					continue
				}
				if s == nil || o.used+m.tentative[i] < s.used+m.tentative[want] {
					s, want = o, i
				}
			}
			if s == nil {
				return false
			}
		}
		m.tentative[want]++
		m.chosen = append(m.chosen, s)
	}
	return true
}

// room tells whether SIMD i takes one more wave beside those already meant for it.
func (m *Machine) room(s *simd, i int, n *needs) bool {
	t := m.tentative[i]
	return s.used+t < m.g.Slots && s.vgprs >= n.vgprs*(t+1)
}

// peek is the next workgroup of a die, nil at the end. Workgroups go to the dies in turn.
func (m *Machine) peek(d *die) (*shader.GroupLog, error) {
	for len(d.queue) == 0 {
		if m.eof {
			return nil, nil
		}
		g, err := m.next()
		if err != nil || g == nil {
			return nil, err
		}
		to := m.dies[m.taking[m.handed%uint64(len(m.taking))]]
		m.handed++
		to.queue = append(to.queue, g)
	}
	return d.queue[0], nil
}
