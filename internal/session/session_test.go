package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/open"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/profile"
)

const kernels = "../../testdata/kernels"

// options are for a launch of the bundled kernels on the simulated GPU; the capture goes to buf.
func options(t testing.TB, name string, buf *bytes.Buffer, o open.Options) Options {
	t.Helper()
	return optionsOn(t, "gfx1100", name, buf, o)
}

func optionsOn(t testing.TB, target, name string, buf *bytes.Buffer, o open.Options) Options {
	t.Helper()
	l, err := launch.Load(filepath.Join(kernels, "launches.yaml") + "#" + name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(kernels, target, l.File+".co")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := open.Device(t.Context(), "sim:"+target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	w, err := capture.NewWriter(buf)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Device: d, Name: path, Data: data, Launch: l, Timeout: time.Minute, Check: true, Capture: w}
}

func read(t testing.TB, o *Options, buf *bytes.Buffer) *capture.Capture {
	t.Helper()
	if err := o.Capture.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := capture.Read(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCount(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "reduce", &buf, open.Options{})
	out, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES", "GRBM_COUNT"}})
	if err != nil || len(out.Wrong) > 0 || out.Checked == 0 {
		t.Fatalf("%v, %+v", err, out)
	}
	c := read(t, &o, &buf)
	if len(c.Dispatches) != 1 || len(c.Counters) != 1 || len(c.Counters[0].Layout) != 2 || c.Counters[0].Bytes.Len() != c.Counters[0].Size || c.Counters[0].Size == 0 {
		t.Errorf("%d dispatches, counters %+v", len(c.Dispatches), c.Counters)
	}
	if d := c.Dispatches[0]; d.Kernel != "reduce" || d.Waves == 0 || len(d.Checks) == 0 || !d.Checks[0].OK || d.StartNs == nil || *d.EndNs < *d.StartNs {
		t.Errorf("%+v", d)
	}
	if len(c.Objects) != 1 || c.Objects[0].Bytes.Len() != int64(len(o.Data)) || !c.Whole {
		t.Errorf("objects %+v", c.Objects)
	}
	if d := c.Device; !d.Simulated || d.Target != "gfx1100" || d.SEs != 6 || !*d.StablePower {
		t.Errorf("device %+v", d)
	}
}

// TestFilter counts on GFX12 while another process's waves run: only ours may count, in whatever VMID we are.
func TestFilter(t *testing.T) {
	for _, vmid := range []uint32{8, 11, 15} {
		var buf bytes.Buffer
		other := []count.Load{{VMID: 9, Period: 60, Life: 50, Lanes: 32}}
		o := optionsOn(t, "gfx1201", "vadd", &buf, open.Options{Sim: open.SimOptions{VMIDs: []uint32{vmid}, Loads: other}})
		out, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES", "GRBM_COUNT"}})
		if err != nil || len(out.Wrong) > 0 {
			t.Fatalf("%v, %+v", err, out)
		}
		c := read(t, &o, &buf)
		if len(c.Counters) != 2 || !c.Counters[0].Filtered || c.Counters[1].Filtered {
			t.Fatalf("VMID %d: counters %+v", vmid, c.Counters)
		}
		b, err := c.Counters[0].Bytes.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if n := sum(b); n != uint64(c.Dispatches[0].Waves) {
			t.Errorf("VMID %d: %d waves counted, %d launched", vmid, n, c.Dispatches[0].Waves)
		}
	}
}

// TestFilterAstray counts while the process's VMID changes, as the simulated GPU gives it to the dispatches in turn: the one that reads
// it, the launch, the one that reads it again. What the filter missed is n/a with the reason, never 0.
func TestFilterAstray(t *testing.T) {
	names := []string{"SQ_INSTS_VALU", "SQ_INSTS_SALU"}
	for _, c := range []struct {
		vmids []uint32
		names []string
		why   string // "": counted
	}{
		{[]uint32{8, 10}, names, "only 0 of the 512 waves launched passed the filter: the process's VMID may have changed while it ran"},
		{[]uint32{8, 10}, []string{"SQ_WAVES"}, "only 0 of the 512 waves launched passed the filter: the process's VMID may have changed while it ran"},
		{[]uint32{8, 8, 10}, names, "the process's VMID changed from 8 to 10 while it ran"},
		{[]uint32{8, 15, 15}, names, "the process's VMID changed from 8 to 15 while it ran"},
		{[]uint32{9}, names, ""},
	} {
		var buf bytes.Buffer
		o := optionsOn(t, "gfx1201", "vadd", &buf, open.Options{Sim: open.SimOptions{VMIDs: c.vmids}})
		evs, got := both(t, &o, &buf, func(ctx context.Context) (*Outcome, error) {
			return Count(ctx, CountOptions{Options: o, Names: c.names})
		})
		if len(got.Counters) != 1 || len(got.Notes) != 0 {
			t.Fatalf("VMIDs %v: %+v, notes %+v", c.vmids, got.Counters, got.Notes)
		}
		run := got.Counters[0]
		for _, l := range run.Layout {
			if l.Unmeasured != c.why {
				t.Errorf("VMIDs %v: %s is unmeasured for %q, want %q", c.vmids, l.Name, l.Unmeasured, c.why)
			}
		}
		counted, un := kinds(evs, profile.KindCounters), kinds(evs, profile.KindUnmeasured)
		if c.why != "" {
			if len(counted) != 0 || len(un) != 1 || un[0].Runs != 1 {
				t.Errorf("VMIDs %v: counters %+v, unmeasured %+v", c.vmids, counted, un)
			}
			continue
		}
		if last := run.Layout[len(run.Layout)-1].Name; !slices.Equal(run.Added, []string{"SQ_WAVES"}) || last != "SQ_WAVES" {
			t.Errorf("added %q, the last is %s", run.Added, last)
		}
		if len(un) != 0 || len(counted) != 1 || len(counted[0].Counters) != 2 || counted[0].Counters[0].Name != "SQ_INSTS_VALU" || counted[0].Counters[0].Sum().N == 0 {
			t.Errorf("counters %+v, unmeasured %+v", counted, un)
		}
	}
}

// A filtered pass counts waves as a check where a register is free and nobody asked for them.
func TestChecked(t *testing.T) {
	g, err := gpu.Lookup("gfx1201")
	if err != nil {
		t.Fatal(err)
	}
	var sq []string
	for _, c := range perfctr.Counters(g) {
		if c.Block == "SQ" && c.Name != "SQ_WAVES" {
			sq = append(sq, c.Name)
		}
	}
	limit := perfctr.Limit(g, "SQ")
	for _, c := range []struct {
		names []string
		added int
	}{{sq[:1], 1}, {sq[:limit-1], 1}, {sq[:limit], 0}, {[]string{"SQ_WAVES", sq[0]}, 0}, {[]string{"GRBM_COUNT"}, 0}} {
		all, added := checked(g, c.names)
		if len(added) != c.added || len(all) != len(c.names)+c.added || !slices.Equal(all[:len(c.names)], c.names) || len(all) > limit {
			t.Errorf("%q: %q, added %q", c.names, all, added)
		}
	}
	if g, err = gpu.Lookup("gfx1100"); err != nil {
		t.Fatal(err)
	}
	if _, added := checked(g, sq[:1]); added != nil {
		t.Errorf("without a filter %q is added", added)
	}
}

// More waves than were launched are a remark: the driver counts preempted ones again.
func TestMissed(t *testing.T) {
	waves := perfctr.Counter{Name: "SQ_WAVES"}
	for _, c := range []struct {
		total       perfctr.Value
		why, remark string
	}{
		{perfctr.Value{N: 64}, "", ""},
		{perfctr.Value{N: 70}, "", "70 waves passed the filter, 64 were launched"},
		{perfctr.Value{N: 63}, "only 63 of the 64 waves launched passed the filter: the process's VMID may have changed while it ran", ""},
		{perfctr.Value{N: 63, AtLeast: true}, "", ""},
		{perfctr.Value{NA: "not modelled"}, "", ""},
	} {
		why, remark := missed([]perfctr.Reading{{Counter: perfctr.Counter{Name: "SQ_INSTS_VALU"}}, {Counter: waves, Total: c.total}}, 64)
		if why != c.why || remark != c.remark {
			t.Errorf("%+v: %q, %q", c.total, why, remark)
		}
	}
}

// sum adds samples up.
func sum(b []byte) (n uint64) {
	for ; len(b) >= 8; b = b[8:] {
		n += binary.LittleEndian.Uint64(b)
	}
	return n
}

// What the simulated GPU cannot count is recorded with its reason.
func TestUncounted(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "vadd", &buf, open.Options{})
	if _, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES", "GL2C_MC_WRREQ_STALL"}}); err != nil {
		t.Fatal(err)
	}
	l := read(t, &o, &buf).Counters[0].Layout
	if l[0].Unmeasured != "" || l[1].Unmeasured != "the simulator does not model GL2C_MC_WRREQ_STALL: the time model's L2 knows no stalls and no memory types" {
		t.Errorf("%+v", l)
	}
}

// Counters beyond one run's registers take several runs, each from the same memory.
func TestCountPasses(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "histogram", &buf, open.Options{})
	names := []string{"GL2C_HIT", "GL2C_MISS", "GL2C_EA_RDREQ_32B", "GL2C_EA_RDREQ_64B", "GL2C_EA_RDREQ_96B", "GL2C_EA_RDREQ_128B"}
	out, err := Count(t.Context(), CountOptions{Options: o, Names: names})
	if err != nil || len(out.Wrong) > 0 {
		t.Fatalf("%v, %+v", err, out)
	}
	if c := read(t, &o, &buf); len(c.Counters) != 2 || len(c.Dispatches) != 2 || c.Dispatches[1].Launch != c.Dispatches[0].Launch || c.Dispatches[1].Run != 1 {
		t.Errorf("%d passes, %d dispatches", len(c.Counters), len(c.Dispatches))
	}
}

func TestFault(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "oob_far", &buf, open.Options{})
	_, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
	f, ok := errors.AsType[*device.Fault](err)
	if !ok || !f.Memory || f.Kernel != "oob" || f.Addr == 0 {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "oob.cl:") {
		t.Errorf("no source line in %v", err)
	}
	if c := read(t, &o, &buf); len(c.Dispatches) != 1 || !strings.Contains(c.Dispatches[0].Fault, "memory fault at address") {
		t.Errorf("%+v", c.Dispatches)
	}
}

// A jump out of the code has no offset in the code object, nor a source line.
func TestFaultElsewhere(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "vadd", &buf, open.Options{})
	code := bytes.Replace(o.Data, []byte{1, 0, 0x85, 0xbf}, []byte{2, 0x48, 0x80, 0xbe}, 1) // s_clause 0x1: s_setpc_b64 s[2:3]
	if bytes.Equal(code, o.Data) {
		t.Fatal("vadd does not begin with s_clause 0x1")
	}
	o.Data = code
	_, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
	if f, ok := errors.AsType[*device.Fault](err); !ok || !f.Memory || f.Addr != 0 {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "offset") || !strings.Contains(err.Error(), "instruction fetch") {
		t.Errorf("%v", err)
	}
}

func TestTimeout(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "spin_long", &buf, open.Options{})
	o.Timeout = 200 * time.Millisecond
	began := time.Now()
	_, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
	if te, ok := errors.AsType[*TimeoutError](err); !ok || te.Kernel != "spin" {
		t.Fatalf("%v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("ended after %v", d)
	}
}

func TestCancel(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "spin_long", &buf, open.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := Count(ctx, CountOptions{Options: o, Names: []string{"SQ_WAVES"}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}

func TestBadLaunch(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "vadd", &buf, open.Options{})
	o.Launch.Params = o.Launch.Params[:2]
	_, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
	if _, ok := errors.AsType[*launch.Error](err); !ok {
		t.Errorf("%v", err)
	}
	o.Launch.Kernel = "nothing"
	if _, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES"}}); err == nil || !strings.Contains(err.Error(), "vadd") {
		t.Errorf("%v", err)
	}
	if _, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_FOO"}}); err == nil || !strings.Contains(err.Error(), "counts no SQ_FOO") {
		t.Errorf("%v", err)
	}
}

// A check that fails is an outcome, not an error.
func TestWrongBuffer(t *testing.T) {
	var buf bytes.Buffer
	o := options(t, "vadd", &buf, open.Options{})
	o.Launch.Grid = [3]uint32{256, 1, 1}
	out, err := Count(t.Context(), CountOptions{Options: o, Names: []string{"SQ_WAVES"}})
	if err != nil || len(out.Wrong) != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	if c := read(t, &o, &buf); c.Dispatches[0].Checks[0].OK {
		t.Error("the capture calls it right")
	}
}
