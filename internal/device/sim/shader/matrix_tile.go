package shader

// Matrix instructions as tiles. Both operands are widened to float32 in the layout of the registers: element e of lane l
// is at [e][l]. An element's k is e plus the group of lanes it is in, so for each k the columns of B (rows of A) lie one
// after the other, and sums of 4 rows and 16 columns are formed at once in the registers that C and D have.
//
// Float sums are those of runMatrixBlocks, bit for bit: one rounding per product, in order of k. Sums of integers are
// formed in float32 too: at most 128 products of 8 bits stay below 2^24, so they are exact.

// tiles is how a matrix instruction is split.
type tiles struct {
	shape      tileShape
	quads      []tileQuad // none: blocks of 4x4
	regs       int        // accumulators: registers of C and D, twice as many where each holds two results
	na, nb     int        // elements of a lane
	tabA, tabB *lookup
}

// tileShape says how to walk k. The assembly knows the layout.
type tileShape struct {
	groups int64 // of lanes
	n      int64 // elements of a lane
	step   int64 // bytes from one group's lanes to the next
	row    int64 // bytes between rows of A that neighbouring registers need
}

// tileQuad is 16 lanes of 4 registers: byte offsets in the accumulators, in A and in B. The assembly knows the layout.
type tileQuad struct{ d, a, b int32 }

// lookup has the value of each code of a narrow format.
type lookup [256]float32

// tileBuffers are a worker's.
type tileBuffers struct {
	a, b, c [32]vreg
	raw     [32]vreg
	scalar  [16]vreg
	fa, fb  [64]float64
	fd      [256]float64
}

const vregBytes = 256

func (x *window) tileBuffers() *tileBuffers {
	if x.tiles == nil {
		x.tiles = new(tileBuffers)
	}
	return x.tiles
}

// tile fills m.tiles, if the instruction can be split.
func (c *compiler) tile(m *matrix) {
	if m.out.kind == elemF64 {
		return
	}
	t := &tiles{regs: m.registers(&c.x.dst), na: m.ea, nb: m.eb}
	groups := 1
	switch m.layout {
	case layoutMFMA:
		groups = max(64/(m.m*m.blocks), 1)
	case layoutWMMA3:
		t.na, t.nb = m.k, m.k
	case layoutWMMA4:
		groups = m.w / 16
		t.na, t.nb = m.k/groups, m.k/groups
		if m.sparse {
			t.na /= 2
		}
	}
	n := t.na
	if m.sparse {
		n *= 2
	}
	if n != t.nb || n > 32 || t.regs > 32 || t.regs%4 != 0 || n*groups != m.k {
		return
	}
	t.shape = tileShape{groups: int64(groups), n: int64(n), step: int64(4 * m.m)}
	t.tabA, t.tabB = c.p.lookup8(m.a), c.p.lookup8(m.b)
	if m.m == 4 {
		if t.regs == 4 && groups == 1 {
			m.tiles = t
		}
		return
	}
	for r := 0; r < t.regs; r += 4 {
		for l := 0; l < m.w; l += 16 {
			block, row, col := m.place(l, r)
			_, next, _ := m.place(l, r+1)
			t.shape.row = int64(4 * (next - row))
			a := block
			if m.cbsz != 0 && m.blocks > 1 && !m.sparse {
				a = m.blockOfA(block)
			}
			t.quads = append(t.quads, tileQuad{
				d: int32(r*vregBytes + 4*l),
				a: int32(4 * (a*groups*m.m + row)),
				b: int32(4 * (block*groups*m.m + col)),
			})
		}
	}
	m.tiles = t
}

// lookup8 is the table of a format of up to 8 bits, nil for others.
func (p *Program) lookup8(e elem) *lookup {
	if e.bits > 8 {
		return nil
	}
	if p.lookups == nil {
		p.lookups = map[elem]*lookup{}
	}
	t := p.lookups[e]
	if t == nil {
		t = new(lookup)
		for i := range 1 << e.bits {
			t[i] = float32(e.float(uint64(i)))
		}
		p.lookups[e] = t
	}
	return t
}

// runMatrixTiles is runMatrix for instructions that are split. ok is false, and nothing is done, where float32 cannot
// hold a scaled operand.
func (w *wave) runMatrixTiles(u *uop, m *matrix) (ok bool) {
	t := m.tiles
	buf := w.mem.tileBuffers()
	if m.scaled && !(w.fitsScale(&m.scaleA, m.selA) && w.fitsScale(&m.scaleB, m.selB)) {
		return false
	}
	regs, d := t.regs, int(u.d)
	inPlace := m.out.kind == elemF32 && m.a.kind != elemInt
	acc := buf.c[:regs]
	if inPlace {
		acc = w.v[d : d+regs]
	}
	a := w.tileA(u, m, buf, inPlace)
	b := w.tileB(u, m, buf, inPlace)
	if m.scaled {
		w.scaleTile(a, &m.scaleA, m.selA)
		w.scaleTile(b, &m.scaleB, m.selB)
	}
	switch {
	case m.a.kind == elemInt:
		clear(acc)
	default:
		w.startTiles(u, m, acc)
	}
	if len(t.quads) == 0 {
		if m.cbsz != 0 && m.blocks > 1 && !m.sparse {
			a = m.spreadA(a, buf)
		}
		sumQuads((*[4]vreg)(acc), a, b)
	} else {
		sumTiles(acc, a, b, t)
	}
	switch {
	case m.a.kind == elemInt:
		w.finishIntTiles(u, m, acc)
	case !inPlace:
		w.finishHalfTiles(u, m, acc)
	}
	return true
}

// startTiles puts C in the accumulators.
func (w *wave) startTiles(u *uop, m *matrix, acc []vreg) {
	c := int(u.c.reg)
	if m.sparse {
		c = int(u.d)
	}
	switch {
	case u.c.kind != fromV && !m.sparse:
		f := u32(float32(m.out.float(w.matrixConst(u))))
		for r := range acc {
			fill(&acc[r], f)
		}
	case m.out.kind == elemF32:
		if &acc[0] != &w.v[c] {
			copy(acc, w.v[c:])
		}
	case m.layout == layoutWMMA4:
		for r := 0; r < len(acc); r += 2 {
			m.out.widen(&acc[r], &acc[r+1], &w.v[c+r/2])
		}
	default:
		half := u.x.dst.opSel>>2&1 != 0
		var other vreg
		for r := range acc {
			if half {
				m.out.widen(&other, &acc[r], &w.v[c+r])
			} else {
				m.out.widen(&acc[r], &other, &w.v[c+r])
			}
		}
	}
	cneg, cabs := u.x.src[2].neg, u.x.src[2].negHi && m.layout != layoutMFMA
	if !cneg && !cabs {
		return
	}
	for r := range acc {
		for l, v := range acc[r] {
			f := f32(v)
			if cabs && f < 0 {
				f = -f
			}
			if cneg {
				f = -f
			}
			acc[r][l] = u32(f)
		}
	}
}

// widen splits registers of 16-bit floats.
func (e *elem) widen(even, odd, v *vreg) {
	if e.kind == elemBF16 {
		widenBF16(even, odd, v)
		return
	}
	widenF16(even, odd, v)
}

func (w *wave) tileA(u *uop, m *matrix, buf *tileBuffers, inPlace bool) []vreg {
	t := m.tiles
	v := w.matrixSource(&u.a, buf)
	if !m.sparse {
		return w.elements(u, &m.a, t.tabA, t.na, v, buf.a[:], 0, inPlace)
	}
	e := w.elements(u, &m.a, t.tabA, t.na, v, buf.raw[:], 0, false)
	dense := buf.a[:2*t.na]
	index := &w.v[u.c.reg]
	shift := m.sparseShift(u, t.na)
	for i := 0; i < len(e); i += 2 {
		spread((*[4]vreg)(dense[2*i:]), (*[2]vreg)(e[i:]), index, uint32(shift+2*i))
	}
	return dense
}

func (w *wave) tileB(u *uop, m *matrix, buf *tileBuffers, inPlace bool) []vreg {
	t := m.tiles
	v := w.matrixSource(&u.b, buf)
	if m.layout == layoutMFMA && m.blgp != 0 && m.b.kind != elemSmall {
		words := (t.nb*int(m.b.bits) + 31) / 32
		for r := range words {
			for l := range vregBytes / 4 {
				buf.raw[r][l] = v[r][blgpLane(m.blgp, l)]
			}
		}
		v, inPlace = buf.raw[:], false
	}
	return w.elements(u, &m.b, t.tabB, t.nb, v, buf.b[:], 1, inPlace)
}

// elements widens n elements of each lane, which are in v, to float32.
func (w *wave) elements(u *uop, e *elem, tab *lookup, n int, v, to []vreg, src int, inPlace bool) []vreg {
	to = to[:n]
	switch {
	case e.kind == elemF32:
		// Float32 stays where it is, unless results go there while it is needed.
		if d := int(u.d); inPlace {
			if o := u.src(src); o.kind == fromV && (int(o.reg)+n <= d || d+u.x.mat.tiles.regs <= int(o.reg)) {
				return v[:n]
			}
		}
		copy(to, v)
	case e.bits == 16:
		for i := 0; i < n; i += 2 {
			e.widen(&to[i], &to[i+1], &v[i/2])
		}
		if m := &u.x.src[src]; u.x.mat.layout != layoutMFMA && (m.neg || m.negHi) {
			for i := range to {
				if i&1 == 0 && m.neg || i&1 == 1 && m.negHi {
					for l := range to[i] {
						to[i][l] ^= 1 << 31
					}
				}
			}
		}
	default:
		for i := range to {
			pos := uint(i) * e.bits
			r, shift := pos/32, uint32(pos%32)
			look(&to[i], &v[r], &v[r+1], shift, 1<<e.bits-1, tab, w.n)
		}
	}
	return to
}

// blockOfA is the block whose A a block uses: one for each 2^cbsz blocks.
func (m *matrix) blockOfA(b int) int {
	size := 1 << m.cbsz
	if from := b&^(size-1) + m.abid%size; from < m.blocks {
		return from
	}
	return b
}

// spreadA gives each block of 4 lanes the A that it uses.
func (m *matrix) spreadA(a []vreg, buf *tileBuffers) []vreg {
	to := buf.raw[:len(a)]
	for i := range a {
		for l := range to[i] {
			to[i][l] = a[i][4*m.blockOfA(l/4)|l&3]
		}
	}
	return to
}

// fitsScale tells whether float32 holds any operand of at most 8 bits times any lane's scale: small ones always fit as
// denormals, large ones up to 2^16.
func (w *wave) fitsScale(o *opnd, sel int) bool {
	for _, x := range w.lanes(o, &w.t[0]) {
		if b := x >> (8 * sel) & 255; b > 127+127-16 && b != 255 {
			return false
		}
	}
	return true
}

func (w *wave) scaleTile(e []vreg, o *opnd, sel int) {
	var scale vreg
	for l, x := range w.lanes(o, &w.t[0]) {
		scale[l] = u32(float32(e8m0(x >> (8 * sel) & 255)))
	}
	mul := vdefs["v_mul_f32"].k2
	for i := range e {
		mul(lo(&e[i]), lo(&e[i]), lo(&scale))
		mul(hi(&e[i]), hi(&e[i]), hi(&scale))
	}
}

// finishIntTiles adds integer sums to C.
func (w *wave) finishIntTiles(u *uop, m *matrix, acc []vreg) {
	c, d := int(u.c.reg), int(u.d)
	if m.sparse {
		c = d
	}
	cabs := u.x.src[2].negHi && m.layout != layoutMFMA
	var konst vreg
	matrix := u.c.kind == fromV || m.sparse
	if !matrix {
		fill(&konst, uint32(w.matrixConst(u)))
	}
	for r := range acc {
		from := &konst
		if matrix {
			from = &w.v[c+r]
		}
		if hasAVX && !m.sat && !cabs {
			avxAddInts(&acc[r], from, &acc[r])
			continue
		}
		for l, v := range acc[r] {
			x := int64(int32(from[l]))
			if cabs && x < 0 {
				x = -x
			}
			s := x + int64(f32(v))
			if m.sat {
				s = clampInt(s, -1<<31, 1<<31-1)
			}
			acc[r][l] = uint32(s)
		}
	}
	copy(w.v[d:], acc)
}

// finishHalfTiles rounds to 16 bits.
func (w *wave) finishHalfTiles(u *uop, m *matrix, acc []vreg) {
	d := int(u.d)
	if m.layout == layoutWMMA4 {
		for r := 0; r < len(acc); r += 2 {
			m.out.narrow(&w.v[d+r/2], &acc[r], &acc[r+1])
		}
		return
	}
	half := u.x.dst.opSel>>2&1 != 0 // RDNA3: in the high halves
	for r := range acc {
		var t vreg
		m.out.narrow(&t, &acc[r], &acc[r])
		keep := uint32(0xffff0000)
		if half {
			keep = 0xffff
		}
		for l := range t {
			t[l] = w.v[d+r][l]&keep | t[l]&^keep
		}
		w.put(&w.v[d+r], &t, w.full)
	}
}

// narrow rounds to 16-bit floats, two to a register.
func (e *elem) narrow(d, even, odd *vreg) {
	if e.kind == elemBF16 {
		narrowBF16(d, even, odd)
		return
	}
	narrowF16(d, even, odd)
}

// runMatrixF64 is runMatrix for 16x16x4 float64. A lane holds one element of A and B, and every fourth row of C and D.
func (w *wave) runMatrixF64(u *uop, m *matrix) {
	buf := w.mem.tileBuffers()
	doubles(&buf.fa, w.matrixSource(&u.a, buf), m.blgp&1 != 0)
	doubles(&buf.fb, w.matrixSource(&u.b, buf), m.blgp&2 != 0)
	for r := range 4 {
		d := (*[64]float64)(buf.fd[64*r:])
		if u.c.kind != fromV {
			for l := range d {
				d[l] = f64(w.matrixConst(u))
			}
		} else {
			doubles(d, w.v[int(u.c.reg)+2*r:], false)
		}
		if u.x.src[2].neg {
			for l := range d {
				d[l] = -d[l]
			}
		}
	}
	sumF64(&buf.fd, &buf.fa, &buf.fb)
	for r := range 4 {
		low, high := &w.v[int(u.d)+2*r], &w.v[int(u.d)+2*r+1]
		for l, f := range buf.fd[64*r : 64*r+64] {
			low[l], high[l] = uint32(u64(f)), uint32(u64(f)>>32)
		}
	}
}

// doubles joins the halves of float64 in two registers.
func doubles(d *[64]float64, v []vreg, neg bool) {
	low, high := &v[0], &v[1]
	flip := uint64(b2u(neg)) << 63
	for l := range d {
		d[l] = f64((uint64(low[l]) | uint64(high[l])<<32) ^ flip)
	}
}
