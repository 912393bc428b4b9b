package shader

import (
	"math"
	"math/big"
	"math/bits"
)

// Rounding modes as MODE encodes them.
const (
	roundEven = iota
	roundUp
	roundDown
	roundZero
	roundTrunc // drops what was added for stochastic rounding, but overflows to infinity
)

// format is a binary floating point format narrower than 64 bits, or float64 itself.
type format struct {
	exp, man uint8 // field widths
	bias     int16
	kind     uint8
}

const (
	ieee   = iota // infinities and NaNs in the top exponent
	fnuz          // one NaN (negative zero's code), no infinity
	e4m3          // OCP: no infinity, NaN is all ones
	noInfs        // every code is a number
)

var (
	f64f    = format{11, 52, 1023, ieee}
	f32f    = format{8, 23, 127, ieee}
	f16f    = format{5, 10, 15, ieee}
	bf16f   = format{8, 7, 127, ieee}
	bf8ocp  = format{5, 2, 15, ieee}
	fp8ocp  = format{4, 3, 7, e4m3}
	bf8fnuz = format{5, 2, 16, fnuz}
	fp8fnuz = format{4, 3, 8, fnuz}
	fp6f    = format{2, 3, 1, noInfs}
	bf6f    = format{3, 2, 3, noInfs}
	fp4f    = format{2, 1, 1, noInfs}
)

func (f *format) width() uint { return uint(f.exp) + uint(f.man) + 1 }

// maxFinite is the largest magnitude's code.
func (f *format) maxFinite() uint64 {
	top := uint64(1)<<(f.exp+f.man) - 1
	switch f.kind {
	case ieee:
		return top - 1<<f.man
	case e4m3:
		return top - 1
	}
	return top
}

func (f *format) inf() (code uint64, has bool) {
	if f.kind == ieee {
		return (uint64(1)<<f.exp - 1) << f.man, true
	}
	return 0, false
}

func (f *format) nan() uint64 {
	switch f.kind {
	case ieee:
		return (uint64(1)<<f.exp-1)<<f.man | 1<<(f.man-1)
	case fnuz:
		return 1 << (f.exp + f.man)
	case e4m3:
		return uint64(1)<<(f.exp+f.man) - 1
	}
	return f.maxFinite()
}

// value is the number that a code stands for, exact in a float64.
func (f *format) value(code uint64) float64 {
	w := f.width()
	neg := code>>(w-1)&1 != 0
	e := int(code >> f.man & (1<<f.exp - 1))
	m := code & (1<<f.man - 1)
	switch f.kind {
	case ieee:
		if e == 1<<f.exp-1 {
			if m != 0 {
				return math.NaN()
			}
			return math.Inf(1 - 2*b2i(neg))
		}
	case fnuz:
		if neg && e == 0 && m == 0 {
			return math.NaN()
		}
	case e4m3:
		if code&(1<<(w-1)-1) == 1<<(w-1)-1 {
			return math.NaN()
		}
	}
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.man
	}
	v := math.Ldexp(float64(m), e-int(f.bias)-int(f.man))
	if neg {
		return -v
	}
	return v
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// pack rounds m * 2^e, whose lowest bit may stand for all lower ones, to a code. sat returns the largest
// finite number instead of infinity.
func (f *format) pack(neg bool, m uint64, e int, rm uint8, sat bool) uint64 {
	sign := uint64(b2i(neg)) << (f.exp + f.man)
	if m == 0 {
		if f.kind == fnuz {
			return 0
		}
		return sign
	}
	n := bits.LeadingZeros64(m)
	m <<= n
	e -= n
	// The leading bit is bit 63 and has weight 2^(e+63).
	be := e + 63 + int(f.bias)
	drop := 63 - uint(f.man)
	sub := false
	if be < 1 {
		sub = true
		if 1-be > 62 {
			m = 1 // below half of the smallest denormal
		} else {
			sh := uint(1 - be)
			m = m>>sh | uint64(b2i(m<<(64-sh) != 0))
		}
		be = 1
	}
	keep, rest := m>>drop, m&(1<<drop-1)
	half := uint64(1) << (drop - 1)
	inc := false
	switch rm {
	case roundEven:
		inc = rest > half || rest == half && keep&1 != 0
	case roundUp:
		inc = rest != 0 && !neg
	case roundDown:
		inc = rest != 0 && neg
	}
	if inc {
		keep++
	}
	var code uint64
	if sub {
		code = keep // a carry into the exponent gives the smallest normal number
	} else {
		code = uint64(be-1)<<f.man + keep
	}
	if code > f.maxFinite() {
		inf, has := f.inf()
		away := rm == roundEven || rm == roundTrunc || rm == roundUp && !neg || rm == roundDown && neg
		switch {
		case sat || !away || f.kind == noInfs:
			code = f.maxFinite()
		case has:
			code = inf
		default:
			return f.nan() | sign
		}
	}
	if code == 0 && f.kind == fnuz {
		return 0
	}
	return sign | code
}

// from rounds a float64. The float64 may itself be rounded to odd.
func (f *format) from(x float64, rm uint8, sat bool) uint64 {
	b := math.Float64bits(x)
	neg := b>>63 != 0
	e := int(b >> 52 & 0x7ff)
	m := b & (1<<52 - 1)
	sign := uint64(b2i(neg)) << (f.exp + f.man)
	if e == 0x7ff {
		if m != 0 {
			if f.kind == ieee && f.man >= 7 { // keep the payload's top and quiet it
				return sign | f.nan() | m>>(52-f.man)
			}
			if f.kind == fnuz {
				return f.nan()
			}
			return sign | f.nan()
		}
		inf, has := f.inf()
		if has && !sat {
			return sign | inf
		}
		if sat || f.kind == noInfs {
			return sign | f.maxFinite()
		}
		if f.kind == fnuz {
			return f.nan()
		}
		return sign | f.nan()
	}
	if e == 0 {
		e = 1
	} else {
		m |= 1 << 52
	}
	return f.pack(neg, m, e-1075, rm, sat)
}

// odd turns s, the rounded sum of p and c, into the sum rounded to odd: truncated, with the last bit set if
// anything was lost. Rounding it again, to less than 52 bits, is then exact (Boldo and Melquiond, 2008).
func odd(p, c, s float64) float64 {
	bb := s - p
	err := (p - (s - bb)) + (c - bb)
	if err == 0 || err != err {
		return s
	}
	b := math.Float64bits(s)
	if b&1 != 0 {
		return s
	}
	if (err > 0) == (s > 0) {
		b++
	} else {
		b--
	}
	return math.Float64frombits(b)
}

// fma32 is a*b+c, rounded once. The product is exact in a float64; the sum's second rounding goes wrong only
// when the first one ends half way between two float32 values, or below the normal range.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	sb := math.Float64bits(s)
	if sb&0x1fffffff != 0x10000000 && sb<<1 >= 897<<53 {
		return float32(s)
	}
	return fma32Slow(p, float64(c), s)
}

func fma32Slow(p, c, s float64) float32 {
	if s == 0 || math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	return float32(odd(p, c, s))
}

// fmaOdd is a*b+c rounded to odd in a float64, for float32 or narrower values.
func fmaOdd(a, b, c float64) float64 {
	p := a * b
	s := p + c
	if s == 0 || math.IsInf(s, 0) || s != s {
		return s
	}
	return odd(p, c, s)
}

// fma64 is a*b+c in any rounding mode.
func fma64(a, b, c float64, rm uint8) float64 {
	r := math.FMA(a, b, c)
	if rm == roundEven || math.IsNaN(r) || math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsInf(c, 0) {
		return r
	}
	if a == 0 || b == 0 {
		if c != 0 {
			return c
		}
		ps := math.Signbit(a) != math.Signbit(b)
		return signedZero(ps, math.Signbit(c), rm)
	}
	x, y, z := bigOf(a), bigOf(b), bigOf(c)
	p := bigNum{new(big.Int).Mul(x.m, y.m), x.e + y.e}
	s := bigAdd(p, z)
	if s.m.Sign() == 0 {
		return signedZero(math.Signbit(a) != math.Signbit(b), math.Signbit(c), rm)
	}
	return s.round(rm)
}

func signedZero(a, b bool, rm uint8) float64 {
	if a && b || a != b && rm == roundDown {
		return math.Copysign(0, -1)
	}
	return 0
}

// bigNum is m * 2^e.
type bigNum struct {
	m *big.Int
	e int
}

func bigOf(x float64) bigNum {
	if x == 0 {
		return bigNum{new(big.Int), 0}
	}
	fr, e := math.Frexp(x)
	return bigNum{big.NewInt(int64(fr * (1 << 53))), e - 53}
}

func bigAdd(a, b bigNum) bigNum {
	if a.e < b.e {
		a, b = b, a
	}
	m := new(big.Int).Lsh(a.m, uint(a.e-b.e))
	return bigNum{m.Add(m, b.m), b.e}
}

func (n bigNum) round(rm uint8) float64 {
	neg := n.m.Sign() < 0
	m := new(big.Int).Abs(n.m)
	e := n.e
	if l := m.BitLen(); l > 63 {
		sh := uint(l - 63)
		low := new(big.Int).And(m, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), sh), big.NewInt(1)))
		m.Rsh(m, sh)
		e += int(sh)
		v := m.Uint64()
		if low.Sign() != 0 {
			v |= 1
		}
		return math.Float64frombits(f64f.pack(neg, v, e, rm, false))
	}
	return math.Float64frombits(f64f.pack(neg, m.Uint64(), e, rm, false))
}

func f32(u uint32) float32  { return math.Float32frombits(u) }
func u32(f float32) uint32  { return math.Float32bits(f) }
func f64(u uint64) float64  { return math.Float64frombits(u) }
func u64(f float64) uint64  { return math.Float64bits(f) }
func isNaN32(u uint32) bool { return u&0x7fffffff > 0x7f800000 }
func isNaN16(u uint32) bool { return u&0x7fff > 0x7c00 }
func isNaN64(u uint64) bool { return u<<1 > 0x7ff<<53 }

// h2f widens a float16.
func h2f(h uint32) float32 {
	e, m := h>>10&31, h&0x3ff
	s := h & 0x8000 << 16
	switch {
	case e == 31:
		return f32(s | 0x7f800000 | m<<13)
	case e != 0:
		return f32(s | (e+112)<<23 | m<<13)
	}
	return f32(s | u32(float32(m)*(1.0/(1<<24))))
}

// f2h rounds a float32 to a float16, ties to even.
func f2h(f float32) uint32 {
	b := u32(f)
	s := b >> 16 & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return s | 0x7e00 | b>>13&0x3ff
	case b >= 0x477ff000: // rounds above 65504
		return s | 0x7c00
	case b < 0x38800000: // denormal: let the adder round at 2^-24
		return s | (u32(f32(b)+0.5) - 0x3f000000)
	}
	b += 0xfff + b>>13&1
	return s | (b-0x38000000)>>13
}

// d2h rounds a float64 to a float16.
func d2h(x float64, rm uint8) uint32 { return uint32(f16f.from(x, rm, false)) }

// d2f rounds a float64 to a float32.
func d2f(x float64, rm uint8) uint32 {
	if rm == roundEven {
		return u32(float32(x))
	}
	return uint32(f32f.from(x, rm, false))
}

func bf2f(b uint32) float32 { return f32(b << 16) }

// f2bf rounds a float32 to a bfloat16, ties to even.
func f2bf(f float32) uint32 {
	b := u32(f)
	if isNaN32(b) {
		return b>>16 | 0x40
	}
	return (b + 0x7fff + b>>16&1) >> 16
}

// Flushing keeps the sign.
func flush32(u uint32) uint32 {
	if u&0x7f800000 == 0 {
		return u & 0x80000000
	}
	return u
}

func flush16(u uint32) uint32 {
	if u&0x7c00 == 0 {
		return u & 0x8000
	}
	return u
}

func flush64(u uint64) uint64 {
	if u&(0x7ff<<52) == 0 {
		return u & (1 << 63)
	}
	return u
}
