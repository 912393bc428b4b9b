package profile

import (
	"context"
	"strconv"
)

// spanKey finds the innermost open span in a context.
type spanKey struct{}

// span is a span that is running. Its fields are guarded by mu.
type span struct {
	lane  int
	start int64
	below *span // that runs under it on its lane; one at a time
	ended bool
}

// lane is a number of "domain N".
type lane struct {
	running int   // spans
	last    int64 // the latest end of one
}

var lanes []lane

// freeLane is the lowest lane on which nothing ran from a time on, with mu held.
func freeLane(from int64) int {
	for i, l := range lanes {
		if l.running == 0 && l.last <= from {
			return i
		}
	}
	lanes = append(lanes, lane{})
	return len(lanes) - 1
}

// Span runs f and records it in the takes that are open now, also when f panics. Spans of one flow of control nest: f's
// context carries the lane, "domain N" with the lowest number that is free, and spans under it stand on the same lane.
// Where two goroutines run spans under one context at a time, the later one gets a lane of its own; one that outlives the
// span it runs under moves, with those that run under it, to the lowest lane that was free from its start.
func Span(ctx context.Context, name string, f func(context.Context) error) error {
	if open.Load() == nil {
		return f(ctx)
	}
	return runSpan(ctx, name, f)
}

func runSpan(ctx context.Context, name string, f func(context.Context) error) error {
	mu.Lock()
	ts := open.Load()
	if ts == nil {
		mu.Unlock()
		return f(ctx)
	}
	parent, _ := ctx.Value(spanKey{}).(*span)
	s := &span{start: Now()} // with mu held, as ends are taken: their order is that of what the lanes hold
	if parent != nil && parent.below == nil && !parent.ended {
		parent.below = s
		s.lane = parent.lane
	} else {
		parent = nil
		s.lane = freeLane(s.start)
	}
	lanes[s.lane].running++
	mu.Unlock()
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		e := Event{Kind: KindSpan, Device: Host, Lane: "domain " + strconv.Itoa(s.lane), Name: name, Start: s.start, Stop: Now()}
		if parent != nil && parent.below == s {
			parent.below = nil
		}
		s.end(e.Stop)
		for _, t := range *ts {
			if !t.closed {
				t.add(&e)
			}
		}
	}()
	return f(context.WithValue(ctx, spanKey{}, s))
}

// end takes s off its lane. What still runs under it moves away, as slices of a lane nest.
func (s *span) end(at int64) {
	s.ended = true
	old := &lanes[s.lane]
	old.running--
	old.last = max(old.last, at)
	first := s.below
	if first == nil {
		return
	}
	s.below = nil
	for b := first; b != nil; b = b.below {
		old.running--
	}
	to := freeLane(first.start) // old points into lanes as they were
	for b := first; b != nil; b = b.below {
		b.lane = to
		lanes[to].running++
	}
}
