package isa

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// samples are instructions of every format as LLVM 22.1.8 prints them: dwords, then text. gfx90a's are values
// of LLVM's public tests.
var samples = []struct{ target, words, text string }{
	{"gfx90a", "d3b14804 18022108", `v_pk_mul_f32 v[4:5], v[8:9], v[16:17] op_sel:[1,0]`},
	{"gfx90a", "e0a00000 00000000", `buffer_wbl2`},
	{"gfx90a", "e0a40000 00000000", `buffer_invl2`},
	{"gfx90a", "e13e0fff 03020400", `buffer_atomic_add_f64 v[4:5], off, s[8:11], s3 offset:4095 slc`},
	{"gfx90a", "d3d50000 040a0300", `v_mfma_i32_16x16x16i8 v[0:3], v0, v1, v[2:5]`},
	{"gfx942", "d86eacbc 3c00000e", `ds_read2_b32 v[60:61], v14 offset0:188 offset1:172`},
	{"gfx942", "dc710c3d 00000018", `flat_store_dword v[24:25], v0 offset:3133 sc0`},
	{"gfx942", "dc5080f8 e800000f", `global_load_dword v232, v15, s[0:1] offset:248`},
	{"gfx942", "dc504065 bf1e0000", `scratch_load_dword v191, off, s30 offset:101`},
	{"gfx942", "e8685000 8013e162", `tbuffer_load_format_x v225, v98, s[76:79], 0 format:[BUF_DATA_FORMAT_32_32_32] offen sc0`},
	{"gfx942", "e05c5800 648014f8", `buffer_load_dwordx4 a[20:23], v248, s[0:3], s100 offen offset:2048 sc0`},
	{"gfx942", "c0075439 cc1604a6", `s_load_dwordx2 s[80:81], ttmp[6:7], flat_scratch_lo offset:-0x9fb5a glc`},
	{"gfx942", "be80013c", `s_mov_b64 s[0:1], s[60:61]`},
	{"gfx942", "806980ff 40490fdb", `s_add_u32 xnack_mask_hi, 0x40490fdb, 0`},
	{"gfx942", "bf07f800", `s_cmp_lg_u32 s0, 0.15915494`},
	{"gfx942", "b8ef94af", `s_getreg_b32 ttmp3, hwreg(47, 18, 19)`},
	{"gfx942", "bf8cda03", `s_waitcnt vmcnt(51) expcnt(0) lgkmcnt(10)`},
	{"gfx942", "02fb62ff cd5dabd9", `v_add_f32_e32 v125, 0xcd5dabd9, v177`},
	{"gfx942", "d1058214 00000079", `v_mul_f32_e64 v20, ttmp13, |s0| clamp`},
	{"gfx942", "d38f5914 08020600", `v_pk_add_f16 v20, s0, v3 op_sel:[1,1] op_sel_hi:[1,0] neg_hi:[1,0]`},
	{"gfx942", "d3cd4502 9c327d2e", `v_mfma_f32_16x16x16_f16 v[2:5], a[46:47], a[62:63], v[12:15] cbsz:5 abid:8 blgp:4`},
	{"gfx942", "d3d840de 18000180", `v_accvgpr_read_b32 v222, a128`},
	{"gfx942", "7d9800ff b0cbfac5", `v_cmp_gt_u32_e32 vcc, 0xb0cbfac5, v0`},
	{"gfx942", "7e0002f9 00043316", `v_mov_b32_sdwa v0, v22 clamp dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0`},
	{"gfx942", "680000fa ff080526", `v_add_u32_dpp v0, v38, v0 quad_perm:[1,1,0,0] row_mask:0xf bank_mask:0xf bound_ctrl:1`},
	{"gfx950", "d9c64b00 00000068", `ds_read_b64_tr_b16 v[0:1], v104 offset:19200`},
	{"gfx950", "ddf598fe 007f00f8", `global_load_lds_dwordx4 v[248:249], off offset:-1794 sc0`},
	{"gfx950", "7e14b5fe", `v_permlane32_swap_b32_e32 v10, v254`},
	{"gfx950", "d2340064 01fa0d7f", `v_bitop3_b32 v100, v127, v6, exec_lo`},
	{"gfx950", "d23f4000 0000009d", `v_cvt_scalef32_pk_f32_fp4 v[0:1], 29, s0 op_sel:[0,0,1]`},
	{"gfx950", "d3ac0000 08021918 d3ad0808 4442510c", `v_mfma_scale_f32_16x16x128_f8f6f4 v[8:11], v[12:19], v[40:45], v[16:19], v24, v12 op_sel_hi:[1,0,0] blgp:2`},
	{"gfx1100", "d9368e80 000000c5", `ds_store_b64 v197, v[0:1] offset:36480 gds`},
	{"gfx1100", "f8000159 26481a00", `exp dual_src_blend0 v0, off, off, v38`},
	{"gfx1100", "dcd65534 0d003740", `global_atomic_add_u32 v13, v64, v55, s[0:1] offset:-2764 glc`},
	{"gfx1100", "ce007680", `lds_param_load v128, attr29.z wait_vdst:0`},
	{"gfx1100", "f06c4388 5c6000e3", `image_sample v[0:2], v[227:229], s[0:7], s[92:95] dmask:0x3 dim:SQ_RSRC_IMG_3D unorm glc tfe lwe`},
	{"gfx1100", "e0684eaa 23c71a17", `buffer_store_b32 v26, v[23:24], s[28:31], s35 idxen offen offset:3754 glc`},
	{"gfx1100", "f4085e24 601c378b", `s_load_b128 ttmp[12:15], s[72:73], s48 offset:-0x3c875 glc`},
	{"gfx1100", "bf854784", `s_clause 0x4784`},
	{"gfx1100", "bf87a2db", `s_delay_alu instid0(SALU_CYCLE_3) | instskip(SKIP_4) | instid1(TRANS32_DEP_1)`},
	{"gfx1100", "bf888456", `s_waitcnt_depctr 0x8456`},
	{"gfx1100", "bfb6e63f", `s_sendmsg 58943`},
	{"gfx1100", "cd0100e7 659a351e", `v_interp_p2_f32 v231, -v30, -v26, v102 wait_exp:0`},
	{"gfx1100", "41fc2cff 002a8c3a", `v_add_co_ci_u32_e32 v254, vcc_lo, 0x2a8c3a, v22, vcc_lo`},
	{"gfx1100", "650c4aff 00003118", `v_add_f16_e32 v6.h, lit(0x3118), v37.l`},
	{"gfx1100", "d491027e 0001feff 26eae779", `v_cmpx_lt_f32_e64 0x26eae779, |0x26eae779|`},
	{"gfx1100", "d65b0000 0295f100", `v_permlane16_b32 v0, v0, 0.15915494, 37`},
	{"gfx1100", "cc205900 18fcfe2c", `v_fma_mix_f32 v0, |s44|, exec_hi, s63 op_sel:[1,1,0] op_sel_hi:[1,1,1]`},
	{"gfx1100", "cc404128 5c034346", `v_wmma_f32_16x16x16_f16 v[40:47], v[70:77], v[161:168], v[0:7] neg_lo:[0,1,0] neg_hi:[1,0,0]`},
	{"gfx1100", "c8e1e71b 5f6b00ff 759a9d2a", `v_dual_mul_f32 v95, v27, v243 :: v_dual_add_nc_u32 v106, 0x759a9d2a, v128`},
	{"gfx1100", "b9800005 ef71d98d", `s_setreg_imm32_b32 hwreg(HW_REG_GPR_ALLOC, 0, 1), 0xef71d98d`},
	{"gfx1151", "beb864ff 4390eb19", `s_cvt_f32_i32 s56, 0x4390eb19`},
	{"gfx1151", "a4fef7ff 3e22f983", `s_add_f16 exec_lo, 0xf983, -4.0`},
	{"gfx1151", "a36a80ff e4c33419", `s_fmamk_f32 vcc_lo, 0xe4c33419, 0xe4c33419, 0`},
	{"gfx1201", "dbfc0000 d20000f8", `ds_load_b128 v[210:213], v248`},
	{"gfx1201", "f404c598 ee84e33b", `s_prefetch_data s[48:49], -0x7b1cc5, ttmp11, 22`},
	{"gfx1201", "be804e78", `s_barrier_signal ttmp12`},
	{"gfx1201", "beea5029", `s_get_barrier_state vcc_lo, s41`},
	{"gfx1201", "bf88ca71", `s_wait_alu 0xca71`},
	{"gfx1201", "bfc0b860", `s_wait_loadcnt 0xb860`},
	{"gfx1201", "c405007c 40000000 00000012", `buffer_load_b32 v0, v18, s[0:3], null offen`},
	{"gfx1201", "f800200d 031e7f5e", `export mrt0 v94, off, v30, v3 row_en`},
	{"gfx1201", "ec05007c 00100072 800000df", `flat_load_b32 v114, v[223:224] offset:-8388608 th:TH_LOAD_NT`},
	{"gfx1201", "ee06807c 00000000 00009cff", `global_store_b32 v[255:256], v0, off offset:156`},
	{"gfx1201", "d3c18047 000000a8 00007900", `image_store v[168:171], [v0, v121], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D_MSAA_ARRAY a16`},
	{"gfx1201", "05ec48ff c2480000", `v_add_f64_e32 v[246:247], 0xc2480000, v[36:37]`},
	{"gfx1201", "2a0028ff d18117a3", `v_min_num_f32_e32 v0, 0xd18117a3, v20`},
	{"gfx1201", "d62d0019 1c71ff10 6da8687b", `v_minimum3_f32 v25, v16, 0x6da8687b, v28 div:2`},
	{"gfx1201", "d6808018 000000ff be9d629d", `v_s_exp_f32 s24, 0xbe9d629d clamp`},
	{"gfx1201", "cc24400e 99500057", `v_dot4_f32_fp8_bf8 v14, s87, s0, s84 neg_lo:[0,0,1]`},
	{"gfx1201", "cc5040d4 1fe235fc", `v_swmmac_f32_16x16x32_f16 v[212:219], v[252:255], v[26:33], v248`},
	{"gfx1201", "ed068000 086a0000 00003700", `scratch_store_b32 v0, v16, s0 offset:55 th:TH_STORE_NT_HT scope:SCOPE_DEV`},
}

// code turns dwords in hex into bytes.
func code(t testing.TB, words string) []byte {
	t.Helper()
	var b []byte
	for _, w := range strings.Fields(words) {
		v, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func decode(t testing.TB, target, words string) Inst {
	t.Helper()
	arch, ok := ArchOf(target)
	if !ok {
		t.Fatalf("no target %q", target)
	}
	b := code(t, words)
	in, err := Decode(arch, b)
	if err != nil {
		t.Fatalf("%s: %s: %v", target, words, err)
	}
	if int(in.Size) != len(b) {
		t.Fatalf("%s: %s: %d bytes, want %d", target, words, in.Size, len(b))
	}
	return in
}

func TestSamples(t *testing.T) {
	for _, s := range samples {
		in := decode(t, s.target, s.words)
		if got := string(AppendText(nil, in.Arch, waveOf(in.Arch), 0, &in)); got != s.text {
			t.Errorf("%s: %s: got %q, want %q", s.target, s.words, got, s.text)
		}
	}
}

// TestGeneric knows the targets that several processors run.
func TestGeneric(t *testing.T) {
	for target, want := range map[string]Arch{"gfx9-4-generic": CDNA3, "gfx11-generic": RDNA3, "gfx12-generic": RDNA4, "gfx1250": NoArch, "": NoArch} {
		if got, ok := ArchOf(target); got != want || ok != (want != NoArch) {
			t.Errorf("%q: got %v, %t", target, got, ok)
		}
	}
}

func TestTruncated(t *testing.T) {
	for _, s := range samples {
		arch, _ := ArchOf(s.target)
		b := code(t, s.words)
		for n := range b {
			_, err := Decode(arch, b[:n])
			if err == nil && s.words[:4] == "d3ac" {
				continue // the first half is an instruction of its own
			}
			if !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: %d bytes of %s: %v", s.target, n, s.words, err)
			}
		}
	}
}

func TestErrorNamesWords(t *testing.T) {
	_, err := Decode(RDNA3, code(t, "bfd9a0ef 00000000"))
	const want = "isa: RDNA3: bfd9a0ef: no such opcode"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err = Decode(NoArch, code(t, "bf800000")); err == nil {
		t.Error("no architecture: no error")
	}
}

// TestAllocs decodes, prints and inspects every vector of testdata: nothing of it allocates.
func TestAllocs(t *testing.T) {
	text := make([]byte, 0, 256)
	var regs [64]RegRange
	vs := readOwn(t)
	n := testing.AllocsPerRun(1, func() {
		for i := range vs {
			v := &vs[i]
			arch, _ := ArchOf(v.target)
			in, err := Decode(arch, v.code)
			if err != nil {
				t.Fatal(err)
			}
			text = AppendText(text[:0], arch, v.wave, 0, &in)
			_ = in.AppendRegs(regs[:0], v.wave)
			_ = Trace(&in, v.wave)
		}
	})
	if n != 0 {
		t.Errorf("%g allocations for %d vectors", n, len(vs))
	}
}

// regString writes ranges as tests read them: reads, then writes after the bar.
func regString(rs []RegRange) string {
	var reads, writes []string
	for _, r := range rs {
		s := [...]string{"v", "a", "s", "scc"}[r.File]
		if r.File != FileSCC {
			s += strconv.Itoa(int(r.First))
		}
		if r.N > 1 {
			s += "+" + strconv.Itoa(int(r.N))
		}
		if r.Write {
			writes = append(writes, s)
		} else {
			reads = append(reads, s)
		}
	}
	return strings.Join(reads, " ") + " | " + strings.Join(writes, " ")
}

func TestRegs(t *testing.T) {
	for _, c := range []struct {
		target, words string
		wave          int
		want          string
	}{
		{"gfx1100", "02020501", 32, "v1 v2 s106 s126 | v1"},                                              // v_cndmask_b32_e32 v1, v1, v2, vcc_lo
		{"gfx1100", "02020501", 64, "v1 v2 s106+2 s126+2 | v1"},                                          // the same in wave64
		{"gfx1100", "f4081214 f81c8819", 32, "s40+2 | s72+4"},                                            // s_load_b128 s[72:75], s[40:41], -0x377e7
		{"gfx1100", "dc560000 00240055", 32, "v85 s36+2 s126 | v0+2"},                                    // global_load_b64 v[0:1], v85, s[36:37]
		{"gfx1100", "dcd61f9d 00360b00", 32, "v0 v11 s54+2 s126 | "},                                     // global_atomic_add_u32 v0, v11, s[54:55] offset:-99
		{"gfx1100", "dcd65534 0d003740", 32, "v64 v55 s0+2 s126 | v13"},                                  // global_atomic_add_u32 v13, v64, v55, s[0:1] glc
		{"gfx1100", "be802038", 32, "s56 s126 | s0 scc s126"},                                            // s_and_saveexec_b32 s0, s56
		{"gfx1100", "403c4d50", 32, "v80 v38 s106 s126 | v30 s106"},                                      // v_add_co_ci_u32_e32 v30, vcc_lo, v80, v38, vcc_lo
		{"gfx1100", "d9807f7c 16000045", 32, "v69 v0+2 s126 | v22+2"},                                    // ds_add_rtn_u64 v[22:23], v69, v[0:1]
		{"gfx1100", "cc404128 5c034346", 32, "v70+8 v161+8 v0+8 s126 | v40+8"},                           // v_wmma_f32_16x16x16_f16
		{"gfx1100", "cc404128 5c034346", 64, "v70+8 v161+8 v0+4 s126+2 | v40+4"},                         // the same in wave64
		{"gfx1100", "e06c7800 8bc00300", 32, "v3+2 s0+4 v0+2 s126 | "},                                   // buffer_store_b64 v[3:4], v[0:1], s[0:3], 11 idxen offen
		{"gfx1100", "e0d42040 00000000", 32, "v0 s0 s0+4 s126 | "},                                       // buffer_atomic_add_u32 without return
		{"gfx1100", "bf810001", 32, " | "},                                                               // s_setkill: nothing
		{"gfx942", "d3cd4502 9c327d2e", 64, "a46+2 a62+2 v12+4 s126+2 | v2+4"},                           // v_mfma_f32_16x16x16_f16 v[2:5], a[46:47], a[62:63], v[12:15]
		{"gfx942", "7d9800ff b0cbfac5", 64, "v0 s126+2 | s106+2"},                                        // v_cmp_gt_u32_e32 vcc, literal, v0
		{"gfx950", "d3ac0000 08021918 d3ad0808 4442510c", 64, "v24 v12 v12+8 v40+6 v16+4 s126+2 | v8+4"}, // scaled MFMA, B of 6 bits
	} {
		in := decode(t, c.target, c.words)
		if got := regString(in.AppendRegs(nil, c.wave)); got != c.want {
			t.Errorf("%s: wave%d: got %q, want %q", AppendText(nil, in.Arch, c.wave, 0, &in), c.wave, got, c.want)
		}
	}
}

func TestTrace(t *testing.T) {
	for _, c := range []struct {
		target, words string
		want          TraceInfo
	}{
		{"gfx1100", "dc560000 00240055", TraceInfo{Kind: TraceInst, Op: 0x21, OpTaken: 0x21, Clocks: 1, Seen: true}}, // global load, scalar base
		{"gfx1100", "be802038", TraceInfo{Kind: TraceInst, Op: 0x72, OpTaken: 0x72, Clocks: 1}},                      // saveexec
		{"gfx1100", "bfa39678", TraceInfo{Kind: TraceInst, Op: 4, OpTaken: 3, Clocks: 1, Branch: true}},              // s_cbranch_vccz
		{"gfx1100", "bf89fc07", TraceInfo{Kind: TraceImm, Clocks: 1, Seen: true}},                                    // s_waitcnt
		{"gfx1100", "bf870001", TraceInfo{Kind: TraceNone, Seen: true}},                                              // s_delay_alu
		{"gfx1100", "bfb00000", TraceInfo{Kind: TraceEnd, Seen: true}},                                               // s_endpgm
		{"gfx1201", "bf94ffff", TraceInfo{Kind: TraceNone, Op: 0x13, OpTaken: 0x13, Header0: true, Seen: true}},      // s_barrier_wait
		{"gfx942", "7d9800ff b0cbfac5", TraceInfo{Kind: TraceInst, Op: 18, OpTaken: 18}},                             // 8-byte VALU
		{"gfx942", "bf8a0000", TraceInfo{Kind: TraceInst, Op: 15, OpTaken: 15, Exit: true}},                          // s_barrier
	} {
		in := decode(t, c.target, c.words)
		if got := Trace(&in, 32); got != c.want {
			t.Errorf("%s: got %+v, want %+v", AppendText(nil, in.Arch, 32, 0, &in), got, c.want)
		}
	}
}

func TestConstBits(t *testing.T) {
	for _, c := range []struct {
		code uint16
		typ  Type
		bits int
		want uint64
	}{
		{128, TypeU32, 32, 0},
		{192, TypeI32, 32, 64},
		{193, TypeI32, 32, 0xffffffff},
		{208, TypeI64, 64, 0xfffffffffffffff0},
		{240, TypeF32, 32, 0x3f000000},
		{247, TypeF16, 16, 0xc400},
		{242, TypeF64, 64, 0x3ff0000000000000},
		{248, TypeF64, 64, 0x3fc45f306dc9c882},
		{248, TypeF16, 16, 0x3118},
		{242, TypeBF16, 16, 0x3f80},
		{193, TypeI16, 16, 0xffff},
	} {
		if got := ConstBits(c.code, c.typ, c.bits); got != c.want {
			t.Errorf("code %d as %d bits: got %#x, want %#x", c.code, c.bits, got, c.want)
		}
	}
}

// TestBranch follows s_cbranch_vccz backwards and forwards.
func TestBranch(t *testing.T) {
	for words, want := range map[string]uint64{"bfa30000": 0x1004, "bfa3ffff": 0x1000, "bfa37fff": 0x1004 + 0x7fff*4} {
		in := decode(t, "gfx1100", words)
		if got, ok := in.Target(0x1000); !ok || got != want {
			t.Errorf("%s: got %#x, want %#x", words, got, want)
		}
	}
	in := decode(t, "gfx1100", "bfb00000")
	if _, ok := in.Target(0); ok {
		t.Error("s_endpgm has a target")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		arch, _ := ArchOf(s.target)
		f.Add(uint8(arch), code(f, s.words))
	}
	f.Fuzz(func(t *testing.T, a uint8, b []byte) {
		arch := Arch(a % uint8(numArch))
		in, err := DecodeLenient(arch, b)
		if err != nil {
			if _, ok := errors.AsType[*DecodeError](err); !ok || err.Error() == "" {
				t.Fatalf("%v is no DecodeError", err)
			}
			return
		}
		if in.Size == 0 || in.Size%4 != 0 || int(in.Size) > len(b) {
			t.Fatalf("size %d of %d bytes", in.Size, len(b))
		}
		// What follows does not matter, and the text is the same wherever the instruction lies.
		again, err := DecodeLenient(arch, b[:in.Size])
		if err != nil && in.Size == 8 && b[2] == 0xac && b[3] == 0xd3 {
			return // may be the first half of a longer one
		}
		if err != nil || again != in {
			t.Fatalf("alone: %+v, %v; before: %+v", again, err, in)
		}
		if strict, err := Decode(arch, b); err == nil && strict != in {
			t.Fatalf("strict: %+v, lenient: %+v", strict, in)
		}
		for _, wave := range []int{32, 64} {
			text := AppendText(nil, arch, wave, 0, &in)
			if !strings.HasPrefix(string(text), in.Op.Base()) || strings.ContainsAny(string(text), "\n\t") {
				t.Fatalf("text %q of %s", text, in.Op.Name)
			}
			for _, r := range in.AppendRegs(nil, wave) {
				if r.N == 0 || r.File == FileScalar && r.First > 127 {
					t.Fatalf("%s: register range %+v", text, r)
				}
			}
			Trace(&in, wave)
		}
		in.Target(0)
		in.Offset()
	})
}
