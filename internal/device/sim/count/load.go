package count

import (
	"github.com/rigprof/rigprof/internal/device/sim/timing"
)

// Load is the steady work of another process: waves that start, run and end beside those of dispatches, as long as the GPU's clock
// goes. They take no room and no time from others: they are there to be counted, or not to be.
type Load struct {
	VMID   uint8
	Period int64 // cycles between two starts on a unit; at least 1
	Life   int64 // cycles of a wave; at least 1
	Skew   int64 // by how much the period of each unit is longer than that of the unit before
	Lanes  int
	Wide   bool
	// Stats is what each wave does; its Start and End are of no account.
	Stats timing.Stats
}

// loadState is a Load on its way.
type loadState struct {
	Load
	units []loadUnit
}

// loadUnit is a load's waves of one WGP or CU.
type loadUnit struct {
	at       timing.Place
	next     int64 // start of the next wave
	period   int64
	inFlight []bool // whether each is counted, the oldest first
	end      int64  // of the oldest
}

func (u *Unit) newLoads() {
	live := u.GPU.LiveUnits()
	for _, l := range u.Loads {
		l.Period, l.Life = max(l.Period, 1), max(l.Life, 1)
		s := loadState{Load: l}
		for e := range live {
			for a, mask := range live[e] {
				for n := range u.GPU.Units {
					if mask>>n&1 == 0 {
						continue
					}
					at := timing.Place{Engine: uint8(e), SA: uint8(a), Unit: uint8(n)}
					// Units are not in step.
					i := int64(len(s.units))
					s.units = append(s.units, loadUnit{at: at, next: i * 7 % l.Period, period: max(l.Period+i*l.Skew, 1)})
				}
			}
		}
		u.loads = append(u.loads, s)
	}
}

// advance lets the loads' waves start and end up to now, in order of time.
func (u *Unit) advance(now int64) {
	for len(u.loads) > 0 {
		var l *loadState
		var n *loadUnit
		at := now + 1
		for i := range u.loads {
			for j := range u.loads[i].units {
				if t := u.loads[i].units[j].first(); t < at {
					l, n, at = &u.loads[i], &u.loads[i].units[j], t
				}
			}
		}
		if n == nil {
			return
		}
		l.step(u, n, now)
	}
}

// first is when the unit's next wave starts or ends.
func (n *loadUnit) first() int64 {
	if len(n.inFlight) > 0 {
		return min(n.end, n.next)
	}
	return n.next
}

// step lets the next wave of a unit end, or start.
func (l *loadState) step(u *Unit, n *loadUnit, now int64) {
	if len(n.inFlight) > 0 && n.end <= n.next {
		st := l.Stats
		st.Start, st.End = n.end-l.Life, n.end
		u.waveEnd(n.end, wave{at: n.at, wide: l.Wide, counted: n.inFlight[0]}, &st)
		n.inFlight = n.inFlight[1:]
		n.end += n.period
		return
	}
	if len(n.inFlight) == 0 {
		if skip := (now - l.Life - n.next) / n.period; skip > 0 && !u.running(u.dies[int(n.at.Engine)/u.GPU.SEs]) {
			n.next += skip * n.period // nobody would count them
			return
		}
		n.end = n.next + l.Life
	}
	counted := u.lets(n.at, l.VMID)
	n.inFlight = append(n.inFlight, counted)
	u.waveStart(n.next, wave{n.at, l.Lanes, l.Wide, true, counted})
	n.next += n.period
}

// abandon forgets the waves of a dispatch that failed: they never end.
func (u *Unit) abandon(now int64) {
	u.flying = 0
	clear(u.counted)
	for i := range u.units {
		u.units[i] = busySpan{}
	}
	for _, b := range u.blocks {
		for i := range b.copies {
			b.copies[i].busy = busySpan{}
		}
	}
	for i := range u.loads {
		for j := range u.loads[i].units {
			n := &u.loads[i].units[j]
			for _, counted := range n.inFlight {
				u.begin(now, wave{at: n.at, counted: counted})
			}
		}
	}
}
