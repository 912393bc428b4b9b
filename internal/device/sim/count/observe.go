package count

import (
	"math/bits"

	"github.com/rigprof/rigprof/internal/device/sim/timing"
)

// running tells whether a die's counters count.
func (u *Unit) running(d *die) bool {
	return u.state.Get(d.cntl) == stateStart && (!u.gfx9 || d.clock&1 != 0 || u.Stable())
}

// settle brings everything that goes by the clock up to now. It stands before each change of what or whether counters count.
func (u *Unit) settle(d *die, now int64) {
	run := u.running(d)
	var l2 []timing.L2Stats
	if u.L2 != nil {
		l2 = u.L2(d.no)
	}
	var busy timing.BusyStats
	if u.Busy != nil {
		busy = u.Busy(d.no)
	}
	for _, b := range u.blocks {
		own := b.of(d)
		for i := range own {
			c := &own[i]
			if run {
				u.settleCopy(d, b, c, i%b.instances, l2, &busy, now)
			}
			c.busy.since = now
			for k := range c.n {
				u.units[c.first+k].since = now
			}
			for k := range c.counters {
				c.counters[k].at = now
			}
		}
	}
	d.since = now
	d.l2Last = append(d.l2Last[:0], l2...)
	d.busy = busy
}

func (u *Unit) settleCopy(d *die, b *block, c *copyOf, instance int, l2 []timing.L2Stats, busy *timing.BusyStats, now int64) {
	for k := range c.counters {
		n := &c.counters[k]
		if n.event == nil {
			continue
		}
		switch n.event.how {
		case byClock:
			c.add(k, uint64(now-d.since), now)
		case byBusy:
			if c.busy.n > 0 {
				c.add(k, uint64(now-c.busy.since), now)
			}
		case byBusyUnits:
			for _, s := range u.units[c.first : c.first+c.n] {
				if s.n > 0 {
					c.add(k, uint64(now-s.since), now)
				}
			}
		case byDie:
			c.add(k, sumBusy(n.event.terms, busy)-sumBusy(n.event.terms, &d.busy), now)
		case byL2:
			if instance < len(l2) {
				var last timing.L2Stats
				if instance < len(d.l2Last) {
					last = d.l2Last[instance]
				}
				c.add(k, sumL2(n.event.terms, &l2[instance])-sumL2(n.event.terms, &last), now)
			}
		}
	}
	for k := range c.counters {
		c.integrate(k, now)
	}
}

// sumL2 adds up what a channel has counted so far.
func sumL2(terms []term, s *timing.L2Stats) uint64 {
	var v int64
	for _, t := range terms {
		switch t.what {
		case qL2Hits:
			v += t.by * s.Hits
		case qL2Misses:
			v += t.by * s.Misses
		case qL2Reads:
			v += t.by * s.Reads
		case qL2Writes:
			v += t.by * s.Writes
		case qL2Atomics:
			v += t.by * s.Atomics
		case qMemReads:
			v += t.by * s.MemReads
		case qMemWrites:
			v += t.by * s.MemWrites
		case qL2Busy:
			v += t.by * s.Busy
		case qMemReadWait:
			v += t.by * s.MemReadWait
		case qMemWriteWait:
			v += t.by * s.MemWriteWait
		case qHostReads:
			v += t.by * s.HostReads
		case qHostWrites:
			v += t.by * s.HostWrites
		case qReplaced:
			v += t.by * s.Replaced
		case qReleased:
			v += t.by * s.Released
		}
	}
	return uint64(v)
}

// sumBusy adds up cycles of a die so far.
func sumBusy(terms []term, s *timing.BusyStats) uint64 {
	var v int64
	for _, t := range terms {
		switch t.what {
		case qTABusy:
			v += t.by * s.TA
		case qTCBusy:
			v += t.by * s.TC
		case qMemBusy:
			v += t.by * s.Memory
		case qWalkBusy:
			v += t.by * s.Walk
		}
	}
	return uint64(v)
}

// add counts v more in counter k.
func (c *copyOf) add(k int, v uint64, t int64) {
	if k+1 < len(c.counters) {
		c.integrate(k+1, t)
	}
	c.counters[k].value += v
}

// integrate brings an accumulator behind a counter that is no level up to t: it adds that counter's value every cycle.
func (c *copyOf) integrate(k int, t int64) {
	n := &c.counters[k]
	if n.event == nil || n.event.how != byAccumulate || k == 0 {
		return
	}
	if p := &c.counters[k-1]; p.event != nil && p.event.how != byLevel && p.event.how != byAccumulate && t > n.at {
		n.value += p.value / p.event.div * uint64(t-n.at)
	}
	n.at = t
}

// Detailed implements timing.Observer: counters need no single instructions.
func (u *Unit) Detailed(_, _, _, _ int) bool { return false }

// Events implements timing.Observer.
func (u *Unit) Events(evs []timing.Event) {
	idle := len(u.loads) == 0
	for _, d := range u.dies {
		idle = idle && !u.running(d)
	}
	if idle { // a dispatch's waves all end before the next register write
		return
	}
	for i := range evs {
		ev := &evs[i]
		if ev.Kind != timing.WaveStart && ev.Kind != timing.WaveEnd {
			continue
		}
		u.advance(ev.Time)
		g := u.GPU
		simd := ((int(ev.Place.Engine)*g.SAs+int(ev.Place.SA))*g.Units+int(ev.Place.Unit))*g.SIMDs + int(ev.Place.SIMD)
		bit := uint32(1) << ev.Place.Slot
		if ev.Kind == timing.WaveStart {
			u.counted[simd] &^= bit
			if ev.Flags&timing.Counted != 0 && u.lets(ev.Place, ev.VMID) {
				u.counted[simd] |= bit
			}
			u.flying++
			u.waveStart(ev.Time, wave{ev.Place, int(ev.Lanes), ev.Wide, ev.First, u.counted[simd]&bit != 0})
			continue
		}
		u.flying--
		u.waveEnd(ev.Time, wave{ev.Place, 0, ev.Wide, false, u.counted[simd]&bit != 0}, ev.Stats)
	}
}

// wave is what counters need to know of one.
type wave struct {
	at      timing.Place
	lanes   int
	wide    bool
	first   bool // of its workgroup
	counted bool // by its SQ
}

// lets tells whether the SQ where a wave starts counts it, for its life.
func (u *Unit) lets(at timing.Place, vmid uint8) bool {
	c := u.copyAt(u.sq, at)
	k := &u.ctrl
	if k.csEn.Get(c.ctrl) == 0 {
		return false
	}
	if u.gfx9 {
		return k.vmidMask.Get(c.ctrl)>>vmid&1 != 0 && k.mask[at.SA&1].Get(c.mask)>>at.Unit&1 != 0
	}
	return k.disable.Get(c.ctrl) == 0 && k.forceEn.Get(c.ctrl2) != 0 && k.vmidEn.Get(c.ctrl2)>>vmid&1 != 0
}

// copyAt is the copy of a block that sees waves of a place.
func (u *Unit) copyAt(b *block, at timing.Place) *copyOf {
	g := u.GPU
	engine := int(at.Engine)
	switch b.scope {
	case perDie:
		return &b.copies[engine/g.SEs*b.instances]
	case perEngine:
		i := 0
		if b.instances > 1 {
			i = int(at.Unit)
		}
		return &b.copies[engine*b.instances+i]
	}
	i := 0
	if b.instances > 1 {
		i = int(at.SIMD) & 1 // SIMDs of a WGP alternate between its CUs
	}
	return &b.copies[((engine*g.SAs+int(at.SA))*g.Units+int(at.Unit))*b.instances+i]
}

func (u *Unit) unitOf(at timing.Place) *busySpan {
	return &u.units[(int(at.Engine)*u.GPU.SAs+int(at.SA))*u.GPU.Units+int(at.Unit)]
}

// begin notes a wave in flight.
func (u *Unit) begin(t int64, w wave) {
	if w.counted {
		u.unitOf(w.at).start(t)
	}
	for _, b := range u.blocks {
		if b != u.sq || w.counted {
			u.copyAt(b, w.at).busy.start(t)
		}
	}
}

func (u *Unit) waveStart(t int64, w wave) {
	u.begin(t, w)
	if !u.running(u.dies[int(w.at.Engine)/u.GPU.SEs]) {
		return
	}
	for _, b := range u.blocks {
		if b == u.sq && !w.counted {
			continue
		}
		c := u.copyAt(b, w.at)
		for k := range c.counters {
			n := &c.counters[k]
			if n.event == nil || n.event.how != byStart || n.simd>>w.at.SIMD&1 == 0 {
				continue
			}
			var v int64
			for _, m := range n.event.terms {
				if !m.only.holds(w.lanes, w.wide) {
					continue
				}
				switch {
				case m.what == qItems:
					v += m.by * int64(w.lanes)
				case m.what == qWaves, w.first:
					v += m.by
				}
			}
			if v != 0 {
				c.add(k, uint64(v), t)
				if b == u.sq {
					u.tally(w.at, k, uint64(v), t)
				}
			}
		}
	}
}

func (u *Unit) waveEnd(t int64, w wave, st *timing.Stats) {
	d := u.dies[int(w.at.Engine)/u.GPU.SEs]
	run := u.running(d)
	if w.counted {
		s := u.unitOf(w.at)
		if s.n--; s.n == 0 && run {
			c := u.copyAt(u.sq, w.at)
			u.countBusy(c, byBusyUnits, t, s.since)
			for k := range c.counters {
				if e := c.counters[k].event; e != nil && e.how == byBusyUnits {
					u.tally(w.at, k, uint64(t-s.since), t)
				}
			}
		}
	}
	for _, b := range u.blocks {
		if b == u.sq && !w.counted {
			continue
		}
		c := u.copyAt(b, w.at)
		if c.busy.n--; c.busy.n == 0 && run {
			u.countBusy(c, byBusy, t, c.busy.since)
		}
		if !run {
			continue
		}
		for k := range c.counters {
			n := &c.counters[k]
			if n.event == nil {
				continue
			}
			switch n.event.how {
			case byEnd:
				if b == u.sq && !u.gfx9 && n.event.name == "SQ_INSTS_VALU" && !u.Stable() {
					continue
				}
				if v := n.of(n.event, w, st); v != 0 {
					c.add(k, uint64(v), t)
					if b == u.sq {
						u.tally(w.at, k, uint64(v), t)
					}
				}
			case byAccumulate:
				if k > 0 && c.counters[k-1].event != nil && c.counters[k-1].event.how == byLevel {
					p := &c.counters[k-1]
					n.value += uint64(p.of(p.event, w, st))
				}
			}
		}
	}
}

func (u *Unit) countBusy(c *copyOf, h how, t, since int64) {
	for k := range c.counters {
		if e := c.counters[k].event; e != nil && e.how == h {
			c.add(k, uint64(t-since), t)
		}
	}
}

// of is what a wave that ends adds to a counter.
func (n *counter) of(e *event, w wave, st *timing.Stats) int64 {
	if n.simd>>w.at.SIMD&1 == 0 {
		return 0
	}
	var v int64
	for _, m := range e.terms {
		if !m.only.holds(w.lanes, w.wide) {
			continue
		}
		var x int64
		switch m.what {
		case qInsts:
			x = int64(st.Insts) - st.N[timing.StatDelay]
		case qWaveCycles:
			x = st.End - st.Start
		default:
			x = st.N[m.what]
		}
		if m.what >= int(timing.StatICacheHit) && m.what <= int(timing.StatDCacheMiss) { // gfx9: of the SQC's clients and banks
			if n.client>>(w.at.Unit&3)&1 == 0 {
				continue
			}
			if n.bank != ^uint32(0) {
				x = x * int64(bits.OnesCount32(n.bank)) / 4
			}
		}
		v += m.by * x
	}
	return v
}
