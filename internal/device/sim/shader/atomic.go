package shader

import "strings"

// atomicNames maps the older names to operation and type.
var atomicNames = map[string]string{
	"smin": "min_i32", "smax": "max_i32", "umin": "min_u32", "umax": "max_u32", "add": "add_u32", "sub": "sub_u32",
	"inc": "inc_u32", "dec": "dec_u32", "and": "and_b32", "or": "or_b32", "xor": "xor_b32", "swap": "swap_b32", "cmpswap": "cmpswap_b32",
}

// atomicOf is the function of an atomic operation, its size in bytes, and whether it has a second operand.
func atomicOf(name string) (f func(old, data, cmp uint64) uint64, bytes int, two bool) {
	if base, ok := strings.CutSuffix(name, "_x2"); ok {
		if n, ok := atomicNames[base]; ok {
			name = strings.Replace(n, "32", "64", 1)
		}
	} else if n, ok := atomicNames[name]; ok {
		name = n
	}
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return nil, 0, false
	}
	op, typ := name[:i], name[i+1:]
	bytes = 4
	if strings.HasSuffix(typ, "64") {
		bytes = 8
	}
	two = strings.HasPrefix(op, "cmp") || op == "mskor" || op == "wrap"
	return atomicFunc(op, typ), bytes, two
}

func atomicFunc(op, typ string) func(old, d, c uint64) uint64 {
	wide := strings.HasSuffix(typ, "64")
	mask := uint64(0xffffffff)
	if wide {
		mask = ^uint64(0)
	}
	less := func(a, b uint64) bool { return a < b }
	if typ[0] == 'i' {
		less = func(a, b uint64) bool { return int32(a) < int32(b) }
		if wide {
			less = func(a, b uint64) bool { return int64(a) < int64(b) }
		}
	}
	switch typ {
	case "f32":
		switch op {
		case "add":
			return func(o, d, _ uint64) uint64 { return uint64(u32(f32(uint32(o)) + f32(uint32(d)))) }
		case "min", "min_num":
			return func(o, d, _ uint64) uint64 { return uint64(minF32(uint32(o), uint32(d))) }
		case "max", "max_num":
			return func(o, d, _ uint64) uint64 { return uint64(maxF32(uint32(o), uint32(d))) }
		case "cmpswap", "cmpst", "cmpstore":
			return func(o, d, c uint64) uint64 {
				if f32(uint32(o)) == f32(uint32(c)) {
					return d
				}
				return o
			}
		}
		return nil
	case "f64":
		switch op {
		case "add":
			return func(o, d, _ uint64) uint64 { return u64(f64(o) + f64(d)) }
		case "min", "min_num":
			return func(o, d, _ uint64) uint64 { return minF64(o, d) }
		case "max", "max_num":
			return func(o, d, _ uint64) uint64 { return maxF64(o, d) }
		case "cmpswap", "cmpst", "cmpstore":
			return func(o, d, c uint64) uint64 {
				if f64(o) == f64(c) {
					return d
				}
				return o
			}
		}
		return nil
	case "f16":
		if op != "pk_add" {
			return nil
		}
		return func(o, d, _ uint64) uint64 {
			lo := f2h(h2f(uint32(o)&0xffff) + h2f(uint32(d)&0xffff))
			hi := f2h(h2f(uint32(o)>>16) + h2f(uint32(d)>>16))
			return uint64(lo | hi<<16)
		}
	case "bf16":
		if op != "pk_add" {
			return nil
		}
		return func(o, d, _ uint64) uint64 {
			lo := f2bf(bf2f(uint32(o)&0xffff) + bf2f(uint32(d)&0xffff))
			hi := f2bf(bf2f(uint32(o)>>16) + bf2f(uint32(d)>>16))
			return uint64(lo | hi<<16)
		}
	}
	switch op {
	case "add":
		return func(o, d, _ uint64) uint64 { return (o + d) & mask }
	case "sub":
		return func(o, d, _ uint64) uint64 { return (o - d) & mask }
	case "rsub":
		return func(o, d, _ uint64) uint64 { return (d - o) & mask }
	case "inc":
		return func(o, d, _ uint64) uint64 {
			if o >= d {
				return 0
			}
			return o + 1
		}
	case "dec":
		return func(o, d, _ uint64) uint64 {
			if o == 0 || o > d {
				return d
			}
			return o - 1
		}
	case "min":
		return func(o, d, _ uint64) uint64 {
			if less(d, o) {
				return d
			}
			return o
		}
	case "max":
		return func(o, d, _ uint64) uint64 {
			if less(o, d) {
				return d
			}
			return o
		}
	case "and":
		return func(o, d, _ uint64) uint64 { return o & d }
	case "or":
		return func(o, d, _ uint64) uint64 { return o | d }
	case "xor":
		return func(o, d, _ uint64) uint64 { return o ^ d }
	case "mskor":
		return func(o, d, c uint64) uint64 { return o&^d | c }
	case "swap", "storexchg", "wrxchg":
		return func(_, d, _ uint64) uint64 { return d }
	case "cmpswap", "cmpstore", "cmpst":
		return func(o, d, c uint64) uint64 {
			if o == c {
				return d
			}
			return o
		}
	case "cond_sub":
		return func(o, d, _ uint64) uint64 {
			if o >= d {
				return o - d
			}
			return o
		}
	case "csub", "sub_clamp":
		return func(o, d, _ uint64) uint64 {
			if o >= d {
				return o - d
			}
			return 0
		}
	case "ordered_add": // {count, number} in memory: the count grows for whoever has the number that is due
		return func(o, d, _ uint64) uint64 {
			if uint32(o) != uint32(d) {
				return o
			}
			return uint64(uint32(o)+1) | (o>>32+d>>32)<<32
		}
	case "wrap":
		return func(o, d, c uint64) uint64 {
			if o >= d {
				return (o - d) & mask
			}
			return (o + c) & mask
		}
	case "condxchg32": // each half that has its top bit set is replaced by the lower 31 bits
		return func(o, d, _ uint64) uint64 {
			for _, h := range [2]uint{0, 32} {
				if d>>(h+31)&1 != 0 {
					o = o&^(0xffffffff<<h) | (d>>h&0x7fffffff)<<h
				}
			}
			return o
		}
	}
	return nil
}
