package count

import "github.com/rigprof/rigprof/internal/device/sim/timing"

// Sampling of SQ counters into thread traces, GFX9 alone. Sources: ROCm's documentation of rocprofv3's thread traces (--att-perfcounter-ctrl 1
// samples every 40 cycles or so, half as often with more than four counters; a sample is of one CU and of one period; none is sent where all is
// 0) and the PERF token's layout (AMD rocprof-trace-decoder, MIT). That the period grows with CNTR_RATE in proportion is a guess. What a wave did counts when it
// ends, as everywhere here; what exceeds a token's field shows in the periods that follow, where hardware would lose it.
const (
	samplePeriod  = 40 // cycles, at CNTR_RATE 0 and 1
	sampleMax     = 1<<13 - 1
	sampleBank    = 4 // counters of a token
	sampleCounter = 2 * sampleBank
)

// increment is what a wave added to a counter of its CU.
type increment struct {
	t    int64
	unit int // of the engine: array by array
	k    int
	v    uint64
}

// sampler is what an engine's CUs have counted and not shown yet.
type sampler struct {
	incs    []increment // in order of time
	backlog [][sampleCounter]uint64
	next    int64 // end of the current period
}

// Sampled tells whether the simulated GPU samples an event of the SQ into traces.
func Sampled(target string, number int) bool {
	e := lookup(target, "SQ", number)
	return e != nil && (e.how == byNothing || e.how == byStart || e.how == byEnd || e.how == byBusyUnits)
}

// restart begins new periods on a die.
func (u *Unit) restart(d *die, now int64) {
	if !u.gfx9 {
		return
	}
	g := u.GPU
	for e := d.no * g.SEs; e < (d.no+1)*g.SEs; e++ {
		u.samplers[e] = sampler{next: now + u.period(e), backlog: make([][sampleCounter]uint64, g.SAs*g.Units)}
	}
}

// period is how long an engine counts for a sample.
func (u *Unit) period(engine int) int64 {
	c := &u.sq.copies[engine]
	p := samplePeriod * max(int64(u.ctrl.rate.Get(c.ctrl)), 1)
	for k := sampleBank; k < min(sampleCounter, len(c.counters)); k++ {
		if c.counters[k].event != nil {
			return 2 * p
		}
	}
	return p
}

// tally notes what a counter of the SQ counted on a CU.
func (u *Unit) tally(at timing.Place, k int, v uint64, t int64) {
	if !u.gfx9 || k >= sampleCounter || u.Sampling == nil || !u.Sampling(int(at.Engine)) {
		return
	}
	s := &u.samplers[at.Engine]
	s.incs = append(s.incs, increment{t, int(at.SA)*u.GPU.Units + int(at.Unit), k, v})
}

// Samples gives the samples of an engine's periods that have ended by until, each once. Sampling tells beforehand that they are wanted.
func (u *Unit) Samples(engine int, until int64, f func(t int64, sa, unit, bank int, v [sampleBank]uint16)) {
	if !u.gfx9 || len(u.samplers[engine].backlog) == 0 {
		return // never started
	}
	s, p := &u.samplers[engine], u.period(engine)
	counters := u.sq.copies[engine].counters
	for owing := true; s.next <= until; s.next += p {
		if !owing && (len(s.incs) == 0 || s.incs[0].t > s.next) { // nothing to show before the next increment, or at all
			to := until
			if len(s.incs) > 0 {
				to = min(to, s.incs[0].t-1)
			}
			s.next += max(to-s.next, 0) / p * p
			continue
		}
		for len(s.incs) > 0 && s.incs[0].t <= s.next {
			s.backlog[s.incs[0].unit][s.incs[0].k] += s.incs[0].v
			s.incs = s.incs[1:]
		}
		owing = false
		for unit := range s.backlog {
			b := &s.backlog[unit]
			for bank := range sampleCounter / sampleBank {
				var v [sampleBank]uint16
				for i := range v {
					k := bank*sampleBank + i
					if k >= len(counters) || counters[k].event == nil {
						continue
					}
					div := counters[k].event.div
					n := min(b[k]/div, sampleMax)
					b[k] -= n * div
					v[i] = uint16(n)
					owing = owing || b[k] >= div
				}
				if v != [sampleBank]uint16{} {
					f(s.next, unit/u.GPU.Units, unit%u.GPU.Units, bank, v)
				}
			}
		}
	}
}
