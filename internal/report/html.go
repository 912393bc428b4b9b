package report

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// pageData is what page.js reads.
type pageData struct {
	Unit     string         `json:"unit"`
	Units    [][2]int       `json:"units"` // of each cu its array, and its number there
	Objects  []string       `json:"objects"`
	Cycles   int64          `json:"cycles"`
	Streams  []pageStream   `json:"streams"` // those that the records name by number
	Sites    []pageSite     `json:"sites"`
	Branches []string       `json:"branches"` // groups by branch; sites name them by number
	Code     []pageFunc     `json:"code"`
	Advice   []Advice       `json:"advice"`
	Quality  [][]string     `json:"quality"`
	Notes    []capture.Note `json:"notes"`

	Text map[string]string `json:"text"` // source lines by place, "vadd.cl:6"

	Coarse  string     `json:"coarse,omitempty"` // why the timeline is one of sums
	Names   []string   `json:"names"`            // of markers
	Markers [][8]int64 `json:"markers"`          // stream, cu, simd, slot, start, stop, depth, name
	Omitted int        `json:"omitted"`          // markers
}

const (
	maxPageRecords = 1 << 20 // instructions that the page holds one by one
	maxPageMarkers = 1 << 16
	maxPageCells   = 1 << 19 // of the timeline in sums
)

type pageSite struct {
	Object   int    `json:"object"`
	Address  string `json:"address"`
	Text     string `json:"text"`
	Source   string `json:"source"`
	Function string `json:"function"`
	Kernel   string `json:"kernel"`
	Class    string `json:"class"`
	Branch   int    `json:"branch"`
	Hits     int64  `json:"hits"`
	Cycles   int64  `json:"cycles"`
	Stall    int64  `json:"stall"`
	Idle     int64  `json:"idle"`
	Issue    int64  `json:"issue"`
	Exposed  int64  `json:"exposed"`

	Loads   int64      `json:"loads,omitempty"`   // of memory instructions: how often a wait named it,
	Latency int64      `json:"latency,omitempty"` // and the cycles from issue to the end of those waits, in all
	Waits   [][2]int64 `json:"waits,omitempty"`   // of waits: the sites waited for, and cycles
}

// pageStream is a stream that the timeline can show.
type pageStream struct {
	Name   string `json:"name"`
	Kernel string `json:"kernel"` // what its traced waves ran
	Cycles int64  `json:"cycles"`
}

type pageFunc struct {
	Name   string      `json:"name"`
	Object int         `json:"object"`
	Cycles int64       `json:"cycles"`
	Lines  [][3]string `json:"lines"` // address, instruction, source
}

// WriteHTML writes one file without outside references: hot spots, code, timeline, advice, quality.
func (h *Hot) WriteHTML(w io.Writer) error {
	d, err := h.pageData()
	if err != nil {
		return err
	}
	// json.Marshal escapes <, > and &, so no text can end the script element.
	doc, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	b64 := base64.NewEncoder(base64.StdEncoding, &packed)
	gz := gzip.NewWriter(b64)
	if err := cmp.Or(h.packWaves(gz), h.reread()); err != nil {
		return err
	}
	if err := gz.Close(); err != nil {
		return err
	}
	if err := b64.Close(); err != nil {
		return err
	}
	badges := ""
	if h.Device.simulated() {
		badges = badge("simulated: times are modelled")
	}
	if lacks := h.Quality.lacks(); lacks != "" {
		badges += badge("not whole: " + lacks)
	}
	title := html.EscapeString(fmt.Sprintf("rigprof: %s (%s)", h.Device.Name, h.Device.Target))
	note := html.EscapeString(fmt.Sprintf("%s with %d instructions, %d wave cycles", Plural(h.Profile.Waves, "wave"), h.Profile.Total.Hits, d.Cycles))
	_, err = strings.NewReplacer("{{.Title}}", title, "{{.Note}}", note, "{{.Style}}", pageCSS, "{{.Script}}", pageJS,
		"{{.Data}}", string(doc), "{{.Records}}", packed.String(), "{{.Badges}}", badges).WriteString(w, pageHTML)
	return err
}

func badge(text string) string { return `<span class="badge">` + html.EscapeString(text) + `</span>` }

// lacks says in short what is missing of the data, which every number of the page then lacks: nothing is "".
func (q *Quality) lacks() string {
	var list []string
	if len(q.BufferFull) > 0 {
		list = append(list, "buffer full on engine "+ints(q.BufferFull))
	}
	if n := q.WavesStartOnly + q.WavesEndOnly; n > 0 {
		list = append(list, fmt.Sprintf("%d of %s whole", q.WavesComplete, Plural(q.WavesComplete+n, "wave")))
	}
	if q.BytesLost > 0 || q.PacketsLost > 0 {
		list = append(list, fmt.Sprintf("%s unreadable, %d reports of lost tokens", Bytes(q.BytesLost), q.PacketsLost))
	}
	if len(list) == 0 && slices.ContainsFunc(q.Notes, func(n capture.Note) bool { return n.Level == capture.Loss }) {
		list = append(list, "data is lost")
	}
	if len(list) > 0 {
		list = append(list, "see Quality")
	}
	return strings.Join(list, ", ")
}

func (h *Hot) pageData() (*pageData, error) {
	d := &pageData{
		Unit: UnitName(h.family), Units: [][2]int{}, Objects: append([]string{}, h.code.names...), Cycles: h.Profile.Total.Cycles(), Streams: []pageStream{}, Sites: make([]pageSite, len(h.Profile.Insts)), Branches: []string{}, Code: []pageFunc{},
		Advice: h.Advise(), Notes: []capture.Note{}, Text: map[string]string{},
	}
	for _, p := range h.parts {
		d.Streams = append(d.Streams, pageStream{p.name(), h.kernelsOf(p), p.cycles})
		for cu := range p.crowd.units {
			for cu >= len(d.Units) {
				d.Units = append(d.Units, [2]int{arrayOf(h.family, len(d.Units)), unitOf(h.family, len(d.Units))})
			}
		}
	}
	branches := map[hotKey]int{}
	for i := range h.Profile.Insts {
		c := &h.Profile.Insts[i]
		p := h.Place(c.Where)
		key, row := h.branchGroup(c)
		branch, ok := branches[key]
		if !ok {
			branch = len(d.Branches)
			branches[key] = branch
			d.Branches = append(d.Branches, row.Name)
		}
		d.Sites[i] = pageSite{
			c.Object, addressOf(c.Where), p.Text, p.Line(), p.Func(), h.kernelName(c.Kernel), className(c.Class), branch, c.Hits, c.Cycles(), c.Stall, c.Idle, c.Issue, c.Exposed(),
			c.Loads, c.LatencySum, nil,
		}
		for _, site := range slices.Sorted(maps.Keys(c.WaitedFor)) {
			d.Sites[i].Waits = append(d.Sites[i].Waits, [2]int64{int64(site), c.WaitedFor[site]})
		}
	}
	if idle := h.Profile.Idle; idle.Cycles() > 0 {
		d.Sites = append(d.Sites, pageSite{
			Object: -1, Text: noInstruction, Kernel: noInstruction, Function: noInstruction, Source: noInstruction, Class: noInstruction, Branch: len(d.Branches),
			Cycles: idle.Cycles(), Idle: idle.Idle, Exposed: idle.Exposed(),
		})
		d.Branches = append(d.Branches, noInstruction)
	}
	a, err := h.Annotate("")
	if err != nil && h.Profile.Waves > 0 && len(h.Objects) > 0 {
		return nil, err
	}
	if a != nil {
		for _, f := range a.Functions {
			pf := pageFunc{Name: f.Name, Object: f.object, Cycles: f.Cycles}
			for i := range f.Lines {
				l := &f.Lines[i]
				at := l.place()
				pf.Lines = append(pf.Lines, [3]string{fmt.Sprintf("%#x", l.Addr), l.Text, at})
				if _, have := d.Text[at]; !have && at != "" && h.Source != nil {
					line, _ := h.Source(l.Lines[0].File, l.Lines[0].Line)
					d.Text[at] = Printable(strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")))
				}
			}
			d.Code = append(d.Code, pf)
		}
	}
	h.pageMarkers(d)
	if h.coarse() {
		per := int64(0)
		for _, p := range h.parts {
			if p.traced > 0 {
				per = max(per, newGrid(p.from, p.to, h.cells()).per)
			}
		}
		d.Coarse = fmt.Sprintf("%d instructions are too many to draw one by one (the page holds %d): the timeline shows sums over up to %d cycles", h.Profile.Total.Hits, maxPageRecords, per)
	}
	q := h.Quality.table()
	d.Quality = append([][]string{}, q.Rows...)
	for _, n := range h.Quality.Notes {
		d.Notes = append(d.Notes, capture.Note{Level: n.Level, Text: noteLine(n)})
	}
	return d, nil
}

// packWaves writes what the timeline shows, as varints but for the mode:
//
//   - the number of streams, and of each the waves, the most at once, the number of steps, and of each step the time since the one
//     before, the most waves until the next one, and their mean in hundredths;
//   - a mode. 0: the number of waves whose instructions were traced; of each stream, cu, simd, slot, start, length, the number of its
//     windows, and of each site, idle, stall and issue cycles. 1: the number of streams; of each its number, start, cycles a cell, cells a
//     row, rows; of each row cu, simd, slot and each cell's cycles idle, in stall, in issue.
func (h *Hot) packWaves(w io.Writer) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	var b [binary.MaxVarintLen64]byte
	put := func(list ...int64) {
		for _, v := range list {
			_, _ = bw.Write(b[:binary.PutUvarint(b[:], uint64(max(v, 0)))]) // Flush tells
		}
	}
	put(int64(len(h.parts)))
	for _, p := range h.parts {
		put(p.crowd.all.waves, p.crowd.all.most, int64(len(p.crowd.steps.list)))
		last := int64(0)
		for _, s := range p.crowd.steps.list {
			put(s.time-last, s.most, int64(math.Round(100*s.n)))
			last = s.time
		}
	}
	if h.coarse() {
		put(1)
		h.packSums(put)
		return bw.Flush()
	}
	put(0, h.Profile.Waves)
	type key struct {
		analysis.Where
		kernel int32
	}
	sites := map[key]uint64{}
	for i := range h.Profile.Insts {
		c := &h.Profile.Insts[i]
		sites[key{c.Where, c.Kernel}] = uint64(i)
	}
	none := uint64(len(h.Profile.Insts)) // what belongs to no instruction
	type packed struct {
		analysis.Wave
		order, n int64
		windows  []byte
	}
	for i, p := range h.parts {
		open := map[*analysis.Life]*packed{}
		var done []*packed
		of := func(l *analysis.Life) *packed {
			k := open[l]
			if k == nil {
				k = &packed{}
				open[l] = k
			}
			return k
		}
		p.again(again{
			window: func(l *analysis.Life, s *analysis.Site, x analysis.Window) {
				site := none
				if s != nil {
					site = sites[key{s.Where, s.Kernel}]
				}
				k := of(l)
				k.n++
				k.windows = binary.AppendUvarint(k.windows, site)
				for _, v := range [3]int64{x.Ready - x.Begin, x.Issue - x.Ready, x.End - x.Issue} {
					k.windows = binary.AppendUvarint(k.windows, uint64(v))
				}
			},
			ended: func(l *analysis.Life) {
				k := of(l)
				delete(open, l) // lives are used again
				k.Wave, k.order = l.Wave, int64(l.N)
				done = append(done, k)
			},
		})
		slices.SortFunc(done, func(a, b *packed) int { return cmp.Compare(a.order, b.order) })
		for _, k := range done {
			put(int64(i), int64(k.CU), int64(k.SIMD), int64(k.Slot), k.Start, k.Stop-k.Start, k.n)
			_, _ = bw.Write(k.windows)
		}
	}
	return bw.Flush()
}

// coarse says whether there are too many instructions for the page to hold.
func (h *Hot) coarse() bool { return h.Profile.Total.Hits > maxPageRecords }

// cells is how many cells a row of the timeline in sums has.
func (h *Hot) cells() int64 {
	traced := int64(0)
	for _, p := range h.parts {
		if p.traced > 0 {
			traced++
		}
	}
	return min(max(maxPageCells/(32*max(traced, 1)), 256), 8192)
}

func (h *Hot) packSums(put func(list ...int64)) {
	var traced []int
	for i, p := range h.parts {
		if p.traced > 0 && p.to > p.from {
			traced = append(traced, i)
		}
	}
	put(int64(len(traced)))
	for _, i := range traced {
		p := h.parts[i]
		g := newGrid(p.from, p.to, h.cells())
		p.again(again{window: g.window})
		put(int64(i), p.from, g.per, g.columns, int64(len(g.rows)))
		for _, s := range g.slots() {
			put(int64(s.cu), int64(s.simd), int64(s.slot))
			put(g.rows[s]...)
		}
	}
}

// pageMarkers are the markers of the timeline.
func (h *Hot) pageMarkers(d *pageData) {
	d.Names, d.Markers = []string{}, [][8]int64{}
	number := map[string]int64{}
	index := map[int]int64{}
	for i, p := range h.parts {
		index[p.stream] = int64(i)
	}
	for i := range h.Markers {
		m := &h.Markers[i]
		if len(d.Markers) >= maxPageMarkers {
			d.Omitted = len(h.Markers) - len(d.Markers)
			return
		}
		n, ok := number[m.Name]
		if !ok {
			n = int64(len(d.Names))
			number[m.Name] = n
			d.Names = append(d.Names, m.Name)
		}
		d.Markers = append(d.Markers, [8]int64{
			index[m.stream], int64(m.CU), int64(m.SIMD), int64(m.Slot), m.Start, m.Stop, int64(m.Depth), n,
		})
	}
}
