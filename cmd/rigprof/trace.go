package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/session"
	"github.com/rigprof/rigprof/internal/sqtt"
)

type traceOptions struct {
	recordOptions
	traceFlags
	BufferSize string
	Engines    string

	trace session.TraceOptions
}

func newTraceCmd(e *env) *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "trace [flags] TARGET",
		Short: "Record a kernel's thread trace: when each wave ran, and where",
		Long:  "Run a kernel and record its thread trace: when each wave started and ended, and on which engine, unit, SIMD and slot.\n" + launchHelp,
		Example: `  rigprof trace --device sim:gfx1100 --check --launch launches.yaml#vadd vadd.co
  rigprof trace --grid 16384 --block 256 --arg 'buf:f32[16384]=iota' --arg 'buf:f32[16384]=const:1' --arg 'buf:f32[16384]' --arg u32:16384 vadd.co`,
		Args: named(theCode, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target = args[0]
			if err := o.validate(); err != nil {
				return err
			}
			e.started = true
			return runTrace(cmd.Context(), e, o)
		},
	}
	o.recordOptions.flags(cmd)
	o.traceFlags.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.BufferSize, "buffer-size", "16M", "trace `bytes` per engine: 1M, 256M, …")
	f.StringVar(&o.Engines, "engines", "all", "trace these `engines` of each die: all, or 0,2,…")
	return cmd
}

func (o *traceOptions) validate() error {
	err := o.recordOptions.validate()
	if err != nil {
		return err
	}
	if o.trace.BufferSize, err = bufferSize("buffer-size", o.BufferSize); err != nil {
		return err
	}
	if o.trace.Engines, err = intList("engines", o.Engines, "all"); err != nil {
		return err
	}
	return o.apply(&o.trace)
}

// bufferSize reads the size of an engine's trace buffer.
func bufferSize(flag, s string) (int64, error) {
	n, err := launch.ParseSize(s)
	if err != nil || n == 0 || n%4096 != 0 || n > sqtt.MaxSize {
		return 0, fmt.Errorf("--%s %q: want a multiple of 4096 bytes below 16G, such as 64K, 1M or 256M", flag, s)
	}
	return int64(n), nil
}

// intList reads 0,1,…; all is nil.
func intList(flag, s, all string) ([]int, error) {
	if s == all {
		return nil, nil
	}
	list := []int{}
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--%s %q: want %s, or numbers such as 0,2", flag, s, all)
		}
		list = append(list, n)
	}
	return list, nil
}

// fit checks the flags against the device.
func (o *traceOptions) fit(dev device.Device) error {
	info := dev.Info()
	g := info.GPU
	for _, e := range o.trace.Engines {
		if e >= g.SEs {
			each := ""
			if g.Dies > 1 {
				each = " on each die"
			}
			return fmt.Errorf("--engines %s: %s has engines 0 to %d%s", o.Engines, g.Name, g.SEs-1, each)
		}
	}
	return o.traceFlags.fit(g, &o.trace, func(e int) string {
		switch {
		case o.trace.Engines != nil && !slices.Contains(o.trace.Engines, e%g.SEs):
			why := "--engines " + o.Engines + " leaves it out"
			if g.Dies > 1 {
				why += fmt.Sprintf(" (it is engine %d of die %d)", e%g.SEs, e/g.SEs)
			}
			return why
		case harvested(info.Live, e):
			return "none of its units works"
		}
		return ""
	})
}

func runTrace(ctx context.Context, e *env, o traceOptions) error {
	r, err := o.begin(ctx, e, "trace")
	if err != nil {
		return o.recordError(err)
	}
	o.trace.Options = r.Options
	if err := o.fit(r.dev); err != nil {
		return r.end(e, &o.recordOptions, nil, err, nil)
	}
	out, err := session.Trace(ctx, o.trace)
	return r.end(e, &o.recordOptions, out, err, func(c *capture.Capture) (view, *report.Quality, error) {
		t, err := report.Trace(c)
		if err != nil {
			return nil, nil, err
		}
		t.HostTime = o.HostTime
		return t, &t.Quality, nil
	})
}
