package sqtt

import (
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Tokens made by hand from the documented bit ranges: no capture holds any.
func TestCounterSamples(t *testing.T) {
	var s tokenBits
	s.put(0|10<<4, 16)                                              // MISC: 40 cycles
	s.put(14|1<<4|1<<5|9<<6|1<<10|5<<12|6<<25|7<<38|0x1fff<<51, 64) // array 1, CU 9, the second four, 4 cycles on
	s.put(6|3<<6, 16)                                               // WAVE_END
	s.put(14|2<<6|1<<12, 64)
	want := []CounterSample{
		{Time: 44, Off: 16, Array: 1, CU: 9, Bank: 1, Values: [4]uint16{5, 6, 7, 0x1fff}},
		{Time: 44, Off: 96, CU: 2, Values: [4]uint16{1, 0, 0, 0}},
	}
	if got := ReadCounterSamples(gpu.GFX9, HeaderNo, s.b); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ReadCounterSamples(gpu.GFX9, HeaderNo, s.b[:9]); got != nil { // cut in the middle of the first
		t.Errorf("of a cut stream: %+v", got)
	}
	if got := ReadCounterSamples(gpu.GFX11, HeaderNo, s.b); got != nil {
		t.Errorf("of an RDNA stream: %+v", got)
	}
}
