package shader

import (
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// smem compiles scalar loads, clocks and cache operations.
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
		c.u.run = runNop
		return
	}
	kind, ok := strings.CutPrefix(name, "s_buffer_load_")
	if ok {
		m.buf.on = true
	} else if kind, ok = strings.CutPrefix(name, "s_load_"); !ok {
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
			return
		}
		m.bytes, m.sext = a.bytes, a.sext
	}
	m.words = (m.bytes + 3) / 4
	c.x.mem = m
	c.u.run = runSLoad
	c.ext()
}

func runSLoad(w *wave, u *uop) {
	m := u.x.mem
	off := uint64(m.off)
	if u.a.kind != fromNone {
		off += uint64(w.s32(&u.a))
	}
	base := w.sget64(m.addr)
	limit := ^uint64(0)
	if m.buf.on {
		base &= 1<<48 - 1
		limit = uint64(w.sget(m.addr + 2))
		if stride := uint64(w.sget(m.addr+1) >> 16 & 0x3fff); stride != 0 {
			limit *= stride
		}
	}
	a := base + off
	if m.bytes >= 4 {
		a &^= 3
		off &^= 3
	}
	var buf [64]byte
	b := buf[:m.bytes]
	if m.buf.on && off+uint64(m.bytes) > limit { // out of range: zero, dword by dword
		for k := 0; k < m.bytes; k += 4 {
			if off+uint64(k)+4 <= limit && !w.mem.span(a+uint64(k), b[k:k+4], false) {
				w.badAddress(u, a+uint64(k), -1, false)
				return
			}
		}
	} else if p := w.mem.find(a, m.bytes, false); p != nil {
		copy(b, p)
	} else if !w.mem.span(a, b, false) {
		w.badAddress(u, a, -1, false)
		return
	}
	if w.logs {
		w.log.ref(MemRef{Addr: a, Bytes: uint32(m.bytes), Lines: uint16((a+uint64(m.bytes)-1)>>7 - a>>7 + 1), Lanes: 1, Space: SpaceScalar})
	}
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
	if u.sd == w.null {
		return
	}
	for k := range m.words {
		if d := u.sd + uint16(k); d < 128 && d != w.null {
			w.sset(d, le.Uint32(b[4*k:]))
		}
	}
}
