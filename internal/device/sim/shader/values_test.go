package shader

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

// Values of operations that isa/exec has no vectors of, or none that can be right: each is computed here from what the
// documents say with numbers that hold it exactly, and rounded once by looking for the nearest number of the format.

// refFormat is a format as a list of its finite values in order.
type refFormat struct {
	exp, man, bias int
	inf, nan       bool // the top exponent is infinity and NaN; the top code alone is NaN
	fnuz           bool
	values         []float64 // not negative ones, by code
}

var refFormats = map[string]*refFormat{
	"fp4": {exp: 2, man: 1, bias: 1}, "fp6": {exp: 2, man: 3, bias: 1}, "bf6": {exp: 3, man: 2, bias: 3},
	"fp8": {exp: 4, man: 3, bias: 7, nan: true}, "bf8": {exp: 5, man: 2, bias: 15, inf: true},
	"fp8z": {exp: 4, man: 3, bias: 8, fnuz: true}, "bf8z": {exp: 5, man: 2, bias: 16, fnuz: true},
	"f16": {exp: 5, man: 10, bias: 15, inf: true}, "bf16": {exp: 8, man: 7, bias: 127, inf: true},
}

func init() {
	for _, f := range refFormats {
		n := 1 << (f.exp + f.man)
		if f.inf {
			n -= 1 << f.man
		}
		if f.nan {
			n--
		}
		for c := range n {
			e, m := c>>f.man, c&(1<<f.man-1)
			if e == 0 {
				e = 1
			} else {
				m |= 1 << f.man
			}
			f.values = append(f.values, math.Ldexp(float64(m), e-f.bias-f.man))
		}
	}
}

func refBits(name string) int {
	if name == "f32" {
		return 32
	}
	f := refFormats[name]
	return 1 + f.exp + f.man
}

// refValue is the number of a code.
func refValue(name string, code uint32) float64 {
	if name == "f32" {
		return float64(f32(code))
	}
	f := refFormats[name]
	n := uint32(1) << (f.exp + f.man)
	c := code & (n - 1)
	v := math.NaN()
	switch {
	case f.fnuz && code == n:
	case int(c) < len(f.values):
		v = f.values[c]
	case f.inf && int(c) == len(f.values):
		v = math.Inf(1)
	}
	if code&n != 0 {
		return -v
	}
	return v
}

// refRound is the code nearest to x, the even one of two. Beyond the largest number it is infinity, NaN or the largest
// number, whatever the format has first.
func refRound(name string, x float64) uint32 {
	if name == "f32" {
		return u32(float32(x))
	}
	f := refFormats[name]
	n := uint32(1) << (f.exp + f.man)
	sign := uint32(0)
	if math.Signbit(x) {
		sign = n
	}
	x = math.Abs(x)
	last := len(f.values) - 1
	nan := uint32(len(f.values)) | sign
	switch {
	case f.fnuz:
		nan = n
	case f.inf:
		nan = uint32(len(f.values)+1) | sign
	}
	if x != x {
		if !f.inf && !f.nan && !f.fnuz {
			return uint32(last) | sign
		}
		return nan
	}
	i := sort.SearchFloat64s(f.values, x)
	if i > last {
		step := f.values[last] - f.values[last-1]
		switch {
		case x < f.values[last]+step/2 || !f.inf && !f.nan && !f.fnuz, f.nan && last&1 == 0 && x == f.values[last]+step/2:
			return uint32(last) | sign
		case f.inf:
			return uint32(len(f.values)) | sign
		}
		return nan
	}
	if i > 0 {
		if low, high := x-f.values[i-1], f.values[i]-x; low < high || low == high && i&1 != 0 {
			i--
		}
	}
	if f.fnuz && i == 0 {
		return 0
	}
	return uint32(i) | sign
}

// refStochastic rounds x away from zero in r of 2^32 cases for each part of an ulp.
func refStochastic(name string, x float64, r uint32) uint32 {
	f := refFormats[name]
	if x != x || math.IsInf(x, 0) || x == 0 {
		return refRound(name, x)
	}
	e := math.Ilogb(x)
	e = max(e, 1-f.bias)
	ulp := math.Ldexp(1, e-f.man)
	n := 23 - f.man
	part := float64(r>>(32-n)) / math.Ldexp(1, n)
	y := math.Floor(math.Abs(x)/ulp+part) * ulp // exact: few bits
	return refRound(name, math.Copysign(y, x))
}

func sameNumber(kind string, got, want uint32) bool {
	if got == want {
		return true
	}
	g, w := refValue(kind, got), refValue(kind, want)
	return g != g && w != w
}

// valueTest is an operation, what its registers hold and what it must give.
type valueTest struct {
	target, op string
	set        fields
	literal    uint32
	out        int // registers of the result
	kind       string
	gen, acc   func(r *rand.Rand) uint32 // sources, and where it differs the third one and the destination
	ulp        uint32                    // allowed error in units of the last place
	ref        func(s lane) []uint32
}

// lane is one lane's sources: 33 registers from each of v64, v128 and v192 on, and the destination as it was.
type lane struct {
	a, b, c, d []uint32
}

func (v *valueTest) run(t *testing.T, tries int) {
	t.Helper()
	a := &assembler{t: t, target: v.target}
	set := instructions(t).name[v.target+" "+v.op].plain()
	for k, x := range v.set {
		set[k] = x
	}
	a.op(v.op, set)
	if v.literal != 0 {
		a.literal(v.literal)
	}
	r := rand.New(rand.NewPCG(uint64(len(v.op)), uint64(v.op[len(v.op)-1])))
	gen := v.gen
	if gen == nil {
		gen = pattern
	}
	acc := v.acc
	if acc == nil {
		acc = gen
	}
	bad, claims := 0, 0
	for try := range tries {
		var in [4][64][]uint32
		w, _, f := single(t, a, try%2 == 0, func(w *wave) {
			for s, base := range []int{64, 128, 192, 8} {
				for l := range 64 {
					in[s][l] = make([]uint32, 33)
					for i := range 33 {
						if s < 2 {
							in[s][l][i] = gen(r)
						} else {
							in[s][l][i] = acc(r)
						}
						w.v[base+i][l] = in[s][l][i]
					}
				}
			}
		})
		if f != nil {
			t.Errorf("%s %s: %v", v.target, v.op, f)
			return
		}
		for l := range w.n {
			want := v.ref(lane{in[0][l], in[1][l], in[2][l], in[3][l]})
			for i, x := range want {
				got := w.v[8+i][l]
				if got == x || v.kind == "f32" && sameNumber("f32", got, x) || v.ulp > 0 && got-x+v.ulp <= 2*v.ulp || slices.Contains([]string{"f16", "bf16"}, v.kind) &&
					sameNumber(v.kind, got&0xffff, x&0xffff) && sameNumber(v.kind, got>>16, x>>16) {
					continue
				}
				if bad++; bad <= 3 {
					t.Errorf("%s %s %v: register %d lane %d = %08x, want %08x of %08x %08x %08x", v.target, v.op, v.set, i, l, got, x, in[0][l][i/2], in[1][l][:2], in[2][l][:2])
				}
			}
			claims += len(want)
		}
	}
	if claims < 8*tries*v.out {
		t.Errorf("%s %s: only %d values compared", v.target, v.op, claims)
	}
}

// TestScaledConversions: CDNA4's conversions between 4-, 6- and 8-bit floats and wider ones with a scale, as the CDNA4 ISA
// lists them. That the sources of 2xpk16 alternate is in Composable Kernel too.
func TestScaledConversions(t *testing.T) {
	names := 0
	for _, o := range instructions(t).ops {
		rest, ok := strings.CutPrefix(o.name, "v_cvt_scalef32_")
		if !ok || o.target != "gfx950" {
			continue
		}
		names++
		rest, sr := strings.CutPrefix(rest, "sr_")
		n, two := 1, false
		for prefix, count := range map[string]int{"2xpk16_": 32, "pk32_": 32, "pk_": 2} {
			if r, ok := strings.CutPrefix(rest, prefix); ok {
				rest, n, two = r, count, prefix == "2xpk16_" || prefix == "pk_" && strings.HasSuffix(r, "_f32") && !sr
			}
		}
		to, from, _ := strings.Cut(rest, "_")
		tb, fb := refBits(to), refBits(from)
		for sel := range 16 {
			v := valueTest{target: "gfx950", op: o.name, kind: to, set: fields{"opsel": sel}}
			if n == 32 && sel != 0 || fb > 8 && (sel&3 != 0 || tb*n > 8 && sel&7 != 0) || fb < 9 && (fb*n == 16 && sel&2 != 0 || sel&4 != 0 || sel&8 != 0 && to != "f16" || sel&8 != 0 && n > 1) {
				continue
			}
			// Numbers near 1, and the scale near 1 where the source is not the scale too.
			v.gen = func(r *rand.Rand) uint32 {
				switch {
				case fb <= 8:
					return r.Uint32()&0x807fffff | (118+r.Uint32N(20))<<23
				case fb == 32:
					if p := pattern(r); r.IntN(20) == 0 && p>>23&255 < 255 {
						return p
					}
					return r.Uint32()&0x807fffff | (119+r.Uint32N(14))<<23
				case from == "f16":
					return r.Uint32()&0x83ff83ff | (10+r.Uint32N(12))<<10 | (10+r.Uint32N(12))<<26
				}
				return r.Uint32()&0x807f807f | (119+r.Uint32N(14))<<7 | (119+r.Uint32N(14))<<23
			}
			v.ref = func(s lane) []uint32 {
				scaleBy := s.b[0]
				if two || sr {
					scaleBy = s.c[0]
				}
				scale := math.Ldexp(1, int(scaleBy>>23&255)-127)
				seed := s.b[0]
				d := slices.Clone(s.d[:max(tb*n/32, 1)])
				at := 0
				switch tb * n {
				case 8:
					at = sel >> 2 * 8
				case 16:
					at = sel >> 3 * 16
				}
				for i := range n {
					src, bit := s.a, i*fb
					switch {
					case two && i%2 == 1:
						src, bit = s.b, i/2*fb
					case two:
						bit = i / 2 * fb
					case fb <= 8 && fb*n == 16:
						bit += sel & 1 * 16
					case fb <= 8 && n < 32:
						bit += sel & 3 * 8
					}
					b := make([]byte, 0, 128)
					for _, x := range src[:32] {
						b = le.AppendUint32(b, x)
					}
					x := refValue(from, uint32(bitsOf(b, bit, fb)))
					var code uint32
					switch {
					case fb <= 8:
						code = refRound(to, x*scale)
					case sr:
						code = refStochastic(to, x/scale, seed)
						seed = seed<<1 ^ seed>>31*0xc5
					default:
						code = refRound(to, x/scale)
					}
					for j := range tb {
						p := at + i*tb + j
						d[p/32] = d[p/32]&^(1<<(p%32)) | code>>j&1<<(p%32)
					}
				}
				return d
			}
			v.run(t, 2)
		}
	}
	if names < 40 {
		t.Errorf("%d operations", names)
	}
}
