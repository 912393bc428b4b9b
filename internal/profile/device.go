package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrClosed is why a device is lost that was closed while events of it were still to be read.
var ErrClosed = errors.New("the device was closed")

// Lost is the failure of a take: a device went away before the events of its work could be read.
type Lost struct {
	Device string
	Err    error
}

func (e *Lost) Error() string {
	return fmt.Sprintf("profile: %s was lost before its events were read: %v", e.Device, e.Err)
}

func (e *Lost) Unwrap() error { return e.Err }

// Device is what the layer that drives a device holds to take part in takes.
type Device struct {
	name    string
	pending map[*pending]struct{}
	count   uint64 // submissions that were registered
	gone    error  // closed or lost: nothing more is registered
}

// pending is a submission whose events are still to be read.
type pending struct {
	device  *Device
	number  uint64 // in the order of the device's submissions
	read    func(context.Context) ([]Event, error)
	done    func() bool
	takes   []*take       // that were open when it was submitted, and still are
	waiting []*take       // that wait for another's reading
	reading chan struct{} // closed when the reading ends; nil: nobody reads
	reader  *take         // that reads; nil: the closing device does
	cancel  context.CancelFunc
	over    bool // read, or gone with the device
}

// NewDevice is the profiling side of a device that was just opened.
func NewDevice(name string) *Device {
	return &Device{name: name, pending: map[*pending]struct{}{}}
}

// Submitted tells of a submission whose events are read later. With no take open it does nothing. Read is called at most
// once at a time, without locks: it waits until the submission ended and gives its events, none where they cannot be
// timed, and returns early when its context ends. Done tells without waiting whether the submission ended.
func (d *Device) Submitted(read func(context.Context) ([]Event, error), done func() bool) {
	if open.Load() == nil {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	ts := open.Load()
	if ts == nil || d.gone != nil {
		return
	}
	d.count++
	p := &pending{device: d, number: d.count, read: read, done: done, takes: slices.Clone(*ts)}
	d.pending[p] = struct{}{}
	for _, t := range p.takes {
		t.pending = append(t.pending, p)
	}
}

// leave takes a take out of those that want the events. With none left nobody reads them.
func (p *pending) leave(t *take) {
	p.takes = slices.DeleteFunc(p.takes, func(o *take) bool { return o == t })
	if len(p.takes) == 0 && p.reading == nil {
		p.end()
	}
}

// end takes p out of its device; the takes pass over it.
func (p *pending) end() {
	p.over = true
	delete(p.device.pending, p)
}

// fail ends p for the takes that lose an event by it.
func (p *pending) fail(losers []*take, err error) {
	for _, t := range losers {
		if t.lost == nil {
			t.lost = &Lost{Device: p.device.name, Err: err}
		}
	}
	p.end()
}

// deliver ends p with its events, which go to every take that was open at the submission and still is.
func (p *pending) deliver(events []Event) {
	for _, t := range p.takes {
		for i := range events {
			t.add(&events[i])
		}
	}
	p.end()
}

// inOrder are the device's submissions as they were made.
func (d *Device) inOrder() []*pending {
	return slices.SortedFunc(maps.Keys(d.pending), func(a, b *pending) int { return cmp.Compare(a.number, b.number) })
}

// readFor reads the events on behalf of t. It is called with mu held and returns with it free. The error is ctx's; what
// else goes wrong loses the device for the takes.
func (p *pending) readFor(ctx context.Context, t *take) (failure error) {
	p.reading, p.reader = make(chan struct{}), t
	var readCtx context.Context
	readCtx, p.cancel = context.WithCancel(ctx)
	mu.Unlock()
	events, err := []Event(nil), errors.New("reading them panicked")
	defer func() {
		p.cancel()
		mu.Lock()
		defer mu.Unlock()
		failure = p.finish(ctx, events, err)
	}()
	events, err = p.read(readCtx)
	return nil
}

// finish ends the reading of p, with mu held. The error is ctx's.
func (p *pending) finish(ctx context.Context, events []Event, err error) error {
	close(p.reading)
	p.reading, p.reader = nil, nil
	switch {
	case p.over: // the device went meanwhile, and whoever lost by it was told
	case err == nil:
		p.deliver(events)
	case ctx.Err() != nil: // another take may still want them
		if len(p.takes) == 0 {
			p.end()
		}
		return ctx.Err()
	default:
		p.fail(p.takes, err)
	}
	return nil
}

// Lose tells that the device is lost: takes that have events of it to read fail.
func (d *Device) Lose(err error) {
	mu.Lock()
	defer mu.Unlock()
	if d.gone == nil {
		d.gone = err
	}
	for _, p := range d.inOrder() {
		if p.reading != nil {
			p.cancel()
		}
		p.fail(p.takes, err)
	}
}

// Close is called before a device is closed. It reads the events of the work that is done, so that the takes do not lose
// them. Work that is not done is lost to its takes. What a take had begun to read stays that take's: it gets a *Lost, as
// do takes that wait for it.
func (d *Device) Close(ctx context.Context) {
	mu.Lock()
	if d.gone == nil {
		d.gone = ErrClosed
	}
	var mine []*pending
	for _, p := range d.inOrder() {
		if p.reading != nil {
			p.cancel()
			p.fail(readers(p), ErrClosed)
			continue
		}
		p.reading, p.cancel = make(chan struct{}), func() {} // takes keep off while we read
		mine = append(mine, p)
	}
	mu.Unlock()
	for _, p := range mine {
		p.readForClose(ctx)
	}
}

// readForClose reads the events of a submission that the closing device has claimed, if it ended.
func (p *pending) readForClose(ctx context.Context) {
	var events []Event
	err := ErrClosed
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		close(p.reading)
		p.reading = nil
		switch {
		case p.over: // lost meanwhile
		case err == nil:
			p.deliver(events)
		default:
			p.fail(p.takes, err)
		}
	}()
	if p.done() {
		events, err = p.read(ctx)
	}
}

// readers are the take that reads p and those that wait for it.
func readers(p *pending) []*take {
	if p.reader == nil {
		return p.waiting
	}
	return append([]*take{p.reader}, p.waiting...)
}
