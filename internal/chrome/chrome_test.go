package chrome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/profile"
)

// document is what a viewer reads.
type document struct {
	TraceEvents []struct {
		Ph   string
		Pid  int
		Tid  int
		Name string
		Ts   json.Number
		Dur  json.Number
		S    string
		Args map[string]any
	}
	OtherData map[string]any
}

func parse(t *testing.T, b []byte) *document {
	t.Helper()
	var d document
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%v in %.400s", err, b)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("something stands after the document: %v", err)
	}
	return &d
}

// nanos turns microseconds with three decimals into nanoseconds, in integers.
func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, ok := strings.Cut(n.String(), ".")
	if !ok || len(frac) != 3 {
		t.Fatalf("%s is not in microseconds with three decimals", n)
	}
	var v int64
	if _, err := fmt.Sscan(strings.TrimLeft(whole+frac, "0")+"", &v); err != nil {
		if strings.Trim(whole+frac, "0") != "" {
			t.Fatal(err)
		}
	}
	return v
}

// checkNesting checks every thread's slices and gives the names of threads and processes.
func checkNesting(t *testing.T, d *document) map[[2]int]string {
	t.Helper()
	names := map[[2]int]string{}
	open := map[[2]int][]int64{}
	last := map[[2]int]int64{}
	for _, e := range d.TraceEvents {
		k := [2]int{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			if n, ok := e.Args["name"].(string); ok {
				names[k] = n
			}
		case "X":
			if names[k] == "" || names[[2]int{e.Pid, 0}] == "" {
				t.Fatalf("thread %v of %s has no name yet", k, e.Name)
			}
			start, stop := nanos(t, e.Ts), nanos(t, e.Ts)+nanos(t, e.Dur)
			if start < last[k] {
				t.Fatalf("%s starts at %d, before its thread's latest at %d", e.Name, start, last[k])
			}
			last[k] = start
			s := open[k]
			for len(s) > 0 && s[len(s)-1] <= start {
				s = s[:len(s)-1]
			}
			if len(s) > 0 && stop > s[len(s)-1] {
				t.Fatalf("%s [%d, %d] reaches out of a slice that ends at %d on %q", e.Name, start, stop, s[len(s)-1], names[k])
			}
			open[k] = append(s, stop)
		}
	}
	return names
}

func sample() []profile.Event {
	const t0 = 1_000_000_007
	return []profile.Event{
		{Kind: profile.KindAllocation, Device: "GPU 0", Start: t0, Stop: t0, Bytes: 4096},
		{Kind: profile.KindSpan, Device: profile.Host, Lane: "domain 0", Name: "main", Start: t0 + 1, Stop: t0 + 5_000_001},
		{Kind: profile.KindLoad, Device: "GPU 0", Name: "vadd.co", Start: t0 + 1000, Stop: t0 + 1000, Data: make([]byte, 5888)},
		{Kind: profile.KindSpan, Device: profile.Host, Lane: "domain 0", Name: "copy in", Start: t0 + 2000, Stop: t0 + 800_000},
		{Kind: profile.KindCopy, Src: profile.Host, Dst: "GPU 0", Bytes: 65536, Start: t0 + 3000, Stop: t0 + 700_123},
		{Kind: profile.KindAllocation, Device: "GPU 0", Start: t0 + 900_000, Stop: t0 + 900_000, Bytes: 1 << 40},
		{Kind: profile.KindWork, Device: "GPU 0", Lane: "COMPUTE:0", Name: "vadd, reduce", Point: 3, HasPoint: true, Start: t0 + 1_000_000, Stop: t0 + 3_000_999, ErrorNs: 12},
		{Kind: profile.KindWork, Device: "GPU 0", Lane: "COMPUTE:0", Name: "overlapping", Point: 4, HasPoint: true, Start: t0 + 2_000_000, Stop: t0 + 4_000_000},
		{
			Kind: profile.KindCounters, Device: "GPU 0", Name: "vadd", Start: t0 + 1_000_000, Stop: t0 + 2_000_000,
			Counters: []profile.Counter{
				{Name: "SQ_WAVES", Values: []profile.Value{{N: 1}, {N: 2}, {N: 3}}},
				{Name: "SQ_INSTS_VALU", Values: []profile.Value{{N: 5}, {N: math.MaxUint32, AtLeast: true}, {NA: "the board lacks it"}}},
				{Name: "GL2C_HIT", Values: []profile.Value{{NA: "not \"modelled\""}, {NA: "the board lacks it"}}},
			},
		},
		{Kind: profile.KindTrace, Device: "GPU 0", Name: "vadd", Part: 2, Start: t0 + 1_000_000, Stop: t0 + 2_000_000, Data: make([]byte, 64)},
		{Kind: profile.KindUnmeasured, Device: "GPU 0", Start: t0 + 4_500_000, Stop: t0 + 4_500_000, Runs: 2},
		{Kind: profile.KindCopy, Src: "GPU 0", Dst: profile.Host, Bytes: 65536, Point: 5, HasPoint: true, Start: t0 + 4_100_000, Stop: t0 + 4_200_000},
	}
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := WriteWith(&b, sample(), Options{Meta: []Arg{Text("device", "sim"), Int("simulated", 1)}}); err != nil {
		t.Fatal(err)
	}
	if out := os.Getenv("RIGPROF_CHROME_SAMPLE"); out != "" { // to look at in a viewer
		if err := os.WriteFile(out, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := parse(t, b.Bytes())
	names := checkNesting(t, d)
	type row struct {
		Ph, Process, Thread, Name string
		Start, Dur                int64
		Args                      map[string]any
	}
	var got []row
	for _, e := range d.TraceEvents {
		if e.Ph == "M" {
			continue
		}
		r := row{Ph: e.Ph, Process: names[[2]int{e.Pid, 0}], Name: e.Name, Start: nanos(t, e.Ts), Args: e.Args}
		if e.Tid != 0 {
			r.Thread = names[[2]int{e.Pid, e.Tid}]
		}
		if e.Ph == "X" {
			r.Dur = nanos(t, e.Dur)
		}
		got = append(got, r)
	}
	n := func(s string) json.Number { return json.Number(s) }
	want := []row{
		{"C", "GPU 0", "", "memory", 0, 0, map[string]any{"bytes": n("4096")}},
		{"X", "host", "domain 0", "main", 1, 5_000_000, nil},
		{"i", "GPU 0", "", "load", 1000, 0, map[string]any{"name": "vadd.co", "bytes": n("5888")}},
		{"X", "host", "domain 0", "copy in", 2000, 798_000, nil},
		{"X", "host", "copies", "copy", 3000, 697_123, map[string]any{"to": "GPU 0", "bytes": n("65536")}},
		{"C", "GPU 0", "", "memory", 900_000, 0, map[string]any{"bytes": n("1099511627776")}},
		{"X", "GPU 0", "COMPUTE:0", "vadd, reduce", 1_000_000, 2_000_999, map[string]any{"point": n("3"), "error_ns": n("12")}},
		{"X", "GPU 0", "counters", "vadd", 1_000_000, 1_000_000, map[string]any{
			"SQ_WAVES": n("6"), "SQ_INSTS_VALU": ">=4294967300", "GL2C_HIT": `n/a: not "modelled"`,
		}},
		{"i", "GPU 0", "", "trace", 1_000_000, 0, map[string]any{"name": "vadd", "unit": n("2"), "bytes": n("64"), "duration_ns": n("1000000")}},
		{"X", "GPU 0", "COMPUTE:0 (2)", "overlapping", 2_000_000, 2_000_000, map[string]any{"point": n("4")}},
		{"X", "GPU 0", "copies", "copy", 4_100_000, 100_000, map[string]any{"to": "host", "bytes": n("65536"), "point": n("5")}},
		{"i", "GPU 0", "", "unmeasured", 4_500_000, 0, map[string]any{"name": "", "runs": n("2")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"device": "sim", "simulated": n("1")}, d.OtherData); diff != "" {
		t.Errorf("otherData (-want +got):\n%s", diff)
	}
}

func TestEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, nil); err != nil {
		t.Fatal(err)
	}
	if d := parse(t, b.Bytes()); d.TraceEvents == nil || len(d.TraceEvents) != 0 {
		t.Errorf("%s", b.Bytes())
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"", `"`, `\`, "a\"b\\c", "\x00\x1f\n\t\r", "kernel<int, \"x\">", "ядро", "\xff\xfe", "a\xc3", "𝕏", "\u2028", "\ufffd", "</script>",
		strings.Repeat("long\"", 50000),
	} {
		var b bytes.Buffer
		es := []profile.Event{
			{Kind: profile.KindWork, Device: "d" + name, Lane: "l" + name, Name: name, Stop: 1},
			{Kind: profile.KindCounters, Device: "d" + name, Name: name, Stop: 1, Counters: []profile.Counter{{Name: name}}},
		}
		if err := Write(&b, es); err != nil {
			t.Fatal(err)
		}
		want := strings.ToValidUTF8(name, "\ufffd")
		if !utf8.ValidString(name) { // each bad byte is replaced, not each run of them
			var s strings.Builder
			for _, r := range name {
				s.WriteRune(r)
			}
			want = s.String()
		}
		for _, e := range parse(t, b.Bytes()).TraceEvents {
			if e.Ph == "X" && e.Name != want {
				t.Errorf("%.20q became %.20q", name, e.Name)
			}
		}
	}
}

// TestRandom checks order, nesting and exactness of events at random, in any order of recording.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		base := []int64{0, 1, -5_000, 1 << 60, math.MinInt64 / 4}[r.IntN(5)]
		var es []profile.Event
		want := map[[2]int64]int{}
		first := int64(math.MaxInt64)
		for range r.IntN(60) {
			start := base + r.Int64N(1000)
			e := profile.Event{
				Kind: profile.KindWork, Device: fmt.Sprint("d", r.IntN(2)), Lane: fmt.Sprint("l", r.IntN(2)), Name: "e",
				Start: start, Stop: start + r.Int64N(400) - 20, // some end before they start
			}
			es = append(es, e)
			first = min(first, start)
		}
		before := slices.Clone(es)
		for i := range es {
			want[[2]int64{es[i].Start - first, es[i].Duration()}]++
		}
		var b bytes.Buffer
		if err := Write(&b, es); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, es); diff != "" {
			t.Fatalf("the events were changed:\n%s", diff)
		}
		d := parse(t, b.Bytes())
		checkNesting(t, d)
		for _, e := range d.TraceEvents {
			if e.Ph == "X" {
				want[[2]int64{nanos(t, e.Ts), nanos(t, e.Dur)}]--
			}
		}
		for k, n := range want {
			if n != 0 {
				t.Fatalf("%d slices of %v too few", n, k)
			}
		}
	}
}

func TestWriterLanes(t *testing.T) {
	var b bytes.Buffer
	c := NewWriter(&b, Options{Picos: true, Origin: 5})
	for i := range 3 {
		c.Lane("engine 0", fmt.Sprintf("WGP 0 SIMD 0 slot %d", i))
	}
	c.Slice(&Slice{Process: "engine 0", Lane: "WGP 0 SIMD 0 slot 2", Name: "wave", Start: 1_234_572, Stop: 2_000_006, Args: []Arg{Int("lanes", 32), Text("kernel", "k")}})
	c.Slice(&Slice{Process: "engine 0", Lane: "WGP 0 SIMD 0 slot 0", Name: "early", Start: 4, Stop: 5})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"engine 0"}},
{"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"WGP 0 SIMD 0 slot 0"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"WGP 0 SIMD 0 slot 1"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_sort_index","args":{"sort_index":2}},
{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"WGP 0 SIMD 0 slot 2"}},
{"ph":"M","pid":1,"tid":3,"name":"thread_sort_index","args":{"sort_index":3}},
{"ph":"X","pid":1,"tid":3,"ts":1.234567,"dur":0.765434,"name":"wave","args":{"lanes":32,"kernel":"k"}},
{"ph":"X","pid":1,"tid":1,"ts":-0.000001,"dur":0.000001,"name":"early"}
]}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	parse(t, b.Bytes())
}

// failing is a writer that fails after some bytes, and that must not be closed or flushed.
type failing struct {
	left int
	t    *testing.T
}

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}
func (f *failing) Close() error { f.t.Error("closed"); return nil }
func (f *failing) Flush() error { f.t.Error("flushed"); return nil }

func TestWriteFails(t *testing.T) {
	es := manyEvents(5000)
	if err := Write(&failing{100_000, t}, es); err != errFull {
		t.Errorf("%v", err)
	}
	if err := Write(&failing{1 << 30, t}, es); err != nil {
		t.Errorf("%v", err)
	}
}

func manyEvents(n int) []profile.Event {
	es := make([]profile.Event, n)
	for i := range es {
		at := int64(i) * 1000
		es[i] = profile.Event{Kind: profile.KindWork, Device: "GPU 0", Lane: "COMPUTE:0", Name: "vadd", Start: at, Stop: at + 900, Point: uint64(i), HasPoint: true}
		switch i % 4 {
		case 1:
			es[i].Kind, es[i].Lane, es[i].Device = profile.KindSpan, "domain 0", profile.Host
		case 2:
			es[i].Kind, es[i].Src, es[i].Dst = profile.KindCopy, profile.Host, "GPU 0"
		case 3:
			es[i].Kind, es[i].Bytes = profile.KindAllocation, uint64(i)<<12
		}
	}
	return es
}

func TestWriteAllocatesNothingPerEvent(t *testing.T) {
	few, many := manyEvents(100), manyEvents(10_100)
	count := func(es []profile.Event) float64 {
		return testing.AllocsPerRun(5, func() { _ = Write(io.Discard, es) })
	}
	if a, b := count(few), count(many); b > a {
		t.Errorf("10000 more events cost %v more allocations", b-a)
	}
}

func BenchmarkWrite(b *testing.B) {
	es := manyEvents(100_000)
	var n counter
	_ = Write(&n, es)
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		_ = Write(io.Discard, es)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(es)), "ns/event")
}

type counter int64

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

func FuzzNames(f *testing.F) {
	f.Add("vadd", "GPU \"0\"", "\xff")
	f.Fuzz(func(t *testing.T, name, device, lane string) {
		var b bytes.Buffer
		if err := Write(&b, []profile.Event{{Kind: profile.KindWork, Device: device, Lane: lane, Name: name, Stop: 1}}); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatalf("%s", b.Bytes())
		}
	})
}
