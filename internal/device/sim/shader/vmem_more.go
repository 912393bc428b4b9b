package shader

import (
	"math/bits"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Memory instructions beside plain loads and stores of one element: blocks of registers, and moves between memory and
// LDS.

// block compiles gfx12's load_block and store_block: up to 32 registers, those whose bit M0 has set, at the place in
// memory that they have in the block (RDNA4 ISA, 11.5).
func (c *compiler) block(m *memOp, rest string) bool {
	switch rest {
	case "load_block":
		m.load = true
	case "store_block":
		m.write = true
	default:
		return false
	}
	m.bytes, m.words = 4, 1
	c.p.maxV = min(max(c.p.maxV, int(max(m.dst, m.data))+32), 256)
	c.u.run = runBlock
	return true
}

func runBlock(w *wave, u *uop) {
	m := u.x.mem
	mask := w.place(u, m)
	m0 := w.s[w.m0]
	if m0 == 0 {
		mask = 0
	}
	from := w.addr // a load may overwrite the address
	for k := range 32 {
		if m0>>k&1 == 0 {
			continue
		}
		reg := m.dst + uint16(k)
		if m.write {
			reg = m.data + uint16(k)
			if reg > 255 { // the document's rule for stores
				reg = 0
			}
		} else if reg > 255 {
			continue
		}
		for l := range w.n {
			w.addr[l] = from[l] + uint64(4*k)
		}
		for x := mask; x != 0; x &= x - 1 {
			l := bits.TrailingZeros64(x)
			b := w.memory(u, m, l, m.write)
			if w.stop == stopFault {
				return
			}
			if m.write {
				le.PutUint32(b, w.v[reg][l])
			} else {
				w.v[reg][l] = le.Uint32(b)
			}
		}
	}
	w.addr = from
	w.refGlobal(m, 4*bits.OnesCount32(m0), mask)
}

// toLDS compiles loads from memory to LDS and gfx9's store from LDS to memory.
func (c *compiler) toLDS(m *memOp, unit, rest string) bool {
	if unit == "buffer" && rest == "store_lds_dword" {
		m.set(accesses["dword"])
		m.write = true
		// The table's row has no operands.
		m.addr, m.buf.rsrc = uint16(c.in.Field(isa.FieldVaddr)), uint16(c.in.Field(isa.FieldRsrc)*4)
		a := scalarArg(c.p.arch, isa.Arg{Type: isa.TypeU32, Bits: 32}, c.in.Field(isa.FieldSoffset))
		if a.Kind != isa.ArgLiteral {
			c.source(0, a)
		}
		c.u.run = runStoreLDS
		return true
	}
	if !strings.HasPrefix(rest, "load_lds_") && !(unit == "buffer" && c.in.Flag(isa.FieldLds)) {
		return false
	}
	a, ok := accesses[strings.TrimPrefix(strings.TrimPrefix(rest, "load_"), "lds_")]
	if !ok || a.d16 {
		return true
	}
	m.set(a)
	m.load = true
	c.u.run = runLoadLDS
	return true
}

// ldsPlace is where lane l's data of a move to or from LDS lie: at M0 and the instruction's offset, lanes 4 bytes from
// each other, or 16 where a lane moves more (MI300 ISA, 10.3; CDNA4 ISA, 9.1.9 and 10.3, where 18 bits of M0 count).
func (w *wave) ldsPlace(m *memOp, l int) uint64 {
	m0 := w.s[w.m0] & 0xffff
	if w.arch == isa.CDNA4 {
		m0 = w.s[w.m0] & 0x3ffff
	}
	step := 4
	if m.bytes > 4 {
		step = 16
	}
	return uint64(m0&^3) + uint64(m.off) + uint64(l*step)
}

// runLoadLDS loads into LDS instead of registers. Lanes that would write outside of it do not read either.
func runLoadLDS(w *wave, u *uop) {
	m := u.x.mem
	mask := w.place(u, m)
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		to := bytesAt(w.g.lds, w.ldsPlace(m, l), max(m.bytes, 4))
		if to == nil {
			mask &^= 1 << l
			continue
		}
		if mask>>l&1 == 0 { // out of the buffer's range
			clear(to[:max(m.bytes, 4)])
			continue
		}
		b := w.memory(u, m, l, false)
		if w.stop == stopFault {
			return
		}
		if m.bytes >= 4 {
			copy(to[:m.bytes], b)
			continue
		}
		v := uint32(b[0])
		if m.bytes == 2 {
			v = uint32(le.Uint16(b))
		}
		if m.sext {
			v = uint32(sext(v, uint(8*m.bytes)))
		}
		le.PutUint32(to, v)
	}
	w.refGlobal(m, m.bytes, mask)
}

// runStoreLDS stores a dword of LDS a lane.
func runStoreLDS(w *wave, u *uop) {
	m := u.x.mem
	mask := w.place(u, m)
	for x := mask; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		from := bytesAt(w.g.lds, w.ldsPlace(m, l), 4)
		if from == nil {
			mask &^= 1 << l
			continue
		}
		b := w.memory(u, m, l, true)
		if w.stop == stopFault {
			return
		}
		copy(b[:4], from)
	}
	w.refGlobal(m, m.bytes, mask)
}

// ldsDirect compiles lds_direct_load and gfx12's ds_direct_load: one value of LDS for all lanes. M0 holds its address and
// type; EXEC counts by quads (RDNA3 ISA, 12.4).
func (c *compiler) ldsDirect() {
	if !strings.HasSuffix(c.in.Op.Base(), "_direct_load") {
		return
	}
	m := &memOp{second: -1, space: SpaceLDS, load: true}
	a := c.in.Arg(0)
	m.dst = regOf(&a)
	c.x.mem = m
	c.u.run = runLDSDirect
	c.ext()
}

func runLDSDirect(w *wave, u *uop) {
	m := u.x.mem
	m0 := w.s[w.m0]
	var v uint32
	var a access
	switch m0 >> 16 & 7 {
	case 0:
		a = access{bytes: 1}
	case 1:
		a = access{bytes: 2}
	case 2:
		a = access{bytes: 4}
	case 4:
		a = access{bytes: 1, sext: true}
	case 5:
		a = access{bytes: 2, sext: true}
	default:
		w.fail(ErrIllegal, u, "M0 names a data type that does not exist")
		return
	}
	w.addr[0] = uint64(m0 & 0xffff)
	w.refLDS(&memOp{second: 0}, a.bytes, 1)
	if b := bytesAt(w.g.lds, w.addr[0], a.bytes); b != nil {
		switch a.bytes {
		case 1:
			v = uint32(b[0])
		case 2:
			v = uint32(le.Uint16(b))
		default:
			v = le.Uint32(b)
		}
		if a.sext {
			v = uint32(sext(v, uint(8*a.bytes)))
		}
	}
	mask := w.exec | w.exec>>1
	mask = (mask | mask>>2) & 0x1111111111111111 * 15
	fill(&w.t[3], v)
	w.put(&w.v[m.dst], &w.t[3], mask&w.full)
}
