package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/session"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// fit is an error for the first flag that GPU g cannot do as it says; where another flag does, the error names it. untraced
// says why an engine (numbered across dies) is not traced at all, or nothing.
func (o *traceFlags) fit(g *gpu.GPU, t *session.TraceOptions, untraced func(engine int) string) error {
	if err := o.fitUnits(g, t); err != nil {
		return err
	}
	if err := o.fitEngines(g, t, untraced); err != nil {
		return err
	}
	for _, l := range []struct {
		flag        string
		list, known []string
	}{{"tokens", o.Tokens, sqtt.TokenClasses(g.Family)}, {"wave-types", o.WaveTypes, sqtt.WaveTypes(g.Family)}} {
		for _, name := range l.list {
			if !slices.Contains(l.known, name) {
				return fmt.Errorf("--%s %q: %s has %s", l.flag, name, g.Target, strings.Join(l.known, ", "))
			}
		}
	}
	if len(o.Counters) == 0 {
		return nil
	}
	if g.Family != gpu.GFX9 {
		return fmt.Errorf("--trace-counters %s: %s puts no counters into its traces; 'rigprof counters -e %[1]s' counts them", strings.Join(o.Counters, ","), g.Target)
	}
	if n := len(o.Counters); n > maxTraceCounters {
		return fmt.Errorf("--trace-counters names %d: a trace has room for %d", n, maxTraceCounters)
	}
	if _, err := t.Program(g); err != nil { // the names
		return fmt.Errorf("--trace-counters: %w", counterHint(g, o.Counters, err))
	}
	return nil
}

// maxTraceCounters is how many select registers a trace's counters have.
const maxTraceCounters = 8

// fitUnits checks the unit and the SIMDs: GFX9 traces any of a unit's SIMDs, by a mask; GFX11 on one of them.
func (o *traceFlags) fitUnits(g *gpu.GPU, t *session.TraceOptions) error {
	switch {
	case g.Family == gpu.GFX9 && o.given("simd"):
		return fmt.Errorf("--simd %d: on %s use --simds %[1]d", o.SIMD, g.Target)
	case g.Family != gpu.GFX9 && o.given("simds"):
		return fmt.Errorf("--simds %s: %s traces the instructions of one SIMD of a unit: use --simd N, N from 0 to %d", o.SIMDs, g.Target, lastSIMD)
	}
	type place struct {
		array, unit, simd string // the flags that say so
		sqtt.Target
	}
	places := []place{{fmt.Sprintf("--array %d", o.Array), fmt.Sprintf("--unit %d", o.Unit), fmt.Sprintf("--simd %d", o.SIMD), t.Target}}
	for _, s := range o.EngineUnits {
		_, unit, err := parseEngineUnit(s)
		if err != nil {
			return err
		}
		if g.Family == gpu.GFX9 && strings.Count(s, "/") > 1 {
			return fmt.Errorf("--engine-unit %s: on %s --simds chooses the SIMDs, of all engines alike: leave the /%d out", s, g.Target, unit.SIMD)
		}
		flag := "--engine-unit " + s
		places = append(places, place{flag, flag, flag, unit})
	}
	for _, p := range places {
		switch {
		case p.Array >= g.SAs:
			return fmt.Errorf("%s: an engine of %s has arrays 0 to %d", p.array, g.Name, g.SAs-1)
		case p.Unit >= g.Units:
			return fmt.Errorf("%s: an array of %s has %ss 0 to %d", p.unit, g.Name, report.UnitName(g.Family), g.Units-1)
		case p.SIMD > lastSIMD:
			return fmt.Errorf("%s: a unit has SIMDs 0 to %d", p.simd, lastSIMD)
		}
	}
	return nil
}

// lastSIMD is that of a unit, in every family.
const lastSIMD = 3

// fitEngines checks the engines that are to trace instructions.
func (o *traceFlags) fitEngines(g *gpu.GPU, t *session.TraceOptions, untraced func(engine int) string) error {
	check := func(flag string, e int) error {
		if e >= g.Engines() {
			return fmt.Errorf("%s: %s has engines 0 to %d%s", flag, g.Name, g.Engines()-1, acrossDies(g))
		}
		if why := untraced(e); why != "" {
			return fmt.Errorf("%s: engine %d is not traced: %s", flag, e, why)
		}
		return nil
	}
	for _, e := range t.Detail {
		if err := check("--detail-engines "+o.Detail, e); err != nil {
			return err
		}
	}
	detail := t.Detail
	if t.DetailAuto {
		var traced []int
		for e := range g.Engines() {
			if untraced(e) == "" {
				traced = append(traced, e)
			}
		}
		detail = session.AutoDetail(traced)
	}
	if detail == nil {
		detail = []int{0, 1} // a program's own default
	}
	for _, s := range o.EngineUnits {
		e, _, err := parseEngineUnit(s)
		if err != nil {
			return err
		}
		if err := check("--engine-unit "+s, e); err != nil {
			return err
		}
		if !t.DetailAll && len(detail) > 0 && !slices.Contains(detail, e) { // with none the unit is a register's alone, as --unit is
			if t.DetailAuto {
				return fmt.Errorf("--engine-unit %s: --detail-engines auto has engine %d trace instructions in the smallest launches only; name it there", s, e)
			}
			return fmt.Errorf("--engine-unit %s: engine %d traces no instructions; name it in --detail-engines", s, e)
		}
	}
	return nil
}

// acrossDies says how engines are numbered where there are several dies.
func acrossDies(g *gpu.GPU) string {
	if g.Dies == 1 {
		return ""
	}
	return fmt.Sprintf(", %d of each of its %d dies", g.SEs, g.Dies)
}

// harvested tells whether an engine has no working unit.
func harvested(live [][]uint32, engine int) bool {
	return engine < len(live) && !slices.ContainsFunc(live[engine], func(m uint32) bool { return m != 0 })
}
