package report

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

const (
	// overclock is how much faster than the fastest model's stated clock a GPU may run: captures of an RX 9070 XT are at 3.4 GHz, where AMD states 2.97.
	overclock = 1.5
	// longestStep, in seconds, is what no token of a trace file passes: a trace of some milliseconds is usual, and hardware writes a token now and then.
	longestStep = 3600
	// lookAlways is how long a gfx9 stream is that is looked at token by token in any case: it has no markers, and in a short one perhaps no wave ends
	// where its time is wrong.
	lookAlways = 4 << 20
	// longestIdle, in seconds, is how long the shader clock of a trace file may stand still.
	longestIdle = 10
	// windowSlack, in seconds, is what a recording's times may be off by.
	windowSlack = 1e-2
)

// fastestHz is more than the shader clock of any GPU.
var fastestHz = sync.OnceValue(func() float64 {
	hz := int64(0)
	for _, g := range gpu.Models() {
		hz = max(hz, g.ClockHz)
	}
	return overclock * float64(hz)
})

// recorded is what a capture knows of the times that its traces can hold. Of a trace file nothing is known.
type recorded struct {
	clockHz int64
	refHz   int64
	seconds float64 // that the recording took; 0: not known
}

// recordedOf is what is known of a trace's times. A simulated GPU's cycles are those of the launch alone, a real one's trace goes on while the
// host submits the next program: it may last as long as the whole recording.
func recordedOf(c *capture.Capture, tr *capture.Trace) recorded {
	r := recorded{clockHz: c.Device.ClockHz, refHz: c.Device.RefClockHz}
	if c.Cut() {
		return r
	}
	var from, to int64
	if c.Device.Simulated {
		if tr.Dispatch < 0 || tr.Dispatch >= len(c.Dispatches) {
			return r
		}
		d := &c.Dispatches[tr.Dispatch]
		if d.StartNs == nil || d.EndNs == nil {
			return r
		}
		from, to = *d.StartNs, *d.EndNs
	} else {
		for i := range c.Events {
			e := &c.Events[i]
			if i == 0 {
				from, to = e.Start, e.Stop
			}
			from, to = min(from, e.Start), max(to, e.Stop)
		}
	}
	if to > from {
		r.seconds = float64(to-from)/1e9 + windowSlack
	}
	return r
}

// timedFile is a capture's trace as a file, with what is known of its times.
func timedFile(c *capture.Capture, i int) *StreamFile {
	f := traceFile(&c.Traces[i])
	f.recorded = recordedOf(c, &c.Traces[i])
	return f
}

// limits are what the stream's times can be.
func (r recorded) limits() sqtt.ClockLimits {
	l := sqtt.ClockLimits{MaxHz: max(fastestHz(), overclock*float64(r.clockHz)), RefHz: 1e12 / refPicos, Idle: longestIdle}
	if r.refHz > 0 {
		l.RefHz = float64(r.refHz)
	}
	l.Longest = sqtt.Cycles(min(longestStep*l.MaxHz, 1<<62))
	if r.seconds > 0 {
		l.Longest = sqtt.Cycles(min(r.seconds*l.MaxHz, 1<<62))
		l.Total = l.Longest
		l.Idle = min(r.seconds, longestIdle)
	}
	return l
}

// clockWatch looks at what passing by tells of a stream's times: whether they need a closer look.
type clockWatch struct {
	limits  sqtt.ClockLimits
	last    sqtt.Marker
	stop    sqtt.Cycles // of the last wave
	suspect bool        // of more than the markers tell

	markers int64
	cycles  int64 // between neighbouring markers that fit, and
	ticks   int64
	misfits sqtt.Doubts // those that do not; without the first
}

func (c *clockWatch) marker(m sqtt.Marker) {
	if c.markers > 0 {
		if c.limits.Fit(c.last, m) {
			c.cycles += int64(m.Shader - c.last.Shader)
			c.ticks += m.Realtime - c.last.Realtime
		} else {
			c.misfits.N++
			c.misfits.Cycles = sqtt.Cycles(addUpTo(int64(c.misfits.Cycles), max(0, int64(m.Shader-c.last.Shader))))
		}
	}
	c.markers++
	c.last = m
}

// wave is called for waves in the order in which they end.
func (c *clockWatch) wave(w *sqtt.Wave) {
	if w.Stop < c.stop || w.Stop < w.Start {
		c.suspect = true
	}
	c.stop = w.Stop
}

// doubts are the parts of the stream whose times cannot be.
func (c *clockWatch) doubts(s *StreamFile, bytes int64, end sqtt.Cycles) (d sqtt.Doubts) {
	whole := c.suspect || end < 0 || end > c.limits.Longest || s.Family == gpu.GFX9 && bytes <= lookAlways
	if !whole && c.misfits.N == 0 {
		return d
	}
	check := sqtt.ClockCheck{Limits: c.limits}
	var l sqtt.Lister
	l.Reset(s.Family, s.Header)
	take := func(p *sqtt.Packet) error {
		check.Token(p)
		if !whole && check.Found() > 0 { // where the first is: how many there are is known
			return errEnough
		}
		return nil
	}
	err := s.pieces(func(b []byte, _ bool) error { return l.Feed(b, take) }) // the scan has told of one in the file
	if !errors.Is(err, errEnough) {
		_ = l.Close(take) // the last tokens
	}
	d = check.Doubts()
	if !whole && d.N > 0 {
		d.N, d.Cycles = c.misfits.N, c.misfits.Cycles
	}
	return d
}

// doubtAdvice is what to know about times that cannot be.
func doubtAdvice(k sqtt.DoubtKind) string {
	what := "bytes are missing or wrong there"
	if k == sqtt.DoubtRefReverse || k == sqtt.DoubtSlow { // the reference clock runs on between recordings, shader time begins at 0 in each
		what += ", or another recording begins: read one at a time"
	}
	return what + "; durations across that place are wrong"
}

// doubtText tells of times that cannot be: the first place, with what contradicts what, and how much is doubtful in all.
func doubtText(d *sqtt.Doubts, l *sqtt.ClockLimits) string {
	f := &d.First
	shader, ref := float64(f.Cycles)/l.MaxHz, float64(f.Ticks)/l.RefHz
	where := fmt.Sprintf("times are contradicted from byte %d to byte %d: ", f.From/8, f.To/8)
	cycles := fmt.Sprintf("%d shader cycles pass", f.Cycles)
	s := ""
	switch f.Kind {
	case sqtt.DoubtFast:
		s = where + fmt.Sprintf("%s while the reference clock counts %s, which no clock below %.2f GHz does", cycles, seconds(ref), l.MaxHz/1e9)
	case sqtt.DoubtSlow:
		s = where + fmt.Sprintf("only %s while the reference clock counts %s", cycles, seconds(ref))
	case sqtt.DoubtRefReverse:
		s = where + fmt.Sprintf("%s while the reference clock goes back by %s", cycles, seconds(-ref))
	case sqtt.DoubtReverse:
		s = fmt.Sprintf("times are contradicted at byte %d: shader time goes back by %d cycles", f.From/8, f.Cycles)
	default:
		least := fmt.Sprintf("%d shader cycles, %s at least", f.Cycles, seconds(shader))
		longest := ", which no trace needs"
		if l.Total > 0 {
			longest = fmt.Sprintf(", where the recording took no more than %s", seconds(float64(l.Total)/l.MaxHz))
		}
		s = fmt.Sprintf("times are contradicted at byte %d: one token passes %s%s", f.From/8, least, longest)
		if f.Kind == sqtt.DoubtTotal {
			s = fmt.Sprintf("times are contradicted: the stream lasts %s%s", least, longest)
		}
	}
	if (f.Kind == sqtt.DoubtFast || f.Kind == sqtt.DoubtTotal) && f.Most > f.Cycles/2 {
		s += fmt.Sprintf(" (%d of them in the token at byte %d)", f.Most, f.Jump/8)
	}
	s += fmt.Sprintf("; %d cycles are doubtful", d.Cycles)
	if d.N > 1 {
		s += fmt.Sprintf(" in all, at %d places", d.N)
	}
	return s
}

// seconds is a time for people: "80 ns", "3.2 years".
func seconds(t float64) string {
	const day = 86400
	unit, name := 1e-9, "ns"
	for _, next := range []struct {
		unit float64
		name string
	}{{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "minutes"}, {3600, "hours"}, {day, "days"}, {365.25 * day, "years"}} {
		if t < next.unit*2 {
			break
		}
		unit, name = next.unit, next.name
	}
	return fmt.Sprintf("%.4g %s", t/unit, name)
}

// addUpTo adds two counts up to the greatest that there is.
func addUpTo(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
