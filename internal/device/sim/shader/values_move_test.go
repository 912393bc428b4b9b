package shader

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomWave fills v0 to v63 and s0 to s99, and says what it put there.
func randomWave(r *rand.Rand, v *[64]vreg, s *[100]uint32) func(w *wave) {
	return func(w *wave) {
		for i := range v {
			for l := range v[i] {
				v[i][l] = r.Uint32()
			}
			w.v[i] = v[i]
		}
		for i := range s {
			s[i] = r.Uint32()
			w.s[i] = s[i]
		}
	}
}

// TestMoves: registers that M0 chooses, swaps, and operations without a result.
func TestMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	type regs = [64]vreg
	for _, c := range []struct {
		op      string
		targets string
		set     fields
		m0      uint32
		exec    uint64
		want    func(v *regs, l int) // what becomes of a lane's registers
	}{
		{"v_movreld_b32_e32", "gfx1100 gfx1201", fields{"vdst": 8, "src0": v(20)}, 5, 0xfffffff0, func(v *regs, l int) { v[13][l] = v[20][l] }},
		{"v_movrels_b32_e32", "gfx1100 gfx1201", fields{"vdst": 8, "src0": v(20)}, 5, 0xfffffff0, func(v *regs, l int) { v[8][l] = v[25][l] }},
		{"v_movrelsd_b32_e32", "gfx1100 gfx1201", fields{"vdst": 8, "src0": v(20)}, 5, 0xfffffff0, func(v *regs, l int) { v[13][l] = v[25][l] }},
		{"v_movrelsd_2_b32_e32", "gfx1100 gfx1201", fields{"vdst": 8, "src0": v(20)}, 5 | 7<<16, 0xfffffff0, func(v *regs, l int) { v[15][l] = v[25][l] }},
		{"v_swaprel_b32", "gfx1100 gfx1201", fields{"vdst": 8, "src0": v(20)}, 5 | 7<<16, 0xfffffff0, func(v *regs, l int) { v[15][l], v[25][l] = v[25][l], v[15][l] }},
		{"v_swap_b32", "gfx942 gfx1100 gfx1201", fields{"vdst": 8, "src0": v(20)}, 0, 0xf, func(v *regs, l int) { v[8][l], v[20][l] = v[20][l], v[8][l] }},
		{"v_swap_b16", "gfx1100", fields{"vdst": 8, "src0": v(20)}, 0, 0xf, func(v *regs, l int) {
			x, y := v[8][l], v[20][l]
			v[8][l], v[20][l] = x&^0xffff|y&0xffff, y&^0xffff|x&0xffff
		}},
		{"v_swap_b16", "gfx1100", fields{"vdst": 8 | 128, "src0": v(20)}, 0, 0xf, func(v *regs, l int) { // v8.h with v20.l
			x, y := v[8][l], v[20][l]
			v[8][l], v[20][l] = x&0xffff|y<<16, y&^0xffff|x>>16
		}},
		{"v_nop_e32", "gfx942 gfx1100 gfx1201", nil, 0, ^uint64(0), func(*regs, int) {}},
		{"v_pipeflush_e32", "gfx1100 gfx1201", nil, 0, ^uint64(0), func(*regs, int) {}},
		{"v_clrexcp_e32", "gfx942", nil, 0, ^uint64(0), func(*regs, int) {}},
	} {
		for target := range strings.FieldsSeq(c.targets) {
			op := c.op
			o := instructions(t).name[target+" "+op]
			if o == nil {
				o = instructions(t).name[target+" "+strings.TrimSuffix(op, "_e32")]
			}
			if o == nil {
				o = instructions(t).name[target+" "+op+"_e32"]
			}
			if o == nil {
				t.Errorf("%s has no %s", target, op)
				continue
			}
			op = o.name
			var v regs
			var s [100]uint32
			fill := randomWave(r, &v, &s)
			w, _, f := single(t, (&assembler{t: t, target: target}).op(op, c.set), true, func(w *wave) {
				fill(w)
				w.s[w.m0] = c.m0
				w.setExec(c.exec & w.full)
			})
			if f != nil {
				t.Errorf("%s %s: %v", target, op, f)
				continue
			}
			for l := range w.n {
				if w.exec>>l&1 != 0 {
					c.want(&v, l)
				}
				for i := range v {
					if w.v[i][l] != v[i][l] {
						t.Fatalf("%s %s lane %d: v%d is %08x, want %08x", target, op, l, i, w.v[i][l], v[i][l])
					}
				}
			}
		}
	}
	var v regs
	var s [100]uint32
	w, _, f := single(t, (&assembler{t: t, target: "gfx950"}).op("v_permlane32_swap_b32_e32", fields{"vdst": 8, "src0": 256 + 20}), false, randomWave(r, &v, &s))
	for l := range 32 {
		if f != nil || w.v[20][l] != v[8][l+32] || w.v[8][l+32] != v[20][l] || w.v[20][l+32] != v[20][l+32] || w.v[8][l] != v[8][l] {
			t.Fatalf("v_permlane32_swap_b32 lane %d: %v", l, f)
		}
	}
}

// TestSelect16: a mask of as many lanes as the wave has chooses between halves; the other half stays.
func TestSelect16(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	for _, target := range []string{"gfx1100", "gfx1201"} {
		for _, wave32 := range []bool{true, false} {
			for sel := range 16 {
				var v [64]vreg
				var s [100]uint32
				a := (&assembler{t: t, target: target}).op("v_cndmask_b16", fields{"vdst": 8, "src0": 256 + 20, "src1": 256 + 21, "src2": 16, "opsel": sel})
				w, _, f := single(t, a, wave32, randomWave(r, &v, &s))
				if f != nil {
					t.Fatal(f)
				}
				mask := uint64(s[16]) | uint64(s[17])<<32
				for l := range w.n {
					x := half16(v[20][l], sel&1 != 0)
					if mask>>l&1 != 0 {
						x = half16(v[21][l], sel&2 != 0)
					}
					want := v[8][l]&^0xffff | x
					if sel&8 != 0 {
						want = v[8][l]&0xffff | x<<16
					}
					if got := w.v[8][l]; got != want {
						t.Fatalf("%s op_sel %x, lane %d of %d: %08x, want %08x", target, sel, l, w.n, got, want)
					}
				}
			}
		}
	}
}

// TestInterpolation: a lane's parameters are those of the first three lanes of its quad.
func TestInterpolation(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201"} {
		for _, op := range []string{"v_interp_p10_f32", "v_interp_p2_f32", "v_interp_p10_f16_f32", "v_interp_p2_f16_f32", "v_interp_p10_rtz_f16_f32", "v_interp_p2_rtz_f16_f32"} {
			for sel := range 16 {
				half, p2, rtz := strings.Contains(op, "f16"), strings.Contains(op, "p2"), strings.Contains(op, "rtz")
				if !half && sel > 0 || !p2 && sel&8 != 0 || p2 && sel&4 != 0 || sel&2 != 0 {
					continue
				}
				a := (&assembler{t: t, target: target}).op(op, fields{"vdst": 8, "src0": v(20), "src1": v(21), "src2": v(22), "opsel": sel, "waitexp": 7})
				r := rand.New(rand.NewPCG(61, uint64(sel)))
				var in [4][64]uint32
				w, _, f := single(t, a, sel&1 == 0, func(w *wave) {
					for i, reg := range []int{20, 21, 22, 8} {
						for l := range 64 {
							in[i][l] = finite32(r)
							if half && (i == 0 || i == 2 && !p2) {
								in[i][l] = finite16(r)
							}
							w.v[reg][l] = in[i][l]
						}
					}
				})
				if f != nil {
					t.Errorf("%s %s: %v", target, op, f)
					break
				}
				for l := range w.n {
					p := func(i, lane int) *big.Float {
						x := float64(f32(in[i][lane]))
						if half && (i == 0 || i == 2 && !p2) {
							x = refValue("f16", half16(in[i][lane], sel>>i&1 != 0))
						}
						return big.NewFloat(x).SetPrec(200)
					}
					x := p(2, l&^3)
					from := l&^3 + 1
					if p2 {
						x, from = p(2, l), l&^3+2
					}
					sum := new(big.Float).SetPrec(400).Mul(p(0, from), p(1, l))
					sum.Add(sum, x)
					var want uint32
					switch {
					case half && p2:
						y, _ := new(big.Float).SetPrec(40).SetMode(big.ToZero).Set(sum).Float64() // few enough bits that the last ones decide nothing
						if !rtz {
							want = refRound("f16", y)
						} else if want = refRound("f16", y); math.Abs(refValue("f16", want)) > math.Abs(y) {
							want--
						}
						if sel&8 != 0 {
							want = in[3][l]&0xffff | want<<16
						} else {
							want |= in[3][l] &^ 0xffff
						}
					default:
						y, _ := sum.SetMode(big.ToNearestEven).Float32()
						if rtz {
							z, _ := new(big.Float).SetPrec(24).SetMode(big.ToZero).Set(sum).Float32()
							y = z
						}
						want = u32(y)
					}
					if got := w.v[8][l]; got != want {
						t.Errorf("%s %s op_sel %x lane %d: %08x, want %08x", target, op, sel, l, got, want)
						break
					}
				}
			}
		}
	}
}

// TestScalarValues: scalar operations that isa/exec has no vectors of.
func TestScalarValues(t *testing.T) {
	const m0 = 3
	rtz := func(x float64) uint32 {
		c := refRound("f16", x)
		if v := refValue("f16", c); math.Abs(v) > math.Abs(x) {
			c--
		}
		return c
	}
	type regs = *[100]uint32
	minmax := func(kind string, isMax bool) func(s regs) {
		return func(s regs) {
			a, b := refValue(kind, s[16]&(1<<refBits(kind)-1)), refValue(kind, s[18]&(1<<refBits(kind)-1))
			switch {
			case a != a && b != b:
				s[20] = refRound(kind, a)
			case a != a:
				s[20] = refRound(kind, b)
			case b != b:
				s[20] = refRound(kind, a)
			case isMax:
				s[20] = refRound(kind, max(a, b))
			default:
				s[20] = refRound(kind, min(a, b))
			}
		}
	}
	for _, c := range []struct {
		op, targets string
		gen         func(r *rand.Rand) uint32
		want        func(s regs)
	}{
		{"s_bitreplicate_b64_b32", "gfx942 gfx1100 gfx1201", nil, func(s regs) {
			x := new(big.Int)
			for i := range 32 {
				if s[16]>>i&1 != 0 {
					x.Or(x, new(big.Int).Lsh(big.NewInt(3), uint(2*i)))
				}
			}
			s[20], s[21] = uint32(x.Uint64()), uint32(x.Uint64()>>32)
		}},
		{"s_movreld_b32", "gfx942 gfx1100 gfx1201", nil, func(s regs) { s[20+m0] = s[16] }},
		{"s_movreld_b64", "gfx942 gfx1100 gfx1201", nil, func(s regs) { s[20+m0+1], s[20+m0+2] = s[16], s[17] }},
		{"s_movrels_b32", "gfx942 gfx1100 gfx1201", nil, func(s regs) { s[20] = s[16+m0] }},
		{"s_movrels_b64", "gfx942 gfx1100 gfx1201", nil, func(s regs) { s[20], s[21] = s[16+m0+1], s[16+m0+2] }},
		{"s_movrelsd_2_b32", "gfx1100 gfx1201", nil, func(s regs) { s[20+1] = s[16+m0] }},
		{"s_max_f32", "gfx1151", pattern, minmax("f32", true)},
		{"s_min_f32", "gfx1151", pattern, minmax("f32", false)},
		{"s_max_f16", "gfx1151", finite16, minmax("f16", true)},
		{"s_min_f16", "gfx1151", finite16, minmax("f16", false)},
		{"s_cvt_pk_rtz_f16_f32", "gfx1151 gfx1201", finite32, func(s regs) {
			s[20] = rtz(float64(f32(s[16]))) | rtz(float64(f32(s[18])))<<16
		}},
	} {
		for target := range strings.FieldsSeq(c.targets) {
			r := rand.New(rand.NewPCG(71, 72))
			for range 50 {
				var v [64]vreg
				var s [100]uint32
				fill := randomWave(r, &v, &s)
				a := (&assembler{t: t, target: target}).op(c.op, fields{"sdst": 20, "ssrc0": 16, "ssrc1": 18})
				w, _, f := single(t, a, true, func(w *wave) {
					fill(w)
					w.s[w.m0] = m0
					if strings.HasSuffix(c.op, "b64") && strings.Contains(c.op, "movrel") {
						w.s[w.m0] = m0 + 1 // registers of pairs are even
					}
					if strings.Contains(c.op, "_2_") {
						w.s[w.m0] = m0 | 1<<16
					}
					if c.gen != nil {
						for i := range 4 {
							s[16+i] = c.gen(r)
							w.s[16+i] = s[16+i]
						}
					}
				})
				if f != nil {
					t.Errorf("%s %s: %v", target, c.op, f)
					break
				}
				x, y := s[16], s[18]
				c.want(&s)
				for i := range s {
					if w.s[i] != s[i] {
						t.Fatalf("%s %s of %08x %08x: s%d is %08x, want %08x", target, c.op, x, y, i, w.s[i], s[i])
					}
				}
			}
		}
	}
	for name, ref := range map[string]func(x float64) float64{"exp": math.Exp2, "log": math.Log2, "rcp": func(x float64) float64 { return 1 / x }, "rsq": func(x float64) float64 { return 1 / math.Sqrt(x) }, "sqrt": math.Sqrt} {
		for x := uint32(0x2c00); x < 0x4800; x += 7 {
			w, _, f := single(t, (&assembler{t: t, target: "gfx1201"}).op("v_s_"+name+"_f16", fields{"vdst": 20, "sdst": 20, "src0": 16}), true, func(w *wave) { w.s[16], w.s[20] = x|0xabcd0000, 0xffffffff })
			if want := refRound("f16", ref(refValue("f16", x))); f != nil || w.s[20]-want+1 > 2 {
				t.Fatalf("v_s_%s_f16 of %04x is %08x, want %04x (%v)", name, x, w.s[20], want, f)
			}
		}
	}
}

// TestLDSValues: LDS operations that isa/exec has no vectors of.
func TestLDSValues(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	word := func(b []byte, at int) uint32 { return le.Uint32(b[at:]) }
	for _, c := range []struct {
		op, targets string
		want        func(lds []byte, v *[64]vreg, n int, exec uint64)
	}{
		{"ds_append", "gfx90a gfx942 gfx1100 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			count := word(lds, 0x104)
			eachLane(n, exec, func(l int) { v[8][l] = count })
			le.PutUint32(lds[0x104:], count+uint32(bits.OnesCount64(exec)))
		}},
		{"ds_consume", "gfx90a gfx942 gfx1100 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			count := word(lds, 0x104)
			eachLane(n, exec, func(l int) { v[8][l] = count })
			le.PutUint32(lds[0x104:], count-uint32(bits.OnesCount64(exec)))
		}},
		{"ds_read_addtid_b32", "gfx90a gfx942 gfx950", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) { v[8][l] = word(lds, 0x104+0x400+4*l) })
		}},
		{"ds_load_addtid_b32", "gfx1100 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) { v[8][l] = word(lds, 0x104+0x400+4*l) })
		}},
		{"ds_write_addtid_b32", "gfx90a gfx942 gfx950", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) { le.PutUint32(lds[0x104+0x400+4*l:], v[48][l]) })
		}},
		{"ds_store_addtid_b32", "gfx1100 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) { le.PutUint32(lds[0x104+0x400+4*l:], v[48][l]) })
		}},
		{"ds_condxchg32_rtn_b64", "gfx90a gfx942 gfx1100 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) {
				for i := range 2 {
					at := int(v[4][l]) + 0x104&^7 + 4*i
					old, d := word(lds, at), v[48+i][l]
					v[8+i][l] = old
					if d>>31 != 0 {
						le.PutUint32(lds[at:], d&^(1<<31))
					}
				}
			})
		}},
		{"ds_nop", "gfx942 gfx1100 gfx1201", func([]byte, *[64]vreg, int, uint64) {}},
		{"ds_pk_add_bf16", "gfx942 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) {
				at := int(v[4][l]) + 0x104
				le.PutUint32(lds[at:], uint32(refAtomic(t, "pk_add_bf16", 32, uint64(word(lds, at)), uint64(v[48][l]), 0)))
			})
		}},
		{"ds_pk_add_rtn_bf16", "gfx942 gfx1201", func(lds []byte, v *[64]vreg, n int, exec uint64) {
			eachLane(n, exec, func(l int) {
				at := int(v[4][l]) + 0x104
				old := word(lds, at)
				le.PutUint32(lds[at:], uint32(refAtomic(t, "pk_add_bf16", 32, uint64(old), uint64(v[48][l]), 0)))
				v[8][l] = old
			})
		}},
		{"ds_bpermute_fi_b32", "gfx1201", func(_ []byte, v *[64]vreg, n int, exec uint64) {
			data := v[48]
			eachLane(n, exec, func(l int) { v[8][l] = data[(int(v[4][l])+0x104)/4%n] })
		}},
	} {
		for target := range strings.FieldsSeq(c.targets) {
			set := fields{"vdst": 8, "addr": 4, "data0": 48, "offset0": 4, "offset1": 1}
			switch {
			case strings.Contains(c.op, "e_addtid"):
				set["addr"] = 0
				if strings.Contains(c.op, "load") || strings.Contains(c.op, "read") {
					set["data0"] = 0
				} else {
					set["vdst"] = 0
				}
			case c.op == "ds_nop":
				set = nil
			case c.op == "ds_pk_add_bf16":
				set["vdst"] = 0
			case !strings.Contains(c.op, "_b64") && !strings.Contains(c.op, "_pk_") && !strings.Contains(c.op, "perm"):
				set["addr"], set["data0"] = 0, 0
			}
			a := (&assembler{t: t, target: target}).op(c.op, set)
			for try := range 4 {
				var v [64]vreg
				var s [100]uint32
				var lds []byte
				fill := randomWave(r, &v, &s)
				w, _, f := single(t, a, try%2 == 0, func(w *wave) {
					fill(w)
					w.s[w.m0] = 0x400
					if strings.Contains(c.op, "append") || strings.Contains(c.op, "consume") {
						w.s[w.m0] = 0
					}
					for i := range w.g.lds {
						w.g.lds[i] = byte(r.Uint32())
					}
					for i := 0; i < 0x4000; i += 2 {
						w.g.lds[i+1] = w.g.lds[i+1]&0x83 | 0x3c // numbers near 1 as bfloat16
					}
					lds = append([]byte(nil), w.g.lds...)
					for l := range 64 {
						v[4][l] = 8 * r.Uint32N(1000)
						for i := range 2 {
							v[48+i][l] = v[48+i][l]&0x83ff83ff | 0x3c003c00
						}
					}
					w.v[4], w.v[48], w.v[49] = v[4], v[48], v[49]
					w.setExec((r.Uint64() | 1) & w.full)
				})
				if f != nil {
					t.Errorf("%s %s: %v", target, c.op, f)
					break
				}
				c.want(lds, &v, w.n, w.exec)
				for i := range v {
					for l := range w.n {
						if w.v[i][l] != v[i][l] {
							t.Fatalf("%s %s lane %d: v%d is %08x, want %08x", target, c.op, l, i, w.v[i][l], v[i][l])
						}
					}
				}
				for i := range lds {
					if lds[i] != w.g.lds[i] {
						t.Fatalf("%s %s: byte %#x of LDS is %02x, want %02x", target, c.op, i, w.g.lds[i], lds[i])
					}
				}
			}
		}
	}
}

func eachLane(n int, exec uint64, f func(l int)) {
	for l := range n {
		if exec>>l&1 != 0 {
			f(l)
		}
	}
}
