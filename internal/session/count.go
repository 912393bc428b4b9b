package session

import (
	"context"
	"errors"
	"fmt"

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
	ctx, cancel := (&run{Options: &o.Options}).deadline(ctx)
	defer cancel()
	passes, err := perfctr.Plan(o.Device.Info().GPU, o.Names)
	if err != nil {
		return nil, err
	}
	if len(passes) == 0 { // metrics that no counter goes into; the kernel runs all the same
		passes = [][]string{{"GRBM_COUNT"}}
	}
	passes = apart(o.Device.Info().GPU, passes)
	r, err := begin(ctx, &o.Options)
	if err != nil {
		return nil, err
	}
	out := &Outcome{}
	err = r.timeline(ctx, func(ctx context.Context) error {
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
	return out, errors.Join(err, r.close())
}

// count is one pass.
func (r *run) count(ctx context.Context, o *CountOptions, names []string, out *Outcome) error {
	g := r.info.GPU
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
	before, start, stop, err := r.programs(ctx, l, filtered, int64(buf.Addr))
	if err != nil {
		return err
	}
	d := r.dispatch()
	if _, err := r.submit(ctx, append(before, device.Words(start))...); err != nil {
		return r.failed(d, fmt.Errorf("start counting: %w", err))
	}
	p, err := r.submit(ctx, r.part())
	if err != nil {
		return r.failed(d, err)
	}
	if _, err := r.submit(ctx, device.Words(stop)); err != nil {
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
	return r.Capture.Counters(capture.Counters{
		Dispatch: r.runs, Asked: o.Names, Names: names, Layout: layoutOf(l, &r.info), Unverified: o.Unverified, Filtered: filtered,
	}, buf.Bytes[:l.Bytes])
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
