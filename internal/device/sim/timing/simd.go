package timing

import (
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
	free     [numPorts]int64 // when each unit takes the next instruction
	matrix   int64           // when the matrix unit has done what is queued
	used     int             // slots
	slots    uint32          // mask of them
	nextSlot int             // gfx9
	vgprs    int             // free
	slotFree int64
}

// partner is the SIMD that shares the memory path.
func (s *simd) partner() *simd { return s.u.simds[s.no^2] }

// group is a workgroup in flight.
type group struct {
	log     *shader.GroupLog
	u       *unit
	cu      int
	lds     [2]int // taken of each CU
	single  bool
	left    int // waves that have not ended
	gone    int // waves that gave back their slot
	arrived int
	latest  int64 // arrival at the barrier in progress
	phase   int   // barriers completed
	relAt   int64 // when the last one let waves go
	blocked []*wave
}

// ring holds when outstanding memory instructions of one counter are done, in the order in which the counter comes down.
type ring struct {
	t    [64]int64
	n    int // entries
	head int
	last int64
}

func (r *ring) push(t int64) {
	t = max(t, r.last)
	r.last = t
	if r.n == len(r.t) {
		r.head++
		r.n--
	}
	r.t[(r.head+r.n)&63] = t
	r.n++
}

// until is when at most n are outstanding.
func (r *ring) until(n int) int64 {
	if r.n <= n {
		return 0
	}
	return r.t[(r.head+r.n-n-1)&63]
}

// retire forgets what is done by t.
func (r *ring) retire(t int64) {
	for r.n > 0 && r.t[r.head&63] <= t {
		r.head++
		r.n--
	}
}

func (r *ring) reset() { r.n, r.head, r.last = 0, 0, 0 }

// wave replays one wave's log.
type wave struct {
	s     *simd
	g     *group
	code  *code
	log   *shader.WaveLog
	place Place
	slot  uint8

	piece  int   // index in log.Pieces
	count  int32 // times that the piece is still to run after this one
	cur    int32 // instruction
	end    int32 // behind the piece
	mem    int
	base   int64 // when it could issue if nothing held it
	phase  int   // barriers signalled
	waits  bool  // at a barrier without a wait instruction of its own
	jumped bool  // the next instruction is the target of a jump

	cnt   [numCnts]ring
	acked int64          // when its last store was acknowledged
	reg   [numRegs]int64 // issue time <<2 | producer, see Machine.latency
	st    Stats
}

func (m *Machine) newWave() *wave {
	if n := len(m.free); n > 0 {
		w := m.free[n-1]
		m.free = m.free[:n-1]
		clear(w.reg[:])
		for i := range w.cnt {
			w.cnt[i].reset()
		}
		w.piece, w.mem, w.phase, w.waits, w.jumped, w.acked = 0, 0, 0, false, false, 0
		w.st = Stats{}
		return w
	}
	return &wave{}
}

// launch starts the waves of a workgroup on the SIMDs in m.chosen.
func (m *Machine) launch(u *unit, c int, log *shader.GroupLog, at int64) {
	g := &group{}
	if n := len(m.freeGroup); n > 0 {
		g = m.freeGroup[n-1]
		m.freeGroup = m.freeGroup[:n-1]
		*g = group{blocked: g.blocked[:0]}
	}
	g.log, g.u, g.cu, g.left, g.single = log, u, c, len(log.Waves), len(log.Waves) == 1
	m.takeLDS(g)
	u.placed++
	cu := &u.cus[c]
	cu.placed++
	cu.next += len(log.Waves)
	if !g.single {
		cu.groups++
	}
	code := m.codeOf(log.Prog)
	for i := range log.Waves {
		s := m.chosen[i%len(m.chosen)]
		m.startWave(s, g, code, &log.Waves[i], at+int64(i)*m.p.wavePeriod, i == 0)
	}
}

func (m *Machine) takeLDS(g *group) {
	need := m.need.lds
	g.lds[g.cu] = min(need, g.u.cus[g.cu].lds)
	if rest := need - g.lds[g.cu]; rest > 0 && m.need.wgp {
		g.lds[1-g.cu] = rest
	}
	for i, n := range g.lds[:len(g.u.cus)] {
		g.u.cus[i].lds -= n
	}
}

func (m *Machine) startWave(s *simd, g *group, c *code, log *shader.WaveLog, at int64, first bool) {
	w := m.newWave()
	w.s, w.g, w.code, w.log = s, g, c, log
	slot := 0
	if m.gfx9 {
		slot = s.nextSlot
	}
	for s.slots>>slot&1 != 0 {
		slot = (slot + 1) % m.g.Slots
	}
	if m.gfx9 {
		s.nextSlot = (slot + 1) % m.g.Slots
	}
	s.slots |= 1 << slot
	s.used++
	s.vgprs -= m.need.vgprs
	w.slot = uint8(slot)
	w.place = Place{uint8(s.u.engine), uint8(s.u.sa), uint8(s.u.no), uint8(s.no), w.slot}
	w.st.Start = at
	if m.res.Start < 0 || at < m.res.Start {
		m.res.Start = at
	}
	m.res.Waves++
	m.res.Insts += log.Insts
	if log.Cut {
		m.res.Cut++
	}
	if len(m.observers) > 0 {
		m.events.add(Event{
			Time: at, Kind: WaveStart, Place: w.place, PC: m.kernel.Entry, Lanes: uint8(log.Lanes), VMID: uint8(m.kernel.VMID),
			Wide: c.wide, First: first, Flags: m.flags,
		})
	}
	if len(log.Pieces) == 0 {
		m.finish(w, at+m.p.warmStart)
		return
	}
	w.openPiece()
	i := s.n
	s.n++
	s.waves[i] = w
	miss := w.st.N[StatICacheMiss]
	pc := c.ops[w.cur].pc
	t := m.fetch(s.u, pc, at+m.p.warmStart, &w.st)
	if w.st.N[StatICacheMiss] > miss {
		t += m.p.coldStart - m.p.warmStart
		s.u.icache[pc>>codeShift&uint64(len(s.u.icache)-1)].ready = t
	}
	s.at[i], s.port[i] = w.prepare(t, false)
	s.next = min(s.next, s.at[i])
	if !s.listed {
		s.listed = true
		m.active = append(m.active, s)
	}
}

func (w *wave) openPiece() {
	p := &w.log.Pieces[w.piece]
	w.cur, w.end, w.count = p.First, p.First+p.N, p.Count-1
}

// step moves to the next instruction of the log. taken tells whether the one before jumped. ok is false at the log's end.
func (w *wave) step() (taken, ok bool) {
	w.cur++
	if w.cur < w.end {
		return false, true
	}
	p := &w.log.Pieces[w.piece]
	taken = p.Taken
	if w.count > 0 {
		w.count--
		w.cur = p.First
		return taken, true
	}
	w.piece++
	if w.piece >= len(w.log.Pieces) {
		return taken, false
	}
	w.openPiece()
	return taken, true
}

// prepare works out when the instruction at w.cur may issue if nothing else held the wave before t.
func (w *wave) prepare(t int64, jumped bool) (at int64, port uint8) {
	m := w.s.m
	o := &w.code.ops[w.cur]
	if o.line || jumped {
		t = m.fetch(w.s.u, o.pc, t, &w.st)
	}
	w.base = t
	if w.phase > w.g.phase && (w.waits || o.do == doJoin) {
		w.g.blocked = append(w.g.blocked, w)
		return never, o.port
	}
	if w.waits || o.do == doJoin {
		t = max(t, w.g.relAt)
		w.waits = false
	}
	lat := &m.latency
	for _, r := range o.src[:o.nsrc] {
		v := w.reg[r]
		if r := v>>2 + lat[v&3][o.by]; r > t && v != 0 {
			t = r
		}
	}
	switch o.do {
	case doWait:
		for c, n := range o.wait {
			if n >= 0 {
				t = max(t, w.cnt[c].until(int(n)))
			}
		}
	case doEnd:
		if m.gfx9 { // waits for its stores before it issues
			t = max(t, w.acked)
		}
	}
	return t, o.port
}

// run issues what the SIMD's waves can issue before end.
func (s *simd) run(end int64) {
	for {
		best, bt := -1, end
		for i := range s.at[:s.n] {
			t := s.at[i]
			if f := s.free[s.port[i]]; f > t {
				t = f
			}
			if t < bt {
				best, bt = i, t
			}
		}
		if best < 0 {
			break
		}
		s.issue(best, bt)
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

// issue lets the instruction of wave i go at t.
func (s *simd) issue(i int, t int64) {
	w, m := s.waves[i], s.m
	o := &w.code.ops[w.cur]
	ready := s.at[i]
	s.free[o.port] = t + int64(o.busy)
	switch o.port {
	case portImm:
		s.free[portImm] = 0 // any number of waves at once
	case portMatrix:
		s.matrix = max(s.matrix, t) + int64(o.busy)
		s.free[portMatrix] = max(s.matrix-m.p.matrixQueue, t+m.p.step)
		s.free[portVALU] = max(s.free[portVALU], t+m.p.step)
	}
	w.st.N[o.stat]++
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
		v := (t + int64(o.late)) << 2
		switch o.port {
		case portSALU:
			v |= fromSALU
			w.st.N[StatCyclesSALU] += m.p.step
		default:
			w.st.N[StatCyclesVALU] += int64(o.busy)
			if o.stat >= StatMatrixI8 && o.stat <= StatMatrixF6F4 {
				w.st.N[StatCyclesMatrix] += int64(o.busy)
			}
		}
		for _, d := range o.dst[:o.ndst] {
			if v&3 == fromVALU && d.first >= regScalar {
				v |= fromMask
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
		w.g.arrive(t, w.g.left)
	case doBranch:
		next = t + m.p.branchNot
	case doSleep:
		next = t + max(int64(o.sleep), m.p.step)
	}
	cur := w.cur
	taken, more := w.step()
	if taken && o.do == doBranch {
		next = t + m.p.branchTaken
	}
	for more && w.code.ops[w.cur].do == doDelay {
		w.st.N[StatDelay]++
		var tk bool
		tk, more = w.step()
		taken = taken || tk
	}
	if s.watched && len(m.observers) > 0 {
		s.tell(w, &w.code.ops[cur], t, ready, execAt, taken)
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
	s.at[i], s.port[i] = w.prepare(next, taken)
}

// memory times a memory instruction and says when its unit began with it.
func (s *simd) memory(w *wave, o *sop, ref *shader.MemRef, t int64) (execAt int64) {
	m := s.m
	cu := &s.u.cus[s.cu]
	execAt = t + int64(o.exec)
	local := o.do == doLDS || ref.Space == shader.SpaceLDS
	switch {
	case o.do == doSMEM:
		done := m.scalar(s.u, ref, t)
		w.cnt[o.cnt].push(done)
		w.st.N[StatLevelSMEM] += done - t
	case local:
		execAt = max(execAt, cu.ldsFree)
		done, cycles := m.localAccess(cu, ref, t)
		w.cnt[cntDS].push(done)
		w.st.N[StatLevelLDS] += done - t
		w.st.N[StatLDSActive] += cycles
		w.st.N[StatLDSConflict] += cycles - m.p.step
		if o.do == doFlat {
			w.cnt[o.cnt].push(done)
		}
	default:
		execAt = max(execAt, cu.vmemFree)
		done := m.vector(s.u, s.cu, ref, t)
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

// arrive counts a wave at the barrier; the last one of those that live lets all go.
func (g *group) arrive(t int64, alive int) {
	g.arrived++
	g.latest = max(g.latest, t)
	g.complete(alive)
}

func (g *group) complete(alive int) {
	if g.arrived == 0 || g.arrived < alive {
		return
	}
	g.arrived = 0
	g.phase++
	m := g.u.simds[0].m
	g.relAt = g.latest + m.p.barrier
	if g.single {
		g.relAt = g.latest + m.p.step
	}
	for _, w := range g.blocked {
		s := w.s
		for i := range s.n {
			if s.waves[i] == w {
				w.base = max(w.base, g.relAt)
				at, port := w.prepare(w.base, false)
				s.at[i], s.port[i] = at, port
				s.next = min(s.next, at)
				break
			}
		}
	}
	g.blocked = g.blocked[:0]
}

// finish ends a wave whose last instruction issued at t.
func (m *Machine) finish(w *wave, t int64) {
	end := t + m.p.waveEnd
	end = max(end, w.acked)
	w.st.End, w.st.Insts = end, w.log.Insts
	m.ends.push(ending{t: end, kind: endWave, w: w})
}

// release ends waves and frees slots whose time comes before end.
func (m *Machine) release(end int64) {
	for m.ends.first() < end {
		e := m.ends.pop()
		w := e.w
		if e.kind == endSlot {
			m.freeSlot(w)
			continue
		}
		m.res.End = max(m.res.End, e.t)
		if len(m.observers) > 0 {
			m.events.add(Event{Time: e.t, Kind: WaveEnd, Place: w.place, Stats: &w.st, VMID: uint8(m.kernel.VMID), Wide: w.code.wide, Flags: m.flags})
		}
		g := w.g
		g.left--
		if g.left > 0 {
			g.latest = max(g.latest, e.t)
			g.complete(g.left)
		}
		m.ends.push(ending{t: e.t + m.p.slotReuse, kind: endSlot, w: w})
	}
}

func (m *Machine) freeSlot(w *wave) {
	s := w.s
	s.slots &^= 1 << w.slot
	s.used--
	s.vgprs += m.need.vgprs
	s.slotFree = max(s.slotFree, w.st.End+m.p.slotReuse)
	m.engines[s.u.engine].full = false
	m.giveBack(w)
}

// drop takes a wave away that has not ended.
func (m *Machine) drop(w *wave) {
	w.g.left--
	m.freeSlot(w)
}

// giveBack recycles a wave, and its workgroup once no wave is left that has not given back its slot.
func (m *Machine) giveBack(w *wave) {
	g := w.g
	w.g, w.log = nil, nil
	m.free = append(m.free, w)
	g.gone++
	if g.gone < len(g.log.Waves) {
		return
	}
	for i := range g.u.cus {
		g.u.cus[i].lds += g.lds[i]
	}
	if !g.single {
		g.u.cus[g.cu].groups--
	}
	g.log.Release()
	g.log = nil
	m.freeGroup = append(m.freeGroup, g)
}

// tell writes down the events of an instruction.
func (s *simd) tell(w *wave, o *sop, t, ready, execAt int64, taken bool) {
	m := s.m
	if s.detail {
		ev := Event{Time: t, Kind: Issue, Place: w.place, PC: o.pc, Wide: w.code.wide, Flags: m.flags, Code: o.op}
		if taken && o.do == doBranch {
			ev.Code = o.opTaken
		}
		if m.gfx9 {
			if t > w.base+m.p.step {
				st := ev
				st.Kind, st.Time = Stall, w.base
				m.events.add(st)
			}
		} else if t > ready && o.show != isa.TraceNone {
			rd := ev
			rd.Kind, rd.Time = WaveReady, ready
			m.events.add(rd)
		}
		switch o.show {
		case isa.TraceInst:
		case isa.TraceVALU:
			ev.Code = CodeVALU
		case isa.TraceImm:
			ev.Kind = Immediate
			if o.barrierWait {
				ev.Flags |= BarrierWait
			}
		default:
			return
		}
		m.events.add(ev)
		if m.gfx9 && ev.Kind == Issue {
			typed := ev
			typed.Kind, typed.Time = Typed, t+m.p.step
			if o.port != portSALU {
				typed.Time = t
			}
			m.events.add(typed)
		}
		if o.newPC {
			np := ev
			np.Kind, np.Time = NewPC, t+m.p.branchTaken
			if int(w.cur) < len(w.code.ops) {
				np.PC = w.code.ops[w.cur].pc
			}
			m.events.add(np)
		}
	}
	if o.exec == 0 || m.gfx9 {
		return
	}
	ex := Event{Time: execAt, Kind: ExecALU, Place: w.place, Code: o.execCode, Flags: m.flags}
	memory := o.port == portVMEM || o.port == portLDS
	if memory {
		ex.Kind = ExecMem
	}
	if s.detail {
		m.events.add(ex)
	}
	if memory && o.other != 0 && s.partner().detail {
		p := w.place
		p.SIMD = uint8(s.partner().no)
		m.events.add(Event{Time: t, Kind: OtherSIMD, Place: p, Code: o.other, Flags: m.flags})
		ex.Place, ex.Code = p, o.execCode+1
		m.events.add(ex)
	}
}
