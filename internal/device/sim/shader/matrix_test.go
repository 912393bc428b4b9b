package shader

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// matrixCodes are matrix instructions of each kind, encoded as LLVM's assembler does.
var matrixCodes = map[string][]string{
	"gfx942": {
		"0040e1d30a21421c", // v_mfma_f32_16x16x16_bf16 v[0:3], a[10:11], a[16:17], v[16:19] abid:8
		"0058cdd308b53a3c", // v_mfma_f32_16x16x16_f16 v[0:3], a[8:9], a[90:91], v[14:17] abid:11 blgp:1
		"2480c1d3fe215a04", // v_mfma_f32_16x16x1_4b_f32 a[36:51], v254, v16, a[22:37]
		"f880f1d304012692", // v_mfma_f32_16x16x32_bf8_fp8 a[248:251], v[4:5], a[0:1], 9 blgp:4
		"0088f2d3fe397aa4", // v_mfma_f32_16x16x32_fp8_bf8 a[0:3], v[254:255], v[28:29], a[30:33] abid:1 blgp:5
		"6080ded302019b45", // v_mfma_f32_16x16x4_4b_bf16 a[96:111], v[2:3], v[128:129], a[102:117] blgp:2
		"0063c9d3162daa06", // v_mfma_f32_16x16x4_4b_f16 v[0:15], v[22:23], v[22:23], v[170:185] cbsz:3 abid:12
		"0008c5d3735772c5", // v_mfma_f32_16x16x4_f32 v[0:3], v115, v43, v[92:95] abid:1 blgp:6
		"0000bed302217204", // v_mfma_f32_16x16x8_xf32 v[0:3], v[2:3], v[16:17], v[28:31]
		"00a0f5d322e54a04", // v_mfma_f32_32x32x16_bf8_fp8 a[0:15], v[34:35], v[114:115], a[18:33] abid:4
		"ba90f6d3161d8a65", // v_mfma_f32_32x32x16_fp8_bf8 a[186:201], v[22:23], v[14:15], a[98:113] abid:2 blgp:3
		"0001c0d300195ac4", // v_mfma_f32_32x32x1_2b_f32 v[0:31], v0, v12, v[22:53] cbsz:1 blgp:6
		"1ad4c4d3b855c63a", // v_mfma_f32_32x32x2_f32 a[26:41], a184, a42, 49 cbsz:4 abid:10 blgp:1
		"0880ddd342b96a14", // v_mfma_f32_32x32x4_2b_bf16 a[8:39], v[66:67], a[92:93], a[26:57]
		"1ec6c8d310118214", // v_mfma_f32_32x32x4_2b_f16 a[30:61], v[16:17], a[8:9], a[32:63] cbsz:6 abid:8
		"0000bfd31c15ce1b", // v_mfma_f32_32x32x4_xf32 v[0:15], a[28:29], a[10:11], -1.0
		"7ec0e0d33e39ba1c", // v_mfma_f32_32x32x8_bf16 a[126:141], a[62:63], a[28:29], a[46:61] abid:8
		"003fccd30a2dde1a", // v_mfma_f32_32x32x8_f16 v[0:15], a[10:11], a[22:23], 55 cbsz:7 abid:7
		"0001c2d312015b2c", // v_mfma_f32_4x4x1_16b_f32 v[0:3], a18, v128, v[22:25] cbsz:1 blgp:1
		"2481dfd3fee95a04", // v_mfma_f32_4x4x4_16b_bf16 a[36:39], v[254:255], v[116:117], a[22:25] cbsz:1
		"00c2cad3140d0a7c", // v_mfma_f32_4x4x4_16b_f16 a[0:3], a[20:21], a[6:7], a[2:5] cbsz:2 abid:8 blgp:3
		"0070eed33e51723c", // v_mfma_f64_16x16x4_f64 v[0:7], a[62:63], a[40:41], v[28:35] abid:14 neg:[1,0,0]
		"60c0d7d3fc8132ad", // v_mfma_i32_16x16x32_i8 a[96:99], a[252:253], v[64:65], a[76:79] abid:8 blgp:5
		"b280d1d37c0d4eba", // v_mfma_i32_16x16x4_4b_i8 a[178:193], a124, a6, 19 blgp:5
		"0489d6d372050bec", // v_mfma_i32_32x32x16_i8 a[4:19], a[114:115], v[130:131], a[2:17] cbsz:1 abid:1 blgp:7
		"10ffd0d31cbb2a5c", // v_mfma_i32_32x32x4_2b_i8 a[16:47], a28, a93, a[10:41] cbsz:7 abid:15 blgp:2
		"02e0d2d3cd0d3b43", // v_mfma_i32_4x4x4_16b_i8 a[2:5], v205, v134, -14 abid:12 blgp:2
		"8e40e6d300017a1c", // v_smfmac_f32_16x16x32_bf16 v[142:145], a[0:1], a[0:3], v30 abid:8
		"06dde2d336217204", // v_smfmac_f32_16x16x32_f16 a[6:9], v[54:55], v[16:19], v28 cbsz:5 abid:11
		"1c80f9d34809f204", // v_smfmac_f32_16x16x64_bf8_fp8 a[28:31], v[72:73], v[4:7], v60
		"0040fad33801e21f", // v_smfmac_f32_16x16x64_fp8_bf8 v[0:3], a[56:57], a[0:3], v248 abid:8
		"0000e8d304491704", // v_smfmac_f32_32x32x16_bf16 v[0:15], v[4:5], v[164:167], v5
		"0040e4d3102dc21d", // v_smfmac_f32_32x32x16_f16 v[0:15], a[16:17], a[22:25], v112 abid:8
		"0050fdd366dd2214", // v_smfmac_f32_32x32x32_bf8_fp8 v[0:15], v[102:103], a[110:113], v8 abid:10
		"0005fed302290a1c", // v_smfmac_f32_32x32x32_fp8_bf8 v[0:15], a[2:3], a[20:23], v2 cbsz:5
		"0040ead3127dcb1d", // v_smfmac_i32_16x16x64_i8 v[0:3], a[18:19], a[190:193], v114 abid:8
		"04fbecd3046d220c", // v_smfmac_i32_32x32x32_i8 a[4:19], a[4:5], v[54:57], v8 cbsz:3 abid:15
	},
	"gfx950": {
		"3c83add30e292a02",                 // v_mfma_f32_16x16x128_f8f6f4 a[60:63], v[14:19], v[20:27], 10 cbsz:3
		"74dcb7d370015b84",                 // v_mfma_f32_32x32x16_bf16 a[116:131], v[112:115], v[128:131], a[22:37] cbsz:4 abid:11 blgp:4
		"2001aed312253a5e",                 // v_mfma_f32_32x32x64_f8f6f4 v[32:47], a[18:25], a[18:23], v[142:157] cbsz:1 blgp:2
		"007ab6d37469d752",                 // v_mfma_i32_16x16x64_i8 v[0:3], v[116:119], a[180:183], 53 cbsz:2 abid:15 blgp:2
		"0000acd3ffc50218000aadd3bcc13265", // v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[188:193], v[96:101], v[76:79], v255, v98 op_sel_hi:[1,1,0] cbsz:2 blgp:3
		"0018acd373c702189e08aed386396244", // v_mfma_scale_f32_32x32x64_f8f6f4 v[158:173], v[134:141], v[28:33], v[24:39], v115, v99 op_sel:[1,1,0] op_sel_hi:[1,1,0] blgp:2
		"00c5bcd318f1731c",                 // v_smfmac_f32_16x16x128_bf8_fp8 a[0:3], a[24:27], a[248:255], v28 cbsz:5 abid:8
		"06bcbdd316097a1c",                 // v_smfmac_f32_16x16x128_fp8_bf8 a[6:9], a[22:25], a[4:11], v30 cbsz:4 abid:7
		"1657e8d30a21de1d",                 // v_smfmac_f32_32x32x16_bf16 v[22:37], a[10:11], a[16:19], v119 cbsz:7 abid:10
		"8240ced34a051a0c",                 // v_smfmac_f32_32x32x64_bf8_fp8 v[130:145], a[74:77], v[2:9], v6 abid:8
		"0040cfd31a056a1c",                 // v_smfmac_f32_32x32x64_fp8_bf8 v[0:15], a[26:29], a[2:9], v26 abid:8
		"0040bad34ae9ba07",                 // v_smfmac_i32_16x16x128_i8 v[0:3], v[74:77], v[116:123], v238 abid:8
		"14c8ead318053a1c",                 // v_smfmac_i32_16x16x64_i8 a[20:23], a[24:25], a[2:5], v14 abid:9
		"00c0c7d38421121c",                 // v_smfmac_i32_32x32x64_i8 a[0:15], a[132:135], a[16:23], v4 abid:8
	},
	"gfx1100": {
		"344043cc0c295a04", // v_wmma_bf16_16x16x16_bf16 v[52:59], v[12:19], v[20:27], v[22:29] op_sel_hi:[0,0,1]
		"194042cc06c33e1c", // v_wmma_f16_16x16x16_f16 v[25:32], v[6:13], v[97:104], v[15:22]
		"004141cc18055a1c", // v_wmma_f32_16x16x16_bf16 v[0:7], v[24:31], v[2:9], v[22:29] neg_hi:[1,0,0]
		"124140cc02d702dc", // v_wmma_f32_16x16x16_f16 v[18:25], v[2:9], v[107:114], v[0:7] neg_lo:[0,1,1] neg_hi:[1,0,0]
		"0f4645cc0201c71b", // v_wmma_i32_16x16x16_iu4 v[15:22], v[2:3], v[128:129], -0.5 neg_hi:[0,1,1]
		"a6c444cc1e7de23b", // v_wmma_i32_16x16x16_iu8 v[166:173], v[30:33], v[62:65], 0.15915494309189532 neg_lo:[1,0,0] neg_hi:[0,0,1] clamp
	},
	"gfx1201": {
		"0e4053ccfce5221c",         // v_swmmac_bf16_16x16x32_bf16 v[14:17], v[252:255], v[114:121], v8
		"184252cc4445fe1d",         // v_swmmac_f16_16x16x32_f16 v[24:27], v[68:71], v[34:41], v127 neg_hi:[0,1,0]
		"0a4151cc18b1021c",         // v_swmmac_f32_16x16x32_bf16 v[10:17], v[24:27], v[88:95], v0 neg_hi:[1,0,0]
		"124059cc1c3d1a1d",         // v_swmmac_f32_16x16x32_bf8_fp8 v[18:25], v[28:29], v[30:33], v70
		"004050cc08617a1c",         // v_swmmac_f32_16x16x32_f16 v[0:7], v[8:11], v[48:55], v30
		"c54058cc0893b31d",         // v_swmmac_f32_16x16x32_fp8_bf8 v[197:204], v[8:9], v[201:204], v108
		"6e4057cc12012a1c",         // v_swmmac_f32_16x16x32_fp8_fp8 v[110:117], v[18:19], v[0:3], v10
		"004855cc08212a1c",         // v_swmmac_i32_16x16x32_iu4 v[0:7], v8, v[16:17], v10 index_key:1
		"0c4054cc66a5731c",         // v_swmmac_i32_16x16x32_iu8 v[12:19], v[102:103], v[210:213], v28
		"10c056cc40052a3c",         // v_swmmac_i32_16x16x64_iu4 v[16:23], v[64:65], v[2:5], v10 neg_lo:[1,0,0] clamp
		"764243cc1a195a1c",         // v_wmma_bf16_16x16x16_bf16 v[118:121], v[26:29], v[12:15], v[22:25] neg_hi:[0,1,0]
		"7d4042cc130b5a1c",         // v_wmma_f16_16x16x16_f16 v[125:128], v[19:22], v[5:8], v[22:25]
		"004041cc902daa1a",         // v_wmma_f32_16x16x16_bf16 v[0:7], v[144:147], v[22:25], 42
		"004048cc0867161b",         // v_wmma_f32_16x16x16_bf8_fp8 v[0:7], v[8:9], v[51:52], -5
		"0e4440cc0207eefc",         // v_wmma_f32_16x16x16_f16 v[14:21], v[2:5], v[3:6], v[59:66] neg_lo:[1,1,1] neg_hi:[0,0,1]
		"004047cc8405e21d",         // v_wmma_f32_16x16x16_fp8_bf8 v[0:7], v[132:133], v[2:3], v[120:127]
		"0e4045cc2677fe1b2f73d63b", // v_wmma_i32_16x16x16_iu4 v[14:21], v38, v59, 0x3bd6732f
		"6c4044cc0731721d",         // v_wmma_i32_16x16x16_iu8 v[108:115], v[7:8], v[24:25], v[92:99]
		"10404acc0af9731c",         // v_wmma_i32_16x16x32_iu4 v[16:23], v[10:11], v[252:253], v[28:35]
	},
}

// TestMatrixTiles compares the tiles with the element by element form, on random operands of every kind of float.
func TestMatrixTiles(t *testing.T) {
	for target, codes := range matrixCodes {
		for _, c := range codes {
			b, err := hex.DecodeString(c)
			if err != nil {
				t.Fatal(err)
			}
			if fast, ran := compareMatrix(t, target, b, c); !fast || !ran {
				t.Errorf("%s %s: not run as tiles", target, c)
			}
		}
	}
}

// TestMatrixEncodings does so for all encodings that LLVM accepts.
func TestMatrixEncodings(t *testing.T) {
	for _, target := range []string{"gfx942", "gfx950", "gfx1100", "gfx1201"} {
		f, err := os.Open(sharedtest.Path(t, "isa", "enc_"+target+".tsv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		zr, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		tiled, encoding, other := 0, 0, map[string]bool{}
		for sc := bufio.NewScanner(zr); sc.Scan(); {
			words, text, ok := strings.Cut(sc.Text(), "\t")
			_, name, _ := strings.Cut(text, "\t")
			name, _, _ = strings.Cut(name, " ")
			if !ok || name == "v_mfma_ld_scale_b32" || !strings.HasPrefix(name, "v_mfma_") && !strings.HasPrefix(name, "v_smfmac_") && !strings.HasPrefix(name, "v_wmma_") && !strings.HasPrefix(name, "v_swmmac_") {
				continue
			}
			var code []byte
			for w := range strings.FieldsSeq(words) {
				b, err := hex.DecodeString(w)
				if err != nil {
					t.Fatal(err)
				}
				code = binary.LittleEndian.AppendUint32(code, binary.BigEndian.Uint32(b))
			}
			if encoding++; testing.Short() && encoding%8 != 0 {
				continue
			}
			if fast, _ := compareMatrix(t, target, code, text); fast {
				tiled++
			} else {
				other[name] = true
			}
		}
		for name := range other {
			if name != "v_mfma_f64_4x4x4_4b_f64" {
				t.Errorf("%s %s: not run as tiles", target, name)
			}
		}
		t.Logf("%s: %d encodings", target, tiled)
	}
}

// compareMatrix tells whether the instruction has a fast form, and fails t where that differs. Formats that do not exist are
// refused, not run.
func compareMatrix(t *testing.T, target string, code []byte, text string) (fast, ran bool) {
	t.Helper()
	arch, _ := isa.ArchOf(target)
	waves := []bool{false}
	if !arch.CDNA() {
		waves = []bool{false, true}
	}
	r := rand.New(rand.NewPCG(3, uint64(len(text))))
	for _, wave32 := range waves {
		k := testKernel(1, 64)
		k.Arch, k.Wave32 = arch, wave32
		mem := &flatMem{code, nil}
		m := NewMachine(mem)
		run := &Run{m: m, k: k, prog: m.program(k), ctx: testContext}
		g := newGroup(run, 0, newWindow(mem))
		w := g.waves[0]
		u := &w.code[w.ip]
		if u.x == nil || u.x.mat == nil {
			return true, false
		}
		mat := u.x.mat
		fast = mat.tiles != nil || mat.out.kind == elemF64 && mat.m == 16
		if !fast {
			return false, true
		}
		for try := range 6 {
			pool := patternPool(mat, try < 3)
			for i := range w.v {
				w.v[i] = pool[r.IntN(len(pool))]
			}
			if try < 4 {
				nearOne(w, mat, r)
			}
			before := append([]vreg(nil), w.v...)
			w.runMatrixAny(u, mat)
			want := append([]vreg(nil), w.v...)
			copy(w.v, before)
			runMatrix(w, u)
			for i := range w.v {
				for l := range w.n {
					if got := w.v[i][l]; got != want[i][l] && !bothNaN(w.v, want, i, l, mat) {
						t.Errorf("%s %s, wave of %d, try %d: v%d lane %d = %08x, want %08x", target, text, w.n, try, i, l, got, want[i][l])
						return true, true
					}
				}
			}
		}
	}
	return fast, true
}

// patternPools are registers full of random operands, of small numbers or of anything.
var patternPools = map[[2]uint8][]vreg{}

func patternPool(m *matrix, small bool) []vreg {
	key := [2]uint8{m.a.kind, uint8(b2u(small))}
	pool := patternPools[key]
	if pool == nil {
		r := rand.New(rand.NewPCG(uint64(key[0]), uint64(key[1])))
		pool = make([]vreg, 400)
		for i := range pool {
			for l := range pool[i] {
				pool[i][l] = matrixPattern(r, m, small)
			}
		}
		patternPools[key] = pool
	}
	return pool
}

func matrixPattern(r *rand.Rand, m *matrix, small bool) uint32 {
	if !small {
		return pattern(r)
	}
	switch m.a.kind {
	case elemF32:
		return u32(float32(r.NormFloat64()))
	case elemF64:
		return uint32(u64(r.NormFloat64()) >> (32 * r.IntN(2)))
	case elemF16:
		return f2h(float32(r.NormFloat64())) | f2h(float32(r.NormFloat64()))<<16
	case elemBF16:
		return f2bf(float32(r.NormFloat64())) | f2bf(float32(r.NormFloat64()))<<16
	}
	return r.Uint32()
}

// nearOne gives an instruction scales of which float32 holds every product.
func nearOne(w *wave, m *matrix, r *rand.Rand) {
	for _, o := range []*opnd{&m.scaleA, &m.scaleB} {
		if m.scaled && o.kind == fromV {
			for l := range w.v[o.reg] {
				w.v[o.reg][l] = 0x7f7f7f7f + r.Uint32()&0x07070707
			}
		}
	}
}

func bothNaN(got, want []vreg, i, l int, m *matrix) bool {
	x, y := got[i][l], want[i][l]
	switch m.out.kind {
	case elemF32:
		return isNaN32(x) && isNaN32(y)
	case elemF16:
		return (x&0xffff == y&0xffff || isNaN16(x) && isNaN16(y)) && (x>>16 == y>>16 || isNaN16(x>>16) && isNaN16(y>>16))
	case elemBF16:
		return (x&0xffff == y&0xffff || isNaN32(x<<16) && isNaN32(y<<16)) && (x>>16 == y>>16 || isNaN32(x) && isNaN32(y))
	case elemF64:
		i &^= 1
		return isNaN64(uint64(got[i][l])|uint64(got[i+1][l])<<32) && isNaN64(uint64(want[i][l])|uint64(want[i+1][l])<<32)
	}
	return false
}

// BenchmarkMatrix reports matrix instructions a second, of each kind.
func BenchmarkMatrix(b *testing.B) {
	for target, codes := range matrixCodes {
		arch, _ := isa.ArchOf(target)
		for _, c := range codes {
			code, err := hex.DecodeString(c)
			if err != nil {
				b.Fatal(err)
			}
			k := testKernel(1, 64)
			k.Arch, k.Wave32 = arch, !arch.CDNA()
			mem := &flatMem{code, nil}
			m := NewMachine(mem)
			run := &Run{m: m, k: k, prog: m.program(k), ctx: testContext}
			w := newGroup(run, 0, newWindow(mem)).waves[0]
			u := &w.code[w.ip]
			pool := patternPool(u.x.mat, true)
			b.Run(target+"/"+run.prog.view()[w.ip].Inst.Op.Base(), func(b *testing.B) {
				best := time.Hour
				for b.Loop() {
					b.StopTimer()
					for i := range w.v {
						w.v[i] = pool[i%len(pool)]
					}
					nearOne(w, u.x.mat, rand.New(rand.NewPCG(1, 2)))
					b.StartTimer()
					from := time.Now()
					for range 100 {
						runMatrix(w, u)
					}
					best = min(best, time.Since(from)/100)
				}
				b.ReportMetric(1e3/float64(best.Nanoseconds()), "best-Minsts/s")
			})
		}
	}
}
