package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/session"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// traceFlags say what a trace program records; the commands that run one and that print one share them.
type traceFlags struct {
	Detail      string
	Array       int
	Unit        int
	SIMD        int
	SIMDs       string
	EngineUnits []string
	Tokens      []string
	WaveTypes   []string
	Counters    []string
	CounterRate int

	given func(flag string) bool // somebody set it: the command line, the environment or the settings file
}

func (o *traceFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	o.given = f.Changed
	f.StringVar(&o.Detail, "detail-engines", "auto", "trace instructions on these `engines`, numbered across dies: all, none, or 0,1,…; auto: the first two that are traced, and all in traces of no more workgroups than engines")
	f.IntVar(&o.Array, "array", 0, "shader array of the unit whose instructions are traced")
	f.IntVar(&o.Unit, "unit", 0, "WGP (CU on gfx9) of the array whose instructions are traced")
	f.IntVar(&o.SIMD, "simd", 0, "SIMD of the unit whose instructions are traced (gfx9: --simds)")
	f.StringVar(&o.SIMDs, "simds", "all", "gfx9: `SIMDs` of the unit that are traced: all, or 0,2,…")
	f.StringArrayVar(&o.EngineUnits, "engine-unit", nil, "another unit for one engine: `ENGINE=ARRAY/UNIT[/SIMD]`")
	f.StringSliceVar(&o.Tokens, "tokens", nil, "trace these `classes` of tokens alone; a wrong name lists them")
	f.StringSliceVar(&o.WaveTypes, "wave-types", nil, "trace waves of these `stages` alone: cs, …")
	f.StringSliceVar(&o.Counters, "trace-counters", nil, "gfx9: sample up to 8 SQ `counters` into the trace: NAME,…")
	f.IntVar(&o.CounterRate, "trace-counter-rate", 0, "gfx9: how seldom those are sampled: a `rate` from 0 to 31; 1 is about every 40 cycles, 80 with more than 4 counters")
}

// apply puts the flags into a trace's options.
func (o *traceFlags) apply(t *session.TraceOptions) error {
	var err error
	switch o.Detail {
	case "none":
		t.Detail = []int{}
	case "auto":
		t.DetailAuto = true
	default:
		if t.Detail, err = intList("detail-engines", o.Detail, "all"); err != nil {
			return err
		}
		t.DetailAll = o.Detail == "all"
	}
	if o.Array < 0 || o.Unit < 0 || o.SIMD < 0 {
		return fmt.Errorf("--array, --unit and --simd count from 0")
	}
	simds, err := intList("simds", o.SIMDs, "all")
	if err != nil {
		return err
	}
	t.Target = sqtt.Target{Array: o.Array, Unit: o.Unit, SIMD: o.SIMD}
	for _, n := range simds {
		if n > lastSIMD {
			return fmt.Errorf("--simds %s: a unit has SIMDs 0 to %d", o.SIMDs, lastSIMD)
		}
		t.Target.SIMDMask |= 1 << n
	}
	for _, s := range o.EngineUnits {
		engine, unit, err := parseEngineUnit(s)
		if err != nil {
			return err
		}
		unit.SIMDMask = t.Target.SIMDMask
		if _, twice := t.Units[engine]; twice {
			return fmt.Errorf("--engine-unit %s: engine %d has another unit already", s, engine)
		}
		if t.Units == nil {
			t.Units = map[int]sqtt.Target{}
		}
		t.Units[engine] = unit
	}
	for _, l := range []struct {
		flag string
		list []string
	}{{"tokens", o.Tokens}, {"wave-types", o.WaveTypes}, {"trace-counters", o.Counters}} {
		if l.list != nil && len(l.list) == 0 {
			return fmt.Errorf("--%s names nothing", l.flag)
		}
	}
	for i, name := range o.Counters {
		if slices.Contains(o.Counters[:i], name) {
			return fmt.Errorf("--trace-counters names %s twice", name)
		}
	}
	if o.CounterRate < 0 || o.CounterRate > maxCounterRate {
		return fmt.Errorf("--trace-counter-rate %d: want 0 to %d", o.CounterRate, maxCounterRate)
	}
	if o.CounterRate != 0 && len(o.Counters) == 0 {
		return fmt.Errorf("--trace-counter-rate goes with --trace-counters")
	}
	t.Tokens, t.WaveTypes, t.Counters, t.CounterRate = o.Tokens, o.WaveTypes, o.Counters, o.CounterRate
	return nil
}

// maxCounterRate is what CNTR_RATE of SQ_PERFCOUNTER_CTRL holds, in 5 bits.
const maxCounterRate = 31

// parseEngineUnit reads 4=1/3/2.
func parseEngineUnit(s string) (engine int, t sqtt.Target, err error) {
	bad := fmt.Errorf("--engine-unit %q: want ENGINE=ARRAY/UNIT or ENGINE=ARRAY/UNIT/SIMD, such as 4=0/3", s)
	e, unit, ok := strings.Cut(s, "=")
	parts := strings.Split(unit, "/")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return 0, t, bad
	}
	into := []*int{&engine, &t.Array, &t.Unit, &t.SIMD}
	for i, p := range append([]string{e}, parts...) {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || n < 0 {
			return 0, t, bad
		}
		*into[i] = n
	}
	return engine, t, nil
}
