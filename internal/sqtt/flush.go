package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// Flush gives what is certain by now of every wave that runs in the traced unit, also where that is nothing: so who sums up a long
// stream keeps little of it. Records that may still change or have yet to get their place follow in Open. What comes
// later was issued at [Walker.Now] or later, unless it is in Open.
//
// Where it is called a replayed access of GFX9 no longer extends a record that was given; all else is as without it.
func (w *Walker) Flush() {
	k := &w.walk
	for _, t := range k.slots {
		if t.live {
			k.flush(t, w.family == gpu.GFX9, w.now)
		}
	}
}

// Now is the time of the last token.
func (w *Walker) Now() Cycles { return w.now }

// keptRecords is how many records before a wave's next one the walk looks at.
const keptRecords = 2

func (k *walk) flush(t *tracedWave, gfx9 bool, now Cycles) {
	n := max(t.sent, t.final(gfx9, now))
	if t.doubt != doubtNone {
		k.unplacedIn(t, t.insts[t.sent:n])
	}
	if k.emit != nil {
		k.out = WaveInsts{Wave: t.wave, StartPC: t.startPC, First: t.first + t.sent, Insts: t.insts[t.sent:n], Open: t.insts[n:]}
		k.emit(&k.out)
	}
	t.sent = n
	if drop := n - keptRecords; drop > 0 {
		t.insts = append(t.insts[:0], t.insts[drop:]...)
		t.first += drop
		t.sent -= drop
		t.from -= drop
	}
}

// final is how many of the wave's records nothing changes any more.
func (t *tracedWave) final(gfx9 bool, now Cycles) int {
	n := len(t.insts)
	if t.waiting || t.lost {
		n = min(n, t.from)
	}
	if gfx9 || t.gfx9.on {
		n = min(n, t.gfx9.placed-t.first)
		// Until the next record has its type the last one may be shortened to where that begins, and a MESSAGE may be the s_endpgm.
		if n > 0 && (n < len(t.insts) || t.insts[n-1].Category == CategoryMessage || t.insts[n-1].end() > now) {
			n--
		}
		return n
	}
	// A WAVE_READY of the newest one's clock changes it, a restored wave lengthens its CONTEXT.
	if n > 0 && n == len(t.insts) {
		if in := &t.insts[n-1]; in.Time+Cycles(in.Stall) >= now || in.Category == CategoryImmed && in.Time+Cycles(in.Stall)+1 >= now || in.Category == CategoryContext {
			n--
		}
	}
	return n
}
