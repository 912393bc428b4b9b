package shader

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/rigprof/rigprof/internal/isa"
)

// gds is what a process's waves share across workgroups beside memory: the global data share, the streamout registers
// in it, and the resources of global wave sync. It lives as long as the Machine and starts as zeros.
//
// A process of amdkfd gets neither GDS nor, without asking, GWS on real hardware: accesses would be out of range. Here
// each process has what gfx11 has in all, 4 KiB (gfx_v11_0.c: gds_size) and 64 resources (RDNA3 ISA, 13.4.4). CDNA2 and
// later have no such memory (gfx_v9_0.c: "aldebaran removed all the GDS internal memory"): there every access is out of
// range, reads zero and writes nothing. GWS is on all of them, GFX12 has neither.
type gds struct {
	mu   sync.Mutex // two queues' dispatches may run at once
	mem  [4096]byte
	regs [16]uint64 // streamout; the first 8 have 32 bits
	gws  [gwsResources]gwsResource
}

const gwsResources = 64

// gwsResource is a barrier or a counting semaphore, as the instructions take it.
type gwsResource struct {
	counter uint32 // 12 bits
	flag    bool   // tells even and odd passes of a barrier apart
}

// gdsLane is the lane that GDS and GWS instructions work on where they take one; lane 0 where EXEC is empty.
func (w *wave) gdsLane() int { return w.firstLane() }

// gdsOp compiles a DS instruction that has its GDS bit set, or that is GDS's alone.
func (c *compiler) gdsOp(name string) {
	c.x.name = name
	if f := gdsOnly[name]; f != nil {
		m := &memOp{second: -1}
		for i := range c.in.NumArgs() {
			switch a := c.in.Arg(i); a.Field {
			case isa.FieldVaddr, isa.FieldData:
				m.data, m.hasV = regOf(&a), true
			case isa.FieldVdst:
				m.dst = regOf(&a)
			}
		}
		c.x.mem = m
		c.u.run = f
		c.ext()
		c.x.mem = nil // needs no MemRef
		return
	}
	if name == "ds_nop" {
		return
	}
	switch c.u.run = nil; {
	case c.x.mem == nil, strings.Contains(name, "permute"), strings.Contains(name, "swizzle"), strings.Contains(name, "addtid"), strings.Contains(name, "_tr_"):
		// The crossbar and these addresses are the LDS's.
		c.x.mem = nil
		return
	}
	c.x.mem.space = SpaceNone
	c.u.run = runGDS
	c.ext()
}

var gdsOnly map[string]func(w *wave, u *uop)

func init() {
	gdsOnly = map[string]func(w *wave, u *uop){
		"ds_gws_init": runGwsInit, "ds_gws_barrier": runGwsBarrier, "ds_gws_sema_v": runGwsSignal, "ds_gws_sema_br": runGwsSignal,
		"ds_gws_sema_p": runGwsAcquire, "ds_gws_sema_release_all": runGwsRelease,
		"ds_add_gs_reg_rtn": runGsReg, "ds_sub_gs_reg_rtn": runGsReg, "ds_ordered_count": runOrderedCount,
	}
}

// gdsMemory is the part of GDS that M0 names: {base, size} in bytes.
func (w *wave) gdsMemory() []byte {
	if w.arch.CDNA() {
		return nil
	}
	m0 := w.s[w.m0]
	mem := w.g.r.m.gds.mem[:]
	base, size := int(m0>>16), int(m0&0xffff)
	if base >= len(mem) {
		return nil
	}
	return mem[base:min(base+size, len(mem))]
}

// runGDS is a load, store or atomic in GDS. It serves the first active lane alone (RDNA3 ISA, 12.6); where there is no
// memory, every lane reads zero.
func runGDS(w *wave, u *uop) {
	m := u.x.mem
	g := &w.g.r.m.gds
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.logs {
		w.log.ref(MemRef{Space: SpaceNone, Write: m.write, Atomic: m.atom != nil})
	}
	mem := w.gdsMemory()
	if strings.HasSuffix(u.x.name, "append") || strings.HasSuffix(u.x.name, "consume") {
		w.gdsAppend(u, mem)
		return
	}
	mask := w.exec
	if !w.arch.CDNA() {
		mask &= -mask
	}
	addr := w.v[m.addr]
	for x := mask; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		a := uint64(addr[l])
		b := bytesAt(mem, a+uint64(m.off), m.bytes)
		var b2 []byte
		if m.second >= 0 {
			b2 = bytesAt(mem, a+uint64(m.second), m.bytes)
		}
		switch {
		case m.atom != nil && m.second >= 0:
			second := [2]uint32{w.v[m.cmp][l], w.v[m.cmp+1][l]}
			w.atomicLane(m, b, m.data, ^uint16(0), m.dst, l)
			w.exchange(m, b2, second, m.dst+uint16(m.words), l)
		case m.atom != nil:
			w.atomicLane(m, b, m.data, m.cmp, m.dst, l)
		case m.load:
			w.loadLane(m, b, m.dst, l)
			if m.second >= 0 {
				w.loadLane(m, b2, m.dst+uint16(m.words), l)
			}
		default:
			if b != nil {
				w.storeLane(m, b, m.data, l)
			}
			if b2 != nil {
				w.storeLane(m, b2, m.cmp, l)
			}
		}
	}
}

// gdsAppend counts the active lanes into a dword at M0's base and returns the count from before to all of them.
func (w *wave) gdsAppend(u *uop, mem []byte) {
	old := uint32(0)
	if b := bytesAt(mem, uint64(u.x.mem.off), 4); b != nil {
		old = le.Uint32(b)
		n := uint32(bits.OnesCount64(w.exec))
		if strings.HasSuffix(u.x.name, "consume") {
			n = -n
		}
		le.PutUint32(b, old+n)
	}
	fill(&w.t[3], old)
	w.put(&w.v[u.x.mem.dst], &w.t[3], w.exec)
}

// gsReg is a streamout register and its index.
func (w *wave) gsReg(u *uop) (r *uint64, wide bool) {
	i := u.x.in.Field(isa.FieldOffset0) >> 2 & 15
	return &w.g.r.m.gds.regs[i], i >= 8
}

// gsReturn gives the active lane what the register held, and stores the new value.
func (w *wave) gsReturn(u *uop, r *uint64, wide bool, v uint64) {
	l := w.gdsLane()
	old := *r
	if !wide {
		v &= 0xffffffff
	}
	*r = v
	w.v[u.x.mem.dst][l] = uint32(old)
	if wide {
		w.v[u.x.mem.dst+1][l] = uint32(old >> 32)
	}
}

func runGsReg(w *wave, u *uop) {
	g := &w.g.r.m.gds
	g.mu.Lock()
	defer g.mu.Unlock()
	r, wide := w.gsReg(u)
	d := uint64(0)
	if w.exec != 0 {
		d = uint64(w.v[u.x.mem.data][w.gdsLane()])
	}
	if strings.HasPrefix(u.x.name, "ds_sub") {
		d = -d
	}
	w.gsReturn(u, r, wide, *r+d)
}

// waveOrder lets the waves of a dispatch do their ordered counts in the order in which they were created.
type waveOrder struct {
	mu    sync.Mutex
	group uint64 // whose turn it is
	wave  int
	early map[[2]uint64]bool // waves that are through before their turn
}

func (o *waveOrder) turn(w *wave) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.group == w.g.number && o.wave == w.index
}

// done takes the wave out of the order: it has counted, or has ended without.
func (o *waveOrder) done(w *wave) {
	if w.ordered {
		return
	}
	w.ordered = true
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.early == nil {
		o.early = map[[2]uint64]bool{}
	}
	o.early[[2]uint64{w.g.number, uint64(w.index)}] = true
	for o.early[[2]uint64{o.group, uint64(o.wave)}] {
		delete(o.early, [2]uint64{o.group, uint64(o.wave)})
		if o.wave++; o.wave == w.g.r.waves(o.group) {
			o.group, o.wave = o.group+1, 0
		}
	}
}

// runOrderedCount is an atomic operation on a streamout register, in the order of the waves (RDNA3 ISA, 13.4.3).
func runOrderedCount(w *wave, u *uop) {
	w.suspend(true, func(w *wave) bool {
		if !w.ordered && !w.g.r.order.turn(w) {
			return false
		}
		g := &w.g.r.m.gds
		g.mu.Lock()
		defer g.mu.Unlock()
		d := uint64(0)
		if w.exec != 0 {
			d = uint64(w.v[u.x.mem.data][w.gdsLane()])
		}
		r, wide := w.gsReg(u)
		v := *r + d
		switch u.x.in.Field(isa.FieldOffset1) >> 4 & 3 {
		case 1:
			v = d
		case 3: // wrap, whose second operand the instruction has no room for
			if *r >= d {
				v = *r - d
			}
		}
		w.gsReturn(u, r, wide, v)
		if u.x.in.Field(isa.FieldOffset1)&1 != 0 { // wave_release
			w.g.r.order.done(w)
		}
		return true
	})
}

// gwsResource is the resource that M0 and the offset name, and its number.
func (w *wave) gwsResource(u *uop) (*gwsResource, uint32) {
	i := (w.s[w.m0]>>16&63 + u.x.in.Field(isa.FieldOffset0)&63) % gwsResources
	return &w.g.r.m.gds.gws[i], i
}

func (w *wave) gwsValue(u *uop) uint32 {
	if !u.x.mem.hasV {
		return 1
	}
	return w.v[u.x.mem.data][w.gdsLane()] & 0xfff
}

func (w *wave) gwsLocked() func() {
	g := &w.g.r.m.gds
	g.mu.Lock()
	return g.mu.Unlock
}

func runGwsInit(w *wave, u *uop) {
	defer w.gwsLocked()()
	r, _ := w.gwsResource(u)
	*r = gwsResource{counter: w.gwsValue(u)}
}

// runGwsSignal adds to a semaphore: one, or what the lane says.
func runGwsSignal(w *wave, u *uop) {
	defer w.gwsLocked()()
	r, _ := w.gwsResource(u)
	r.counter = (r.counter + w.gwsValue(u)) & 0xfff
}

// runGwsRelease lets all go that wait at a semaphore.
func runGwsRelease(w *wave, u *uop) {
	defer w.gwsLocked()()
	r, i := w.gwsResource(u)
	r.counter = uint32(len(w.g.r.queues[i])) & 0xfff
}

// runGwsAcquire takes one from a semaphore, in the order in which waves come.
func runGwsAcquire(w *wave, u *uop) {
	r, i := w.gwsResource(u)
	q := &w.g.r.queues[i]
	*q = append(*q, w)
	w.suspend(true, func(w *wave) bool {
		defer w.gwsLocked()()
		if r.counter == 0 || (*q)[0] != w {
			return false
		}
		r.counter--
		*q = (*q)[1:]
		return true
	})
}

// runGwsBarrier waits until as many waves have come as the one that opened the barrier said: the lane's value, which is
// for the barrier after this one, counts the others.
func runGwsBarrier(w *wave, u *uop) {
	unlock := w.gwsLocked()
	r, _ := w.gwsResource(u)
	flag := r.flag
	if r.counter == 0 {
		r.flag = !r.flag
		r.counter = w.gwsValue(u)
	} else {
		r.counter--
	}
	unlock()
	w.suspend(true, func(w *wave) bool {
		defer w.gwsLocked()()
		return r.flag != flag
	})
}
