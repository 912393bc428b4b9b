package shader

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// edges32 are float32 patterns where rounding and special cases meet.
var edges32 = []uint32{
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x00800001, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff,
	0x33800000, 0x33800001, 0x34000000, 0x4b800000, 0x4b7fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
	0x00400000, 0x1f800000, 0x5f800000, 0x20000000, 0x0d800000,
}

func pattern(r *rand.Rand) uint32 {
	switch r.IntN(4) {
	case 0:
		return edges32[r.IntN(len(edges32))]
	case 1: // exponents near each other make halfway cases
		return r.Uint32()&0x807fffff | (120+r.Uint32N(16))<<23
	case 2: // few bits set
		return r.Uint32()&r.Uint32()&r.Uint32() | r.Uint32N(255)<<23
	}
	return r.Uint32()
}

// exactFma is a*b+c by arbitrary precision, rounded once to float32.
func exactFma(a, b, c float32, m big.RoundingMode) float32 {
	x := new(big.Float).SetPrec(2000).SetFloat64(float64(a))
	x.Mul(x, new(big.Float).SetFloat64(float64(b)))
	x.Add(x, new(big.Float).SetPrec(2000).SetFloat64(float64(c)))
	// big.Float has no denormals: scale so that one unit of the last place is 1, then round to an integer.
	exp := -149
	if e := x.MantExp(nil); x.Sign() != 0 && e-24 > exp {
		exp = e - 24
	}
	x.SetMantExp(x, -exp)
	r := new(big.Float).SetPrec(53).SetMode(m)
	i := new(big.Float).SetPrec(uint(max(x.MantExp(nil), 1))).SetMode(m)
	if x.MantExp(nil) < 1 { // below one unit: 0 or 1
		half := big.NewFloat(0.5)
		abs := new(big.Float).Abs(x)
		up := false
		switch m {
		case big.ToNearestEven:
			up = abs.Cmp(half) > 0
		case big.ToPositiveInf:
			up = x.Sign() > 0
		case big.ToNegativeInf:
			up = x.Sign() < 0
		}
		i.SetInt64(0)
		if up {
			i.SetInt64(int64(x.Sign()))
		}
	} else {
		i.Set(x)
	}
	r.Set(i)
	f, _ := r.Float64()
	f = math.Ldexp(f, exp)
	if x.Sign() < 0 && f == 0 {
		f = math.Copysign(0, -1)
	}
	if math.Abs(f) > math.MaxFloat32 {
		away := m == big.ToNearestEven || m == big.ToPositiveInf && f > 0 || m == big.ToNegativeInf && f < 0
		if away {
			return float32(math.Inf(int(math.Copysign(1, f))))
		}
		return float32(math.Copysign(math.MaxFloat32, f))
	}
	return float32(f)
}

func TestFma32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	modes := map[uint8]big.RoundingMode{roundEven: big.ToNearestEven, roundUp: big.ToPositiveInf, roundDown: big.ToNegativeInf, roundZero: big.ToZero}
	for range 200000 {
		a, b, c := f32(pattern(r)), f32(pattern(r)), f32(pattern(r))
		fin := func(x float32) bool { return !math.IsInf(float64(x), 0) && x == x }
		if !fin(a) || !fin(b) || !fin(c) || float64(a)*float64(b)+float64(c) == 0 {
			continue
		}
		for rm, bm := range modes {
			m := mode{rm32: rm}
			got, want := mFma32(&m, a, b, c), u32(exactFma(a, b, c, bm))
			if got != want {
				t.Fatalf("mode %d: fma(%x, %x, %x) = %08x, want %08x", rm, u32(a), u32(b), u32(c), got, want)
			}
		}
	}
}

func TestFma64Modes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		a, b, c := f64(r.Uint64()), f64(r.Uint64()), f64(r.Uint64())
		near := math.FMA(a, b, c)
		if math.IsNaN(near) || math.IsInf(near, 0) {
			continue
		}
		up, down, zero := fma64(a, b, c, roundUp), fma64(a, b, c, roundDown), fma64(a, b, c, roundZero)
		if !(down <= near && near <= up) || up != down && math.Nextafter(down, math.Inf(1)) != up || math.Abs(zero) != min(math.Abs(up), math.Abs(down)) {
			t.Fatalf("fma(%g, %g, %g): down %g near %g up %g zero %g", a, b, c, down, near, up, zero)
		}
	}
}

// TestNarrowFormats checks that every code of a narrow format survives a round trip, and rounding between neighbours.
func TestNarrowFormats(t *testing.T) {
	for name, f := range map[string]*format{
		"f16": &f16f, "bf16": &bf16f, "bf8": &bf8ocp, "fp8": &fp8ocp, "bf8fnuz": &bf8fnuz, "fp8fnuz": &fp8fnuz, "fp6": &fp6f, "bf6": &bf6f, "fp4": &fp4f,
	} {
		w := f.width()
		for code := uint64(0); code < 1<<w; code++ {
			v := f.value(code)
			if math.IsNaN(v) {
				if got := f.value(f.from(v, roundEven, false)); !math.IsNaN(got) {
					t.Errorf("%s: NaN %x becomes %g", name, code, got)
				}
				continue
			}
			if got := f.from(v, roundEven, false); got != code {
				t.Fatalf("%s: %x = %g goes back to %x", name, code, v, got)
			}
			if code&(1<<(w-1)) != 0 || code+1 > f.maxFinite() {
				continue
			}
			next := f.value(code + 1)
			mid := (v + next) / 2
			even := code + code&1
			if got := f.from(mid, roundEven, false); got != even {
				t.Fatalf("%s: the middle of %g and %g becomes %x, want %x", name, v, next, got, even)
			}
			if got := f.from(mid, roundZero, false); got != code {
				t.Fatalf("%s: %g toward zero becomes %x, want %x", name, mid, got, code)
			}
			if got := f.from(mid, roundUp, false); got != code+1 {
				t.Fatalf("%s: %g upward becomes %x, want %x", name, mid, got, code+1)
			}
		}
	}
}

// TestHalf compares the fast float16 conversions with the general ones.
func TestHalf(t *testing.T) {
	for h := range uint32(1 << 16) {
		if got, want := float64(h2f(h)), f16f.value(uint64(h)); got != want && got == got {
			t.Fatalf("h2f(%04x) = %g, want %g", h, got, want)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000000 {
		u := r.Uint32()
		if r.IntN(2) == 0 {
			u = u&0x807fffff | (96+r.Uint32N(52))<<23&0x7f800000
		}
		if isNaN32(u) {
			continue
		}
		if got, want := f2h(f32(u)), uint32(f16f.from(float64(f32(u)), roundEven, false)); got != want {
			t.Fatalf("f2h(%08x) = %04x, want %04x", u, got, want)
		}
		if got, want := f2bf(f32(u)), uint32(bf16f.from(float64(f32(u)), roundEven, false)); got != want {
			t.Fatalf("f2bf(%08x) = %04x, want %04x", u, got, want)
		}
	}
}
