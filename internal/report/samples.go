package report

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/chrome"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// CounterSample is what one SQ counter counted on one CU in one sampling period of a gfx9 trace. Time is the period's end, in shader cycles
// from the start of the engine's trace.
type CounterSample struct {
	Engine int    `json:"engine"`
	Array  int    `json:"array"`
	CU     int    `json:"cu"`
	Time   int64  `json:"time"`
	Name   string `json:"counter"`
	Value  uint16 `json:"value"`
}

// samplesOf are the samples of one engine's stream; counts of 0 are left out, as the hardware leaves them out where all four of a token are 0.
func samplesOf(tr *capture.Trace) ([]CounterSample, error) {
	if len(tr.Counters) == 0 {
		return nil, nil
	}
	var list []CounterSample
	take := func(p *sqtt.Packet) error {
		s, ok := p.CounterSample()
		for i, v := range s.Values {
			if k := int(s.Bank)*len(s.Values) + i; ok && v != 0 && k < len(tr.Counters) {
				list = append(list, CounterSample{tr.Engine, int(s.Array), int(s.CU), int64(s.Time), tr.Counters[k], v})
			}
		}
		return nil
	}
	f := traceFile(tr)
	var l sqtt.Lister
	l.Reset(f.Family, f.Header)
	err := f.pieces(func(b []byte, _ bool) error { return l.Feed(b, take) })
	_ = l.Close(take) // take never fails
	return list, err
}

// samplesTable sums the samples of each dispatch up by counter. One without samples counted 0: those are left out of traces.
func (t *Traced) samplesTable() Table {
	out := Table{Title: "counters in the traces", Columns: []Column{Number("dispatch"), Text("counter"), Number("total"), Number("samples")}}
	for i := range t.Dispatches {
		for _, name := range t.Dispatches[i].Counters {
			var total, n int64
			for _, s := range t.Dispatches[i].Samples {
				if s.Name == name {
					total, n = total+int64(s.Value), n+1
				}
			}
			out.Add(i, name, total, n)
		}
	}
	return out
}

// sampleTracks writes an engine's samples as counter tracks.
func sampleTracks(c *chrome.Writer, process string, engine int, list []CounterSample, psPerCycle float64, origin int64) {
	for i := range list {
		if s := &list[i]; s.Engine == engine {
			c.Counter(process, s.track(), "count", origin+picos(s.Time, psPerCycle), uint64(s.Value))
		}
	}
}

func (s *CounterSample) track() string {
	return fmt.Sprintf("%s array %d CU %d", s.Name, s.Array, s.CU)
}
