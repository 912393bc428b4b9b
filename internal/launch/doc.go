// Package launch turns what a user says about a launch (flags, or a YAML file) into bytes: buffers filled, kernel arguments
// laid out with the hidden ones, an AQL dispatch packet; and afterwards checks and saves the buffers.
//
// Grids and blocks are in work-items. All bytes are little-endian. The package knows no devices: memory comes from an
// Allocator. Where data is random it is words of the splitmix64 stream of a seed, so that it is the same everywhere:
//
//	z = seed + (i+1) * 0x9e3779b97f4a7c15; z = (z ^ z>>30) * 0xbf58476d1ce4e5b9; z = (z ^ z>>27) * 0x94d049bb133111eb
//	r(i) = z ^ z>>31        h(i) = r(i) >> 32
//
// The argument forms of the command line:
//
//	i8 i16 i32 i64 u8 u16 u32 u64 : V   an integer, decimal or 0x…
//	f16 bf16 f32 f64 : V                a number, rounded once to the type
//	buf:SIZE                            a zeroed buffer of bytes (4096, 64K, 1M)
//	buf:TYPE[COUNT]                     a zeroed buffer of elements
//	buf:TYPE[COUNT]=iota                element i is i, converted to the type
//	buf:TYPE[COUNT]=const:V             every element is V
//	buf:TYPE[COUNT]=rand:SEED           integers of up to 32 bits: the low bits of h(i); of 64: r(i); floats: the upper 24 bits
//	                                    of h(i) (f16: 11, bf16: 8; f64: the upper 53 of r(i)) as a fraction in [0, 1)
//	buf:TYPE[COUNT]=@FILE               the file's bytes, exactly as many; buf:TYPE=@FILE takes its size
//	lds:SIZE                            dynamic LDS for a __local pointer
//	ptr:ADDRESS                         an address as it stands, 0 for null
//	bytes:HEX                           a structure passed by value
package launch

import "fmt"

// Error is a launch that does not fit, or a description of one that cannot be read. Detail holds further lines for whoever
// shows it to a user: the kernel's signature, what the flags would have to look like.
type Error struct {
	Msg    string
	Detail []string
}

func (e *Error) Error() string { return "launch: " + e.Msg }

func errorf(format string, args ...any) error {
	return &Error{Msg: fmt.Sprintf(format, args...)}
}
