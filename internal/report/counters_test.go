package report

import (
	"encoding/binary"
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
