package sqtt

import (
	"reflect"
	"slices"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Walker decodes a stream as a [WaveDecoder] does and walks the traced waves' instructions besides: it gives each record
// its place in the code.
//
// A wave starts where the COMPUTE_PGM registers of its queue point at. From there each record takes the next instruction
// that sends one; records of branches say whether they were taken, and jumps to computed addresses are followed by
// tokens with the address, which may be late. After a loss the walk looks for the next instruction of the record's kind.
type Walker struct {
	WaveDecoder
	walk walk
}

// WalkOptions choose what is walked. The zero value walks CU 0 of GFX9 streams.
type WalkOptions struct {
	Header Header
	CU     int // GFX9: the unit traced in detail. RDNA streams tell themselves
}

// Walk walks a stream and calls emit for each traced wave's instructions, at the wave's end or, of long waves, in parts. A
// nil code leaves addresses out.
func Walk(f gpu.Family, o WalkOptions, buf []byte, code Code, emit func(*WaveInsts)) *Result {
	var w Walker
	w.Reset(f, o, code, emit)
	w.feed(buf, true)
	w.finish()
	return &w.res
}

// Reset makes the walker ready for a new stream. What it knows of the code is kept while the code is the same.
func (w *Walker) Reset(f gpu.Family, o WalkOptions, code Code, emit func(*WaveInsts)) {
	w.WaveDecoder.Reset(f, o.Header)
	k := &w.walk
	if !sameCode(k.cache.code, code) {
		k.cache = codeCache{code: code}
	}
	waves := k.slots
	*k = walk{cache: k.cache, emit: emit, cu: uint32(o.CU), dprate: 1, phase9: 3}
	for i := range waves {
		if waves[i] != nil {
			*waves[i] = tracedWave{insts: waves[i].insts[:0], pcs: waves[i].pcs[:0], gfx9: wave9State{stalls: waves[i].gfx9.stalls[:0], open: waves[i].gfx9.open[:0]}}
		}
	}
	k.slots = waves
	w.WaveDecoder.walk = k
}

// sameCode says whether both are known to be the same; those of a type that cannot be compared are not.
func sameCode(a, b Code) bool {
	return a == nil && b == nil || a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

// waveState is what a traced RDNA wave does between its records.
type waveState uint8

const (
	waveIdle waveState = iota
	waveExec
	waveStall
	waveWait
)

// walk is the state of the traced waves of a stream.
type walk struct {
	cache codeCache
	emit  func(*WaveInsts)
	out   WaveInsts
	lost  int64 // losses so far that may have taken records

	cu                uint32 // GFX9: target CU
	phase9            uint32 // GFX9: see slack9
	dsa, dwgp, dsimd  uint8  // RDNA: the traced SIMD
	noBarrierWait     bool   // barrier waits send nothing
	dprate, dprateRed uint8  // clocks of double-precision operations; derated
	programs          [4][4]struct{ lo, hi uint32 }

	slots [64]*tracedWave // by slot; on GFX9 by SIMD and slot
}

// tracedWave is one wave of a traced SIMD.
type tracedWave struct {
	live  bool
	ended bool // and only an address is awaited
	wave  Wave
	first int // records given already and dropped
	sent  int // of insts, given already
	insts []Inst

	startPC uint64
	at      *codeNode // where the next record belongs, unless nil
	pc      uint64    // then, where the wave stands; 0: not known
	page    *codePage
	waiting bool     // records from waitFrom on have no address until a token brings one
	from    int      // the first of them
	pcs     []uint64 // addresses that came before they were needed
	again   bool     // the instruction at pc sent its first record of two
	lost    int64    // walk.lost when the address was last certain

	standby bool // in the trap handler
	deaf    bool // standby or ended: records are not the wave's
	state   waveState
	since   Cycles
	end     Cycles // of the last record

	gfx9 wave9State
}

// maxRecords is how many records of a wave are kept before they are given in part.
const maxRecords = 1 << 14

// maxEarlyPCs bounds the addresses kept ahead of their use; a real trace has one or two.
const maxEarlyPCs = 64

// slot is the wave in a slot; one that nobody saw start where there is none.
func (k *walk) slot(i uint32) *tracedWave {
	t := k.slots[i%64]
	if t == nil {
		t = &tracedWave{}
		k.slots[i%64] = t
	}
	if !t.live {
		k.begin(t, Wave{Start: -1, Slot: uint8(i)}, 0)
	}
	return t
}

// begin makes a traced wave of a slot's.
func (k *walk) begin(t *tracedWave, w Wave, pc uint64) {
	insts, stalls, open := t.insts[:0], t.gfx9.stalls[:0], t.gfx9.open[:0]
	*t = tracedWave{live: true, wave: w, startPC: pc, pc: pc, insts: insts, page: &noPage, lost: k.lost, pcs: t.pcs[:0]}
	t.wave.Stop = -1
	t.gfx9.stalls, t.gfx9.open = stalls, open
	t.since, t.end = w.Start, -1
	k.settle(t)
}

// start takes a WAVE_START of the traced SIMD.
func (k *walk) start(i uint32, w Wave) {
	t := k.slots[i%64]
	if t == nil {
		t = &tracedWave{}
		k.slots[i%64] = t
	}
	if t.live {
		k.give(t, true)
	}
	p := k.programs[w.ME&3][w.Pipe&3]
	k.begin(t, w, (uint64(p.hi)<<40|uint64(p.lo)<<8)&(1<<48-1))
}

// contextStep is what a WAVE_START is that starts no wave.
type contextStep uint8

const (
	contextNone contextStep = iota // it starts one
	contextSave
	contextRestore
	contextOther
)

// contextStepOf is what the count of a WAVE_START says beside a number of lanes. Source: AMD rocprof-trace-decoder (MIT).
func contextStepOf(f gpu.Family, raw uint32) contextStep {
	if f == gpu.GFX9 {
		if raw>>22&127 > 64 {
			return contextSave
		}
		return contextNone
	}
	switch count := raw >> 25; {
	case count < 66 || count >= 90:
		return contextNone
	case count <= 67 || count == 70 || count == 71:
		return contextSave
	case count <= 75:
		return contextRestore
	}
	return contextOther
}

// context takes a WAVE_START that saves or restores a wave; false where it starts one. From the save on records are the trap
// handler's, until it goes back to an address that a token tells.
func (k *walk) context(i uint32, step contextStep, now Cycles) bool {
	t := k.slots[i%64]
	live := t != nil && t.live
	switch {
	case step == contextNone:
		return false
	case step == contextSave && live && !t.ended:
		if !t.standby {
			*k.add(t) = Inst{Time: now, Dur: 1, Category: CategoryContext}
			t.end = now + 1
		}
		t.standby = true
		k.settle(t)
	case step == contextRestore:
		if !live {
			t = k.slot(i)
			t.wave.Start = now
		}
		if n := len(t.insts); n > 0 && t.insts[n-1].Category == CategoryContext {
			in := &t.insts[n-1]
			in.Dur = uint32(min(max(Cycles(in.Dur), now+1-in.Time), maxDur))
			t.end = in.end()
		}
		t.standby = true
		k.settle(t)
	}
	return true
}

// stop takes a WAVE_END.
func (k *walk) stop(i uint32, now Cycles) {
	t := k.slots[i%64]
	if t == nil || !t.live {
		return
	}
	if t.wave.Start < 0 && len(t.insts) == 0 && t.first == 0 {
		t.live = false
		return
	}
	t.wave.Stop = now
	if t.gfx9.on {
		k.end9(t, now)
	} else if t.end >= 0 && t.end < now && !t.standby { // s_endpgm sends nothing but the wave's end
		t.insts = append(t.insts, Inst{Time: t.end, Dur: uint32(min(now-t.end, maxDur)), Category: CategoryMessage})
		k.place(t, len(t.insts)-1)
	}
	if t.waiting {
		t.ended = true
		k.settle(t)
		return
	}
	k.give(t, true)
}

// maxDur limits durations to their field.
const maxDur = 1<<32 - 1

// give gives a wave's records.
func (k *walk) give(t *tracedWave, last bool) {
	n := len(t.insts)
	if !last {
		n-- // the newest may still change
	}
	if sent := min(t.sent, n); k.emit != nil {
		k.out = WaveInsts{Wave: t.wave, StartPC: t.startPC, First: t.first + sent, Last: last, Insts: t.insts[sent:n]}
		k.emit(&k.out)
	}
	if last {
		t.live = false
		t.insts = t.insts[:0]
		return
	}
	t.first += n
	t.sent = max(t.sent-n, 0)
	t.insts = append(t.insts[:0], t.insts[n])
}

// finish gives the waves that the stream leaves running.
func (k *walk) finish() {
	for _, t := range k.slots {
		if t != nil && t.live {
			k.give(t, true)
		}
	}
}

// add appends a record, its fields not set.
func (k *walk) add(t *tracedWave) *Inst {
	n := len(t.insts)
	if n == cap(t.insts) || n >= maxRecords {
		k.grow(t)
		n = len(t.insts)
	}
	t.insts = t.insts[:n+1]
	return &t.insts[n]
}

// grow makes room for a record.
func (k *walk) grow(t *tracedWave) {
	k.part(t)
	if n := len(t.insts); n == cap(t.insts) {
		grown := make([]Inst, n, max(512, 2*n))
		copy(grown, t.insts)
		t.insts = grown
	}
}

// placeNew gives the newest record its place.
func (k *walk) placeNew(t *tracedWave) {
	k.place(t, len(t.insts)-1)
}

// part gives a long wave's records but the newest, also where addresses or types that they wait for did not come.
func (k *walk) part(t *tracedWave) {
	if len(t.insts) < maxRecords {
		return
	}
	if t.waiting {
		t.waiting, t.from = false, 0
		k.settle(t)
	}
	if len(t.gfx9.open) > 0 {
		t.gfx9.open = t.gfx9.open[:0]
		t.gfx9.placed = t.first + len(t.insts)
		t.pc = 0
	}
	k.give(t, false)
}

// issue takes an INST or VALU_INST of a wave.
func (k *walk) issue(t *tracedWave, c Category, clocks uint32, newPC bool, now Cycles) {
	if t.deaf {
		return
	}
	time, stall := now, uint32(0)
	if t.state == waveStall && t.since < now {
		time, stall = t.since, uint32(min(now-t.since, maxDur-255))
	}
	t.state, t.since, t.end = waveExec, now, now+Cycles(clocks)
	in := k.add(t)
	in.Time, in.Stall, in.Dur, in.Category, in.newPC = time, stall, clocks+stall, c, newPC
	k.locate(t, in)
}

// locate gives the newest record its place: as place does, but quickly where nothing is unusual.
func (k *walk) locate(t *tracedWave, in *Inst) {
	s := t.at
	if s == nil || in.newPC {
		in.PC = 0
		k.placeNew(t)
		return
	}
	in.PC = s.pc
	next := s.next
	if in.Category == CategoryJump {
		next = s.taken
	}
	t.at = next
	if next == nil {
		k.link(t, s, in.Category == CategoryJump)
	}
}

// link looks up where a wave goes on from a node.
func (k *walk) link(t *tracedWave, s *codeNode, taken bool) {
	t.pc = s.after
	if taken {
		t.pc = s.target
	}
	t.at = k.cache.node(&t.page, t.pc)
	if taken {
		s.taken = t.at
	} else {
		s.next = t.at
	}
}

// unlink leaves the nodes: t.pc alone says where the wave stands.
func (t *tracedWave) unlink() {
	if t.at != nil {
		t.pc, t.at = t.at.start, nil
	}
}

// immediate takes an IMM_ONE, or a wave's bit of an IMMEDIATE.
func (k *walk) immediate(t *tracedWave, now Cycles) {
	if t.deaf {
		return
	}
	time := now
	if t.end >= 0 && t.end < now {
		time = t.end
	}
	stall := uint32(min(now-time, maxDur-1))
	t.state, t.since, t.end = waveExec, now+1, now+1
	in := k.add(t)
	in.Time, in.Stall, in.Dur, in.Category, in.newPC = time, stall, stall+1, CategoryImmed, false
	k.locate(t, in)
}

// ready takes a wave's bit of a WAVE_READY. On GFX11 it counts as one clock earlier, and so before a record of the same
// clock that came first.
func (k *walk) ready(t *tracedWave, now Cycles, gfx12 bool) {
	if gfx12 {
		t.state, t.since = waveStall, now
		return
	}
	if t.state == waveExec && t.since == now && len(t.insts) > 0 {
		in := &t.insts[len(t.insts)-1]
		if in.Category != CategoryImmed && in.Time+Cycles(in.Stall) == now {
			in.Dur -= in.Stall
			in.Time, in.Stall = now-1, 1
			in.Dur++
			return
		}
	}
	if t.state == waveExec && t.since == now+1 { // an immediate of this clock
		return
	}
	t.state, t.since = waveStall, now-1
}

// newPC takes the address that a wave goes on at.
func (k *walk) newPC(t *tracedWave, pc uint64) {
	t.unlink()
	defer k.settle(t)
	if !t.waiting {
		if t.pc == 0 {
			t.pc, t.lost = pc, k.lost
		} else if len(t.pcs) < maxEarlyPCs {
			t.pcs = append(t.pcs, pc)
		}
		return
	}
	t.waiting, t.pc, t.lost = false, pc, k.lost
	for i := t.from; i < len(t.insts) && !t.waiting; i++ {
		i += k.place(t, i)
	}
	if t.ended && !t.waiting {
		k.give(t, true)
	}
}

// skipLimit is how many instructions in a row may send nothing; resynchronising, how many it looks through.
const skipLimit = 1000

// place gives record i its address and moves on. It tells how many records it put before it.
func (k *walk) place(t *tracedWave, i int) (added int) {
	if t.waiting || k.cache.code == nil || t.insts[i].Category == CategoryContext {
		return 0
	}
	t.unlink()
	defer k.settle(t)
	in := &t.insts[i]
	var at *cachedInsn
	for n := 0; t.pc != 0; n++ {
		at = k.cache.at(&t.page, t.pc)
		if at == nil || n > skipLimit {
			t.pc = 0 // off the code
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
			if t.lost == k.lost || accepts(at, in.Category) {
				break
			}
			if at.Wait || at.Step == StepEnd { // not to be skipped: the address is lost
				t.pc = 0
				break
			}
		}
		if at.Step == StepBarrier && k.noBarrierWait && i > 0 {
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
	t.lost = k.lost
	in.PC = t.pc
	switch {
	case in.newPC:
		k.jump(t, i)
	case at.Again && in.Category == CategoryMessage:
		t.again = true
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
	t.unlink()
	if t.pc != 0 && !t.waiting && !t.again && t.lost == k.lost && k.cache.code != nil {
		t.at = k.cache.node(&t.page, t.pc)
	}
	t.deaf = t.standby || t.ended
}

// jump goes on at the next address that tokens bring.
func (k *walk) jump(t *tracedWave, i int) {
	if len(t.pcs) > 0 {
		t.pc = t.pcs[0]
		t.pcs = slices.Delete(t.pcs, 0, 1)
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

// accepts says whether an instruction can have sent a record of a category. Source: AMD rocprof-trace-decoder (MIT).
func accepts(at *cachedInsn, c Category) bool {
	a := at.Category
	switch {
	case a == c:
		return true
	case a == CategoryJump:
		return c == CategoryNext
	case c == CategoryMessage:
		return a == CategoryImmed
	case c == CategoryFLAT:
		return a == CategoryVMEM
	case c == CategoryImmed:
		return a == CategoryVMEM || a == CategoryFLAT || a == CategoryLDS || a == CategoryVALU
	}
	return false
}

// slotOf is where the walk keeps the wave of a slot; false where its instructions are not traced.
func (k *walk) slotOf(key slotKey, bits *waveBits, f gpu.Family) (uint32, bool) {
	u := uint32(key)
	if f == gpu.GFX9 { // cu 0..3, slot 4..7, simd 8..9
		return u>>8<<4 | u>>4&15, u&15 == k.cu
	}
	return u >> bits.slot, u&(1<<bits.slot-1) == uint32(k.dsa)|uint32(k.dsimd)<<1|uint32(k.dwgp)<<3
}

// any takes a token of any kind.
func (k *walk) any(p *Packet) {
	switch {
	case p.Kind == KindUnknown,
		p.Kind == KindTimestamp && p.Raw>>8&1 != 0,
		p.Family == gpu.GFX9 && p.Kind == KindMisc && p.Raw>>13 == misc9Lost:
		k.lost++
		for _, t := range k.slots {
			if t != nil {
				t.unlink()
			}
		}
	case p.Family == gpu.GFX9:
		k.token9(p.Kind, p.Raw, p.Time)
	default:
		k.token(p.Kind, p.Family == gpu.GFX12, p.Raw, p.Hi, p.Time)
	}
}
