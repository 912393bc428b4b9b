package shader

import (
	"math"
	"math/big"
)

// Steps of divisions and of the range reduction of trigonometric functions, cube maps.

// cube maps a direction to a cube face: its number, the coordinates on it and twice the major axis.
func cube(x, y, z float32) (id, sc, tc, ma float32) {
	abs := func(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }
	ax, ay, az := abs(x), abs(y), abs(z)
	switch {
	case az >= ax && az >= ay:
		if z < 0 {
			return 5, -x, -y, 2 * z
		}
		return 4, x, -y, 2 * z
	case ay >= ax:
		if y < 0 {
			return 3, x, -z, 2 * y
		}
		return 2, x, z, 2 * y
	}
	if x < 0 {
		return 1, z, -y, 2 * x
	}
	return 0, -z, -y, 2 * x
}

func exp32(a uint32) int { return int(a >> 23 & 255) }

// divScale32 scales a, which is the denominator b or the numerator c, so that the steps of the division stay within the
// normal numbers. The flag asks v_div_fmas to scale the quotient back.
//
// This is the documents' rule with what they leave open or print wrong settled so that LLVM's divisions come out correctly
// rounded, and as RX 7900 XTX answers the cases that the execution vectors' hardware tests ask (a zero operand sets the
// flag; so does 2^-126 / 1, so a quotient counts as denormal by the exponents alone; the flag without scaling the
// numerator for 1 / 2^127, so it is the denominator that is scaled there, and down: up would make it infinite).
func divScale32(a, b, c uint32) (uint32, bool) {
	eb, ec := exp32(b), exp32(c)
	scale := func(of uint32, e int, flag bool) (uint32, bool) {
		if of != a {
			return a, flag
		}
		return u32(float32(math.Ldexp(float64(f32(a)), e))), flag
	}
	small := ec-eb <= -126                         // the quotient
	large := b&0x7fffffff > 0x7e800000 && eb < 255 // the denominator: its reciprocal is denormal
	switch {
	case b<<1 == 0 || c<<1 == 0:
		return 0x7fc00000, true
	case ec-eb >= 96: // the quotient is near the largest number
		return scale(b, 64, true)
	case eb == 0:
		return scale(a, 64, false)
	case large && small:
		return scale(b, -64, true)
	case large:
		return scale(a, -64, false)
	case small:
		return scale(c, 64, true)
	case ec <= 23: // the numerator is tiny
		return scale(a, 64, false)
	}
	return a, false
}

// divScale64 is divScale32 for float64.
func divScale64(a, b, c uint64) (uint64, bool) {
	exp := func(v uint64) int { return int(v >> 52 & 0x7ff) }
	eb, ec := exp(b), exp(c)
	scale := func(of uint64, e int, flag bool) (uint64, bool) {
		if of != a {
			return a, flag
		}
		return u64(math.Ldexp(f64(a), e)), flag
	}
	small := ec-eb <= -1022
	large := b&^(1<<63) > 0x7fd<<52 && eb < 2047
	switch {
	case b<<1 == 0 || c<<1 == 0:
		return 0x7ff8 << 48, true
	case ec-eb >= 768:
		return scale(b, 128, true)
	case eb == 0:
		return scale(a, 128, false)
	case large && small:
		return scale(b, -128, true)
	case large:
		return scale(a, -128, false)
	case small:
		return scale(c, 128, true)
	case ec <= 53:
		return scale(a, 128, false)
	}
	return a, false
}

// awayFromZero tells whether what is next to nothing rounds to the smallest number and not to zero.
func awayFromZero(rm uint8, neg bool) bool { return rm == roundUp && !neg || rm == roundDown && neg }

// divFixup32 finishes a division: a is the quotient so far, b the denominator, c the numerator.
func divFixup32(m *mode, a, b, c uint32) uint32 {
	sign := (b ^ c) & 0x80000000
	zero := func(v uint32) bool { return v<<1 == 0 }
	inf := func(v uint32) bool { return v&0x7fffffff == 0x7f800000 }
	switch {
	case isNaN32(c):
		return c | 0x400000
	case isNaN32(b):
		return b | 0x400000
	case zero(b) && zero(c), inf(b) && inf(c):
		return 0xffc00000
	case zero(b), inf(c):
		return sign | 0x7f800000
	case inf(b), zero(c):
		return sign
	case exp32(c)-exp32(b) < -150: // less than half of the smallest number
		return sign | b2u(awayFromZero(m.rm32, sign != 0))
	case exp32(b) == 255, isNaN32(a):
		return sign | 0x7f800000
	}
	return sign | a&0x7fffffff
}

func divFixup16(a, b, c uint32) uint32 {
	a, b, c = a&0xffff, b&0xffff, c&0xffff
	sign := (b ^ c) & 0x8000
	zero := func(v uint32) bool { return v&0x7fff == 0 }
	inf := func(v uint32) bool { return v&0x7fff == 0x7c00 }
	switch {
	case isNaN16(c):
		return c | 0x200
	case isNaN16(b):
		return b | 0x200
	case zero(b) && zero(c), inf(b) && inf(c):
		return 0xfe00
	case zero(b), inf(c):
		return sign | 0x7c00
	case inf(b), zero(c):
		return sign
	}
	return sign | a&0x7fff
}

func divFixup64(m *mode, a, b, c uint64) uint64 {
	sign := (b ^ c) & (1 << 63)
	exp := func(v uint64) int { return int(v >> 52 & 0x7ff) }
	zero := func(v uint64) bool { return v<<1 == 0 }
	inf := func(v uint64) bool { return v<<1 == 0x7ff<<53 }
	switch {
	case isNaN64(c), isNaN64(b):
		return quiet64(c, b)
	case zero(b) && zero(c), inf(b) && inf(c):
		return 0xfff8 << 48
	case zero(b), inf(c):
		return sign | 0x7ff<<52
	case inf(b), zero(c):
		return sign
	case exp(c)-exp(b) < -1075:
		return sign | uint64(b2u(awayFromZero(m.rm64, sign != 0)))
	case exp(b) == 2047, isNaN64(a):
		return sign | 0x7ff<<52
	}
	return sign | a&^(1<<63)
}

// twoOverPi are the first 1201 bits of 2/pi after the point, most significant first.
var twoOverPi = [...]uint64{
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
	0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
	0x56033046fc7b6bab, 0xf0cfbc209af4361d,
}

// fmaScaled is (a*b+c) * 2^e, rounded once.
func fmaScaled(a, b, c float64, e int, rm uint8) float64 {
	r := fma64(a, b, c, rm)
	if s := math.Ldexp(r, e); r == 0 || r != r || math.IsInf(r, 0) || math.Abs(s) >= 0x1p-1021 && !math.IsInf(s, 0) {
		return s
	}
	x, y, z := bigOf(a), bigOf(b), bigOf(c)
	s := bigAdd(bigNum{new(big.Int).Mul(x.m, y.m), x.e + y.e}, z)
	s.e += e
	return s.round(rm)
}

func trigPreop(a, b uint64) uint64 {
	shift := int(b&31) * 53
	if e := int(a >> 52 & 0x7ff); e > 1077 {
		shift += e - 1077
	}
	if shift+53 > 1201 {
		return 0
	}
	// 53 bits of 2/pi from bit `shift` on.
	var m uint64
	for i := range 53 {
		p := shift + i
		m <<= 1
		m |= twoOverPi[p/64] >> (63 - p%64) & 1
	}
	scale := -53 - shift
	if a>>52&0x7ff >= 1968 {
		scale += 128
	}
	r := u64(math.Ldexp(float64(m), scale))
	if r>>52 == 0 {
		return 0
	}
	return r
}
