package isa

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

// vector is one line of the shared vector files.
type vector struct {
	code []byte
	size int // 0: to be refused
	text string
}

func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	f, err := os.Open(sharedtest.Path(t, "isa", name+".tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for s := bufio.NewScanner(z); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		size, err := strconv.Atoi(cells[1])
		if err != nil || len(cells) != 3 {
			t.Fatalf("%s: %q", name, line)
		}
		v := vector{size: size, text: cells[2]}
		for _, w := range strings.Fields(cells[0]) {
			b, err := hex.DecodeString(w)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			v.code = binary.LittleEndian.AppendUint32(v.code, binary.BigEndian.Uint32(b))
		}
		out = append(out, v)
	}
	return out
}

var vectorTargets = []string{"gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201"}

// older turns LLVM 22's spellings into 19's, so that a vector whose newer text is not here still tests the rest.
func older(s string) string {
	if strings.HasPrefix(s, "v_dot4") || strings.HasPrefix(s, "v_dot8") {
		s = dotHalves.ReplaceAllString(s, "")
	}
	if strings.Contains(s, "_dpp") {
		s = strings.ReplaceAll(sextDPP.ReplaceAllString(s, "$1"), "-", "")
	}
	s = strings.ReplaceAll(s, "TH_STORE_RT_WB", "TH_STORE_WB")
	return newSpellings.ReplaceAllString(s, "$1$3")
}

var newSpellings = regexp.MustCompile(`(\bv\d+)(\.[lh])\b|(HW_REG_)WAVE_|lit\((?:0x[0-9a-f]+)\)`)

// LLVM 19 takes the neg bits of integer operands in VOP3 DPP for sign extension, 22 ignores them.
var sextDPP = regexp.MustCompile(`sext\((\w+)\)`)

var dotHalves = regexp.MustCompile(` op_sel(_hi)?:\[[01,]+\]`)

func waveOf(a Arch) int {
	if a.CDNA() {
		return 64
	}
	return 32
}

// known lists the vectors whose text differs, by what they have in common. Where LLVM 22 prints something else than 19,
// its text for half of the vectors is not at hand; the first group is that: other vectors of the same instruction show
// that 22 prints what this package prints.
var known = []struct {
	text   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`sext\(|^v_ldexp_f16_e64`), "LLVM 19 takes neg and abs bits of integer operands for modifiers, 22 ignores them"},
	{regexp.MustCompile(`^v_cmpx?_class_f16_e64 `), "LLVM 19 prints the literal class mask with 32 bits, 22 with 16"},
	{regexp.MustCompile(`^v_alignb(it|yte)_b32`), "LLVM 19 takes the shift for a 32-bit operand, 22 for a 16-bit one"},
	{regexp.MustCompile(`^v_cvt_pk_f32_[bf][fp]8`), "LLVM 19 prints the literal with 32 bits, 22 with 16"},
	{regexp.MustCompile(`^v_fmac_f(16|32)_e64`), "LLVM 19 prints op_sel, 22 does not; of a constant in a DPP form 22 prints the code"},
	{regexp.MustCompile(`^v_interp_p10_f16_f32`), "LLVM 19 lets scalar sources through that do not exist there"},
	{regexp.MustCompile(`^v_fma_mixlo_f16_e64_dpp|^v_frexp_mant_f16_dpp`), "LLVM loses bit 15 of the DPP dword in some 16-bit instructions, and with it a lane's number"},
	{regexp.MustCompile(`, vcc\|`), "LLVM prints the implicit VCC inside the bars of the last source"},
	{regexp.MustCompile(`^v_wmma_`), "LLVM 19 prints the literal C with 32 bits, 22 with 16; 1/(2*pi) has two spellings"},
}

func TestVectors(t *testing.T) {
	for _, target := range vectorTargets {
		t.Run(target, func(t *testing.T) {
			arch, _ := ArchOf(target)
			newer := map[string]vector{} // LLVM 22's text where it differs
			var vs []vector
			if target != "gfx950" {
				for _, v := range readVectors(t, "enc22_"+target) {
					newer[string(v.code)] = v
					if v.size > 0 {
						vs = append(vs, v)
					}
				}
			}
			vs = append(vs, readVectors(t, "enc_"+target)...)
			checkText(t, target, waveOf(arch), vs, newer)
		})
	}
	for _, target := range []string{"gfx1100", "gfx1201"} {
		t.Run(target+"_wave64", func(t *testing.T) {
			checkText(t, target, 64, readVectors(t, "enc_"+target+"_wave64"), nil)
		})
	}
}

// checkText decodes and prints the vectors. Size and mnemonic must be right, and the text but for known differences
// in at most one of 200. Where LLVM 22 is installed its word counts, not the known ones.
func checkText(t *testing.T, target string, wave int, vs []vector, newer map[string]vector) {
	t.Helper()
	arch, _ := ArchOf(target)
	var differ []vector // with this package's text
	for _, v := range vs {
		n, isNew := newer[string(v.code)]
		if isNew {
			v.size, v.text = n.size, n.text
		}
		in, err := Decode(arch, v.code)
		if v.size == 0 { // refused by LLVM 22
			continue
		}
		if err != nil {
			t.Errorf("%x: %s: %v", v.code, v.text, err)
			continue
		}
		got := string(AppendText(nil, arch, wave, 0, &in))
		name, _, _ := strings.Cut(v.text, " ")
		gotName, _, _ := strings.Cut(got, " ")
		switch {
		case int(in.Size) != v.size || gotName != name:
			t.Errorf("%x: got %q of %d bytes, want %q of %d", v.code, got, in.Size, v.text, v.size)
		case got == v.text:
		case !isNew && older(got) == older(v.text): // LLVM 19's text; 22's is in the other half of the vectors
		case !slices.ContainsFunc(known, func(k struct {
			text   *regexp.Regexp
			reason string
		},
		) bool {
			return k.text.MatchString(v.text)
		}):
			t.Errorf("%x: got %q, want %q", v.code, got, v.text)
		default:
			differ = append(differ, vector{code: v.code, text: got})
		}
	}
	if mc := llvmMC(t, 22); mc != "" {
		differ = misread(t, mc, target, wave, differ)
	}
	t.Logf("%d vectors, %.2f %% with the right text", len(vs), 100*float64(len(vs)-len(differ))/float64(len(vs)))
	if len(differ)*200 > len(vs) {
		t.Errorf("%d of %d with other text", len(differ), len(vs))
	}
}

// misread asks LLVM 22 about the vectors and gives those that it prints otherwise: what it gets wrong itself.
func misread(t *testing.T, mc, target string, wave int, vs []vector) (still []vector) {
	t.Helper()
	codes := make([][]byte, len(vs))
	for i := range vs {
		codes[i] = vs[i].code
	}
	for i, a := range askLLVM(t, mc, target, wave, codes) {
		if a.text == vs[i].text {
			continue
		}
		still = append(still, vs[i])
		t.Logf("%x: got %q, LLVM 22 prints %q", vs[i].code, vs[i].text, a.text)
	}
	return still
}

// TestNoncanonical decodes vectors with bits set that LLVM ignores: size and mnemonic are right all the same.
func TestNoncanonical(t *testing.T) {
	for _, target := range vectorTargets {
		arch, _ := ArchOf(target)
		for _, v := range readVectors(t, "noncanon_"+target) {
			in, err := Decode(arch, v.code)
			if err != nil {
				t.Errorf("%s: %s: %v", target, v.text, err)
				continue
			}
			got, _, _ := strings.Cut(string(AppendText(nil, arch, waveOf(arch), 0, &in)), " ")
			if want, _, _ := strings.Cut(v.text, " "); got != want || int(in.Size) != v.size {
				t.Errorf("%s: %x: got %s of %d bytes, want %s of %d", target, v.code, got, in.Size, v.text, v.size)
			}
		}
	}
}

// TestRefused decodes what no LLVM takes.
func TestRefused(t *testing.T) {
	for _, target := range vectorTargets {
		arch, _ := ArchOf(target)
		for _, v := range readVectors(t, "bad_"+target) {
			in, err := Decode(arch, v.code)
			if err != nil {
				if _, ok := errors.AsType[*DecodeError](err); !ok {
					t.Errorf("%s: error %v is no *DecodeError", target, err)
				}
				continue
			}
			t.Errorf("%s: %x (%s): decoded as %s", target, v.code, v.text, in.Op.Name)
		}
	}
}
