package sqtt

import (
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

func TestClockCheck(t *testing.T) {
	limits := ClockLimits{MaxHz: 4e9, RefHz: 1e8, Idle: 0.01, Longest: 1 << 34, Total: 1 << 35}
	for _, c := range []struct {
		name   string
		stamps [][2]uint64 // marker or not, value
		kind   DoubtKind
		n      int64
		cycles Cycles
	}{
		{"a steady clock", [][2]uint64{{1, 1000}, {0, 2500}, {1, 1100}, {0, 5000}, {1, 1300}}, doubtsNone, 0, 0},
		{"markers count in steps", [][2]uint64{{1, 1000}, {0, 511}, {1, 1000}, {0, 120}, {1, 996}}, doubtsNone, 0, 0},
		{"it may be slow, and sleep", [][2]uint64{{1, 1000}, {0, 200}, {1, 2000}, {0, 10}, {1, 900000}}, doubtsNone, 0, 0},
		{"too fast", [][2]uint64{{1, 1000}, {0, 700}, {0, 3000}, {1, 1050}, {0, 100}, {1, 1052}}, DoubtFast, 1, 3700},
		{"too slow", [][2]uint64{{1, 1000}, {0, 4000}, {1, 1000 + 1<<24}}, DoubtSlow, 1, 4000},
		{"back and forth", [][2]uint64{{1, 1 << 30}, {0, 4000}, {1, 1 << 20}, {0, 5000}, {1, 1<<30 + 200}}, DoubtRefReverse, 2, 9000},
		{"before the first marker", [][2]uint64{{0, 1 << 35}, {1, 1000}, {0, 100}, {1, 1008}}, DoubtLong, 1, 1 << 35},
		{"behind the last", [][2]uint64{{1, 1000}, {0, 100}, {1, 1008}, {0, 1 << 35}, {0, 10}}, DoubtLong, 1, 1 << 35},
		{"counted once between markers", [][2]uint64{{1, 1000}, {0, 1 << 35}, {0, 10}, {1, 1008}}, DoubtFast, 1, 1<<35 + 10},
		{"many tokens", [][2]uint64{{0, 1 << 34}, {0, 1 << 34}, {0, 1}}, DoubtTotal, 1, 1<<35 + 1},
	} {
		var s bitStream
		s.put(0x11|3<<7, 0, 64)
		for _, v := range c.stamps {
			s.put(1|v[0]<<9|v[1]<<12, 0, 48)
		}
		check := ClockCheck{Limits: limits}
		var at []int64
		for p := range Packets(gpu.GFX11, s.bytes) {
			check.Token(&p)
			at = append(at, p.Off)
		}
		d := check.Doubts()
		if d.N != c.n || d.Cycles != c.cycles || d.First.Kind != c.kind {
			t.Errorf("%s: %+v", c.name, d)
		}
		if c.kind == DoubtFast && c.name == "too fast" && (d.First.From != at[1] || d.First.To != at[4] || d.First.Jump != at[3] || d.First.Most != 3000 || d.First.Ticks != 50) {
			t.Errorf("%s: %+v, tokens at %d", c.name, d.First, at)
		}
		fit, ms := true, DecodeWaves(gpu.GFX11, s.bytes).Markers
		for i := 1; i < len(ms); i++ {
			fit = fit && limits.Fit(ms[i-1], ms[i])
		}
		if fit != (c.kind == doubtsNone || c.kind > DoubtReverse) {
			t.Errorf("%s: markers fit: %v", c.name, fit)
		}
	}
}

// A GFX9 TIME_RESET may take back its own delta, no more.
func TestClockCheck9(t *testing.T) {
	stream := func(ts ...uint64) []byte {
		var s bitStream
		for _, v := range ts {
			s.put(misc9TimeReset<<13|0xff<<4, 0, 16)
			s.put(1|v<<16, 0, 64)
		}
		return s.bytes
	}
	for _, c := range []struct {
		ts     []uint64
		n      int64
		cycles Cycles
	}{
		{[]uint64{1 << 40, 1<<40 + 5000, 1<<40 + 9000}, 0, 0},
		{[]uint64{1 << 40, 1<<40 + 5000, 1<<40 + 5000}, 0, 0},
		{[]uint64{1 << 40, 1<<40 + 1<<20, 1<<40 + 8000}, 1, 1<<20 - 8000 + 1020},
	} {
		check := ClockCheck{}
		for p := range Packets(gpu.GFX9, stream(c.ts...)) {
			check.Token(&p)
		}
		if d := check.Doubts(); d.N != c.n || d.N > 0 && (d.First.Kind != DoubtReverse || d.Cycles != c.cycles) {
			t.Errorf("%d: %+v, want %d", c.ts, d, c.cycles)
		}
	}
}

// No capture of a real GPU has a time that cannot be.
func TestClockOfCaptures(t *testing.T) {
	limits := ClockLimits{MaxHz: 4.5e9, RefHz: 1e8, Idle: 1e-3, Longest: 1 << 25}
	for _, s := range captureStreams(t, "*/*") {
		check := ClockCheck{Limits: limits}
		for p := range Packets(s.Family, s.Buf) {
			check.Token(&p)
		}
		if d := check.Doubts(); d.N > 0 {
			t.Errorf("%s: %+v", s.Name, d)
		}
	}
}
