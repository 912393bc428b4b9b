package codeobj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// reader walks MessagePack in place. We read it ourselves because a general decoder builds trees of values and follows
// nesting as deep as the input says; here depth is bounded and strings are checked before they are copied.
type reader struct {
	buf []byte
	off int
}

// maxNesting is deeper than any metadata: map > kernels > kernel > args > arg > value.
const maxNesting = 16

var errShort = errors.New("ends inside a value")

func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.buf)-r.off) {
		return nil, errShort
	}
	b := r.buf[r.off : r.off+int(n)]
	r.off += int(n)
	return b, nil
}

// size reads a big-endian length of n bytes.
func (r *reader) size(n uint64) (uint64, error) {
	b, err := r.take(n)
	if err != nil {
		return 0, err
	}
	var v uint64
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v, nil
}

// kind of a value's first byte.
type packKind uint8

const (
	packBad packKind = iota
	packNil
	packBool
	packInt
	packFloat
	packStr // strings and binaries
	packArray
	packMap
	packExt
)

// head reads a value's first bytes. n is the length of strings and extensions, the number of elements of arrays and maps
// (pairs), and the bits of numbers and booleans (integers extended to 64 bits).
func (r *reader) head() (k packKind, n uint64, err error) {
	b, err := r.take(1)
	if err != nil {
		return packBad, 0, err
	}
	c := b[0]
	switch {
	case c < 0x80:
		return packInt, uint64(c), nil
	case c < 0x90:
		return packMap, uint64(c & 0xf), nil
	case c < 0xa0:
		return packArray, uint64(c & 0xf), nil
	case c < 0xc0:
		return packStr, uint64(c & 0x1f), nil
	case c >= 0xe0:
		return packInt, uint64(int64(int8(c))), nil
	}
	sized := func(k packKind, bytes uint64) (packKind, uint64, error) {
		n, err := r.size(bytes)
		return k, n, err
	}
	switch c {
	case 0xc0:
		return packNil, 0, nil
	case 0xc2, 0xc3:
		return packBool, uint64(c & 1), nil
	case 0xc4, 0xc5, 0xc6: // bin 8, 16, 32
		return sized(packStr, 1<<(c-0xc4))
	case 0xc7, 0xc8, 0xc9: // ext 8, 16, 32: the type byte counts as content
		k, n, err := sized(packExt, 1<<(c-0xc7))
		return k, n + 1, err
	case 0xca, 0xcb:
		return sized(packFloat, 4<<(c-0xca))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return sized(packInt, 1<<(c-0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		n, err := r.size(1 << (c - 0xd0))
		shift := 64 - 8<<(c-0xd0)
		return packInt, uint64(int64(n<<shift) >> shift), err
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixext 1..16
		return packExt, 1<<(c-0xd4) + 1, nil
	case 0xd9, 0xda, 0xdb:
		return sized(packStr, 1<<(c-0xd9))
	case 0xdc, 0xdd:
		return sized(packArray, 2<<(c-0xdc))
	case 0xde, 0xdf:
		return sized(packMap, 2<<(c-0xde))
	}
	return packBad, 0, fmt.Errorf("byte %#x starts no value", c)
}

// skip passes over one value.
func (r *reader) skip(depth int) error {
	if depth > maxNesting {
		return errors.New("nested too deep")
	}
	k, n, err := r.head()
	if err != nil {
		return err
	}
	switch k {
	case packStr, packExt:
		_, err = r.take(n)
		return err
	case packMap:
		n *= 2 // at most 2^33
		fallthrough
	case packArray:
		for range n { // each turn takes a byte at least, or fails
			if err := r.skip(depth + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// str reads a string; other values are an error.
func (r *reader) str() (string, error) {
	k, n, err := r.head()
	if err != nil {
		return "", err
	}
	if k != packStr {
		return "", errors.New("a string is expected")
	}
	b, err := r.take(n)
	return string(b), err
}

// uint reads an integer that fits 32 bits.
func (r *reader) uint() (uint32, error) {
	k, n, err := r.head()
	if err != nil {
		return 0, err
	}
	if k != packInt || n > math.MaxUint32 {
		return 0, errors.New("an integer from 0 to 2^32-1 is expected")
	}
	return uint32(n), nil
}

// bool reads a boolean or an integer, which older compilers wrote instead.
func (r *reader) bool() (bool, error) {
	k, n, err := r.head()
	if err != nil {
		return false, err
	}
	if k != packBool && k != packInt {
		return false, errors.New("a boolean is expected")
	}
	return n != 0, nil
}

// array calls f for each element of an array; f must read it.
func (r *reader) array(f func() error) error {
	k, n, err := r.head()
	if err != nil {
		return err
	}
	if k != packArray {
		return errors.New("an array is expected")
	}
	for range n {
		at := r.off
		if err := f(); err != nil {
			return err
		}
		if r.off == at {
			return errors.New("an element was not read")
		}
	}
	return nil
}

// fields calls f with each key of a map whose keys are strings; f must read the value, or return errSkip before it does.
func (r *reader) fields(f func(key string) error) error {
	k, n, err := r.head()
	if err != nil {
		return err
	}
	if k != packMap {
		return errors.New("a map is expected")
	}
	for range n {
		key, err := r.str()
		if err != nil {
			return err
		}
		switch err := f(key); {
		case err == errSkip:
			if err := r.skip(0); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

var errSkip = errors.New("skip")

var le = binary.LittleEndian
