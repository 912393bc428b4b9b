// Package profile collects what happened while some code ran: work on devices, copies, allocations, host spans, counters
// and traces, as events on the host's monotonic clock.
//
// Take opens a collection, runs a function and gives the events. Takes nest and overlap across goroutines. Record adds an
// event to every take that is open; Span records host code. While no take is open both cost one atomic load and allocate
// nothing. The layer that drives a device registers a Device, and with it the submissions whose events are still to be
// read; a take waits for those that were submitted while it was open.
//
// Times are nanoseconds of Now. An event without a duration has Stop equal to Start.
package profile

import (
	"math"
	"time"
)

// Kind says what an Event is about and which of its fields hold something.
type Kind uint8

// The kinds, each with its fields besides Start and Stop.
const (
	KindWork       Kind = iota + 1 // Device, Lane, Name, Point: one submission, on the lane of the queue its first part ran on
	KindSpan                       // Device (Host), Lane, Name: host code
	KindAllocation                 // Device, Bytes allocated from Start on
	KindLoad                       // Device, Name (of the image), Address, Data (the binary), Bytes (its length)
	KindTrace                      // Device, Name, Part (the unit's index), Data (the bytes as the device wrote them), Bytes (their number)
	KindCounters                   // Device, Name, Counters
	KindUnmeasured                 // Device, Runs whose counters could not be measured
	KindCopy                       // Src, Dst, Bytes, Point (none where HasPoint is false)
)

var kindNames = [...]string{
	KindWork: "work", KindSpan: "span", KindAllocation: "allocation", KindLoad: "load", KindTrace: "trace", KindCounters: "counters",
	KindUnmeasured: "unmeasured", KindCopy: "copy",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return "unknown"
}

// KindOf is the kind of a name that String gives, 0 for others.
func KindOf(name string) Kind {
	for k := KindWork; int(k) < len(kindNames); k++ {
		if kindNames[k] == name {
			return k
		}
	}
	return 0
}

// Host is the device of events on the host's side.
const Host = "host"

// Event is one thing that happened. Its slices belong to whoever recorded it and must not change afterwards.
type Event struct {
	Kind        Kind
	HasPoint    bool
	Part        int32
	Device      string
	Lane        string
	Name        string
	Start, Stop int64 // ns
	Point       uint64
	Bytes       uint64
	Address     uint64
	Src, Dst    string // devices, or Host
	Runs        int
	Data        []byte
	Counters    []Counter
	ErrorNs     int64 // Start and Stop may be off by this much; 0 where they are exact
}

// Counter is one counter's values of a run, one per unit.
type Counter struct {
	Name   string
	Values []Value
}

// Value is what one unit counted, or a sum.
type Value struct {
	N       uint64
	AtLeast bool   // the count is N or more
	NA      string // why nothing was measured; N means nothing then
}

// Sum is the sum over the units that were measured: at the most what 64 bits hold, "at least" then. It is n/a, with the first reason, if
// no unit was.
func (c *Counter) Sum() Value {
	sum, measured, why := Value{}, false, "it has no unit"
	for i := len(c.Values) - 1; i >= 0; i-- {
		v := c.Values[i]
		if v.NA != "" {
			why = v.NA
			continue
		}
		measured = true
		sum.AtLeast = sum.AtLeast || v.AtLeast
		if sum.N += v.N; sum.N < v.N {
			sum.N, sum.AtLeast = math.MaxUint64, true
		}
	}
	if !measured {
		return Value{NA: why}
	}
	return sum
}

// Duration is Stop - Start, never negative.
func (e *Event) Duration() int64 { return max(e.Stop-e.Start, 0) }

var epoch = time.Now()

// Now is the host's monotonic clock in nanoseconds. It counts from the start of the process.
func Now() int64 { return int64(time.Since(epoch)) }
