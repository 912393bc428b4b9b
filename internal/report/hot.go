package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// Hot is what instruction traces say: waves with their instructions, what they cost, and the code they ran.
type Hot struct {
	Device  DeviceDoc
	Quality Quality
	Markers []MarkerSpan // of every wave, in the order of streams
	Profile *analysis.Profile
	Objects []*codeobj.Object

	Source func(file string, line int) (string, bool) // a line of source for the page, where there is one; may be nil

	family  gpu.Family
	arch    isa.Arch
	parts   []*hotPart // by dispatch and engine, where they are known
	streams []*hotPart // the same by number
	code    *codeMap
	kernels []hotKernel // by the numbers of sites
	places  map[analysis.Where]*Place
	ifs     *bothWays // nil: nobody asked
}

// TracedWave is a wave and what it cost.
type TracedWave struct {
	analysis.Wave
	Cost   analysis.Cost
	Kernel int32 // by the numbers of sites; 0: none of its instructions' places is known
	n      int   // in the order they end
}

// hotPart is one stream.
type hotPart struct {
	streamPlace
	kernel int32 // of captures: the dispatch's, by its number; 0: the waves' code tells

	feed     func(run *analysis.Run) (cut int) // gives its traced waves to a run, and tells how many of them it has in part; it can be asked again
	failed   func() error                      // what kept a later pass from reading all that the first one read; nil: nothing can
	cycles   int64                             // of its traced waves
	ran      []int32                           // kernels, those with most cycles first
	traced   int64                             // waves whose instructions were traced
	from, to int64                             // of them
	unplaced sqtt.Unplaced
	cut      int64 // records whose kind is behind the stream's end
	fits     []fit // by code object
	crowd    crowd // of all waves
}

// Place is where an instruction belongs: names and lines for people.
type Place struct {
	analysis.Where
	Symbol string // the kernel or function that covers it, by its symbol
	Frames []SourceLine
	Text   string // disassembly
}

// Line is the innermost source line, "vadd.cl:6", or the symbol and offset where there is none.
func (p *Place) Line() string {
	if p.hasLine() {
		return fmt.Sprintf("%s:%d", p.Frames[0].File, p.Frames[0].Line)
	}
	return p.Symbol + " (no line)"
}

func (p *Place) hasLine() bool { return len(p.Frames) > 0 && p.Frames[0].Line > 0 }

// Func is the innermost inlined function.
func (p *Place) Func() string {
	if len(p.Frames) > 0 && p.Frames[0].Func != "" {
		return p.Frames[0].Func
	}
	return p.Symbol
}

// Place finds an instruction's place; it is kept.
func (h *Hot) Place(w analysis.Where) *Place {
	if p := h.places[w]; p != nil {
		return p
	}
	p := &Place{Where: w, Symbol: unknownCode, Text: "unknown"}
	if w.Object < 0 {
		if p.Text = sqtt.Category(w.PC).String() + " at an unknown address"; sqtt.Category(w.PC) == sqtt.CategoryNone {
			p.Text = "issued, of a kind that the stream does not tell"
		}
	}
	if w.Object >= 0 && w.Object < len(h.Objects) && h.Objects[w.Object] != nil {
		o := h.Objects[w.Object]
		p.Symbol = fmt.Sprintf("code at %#x", w.PC)
		wave := 32
		if f := h.code.at(w.Object, w.PC); f != nil {
			p.Symbol, wave = f.Name, f.Wave
		}
		for _, f := range o.Line(w.PC) {
			p.Frames = append(p.Frames, SourceLine{functionName(f.Func), f.File, f.Line})
		}
		if in, err := isa.DecodeLenient(h.arch, o.Bytes(w.PC)); err == nil {
			p.Text = string(isa.AppendText(nil, h.arch, wave, w.PC, &in))
		}
	}
	if h.places == nil {
		h.places = map[analysis.Where]*Place{}
	}
	h.places[w] = p
	return p
}

// part is the one of a stream.
func (h *Hot) part(stream int) *hotPart {
	if stream < 0 || stream >= len(h.streams) {
		return nil
	}
	return h.streams[stream]
}

// addressOf is an instruction's address for people; empty where it is not known.
func addressOf(w analysis.Where) string {
	if w.Object < 0 {
		return ""
	}
	return fmt.Sprintf("%#x", w.PC)
}

// functionName is a function as its source spells it. Clang 21 and later inline an OpenCL kernel's body into it under a name of their own.
func functionName(s string) string {
	return codeobj.Demangle(strings.TrimPrefix(s, "__clang_ocl_kern_imp_"))
}

// HotRow is the cost of one group: an instruction, a line, a function, a kernel or a class.
type HotRow struct {
	Name    string `json:"name"`
	Kernel  string `json:"kernel,omitempty"` // that the waves ran; of several those with most cycles
	Object  string `json:"object,omitempty"` // the code object
	Address string `json:"address,omitempty"`
	Source  string `json:"source,omitempty"`
	Class   string `json:"class,omitempty"`
	analysis.Cost
	Cycles  int64 `json:"cycles"`
	Exposed int64 `json:"exposed"`

	Latency    *int64 `json:"latency_mean"` // of loads that a wait named
	LatencyMax *int64 `json:"latency_max"`

	WaitsFor []WaitFor `json:"waits_for,omitempty"` // of a wait: what it waited for, most cycles first
}

// WaitFor is what a wait waited for: the youngest memory instruction that it took off its counter.
type WaitFor struct {
	Address string `json:"address,omitempty"`
	Name    string `json:"name"`
	Source  string `json:"source,omitempty"`
	Cycles  int64  `json:"cycles"`
}

// waitList lists what a wait waited for, by place.
func (h *Hot) waitList(cycles map[analysis.Where]int64) []WaitFor {
	var list []WaitFor
	for w, n := range cycles {
		p := h.Place(w)
		list = append(list, WaitFor{addressOf(w), p.Text, p.Line(), n})
	}
	slices.SortStableFunc(list, func(a, b WaitFor) int {
		return cmp.Or(cmp.Compare(b.Cycles, a.Cycles), cmp.Compare(len(a.Address), len(b.Address)), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	return list
}

// Hotspots is the document rigprof/hotspots/1.
type Hotspots struct {
	Schema  string        `json:"schema"`
	Device  DeviceDoc     `json:"device"`
	By      string        `json:"by"`
	Sort    string        `json:"sort"`
	Total   analysis.Cost `json:"total"`
	Cycles  int64         `json:"cycles"`
	Rows    []HotRow      `json:"rows"`
	Quality Quality       `json:"quality"`
	Advice  []Advice      `json:"advice"`
}

// HotBy and HotSort are the choices of Hotspots.
var (
	HotBy   = []string{"insn", "line", "function", "kernel", "class", "branch"}
	HotSort = []string{"stall", "latency", "duration", "hits", "nonhidden", "cycles"}
)

// Hotspots groups the cost and sorts the groups.
func (h *Hot) Hotspots(by, sort string) *Hotspots {
	d := &Hotspots{
		Schema: "rigprof/hotspots/1", Device: h.Device, By: by, Sort: sort, Total: h.Profile.Total, Cycles: h.Profile.Total.Cycles(),
		Rows: []HotRow{}, Quality: h.Quality, Advice: h.Advise(),
	}
	groups := map[hotKey]*hotGroup{}
	var order []*hotGroup
	for _, c := range h.Profile.Sorted(func(c *analysis.InstCost) int64 { return c.Cycles() }) {
		key, row := h.groupOf(by, c)
		g := groups[key]
		if g == nil {
			g = &hotGroup{HotRow: row, kernels: map[int32]int64{}, waited: map[analysis.Where]int64{}}
			groups[key] = g
			order = append(order, g)
		}
		g.add(h, c)
	}
	h.nameGroups(by, order)
	for _, g := range order {
		g.Cycles, g.Exposed = g.Cost.Cycles(), g.Cost.Exposed()
		if g.loads > 0 {
			mean := g.latency / g.loads
			g.Latency, g.LatencyMax = &mean, &g.latencyMax
		}
		if by == "insn" {
			g.WaitsFor = h.waitList(g.waited)
		}
		d.Rows = append(d.Rows, g.HotRow)
	}
	if idle := h.Profile.Idle; idle.Cycles() > 0 {
		d.Rows = append(d.Rows, HotRow{Name: "waves without a traced instruction", Cost: idle, Cycles: idle.Cycles(), Exposed: idle.Exposed()})
	}
	key := hotKeys[sort]
	slices.SortStableFunc(d.Rows, func(a, b HotRow) int { return cmp.Compare(key(&b), key(&a)) })
	return d
}

var hotKeys = map[string]func(*HotRow) int64{
	"stall": func(r *HotRow) int64 { return r.Stall },
	"latency": func(r *HotRow) int64 {
		if r.Latency == nil {
			return -1
		}
		return *r.Latency
	},
	"duration":  func(r *HotRow) int64 { return r.Stall + r.Issue }, // what AMD's tools call latency
	"hits":      func(r *HotRow) int64 { return r.Hits },
	"nonhidden": func(r *HotRow) int64 { return r.Exposed },
	"cycles":    func(r *HotRow) int64 { return r.Cycles },
}

// hotOrder says what stands first.
var hotOrder = map[string]string{
	"stall": "most stall", "latency": "longest mean latency", "duration": "most stall and issue", "hits": "most hits", "nonhidden": "most exposed",
	"cycles": "most cycles",
}

// Tables is the view for people.
func (d *Hotspots) Tables(limit int) []Table {
	cols := []Column{Number("cycles %"), Number("cycles"), Number("stall"), Number("idle"), Number("issue"), Number("exposed"), Number("hits")}
	cols = append(cols, Number("latency"))
	if d.By == "insn" {
		cols = append(cols, Text("waits for"), Text("address"), Text("source"), Text("instruction"))
	} else {
		cols = append(cols, Text(d.By))
	}
	if len(d.Rows) == 0 {
		t := Table{Columns: []Column{Text("")}, Notes: []string{"no hot spots of " + d.Device.named(": no instruction was traced")}}
		return []Table{t, d.Quality.table()}
	}
	t := Table{Title: "hot spots of " + d.Device.named(fmt.Sprintf(" by %s, %d wave cycles in all, %s first", d.By, d.Cycles, hotOrder[d.Sort])), Columns: cols}
	_ = t.fill(Held, limit, len(d.Rows), "rows", "--top", d.rows) // nothing in it fails
	out := []Table{t}
	if len(d.Advice) > 0 {
		out = append(out, adviceTable(d.Advice))
	}
	return append(out, d.Quality.table())
}

// rows are the table's.
func (d *Hotspots) rows(f func(row []string) error) error {
	var row []string
	for i := range d.Rows {
		r := &d.Rows[i]
		latency := any("-")
		if r.Latency != nil {
			latency = *r.Latency
		}
		row = appendCells(row[:0], percent(r.Cycles, d.Cycles), r.Cycles, r.Stall, r.Idle, r.Issue, r.Exposed, r.Hits, latency)
		if d.By == "insn" {
			row = appendCells(row, dash(r.waitsFor()), dash(r.Address), dash(r.Source))
		}
		row = appendCells(row, r.Name)
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// waitsFor is the address of what a wait waited for most.
func (r *HotRow) waitsFor() string {
	if len(r.WaitsFor) == 0 {
		return ""
	}
	return r.WaitsFor[0].Address
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

// CSV is one row a group.
func (d *Hotspots) CSV() *Table {
	t := &Table{Columns: []Column{
		Text(d.By), Text("kernel"), Text("object"), Text("simulated"), Text("address"), Text("source"), Text("class"), Number("hits"), Number("cycles"), Number("stall"), Number("idle"),
		Number("issue"), Number("hidden"), Number("exposed"), Number("latency_mean"), Number("latency_max"), Text("waits_for"),
	}}
	for i := range d.Rows {
		r := &d.Rows[i]
		t.Add(r.Name, r.Kernel, r.Object, orNil(d.Device.Simulated), r.Address, r.Source, r.Class, r.Hits, r.Cycles, r.Stall, r.Idle, r.Issue, r.Hidden, r.Exposed, orNil(r.Latency), orNil(r.LatencyMax), r.waitsFor())
	}
	return t
}

// WriteJSON writes the document.
func (d *Hotspots) WriteJSON(w io.Writer) error { return WriteJSON(w, d) }

// WriteCSV writes the rows.
func (d *Hotspots) WriteCSV(w io.Writer) error { return d.CSV().CSV(w) }

var classNames = map[isa.Class]string{
	isa.SALU: "scalar ALU", isa.SMEM_: "scalar memory", isa.VALU: "vector ALU", isa.VALUTrans: "vector transcendental", isa.VALU64: "vector 64-bit",
	isa.Matrix: "matrix", isa.VMEM: "buffer memory", isa.Global: "global memory", isa.Flat: "flat memory", isa.Scratch: "scratch", isa.LDS: "LDS",
	isa.Branch: "branch", isa.Wait: "wait", isa.Message: "message", isa.Barrier: "barrier", isa.Immediate: "immediate", isa.Delay: "delay",
	isa.End: "end", isa.Export: "export", isa.Image: "image",
}

func className(c isa.Class) string {
	if s := classNames[c]; s != "" {
		return s
	}
	return "unknown"
}

// newHot sums up the waves of streams. It asks for the quality once they were read.
func newHot(device DeviceDoc, target string, parts []*hotPart, code *codeMap, kernels []hotKernel, quality func() Quality) *Hot {
	if code == nil {
		code = &codeMap{}
	}
	h := &Hot{Device: device, Objects: code.objects, code: code, kernels: kernels, parts: slices.Clone(parts), streams: parts}
	h.arch, _ = isa.ArchOf(target)
	profiles := make([]*analysis.Profile, len(parts))
	cut := make([]int, len(parts))
	parallel(len(parts), func(i int) {
		p := parts[i]
		run := analysis.NewRun()
		run.Done = func(l *analysis.Life) {
			if p.traced == 0 {
				p.from = l.Start
			}
			p.traced++
			p.from, p.to = min(p.from, l.Start), max(p.to, l.Stop)
		}
		cut[i] = p.feed(run)
		profiles[i] = run.Close()
	})
	h.Quality = quality()
	outside := 0
	var some []*analysis.Profile
	for i, p := range profiles {
		if len(p.Insts) == 0 { // the engine traces no instructions: its waves say nothing
			parts[i].traced = 0
			continue
		}
		some = append(some, p)
		parts[i].cycles = p.Total.Cycles()
		parts[i].ran = kernelsOf(p)
		outside += cut[i]
	}
	slices.SortStableFunc(h.parts, func(a, b *hotPart) int {
		return cmp.Or(cmp.Compare(a.dispatch, b.dispatch), cmp.Compare(a.engine, b.engine))
	})
	h.Profile = analysis.Join(some)
	h.nameKernels()
	if outside > 0 {
		h.Quality.Note(capture.Info, "", "%s began before the trace or ended after it: their cycles are those inside it", Plural(int64(outside), "wave"))
	}
	var unplaced sqtt.Unplaced
	cutOff := int64(0)
	fits := make([]fit, len(code.objects))
	for _, p := range h.parts {
		unplaced.Add(p.unplaced)
		cutOff += p.cut
		for i := range p.fits {
			fits[i].add(p.fits[i])
		}
	}
	unknown := int64(0)
	for i := range h.Profile.Insts {
		if c := &h.Profile.Insts[i]; c.Object < 0 {
			unknown += c.Hits
		}
	}
	if len(code.objects) > 0 {
		noteUnplaced(&h.Quality, "", unknown-cutOff, unplaced)
		noteCut(&h.Quality, "", cutOff)
	}
	for i := range fits {
		fits[i].note(&h.Quality, "", code.name(i))
	}
	if h.Profile.Total.Hits == 0 && !slices.ContainsFunc(h.Quality.Notes, func(n capture.Note) bool { return strings.HasPrefix(n.Text, noWaveThere) }) {
		h.Quality.Note(capture.Warning, whyNothing(h.Quality.Notes), "no instruction was traced")
	}
	return h
}

// again are what a second pass over the streams gives; each may be nil.
type again struct {
	window func(l *analysis.Life, site *analysis.Site, w analysis.Window) // every window of every traced wave, those of a wave in order; nil: no site
	wave   func(w *TracedWave)                                            // every traced wave, in order of start
	ended  func(l *analysis.Life)                                         // every traced wave once all its windows were given
}

// reread is what kept passes behind the first one from reading all of it: what they gave is not whole.
func (h *Hot) reread() error {
	var err error
	for _, p := range h.parts {
		if p.failed != nil && p.failed() != nil {
			err = errors.Join(err, fmt.Errorf("%s, read again: %w", p.name(), p.failed()))
		}
	}
	return err
}

// again goes through a part's stream once more.
func (p *hotPart) again(a again) {
	if p.traced == 0 {
		return
	}
	run := analysis.NewRun()
	if a.window != nil {
		run.Visit = func(l *analysis.Life, site int32, w analysis.Window) {
			if site < 0 {
				a.window(l, nil, w)
				return
			}
			a.window(l, run.SiteAt(site), w)
		}
	}
	var held []TracedWave // those before which others may start
	give := func(before int64) {
		slices.SortStableFunc(held, func(a, b TracedWave) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.n, b.n)) })
		n := 0
		for ; n < len(held) && held[n].Start < before; n++ {
			a.wave(&held[n])
		}
		held = append(held[:0], held[n:]...)
	}
	run.Done = func(l *analysis.Life) {
		if a.ended != nil {
			a.ended(l)
		}
		if a.wave == nil {
			return
		}
		w := TracedWave{Wave: l.Wave, Cost: l.Cost, n: l.N}
		if l.First >= 0 {
			w.Kernel = run.SiteAt(l.First).Kernel
		}
		held = append(held, w)
	}
	if a.wave != nil {
		run.Settled = give
	}
	p.feed(run)
	run.Close()
}
