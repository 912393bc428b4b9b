package shader

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/rigprof/rigprof/internal/isa"
)

// access is what a load or store name says after its unit and direction.
type access struct {
	bytes     int
	sext      bool
	d16, high bool
}

var accesses = map[string]access{
	"b8": {1, false, false, false}, "byte": {1, false, false, false}, "u8": {1, false, false, false}, "ubyte": {1, false, false, false},
	"i8": {1, true, false, false}, "sbyte": {1, true, false, false},
	"b16": {2, false, false, false}, "short": {2, false, false, false}, "u16": {2, false, false, false}, "ushort": {2, false, false, false},
	"i16": {2, true, false, false}, "sshort": {2, true, false, false},
	"b32": {4, false, false, false}, "dword": {4, false, false, false},
	"b64": {8, false, false, false}, "dwordx2": {8, false, false, false},
	"b96": {12, false, false, false}, "dwordx3": {12, false, false, false},
	"b128": {16, false, false, false}, "dwordx4": {16, false, false, false},

	"d16_u8": {1, false, true, false}, "ubyte_d16": {1, false, true, false}, "u8_d16": {1, false, true, false},
	"d16_i8": {1, true, true, false}, "sbyte_d16": {1, true, true, false}, "i8_d16": {1, true, true, false},
	"d16_b16": {2, false, true, false}, "short_d16": {2, false, true, false}, "u16_d16": {2, false, true, false},
	"d16_hi_u8": {1, false, true, true}, "ubyte_d16_hi": {1, false, true, true}, "u8_d16_hi": {1, false, true, true},
	"d16_hi_i8": {1, true, true, true}, "sbyte_d16_hi": {1, true, true, true}, "i8_d16_hi": {1, true, true, true},
	"d16_hi_b16": {2, false, true, true}, "short_d16_hi": {2, false, true, true}, "u16_d16_hi": {2, false, true, true},
	"d16_hi_b8": {1, false, true, true}, "byte_d16_hi": {1, false, true, true}, "b8_d16_hi": {1, false, true, true}, "b16_d16_hi": {2, false, true, true},
}

// vmem compiles FLAT, GLOBAL, SCRATCH and the untyped buffer instructions.
func (c *compiler) vmem() {
	in := c.in
	name := in.Op.Base()
	unit, rest, ok := strings.Cut(name, "_")
	if !ok {
		return
	}
	switch rest {
	case "gl0_inv", "gl1_inv", "inv", "invl2", "wb", "wbinv", "wbl2", "wbinvl1", "wbinvl1_vol":
		c.u.run = runNop // caches are not modelled here
		return
	}
	m := &memOp{second: -1, off: int64(in.Offset())}
	switch unit {
	case "flat":
		m.flat, m.v64, m.space = true, true, SpaceGlobal
	case "global":
		m.v64, m.space = true, SpaceGlobal
	case "scratch":
		m.space = SpaceScratch
	case "buffer", "tbuffer":
		m.space = SpaceGlobal
	default:
		return
	}
	for i := range in.NumArgs() {
		a := in.Arg(i)
		switch a.Field {
		case isa.FieldVaddr:
			m.hasV = a.Kind == isa.ArgVGPR
			m.addr = a.Reg
		case isa.FieldSaddr:
			if a.Kind == isa.ArgScalar && a.Reg != c.p.arch.Null() {
				m.hasS, m.saddr = true, a.Reg
				m.v64 = false
			}
		case isa.FieldData:
			m.data = regOf(&a)
		case isa.FieldVdst:
			m.dst = regOf(&a)
		case isa.FieldVdata:
			m.data, m.dst = regOf(&a), regOf(&a)
		case isa.FieldRsrc:
			m.buf.rsrc = a.Reg
		case isa.FieldSoffset:
			c.source(0, a)
		}
	}
	if (unit == "buffer" || unit == "tbuffer") && c.typed(unit, rest, m) {
		return
	}
	switch {
	case c.toLDS(m, unit, rest):
		if c.u.run == nil {
			return
		}
	case c.block(m, rest):
	case unit == "global" && strings.HasPrefix(rest, "load_tr_") && c.globalTranspose(m, rest[5:]):
	case strings.HasSuffix(rest, "_addtid_b32"):
		m.set(accesses["b32"])
		m.load, m.write = strings.HasPrefix(rest, "load"), strings.HasPrefix(rest, "store")
		m.addTID = true
		c.u.run = runLoad
		if m.write {
			c.u.run = runStore
		}
		c.x.mem = m
		c.ext()
		return
	case strings.HasPrefix(rest, "load_"):
		a, ok := accesses[rest[5:]]
		if !ok {
			return
		}
		m.set(a)
		m.load = true
		c.u.run = runLoad
	case strings.HasPrefix(rest, "store_"):
		a, ok := accesses[rest[6:]]
		if !ok {
			return
		}
		m.set(a)
		m.write = true
		c.u.run = runStore
	case strings.HasPrefix(rest, "atomic_"):
		f, bytes, isCmp := atomicOf(rest[7:])
		if f == nil {
			return
		}
		m.atom, m.bytes, m.words, m.write = f, bytes, bytes/4, true
		m.rtn = in.Returns()
		m.cmp = ^uint16(0)
		if isCmp {
			m.cmp = m.data + uint16(m.words)
		}
		c.u.run = runAtomic
	default:
		return
	}
	if unit == "buffer" {
		m.buf.on = true
		m.buf.offen, m.buf.idxen = in.Flag(isa.FieldOffen), in.Flag(isa.FieldIdxen)
		m.hasV = m.buf.offen || m.buf.idxen
	}
	if m.flat || m.space == SpaceScratch || m.buf.on || strings.Contains(rest, "lds") || strings.Contains(rest, "block") || m.tr != nil {
		// These look at each address.
	} else if m.load && m.bytes == 4 && !m.d16 {
		c.u.run = runLoad32
	} else if m.write && m.atom == nil && m.bytes == 4 && !m.d16 {
		c.u.run = runStore32
	} else if m.load && m.bytes >= 8 {
		c.u.run = runLoadWide
	} else if m.write && m.atom == nil && m.bytes >= 8 {
		c.u.run = runStoreWide
	} else if m.load && m.bytes < 4 {
		c.u.run = runLoadSmall
	} else if m.write && m.atom == nil && m.bytes < 4 {
		c.u.run = runStoreSmall
	}
	c.x.mem = m
	c.ext()
}

func (m *memOp) set(a access) {
	m.bytes, m.sext, m.d16, m.high = a.bytes, a.sext, a.d16, a.high
	m.words = (a.bytes + 3) / 4
}

// bufOp is what buffer instructions add: a resource of four SGPRs.
type bufOp struct {
	on           bool
	rsrc         uint16
	offen, idxen bool
	typed        *typedOp
}

// place finds each enabled lane's address and space. Lanes whose access has no effect are left out of the
// returned mask: buffer accesses out of range.
func (w *wave) place(u *uop, m *memOp) uint64 {
	mask := w.exec
	switch {
	case m.buf.on:
		mask = w.bufferAddresses(u, m)
	case m.space == SpaceScratch:
		base := uint32(m.off)
		if m.hasS {
			base += w.sget(m.saddr)
		}
		for l := range w.n {
			a := base
			if m.hasV {
				a += w.v[m.addr][l]
			}
			w.addr[l] = uint64(a)
		}
	default:
		w.addresses(m)
		if m.addTID {
			for l := range w.n {
				w.addr[l] += uint64(4 * l)
			}
		}
	}
	return mask
}

// bufferAddresses adds up a buffer access. Words of the resource: base 47:0, stride 61:48, then the number of records
// (bytes where the stride is 0).
func (w *wave) bufferAddresses(u *uop, m *memOp) (mask uint64) {
	r := m.buf.rsrc
	w0, w1, records := w.sget(r), w.sget(r+1), uint64(w.sget(r+2))
	base := uint64(w0) | uint64(w1&0xffff)<<32
	stride := uint64(w1 >> 16 & 0x3fff)
	soff := uint64(w.s32(&u.a))
	for l := range w.n {
		var idx, off uint64
		v := m.addr
		if m.buf.idxen {
			idx = uint64(w.v[v][l])
			v++
		}
		if m.buf.offen {
			off = uint64(w.v[v][l])
		}
		off += uint64(m.off)
		if w.exec>>l&1 == 0 {
			continue
		}
		if stride == 0 {
			if off+soff+uint64(m.bytes) > records {
				continue
			}
		} else if idx >= records {
			continue
		}
		w.addr[l] = base + soff + idx*stride + off
		mask |= 1 << l
	}
	return mask
}

// memory is the bytes of one lane's access; nil where there are none: LDS out of range, or after a fault.
func (w *wave) memory(u *uop, m *memOp, l int, write bool) []byte {
	a := w.addr[l]
	if m.flat {
		switch a >> 32 {
		case sharedBase >> 32:
			return bytesAt(w.g.lds, a&0xffffffff, m.bytes)
		case privateBase >> 32:
			return w.private(u, a&0xffffffff, l, m.bytes, write)
		}
	}
	if m.space == SpaceScratch {
		return w.private(u, a, l, m.bytes, write)
	}
	if b := w.mem.find(a, m.bytes, write); b != nil {
		return b
	}
	w.badAddress(u, a, l, write)
	return nil
}

func bytesAt(b []byte, off uint64, n int) []byte {
	if off > uint64(len(b)) || uint64(n) > uint64(len(b))-off {
		return nil
	}
	return b[off:]
}

func (w *wave) private(u *uop, off uint64, l, n int, write bool) []byte {
	if off+uint64(n) > uint64(w.scratchBytes) {
		f := w.fail(ErrMemory, u, "beyond the lane's private memory")
		f.Addr, f.Lane, f.Write = off, l, write
		return nil
	}
	return w.scratch[uint64(l)*uint64(w.scratchBytes)+off:]
}

func runLoad(w *wave, u *uop) {
	m := u.x.mem
	mask := w.place(u, m)
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		var b []byte
		if mask>>l&1 != 0 {
			b = w.memory(u, m, l, false)
			if w.stop == stopFault {
				return
			}
		}
		w.loadLane(m, b, m.dst, l)
	}
	w.refGlobal(m, m.bytes, mask)
}

// loadLane puts what is at b, or zeros, in a lane.
func (w *wave) loadLane(m *memOp, b []byte, dst uint16, l int) {
	if m.bytes >= 4 {
		for k := range m.words {
			v := uint32(0)
			if b != nil {
				v = le.Uint32(b[4*k:])
			}
			w.v[dst+uint16(k)][l] = v
		}
		return
	}
	v := uint32(0)
	if b != nil {
		switch {
		case m.bytes == 2:
			v = uint32(le.Uint16(b))
		default:
			v = uint32(b[0])
		}
	}
	if m.sext {
		v = uint32(sext(v, uint(8*m.bytes)))
	}
	d := &w.v[dst][l]
	switch {
	case m.high:
		*d = *d&0xffff | v<<16
	case m.d16:
		*d = *d&0xffff0000 | v&0xffff
	default:
		*d = v
	}
}

func (w *wave) storeLane(m *memOp, b []byte, src uint16, l int) {
	if m.bytes >= 4 {
		for k := range m.words {
			le.PutUint32(b[4*k:], w.v[src+uint16(k)][l])
		}
		return
	}
	v := w.v[src][l]
	if m.high {
		v >>= 16
	}
	if m.bytes == 2 {
		le.PutUint16(b, uint16(v))
	} else {
		b[0] = byte(v)
	}
}

func runStore(w *wave, u *uop) {
	m := u.x.mem
	mask := w.place(u, m)
	for x := mask; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		b := w.memory(u, m, l, true)
		if w.stop == stopFault {
			return
		}
		if b != nil {
			w.storeLane(m, b, m.data, l)
		}
	}
	w.refGlobal(m, m.bytes, mask)
}

// atomics of workgroups that run in parallel are made one by one; only operations whose order does not matter do.
var atomicLock sync.Mutex

func runAtomic(w *wave, u *uop) {
	m := u.x.mem
	mask := w.place(u, m)
	shared := !w.prog.ordered
	if shared {
		atomicLock.Lock()
		defer atomicLock.Unlock()
	}
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		var b []byte
		if mask>>l&1 != 0 {
			b = w.memory(u, m, l, true)
			if w.stop == stopFault {
				return
			}
		}
		w.atomicLane(m, b, m.data, m.cmp, m.dst, l)
	}
	w.refGlobal(m, m.bytes, mask)
}

func (w *wave) lane64(r uint16, l int) uint64 { return uint64(w.v[r][l]) | uint64(w.v[r+1][l])<<32 }

func (w *wave) atomicLane(m *memOp, b []byte, data, cmp, dst uint16, l int) {
	var old, d, c uint64
	if m.bytes == 8 {
		d = w.lane64(data, l)
		if cmp != ^uint16(0) {
			c = w.lane64(cmp, l)
		}
		if b != nil {
			old = le.Uint64(b)
			le.PutUint64(b, m.atom(old, d, c))
		}
		if m.rtn {
			w.v[dst][l], w.v[dst+1][l] = uint32(old), uint32(old>>32)
		}
		return
	}
	d = uint64(w.v[data][l])
	if cmp != ^uint16(0) {
		c = uint64(w.v[cmp][l])
	}
	if b != nil {
		old = uint64(le.Uint32(b))
		le.PutUint32(b, uint32(m.atom(old, d, c)))
	}
	if m.rtn {
		w.v[dst][l] = uint32(old)
	}
}
