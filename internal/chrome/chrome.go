package chrome

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/rigprof/rigprof/internal/profile"
)

// Write writes the events of a profile: a process per device, a thread per lane, complete events for work, spans, copies
// (on the source's process) and counter runs, a memory counter, instant events for loads, traces and unmeasured runs. It
// neither flushes nor closes w. Events that are not in the order of Take are put into it.
func Write(w io.Writer, events []profile.Event) error {
	return WriteWith(w, events, Options{})
}

// WriteWith is Write with a document's options. Their origin is the earliest event's.
func WriteWith(w io.Writer, events []profile.Event, o Options) error {
	order := func(a, b profile.Event) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration(), a.Duration()))
	}
	if !slices.IsSortedFunc(events, order) {
		events = slices.Clone(events)
		slices.SortStableFunc(events, order)
	}
	o.Origin, o.Picos = 0, false
	if len(events) > 0 {
		o.Origin = events[0].Start
	}
	c := NewWriter(w, o)
	for i := range events {
		c.Event(&events[i])
	}
	return c.Close()
}

// Lanes of events that have none of their own.
const (
	copyLane    = "copies"
	counterLane = "counters"
)

// Event writes an event of a profile: times are nanoseconds, also where the document's are picoseconds.
func (c *Writer) Event(e *profile.Event) {
	if c.unit == picosPerMicro {
		scaled := *e
		scaled.Start, scaled.Stop = e.Start*1000, e.Stop*1000
		c.event(&scaled, e.Duration())
		return
	}
	c.event(e, e.Duration())
}

// event writes an event in the document's unit, that lasts so many nanoseconds.
func (c *Writer) event(e *profile.Event, ns int64) {
	switch e.Kind {
	case profile.KindWork, profile.KindSpan:
		c.beginSlice(e.Device, e.Lane, e.Start, e.Stop)
		c.buf = append(c.buf, `,"name":`...)
		c.string(e.Name)
		if e.Kind == profile.KindWork {
			c.buf = append(c.buf, `,"args":{"point":`...)
			c.buf = strconv.AppendUint(c.buf, e.Point, 10)
			c.error(e)
			c.buf = append(c.buf, '}')
		}
		c.end()
	case profile.KindCopy:
		c.beginSlice(e.Src, copyLane, e.Start, e.Stop)
		c.buf = append(c.buf, `,"name":"copy","args":{"to":`...)
		c.string(e.Dst)
		c.number("bytes", e.Bytes)
		if e.HasPoint {
			c.number("point", e.Point)
		}
		c.error(e)
		c.buf = append(c.buf, '}')
		c.end()
	case profile.KindCounters:
		c.beginSlice(e.Device, counterLane, e.Start, e.Stop)
		c.buf = append(c.buf, `,"name":`...)
		c.string(e.Name)
		c.buf = append(c.buf, `,"args":{`...)
		for i := range e.Counters {
			if i > 0 {
				c.buf = append(c.buf, ',')
			}
			c.string(e.Counters[i].Name)
			c.buf = append(c.buf, ':')
			c.value(e.Counters[i].Sum())
		}
		c.buf = append(c.buf, '}')
		c.end()
	case profile.KindAllocation:
		c.Counter(e.Device, "memory", "bytes", e.Start, e.Bytes)
	case profile.KindLoad:
		c.instant(e, "load")
		c.number("bytes", max(e.Bytes, uint64(len(e.Data))))
		c.endArgs()
	case profile.KindTrace:
		c.instant(e, "trace")
		c.number("unit", uint64(max(e.Part, 0)))
		c.number("bytes", max(e.Bytes, uint64(len(e.Data))))
		c.number("duration_ns", uint64(ns))
		c.endArgs()
	case profile.KindUnmeasured:
		c.instant(e, "unmeasured")
		c.number("runs", uint64(max(e.Runs, 0)))
		c.endArgs()
	}
}

// instant starts an instant event of the device, with its name among the details.
func (c *Writer) instant(e *profile.Event, what string) {
	c.begin('i', c.process(e.Device).id, 0, e.Start)
	c.buf = append(c.buf, `,"s":"p","name":"`...)
	c.buf = append(c.buf, what...)
	c.buf = append(c.buf, `","args":{"name":`...)
	c.string(e.Name)
}

func (c *Writer) endArgs() {
	c.buf = append(c.buf, '}')
	c.end()
}

// value writes a count: a number where it is exact, else text, ">=7" or "n/a: why".
func (c *Writer) value(v profile.Value) {
	switch {
	case v.NA != "":
		c.prefixed("n/a: ", v.NA)
	case v.AtLeast:
		c.buf = append(c.buf, `">=`...)
		c.buf = strconv.AppendUint(c.buf, v.N, 10)
		c.buf = append(c.buf, '"')
	default:
		c.buf = strconv.AppendUint(c.buf, v.N, 10)
	}
}

// number adds a detail after another.
func (c *Writer) number(key string, v uint64) {
	c.buf = append(c.buf, `,"`...)
	c.buf = append(c.buf, key...)
	c.buf = append(c.buf, `":`...)
	c.buf = strconv.AppendUint(c.buf, v, 10)
}

// error adds how far an event's times may be off.
func (c *Writer) error(e *profile.Event) {
	if e.ErrorNs > 0 {
		c.number("error_ns", uint64(e.ErrorNs))
	}
}
