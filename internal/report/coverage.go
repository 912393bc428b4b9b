package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
)

// full tells of full buffers: where, how much the hardware says it lost, what to change.
func (t *Traced) full(c *capture.Capture) {
	q := &t.Quality
	if len(q.BufferFull) == 0 {
		return
	}
	var size, dropped int64
	for i := range c.Traces {
		if c.Traces[i].Full {
			size = max(size, c.Traces[i].Buffer)
			dropped += c.Traces[i].Dropped
		}
	}
	lost := "what came later is missing"
	switch {
	case dropped > 0 && t.family == gpu.GFX9:
		lost = Bytes(dropped) + " that came later are missing"
	case dropped > 0:
		lost = fmt.Sprintf("what came later is missing (the hardware counted %d lost tokens)", dropped)
	}
	q.Note(capture.Loss, fmt.Sprintf("raise --buffer-size above %s per engine", Bytes(size)), "the trace buffer of engine %s was full: %s", ints(q.BufferFull), lost)
}

// detail says which units' instructions were traced.
func (t *Traced) detail(c *capture.Capture) {
	q := &t.Quality
	seen := map[string]bool{}
	for i := range c.Traces {
		tr := &c.Traces[i]
		if tr.Tokens != nil {
			q.Note(capture.Info, "leave --tokens out", someTokens+"%s alone were traced", strings.Join(tr.Tokens, ", "))
		}
		if tr.WaveTypes != nil {
			q.Note(capture.Info, "leave --wave-types out", someWaves+"those of %s alone were traced", strings.Join(tr.WaveTypes, ", "))
		}
		if tr.Detail == nil {
			continue
		}
		where := fmt.Sprintf("engine %d array %d %s %d SIMD %d", tr.Engine, tr.Detail.Array, UnitName(t.family), tr.Detail.Unit, tr.Detail.SIMD)
		if tr.Detail.SIMD < 0 {
			which := "every SIMD"
			if m := tr.Detail.SIMDs; m != 0 {
				var list []int
				for i := range 32 {
					if m>>i&1 != 0 {
						list = append(list, i)
					}
				}
				which = "SIMD " + ints(list)
			}
			where = strings.TrimSuffix(where, "SIMD -1") + which
		}
		if seen[where] {
			continue
		}
		seen[where] = true
		q.InstructionsTraced = append(q.InstructionsTraced, where)
		if !tr.Detail.Alive {
			q.Note(capture.Warning, "choose a unit that works with --unit", "%s is harvested: no instruction can be traced there", where)
		}
	}
	if len(c.Traces) > 0 && len(seen) == 0 && !slices.ContainsFunc(c.Traces, func(tr capture.Trace) bool { return tr.Tokens != nil }) {
		q.Note(capture.Info, "choose engines with --detail-engines", noDetail)
	}
}

// joinUnits lists units for people: three or more engines in a row with the same one are "engines 0 to 31 array 0 CU 0 every SIMD".
func joinUnits(list []string) string {
	var out []string
	for i := 0; i < len(list); {
		first, unit, ok := engineOf(list[i])
		n := 1
		for ok && i+n < len(list) {
			if e, u, ok := engineOf(list[i+n]); !ok || u != unit || e != first+n {
				break
			}
			n++
		}
		if n < 3 {
			out = append(out, list[i])
			i++
			continue
		}
		out = append(out, fmt.Sprintf("engines %d to %d %s", first, first+n-1, unit))
		i += n
	}
	return strings.Join(out, "; ")
}

// engineOf takes "engine 3 array 0 WGP 0 SIMD 0" apart.
func engineOf(s string) (engine int, unit string, ok bool) {
	number, unit, _ := strings.Cut(strings.TrimPrefix(s, "engine "), " ")
	engine, err := strconv.Atoi(number)
	return engine, unit, err == nil
}

// coverage compares the waves seen with those launched and tells why any are missing.
func (t *Traced) coverage(c *capture.Capture) {
	q := &t.Quality
	if len(c.Traces) == 0 {
		if len(c.Dispatches) > 0 && c.Dispatches[0].Fault == "" {
			q.Note(capture.Info, "record with rigprof trace", noTraces)
		}
		return
	}
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		seen := d.seen
		switch {
		case d.Fault != "" || seen == d.WavesLaunched:
		case seen < d.WavesLaunched:
			what := fmt.Sprintf("%d of %d waves are in the trace", seen, d.WavesLaunched)
			switch {
			case d.begun > 0:
				what = fmt.Sprintf("%d of %d waves are whole in the trace, %d only start", seen, d.WavesLaunched, d.begun)
			case seen == 0:
				what = "nothing was traced of " + Plural(d.WavesLaunched, "wave")
			}
			level, why, flag := t.missing(c, i)
			q.Note(level, flag, "%s: %s: %s", d.Kernel, what, why)
		default:
			q.Note(capture.Warning, "other work may have run on the GPU at the time", "%s: %d waves are in the trace, %d were launched", d.Kernel, seen, d.WavesLaunched)
		}
	}
	t.instructionCoverage(c)
}

// missing says why waves of dispatch i are not in its traces, and what to change. What was left out on request is no loss.
func (t *Traced) missing(c *capture.Capture, i int) (level, why, flag string) {
	traced := map[int]bool{}
	full, waves, kernels := false, true, true
	for k := range c.Traces {
		if tr := &c.Traces[k]; tr.Dispatch == i {
			waves = waves && tracesWaves(tr.Tokens)
			kernels = kernels && (tr.WaveTypes == nil || slices.Contains(tr.WaveTypes, "cs"))
			traced[tr.Engine] = true
			full = full || tr.Full
		}
	}
	if c.Cut() && waves && kernels && !full {
		return capture.Loss, "part of the capture is missing", "take a whole copy of it, or record again"
	}
	var others []int
	for e, arrays := range c.Device.Live {
		if !traced[e] && slices.ContainsFunc(arrays, func(m uint32) bool { return m != 0 }) {
			others = append(others, e)
		}
	}
	switch {
	case !waves:
		return capture.Info, "their tokens were not asked for", "leave --tokens out"
	case !kernels:
		return capture.Info, "waves of compute kernels were not asked for", "add cs to --wave-types"
	case full:
		return capture.Warning, "a trace buffer was full", "raise --buffer-size"
	case len(others) > 0:
		level = capture.Info
		if t.Quality.PacketsLost > 0 || t.Dispatches[i].seen == 0 {
			level = capture.Warning
		}
		word := "engine"
		if len(others) > 1 {
			word = "engines"
		}
		return level, fmt.Sprintf("%s %s, not traced, may have run them", word, ints(others)), "use --engines all"
	case t.Quality.PacketsLost > 0:
		return capture.Warning, "the hardware lost tokens", "trace instructions on fewer engines (--detail-engines none)"
	}
	return capture.Warning, "the traces hold no more", "other work may have held the trace unit; check with 'rigprof decode' or record again"
}

// tracesWaves tells whether chosen token classes have waves' starts and ends.
func tracesWaves(tokens []string) bool {
	has := func(name string) bool { return slices.Contains(tokens, name) }
	return tokens == nil || has("wave_start_end") || has("wave_start") && has("wave_end")
}

// instructionCoverage tells where the units whose instructions are traced ran no wave. Traces without waves' tokens cannot tell, and those
// that may lack a start cannot either.
func (t *Traced) instructionCoverage(c *capture.Capture) {
	q := &t.Quality
	none, others := 0, 0 // units without waves, those with some or that may have some
	for i := range c.Traces {
		tr := &c.Traces[i]
		if tr.Detail == nil || !tr.Detail.Alive || !tracesWaves(tr.Tokens) || tr.WaveTypes != nil && !slices.Contains(tr.WaveTypes, "cs") || tr.Dispatch < 0 || tr.Dispatch >= len(t.Dispatches) {
			continue
		}
		hit := false
		for w := range t.Dispatches[tr.Dispatch].where[tr.Engine] {
			if arrayOf(t.family, w.cu) == tr.Detail.Array && unitOf(t.family, w.cu) == tr.Detail.Unit && tr.Detail.Has(w.simd) {
				hit = true
			}
		}
		if hit || t.Dispatches[tr.Dispatch].unsure[tr.Engine] {
			others++
		} else {
			none++
		}
	}
	if others == 0 && none > 0 {
		advice := "launch more workgroups"
		if e, s, ok := t.busiest(); ok {
			advice += fmt.Sprintf(", or trace where waves ran: --detail-engines %d --array %d --unit %d", e, arrayOf(t.family, s.cu), unitOf(t.family, s.cu))
			if t.family != gpu.GFX9 {
				advice += fmt.Sprintf(" --simd %d", s.simd)
			}
		}
		q.Note(capture.Warning, advice, noWaveThere+" (%s)", joinUnits(q.InstructionsTraced))
	}
}

// noWaveThere begins the remark that the unit traced in detail was idle.
const noWaveThere = "no wave ran where instructions are traced"

// busiest is the engine and SIMD that ran most waves, the first of several.
func (t *Traced) busiest() (engine int, at slot, ok bool) {
	count := map[int]map[slot]int64{}
	most := int64(0)
	for i := range t.Dispatches {
		for e, simds := range t.Dispatches[i].where {
			if count[e] == nil {
				count[e] = map[slot]int64{}
			}
			for s, n := range simds {
				count[e][s] += n
			}
		}
	}
	for _, e := range slices.Sorted(maps.Keys(count)) {
		simds := slices.SortedFunc(maps.Keys(count[e]), slot.compare)
		for _, s := range simds {
			if n := count[e][s]; n > most {
				most, engine, at, ok = n, e, s, true
			}
		}
	}
	return engine, at, ok
}
