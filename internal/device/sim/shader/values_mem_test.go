package shader

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// refAccess is what a load or store of one number moves: so many bytes, extended by their sign, to or from a half.
type refAccess struct {
	bytes           int
	signed, d16, hi bool
}

var refAccesses = map[string]refAccess{
	"ubyte": {bytes: 1}, "sbyte": {bytes: 1, signed: true}, "byte": {bytes: 1}, "ushort": {bytes: 2}, "sshort": {bytes: 2, signed: true}, "short": {bytes: 2},
	"dword": {bytes: 4}, "dwordx2": {bytes: 8}, "dwordx3": {bytes: 12}, "dwordx4": {bytes: 16}, "dwordx8": {bytes: 32}, "dwordx16": {bytes: 64},
	"ubyte_d16": {bytes: 1, d16: true}, "ubyte_d16_hi": {bytes: 1, d16: true, hi: true}, "sbyte_d16": {bytes: 1, signed: true, d16: true},
	"sbyte_d16_hi": {bytes: 1, signed: true, d16: true, hi: true}, "short_d16": {bytes: 2, d16: true}, "short_d16_hi": {bytes: 2, d16: true, hi: true},
	"byte_d16_hi": {bytes: 1, d16: true, hi: true},
	"u8":          {bytes: 1}, "i8": {bytes: 1, signed: true}, "b8": {bytes: 1}, "u16": {bytes: 2}, "i16": {bytes: 2, signed: true}, "b16": {bytes: 2},
	"b32": {bytes: 4}, "b64": {bytes: 8}, "b96": {bytes: 12}, "b128": {bytes: 16}, "b256": {bytes: 32}, "b512": {bytes: 64},
	"d16_u8": {bytes: 1, d16: true}, "d16_i8": {bytes: 1, signed: true, d16: true}, "d16_b16": {bytes: 2, d16: true}, "d16_hi_u8": {bytes: 1, d16: true, hi: true},
	"d16_hi_i8": {bytes: 1, signed: true, d16: true, hi: true}, "d16_hi_b16": {bytes: 2, d16: true, hi: true}, "d16_hi_b8": {bytes: 1, d16: true, hi: true},
}

// load is what old registers become when b is loaded.
func (a refAccess) load(b []byte, old []uint32) []uint32 {
	if a.bytes >= 4 {
		var d []uint32
		for i := 0; i < a.bytes; i += 4 {
			d = append(d, le.Uint32(b[i:]))
		}
		return d
	}
	v := uint32(0)
	for i := range a.bytes {
		v |= uint32(b[i]) << (8 * i)
	}
	if a.signed && v>>(8*a.bytes-1) != 0 {
		v |= ^uint32(0) << (8 * a.bytes)
	}
	switch {
	case a.hi:
		v = old[0]&0xffff | v<<16
	case a.d16:
		v = old[0]&^0xffff | v&0xffff
	}
	return []uint32{v}
}

// store puts registers into b.
func (a refAccess) store(b []byte, data []uint32) {
	for i := range a.bytes {
		at := i
		if a.hi {
			at += 2
		}
		b[i] = byte(data[at/4] >> (8 * (at % 4)))
	}
}

// refAtomic is a memory operation: what o becomes with the operand d and, where there is one, the number c to compare
// with. All are bits of width w.
func refAtomic(t *testing.T, name string, w int, o, d, c uint64) uint64 {
	mask := ^uint64(0) >> (64 - w)
	signed := func(x uint64) int64 { return int64(x<<(64-w)) >> (64 - w) }
	num := func(x uint64) float64 {
		if w == 64 {
			return math.Float64frombits(x)
		}
		return float64(math.Float32frombits(uint32(x)))
	}
	bits := func(x float64) uint64 {
		if w == 64 {
			return math.Float64bits(x)
		}
		return uint64(math.Float32bits(float32(x)))
	}
	halves := func(kind string) uint64 {
		r := uint64(0)
		for i := 0; i < 32; i += 16 {
			r |= uint64(refRound(kind, refValue(kind, uint32(o>>i)&0xffff)+refValue(kind, uint32(d>>i)&0xffff))) << i
		}
		return r
	}
	switch {
	case name == "add_f32", name == "add_f64":
		return bits(num(o) + num(d))
	case name == "pk_add_f16":
		return halves("f16")
	case name == "pk_add_bf16":
		return halves("bf16")
	case strings.HasPrefix(name, "min_f"), strings.HasPrefix(name, "min_num"):
		return bits(min(num(o), num(d)))
	case strings.HasPrefix(name, "max_f"), strings.HasPrefix(name, "max_num"):
		return bits(max(num(o), num(d)))
	case name == "cmpswap_f32":
		if num(o) == num(c) {
			return d
		}
		return o
	case strings.HasPrefix(name, "cmpswap"):
		if o == c {
			return d
		}
		return o
	case strings.HasPrefix(name, "cond_sub"):
		if o >= d {
			return o - d
		}
		return o
	case strings.HasPrefix(name, "csub"), strings.HasPrefix(name, "sub_clamp"):
		return o - min(o, d)
	case strings.HasPrefix(name, "swap"):
		return d
	case strings.HasPrefix(name, "add"):
		return (o + d) & mask
	case strings.HasPrefix(name, "sub"):
		return (o - d) & mask
	case strings.HasPrefix(name, "and"):
		return o & d
	case strings.HasPrefix(name, "or"):
		return o | d
	case strings.HasPrefix(name, "xor"):
		return o ^ d
	case strings.HasPrefix(name, "inc"):
		if o >= d {
			return 0
		}
		return o + 1
	case strings.HasPrefix(name, "dec"):
		if o == 0 || o > d {
			return d
		}
		return o - 1
	case strings.HasPrefix(name, "umin"), strings.HasPrefix(name, "min_u"):
		return min(o, d)
	case strings.HasPrefix(name, "umax"), strings.HasPrefix(name, "max_u"):
		return max(o, d)
	case strings.HasPrefix(name, "smin"), strings.HasPrefix(name, "min_i"):
		return uint64(min(signed(o), signed(d))) & mask
	case strings.HasPrefix(name, "smax"), strings.HasPrefix(name, "max_i"):
		return uint64(max(signed(o), signed(d))) & mask
	}
	t.Fatalf("no atomic %s", name)
	return 0
}

// atomicWidth is the number of bits that an atomic's name says it works on.
func atomicWidth(name string) int {
	if strings.HasSuffix(name, "64") || strings.HasSuffix(name, "_x2") {
		return 64
	}
	return 32
}

// numbersFor fills memory and registers with numbers that an atomic of this name makes something of.
func numbersFor(name string, r *rand.Rand) func() uint32 {
	return func() uint32 {
		switch {
		case strings.Contains(name, "pk_add"):
			return r.Uint32()&0xbfffbfff | 0x2000200
		case strings.HasSuffix(name, "f64"), strings.HasSuffix(name, "f32"):
			return r.Uint32()&0x80ffffff | 0x3f000000
		case r.IntN(3) == 0:
			return r.Uint32N(3)
		}
		return r.Uint32()
	}
}

// buffers are the buffer operations that move or change plain numbers.
func TestBufferValues(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		rest, ok := strings.CutPrefix(o.name, "buffer_")
		if !ok || strings.Contains(rest, "format") || strings.Contains(rest, "lds") {
			continue
		}
		load, isLoad := strings.CutPrefix(rest, "load_")
		store, isStore := strings.CutPrefix(rest, "store_")
		atomic, isAtomic := strings.CutPrefix(rest, "atomic_")
		if !isLoad && !isStore && !isAtomic {
			continue // caches
		}
		set := fields{"vdata": 48, "vaddr": 4, "srsrc": 2, "rsrc": 8, "offen": 1, "offset": 16, "ioffset": 16}
		if isAtomic {
			set["glc"], set["sc0"], set["th"] = 1, 1, 1
			if o.target[:4] == "gfx9" {
				set["cpol"] = 1
			}
		}
		a := (&assembler{t: t, target: o.target}).op(o.name, set)
		acc := refAccesses[load]
		if isStore {
			acc = refAccesses[store]
		}
		if !isAtomic && acc.bytes == 0 {
			t.Errorf("no access %s", o.name)
			continue
		}
		const records = 0x3000
		for try := range 3 {
			number := numbersFor(atomic, r)
			var before []byte
			var in [64][8]uint32
			w, mem, f := single(t, a, try == 0, func(w *wave) {
				w.s[8], w.s[9], w.s[10], w.s[11] = memBase&0xffffffff, memBase>>32, records, 4<<15|4<<12|4
				if !o.arch.CDNA() {
					w.s[11] = 2<<28 | 20<<12 | 4<<3 | 5<<6 | 6<<9 | 4 // out of range by the offset alone
				}
				b, _ := w.mem.mem.Map(memBase, true)
				for j := 0; j+4 <= len(b); j += 4 {
					le.PutUint32(b[j:], number())
				}
				before = bytes.Clone(b)
				for l := range 64 {
					w.v[4][l] = uint32(l * 200)
					if isAtomic && try == 2 {
						w.v[4][l] = uint32(l / 8 * 64) // some lanes meet
					}
					for j := range 8 {
						in[l][j] = number()
						w.v[48+j][l] = in[l][j]
					}
				}
				w.setExec(0xfffffffffffffff7 & w.full)
			})
			if f != nil {
				t.Errorf("%s %s: %v", o.target, o.name, f)
				break
			}
			want := before
			bad := false
			for l := range w.n {
				at := 16 + l*200
				if isAtomic && try == 2 {
					at = 16 + l/8*64
				}
				old, d := in[l][:], in[l][:1]
				n := acc.bytes
				if isAtomic {
					n = atomicWidth(atomic) / 8
				}
				inside := at+n <= records
				switch {
				case l == 3:
				case isLoad:
					b := make([]byte, n)
					if inside {
						copy(b, want[at:])
					} else if n > 4 { // whole dwords that are inside are loaded
						for j := 0; j+4 <= n && at+j+4 <= records; j += 4 {
							copy(b[j:j+4], want[at+j:])
						}
					}
					d = acc.load(b, old)
				case isStore:
					if inside {
						acc.store(want[at:], old)
					}
					d = old
				default:
					bits := atomicWidth(atomic)
					get := func(x []uint32) uint64 {
						if bits == 64 {
							return uint64(x[0]) | uint64(x[1])<<32
						}
						return uint64(x[0])
					}
					b := make([]byte, 8)
					if inside {
						copy(b, want[at:at+n])
					}
					mem := get([]uint32{le.Uint32(b), le.Uint32(b[4:])})
					d = []uint32{uint32(mem), uint32(mem >> 32)}[:bits/32]
					if inside {
						x := refAtomic(t, atomic, bits, mem, get(old), get(old[bits/32:]))
						le.PutUint64(b, x)
						copy(want[at:at+n], b)
					}
				}
				for j, x := range d {
					if got := w.v[48+j][l]; got != x && !bad {
						t.Errorf("%s %s lane %d at %#x: register %d is %08x, want %08x", o.target, o.name, l, at, j, got, x)
						bad = true
					}
				}
			}
			if !bytes.Equal(mem.data, want) {
				for j := range want {
					if mem.data[j] != want[j] {
						t.Errorf("%s %s: byte %#x of memory is %#x, want %#x", o.target, o.name, j, mem.data[j], want[j])
						break
					}
				}
			}
		}
	}
}

// TestScalarMemoryValues: what scalar loads from buffers, and atomics, give.
func TestScalarMemoryValues(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		load, isLoad := strings.CutPrefix(o.name, "s_buffer_load_") // isa/exec has s_load
		atomic, isAtomic := strings.CutPrefix(strings.Replace(o.name, "s_buffer_", "s_", 1), "s_atomic_")
		store, isStore := strings.CutPrefix(strings.Replace(o.name, "s_buffer_", "s_", 1), "s_store_")
		if !isLoad && !isAtomic && !isStore {
			continue
		}
		buffer := strings.HasPrefix(o.name, "s_buffer_")
		n := refAccesses[load].bytes
		switch {
		case isAtomic:
			n = atomicWidth(atomic) / 8
		case isStore:
			n = refAccesses[store].bytes
		}
		for try := range 6 {
			offset := 32 * (1 + r.IntN(30))
			a := (&assembler{t: t, target: o.target}).op(o.name, fields{"sbase": 4, "sdata": 24, "offset": offset, "ioffset": offset, "glc": int(b2u(!isStore))})
			number := numbersFor(atomic, r)
			records := 128 + 4*r.IntN(300)
			var before []byte
			var in [32]uint32
			w, mem, f := single(t, a, try%2 == 0, func(w *wave) {
				w.s[8], w.s[9], w.s[10], w.s[11] = memBase&0xffffffff, memBase>>32, uint32(records), 0
				b, _ := w.mem.mem.Map(memBase, true)
				for j := 0; j+4 <= len(b); j += 4 {
					le.PutUint32(b[j:], number())
				}
				before = bytes.Clone(b)
				for j := range in {
					in[j] = number()
					w.s[24+j] = in[j]
				}
			})
			if f != nil {
				t.Errorf("%s %s: %v", o.target, o.name, f)
				break
			}
			if !buffer {
				records = 1 << 16
			}
			b := make([]byte, max(n, 8))
			for j := 0; j < n; j++ {
				if k := offset + j&^3; k+min(n, 4) <= records {
					b[j] = before[offset+j]
				}
			}
			var want []uint32
			switch {
			case isLoad:
				want = refAccesses[load].load(b, in[:])
			case isStore: // dwords that are inside
				for j := 0; j < n && offset+j < records; j += 4 {
					le.PutUint32(before[offset+j:], in[j/4])
				}
			default:
				bits := 8 * n
				get := func(x []uint32) uint64 { return (uint64(x[0]) | uint64(x[1])<<32) & (^uint64(0) >> (64 - bits)) }
				mem := get([]uint32{le.Uint32(b), le.Uint32(b[4:])})
				want = []uint32{uint32(mem), uint32(mem >> 32)}[:bits/32]
				if offset+n <= records {
					le.PutUint64(b, refAtomic(t, atomic, bits, mem, get(in[:]), get(in[bits/32:])))
					copy(before[offset:offset+n], b)
				}
			}
			for j, x := range want {
				if w.s[24+j] != x {
					t.Errorf("%s %s at %d of %d: s%d is %08x, want %08x", o.target, o.name, offset, records, 24+j, w.s[24+j], x)
					break
				}
			}
			if !bytes.Equal(mem.data, before) {
				t.Errorf("%s %s: memory is wrong", o.target, o.name)
			}
		}
	}
}

// TestGlobalValues: memory operations outside buffers that isa/exec has no vectors of.
func TestGlobalValues(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		rest, ok := strings.CutPrefix(o.name, "global_")
		atomic, isAtomic := strings.CutPrefix(rest, "atomic_")
		addtid := strings.HasSuffix(rest, "_addtid_b32")
		if !ok || !addtid && (!isAtomic || atomic == "ordered_add_b64") {
			continue
		}
		set := fields{"vdst": 8, "addr": 4, "vaddr": 4, "saddr": 2, "data": 48, "vsrc": 48, "offset": 8, "ioffset": 8, "glc": 1, "sc0": 1, "th": 1}
		if addtid {
			set["addr"], set["vaddr"], set["glc"], set["sc0"], set["th"] = 0, 0, 0, 0, 0
			if strings.HasPrefix(rest, "load") {
				set["data"], set["vsrc"] = 0, 0
			} else {
				set["vdst"] = 0
			}
		}
		a := (&assembler{t: t, target: o.target}).op(o.name, set)
		number := numbersFor(atomic, r)
		var before []byte
		var in [64][4]uint32
		w, mem, f := single(t, a, false, func(w *wave) {
			w.s[2], w.s[3] = memBase&0xffffffff, memBase>>32
			b, _ := w.mem.mem.Map(memBase, true)
			for j := 0; j+4 <= len(b); j += 4 {
				le.PutUint32(b[j:], number())
			}
			before = bytes.Clone(b)
			for l := range 64 {
				w.v[4][l] = uint32(l / 2 * 16)
				for j := range 4 {
					in[l][j] = number()
					w.v[48+j][l] = in[l][j]
				}
			}
			w.setExec(0xffffffff7ffffff7)
		})
		if f != nil {
			t.Errorf("%s %s: %v", o.target, o.name, f)
			continue
		}
		for l := range 64 {
			if l == 3 || l == 31 {
				continue
			}
			at, n := 8+l/2*16, 4
			if addtid {
				at = 8 + 4*l
			} else {
				n = atomicWidth(atomic) / 8
			}
			old := le.Uint32(before[at:])
			switch {
			case isAtomic:
				get := func(x []uint32) uint64 { return (uint64(x[0]) | uint64(x[1])<<32) & (^uint64(0) >> (64 - 8*n)) }
				b := make([]byte, 8)
				copy(b, before[at:at+n])
				x := refAtomic(t, atomic, 8*n, le.Uint64(b), get(in[l][:]), get(in[l][n/4:]))
				le.PutUint64(b, x)
				copy(before[at:at+n], b)
			case strings.HasPrefix(rest, "store"):
				le.PutUint32(before[at:], in[l][0])
				continue
			}
			if got := w.v[8][l]; got != old {
				t.Errorf("%s %s lane %d: %08x, want %08x", o.target, o.name, l, got, old)
				break
			}
		}
		if !bytes.Equal(mem.data, before) {
			t.Errorf("%s %s: memory is wrong", o.target, o.name)
		}
	}
}
