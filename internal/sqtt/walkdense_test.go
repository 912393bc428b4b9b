package sqtt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// denseTrace is a stream where waves of few slots start and end all the time, mostly of the traced SIMD, among everything that
// changes what starts and ends mean: programs, the traced SIMD, losses, saved waves, jumps of the time.
func denseTrace(rng *rand.Rand, f gpu.Family, n int) []byte {
	s := bitStream{}
	pick := func(v ...uint64) uint64 { return v[rng.IntN(len(v))] }
	often := func() int { return [...]int{0, 1, 5, 30}[rng.IntN(4)] }
	slots, queues, programs, units := 1+rng.IntN(5), 1+rng.IntN(3), 1+rng.IntN(4), 1+rng.IntN(4)
	header := func() {
		unit := uint64(rng.IntN(units))
		if rng.IntN(2) == 0 {
			unit = 0
		}
		version := uint64(3)
		if f == gpu.GFX12 {
			version = 4
		}
		s.put(0x11|version<<7|unit&1<<19|unit>>1&3<<13|unit>>3<<15|uint64(rng.IntN(2))<<59, 0, 64)
	}
	queue := func() (me, pipe uint64) { q := uint64(rng.IntN(queues)); return 1 ^ q&1, q >> 1 }
	header()
	var weights [20]int
	for i := range weights {
		weights[i] = often()
	}
	weights[0] += 20 // starts
	weights[1] += 20 // ends
	rare := [...]int{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, i := range rare {
		weights[i] /= 5 + rng.IntN(20)
	}
	total := 0
	for _, w := range weights {
		total += w
	}
	lanes := uint64(rng.IntN(3)) // 0: usual counts alone
	for range n {
		d, slot, unit := uint64(rng.IntN(4)), uint64(rng.IntN(slots)), uint64(0)
		if rng.IntN(4) == 0 {
			unit = uint64(rng.IntN(units))
		}
		k, at := 0, rng.IntN(total)
		for at >= weights[k] {
			at -= weights[k]
			k++
		}
		switch k {
		case 0, 15:
			me, pipe := queue()
			count := uint64(0x7f)
			if lanes > 0 && rng.IntN(8) == 0 {
				count = pick(0x60, 90, 89, 88, 66, 68, 70, 72, 75, 76, 1, 0)
			}
			raw, size := uint64(0b01100), 32
			if k == 15 {
				raw, size = 0x1c, 48
				if f == gpu.GFX11 {
					continue
				}
			}
			raw |= d<<5 | unit<<7 | count<<25
			if f == gpu.GFX11 {
				raw |= slot<<13 | pipe<<21 | me<<23
			} else {
				raw |= slot<<15 | pipe<<20 | me<<22
			}
			s.put(raw, 0, size)
			if k == 15 && rng.IntN(2) == 0 {
				s.put(uint64(rng.IntN(256))|1, 0, 8)
			}
		case 1:
			s.put(0b10101|d<<5|unit<<8|slot<<15, 0, 20)
		case 2:
			s.put(0b011|d<<3|slot<<7, 0, 12) // VALU
		case 3:
			op := uint64(rng.IntN(0x80))
			if op == 6 || op == 8 || op == newPCOp {
				op = uint64(rng.IntN(9))
			}
			if f == gpu.GFX11 {
				s.put(0b010|d<<4|slot<<8|op<<13, 0, 20)
			} else {
				s.put(0b010|d<<3|slot<<7|op<<12, 0, 20)
			}
		case 4:
			s.put(0b1101|d<<4|slot<<7, 0, 12) // IMM_ONE
		case 5:
			s.put(0b10100|d<<5|uint64(1+rng.IntN(31))<<8, 0, 24) // WAVE_READY
		case 6:
			s.put(0b00100|d<<5|uint64(rng.IntN(32))<<8, 0, 24) // IMMEDIATE
		case 7, 8: // REG
			me, pipe := queue()
			program := uint64(rng.IntN(programs)) * 15
			addr := pick(regPGMHi, regPGMLo, regPGMLo, regPGMLo, 0xb, 0xe)
			if addr == regPGMHi {
				program = 0
			}
			s.put(9|pipe<<7|me<<9|min(uint64(rng.IntN(20)), 1)<<15|addr<<16|program<<32, 0, 64)
		case 9:
			header()
		case 10: // packets lost
			s.put(1|1<<8|uint64(rng.IntN(100))<<12, 0, 64)
		case 11:
			s.put(0b0100001|d<<8|slot<<11|uint64(rng.IntN(1<<14))<<16, 0, int(keysOf(f)[0b0100001].bits)) // NEW_PC
		case 12: // MISC
			s.put(0b1010001|d<<7|pick(0, 0, miscSave, miscStallBegin, miscStallEnd), 0, 24)
		case 13: // time, mostly little, rarely a long time
			s.put(1|pick(1, 3, 1<<20, 1<<28, 1<<29+1, 1<<30, 1<<32)<<12, 0, 64)
		case 14:
			rt := uint64(1 << 9)
			if f == gpu.GFX12 {
				rt = 1 << 7
			}
			s.put(1|rt|uint64(rng.IntN(1<<20))<<12, 0, 64)
		case 16: // what is no token, or anything
			s.put(rng.Uint64(), 0, 4*(1+rng.IntN(3)))
		case 17:
			s.put(0b1110|d<<4, 0, 8)
		default:
			s.put(0, 0, 4*(1+rng.IntN(4)))
		}
	}
	return s.bytes
}

// briefCode has some short kernels, alike or not.
func briefCode(rng *rand.Rand) *madeCode {
	code := &madeCode{mapCode: mapCode{}}
	kinds := []Insn{valu4, valu4, valu8, salu4, wait4, load8, delay, barrier, signal, branch(4), branch(-8)}
	for i := range uint64(2 + rng.IntN(3)) {
		pc, some := (i+1)<<12, kinds[:1+rng.IntN(len(kinds))]
		code.kernels = append(code.kernels, pc)
		for range rng.IntN(1 << rng.IntN(6)) {
			pc = code.put(pc, some[rng.IntN(len(some))])
		}
		code.put(pc, endpgm)
	}
	return code
}

// followedTrace is a stream of waves that run short kernels, of which records may be missing.
func followedTrace(rng *rand.Rand, f gpu.Family, code *madeCode, n int) []byte {
	s := newTrace12()
	start, inst, ops := s.start, s.inst, gfx12Ops[:]
	if f == gpu.GFX11 {
		s.bitStream = bitStream{}
		start = func(pipe, slot uint64) { s.put(0b01100|slot<<13|pipe<<21|1<<23|0x7f<<25, 0, 32) }
		inst = func(d, slot, op uint64) { s.put(0b010|d<<4|slot<<8|op<<13, 0, 20) }
		ops = gfx11Ops[:128]
	}
	slots, queues, spins := 1+rng.IntN(6), 1+rng.IntN(2), 20+rng.IntN(400)
	losses, drops, regs, odd := rng.IntN(3)*rng.IntN(10), rng.IntN(2)*rng.IntN(20), rng.IntN(4)*rng.IntN(20), 3
	if rng.IntN(3) == 0 { // as streams should be: many waves start and end between tokens that are not usual
		slots, losses, drops, regs, odd = 1+rng.IntN(32), 0, 0, 0, 0
	}
	var program [2]uint64
	var pcs [32]uint64
	set := func(q uint64) {
		program[q] = code.kernels[rng.IntN(len(code.kernels))]
		s.put(9|q<<7|1<<9|1<<15|regPGMLo<<16|program[q]>>8<<32, 0, 64)
	}
	set(0)
	for range n {
		i, q, d := uint64(rng.IntN(slots)), uint64(rng.IntN(queues)), uint64(rng.IntN(4))
		at := rng.IntN(1000)
		in, known := code.mapCode[pcs[i]]
		next := pcs[i] + uint64(in.Size)
		switch {
		case at < regs:
			set(q)
			continue
		case at < regs+losses:
			s.lost()
			continue
		case at < regs+losses+drops && known && in.Step != StepEnd: // a record that no token says is missing
			pcs[i] = next
			continue
		case !known && rng.IntN(3) == 0, rng.IntN(1000) < odd:
			start(q, i)
			pcs[i] = program[q]
			continue
		case !known && (odd == 0 || rng.IntN(spins) != 0):
			continue
		case rng.IntN(5) == 0:
			s.ready(d, uint64(1+rng.IntN(63)))
		}
		switch {
		case known && in.Step == StepSkip:
		case known && in.Step == StepEnd || rng.IntN(1000) < odd:
			s.stop(d, i)
			next = 0
		case in.Category == CategoryImmed:
			s.imm(d, i)
		case in.Category == CategoryJump && rng.IntN(3) > 0:
			inst(d, i, opOf(ops, CategoryJump))
			next += uint64(int64(in.Offset))
		case in.Category == CategoryJump:
			inst(d, i, opOf(ops, CategoryNext))
		case in.Category == CategoryVALU || !known:
			s.valu(d, i)
		default:
			inst(d, i, opOf(ops, in.Category))
		}
		pcs[i] = next
	}
	return s.bytes
}

// opOf is an op of INSTs of a category.
func opOf(ops []opInfo, c Category) uint64 {
	for op, info := range ops {
		if info.category == c && op != newPCOp && info.clocks < clocksDerated {
			return uint64(op)
		}
	}
	panic(c)
}

// bare is a Code without kernels that are known.
type bare struct{ noiseCode }

func (bare) Kernels() []uint64   { return nil }
func (bare) Functions() []uint64 { return nil }

// walkAll is all that a walk gives.
type walkAll struct {
	waves    []WaveInsts
	res      *Result
	unplaced Unplaced
}

// walkOf walks a stream, in pieces as long as cut says.
func walkOf(t testing.TB, w *Walker, f gpu.Family, code Code, buf []byte, cut func() int, flush, plain bool) (a walkAll) {
	w.Reset(f, WalkOptions{}, code, joined(t, func(wi *WaveInsts) { a.waves = append(a.waves, *wi) }))
	if plain {
		w.slow = 1 << 60
	}
	for len(buf) > 0 {
		n := min(cut(), len(buf))
		w.Feed(buf[:n])
		buf = buf[n:]
		if flush {
			w.Flush()
		}
	}
	w.Close()
	r := *w.Result()
	r.Waves, r.Markers, r.Losses.First = slices.Clone(r.Waves), slices.Clone(r.Markers), slices.Clone(r.Losses.First)
	a.res, a.unplaced = &r, w.Unplaced()
	return a
}

func sameWalk(a, b walkAll) error {
	if i := firstDifferentWave(a.waves, b.waves); i >= 0 {
		e := fmt.Errorf("wave %d of %d, %d", i, len(a.waves), len(b.waves))
		if i < len(a.waves) && i < len(b.waves) {
			x, y := a.waves[i], b.waves[i]
			j := firstDifference(x.Insts, y.Insts)
			e = fmt.Errorf("%w: %+v %#x, %+v %#x; %d and %d records, first different %d", e, x.Wave, x.StartPC, y.Wave, y.StartPC, len(x.Insts), len(y.Insts), j)
			if j >= 0 && j < len(x.Insts) && j < len(y.Insts) {
				e = fmt.Errorf("%w: %+v, %+v", e, x.Insts[j], y.Insts[j])
			}
		}
		return e
	}
	if !sameWhole(a.res, b.res) {
		return fmt.Errorf("results: %v", sameResult(*a.res, *b.res))
	}
	if a.unplaced != b.unplaced {
		return fmt.Errorf("unplaced %+v, %+v", a.unplaced, b.unplaced)
	}
	return nil
}

// denseWalks walks a stream that a seed makes, by the fast path and without it, whole and in pieces. It tells how many waves and
// records with an address there are.
func denseWalks(t testing.TB, fast, plain *Walker, seed uint64) (waves, placed int) {
	rng := rand.New(rand.NewPCG(seed, 3))
	f, tokens := gpu.GFX11+gpu.Family(rng.IntN(2)), 100+rng.IntN(1<<(7+rng.IntN(9)))
	var code Code
	var buf []byte
	switch rng.IntN(20) {
	case 0:
		f, code, buf = gpu.GFX9, noiseCode{}, randomTrace(rng, gpu.GFX9, min(tokens, 4000)) // what it leaves of the walker does no harm
	case 1, 2, 3, 4, 5, 6, 7, 8, 9:
		made := briefCode(rng)
		code, buf = made, followedTrace(rng, f, made, tokens)
		if rng.IntN(3) == 0 {
			code = made.mapCode
		}
	default:
		code, buf = [...]Code{noiseCode{}, everywhere{}, bare{}, nil}[rng.IntN(4)], denseTrace(rng, f, tokens)
		if rng.IntN(12) == 0 {
			buf = append(buf, denseTrace(rng, gpu.GFX11+gpu.Family(rng.IntN(2)), 100+rng.IntN(4000))...)
		}
	}
	if rng.IntN(8) == 0 {
		for range 1 + rng.IntN(20) {
			buf[rng.IntN(len(buf))] ^= 1 << rng.IntN(8)
		}
	}
	if rng.IntN(10) == 0 {
		at := rng.IntN(len(buf))
		clear(buf[at:min(len(buf), at+rng.IntN(600))])
	}
	check := func(how string, got, want walkAll) {
		if err := sameWalk(got, want); err != nil {
			t.Errorf("%v stream %#x of %d bytes, code %T, %s: %v", f, seed, len(buf), code, how, err)
		}
	}
	whole := func() int { return len(buf) }
	want := walkOf(t, plain, f, code, buf, whole, false, true)
	check("whole", walkOf(t, fast, f, code, buf, whole, false, false), want)
	if w := DecodeWaves(f, buf); !slices.Equal(w.Waves, want.res.Waves) || !slices.Equal(w.Markers, want.res.Markers) {
		t.Errorf("%v stream %#x of %d bytes: %d waves, without the walk %d", f, seed, len(buf), len(want.res.Waves), len(w.Waves))
	}
	for _, w := range want.waves {
		for _, in := range w.Insts {
			if in.PC != 0 {
				placed++
			}
		}
	}
	waves = len(want.waves)
	top, flush := 1+rng.IntN(1<<(5+rng.IntN(10))), f != gpu.GFX9 && rng.IntN(2) == 0
	pieces := func() func() int {
		rng := rand.New(rand.NewPCG(seed, 4))
		return func() int { return 1 + rng.IntN(top) }
	}
	if flush { // what gets no address is counted when it is given
		want = walkOf(t, plain, f, code, buf, pieces(), true, true)
	}
	check(fmt.Sprintf("in pieces of up to %d, flushed: %t", top, flush), walkOf(t, fast, f, code, buf, pieces(), flush, false), want)
	return waves, placed
}

// TestDenseWalks: where waves start and end all the time, the fast path gives what token by token gives.
func TestDenseWalks(t *testing.T) {
	var fast, plain Walker
	waves, placed, streams := 0, 0, uint64(400)
	if slow {
		streams = 40
	}
	for seed := uint64(0); seed < streams && !t.Failed(); seed++ {
		w, p := denseWalks(t, &fast, &plain, seed)
		waves, placed = waves+w, placed+p
	}
	if min(waves, placed) < 300*int(streams) && !t.Failed() {
		t.Errorf("%d waves, %d records with an address: the streams test little", waves, placed)
	}
}

func FuzzDenseWalks(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		var fast, plain Walker
		denseWalks(t, &fast, &plain, seed)
	})
}

// TestEndBeforeRegisters: a wave that is looked for ends, and only then its queue's registers change. That it was found confirms
// what the registers were by its end.
func TestEndBeforeRegisters(t *testing.T) {
	code := &madeCode{mapCode: mapCode{}, kernels: []uint64{0x1000, 0x2000}}
	for _, pc := range code.kernels {
		code.put(pc, valu4, valu4, salu4, valu4, valu4, valu4, valu4, valu4, endpgm)
	}
	s := newTrace12()
	begins := func(lo uint64) { s.put(9|1<<9|1<<15|regPGMLo<<16|lo<<32, 0, 64) }
	pass := func() {
		for range 20 {
			s.put(1|1<<12, 0, 64) // TIMESTAMP
		}
	}
	begins(0x10)
	pass()
	s.lost()
	s.start(0, 1)
	s.valu(1, 1)
	s.valu(1, 1)
	s.inst(1, 1, 0)
	for range 5 {
		s.valu(1, 1)
	}
	s.stop(7, 1)
	begins(0x20)
	s.valu(1, 9) // of a wave whose start nobody saw
	begins(0x10)
	s.start(0, 2)
	s.valu(1, 2)
	s.valu(1, 2)
	s.lost()
	pass()
	var w Walker
	whole := func() int { return len(s.bytes) }
	plain := walkOf(t, &w, gpu.GFX12, code, s.bytes, whole, false, true)
	fast := walkOf(t, &w, gpu.GFX12, code, s.bytes, whole, false, false)
	if err := sameWalk(fast, plain); err != nil {
		t.Error(err)
	}
	if len(plain.waves) != 3 || plain.waves[1].Wave.Slot != 2 || plain.waves[1].Insts[0].PC != 0x1000 {
		t.Errorf("waves %+v: the one behind is not sure of its registers", plain.waves)
	}
}
