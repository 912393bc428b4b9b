package timing

import "github.com/rigprof/rigprof/internal/device/sim/shader"

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

// longest bounds the latencies that registers can have.
const longest = 512

// ring holds when outstanding memory instructions of one counter are done, in the order in which the counter comes down.
type ring struct {
	n    int // entries
	head int
	last int64
	t    [64]int64
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

// wave replays one wave's log. What each issue looks at stands first: the waves of all SIMDs take turns in the processor's caches.
type wave struct {
	ops   []sop
	cur   int32 // instruction
	end   int32 // behind the piece
	count int32 // times that the piece is still to run after this one
	waits bool  // at a barrier without a wait instruction of its own
	told  bool  // that the next instruction waits for its turn
	slot  uint8
	mem   int   // index in log.Mem
	base  int64 // when it could issue if nothing held it
	valu  int64 // issue of its last VALU instruction
	g     *group

	s     *simd
	log   *shader.WaveLog
	mask  int64 // issue of its last VALU instruction that writes a scalar register
	salu  int64 // of its last SALU instruction
	inUse int64 // until when memory instructions read the VGPRs in held
	phase int   // barriers signalled
	piece int   // index in log.Pieces
	data  int   // index in log.Data

	held    [regScalar / 64]uint64
	acked   int64  // when its last store was acknowledged
	barrier uint64 // address of the last barrier
	code    *code
	place   Place

	// Issue time <<2 | producer of each register's last write, see Machine.latency. The time is cut to 30 bits: a write so
	// long ago that it seems to be of now costs some cycles.
	reg [numRegs]uint32
	// The same for the last read of scalar registers by the VALU.
	read [numRegs - regScalar]uint32
	st   Stats
	cnt  [numCnts]ring
}

func (m *Machine) newWave() *wave {
	if n := len(m.free); n > 0 {
		w := m.free[n-1]
		m.free = m.free[:n-1]
		clear(w.reg[:])
		clear(w.read[:])
		clear(w.held[:])
		w.valu, w.mask, w.salu, w.inUse = 0, 0, 0, 0
		for i := range w.cnt {
			w.cnt[i].reset()
		}
		w.piece, w.mem, w.data, w.phase, w.waits, w.told, w.acked = 0, 0, 0, 0, false, false, 0
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
	u.next += len(log.Waves)
	cu := &u.cus[c]
	cu.placed++
	cu.held++
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
	w.s, w.g, w.code, w.ops, w.log = s, g, c, c.ops, log
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
	m.engines[s.u.engine].waves[s.u.sa]++
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
	o := &w.ops[w.cur]
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
		if w.waits && m.gfx9 { // leaving takes an issue
			t = max(t, w.g.relAt+m.p.step)
		}
		w.waits = false
	}
	if o.nsrc > 0 && o.port != portMatrix {
		lat := &m.latency[o.by]
		now, wait := uint32(t)<<2, int32(0)
		for _, r := range o.src[:o.nsrc] {
			v := w.reg[r]
			if d := int32(v&^3-now)>>2 + lat[v&3]; d > wait && d < longest && v != 0 {
				wait = d
			}
		}
		t += int64(wait)
	}
	switch o.by {
	case byMem: // RDNA lets memory instructions go once the wave's VALU instructions are done
		if !m.gfx9 {
			t = max(t, w.valu+m.p.valuVMEM)
		}
	case byVALU:
		if t < w.inUse {
			t = w.overwrites(o, t)
		}
	case bySALU: // what the VALU is still to read must not change
		t = w.unread(o, t)
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
				if w.waits {
					s.leaves(w)
				}
				at, port := w.prepare(w.base, false)
				s.at[i], s.port[i] = at, port
				s.next, s.woken = min(s.next, at), true
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
	m.tally(w)
	valu := int64(0)
	for _, n := range w.st.N[StatVALU : StatMatrixF6F4+1] {
		valu += n
	}
	if valu > 0 {
		w.st.N[StatCyclesLanes] = int64(w.log.VALULanes) * w.st.N[StatCyclesVALU] / valu
	}
	m.ends.push(ending{t: end, kind: endWave, w: w})
}

// tally counts what a wave executed, by the pieces of its log.
func (m *Machine) tally(w *wave) {
	lo, hi, n := int32(len(w.ops)), int32(0), int32(0)
	for i := range w.log.Pieces {
		p := &w.log.Pieces[i]
		lo, hi = min(lo, p.First), max(hi, p.First+p.N)
		n += p.N
	}
	if n < hi-lo { // a few pieces far apart
		for i := range w.log.Pieces {
			p := &w.log.Pieces[i]
			for k := p.First; k < p.First+p.N; k++ {
				w.ops[k].count(&w.st, int64(p.Count), m.p.step)
			}
		}
		return
	}
	for len(m.times) <= len(w.ops) {
		m.times = append(m.times, 0)
	}
	for i := range w.log.Pieces {
		p := &w.log.Pieces[i]
		m.times[p.First] += int64(p.Count)
		m.times[p.First+p.N] -= int64(p.Count)
	}
	times := int64(0)
	for k := lo; k < hi; k++ {
		times += m.times[k]
		m.times[k] = 0
		if times > 0 {
			w.ops[k].count(&w.st, times, m.p.step)
		}
	}
	if hi > lo {
		m.times[hi] = 0
	}
}

// count adds to a wave's counts what the instruction adds each time, for n times.
func (o *sop) count(st *Stats, n, step int64) {
	st.N[o.stat] += n
	if o.do != doALU {
		return
	}
	if o.port == portSALU {
		st.N[StatCyclesSALU] += n * step
		return
	}
	st.N[StatCyclesVALU] += n * int64(o.busy)
	if o.stat >= StatMatrixI8 && o.stat <= StatMatrixF6F4 {
		st.N[StatCyclesMatrix] += n * int64(o.busy)
		st.N[StatMopsI8+o.stat-StatMatrixI8] += n * int64(o.mops)
	}
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
	m.engines[s.u.engine].waves[s.u.sa]--
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
	g.u.cus[g.cu].held--
	if !g.single {
		g.u.cus[g.cu].groups--
	}
	g.log.Release()
	g.log = nil
	m.freeGroup = append(m.freeGroup, g)
}

// written is when all that a matrix instruction reads or overwrites has been written, seen from t.
func (w *wave) written(o *sop, t int64) int64 {
	late := int64(0)
	look := func(r uint16) {
		v := w.reg[r]
		if d := int64(int32(v&^3-uint32(t)<<2)>>2) + w.s.m.p.valuVALU; v != 0 && d > late && d < longest {
			late = d
		}
	}
	for _, r := range o.src[:o.nsrc] {
		look(r)
	}
	for _, d := range o.dst[:o.ndst] {
		look(d.first)
	}
	return t + late
}

// overwrites is when the instruction's results may replace VGPRs that memory instructions send.
func (w *wave) overwrites(o *sop, t int64) int64 {
	for _, d := range o.dst[:o.ndst] {
		for r := d.first; r < d.first+d.n && r < regScalar; r++ {
			if w.held[r>>6]>>(r&63)&1 != 0 {
				return w.inUse
			}
		}
	}
	return t
}

// hold notes the VGPRs that a memory instruction at t sends.
func (w *wave) hold(o *sop, t int64) {
	p := w.s.m.p
	if w.inUse <= t {
		clear(w.held[:])
	}
	w.inUse = max(w.inUse, t+p.vmemRead) + p.vmemNext
	for _, r := range o.src[:o.nsrc] {
		if r < regScalar {
			w.held[r>>6] |= 1 << (r & 63)
		}
	}
}

// unread is when the VALU has read the scalar registers that the instruction writes.
func (w *wave) unread(o *sop, t int64) int64 {
	now, wait := uint32(t)<<2, int64(0)
	for _, d := range o.dst[:o.ndst] {
		for r := d.first; r < d.first+d.n && r >= regScalar; r++ {
			if v := w.read[r-regScalar]; v != 0 {
				if d := int64(int32(v&^3-now)>>2) + w.s.m.p.valuSALU; d > wait && d < longest {
					wait = d
				}
			}
		}
	}
	return t + wait
}

// hint is when the instruction behind a hint may issue.
func (w *wave) hint(h uint8, t int64) int64 {
	p := w.s.m.p
	if h&waitVALU != 0 {
		t = max(t, w.valu+p.valuVMEM)
	}
	if h&waitScalar != 0 {
		t = max(t, w.mask+p.valuSALU)
	}
	if h&waitSALU != 0 {
		t = max(t, w.salu+p.saluDone)
	}
	return t
}
