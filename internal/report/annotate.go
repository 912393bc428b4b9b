package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
)

// Annotated is code with the cycles of each instruction beside it: the document rigprof/annotate/1.
type Annotated struct {
	Schema    string        `json:"schema"`
	Device    DeviceDoc     `json:"device"`
	Total     analysis.Cost `json:"total"`
	Cycles    int64         `json:"cycles"`
	Functions []AnnotFunc   `json:"functions"` // those that ran, the most expensive first
	Elsewhere AnnotRest     `json:"elsewhere"` // the rest of the total
	Quality   Quality       `json:"quality"`
}

// AnnotFunc is one function.
type AnnotFunc struct {
	Name   string      `json:"name"`
	Addr   uint64      `json:"address"`
	Cycles int64       `json:"cycles"`
	Lines  []AnnotInsn `json:"instructions"`

	object int
}

// AnnotInsn is one instruction with its cost.
type AnnotInsn struct {
	AsmInst
	analysis.Cost
	Cycles  int64 `json:"cycles"`
	Exposed int64 `json:"exposed"`
}

// AnnotRest is the cost that no instruction of the functions has.
type AnnotRest struct {
	What string `json:"what"`
	analysis.Cost
	Cycles  int64 `json:"cycles"`
	Exposed int64 `json:"exposed"`
}

// Annotate lays costs beside the code; an empty name takes every function that ran.
func (h *Hot) Annotate(name string) (*Annotated, error) {
	a := &Annotated{
		Schema: "rigprof/annotate/1", Device: h.Device, Total: h.Profile.Total, Cycles: h.Profile.Total.Cycles(), Functions: []AnnotFunc{},
		Quality: h.Quality,
	}
	rest, covered := &a.Elsewhere, analysis.Cost{}
	rest.What = "waves or code that no code object here covers"
	if name != "" {
		rest.What += ", or of other functions"
	}
	at := map[analysis.Where]analysis.Cost{}
	ran := map[int]bool{}
	for i := range h.Profile.Insts {
		if c := &h.Profile.Insts[i]; c.Cost != (analysis.Cost{}) { // one for each kernel that ran it
			sum := at[c.Where]
			sum.Add(c.Cost)
			at[c.Where] = sum
			ran[c.Object] = true
		}
	}
	for obj, o := range h.Objects {
		if o == nil || !ran[obj] {
			continue
		}
		asm, err := Disassemble(o, name)
		if err != nil {
			if name != "" {
				continue // another object may have it
			}
			return nil, err
		}
		for _, f := range asm.Functions {
			af := AnnotFunc{Name: f.Name, Addr: f.Addr, object: obj}
			var sum analysis.Cost
			for _, in := range f.Insts {
				l := AnnotInsn{AsmInst: in, Cost: at[analysis.Where{Object: obj, PC: in.Addr}]}
				l.Cycles, l.Exposed = l.Cost.Cycles(), l.Cost.Exposed()
				sum.Add(l.Cost)
				af.Lines = append(af.Lines, l)
			}
			if af.Cycles = sum.Cycles(); sum != (analysis.Cost{}) {
				a.Functions = append(a.Functions, af)
				covered.Add(sum)
			}
		}
	}
	rest.Cost = analysis.Cost{
		Hits: a.Total.Hits - covered.Hits, Idle: a.Total.Idle - covered.Idle, Stall: a.Total.Stall - covered.Stall, Issue: a.Total.Issue - covered.Issue,
		Hidden: a.Total.Hidden - covered.Hidden,
	}
	rest.Cycles, rest.Exposed = rest.Cost.Cycles(), rest.Cost.Exposed()
	slices.SortStableFunc(a.Functions, func(x, y AnnotFunc) int { return cmp.Compare(y.Cycles, x.Cycles) })
	if len(a.Functions) == 0 && name != "" {
		traced := "no instruction was traced whose function is known"
		if list := h.traced(); len(list) > 0 {
			traced = "traced: " + strings.Join(list, ", ")
		}
		return nil, fmt.Errorf("no traced instruction in %q; %s", name, traced)
	}
	return a, nil
}

// traced names the functions that ran, the most expensive first.
func (h *Hot) traced() []string {
	cycles := map[string]int64{}
	for i := range h.Profile.Insts {
		if c := &h.Profile.Insts[i]; c.Hits > 0 && c.Object >= 0 {
			cycles[h.Place(c.Where).Symbol] += c.Cycles()
		}
	}
	names := slices.Sorted(maps.Keys(cycles))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(cycles[b], cycles[a]) })
	return names
}

// AnnotateText is how WriteText looks.
type AnnotateText struct {
	Colour bool
	Source func(file string, line int) (string, bool) // a line of source, where there is one
	All    bool                                       // instructions that never ran too
}

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	grey   = "\x1b[90m"
	plain  = "\x1b[0m"
)

// WriteText writes the code for people, like perf annotate.
func (a *Annotated) WriteText(w io.Writer, o AnnotateText) error {
	bw := bufio.NewWriter(w)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(bw, format, args...) } // Flush tells
	line("%s\n", Printable(a.Device.named(fmt.Sprintf(", %d wave cycles in all", a.Cycles))))
	for i := range a.Functions {
		f := &a.Functions[i]
		line("\n%s: %d cycles, %s %%\n", Printable(f.Name), f.Cycles, percent(f.Cycles, a.Cycles))
		line("%6s %10s %10s %10s %10s %8s\n", "%", "cycles", "stall", "idle", "exposed", "hits")
		last := ""
		for k := range f.Lines {
			l := &f.Lines[k]
			if l.Hits == 0 && !o.All {
				continue
			}
			if at := l.place(); at != last && at != "" {
				last = at
				text := ""
				if o.Source != nil {
					if s, ok := o.Source(l.Lines[0].File, l.Lines[0].Line); ok {
						text = "  " + Printable(strings.TrimSpace(strings.ReplaceAll(s, "\t", " ")))
					}
				}
				line("%s%60s; %s%s%s\n", colour(o.Colour, grey), "", at, text, colour(o.Colour, plain))
			}
			share := 0.0
			if a.Cycles > 0 {
				share = 100 * float64(l.Cycles) / float64(a.Cycles)
			}
			c := ""
			switch {
			case share >= 10:
				c = red
			case share >= 3:
				c = yellow
			case l.Hits == 0:
				c = grey
			}
			line("%s%6.1f %10d %10d %10d %10d %8d  %6x: %s%s\n", colour(o.Colour && c != "", c), share, l.Cycles, l.Stall, l.Idle, l.Exposed, l.Hits, l.Addr, l.Text,
				colour(o.Colour && c != "", plain))
		}
	}
	if rest := &a.Elsewhere; !rest.none() {
		line("\n%d cycles of %s\n", rest.Cycles, rest.What)
	}
	for _, n := range a.Quality.Notes {
		line("%s\n", Printable(noteLine(n)))
	}
	return bw.Flush()
}

func colour(on bool, c string) string {
	if !on {
		return ""
	}
	return c
}

// none says whether the functions have it all.
func (r *AnnotRest) none() bool { return r.Cost == analysis.Cost{} }

// CSV is one row an instruction, and one of what they lack to the total, if anything.
func (a *Annotated) CSV() *Table {
	t := &Table{Columns: []Column{
		Text("function"), Text("simulated"), Text("address"), Text("instruction"), Text("file"), Number("line"), Number("hits"), Number("cycles"), Number("stall"), Number("idle"),
		Number("issue"), Number("hidden"), Number("exposed"),
	}}
	for i := range a.Functions {
		f := &a.Functions[i]
		for k := range f.Lines {
			l := &f.Lines[k]
			var file, line any
			if l.place() != "" {
				file, line = l.Lines[0].File, l.Lines[0].Line
			}
			t.Add(f.Name, orNil(a.Device.Simulated), fmt.Sprintf("%#x", l.Addr), l.Text, file, line, l.Hits, l.Cycles, l.Stall, l.Idle, l.Issue, l.Hidden, l.Exposed)
		}
	}
	if r := &a.Elsewhere; !r.none() {
		t.Add(nil, orNil(a.Device.Simulated), nil, r.What, nil, nil, r.Hits, r.Cycles, r.Stall, r.Idle, r.Issue, r.Hidden, r.Exposed)
	}
	return t
}
