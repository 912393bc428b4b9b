package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/rigprof/rigprof/internal/analysis"
)

// ExportFormats are what Export writes.
var ExportFormats = []string{"pprof", "folded", "speedscope", "html", "csv", "json", "folded-markers"}

// stack is the frames of an instruction, outermost first: the kernel that the waves ran, the function called, inlined functions, line, instruction.
// Which function called it is not followed: the kernel stands for all callers.
func (h *Hot) stack(s *analysis.Site) []string {
	p := h.Place(s.Where)
	out := []string{h.kernelName(s.Kernel)}
	if h.called(s, p) {
		out = append(out, p.Symbol)
	}
	for i := len(p.Frames) - 1; i >= 0; i-- {
		if f := p.Frames[i].Func; f != "" && f != p.Symbol {
			out = append(out, f)
		}
	}
	return append(out, p.Line(), strings.TrimPrefix(addressOf(s.Where)+" "+p.Text, " "))
}

// called says whether an instruction stands in a function beside its waves' kernel.
func (h *Hot) called(s *analysis.Site, p *Place) bool {
	k := noKernel
	if int(s.Kernel) < len(h.kernels) {
		k = h.kernels[s.Kernel]
	}
	return k.symbol != p.Symbol || k.object != p.Object
}

const noInstruction = "(no traced instruction)"

// samples calls f with every instruction's stack and cost, in order of place; what belongs to none comes last. The costs add up to the total.
func (h *Hot) samples(f func(stack []string, c *analysis.InstCost)) {
	for _, c := range h.Profile.Sorted(func(*analysis.InstCost) int64 { return 0 }) {
		f(h.stack(&c.Site), c)
	}
	if idle := h.Profile.Idle; idle.Cycles() > 0 {
		f([]string{noInstruction}, &analysis.InstCost{Site: analysis.Site{Where: analysis.Where{Object: -1}}, Cost: idle})
	}
}

// WriteFolded writes a line a stack, as flame graph tools read it: frames apart by semicolons, then cycles.
func (h *Hot) WriteFolded(w io.Writer) error {
	bw := bufio.NewWriter(w)
	h.samples(func(stack []string, c *analysis.InstCost) { h.foldedLine(bw, stack, c.Cycles()) })
	return bw.Flush()
}

// foldedLine writes one stack; errors show when bw is flushed. The format has no comments, so what a simulated GPU ran stands on a frame that
// says so.
func (h *Hot) foldedLine(bw *bufio.Writer, stack []string, cycles int64) {
	if h.Device.simulated() {
		stack = append([]string{"simulated " + h.Device.Name}, stack...)
	}
	for i, s := range stack {
		if i > 0 {
			_ = bw.WriteByte(';')
		}
		_, _ = bw.WriteString(strings.ReplaceAll(Printable(s), ";", ":"))
	}
	_, _ = fmt.Fprintf(bw, " %d\n", cycles)
}

// WritePprof writes a profile for go tool pprof, with the sample types cycles, stall, hidden and hits.
func (h *Hot) WritePprof(w io.Writer) error {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "cycles", Unit: "count"}, {Type: "stall", Unit: "count"}, {Type: "hidden", Unit: "count"}, {Type: "hits", Unit: "count"},
		},
		DefaultSampleType: "cycles",
		PeriodType:        &profile.ValueType{Type: "cycles", Unit: "count"},
		Period:            1,
		Comments:          append([]string{h.Device.title()}, h.Quality.Warnings()...),
	}
	functions := map[string]*profile.Function{}
	function := func(name, file string) *profile.Function {
		key := name + "\x00" + file
		f := functions[key]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: file}
			functions[key] = f
			p.Function = append(p.Function, f)
		}
		return f
	}
	location := func(addr uint64, lines ...profile.Line) *profile.Location {
		l := &profile.Location{ID: uint64(len(p.Location) + 1), Address: addr, Line: lines}
		p.Location = append(p.Location, l)
		return l
	}
	roots := map[string]*profile.Location{}
	root := func(name string) *profile.Location {
		if roots[name] == nil {
			roots[name] = location(0, profile.Line{Function: function(name, "")})
		}
		return roots[name]
	}
	h.samples(func(stack []string, c *analysis.InstCost) {
		s := &profile.Sample{Value: []int64{c.Cycles(), c.Stall, c.Hidden, c.Hits}}
		p.Sample = append(p.Sample, s)
		if len(stack) == 1 {
			s.Location = append(s.Location, root(stack[0]))
			return
		}
		pl := h.Place(c.Where)
		file, line := "", int64(0)
		if len(pl.Frames) > 0 {
			file, line = pl.Frames[0].File, int64(pl.Frames[0].Line)
		}
		s.Location = append(s.Location, location(c.PC, profile.Line{Function: function(stack[len(stack)-1], file), Line: line}))
		var lines []profile.Line
		outer := ""
		for _, f := range pl.Frames {
			name := f.Func
			if name == "" {
				name = pl.Symbol
			}
			if name == pl.Symbol && !h.called(&c.Site, pl) {
				name = stack[0] // the kernel's name may tell its object, too
			}
			if name == outer { // a kernel's body that was inlined into its entry: one function for people, and its lines must not count twice
				continue
			}
			lines = append(lines, profile.Line{Function: function(name, f.File), Line: int64(f.Line)})
			outer = name
		}
		if len(lines) > 0 {
			s.Location = append(s.Location, location(c.PC, lines...))
		}
		if h.called(&c.Site, pl) && outer != pl.Symbol {
			s.Location = append(s.Location, root(pl.Symbol))
			outer = pl.Symbol
		}
		if outer != stack[0] {
			s.Location = append(s.Location, root(stack[0]))
		}
	})
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	return p.Write(w)
}

// speedscope's file format: https://www.speedscope.app/file-format-schema.json
type (
	ssFile struct {
		Schema   string   `json:"$schema"`
		Name     string   `json:"name"`
		Exporter string   `json:"exporter"`
		Shared   ssShared `json:"shared"`
		Profiles []any    `json:"profiles"` // ssProfile, ssEvented
	}
	ssShared struct {
		Frames []ssFrame `json:"frames"`
	}
	ssFrame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	ssProfile struct {
		Type       string  `json:"type"`
		Name       string  `json:"name"`
		Unit       string  `json:"unit"`
		StartValue int64   `json:"startValue"`
		EndValue   int64   `json:"endValue"`
		Samples    [][]int `json:"samples"`
		Weights    []int64 `json:"weights"`
	}
	ssEvented struct {
		Type       string    `json:"type"`
		Name       string    `json:"name"`
		Unit       string    `json:"unit"`
		StartValue int64     `json:"startValue"`
		EndValue   int64     `json:"endValue"`
		Events     []ssEvent `json:"events"`
	}
	ssEvent struct {
		Type  string `json:"type"` // O opens, C closes
		Frame int    `json:"frame"`
		At    int64  `json:"at"`
	}
)

// WriteSpeedscope writes one sampled profile each for cycles, stall and exposed cycles, and, where waves sent markers, one over time for each slot.
func (h *Hot) WriteSpeedscope(w io.Writer) error {
	f := ssFile{Schema: "https://www.speedscope.app/file-format-schema.json", Name: strings.Join(append([]string{h.Device.title()}, h.Quality.Warnings()...), "; "), Exporter: "rigprof"}
	mark := "" // viewers show the profiles' names, the file's hardly
	if s := h.Quality.brief(); s != "" {
		mark = " (" + s + ")"
	}
	frames := map[string]int{}
	f.Shared.Frames = []ssFrame{} // an empty list, not null: viewers insist
	frame := func(s string) int {
		id, ok := frames[s]
		if !ok {
			id = len(f.Shared.Frames)
			frames[s] = id
			f.Shared.Frames = append(f.Shared.Frames, ssFrame{Name: s})
		}
		return id
	}
	samples := [][]int{}
	weights := [][]int64{{}, {}, {}}
	h.samples(func(stack []string, c *analysis.InstCost) {
		var ids []int
		for _, s := range stack {
			ids = append(ids, frame(s))
		}
		samples = append(samples, ids)
		for i, n := range []int64{c.Cycles(), c.Stall, c.Exposed()} {
			weights[i] = append(weights[i], n)
		}
	})
	for i, name := range []string{"cycles", "stall", "exposed cycles"} {
		p := ssProfile{Type: "sampled", Name: name + mark, Unit: "none", Samples: samples, Weights: weights[i]}
		for _, n := range weights[i] {
			p.EndValue += n
		}
		f.Profiles = append(f.Profiles, p)
	}
	for _, p := range h.markerProfiles(frame) {
		f.Profiles = append(f.Profiles, p)
	}
	return WriteJSON(w, f)
}

// maxMarkerProfiles bounds the slots whose markers a speedscope file shows: its menu lists each.
const maxMarkerProfiles = 64

// markerProfiles are the markers of each slot over time.
func (h *Hot) markerProfiles(frame func(string) int) []*ssEvented {
	type key struct {
		stream int
		slot
	}
	slots := map[key][]*MarkerSpan{}
	var order []key
	for i := range h.Markers {
		m := &h.Markers[i]
		k := key{m.stream, slot{m.CU, m.SIMD, m.Slot}}
		if slots[k] == nil {
			order = append(order, k)
		}
		slots[k] = append(slots[k], m)
	}
	var out []*ssEvented
	for i, k := range order {
		if i >= maxMarkerProfiles {
			out[i-1].Name += fmt.Sprintf(" (%d more slots are left out)", len(order)-i)
			break
		}
		list := slots[k]
		slices.SortStableFunc(list, func(a, b *MarkerSpan) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Depth, b.Depth))
		})
		where := ""
		if part := h.part(k.stream); part != nil {
			where = part.name()
		}
		p := &ssEvented{
			Type: "evented", Name: fmt.Sprintf("markers, cycles: %s %s", where, k.lane(h.family)), Unit: "none",
			StartValue: list[0].Start, EndValue: list[0].Start, Events: []ssEvent{},
		}
		var open []*MarkerSpan
		event := func(typ string, m *MarkerSpan, at int64) { // in order of time, whatever the words were
			p.EndValue = max(p.EndValue, at)
			p.Events = append(p.Events, ssEvent{typ, frame(m.Name), p.EndValue})
		}
		closeTo := func(depth int) {
			for len(open) > depth {
				n := len(open) - 1
				event("C", open[n], open[n].Stop)
				open = open[:n]
			}
		}
		for _, m := range list {
			closeTo(min(m.Depth, len(open)))
			event("O", m, m.Start)
			open = append(open, m)
		}
		closeTo(0)
		out = append(out, p)
	}
	return out
}

// Export writes one of ExportFormats.
func (h *Hot) Export(w io.Writer, format string) error {
	switch format {
	case "pprof":
		return h.WritePprof(w)
	case "folded":
		return h.WriteFolded(w)
	case "folded-markers":
		return h.WriteFoldedMarkers(w)
	case "speedscope":
		return h.WriteSpeedscope(w)
	case "html":
		return h.WriteHTML(w)
	case "csv":
		return h.Hotspots("insn", "cycles").CSV().CSV(w)
	case "json":
		return WriteJSON(w, h.Hotspots("insn", "cycles"))
	}
	return fmt.Errorf("no export format %q", format)
}
