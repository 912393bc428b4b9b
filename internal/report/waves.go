package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
)

// WaveList is every wave with its cycles by state, and a picture of the slots over time: the document rigprof/waves/1.
type WaveList struct {
	Schema string     `json:"schema"`
	Device DeviceDoc  `json:"device"`
	Waves  []WaveCost `json:"waves"`

	Markers []MarkerSpan `json:"markers,omitempty"` // what s_ttracedata marked, of all waves in the traces

	Quality Quality `json:"quality"`

	hot   *Hot
	Width int `json:"-"` // columns of the picture; 0: none
}

// WaveCost is one traced wave.
type WaveCost struct {
	Dispatch int    `json:"dispatch"`
	Kernel   string `json:"kernel"`
	Engine   int    `json:"engine"`
	CU       int    `json:"cu"`
	SIMD     int    `json:"simd"`
	Slot     int    `json:"slot"`
	Start    int64  `json:"start"`
	Stop     int64  `json:"stop"`
	Cycles   int64  `json:"cycles"`
	analysis.Cost
}

// WaveList lists the waves whose instructions were traced, in order of start.
func (h *Hot) WaveList() *WaveList {
	l := &WaveList{Schema: "rigprof/waves/1", Device: h.Device, Waves: []WaveCost{}, Markers: h.Markers, Quality: h.Quality, hot: h}
	for i := range h.Waves {
		w := &h.Waves[i]
		c := w.Cost
		l.Waves = append(l.Waves, WaveCost{w.Dispatch, h.kernelOf(w), w.Engine, w.CU, w.SIMD, w.Slot, w.Start, w.Stop, c.Cycles(), c})
	}
	slices.SortStableFunc(l.Waves, func(a, b WaveCost) int {
		return cmp.Or(cmp.Compare(a.Dispatch, b.Dispatch), cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Start, b.Start))
	})
	return l
}

// Tables is the view for people.
func (l *WaveList) Tables(limit int) []Table {
	unit := strings.ToLower(unitName(l.hot.family))
	t := Table{Title: fmt.Sprintf("waves with instructions on %s", l.Device.title()), Columns: []Column{
		Number("dispatch"), Number("engine"), Number("array"), Number(unit), Number("simd"), Number("slot"), Number("start"), Number("cycles"),
		Number("idle %"), Number("stall %"), Number("issue %"), Number("hidden %"), Number("instructions"), Text("kernel"),
	}}
	for i := range l.Waves {
		if limit > 0 && i >= limit {
			break
		}
		w := &l.Waves[i]
		t.Add(w.Dispatch, w.Engine, arrayOf(l.hot.family, w.CU), unitOf(l.hot.family, w.CU), w.SIMD, w.Slot, w.Start, w.Cycles,
			percent(w.Idle, w.Cycles), percent(w.Stall, w.Cycles), percent(w.Issue, w.Cycles), percent(w.Hidden, w.Cycles), w.Hits, w.Kernel)
	}
	leftOut(&t, len(l.Waves), "waves", "--limit")
	if len(l.Waves) == 0 {
		t.Title, t.Notes = "", []string{fmt.Sprintf("no waves with instructions on %s", l.Device.title())}
	}
	out := []Table{t, l.occupancy()}
	if l.Width > 0 {
		out = append(out, l.picture()...)
	}
	if len(l.Markers) > 0 {
		out = append(out, markerSums(l.Markers, limit), markerTable(l.Markers, l.hot.family, limit))
	}
	return append(out, l.Quality.table())
}

// occupancy says how many waves each engine, and the SIMD that ran most of its waves, held at once.
func (l *WaveList) occupancy() Table {
	t := Table{Title: "occupancy, of all waves in the traces", Columns: []Column{
		Number("dispatch"), Number("engine"), Number("waves"), Number("most at once"), Number("mean"), Number("SIMDs used"), Number("most on a SIMD"), Number("mean on a SIMD"),
	}}
	type key struct{ dispatch, engine int }
	groups := map[key][]Wave{}
	var order []key
	for i := range l.hot.All {
		w := &l.hot.All[i]
		k := key{w.Dispatch, w.Engine}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], w.Wave)
	}
	for _, k := range order {
		most, lives, busy := together(groups[k])
		simds := map[slot][]Wave{}
		for _, w := range groups[k] {
			s := slot{cu: w.CU, simd: w.SIMD}
			simds[s] = append(simds[s], w)
		}
		top, simdLives, simdBusy := 0, int64(0), int64(0)
		for _, list := range simds {
			m, l, b := together(list)
			top, simdLives, simdBusy = max(top, m), simdLives+l, simdBusy+b
		}
		t.Add(k.dispatch, k.engine, len(groups[k]), most, ratio(lives, busy), len(simds), top, ratio(simdLives, simdBusy))
	}
	return t
}

func ratio(a, b int64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(a)/float64(b))
}

// together is how many of the waves ran at once at most, the sum of their lives, and the time in which any ran.
func together(waves []Wave) (most int, lives, busy int64) {
	type edge struct {
		time int64
		step int
	}
	edges := make([]edge, 0, 2*len(waves))
	for _, w := range waves {
		edges = append(edges, edge{w.Start, 1}, edge{w.Stop, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.step, b.step)) })
	n, last := 0, int64(0)
	for _, e := range edges {
		if n > 0 {
			busy += e.time - last
			lives += int64(n) * (e.time - last)
		}
		n, last = n+e.step, e.time
		most = max(most, n)
	}
	return most, lives, busy
}

// pictureOf is the picture of one dispatch and engine: what waves of each slot did in each piece of time.
type pictureOf struct {
	dispatch, engine int
	from, to, per    int64
	rows             map[slot][]int64 // three counts a column
}

// add counts cycles of a state.
func (p *pictureOf) add(row []int64, state int, a, b int64) {
	a, b = max(a, p.from), min(b, p.to)
	for a < b {
		col := (a - p.from) / p.per
		end := min(b, p.from+(col+1)*p.per)
		row[3*col+int64(state)] += end - a
		a = end
	}
}

// The states of a wave, in the order of a window's parts.
const (
	stateIdle = iota
	stateStall
	stateIssue
)

// picture draws, for each dispatch and engine with instructions, a row per slot: what the wave there did most in each piece of time.
func (l *WaveList) picture() []Table {
	type key struct{ dispatch, engine int }
	groups := map[key]*pictureOf{}
	var order []*pictureOf
	for i := range l.hot.Waves {
		w := &l.hot.Waves[i]
		k := key{w.Dispatch, w.Engine}
		g := groups[k]
		if g == nil {
			g = &pictureOf{dispatch: w.Dispatch, engine: w.Engine, from: w.Start, to: w.Stop, rows: map[slot][]int64{}}
			groups[k] = g
			order = append(order, g)
		}
		g.from, g.to = min(g.from, w.Start), max(g.to, w.Stop)
	}
	for _, g := range order {
		g.per = max(1, (g.to-g.from+int64(l.Width)-1)/int64(l.Width))
	}
	l.hot.windows(func(_ int, life *analysis.Life, _ analysis.Where, w analysis.Window) {
		g := groups[key{life.Dispatch, life.Engine}]
		s := slot{life.CU, life.SIMD, life.Slot}
		row := g.rows[s]
		if row == nil {
			row = make([]int64, 3*l.Width)
			g.rows[s] = row
		}
		g.add(row, stateIdle, w.Begin, w.Ready)
		g.add(row, stateStall, w.Ready, w.Issue)
		g.add(row, stateIssue, w.Issue, w.End)
	})
	var out []Table
	for _, k := range order {
		from, to, per, rows := k.from, k.to, k.per, k.rows
		if to <= from {
			continue
		}
		t := Table{
			Title:   fmt.Sprintf("dispatch %d engine %d, cycles %d to %d, %d a column (# issue, s stall, . idle, blank: no wave)", k.dispatch, k.engine, from, to, per),
			Columns: []Column{Text("slot"), Text("time")},
		}
		var list []slot
		for s := range rows {
			list = append(list, s)
		}
		slices.SortFunc(list, func(a, b slot) int {
			return cmp.Or(cmp.Compare(a.cu, b.cu), cmp.Compare(a.simd, b.simd), cmp.Compare(a.slot, b.slot))
		})
		for _, s := range list {
			var b strings.Builder
			for col := range l.Width {
				n := rows[s][3*col : 3*col+3]
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
			t.Add(s.lane(l.hot.family), b.String())
		}
		out = append(out, t)
	}
	return out
}

// CSV is one row a wave.
func (l *WaveList) CSV() *Table {
	t := &Table{Columns: []Column{
		Number("dispatch"), Text("kernel"), Number("engine"), Number("cu"), Number("simd"), Number("slot"), Number("start"), Number("stop"), Number("cycles"),
		Number("idle"), Number("stall"), Number("issue"), Number("hidden"), Number("instructions"),
	}}
	for i := range l.Waves {
		w := &l.Waves[i]
		t.Add(w.Dispatch, w.Kernel, w.Engine, w.CU, w.SIMD, w.Slot, w.Start, w.Stop, w.Cycles, w.Idle, w.Stall, w.Issue, w.Hidden, w.Hits)
	}
	return t
}

// JSON is the document.
func (l *WaveList) JSON() any { return l }

// Chrome is in show.
func (l *WaveList) Chrome(io.Writer) error { return fmt.Errorf("use 'rigprof show --format chrome'") }
