package sqtt

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
)

// madeCode is code with kernels that a test made.
type madeCode struct {
	mapCode
	kernels []uint64
}

func (m *madeCode) Kernels() []uint64   { return m.kernels }
func (m *madeCode) Functions() []uint64 { return nil }

// kernel adds one of some loops, each of a made-up body with a branch over a part of it.
func (m *madeCode) kernel(rng *rand.Rand, pc uint64) {
	m.kernels = append(m.kernels, pc)
	kinds := []Insn{valu4, valu8, valu4, salu4, wait4, load8, {Size: 8, Category: CategoryLDS}, {Size: 8, Category: CategorySMEM}, delay}
	body := func(n int) (ins []Insn, size int32) {
		for range n {
			in := kinds[rng.IntN(len(kinds))]
			ins = append(ins, in)
			size += int32(in.Size)
		}
		return ins, size
	}
	for range 4 {
		a, aSize := body(5 + rng.IntN(20))
		b, bSize := body(3 + rng.IntN(10))
		c, cSize := body(5 + rng.IntN(20))
		pc = m.put(pc, a...)
		pc = m.put(pc, branch(bSize))
		pc = m.put(pc, b...)
		pc = m.put(pc, c...)
		pc = m.put(pc, branch(-aSize-bSize-cSize-8))
	}
	m.put(pc, endpgm)
}

// madeTrace is a stream of waves that run code.
type madeTrace struct {
	bitStream
	f     gpu.Family
	rng   *rand.Rand
	code  *madeCode
	waves [4]madeWave
}

type madeWave struct {
	pc    uint64
	untyp []uint64 // GFX9: INST tokens to come
}

func newMadeTrace(f gpu.Family, code *madeCode, rng *rand.Rand) *madeTrace {
	s := &madeTrace{f: f, rng: rng, code: code}
	if f == gpu.GFX12 {
		s.put(0x0913100868700211, 0, 64)
	}
	return s
}

// registers tells where waves start from now on.
func (s *madeTrace) registers(pc uint64) {
	if s.f == gpu.GFX9 {
		s.put(5|1<<7|regPGMLo<<9|pc>>8<<16, 0, 48)
		s.put(5|1<<7|regPGMHi<<9, 0, 48)
	} else {
		t := trace12{s.bitStream}
		t.pgm(0, pc>>8, 0)
		s.bitStream = t.bitStream
	}
}

// run runs waves of a kernel, n records in all, and ends those that still run.
func (s *madeTrace) run(kernel uint64, n int) {
	for range n {
		i := uint64(s.rng.IntN(len(s.waves)))
		w := &s.waves[i]
		if w.pc == 0 {
			w.pc = kernel
			if s.f == gpu.GFX9 {
				s.put(3|i<<10|64<<22, 0, 32)
			} else {
				s.put(0b01100|i<<15|1<<22|0x7f<<25, 0, 32)
			}
		}
		s.step(i)
	}
	for i := range s.waves {
		for s.waves[i].pc != 0 {
			s.step(uint64(i))
		}
	}
}

// step sends the next record of a wave.
func (s *madeTrace) step(i uint64) {
	w := &s.waves[i]
	in := s.code.mapCode[w.pc]
	next := w.pc + uint64(in.Size)
	c := in.Category
	switch {
	case in.Step == StepSkip:
		w.pc = next
		return
	case in.Step == StepEnd:
		w.pc = 0
		s.end(i)
		return
	case c == CategoryJump && s.rng.IntN(8) == 0: // rarely: loops run for some turns
		c = CategoryNext
	case c == CategoryJump:
		next += uint64(int64(in.Offset))
	}
	w.pc = next
	d := uint64(1 + s.rng.IntN(7))
	if s.f != gpu.GFX9 {
		t := trace12{s.bitStream}
		switch c {
		case CategoryVALU:
			t.valu(d, i)
		case CategoryImmed:
			t.imm(d, i)
		default:
			t.inst(d, i, map[Category]uint64{
				CategorySALU: 0, CategorySMEM: 1, CategoryJump: 3, CategoryNext: 4, CategoryVMEM: 0x21, CategoryLDS: 0x29,
			}[c])
		}
		s.bitStream = t.bitStream
		return
	}
	s.put(d<<4, 0, 16)
	if c == CategoryImmed {
		s.put(13|3<<(8+2*i), 0, 32)
		return
	}
	s.put(13|2<<(8+2*i), 0, 32)
	w.untyp = append(w.untyp, map[Category]uint64{
		CategorySALU: 1, CategorySMEM: 0, CategoryJump: 12, CategoryNext: 13, CategoryVMEM: 2, CategoryLDS: 6, CategoryVALU: 5, CategoryMessage: 15,
	}[c])
	for i := range s.waves { // at once, or behind what is issued next
		for w := &s.waves[i]; len(w.untyp) > s.rng.IntN(2); w.untyp = w.untyp[1:] {
			s.put(10|uint64(i)<<5|w.untyp[0]<<11, 0, 16)
		}
	}
}

func (s *madeTrace) end(i uint64) {
	if s.f != gpu.GFX9 {
		s.put(0b10101|7<<5|i<<15, 0, 20)
		return
	}
	s.put(13|2<<(8+2*i), 0, 32)
	for _, typ := range append(s.waves[i].untyp, 15) {
		s.put(10|i<<5|typ<<11, 0, 16)
	}
	s.waves[i].untyp = nil
	s.put(3<<4, 0, 16)
	s.put(6|i<<10, 0, 16)
}

// TestHolesMade: as TestHoles, of streams that are made here.
func TestHolesMade(t *testing.T) {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX12} {
		rng := rand.New(rand.NewPCG(7, 1))
		code := &madeCode{mapCode: mapCode{}}
		code.kernel(rng, 0x1000)
		code.kernel(rng, 0x8000)
		s := newMadeTrace(f, code, rng)
		s.registers(0x1000)
		s.run(0x1000, 5000)
		s.registers(0x8000)
		s.run(0x8000, 5000)
		checkMadeTrace(t, s)
		v := punchMany(t, f, s.bytes, code, 60, punch)
		if v.wrong > 0 || v.right < 100000 || v.none > v.right/100 {
			t.Errorf("%v: %v", f, v)
		}
		t.Logf("%v: %v", f, v)
	}
}

// checkMadeTrace checks that the whole stream's records all have an address.
func checkMadeTrace(t *testing.T, s *madeTrace) (waves []WaveInsts) {
	t.Helper()
	waves = wholeWaves(t, s.f, HeaderAuto, s.bytes, s.code)
	for _, w := range waves {
		for i, in := range w.Insts {
			if in.PC == 0 || i == len(w.Insts)-1 && s.code.mapCode[in.PC].Step != StepEnd {
				t.Fatalf("%v: record %d of %d at %#x", w.Wave, i, len(w.Insts), in.PC)
			}
		}
	}
	return waves
}

// TestNoRegisters: waves that start where no register tells begin at the kernel that their records fit.
func TestNoRegisters(t *testing.T) {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX12} {
		for _, kernels := range []int{1, 3} {
			rng := rand.New(rand.NewPCG(5, 1))
			code := &madeCode{mapCode: mapCode{}}
			for i := range kernels {
				code.kernel(rng, uint64(0x1000+i*0x8000))
			}
			s := newMadeTrace(f, code, rng)
			s.run(code.kernels[kernels-1], 3000)
			waves := checkMadeTrace(t, s)
			var w Walker
			w.Reset(f, WalkOptions{}, code, nil)
			w.Feed(s.bytes)
			w.Close()
			if u := w.Unplaced(); u != (Unplaced{Assumed: int64(len(waves))}) {
				t.Errorf("%v, %d kernels, %d waves: %+v", f, kernels, len(waves), u)
			}
			for _, w := range waves {
				if w.Insts[0].PC != code.kernels[kernels-1] {
					t.Errorf("%v: a wave begins at %#x", f, w.Insts[0].PC)
				}
			}
		}
	}
}

// TestStaleRegisters: a wave that starts behind a loss need not begin where the registers said before.
func TestStaleRegisters(t *testing.T) {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX12} {
		rng := rand.New(rand.NewPCG(8, 1))
		code := &madeCode{mapCode: mapCode{}}
		code.kernel(rng, 0x1000)
		code.kernel(rng, 0x8000)
		s := newMadeTrace(f, code, rng)
		s.registers(0x1000)
		s.run(0x1000, 300)
		before := len(s.bytes)
		s.registers(0x8000)
		after := len(s.bytes) // whole bytes in GFX9; in GFX12 as long as both registers
		s.run(0x8000, 3000)
		whole := checkMadeTrace(t, s)
		holed, _ := punch(f, s.bytes, before, after-before)
		got := wholeWaves(t, f, HeaderAuto, holed, code)
		for _, w := range got {
			if w.StartPC != 0 && w.Insts[0].PC != w.StartPC {
				t.Errorf("%v: a wave begins at %#x, its first record is at %#x", f, w.StartPC, w.Insts[0].PC)
			}
		}
		v := judge(whole, got, -1)
		if v.wrong > 0 || v.none > 20 || v.right < 3000 {
			t.Errorf("%v: %v", f, v)
		}
		none := 0
		for _, w := range wholeWaves(t, f, HeaderAuto, holed, &madeCode{code.mapCode, code.kernels[:1]}) { // what the second runs is not known
			for _, in := range w.Insts {
				if in.PC == 0 {
					none++
				} else if in.PC >= 0x8000 {
					t.Fatalf("%v: an address in a kernel that nothing tells of", f)
				}
			}
		}
		if none < 3000 {
			t.Errorf("%v: %d records without address", f, none)
		}
	}
}

// TestFromTheMiddle: waves that began before the stream are found.
func TestFromTheMiddle(t *testing.T) {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX12} {
		rng := rand.New(rand.NewPCG(9, 1))
		code := &madeCode{mapCode: mapCode{}}
		code.kernel(rng, 0x1000)
		code.kernel(rng, 0x8000)
		s := newMadeTrace(f, code, rng)
		s.registers(0x8000)
		s.run(0x8000, 2000)
		whole := checkMadeTrace(t, s)
		var half bitStream
		if f == gpu.GFX12 {
			half.put(0x0913100868700211, 0, 64)
		}
		for p := range Packets(f, s.bytes) {
			if p.Off > int64(len(s.bytes))*4 {
				half.put(p.Raw, uint64(p.Hi), int(p.Bits))
			}
		}
		var w Walker
		var got []WaveInsts
		w.Reset(f, WalkOptions{}, code, joined(t, func(w *WaveInsts) { got = append(got, *w) }))
		w.Feed(half.bytes)
		w.Close()
		v := judge(whole, got, -1)
		if v.wrong > 0 || v.none > v.right/20 || v.right < 1000 {
			t.Errorf("%v: %v", f, v)
		}
		if u := w.Unplaced(); u.NoStart != int64(v.none) || u.AfterLoss != 0 || u.Assumed < 3 {
			t.Errorf("%v: %v, counted %+v", f, v, u)
		}
	}
}

// TestTwoLoops: where two loops send the same, no address is given until it shows which it was.
func TestTwoLoops(t *testing.T) {
	code := &madeCode{mapCode{}, []uint64{0x1000}}
	first, second := uint64(0x1000), uint64(0x100c)
	tail := code.put(first, valu4, salu4, branch(-12), valu4, salu4, branch(-12))
	code.put(tail, wait4, load8, wait4, endpgm)
	for _, tt := range []struct {
		name  string
		turns []uint64 // of the loops, behind the loss: at which address
		ends  bool
		known bool
	}{
		{"of the second", []uint64{second}, true, true},
		{"of both", []uint64{first, second}, true, true},
		{"of either", []uint64{first}, false, false},
	} {
		s := newTrace12()
		s.pgm(0, 0x10, 0)
		s.start(0, 0)
		s.valu(1, 0)
		s.lost()
		var want []uint64
		for _, loop := range tt.turns {
			for i := range 40 {
				s.valu(1, 0)
				s.inst(1, 0, 0)
				if i < 39 || !tt.ends {
					s.inst(1, 0, 3)
				} else {
					s.inst(1, 0, 4)
				}
				want = append(want, loop, loop+4, loop+8)
			}
		}
		if tt.ends {
			s.imm(1, 0)
			s.inst(1, 0, 0x22)
			s.imm(1, 0)
			s.stop(7, 0)
			want = append(want, tail, tail+4, tail+12, tail+16)
		}
		if !tt.known {
			clear(want)
		}
		var got []uint64
		var w Walker
		w.Reset(gpu.GFX12, WalkOptions{}, code, joined(t, func(w *WaveInsts) {
			for _, in := range w.Insts[1:] {
				got = append(got, in.PC)
			}
		}))
		w.Feed(s.bytes)
		w.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		lost := int64(0)
		if !tt.known {
			lost = int64(len(want))
		}
		if u := w.Unplaced(); u != (Unplaced{AfterLoss: lost}) {
			t.Errorf("%s: %+v, want %d behind a loss", tt.name, u, lost)
		}
	}
}

// TestUnfit: a wave that does what the code cannot do gets no more addresses, and it is told.
func TestUnfit(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, valu4, salu4, branch(-12), valu4, endpgm)
	for name, run := range map[string]func(*trace12){
		"a branch where none is":  func(s *trace12) { s.valu(1, 0); s.inst(1, 0, 3) },
		"records behind s_endpgm": func(s *trace12) { s.valu(1, 0); s.inst(1, 0, 0); s.inst(1, 0, 4); s.valu(1, 0) },
	} {
		s := newTrace12()
		s.pgm(0, 0x10, 0)
		s.start(0, 0)
		run(s)
		for range 20 {
			s.valu(1, 0)
		}
		s.pgm(0, 0x90, 0)
		s.start(0, 1) // other code: that is no misfit
		s.valu(1, 1)
		var w Walker
		none := 0
		w.Reset(gpu.GFX12, WalkOptions{}, code, func(w *WaveInsts) {
			for _, in := range w.Insts {
				if in.PC == 0 {
					none++
				}
			}
		})
		w.Feed(s.bytes)
		w.Close()
		if u := w.Unplaced(); u != (Unplaced{Unfit: 1}) || none != 21 {
			t.Errorf("%s: %+v, %d records without address", name, u, none)
		}
	}
}

// TestEndsEarly: a wave that ends before its s_endpgm lacks records, or its code is other code.
func TestEndsEarly(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, valu4, salu4, branch(-12), valu4, endpgm)
	for want, run := range []func(*trace12){
		func(s *trace12) { s.valu(1, 0); s.inst(1, 0, 0); s.inst(1, 0, 4); s.valu(1, 0) },
		func(s *trace12) { s.valu(1, 0); s.inst(1, 0, 0); s.inst(1, 0, 4) },
	} {
		s := newTrace12()
		s.pgm(0, 0x10, 0)
		s.start(0, 0)
		run(s)
		s.stop(7, 0)
		var w Walker
		w.Reset(gpu.GFX12, WalkOptions{}, code, nil)
		w.Feed(s.bytes)
		w.Close()
		if u := w.Unplaced(); u != (Unplaced{Unfit: int64(want)}) {
			t.Errorf("%+v, want %d waves that do not fit", u, want)
		}
	}
}

// TestLost9: at a loss GFX9 records without a type get none of another's.
func TestLost9(t *testing.T) {
	code := mapCode{}
	code.put(0x1000, valu4, salu4, valu4)
	var s bitStream
	issue := func(state uint64) { s.put(16/4<<4, 0, 16); s.put(13|state<<8, 0, 32) }
	inst := func(typ uint64) { s.put(10|typ<<11, 0, 16) }
	s.put(5|1<<7|regPGMLo<<9|0x10<<16, 0, 48)
	s.put(3|64<<22, 0, 32)
	issue(2)
	inst(5)
	issue(2) // its INST is lost
	s.put(misc9Lost<<13, 0, 16)
	issue(2)
	inst(5)
	issue(2)
	inst(6)
	var got []Category
	Walk(gpu.GFX9, WalkOptions{}, s.bytes, code, func(w *WaveInsts) {
		for _, in := range w.Insts {
			got = append(got, in.Category)
		}
	})
	if diff := cmp.Diff([]Category{CategoryVALU, CategoryNone, CategoryVALU, CategoryLDS}, got); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

// TestLossesAllTheTime: what looking for waves costs in a stream that loses records all the time is paid for by its records, however
// long the code is.
func TestLossesAllTheTime(t *testing.T) {
	for _, tt := range []struct{ length, records int }{{50, 100000}, {50, 400000}, {20000, 400000}} {
		code := &madeCode{mapCode{}, []uint64{0x1000}}
		pc := uint64(0x1000)
		for range tt.length {
			pc = code.put(pc, valu4)
		}
		code.put(pc, branch(int32(-4*(tt.length+1))))
		s := newTrace12()
		s.pgm(0, 0x10, 0)
		for slot := range uint64(8) {
			s.start(0, slot)
		}
		for i := range tt.records {
			s.valu(1, uint64(i%8))
			if i%200 == 199 {
				s.lost()
			}
		}
		var w Walker
		w.Reset(gpu.GFX12, WalkOptions{}, code, nil)
		w.Feed(s.bytes)
		w.Close()
		steps := firstCredit + recordCredit*tt.records - w.walk.finder.credit
		most := firstCredit + recordCredit*tt.records + newRegion*tt.length + 8*tt.length + 4*maxCandidates*maxHeld // a search may overdraw
		if steps < 100 || steps > most {
			t.Errorf("%d records in code of %d instructions: %d steps, at most %d are paid for", tt.records, tt.length, steps, most)
		}
	}
}

// TestWaveEnds: where a wave ends, fewer records tell where it was.
func TestWaveEnds(t *testing.T) {
	same := []Insn{valu4, salu4, valu4, valu4, salu4, salu4, valu4, salu4}
	code := &madeCode{mapCode{}, []uint64{0x1000}}
	pc := code.put(0x1000, wait4)
	pc = code.put(pc, same...)
	pc = code.put(pc, wait4)
	last := pc
	pc = code.put(pc, same...)
	code.put(pc, endpgm)
	s := newTrace12()
	s.pgm(0, 0x10, 0)
	s.start(0, 0)
	s.imm(1, 0)
	s.lost()
	var want []uint64
	for i, in := range same {
		if in.Category == CategoryVALU {
			s.valu(1, 0)
		} else {
			s.inst(1, 0, 0)
		}
		want = append(want, last+uint64(4*i))
	}
	s.stop(7, 0)
	want = append(want, pc)
	var got []uint64
	Walk(gpu.GFX12, WalkOptions{}, s.bytes, code, func(w *WaveInsts) {
		for _, in := range w.Insts[1:] {
			got = append(got, in.PC)
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPairs: INST tokens of GFX9 records that were lost type others behind the loss. Where those come one upon the other no address is
// given; where they do not, the INST that is left over in the end tells.
func TestPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	kinds := []Insn{valu4, salu4, {Size: 8, Category: CategoryLDS}, {Size: 8, Category: CategorySMEM}}
	types := map[Category]uint64{CategoryVALU: 5, CategorySALU: 1, CategoryLDS: 6, CategorySMEM: 0}
	code := &madeCode{mapCode{}, []uint64{0x1000}}
	var at []uint64
	pc := uint64(0x1000)
	for range 400 {
		at = append(at, pc)
		pc = code.put(pc, kinds[rng.IntN(len(kinds))])
	}
	code.put(pc, endpgm)
	for _, gap := range []uint64{4, 20} {
		s := bitStream{}
		next := 0 // instruction
		issue := func(clocks uint64) {
			s.put(clocks/4<<4, 0, 16)
			s.put(13|2<<8, 0, 32)
			next++
		}
		inst := func(i int) { s.put(10|types[code.mapCode[at[i]].Category]<<11, 0, 16) }
		s.put(5|1<<7|regPGMLo<<9|0x10<<16, 0, 48)
		s.put(3|64<<22, 0, 32)
		issue(4)
		inst(0)
		next += 10 // lost, and of the last one the ISSUE alone
		s.put(misc9Lost<<13, 0, 16)
		for range 100 {
			issue(gap)
			inst(next - 2)
		}
		inst(next - 1)
		for range 100 {
			issue(20)
			s.put(1<<4, 0, 16)
			inst(next - 1)
		}
		Walk(gpu.GFX9, WalkOptions{}, s.bytes, code, func(w *WaveInsts) {
			if len(w.Insts) != 201 {
				t.Fatalf("%d records", len(w.Insts))
			}
			for i, in := range w.Insts[1:] {
				if want := at[11+i]; in.PC != want && (i >= 100 || gap == 4 && in.PC != 0) {
					t.Fatalf("gaps of %d clocks: record %d at %#x, want %#x", gap, i, in.PC, want)
				}
			}
		})
	}
}
