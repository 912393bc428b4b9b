package shader

import (
	"math/rand/v2"
	"testing"
)

// The sequences with which LLVM divides (AMDGPULegalizerInfo::legalizeFDIV32 and legalizeFDIV64) give the correctly
// rounded quotient on hardware, so they must here: that ties v_div_scale, v_div_fmas and v_div_fixup to each other.

func TestDivision32(t *testing.T) {
	neg := func(i int) int { return 1 << i }
	a := &assembler{t: t, target: "gfx1100"}
	const den, num, q, r, e = 4, 5, 7, 6, 8
	a.op("v_div_scale_f32", fields{"vdst": den, "sdst": 124, "src0": v(1), "src1": v(1), "src2": v(0)})
	a.op("v_div_scale_f32", fields{"vdst": num, "sdst": 106, "src0": v(0), "src1": v(1), "src2": v(0)})
	a.op("v_rcp_f32_e32", fields{"vdst": r, "src0": v(den)})
	a.op("v_fma_f32", fields{"vdst": e, "src0": v(den), "src1": v(r), "src2": 242, "neg": neg(0)})
	a.op("v_fma_f32", fields{"vdst": r, "src0": v(e), "src1": v(r), "src2": v(r)})
	a.op("v_mul_f32_e32", fields{"vdst": q, "src0": v(num), "vsrc1": r})
	a.op("v_fma_f32", fields{"vdst": e, "src0": v(den), "src1": v(q), "src2": v(num), "neg": neg(0)})
	a.op("v_fma_f32", fields{"vdst": q, "src0": v(e), "src1": v(r), "src2": v(q)})
	a.op("v_fma_f32", fields{"vdst": e, "src0": v(den), "src1": v(q), "src2": v(num), "neg": neg(0)})
	a.op("v_div_fmas_f32", fields{"vdst": e, "src0": v(e), "src1": v(r), "src2": v(q)})
	a.op("v_div_fixup_f32", fields{"vdst": e, "src0": v(e), "src1": v(1), "src2": v(0)})
	rnd := rand.New(rand.NewPCG(5, 5))
	bad := 0
	for range 4000 {
		var x, y [32]float32
		w, _, f := single(t, a, true, func(w *wave) {
			for l := range 32 {
				x[l], y[l] = f32(pattern(rnd)), f32(pattern(rnd))
				if rnd.IntN(2) == 0 {
					x[l], y[l] = f32(rnd.Uint32()), f32(rnd.Uint32())
				}
				w.v[0][l], w.v[1][l] = u32(x[l]), u32(y[l])
			}
		})
		if f != nil {
			t.Fatal(f)
		}
		for l := range 32 {
			got, want := f32(w.v[e][l]), x[l]/y[l]
			if got != want && (got == got || want == want) {
				if bad++; bad < 30 {
					t.Errorf("%08x / %08x = %08x, want %08x (den %08x num %08x vcc %d)", u32(x[l]), u32(y[l]), u32(got), u32(want), w.v[den][l], w.v[num][l], w.s[106]>>l&1)
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d wrong", bad)
	}
}

func TestDivision64(t *testing.T) {
	a := &assembler{t: t, target: "gfx942"}
	const den, num, r, e, q = 4, 6, 8, 10, 12
	fma := func(d, x, y, z, neg int) {
		a.op("v_fma_f64", fields{"vdst": d, "src0": x, "src1": y, "src2": z, "neg": neg})
	}
	a.op("v_div_scale_f64", fields{"vdst": den, "sdst": 20, "src0": v(2), "src1": v(2), "src2": v(0)})
	a.op("v_div_scale_f64", fields{"vdst": num, "sdst": 106, "src0": v(0), "src1": v(2), "src2": v(0)})
	a.op("v_rcp_f64_e32", fields{"vdst": r, "src0": v(den)})
	for range 2 {
		fma(e, v(den), v(r), 242, 1)
		fma(r, v(r), v(e), v(r), 0)
	}
	a.op("v_mul_f64", fields{"vdst": q, "src0": v(num), "src1": v(r)})
	fma(e, v(den), v(q), v(num), 1)
	a.op("v_div_fmas_f64", fields{"vdst": q, "src0": v(e), "src1": v(r), "src2": v(q)})
	a.op("v_div_fixup_f64", fields{"vdst": q, "src0": v(q), "src1": v(2), "src2": v(0)})
	rnd := rand.New(rand.NewPCG(6, 6))
	edges := []uint64{0, 1, 1 << 51, 1<<52 - 1, 1 << 52, 1<<52 + 1, 0x3ff << 52, 0x3ff<<52 + 1, 0x7fe << 52, 0x7fefffffffffffff, 0x7ff << 52, 0x7ff8 << 48, 20 << 52, 53 << 52, 54 << 52, 0x7d0 << 52}
	bad := 0
	for range 2000 {
		var x, y [64]float64
		w, _, f := single(t, a, false, func(w *wave) {
			one := func() float64 {
				switch rnd.IntN(3) {
				case 0:
					return f64(edges[rnd.IntN(len(edges))] | rnd.Uint64()&(1<<63))
				case 1:
					return f64(rnd.Uint64())
				}
				return f64(rnd.Uint64()&^(0x7ff<<52) | (900+rnd.Uint64N(250))<<52)
			}
			for l := range 64 {
				x[l], y[l] = one(), one()
				w.v[0][l], w.v[1][l] = uint32(u64(x[l])), uint32(u64(x[l])>>32)
				w.v[2][l], w.v[3][l] = uint32(u64(y[l])), uint32(u64(y[l])>>32)
			}
		})
		if f != nil {
			t.Fatal(f)
		}
		for l := range 64 {
			got, want := f64(w.lane64(q, l)), x[l]/y[l]
			if got != want && (got == got || want == want) {
				if bad++; bad < 30 {
					t.Errorf("%016x / %016x = %016x, want %016x (den %016x num %016x vcc %d)", u64(x[l]), u64(y[l]), u64(got), u64(want), w.lane64(den, l), w.lane64(num, l), w.vcc()>>l&1)
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d wrong", bad)
	}
}
