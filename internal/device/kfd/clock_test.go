package kfd

import (
	"math"
	"testing"
)

// A converted time is off by no more than it says, for clocks that drift apart by what crystals may, and by no less than they may.
func TestClockDrift(t *testing.T) {
	const hz, host = 100_000_000, 5e9
	d := &Device{refHz: hz}
	p := clockPair{gpu: 1 << 40, host: host, errNs: 300}
	for _, after := range []int64{0, 1_000, -1_000, 1e6, 1e9, -1e9, 3600e9} { // ns of the host's clock from the pair on
		for _, ppm := range []int64{-100, -50, 0, 50, 100} {
			ticks := p.gpu + uint64((after+after/1e6*ppm)/(1e9/hz))
			ns, errNs := d.hostTime(p, ticks)
			if off := ns - (host + after); off > errNs || -off > errNs {
				t.Errorf("%d ns after the pair, %d ppm off: %d ns, said to be off by %d at most", after, ppm, off, errNs)
			}
		}
	}
	for _, c := range []struct{ ticks, errNs int64 }{
		{0, 300 + 10},        // what the pair is off by, and a tick
		{hz, 310 + 100_010},  // 50 ppm each way: 100 us a second, and of these too
		{-hz, 310 + 100_010}, // also before the pair
		{60 * hz, 310 + 6_000_600},
		{hz / 1000, 310 + 100},
	} {
		if ns, errNs := d.hostTime(p, p.gpu+uint64(c.ticks)); errNs != c.errNs || ns != host+c.ticks*(1e9/hz) {
			t.Errorf("%d ticks from the pair: %d ns, off by %d, want %d", c.ticks, ns, errNs, c.errNs)
		}
	}
	// A time that a GPU never wrote is years away, with an error to match, and never near the pair.
	for _, ticks := range []uint64{0, math.MaxUint64, 1<<59 + 1<<58, 1<<59 - 1<<58, 1<<59 + 1<<62 + 12345, 1<<59 + 1<<63} {
		ns, errNs := d.hostTime(clockPair{gpu: 1 << 59, host: host}, ticks)
		if far := max(ns-host, host-ns); errNs < far/10_000 || errNs > far/9_000 || far < 1e17 {
			t.Errorf("tick %d: %d ns, off by %d", ticks, ns, errNs)
		}
	}
}
