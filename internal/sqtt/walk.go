package sqtt

import (
	"math"
	"math/bits"
	"reflect"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Walker decodes a stream as a [WaveDecoder] does and walks the traced waves' instructions besides: it gives each record
// its place in the code.
//
// A wave starts where the COMPUTE_PGM registers of its queue point at. From there each record takes the next instruction
// that sends one; records of branches say whether they were taken, and jumps to computed addresses are followed by
// tokens with the address, which may be late. Behind a loss, addresses are left out until the records fit one place alone.
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
	same := k.waves != nil && sameCode(k.cache.code, code)
	if !same || k.cache.full {
		k.cache.begin(code)
	}
	k.finder.begin(code, same)
	if k.waves == nil {
		k.waves, k.used = new([64]tracedWave), math.MaxUint64
		for i := range k.waves {
			k.slots[i] = &k.waves[i]
		}
	}
	for ; k.used != 0; k.used &= k.used - 1 {
		t := &k.waves[bits.TrailingZeros64(k.used)]
		t.live, t.at = false, nodeRare // begin does the rest
	}
	k.emit, k.lost, k.holes = emit, 0, k.holes[:0]
	k.trace = trace{cu: uint32(o.CU), dprate: 1, phase9: 3}
	w.WaveDecoder.walk = k
}

// sameCode says whether both are known to be the same; those of a type that cannot be compared are not.
func sameCode(a, b Code) bool {
	return a == nil && b == nil || a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

// walk is the state of the traced waves of a stream.
type walk struct {
	cache codeCache
	emit  func(*WaveInsts)
	out   WaveInsts
	lost  int64 // losses so far that may have taken records
	trace
	finder finder
	holes  []emptyBytes // in what the walk has yet to come to

	waves *[64]tracedWave
	slots [64]*tracedWave // of waves, by slot; on GFX9 by SIMD and slot
	used  uint64          // a bit for each that began a wave
}

// trace is what a stream's tokens say of the trace.
type trace struct {
	cu                uint32 // GFX9: target CU
	phase9            uint32 // GFX9: see slack9
	dsa, dwgp, dsimd  uint8  // RDNA: the traced SIMD
	noBarrierWait     bool   // barrier waits send nothing
	dprate, dprateRed uint8  // clocks of double-precision operations; derated
	programs          [4][4]struct{ lo, hi uint32 }
}

// tracedWave is one wave of a traced SIMD. What every record needs stands first, in one cache line.
type tracedWave struct {
	at    nodeID    // where the next record belongs; nodeRare also where it is run that cannot take it
	ready [2]Cycles // since when it stands ready for the next record: of a unit, never where it did not have to wait; of none
	insts []Inst

	waveState
	page *codePage
	pcs  []uint64 // addresses that came before they were needed
	gfx9 wave9State
	look *lookout // of one that is or was lost

	_ [24]byte // so that none's first fields are in two cache lines
}

// waveState is what of a tracedWave is anew for each wave, with no pointers: so it is quickly set.
type waveState struct {
	live    bool
	ended   bool   // and only an address is awaited
	standby bool   // in the trap handler
	deaf    bool   // standby or ended: records are not the wave's
	stale   bool   // it stood ready for so long that the next record takes the long way
	waiting bool   // for a token with the address of record from; those behind it wait, too
	again   bool   // the instruction at pc sent its first record of two
	lost    bool   // its place is not known, and looked for
	pc      uint64 // if at does not say, where the wave stands; 0: not known
	from    int    // the first of the records that wait, or are kept back until the wave is found

	wave    Wave
	startPC uint64
	first   int // records given already and dropped
	sent    int // of insts, given already

	doubt doubt // why its place is not known, or was not
	found bool  // it was found at least once
}

// never is later than any time, as times compare without sign.
const never Cycles = -1

// Slots of tracedWave.ready.
const (
	readyUnit   = iota // for what a unit runs: since the WAVE_READY token
	readyNoUnit        // for what none runs: since the record before ended
)

const (
	// partRecords is how many records of a wave are kept before they are given in part: few, so that all waves' stay in the
	// second-level cache.
	partRecords = 1 << 9
	// maxRecords is how many are kept where an address or, on GFX9, types are yet to come.
	maxRecords = 1 << 14
)

// maxEarlyPCs bounds the addresses kept ahead of their use; a real trace has one or two.
const maxEarlyPCs = 64

// slot is the wave in a slot; one that nobody saw start where there is none.
func (k *walk) slot(i uint32) *tracedWave {
	t := k.slots[i%64]
	if !t.live {
		k.begin(i, &Wave{Start: -1, Slot: uint8(i)}, 0)
		k.unseen(t)
	}
	return t
}

// begin makes a traced wave of a slot's.
func (k *walk) begin(i uint32, w *Wave, pc uint64) {
	t := k.renew(i, pc)
	t.at, t.pc = nodeRare, pc
	t.setReady(never)
	if cap(t.insts) < partRecords { // which rdnaRun's assembly takes for granted
		t.insts = make([]Inst, 0, partRecords)
	}
	t.insts = t.insts[:0:partRecords]
	t.wave.set(w)
	t.wave.Stop = -1
	k.settle(t)
}

// renew makes all of a slot's traced wave anew but what every record needs.
func (k *walk) renew(i uint32, startPC uint64) *tracedWave {
	t := k.slots[i%64]
	k.used |= 1 << (i % 64)
	t.waveState = waveState{live: true, startPC: startPC}
	t.page, t.pcs = k.cache.last, t.pcs[:0]
	t.gfx9.on, t.gfx9.placed = false, 0
	t.gfx9.stalls, t.gfx9.open = t.gfx9.stalls[:0], t.gfx9.open[:0]
	return t
}

// start takes a WAVE_START of the traced SIMD.
func (k *walk) start(i uint32, w *Wave) {
	t := k.slots[i%64]
	if t.live {
		k.give(t, true)
	}
	p := k.programs[w.ME&3][w.Pipe&3]
	k.begin(i, w, (uint64(p.hi)<<40|uint64(p.lo)<<8)&(1<<48-1))
	if k.lost > 0 || t.startPC == 0 {
		k.uncertain(t)
	}
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
	live := t.live
	switch {
	case step == contextNone:
		return false
	case step == contextSave && live && !t.ended:
		if !t.standby {
			*k.add(t) = Inst{Time: now, Dur: 1, Category: CategoryContext}
			t.ready[readyNoUnit] = now + 1
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
			t.ready[readyNoUnit] = in.end()
		}
		t.standby = true
		k.settle(t)
	}
	return true
}

// stop takes a WAVE_END.
func (k *walk) stop(i uint32, now Cycles) {
	t := k.slots[i%64]
	if !t.live {
		return
	}
	if t.wave.Start < 0 && len(t.insts) == 0 && t.first == 0 {
		t.live, t.at = false, nodeRare
		return
	}
	t.wave.Stop = now
	if t.gfx9.on {
		k.end9(t, now)
	} else if end := t.ready[readyNoUnit]; end != never && end < now && !t.standby { // s_endpgm sends nothing but the wave's end
		n := len(t.insts)
		t.insts = append(t.insts, Inst{})
		in := &t.insts[n]
		in.Time, in.Dur, in.Category = end, uint32(min(now-end, maxDur)), CategoryMessage
		k.placeEnd(t)
	}
	if t.waiting {
		t.ended = true
		k.settle(t)
		return
	}
	k.give(t, true)
}

// placeEnd is place for a wave's s_endpgm: quickly where it stands there.
func (k *walk) placeEnd(t *tracedWave) {
	last := len(t.insts) - 1
	if pc := k.cache.start(t.at); pc != 0 && !t.waiting && !t.again && !t.lost {
		if at := k.cache.at(&t.page, pc); at != nil && at.Step == StepEnd {
			t.insts[last].PC = pc
			return
		}
	}
	k.place(t, last)
	k.checkEnd(t)
}

// checkEnd tells of an RDNA wave whose last record is not of an s_endpgm, though none of its records is known to be missing.
func (k *walk) checkEnd(t *tracedWave) {
	last := &t.insts[len(t.insts)-1]
	if t.doubt != doubtNone || t.waiting || last.PC == 0 {
		return
	}
	if at := k.cache.at(&t.page, last.PC); at != nil && at.Step != StepEnd {
		k.finder.unplaced.Unfit++
		t.doubt = doubtCode
	}
}

// maxDur limits durations to their field.
const maxDur = 1<<32 - 1

// give gives a wave's records.
func (k *walk) give(t *tracedWave, last bool) {
	if last && t.lost {
		k.conclude(t, t.placed())
	}
	n := len(t.insts)
	if !last {
		n-- // the newest may still change
	}
	sent := min(t.sent, n)
	if t.doubt != doubtNone {
		k.unplacedIn(t, t.insts[sent:n])
	}
	if k.emit != nil {
		o := &k.out
		o.StartPC, o.First, o.Last, o.Insts, o.Open = t.startPC, t.first+sent, last, t.insts[sent:n], nil
		o.Wave.set(&t.wave)
		k.emit(o)
	}
	if last {
		t.live, t.at = false, nodeRare
		t.insts = t.insts[:0]
		return
	}
	t.first += n
	t.sent = max(t.sent-n, 0)
	t.insts = append(t.insts[:0:min(cap(t.insts), partRecords)], t.insts[n])
}

// finish gives the waves that the stream leaves running.
func (k *walk) finish() {
	for i := k.used; i != 0; i &= i - 1 {
		if t := k.slots[bits.TrailingZeros64(i)%64]; t.live {
			k.give(t, true)
		}
	}
}

// add appends a record, its fields not set.
func (k *walk) add(t *tracedWave) *Inst {
	n := len(t.insts)
	if n == cap(t.insts) {
		k.grow(t)
		n = len(t.insts)
	}
	t.insts = t.insts[:n+1]
	return &t.insts[n]
}

// grow makes room for a record, by giving those that have nothing to wait for.
func (k *walk) grow(t *tracedWave) {
	n := len(t.insts)
	if n >= maxRecords || n >= partRecords && !t.waiting && !t.lost && !t.gfx9.on {
		k.part(t)
		n = len(t.insts)
	}
	if n == cap(t.insts) {
		grown := make([]Inst, n, max(partRecords, 2*n))
		copy(grown, t.insts)
		t.insts = grown
	}
}

// part gives a long wave's records but the newest, also where addresses or types that they wait for did not come.
func (k *walk) part(t *tracedWave) {
	if n := len(t.insts); (t.gfx9.on || t.waiting || t.lost) && t.final(t.gfx9.on, -1) > n/2 { // the few behind have time yet
		k.flush(t, t.gfx9.on, -1)
		return
	}
	lost := t.lost || t.waiting || len(t.gfx9.open) > 0
	if t.waiting {
		t.waiting, t.from = false, 0
		k.settle(t)
	}
	if len(t.gfx9.open) > 0 {
		t.gfx9.open = t.gfx9.open[:0]
		t.gfx9.placed = t.first + len(t.insts)
		k.unlink(t)
		t.pc = 0
		k.settle(t)
	}
	k.give(t, false)
	if lost && t.sought() && k.cache.code != nil {
		k.lookFor(t, t.doubt, len(t.insts), 0)
	}
}

// issue takes an INST or VALU_INST of a wave.
func (k *walk) issue(t *tracedWave, c Category, clocks uint32, newPC bool, now Cycles) {
	if t.deaf {
		return
	}
	time := t.readyAt(readyUnit, now)
	stall := uint32(min(uint64(now-time), maxDur-255))
	t.setReady(now + Cycles(clocks))
	in := k.add(t)
	in.Time, in.Stall, in.Dur, in.Category, in.newPC = time, stall, clocks+stall, c, newPC
	if t.stale {
		t.stale = false
		k.settle(t)
	}
	k.locate(t, in)
}

// setReady makes the wave ready from the end of its newest record on.
func (t *tracedWave) setReady(end Cycles) { t.ready[readyUnit], t.ready[readyNoUnit] = never, end }

// readyAt is since when a wave whose record came now was ready for it.
func (t *tracedWave) readyAt(unit int, now Cycles) Cycles {
	return Cycles(min(uint64(now), uint64(t.ready[unit])))
}

// locate gives the newest record its place: as place does, but quickly where nothing is unusual.
func (k *walk) locate(t *tracedWave, in *Inst) {
	if !k.step(t, in) {
		in.PC = 0
		k.place(t, len(t.insts)-1)
	}
}

// step gives a record the place where its wave stands and moves on; false where that needs thought.
func (k *walk) step(t *tracedWave, in *Inst) bool {
	if t.at > nodeRare {
		if to := k.cache.follow(&t.page, t.at); to != nodeRare {
			t.at = to
		}
	}
	if t.at >= nodeRare || in.newPC {
		return false
	}
	s := &k.cache.nodes[t.at/nodeSize]
	in.PC = s.pc
	t.at = s.succ[0]
	if in.Category == CategoryJump {
		t.at = s.succ[1]
	}
	return true
}

// unlink leaves the nodes: t.pc alone says where the wave stands.
func (k *walk) unlink(t *tracedWave) {
	if start := k.cache.start(t.at); start != 0 {
		t.pc = start
	}
	t.at = nodeRare
}

// immediate takes an IMM_ONE, or a wave's bit of an IMMEDIATE.
func (k *walk) immediate(t *tracedWave, now Cycles) {
	if t.deaf {
		return
	}
	time := t.readyAt(readyNoUnit, now)
	stall := uint32(min(uint64(now-time), maxDur-1))
	t.setReady(now + 1)
	in := k.add(t)
	in.Time, in.Stall, in.Dur, in.Category, in.newPC = time, stall, stall+1, CategoryImmed, false
	if t.stale {
		t.stale = false
		k.settle(t)
	}
	k.locate(t, in)
}

// ready takes a wave's bit of a WAVE_READY. On GFX11 it counts as one clock earlier, and so before a record of the same
// clock that came first.
func (k *walk) ready(t *tracedWave, now Cycles, gfx12 bool) {
	if !gfx12 {
		if n := len(t.insts); t.ready[readyUnit] == never && n > 0 && !t.deaf {
			in := &t.insts[n-1]
			switch {
			case in.Time+Cycles(in.Stall) != now:
			case in.Category == CategoryImmed:
				return
			default:
				in.Dur -= in.Stall
				in.Time, in.Stall = now-1, 1
				in.Dur++
				return
			}
		}
		now--
	}
	t.ready[readyUnit] = now
}

// newPC takes the address that a wave goes on at.
func (k *walk) newPC(t *tracedWave, pc uint64) {
	k.unlink(t)
	switch {
	case t.lost: // it may be of a jump that was lost, too
		t.pcs, t.look.token = append(t.pcs[:0], pc), t.first+len(t.insts)
	case t.waiting:
		t.waiting, t.pc = false, pc
		if k.doubts(t) {
			k.tryAt(t, pc, t.from)
		}
		k.placeWaiting(t)
	case t.pc == 0:
		t.pc = pc
	case len(t.pcs) < maxEarlyPCs:
		t.pcs = append(t.pcs, pc)
	}
	k.settle(t)
	if t.ended && !t.waiting {
		k.give(t, true)
	}
}

// placeWaiting places the records that waited for an address, up to the next one behind which it does again.
func (k *walk) placeWaiting(t *tracedWave) {
	if t.gfx9.on {
		k.place9(t)
		return
	}
	for i := t.from; i < len(t.insts) && !t.waiting; i++ {
		i += k.place(t, i)
	}
}

// slotOf is where the walk keeps the wave of a slot; false where its instructions are not traced.
func (k *walk) slotOf(key slotKey, bits *waveBits, f gpu.Family) (uint32, bool) {
	u := uint32(key)
	if f == gpu.GFX9 { // cu 0..3, slot 4..7, simd 8..9
		return walkSlot9(key), u&15 == k.cu
	}
	unit, mask := k.unit(bits)
	return u >> bits.slot, u&mask == unit
}

// any takes a token of any kind.
func (k *walk) any(p *Packet) {
	if k.cache.full {
		k.forget()
	}
	switch {
	case p.Kind == KindUnknown,
		p.Kind == KindTimestamp && p.Raw>>8&1 != 0,
		p.Family == gpu.GFX9 && p.Kind == KindMisc && p.Raw>>13 == misc9Lost:
		k.loss(p.Time)
	case p.Family == gpu.GFX9:
		k.token9(p.Kind, p.Raw, p.Time)
	default:
		k.token(p.Kind, p.Family == gpu.GFX12, p.Raw, p.Hi, p.Time)
	}
}
