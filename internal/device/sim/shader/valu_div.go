package shader

import "math"

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

// divFixup32 finishes a division: a is the quotient so far, b the denominator, c the numerator.
func divFixup32(a, b, c uint32) uint32 {
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
	case exp32(c)-exp32(b) < -150:
		return sign | 1
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

func divFixup64(a, b, c uint64) uint64 {
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
		return sign | 1
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
