package timing

import (
	"math/bits"

	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/isa"
)

const maxSlots = 32

// simd is one SIMD with its waves, the oldest first.
type simd struct {
	m        *Machine
	u        *unit
	cu, no   int
	index    int
	detail   bool // its instructions are wanted
	watched  bool // or those of the SIMD that shares its memory path
	listed   bool // in Machine.active
	n        int
	next     int64 // earliest issue of any wave
	at       [maxSlots]int64
	port     [maxSlots]uint8
	waves    [maxSlots]*wave
	free     [8]int64 // when each unit takes the next instruction; numPorts of them
	woken    bool     // a barrier let waves go
	matrix   int64    // when the matrix unit will have done what is queued
	used     int      // slots
	slots    uint32   // mask of them
	nextSlot int      // gfx9
	vgprs    int      // free
	slotFree int64
}

// partner is the SIMD that shares the memory path.
func (s *simd) partner() *simd { return s.u.simds[s.no^2] }

// run issues what the SIMD's waves can issue before end.
func (s *simd) run(end int64) {
	ready := s.before(end)
	for {
		best, bt := -1, end
		for r := ready; r != 0; r &= r - 1 {
			i := bits.TrailingZeros32(r)
			t := max(s.at[i&(maxSlots-1)], s.free[s.port[i&(maxSlots-1)]&7])
			if t < bt {
				best, bt = i, t
			}
		}
		if best < 0 {
			break
		}
		n := s.n
		s.issue(best, bt)
		switch {
		case s.n != n || s.woken:
			ready = s.before(end)
		case s.at[best] >= end:
			ready &^= 1 << best
		}
	}
	if s.detail && !s.m.gfx9 && len(s.m.observers) > 0 {
		s.waiting(end)
	}
	next := int64(never)
	for i := range s.at[:s.n] {
		t := s.at[i]
		if t != never {
			if f := s.free[s.port[i]]; f > t {
				t = f
			}
		}
		if t < next {
			next = t
		}
	}
	s.next = next
}

// before are the waves that could issue before end if their unit were free.
func (s *simd) before(end int64) (ready uint32) {
	s.woken = false
	for i, t := range s.at[:s.n] {
		if t < end {
			ready |= 1 << i
		}
	}
	return ready
}

// issue lets the instruction of wave i go at t.
func (s *simd) issue(i int, t int64) {
	w, m := s.waves[i], s.m
	o := &w.ops[w.cur]
	ready := s.at[i]
	s.free[o.port] = t + int64(o.busy)
	switch o.port {
	case portImm:
		s.free[portImm] = 0 // any number of waves at once
	case portMatrix:
		// Matrix instructions queue up, and wait in the queue for what they read and overwrite; others of the VALU come behind them.
		s.matrix = max(s.free[portVALU], t, w.written(o, t)) + int64(o.busy)
		s.free[portMatrix] = max(s.matrix-m.p.matrixQueue, t+m.p.step)
		s.free[portVALU] = s.matrix
	}
	if t > ready {
		w.st.N[StatWaitInst] += t - ready
		if o.port == portLDS {
			w.st.N[StatWaitInstLDS] += t - ready
		}
	}
	next := t + m.p.step
	execAt := t + int64(o.exec)
	switch o.do {
	case doALU:
		v := uint32(t+int64(o.late)) << 2
		if o.port == portMatrix {
			v = uint32(s.matrix+m.p.matrixLatency-m.p.valuVALU) << 2
		}
		switch o.port {
		case portSALU:
			v |= fromSALU
			w.salu = t
		default:
			w.valu = t
			for _, r := range o.src[:o.nscalar] {
				w.read[r-regScalar] = uint32(t) << 2
			}
		}
		for _, d := range o.dst[:o.ndst] {
			if v&3 != fromSALU && d.first >= regScalar {
				v = v&^3 | fromMask
				if d.first == regScalar+isa.VccLo {
					v = v&^3 | fromVCC
				}
				w.mask = t
			}
			for r := d.first; r < d.first+d.n; r++ {
				w.reg[r] = v
			}
		}
	case doSMEM, doVMEM, doLDS, doFlat:
		if o.mem && w.mem < len(w.log.Mem) {
			execAt = s.memory(w, o, &w.log.Mem[w.mem], t)
			w.mem++
		}
	case doWait:
		w.st.N[StatWaitAny] += t - w.base
		for c := range w.cnt {
			w.cnt[c].retire(t)
		}
		next = t + m.p.waitDone
	case doJoin:
		w.st.N[StatWaitAny] += t - w.base
	case doBarrier, doSignal:
		w.phase++
		w.waits = o.do == doBarrier
		w.barrier = o.pc
		w.g.arrive(t, w.g.left)
		if w.waits && w.phase <= w.g.phase {
			s.leaves(w)
		}
	case doBranch:
		next = t + m.p.branchNot
	case doData:
		s.sends(w, o, t)
	case doSleep:
		next = t + max(int64(o.sleep), m.p.step)
	}
	cur := w.cur
	taken, more := w.step()
	if taken && o.do == doBranch {
		next = t + m.p.branchTaken
	}
	for more && w.ops[w.cur].do == doDelay {
		if h := w.ops[w.cur].hint; h != 0 {
			next = w.hint(h, next)
		}
		var tk bool
		tk, more = w.step()
		taken = taken || tk
	}
	if s.watched && len(m.observers) > 0 {
		s.tell(w, &w.ops[cur], t, ready, execAt, taken)
	}
	if o.do == doEnd || !more {
		copy(s.at[i:], s.at[i+1:s.n])
		copy(s.port[i:], s.port[i+1:s.n])
		copy(s.waves[i:], s.waves[i+1:s.n])
		s.n--
		s.waves[s.n] = nil
		m.finish(w, t)
		return
	}
	w.told = false
	s.at[i], s.port[i] = w.prepare(next, taken)
	if s.detail && m.gfx9 && s.at[i] > w.base+m.p.step {
		s.stalls(w, w.base)
	}
}

// memory times a memory instruction and says when its unit began with it.
func (s *simd) memory(w *wave, o *sop, ref *shader.MemRef, t int64) (execAt int64) {
	m := s.m
	cu := &s.u.cus[s.cu]
	execAt = t + int64(o.exec)
	local := o.do == doLDS || ref.Space == shader.SpaceLDS
	switch {
	case o.do == doSMEM:
		done := m.scalar(s.u, ref, t, &w.st)
		w.cnt[o.cnt].push(done)
		w.st.N[StatLevelSMEM] += done - t
		if n := ref.Bytes / 4; !ref.Write && bits.OnesCount32(n) == 1 && n <= 16 {
			w.st.N[StatSMEM1+Stat(bits.TrailingZeros32(n))]++
		}
	case local:
		execAt = max(execAt, cu.ldsFree)
		lanes := int64(32)
		if w.code.wide {
			lanes = 64
		}
		done, cycles, conflict := m.localAccess(cu, ref, lanes, t)
		w.cnt[cntDS].push(done)
		w.st.N[StatLevelLDS] += done - t
		w.st.N[StatLDSActive] += cycles
		w.st.N[StatLDSConflict] += conflict
		switch {
		case o.do == doFlat:
			w.st.N[StatFlatLDS]++
		case ref.Atomic:
			w.st.N[StatLDSAtomic]++
		case ref.Write:
			w.st.N[StatLDSStore]++
		default:
			w.st.N[StatLDSLoad]++
		}
		if o.do == doFlat {
			w.cnt[o.cnt].push(done)
		}
	default:
		execAt = max(execAt, cu.vmemFree)
		ta, wait := w.st.N[StatCyclesTA], w.st.N[StatL2StoreWait]
		done := m.vector(s.u, s.cu, ref, t, &w.st)
		lines := lineStat(o.stat)
		w.st.N[lines] += int64(ref.Lines)
		if lines == StatL0AtomicRtn { // hardware counts their waits with those of loads
			w.st.N[StatL2LoadWait] += w.st.N[StatL2StoreWait] - wait
			w.st.N[StatL2StoreWait] = wait
		}
		if o.stat >= StatBufferLoad && o.stat <= StatBufferAtomicRtn {
			w.st.N[StatCyclesBuf] += w.st.N[StatCyclesTA] - ta
		}
		if !m.gfx9 {
			w.hold(o, t)
		}
		w.cnt[o.cnt].push(done)
		if o.do == doFlat {
			w.cnt[cntDS].push(done)
		}
		if ref.Write || ref.Atomic {
			w.acked = max(w.acked, done)
		}
		w.st.N[StatLevelVMEM] += done - t
		w.st.N[StatCyclesVMEM] += max(int64(ref.Lines), 1)
	}
	return execAt
}

// lineStat is what the lines of an instruction of a kind count as.
func lineStat(s Stat) Stat {
	switch s {
	case StatBufferStore, StatGlobalStore, StatFlatStore, StatScratchStore:
		return StatL0Store
	case StatBufferAtomic, StatGlobalAtomic, StatFlatAtomic:
		return StatL0Atomic
	case StatBufferAtomicRtn, StatGlobalAtomicRtn, StatFlatAtomicRtn:
		return StatL0AtomicRtn
	}
	return StatL0Load
}
