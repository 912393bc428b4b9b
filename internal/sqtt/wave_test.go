package sqtt

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rigprof/rigprof/internal/gpu"
)

const (
	start11 = "0c 20 80 de" // SA 0, WGP 0, SIMD 0, slot 1, 16 lanes, me 1
	end11   = "15 80 00 00" // the same slot, with three NOPs
	start12 = "ac 8c 8f de" // delta 1, SA 1, SIMD 0, WGP 3, slot 31
	hdr12   = "11 02 70 68 08 10 13 09"
)

func TestWaves(t *testing.T) {
	tests := []struct {
		name   string
		family gpu.Family
		hex    string
		waves  []Wave
		losses Losses
	}{
		{"nothing", gpu.GFX11, "", nil, Losses{}},
		{
			"one", gpu.GFX11, start11 + "d8" + end11,
			[]Wave{{Start: 0, Stop: 17, Slot: 1, Lanes: 16, ME: 1}},
			Losses{},
		},
		{
			"start twice", gpu.GFX11, start11 + "18" + start11 + "08" + end11,
			[]Wave{{Start: 5, Stop: 9, Slot: 1, Lanes: 16, ME: 1}},
			Losses{DroppedStarts: 1, First: []Loss{{Kind: LossStart, Off: 0, Time: 0, N: 1}}},
		},
		{
			"end alone, open start", gpu.GFX11, "08" + end11 + start11, nil,
			Losses{DroppedEnds: 1, OpenAtEnd: 1, First: []Loss{{Kind: LossEnd, Off: 8, Time: 4, N: 1}, {Kind: LossOpen, Off: 40, Time: 4, N: 1}}},
		},
		{
			"lost packets", gpu.GFX11, "01 51 00 00 00 00", nil,
			Losses{PacketsLost: 1, First: []Loss{{Kind: LossPackets, Time: 5, N: 1}}},
		},
		{
			"realtime and lost: a delta", gpu.GFX11, "01 73 00 00 00 00", nil,
			Losses{PacketsLost: 1, First: []Loss{{Kind: LossPackets, Time: 7, N: 1}}},
		},
		{
			"stall", gpu.GFX11, "51 01 10 51 02 20 51 00 10", nil,
			Losses{Stalls: 2, StallCycles: 4, First: []Loss{{Kind: LossStall, Time: 2, N: 1}, {Kind: LossStall, Off: 48, Time: 6, N: 1}}},
		},
		{
			"unknown bits and a tail", gpu.GFX11, "41 41 01", nil,
			Losses{UnknownBits: 4, TailBits: 20, First: []Loss{{Kind: LossUnknown, N: 4}, {Kind: LossTail, Off: 4, N: 20}}},
		},
		{
			"hole", gpu.GFX11, "18" + strings.Repeat("00", 63+128) + "08", nil,
			Losses{EmptyBytes: 128, First: []Loss{{Kind: LossEmpty, Off: 512, Time: -1, N: 128}}},
		},
		{
			"gfx12", gpu.GFX11, hdr12 + start12 + "15 8d 0f 00", nil,
			Losses{DroppedEnds: 1, OpenAtEnd: 1, First: []Loss{{Kind: LossEnd, Off: 96, Time: 1, N: 1}, {Kind: LossOpen, Off: 64, Time: 1, N: 1}}},
		},
		{
			"gfx9", gpu.GFX9, "43 00 01 04 f0 00 46 00", []Wave{{Start: 0, Stop: 60, CU: 1, Lanes: 16, Pipe: 1}}, Losses{},
		},
		{
			"gfx9 stalls and losses", gpu.GFX9, "10 80 10 a0 10 40 20 80", nil,
			Losses{Stalls: 2, StallCycles: 4, PacketsLost: 1, First: []Loss{
				{Kind: LossStall, Time: 4, N: 1}, {Kind: LossPackets, Off: 32, Time: 12, N: 1}, {Kind: LossStall, Off: 48, Time: 20, N: 1},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := DecodeWaves(tt.family, unhex(t, tt.hex))
			if diff := cmp.Diff(tt.waves, r.Waves, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("waves (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.losses, r.Losses); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeaderSwitch: waves keep their CU number over a GFX12 header in mid-stream, behind which no other one changes the family.
func TestHeaderSwitch(t *testing.T) {
	var s bitStream
	hdr := func(version uint64) { s.put(0b0010001|version<<7, 0, 64) }
	hdr(3)
	s.put(0b01100|1<<7|1<<10|2<<13|1<<23|2<<21|0x7f<<25, 0, 32) // CU 9: array 1, WGP 1
	hdr(4)
	began := slices.Clone(s.bytes)
	s.put(0b01100|1<<7|3<<15|1<<22|2<<20|0x7f<<25, 0, 32) // CU 16: array 1
	for _, version := range []uint64{0, 1, 2, 3, 5, 63} {
		hdr(version)
	}
	s.put(0b10101|1<<5|9<<11|2<<15, 0, 20)
	s.put(0b10101|1<<5|1<<8|3<<15, 0, 20)
	r := DecodeWaves(gpu.GFX12, s.bytes)
	want := []Wave{{Start: 0, Stop: 1, CU: 9, Slot: 2, Lanes: 32, ME: 1, Pipe: 2}, {Start: 0, Stop: 2, CU: 16, Slot: 3, Lanes: 32, ME: 1, Pipe: 2}}
	if diff := cmp.Diff(want, r.Waves); diff != "" || r.Family != gpu.GFX12 {
		t.Errorf("%v: %s", r.Family, diff)
	}
	want[0].Stop = 0
	if diff := cmp.Diff(want[:1], DecodeWaves(gpu.GFX11, began).Open); diff != "" {
		t.Errorf("the one that runs at the second header: %s", diff)
	}
	if got := []int{want[0].Array(gpu.GFX11), want[0].Unit(gpu.GFX11), want[1].Array(gpu.GFX12), want[1].Unit(gpu.GFX12), want[0].Array(gpu.GFX9), want[0].Unit(gpu.GFX9)}; !cmp.Equal(got, []int{1, 1, 1, 0, 0, 9}) {
		t.Errorf("arrays and units %v", got)
	}
}

func TestNames(t *testing.T) {
	got := []string{KindWaveStartExt.String(), KindUnknown.String(), Kind(200).String(), LossEmpty.String(), LossKind(99).String(), CategoryVALU.String(), Category(99).String()}
	if diff := cmp.Diff([]string{"WAVE_START_EXT", "UNKNOWN", "?", "empty", "?", "VALU", "?"}, got); diff != "" {
		t.Error(diff)
	}
	l := Losses{DroppedStarts: 1, DroppedEnds: 2, OpenAtEnd: 3, PacketsLost: 4, Stalls: 5, UnknownBits: 6, EmptyBytes: 7, TailBits: 8}
	for k := range numLossKinds {
		if l.Count(k) != int64(k)+1 {
			t.Errorf("%v: %d", k, l.Count(k))
		}
	}
	if !l.Any() || (&Losses{Stalls: 1, TailBits: 8}).Any() || l.Count(99) != 0 {
		t.Error("Any or Count")
	}
}

func TestClock(t *testing.T) {
	if _, ok := NewClock([]Marker{{5, 7}, {5, 9}}); ok {
		t.Error("a clock of one time")
	}
	if got := (Clock{}).At(3); got != 0 {
		t.Errorf("no clock says %d", got)
	}
	c, ok := NewClock([]Marker{{10, 100}, {20, 900}, {20, 105}, {40, 165}})
	if !ok {
		t.Fatal("no clock")
	}
	for _, tt := range [][2]int64{{10, 100}, {20, 105}, {40, 165}, {11, 100}, {13, 101}, {30, 135}, {9, 100}, {7, 99}, {0, 95}, {41, 168}, {100, 345}} {
		if got := c.At(Cycles(tt[0])); got != tt[1] {
			t.Errorf("at %d: %d, want %d", tt[0], got, tt[1])
		}
	}
	far, _ := NewClock([]Marker{{0, 0}, {1, math.MaxInt64 / 2}})
	if far.At(100) != math.MaxInt64 || far.At(-100) != math.MinInt64 {
		t.Errorf("beyond 64 bits: %d, %d", far.At(100), far.At(-100))
	}
	high, _ := NewClock([]Marker{{0, math.MaxInt64 - 1}, {1, math.MaxInt64}})
	low, _ := NewClock([]Marker{{0, math.MinInt64 + 1}, {1, math.MinInt64 + 2}})
	if high.At(50) != math.MaxInt64 || low.At(-50) != math.MinInt64 {
		t.Errorf("beyond 64 bits: %d, %d", high.At(50), low.At(-50))
	}
}

func TestNoAllocations(t *testing.T) {
	buf := bytes.Repeat(unhex(t, start11+"d8"+end11), 2000)
	var d WaveDecoder
	run := func() {
		d.Reset(gpu.GFX11, HeaderAuto)
		d.Feed(buf)
		d.Close()
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 1 { // the pool may have been emptied
		t.Errorf("%v allocations per stream of waves", n)
	}
	packets := func() {
		for p := range Packets(gpu.GFX11, buf) {
			_ = p
		}
	}
	if n := testing.AllocsPerRun(5, packets); n > 4 {
		t.Errorf("%v allocations per stream of packets", n)
	}
}
