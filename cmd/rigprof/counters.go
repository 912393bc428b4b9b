package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/session"
)

type countersOptions struct {
	recordOptions
	Events     []string
	Per        string
	Unverified bool
}

func newCountersCmd(e *env) *cobra.Command {
	var o countersOptions
	cmd := &cobra.Command{
		Use:   "counters [flags] TARGET",
		Short: "Count a kernel's hardware events",
		Long: "Run a kernel and count hardware events: waves, instructions, cache hits. Counters and metrics that do not fit into one run take several,\n" +
			"each from the same memory.\n" + launchHelp,
		Example: `  rigprof counters -e SQ_WAVES,SQ_INSTS_VALU --device sim:gfx1100 --launch launches.yaml#vadd vadd.co
  rigprof counters -e SQ_WAVES --per unit --format csv --launch launches.yaml#vadd vadd.co`,
		Args: named(theCode, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target = args[0]
			if err := o.validate(); err != nil {
				return err
			}
			e.started = true
			return runCounters(cmd.Context(), e, o)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVarP(&o.Events, "events", "e", []string{"SQ_WAVES"}, "`counters` and metrics to measure: NAME,… (see 'rigprof list counters' and 'rigprof list metrics')")
	f.StringVar(&o.Per, "per", "", "`unit` gives a row per die, engine, array and WGP (CU on gfx9)")
	f.BoolVar(&o.Unverified, "unverified", false, "take counters whose event numbers are not verified on the target")
	return cmd
}

func (o *countersOptions) validate() error {
	if err := o.recordOptions.validate(); err != nil {
		return err
	}
	if len(o.Events) == 0 {
		return fmt.Errorf("-e names no counter: see 'rigprof list counters'")
	}
	for i, n := range o.Events {
		if o.Events[i] = strings.TrimSpace(n); o.Events[i] == "" {
			return fmt.Errorf("-e %q: an empty name", strings.Join(o.Events, ","))
		}
	}
	if o.Per != "" {
		return oneOf("per", o.Per, "unit")
	}
	return nil
}

func runCounters(ctx context.Context, e *env, o countersOptions) error {
	r, err := o.begin(ctx, e, "counters")
	if err != nil {
		return o.recordError(err)
	}
	out, err := session.Count(ctx, session.CountOptions{Options: r.Options, Names: o.Events, Unverified: o.Unverified})
	err = counterHint(r.dev.Info().GPU, o.Events, err)
	return r.end(e, &o.recordOptions, out, err, func(c *capture.Capture) (view, *report.Quality, error) {
		v, err := report.Counters(c)
		if err != nil {
			return nil, nil, err
		}
		v.PerUnit, v.HostTime = o.Per == "unit", o.HostTime
		return v, &v.Quality, nil
	})
}

// counterHint is err of counting names on a GPU; of one that there is not, it says what was meant, or where to look.
func counterHint(g *gpu.GPU, names []string, err error) error {
	unknown, ok := errors.AsType[*perfctr.UnknownError](err)
	if !ok || !slices.Contains(names, unknown.Name) {
		return err
	}
	var known []string
	for _, c := range perfctr.Counters(g) {
		known = append(known, c.Name)
	}
	for _, m := range perfctr.Metrics(g) {
		known = append(known, m.Name)
	}
	if slices.Contains(known, unknown.Name) { // a metric, where counters alone go
		return err
	}
	if best := nearest(unknown.Name, known); best != "" {
		return fmt.Errorf("%w: did you mean %s?", err, best)
	}
	return fmt.Errorf("%w ('rigprof list counters %s' and 'rigprof list metrics %[2]s' name what there is)", err, g.Target)
}
