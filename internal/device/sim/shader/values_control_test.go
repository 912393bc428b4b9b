package shader

import (
	"strings"
	"testing"
)

// TestGPRIndex: gfx9's mode that adds an index to the registers of vector operations.
func TestGPRIndex(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		a := &assembler{t: t, target: target}
		mov := func(d, s int) { a.op("v_mov_b32_e32", fields{"vdst": d, "src0": v(s)}) }
		a.op("s_set_gpr_idx_on", fields{"ssrc0": 4, "ssrc1": idxSrc0}) // index 3
		mov(8, 20)                                                     // v8 = v23
		a.op("s_set_gpr_idx_mode", fields{"simm16": idxDst})
		mov(9, 21) // v12 = v21
		a.op("s_set_gpr_idx_idx", fields{"ssrc0": 5})
		mov(9, 22) // v16 = v22
		a.op("s_set_gpr_idx_mode", fields{"simm16": idxSrc1 | idxDst})
		a.op("v_add_u32_e32", fields{"vdst": 10, "src0": v(20), "vsrc1": 20}) // v17 = v20 + v27
		a.op("s_set_gpr_idx_off", nil)
		mov(11, 24)
		w, _, f := single(t, a, false, func(w *wave) {
			w.s[4], w.s[5] = 3, 7
			for i := range 64 {
				for l := range 64 {
					w.v[i][l] = uint32(1000*i + l)
				}
			}
		})
		if f != nil {
			t.Fatalf("%s: %v", target, f)
		}
		for i, base := range map[int]uint32{8: 23, 12: 21, 16: 22, 11: 24, 9: 9, 10: 10} {
			if got := w.v[i][5]; got != 1000*base+5 {
				t.Errorf("%s: v%d is %d", target, i, got)
			}
		}
		if got := w.v[17][5]; got != 47010 {
			t.Errorf("%s: v17 is %d", target, got)
		}
	}
}

// TestModes: instructions that write fields of MODE.
func TestModes(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1151", "gfx1200", "gfx1201"} {
		a := &assembler{t: t, target: target}
		a.op("v_mul_f32_e32", fields{"vdst": 8, "src0": v(4), "vsrc1": 4})
		a.op("s_round_mode", fields{"simm16": 1}) // float32: up; the rest: even
		a.op("v_mul_f32_e32", fields{"vdst": 9, "src0": v(4), "vsrc1": 4})
		a.op("s_round_mode", fields{"simm16": 0})
		a.op("v_mul_f32_e32", fields{"vdst": 10, "src0": v(5), "vsrc1": 6})
		a.op("s_denorm_mode", fields{"simm16": 12}) // float32: flushed
		a.op("v_mul_f32_e32", fields{"vdst": 11, "src0": v(5), "vsrc1": 6})
		a.op("s_getreg_b32", fields{"sdst": 9, "simm16": hwMode | 7<<11})
		w, _, f := single(t, a, true, func(w *wave) {
			w.setMode(w.modeReg() | 0xf0)
			for i, x := range []float32{1 + 0x1p-12, 0x1p-100, 0x1p-40} {
				fill(&w.v[4+i], u32(x))
			}
		})
		if f != nil {
			t.Fatalf("%s: %v", target, f)
		}
		// (1 + 2^-12)^2 is 2^-24 above the number that it rounds to.
		if w.v[8][0] != u32(1+0x1p-11) || w.v[9][0] != u32(1+0x1p-11+0x1p-23) || w.v[10][0] != u32(0x1p-140) || w.v[11][0] != 0 || w.s[9] != 0xc0 {
			t.Errorf("%s: %08x %08x %08x %08x, MODE %x", target, w.v[8][0], w.v[9][0], w.v[10][0], w.v[11][0], w.s[9])
		}
	}
}

// TestClocks: time goes on, and is the same in each run.
func TestClocks(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		var first [4]uint64
		for run := range 2 {
			a := &assembler{t: t, target: target}
			a.op("s_memtime", fields{"sdata": 8}).op("s_memrealtime", fields{"sdata": 10})
			for range 100 {
				a.op("s_nop", nil)
			}
			a.op("s_memtime", fields{"sdata": 12}).op("s_memrealtime", fields{"sdata": 14})
			w, _, f := single(t, a, false, nil)
			if f != nil {
				t.Fatalf("%s: %v", target, f)
			}
			got := [4]uint64{w.sget64(8), w.sget64(10), w.sget64(12), w.sget64(14)}
			if got[2] < got[0] || got[3] < got[1] || run == 1 && got != first {
				t.Errorf("%s: %d, then %d", target, first, got)
			}
			first = got
		}
	}
}

// TestAllocVGPR: no kernel is started with registers that can grow, which is what the instruction needs.
func TestAllocVGPR(t *testing.T) {
	a := (&assembler{t: t, target: "gfx1201"}).op("s_alloc_vgpr", fields{"ssrc0": inline0 + 4})
	if _, _, f := single(t, a, true, nil); f == nil || f.Err != ErrIllegal {
		t.Errorf("got %v", f)
	}
}

// TestScratchToLDS: private memory straight to LDS.
func TestScratchToLDS(t *testing.T) {
	for _, target := range []string{"gfx942", "gfx950"} {
		for name, acc := range map[string]string{"ubyte": "ubyte", "sbyte": "sbyte", "ushort": "ushort", "sshort": "sshort", "dword": "dword"} {
			a := (&assembler{t: t, target: target}).op("scratch_store_dword", fields{"data": 5, "offset": 8})
			a.op("scratch_load_lds_"+name, fields{"offset": 8})
			w, _, f := single(t, a, false, func(w *wave) {
				w.s[w.m0] = 0x200
				for l := range 64 {
					w.v[5][l] = uint32(l)*0x01030507 ^ 0x80f0
				}
			})
			if f != nil {
				t.Errorf("%s %s: %v", target, name, f)
				continue
			}
			for l := range 64 {
				want := refAccesses[acc].load(le.AppendUint32(nil, w.v[5][l]), nil)[0]
				if got := le.Uint32(w.g.lds[0x200+8+4*l:]); got != want {
					t.Errorf("%s scratch_load_lds_%s lane %d: %08x, want %08x", target, name, l, got, want)
					break
				}
			}
		}
	}
}

// TestScalarScratchWide: several dwords of lane 0's private memory.
func TestScalarScratchWide(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		a := &assembler{t: t, target: target}
		a.op("s_scratch_store_dwordx4", fields{"sbase": 2, "sdata": 8, "offset": 16}).op("s_scratch_store_dwordx2", fields{"sbase": 2, "sdata": 8, "offset": 40})
		a.op("s_scratch_load_dwordx4", fields{"sbase": 2, "sdata": 16, "offset": 16}).op("s_scratch_load_dwordx4", fields{"sbase": 2, "sdata": 20, "offset": 32})
		a.op("s_scratch_load_dword", fields{"sbase": 2, "sdata": 24, "offset": 20})
		w, _, f := single(t, a, false, func(w *wave) {
			w.s[4], w.s[5] = 0x5000, 0
			for i := range 4 {
				w.s[8+i] = uint32(100 + i)
			}
		}, func(k *Kernel) { k.ScratchBase = 0x5000 })
		if f != nil {
			t.Fatalf("%s: %v", target, f)
		}
		for i, want := range []uint32{100, 101, 102, 103, 0, 0, 100, 101, 101} {
			if w.s[16+i] != want {
				t.Errorf("%s: s%d is %d, want %d", target, 16+i, w.s[16+i], want)
			}
		}
	}
}

// TestReturns: s_rfe_restore_b64 goes back as s_rfe_b64 does; s_sleep_var takes the time from a register.
func TestReturns(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		a := (&assembler{t: t, target: target}).op("s_trap", fields{"simm16": 5}).op("s_mov_b32", fields{"sdst": 9, "ssrc0": inline0 + 1}).op("s_endpgm", nil)
		handler := uint64(codeBase + len(a.code))
		a.op("s_add_u32", fields{"sdst": 108, "ssrc0": 108, "ssrc1": inline0 + 4}).op("s_and_b32", fields{"sdst": 109, "ssrc0": 109, "ssrc1": literal}).literal(0xffff)
		a.op("s_rfe_restore_b64", fields{"ssrc0": 108, "ssrc1": inline0})
		w, _, f := single(t, a, false, nil, func(k *Kernel) { k.TrapBase = handler })
		if f != nil || w.s[9] != 1 || w.priv {
			t.Errorf("%s: after %d, %v", target, w.s[9], f)
		}
	}
	for _, target := range []string{"gfx1200", "gfx1201"} {
		a := (&assembler{t: t, target: target}).op("s_sleep_var", fields{"ssrc0": 4}).op("s_mov_b32", fields{"sdst": 9, "ssrc0": inline0 + 1})
		if w, _, f := single(t, a, true, func(w *wave) { w.s[4] = 3 }); f != nil || w.s[9] != 1 {
			t.Errorf("%s: %v", target, f)
		}
	}
	for _, target := range strings.Fields("gfx90a gfx942 gfx1100") {
		a := (&assembler{t: t, target: target}).op("ds_gws_sema_release_all", fields{"gds": 1, "offset0": 2})
		if _, _, f := single(t, a, true, nil); f != nil {
			t.Errorf("%s: %v", target, f)
		}
	}
}
