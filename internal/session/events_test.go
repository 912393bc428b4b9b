package session

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/open"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/profile"
)

// both records with f inside a take of our own, and gives that take's events and the capture's.
func both(t *testing.T, o *Options, buf *bytes.Buffer, f func(context.Context) (*Outcome, error)) ([]profile.Event, *capture.Capture) {
	t.Helper()
	evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
		out, err := f(ctx)
		if err == nil && (len(out.Wrong) > 0 || out.Checked == 0) {
			t.Errorf("%+v", out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return evs, read(t, o, buf)
}

func kinds(evs []profile.Event, k profile.Kind) []profile.Event {
	return slices.DeleteFunc(slices.Clone(evs), func(e profile.Event) bool { return e.Kind != k })
}

// A thread trace as a profile: the image, the buffers as they are written and read, memory, the launch, each engine's bytes.
func TestTraceEvents(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "vadd", &buf, open.Options{})
	evs, c := both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
		return Trace(ctx, TraceOptions{Options: o, BufferSize: 1 << 20})
	})
	dev := o.Device.Info().Name
	for i, e := range evs {
		if i >= len(c.Events) { // memory is given back when the recording is over
			if e.Kind != profile.KindAllocation {
				t.Errorf("the capture has no %+v", e)
			}
			continue
		}
		if g := c.Events[i]; g.Kind != e.Kind.String() || g.Start != e.Start || g.Stop != e.Stop || g.Name != e.Name || g.ErrorNs != e.ErrorNs || g.Bytes != int64(e.Bytes) {
			t.Errorf("event %d is %+v in the capture, %+v in the take", i, g, e)
		}
	}
	loads := kinds(evs, profile.KindLoad)
	if len(loads) != 1 || loads[0].Device != dev || loads[0].Name != o.Name || !bytes.Equal(loads[0].Data, o.Data) || loads[0].Address == 0 || loads[0].Stop != loads[0].Start {
		t.Errorf("loads %+v", loads)
	}
	work := kinds(evs, profile.KindWork)
	names := []string{}
	for _, w := range work {
		names = append(names, w.Name)
		if w.Device != dev || w.Lane != "COMPUTE:0" || w.Stop <= w.Start || w.Point == 0 || w.ErrorNs <= 0 {
			t.Errorf("work %+v", w)
		}
	}
	if !slices.Equal(names, []string{"words", "vadd", "words"}) {
		t.Fatalf("work %q", names)
	}
	traces := kinds(evs, profile.KindTrace)
	if len(traces) != len(c.Traces) || len(traces) != 6 {
		t.Fatalf("%d traces, %d in the capture", len(traces), len(c.Traces))
	}
	for i, e := range traces {
		b, err := c.Traces[i].Bytes.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if int(e.Part) != c.Traces[i].Engine || !bytes.Equal(e.Data, b) || len(b) == 0 || e.Name != "vadd" || e.Device != dev || e.Start != work[1].Start || e.Stop != work[1].Stop {
			t.Errorf("trace of engine %d: %d bytes, %q on %s from %d to %d", e.Part, len(e.Data), e.Name, e.Device, e.Start, e.Stop)
		}
	}
	// Two inputs and the arguments go to the GPU, the six traces come from it.
	in, out := 0, 0
	for _, e := range kinds(evs, profile.KindCopy) {
		switch {
		case e.HasPoint || e.Stop < e.Start:
			t.Errorf("the host's copy %+v", e)
		case e.Src == profile.Host && e.Dst == dev:
			in++
		case e.Src == dev && e.Dst == profile.Host:
			out++
		}
	}
	if in != 3 || out != 6 {
		t.Errorf("%d copies to the GPU, %d from it", in, out)
	}
	var total uint64
	for _, e := range kinds(evs, profile.KindAllocation) {
		total = max(total, e.Bytes)
	}
	if total < 6<<20 {
		t.Errorf("%d bytes were allocated at most", total)
	}
	for _, want := range []string{"load", "fill buffers", "read traces"} {
		if !slices.ContainsFunc(kinds(evs, profile.KindSpan), func(e profile.Event) bool {
			return e.Name == want && e.Device == profile.Host && e.Lane == "domain 0" && e.Stop >= e.Start
		}) {
			t.Errorf("no span %q", want)
		}
	}
}

// Counters as a profile: each pass's counts by unit, and the passes that counted nothing.
func TestCountEvents(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "reduce", &buf, open.Options{})
	evs, c := both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
		return Count(ctx, CountOptions{Options: o, Names: []string{"SQ_WAVES", "GRBM_COUNT", "GL2C_MC_WRREQ_STALL"}})
	})
	counted := kinds(evs, profile.KindCounters)
	if len(counted) != 1 || len(counted[0].Counters) != 3 || len(kinds(evs, profile.KindUnmeasured)) != 0 {
		t.Fatalf("counters %+v", counted)
	}
	e, d := counted[0], c.Dispatches[0]
	waves := e.Counters[0]
	if waves.Name != "SQ_WAVES" || len(waves.Values) != 6*2*4 || waves.Sum() != (profile.Value{N: uint64(d.Waves)}) || e.Counters[1].Name != "GRBM_COUNT" || e.Counters[1].Sum().N == 0 {
		t.Errorf("counters %+v of %d waves", e.Counters, d.Waves)
	}
	const why = "the simulator does not model GL2C_MC_WRREQ_STALL: the time model's L2 knows no stalls and no memory types"
	if n := e.Counters[2]; n.Name != "GL2C_MC_WRREQ_STALL" || len(n.Values) != 32 || n.Sum() != (profile.Value{NA: why}) {
		t.Errorf("what was not measured: %+v", n)
	}
	if i := slices.IndexFunc(c.Events, func(e capture.Event) bool { return e.Kind == "counters" }); i < 0 || len(c.Events[i].Values) != 2 || c.Events[i].Unmeasured["GL2C_MC_WRREQ_STALL"] != why {
		t.Errorf("events of the capture %+v", c.Events)
	}
	if e.Name != "reduce" || e.Start != *d.StartNs || e.Stop != *d.EndNs || e.Device != o.Device.Info().Name {
		t.Errorf("%+v of dispatch %+v", e, d)
	}
	buf.Reset()
	o = options(t, "reduce", &buf, open.Options{})
	evs, c = both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
		return Count(ctx, CountOptions{Options: o, Names: []string{"GL2C_MC_WRREQ_STALL"}})
	})
	un := kinds(evs, profile.KindUnmeasured)
	if len(un) != 1 || un[0].Runs != 1 || un[0].Start != *c.Dispatches[0].EndNs || un[0].Stop != un[0].Start || len(kinds(evs, profile.KindCounters)) != 0 {
		t.Errorf("unmeasured %+v", un)
	}
}

// An event has a value for each unit, in the layout's order: one that the board lacks is n/a, one whose register was full at least that.
func TestUnitEvents(t *testing.T) {
	var buf bytes.Buffer
	other := count.Load{VMID: 9, Period: 60, Life: 50, Lanes: 32}
	other.Stats.N[timing.StatVALU] = 1 << 31
	o := options(t, "reduce", &buf, open.Options{Sim: open.SimOptions{Loads: []count.Load{other}}})
	evs, c := both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
		return Count(ctx, CountOptions{Options: o, Names: []string{"SQ_INSTS_VALU", "GL2C_HIT"}})
	})
	e := kinds(evs, profile.KindCounters)
	if len(e) != 1 || len(e[0].Counters) != 2 {
		t.Fatalf("counters %+v", e)
	}
	valu, hits := e[0].Counters[0], e[0].Counters[1]
	least := 0
	for _, v := range valu.Values {
		if v.NA == "" && v.AtLeast == (v.N == math.MaxUint32) && v.AtLeast {
			least++
		}
	}
	if len(valu.Values) != 6*2*4 || least == 0 || !valu.Sum().AtLeast {
		t.Errorf("%d of the registers were full: %+v", least, valu)
	}
	for i, v := range hits.Values {
		if lacks := i >= o.Device.Info().GPU.L2Channels; lacks != (v.NA != "") || v.AtLeast {
			t.Errorf("GL2C instance %d: %+v", i, v)
		}
	}
	if len(hits.Values) != 32 || hits.Sum().NA != "" {
		t.Errorf("%d instances: %+v", len(hits.Values), hits.Sum())
	}
	i := slices.IndexFunc(c.Events, func(e capture.Event) bool { return e.Kind == "counters" })
	if got := c.Events[i]; !slices.Equal(got.AtLeast, []string{"SQ_INSTS_VALU"}) || got.Values["SQ_INSTS_VALU"] != valu.Sum().N || len(got.Unmeasured) != 0 {
		t.Errorf("the capture's event %+v", got)
	}
}

// untimed is a device whose clock is no use.
type untimed struct{ device.Device }

func (untimed) Times(device.Point) (device.Times, error) {
	return device.Times{}, device.ErrNotSupported
}

// Where the device cannot time a run, its events stand where they were read, and the overhead is unknown.
func TestUntimedEvents(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "reduce", &buf, open.Options{})
	o.Device = untimed{o.Device}
	before := profile.Now()
	evs, c := both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
		return Count(ctx, CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
	})
	e := kinds(evs, profile.KindCounters)
	if len(e) != 1 || e[0].Start != e[0].Stop || e[0].Start < before || e[0].Start > profile.Now() {
		t.Errorf("%+v", e)
	}
	if d := c.Dispatches[0]; d.StartNs != nil || d.PlainNs != nil || d.Untimed == "" {
		t.Errorf("%+v", d)
	}
}

// real makes the simulated GPU pass for a real one.
type real struct{ device.Device }

func (r real) Info() device.Info {
	i := r.Device.Info()
	i.Simulated = false
	return i
}

// The launch runs twice without recording, from the same memory, when its overhead is asked for.
func TestOverhead(t *testing.T) {
	for _, simulated := range []bool{false, true} {
		var buf bytes.Buffer
		o := options(t, "reduce", &buf, open.Options{})
		o.Overhead = true
		if !simulated {
			o.Device = real{o.Device}
		}
		evs, c := both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
			return Count(ctx, CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
		})
		launches := slices.DeleteFunc(kinds(evs, profile.KindWork), func(e profile.Event) bool { return e.Name != "reduce" })
		if simulated {
			if len(launches) != 1 || c.Dispatches[0].PlainNs != nil {
				t.Errorf("a simulated GPU ran it %d times: %+v", len(launches), c.Dispatches[0])
			}
			continue
		}
		if len(launches) != 3 || c.Dispatches[0].PlainNs == nil || *c.Dispatches[0].PlainNs != launches[1].Duration() {
			t.Errorf("it ran %d times: %+v", len(launches), c.Dispatches[0])
		}
		if b, err := c.Counters[0].Bytes.Bytes(); err != nil || sum(b) != uint64(c.Dispatches[0].Waves) {
			t.Errorf("%d waves counted, %d launched (%v)", sum(b), c.Dispatches[0].Waves, err)
		}
	}
}
