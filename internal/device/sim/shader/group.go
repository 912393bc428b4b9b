package shader

import (
	"github.com/rigprof/rigprof/internal/isa"
)

// Slices are in instructions: short enough that a cancelled run stops within some milliseconds.
const (
	waveSlice  = 1 << 15
	groupSlice = 1 << 18
)

// group is a workgroup that runs.
type group struct {
	r      *Run
	k      *Kernel
	number uint64
	id     [3]uint32
	waves  []*wave
	lds    []byte
	log    *GroupLog
	fault  *Fault

	alive      int     // waves that have not ended
	user, trap barrier // their members are the waves that have not ended
	named      [namedBarriers + 1]barrier
	stuck      bool // all its waves wait, some for other workgroups
}

// newGroup takes a workgroup from the machine's pool and gives its waves their initial state.
func newGroup(r *Run, number uint64, win *window) *group {
	g, _ := r.m.pool.Get().(*group)
	if g == nil {
		g = &group{}
	}
	k := r.k
	g.r, g.k, g.number, g.fault = r, k, number, nil
	gx, gy := uint64(k.Groups[0]), uint64(k.Groups[1])
	g.id = [3]uint32{uint32(number % gx), uint32(number / gx % gy), uint32(number / gx / gy)}
	size := k.size(g.id)
	lds := int(k.LDSBytes)
	if cap(g.lds) < lds {
		g.lds = make([]byte, lds)
	}
	g.lds = g.lds[:lds]
	clear(g.lds)

	items := int(size[0] * size[1] * size[2])
	n := r.prog.wave
	count := (items + n - 1) / n
	for len(g.waves) < count {
		g.waves = append(g.waves, &wave{})
	}
	g.alive, g.stuck = count, false
	g.user, g.trap, g.named = barrier{members: count}, barrier{members: count}, [namedBarriers + 1]barrier{}
	g.log = newGroupLog(g.id, count, r.prog)
	for i := range count {
		w := g.waves[i]
		w.start(g, i, win, size, min(items-i*n, n))
	}
	return g
}

// size is the work-items of a workgroup.
func (k *Kernel) size(id [3]uint32) (size [3]uint32) {
	size = k.Block
	for i := range size {
		size[i] = max(size[i], 1)
		if k.Partial[i] != 0 && id[i] == k.Groups[i]-1 {
			size[i] = k.Partial[i]
		}
	}
	return size
}

// waves is the number of waves of a workgroup.
func (r *Run) waves(number uint64) int {
	gx, gy := uint64(r.k.Groups[0]), uint64(r.k.Groups[1])
	s := r.k.size([3]uint32{uint32(number % gx), uint32(number / gx % gy), uint32(number / gx / gy)})
	return (int(s[0]*s[1]*s[2]) + r.prog.wave - 1) / r.prog.wave
}

// start is the state that the hardware gives a new wave.
func (w *wave) start(g *group, index int, win *window, size [3]uint32, lanes int) {
	k, p := g.k, g.r.prog
	w.g, w.index, w.mem, w.prog = g, index, win, p
	w.arch, w.n = p.arch, p.wave
	w.full = ^uint64(0) >> (64 - w.n)
	w.null, w.m0 = p.arch.Null(), p.arch.M0()
	st := p.state.Load()
	w.code, w.valu = st.code, st.valu
	w.ip, _ = p.lookup(k.Entry)
	w.first, w.masked, w.laneSum = w.ip, w.ip, 0
	w.stop, w.scc, w.fault = running, 0, nil
	w.spent, w.limit = 0, k.Budget
	w.syncState, w.trapState, w.patched = syncState{}, trapState{}, false
	if cap(w.hits) < len(w.code)+1 {
		w.hits = make([]int64, len(w.code)+1)
	}
	w.hits = w.hits[:len(w.code)+1]
	clear(w.hits)

	w.s = [128]uint32{}
	w.setExec(^uint64(0) >> (64 - lanes))
	regs := accBase + 64 // slack: a tuple may start at the last register
	if p.arch.CDNA() {
		regs = 2*accBase + 64
	}
	if len(w.v) < regs {
		w.v = make([]vreg, regs)
	}
	clear(w.v[:p.maxV])
	if p.maxA > 0 {
		clear(w.v[accBase : accBase+p.maxA])
	}
	w.modeBits = k.RSRC1 >> 12 & 0xff // rounding and denormal modes lie in the same order
	if k.RSRC1>>21&1 != 0 || p.arch == isa.RDNA4 {
		w.modeBits |= 0x100 // DX10_CLAMP; always so on gfx12
	}
	if k.RSRC1>>23&1 != 0 && p.arch != isa.RDNA4 {
		w.modeBits |= 0x200
	}
	w.modeBits |= k.RSRC1 >> 26 & 1 << 23
	w.m.set(w.modeBits)

	user := min(int(k.RSRC2>>1&31), 32)
	copy(w.s[:user], k.UserData[:])
	if p.arch == isa.RDNA4 { // ids are in TTMP registers
		w.s[isa.Ttmp0+9] = g.id[0]
		w.s[isa.Ttmp0+7] = g.id[1]&0xffff | g.id[2]<<16
		w.s[isa.Ttmp0+8] = uint32(index) << 25
	} else {
		at := user
		for i, id := range g.id {
			if k.RSRC2>>(7+i)&1 != 0 {
				w.s[at] = id
				at++
			}
		}
	}
	w.scratchBytes = k.ScratchBytes
	if n := int(k.ScratchBytes) * w.n; n > 0 {
		if cap(w.scratch) < n {
			w.scratch = make([]byte, n)
		}
		w.scratch = w.scratch[:n]
		clear(w.scratch)
	} else {
		w.scratch = w.scratch[:0]
	}
	i := uint32(index * w.n)
	x, y, z := i%size[0], i/size[0]%size[1], i/size[0]/size[1]
	for l := range lanes {
		w.v[0][l&63] = x | y<<10 | z<<20
		if x++; x == size[0] {
			x = 0
			if y++; y == size[1] {
				y = 0
				z++
			}
		}
	}
	w.log = nil
	if g.log != nil {
		w.log = &g.log.Waves[index]
		w.logs = k.Log == LogFull
		w.log.Lanes = lanes
	}
}

func (p *Program) lookup(pc uint64) (int, bool) {
	i, ok := p.state.Load().byPC[pc]
	return i, ok
}

// run lets the waves take turns until all have ended, one has faulted, or about slice instructions are spent.
// It tells whether the workgroup is through; stuck where it waits for others.
func (g *group) run(slice int64) bool {
	g.stuck = false
	for first := true; ; first = false {
		ran := false
		for _, w := range g.waves[:g.count()] {
			if w.stop >= stopEnd && w.stop <= stopWait && !w.ready() {
				continue
			}
			ran = true
			before := w.spent
			w.resume(waveSlice)
			slice -= int64(w.spent - before)
			if w.stop == stopFault {
				g.fault = w.fault
				return true
			}
			if w.stop == stopYield && g.r.ctx.Err() != nil {
				return false
			}
		}
		if g.alive == 0 {
			return true
		}
		if !ran {
			if g.outside() {
				g.stuck = first
				return false
			}
			g.deadlock("")
			return true
		}
		if slice <= 0 {
			return false
		}
	}
}

// outside tells whether a wave waits for other workgroups.
func (g *group) outside() bool {
	for _, w := range g.waves[:g.count()] {
		if w.stop == stopWait && w.outside {
			return true
		}
	}
	return false
}

// deadlock ends the workgroup with an error at the first wave that waits.
func (g *group) deadlock(detail string) {
	for _, w := range g.waves[:g.count()] {
		if w.stop == stopBarrier || w.stop == stopWait {
			g.fault = w.fail(ErrDeadlock, &w.code[w.ip-1], detail)
			return
		}
	}
}

func (g *group) count() int {
	if g.log != nil {
		return len(g.log.Waves)
	}
	return len(g.waves)
}

// resume runs until the wave stops.
func (w *wave) resume(fuel int64) {
	w.fuel = fuel
	w.stop = running
	for w.stop == running {
		code := w.code
		if w.patched {
			for w.stop == running {
				u := &code[w.ip]
				w.ip++
				w.runPatched(u)
			}
		}
		for w.stop == running {
			u := &code[w.ip]
			w.ip = int(u.next)
			u.run(w, u)
		}
		if w.stop == stopReload {
			w.stop = running
		}
	}
}

// leave ends the straight line with the instruction before index end.
func (w *wave) leave(end int, taken bool) {
	n := end - w.first
	if n > 0 {
		w.hits[w.first]++
		w.hits[end]--
		w.spent += uint64(n)
		w.fuel -= int64(n)
		if w.logs {
			w.countLanes(end)
			w.log.piece(w.first, n, taken)
		}
	}
}

// jump takes a branch: u is the branch, target an index.
func (w *wave) jump(u *uop, target int) {
	w.leave(int(u.index)+1, true)
	w.first, w.ip, w.masked = target, target, target
	if w.fuel <= 0 {
		w.stop = stopYield
		if w.limit != 0 && w.spent > w.limit {
			w.fail(ErrBudget, u, "")
		}
	} else if w.limit != 0 && w.spent > w.limit {
		w.fail(ErrBudget, u, "")
	}
}

// end is s_endpgm.
func (w *wave) end(u *uop) {
	w.leave(int(u.index)+1, false)
	w.stop = stopEnd
	g := w.g
	g.alive--
	for _, b := range [...]*barrier{&g.user, &g.trap} {
		b.members--
		b.complete()
	}
	if w.prog.counts {
		g.r.order.done(w)
	}
	w.account()
}

// account sums up what the wave executed.
func (w *wave) account() {
	if w.log == nil {
		return
	}
	w.log.Insts, w.log.VALULanes = w.spent, w.laneSum
	class := w.prog.state.Load().class
	var n int64
	for i, h := range w.hits[:min(len(class), len(w.hits))] {
		n += h
		if n != 0 {
			w.log.Class[class[i]] += uint64(n)
		}
	}
}

func (g *group) err() error {
	if g.fault != nil {
		return g.fault
	}
	return nil
}

func (g *group) takeLog() *GroupLog {
	l := g.log
	g.log = nil
	return l
}

// free gives the workgroup back to the pool.
func (g *group) free() {
	if g.log != nil {
		g.log.Release()
		g.log = nil
	}
	m := g.r.m
	g.r, g.k = nil, nil
	m.pool.Put(g)
}
