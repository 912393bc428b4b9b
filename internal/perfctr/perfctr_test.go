package perfctr_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

func lookup(t testing.TB, name string) *gpu.GPU {
	t.Helper()
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func layout(t testing.TB, g *gpu.GPU, names ...string) *perfctr.Layout {
	t.Helper()
	l, err := perfctr.NewLayout(g, names)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGoldenLayouts compares tables, layouts, filter words and error texts with the independent implementation's. Cases of processors
// that it had no table for and that we have (gfx90a) end with ours.
func TestGoldenLayouts(t *testing.T) {
	f, err := os.Open(sharedtest.Path(t, "golden", "counters.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		GPUs map[string]struct {
			Processor, GC string
			Xccs          int
			ShaderEngines int `json:"shader_engines"`
			ComputeUnits  int `json:"compute_units"`
		}
		Tables map[string]struct {
			Registers map[string]int
			Counters  [][]any
		}
		Filter []struct {
			VMID int
			Word string
		} `json:"filter_from_seed_text"`
		Layouts []struct {
			GPU      string
			Names    []string
			Counters []struct {
				Name, Block                                               string
				Event, Register, Instances, Engines, Arrays, WGPs, Offset int
			}
			Bytes int
			Error string
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	shape := func(name string) *gpu.GPU {
		s := golden.GPUs[name]
		g := &gpu.GPU{Target: s.Processor, GC: s.GC, Family: gpu.FamilyOf(s.Processor), Dies: s.Xccs, SEs: s.ShaderEngines, SAs: 2}
		g.Units = s.ComputeUnits / 2 / 2 / g.SEs
		if g.Family == gpu.GFX9 {
			g.SAs, g.Units = 1, 10
		}
		return g
	}
	for name, want := range golden.Tables {
		g := shape(name)
		have := map[string]perfctr.Counter{}
		for _, c := range perfctr.Counters(g) {
			have[c.Name] = c
		}
		for block, n := range want.Registers {
			if got := perfctr.Limit(g, block); got != n {
				t.Errorf("%s: %d %s registers, want %d", name, got, block, n)
			}
		}
		for _, row := range want.Counters {
			c := have[row[0].(string)]
			got := fmt.Sprint(c.Name, c.Block, c.Event, c.Instances, c.Engines, c.Arrays, c.WGPs)
			if got != fmt.Sprint(row...) {
				t.Errorf("%s: %s, want %v", name, got, row)
			}
			delete(have, c.Name)
		}
		for n, c := range have {
			if want.Registers[c.Block] != 0 {
				t.Errorf("%s: the reference lacks %s", name, n)
			}
		}
	}
	same, errs := 0, 0
	for i, c := range golden.Layouts {
		g := shape(c.GPU)
		if g.Target == "gfx90a" && c.Error == "gfx90a counts no SQ_WAVES" {
			continue
		}
		l, err := perfctr.NewLayout(g, c.Names)
		if c.Error != "" {
			errs++
			if err == nil || err.Error() != c.Error {
				t.Errorf("layout %d of %s: %v, want %s", i, c.GPU, err, c.Error)
			}
			continue
		}
		if err != nil || l.Bytes != c.Bytes || len(l.Counters) != len(c.Counters) {
			t.Errorf("layout %d of %s: %v %v", i, c.GPU, l, err)
			continue
		}
		same++
		for j, w := range c.Counters {
			p := l.Counters[j]
			got := fmt.Sprint(p.Name, p.Block, p.Event, p.Register, p.Instances, p.Engines, p.Arrays, p.WGPs, p.Offset)
			if want := fmt.Sprint(w.Name, w.Block, w.Event, w.Register, w.Instances, w.Engines, w.Arrays, w.WGPs, w.Offset); got != want {
				t.Errorf("layout %d of %s: %s, want %s", i, c.GPU, got, want)
			}
		}
	}
	for _, f := range golden.Filter {
		w, err := perfctr.Filter(shape("gfx1201"), f.VMID)
		if want, _ := strconv.ParseUint(f.Word, 0, 32); err != nil || uint64(w) != want {
			t.Errorf("VMID %d: %#x %v, want %s", f.VMID, w, err, f.Word)
		}
	}
	t.Logf("%d layouts equal, %d errors", same, errs)
	if same+errs < 300 {
		t.Error("too few layouts were compared")
	}
}

func TestLayout(t *testing.T) {
	g := lookup(t, "gfx1100")
	l := layout(t, g, "GRBM_COUNT", "SQ_WAVES", "GL2C_HIT", "SQ_INSTS_VALU")
	type row struct{ Register, Offset, Words int }
	var got []row
	for i := range l.Counters {
		p := &l.Counters[i]
		got = append(got, row{p.Register, p.Offset, p.Words(g.Dies)})
	}
	want := []row{{0, 0, 1}, {0, 8, 48}, {0, 392, 32}, {1, 648, 48}}
	if d := cmp.Diff(want, got); d != "" || l.Bytes != 1032 {
		t.Errorf("%s, %d bytes", d, l.Bytes)
	}
	for _, tc := range []struct {
		names string
		want  string
	}{
		{"SQ_FOO SQ_FOO", "SQ_FOO is listed twice"},
		{"SQ_FOO", "gfx1100 counts no SQ_FOO"},
		{"GL2C_HIT GL2C_MISS GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B GL2C_EA_RDREQ_96B SQ_FOO", "gfx1100 counts at most 4 GL2C counters at once"},
	} {
		if _, err := perfctr.NewLayout(g, strings.Fields(tc.names)); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.names, err, tc.want)
		}
	}
	none := &gpu.GPU{Target: "gfx1030"}
	if _, err := perfctr.NewLayout(none, []string{"SQ_WAVES"}); err == nil || err.Error() != "gfx1030 counts no SQ_WAVES" || perfctr.Counters(none) != nil || perfctr.Limit(none, "SQ") != 0 {
		t.Errorf("a GPU without a table: %v", err)
	}
}

func TestDescription(t *testing.T) {
	if d := perfctr.Description("SQ_WAVES"); d != "waves launched" {
		t.Errorf("SQ_WAVES: %q", d)
	}
	if d := perfctr.Description("SQ_FOO"); d != "" {
		t.Errorf("SQ_FOO: %q", d)
	}
	for _, target := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1201"} {
		for _, c := range perfctr.Counters(lookup(t, target)) {
			if perfctr.Description(c.Name) == "" {
				t.Errorf("%s has no description", c.Name)
			}
		}
	}
}

func TestVerification(t *testing.T) {
	for target, want := range map[string][2]int{"gfx1100": {2, 0}, "gfx1103": {42, 0}, "gfx1150": {0, 38}, "gfx1151": {0, 7}, "gfx1201": {0, 0}} {
		g := &gpu.GPU{Target: target, Family: gpu.FamilyOf(target), Dies: 1, SEs: 1, SAs: 2, Units: 2}
		got := [2]int{}
		for _, c := range perfctr.Counters(g) {
			if c.Assumed {
				got[0]++
			}
			if c.Unverified {
				got[1]++
			}
		}
		if got != want {
			t.Errorf("%s: %v assumed and unverified, want %v", target, got, want)
		}
	}
}

func TestFilter(t *testing.T) {
	g := lookup(t, "gfx1201")
	for vmid, want := range map[int]uint32{0: 3, 8: 0x201, 15: 0x10001} {
		if w, err := perfctr.Filter(g, vmid); err != nil || w != want {
			t.Errorf("VMID %d: %#x %v, want %#x", vmid, w, err, want)
		}
	}
	for _, bad := range []int{-1, 16} {
		if _, err := perfctr.Filter(g, bad); err == nil {
			t.Errorf("VMID %d has a filter", bad)
		}
	}
	if _, err := perfctr.Filter(lookup(t, "gfx1100"), 0); err == nil || !strings.Contains(err.Error(), "gfx1100") {
		t.Errorf("gfx1100: %v", err)
	}
}

const everything = 0xe0000000

func TestRead(t *testing.T) {
	g := lookup(t, "gfx1100")
	l := layout(t, g, "SQ_WAVES", "SQ_INSTS_VALU", "GL2C_HIT", "GRBM_COUNT")
	samples := make([]byte, l.Bytes)
	put := func(counter, word int, v uint64) {
		for i := range 8 {
			samples[l.Counters[counter].Offset+8*word+i] = byte(v >> (8 * i))
		}
	}
	put(0, 0, 5)
	put(0, 47, 1<<32-1)
	put(2, 0, 7)
	put(2, 23, 1<<32)
	put(2, 31, 99) // an instance that the board lacks
	put(3, 0, 1<<40)
	rs, err := perfctr.Read(g, l, samples, perfctr.Conditions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []perfctr.Value{
		{N: 1<<32 + 4, AtLeast: true},
		{NA: "SQ_INSTS_VALU stays 0 outside the stable power state"},
		{N: 1<<32 + 7},
		{N: 1 << 40},
	} {
		if rs[i].Total != want {
			t.Errorf("%s: %+v, want %+v", rs[i].Counter.Name, rs[i].Total, want)
		}
	}
	if v := rs[2].Values[31]; v.NA != "the board has 24 GL2C instances" {
		t.Errorf("instance 31: %+v", v)
	}
	if u := rs[0].Unit(g, 47); u != (perfctr.Unit{Engine: 5, Array: 1, WGP: 3}) {
		t.Errorf("word 47 is of %+v", u)
	}
	if u := rs[2].Unit(g, 23); u != (perfctr.Unit{Instance: 23}) {
		t.Errorf("word 23 is of %+v", u)
	}
	rs, _ = perfctr.Read(g, l, samples, perfctr.Conditions{StablePower: true})
	if rs[1].Total != (perfctr.Value{}) {
		t.Errorf("SQ_INSTS_VALU in the stable state: %+v", rs[1].Total)
	}
	if _, err := perfctr.Read(g, l, samples[1:], perfctr.Conditions{}); err == nil {
		t.Error("short samples are read")
	}

	apu := lookup(t, "gfx1151")
	l = layout(t, apu, "SQ_WAIT_ANY", "SQ_WAVES")
	rs, _ = perfctr.Read(apu, l, make([]byte, l.Bytes), perfctr.Conditions{})
	if rs[0].Total.NA != "the event number of SQ_WAIT_ANY is not verified on gfx1151" || rs[1].Total.NA != "" {
		t.Errorf("unverified: %+v, verified: %+v", rs[0].Total, rs[1].Total)
	}
	rs, _ = perfctr.Read(apu, l, make([]byte, l.Bytes), perfctr.Conditions{Unverified: true})
	if rs[0].Total.NA != "" {
		t.Errorf("unverified on request: %+v", rs[0].Total)
	}

	mi := lookup(t, "gfx942")
	l = layout(t, mi, "TCP_TOTAL_CACHE_ACCESSES", "SQ_WAVES")
	rs, _ = perfctr.Read(mi, l, make([]byte, l.Bytes), perfctr.Conditions{})
	if u := rs[1].Unit(mi, 31); u != (perfctr.Unit{Die: 7, Engine: 31}) {
		t.Errorf("word 31 is of %+v", u)
	}
	if na := rs[0].Values[10*4].NA; na != "an engine is built with 10 TCP instances" || rs[0].Values[9*4].NA != "" {
		t.Errorf("TCP instance 10: %q", na)
	}
	if v := perfctr.Sum([]perfctr.Value{{N: 1<<64 - 1}, {N: 1}}); !v.AtLeast || v.N != 1<<64-1 {
		t.Errorf("a sum past 64 bits: %+v", v)
	}
}

// A counter that the device does not know is n/a with the device's reason, whatever was read.
func TestUnmeasured(t *testing.T) {
	g, err := gpu.Lookup("gfx1100")
	if err != nil {
		t.Fatal(err)
	}
	l, err := perfctr.NewLayout(g, []string{"SQ_WAVES", "GRBM_COUNT"})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := perfctr.Read(g, l, make([]byte, l.Bytes), perfctr.Conditions{StablePower: true, Unmeasured: map[string]string{"GRBM_COUNT": "no clock", "SQ_WAVES": ""}})
	if err != nil || rs[0].Total.NA != "" || rs[1].Total.NA != "no clock" || rs[1].Values[0].NA != "no clock" {
		t.Errorf("%v, %+v", err, rs)
	}
}

// Where another AMD table numbers an event otherwise, its number stands beside ours: all of those that differ, and no others. Where none numbers it, that
// is told from agreement; numbers that are not verified are compared with nothing.
func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		target, counter string
		event           int
		compared        bool
		differs         string
	}{
		{"gfx1201", "GL2C_EA_RDREQ_128B", 148, true, "soc24_enum.h: 97"},
		{"gfx1201", "SQ_WAVES", 4, true, ""},
		{"gfx1100", "TCP_REQ_MISS", 17, true, "soc21_enum.h: 18"},
		{"gfx942", "SQ_ACTIVE_INST_ANY", 101, true, "vega10_enum.h: 68"},
		{"gfx950", "CPC_ALWAYS_COUNT", 0, true, ""},
		{"gfx1151", "SQ_WAVE32_INSTS", 82, true, ""},
		{"gfx1151", "SQ_WAVES", 4, true, ""},
		{"gfx1151", "SQ_WAIT_ANY", 35, false, ""},
		{"gfx950", "CPC_ADC_DISPATCH_ALLOC_DONE", 4, false, ""},
	} {
		for _, got := range perfctr.Counters(lookup(t, c.target)) {
			if got.Name == c.counter && (got.Event != c.event || got.Compared != c.compared || got.Differs != c.differs) {
				t.Errorf("%s: %s is %d, compared %t, differs %q; want %d, %t, %q", c.target, c.counter, got.Event, got.Compared, got.Differs, c.event, c.compared, c.differs)
			}
		}
	}
	data, err := os.ReadFile(sharedtest.Path(t, "hw", "events.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	events := map[string]map[string]string{} // by family and counter: number by source
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // arch, block, event, name, enum, source
		if len(cells) != 6 {
			continue
		}
		key := cells[0] + " " + strings.ToUpper(strings.Replace(cells[3], "_PERF_SEL_", "_", 1))
		if events[key] == nil {
			events[key] = map[string]string{}
		}
		events[key][cells[5]] = cells[2]
	}
	noted := map[string]int{}
	for _, target := range []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1151", "gfx1200", "gfx1201"} {
		g := lookup(t, target)
		for _, c := range perfctr.Counters(g) {
			var want []string
			for source, n := range events[g.Family.String()+" "+c.Name] {
				if n != strconv.Itoa(c.Event) {
					want = append(want, source+": "+n)
				}
			}
			slices.Sort(want)
			if compared := !c.Unverified && len(events[g.Family.String()+" "+c.Name]) > 0; c.Compared != compared {
				t.Errorf("%s: %s compared: %t, want %t", target, c.Name, c.Compared, compared)
			}
			if got := strings.Join(want, ", "); c.Differs != got {
				t.Errorf("%s: %s is %d, differs %q, want %q", target, c.Name, c.Event, c.Differs, got)
			}
			if c.Differs != "" {
				noted[target+" "+c.Block]++
			}
		}
	}
	for block, n := range map[string]int{"gfx1201 GL2C": 6, "gfx942 SQ": 47, "gfx942 TCC": 13, "gfx90a SQ": 48, "gfx90a TCC": 19, "gfx1100 TCP": 1} {
		if noted[block] != n {
			t.Errorf("%s: %d events differ, want %d", block, noted[block], n)
		}
	}
}
