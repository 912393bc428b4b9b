package count

import (
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/timing"
)

// Samples come a period after counting began and every period on, of each CU for itself; what exceeds a token's field comes later, and
// periods without counts give nothing.
func TestSamples(t *testing.T) {
	type sample struct {
		t              int64
		sa, unit, bank int
		v              [4]uint16
	}
	take := func(r *rig, until int64) (list []sample) {
		r.u.Samples(1, until, func(t int64, sa, unit, bank int, v [4]uint16) { list = append(list, sample{t, sa, unit, bank, v}) })
		return list
	}
	r := newRig(t, "gfx942")
	wants := true
	r.u.Sampling = func(engine int) bool { return wants && engine == 1 }
	r.now = 1000
	r.start("SQ", evWaves, 26 /* INSTS_VALU */, 3 /* BUSY_CYCLES: no CU's */, 13 /* BUSY_CU_CYCLES, in quads */)
	at := func(cu uint8) timing.Place { return timing.Place{Engine: 1, Unit: cu} }
	r.waves(
		aWave{start: 1010, end: 1090, at: at(3), lanes: 64, wide: true, st: done(map[timing.Stat]int64{timing.StatVALU: 10000})},
		aWave{start: 1030, end: 1035, at: at(4), lanes: 64, wide: true},
		aWave{start: 1400, end: 1500, at: timing.Place{Engine: 2}, lanes: 64, wide: true}, // another engine's
		aWave{start: 2001, end: 2002, at: at(3), lanes: 64, wide: true},
	)
	if got := take(r, 1039); got != nil {
		t.Errorf("before the first period's end: %+v", got)
	}
	want := []sample{
		{1040, 0, 3, 0, [4]uint16{1, 0, 0, 0}},
		{1040, 0, 4, 0, [4]uint16{1, 0, 0, 1}}, // busy for 5 cycles
		{1120, 0, 3, 0, [4]uint16{0, 8191, 0, 20}},
		{1160, 0, 3, 0, [4]uint16{0, 10000 - 8191, 0, 0}},
	}
	if got := take(r, 2000); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := take(r, 2500); !slices.Equal(got, []sample{{2040, 0, 3, 0, [4]uint16{1, 0, 0, 0}}}) {
		t.Errorf("%+v", got)
	}
	if got := take(r, 5000); got != nil {
		t.Errorf("twice: %+v", got)
	}
	// Six counters: two tokens, half as often; CNTR_RATE 3: a third of that.
	r.now = 10000
	r.start("SQ", evWaves, 26, 25, 14 /* ITEMS */, 8, evWaves)
	r.all("SQ_PERFCOUNTER_CTRL", 0xffff007f|3<<8)
	r.all(r.cntl(), 2)
	r.all(r.cntl(), 1) // periods begin anew
	r.waves(aWave{start: 10010, end: 10020, at: at(0), lanes: 64, wide: true})
	if got := take(r, 10240); !slices.Equal(got, []sample{{10240, 0, 0, 0, [4]uint16{1, 0, 0, 64}}, {10240, 0, 0, 1, [4]uint16{0, 1, 0, 0}}}) {
		t.Errorf("six counters: %+v", got)
	}
	// Nobody wants them: nothing is kept.
	wants = false
	r.waves(aWave{start: 10300, end: 10310, at: at(0), lanes: 64, wide: true})
	if got := take(r, 20000); got != nil {
		t.Errorf("unwanted: %+v", got)
	}
	for _, c := range []struct {
		target string
		event  int
		ok     bool
	}{{"gfx942", evWaves, true}, {"gfx942", 26, true}, {"gfx942", 13, true}, {"gfx942", evBusy, false}, {"gfx942", 5, false}, {"gfx942", 999, false}} {
		if Sampled(c.target, c.event) != c.ok {
			t.Errorf("event %d is sampled: %v", c.event, !c.ok)
		}
	}
	other := newRig(t, "gfx1100")
	other.start("SQ", evWaves)
	if got := take(other, 1<<40); got != nil {
		t.Errorf("gfx1100: %+v", got)
	}
}
