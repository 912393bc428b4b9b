package analysis

// Mark is one word that a wave sent with s_ttracedata.
type Mark struct {
	Time  int64
	Value uint32
	Short bool // from s_ttracedata_imm
}

// Marker is what a word means: with neither Enter nor Exit a point in time. Id 0 is no marker but an exit.
type Marker struct {
	ID      uint32
	Enter   bool // a span begins
	Exit    bool // the innermost span ends, before that
	Payload int  // words that follow and are none themselves
}

// Span is the time between a marker that enters and the one that exits, or a point where Start is Stop.
type Span struct {
	ID          uint32
	Start, Stop int64
	Depth       int // of the spans around it
	Point       bool
	Open        bool     // no marker ended it: it lasts to the wave's end
	Payload     []uint32 // the words that followed its marker
}

// Spans pairs the words of one wave, in the order it sent them, whose life ends at stop. A time before the last word's counts as that. Spans stand in order of their starts, those
// that hold others first. unmatched is how many exits had no span to end.
func Spans(marks []Mark, stop int64, meaning func(value uint32, short bool) Marker) (spans []Span, unmatched int) {
	var open []int
	payload, owner := 0, 0 // words to come, and of which span
	var last int64
	for i, m := range marks {
		if i > 0 {
			m.Time = max(m.Time, last)
		}
		last = m.Time
		if payload > 0 {
			payload--
			spans[owner].Payload = append(spans[owner].Payload, m.Value)
			continue
		}
		k := meaning(m.Value, m.Short)
		if k.ID == 0 && (!k.Exit || k.Enter) {
			continue // reserved
		}
		if k.Exit {
			if n := len(open); n > 0 {
				spans[open[n-1]].Stop, spans[open[n-1]].Open = m.Time, false
				open = open[:n-1]
			} else {
				unmatched++
			}
			if !k.Enter {
				continue
			}
		}
		s := Span{ID: k.ID, Start: m.Time, Stop: m.Time, Depth: len(open), Point: !k.Enter}
		if k.Enter {
			s.Open, s.Stop = true, max(stop, m.Time)
			open = append(open, len(spans))
		}
		payload, owner = k.Payload, len(spans)
		spans = append(spans, s)
	}
	return spans, unmatched
}

// Undelay takes out of times, when words reached the trace, what each word took longer than the quickest of them. clocks are the low bits of
// the shader clock, from bit shift on, when each was sent. It tells the most that it took out.
//
// The trace's time and the clock begin anywhere, so the least delay itself stays unknown and in. A word that took longer than half the
// clock's range counts as the wrong one.
func Undelay(times []int64, clocks []uint32, bits, shift int) (most int64) {
	if len(times) == 0 || bits < 1 || bits > 32 {
		return 0
	}
	delay := func(i int) int64 { return times[i]>>shift - int64(clocks[i]) }
	mask := int64(1)<<bits - 1
	base := delay(0)
	least := int64(0)
	ds := make([]int64, len(times))
	for i := range times {
		d := (delay(i) - base) & mask
		if d > mask>>1 {
			d -= mask + 1
		}
		ds[i] = d
		least = min(least, d)
	}
	for i := range times {
		late := (ds[i] - least) << shift
		times[i] -= late
		most = max(most, late)
	}
	return most
}
