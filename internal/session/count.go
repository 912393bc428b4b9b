package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/profile"
)

// CountOptions say what is counted.
type CountOptions struct {
	Options
	Names      []string // counters and metrics
	Unverified bool     // take counters whose event numbers are not verified on the target
}

// Count runs the launch once for each pass that the counters need, from the same memory, and records what was counted.
func Count(ctx context.Context, o CountOptions) (*Outcome, error) {
	passes, err := perfctr.Plan(o.Device.Info().GPU, o.Names)
	if err != nil {
		return nil, err
	}
	if len(passes) == 0 { // metrics that no counter goes into; the kernel runs all the same
		passes = [][]string{{"GRBM_COUNT"}}
	}
	passes = apart(o.Device.Info().GPU, passes)
	out := &Outcome{}
	err = record(ctx, &o.Options, func(ctx context.Context, r *run) error {
		for _, names := range passes {
			if err := r.count(ctx, &o, names, out); err != nil {
				return err
			}
			if err := r.free(); err != nil {
				return err
			}
			r.runs++
		}
		return nil
	})
	return out, err
}

// count is one pass.
func (r *run) count(ctx context.Context, o *CountOptions, names []string, out *Outcome) error {
	g := r.info.GPU
	names, added := checked(g, names)
	l, err := perfctr.NewLayout(g, names)
	if err != nil {
		return err
	}
	if err := profile.Span(ctx, "fill buffers", r.prepare); err != nil {
		return err
	}
	buf, err := r.alloc(ctx, uint64(max(l.Bytes, 8)), device.AllocOptions{Uncached: true})
	if err != nil {
		return fmt.Errorf("memory for %d bytes of samples: %w", l.Bytes, err)
	}
	filtered := filters(g, names)
	prog, err := r.programs(ctx, l, filtered, int64(buf.Addr))
	if err != nil {
		return err
	}
	d := r.dispatch()
	if _, err := r.submit(ctx, append(prog.before, device.Words(prog.start))...); err != nil {
		return r.failed(d, fmt.Errorf("start counting: %w", err))
	}
	p, err := r.submit(ctx, r.part())
	if err != nil {
		return r.failed(d, err)
	}
	if _, err := r.submit(ctx, append([]device.Part{device.Words(prog.stop)}, prog.after...)...); err != nil {
		return r.failed(d, fmt.Errorf("stop counting: %w", err))
	}
	r.timed(&d, p)
	if r.runs == 0 { // later passes repeat it
		if err := r.finish(&d, out); err != nil {
			return err
		}
	}
	if err := r.Capture.Dispatch(d); err != nil {
		return err
	}
	samples := make([]byte, l.Bytes)
	if err := buf.Read(0, samples); err != nil {
		return err
	}
	c := capture.Counters{
		Dispatch: r.runs, Asked: o.Names, Names: names, Added: added, Layout: layoutOf(l, &r.info), Unverified: o.Unverified, Filtered: filtered,
	}
	if err := r.counted(&d, l, &c, &prog, samples); err != nil {
		return err
	}
	return r.Capture.Counters(c, samples)
}

// counted records what a run counted, or that it could count nothing of what it was to.
func (r *run) counted(d *capture.Dispatch, l *perfctr.Layout, c *capture.Counters, prog *counting, samples []byte) error {
	readings, err := r.readings(l, c, samples)
	if err != nil {
		return err
	}
	why, err := prog.astray()
	if err != nil {
		return err
	}
	remark := ""
	if c.Filtered && why == "" {
		why, remark = missed(readings, d.Waves)
	}
	if remark != "" && (len(c.Added) > 0 || !slices.Contains(c.Asked, waveCounter)) { // else the view says it
		err := r.Capture.Note(capture.Note{
			Level: capture.Warning, Text: strings.Join(c.Names[:len(c.Names)-len(c.Added)], ", ") + ": " + remark,
			Advice: "waves that are preempted count again, and so do this process's other launches",
		})
		if err != nil {
			return err
		}
	}
	if why != "" {
		for i := range c.Layout {
			if c.Layout[i].Unmeasured == "" {
				c.Layout[i].Unmeasured = why
			}
		}
		if readings, err = r.readings(l, c, samples); err != nil {
			return err
		}
	}
	e := r.event(profile.KindCounters, d)
	measured := false
	for i := range readings {
		if slices.Contains(c.Added, readings[i].Counter.Name) {
			continue
		}
		n := profile.Counter{Name: readings[i].Counter.Name, Values: make([]profile.Value, len(readings[i].Values))}
		for k, v := range readings[i].Values {
			n.Values[k] = profile.Value(v)
		}
		measured = measured || readings[i].Total.NA == ""
		e.Counters = append(e.Counters, n)
	}
	if !measured {
		e = profile.Event{Kind: profile.KindUnmeasured, Device: e.Device, Runs: 1, Start: e.Stop, Stop: e.Stop}
	}
	profile.Record(e)
	return nil
}

// readings are a run's values, as its view will have them.
func (r *run) readings(l *perfctr.Layout, c *capture.Counters, samples []byte) ([]perfctr.Reading, error) {
	unmeasured := map[string]string{}
	for i := range c.Layout {
		unmeasured[c.Layout[i].Name] = c.Layout[i].Unmeasured
	}
	return perfctr.Read(r.info.GPU, l, samples, perfctr.Conditions{StablePower: r.info.StablePower, Unverified: c.Unverified, Unmeasured: unmeasured})
}

func layoutOf(l *perfctr.Layout, info *device.Info) []capture.Counter {
	list := make([]capture.Counter, len(l.Counters))
	for i := range l.Counters {
		c := &l.Counters[i]
		list[i] = capture.Counter{
			Name: c.Name, Block: c.Block, Event: c.Event, Register: c.Register, Instances: c.Instances, Engines: c.Engines,
			Arrays: c.Arrays, WGPs: c.WGPs, Offset: c.Offset,
		}
		if info.Uncounted != nil {
			if why := info.Uncounted(c.Block, c.Event); why != "" {
				list[i].Unmeasured = fmt.Sprintf("the simulator does not model %s: %s", c.Name, why)
			}
		}
	}
	return list
}
