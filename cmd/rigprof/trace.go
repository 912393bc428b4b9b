package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/session"
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
		Args: cobra.ExactArgs(1),
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
	if err := o.recordOptions.validate(); err != nil {
		return err
	}
	size, err := launch.ParseSize(o.BufferSize)
	if err != nil || size == 0 || size%4096 != 0 || size > 1<<40 {
		return fmt.Errorf("--buffer-size %q: want a multiple of 4096 bytes up to 1024G, such as 64K, 1M or 256M", o.BufferSize)
	}
	o.trace.BufferSize = int64(size)
	if o.trace.Engines, err = intList("engines", o.Engines, "all"); err != nil {
		return err
	}
	return o.apply(&o.trace)
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

func runTrace(ctx context.Context, e *env, o traceOptions) error {
	r, err := o.begin(ctx, e, "trace")
	if err != nil {
		return o.recordError(err)
	}
	o.trace.Options = r.Options
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
