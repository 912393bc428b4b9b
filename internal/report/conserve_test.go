package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/isa"
)

// Every view and every format adds up to the same number.
func TestConserved(t *testing.T) {
	h := hotOfTest(t)
	conserved(t, h)
	if want := int64(1900 + 1899); h.Profile.Total.Cycles() != want {
		t.Errorf("%d cycles, the waves lived %d", h.Profile.Total.Cycles(), want)
	}
}

// Without a code object no instruction has a place, and all outputs have the cycles nevertheless.
func TestConservedWithoutCode(t *testing.T) {
	w := wholeWave{analysis.Wave{Stop: 100}, []analysis.Inst{{Time: 10, Stall: 5, Dur: 60}}}
	h := newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100", partOf([]wholeWave{w}, []analysis.Site{{Where: unplaced(6), Class: isa.VALU}}), nil, nil, none(newQuality()))
	conserved(t, h)
	a, err := h.Annotate("")
	must2(t, err)
	if len(a.CSV().Rows) != 1 || a.Elsewhere.Cycles != 100 || a.Elsewhere.Hits != 1 {
		t.Errorf("%+v", a.Elsewhere)
	}
}

// total is what an output adds up to.
type total struct{ cycles, idle, stall, issue, exposed, hits int64 }

// conserved reads every output back and compares its sum with that of the waves' lives.
func conserved(t *testing.T, h *Hot) {
	t.Helper()
	c := h.Profile.Total
	want := total{c.Cycles(), c.Idle, c.Stall, c.Issue, c.Exposed(), c.Hits}
	sums := map[string]*total{}
	sum := func(name string) *total {
		if sums[name] == nil {
			sums[name] = &total{}
		}
		return sums[name]
	}
	add := func(name string, n total) {
		s := sum(name)
		s.cycles, s.idle, s.stall, s.issue, s.exposed, s.hits = s.cycles+n.cycles, s.idle+n.idle, s.stall+n.stall, s.issue+n.issue, s.exposed+n.exposed, s.hits+n.hits
	}
	num := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		must2(t, err)
		return n
	}
	column := func(head []string, name string) int {
		i := slices.Index(head, name)
		if i < 0 {
			t.Fatalf("no column %q in %q", name, head)
		}
		return i
	}
	var b bytes.Buffer
	readCSV := func() [][]string {
		rows, err := csv.NewReader(&b).ReadAll()
		must2(t, err)
		b.Reset()
		return rows
	}
	// row reads one, whose columns have these names.
	row := func(head, r []string) total {
		cell := func(name string) int64 { return num(r[column(head, name)]) }
		return total{cell("cycles"), cell("idle"), cell("stall"), cell("issue"), cell("exposed"), cell("hits")}
	}
	hotCSV := func(name string) {
		rows := readCSV()
		for _, r := range rows[1:] {
			add(name, row(rows[0], r))
		}
	}
	type jsonRow struct{ Cycles, Idle, Stall, Issue, Hidden, Exposed, Hits int64 }
	hotJSON := func(name string) {
		var doc struct {
			Cycles int64
			Total  analysis.Cost
			Rows   []jsonRow
		}
		must2(t, json.Unmarshal(b.Bytes(), &doc))
		b.Reset()
		if doc.Cycles != want.cycles || doc.Total != c {
			t.Errorf("%s: total %+v", name, doc)
		}
		for _, r := range doc.Rows {
			add(name, total{r.Cycles, r.Idle, r.Stall, r.Issue, r.Exposed, r.Hits})
			if r.Exposed != r.Cycles-r.Hidden {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	for _, by := range HotBy {
		d := h.Hotspots(by, "stall")
		table := d.Tables(0)[0]
		var names []string
		for _, col := range table.Columns {
			names = append(names, col.Name)
		}
		for _, r := range table.Rows {
			add("table by "+by, row(names, r))
		}
		must2(t, d.WriteCSV(&b))
		hotCSV("csv by " + by)
		must2(t, d.WriteJSON(&b))
		hotJSON("json by " + by)
	}

	l := h.WaveList()
	must2(t, l.WriteCSV(&b))
	rows := readCSV()
	for _, r := range rows[1:] {
		if r[column(rows[0], "kind")] == "wave" {
			cell := func(name string) int64 { return num(r[column(rows[0], name)]) }
			cycles := cell("cycles")
			add("waves csv", total{cycles, cell("idle"), cell("stall"), cell("issue"), cycles - cell("hidden"), cell("instructions")})
		}
	}
	must2(t, l.WriteJSON(&b))
	var waves struct {
		Waves []struct{ Start, Stop, Cycles, Idle, Stall, Issue, Hidden, Hits int64 }
	}
	must2(t, json.Unmarshal(b.Bytes(), &waves))
	b.Reset()
	for _, w := range waves.Waves {
		add("waves json", total{w.Cycles, w.Idle, w.Stall, w.Issue, w.Cycles - w.Hidden, w.Hits})
		if w.Idle+w.Stall+w.Issue != w.Cycles || w.Stop-w.Start != w.Cycles {
			t.Errorf("a wave's states do not add up: %+v", w)
		}
	}
	var life total
	table := l.Tables(0)[0]
	for _, r := range table.Rows {
		life.cycles += num(r[7])
		life.hits += num(r[12])
	}
	if life.cycles != want.cycles || life.hits != want.hits {
		t.Errorf("waves table: %+v, want %+v", life, want)
	}

	if a, err := h.Annotate(""); err == nil { // an object that makes no sense has no code to annotate
		must2(t, a.CSV().CSV(&b))
		rows = readCSV()
		elsewhere := int64(0) // what no function covers
		for _, r := range rows[1:] {
			n := row(rows[0], r)
			if n.idle+n.stall+n.issue != n.cycles {
				t.Errorf("annotate: %+v", n)
			}
			if r[column(rows[0], "address")] == "" {
				elsewhere += n.cycles
			}
			add("annotate csv", n)
		}
		must2(t, a.WriteText(&b, AnnotateText{}))
		told := int64(0)
		if i := strings.Index(b.String(), " cycles of waves or code that no code object"); i >= 0 {
			told = num(b.String()[strings.LastIndexByte(b.String()[:i], '\n')+1 : i])
		}
		b.Reset()
		if elsewhere != told || elsewhere != a.Elsewhere.Cycles {
			t.Errorf("annotate: %d cycles elsewhere in the CSV, %d in the text, %d in JSON", elsewhere, told, a.Elsewhere.Cycles)
		}
		must2(t, WriteJSON(&b, a))
		var doc struct {
			Functions []struct{ Instructions []jsonRow }
			Elsewhere jsonRow
		}
		must2(t, json.Unmarshal(b.Bytes(), &doc))
		b.Reset()
		rest := doc.Elsewhere
		add("annotate json", total{rest.Cycles, rest.Idle, rest.Stall, rest.Issue, rest.Exposed, rest.Hits})
		for _, f := range doc.Functions {
			for _, r := range f.Instructions {
				add("annotate json", total{r.Cycles, r.Idle, r.Stall, r.Issue, r.Exposed, r.Hits})
			}
		}
	}

	must2(t, h.Export(&b, "pprof"))
	p, err := profile.Parse(&b)
	must2(t, err)
	b.Reset()
	for _, s := range p.Sample {
		add("pprof", total{cycles: s.Value[0], stall: s.Value[1], exposed: s.Value[0] - s.Value[2], hits: s.Value[3]})
		seen := map[uint64]bool{} // a function that stands twice in a stack would have its cycles twice in pprof's lists of lines
		for _, l := range s.Location {
			for _, ln := range l.Line {
				if seen[ln.Function.ID] {
					t.Errorf("pprof: %s stands twice in the stack of %s", ln.Function.Name, s.Location[0].Line[0].Function.Name)
				}
				seen[ln.Function.ID] = true
			}
		}
	}
	sum("pprof").idle, sum("pprof").issue = want.idle, want.issue // it has neither
	must2(t, h.Export(&b, "folded"))
	for line := range strings.Lines(b.String()) {
		sum("folded").cycles += num(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
	}
	b.Reset()
	*sum("folded") = total{sum("folded").cycles, want.idle, want.stall, want.issue, want.exposed, want.hits} // cycles alone
	must2(t, h.Export(&b, "speedscope"))
	var ss struct {
		Profiles []struct {
			Type     string
			EndValue int64
			Weights  []int64
		}
	}
	must2(t, json.Unmarshal(b.Bytes(), &ss))
	b.Reset()
	var kinds [3]int64
	for i := range kinds {
		for _, n := range ss.Profiles[i].Weights {
			kinds[i] += n
		}
		if ss.Profiles[i].Type != "sampled" || kinds[i] != ss.Profiles[i].EndValue {
			t.Errorf("speedscope profile %d: %+v", i, ss.Profiles[i].EndValue)
		}
	}
	*sum("speedscope") = total{kinds[0], want.idle, kinds[1], want.issue, kinds[2], want.hits} // it has neither idle, issue nor hits
	must2(t, h.Export(&b, "csv"))
	hotCSV("export csv")
	must2(t, h.Export(&b, "json"))
	hotJSON("export json")
	must2(t, h.WriteHTML(&b))
	page := readPage(t, b.String())
	for _, s := range page.data.Sites {
		add("page", total{s.Cycles, s.Idle, s.Stall, s.Issue, s.Exposed, s.Hits})
	}
	*sum("page timeline") = total{page.cycles, page.idle, page.stall, page.issue, want.exposed, want.hits} // it has neither exposed cycles nor hits
	for name, got := range sums {
		if *got != want {
			t.Errorf("%s: %+v, want %+v", name, *got, want)
		}
	}
}

// pageRead is a page's data, and the sums of its timeline.
type pageRead struct {
	data                       pageData
	cycles, idle, stall, issue int64
	bySite                     map[uint64]int64
	coarse                     bool
}

func (r *pageRead) add(idle, stall, issue int64) {
	r.cycles, r.idle, r.stall, r.issue = r.cycles+idle+stall+issue, r.idle+idle, r.stall+stall, r.issue+issue
}

// readPage reads the data of an HTML export as page.js does.
func readPage(t *testing.T, page string) *pageRead {
	t.Helper()
	element := func(id string) string {
		_, rest, ok := strings.Cut(page, `id="`+id+`">`)
		if !ok {
			t.Fatalf("no element %s", id)
		}
		text, _, _ := strings.Cut(rest, "</script>")
		return text
	}
	r := &pageRead{bySite: map[uint64]int64{}}
	must2(t, json.Unmarshal([]byte(element("data")), &r.data))
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimSpace(element("records")))))
	must2(t, err)
	in := bufio.NewReader(z)
	next := func() int64 {
		v, err := binary.ReadUvarint(in)
		must2(t, err)
		return int64(v)
	}
	for range next() {
		for range 2 {
			next()
		}
		for range 3 * next() {
			next()
		}
	}
	if r.coarse = next() == 1; r.coarse {
		for range next() {
			for range 3 {
				next()
			}
			cells := next()
			for range next() {
				next()
				next()
				next()
				for range cells {
					idle, stall, issue := next(), next(), next()
					r.add(idle, stall, issue)
				}
			}
		}
		return r
	}
	for range next() {
		for range 5 {
			next()
		}
		left := next()
		for range next() {
			site := uint64(next())
			idle, stall, issue := next(), next(), next()
			left -= idle + stall + issue
			r.add(idle, stall, issue)
			r.bySite[site] += idle + stall + issue
		}
		if left != 0 {
			t.Errorf("%d cycles of a wave are in no window", left)
		}
	}
	for i, s := range r.data.Sites {
		if r.bySite[uint64(i)] != s.Cycles {
			t.Errorf("site %d: %d cycles in the timeline, %d in the list", i, r.bySite[uint64(i)], s.Cycles)
		}
	}
	return r
}

// Past what the page holds one by one its timeline is sums, which add up too.
func TestPageSums(t *testing.T) {
	h := hotOfTest(t)
	h.Profile.Total.Hits = maxPageRecords + 1
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	r := readPage(t, b.String())
	if c := h.Profile.Total; !r.coarse || r.cycles != c.Cycles() || r.stall != c.Stall || !strings.Contains(r.data.Coarse, "too many to draw one by one") {
		t.Errorf("coarse %v: %d cycles, %d stalled, want %d, %d; %q", r.coarse, r.cycles, r.stall, c.Cycles(), c.Stall, r.data.Coarse)
	}
}
