package sqtt

import (
	"math/rand/v2"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// flushed walks a stream in pieces with a Flush after each and joins what comes. It checks that nothing was issued before what Flush
// promised.
func flushed(t *testing.T, f gpu.Family, h Header, buf []byte, piece int, code Code) []WaveInsts {
	t.Helper()
	type key struct{ cu, simd, slot uint8 }
	open := map[key]*WaveInsts{}
	var out []WaveInsts
	var w Walker
	from := map[key]Cycles{} // what comes was issued then or later
	w.Reset(f, WalkOptions{Header: h}, code, func(p *WaveInsts) {
		k := key{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
		a := open[k]
		if a == nil {
			a = &WaveInsts{}
			open[k] = a
		}
		if p.First != len(a.Insts) {
			t.Fatalf("records from %d on, after %d", p.First, len(a.Insts))
		}
		for i := range p.Insts {
			if in := &p.Insts[i]; early(in, from[k]) {
				t.Fatalf("record %d was issued at %d, after Flush promised %d", p.First+i, in.Time+Cycles(in.Stall), from[k])
			}
		}
		a.Insts = append(a.Insts, p.Insts...)
		a.Wave, a.StartPC, a.Last = p.Wave, p.StartPC, p.Last
		if p.Last {
			delete(open, k)
			delete(from, k)
			out = append(out, *a)
			return
		}
		from[k] = w.Now()
		for i := range p.Open {
			from[k] = min(from[k], p.Open[i].Time+Cycles(p.Open[i].Stall))
		}
	})
	for len(buf) > 0 {
		n := min(piece, len(buf))
		w.Feed(buf[:n])
		w.Flush()
		buf = buf[n:]
	}
	w.Close()
	return out
}

// early says whether a record breaks the promise. GFX9 dates back what ends a wave, and a wait lasts from the record before.
func early(in *Inst, from Cycles) bool {
	return in.Category != CategoryMessage && in.Category != CategoryImmed && in.Time+Cycles(in.Stall) < from
}

func wholeWaves(t *testing.T, f gpu.Family, h Header, buf []byte, code Code) []WaveInsts {
	var out []WaveInsts
	Walk(f, WalkOptions{Header: h}, buf, code, joined(t, func(w *WaveInsts) { out = append(out, *w) }))
	return out
}

// checkFlush says whether Flush changes when records come and nothing else.
func checkFlush(t *testing.T, name string, f gpu.Family, buf []byte, code Code, pieces ...int) {
	t.Helper()
	want := wholeWaves(t, f, HeaderAuto, buf, code)
	for _, piece := range pieces {
		got := flushed(t, f, HeaderAuto, buf, piece, code)
		if i := firstDifferentWave(want, got); i >= 0 {
			t.Fatalf("%s in pieces of %d: wave %d of %d differs, want %d waves", name, piece, i, len(got), len(want))
		}
	}
}

func TestFlush(t *testing.T) {
	for _, s := range captureStreams(t, "*/[g-w]*") {
		if len(s.Buf) < 1<<20 {
			code, _ := captureProgram(t, s.Dir)
			checkFlush(t, s.Name, s.Family, s.Buf, code, 1000)
		}
	}
}

func TestFlushRandom(t *testing.T) {
	for i := range uint64(60) {
		f := []gpu.Family{gpu.GFX11, gpu.GFX12}[i%2]
		buf := randomTrace(rand.New(rand.NewPCG(i, 7)), f, 3000)
		checkFlush(t, f.String(), f, buf, noiseCode{}, 97, 1<<12)
	}
}

// A long GFX9 wave's records have their places also where one is issued without a type yet when a part is given.
func TestLongWave9(t *testing.T) {
	code := mapCode{}
	end := code.put(0x1000, valu4, Insn{Size: 4, Category: CategoryJump, Offset: -8})
	code.put(end, Insn{Size: 4, Category: CategoryMessage, Step: StepEnd})
	var s bitStream
	cycles := func(n uint64) { s.put(n/4<<4, 0, 16) }
	issue := func(state uint64) { s.put(13|state<<8, 0, 32) }
	inst := func(typ uint64) { s.put(10|typ<<11, 0, 16) }
	s.put(5|1<<7|regPGMLo<<9|0x10<<16, 0, 48)
	s.put(5|1<<7|regPGMHi<<9, 0, 48)
	s.put(3|64<<22, 0, 32)
	cycles(100)
	const turns = 2 * maxRecords
	issue(2)
	for range turns { // an instruction is issued before the one before has its type
		cycles(8)
		issue(2)
		inst(5) // VALU
		cycles(8)
		issue(2)
		inst(12) // branch
	}
	inst(5)
	cycles(8)
	s.put(6, 0, 16)
	n, lost := 0, 0
	Walk(gpu.GFX9, WalkOptions{}, s.bytes, code, func(p *WaveInsts) {
		for i := range p.Insts {
			if n++; p.Insts[i].PC == 0 {
				lost++
			}
		}
	})
	if lost > 0 || n != 2*turns+1 {
		t.Errorf("%d of %d records have no address, want %d records", lost, n, 2*turns+1)
	}
}
