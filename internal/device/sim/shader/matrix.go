package shader

import (
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Matrix instructions: D = A*B + C for small matrices spread over a wave's lanes and registers. A lane holds
// some consecutive elements of a row of A (column of B); which, and where results go, differs by family.
//
// Sums are formed in float32 with one rounding per product, in order of k. Hardware's order and intermediate
// precision are not documented; where all partial sums are exact the results are the same.

// matrix is a compiled matrix instruction.
type matrix struct {
	m, n, k    int
	blocks     int
	a, b       elem
	ea, eb     int  // elements of a lane
	out        elem // of C and D
	layout     uint8
	sparse     bool
	cbsz, abid int
	blgp       int
	scaled     bool
	scaleA     opnd
	scaleB     opnd
	selA, selB int // byte of the scale registers
	sat        bool
	w          int    // lanes
	tiles      *tiles // nil: see runMatrixBlocks
}

// Layouts.
const (
	layoutMFMA  = iota
	layoutWMMA3 // RDNA3: A and B are repeated in lanes 16 and up
	layoutWMMA4 // RDNA4: lanes hold parts of K
)

// elem is the type of a matrix element.
type elem struct {
	bits   uint
	f      *format // floats that are neither float32, float16, bfloat16 nor float64
	kind   uint8
	signed bool
}

const (
	elemInt = iota
	elemF32
	elemF16
	elemBF16
	elemF64
	elemSmall
)

func (c *compiler) elemOf(name string) (elem, bool) {
	fp8, bf8 := &fp8ocp, &bf8ocp
	if c.p.arch == isa.CDNA3 {
		fp8, bf8 = &fp8fnuz, &bf8fnuz
	}
	switch name {
	case "f32", "xf32":
		return elem{bits: 32, kind: elemF32}, true
	case "f64":
		return elem{bits: 64, kind: elemF64}, true
	case "f16":
		return elem{bits: 16, kind: elemF16}, true
	case "bf16":
		return elem{bits: 16, kind: elemBF16}, true
	case "fp8":
		return elem{bits: 8, kind: elemSmall, f: fp8}, true
	case "bf8":
		return elem{bits: 8, kind: elemSmall, f: bf8}, true
	case "i8":
		return elem{bits: 8, signed: true}, true
	case "iu8":
		return elem{bits: 8}, true
	case "iu4":
		return elem{bits: 4}, true
	case "i32":
		return elem{bits: 32, signed: true}, true
	}
	return elem{}, false
}

// f8f6f4 are the formats that cbsz and blgp choose, and the registers each takes.
var f8f6f4 = [...]struct {
	f    *format
	bits uint
}{{&fp8ocp, 8}, {&bf8ocp, 8}, {&fp6f, 6}, {&bf6f, 6}, {&fp4f, 4}}

// matrix compiles v_mfma_*, v_smfmac_*, v_wmma_* and v_swmmac_*.
func (c *compiler) matrix(name string) {
	in := c.in
	part := strings.Split(strings.Replace(name, "_1k", "", 1), "_")
	m := &matrix{w: c.p.wave, sparse: strings.HasPrefix(name, "v_smfmac") || strings.HasPrefix(name, "v_swmmac")}
	part = part[2:]
	if part[0] == "scale" {
		part = part[1:]
		m.scaled = true
	}
	ok := false
	if m.out, ok = c.elemOf(part[0]); !ok || len(part) < 2 {
		return
	}
	// The shape may carry the type of A and B: 32x32x4f16.
	dims := strings.SplitN(part[1], "x", 3)
	if len(dims) != 3 {
		return
	}
	k := dims[2]
	types := part[2:]
	if i := strings.IndexFunc(k, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		types = append([]string{k[i:]}, types...)
		k = k[:i]
	}
	m.m, _ = strconv.Atoi(dims[0])
	m.n, _ = strconv.Atoi(dims[1])
	m.k, _ = strconv.Atoi(k)
	if len(types) > 0 && strings.HasSuffix(types[0], "b") {
		types = types[1:] // number of blocks, which the shape tells too
	}
	if len(types) == 0 {
		return
	}
	mfma := in.Op.Format == isa.VOP3PX || in.Op.Has(isa.FlagMFMA) || in.Op.Has(isa.FlagSMFMAC)
	if types[0] == "f8f6f4" {
		fa, fb := int(in.Field(isa.FieldCbsz)), int(in.Field(isa.FieldBlgp))
		if fa >= len(f8f6f4) || fb >= len(f8f6f4) {
			return
		}
		m.a = elem{bits: f8f6f4[fa].bits, kind: elemSmall, f: f8f6f4[fa].f}
		m.b = elem{bits: f8f6f4[fb].bits, kind: elemSmall, f: f8f6f4[fb].f}
		m.ea, m.eb = 32, 32
	} else {
		tb := types[len(types)-1]
		var okB bool
		m.a, ok = c.elemOf(types[0])
		m.b, okB = c.elemOf(tb)
		if !ok || !okB {
			return
		}
		m.ea, m.eb = int(uint(c.x.src[0].bits)/m.a.bits), int(uint(c.x.src[1].bits)/m.b.bits)
		if mfma {
			m.cbsz, m.abid, m.blgp = int(in.Field(isa.FieldCbsz)), int(in.Field(isa.FieldAbid)), int(in.Field(isa.FieldBlgp))
		}
	}
	if m.scaled {
		m.scaleOperands(c)
	}
	c.x.mat = m
	c.u.run = runMatrix
	switch {
	case mfma:
		m.layout = layoutMFMA
		k := m.k
		if m.sparse {
			k /= 2
		}
		if m.ea == 0 || m.m*k/m.ea == 0 {
			c.u.run = nil
			return
		}
		m.blocks = max(64/(m.m*k/m.ea), 1)
		m.sat = false
	case c.p.arch == isa.RDNA4:
		m.layout, m.blocks = layoutWMMA4, 1
	default:
		m.layout, m.blocks = layoutWMMA3, 1
	}
	if !mfma {
		m.ea, m.eb = 0, 0
		if m.a.kind == elemInt {
			m.a.signed, m.b.signed = c.x.src[0].neg, c.x.src[1].neg
			c.x.src[0].neg, c.x.src[1].neg = false, false
			m.sat = in.Flag(isa.FieldClamp)
		}
	}
	if m.layout == layoutWMMA3 && m.sparse {
		c.u.run = nil
	}
	c.tile(m)
}

// registers is the number of registers of C and D, counted twice where each holds two results.
func (m *matrix) registers(x *dstMod) int {
	words := int(x.bits+31) / 32
	if m.layout != layoutMFMA {
		words = max(words*32/m.w, 1) // stated for waves of 32
	}
	if m.out.bits == 16 && m.layout == layoutWMMA4 {
		return 2 * words
	}
	return words
}

func (m *matrix) scaleOperands(c *compiler) {
	for i := range c.in.NumArgs() {
		a := c.in.Arg(i)
		var o *opnd
		switch a.Field {
		case isa.FieldScaleSrc0:
			o = &m.scaleA
		case isa.FieldScaleSrc1:
			o = &m.scaleB
		default:
			continue
		}
		switch a.Kind {
		case isa.ArgVGPR, isa.ArgAGPR:
			*o = opnd{kind: fromV, reg: regOf(&a)}
		case isa.ArgScalar:
			*o = opnd{kind: fromS, reg: a.Reg}
		case isa.ArgConst:
			*o = opnd{kind: fromK, k: c.p.konst(uint32(isa.ConstBits(a.Reg, isa.TypeB32, 32)))}
		}
	}
	// The byte: low bits in op_sel, high bits in op_sel_hi.
	sel, hi := c.in.Field(isa.FieldOpSel), c.in.Field(isa.FieldOpSelHi)
	m.selA = int(sel&1 | hi&1<<1)
	m.selB = int(sel>>1&1 | hi>>1&1<<1)
}
