package shader

import (
	"math"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Conversions of 8-, 6- and 4-bit floats.

// smallFormat is the format that a name means on an architecture: CDNA3 has the FNUZ forms, later ones OCP's.
func smallFormat(arch isa.Arch, name string) *format {
	switch name {
	case "fp8":
		if arch == isa.CDNA3 {
			return &fp8fnuz
		}
		return &fp8ocp
	case "bf8":
		if arch == isa.CDNA3 {
			return &bf8fnuz
		}
		return &bf8ocp
	case "fp6":
		return &fp6f
	case "bf6":
		return &bf6f
	case "fp4":
		return &fp4f
	case "f16":
		return &f16f
	case "bf16":
		return &bf16f
	case "f32":
		return &f32f
	}
	return nil
}

// smallCvt is a compiled conversion: n elements of from become elements of to.
type smallCvt struct {
	from, to *format
	n        int
	scaled   bool
	sr       bool // stochastic: one source is the random number
	two      bool // the elements come from two sources
	seed     int  // source with the random number
	scale    int  // source with the scale
}

// specialCvt compiles v_cvt_[scalef32_][sr_][pk_…]TO_FROM where one of the formats is small.
func (c *compiler) specialCvt(name string) bool {
	rest, ok := strings.CutPrefix(name, "v_cvt_")
	if !ok {
		return false
	}
	s := &smallCvt{n: 1, seed: 1, scale: -1}
	rest, s.scaled = strings.CutPrefix(rest, "scalef32_")
	rest, s.sr = strings.CutPrefix(rest, "sr_")
	for p, n := range map[string]int{"pk32_": 32, "2xpk16_": 32, "pk_": 2} {
		if r, ok := strings.CutPrefix(rest, p); ok {
			rest, s.n = r, n
			s.two = p == "2xpk16_"
			break
		}
	}
	to, from, ok := strings.Cut(rest, "_")
	if !ok {
		return false
	}
	s.to, s.from = smallFormat(c.p.arch, to), smallFormat(c.p.arch, from)
	if s.to == nil || s.from == nil || s.to.width() > 8 && s.from.width() > 8 {
		return false
	}
	if s.n == 2 && s.from == &f32f && !s.sr {
		s.two = true
	}
	if s.scaled {
		s.scale = c.srcs - 1
	}
	c.x.cvt = s
	c.u.run = runSmallCvt
	return true
}

func runSmallCvt(w *wave, u *uop) {
	s := u.x.cvt
	sel := uint(u.x.dst.opSel)
	fw, tw := s.from.width(), s.to.width()
	// Which part of the source and of the destination: narrow ones are chosen by op_sel or SDWA.
	srcBit, dstBit := uint(0), uint(0)
	if fw*uint(s.n) <= 16 && s.from != &f16f && s.from != &bf16f {
		switch {
		case u.x.in.Form == isa.SDWA:
			m := u.x.src[0].sel
			if m < 4 {
				srcBit = 8 * uint(m)
			} else if m < 6 {
				srcBit = 16 * uint(m-4)
			}
		case fw*uint(s.n) == 16:
			srcBit = 16 * (sel & 1)
		default:
			srcBit = 8 * (sel & 3)
		}
	}
	if u.x.src[0].half && fw == 16 && s.n == 1 {
		srcBit = 16
	}
	keep := uint(0)
	if total := tw * uint(s.n); total <= 16 && u.x.in.Op.Format != isa.VOP1 {
		keep = total
		if total == 16 {
			dstBit = 16 * (sel >> 3 & 1)
		} else {
			dstBit = 8 * (sel >> 2 & 3)
		}
	}
	words := max(int(tw)*s.n/32, 1)
	var out [32]vreg
	var seeds, scales *vreg
	if s.sr {
		seeds = w.fetch(u, s.seed, false)
	}
	if s.scale >= 0 {
		scales = w.fetch(u, s.scale, false)
	}
	for l := range w.n {
		seed := uint32(0)
		if seeds != nil {
			seed = seeds[l]
		}
		scale := 1.0
		if scales != nil {
			scale = e8m0(scales[l] >> 23 & 255)
		}
		for i := range s.n {
			src, at := 0, uint(i)*fw
			if s.two { // the sources' elements alternate
				src, at = i%2, uint(i/2)*fw
			}
			x := s.from.value(w.sourceBits(u, src, l, at+srcBit, fw))
			m := &u.x.src[src]
			if m.abs {
				x = math.Abs(x)
			}
			if m.neg {
				x = -x
			}
			var code uint64
			if fw <= 8 {
				code = s.to.from(x*scale, roundEven, false)
			} else {
				x /= scale
				if s.sr {
					code = stochastic(s.to, float32(x), seed, 23-uint(s.to.man), w.saturates(u))
					seed = prng(seed)
				} else {
					code = s.to.from(x, roundEven, w.saturates(u))
				}
			}
			bit := uint(i) * tw
			out[bit/32][l] |= uint32(code << (bit % 32))
			if bit%32+tw > 32 {
				out[bit/32+1][l] |= uint32(code >> (32 - bit%32))
			}
		}
	}
	if keep != 0 {
		mask := uint32(1<<keep-1) << dstBit
		d := &w.v[u.d]
		for l := range w.n {
			out[0][l] = d[l]&^mask | out[0][l]<<dstBit&mask
		}
	}
	if s.to == &f32f && s.n == 1 {
		w.finish(u, &out[0], w.storeMask(u))
		return
	}
	for r := range words {
		w.put(&w.v[int(u.d)+r], &out[r], w.storeMask(u))
	}
}

// prng is the next number of v_prng_b32, which conversions of several elements take for each.
func prng(a uint32) uint32 { return a<<1 ^ uint32(int32(a)>>31)&0xc5 }

// storeMask is the lanes that an instruction with DPP may write.
func (w *wave) storeMask(u *uop) uint64 {
	if u.x.dpp != nil {
		return w.exec & w.dppMask(u.x.dpp)
	}
	return w.exec
}

// saturates tells whether overflow gives the largest number: with FP16_OVFL or clamp.
func (w *wave) saturates(u *uop) bool { return w.m.ovfl16 || u.x.dst.clamp }

// sourceBits takes bits of a lane of source i, from any of its registers.
func (w *wave) sourceBits(u *uop, i, l int, at, width uint) uint64 {
	o := u.src(i)
	switch o.kind {
	case fromV:
		lane := l
		if i == 0 && u.x.dpp != nil {
			lane = int(u.x.dpp.from[l])
			if lane < 0 || lane >= w.n || !u.x.dpp.inactive && w.exec>>lane&1 == 0 {
				return 0
			}
		}
		return bitsAt(w.v[o.reg:], lane, at, width)
	case fromS:
		return uint64(w.sget(o.reg+uint16(at/32))) >> (at % 32) & (1<<width - 1)
	}
	return uint64(uint32(u.x.kv[i])) >> (at % 32) & (1<<width - 1)
}
