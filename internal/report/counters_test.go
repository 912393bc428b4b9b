package report

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

// pass is a run's counters for a capture of target's GPU: values are those of each counter's first unit, by name.
func pass(t *testing.T, g *gpu.GPU, c capture.Counters, values map[string]uint64, unmeasured string) (capture.Counters, []byte) {
	t.Helper()
	l, err := perfctr.NewLayout(g, c.Names)
	must(t, err)
	samples := make([]byte, l.Bytes)
	for _, p := range l.Counters {
		c.Layout = append(c.Layout, capture.Counter{
			Name: p.Name, Block: p.Block, Event: p.Event, Instances: p.Instances, Engines: p.Engines, Arrays: p.Arrays, WGPs: p.WGPs, Offset: p.Offset,
			Unmeasured: unmeasured,
		})
		binary.LittleEndian.PutUint64(samples[p.Offset:], values[p.Name])
	}
	return c, samples
}

func deviceOf(g *gpu.GPU) capture.Device {
	stable := true
	return capture.Device{
		Name: g.Name, Target: g.Target, Family: g.Family.String(), Dies: g.Dies, SEs: g.SEs, SAs: g.SAs, Units: g.Units, Live: g.LiveUnits(), StablePower: &stable,
	}
}

// Waves that a pass counts as a check are no counter of the view, and what failed the check is n/a everywhere.
func TestAddedCounters(t *testing.T) {
	g, err := gpu.Lookup("gfx1201")
	must(t, err)
	asked := []string{"SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU"}
	c := record(t, func(w *capture.Writer) {
		must(t, w.Device(deviceOf(g)))
		for i, p := range []struct {
			names, added []string
			why          string
		}{
			{[]string{"SQ_WAVES", "SQ_INSTS_VALU"}, nil, ""},
			{[]string{"SQ_INSTS_SALU", "SQ_WAVES"}, []string{"SQ_WAVES"}, "the process's VMID changed from 8 to 10 while it ran"},
		} {
			d := launchOfTest(3)
			d.Run = i
			must(t, w.Dispatch(d))
			run, samples := pass(t, g, capture.Counters{Dispatch: i, Asked: asked, Names: p.names, Added: p.added, Filtered: true}, map[string]uint64{"SQ_WAVES": 3, "SQ_INSTS_VALU": 9}, p.why)
			must(t, w.Counters(run, samples))
		}
	})
	v, err := Counters(c)
	must(t, err)
	cs := v.Dispatches[0].Counters
	if len(cs) != 3 || cs[0].Value != uint64(3) || cs[1].Value != uint64(9) || cs[2].Value != nil || cs[2].Name != asked[2] || cs[2].Reason != "the process's VMID changed from 8 to 10 while it ran" {
		t.Errorf("%+v", cs)
	}
	if !slices.Equal(v.Quality.CountersUnmeasured, []Unmeasured{{asked[2], cs[2].Reason}}) || !v.Quality.Warned() {
		t.Errorf("quality %+v", v.Quality)
	}
	for _, table := range v.Tables(0) {
		if table.Title != "counters" {
			continue
		}
		if r := table.Rows; len(r) != 3 || r[0][1] != asked[0] || r[2][1] != asked[2] || r[2][3] != "n/a" {
			t.Errorf("%q", r)
		}
	}
}

// A filtered pass without a register for the check says so.
func TestUncheckedCounters(t *testing.T) {
	g, err := gpu.Lookup("gfx1201")
	must(t, err)
	c := record(t, func(w *capture.Writer) {
		must(t, w.Device(deviceOf(g)))
		must(t, w.Dispatch(launchOfTest(3)))
		names := []string{"SQ_INSTS_VALU"}
		run, samples := pass(t, g, capture.Counters{Asked: names, Names: names, Filtered: true}, nil, "")
		must(t, w.Counters(run, samples))
	})
	v, err := Counters(c)
	must(t, err)
	if !slices.ContainsFunc(v.Quality.Notes, func(n capture.Note) bool {
		return n.Text == "SQ_INSTS_VALU: no register was free to check that the filter let every wave count"
	}) || v.Quality.Warned() {
		t.Errorf("notes %+v", v.Quality.Notes)
	}
}

// A lower bound is marked as one wherever it stands, also by wave and in Chrome's traces; units that the board lacks are none.
func TestAtLeast(t *testing.T) {
	g, err := gpu.Lookup("gfx1100")
	must(t, err)
	names := []string{"SQ_INSTS_VALU", "SQ_WAVES", "GL2C_HIT"}
	for _, simulated := range []bool{true, false} {
		c := record(t, func(w *capture.Writer) {
			d := deviceOf(g)
			d.Simulated = simulated
			must(t, w.Device(d))
			must(t, w.Dispatch(launchOfTest(4)))
			run, samples := pass(t, g, capture.Counters{Asked: names, Names: names}, map[string]uint64{"SQ_INSTS_VALU": math.MaxUint32, "SQ_WAVES": 4, "GL2C_HIT": 9}, "")
			must(t, w.Counters(run, samples))
			must(t, w.Event(capture.Event{
				Kind: "counters", Device: "gpu", Name: "k", Start: 1000, Stop: 3500, AtLeast: names[:1], Unmeasured: map[string]string{"GL2C_MISS": "not modelled"},
				Values: map[string]uint64{"SQ_INSTS_VALU": math.MaxUint32, "SQ_WAVES": 4},
			}))
		})
		v, err := Counters(c)
		must(t, err)
		for _, table := range v.Tables(0) {
			if table.Title != "counters" {
				continue
			}
			// dispatch, counter, block, total, per wave, units, reason
			if r := table.Rows; r[0][3] != ">=4294967295" || r[0][4] != ">=1073741823.75" || r[1][3] != "4" || r[1][4] != "1.00" || r[1][5] != "48" || r[2][5] != "24" {
				t.Errorf("%q", r)
			}
		}
		args, tracks := chromeOf(t, v.Chrome)
		if got := args["dispatches"]; got["SQ_INSTS_VALU"] != ">=4294967295" || got["SQ_WAVES"] != 4.0 {
			t.Errorf("the dispatch's counters %v", got)
		}
		if !tracks["SQ_INSTS_VALU (at least)"] || tracks["SQ_INSTS_VALU"] || !tracks["SQ_WAVES"] {
			t.Errorf("tracks %v", tracks)
		}
		v.HostTime = true
		host, _ := chromeOf(t, v.Chrome)
		for where, got := range map[string]map[string]any{"host time": host["counters"], "beside": args["counters"]} {
			if where == "beside" && simulated {
				continue // a simulated GPU's timeline has no events by the host's clock
			}
			if got["SQ_INSTS_VALU"] != ">=4294967295" || got["SQ_WAVES"] != 4.0 || got["GL2C_MISS"] != "n/a: not modelled" {
				t.Errorf("%s: %v", where, got)
			}
		}
	}
}

// chromeOf are the details of a Chrome trace's last slice on each thread, by its name, and the names of its counter tracks.
func chromeOf(t *testing.T, write func(io.Writer) error) (args map[string]map[string]any, tracks map[string]bool) {
	t.Helper()
	var b bytes.Buffer
	must(t, write(&b))
	var doc struct {
		TraceEvents []struct {
			Ph, Name string
			Tid      int
			Args     map[string]any
		}
	}
	must(t, json.Unmarshal(b.Bytes(), &doc))
	args, tracks = map[string]map[string]any{}, map[string]bool{}
	threads := map[int]string{}
	for _, e := range doc.TraceEvents {
		switch {
		case e.Name == "thread_name":
			threads[e.Tid] = e.Args["name"].(string)
		case e.Ph == "X":
			args[threads[e.Tid]] = e.Args
		case e.Ph == "C":
			tracks[e.Name] = true
		}
	}
	return args, tracks
}
