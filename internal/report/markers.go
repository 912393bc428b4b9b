package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// MarkerSpan is what a wave marked with s_ttracedata: a span, or a point in time where start is stop. Times are those of the wave.
type MarkerSpan struct {
	Dispatch Index    `json:"dispatch"`
	Engine   Index    `json:"engine"`
	File     string   `json:"file,omitempty"` // of trace files
	CU       int      `json:"cu"`             // array and unit in one
	Array    int      `json:"array"`
	Unit     int      `json:"unit"`
	SIMD     int      `json:"simd"`
	Slot     int      `json:"slot"`
	Wave     *int64   `json:"wave_start"` // null: the wave begins or ends outside the trace
	Name     string   `json:"name"`
	ID       uint32   `json:"id"`
	Kind     string   `json:"kind"` // function, span, point
	Start    int64    `json:"start"`
	Stop     int64    `json:"stop"`
	Depth    int      `json:"depth"`            // of the spans around it
	Open     bool     `json:"open,omitempty"`   // no marker ended it: it lasts to the wave's end
	Source   string   `json:"source,omitempty"` // file:line, innermost first
	Payload  []uint32 `json:"payload,omitempty"`

	stream int
}

const pointKind = "point"

// markerSpans pairs the words that one stream's waves sent. m, which may be nil, names them.
func markerSpans(at *streamPlace, data []sqtt.ShaderData, waves []Wave, m *codeobj.FuncMap, q *Quality) []MarkerSpan {
	if len(data) == 0 {
		return nil
	}
	bySlot := map[slot][]Wave{}
	for _, w := range waves {
		k := slot{w.CU, w.SIMD, w.Slot}
		bySlot[k] = append(bySlot[k], w)
	}
	for _, list := range bySlot {
		slices.SortFunc(list, func(a, b Wave) int { return cmp.Compare(a.Start, b.Start) })
	}
	late := undelay(data, m)
	type life struct {
		slot
		n      int // waves of the slot that start until then
		inside bool
	}
	marks := map[life][]analysis.Mark{}
	var order []life
	for _, d := range data {
		k := life{slot: slot{int(d.CU), int(d.SIMD), int(d.Slot)}}
		list := bySlot[k.slot]
		k.n = sort.Search(len(list), func(i int) bool { return list[i].Start > int64(d.Time) })
		k.inside = k.n > 0 && int64(d.Time) <= list[k.n-1].Stop
		if marks[k] == nil {
			order = append(order, k)
		}
		marks[k] = append(marks[k], analysis.Mark{Time: int64(d.Time), Value: d.Value, Short: d.Short})
	}
	var out []MarkerSpan
	outside, unmatched := 0, 0
	names := map[uint32]string{}
	for _, k := range order {
		list := marks[k]
		var start *int64
		stop := list[len(list)-1].Time
		if k.inside {
			w := bySlot[k.slot][k.n-1]
			start, stop = &w.Start, w.Stop
		} else {
			outside += len(list)
		}
		spans, n := analysis.Spans(list, stop, func(v uint32, short bool) analysis.Marker { return markerOf(m, v, short) })
		unmatched += n
		for _, s := range spans {
			name, _ := m.Name(s.ID)
			ms := MarkerSpan{
				Dispatch: at.dispatch, Engine: at.engine, File: at.file, stream: at.stream,
				CU: k.cu, Array: arrayOf(at.family, k.cu), Unit: unitOf(at.family, k.cu), SIMD: k.simd, Slot: k.slot.slot, Wave: start, Name: names[s.ID], ID: s.ID, Kind: "span",
				Start: s.Start, Stop: s.Stop, Depth: s.Depth, Open: s.Open, Source: name.Loc, Payload: s.Payload,
			}
			switch {
			case s.Point:
				ms.Kind = pointKind
			case name.Kind == codeobj.MarkerFunction:
				ms.Kind = "function"
			}
			if ms.Name == "" {
				if ms.Name = functionName(name.Name); ms.Name == "" {
					ms.Name = fmt.Sprintf("marker %d", s.ID)
				}
				names[s.ID] = ms.Name
			}
			out = append(out, ms)
		}
	}
	if late < 0 {
		q.Note(capture.Info, "", "markers are stamped when their tokens were written, somewhat after s_ttracedata was issued; how they are decoded no capture of hardware has confirmed")
	} else {
		q.Note(capture.Info, "", "markers are stamped by the shader clock in them: up to %d cycles until their tokens were written are taken out; how they are decoded no capture of hardware has confirmed", late)
	}
	if outside > 0 {
		q.Note(capture.Info, "", "%s: %s of waves that begin or end outside the trace", at.engineName(), Plural(int64(outside), "marker word"))
	}
	if unmatched > 0 {
		q.Note(capture.Info, "were tokens lost, or does the code send words of its own?", "%s: %s no span to end", at.engineName(), countHave(unmatched, "exit marker"))
	}
	return out
}

// wordsLeftOut tells of n words of a stream that shaderData did not keep.
func wordsLeftOut(q *Quality, stream string, n int64) {
	if n > 0 {
		q.Note(capture.Loss, "trace fewer waves, or let fewer of them send markers", "%s: %s behind the first %d: markers there are left out", stream, Plural(n, "marker word"), maxWords)
	}
}

// undelay corrects the times of words that hold the shader clock, SIMD by SIMD, and tells by how much at most; negative where none does.
// Source: AMD's rocprof-trace-decoder (MIT).
func undelay(data []sqtt.ShaderData, m *codeobj.FuncMap) (most int64) {
	most = -1
	if m == nil || m.ClockBits == 0 {
		return most
	}
	type words struct {
		index  []int
		times  []int64
		clocks []uint32
	}
	simds := map[slot]*words{}
	payload := map[slot]int{} // words to come that are none themselves
	for i := range data {
		d := &data[i]
		at := slot{int(d.CU), int(d.SIMD), int(d.Slot)}
		if payload[at] > 0 {
			payload[at]--
			continue
		}
		id, _, _ := m.Marker(d.Value, d.Short)
		n, named := m.Name(id)
		payload[at] = n.Payload
		if d.Short || !named && id != 0 {
			continue
		}
		at.slot = 0
		w := simds[at]
		if w == nil {
			w = &words{}
			simds[at] = w
		}
		w.index, w.times, w.clocks = append(w.index, i), append(w.times, int64(d.Time)), append(w.clocks, d.Value>>(32-m.ClockBits))
	}
	for _, w := range simds {
		most = max(most, analysis.Undelay(w.times, w.clocks, m.ClockBits, m.ClockShift))
		for k, i := range w.index {
			data[i].Time = sqtt.Cycles(w.times[k])
		}
	}
	return most
}

func countHave(n int, what string) string {
	if n == 1 {
		return "1 " + what + " has"
	}
	return Plural(int64(n), what) + " have"
}

// markerOf is what a word means. What the map calls a point neither begins nor ends a span.
func markerOf(m *codeobj.FuncMap, value uint32, short bool) analysis.Marker {
	id, enter, exit := m.Marker(value, short)
	n, _ := m.Name(id)
	if n.Kind == codeobj.MarkerPoint {
		enter, exit = false, false
	}
	return analysis.Marker{ID: id, Enter: enter, Exit: exit, Payload: n.Payload}
}

// captureMarkers pairs the words of a capture's traces, by the names of the object that each dispatch ran.
func captureMarkers(c *capture.Capture, scans []*scanned, q *Quality) []MarkerSpan {
	var out []MarkerSpan
	maps := map[int]*codeobj.FuncMap{}
	for i := range c.Traces {
		tr := &c.Traces[i]
		if scans[i].words == 0 || tr.Dispatch < 0 || tr.Dispatch >= len(c.Dispatches) {
			continue
		}
		n := c.Dispatches[tr.Dispatch].Object
		m, ok := maps[n]
		if !ok && n >= 0 && n < len(c.Objects) {
			if b, err := c.Objects[n].Bytes.Bytes(); err == nil {
				if o, err := codeobj.Open(b); err == nil {
					m = funcMapOf(o, q)
				}
			}
			maps[n] = m
		}
		data, waves, left, err := traceFile(tr).shaderData()
		if err != nil {
			q.Note(capture.Loss, "", "markers of engine %d are not whole: %v", tr.Engine, err)
		}
		wordsLeftOut(q, fmt.Sprintf("engine %d", tr.Engine), left)
		at := streamPlace{stream: i, dispatch: Index(tr.Dispatch), engine: Index(tr.Engine), family: familyOf(tr.Family)}
		out = append(out, markerSpans(&at, data, waves, m, q)...)
	}
	return out
}

func funcMapOf(o *codeobj.Object, q *Quality) *codeobj.FuncMap {
	m := o.FuncMap()
	if m != nil && m.BadRows > 0 {
		q.Note(capture.Warning, "", "the code object's function map has %s that make no sense or name a marker twice", Plural(int64(m.BadRows), "row"))
	}
	return m
}

// onlyFuncMap is the function map among code objects. With several, a file's waves may have run any of them.
func onlyFuncMap(code []loadedCode, q *Quality) *codeobj.FuncMap {
	var found *codeobj.FuncMap
	for i := range code {
		if code[i].object == nil {
			continue
		}
		m := funcMapOf(code[i].object, q)
		if m != nil && found != nil {
			q.Note(capture.Info, "give the one that ran", "several code objects name markers: they are shown by number")
			return nil
		}
		if m != nil {
			found = m
		}
	}
	return found
}

// markers are the spans of a stream.
func (d *Decoded) markers(i int) ([]MarkerSpan, error) {
	s := &d.Streams[i]
	if s.scan.words == 0 {
		return nil, nil
	}
	data, waves, _, err := s.file.shaderData()
	var q Quality // not shown: what the function map lacks would be told once for each stream
	var m *codeobj.FuncMap
	if d.code != nil {
		m = onlyFuncMap(d.code.code, &q)
	}
	at := placeOfFile(i, s.file)
	return markerSpans(&at, data, waves, m, &q), err
}

// markersOf are a dispatch's spans on an engine.
func markersOf(list []MarkerSpan, dispatch, engine int) []MarkerSpan {
	var out []MarkerSpan
	for i := range list {
		if list[i].Dispatch == Index(dispatch) && list[i].Engine == Index(engine) {
			out = append(out, list[i])
		}
	}
	return out
}

// markersIn are a stream's spans of a list in the order of streams.
func markersIn(list []MarkerSpan, stream int) []MarkerSpan {
	before := func(n int) int { return sort.Search(len(list), func(i int) bool { return list[i].stream >= n }) }
	return list[before(stream):before(stream+1)]
}

// markerSums is the markers by name, those with most cycles first. Spans in others count in both.
func markerSums(list []MarkerSpan, limit int) Table {
	t := Table{Title: "markers by name, of all waves in the traces", Columns: []Column{
		Number("count"), Number("cycles"), Number("mean"), Number("longest"), Text("kind"), Text("marker"),
	}}
	type key struct{ name, kind string }
	type sum struct{ n, cycles, longest int64 }
	sums := map[key]sum{}
	var order []key
	for i := range list {
		k := key{list[i].Name, list[i].Kind}
		s, ok := sums[k]
		if !ok {
			order = append(order, k)
		}
		n := list[i].Stop - list[i].Start
		sums[k] = sum{s.n + 1, s.cycles + n, max(s.longest, n)}
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(sums[b].cycles, sums[a].cycles), cmp.Compare(sums[b].n, sums[a].n), strings.Compare(a.name, b.name))
	})
	_ = t.fill(Held, limit, len(order), "names", "--limit", func(f func(row []string) error) error { // nothing in it fails
		var row []string
		for _, k := range order {
			s := sums[k]
			row = appendCells(row[:0], s.n, s.cycles, ratio(s.cycles, s.n), s.longest, k.kind, k.name)
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	})
	return t
}

func markerTable(list []MarkerSpan, f gpu.Family, limit int) Table {
	t := Table{Title: "markers", Columns: []Column{
		Number("dispatch"), Number("engine"), Number("array"), Number(strings.ToLower(UnitName(f))), Number("simd"), Number("slot"), Number("wave start"),
		Number("start"), Number("stop"), Number("cycles"), Number("depth"), Text("kind"), Text("marker"),
	}}
	files := len(list) > 0 && list[0].File != ""
	if files {
		t.Columns = append(t.Columns, Text("file"))
	}
	_ = t.fill(Held, limit, len(list), "markers", "--limit", func(f func(row []string) error) error { // nothing in it fails
		var row []string
		for i := range list {
			s := &list[i]
			row = appendCells(row[:0],
				s.Dispatch.cell(), s.Engine.cell(), s.Array, s.Unit, s.SIMD, s.Slot, orNil(s.Wave), s.Start, s.Stop, s.Stop-s.Start, s.Depth, s.Kind, s.Name)
			if files {
				row = appendCells(row, s.File)
			}
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	})
	return t
}

// maxFold bounds the depth of a folded stack: what is nested deeper, as only garbage is, belongs to the span around it.
const maxFold = 64

// WriteFoldedMarkers writes a line a stack of markers' spans, kernel first, with the cycles in which the innermost was open itself.
func (h *Hot) WriteFoldedMarkers(w io.Writer) error {
	if len(h.Markers) == 0 {
		return errors.New("no wave sent markers with s_ttracedata")
	}
	sums := map[string]int64{}
	stacks := map[string][]string{}
	var stack []string
	var keys []string // of the stack's ends
	for i := range h.Markers {
		s := &h.Markers[i]
		if s.Kind == pointKind || s.Depth >= maxFold {
			continue
		}
		if s.Depth == 0 {
			kernel := ""
			if p := h.part(s.stream); p != nil {
				kernel = cmp.Or(h.kernelsOf(p), p.file)
			}
			stack, keys = []string{kernel}, []string{kernel}
		}
		stack, keys = append(stack[:s.Depth+1:s.Depth+1], s.Name), append(keys[:s.Depth+1:s.Depth+1], "")
		key := keys[s.Depth] + "\x00" + s.Name
		keys[s.Depth+1] = key
		stacks[key] = stack
		sums[key] += s.Stop - s.Start
		if s.Depth > 0 {
			sums[keys[s.Depth]] -= s.Stop - s.Start
		}
	}
	bw := bufio.NewWriter(w)
	for _, key := range slices.Sorted(maps.Keys(stacks)) {
		h.foldedLine(bw, stacks[key], sums[key])
	}
	return bw.Flush()
}
