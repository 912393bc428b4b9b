package profile

import (
	"context"
	"strconv"
)

// spanKey finds the innermost open span in a context.
type spanKey struct{}

// span is a span that is running.
type span struct {
	lane  int
	child bool // a span below it holds the lane
	ended bool
}

// lanes counts the running spans of each lane. A lane is free when it has none: a span that outlives the one it runs under
// keeps the lane from others.
var lanes []int

// Span runs f and records it in the takes that are open now, also when f panics. Spans of one flow of control nest: f's
// context carries the lane, "domain N" with the lowest number that is free, and spans under it stand on the same lane.
// Where two goroutines run spans under one context at a time, the later one gets a lane of its own.
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
	s := &span{}
	if parent != nil && !parent.child && !parent.ended {
		parent.child = true
		s.lane = parent.lane
	} else {
		parent = nil
		for s.lane < len(lanes) && lanes[s.lane] > 0 {
			s.lane++
		}
		if s.lane == len(lanes) {
			lanes = append(lanes, 0)
		}
	}
	lanes[s.lane]++
	mu.Unlock()
	e := Event{Kind: KindSpan, Device: Host, Lane: "domain " + strconv.Itoa(s.lane), Name: name, Start: Now()}
	defer func() {
		e.Stop = Now()
		mu.Lock()
		defer mu.Unlock()
		s.ended = true
		lanes[s.lane]--
		if parent != nil {
			parent.child = false
		}
		for _, t := range *ts {
			if !t.closed {
				t.add(&e)
			}
		}
	}()
	return f(context.WithValue(ctx, spanKey{}, s))
}
