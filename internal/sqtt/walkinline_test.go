package sqtt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rigprof/rigprof/internal/gpu"
)

// trace12 assembles a GFX12 stream of one traced SIMD.
type trace12 struct{ bitStream }

func newTrace12() *trace12 {
	t := &trace12{}
	t.put(0x0913100868700211, 0, 64)
	return t
}

func (t *trace12) pgm(pipe, lo, hi uint64) {
	t.put(9|pipe<<7|1<<9|1<<15|regPGMLo<<16|lo<<32, 0, 64)
	t.put(9|pipe<<7|1<<9|1<<15|regPGMHi<<16|hi<<32, 0, 64)
}

func (t *trace12) start(pipe, slot uint64) {
	t.put(0b01100|slot<<15|pipe<<20|1<<22|0x7f<<25, 0, 32)
}
func (t *trace12) stop(d, slot uint64)     { t.put(0b10101|d<<5|slot<<15, 0, 20) }
func (t *trace12) valu(d, slot uint64)     { t.put(0b011|d<<3|slot<<7, 0, 12) }
func (t *trace12) inst(d, slot, op uint64) { t.put(0b010|d<<3|slot<<7|op<<12, 0, 20) }
func (t *trace12) imm(d, slot uint64)      { t.put(0b1101|d<<4|slot<<7, 0, 12) }
func (t *trace12) ready(d, mask uint64)    { t.put(0b10100|d<<5|mask<<8, 0, 24) }
func (t *trace12) newPC(slot, pc uint64)   { t.put(0b0100001|slot<<11|pc>>2<<16, 0, 72) }
func (t *trace12) lost()                   { t.put(1|1<<8, 0, 64) }

// mapCode is code by address.
type mapCode map[uint64]Insn

func (m mapCode) At(pc uint64) (Insn, bool) {
	in, ok := m[pc]
	return in, ok
}

// put adds instructions one behind another and gives the address behind them.
func (m mapCode) put(pc uint64, ins ...Insn) uint64 {
	for _, in := range ins {
		m[pc] = in
		pc += uint64(in.Size)
	}
	return pc
}

var (
	valu4   = Insn{Size: 4, Category: CategoryVALU}
	valu8   = Insn{Size: 8, Category: CategoryVALU}
	salu4   = Insn{Size: 4, Category: CategorySALU}
	delay   = Insn{Size: 4, Step: StepSkip}
	barrier = Insn{Size: 4, Step: StepBarrier, Category: CategoryImmed}
	wait4   = Insn{Size: 4, Category: CategoryImmed}
	load8   = Insn{Size: 8, Category: CategoryVMEM}
	signal  = Insn{Size: 4, Category: CategoryMessage}
	endpgm  = Insn{Size: 4, Step: StepEnd, Category: CategoryMessage}
)

func branch(offset int32) Insn { return Insn{Size: 4, Category: CategoryJump, Offset: offset} }

// brief is a wave's records: address, time, stall, duration, category.
type brief struct {
	PC         uint64
	Time       Cycles
	Stall, Dur uint32
	Category   Category
}

func walkBrief(f gpu.Family, buf []byte, code Code) (out [][]brief, waves []WaveInsts) {
	Walk(f, WalkOptions{}, buf, code, func(w *WaveInsts) {
		var b []brief
		for _, in := range w.Insts {
			b = append(b, brief{in.PC, in.Time, in.Stall, in.Dur, in.Category})
		}
		out = append(out, b)
		c := *w
		c.Insts = nil
		waves = append(waves, c)
	})
	return out, waves
}

func TestWalk(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, valu4, delay, valu8, branch(-12), wait4, load8, endpgm)
	code.put(0x2000, salu4, signal, barrier, valu4, barrier, valu4, endpgm)
	code.put(0x3000, salu4) // jumps to 0x2000 or 0x1000
	tests := []struct {
		name  string
		trace func(*trace12)
		want  [][]brief
		waves []WaveInsts
	}{
		{"a loop, a wait, a stall", func(s *trace12) {
			s.pgm(0, 0x10, 0)
			s.start(0, 1)
			s.valu(3, 1)    // 3
			s.valu(1, 1)    // 4
			s.inst(1, 1, 3) // 5: taken, to 0x1004
			s.ready(2, 2)   // 7
			s.valu(3, 1)    // 10, stalled since 7
			s.inst(1, 1, 4) // 11: not taken
			s.imm(7, 1)     // 18, waits since 12
			s.inst(2, 1, 0x22)
			s.stop(7, 1) // 27
		}, [][]brief{{
			{0x1000, 3, 0, 1, CategoryVALU},
			{0x1008, 4, 0, 1, CategoryVALU},
			{0x1010, 5, 0, 1, CategoryJump},
			{0x1008, 7, 3, 4, CategoryVALU},
			{0x1010, 11, 0, 1, CategoryNext},
			{0x1014, 12, 6, 7, CategoryImmed},
			{0x1018, 20, 0, 2, CategoryVMEM},
			{0x1020, 22, 0, 5, CategoryMessage},
		}}, []WaveInsts{{Wave: Wave{Start: 0, Stop: 27, Slot: 1, Lanes: 32, ME: 1}, StartPC: 0x1000, Last: true}}},
		{"two kernels on two pipes", func(s *trace12) {
			s.pgm(0, 0x10, 0)
			s.pgm(2, 0x20, 0)
			s.start(0, 0)
			s.start(2, 1)
			s.valu(1, 0)
			s.inst(1, 1, 0)
			s.pgm(0, 0x30, 0)
			s.start(0, 2)
			s.inst(1, 2, 0)
			s.stop(1, 2)
			s.stop(1, 1)
			s.stop(1, 0)
		}, [][]brief{
			{{0x3000, 3, 0, 1, CategorySALU}},
			{{0x2000, 2, 0, 1, CategorySALU}, {0x2004, 3, 0, 2, CategoryMessage}},
			{{0x1000, 1, 0, 1, CategoryVALU}, {0x1008, 2, 0, 4, CategoryMessage}},
		}, []WaveInsts{
			{Wave: Wave{Start: 2, Stop: 4, Slot: 2, Lanes: 32, ME: 1}, StartPC: 0x3000, Last: true},
			{Wave: Wave{Start: 0, Stop: 5, Slot: 1, Lanes: 32, ME: 1, Pipe: 2}, StartPC: 0x2000, Last: true},
			{Wave: Wave{Start: 0, Stop: 6, Lanes: 32, ME: 1}, StartPC: 0x1000, Last: true},
		}},
		{"barrier waits that send nothing", func(s *trace12) {
			s.pgm(0, 0x20, 0)
			s.start(0, 0)
			s.inst(1, 0, 0)    // 1
			s.inst(1, 0, 0x7a) // 2
			s.valu(7, 0)       // 9
			s.ready(1, 1)      // 10
			s.valu(2, 0)       // 12, stalled since 10, right behind
			s.stop(1, 0)
		}, [][]brief{{
			{0x2000, 1, 0, 1, CategorySALU},
			{0x2004, 2, 0, 1, CategoryMessage},
			{0x2008, 3, 0, 6, CategoryImmed},
			{0x200c, 9, 0, 1, CategoryVALU},
			{0x2010, 10, 0, 1, CategoryImmed},
			{0x2014, 11, 1, 2, CategoryVALU},
		}}, nil},
		{"addresses from tokens, early, in time and after the wave's end", func(s *trace12) {
			s.pgm(0, 0x30, 0)
			s.start(0, 0)
			s.newPC(0, 0x3000)
			s.inst(1, 0, 5)
			s.inst(1, 0, 5)
			s.newPC(0, 0x3000)
			s.inst(1, 0, 5)
			s.valu(1, 0)
			s.stop(0, 0)
			s.valu(1, 0) // of a wave that nobody saw start: not the ended one's
			s.newPC(0, 0x1000)
		}, [][]brief{{
			{0x3000, 1, 0, 1, CategorySALU}, {0x3000, 2, 0, 1, CategorySALU}, {0x3000, 3, 0, 1, CategorySALU}, {0x1000, 4, 0, 1, CategoryVALU},
		}}, nil},
		{"an address that never comes", func(s *trace12) {
			s.pgm(0, 0x30, 0)
			s.start(0, 0)
			s.inst(1, 0, 5)
			s.valu(1, 0)
			s.stop(1, 0)
			s.start(0, 0)
		}, [][]brief{{{0x3000, 1, 0, 1, CategorySALU}, {0, 2, 0, 1, CategoryVALU}}, nil}, nil},
		{"off the code", func(s *trace12) {
			s.pgm(0, 0x40, 0)
			s.start(0, 0)
			s.valu(1, 0)
			s.stop(1, 0)
		}, [][]brief{{{0, 1, 0, 1, CategoryVALU}}}, nil},
		{"no start, no end", func(s *trace12) {
			s.valu(1, 3)
			s.stop(3, 3)
			s.pgm(0, 0x10, 0)
			s.start(0, 0)
			s.valu(1, 0)
			s.stop(1, 5)
		}, [][]brief{{{0, 1, 0, 1, CategoryVALU}, {0, 2, 0, 2, CategoryMessage}}, {{0x1000, 5, 0, 1, CategoryVALU}}}, []WaveInsts{
			{Wave: Wave{Start: -1, Stop: 4, Slot: 3}, Last: true},
			{Wave: Wave{Start: 4, Stop: -1, Lanes: 32, ME: 1}, StartPC: 0x1000, Last: true},
		}},
		{"records lost, and too few to know where the wave is", func(s *trace12) {
			s.pgm(0, 0x10, 0)
			s.start(0, 0)
			s.valu(1, 0)
			s.lost()
			s.inst(1, 0, 4)
			s.imm(1, 0)
			s.lost()
			s.valu(1, 0)
			s.valu(1, 0)
		}, [][]brief{{
			{0x1000, 1, 0, 1, CategoryVALU}, {0, 2, 0, 1, CategoryNext}, {0, 3, 0, 1, CategoryImmed}, {0, 4, 0, 1, CategoryVALU}, {0, 5, 0, 1, CategoryVALU},
		}}, nil},
		{"the trap handler", func(s *trace12) {
			s.pgm(0, 0x10, 0)
			s.start(0, 0)
			s.valu(1, 0)
			s.inst(1, 0, 6)
			s.inst(1, 0, 0)
			s.inst(1, 0, 0x75)
			s.newPC(0, 0x1008)
			s.valu(1, 0)
			s.inst(0, 0, 0x50) // another SIMD's
		}, [][]brief{{{0x1000, 1, 0, 1, CategoryVALU}, {0x1008, 5, 0, 1, CategoryVALU}}}, nil},
		{"saved and restored", func(s *trace12) {
			step := func(count, slot uint64) { s.put(0b01100|1<<5|slot<<15|1<<22|count<<25, 0, 32) }
			s.pgm(0, 0x10, 0)
			s.start(0, 0)
			s.valu(1, 0) // 1
			step(66, 0)  // 2
			s.valu(1, 0)
			step(68, 0) // 4
			s.valu(1, 0)
			s.inst(1, 0, 0x75)
			s.newPC(0, 0x1008)
			s.valu(1, 0) // 7
			step(72, 3)  // one that was saved before the trace
			step(80, 3)
			s.inst(1, 3, 0x75)
			s.newPC(3, 0x1000)
			s.valu(1, 3) // 11
		}, [][]brief{
			{{0x1000, 1, 0, 1, CategoryVALU}, {0, 2, 0, 3, CategoryContext}, {0x1008, 7, 0, 1, CategoryVALU}},
			{{0x1000, 11, 0, 1, CategoryVALU}},
		}, []WaveInsts{
			{Wave: Wave{Start: 0, Stop: -1, Lanes: 32, ME: 1}, StartPC: 0x1000, Last: true},
			{Wave: Wave{Start: 8, Stop: -1, Slot: 3}, Last: true},
		}},
		{"masks and clocks", func(s *trace12) {
			s.pgm(0, 0x20, 0)
			s.start(0, 0)
			s.start(0, 1)
			s.put(0b00100|1<<5|3<<8, 0, 24) // IMMEDIATE of both
			s.inst(1, 0, 0x92)              // dprate of the header: 32
			s.inst(1, 1, 0x93)              // and derated by 2^4, limited
		}, [][]brief{
			{{0x2000, 1, 0, 1, CategoryImmed}, {0x2004, 2, 0, 32, CategoryVALU}},
			{{0x2000, 1, 0, 1, CategoryImmed}, {0x2004, 3, 0, 253, CategoryVALU}},
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTrace12()
			tt.trace(s)
			got, waves := walkBrief(gpu.GFX12, s.bytes, code)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if tt.waves == nil {
				return
			}
			if diff := cmp.Diff(tt.waves, waves, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("waves (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWalkParts: a long wave's records come in parts that join up.
func TestWalkParts(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, valu4, branch(-8))
	s := newTrace12()
	s.pgm(0, 0x10, 0)
	s.start(0, 0)
	const n = 3*maxRecords + 10
	for i := range n {
		if i%2 == 0 {
			s.valu(1, 0)
		} else {
			s.inst(1, 0, 3)
		}
	}
	next, parts, ended := 0, 0, false
	Walk(gpu.GFX12, WalkOptions{}, s.bytes, code, func(w *WaveInsts) {
		parts++
		if w.First != next || ended {
			t.Fatalf("part %d begins at %d, not %d", parts, w.First, next)
		}
		for i, in := range w.Insts {
			if want := uint64(0x1000 + 4*((next+i)%2)); in.PC != want || in.Time != Cycles(next+i+1) {
				t.Fatalf("record %d: %+v", next+i, in)
			}
		}
		next, ended = next+len(w.Insts), w.Last
	})
	if next != n || parts < 3 || !ended {
		t.Errorf("%d records of %d in %d parts", next, n, parts)
	}
}

// TestWalkerReset: a walker serves one stream after another, and keeps what it knows of the same code.
func TestWalkerReset(t *testing.T) {
	s := newTrace12()
	s.pgm(0, 0x10, 0)
	s.start(0, 0)
	s.valu(1, 0)
	s.stop(1, 0)
	asked := 0
	counted := &countingCode{asked: &asked}
	plain := mapCode{0x1000: valu4, 0x1004: endpgm}
	var w Walker
	for i, code := range []Code{counted, counted, plain, plain, nil, counted} {
		var got []uint64
		w.Reset(gpu.GFX12, WalkOptions{}, code, func(wi *WaveInsts) {
			for _, in := range wi.Insts {
				got = append(got, in.PC)
			}
		})
		w.Feed(s.bytes)
		w.Close()
		w.Close() // does nothing
		want := []uint64{0x1000}
		if code == nil {
			want = []uint64{0}
		}
		if len(w.Result().Waves) != 1 || !cmp.Equal(got, want) {
			t.Errorf("round %d: %d waves, addresses %#x", i, len(w.Result().Waves), got)
		}
	}
	if asked == 0 || asked > 8 {
		t.Errorf("the code was asked %d times", asked)
	}
}

type countingCode struct{ asked *int }

func (c *countingCode) At(pc uint64) (Insn, bool) {
	*c.asked++
	return mapCode{0x1000: valu4, 0x1004: endpgm}.At(pc)
}

// TestWalk9 follows the worked example of an ISSUE token and the INST tokens behind it, then a barrier and s_endpgm.
func TestWalk9(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, Insn{Size: 8, Category: CategorySMEM}, Insn{Size: 4, Category: CategorySALU}, valu8,
		Insn{Size: 4, Category: CategoryMessage, Again: true}, wait4, valu4, Insn{Size: 4, Category: CategoryMessage, Step: StepEnd})
	var s bitStream
	cycles := func(n uint64) { s.put(n/4<<4, 0, 16) }
	issue := func(state uint64) { s.put(13|state<<8, 0, 32) }
	inst := func(typ uint64) { s.put(10|typ<<11, 0, 16) }
	s.put(5|1<<7|regPGMLo<<9|0x10<<16, 0, 48)
	s.put(5|1<<7|regPGMHi<<9, 0, 48)
	s.put(3|64<<22, 0, 32) // 0
	cycles(100)
	issue(2)
	cycles(4)
	inst(0) // SMEM at 100
	issue(2)
	cycles(8)
	inst(1) // SALU at 104
	issue(1)
	cycles(12)
	issue(2)
	inst(18) // VALU at 124, stalled since 112
	cycles(8)
	issue(2)
	inst(15) // barrier entered at 132
	cycles(40)
	issue(3) // left at 172
	issue(3) // wait
	cycles(4)
	issue(2)
	cycles(12)
	inst(5) // VALU at 176, an INST 12 later
	issue(2)
	inst(15) // s_endpgm at 188
	cycles(20)
	s.put(6, 0, 16) // 208
	got, _ := walkBrief(gpu.GFX9, s.bytes, code)
	want := [][]brief{{
		{0x1000, 100, 0, 4, CategorySMEM},
		{0x1008, 104, 0, 4, CategorySALU},
		{0x100c, 112, 12, 16, CategoryVALU},
		{0x1014, 132, 0, 4, CategoryMessage},
		{0x1014, 136, 36, 36, CategoryImmed},
		{0x1018, 172, 4, 4, CategoryImmed},
		{0x101c, 176, 0, 12, CategoryVALU},
		{0x1020, 188, 0, 20, CategoryMessage},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestReplay9: a replayed access and a trap are no instructions of the program.
func TestReplay9(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, load8, valu4, valu4)
	code.put(0x2000, valu8)
	var s bitStream
	issue := func(d, state uint64) { s.put(d<<4, 0, 16); s.put(13|state<<8, 0, 32) }
	inst := func(typ uint64) { s.put(10|typ<<11, 0, 16) }
	s.put(5|1<<7|regPGMLo<<9|0x10<<16, 0, 48)
	s.put(3|64<<22, 0, 32)
	issue(1, 2) // 4
	inst(2)
	issue(4, 2) // 20
	issue(2, 2) // 28
	inst(21)    // the one at 20 was the load again
	inst(5)
	issue(1, 2) // 32
	inst(29)    // to the trap handler
	issue(1, 2)
	inst(5)
	inst(7)
	s.put(11|0x2000>>2<<16, 0, 64)
	issue(1, 2) // 40
	inst(5)
	got, _ := walkBrief(gpu.GFX9, s.bytes, code)
	want := [][]brief{{
		{0x1000, 4, 24, 24, CategoryVMEM}, {0x1008, 28, 0, 4, CategoryVALU}, {0, 32, 0, 4, CategoryContext}, {0x2000, 40, 0, 4, CategoryVALU},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestReady11: on GFX11 a WAVE_READY counts a clock earlier, and so before a record of its clock.
func TestReady11(t *testing.T) {
	var s bitStream
	s.put(0b01100|1<<23|0x7f<<25, 0, 32)
	s.put(0b011|5<<3, 0, 12)        // VALU at 5
	s.put(0b10100|1<<8, 0, 24)      // ready, counts at 4
	s.put(0b011|3<<3, 0, 12)        // 8: not stalled
	s.put(0b10100|2<<5|1<<8, 0, 24) // ready at 10, counts at 9
	s.put(0b010|2<<4, 0, 20)        // SALU at 12, stalled since 9
	s.put(0b1101|4<<4, 0, 12)       // 16
	s.put(0b10100|1<<8, 0, 24)      // of the same clock: no stall behind it
	s.put(0b011|3<<3, 0, 12)        // 19
	s.put(0b010|1<<4|0xa<<13, 0, 20)
	got, _ := walkBrief(gpu.GFX11, s.bytes, nil)
	want := [][]brief{{
		{0, 4, 1, 2, CategoryVALU},
		{0, 8, 0, 1, CategoryVALU},
		{0, 9, 3, 4, CategorySALU},
		{0, 13, 3, 4, CategoryImmed},
		{0, 19, 0, 1, CategoryVALU},
		{0, 20, 0, 1, CategoryVALU},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
