package kfd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/profile"
)

// Layout of the signal memory: the number of the last ended submission, then slots of the submissions in flight.
//
// Half as many may be in flight as there are slots, and as an AQL ring has packets: the queue marks a packet's place free after
// the packet's work has ended, so the place is used again only when a later packet has ended too.
const (
	slots     = 1024
	inFlight  = slots / 2
	slotBytes = 64
	sigSlots  = 4096 // offset of the first slot
	sigBytes  = sigSlots + slots*slotBytes

	slotStart    = 0  // GPU clock at its begin
	slotStop     = 8  // and end
	slotProgress = 16 // launches that ended
	slotBarrier  = 24 // dies that arrived
)

// submission is one that is in flight.
type submission struct {
	seq      uint64
	done     chan struct{} // closed once err is final
	err      error
	launches []string
	work     work
	pair     clockPair
	pairErr  error
	times    timed
	submitNs int64
	seenNs   int64   // when its end was noticed
	ibEnd    uint64  // arena position behind its packets
	big      *memory // its packets, where the arena is too small for them
}

// flight holds what was submitted and not yet seen to end.
type flight struct {
	mu      sync.Mutex
	wake    *sync.Cond
	next    uint64
	pending []*submission // oldest first
	err     error         // why the device takes no more work
	failed  map[uint64]error
	times   [slots]timed
}

type timed struct {
	seq   uint64
	times device.Times
	err   error
}

func (f *flight) init() { f.wake = sync.NewCond(&f.mu) }

// fail ends everything in flight with err and lets no more in, for good. The first reason stays, until Close gives its own.
func (d *Device) fail(err error) {
	f := &d.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || errors.Is(err, device.ErrClosed) {
		f.err = err
	}
	f.drop(err)
	if !errors.Is(err, device.ErrClosed) {
		d.prof.Lose(err)
	}
}

// drop ends everything in flight with err. f.mu is held.
func (f *flight) drop(err error) {
	for _, s := range f.pending {
		if f.failed == nil {
			f.failed = map[uint64]error{}
		}
		f.failed[s.seq] = err
		s.err = err
		close(s.done)
	}
	f.pending = nil
}

// Submit implements device.Device.
func (d *Device) Submit(ctx context.Context, parts ...device.Part) (device.Point, error) {
	d.submit.Lock()
	defer d.submit.Unlock()
	if err := d.room(ctx, func(f *flight) bool { return len(f.pending) < inFlight }); err != nil {
		return 0, err
	}
	s := &submission{seq: d.flight.next + 1, done: make(chan struct{})}
	addr, n, err := d.encode(ctx, s, parts)
	if err != nil {
		return 0, err
	}
	if profile.Enabled() {
		s.work = d.describe(parts, s.launches)
	}
	s.submitNs = profile.Now()
	s.pair, s.pairErr = d.measure()
	// Takes are told before the work can run: a device that is lost meanwhile then loses it to them.
	d.prof.Submitted(func(ctx context.Context) ([]profile.Event, error) { return d.recorded(ctx, s) }, func() bool { return d.ended(s) })
	d.flight.mu.Lock()
	if err := d.flight.err; err != nil {
		d.flight.mu.Unlock()
		s.err = device.ErrAborted // it is no submission
		close(s.done)
		return 0, errors.Join(err, s.big.freeIfAny())
	}
	d.flight.next = s.seq
	d.flight.pending = append(d.flight.pending, s)
	d.flight.wake.Signal()
	d.flight.mu.Unlock()
	d.q.run(addr, n)
	return device.Point(s.seq), nil
}

// room waits for the oldest submissions until enough says that there is room. d.submit is held.
func (d *Device) room(ctx context.Context, enough func(*flight) bool) error {
	for {
		d.flight.mu.Lock()
		if err := d.flight.err; err != nil {
			d.flight.mu.Unlock()
			return err
		}
		if enough(&d.flight) {
			d.flight.mu.Unlock()
			return nil
		}
		oldest := d.flight.pending[0]
		d.flight.mu.Unlock()
		if err := d.await(ctx, oldest.done); err != nil {
			return err
		}
	}
}

// await waits for done, for ctx or for the limit on waits.
func (d *Device) await(ctx context.Context, done <-chan struct{}) error {
	select { // done wins over a context that has ended
	case <-done:
		return nil
	default:
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.opts.WaitLimit)
		defer cancel()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", d.info.Name, context.Cause(ctx))
	}
}

// Wait implements device.Device.
func (d *Device) Wait(ctx context.Context, p device.Point) error {
	d.flight.mu.Lock()
	if p == 0 || uint64(p) > d.flight.next {
		d.flight.mu.Unlock()
		return fmt.Errorf("%s has no point %d", d.info.Name, p)
	}
	if err, ok := d.flight.failed[uint64(p)]; ok {
		d.flight.mu.Unlock()
		return err
	}
	var s *submission
	for _, q := range d.flight.pending {
		if q.seq == uint64(p) {
			s = q
		}
	}
	d.flight.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := d.await(ctx, s.done); err != nil {
		return err
	}
	return s.err
}

// Times implements device.Device.
func (d *Device) Times(p device.Point) (device.Times, error) {
	d.flight.mu.Lock()
	defer d.flight.mu.Unlock()
	t := d.flight.times[uint64(p)%slots]
	switch {
	case p == 0 || uint64(p) > d.flight.next:
		return device.Times{}, fmt.Errorf("%s has no point %d", d.info.Name, p)
	case t.seq > uint64(p):
		return device.Times{}, fmt.Errorf("times of point %d are gone: %d later submissions ended", p, slots)
	case t.seq != uint64(p):
		return device.Times{}, fmt.Errorf("point %d has not ended", p)
	}
	return t.times, t.err
}

// Abort implements device.Device.
func (d *Device) Abort(context.Context) error {
	d.submit.Lock()
	defer d.submit.Unlock()
	d.flight.mu.Lock()
	err := d.flight.err
	d.flight.mu.Unlock()
	if err != nil {
		return err
	}
	err = d.q.destroy()
	d.collect() // what had ended by itself
	d.flight.mu.Lock()
	left := d.flight.pending
	d.flight.drop(device.ErrAborted)
	last := d.flight.next
	d.flight.mu.Unlock()
	for _, s := range left {
		err = errors.Join(err, s.big.freeIfAny())
	}
	atomic.StoreUint64(d.sig.word(0), last)
	d.arena.reset()
	if err == nil {
		err = d.q.create()
	}
	if err != nil {
		err = fmt.Errorf("abort work on %s: %w", d.info.Name, err)
		d.fail(&device.Lost{Device: d.info.Name, Err: err})
	}
	return err
}

// reap notices ends and faults while anything is in flight.
func (d *Device) reap() {
	f := &d.flight
	for {
		f.mu.Lock()
		for len(f.pending) == 0 && !d.stop {
			f.wake.Wait()
		}
		stop := d.stop
		f.mu.Unlock()
		if stop {
			return
		}
		d.waitEvents()
		d.collect()
	}
}

func (d *Device) stopReaper() {
	if d.flight.wake == nil {
		return // not started
	}
	d.flight.mu.Lock()
	d.stop = true
	d.flight.wake.Signal()
	d.flight.mu.Unlock()
	a := abi.EventArgs{EventID: d.event.signal}
	_ = d.ioctl(d.kfd, abi.SetEvent, unsafe.Pointer(&a)) // the reaper's wait is bounded anyway
	d.reaper.Wait()
}

// waitMs bounds one look at the events: a lost interrupt costs this much, no more.
const waitMs = 200

// waitEvents sleeps until something happened, at most waitMs, and fails the device on a fault.
func (d *Device) waitEvents() {
	ev := unsafe.Slice((*abi.EventData)(unsafe.Add(d.args, argEvents)), 3)
	ev[0] = abi.EventData{EventID: d.event.signal}
	ev[1] = abi.EventData{EventID: d.event.memory}
	ev[2] = abi.EventData{EventID: d.event.hardware}
	a := abi.WaitEventsArgs{EventsPtr: uint64(uintptr(unsafe.Pointer(&ev[0]))), NumEvents: uint32(len(ev)), Timeout: waitMs}
	if err := d.ioctl(d.kfd, abi.WaitEvents, unsafe.Pointer(&a)); err != nil {
		d.fail(&device.Lost{Device: d.info.Name, Err: err})
		return
	}
	if a.WaitResult != abi.WaitComplete {
		return
	}
	if m := ev[1].MemoryException; m.GPUID == d.node.GPUID {
		fault := &device.Fault{Device: d.info.Name, Memory: true, Addr: m.VA, Detail: d.sys.Explain(d.kfd)}
		switch {
		case m.Failure.NotPresent != 0:
			fault.Reason = "page not present"
		case m.Failure.ReadOnly != 0:
			fault.Reason = "write to a read-only page"
		case m.Failure.NoExecute != 0:
			fault.Reason = "page not executable"
		}
		d.fault(fault)
		return
	}
	if h := ev[2].HWException(); h.GPUID == d.node.GPUID {
		if why := d.sys.Explain(d.kfd); why != "" {
			d.fault(&device.Fault{Device: d.info.Name, Detail: why})
			return
		}
		d.fail(&device.Lost{Device: d.info.Name, Err: fmt.Errorf("the kernel reset the GPU (type %d, cause %d)", h.ResetType, h.ResetCause)})
	}
}

// fault fails the device, naming the kernel that ran: the first launch of the oldest submission that had not ended.
func (d *Device) fault(f *device.Fault) {
	d.collect()
	d.flight.mu.Lock()
	if len(d.flight.pending) > 0 {
		s := d.flight.pending[0]
		done := atomic.LoadUint64(d.slot(s.seq, slotProgress)) & 0xffffffff
		if done < uint64(len(s.launches)) {
			f.Kernel = s.launches[done]
		}
	}
	d.flight.mu.Unlock()
	d.fail(f)
}

func (d *Device) slot(seq, off uint64) *uint64 {
	return d.sig.word(sigSlots + seq%slots*slotBytes + off)
}

func (d *Device) slotAddr(seq, off uint64) uint64 {
	return d.sig.addr + sigSlots + seq%slots*slotBytes + off
}

// collect takes what has ended out of flight. It may be called by anyone.
func (d *Device) collect() {
	if d.sig == nil || d.flight.wake == nil {
		return
	}
	f := &d.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	last := atomic.LoadUint64(d.sig.word(0))
	for len(f.pending) > 0 && f.pending[0].seq <= last {
		s := f.pending[0]
		f.pending = f.pending[1:]
		d.finish(s)
		close(s.done)
	}
}

// finish reads an ended submission's times and gives its packets' memory back. flight.mu is held.
func (d *Device) finish(s *submission) {
	s.seenNs = profile.Now()
	t := timed{seq: s.seq, times: device.Times{
		Start: atomic.LoadUint64(d.slot(s.seq, slotStart)), Stop: atomic.LoadUint64(d.slot(s.seq, slotStop)),
	}}
	var e1, e2 int64
	t.times.StartNs, e1 = d.hostTime(s.pair, t.times.Start)
	t.times.StopNs, e2 = d.hostTime(s.pair, t.times.Stop)
	t.times.ErrorNs = max(e1, e2)
	switch {
	case s.pairErr != nil:
		t.err = fmt.Errorf("times of point %d: %w", s.seq, s.pairErr)
	case t.times.StartNs+t.times.ErrorNs < s.submitNs, t.times.StopNs-t.times.ErrorNs > s.seenNs, t.times.Stop < t.times.Start:
		t.err = fmt.Errorf("times of point %d: %w: the GPU's clock (%d to %d) does not fit the host's", s.seq, device.ErrNotSupported, t.times.Start, t.times.Stop)
	}
	d.flight.times[s.seq%slots] = t
	d.arena.release(s.ibEnd)
	if s.big != nil {
		s.err = errors.Join(s.err, s.big.free())
	}
	s.times = t
}

func (m *memory) freeIfAny() error {
	if m == nil {
		return nil
	}
	return m.free()
}

// Alloc implements device.Device.
func (d *Device) Alloc(ctx context.Context, size uint64, o device.AllocOptions) (*device.Buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	flags := uint32(flagsVRAM)
	if o.Memory == device.System {
		flags = flagsSystem
	}
	if o.Executable {
		flags |= abi.AllocExecutable
	}
	if o.Uncached {
		flags |= abi.AllocUncached
	}
	zero := func(m *memory) {
		if !d.opts.Simulated { // memory of the simulated kernel is born zero, and clearing would make every page of it real
			clear(m.bytes())
		}
	}
	m, err := d.allocateWith(size, o.Align, flags, zero)
	if o.Memory == device.VRAM && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOMEM)) {
		// No BAR over all of the GPU's memory, or it is full: the host's will do.
		m, err = d.allocateWith(size, o.Align, flags&^(abi.AllocVRAM|abi.AllocPublic)|abi.AllocGTT, zero)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.info.Name, err)
	}
	d.allocated(int64(m.size))
	return device.NewBuffer(m.addr, m.bytes()[:size:size], d.place(m.flags), func() error {
		d.allocated(-int64(m.size))
		return m.free()
	}), nil
}

// allocated notes that the device's buffers grew. Totals are recorded in the order in which they were reached.
func (d *Device) allocated(by int64) {
	d.buffers.mu.Lock()
	defer d.buffers.mu.Unlock()
	d.buffers.bytes += by
	if profile.Enabled() {
		now := profile.Now()
		profile.Record(profile.Event{Kind: profile.KindAllocation, Device: d.info.Name, Bytes: uint64(d.buffers.bytes), Start: now, Stop: now})
	}
}
