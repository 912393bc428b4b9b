package sqtt

import (
	"math/bits"
	"slices"
)

// skipLimit is how many instructions in a row may send nothing.
const skipLimit = 1000

// place gives record i its address and moves on. It tells how many records it put before it.
func (k *walk) place(t *tracedWave, i int) (added int) {
	if t.waiting || k.cache.code == nil || t.insts[i].Category == CategoryContext {
		return 0
	}
	k.unlink(t)
	if t.lost {
		added = k.look(t, i)
	} else if added = k.seek(t, i); t.pc == 0 && t.sought() && !t.waiting && !t.lost { // once more
		k.lookFor(t, t.doubt, i+1+added, 0)
	}
	k.settle(t)
	return added
}

// seek is place from t.pc on.
func (k *walk) seek(t *tracedWave, i int) (added int) {
	in := &t.insts[i]
	var at *cachedInsn
	for n := 0; t.pc != 0; n++ {
		at = k.cache.at(&t.page, t.pc)
		if at == nil || n > skipLimit || at.Step == StepEnd && in.Category != CategoryMessage {
			k.strays(t)
			break
		}
		if t.again {
			t.again = false
			if in.Category == CategoryImmed {
				break
			}
			t.pc += uint64(at.Size)
			continue
		}
		if at.Step == StepRecord || at.Step == StepEnd || at.Step == StepBarrier && !k.noBarrierWait {
			break
		}
		if at.Step == StepBarrier && i > 0 {
			k.barrier(t, i)
			i, added = i+1, added+1
			in = &t.insts[i]
		}
		t.pc += uint64(at.Size)
	}
	if t.pc == 0 {
		if in.newPC {
			k.jump(t, i)
		}
		return added
	}
	in.PC = t.pc
	switch {
	case in.newPC:
		k.jump(t, i)
	case at.Again && in.Category == CategoryMessage:
		t.again = true
	case in.Category == CategoryJump && at.Category != CategoryJump && at.Category != CategoryNone:
		t.pc = offCode
	case in.Category == CategoryJump:
		t.pc += uint64(at.Size) + uint64(int64(at.Offset))
	case at.Step == StepEnd:
	default:
		t.pc += uint64(at.Size)
	}
	return added
}

// settle finds the node of where a wave stands, unless place has to look closer, and brings deaf up to date.
func (k *walk) settle(t *tracedWave) {
	k.unlink(t)
	t.deaf = t.standby || t.ended
	switch {
	case t.deaf || !t.live || t.stale:
	case t.lost:
	case k.cache.code == nil || t.waiting || t.pc == 0: // there place does nothing
		t.at = nodeNowhere
	case !t.again:
		if t.at = k.cache.node(&t.page, t.pc); t.at != nodeRare {
			t.pc = 0
		}
	}
}

// forget forgets the code, where there came to be more than is kept.
func (k *walk) forget() {
	for i := k.used; i != 0; i &= i - 1 {
		t := k.slots[bits.TrailingZeros64(i)%64]
		k.unlink(t)
		t.page = &noPage
	}
	k.cache.begin(k.cache.code)
}

// hurry makes the next record of a wave that stands ready for very long by now take the long way, where durations are limited.
func (k *walk) hurry(now Cycles) {
	for i := k.used; i != 0; i &= i - 1 {
		t := k.slots[bits.TrailingZeros64(i)%64]
		for _, at := range t.ready {
			if uint64(at) <= uint64(now) && now-at >= longReady {
				t.stale = true
				k.unlink(t)
			}
		}
	}
}

// longReady leaves room for the time of a window below the limit of an Inst's Stall.
const longReady = 1 << 30

// jump goes on at the next address that tokens bring.
func (k *walk) jump(t *tracedWave, i int) {
	t.lost = false
	if len(t.pcs) > 0 {
		t.pc = t.pcs[0]
		t.pcs = slices.Delete(t.pcs, 0, 1)
		if k.doubts(t) {
			k.tryAt(t, t.pc, i+1)
		}
		return
	}
	t.pc, t.waiting, t.from = 0, true, i+1
}

// barrier puts a record for the barrier wait at t.pc before record i. It sends none itself: it lasts from the end of the
// record before to the start of the one behind, of which it takes a clock where there is nothing between.
func (k *walk) barrier(t *tracedWave, i int) {
	before, next := &t.insts[i-1], &t.insts[i]
	b := Inst{PC: t.pc, Time: before.Time + Cycles(before.Dur), Category: CategoryImmed}
	if next.Time > b.Time {
		b.Dur = uint32(min(next.Time-b.Time, maxDur))
	} else if next.Time == b.Time && next.Dur > 1 {
		b.Dur = 1
		next.Time++
		next.Dur--
		next.Stall -= min(next.Stall, 1)
	}
	t.insts = slices.Insert(t.insts, i, b)
}
