package sqtt

import (
	"math/bits"
	"slices"

	"github.com/rigprof/rigprof/internal/gpu"
)

// wave9State is what the walk keeps of a GFX9 wave besides: an instruction sends an ISSUE first and, when a unit takes
// it, an INST that tells what it is.
type wave9State struct {
	on     bool
	stalls []Cycles // ISSUE tokens that say that the wave stalls, since the last typed instruction
	open   []int    // records whose INST is to come, by number in the wave
	placed int      // records that have their place, by number in the wave
}

// walkSlot9 is where the walk keeps the wave of a slot, which is in the traced CU.
func walkSlot9(k slotKey) uint32 { return uint32(k)>>8<<4 | uint32(k)>>4&15 }

// start9 takes a WAVE_START of the traced CU.
func (k *walk) start9(key slotKey, raw uint32, now Cycles) {
	i := walkSlot9(key)
	if !k.context(i, contextStepOf(gpu.GFX9, raw), now) {
		w := Wave{Start: now}
		fill9(&w, key, raw)
		k.start(i, &w)
	}
}

// token9 takes what a GFX9 token means to traced waves.
func (k *walk) token9(kind Kind, w uint64, now Cycles) {
	switch kind {
	case KindIssue:
		k.issue9(w, now)
	case KindInst:
		t := k.slots[w>>9&3<<4|w>>5&15]
		if t.live {
			if t.sought() {
				k.strayed(t, uint8(w>>11&31), now)
			}
			k.type9(t, uint8(w>>11&31), uint8(w>>9&3), now)
		}
	case KindInstPc:
		if t := k.slots[w>>9&3<<4|w>>5&15]; t.live {
			k.newPC(t, w>>16<<2)
		}
	case KindRegCs, KindRegCsPriv:
		me := uint8(w>>7+1) & 1
		k.register(me, uint8(w>>5&3), uint32(w>>9&127), uint32(w>>16))
	}
}

// issue9 takes an ISSUE, which has two bits for each of a SIMD's ten slots.
func (k *walk) issue9(w uint64, now Cycles) {
	simd := uint32(w >> 5 & 3)
	states := uint32(w>>8) & (1<<20 - 1)
	for some := (states | states>>1) & 0x55555; some != 0; some &= some - 1 {
		at := uint32(bits.TrailingZeros32(some))
		t := k.slot(simd<<4 | at/2)
		if !t.gfx9.on {
			t.begin9()
		}
		if t.lost {
			t.pair(now)
		}
		if t.deaf {
			continue
		}
		switch states >> at & 3 {
		case 1:
			if len(t.gfx9.stalls) < maxEarlyPCs {
				t.gfx9.stalls = append(t.gfx9.stalls, now)
			}
		case 2:
			*k.add(t) = Inst{Time: now}
			t.gfx9.open = append(t.gfx9.open, t.first+len(t.insts)-1)
		case 3:
			k.immediate9(t, now)
		}
	}
}

// immediate9 takes an ISSUE's state "immediate" of a wave.
func (k *walk) immediate9(t *tracedWave, now Cycles) {
	time := now
	if n := len(t.insts); n > 0 && t.insts[n-1].Category != CategoryNone {
		t.insts[n-1].limit(now)
		time = min(now, t.insts[n-1].end())
	}
	dur := 4 + uint32(min(now-time, maxDur-4))
	*k.add(t) = Inst{Time: time, Stall: dur, Dur: dur, Category: CategoryImmed}
	k.place9(t)
}

func (in *Inst) end() Cycles { return in.Time + Cycles(in.Dur) }

// limit ends a record at the given time, but lets it last 4 clocks.
func (in *Inst) limit(at Cycles) {
	if at < in.end() {
		in.Dur = uint32(max(at-in.Time, 4))
		in.Stall = min(in.Stall, in.Dur)
	}
}

// type9 takes an INST of a wave, which tells what its oldest untyped record is.
func (k *walk) type9(t *tracedWave, op uint8, simd uint8, now Cycles) {
	o := &gfx9Ops[op]
	if t.standby && op == 7 { // the trap handler goes back
		t.standby = false
		k.unlink(t)
		k.jump(t, len(t.insts)-1)
		k.settle(t)
		return
	}
	if t.deaf || len(t.gfx9.open) == 0 || o.category == CategoryNone {
		return
	}
	i := t.gfx9.open[0] - t.first
	t.gfx9.open = shift(t.gfx9.open, 1)
	switch o.category {
	case categoryReplay:
		k.replay(t, i, op, now)
		return
	case categoryTrap:
		t.insts[i].Category, t.insts[i].Dur = CategoryContext, 4
		t.standby = true
		k.settle(t)
		k.place9(t)
		return
	}
	in := &t.insts[i]
	issue := in.Time
	in.Category, in.newPC = o.category, op == 7
	if n := len(t.insts); n >= 2 && issue < t.insts[n-2].end() {
		k.phase9++
	}
	before := Cycles(0)
	if i > 0 {
		t.insts[i-1].limit(issue)
		before = t.insts[i-1].end()
	}
	late := max(0, now-issue-k.slack9(o.category, in.newPC, simd))
	// Of the stalls that came before the issue the last one counts, but not from before the previous record's end.
	used, start := 0, issue
	for used < len(t.gfx9.stalls) && t.gfx9.stalls[used] < issue {
		start = max(t.gfx9.stalls[used], before)
		used++
	}
	t.gfx9.stalls = shift(t.gfx9.stalls, used)
	in.Time = start
	in.Stall = uint32(min(max(0, issue-start), maxDur/2))
	in.Dur = uint32(min(max(4, issue-start+4+late), maxDur))
	k.place9(t)
}

// shift is a list without its first n. Most have no more.
func shift[T any](list []T, n int) []T {
	if n > 0 && n < len(list) {
		copy(list, list[n:])
	}
	return list[:len(list)-n]
}

// replay takes the INST of a memory access that is done again: record i goes, and the last one of its kind before, unless it was
// given already, lasts until here.
func (k *walk) replay(t *tracedWave, i int, op uint8, now Cycles) {
	kind := [...]Category{CategorySMEM, CategoryVMEM, CategoryFLAT}[(op-19)/2]
	for j := i - 1; j >= max(t.sent, i-skipLimit); j-- {
		if in := &t.insts[j]; in.Category == kind {
			if longer := min(now+4-in.Time, maxDur); longer > Cycles(in.Dur) {
				in.Stall += uint32(longer) - in.Dur
				in.Dur = uint32(longer)
			}
			break
		}
	}
	t.insts = slices.Delete(t.insts, i, i+1)
	for j := range t.gfx9.open {
		t.gfx9.open[j]--
	}
	k.place9(t)
}

// slack9 is how long after its ISSUE an INST may come before the instruction counts as longer. Hardware types instructions in a
// beat of 4 clocks per SIMD that the trace does not show. AMD's decoder guesses its phase: it moves on whenever a wave
// issues before its record before has ended. The guess is kept, so that durations agree.
func (k *walk) slack9(c Category, newPC bool, simd uint8) Cycles {
	phase := (k.phase9 + uint32(simd)) % 4
	switch c {
	case CategorySMEM:
		phase += 5
	case CategorySALU:
		if !newPC {
			phase += 5
		}
	case CategoryVALU:
		phase += 2
	case CategoryLDS, CategoryJump, CategoryNext, CategoryMessage:
		phase++
	}
	return Cycles(phase / 4 * 4)
}

// place9 gives records their places up to the first one without a type.
func (k *walk) place9(t *tracedWave) {
	for !t.waiting {
		i := t.gfx9.placed - t.first
		if i >= len(t.insts) || t.insts[i].Category == CategoryNone {
			break
		}
		t.gfx9.placed++
		in := &t.insts[i]
		if t.at == nodeNowhere || in.Category == CategoryContext || !k.step(t, in) {
			k.place(t, i)
		}
	}
}

// end9 ends a wave: s_endpgm lasts until then.
func (k *walk) end9(t *tracedWave, now Cycles) {
	if n := len(t.insts); n > 1 && t.insts[n-1].Category == CategoryMessage {
		in := &t.insts[n-1]
		end := max(in.end(), now)
		in.Time = t.insts[n-2].end()
		in.Stall = 0
		in.Dur = uint32(min(max(0, end-in.Time), maxDur))
	}
}
