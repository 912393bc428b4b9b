package shader

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// testFormat is a buffer format: its number for RDNA, gfx9's pair, and what its components are.
type testFormat struct {
	unified, dfmt, nfmt int
	comps, bits         int
	kind                string
}

var testFormats = []testFormat{
	{0x16, 4, 7, 1, 32, "f32"},
	{0x32, 11, 7, 2, 32, "f32"},
	{0x3c, 13, 7, 3, 32, "f32"},
	{0x3f, 14, 7, 4, 32, "f32"},
	{0x0d, 2, 7, 1, 16, "f16"},
	{0x1d, 5, 7, 2, 16, "f16"},
	{0x39, 12, 7, 4, 16, "f16"},
	{0x01, 1, 0, 1, 8, "unorm"},
	{0x0e, 3, 0, 2, 8, "unorm"},
	{0x2a, 10, 0, 4, 8, "unorm"},
	{0x13, 3, 5, 2, 8, "sint"},
	{0x2f, 10, 5, 4, 8, "sint"},
}

// TestFormatValues: typed loads and stores of buffers, with the format in the instruction or in the descriptor. Stores
// have as many components as the format.
func TestFormatValues(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		unit, rest, _ := strings.Cut(o.name, "_")
		if unit != "buffer" && unit != "tbuffer" || !strings.Contains(rest, "format") || strings.Contains(rest, "lds") {
			continue
		}
		store := strings.HasPrefix(rest, "store")
		d16, hi := strings.Contains(rest, "d16"), strings.Contains(rest, "_hi_")
		n := len(rest) - 1 - strings.LastIndexByte(rest, '_')
		for _, f := range testFormats {
			if store && f.comps != n || d16 && f.bits == 32 || f.kind == "sint" && d16 {
				continue
			}
			set := fields{"vdata": 48, "vaddr": 4, "srsrc": 2, "rsrc": 8, "offen": 1, "offset": 16, "ioffset": 16}
			if unit == "tbuffer" {
				set["format"], set["dfmt"], set["nfmt"] = f.unified, f.dfmt, f.nfmt
			} else if !o.arch.CDNA() && !strings.HasPrefix(o.target, "gfx11") {
				set["format"] = 1 // required, and without meaning
			}
			a := (&assembler{t: t, target: o.target}).op(o.name, set)
			var in [64][4]uint32
			var codes [64][4]uint32
			bytes := f.comps * f.bits / 8
			w, mem, fault := single(t, a, true, func(w *wave) {
				w.s[8], w.s[9], w.s[10], w.s[11] = memBase&0xffffffff, memBase>>32, 1<<16, 4|5<<3|6<<6|7<<9
				if o.arch.CDNA() {
					w.s[11] |= uint32(f.nfmt)<<12 | uint32(f.dfmt)<<15
				} else {
					w.s[11] |= uint32(f.unified) << 12
				}
				b, _ := w.mem.mem.Map(memBase, true)
				for l := range 64 {
					w.v[4][l] = uint32(64 * l)
					for j := range f.comps {
						c := r.Uint32() >> (32 - f.bits)
						if f.kind == "f16" || f.kind == "f32" { // no NaN, nothing denormal
							c = refRound(f.kind, r.NormFloat64())
						}
						codes[l][j] = c
						for k := 0; k < f.bits; k += 8 {
							if !store {
								b[16+64*l+j*f.bits/8+k/8] = byte(c >> k)
							}
						}
					}
					for j := range 4 {
						in[l][j] = r.Uint32()
					}
					if store {
						regs := f.registers(codes[l][:n], d16, hi, in[l][:])
						copy(in[l][:], regs)
					}
					for j := range 4 {
						w.v[48+j][l] = in[l][j]
					}
				}
			})
			if fault != nil {
				t.Errorf("%s %s format %v: %v", o.target, o.name, f, fault)
				continue
			}
			for l := range w.n {
				if store {
					for j := range n {
						at, got := 16+64*l+j*f.bits/8, uint32(0)
						for k := f.bits - 8; k >= 0; k -= 8 {
							got = got<<8 | uint32(mem.data[at+k/8])
						}
						if got != codes[l][j] {
							t.Fatalf("%s %s format %v lane %d: component %d is stored as %#x, want %#x", o.target, o.name, f, l, j, got, codes[l][j])
						}
					}
					if mem.data[16+64*l+bytes] != 0 {
						t.Fatalf("%s %s format %v: too much is stored", o.target, o.name, f)
					}
					continue
				}
				comps := make([]uint32, n) // absent ones are 0, 0, 0, 1
				for j := range n {
					switch {
					case j < f.comps:
						comps[j] = codes[l][j]
					case j == 3 && f.kind == "unorm":
						comps[j] = 255
					case j == 3 && f.kind == "sint":
						comps[j] = 1
					case j == 3:
						comps[j] = refRound(f.kind, 1)
					}
				}
				for j, want := range f.registers(comps, d16, hi, in[l][:]) {
					if got := w.v[48+j][l]; got != want {
						t.Fatalf("%s %s format %v lane %d: register %d is %08x, want %08x", o.target, o.name, f, l, j, got, want)
					}
				}
			}
		}
	}
}

// registers are the registers that hold components with these codes.
func (f *testFormat) registers(codes []uint32, d16, hi bool, old []uint32) []uint32 {
	to := "f32"
	if d16 {
		to = "f16"
	}
	var v []uint32
	for _, c := range codes {
		switch f.kind {
		case "unorm":
			v = append(v, refRound(to, float64(c)/255))
		case "sint":
			v = append(v, uint32(int32(int8(c))))
		default:
			v = append(v, refRound(to, refValue(f.kind, c)))
		}
	}
	switch {
	case hi:
		return []uint32{old[0]&0xffff | v[0]<<16}
	case d16:
		var p []uint32
		for i := 0; i < len(v); i += 2 {
			x := v[i]
			if i+1 < len(v) {
				x |= v[i+1] << 16
			} else {
				x |= old[i/2] &^ 0xffff
			}
			p = append(p, x)
		}
		return p
	}
	return v
}
