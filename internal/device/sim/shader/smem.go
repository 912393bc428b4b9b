package shader

import (
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// smem compiles scalar loads, stores and atomics, clocks and cache operations.
func (c *compiler) smem() {
	in := c.in
	name := in.Op.Base()
	c.x.name = name
	c.u.sd = c.p.arch.Null()
	m := &memOp{space: SpaceScalar, second: -1, off: int64(in.Offset())}
	for i := range in.NumArgs() {
		a := in.Arg(i)
		switch a.Field {
		case isa.FieldSbase:
			m.addr = a.Reg
		case isa.FieldSdata:
			c.u.sd = a.Reg
		case isa.FieldSoffset:
			c.source(0, a)
			if a.Kind == isa.ArgScalar && c.p.arch.CDNA() && !in.Flag(isa.FieldImm) {
				m.off = 0 // the register stands in the offset's place or beside an offset that does not count
			}
		}
	}
	switch {
	case name == "s_memtime":
		c.u.run = func(w *wave, u *uop) { w.sset64(u.sd, w.clock()) }
		return
	case name == "s_memrealtime":
		c.u.run = func(w *wave, u *uop) { w.sset64(u.sd, w.realtime()) }
		return
	case strings.HasPrefix(name, "s_dcache_") || name == "s_gl1_inv" || strings.Contains(name, "prefetch") || strings.HasPrefix(name, "s_atc_probe"):
		c.u.run = runNop // caches and translations are not modelled here
		return
	}
	kind := strings.TrimPrefix(name, "s_")
	if rest, ok := strings.CutPrefix(kind, "buffer_"); ok {
		m.buf.on, kind = true, rest
	} else if rest, ok := strings.CutPrefix(kind, "scratch_"); ok {
		m.scratch, kind = true, rest
	}
	verb, kind, _ := strings.Cut(kind, "_")
	switch verb {
	case "load":
		c.u.run = runSLoad
	case "store":
		m.write = true
		c.u.run = runSStore
	case "atomic":
		f, bytes, two := atomicOf(kind)
		if f == nil {
			c.u.run = nil
			return
		}
		m.atom, m.bytes, m.words, m.write, m.rtn = f, bytes, bytes/4, true, in.Returns()
		m.cmp = ^uint16(0)
		if two {
			m.cmp = c.u.sd + uint16(m.words)
		}
		c.x.mem = m
		c.u.run = runSAtomic
		c.ext()
		return
	default:
		return
	}
	switch kind {
	case "b256", "dwordx8":
		m.bytes = 32
	case "b512", "dwordx16":
		m.bytes = 64
	default:
		a, ok := accesses[kind]
		if !ok {
			c.u.run = nil
			return
		}
		m.bytes, m.sext = a.bytes, a.sext
	}
	m.words = (m.bytes + 3) / 4
	c.x.mem = m
	c.ext()
}

// scalarAddress is the address of a scalar access and how many bytes of it are in range.
func (w *wave) scalarAddress(u *uop) (addr uint64, room uint64) {
	m := u.x.mem
	off := uint64(m.off)
	if u.a.kind != fromNone {
		o := uint64(w.s32(&u.a))
		if m.scratch {
			o *= 64 // a dword of 64 lanes is 256 bytes (MI200 ISA, S_SCRATCH_LOAD_DWORD)
		}
		off += o
	}
	base := w.sget64(m.addr)
	room = ^uint64(0)
	if m.bytes >= 4 {
		off &^= 3
	}
	if m.buf.on {
		base &= 1<<48 - 1
		limit := uint64(w.sget(m.addr + 2))
		if stride := uint64(w.sget(m.addr+1) >> 16 & 0x3fff); stride != 0 {
			limit *= stride
		}
		room = 0
		if off < limit {
			room = limit - off
		}
	}
	addr = base + off
	if m.bytes >= 4 {
		addr &^= 3
	}
	return addr, room
}

// scalarBytes moves p to or from memory. Private memory has its dwords of all lanes side by side.
func (w *wave) scalarBytes(m *memOp, addr uint64, p []byte, write bool) bool {
	if off := addr - w.g.k.ScratchBase; m.scratch && off < uint64(len(w.scratch)) && off+uint64(len(p)) <= uint64(len(w.scratch)) {
		for i := range p {
			dword, lanes := (off+uint64(i))/4, uint64(w.n)
			b := &w.scratch[dword%lanes*uint64(w.scratchBytes)+dword/lanes*4+uint64(i)&3]
			if write {
				*b = p[i]
			} else {
				p[i] = *b
			}
		}
		return true
	}
	if b := w.mem.find(addr, len(p), write); b != nil {
		if write {
			copy(b[:len(p)], p)
		} else {
			copy(p, b)
		}
		return true
	}
	return w.mem.span(addr, p, write)
}

// transfer moves the bytes that are in range, dword by dword where not all are.
func (w *wave) transfer(u *uop, b []byte, addr, room uint64, write bool) bool {
	m := u.x.mem
	if uint64(len(b)) <= room {
		if !w.scalarBytes(m, addr, b, write) {
			w.badAddress(u, addr, -1, write)
			return false
		}
		return true
	}
	for k := 0; k+4 <= len(b) && uint64(k)+4 <= room; k += 4 {
		if !w.scalarBytes(m, addr+uint64(k), b[k:k+4], write) {
			w.badAddress(u, addr+uint64(k), -1, write)
			return false
		}
	}
	return true
}

func (w *wave) refScalar(m *memOp, a uint64) {
	if w.logs {
		w.log.ref(MemRef{
			Addr: a, Bytes: uint32(m.bytes), Lines: uint16((a+uint64(m.bytes)-1)>>7 - a>>7 + 1), Lanes: 1, Space: SpaceScalar,
			Write: m.write, Atomic: m.atom != nil,
		})
	}
}

func runSLoad(w *wave, u *uop) {
	m := u.x.mem
	a, room := w.scalarAddress(u)
	var buf [64]byte
	b := buf[:m.bytes]
	if !w.transfer(u, b, a, room, false) {
		return
	}
	w.refScalar(m, a)
	switch m.bytes {
	case 1, 2:
		v := uint32(b[0])
		if m.bytes == 2 {
			v = uint32(le.Uint16(b))
		}
		if m.sext {
			v = uint32(sext(v, uint(8*m.bytes)))
		}
		w.sset(u.sd, v)
		return
	}
	w.scalarData(u, b)
}

// scalarData puts bytes in the SGPRs from the data operand on.
func (w *wave) scalarData(u *uop, b []byte) {
	if u.sd == w.null {
		return
	}
	for k := range len(b) / 4 {
		if d := u.sd + uint16(k); d < 128 && d != w.null {
			w.sset(d, le.Uint32(b[4*k:]))
		}
	}
}

func runSStore(w *wave, u *uop) {
	m := u.x.mem
	a, room := w.scalarAddress(u)
	var buf [16]byte
	b := buf[:m.bytes]
	for k := range m.words {
		le.PutUint32(b[4*k:], w.sget(min(u.sd+uint16(k), 127)))
	}
	if w.transfer(u, b, a, room, true) {
		w.refScalar(m, a)
	}
}

func runSAtomic(w *wave, u *uop) {
	m := u.x.mem
	a, room := w.scalarAddress(u)
	value := func(code uint16) uint64 {
		if m.bytes == 8 {
			return w.sget64(code)
		}
		return uint64(w.sget(code))
	}
	d, c := value(u.sd), uint64(0)
	if m.cmp != ^uint16(0) {
		c = value(m.cmp)
	}
	var buf [8]byte
	b := buf[:m.bytes]
	if uint64(m.bytes) <= room {
		atomicLock.Lock()
		ok := w.scalarBytes(m, a, b, false)
		if ok {
			old := uint64(le.Uint32(b))
			if m.bytes == 8 {
				old = le.Uint64(b)
			}
			var to [8]byte
			le.PutUint64(to[:], m.atom(old, d, c))
			ok = w.scalarBytes(m, a, to[:m.bytes], true)
		}
		atomicLock.Unlock()
		if !ok {
			w.badAddress(u, a, -1, true)
			return
		}
	}
	w.refScalar(m, a)
	if m.rtn {
		w.scalarData(u, b)
	}
}
