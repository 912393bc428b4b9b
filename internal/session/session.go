package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/profile"
)

// Options are what every recording needs.
type Options struct {
	Device  device.Device
	Name    string // of the code object's file, as the user typed it
	Data    []byte // its bytes
	Launch  *launch.Launch
	Timeout time.Duration // for all of the GPU's work; 0: as long as it takes
	Check   bool          // verify the buffers that the launch file describes
	Saves   []launch.Save
	Capture *capture.Writer
	Meta    capture.Meta
	Notef   func(format string, args ...any) // remarks for the user while it runs

	// Overhead also runs the launch without recording, first, to tell what recording costs. Simulated GPUs do not: recording takes none
	// of their time.
	Overhead bool
}

// TimeoutError is a GPU that did not finish in time.
type TimeoutError struct {
	Kernel string
	After  time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("kernel %s did not end within %v and was stopped; raise --timeout if it needs longer", e.Kernel, e.After)
}

// Outcome is what a finished recording says beside its capture.
type Outcome struct {
	Checked int // buffers verified
	Wrong   []launch.Failure
}

// run is a recording in progress.
type run struct {
	*Options
	info   device.Info
	object *codeobj.Object
	kernel *codeobj.Kernel
	base   uint64 // runtime address of the object's address 0
	code   *device.Buffer
	bufs   []*device.Buffer // in the order of allocation
	ready  *launch.Ready
	runs   int // passes so far
	plain  *int64
}

// record loads the code object, runs f and records what the device and the host did meanwhile.
func record(ctx context.Context, o *Options, f func(ctx context.Context, r *run) error) error {
	ctx, cancel := deadline(ctx, o.Timeout)
	defer cancel()
	r, err := begin(o)
	if err != nil {
		return err
	}
	err = r.timeline(ctx, func(ctx context.Context) error {
		if err := profile.Span(ctx, "load", r.load); err != nil {
			return err
		}
		if o.Overhead && !r.info.Simulated {
			if err := profile.Span(ctx, "run without recording", r.measurePlain); err != nil {
				return err
			}
		}
		return f(ctx, r)
	})
	return errors.Join(err, r.close())
}

// begin finds the kernel and writes what the capture says before any work ran.
func begin(o *Options) (*run, error) {
	r := &run{Options: o, info: o.Device.Info()}
	if r.Notef == nil {
		r.Notef = func(string, ...any) {}
	}
	obj, err := codeobj.Choose(o.Data, r.info.GPU.Target, o.Launch.Kernel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	r.object = obj
	if r.kernel, err = obj.Kernel(o.Launch.Kernel); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	if err := o.Launch.Bind(r.kernel); err != nil {
		return nil, err
	}
	for _, w := range []error{o.Capture.Meta(o.Meta), o.Capture.Device(r.device())} {
		if w != nil {
			return nil, w
		}
	}
	return r, nil
}

// load puts the code object into the GPU's memory.
func (r *run) load(ctx context.Context) error {
	lo, hi := r.object.Span()
	code, err := device.Load(ctx, r.Device, r.Name, r.object.Data, hi-lo, func(addr uint64, mem []byte) error {
		r.base = addr - lo
		return r.object.LoadInto(mem, r.base)
	})
	if err != nil {
		return err
	}
	r.code = code
	sum := sha256.Sum256(r.object.Data)
	return r.Capture.Object(capture.Object{
		Name: r.Name, Target: r.object.Target.String(), Base: r.base, SHA256: hex.EncodeToString(sum[:]),
	}, r.object.Data)
}

// timeline runs f and records what the device and the host did meanwhile.
func (r *run) timeline(ctx context.Context, f func(ctx context.Context) error) error {
	events, err := profile.Take(ctx, f)
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		c := capture.Event{
			Kind: e.Kind.String(), Device: e.Device, Lane: e.Lane, Name: e.Name, Start: e.Start, Stop: e.Stop, Point: e.Point, ErrorNs: e.ErrorNs,
			Bytes: int64(e.Bytes), Address: e.Address, Src: e.Src, Dst: e.Dst, Part: e.Part, Runs: e.Runs,
		}
		for i := range e.Counters {
			name, sum := e.Counters[i].Name, e.Counters[i].Sum()
			if sum.NA != "" {
				c.Unmeasured = set(c.Unmeasured, name, sum.NA)
				continue
			}
			c.Values = set(c.Values, name, sum.N)
			if sum.AtLeast {
				c.AtLeast = append(c.AtLeast, name)
			}
		}
		if err := r.Capture.Event(c); err != nil {
			return err
		}
	}
	return nil
}

// set is a map with an entry more.
func set[V any](m map[string]V, k string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[k] = v
	return m
}

func (r *run) device() capture.Device {
	g := r.info.GPU
	stable := r.info.StablePower
	name := g.Name
	if r.info.Name != "" && !r.info.Simulated {
		name = r.info.Name
	}
	return capture.Device{
		Name: name, Target: g.Target, GC: g.GC, Family: g.Family.String(), Simulated: r.info.Simulated,
		Dies: g.Dies, SEs: g.SEs, SAs: g.SAs, Units: g.Units, SIMDs: g.SIMDs, Slots: g.Slots, Live: r.info.Live,
		ClockHz: g.ClockHz, RefClockHz: g.RefClockHz, StablePower: &stable, Driver: r.info.Spec,
	}
}

// allocator gives launch memory that the run frees.
type allocator struct {
	ctx context.Context
	r   *run
}

func (a allocator) Alloc(size uint64) (uint64, []byte, error) {
	b, err := a.r.alloc(a.ctx, max(size, 1), device.AllocOptions{})
	if err != nil {
		return 0, nil, err
	}
	return b.Addr, b.Bytes, nil
}

// Upload implements launch.Uploader: what the host writes is a copy.
func (a allocator) Upload(addr uint64, n int, write func() error) error {
	return a.r.at(addr).WriteBy(n, write)
}

// at is the buffer that begins at addr, among the run's.
func (r *run) at(addr uint64) *device.Buffer {
	for i := len(r.bufs) - 1; i >= 0; i-- {
		if r.bufs[i].Addr == addr {
			return r.bufs[i]
		}
	}
	panic("session: no such buffer") // the launch names those that it was given
}

func (r *run) alloc(ctx context.Context, size uint64, o device.AllocOptions) (*device.Buffer, error) {
	b, err := r.Device.Alloc(ctx, size, o)
	if err != nil {
		return nil, err
	}
	r.bufs = append(r.bufs, b)
	return b, nil
}

// prepare allocates and fills the launch's buffers anew: each pass starts from the same memory.
func (r *run) prepare(ctx context.Context) error {
	ready, err := r.Launch.Build(r.kernel, allocator{ctx, r}, launch.Env{
		DescriptorAddr: r.base + r.kernel.DescriptorAddr, ABI: r.object.Version,
	})
	if err != nil {
		return err
	}
	r.ready = ready
	for _, w := range ready.Warnings {
		r.Notef("%s", w)
	}
	return nil
}

// part is the launch as the device takes it.
func (r *run) part() device.Launch {
	d := r.kernel.Descriptor
	return device.Launch{
		Name: r.kernel.Demangled, Entry: r.base + r.kernel.Entry, RSRC1: d.RSRC1, RSRC2: d.RSRC2, RSRC3: d.RSRC3,
		Properties: d.Properties, KernargPreload: d.Preload, Kernarg: r.ready.KernargAddr, Grid: r.ready.Grid, Block: r.ready.Block,
		LDSBytes: r.ready.LDSBytes, PrivateBytes: max(r.kernel.PrivateBytes, d.PrivateBytes), DescriptorAddr: r.base + r.kernel.DescriptorAddr,
	}
}

// dispatch describes the launch for the capture.
func (r *run) dispatch() capture.Dispatch {
	k, d := r.kernel, r.kernel.Descriptor
	target := r.object.Target.Processor
	sgprs := int(k.SGPRs)
	if !k.HasMeta {
		sgprs = d.SGPRs(target)
	}
	return capture.Dispatch{
		Run: r.runs, Kernel: k.Demangled, Object: 0, Entry: r.base + k.Entry,
		Grid: r.ready.Grid, Groups: r.ready.Groups, Block: r.ready.Block, Wave: d.WaveSize(), Waves: int64(r.ready.Waves()),
		VGPRs: d.VGPRs(target), AGPRs: int(k.AGPRs), SGPRs: sgprs, LDS: int64(r.ready.LDSBytes), Scratch: int64(max(k.PrivateBytes, d.PrivateBytes)),
	}
}

// submit runs parts and waits for them, bounded by the run's time-out.
func (r *run) submit(ctx context.Context, parts ...device.Part) (device.Point, error) {
	p, err := r.Device.Submit(ctx, parts...)
	if err != nil {
		return 0, err
	}
	return p, r.wait(ctx, p)
}

// wait waits for a point. When the time is over it ends the GPU's work.
func (r *run) wait(ctx context.Context, p device.Point) error {
	err := r.Device.Wait(ctx, p)
	if err == nil || ctx.Err() == nil {
		return err
	}
	if aerr := r.Device.Abort(context.WithoutCancel(ctx)); aerr != nil {
		r.Notef("could not end the GPU's work: %v", aerr)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &TimeoutError{Kernel: r.kernel.Demangled, After: r.Timeout}
	}
	return context.Cause(ctx)
}

// deadline bounds ctx by the time-out, if there is one.
func deadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if after <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, after)
}

// measurePlain times the launch without recording, from the same memory. The first turn warms the caches up, as it does for the recorded
// launch that follows; the second counts.
func (r *run) measurePlain(ctx context.Context) error {
	for range 2 {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		p, err := r.submit(ctx, r.part())
		if err != nil {
			return r.failed(r.dispatch(), fmt.Errorf("without recording: %w", err))
		}
		if t, err := r.Device.Times(p); err == nil {
			ns := t.StopNs - t.StartNs
			r.plain = &ns
		}
		if err := r.free(); err != nil {
			return err
		}
	}
	return nil
}

// timed notes when the device ran p.
func (r *run) timed(d *capture.Dispatch, p device.Point) {
	t, err := r.Device.Times(p)
	if err != nil {
		d.Untimed = err.Error()
		return
	}
	start, stop := t.StartNs, t.StopNs
	d.StartNs, d.EndNs, d.PlainNs = &start, &stop, r.plain
}

// event is an event of a dispatch that has ended: its times are the dispatch's, or now where the device could not time it.
func (r *run) event(kind profile.Kind, d *capture.Dispatch) profile.Event {
	e := profile.Event{Kind: kind, Device: r.info.Name, Name: d.Kernel}
	if d.StartNs != nil {
		e.Start, e.Stop = *d.StartNs, *d.EndNs
	} else {
		e.Start = profile.Now()
		e.Stop = e.Start
	}
	return e
}

// finish verifies and saves buffers after a launch that ended well.
func (r *run) finish(d *capture.Dispatch, out *Outcome) error {
	if r.Check {
		out.Wrong = append(out.Wrong, r.ready.Verify()...)
		out.Checked += r.ready.Checks()
		for _, b := range r.ready.Buffers {
			if b.Check == nil {
				continue
			}
			c := capture.Check{Buffer: b.Label(), OK: true}
			for _, f := range out.Wrong {
				if f.Buffer == b {
					c.OK, c.Text = false, firstLine(f.Lines)
				}
			}
			d.Checks = append(d.Checks, c)
		}
	}
	for _, s := range r.Saves {
		b, err := r.ready.Buffer(s.Ref)
		if err != nil {
			return err
		}
		if err := r.at(b.Addr).ReadBy(len(b.Mem), func() error { return r.ready.Save(s) }); err != nil {
			return err
		}
	}
	return nil
}

func firstLine(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// free gives back the buffers of a pass.
func (r *run) free() error {
	var errs []error
	for _, b := range r.bufs {
		errs = append(errs, b.Free())
	}
	r.bufs = nil
	return errors.Join(errs...)
}

func (r *run) close() error {
	return errors.Join(r.free(), r.code.Free())
}

// pcPattern finds the program counter in what a device says about a fault.
var pcPattern = regexp.MustCompile(`\bpc 0x([0-9a-f]+)`)

// locate adds the source line to a fault that names a program counter within the code object.
func (r *run) locate(err error) error {
	f, ok := errors.AsType[*device.Fault](err)
	if !ok {
		return err
	}
	m := pcPattern.FindStringSubmatch(f.Detail)
	if m == nil {
		return err
	}
	pc, perr := strconv.ParseUint(m[1], 16, 64)
	if perr != nil {
		return err
	}
	if lo, hi := r.object.Span(); pc-r.base < lo || pc-r.base >= hi {
		return err // a jump led out of the code: the fault's own words say where to
	}
	for _, fr := range r.object.Line(pc - r.base) {
		if fr.Line > 0 {
			return fmt.Errorf("%w (%s:%d, offset %#x of %s)", err, fr.File, fr.Line, pc-r.base, r.Name)
		}
	}
	return fmt.Errorf("%w (offset %#x of %s)", err, pc-r.base, r.Name)
}

// failed tells the capture what ended a dispatch and returns the error. A time-out or fault leaves the rest of the data valid.
func (r *run) failed(d capture.Dispatch, err error) error {
	err = r.locate(err)
	d.Fault = err.Error()
	d.Untimed = "it did not end"
	return errors.Join(err, r.Capture.Dispatch(d))
}
