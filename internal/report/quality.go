package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
)

// Quality says how far an output can be trusted; every output carries one. Null means unknown.
type Quality struct {
	Simulated *bool `json:"simulated"`

	EnginesWithData    []Index `json:"engines_with_data"`
	EnginesWithoutData []Index `json:"engines_without_data"`
	BufferFull         []int   `json:"buffer_full"` // engines
	TraceBytes         int64   `json:"trace_bytes"`
	Tokens             int64   `json:"tokens"`
	BytesLost          int64   `json:"bytes_lost"`      // holes and bits that no token layout matches, rounded up
	PacketsLost        int64   `json:"packets_lost"`    // tokens by which the hardware says that it lost some
	Stalls             int64   `json:"stalls"`          // times that the trace held the waves up
	StallCycles        int64   `json:"stall_cycles"`    // of the engines' own clocks, summed up
	ClockIntervals     int64   `json:"clock_intervals"` // between realtime markers: where the shader clock was held against the reference clock
	ClockDoubts        int64   `json:"clock_doubts"`    // places where times contradict each other, or what is known of the recording
	CyclesDoubtful     int64   `json:"cycles_doubtful"` // that pass there, of the engines' own clocks, summed up
	WavesComplete      int64   `json:"waves_complete"`
	WavesStartOnly     int64   `json:"waves_start_only"`
	WavesEndOnly       int64   `json:"waves_end_only"`
	WavesMisplaced     int64   `json:"waves_misplaced"` // whole or not, in slots that no SIMD has: tokens were misread
	WavesLaunched      *int64  `json:"waves_launched"`

	LanesAtStart *float64 `json:"lanes_at_start"`         // active lanes of a wave when it starts, on average over the waves that tell
	LanesNA      string   `json:"lanes_reason,omitempty"` // why they are not known per instruction

	InstructionsTraced []string `json:"instructions_traced"` // which units

	CountersUnmeasured []Unmeasured `json:"counters_unmeasured"`

	PowerState string `json:"power_state"` // stable, not stable, unknown
	Passes     int    `json:"passes"`
	OverheadNs *int64 `json:"overhead_ns"` // how much longer the first recorded run took than the same launch alone; may be negative
	OverheadNA string `json:"overhead_reason,omitempty"`

	Notes []capture.Note `json:"notes"`

	lanes, laneWaves int64
	cut              bool // of the recording, too, part is missing
}

// What remarks say that tell why nothing was traced.
const (
	endedEarly = " ended early: "
	noTraces   = "the capture holds no thread traces"
	noDetail   = "no engine that was traced traced instructions"
	someTokens = "of all tokens "
	someWaves  = "of all waves "
)

// whyNothing is what to do where no instruction was traced, by the remarks that tell why. Where the launch ended early nothing would have helped.
func whyNothing(notes []capture.Note) string {
	for _, n := range notes {
		switch {
		case strings.Contains(n.Text, endedEarly):
			return ""
		case n.Text == noTraces, n.Text == noDetail, strings.HasPrefix(n.Text, someTokens), strings.HasPrefix(n.Text, someWaves):
			return n.Advice
		}
	}
	return "a kernel of s_endpgm alone shows none; else trace them: --detail-engines, --unit and --simd of 'rigprof trace' choose where"
}

// noLanes is why no output tells how many lanes an instruction had. Tokens and their fields: AMD rocprof-trace-decoder (MIT), which skips the one
// token that could tell, of gfx12 alone.
const (
	noLanes      = "no token tells: WAVE_START has the lanes at a wave's start"
	noLanesGFX12 = noLanes + ", and what the bits of EXEC_POPCOUNT mean no public source says"
)

// Unmeasured is a counter without a value, and why.
type Unmeasured struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func newQuality() Quality {
	return Quality{
		EnginesWithData: []Index{}, EnginesWithoutData: []Index{}, BufferFull: []int{},
		InstructionsTraced: []string{}, CountersUnmeasured: []Unmeasured{}, Notes: []capture.Note{},
		PowerState: "unknown", OverheadNA: "trace files do not say",
	}
}

// Note adds a remark unless it is there.
func (q *Quality) Note(level, advice, format string, args ...any) {
	n := capture.Note{Level: level, Text: fmt.Sprintf(format, args...), Advice: advice}
	if !slices.Contains(q.Notes, n) {
		q.Notes = append(q.Notes, n)
	}
}

// Warned says whether a counter has no value or a remark is more than good to know: what --strict refuses.
func (q *Quality) Warned() bool {
	return len(q.CountersUnmeasured) > 0 || slices.ContainsFunc(q.Notes, func(n capture.Note) bool { return n.Level != capture.Info })
}

// Warnings are the remarks that are more than good to know, a line each: what forms without a quality block are to be read with.
func (q *Quality) Warnings() []string {
	var list []string
	for _, n := range q.Notes {
		if n.Level != capture.Info {
			list = append(list, noteLine(n))
		}
	}
	return list
}

// brief is a mark for names where there is no room for the remarks; nothing where there is none.
func (q *Quality) brief() string {
	switch {
	case slices.ContainsFunc(q.Notes, func(n capture.Note) bool { return n.Level == capture.Loss }):
		return "data is missing"
	case len(q.Warnings()) > 0:
		return "with warnings"
	}
	return ""
}

// stream counts one engine's stream in.
func (q *Quality) stream(engine Index, r *scanned) {
	q.TraceBytes += r.Bytes
	q.Tokens += r.tokens
	q.BytesLost += r.Losses.EmptyBytes + (r.Losses.UnknownBits+7)/8
	q.PacketsLost += r.Losses.PacketsLost
	q.Stalls += r.Losses.Stalls
	q.StallCycles += int64(r.Losses.StallCycles)
	q.ClockIntervals += max(r.clock.markers-1, 0)
	q.ClockDoubts += r.doubts.N
	q.CyclesDoubtful = addUpTo(q.CyclesDoubtful, int64(r.doubts.Cycles))
	q.WavesComplete += r.waves
	q.WavesStartOnly += r.Losses.DroppedStarts + r.Losses.OpenAtEnd
	q.WavesEndOnly += r.Losses.DroppedEnds
	q.WavesMisplaced += r.misplaced()
	if r.Family == gpu.GFX12 {
		q.LanesNA = noLanesGFX12
	} else if q.LanesNA == "" {
		q.LanesNA = noLanes
	}
	if q.lanes, q.laneWaves = q.lanes+r.lanes, q.laneWaves+r.laneWaves; q.laneWaves > 0 {
		mean := math.Round(100*float64(q.lanes)/float64(q.laneWaves)) / 100
		q.LanesAtStart = &mean
	}
	if r.Bytes > 0 {
		q.EnginesWithData = append(q.EnginesWithData, engine)
	} else {
		q.EnginesWithoutData = append(q.EnginesWithoutData, engine)
	}
}

// grouped collects remarks that many streams share, to be told once each.
type grouped struct {
	order []capture.Note // Text without the streams
	names map[capture.Note][]string
}

func (g *grouped) add(name, level, text, advice string) {
	n := capture.Note{Level: level, Text: text, Advice: advice}
	if g.names == nil {
		g.names = map[capture.Note][]string{}
	}
	if g.names[n] == nil {
		g.order = append(g.order, n)
	}
	g.names[n] = append(g.names[n], name)
}

// losses remarks on what a stream lacks.
func (g *grouped) losses(name string, r *scanned) {
	l := &r.Losses
	if l.PacketsLost > 0 {
		g.add(name, capture.Loss, "the hardware reports that it lost tokens", "trace fewer tokens or a smaller kernel")
	}
	if l.Stalls > 0 {
		g.add(name, capture.Warning, "the trace stalled the waves: nothing is lost, but times are the trace's too", "trace fewer tokens, or instructions on fewer engines")
	}
	if r.doubts.N > 0 {
		g.add(name, capture.Warning, doubtText(&r.doubts, &r.clock.limits), doubtAdvice(r.doubts.First.Kind))
	}
	if l.UnknownBits > 0 {
		g.add(name, capture.Loss, "bits that match no token", "is the target right, and the file whole?")
	}
	if r.misplaced() > 0 {
		g.add(name, capture.Loss, "waves in slots above 9, which no gfx9 SIMD has: bytes before them are missing or no tokens", "is the target right, and the file whole?")
	}
	if l.EmptyBytes > 0 {
		g.add(name, capture.Loss, "lines of zeros inside the stream", "the engine may still have been writing when it was read")
	}
	if l.DroppedStarts > 0 {
		g.add(name, capture.Loss, "waves whose end is missing", "")
	}
	if l.DroppedEnds > 0 {
		g.add(name, capture.Loss, "wave ends whose start is missing", "")
	}
}

func (g *grouped) into(q *Quality) {
	const few = 4
	for _, n := range g.order {
		names := g.names[n]
		where := strings.Join(names[:min(few, len(names))], ", ")
		if len(names) > few {
			where += fmt.Sprintf(" and %d more", len(names)-few)
		}
		q.Note(n.Level, n.Advice, "%s: %s", where, n.Text)
	}
}

// table is the quality block for people, with lines of what is known.
func (q *Quality) table() Table {
	t := Table{Title: "quality", Columns: []Column{Text("what"), Text("value")}}
	if q.Simulated != nil {
		what := "a real GPU"
		if *q.Simulated {
			what = "simulated: results and counts are exact where the hardware is architected, times are modelled"
		}
		t.Add("run on", what)
	}
	if n := len(q.EnginesWithData) + len(q.EnginesWithoutData); n > 0 {
		of := fmt.Sprintf("%d of %d with data", len(q.EnginesWithData), n)
		if q.cut {
			of = fmt.Sprintf("%d with data of those that the cut capture still tells of", len(q.EnginesWithData))
		}
		t.Add(q.streams(), fmt.Sprintf("%s, %s, %s", of, Bytes(q.TraceBytes), Plural(q.Tokens, "token")))
		seen := fmt.Sprintf("%d complete, %d start only, %d end only", q.WavesComplete, q.WavesStartOnly, q.WavesEndOnly)
		if q.WavesLaunched != nil {
			seen = fmt.Sprintf("%d launched, ", *q.WavesLaunched) + seen
		}
		t.Add("waves", seen)
		lost := q.lost()
		if len(q.BufferFull) > 0 {
			lost = fmt.Sprintf("buffer full on engine %s, within the buffers ", ints(q.BufferFull)) + lost
		}
		t.Add("lost", lost)
		if q.Stalls > 0 {
			t.Add("stalled", fmt.Sprintf("waves waited for the trace %s, %d cycles", times(q.Stalls), q.StallCycles))
		}
		if q.ClockDoubts > 0 {
			t.Add("clock", fmt.Sprintf("contradicted %s: %d cycles are doubtful", times(q.ClockDoubts), q.CyclesDoubtful))
		}
		if q.LanesAtStart != nil {
			t.Add("active lanes", fmt.Sprintf("%.4g on average when a wave starts; per instruction n/a: %s", *q.LanesAtStart, q.LanesNA))
		}
		if len(q.InstructionsTraced) > 0 {
			t.Add("instructions", joinUnits(q.InstructionsTraced))
		}
	}
	if len(q.CountersUnmeasured) > 0 {
		var list []string
		for _, u := range q.CountersUnmeasured {
			list = append(list, u.Name+" ("+u.Reason+")")
		}
		t.Add("not measured", strings.Join(list, "; "))
	}
	if q.Simulated != nil {
		t.Add("power state", q.PowerState)
	}
	if q.OverheadNs != nil {
		t.Add("overhead", fmt.Sprintf("%d ns more than the launch alone", *q.OverheadNs))
	}
	if q.Passes > 1 {
		t.Add("passes", q.Passes)
	}
	for _, n := range q.Notes {
		t.Notes = append(t.Notes, noteLine(n))
	}
	return t
}

// streams is what their count counts: engines, unless several streams are of one, as of several dispatches, or files do not tell.
func (q *Quality) streams() string {
	list := slices.Concat(q.EnginesWithData, q.EnginesWithoutData)
	slices.Sort(list)
	if n := len(list); n > 0 && (list[0] < 0 || len(slices.Compact(list)) < n) {
		return "streams"
	}
	return "engines"
}

// lost is what the streams lack, for people.
func (q *Quality) lost() string {
	var list []string
	if q.cut {
		list = append(list, "what is missing of the capture")
	}
	if q.BytesLost > 0 || q.PacketsLost > 0 {
		list = append(list, fmt.Sprintf("%s unreadable, %d reports of lost tokens", Bytes(q.BytesLost), q.PacketsLost))
	}
	if q.WavesStartOnly > 0 {
		list = append(list, "the end of "+Plural(q.WavesStartOnly, "wave"))
	}
	if q.WavesEndOnly > 0 {
		list = append(list, "the start of "+Plural(q.WavesEndOnly, "wave"))
	}
	if q.WavesMisplaced > 0 {
		list = append(list, "step: "+Plural(q.WavesMisplaced, "wave")+" in slots that do not exist")
	}
	if len(list) == 0 {
		return "nothing that shows"
	}
	return strings.Join(list, ", ")
}

func noteLine(n capture.Note) string {
	s := n.Level + ": " + n.Text
	if n.Advice != "" {
		s += "; " + n.Advice
	}
	return s
}

// times is "once" or "3 times".
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// ints lists numbers as "0, 2, 5".
func ints(list []int) string {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

// Bytes is a size for people: "1.5 MiB".
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, u := float64(n)/unit, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if f < unit {
			break
		}
		f, u = f/unit, next
	}
	return fmt.Sprintf("%.4g %s", f, u)
}

// Plural is "1 wave", "2 waves".
func Plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
