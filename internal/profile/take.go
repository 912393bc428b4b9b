package profile

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// open lists the open takes, nil when there is none. The list is replaced as a whole, under mu.
var open atomic.Pointer[[]*take]

// mu guards the takes' fields, the devices' and pendings', and the lanes.
var mu sync.Mutex

// take is one collection.
type take struct {
	chunks  [][]Event  // full ones but for the last: growing one slice would copy each event several times
	pending []*pending // submitted while it was open, in that order, and not read yet
	lost    error      // an event of this take can no longer be read
	closed  bool
}

// Enabled tells whether a take is open: whether it is worth measuring anything.
func Enabled() bool { return open.Load() != nil }

// Record adds an event to every open take.
func Record(e Event) {
	if open.Load() != nil {
		record(&e)
	}
}

func record(e *Event) {
	mu.Lock()
	defer mu.Unlock()
	if ts := open.Load(); ts != nil {
		for _, t := range *ts {
			t.add(e)
		}
	}
}

// add appends an event, with mu held.
func (t *take) add(e *Event) {
	n := len(t.chunks)
	if n == 0 || len(t.chunks[n-1]) == cap(t.chunks[n-1]) {
		t.chunks = append(t.chunks, make([]Event, 0, 8<<min(n, 7)))
		n++
	}
	t.chunks[n-1] = append(t.chunks[n-1], *e)
}

// Take runs f and returns the events that were recorded while it ran, and those of the work that was submitted meanwhile:
// in time order, at equal times the longest first, then in recording order. It waits until that work's events are read,
// or until ctx ends. Where a device is lost before, the error is a *Lost. If f fails or panics, its failure goes on
// unchanged and there are no events.
func Take(ctx context.Context, f func(context.Context) error) ([]Event, error) {
	t := &take{}
	t.open()
	defer t.close() // also when f panics or ends the goroutine
	if err := f(ctx); err != nil {
		return nil, err
	}
	if err := t.wait(ctx); err != nil {
		return nil, err
	}
	t.close()
	events := slices.Concat(t.chunks...)
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration(), a.Duration()))
	})
	return events, nil
}

func (t *take) open() {
	mu.Lock()
	defer mu.Unlock()
	var list []*take
	if ts := open.Load(); ts != nil {
		list = slices.Clone(*ts)
	}
	list = append(list, t)
	open.Store(&list)
}

// close takes t out of the open takes. It is idempotent.
func (t *take) close() {
	mu.Lock()
	defer mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for _, p := range t.pending {
		p.leave(t)
	}
	t.pending = nil
	list := slices.DeleteFunc(slices.Clone(*open.Load()), func(o *take) bool { return o == t })
	if len(list) == 0 {
		open.Store(nil)
		return
	}
	open.Store(&list)
}

// wait reads the events that are still to be read, or waits for other takes that are at it.
func (t *take) wait(ctx context.Context) error {
	for {
		mu.Lock()
		if t.lost != nil {
			mu.Unlock()
			return t.lost
		}
		for len(t.pending) > 0 && t.pending[0].over {
			t.pending = t.pending[1:]
		}
		if len(t.pending) == 0 {
			mu.Unlock()
			return nil
		}
		i := max(0, slices.IndexFunc(t.pending, func(p *pending) bool { return p.reading == nil && !p.over }))
		p := t.pending[i]
		if p.reading == nil {
			if err := p.readFor(ctx, t); err != nil { // unlocks mu
				return err
			}
			continue
		}
		reading := p.reading
		p.waiting = append(p.waiting, t)
		mu.Unlock()
		select {
		case <-reading:
		case <-ctx.Done():
		}
		mu.Lock()
		p.waiting = slices.DeleteFunc(p.waiting, func(o *take) bool { return o == t })
		mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
