package shader

import "github.com/rigprof/rigprof/internal/isa"

// What waves of a workgroup wait for: barriers, each other's wake-up calls, and through [wave.await] whatever else.

// barrier counts signals; it completes, and its phase advances, when all members have signalled.
type barrier struct {
	phase, signals, members int
}

// complete ends the phase if enough have signalled.
func (b *barrier) complete() {
	if b.signals > 0 && b.signals >= b.members {
		b.phase++
		b.signals = 0
	}
}

// namedBarriers is how many a workgroup has. LLVM takes the instructions for gfx12 and the RDNA4 document has none of
// these barriers, so their number and their working are those of AMD's document of gfx1250 (CDNA5, 5.6.2); no hardware
// has confirmed either for gfx1200.
const namedBarriers = 16

// Barrier numbers of the instructions.
const (
	barrierGroup = -1
	barrierTrap  = -2 // for trap handlers
)

// syncState is what a wave knows about synchronization.
type syncState struct {
	seen      int // phase of the workgroup's barrier that it last passed; behind it: BARRIER_COMPLETE
	seenTrap  int
	seenNamed int
	named     int32 // the barrier that it has joined, 0: none

	asleep bool // until woken
	credit bool // woken while awake: the next sleep ends at once

	await   func(w *wave) bool // stopWait: tells whether the wave may go on, and takes what it waited for
	outside bool               // on something that other workgroups do
	prio    uint32             // s_setprio's
	ordered bool               // its ordered count is done
}

// inGroup tells whether barriers mean anything: one wave is no workgroup to the hardware.
func (g *group) inGroup() bool { return g.count() > 1 }

// arrive signals the workgroup's barrier for a wave that will wait for it.
func (w *wave) arrive() {
	w.seen = w.g.user.phase
	w.g.user.signals++
	w.g.user.complete()
}

// wait passes the workgroup's barrier or stops at it.
func (w *wave) wait() {
	if w.g.user.phase > w.seen {
		w.seen = w.g.user.phase
		return
	}
	w.stop = stopBarrier
}

// suspend stops the wave until ready says that it may go on. ready is asked in a fixed order of waves.
func (w *wave) suspend(outside bool, ready func(w *wave) bool) {
	if ready(w) {
		return
	}
	w.await, w.outside, w.stop = ready, outside, stopWait
}

// ready tells whether a wave that stopped may go on.
func (w *wave) ready() bool {
	switch w.stop {
	case stopEnd:
		return false
	case stopBarrier:
		if w.g.user.phase <= w.seen {
			return false
		}
		w.seen = w.g.user.phase
	case stopWait:
		return w.await(w)
	}
	return true
}

// barrierID is the barrier that an instruction means. M0 names only those with numbers above 0, and brings a member
// count.
func barrierID(w *wave, u *uop) (id int32, members int) {
	if u.a.kind == fromS && u.a.reg == w.m0 {
		m0 := w.s[w.m0]
		return int32(m0 & 31), int(m0 >> 16 & 0x7f)
	}
	return int32(w.s32(&u.a)), 0
}

// barrier is the state of a barrier, nil where the wave may not use it.
func (w *wave) barrier(id int32) *barrier {
	switch {
	case !w.g.inGroup():
	case id == barrierGroup:
		return &w.g.user
	case id == barrierTrap && w.priv:
		return &w.g.trap
	case id > 0 && id <= namedBarriers:
		return &w.g.named[id]
	}
	return nil
}

func runBarrierSignal(w *wave, u *uop) {
	first := u.x.name == "s_barrier_signal_isfirst"
	id, members := barrierID(w, u)
	b := w.barrier(id)
	if b == nil {
		if first {
			w.scc = 0
		}
		return
	}
	if id > 0 && members != 0 {
		b.members = members
	}
	if first {
		w.scc = b2u(b.signals == 0)
	}
	b.signals++
	b.complete()
}

func runBarrierWait(w *wave, u *uop) {
	if !w.g.inGroup() {
		return
	}
	switch id := int32(u.imm); {
	case id == barrierGroup:
		w.wait()
	case id < barrierGroup:
		if w.priv {
			w.suspend(false, func(w *wave) bool {
				if w.g.trap.phase <= w.seenTrap {
					return false
				}
				w.seenTrap = w.g.trap.phase
				return true
			})
		}
	case w.named != 0:
		w.suspend(false, func(w *wave) bool {
			if w.g.named[w.named].phase <= w.seenNamed {
				return false
			}
			w.seenNamed = w.g.named[w.named].phase
			return true
		})
	}
}

// namedBarrier is the named barrier of the instruction, nil for others.
func namedBarrier(w *wave, u *uop) (b *barrier, id int32, members int) {
	id, members = barrierID(w, u)
	if id > 0 {
		b = w.barrier(id)
	}
	return b, id, members
}

func runBarrierInit(w *wave, u *uop) {
	if b, _, members := namedBarrier(w, u); b != nil {
		if members != 0 {
			b.members = members
		}
		b.signals = 0
	}
}

func runBarrierJoin(w *wave, u *uop) {
	if b, id, _ := namedBarrier(w, u); b != nil {
		w.named, w.seenNamed = id, b.phase
	} else if id == 0 {
		w.named = 0
	}
}

func runBarrierLeave(w *wave, _ *uop) {
	id := w.named
	w.named = 0
	if !w.g.inGroup() {
		w.scc = 0
		return
	}
	if id == 0 { // the null barrier
		w.scc = 1
		return
	}
	b := &w.g.named[id]
	b.members = max(b.members-1, 0)
	w.scc = b2u(b.members == 0)
	b.complete()
}

// runBarrierState reads {signals[22:16], members[10:4], valid[0]}.
func runBarrierState(w *wave, u *uop) {
	id, _ := barrierID(w, u)
	v := uint32(0)
	if id == barrierTrap && w.g.inGroup() { // reading needs no privilege
		v = w.g.trap.state()
	} else if b := w.barrier(id); b != nil {
		v = b.state()
	}
	w.sset(u.sd, v)
}

func (b *barrier) state() uint32 {
	return uint32(b.signals)&0x7f<<16 | uint32(b.members)&0x7f<<4 | 1
}

// runSleep: RDNA4 knows sleep without end, in bit 15. Other sleep takes time alone.
func runSleep(w *wave, u *uop) {
	if w.arch != isa.RDNA4 || u.imm&0x8000 == 0 {
		w.credit = false
		return
	}
	if w.credit {
		w.credit = false
		return
	}
	w.asleep = true
	w.suspend(false, func(w *wave) bool { return !w.asleep })
}

// runWakeup wakes the workgroup's other waves, or those that have joined a named barrier.
func runWakeup(w *wave, u *uop) {
	id := int32(0)
	if u.x.name == "s_wakeup_barrier" {
		if id, _ = barrierID(w, u); id <= 0 {
			return
		}
	}
	for _, o := range w.g.waves[:w.g.count()] {
		if o == w || id != 0 && o.named != id {
			continue
		}
		o.credit = !o.asleep
		o.asleep = false
	}
}
