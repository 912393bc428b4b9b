package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

// CounterSample is what SQ counters counted on one CU in one sampling period: those that WithCounters chose, in the order given, four in a
// token. Only GFX9 traces hold them. The hardware sends none where all four are 0. Source: AMD rocprof-trace-decoder (MIT) and ROCm's
// documentation of it; no capture of ours holds any.
type CounterSample struct {
	Time   Cycles // when the period ended
	Off    int64  // bits from the stream's start
	Array  uint8
	CU     uint8
	Bank   uint8 // 0: the first four counters, 1: the others
	Values [4]uint16
}

// ReadCounterSamples gives a stream's samples, in stream order.
func ReadCounterSamples(f gpu.Family, h Header, buf []byte) []CounterSample {
	var list []CounterSample
	for p := range PacketsWith(f, h, buf) {
		if s, ok := p.CounterSample(); ok {
			list = append(list, s)
		}
	}
	return list
}

// CounterSample reads a sample's token; others are none.
func (p *Packet) CounterSample() (CounterSample, bool) {
	if p.Kind != KindPerf {
		return CounterSample{}, false
	}
	s := CounterSample{Time: p.Time, Off: p.Off, Array: uint8(p.Field("sh")), CU: uint8(p.Field("cu")), Bank: uint8(p.Field("bank"))}
	for i, name := range [...]string{"counter0", "counter1", "counter2", "counter3"} {
		s.Values[i] = uint16(p.Field(name))
	}
	return s, true
}
