package shader

// bitsAt takes an element from a lane's consecutive registers.
func bitsAt(v []vreg, l int, pos, width uint) uint64 {
	r := pos / 32
	x := uint64(v[r][l])
	if pos%32+width > 32 {
		x |= uint64(v[r+1][l]) << 32
	}
	if width == 64 {
		return uint64(v[r][l]) | uint64(v[r+1][l])<<32
	}
	return x >> (pos % 32) & (1<<width - 1)
}

func (e *elem) float(x uint64) float64 {
	switch e.kind {
	case elemF32:
		return float64(f32(uint32(x)))
	case elemF16:
		return float64(h2f(uint32(x)))
	case elemBF16:
		return float64(bf2f(uint32(x)))
	case elemF64:
		return f64(x)
	case elemSmall:
		return e.f.value(x)
	}
	if e.signed {
		return float64(sext64(x, e.bits))
	}
	return float64(x)
}

// operands gathers A and B of all blocks into memory that the wave keeps.
func (w *wave) operands(u *uop, m *matrix) []mats {
	na, nb := m.m*m.k, m.n*m.k
	if need := m.blocks * (na + nb); len(w.matrix) < need {
		w.matrix = make([]float64, need)
	}
	if cap(w.blocks) < m.blocks {
		w.blocks = make([]mats, m.blocks)
	}
	ops := w.blocks[:m.blocks]
	buf := w.matrix
	for i := range ops {
		ops[i] = mats{buf[:na:na], buf[na : na+nb : na+nb]}
		buf = buf[na+nb:]
		if m.sparse {
			clear(ops[i].a)
		}
	}
	w.gather(u, m, ops, true)
	w.gather(u, m, ops, false)
	return ops
}

// runMatrixF32 forms float32 sums of exact products, a register of results at a time: for each k one multiply and
// add of all lanes.
func (w *wave) runMatrixF32(u *uop, m *matrix) {
	x := &u.x.dst
	ops := w.operands(u, m)
	per := 1
	if m.out.bits == 16 && m.layout == layoutWMMA4 {
		per = 2
	}
	regs := m.registers(x)
	words := regs / per
	half := x.opSel>>2&1 != 0
	cneg, cabs := u.x.src[2].neg, u.x.src[2].negHi && m.layout != layoutMFMA
	// Results wait in out until all of C is read: the registers may overlap.
	if len(w.results) < words {
		w.results = make([]vreg, 32)
	}
	out := w.results[:words]
	var a, acc vreg
	if len(w.columns) < m.k {
		w.columns = make([]vreg, max(m.k, 16))
	}
	b := w.columns[:m.k]
	for r := range regs {
		at := m.at[r*m.w : (r+1)*m.w]
		for l := range at {
			var v uint32
			switch {
			case u.c.kind == fromK:
				v = uint32(u.x.kv[2])
			case per == 2:
				v = w.v[int(u.c.reg)+r/2][l] >> (16 * (r & 1)) & 0xffff
			case m.out.bits == 16:
				v = w.v[int(u.c.reg)+r][l] >> (16 * b2u(half)) & 0xffff
			default:
				v = w.v[int(u.c.reg)+r][l]
			}
			f := float32(m.out.float(uint64(v)))
			if cabs && f < 0 {
				f = -f
			}
			if cneg {
				f = -f
			}
			acc[l] = u32(f)
		}
		if r == 0 || !m.sameB {
			for l, p := range at {
				col := ops[p.block].b[int(p.col)*m.k:][:m.k]
				for k := range col {
					b[k][l&63] = u32(float32(col[k]))
				}
			}
		}
		for k := range m.k {
			for _, s := range m.segs[r] {
				av := u32(float32(ops[s.block].a[int(s.row)*m.k+k]))
				for l := range a[s.from:s.to] {
					a[int(s.from)+l&63] = av
				}
			}
			kFma(lo(&acc), lo(&a), lo(&b[k]))
			if m.w == 64 {
				kFma(hi(&acc), hi(&a), hi(&b[k]))
			}
		}
		switch {
		case m.out.kind == elemF32:
			out[r] = acc
			continue
		case per == 2 && r&1 == 0:
			out[r/2] = vreg{}
		}
		for l := range m.w {
			h := f2h(f32(acc[l]))
			if m.out.kind == elemBF16 {
				h = f2bf(f32(acc[l]))
			}
			switch old := w.v[int(u.d)+r/per][l]; {
			case per == 2:
				out[r/2][l] |= h << (16 * (r & 1))
			case half:
				out[r][l] = old&0xffff | h<<16
			default:
				out[r][l] = old&0xffff0000 | h
			}
		}
	}
	for r := range out {
		w.put(&w.v[int(u.d)+r], &out[r], w.full)
	}
}

// kFma adds the products of a and b to d.
func kFma(d, a, b *lanes) {
	if hasAVX {
		avxFmaF32(d, a, b, d)
		return
	}
	kFmaF32(d, a, b, d)
}

func (m *matrix) fillPlaces(regs int) {
	at := make([]place, 0, regs*m.w)
	for r := range regs {
		for l := range m.w {
			b, row, col := m.place(l, r)
			at = append(at, place{uint8(b), uint8(row), uint8(col)})
		}
	}
	m.at = at
	m.sameB = true
	m.segs = make([][]segment16, regs)
	for r := range regs {
		row := at[r*m.w : (r+1)*m.w]
		for l, p := range row {
			if q := at[l]; p.block != q.block || p.col != q.col {
				m.sameB = false
			}
			if n := len(m.segs[r]); n > 0 && m.segs[r][n-1].block == p.block && m.segs[r][n-1].row == p.row {
				m.segs[r][n-1].to = uint8(l + 1)
				continue
			}
			m.segs[r] = append(m.segs[r], segment16{uint8(l), uint8(l + 1), p.block, p.row})
		}
	}
}

// mats are the operands of one block, row-major: a is m*k, b is n*k.
type mats struct{ a, b []float64 }

func runMatrix(w *wave, u *uop) {
	m := u.x.mat
	if m.out.kind == elemInt || m.a.kind == elemInt {
		w.runMatrixBlocks(u, m, func(acc float64, a, b []float64) float64 {
			s := int64(acc)
			for i := range a {
				s += int64(a[i]) * int64(b[i])
			}
			if m.sat {
				return float64(clampInt(s, -1<<31, 1<<31-1))
			}
			return float64(int32(s))
		})
		return
	}
	if m.out.kind == elemF64 {
		w.runMatrixBlocks(u, m, func(acc float64, a, b []float64) float64 {
			for i := range a {
				acc = fma64(a[i], b[i], acc, roundEven)
			}
			return acc
		})
		return
	}
	if !m.scaled && !m.sparse {
		w.runMatrixF32(u, m)
		return
	}
	w.runMatrixBlocks(u, m, func(acc float64, a, b []float64) float64 {
		s := float32(acc)
		for i := range a {
			p := a[i] * b[i] // exact but for products of two float32
			t := p + float64(s)
			tb := u64(t)
			if tb&0x1fffffff != 0x10000000 && tb<<1 >= 897<<53 {
				s = float32(t)
			} else {
				s = fma32Slow(p, float64(s), t)
			}
		}
		return float64(s)
	})
}

func (w *wave) runMatrixBlocks(u *uop, m *matrix, dot func(acc float64, a, b []float64) float64) {
	x := &u.x.dst
	ops := w.operands(u, m)
	// All of C is read before D is written.
	words := int(x.bits+31) / 32
	if m.layout != layoutMFMA {
		words = max(words*32/m.w, 1) // stated for waves of 32
	}
	out := make([]vreg, words)
	var konst float64
	cv := w.v[u.c.reg:]
	if m.sparse {
		cv = w.v[u.d:]
	} else if u.c.kind == fromK {
		konst = m.out.float(u.x.kv[2])
		if m.out.kind == elemInt {
			konst = float64(int32(u.x.kv[2]))
		}
	}
	half := x.opSel>>2&1 != 0 // RDNA3: 16-bit results in the high halves
	cneg, cabs := u.x.src[2].neg, u.x.src[2].negHi
	per := 1
	if m.out.bits == 16 && m.layout == layoutWMMA4 {
		per = 2
	}
	regs := words * 32 / int(max(m.out.bits, 32)) * per
	for l := range m.w {
		for r := range regs {
			block, row, col := m.place(l, r)
			var c float64
			switch {
			case u.c.kind == fromK && !m.sparse:
				c = konst
			case m.out.bits == 64:
				c = f64(bitsAt(cv, l, uint(r)*64, 64))
			case m.out.bits == 16 && per == 2:
				c = m.out.float(bitsAt(cv, l, uint(r)*16, 16))
			case m.out.bits == 16:
				c = m.out.float(uint64(cv[r][l] >> (16 * b2u(half)) & 0xffff))
			default:
				v := uint64(cv[r][l])
				c = m.out.float(v)
				if m.out.kind == elemInt {
					c = float64(int32(v))
				}
			}
			if cabs && m.layout != layoutMFMA && c < 0 {
				c = -c
			}
			if cneg && m.out.kind != elemInt {
				c = -c
			}
			o := &ops[block]
			v := dot(c, o.a[row*m.k:(row+1)*m.k], o.b[col*m.k:(col+1)*m.k])
			switch {
			case m.out.bits == 64:
				b := u64(v)
				out[2*r][l], out[2*r+1][l] = uint32(b), uint32(b>>32)
			case m.out.kind == elemInt:
				out[r][l] = uint32(int64(v))
			case m.out.kind == elemF32:
				out[r][l] = u32(float32(v))
			default:
				b := f2h(float32(v))
				if m.out.kind == elemBF16 {
					b = f2bf(float32(v))
				}
				if per == 2 {
					out[r/2][l] |= b << (16 * (r & 1))
				} else {
					old := w.v[int(u.d)+r][l]
					if half {
						out[r][l] = old&0xffff | b<<16
					} else {
						out[r][l] = old&0xffff0000 | b
					}
				}
			}
		}
	}
	for r := range out { // matrix instructions ignore EXEC
		w.put(&w.v[int(u.d)+r], &out[r], w.full)
	}
}

// place tells which element of C and D register r of lane l holds.
func (m *matrix) place(l, r int) (block, row, col int) {
	switch m.layout {
	case layoutWMMA3:
		return 0, r*(m.w/16) + l/16, l % 16
	case layoutWMMA4:
		return 0, r + 256/m.w*(l/16), l % 16
	}
	switch {
	case m.out.kind == elemF64 && m.m == 4:
		return l / 4 % 4, l / 16, l % 4
	case m.out.kind == elemF64:
		return 0, 4*r + l/16, l % 16
	case m.m == 32:
		q := r % 16
		return r / 16, 8*(q/4) + 4*(l/32) + q%4, l % 32
	case m.m == 16:
		return r / 4, 4*(l/16) + r%4, l % 16
	}
	return l / 4, r, l % 4
}

// gather fills A (or B) of all blocks.
func (w *wave) gather(u *uop, m *matrix, ops []mats, isA bool) {
	o, e, per, dim, src := &u.a, &m.a, m.ea, m.m, 0
	if !isA {
		o, e, per, dim, src = &u.b, &m.b, m.eb, m.n, 1
	}
	if o.kind != fromV {
		return // constants are not allowed here
	}
	v := w.v[o.reg:]
	sm := &u.x.src[src]
	sparse := isA && m.sparse
	for l := range m.w {
		lane := l
		if !isA && m.layout == layoutMFMA && m.blgp != 0 && m.out.kind != elemF64 && e.kind != elemSmall {
			lane = blgpLane(m.blgp, l)
		}
		var block, row, first, n int
		switch m.layout {
		case layoutWMMA3:
			if l >= 16 {
				return
			}
			row, first, n = l, 0, m.k
		case layoutWMMA4:
			groups := m.w / 16
			n = m.k / groups
			row, first = l%16, l/16*n
			if sparse {
				n /= 2
			}
		default:
			n = per
			span := n
			if sparse {
				span *= 2
			}
			switch {
			case e.kind == elemF64 && dim == 4:
				row, block, first = l%4, l/4%4, l/16
			default:
				groups := 64 / (dim * m.blocks) // lanes that share a row of a block
				row = l % dim
				block, first = l/dim/groups, l/dim%groups*span
			}
		}
		scale := 1.0
		if m.scaled {
			so, sel := &m.scaleA, m.selA
			if !isA {
				so, sel = &m.scaleB, m.selB
			}
			var t vreg
			scale = e8m0(w.lanes(so, &t)[l] >> (8 * sel) & 255)
		}
		var index uint32
		if sparse {
			index = w.sparseIndex(u, m, l, n)
		}
		for i := range n {
			x := e.float(bitsAt(v, lane, uint(i)*e.bits, e.bits)) * scale
			if e.bits == 16 && m.layout != layoutMFMA {
				if i&1 == 0 && sm.neg || i&1 == 1 && sm.negHi {
					x = -x
				}
			}
			if m.out.kind == elemF64 && m.blgp>>src&1 != 0 {
				x = -x
			}
			k := first + i
			if sparse { // two of each four
				k = first + i/2*4 + int(index>>(2*i)&3)
			}
			if isA {
				ops[block].a[row*m.k+k] = x
			} else {
				ops[block].b[row*m.k+k] = x
			}
		}
	}
	if isA && m.cbsz != 0 && m.blocks > 1 && !m.sparse {
		// Groups of 2^cbsz blocks use the A of one of them.
		size := 1 << m.cbsz
		for b := range ops {
			if from := b&^(size-1) + m.abid%size; from < len(ops) && from != b {
				copy(ops[b].a, ops[from].a)
			}
		}
	}
}

// sparseIndex are the positions of a lane's elements, two bits each.
func (w *wave) sparseIndex(u *uop, m *matrix, l, n int) uint32 {
	v := w.v[u.c.reg][l]
	if m.layout == layoutMFMA {
		if m.cbsz != 0 {
			return v
		}
		return v >> (2 * n * (m.abid % max(16/n, 1)))
	}
	if 2*n <= 16 { // op_sel chooses the part that holds this instruction's indices
		return v >> (2 * n * int(u.x.dst.opSel&1|u.x.dst.opSel>>1&1<<1) % 32)
	}
	return v
}

// e8m0 is a scale: a power of two, 255 is NaN.
func e8m0(b uint32) float64 {
	if b == 255 {
		return f64(0x7ff8 << 48)
	}
	return f64(uint64(b+1023-127) << 52)
}

// blgpLane is the lane whose B lane l uses.
func blgpLane(p, l int) int {
	switch p {
	case 1:
		return l & 31
	case 2:
		return l | 32
	case 3:
		return (l + 16) & 63
	}
	return l&15 | (p-4)<<4
}
