package isa

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"os"
	"regexp"
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

// show logs the first lines of a list, or all with -v.
func show(t *testing.T, lines []string) {
	const most = 12
	for i, l := range lines {
		if i == most && os.Getenv("ISA_ALL") == "" {
			t.Logf("and %d more", len(lines)-most)
			return
		}
		t.Log(l)
	}
}

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

func TestVectors(t *testing.T) {
	for _, target := range vectorTargets {
		t.Run(target, func(t *testing.T) {
			arch, _ := ArchOf(target)
			newer := map[string]vector{} // LLVM 22's text where it differs
			if target != "gfx950" {
				for _, v := range readVectors(t, "enc22_"+target) {
					newer[string(v.code)] = v
				}
			}
			files := []string{"enc_", "noncanon_"}
			for _, file := range files {
				vs := readVectors(t, file+target)
				if file == "enc_" {
					for k, v := range newer {
						if v.size > 0 {
							v.code = []byte(k)
							vs = append(vs, v)
						}
					}
				}
				var bad, wrong []string
				for _, v := range vs {
					if n, ok := newer[string(v.code)]; ok {
						v.size, v.text = n.size, n.text
					}
					in, err := Decode(arch, v.code)
					if v.size == 0 {
						continue
					}
					name := strings.Fields(v.text)[0]
					if err != nil {
						bad = append(bad, v.text+": "+err.Error())
						continue
					}
					got := string(AppendText(nil, arch, waveOf(arch), 0, &in))
					gotName, _, _ := strings.Cut(got, " ")
					if int(in.Size) != v.size || gotName != name {
						bad = append(bad, hex.EncodeToString(v.code)+": want "+v.text+", got "+got)
					} else if _, ok := newer[string(v.code)]; !ok && older(got) == older(v.text) {
						continue // LLVM 19's text; what 22 prints is in the other half of the vectors
					} else if got != v.text {
						wrong = append(wrong, hex.EncodeToString(v.code)+":\nwant "+v.text+"\ngot  "+got)
					}
				}
				t.Logf("%s%s: %d vectors, %d with another size or mnemonic, %d with other text: %.2f %% right", file, target, len(vs), len(bad), len(wrong),
					100*float64(len(vs)-len(bad)-len(wrong))/float64(len(vs)))
				show(t, bad)
				show(t, wrong)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, target := range vectorTargets {
		arch, _ := ArchOf(target)
		var lines []string
		vs := readVectors(t, "bad_"+target)
		for _, v := range vs {
			if in, err := Decode(arch, v.code); err == nil {
				lines = append(lines, hex.EncodeToString(v.code)+" "+v.text+": "+in.Op.Name)
			}
		}
		t.Logf("%s: %d of %d accepted", target, len(lines), len(vs))
		show(t, lines)
	}
}
