package report

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
)

// WaveList is every traced wave with its cycles by state, and a picture of the slots over time: the document rigprof/waves/1. Waves stay in
// the streams: views read them once more.
type WaveList struct {
	Quality Quality

	hot   *Hot
	Width int // columns of the picture; 0: none
}

// WaveCost is one traced wave.
type WaveCost struct {
	Dispatch Index  `json:"dispatch"`
	Kernel   string `json:"kernel"`
	Engine   Index  `json:"engine"`
	File     string `json:"file,omitempty"` // of trace files
	CU       int    `json:"cu"`             // array and unit in one
	Array    int    `json:"array"`
	Unit     int    `json:"unit"` // WGP, or CU on gfx9, of the array
	SIMD     int    `json:"simd"`
	Slot     int    `json:"slot"`
	Start    int64  `json:"start"`
	Stop     int64  `json:"stop"`
	Cycles   int64  `json:"cycles"`
	analysis.Cost
}

// Occupancy is how many waves were in a place at once: on an engine, or, with Unit or SIMD, in a part of it. All waves of the traces count.
type Occupancy struct {
	Dispatch Index   `json:"dispatch"`
	Engine   Index   `json:"engine"`
	File     string  `json:"file,omitempty"`
	CU       *int    `json:"cu"` // array and unit in one; null: the whole engine
	Array    *int    `json:"array"`
	Unit     *int    `json:"unit"`
	SIMD     *int    `json:"simd"` // null: the whole unit
	Waves    int64   `json:"waves"`
	Most     int64   `json:"most"`
	Mean     float64 `json:"mean"` // while any was there
}

// WaveList lists the waves whose instructions were traced, in order of start.
func (h *Hot) WaveList() *WaveList { return &WaveList{Quality: h.Quality, hot: h} }

func (h *Hot) costOf(p *hotPart, w *TracedWave) WaveCost {
	return WaveCost{
		p.dispatch, h.kernelName(w.Kernel), p.engine, p.file, w.CU, arrayOf(h.family, w.CU), unitOf(h.family, w.CU), w.SIMD, w.Slot, w.Start, w.Stop,
		w.Cost.Cycles(), w.Cost,
	}
}

// files says whether trace files were read, whose names tell streams apart.
func (h *Hot) files() bool { return len(h.parts) > 0 && h.parts[0].file != "" }

// eachWave gives the traced waves, by dispatch and engine, then in order of start.
func (h *Hot) eachWave(f func(w *WaveCost)) {
	for _, p := range h.parts {
		p.again(again{wave: func(w *TracedWave) {
			c := h.costOf(p, w)
			f(&c)
		}})
	}
}

// heldWaves is how many rows of waves are held, some 25 MB: asking again for one costs as much as all its instructions. Tests lower it.
var heldWaves = 1 << 16

// Tables is the view for people.
func (l *WaveList) Tables(limit int) []Table {
	h := l.hot
	unit := strings.ToLower(UnitName(h.family))
	t := Table{Title: fmt.Sprintf("waves with instructions on %s", h.Device.title()), Columns: []Column{
		Number("dispatch"), Number("engine"), Number("array"), Number(unit), Number("simd"), Number("slot"), Number("start"), Number("cycles"),
		Number("idle %"), Number("stall %"), Number("issue %"), Number("hidden %"), Number("instructions"), Text("kernel"),
	}}
	if h.files() {
		t.Columns = append(t.Columns, Text("file"))
	}
	total := int64(0)
	for _, p := range h.parts {
		total += p.traced
	}
	var pictures []Table
	rows := func(f func(row []string) error) error {
		_, err := h.waveRows(0, f)
		return cmp.Or(err, h.reread())
	}
	if shown(limit, int(total)) > heldWaves {
		pictures, _ = h.waveRows(l.Width, nil)
	} else {
		rows = func(f func(row []string) error) (err error) { // pictures come from the same pass
			pictures, err = h.waveRows(l.Width, f)
			return err
		}
	}
	_ = t.fill(heldWaves, limit, int(total), "waves", "--limit", rows) // holding rows does not fail; of reading reread tells below
	if total == 0 {
		t.Title, t.Notes = "", []string{fmt.Sprintf("no waves with instructions on %s", h.Device.title())}
	}
	out := append([]Table{t, l.occupancy()}, pictures...)
	if len(h.Markers) > 0 {
		out = append(out, markerSums(h.Markers, limit), markerTable(h.Markers, h.family, limit))
	}
	if err := h.reread(); err != nil {
		l.Quality.Note(capture.Loss, "", "the tables are not whole: %v", err)
	}
	return append(out, l.Quality.table())
}

// waveRows goes through the streams once: it gives the table's rows of waves until f fails, and the pictures of slots, if they are to have a width.
// f may be nil.
func (h *Hot) waveRows(width int, f func(row []string) error) (pictures []Table, err error) {
	var row []string
	for _, p := range h.parts {
		a := again{}
		if f != nil && err == nil {
			a.wave = func(tw *TracedWave) {
				if err != nil {
					return
				}
				w := h.costOf(p, tw)
				row = appendCells(row[:0],
					w.Dispatch.cell(), w.Engine.cell(), w.Array, w.Unit, w.SIMD, w.Slot, w.Start, w.Cycles,
					percent(w.Idle, w.Cycles), percent(w.Stall, w.Cycles), percent(w.Issue, w.Cycles), percent(w.Hidden, w.Cycles), w.Hits, w.Kernel)
				if h.files() {
					row = appendCells(row, w.File)
				}
				err = f(row)
			}
		}
		var g *grid
		if width > 0 && p.to > p.from {
			g = newGrid(p.from, p.to, int64(width))
			a.window = g.window
		}
		if a.wave != nil || a.window != nil {
			p.again(a)
		}
		if g != nil {
			pictures = append(pictures, h.picture(p, g))
		}
	}
	return pictures, err
}

// occupancy says how many waves each engine, and the unit and the SIMD that ran most of its waves, held at once.
func (l *WaveList) occupancy() Table {
	unit := UnitName(l.hot.family)
	t := Table{Title: "occupancy, of all waves in the traces", Columns: []Column{
		Number("dispatch"), Number("engine"), Number("waves"), Number("most at once"), Number("mean"), Number(unit + "s used"), Number("most on a " + unit),
		Number("mean on a " + unit), Number("SIMDs used"), Number("most on a SIMD"), Number("mean on a SIMD"),
	}}
	if l.hot.files() {
		t.Columns = append(t.Columns, Text("file"))
	}
	for _, p := range l.hot.parts {
		c := &p.crowd
		if c.all.waves == 0 {
			continue
		}
		row := []any{p.dispatch.cell(), p.engine.cell(), c.all.waves, c.all.most, ratio(c.all.lives, c.all.busy)}
		row = append(row, sumOf(c.units)...)
		row = append(row, sumOf(c.simds)...)
		if l.hot.files() {
			row = append(row, p.file)
		}
		t.Add(row...)
	}
	return t
}

// sumOf is how many places were used, the most waves in one, and the mean over them while any was there.
func sumOf[K comparable](m map[K]*together) []any {
	most, lives, busy := int64(0), int64(0), int64(0)
	for _, t := range m {
		most, lives, busy = max(most, t.most), lives+t.lives, busy+t.busy
	}
	return []any{len(m), most, ratio(lives, busy)}
}

// occupancies lists every engine with its units and their SIMDs.
func (h *Hot) occupancies() []Occupancy {
	out := []Occupancy{}
	for _, p := range h.parts {
		c := &p.crowd
		if c.all.waves == 0 {
			continue
		}
		add := func(cu, simd *int, t *together) {
			o := Occupancy{Dispatch: p.dispatch, Engine: p.engine, File: p.file, CU: cu, SIMD: simd, Waves: t.waves, Most: t.most}
			if cu != nil {
				array, unit := arrayOf(h.family, *cu), unitOf(h.family, *cu)
				o.Array, o.Unit = &array, &unit
			}
			if t.busy > 0 {
				o.Mean = math.Round(1000*float64(t.lives)/float64(t.busy)) / 1000
			}
			out = append(out, o)
		}
		add(nil, nil, &c.all)
		simds := slices.SortedFunc(maps.Keys(c.simds), slot.compare)
		for _, cu := range slices.Sorted(maps.Keys(c.units)) {
			add(&cu, nil, c.units[cu])
			for _, s := range simds {
				if s.cu == cu {
					add(&cu, &s.simd, c.simds[s])
				}
			}
		}
	}
	return out
}

func ratio(a, b int64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(a)/float64(b))
}

// The states of a wave, in the order of a window's parts.
const (
	stateIdle = iota
	stateStall
	stateIssue
)

// grid is what waves of each slot did in each piece of time.
type grid struct {
	from, to, per int64
	columns       int64
	rows          map[slot][]int64 // three counts a column, by state
}

func newGrid(from, to, columns int64) *grid {
	return &grid{from: from, to: to, per: max(1, (to-from+columns-1)/columns), columns: columns, rows: map[slot][]int64{}}
}

// window counts one window.
func (g *grid) window(l *analysis.Life, _ *analysis.Site, w analysis.Window) {
	s := slot{l.CU, l.SIMD, l.Slot}
	row := g.rows[s]
	if row == nil {
		row = make([]int64, 3*g.columns)
		g.rows[s] = row
	}
	g.add(row, stateIdle, w.Begin, w.Ready)
	g.add(row, stateStall, w.Ready, w.Issue)
	g.add(row, stateIssue, w.Issue, w.End)
}

func (g *grid) add(row []int64, state int64, a, b int64) {
	for a < b {
		col := (a - g.from) / g.per
		end := min(b, g.from+(col+1)*g.per)
		row[3*col+state] += end - a
		a = end
	}
}

func (g *grid) slots() []slot { return slices.SortedFunc(maps.Keys(g.rows), slot.compare) }

// picture draws, for a dispatch and engine with instructions, a row per slot: what the wave there did most in each piece of time. A row
// below tells the innermost marker.
func (h *Hot) picture(p *hotPart, g *grid) Table {
	t := Table{
		Title:   fmt.Sprintf("%s, cycles %d to %d, %d a column (# issue, s stall, . idle, blank: no wave)", p.name(), g.from, g.to, g.per),
		Columns: []Column{Text("slot"), Text("time")},
	}
	strips := newMarkerStrips(markersIn(h.Markers, p.stream), g)
	for _, s := range g.slots() {
		var b strings.Builder
		for col := range g.columns {
			n := g.rows[s][3*col : 3*col+3]
			switch {
			case n[0]+n[1]+n[2] == 0:
				b.WriteByte(' ')
			case n[stateIssue] >= n[stateStall] && n[stateIssue] >= n[stateIdle]:
				b.WriteByte('#')
			case n[stateStall] >= n[stateIdle]:
				b.WriteByte('s')
			default:
				b.WriteByte('.')
			}
		}
		t.Add(s.lane(h.family), b.String())
		if strip := strips.row(s); strip != "" {
			t.Add("  markers", strip)
		}
	}
	t.Notes = append(t.Notes, strips.legend()...)
	return t
}

// WriteCSV writes one row a wave; where waves sent markers, one row a marker behind them, with its kind and name.
func (l *WaveList) WriteCSV(w io.Writer) error {
	h := l.hot
	cw := csv.NewWriter(w)
	row := []string{
		"dispatch", "kernel", "simulated", "engine", "array", strings.ToLower(UnitName(h.family)), "simd", "slot", "start", "stop", "cycles", "idle", "stall", "issue", "hidden", "instructions", "kind", "name", "depth", "file",
	}
	if err := cw.Write(row); err != nil {
		return err
	}
	num := func(n int64) string { return strconv.FormatInt(n, 10) }
	simulated := ""
	if h.Device.Simulated != nil {
		simulated = strconv.FormatBool(*h.Device.Simulated)
	}
	h.eachWave(func(w *WaveCost) {
		row = append(row[:0], w.Dispatch.String(), text(w.Kernel), simulated, w.Engine.String(), num(int64(w.Array)), num(int64(w.Unit)), num(int64(w.SIMD)), num(int64(w.Slot)),
			num(w.Start), num(w.Stop), num(w.Cycles), num(w.Idle), num(w.Stall), num(w.Issue), num(w.Hidden), num(w.Hits), "wave", "", "", text(w.File))
		_ = cw.Write(row) // Error tells
	})
	for i := range h.Markers {
		m := &h.Markers[i]
		row = append(row[:0], m.Dispatch.String(), "", simulated, m.Engine.String(), num(int64(m.Array)), num(int64(m.Unit)), num(int64(m.SIMD)), num(int64(m.Slot)),
			num(m.Start), num(m.Stop), num(m.Stop-m.Start), "", "", "", "", "", m.Kind, text(m.Name), num(int64(m.Depth)), text(m.File))
		_ = cw.Write(row)
	}
	cw.Flush()
	return errors.Join(cw.Error(), h.reread())
}

// WriteJSON writes the document.
func (l *WaveList) WriteJSON(w io.Writer) error {
	h := l.hot
	j := newJSONWriter(w)
	j.begin('{')
	j.field("schema", "rigprof/waves/1")
	j.field("device", h.Device)
	j.name("waves")
	j.begin('[')
	h.eachWave(func(w *WaveCost) { j.value(w) })
	j.end()
	j.field("occupancy", h.occupancies())
	if len(h.Markers) > 0 { // what s_ttracedata marked, of all waves in the traces
		j.field("markers", h.Markers)
	}
	j.field("quality", l.Quality)
	j.end()
	return errors.Join(j.close(), h.reread())
}
