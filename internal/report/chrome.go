package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/chrome"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/profile"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// timeline writes a Chrome trace through a buffer; times are picoseconds.
func timeline(w io.Writer, meta []chrome.Arg, write func(c *chrome.Writer)) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	c := chrome.NewWriter(bw, chrome.Options{Picos: true, Meta: meta})
	write(c)
	if err := c.Close(); err != nil {
		return err
	}
	return bw.Flush()
}

func (d *DeviceDoc) meta() []chrome.Arg {
	sim := "no"
	if d.simulated() {
		sim = "yes: times are modelled"
	}
	return []chrome.Arg{chrome.Text("device", d.Name), chrome.Text("target", d.Target), chrome.Text("simulated", sim)}
}

// meta is what a trace viewer's file has of the remarks: those that are more than good to know.
func (q *Quality) meta() []chrome.Arg {
	if list := q.Warnings(); len(list) > 0 {
		return []chrome.Arg{chrome.Text("warnings", strings.Join(list, "; "))}
	}
	return nil
}

// picos is cycles in picoseconds. It grows with cycles, so slices that nest stay nested.
func picos(cycles int64, psPerCycle float64) int64 {
	return int64(math.Round(float64(cycles) * psPerCycle))
}

// slot is a place that holds one wave at a time.
type slot struct{ cu, simd, slot int }

func (s slot) lane(f gpu.Family) string {
	return fmt.Sprintf("array %d %s %d SIMD %d slot %d", arrayOf(f, s.cu), UnitName(f), unitOf(f, s.cu), s.simd, s.slot)
}

// compare orders by unit, SIMD, slot.
func (s slot) compare(o slot) int {
	return cmp.Or(cmp.Compare(s.cu, o.cu), cmp.Compare(s.simd, o.simd), cmp.Compare(s.slot, o.slot))
}

// slots gives the places that waves ran in, in order of unit, SIMD and slot.
func slots(waves []Wave) []slot {
	seen := map[slot]bool{}
	var list []slot
	for _, w := range waves {
		if k := (slot{w.CU, w.SIMD, w.Slot}); !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	slices.SortFunc(list, slot.compare)
	return list
}

// lanes is a process with a lane per slot: waves with their markers' spans in them.
type lanes struct {
	c          *chrome.Writer
	process    string
	family     gpu.Family
	spans      []MarkerSpan
	psPerCycle float64
	origin     int64
	name       string
	list       []laneSlice // what must be put in order first
}

type laneSlice struct {
	chrome.Slice
	depth int
}

// newLanes begins a process; name names a wave's slice, origin (in picoseconds) is where cycle 0 stands.
func newLanes(c *chrome.Writer, process string, f gpu.Family, at []slot, spans []MarkerSpan, psPerCycle float64, origin int64, name string) *lanes {
	for _, k := range at {
		c.Lane(process, k.lane(f))
	}
	return &lanes{c: c, process: process, family: f, spans: spans, psPerCycle: psPerCycle, origin: origin, name: name}
}

func (l *lanes) add(s slot, name string, depth int, start, stop int64, args ...chrome.Arg) {
	one := laneSlice{chrome.Slice{
		Process: l.process, Lane: s.lane(l.family), Name: name, Start: l.origin + picos(start, l.psPerCycle), Stop: l.origin + picos(stop, l.psPerCycle),
		Args: append([]chrome.Arg{chrome.Int("start_cycle", start), chrome.Int("stop_cycle", stop)}, args...),
	}, depth}
	if len(l.spans) == 0 {
		l.c.Slice(&one.Slice)
		return
	}
	l.list = append(l.list, one)
}

// wave adds a wave.
func (l *lanes) wave(w Wave) {
	l.add(slot{w.CU, w.SIMD, w.Slot}, l.name, 0, w.Start, w.Stop, chrome.Int("lanes", int64(w.Lanes)))
}

// close writes what had to wait for its order.
func (l *lanes) close() {
	for i := range l.spans {
		s := &l.spans[i]
		l.add(slot{s.CU, s.SIMD, s.Slot}, s.Name, s.Depth+1, s.Start, s.Stop)
	}
	slices.SortStableFunc(l.list, func(a, b laneSlice) int { // a lane's slices come by their starts, those that hold others first
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Stop, a.Stop), cmp.Compare(a.depth, b.depth))
	})
	for i := range l.list {
		l.c.Slice(&l.list[i].Slice)
	}
}

// waveLanes writes a process of waves that are held.
func waveLanes(c *chrome.Writer, process string, f gpu.Family, waves []Wave, spans []MarkerSpan, psPerCycle float64, origin int64, name string) {
	l := newLanes(c, process, f, slots(waves), spans, psPerCycle, origin, name)
	for _, w := range waves {
		l.wave(w)
	}
	l.close()
}

// refPicos is the length of a tick of realtime markers: they count at 100 MHz on the RDNA parts that write them.
const refPicos = 10000

// psPerCycle is the mean length of a shader cycle between realtime markers that do not contradict each other.
func psPerCycle(realtime [][2]int64) (ps float64, ok bool) {
	c := clockWatch{limits: recorded{}.limits()}
	for _, m := range realtime {
		c.marker(sqtt.Marker{Shader: sqtt.Cycles(m[0]), Realtime: m[1]})
	}
	return psOfCycles(c.cycles, c.ticks)
}

// psOfCycles is the mean length of cycles that take so many ticks of the reference clock; where that is not known a cycle counts as 1 ns.
func psOfCycles(cycles, ticks int64) (ps float64, ok bool) {
	if cycles > 0 && ticks > 0 {
		return float64(ticks) * refPicos / float64(cycles), true
	}
	return 1000, false
}

// events writes a capture's timeline. Times count from epoch.
func events(c *chrome.Writer, list []capture.Event, epoch int64) {
	for i := range list {
		e := profileEvent(&list[i])
		e.Start, e.Stop = e.Start-epoch, e.Stop-epoch
		c.Event(&e)
	}
}

// profileEvent is an event as it was recorded, but for the bytes and the units' counts, which the capture holds elsewhere.
func profileEvent(e *capture.Event) profile.Event {
	out := profile.Event{
		Kind: profile.KindOf(e.Kind), Device: e.Device, Lane: e.Lane, Name: e.Name, Start: e.Start, Stop: e.Stop, HasPoint: e.Point != 0, Point: e.Point,
		ErrorNs: e.ErrorNs, Bytes: uint64(max(e.Bytes, 0)), Address: e.Address, Src: e.Src, Dst: e.Dst, Part: e.Part, Runs: e.Runs,
	}
	for name, n := range e.Values {
		out.Counters = append(out.Counters, profile.Counter{Name: name, Values: []profile.Value{{N: n, AtLeast: slices.Contains(e.AtLeast, name)}}})
	}
	for name, why := range e.Unmeasured {
		out.Counters = append(out.Counters, profile.Counter{Name: name, Values: []profile.Value{{NA: why}}})
	}
	slices.SortFunc(out.Counters, func(a, b profile.Counter) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// hostTimeline writes what the host and the device did, by the host's clock: the events of the recording's profile.
func hostTimeline(w io.Writer, meta []chrome.Arg, list []capture.Event) error {
	evs := make([]profile.Event, len(list))
	for i := range list {
		evs[i] = profileEvent(&list[i])
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	if err := chrome.WriteWith(bw, evs, chrome.Options{Meta: meta}); err != nil {
		return err
	}
	return bw.Flush()
}
