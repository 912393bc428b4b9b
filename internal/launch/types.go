package launch

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

var le = binary.LittleEndian

// Type is the type of a scalar or of a buffer's elements.
type Type uint8

// The types.
const (
	Bytes Type = iota // a buffer without a type: its elements are bytes
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F16
	BF16
	F32
	F64
)

var typeNames = [...]string{
	Bytes: "bytes", I8: "i8", I16: "i16", I32: "i32", I64: "i64", U8: "u8", U16: "u16", U32: "u32", U64: "u64",
	F16: "f16", BF16: "bf16", F32: "f32", F64: "f64",
}

func (t Type) String() string { return typeNames[t] }

// Size is the size of a value in bytes.
func (t Type) Size() int {
	switch t {
	case Bytes, I8, U8:
		return 1
	case I16, U16, F16, BF16:
		return 2
	case I64, U64, F64:
		return 8
	}
	return 4
}

// Float tells whether the type is a floating-point one.
func (t Type) Float() bool { return t >= F16 }

// Signed tells whether the type is a signed integer.
func (t Type) Signed() bool { return t >= I8 && t <= I64 }

// ParseType reads a type's name.
func ParseType(s string) (Type, error) {
	for t, name := range typeNames {
		if s == name && Type(t) != Bytes {
			return Type(t), nil
		}
	}
	return 0, errorf("%q is no type: %s are", s, strings.Join(typeNames[1:], " "))
}

// ParseValue reads a value of the type and gives its bits.
func (t Type) ParseValue(s string) (uint64, error) {
	bits := t.Size() * 8
	var v uint64
	var err error
	switch {
	case t.Float():
		var f float64
		round := 64
		if t == F32 {
			round = 32 // rounded once, from the text
		}
		f, err = strconv.ParseFloat(s, round)
		v = t.fromFloat(f)
		if err == nil && t.Size() == 2 && math.IsInf(t.float(v), 0) && !math.IsInf(f, 0) {
			err = strconv.ErrRange
		}
	case t.Signed():
		var i int64
		i, err = strconv.ParseInt(s, 0, bits)
		v = uint64(i) & (math.MaxUint64 >> (64 - bits))
	default:
		if v, err = strconv.ParseUint(s, 0, bits); err != nil {
			if _, serr := strconv.ParseInt(s, 0, 64); serr == nil {
				err = strconv.ErrRange // a number, but a negative one
			}
		}
	}
	if err != nil {
		why := "is not a number"
		if ne, ok := err.(*strconv.NumError); ok {
			err = ne.Err
		}
		if err == strconv.ErrRange {
			why = "does not fit"
		}
		return 0, errorf("%q %s: %s", s, why, t)
	}
	return v, nil
}

// put writes a value's bits.
func (t Type) put(b []byte, v uint64) {
	switch t.Size() {
	case 1:
		b[0] = byte(v)
	case 2:
		le.PutUint16(b, uint16(v))
	case 4:
		le.PutUint32(b, uint32(v))
	default:
		le.PutUint64(b, v)
	}
}

// get reads a value's bits.
func (t Type) get(b []byte) uint64 {
	switch t.Size() {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(le.Uint16(b))
	case 4:
		return uint64(le.Uint32(b))
	}
	return le.Uint64(b)
}

// fromFloat is the bits of f rounded to the type, to nearest and ties to even. Integer types take f's integer part.
func (t Type) fromFloat(f float64) uint64 {
	switch t {
	case F64:
		return math.Float64bits(f)
	case F32:
		return uint64(math.Float32bits(float32(f)))
	case F16:
		return uint64(smallFloat(f, 5, 10))
	case BF16:
		return uint64(smallFloat(f, 8, 7))
	}
	if f < 0 {
		return uint64(int64(f)) & (math.MaxUint64 >> (64 - t.Size()*8))
	}
	return uint64(f) & (math.MaxUint64 >> (64 - t.Size()*8))
}

// fromInt is the bits of an integer converted to the type; integer types wrap.
func (t Type) fromInt(i uint64) uint64 {
	switch t {
	case F64, F16, BF16:
		return t.fromFloat(float64(i))
	case F32:
		return uint64(math.Float32bits(float32(i)))
	}
	return i & (math.MaxUint64 >> (64 - t.Size()*8))
}

// float is the value of a type's bits.
func (t Type) float(v uint64) float64 {
	switch t {
	case F64:
		return math.Float64frombits(v)
	case F32:
		return float64(math.Float32frombits(uint32(v)))
	case BF16:
		return float64(math.Float32frombits(uint32(v) << 16))
	case F16:
		sign, exp, man := v>>15&1, int(v>>10&31), float64(v&0x3ff)
		f := math.Ldexp(man+1024, exp-25)
		switch {
		case exp == 0:
			f = math.Ldexp(man, -24)
		case exp == 31 && man != 0:
			return math.NaN()
		case exp == 31:
			f = math.Inf(1)
		}
		if sign != 0 {
			f = -f
		}
		return f
	}
	if t.Signed() {
		return float64(t.signed(v))
	}
	return float64(v)
}

// signed extends a signed integer's bits.
func (t Type) signed(v uint64) int64 {
	shift := 64 - t.Size()*8
	return int64(v<<shift) >> shift
}

// format prints a value's bits.
func (t Type) format(v uint64) string {
	switch {
	case t == F64:
		return strconv.FormatFloat(t.float(v), 'g', -1, 64)
	case t.Float():
		return strconv.FormatFloat(t.float(v), 'g', -1, 32)
	case t.Signed():
		return strconv.FormatInt(t.signed(v), 10)
	}
	return strconv.FormatUint(v, 10)
}

// smallFloat rounds f to a 16-bit format of the given exponent and fraction bits, to nearest, ties to even.
func smallFloat(f float64, expBits, fracBits int) uint16 {
	b := math.Float64bits(f)
	sign := uint16(b >> 63 << 15)
	bias := 1<<(expBits-1) - 1
	inf := uint16(1<<expBits-1) << fracBits
	if math.IsNaN(f) {
		return sign | inf | 1<<(fracBits-1)
	}
	f = math.Abs(f)
	if f == 0 || math.IsInf(f, 0) {
		if f != 0 {
			return sign | inf
		}
		return sign
	}
	_, e := math.Frexp(f) // f in [2^(e-1), 2^e)
	e = max(e-1, 1-bias)  // below: denormal
	// In units of the last place the value is at most 2^(fracBits+1), which a float64 rounds exactly.
	n := uint64(math.RoundToEven(math.Ldexp(f, fracBits-e)))
	v := uint64(e+bias-1)<<fracBits + n // a carry out of the fraction raises the exponent
	if v >= uint64(inf) {
		return sign | inf
	}
	return sign | uint16(v)
}

// ParseSize reads a number with an optional suffix K, M or G (powers of 1024).
func ParseSize(s string) (uint64, error) {
	digits, shift := s, 0
	if s != "" {
		switch s[len(s)-1] {
		case 'k', 'K':
			shift = 10
		case 'm', 'M':
			shift = 20
		case 'g', 'G':
			shift = 30
		}
		if shift != 0 {
			digits = s[:len(s)-1]
		}
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || n > maxBuffer>>shift {
		return 0, errorf("%q is no size: a number below 2^47, with K, M or G if need be", s)
	}
	return n << shift, nil
}

// maxBuffer is the size of the largest address space of a process on these GPUs.
const maxBuffer = 1 << 47
