package report

import (
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
)

// startsOnly is a stream whose buffer was full before its one wave ended.
func startsOnly() []byte {
	var n nibbles
	n.header()
	n.time(100)
	n.start(0, 2, 0, 5)
	for len(n.b)%32 != 0 {
		n.put(0, 4)
	}
	return n.b
}

// That no wave ran where instructions are traced is said only where the trace would show its start.
func TestInstructionCoverage(t *testing.T) {
	for _, c := range []struct {
		name     string
		unit     int
		full     bool
		stream   []byte
		idle     bool
		launched string // what is said of the waves launched
	}{
		{"it starts there", 2, false, startsOnly(), false, "0 of 3 waves are whole in the trace, 1 only start"},
		{"it starts there and the buffer was full", 2, true, startsOnly(), false, "0 of 3 waves are whole in the trace, 1 only start"},
		{"it starts elsewhere and the buffer was full", 1, true, startsOnly(), false, "0 of 3 waves are whole in the trace, 1 only start"},
		{"it starts elsewhere", 1, false, startsOnly(), true, "0 of 3 waves are whole in the trace, 1 only start"},
		{"it ends there", 0, false, twoWaves(), false, "2 of 3 waves are whole in the trace, 1 only start"},
		{"they end elsewhere", 3, false, twoWaves(), true, "2 of 3 waves are whole in the trace, 1 only start"},
		{"nothing starts", 0, false, nil, true, "nothing was traced of 3 waves"},
		{"the buffer was full before anything started", 0, true, nil, false, "nothing was traced of 3 waves"},
	} {
		r := record(t, func(w *capture.Writer) {
			must(t, w.Dispatch(launchOfTest(3)))
			must(t, w.Trace(capture.Trace{Family: "gfx11", Buffer: 4096, Full: c.full, Detail: &capture.Detail{Unit: c.unit, Alive: true}}, c.stream))
		})
		v, err := Trace(r)
		must(t, err)
		if v.Quality.noted(capture.Warning, noWaveThere) != c.idle || !v.Quality.noted(capture.Warning, c.launched) && !v.Quality.noted(capture.Info, c.launched) {
			t.Errorf("%s: %+v", c.name, v.Quality.Notes)
		}
	}
}

// Engines in a row whose unit has the same number are one entry for people.
func TestJoinUnits(t *testing.T) {
	for _, c := range []struct {
		list []string
		want string
	}{
		{nil, ""},
		{[]string{"engine 0 array 0 WGP 0 SIMD 0", "engine 1 array 0 WGP 0 SIMD 0"}, "engine 0 array 0 WGP 0 SIMD 0; engine 1 array 0 WGP 0 SIMD 0"},
		{[]string{"engine 0 CU 0", "engine 1 CU 0", "engine 2 CU 0", "engine 3 CU 1", "engine 5 CU 1", "engine 6 CU 1", "engine 7 CU 1"}, "engines 0 to 2 CU 0; engine 3 CU 1; engines 5 to 7 CU 1"},
		{[]string{"engine 2 CU 0", "engine 1 CU 0", "engine 0 CU 0"}, "engine 2 CU 0; engine 1 CU 0; engine 0 CU 0"},
	} {
		if got := joinUnits(c.list); got != c.want {
			t.Errorf("%q: %q", c.list, got)
		}
	}
}
