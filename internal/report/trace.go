package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/chrome"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// DeviceDoc names the GPU of a document. Trace files do not tell whether a simulated one wrote them: Simulated is nil.
type DeviceDoc struct {
	Name      string `json:"name"`
	Target    string `json:"target"`
	Simulated *bool  `json:"simulated"`
}

// Launch is how a dispatch was launched; the documents of traces and of counters share it. Times are ns from the first dispatch's
// start; null is unknown, with the reason.
type Launch struct {
	Kernel        string          `json:"kernel"`
	Grid          [3]uint32       `json:"grid"`   // work items
	Groups        [3]uint32       `json:"groups"` // workgroups
	Block         [3]uint32       `json:"block"`  // work items of a workgroup
	WaveSize      int             `json:"wave_size"`
	WavesLaunched int64           `json:"waves_launched"`
	VGPRs         int             `json:"vgprs"`
	SGPRs         int             `json:"sgprs"`
	LDS           int64           `json:"lds_bytes"`
	Scratch       int64           `json:"scratch_bytes"`
	StartNs       *int64          `json:"start_ns"`
	DurationNs    *int64          `json:"duration_ns"`
	Untimed       string          `json:"untimed,omitempty"`
	Checks        []capture.Check `json:"checks,omitempty"`
	Fault         string          `json:"fault,omitempty"`
}

// Traced is the document rigprof/trace/1: the waves of a capture's traces.
type Traced struct {
	Schema     string          `json:"schema"`
	Device     DeviceDoc       `json:"device"`
	Dispatches []TraceDispatch `json:"dispatches"`
	Quality    Quality         `json:"quality"`

	HostTime bool `json:"-"` // Chrome writes the profile's events alone, by the host's clock, also of a simulated GPU

	family  gpu.Family
	clockHz int64
	markers []MarkerSpan
	events  []capture.Event
	epoch   int64 // of the dispatches
	ahead   int64
}

// TraceDispatch is one dispatch's waves, engine by engine in the order they end. Times are shader cycles from the start of the engine's trace.
type TraceDispatch struct {
	Launch
	Waves    []EngineWave    `json:"waves"`
	Counters []string        `json:"trace_counters,omitempty"`  // gfx9, sampled into the trace; one without samples counted 0
	Samples  []CounterSample `json:"counter_samples,omitempty"` // of them, engine by engine in order of time

	realtime map[int][][2]int64     // by engine
	seen     int64                  // waves
	begun    int64                  // those that only start
	where    map[int]map[slot]int64 // those of each engine's SIMDs, and those that only start
	unsure   map[int]bool           // engines whose trace may lack starts
}

// EngineWave is a wave and the engine that it ran on.
type EngineWave struct {
	Engine int `json:"engine"`
	Wave
}

func familyOf(name string) gpu.Family {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12} {
		if f.String() == name {
			return f
		}
	}
	return gpu.Unknown
}

func deviceDoc(d *capture.Device) DeviceDoc {
	if d.Target == "" { // its record is lost
		return DeviceDoc{Name: "an unknown GPU"}
	}
	return DeviceDoc{Name: d.Name, Target: d.Target, Simulated: &d.Simulated}
}

// launchOf describes dispatch i; epoch is what its times count from.
func launchOf(d *capture.Dispatch, epoch int64) Launch {
	l := Launch{
		Kernel: d.Kernel, Grid: d.Grid, Groups: d.Groups, Block: d.Block, WaveSize: d.Wave, WavesLaunched: d.Waves,
		VGPRs: d.VGPRs, SGPRs: d.SGPRs, LDS: d.LDS, Scratch: d.Scratch, Untimed: d.Untimed, Checks: d.Checks, Fault: d.Fault,
	}
	if d.StartNs != nil && d.EndNs != nil {
		start, dur := *d.StartNs-epoch, *d.EndNs-*d.StartNs
		l.StartNs, l.DurationNs = &start, &dur
	} else if l.Untimed == "" {
		l.Untimed = "the device did not time it"
	}
	return l
}

// epochOf is the earliest start of a capture's dispatches, from which documents count.
func epochOf(c *capture.Capture) int64 {
	epoch := int64(math.MaxInt64)
	for i := range c.Dispatches {
		if s := c.Dispatches[i].StartNs; s != nil {
			epoch = min(epoch, *s)
		}
	}
	return epoch
}

// ahead is how long before the first dispatch a capture's timeline begins.
func ahead(c *capture.Capture) int64 {
	epoch := epochOf(c)
	if epoch == math.MaxInt64 {
		return 0
	}
	first := epoch
	for i := range c.Events {
		first = min(first, c.Events[i].Start)
	}
	return epoch - first
}

// baseQuality is the part of the quality block that every recording has.
func baseQuality(c *capture.Capture) Quality {
	q := newQuality()
	q.Simulated = deviceDoc(&c.Device).Simulated
	q.cut = c.Cut()
	if p := c.Device.StablePower; p != nil {
		q.PowerState = "not stable"
		if *p {
			q.PowerState = "stable"
		}
	}
	q.overhead(c)
	for i := range c.Dispatches {
		q.Passes = max(q.Passes, c.Dispatches[i].Run+1)
		for _, ch := range c.Dispatches[i].Checks {
			if !ch.OK {
				q.Note(capture.Warning, "", "buffer %s is not what the launch file says: %s", ch.Buffer, ch.Text)
			}
		}
		if f := c.Dispatches[i].Fault; f != "" {
			q.Note(capture.Loss, "", "%s"+endedEarly+"%s", c.Dispatches[i].Kernel, f)
		}
	}
	if !c.Whole {
		q.Note(capture.Loss, "", "the recording was not finished: the capture was cut off")
	}
	for _, d := range c.Damage {
		q.Note(capture.Loss, "", "damaged capture: %s", d)
	}
	for _, n := range c.Notes {
		q.Note(n.Level, n.Advice, "%s", n.Text)
	}
	return q
}

// overhead is what recording cost the first dispatch, or why that is not known.
func (q *Quality) overhead(c *capture.Capture) {
	if len(c.Dispatches) > 0 {
		if d := &c.Dispatches[0]; d.PlainNs != nil && d.StartNs != nil && d.EndNs != nil {
			ns := *d.EndNs - *d.StartNs - *d.PlainNs
			q.OverheadNs, q.OverheadNA = &ns, ""
			return
		}
	}
	q.OverheadNA = "not measured: --overhead runs the launch without recording first"
	if c.Device.Simulated {
		q.OverheadNA = "recording takes none of a simulated GPU's time"
	}
}

// Trace is the view of a capture's thread traces.
func Trace(c *capture.Capture) (*Traced, error) {
	if err := c.Usable(); err != nil {
		return nil, err
	}
	scans := make([]*scanned, len(c.Traces))
	parallel(len(scans), func(i int) { scans[i] = timedFile(c, i).scan(scan{keep: true, count: true}) })
	return traceOf(c, scans), nil
}

// traceOf is the view of traces that were scanned.
func traceOf(c *capture.Capture, scans []*scanned) *Traced {
	t := &Traced{
		Schema: "rigprof/trace/1", Device: deviceDoc(&c.Device), Dispatches: make([]TraceDispatch, len(c.Dispatches)),
		Quality: baseQuality(c), family: familyOf(c.Device.Family), clockHz: c.Device.ClockHz, events: c.Events, epoch: epochOf(c), ahead: ahead(c),
	}
	epoch := t.epoch
	q := &t.Quality
	var launched int64
	for i := range c.Dispatches {
		t.Dispatches[i] = TraceDispatch{
			Launch: launchOf(&c.Dispatches[i], epoch), Waves: []EngineWave{}, realtime: map[int][][2]int64{}, where: map[int]map[slot]int64{}, unsure: map[int]bool{},
		}
		launched += c.Dispatches[i].Waves
	}
	q.WavesLaunched = &launched

	var notes grouped
	for i, r := range scans {
		tr := &c.Traces[i]
		if r.err != nil {
			q.Note(capture.Loss, "", "trace of engine %d: %v", tr.Engine, r.err)
		}
		q.stream(Index(tr.Engine), r)
		name := fmt.Sprintf("engine %d", tr.Engine)
		notes.losses(name, r)
		if tr.Full {
			q.BufferFull = append(q.BufferFull, tr.Engine)
		}
		if tr.Error != "" {
			notes.add(name, capture.Loss, tr.Error, "")
		}
		if tr.Dispatch < 0 || tr.Dispatch >= len(t.Dispatches) {
			continue
		}
		d := &t.Dispatches[tr.Dispatch]
		for _, w := range r.list {
			d.Waves = append(d.Waves, EngineWave{tr.Engine, w})
		}
		samples, err := samplesOf(tr)
		if err != nil && r.err == nil { // else the scan told of it
			q.Note(capture.Loss, "", "counter samples of engine %d are not whole: %v", tr.Engine, err)
		}
		d.Samples = append(d.Samples, samples...)
		if d.Counters == nil {
			d.Counters = tr.Counters
		}
		d.realtime[tr.Engine] = append(d.realtime[tr.Engine], r.realtime...)
		d.seen += r.waves
		if d.where[tr.Engine] == nil {
			d.where[tr.Engine] = map[slot]int64{}
		}
		for at, n := range r.where {
			d.where[tr.Engine][slot{cu: at.cu, simd: at.simd}] += n
		}
		d.begun += r.Losses.OpenAtEnd + r.Losses.DroppedStarts
		for _, w := range r.Open {
			d.where[tr.Engine][slot{cu: int(w.CU), simd: int(w.SIMD)}]++
		}
		l := &r.Losses
		if tr.Full || tr.Error != "" || r.err != nil || l.PacketsLost+l.DroppedEnds+l.UnknownBits+l.EmptyBytes > 0 {
			d.unsure[tr.Engine] = true
		}
	}
	t.markers = captureMarkers(c, scans, q)
	t.full(c)
	notes.into(q)
	t.detail(c)
	t.coverage(c)
	return t
}

// arrayOf and unitOf split a wave's cu as SPEC's waves joins it.
func arrayOf(f gpu.Family, cu int) int { return sqtt.Wave{CU: uint8(cu)}.Array(f) }
func unitOf(f gpu.Family, cu int) int  { return sqtt.Wave{CU: uint8(cu)}.Unit(f) }

// Tables is the view for people.
func (t *Traced) Tables(limit int) []Table {
	ds := dispatchTable(t.title(), Number("traced"), Number("cycles"))
	ws := Table{Title: "waves", Columns: []Column{
		Number("dispatch"), Number("engine"), Number("array"), Number(strings.ToLower(UnitName(t.family))), Number("simd"), Number("slot"),
		Number("start"), Number("stop"), Number("cycles"),
	}}
	total := 0
	for i := range t.Dispatches {
		d := &t.Dispatches[i]
		ds.Add(append(d.cells(i), len(d.Waves), orNil(d.span()))...)
		total += len(d.Waves)
	}
	_ = ws.fill(Held, limit, total, "waves", "--limit", t.waveRows) // nothing in it fails
	return []Table{ds, ws, t.samplesTable(), t.Quality.table()}
}

// waveRows are the table's rows of waves.
func (t *Traced) waveRows(f func(row []string) error) error {
	var row []string
	for i := range t.Dispatches {
		for _, w := range t.Dispatches[i].Waves {
			array, unit := arrayOf(t.family, w.CU), unitOf(t.family, w.CU)
			row = appendNumbers(row[:0], int64(i), int64(w.Engine), int64(array), int64(unit), int64(w.SIMD), int64(w.Slot), w.Start, w.Stop, w.Stop-w.Start)
			if err := f(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Traced) title() string { return t.Device.title() }

func (d *DeviceDoc) simulated() bool { return d.Simulated != nil && *d.Simulated }

func (d *DeviceDoc) title() string { return d.named("") }

// named is the GPU's name, what is said of it, and whether it was a simulated one.
func (d *DeviceDoc) named(what string) string {
	s := d.Name
	if d.Target != "" {
		s += " (" + d.Target + ")"
	}
	sep := ", "
	if s += what; what != "" {
		sep = "; "
	}
	if d.simulated() {
		s += sep + "simulated: times are modelled"
	}
	return s
}

// span is the longest time from the first wave's start to the last one's stop on one engine; engines' clocks differ. nil: no waves.
func (d *TraceDispatch) span() *int64 {
	type ends struct{ from, to int64 }
	by := map[int]ends{}
	for _, w := range d.Waves {
		e, ok := by[w.Engine]
		if !ok {
			e = ends{w.Start, w.Stop}
		}
		by[w.Engine] = ends{min(e.from, w.Start), max(e.to, w.Stop)}
	}
	var span *int64
	for _, e := range by {
		if n := e.to - e.from; span == nil || n > *span {
			span = &n
		}
	}
	return span
}

// orNil makes a cell of a number that may be unknown.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// dispatchTable begins the table of dispatches that traces and counters share; the columns given follow.
func dispatchTable(title string, more ...Column) Table {
	return Table{Title: title, Columns: append([]Column{
		Number("dispatch"), Text("kernel"), Text("grid"), Text("groups"), Text("block"), Number("waves"), Number("us"),
	}, more...)}
}

func (l *Launch) cells(i int) []any {
	var us any
	if l.DurationNs != nil {
		us = fmt.Sprintf("%d.%03d", *l.DurationNs/1000, *l.DurationNs%1000)
	}
	return []any{i, l.Kernel, triple(l.Grid), triple(l.Groups), triple(l.Block), l.WavesLaunched, us}
}

// triple is "64", "64,2" or "64,2,3".
func triple(v [3]uint32) string {
	switch {
	case v[1] == 1 && v[2] == 1:
		return fmt.Sprint(v[0])
	case v[2] == 1:
		return fmt.Sprintf("%d,%d", v[0], v[1])
	}
	return fmt.Sprintf("%d,%d,%d", v[0], v[1], v[2])
}

// CSV is one row a wave.
func (t *Traced) CSV() *Table {
	out := &Table{Columns: []Column{
		Number("dispatch"), Text("kernel"), Text("simulated"), Number("engine"), Number("array"), Number(strings.ToLower(UnitName(t.family))),
		Number("simd"), Number("slot"), Number("start"), Number("stop"), Number("lanes"),
	}}
	for i := range t.Dispatches {
		for _, w := range t.Dispatches[i].Waves {
			out.Add(i, t.Dispatches[i].Kernel, orNil(t.Device.Simulated), w.Engine, arrayOf(t.family, w.CU), unitOf(t.family, w.CU), w.SIMD, w.Slot, w.Start, w.Stop, w.Lanes)
		}
	}
	return out
}

// WriteJSON writes the document.
func (t *Traced) WriteJSON(w io.Writer) error { return WriteJSON(w, t) }

// WriteCSV writes the rows.
func (t *Traced) WriteCSV(w io.Writer) error { return t.CSV().CSV(w) }

// Chrome writes the recording's timeline and the waves for a trace viewer: a process per device, and one per dispatch and engine with a thread
// per slot. Each engine's first wave of a dispatch is drawn at the dispatch's start.
//
// On a real GPU its work and the host's stand beside the waves. A simulated GPU's cycles are not the host's time: its waves stand
// alone, counted from the trace's start, and are the same in every run. With HostTime there is the profile alone.
func (t *Traced) Chrome(w io.Writer) error {
	if t.HostTime {
		return hostTimeline(w, t.meta(), t.events)
	}
	return timeline(w, t.meta(), func(c *chrome.Writer) {
		if !t.Device.simulated() {
			events(c, t.events, t.epoch-t.ahead)
		}
		for i := range t.Dispatches {
			d := &t.Dispatches[i]
			for from := 0; from < len(d.Waves); {
				engine := d.Waves[from].Engine
				var waves []Wave
				for ; from < len(d.Waves) && d.Waves[from].Engine == engine; from++ {
					waves = append(waves, d.Waves[from].Wave)
				}
				ps := t.psPerCycle(d.realtime[engine])
				origin := int64(0)
				if d.StartNs != nil && !t.Device.simulated() { // engines' clocks and the host's differ: the dispatch's first wave stands at its start
					first := waves[0].Start
					for _, w := range waves {
						first = min(first, w.Start)
					}
					origin = (*d.StartNs+t.ahead)*1000 - picos(first, ps)
				}
				process := fmt.Sprintf("%s: dispatch %d engine %d", t.Device.title(), i, engine)
				waveLanes(c, process, t.family, waves, markersOf(t.markers, i, engine), ps, origin, d.Kernel)
				sampleTracks(c, process, engine, d.Samples, ps, origin)
			}
		}
	})
}

func (t *Traced) meta() []chrome.Arg { return append(t.Device.meta(), t.Quality.meta()...) }

// psPerCycle is a shader cycle by the trace's own markers, else by the device's stated clock.
func (t *Traced) psPerCycle(realtime [][2]int64) float64 {
	ps, ok := psPerCycle(realtime)
	if !ok && t.clockHz > 0 {
		ps = 1e12 / float64(t.clockHz)
	}
	return ps
}
