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

// mats are the operands of one block, row-major: a is m*k, b is n*k.
type mats struct{ a, b []float64 }

func runMatrix(w *wave, u *uop) {
	m := u.x.mat
	switch {
	case m.tiles != nil && w.runMatrixTiles(u, m):
	case m.out.kind == elemF64 && m.m == 16:
		w.runMatrixF64(u, m)
	default:
		w.runMatrixAny(u, m)
	}
}

// runMatrixAny takes every matrix instruction, element by element. It is what the faster forms are tested against.
func (w *wave) runMatrixAny(u *uop, m *matrix) {
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
	} else if u.c.kind != fromV {
		konst = m.out.float(w.matrixConst(u))
		if m.out.kind == elemInt {
			konst = float64(int32(w.matrixConst(u)))
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
			case u.c.kind != fromV && !m.sparse:
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
		if m.w == 64 { // the RDNA4 ISA, 7.12, and RADV: lanes 16 to 31 hold rows 8 to 11, lanes 32 to 47 rows 4 to 7
			return 0, r + 8*(l/16%2) + 4*(l/32), l % 16
		}
		return 0, r + 8*(l/16), l % 16
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

// matrixSource is the registers of A or B. Only VGPRs are of use there; a scalar, which encodings allow, has its value in
// every lane.
func (w *wave) matrixSource(o *opnd, buf *tileBuffers) []vreg {
	if o.kind == fromV {
		return w.v[o.reg:]
	}
	clear(buf.scalar[:])
	switch o.kind {
	case fromK:
		buf.scalar[0] = *o.k
	case fromS:
		x := w.sget64(o.reg)
		fill(&buf.scalar[0], uint32(x))
		fill(&buf.scalar[1], uint32(x>>32))
	}
	return buf.scalar[:]
}

// matrixConst is C where it is no matrix.
func (w *wave) matrixConst(u *uop) uint64 {
	if u.c.kind == fromS {
		return w.sget64(u.c.reg)
	}
	return u.x.kv[2]
}

// gather fills A (or B) of all blocks.
func (w *wave) gather(u *uop, m *matrix, ops []mats, isA bool) {
	o, e, per, dim, src := &u.a, &m.a, m.ea, m.m, 0
	if !isA {
		o, e, per, dim, src = &u.b, &m.b, m.eb, m.n, 1
	}
	v := w.matrixSource(o, w.mem.tileBuffers())
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
		for b := range ops {
			if from := m.blockOfA(b); from != b {
				copy(ops[b].a, ops[from].a)
			}
		}
	}
}

// sparseIndex are the positions of a lane's elements, two bits each.
func (w *wave) sparseIndex(u *uop, m *matrix, l, n int) uint32 {
	return w.v[u.c.reg][l] >> m.sparseShift(u, n)
}

// sparseShift is where they begin in the register.
func (m *matrix) sparseShift(u *uop, n int) int {
	if m.layout == layoutMFMA {
		if m.cbsz != 0 {
			return 0
		}
		return 2 * n * (m.abid % max(16/n, 1))
	}
	if 2*n <= 16 { // op_sel chooses the part that holds this instruction's indices
		return 2 * n * int(u.x.dst.opSel&1|u.x.dst.opSel>>1&1<<1) % 32
	}
	return 0
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
