package shader

import "math"

// Loops of matrix instructions over lanes, with assembly where there is any.

func sumTiles(acc, a, b []vreg, t *tiles) {
	if hasAVX {
		avxTiles(&acc[0], &a[0], &b[0], &t.quads[0], len(t.quads), &t.shape)
		return
	}
	sumTilesPlain(acc, a, b, t)
}

func sumTilesPlain(acc, a, b []vreg, t *tiles) {
	s := &t.shape
	for _, q := range t.quads {
		r, l := int(q.d)/vregBytes, int(q.d)%vregBytes/4
		for i := range 4 {
			d := (*[16]uint32)(acc[r+i][l:])
			for g := range int(s.groups) {
				at := int(q.a) + g*int(s.step) + i*int(s.row)
				from := (int(q.b) + g*int(s.step)) / 4
				for k := range int(s.n) {
					x := f32(a[k][at/4])
					for j, y := range (*[16]uint32)(b[k][from:]) {
						d[j] = u32(fma32(x, f32(y), f32(d[j])))
					}
				}
			}
		}
	}
}

// sumQuads is sumTiles for 16 blocks of 4x4: register r of a lane is row r of its block.
func sumQuads(acc *[4]vreg, a, b []vreg) {
	if hasAVX {
		avxQuads(acc, &a[0], &b[0], len(a))
		return
	}
	sumQuadsPlain(acc, a, b)
}

func sumQuadsPlain(acc *[4]vreg, a, b []vreg) {
	for r := range acc {
		for l := range acc[r] {
			s := f32(acc[r][l])
			for k := range a {
				s = fma32(f32(a[k][l&^3|r]), f32(b[k][l]), s)
			}
			acc[r][l] = u32(s)
		}
	}
}

// widenF16 splits registers of two float16.
func widenF16(even, odd, v *vreg) {
	if hasAVX {
		avxWidenF16(even, odd, v)
		return
	}
	widenF16Plain(even, odd, v)
}

func widenF16Plain(even, odd, v *vreg) {
	for l, x := range v {
		even[l], odd[l] = u32(h2f(x&0xffff)), u32(h2f(x>>16))
	}
}

// narrowF16 rounds to float16, two to a register.
func narrowF16(d, even, odd *vreg) {
	if hasAVX {
		avxNarrowF16(d, even, odd)
		return
	}
	narrowF16Plain(d, even, odd)
}

func narrowF16Plain(d, even, odd *vreg) {
	for l := range d {
		d[l] = f2h(f32(even[l])) | f2h(f32(odd[l]))<<16
	}
}

// widenBF16 splits registers of two bfloat16.
func widenBF16(even, odd, v *vreg) {
	if hasAVX {
		avxWidenBF16(even, odd, v)
		return
	}
	for l, x := range v {
		even[l], odd[l] = x<<16, x&0xffff0000
	}
}

// narrowBF16 rounds to bfloat16, two to a register.
func narrowBF16(d, even, odd *vreg) {
	if hasAVX {
		avxNarrowBF16(d, even, odd)
		return
	}
	for l := range d {
		d[l] = f2bf(f32(even[l])) | f2bf(f32(odd[l]))<<16
	}
}

// spread puts two elements of a sparse row where two bits each of index, from shift on, say. The other two are zero.
func spread(d *[4]vreg, v *[2]vreg, index *vreg, shift uint32) {
	if hasAVX {
		avxSpread(d, v, index, shift)
		return
	}
	clear(d[:])
	for l, x := range index {
		d[x>>shift&3][l] = v[0][l]
		d[x>>(shift+2)&3][l] = v[1][l]
	}
}

// look takes a code of up to 8 bits from each lane, which may begin in one register and end in the next, and gives its
// value. mask has the code's width.
func look(d, v, next *vreg, shift, mask uint32, tab *lookup, n int) {
	if hasAVX {
		avxLook(lo(d), lo(v), lo(next), shift, mask, tab)
		if n == 64 {
			avxLook(hi(d), hi(v), hi(next), shift, mask, tab)
		}
		return
	}
	lookPlain(d, v, next, shift, mask, tab)
}

func lookPlain(d, v, next *vreg, shift, mask uint32, tab *lookup) {
	for l, x := range v {
		d[l] = u32(tab[(x>>shift|next[l]<<(32-shift))&mask&255])
	}
}

// sumF64 adds the product of 16x4 and 4x16 to 16x16. A has its columns one after the other, the others their rows.
func sumF64(d *[256]float64, a, b *[64]float64) {
	if hasAVX {
		avxF64Tile(d, a, b)
		return
	}
	sumF64Plain(d, a, b)
}

func sumF64Plain(d *[256]float64, a, b *[64]float64) {
	for i := range d {
		for k := range 4 {
			d[i] = math.FMA(a[16*k+i/16], b[16*k+i%16], d[i])
		}
	}
}
