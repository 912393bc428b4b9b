package shader

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// matrixShape is what a matrix instruction's name says.
type matrixShape struct {
	m, n, k, blocks int
	kind, out       string // of A and B, of C and D
	sparse          bool
}

var matrixName = regexp.MustCompile(`^v_(mfma|smfmac|wmma|swmmac)_(f32|f64|i32|f16|bf16)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(bf16_1k|bf16|f16|xf32|f32|f64|iu8|iu4|i8|fp8_fp8|bf8_bf8|fp8_bf8|bf8_fp8)$`)

// TestMatrixValues: products of matrices of small whole numbers, which no order of sums changes. Where elements lie is
// what AMD's matrix instruction calculator and ISA documents say: lanes run along rows of A and columns of B, a lane holds
// consecutive elements of K, and blocks come after one another. Of CDNA4's and the sparse operations, that a lane's
// elements are consecutive is unconfirmed.
func TestMatrixValues(t *testing.T) {
	tested := map[string]int{}
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		p := matrixName.FindStringSubmatch(o.name)
		if p == nil || !o.arch.CDNA() {
			continue
		}
		num := func(i int) int { n, _ := strconv.Atoi(p[i]); return n }
		s := matrixShape{m: num(3), n: num(4), k: num(5), kind: p[7], out: p[2], sparse: p[1] == "smfmac", blocks: 1}
		s.kind = strings.TrimSuffix(s.kind, "_1k")
		// Blocks fill the lanes; the number is in newer names alone.
		per := map[string]int{"f32": 1, "xf32": 2, "bf16": 2, "f16": 4, "i8": 4, "f64": 1}[s.kind]
		if strings.HasSuffix(p[7], "_1k") || o.target != "gfx90a" && s.kind == "bf16" {
			per = 4
		}
		switch {
		case s.m*s.k < 64*per && !s.sparse:
			s.blocks = 64 * per / (s.m * s.k)
		case s.kind == "f64" && s.m == 4:
			s.blocks = 4
		}
		for abid := range 4 {
			if abid > 0 && !s.sparse {
				break
			}
			s.check(t, o, abid)
		}
		tested[o.target]++
	}
	if tested["gfx90a"] < 20 || tested["gfx942"] < 30 || tested["gfx950"] < 40 {
		t.Errorf("tested %v", tested)
	}
}

func (s *matrixShape) bits() int {
	switch s.kind {
	case "f64":
		return 64
	case "f32", "xf32":
		return 32
	case "f16", "bf16":
		return 16
	}
	return 8
}

// code is a whole number in a format.
func (s *matrixShape) code(target, kind string, x int) uint64 {
	switch {
	case kind == "f64":
		return u64(float64(x))
	case kind == "xf32":
		return uint64(u32(float32(x)))
	case kind == "i8":
		return uint64(uint8(int8(x)))
	case strings.HasPrefix(kind, "fp8"), strings.HasPrefix(kind, "bf8"):
		f := kind[:3]
		if target == "gfx942" {
			f += "z"
		}
		return uint64(refRound(f, float64(x)))
	}
	return uint64(refRound(kind, float64(x)))
}

func (s *matrixShape) check(t *testing.T, o *tableOp, abid int) {
	t.Helper()
	const va, vb, vc, vi, vd = 16, 32, 64, 48, 128
	kinds := [2]string{s.kind, s.kind}
	if len(s.kind) == 7 { // fp8_bf8
		kinds = [2]string{s.kind[:3], s.kind[4:]}
	}
	set := fields{"vdst": vd, "src0": v(va), "src1": v(vb), "src2": v(vc), "opsel_hi": 0, "opsel_hi2": 0, "opsel": abid} // abid, as the other format has it
	if s.sparse {
		set["src2"] = v(vi)
	}
	bits := s.bits()
	perB := s.k * s.n * s.blocks / 64
	perA := perB
	if s.sparse {
		perA /= 2
		if abid*2*perA >= 32 { // no such part of the indices
			return
		}
	}
	r := rand.New(rand.NewPCG(91, uint64(len(o.name))))
	a := (&assembler{t: t, target: o.target}).op(o.name, set)
	var ma, mb [16][64][128]int // block, row or column, k; A of sparse ones with its zeros
	outs := s.m * s.n * s.blocks / 64
	mc := map[[3]int]int{}
	place := func(b, i, j int) (reg, l int) {
		switch {
		case s.out == "f64" && s.m == 4:
			return 0, 16*i + 4*b + j
		case s.out == "f64":
			return i / 4, j + 16*(i%4)
		case s.m == 32:
			return 16*b + i/8*4 + i%4, j + 32*(i/4%2)
		case s.m == 16:
			return 4*b + i%4, j + 16*(i/4)
		}
		return i, j + 4*b
	}
	width := 1
	if s.out == "f64" {
		width = 2
	}
	number := func() int { return r.IntN(9) - 4 }
	w, _, f := single(t, a, false, func(w *wave) {
		put := func(base, l, at int, code uint64) {
			for k := range bits {
				bit := at*bits + k
				w.v[base+bit/32][l] |= uint32(code>>k&1) << (bit % 32)
			}
		}
		for b := range s.blocks {
			lane := func(i, m, k, per int) int {
				if s.kind == "f64" && s.m == 4 {
					return i + 4*b + 16*k
				}
				return i + m*(k/per) + m*(s.k/per)*b
			}
			for j := range s.n {
				for k := range s.k {
					mb[b][j][k] = number()
					put(vb, lane(j, s.n, k, perB), k%perB, s.code(o.target, kinds[1], mb[b][j][k]))
				}
			}
			for i := range s.m {
				for k := 0; k < s.k; k++ {
					if !s.sparse {
						ma[b][i][k] = number()
						put(va, lane(i, s.m, k, perA), k%perA, s.code(o.target, kinds[0], ma[b][i][k]))
						continue
					}
					if k%4 != 0 {
						continue
					}
					// Two of four, at two places in order.
					l := i + s.m*(k/perB)
					at := k % perB / 2
					first := r.IntN(3)
					second := first + 1 + r.IntN(3-first)
					for e, idx := range []int{first, second} {
						x := number()
						ma[b][i][k+idx] = x
						put(va, l, at+e, s.code(o.target, kinds[0], x))
						w.v[vi][l] |= uint32(idx) << (2*(at+e) + abid*2*perA)
					}
				}
			}
			for i := range s.m {
				for j := range s.n {
					c := r.IntN(200) - 100
					mc[[3]int{b, i, j}] = c
					reg, l := place(b, i, j)
					base := vc
					if s.sparse {
						base = vd
					}
					code := uint64(uint32(int32(c)))
					if s.out != "i32" {
						code = s.code(o.target, s.out, c)
					}
					for k := range width {
						w.v[base+reg*width+k][l] = uint32(code >> (32 * k))
					}
				}
			}
		}
	})
	if f != nil {
		t.Errorf("%s %s: %v", o.target, o.name, f)
		return
	}
	if outs == 0 {
		t.Fatalf("%s: no results", o.name)
	}
	for b := range s.blocks {
		for i := range s.m {
			for j := range s.n {
				x := mc[[3]int{b, i, j}]
				for k := range s.k {
					x += ma[b][i][k] * mb[b][j][k]
				}
				reg, l := place(b, i, j)
				want := uint64(uint32(int32(x)))
				if s.out != "i32" {
					want = s.code(o.target, s.out, x)
				}
				got := uint64(w.v[vd+reg*width][l])
				if width == 2 {
					got |= uint64(w.v[vd+reg*width+1][l]) << 32
				}
				if got != want {
					t.Errorf("%s %s abid %d block %d row %d column %d: %x, want %x", o.target, o.name, abid, b, i, j, got, want)
					return
				}
			}
		}
	}
}

// TestSparseWMMA: RDNA4's sparse products, with elements where the RDNA4 ISA (7.12) puts them.
func TestSparseWMMA(t *testing.T) {
	tested := 0
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		p := matrixName.FindStringSubmatch(o.name)
		if p == nil || p[1] != "swmmac" {
			continue
		}
		tested++
		k, _ := strconv.Atoi(p[5])
		for _, wave := range []int{32, 64} {
			halves := wave / 16 // groups of 16 lanes that share a row
			per := k / halves
			for key := range 4 {
				if (key+1)*per > 32 {
					break
				}
				sparseWMMA(t, o, p[7], p[2], k, wave, key)
			}
		}
	}
	if tested < 20 {
		t.Errorf("tested %d", tested)
	}
}

func sparseWMMA(t *testing.T, o *tableOp, kind, out string, size, lanes, key int) {
	t.Helper()
	const va, vb, vi, vd = 16, 32, 48, 64
	s := &matrixShape{kind: kind}
	kinds := [2]string{kind, kind}
	if len(kind) == 7 {
		kinds = [2]string{kind[:3], kind[4:]}
	}
	bits := map[string]int{"f16": 16, "bf16": 16, "iu4": 4}[kind]
	if bits == 0 {
		bits = 8
	}
	// Signed integers, which the neg bits say.
	set := fields{"vdst": vd, "src0": v(va), "src1": v(vb), "src2": v(vi), "opsel_hi": 3, "opsel_hi2": 1, "opsel": key}
	low := -4
	if strings.HasPrefix(kind, "iu") {
		set["neg"] = 3
		kinds = [2]string{"i8", "i8"}
	}
	a := (&assembler{t: t, target: o.target}).op(o.name, set)
	per := size * 16 / lanes
	place := func(i, k int) (lane, at int) { return i + 16*(k/(size/2)), k % (size / 2) }
	result := func(i, j int) (lane, reg int) { return 16*(i/8) + j, i % 8 }
	if lanes == 64 {
		place = func(i, k int) (lane, at int) { return i + 16*(k/(size/2)) + 32*(k/per%2), k % per }
		result = func(i, j int) (lane, reg int) { return i/4%2*32 + i/8*16 + j, i % 4 }
	}
	r := rand.New(rand.NewPCG(92, uint64(len(o.name))))
	var ma, mb [16][64]int
	var mc [16][16]int
	half := out == "f16" || out == "bf16"
	w, _, f := single(t, a, lanes == 32, func(w *wave) {
		put := func(base, l, at int, code uint64) {
			for b := range bits {
				bit := at*bits + b
				w.v[base+bit/32][l] |= uint32(code>>b&1) << (bit % 32)
			}
		}
		for i := range 16 {
			for k := range size {
				mb[i][k] = low + r.IntN(8)
				l, at := place(i, k)
				put(vb, l, at, s.code(o.target, kinds[1], mb[i][k]))
				if k%4 != 0 {
					continue
				}
				first := r.IntN(3)
				second := first + 1 + r.IntN(3-first)
				for e, idx := range []int{first, second} {
					x := low + r.IntN(8)
					ma[i][k+idx] = x
					put(va, l, at/2+e, s.code(o.target, kinds[0], x))
					w.v[vi][l] |= uint32(idx) << (2*(at/2+e) + key*per)
				}
			}
			for j := range 16 {
				mc[i][j] = r.IntN(60) - 30
				l, reg := result(i, j)
				switch {
				case half:
					w.v[vd+reg/2][l] |= uint32(s.code(o.target, out, mc[i][j])) << (16 * (reg % 2))
				case out == "i32":
					w.v[vd+reg][l] = uint32(int32(mc[i][j]))
				default:
					w.v[vd+reg][l] = u32(float32(mc[i][j]))
				}
			}
		}
	})
	if f != nil {
		t.Errorf("%s %s: %v", o.target, o.name, f)
		return
	}
	for i := range 16 {
		for j := range 16 {
			x := mc[i][j]
			for k := range size {
				x += ma[i][k] * mb[j][k]
			}
			l, reg := result(i, j)
			want, got := u32(float32(x)), w.v[vd+reg][l]
			switch {
			case half:
				want, got = refRound(out, float64(x)), half16(w.v[vd+reg/2][l], reg%2 == 1)
			case out == "i32":
				want = uint32(int32(x))
			}
			if got != want {
				t.Errorf("%s %s wave of %d, index key %d, row %d column %d: %x, want %x", o.target, o.name, lanes, key, i, j, got, want)
				return
			}
		}
	}
}

// TestScaledMFMA: each lane's 32 elements of K are scaled by a power of two, a byte of a register of their own.
func TestScaledMFMA(t *testing.T) {
	const va, vb, vc, vd, sa, sb = 16, 32, 64, 128, 60, 62
	for size, name := range map[int]string{16: "v_mfma_scale_f32_16x16x128_f8f6f4", 32: "v_mfma_scale_f32_32x32x64_f8f6f4"} {
		k := 2048 / size
		a := (&assembler{t: t, target: "gfx950"}).op(name, fields{"vdst": vd, "src0": v(va), "src1": v(vb), "src2": v(vc), "scale_src0": v(sa), "scale_src1": v(sb), "opsel": 1, "opsel_hi": 2})
		r := rand.New(rand.NewPCG(93, uint64(size)))
		ma, mb, mc := map[[2]int]float64{}, map[[2]int]float64{}, map[[2]int]float64{}
		place := func(i, j int) (reg, l int) { return i/8*4 + i%4, j + 32*(i/4%2) }
		if size == 16 {
			place = func(i, j int) (reg, l int) { return i % 4, j + 16*(i/4) }
		}
		w, _, f := single(t, a, false, func(w *wave) {
			for l := range 64 {
				// Byte 1 of A's scales and byte 2 of B's: op_sel 01, op_sel_hi 10.
				ea, eb := r.Uint32N(5), r.Uint32N(5)
				w.v[sa][l], w.v[sb][l] = r.Uint32()&^0xff00|(125+ea)<<8, r.Uint32()&^0xff0000|(125+eb)<<16
				for e := range 32 {
					x, y := float64(r.IntN(9)-4), float64(r.IntN(9)-4)
					w.v[va+e/4][l] |= refRound("fp8", x) << (8 * (e % 4))
					w.v[vb+e/4][l] |= refRound("fp8", y) << (8 * (e % 4))
					ma[[2]int{l % size, l/size*32 + e}] = x * float64(int(1)<<ea) / 4
					mb[[2]int{l % size, l/size*32 + e}] = y * float64(int(1)<<eb) / 4
				}
			}
			for i := range size {
				for j := range size {
					c := float64(r.IntN(200) - 100)
					mc[[2]int{i, j}] = c
					reg, l := place(i, j)
					w.v[vc+reg][l] = u32(float32(c))
				}
			}
		})
		if f != nil {
			t.Fatalf("%s: %v", name, f)
		}
		for i := range size {
			for j := range size {
				x := mc[[2]int{i, j}]
				for k := range k {
					x += ma[[2]int{i, k}] * mb[[2]int{j, k}]
				}
				reg, l := place(i, j)
				if got := f32(w.v[vd+reg][l]); float64(got) != x {
					t.Fatalf("%s row %d column %d: %g, want %g", name, i, j, got, x)
				}
			}
		}
	}
}
