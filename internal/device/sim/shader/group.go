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

	// A barrier is a phase: it ends when all waves that have not ended have signalled.
	phase, signalled, alive int
}

// newGroup takes a workgroup from the machine's pool and gives its waves their initial state.
func newGroup(r *Run, number uint64, win *window) *group {
	g, _ := r.m.pool.Get().(*group)
	if g == nil {
		g = &group{}
	}
	k := r.k
	g.r, g.k, g.number, g.fault = r, k, number, nil
	g.phase, g.signalled = 0, 0
	gx, gy := uint64(k.Groups[0]), uint64(k.Groups[1])
	g.id = [3]uint32{uint32(number % gx), uint32(number / gx % gy), uint32(number / gx / gy)}
	size := k.Block
	for i := range size {
		size[i] = max(size[i], 1)
		if k.Partial[i] != 0 && g.id[i] == k.Groups[i]-1 {
			size[i] = k.Partial[i]
		}
	}
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
	g.alive = count
	g.log = newGroupLog(g.id, count, r.prog)
	for i := range count {
		w := g.waves[i]
		w.start(g, i, win, size, min(items-i*n, n))
	}
	return g
}

// start is the state that the hardware gives a new wave.
func (w *wave) start(g *group, index int, win *window, size [3]uint32, lanes int) {
	k, p := g.k, g.r.prog
	w.g, w.index, w.mem, w.prog = g, index, win, p
	w.arch, w.n = p.arch, p.wave
	w.full = ^uint64(0) >> (64 - w.n)
	w.null, w.m0 = p.arch.Null(), p.arch.M0()
	w.code = p.state.Load().code
	w.ip, _ = p.lookup(k.Entry)
	w.first = w.ip
	w.stop, w.scc, w.fault = running, 0, nil
	w.spent, w.limit = 0, k.Budget
	w.waitBarrier, w.gprIdx = 0, false
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
	id := index * w.n
	for l := range lanes {
		i := uint32(id + l)
		x, y, z := i%size[0], i/size[0]%size[1], i/size[0]/size[1]
		w.v[0][l] = x | y<<10 | z<<20
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
// It tells whether the workgroup is through.
func (g *group) run(slice int64) bool {
	for {
		ran := false
		for _, w := range g.waves[:g.count()] {
			if w.stop == stopEnd || w.stop == stopBarrier && g.phase < w.waitBarrier {
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
			w := g.waves[0]
			g.fault = &Fault{Err: ErrDeadlock, Kernel: g.k.Name, Group: g.id, Wave: w.index, Lane: -1, PC: g.k.Entry}
			return true
		}
		if slice <= 0 {
			return false
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
		if w.gprIdx {
			for w.stop == running {
				u := &code[w.ip]
				w.ip++
				w.runIndexed(u)
			}
		}
		for w.stop == running {
			u := &code[w.ip]
			w.ip++
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
			w.log.piece(w.first, n, taken)
		}
	}
}

// jump takes a branch: u is the branch, target an index.
func (w *wave) jump(u *uop, target int) {
	w.leave(int(u.index)+1, true)
	w.first, w.ip = target, target
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
	w.g.alive--
	w.g.barrier()
	w.account()
}

// account sums up what the wave executed.
func (w *wave) account() {
	if w.log == nil {
		return
	}
	w.log.Insts = w.spent
	insts := w.prog.view()
	var n int64
	for i := range min(len(insts), len(w.hits)) {
		n += w.hits[i]
		if n != 0 {
			w.log.Class[insts[i].Class] += uint64(n)
		}
	}
}

// barrier ends the phase if all have signalled.
func (g *group) barrier() {
	if g.signalled > 0 && g.signalled >= g.alive {
		g.phase++
		g.signalled = 0
	}
}

func (w *wave) signal() {
	w.waitBarrier = w.g.phase + 1
	w.g.signalled++
	w.g.barrier()
}

func (w *wave) wait() {
	if w.g.phase < w.waitBarrier {
		w.stop = stopBarrier
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
