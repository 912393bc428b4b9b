package shader

import (
	"math/bits"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// ds compiles the LDS instructions.
func (c *compiler) ds() {
	in := c.in
	name := in.Op.Base()
	if gdsOnly[name] != nil {
		c.gdsOp(name)
		return
	}
	if in.Flag(isa.FieldGds) {
		defer c.gdsOp(name)
	}
	m := &memOp{second: -1, space: SpaceLDS, hasV: true, off: int64(in.Offset()), cmp: ^uint16(0)}
	data1 := ^uint16(0)
	for i := range in.NumArgs() {
		a := in.Arg(i)
		switch a.Field {
		case isa.FieldVaddr:
			m.addr = a.Reg
		case isa.FieldData:
			m.data = regOf(&a)
		case isa.FieldData1:
			data1 = regOf(&a)
		case isa.FieldVdst:
			m.dst = regOf(&a)
		}
	}
	c.x.mem = m
	c.x.name = name
	rest := strings.TrimPrefix(name, "ds_")
	switch rest {
	case "nop":
		c.x.mem = nil
		c.u.run = runNop
		return
	case "bpermute_b32", "permute_b32", "swizzle_b32", "bpermute_fi_b32":
		c.u.run = runDSPermute
		c.ext()
		return
	case "load_addtid_b32", "read_addtid_b32", "store_addtid_b32", "write_addtid_b32":
		m.bytes, m.words = 4, 1
		m.write = rest[0] == 's' || rest[0] == 'w'
		c.u.run = runAddTID
		c.ext()
		return
	case "append", "consume":
		m.bytes, m.words = 4, 1
		c.u.run = runAppend
		c.ext()
		return
	}
	dir, what, _ := strings.Cut(rest, "_")
	if two, ok := strings.CutPrefix(what, "2addr_"); ok {
		what = two
		c.twoAddr(m)
	} else if strings.HasPrefix(dir, "read2") || strings.HasPrefix(dir, "write2") || strings.HasPrefix(dir, "wrxchg2") {
		if strings.HasSuffix(dir, "st64") {
			what = "stride64_" + what
		}
		dir = dir[:strings.IndexByte(dir, '2')]
		c.twoAddr(m)
	}
	if m.second >= 0 {
		rtn, isRtn := strings.CutPrefix(what, "stride64_rtn_")
		stride := int64(1)
		if isRtn {
			what, stride = rtn, 64
		} else if s, ok := strings.CutPrefix(what, "stride64_"); ok {
			what, stride = s, 64
		}
		what = strings.TrimPrefix(what, "rtn_")
		size := int64(4)
		if strings.HasSuffix(what, "64") {
			size = 8
		}
		m.off, m.second = m.off*size*stride, m.second*size*stride
	}
	switch dir {
	case "load", "read":
		if c.dsTranspose(m, what) {
			return
		}
		a, ok := accesses[what]
		if !ok {
			c.x.mem = nil
			return
		}
		m.set(a)
		m.load = true
		c.u.run = runDSLoad
		if m.bytes == 4 && m.second < 0 && !m.d16 {
			c.u.run = runDSLoad32
		}
	case "store", "write":
		a, ok := accesses[what]
		if !ok {
			c.x.mem = nil
			return
		}
		m.set(a)
		m.write = true
		m.cmp = data1
		c.u.run = runDSStore
		if m.bytes == 4 && m.second < 0 && !m.d16 {
			c.u.run = runDSStore32
		}
	default:
		if dir == "storexchg" || dir == "wrxchg" {
			what = strings.TrimPrefix(what, "rtn_")
			rest = dir + "_" + what
			m.rtn = true
		}
		if strings.Contains(rest, "_rtn") {
			m.rtn = true
			rest = strings.Replace(rest, "_rtn", "", 1)
		}
		f, bytes, two := atomicOf(rest)
		if f == nil {
			c.x.mem = nil
			return
		}
		m.atom, m.bytes, m.words, m.write = f, bytes, bytes/4, true
		if two {
			m.cmp = data1
			if strings.HasPrefix(rest, "cmpst_") { // gfx9 has the comparison first
				m.data, m.cmp = m.cmp, m.data
			}
		} else if m.second >= 0 {
			m.cmp = data1
		}
		c.u.run = runDSAtomic
		if rest == "add_u32" {
			c.u.run = runDSAdd
		}
	}
	c.ext()
}

func (c *compiler) twoAddr(m *memOp) {
	m.off = int64(c.in.Field(isa.FieldOffset0))
	m.second = int64(c.in.Field(isa.FieldOffset1))
}

// ldsAddresses are byte offsets into LDS; they wrap at 32 bits.
func (w *wave) ldsAddresses(m *memOp, off int64) {
	v := &w.v[m.addr]
	o := uint32(off)
	for l := range w.n {
		w.addr[l&63] = uint64(v[l&63]) + uint64(o)
	}
}

func runDSAtomic(w *wave, u *uop) {
	m := u.x.mem
	w.refLDSLanes(m, m.bytes)
	w.ldsAddresses(m, m.off)
	if u.x.name == "ds_condxchg32_rtn_b64" { // the address' low bits are ignored
		for l := range w.n {
			w.addr[l] &^= 7
		}
	}
	addr := w.v[m.addr]
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		if m.second >= 0 { // exchange at two addresses
			second := [2]uint32{w.v[m.cmp][l], 0}
			if m.words == 2 {
				second[1] = w.v[m.cmp+1][l]
			}
			w.atomicLane(m, bytesAt(w.g.lds, w.addr[l], m.bytes), m.data, ^uint16(0), m.dst, l)
			w.exchange(m, bytesAt(w.g.lds, uint64(addr[l])+uint64(m.second), m.bytes), second, m.dst+uint16(m.words), l)
			continue
		}
		w.atomicLane(m, bytesAt(w.g.lds, w.addr[l], m.bytes), m.data, m.cmp, m.dst, l)
	}
}

func (w *wave) exchange(m *memOp, b []byte, v [2]uint32, dst uint16, l int) {
	for k := range m.words {
		old := uint32(0)
		if b != nil {
			old = le.Uint32(b[4*k:])
			le.PutUint32(b[4*k:], v[k])
		}
		w.v[dst+uint16(k)][l] = old
	}
}

// runDSPermute moves data between lanes through the LDS crossbar; LDS itself is not touched.
func runDSPermute(w *wave, u *uop) {
	m := u.x.mem
	w.ldsAddresses(m, m.off)
	w.refLDS(m, 4, 0)
	t := &w.t[3]
	switch u.x.name {
	case "ds_swizzle_b32":
		v := &w.v[m.addr]
		for l := range w.n {
			j := swizzle(uint32(m.off), l)
			t[l] = 0
			if w.exec>>j&1 != 0 {
				t[l] = v[j]
			}
		}
	case "ds_permute_b32": // push; the highest lane wins
		*t = vreg{}
		a, v := &w.v[m.addr], &w.v[m.data]
		for l := range w.n {
			if w.exec>>l&1 != 0 {
				t[w.crossLane(l, a[l]+uint32(m.off))] = v[l]
			}
		}
	default: // pull
		a, v := &w.v[m.addr], &w.v[m.data]
		fi := u.x.name == "ds_bpermute_fi_b32"
		for l := range w.n {
			j := w.crossLane(l, a[l]+uint32(m.off))
			t[l] = 0
			if fi || w.exec>>j&1 != 0 {
				t[l] = v[j]
			}
		}
	}
	w.put(&w.v[m.dst], t, w.exec)
}

// crossLane is the lane that an address means to lane l. On gfx11 the crossbar serves the halves of a wave64 apart
// (LLVM's GCNSubtarget::supportsWaveWideBPermute).
func (w *wave) crossLane(l int, addr uint32) uint32 {
	i := addr >> 2
	if w.n == 64 && !w.arch.CDNA() && w.arch != isa.RDNA4 {
		return uint32(l)&32 | i&31
	}
	return i & uint32(w.n-1)
}

// swizzle is the lane that lane l reads. The offset holds a mode in its top bits.
func swizzle(off uint32, l int) int {
	row := l &^ 31
	i := l & 31
	switch {
	case off >= 0xe000: // FFT: reverse bits, above the mask's
		mask := int(off & 31)
		rev := int(bits.Reverse8(uint8(i)) >> 3)
		return row | rev&^mask | i&mask
	case off >= 0xc000: // rotate, within the lanes that differ only in unmasked bits
		n, mask := int(off>>5&31), int(off&31)
		if off>>10&1 != 0 {
			n = -n
		}
		return row | i&mask | (i+n)&31&^mask
	case off&0x8000 != 0: // quad permutation
		return l&^3 | int(off>>(2*(l&3))&3)
	}
	and, or, xor := int(off&31), int(off>>5&31), int(off>>10&31)
	return row | (i&and | or) ^ xor
}

// runAddTID accesses LDS at M0 + offset + lane*4.
func runAddTID(w *wave, u *uop) {
	m := u.x.mem
	base := uint64(w.s[w.m0]&0xffff) + uint64(m.off)
	for l := range w.n {
		w.addr[l] = base + uint64(4*l)
	}
	w.refLDS(m, 4, w.exec)
	for x := w.exec; x != 0; x &= x - 1 {
		l := bits.TrailingZeros64(x)
		b := bytesAt(w.g.lds, w.addr[l], 4)
		switch {
		case !m.write:
			w.loadLane(m, b, m.dst, l)
		case b != nil:
			w.storeLane(m, b, m.data, l)
		}
	}
}

// runAppend adds (consume: subtracts) the number of active lanes to a counter in LDS and returns it from before.
func runAppend(w *wave, u *uop) {
	m := u.x.mem
	a := uint64(w.s[w.m0]&0xffff) + uint64(m.off)
	w.addr[w.firstLane()] = a
	w.refLDS(m, 4, w.exec&-w.exec)
	b := bytesAt(w.g.lds, a, 4)
	if b == nil {
		return
	}
	old := le.Uint32(b)
	n := uint32(bits.OnesCount64(w.exec))
	if strings.HasSuffix(u.x.name, "consume") {
		n = -n
	}
	le.PutUint32(b, old+n)
	fill(&w.t[3], old)
	w.put(&w.v[m.dst], &w.t[3], w.exec)
}
