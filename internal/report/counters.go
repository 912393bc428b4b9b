package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/chrome"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

// Counted is the document rigprof/counters/1.
type Counted struct {
	Schema     string            `json:"schema"`
	Device     DeviceDoc         `json:"device"`
	Dispatches []CounterDispatch `json:"dispatches"`
	Quality    Quality           `json:"quality"`

	PerUnit  bool `json:"-"` // one row per die, instance, engine, array and WGP in tables
	HostTime bool `json:"-"` // Chrome writes the profile's events alone, by the host's clock, also of a simulated GPU

	family       gpu.Family
	events       []capture.Event
	epoch, ahead int64
}

// CounterDispatch is one launch's counters, of all its passes.
type CounterDispatch struct {
	Launch
	Counters []CounterValue `json:"counters"`

	passes []int // indices into the capture's dispatches
}

// CounterValue is a counter's total over its units, or a metric. A null value has a reason.
type CounterValue struct {
	Name    string      `json:"name"`
	Block   string      `json:"block,omitempty"` // empty for a metric
	Value   any         `json:"value"`           // uint64, float64 of a metric, or nil
	AtLeast bool        `json:"at_least,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Units   []UnitValue `json:"units"`
}

// UnitValue is the count of one copy of a block. Indices that the block has no copies along are 0.
type UnitValue struct {
	Die      int     `json:"die"`
	Instance int     `json:"instance"`
	Engine   int     `json:"engine"` // across dies
	Array    int     `json:"array"`
	WGP      int     `json:"wgp"` // CU on gfx9
	Value    *uint64 `json:"value"`
	AtLeast  bool    `json:"at_least,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// maxCopies is more than any GPU has of a block: a capture that claims more is not believed.
const maxCopies = 64

// gpuOf is the model of a capture's device with the shape that was recorded.
func gpuOf(d *capture.Device) (*gpu.GPU, error) {
	g, err := gpu.Lookup(d.Name)
	if err != nil || g.Target != d.Target {
		if g, err = gpu.Lookup(d.Target); err != nil {
			return nil, err
		}
	}
	for _, n := range []int{d.Dies, d.SEs, d.SAs, d.Units} {
		if n < 1 || n > maxCopies {
			return nil, fmt.Errorf("a GPU of %d dies, %d engines, %d arrays, %d units", d.Dies, d.SEs, d.SAs, d.Units)
		}
	}
	g.Dies, g.SEs, g.SAs, g.Units, g.Live = d.Dies, d.SEs, d.SAs, d.Units, d.Live
	return g, nil
}

// Counters is the view of a capture's counters.
func Counters(c *capture.Capture) (*Counted, error) {
	if err := c.Usable(); err != nil {
		return nil, err
	}
	out := &Counted{Schema: "rigprof/counters/1", Device: deviceDoc(&c.Device), Dispatches: []CounterDispatch{}, Quality: baseQuality(c)}
	q := &out.Quality
	g, err := gpuOf(&c.Device)
	if err != nil {
		return nil, err
	}
	out.family = g.Family
	epoch := epochOf(c)
	out.events, out.epoch, out.ahead = c.Events, epoch, ahead(c)
	var launched int64
	at := map[int]int{} // dispatch of the document by launch
	for i := range c.Dispatches {
		d := &c.Dispatches[i]
		k, ok := at[d.Launch]
		if !ok {
			k = len(out.Dispatches)
			at[d.Launch] = k
			out.Dispatches = append(out.Dispatches, CounterDispatch{Launch: launchOf(d, epoch), Counters: []CounterValue{}})
			launched += d.Waves
		}
		out.Dispatches[k].passes = append(out.Dispatches[k].passes, i)
	}
	q.WavesLaunched = &launched
	if len(c.Counters) == 0 && len(c.Dispatches) > 0 && c.Dispatches[0].Fault == "" {
		q.Note(capture.Info, "record with rigprof counters", "the capture holds no counters")
	}
	for i := range out.Dispatches {
		d := &out.Dispatches[i]
		d.measure(c, g, q)
		for _, v := range d.Counters {
			if n, ok := v.Value.(uint64); ok && v.Name == "SQ_WAVES" && int64(n) != d.WavesLaunched && d.Fault == "" {
				q.Note(capture.Warning, "other work may have run at the time, or the GPU did not count all of it", "SQ_WAVES is %d, %d waves were launched", n, d.WavesLaunched)
			}
		}
	}
	return out, nil
}

// measure reads the samples of a launch's passes and computes what was asked for.
func (d *CounterDispatch) measure(c *capture.Capture, g *gpu.GPU, q *Quality) {
	m := perfctr.Measured{}
	readings := map[string]*perfctr.Reading{}
	var asked []string
	for i := range c.Counters {
		run := &c.Counters[i]
		if !slices.Contains(d.passes, run.Dispatch) {
			continue
		}
		asked = run.Asked
		list, err := read(run, g, c.Device.StablePower)
		if err != nil {
			q.Note(capture.Loss, "", "counters of pass %d: %v", run.Dispatch, err)
			continue
		}
		if run.Filtered && !slices.Contains(run.Names, "SQ_WAVES") {
			q.Note(capture.Info, "count fewer at once", "%s: no register was free to check that the filter let every wave count", strings.Join(run.Names, ", "))
		}
		if !run.Filtered {
			who := ""
			if slices.ContainsFunc(c.Counters, func(r capture.Counters) bool { return r.Filtered }) {
				who = strings.Join(run.Names, ", ") + ": "
			}
			q.Note(capture.Info, "keep the GPU free of other work while counting", "%severy process's work counts: that of others may be included", who)
		}
		list = slices.DeleteFunc(list, func(r perfctr.Reading) bool { return slices.Contains(run.Added, r.Counter.Name) })
		m.Add(g, list)
		for k := range list {
			readings[list[k].Counter.Name] = &list[k]
		}
	}
	for _, name := range asked {
		var v CounterValue
		if r := readings[name]; r != nil {
			v = valueOf(r, g)
		} else {
			v = metricOf(g, name, m)
		}
		d.Counters = append(d.Counters, v)
		if v.Value == nil {
			q.unmeasured(v.Name, v.Reason)
		}
		if v.AtLeast {
			q.Note(capture.Warning, "launch less work per run", "%s: a register reached its end, the value is at least what is shown", v.Name)
		}
	}
}

func read(run *capture.Counters, g *gpu.GPU, stable *bool) ([]perfctr.Reading, error) {
	samples, err := run.Bytes.Bytes()
	if err != nil {
		return nil, err
	}
	l, err := perfctr.NewLayout(g, run.Names)
	if err != nil {
		return nil, err
	}
	if len(l.Counters) != len(run.Layout) {
		return nil, fmt.Errorf("%d counters, their layout has %d", len(l.Counters), len(run.Layout))
	}
	unmeasured := map[string]string{}
	for i, p := range l.Counters {
		unmeasured[p.Name] = run.Layout[i].Unmeasured
		if r := run.Layout[i]; r.Event != p.Event || r.Offset != p.Offset || r.Instances != p.Instances || r.Engines != p.Engines || r.Arrays != p.Arrays || r.WGPs != p.WGPs {
			return nil, fmt.Errorf("%s was laid out by another version of rigprof: read the capture with that version", p.Name)
		}
	}
	return perfctr.Read(g, l, samples, perfctr.Conditions{StablePower: stable != nil && *stable, Unverified: run.Unverified, Unmeasured: unmeasured})
}

func (q *Quality) unmeasured(name, reason string) {
	if u := (Unmeasured{name, reason}); !slices.Contains(q.CountersUnmeasured, u) {
		q.CountersUnmeasured = append(q.CountersUnmeasured, u)
	}
}

// valueOf is a counter's document. Units that run no work are left out where they counted nothing.
func valueOf(r *perfctr.Reading, g *gpu.GPU) CounterValue {
	v := CounterValue{Name: r.Counter.Name, Block: r.Counter.Block, AtLeast: r.Total.AtLeast, Reason: r.Total.NA, Units: []UnitValue{}}
	if r.Total.NA == "" {
		v.Value = r.Total.N
	}
	for i, w := range r.Values {
		u := r.Unit(g, i)
		if r.Counter.WGPs > 1 && w.N == 0 && w.NA == "" && !lives(g.Live, u) {
			continue
		}
		uv := UnitValue{u.Die, u.Instance, u.Engine, u.Array, u.WGP, nil, w.AtLeast, w.NA}
		if w.NA == "" {
			n := w.N
			uv.Value = &n
		}
		v.Units = append(v.Units, uv)
	}
	return v
}

func metricOf(g *gpu.GPU, name string, m perfctr.Measured) CounterValue {
	v := CounterValue{Name: name, Units: []UnitValue{}}
	n, err := perfctr.Evaluate(g, name, m)
	switch {
	case err != nil:
		v.Reason = err.Error()
	case n.NA != "":
		v.Reason = n.NA
	default:
		v.Value, v.AtLeast = n.F, n.AtLeast
	}
	return v
}

func lives(live [][]uint32, u perfctr.Unit) bool {
	if u.Engine >= len(live) || u.Array >= len(live[u.Engine]) {
		return len(live) == 0
	}
	return live[u.Engine][u.Array]>>u.WGP&1 == 1
}

// valueText is a value for people.
func valueText(v any, least bool) string {
	s := "n/a"
	switch v := v.(type) {
	case uint64:
		s = fmt.Sprint(v)
	case float64:
		s = fmt.Sprintf("%.4g", v)
	}
	return atLeast(s, least && v != nil)
}

// atLeast marks a lower bound.
func atLeast(s string, least bool) string {
	if least {
		return ">=" + s
	}
	return s
}

// measured is how many units have a value.
func (v *CounterValue) measured() (n int) {
	for i := range v.Units {
		if v.Units[i].Value != nil {
			n++
		}
	}
	return n
}

// Tables is the view for people.
func (t *Counted) Tables(limit int) []Table {
	ds := dispatchTable(t.Device.title())
	vs := Table{Title: "counters", Columns: []Column{Number("dispatch"), Text("counter"), Text("block"), Number("total"), Number("per wave"), Number("units"), Text("reason")}}
	unit := strings.ToLower(UnitName(t.family))
	us := Table{Title: "units", Columns: []Column{
		Number("dispatch"), Text("counter"), Number("die"), Number("instance"), Number("engine"), Number("array"), Number(unit), Number("value"),
	}}
	total := 0
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		ds.Add(d.cells(i)...)
		for k := range d.Counters {
			v := &d.Counters[k]
			per := "-"
			if n, ok := v.Value.(uint64); ok && d.WavesLaunched > 0 {
				per = atLeast(fmt.Sprintf("%.2f", float64(n)/float64(d.WavesLaunched)), v.AtLeast)
			}
			block, units := v.Block, any(v.measured())
			if block == "" {
				block, units = "metric", "-"
			}
			vs.Add(i, v.Name, block, valueText(v.Value, v.AtLeast), per, units, dash(v.Reason))
			if t.PerUnit {
				total += len(v.Units)
			}
		}
	}
	_ = us.fill(Held, limit, total, "units", "--limit", t.unitRows) // nothing in it fails
	return []Table{ds, vs, us, t.Quality.table()}
}

// unitRows are the table's rows of units.
func (t *Counted) unitRows(f func(row []string) error) error {
	var row []string
	for i := range t.Dispatches {
		for k := range t.Dispatches[i].Counters {
			v := &t.Dispatches[i].Counters[k]
			for _, u := range v.Units {
				row = appendCells(row[:0], i, v.Name, u.Die, u.Instance, u.Engine, u.Array, u.WGP, u.text())
				if err := f(row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (u *UnitValue) text() string {
	if u.Value == nil {
		return "n/a"
	}
	return valueText(*u.Value, u.AtLeast)
}

// CSV is one row a counter, or a unit with PerUnit. An unmeasured value is empty and has its reason.
func (t *Counted) CSV() *Table {
	head := []Column{Number("dispatch"), Text("kernel"), Text("simulated"), Number("waves_launched"), Text("counter"), Text("block")}
	if t.PerUnit {
		head = append(head, Number("die"), Number("instance"), Number("engine"), Number("array"), Number(strings.ToLower(UnitName(t.family))))
	}
	out := &Table{Columns: append(head, Number("value"), Text("at_least"), Text("reason"))}
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		for k := range d.Counters {
			v := &d.Counters[k]
			row := []any{i, d.Kernel, orNil(t.Device.Simulated), d.WavesLaunched, v.Name, v.Block}
			if !t.PerUnit {
				out.Add(append(row, v.Value, v.AtLeast, v.Reason)...)
				continue
			}
			if len(v.Units) == 0 {
				out.Add(append(row, nil, nil, nil, nil, nil, v.Value, v.AtLeast, v.Reason)...)
			}
			for _, u := range v.Units {
				var n any
				if u.Value != nil {
					n = *u.Value
				}
				out.Add(append(slices.Clone(row), u.Die, u.Instance, u.Engine, u.Array, u.WGP, n, u.AtLeast, u.Reason)...)
			}
		}
	}
	return out
}

// WriteJSON writes the document.
func (t *Counted) WriteJSON(w io.Writer) error { return WriteJSON(w, t) }

// WriteCSV writes the rows.
func (t *Counted) WriteCSV(w io.Writer) error { return t.CSV().CSV(w) }

func (t *Counted) meta() []chrome.Arg { return append(t.Device.meta(), t.Quality.meta()...) }

// Chrome writes a slice per dispatch with its counters as arguments, and a counter track per counter.
func (t *Counted) Chrome(w io.Writer) error {
	if t.HostTime {
		return hostTimeline(w, t.meta(), t.events)
	}
	return timeline(w, t.meta(), func(c *chrome.Writer) {
		if !t.Device.simulated() { // whose time is not the host's: dispatches alone, one after the other
			events(c, t.events, t.epoch-t.ahead)
		}
		process := t.Device.title()
		var at int64 // ns, for dispatches that no device timed: 1 us each, in order
		for i := range t.Dispatches {
			d := &t.Dispatches[i]
			start, stop := at, at+1000
			switch {
			case d.StartNs != nil && t.Device.simulated():
				stop = at + *d.DurationNs
			case d.StartNs != nil:
				start, stop = *d.StartNs+t.ahead, *d.StartNs+t.ahead+*d.DurationNs
			}
			at = max(at, stop)
			s := chrome.Slice{Process: process, Lane: "dispatches", Name: d.Kernel, Start: start * 1000, Stop: stop * 1000}
			s.Args = append(s.Args, chrome.Int("waves", d.WavesLaunched))
			for _, v := range d.Counters {
				n, ok := v.Value.(uint64)
				track := v.Name
				if v.AtLeast {
					track += " (at least)"
				}
				if ok {
					c.Counter(process, track, "total", start*1000, n)
					c.Counter(process, track, "total", stop*1000, 0)
				}
				if !ok || v.AtLeast || n > math.MaxInt64 {
					text := valueText(v.Value, v.AtLeast)
					if v.Reason != "" {
						text += ": " + v.Reason
					}
					s.Args = append(s.Args, chrome.Text(v.Name, text))
					continue
				}
				s.Args = append(s.Args, chrome.Int(v.Name, int64(n)))
			}
			c.Slice(&s)
		}
	})
}
