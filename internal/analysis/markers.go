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
