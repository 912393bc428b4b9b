package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/profile"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// TraceOptions say what a thread trace records.
type TraceOptions struct {
	Options
	BufferSize int64 // bytes per engine, a multiple of 4096
	Engines    []int // of each die; nil: all
	Detail     []int // engines, across dies, that trace instructions; nil: the first two
	DetailAll  bool  // every engine traces instructions
	DetailAuto bool  // nobody said which: the first two that are traced, or every one where any may be the one that gets the few workgroups there are

	sqtt.Target                     // the unit of each engine whose instructions are traced
	Units       map[int]sqtt.Target // engines, across dies, with a unit of their own
	Tokens      []string            // classes that are traced; nil: the default ones
	WaveTypes   []string            // nil: all
	Counters    []string            // GFX9: SQ counters that are sampled into the trace
	CounterRate int                 // how often, in the register's own steps
}

const pageBytes = 4096

// Trace records one launch's thread trace. A fault or a time-out leaves a capture that says so.
func Trace(ctx context.Context, o TraceOptions) (*Outcome, error) {
	out := &Outcome{}
	err := record(ctx, &o.Options, func(ctx context.Context, r *run) error { return r.trace(ctx, &o, out) })
	return out, err
}

// live is the units that are traced: those that work, of the engines asked for.
func (o *TraceOptions) live(info *device.Info) ([][]uint32, error) {
	live := make([][]uint32, len(info.Live))
	for e, arrays := range info.Live {
		live[e] = slices.Clone(arrays)
		if o.Engines != nil && !slices.Contains(o.Engines, e%info.GPU.SEs) {
			clear(live[e])
		}
	}
	for _, e := range o.Engines {
		if e < 0 || e >= info.GPU.SEs {
			return nil, fmt.Errorf("engine %d: %s has engines 0 to %d on each die", e, info.GPU.Name, info.GPU.SEs-1)
		}
	}
	return live, nil
}

// choose settles which engines trace instructions where nobody said. Which engine gets a launch's first workgroup depends on what ran before: on gfx950
// captures show engines 0 and 2 of a die, on RDNA 1 and 2. With more workgroups than engines each gets one.
func (o *TraceOptions) choose(groups uint64, live [][]uint32) (all bool) {
	if !o.DetailAuto {
		return false
	}
	var engines []int
	for e, arrays := range live {
		if !harvested(arrays) {
			engines = append(engines, e)
		}
	}
	if groups <= uint64(len(engines)) {
		o.DetailAll = true
		return true
	}
	o.Detail = AutoDetail(engines)
	return false
}

// AutoDetail is which of the engines that are traced trace instructions where nobody says; nil: those that a program without options chooses.
func AutoDetail(traced []int) []int {
	first := traced[:min(2, len(traced))]
	if slices.Equal(first, []int{0, 1}) {
		return nil
	}
	return slices.Clip(first)
}

// Program is what the options mean to the programs that start and stop the trace; nothing where all are the default.
func (o *TraceOptions) Program(g *gpu.GPU) ([]sqtt.Option, error) {
	var opts []sqtt.Option
	if o.DetailAll {
		o.Detail = allEngines(g.Engines())
	}
	if o.Detail != nil {
		opts = append(opts, sqtt.WithDetail(o.Detail...))
	}
	if o.Target != (sqtt.Target{}) {
		opts = append(opts, sqtt.WithTarget(o.Target))
	}
	for _, e := range slices.Sorted(maps.Keys(o.Units)) {
		opts = append(opts, sqtt.WithEngineTarget(e, o.Units[e]))
	}
	if o.Tokens != nil {
		opts = append(opts, sqtt.WithTokens(o.Tokens...))
	}
	if o.WaveTypes != nil {
		opts = append(opts, sqtt.WithWaveTypes(o.WaveTypes...))
	}
	if o.Counters != nil { // behind the tokens, whose classes it adds to
		events, err := sqEvents(g, o.Counters)
		if err != nil {
			return nil, err
		}
		opts = append(opts, sqtt.WithCounters(events, o.CounterRate, ^uint32(0)))
	}
	return opts, nil
}

// sqEvents are the event numbers of SQ counters.
func sqEvents(g *gpu.GPU, names []string) ([]uint32, error) {
	list := perfctr.Counters(g)
	events := make([]uint32, len(names))
	for i, n := range names {
		k := slices.IndexFunc(list, func(c perfctr.Counter) bool { return c.Name == n })
		if k < 0 {
			return nil, &perfctr.UnknownError{Target: g.Target, Name: n}
		}
		if list[k].Block != "SQ" {
			return nil, fmt.Errorf("%s: a trace samples SQ counters, not %s ones", n, list[k].Block)
		}
		events[i] = uint32(list[k].Event)
	}
	return events, nil
}

func (r *run) trace(ctx context.Context, o *TraceOptions, out *Outcome) error {
	g := r.info.GPU
	live, err := o.live(&r.info)
	if err != nil {
		return err
	}
	if err := profile.Span(ctx, "fill buffers", r.prepare); err != nil {
		return err
	}
	engines := len(live)
	buf, err := r.alloc(ctx, uint64(o.BufferSize)*uint64(engines), device.AllocOptions{Align: pageBytes, Uncached: true})
	if err != nil {
		return fmt.Errorf("trace buffers of %d bytes for %d engines: %w; --buffer-size makes them smaller", o.BufferSize, engines, err)
	}
	ends, err := r.alloc(ctx, uint64(12*engines), device.AllocOptions{Uncached: true})
	if err != nil {
		return fmt.Errorf("memory for the traces' ends: %w", err)
	}
	groups := uint64(1)
	for _, n := range r.ready.Groups {
		groups *= uint64(n) // of at most 2^63-1 work-items
	}
	auto := o.choose(groups, live)
	opts, err := o.Program(g)
	if err != nil {
		return err
	}
	opts = append(opts, sqtt.WithStatus(int64(ends.Addr)+int64(4*engines)))
	start, err := sqtt.Start(g, live, o.BufferSize, int64(buf.Addr), opts...)
	if err != nil {
		return err
	}
	stop, err := sqtt.Stop(g, live, int64(ends.Addr), opts...)
	if err != nil {
		return err
	}

	d := r.dispatch()
	if _, err := r.submit(ctx, device.Words(start)); err != nil {
		return r.failed(d, fmt.Errorf("start the trace: %w", err))
	}
	p, err := r.submit(ctx, r.part())
	if err != nil {
		return r.failed(d, err)
	}
	if _, err := r.submit(ctx, device.Words(stop)); err != nil {
		return r.failed(d, fmt.Errorf("stop the trace: %w", err))
	}
	r.timed(&d, p)
	if err := r.finish(&d, out); err != nil {
		return err
	}
	if err := r.Capture.Dispatch(d); err != nil {
		return err
	}
	if !r.info.StablePower {
		err := r.Capture.Note(capture.Note{
			Level: capture.Warning, Text: "the GPU was not in its stable power state: " + r.info.PowerReason,
			Advice: "clocks may have changed while it ran",
		})
		if err != nil {
			return err
		}
	}
	if auto {
		err := r.Capture.Note(capture.Note{
			Level: capture.Info, Text: fmt.Sprintf("every engine traces instructions: the launch has no more workgroups (%d) than engines, and any may get them", groups),
			Advice: "--detail-engines chooses",
		})
		if err != nil {
			return err
		}
	}
	if err := r.unsampled(o.Counters); err != nil {
		return err
	}
	return profile.Span(ctx, "read traces", func(context.Context) error { return r.readTraces(o, &d, live, buf, ends) })
}

// unsampled notes the counters that the device cannot put into its traces.
func (r *run) unsampled(names []string) error {
	if len(names) == 0 || r.info.Unsampled == nil {
		return nil
	}
	events, err := sqEvents(r.info.GPU, names)
	if err != nil {
		return err
	}
	for i, n := range names {
		why := r.info.Unsampled(int(events[i]))
		if why == "" {
			continue
		}
		err := r.Capture.Note(capture.Note{Level: capture.Warning, Text: n + " is not in the traces: " + why, Advice: "count it with rigprof counters"})
		if err != nil {
			return err
		}
	}
	return nil
}

// readTraces appends what each engine wrote.
func (r *run) readTraces(o *TraceOptions, d *capture.Dispatch, live [][]uint32, buf, ends *device.Buffer) error {
	g := r.info.GPU
	regs, err := pm4.RegsFor(g.GC)
	if err != nil {
		return err
	}
	for e, arrays := range live {
		if harvested(arrays) {
			continue
		}
		at := int64(e) * o.BufferSize
		word := binary.LittleEndian.Uint32(ends.Bytes[4*e:])
		pair := ends.Bytes[4*len(live)+8*e:]
		status, counter := binary.LittleEndian.Uint32(pair), binary.LittleEndian.Uint32(pair[4:])
		length := sqtt.Length(g, int64(buf.Addr)+at, word)
		t := capture.Trace{
			Engine: e, Family: g.Family.String(), Buffer: o.BufferSize, Detail: o.detail(g, e, arrays), Tokens: o.Tokens, WaveTypes: o.WaveTypes,
			Counters: o.Counters,
		}
		if length < 0 || length > o.BufferSize {
			t.Error = fmt.Sprintf("the trace is not whole: the hardware says that it ends at byte %d of %d", length, o.BufferSize)
			length = min(max(length, 0), o.BufferSize)
		}
		state := stateOf(g, regs, status, counter, length, o.BufferSize)
		t.Full, t.Dropped = state.full, state.dropped
		if state.fault {
			t.Error = "the trace unit met a memory error while writing (STATUS)"
		}
		data := make([]byte, length)
		if err := buf.Read(uint64(at), data); err != nil {
			return err
		}
		if err := r.Capture.Trace(t, data); err != nil {
			return err
		}
		ev := r.event(profile.KindTrace, d)
		ev.Part, ev.Data, ev.Bytes = int32(e), data, uint64(length)
		profile.Record(ev)
	}
	return nil
}

func allEngines(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func harvested(arrays []uint32) bool {
	return !slices.ContainsFunc(arrays, func(m uint32) bool { return m != 0 })
}

// detail says whether and where engine e traced instructions.
func (o *TraceOptions) detail(g *gpu.GPU, e int, arrays []uint32) *capture.Detail {
	if o.Detail == nil && e > 1 || o.Detail != nil && !slices.Contains(o.Detail, e) {
		return nil
	}
	if o.Tokens != nil && !slices.ContainsFunc(sqtt.InstructionClasses(g.Family), func(c string) bool { return slices.Contains(o.Tokens, c) }) {
		return nil
	}
	u, ok := o.Units[e]
	if !ok {
		u = o.Target
	}
	d := &capture.Detail{Array: u.Array, Unit: u.Unit, SIMD: u.SIMD}
	if g.Family == gpu.GFX9 {
		d.SIMD, d.SIMDs = -1, u.SIMDMask
	}
	d.Alive = u.Array < len(arrays) && arrays[u.Array]>>u.Unit&1 == 1
	return d
}

// traceState is what an engine's status words say.
type traceState struct {
	full, fault bool
	dropped     int64 // what the hardware counted as lost, in bytes on GFX9 and in its own unit from GFX11 on
}

// stateOf reads the status. A buffer is full on GFX9 when STATUS.FULL says so, from GFX11 on when the write pointer stands in
// its last 32 bytes; DROPPED_CNTR alone is not reliable there (Mesa, ac_sqtt.c).
func stateOf(g *gpu.GPU, regs *pm4.RegTable, status, counter uint32, length, size int64) traceState {
	const unit = 32 // bytes that pointers count in
	bit := func(field string) bool {
		f, ok := regs.Field("SQ_THREAD_TRACE_STATUS", field)
		return ok && f.Get(status) != 0
	}
	if g.Family == gpu.GFX9 {
		s := traceState{full: bit("FULL"), fault: bit("UTC_ERROR")}
		if s.full {
			s.dropped = max(int64(counter)*unit-length, 0)
		}
		return s
	}
	s := traceState{full: length >= size-unit, fault: bit("WRITE_ERROR")}
	if s.full {
		s.dropped = int64(counter)
	}
	return s
}
