package report

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/rigprof/rigprof/internal/capture"
)

// Counted is the document rigprof/counters/1.
type Counted struct {
	Schema     string            `json:"schema"`
	Device     DeviceDoc         `json:"device"`
	Dispatches []CounterDispatch `json:"dispatches"`
	Quality    Quality           `json:"quality"`

	PerUnit bool `json:"-"` // one row per die, engine, array and WGP in tables
}

// CounterDispatch is one dispatch's counters.
type CounterDispatch struct {
	Launch
	Counters []CounterValue `json:"counters"`
}

// CounterValue is a counter's total over its units. A null value has a reason.
type CounterValue struct {
	Name    string      `json:"name"`
	Block   string      `json:"block"`
	Value   *uint64     `json:"value"`
	AtLeast bool        `json:"at_least,omitempty"` // a unit's register saturated
	Reason  string      `json:"reason,omitempty"`
	Units   []UnitValue `json:"units"`
}

// UnitValue is the count of one unit. Indices that the block has no copies along are 0.
type UnitValue struct {
	Die      int     `json:"die"`
	Instance int     `json:"instance"`
	Engine   int     `json:"engine"` // across dies
	Array    int     `json:"array"`
	WGP      int     `json:"wgp"`
	Value    *uint64 `json:"value"`
	AtLeast  bool    `json:"at_least,omitempty"`
}

// saturated is a WGP's SQ count that means "at least" (SPEC: 32-bit registers stop there).
const saturated = math.MaxUint32

// Counters is the view of a capture's counters.
func Counters(c *capture.Capture) (*Counted, error) {
	out := &Counted{Schema: "rigprof/counters/1", Device: deviceDoc(&c.Device), Dispatches: make([]CounterDispatch, len(c.Dispatches)), Quality: baseQuality(c)}
	q := &out.Quality
	epoch := epochOf(c)
	var launched int64
	for i := range c.Dispatches {
		out.Dispatches[i] = CounterDispatch{Launch: launchOf(&c.Dispatches[i], epoch), Counters: []CounterValue{}}
		launched += c.Dispatches[i].Waves
	}
	q.WavesLaunched = &launched
	if len(c.Counters) == 0 && len(c.Dispatches) > 0 {
		q.Note(capture.Info, "record with rigprof counters", "the capture holds no counters")
	}
	for i := range c.Counters {
		run := &c.Counters[i]
		if run.Dispatch < 0 || run.Dispatch >= len(out.Dispatches) {
			q.Note(capture.Warning, "", "counters of dispatch %d, which the capture lacks", run.Dispatch)
			continue
		}
		samples, err := run.Bytes.Bytes()
		if err != nil {
			q.Note(capture.Loss, "", "counters of dispatch %d: %v", run.Dispatch, err)
		}
		if run.Unmeasured == "" && !run.Filtered {
			q.Note(capture.Info, "keep the GPU free of other work while counting", "this GPU counts every process's waves: other processes' work may be included")
		}
		d := &out.Dispatches[run.Dispatch]
		for k := range run.Layout {
			v := valueOf(&run.Layout[k], run, samples, c.Device.Live, c.Device.SEs)
			d.Counters = append(d.Counters, v)
			if v.Value == nil {
				q.unmeasured(v.Name, v.Reason)
			}
			if v.AtLeast {
				q.Note(capture.Warning, "launch less work per run", "%s: a register reached its end, the value is at least what is shown", v.Name)
			}
		}
	}
	return out, nil
}

func (q *Quality) unmeasured(name, reason string) {
	for _, u := range q.CountersUnmeasured {
		if u.Name == name && u.Reason == reason {
			return
		}
	}
	q.CountersUnmeasured = append(q.CountersUnmeasured, Unmeasured{name, reason})
}

// valueOf reads a counter's words out of a run's samples. Units that run no work are left out of the list: their words are 0.
func valueOf(l *capture.Counter, run *capture.Counters, samples []byte, live [][]uint32, ses int) CounterValue {
	v := CounterValue{Name: l.Name, Block: l.Block, Units: []UnitValue{}}
	v.Reason = l.Unmeasured
	if v.Reason == "" {
		v.Reason = run.Unmeasured
	}
	if v.Reason != "" {
		return v
	}
	if !fits(l, len(samples)) {
		v.Reason = "its samples are missing from the capture"
		return v
	}
	var sum uint64
	at := l.Offset
	for die := range l.Dies {
		for inst := range l.Instances {
			for se := range l.Engines {
				engine := die*ses + se // a block without engines stands in its die's first
				for sa := range l.Arrays {
					for wgp := range l.WGPs {
						word := binary.LittleEndian.Uint64(samples[at:])
						at += 8
						if l.WGPs > 1 && !lives(live, engine, sa, wgp) && word == 0 {
							continue
						}
						u := UnitValue{Die: die, Instance: inst, Engine: engine, Array: sa, WGP: wgp, Value: &word}
						u.AtLeast = l.Block == "SQ" && word >= saturated
						v.AtLeast = v.AtLeast || u.AtLeast
						sum += word
						v.Units = append(v.Units, u)
					}
				}
			}
		}
	}
	v.Value = &sum
	return v
}

// maxDim bounds a layout's dimensions as read from a file, so that their product is a number.
const maxDim = 1 << 12

func fits(l *capture.Counter, size int) bool {
	n := 1
	for _, d := range []int{l.Dies, l.Instances, l.Engines, l.Arrays, l.WGPs} {
		if d < 1 || d > maxDim || n > size {
			return false
		}
		n *= d
	}
	return l.Offset >= 0 && l.Offset <= int64(size) && n <= (size-int(l.Offset))/8
}

func lives(live [][]uint32, engine, sa, wgp int) bool {
	if engine >= len(live) || sa >= len(live[engine]) {
		return len(live) == 0
	}
	return live[engine][sa]>>wgp&1 == 1
}

func (v *CounterValue) text() any {
	if v.Value == nil {
		return "n/a"
	}
	if v.AtLeast {
		return fmt.Sprintf(">=%d", *v.Value)
	}
	return *v.Value
}

// Tables is the view for people.
func (t *Counted) Tables(limit int) []Table {
	ds := dispatchTable(t.Device.title())
	vs := Table{Title: "counters", Columns: []Column{Number("dispatch"), Text("counter"), Text("block"), Number("total"), Number("per wave"), Number("units"), Text("reason")}}
	us := Table{Title: "units", Columns: []Column{
		Number("dispatch"), Text("counter"), Number("die"), Number("instance"), Number("engine"), Number("array"), Number("wgp"), Number("value"),
	}}
	total := 0
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		ds.Add(d.cells(i)...)
		for k := range d.Counters {
			v := &d.Counters[k]
			per := any("n/a")
			if v.Value != nil && d.WavesLaunched > 0 {
				per = fmt.Sprintf("%.2f", float64(*v.Value)/float64(d.WavesLaunched))
			}
			reason := v.Reason
			if reason == "" {
				reason = "-"
			}
			vs.Add(i, v.Name, v.Block, v.text(), per, len(v.Units), reason)
			if !t.PerUnit {
				continue
			}
			total += len(v.Units)
			for _, u := range v.Units {
				if limit > 0 && len(us.Rows) >= limit {
					break
				}
				us.Add(i, v.Name, u.Die, u.Instance, u.Engine, u.Array, u.WGP, u.text())
			}
		}
	}
	leftOut(&us, total, "units")
	return []Table{ds, vs, us, t.Quality.table()}
}

func (u *UnitValue) text() any {
	if u.Value == nil {
		return "n/a"
	}
	if u.AtLeast {
		return fmt.Sprintf(">=%d", *u.Value)
	}
	return *u.Value
}

// CSV is one row a counter, or a unit with PerUnit. An unmeasured value is empty and has its reason.
func (t *Counted) CSV() *Table {
	head := []Column{Number("dispatch"), Text("kernel"), Text("simulated"), Number("waves_launched"), Text("counter"), Text("block")}
	if t.PerUnit {
		head = append(head, Number("die"), Number("instance"), Number("engine"), Number("array"), Number("wgp"))
	}
	out := &Table{Columns: append(head, Number("value"), Text("at_least"), Text("reason"))}
	value := func(v *uint64) any {
		if v == nil {
			return nil
		}
		return *v
	}
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		for k := range d.Counters {
			v := &d.Counters[k]
			row := []any{i, d.Kernel, t.Device.Simulated, d.WavesLaunched, v.Name, v.Block}
			if !t.PerUnit {
				out.Add(append(row, value(v.Value), v.AtLeast, v.Reason)...)
				continue
			}
			if v.Value == nil {
				out.Add(append(row, nil, nil, nil, nil, nil, nil, v.AtLeast, v.Reason)...)
			}
			for _, u := range v.Units {
				out.Add(append(append([]any(nil), row...), u.Die, u.Instance, u.Engine, u.Array, u.WGP, value(u.Value), u.AtLeast, "")...)
			}
		}
	}
	return out
}

// JSON is the document.
func (t *Counted) JSON() any { return t }

// Chrome writes a slice per dispatch with its counters as arguments and a counter track per counter.
func (t *Counted) Chrome(w io.Writer) error {
	c := newChromeWriter(w)
	c.name(1, 0, "process_name", t.Device.title())
	c.name(1, 1, "thread_name", "dispatches")
	var at int64 // ns, for dispatches that no device timed: 1 us each, in order
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		start, stop := at, at+1000
		if d.StartNs != nil {
			start, stop = *d.StartNs, *d.StartNs+*d.DurationNs
		}
		args := fmt.Sprintf(`"waves":%d`, d.WavesLaunched)
		for _, v := range d.Counters {
			if v.Value == nil {
				args += fmt.Sprintf(",%s:%s", quote(v.Name), quote("n/a: "+v.Reason))
				continue
			}
			args += fmt.Sprintf(",%s:%d", quote(v.Name), *v.Value)
			c.event(`{"ph":"C","pid":1,"name":%s,"ts":%s,"args":{"value":%d}}`, quote(v.Name), micros(start*1000), *v.Value)
			c.event(`{"ph":"C","pid":1,"name":%s,"ts":%s,"args":{"value":0}}`, quote(v.Name), micros(stop*1000))
		}
		c.slice(1, 1, d.Kernel, start, stop, 1000, args)
		at = max(at, stop)
	}
	return c.close()
}
