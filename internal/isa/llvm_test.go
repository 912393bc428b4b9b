package isa

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	llvmCases = flag.Int("llvm", 2, "encodings of each operation that TestLLVM makes up")
	llvmSeed  = flag.Uint64("llvm.seed", 1, "seed of TestLLVM")
)

// llvmMC finds the disassembler of an LLVM version. TestLLVM compares with 22, whose text this package prints; what 22
// refuses and 19 took is taken too.
func llvmMC(t testing.TB, version int) string {
	t.Helper()
	for _, name := range []string{fmt.Sprintf("llvm-mc-%d", version), "llvm-mc"} {
		out, err := exec.Command(name, "--version").Output()
		if err == nil && strings.Contains(string(out), fmt.Sprintf("version %d.", version)) {
			return name
		}
	}
	return ""
}

// answer is what LLVM made of some bytes.
type answer struct {
	text    string   // of the first instruction, "" where refused
	more    []string // further instructions in the same bytes
	refused bool     // of any part
	crash   bool     // LLVM did not survive it
}

// askLLVM disassembles each code by itself. What LLVM crashes on is found by halving.
func askLLVM(t testing.TB, mc, target string, wave int, codes [][]byte) []answer {
	t.Helper()
	const most = 20000
	if len(codes) > most {
		return append(askLLVM(t, mc, target, wave, codes[:most]), askLLVM(t, mc, target, wave, codes[most:])...)
	}
	answers, ok := askSome(t, mc, target, wave, codes)
	switch {
	case ok:
		return answers
	case len(codes) == 1:
		t.Logf("LLVM crashes on %x", codes[0])
		return []answer{{crash: true}}
	}
	half := len(codes) / 2
	return append(askLLVM(t, mc, target, wave, codes[:half]), askLLVM(t, mc, target, wave, codes[half:])...)
}

// askSome disassembles each code by itself. Two s_nop of a known number stand after each, to tell the answers apart.
func askSome(t testing.TB, mc, target string, wave int, codes [][]byte) (answers []answer, ok bool) {
	t.Helper()
	var in bytes.Buffer
	line := func(b []byte) {
		for i, c := range b {
			sep := byte(',')
			if i == 0 {
				sep = '['
			}
			in.WriteByte(sep)
			in.WriteString(strconv.Itoa(int(c)))
		}
		in.WriteString("]\n")
	}
	nop := func(id int) uint32 { return 0xbf800000 | uint32(id&0xffff) }
	for i, c := range codes {
		line(c)
		line(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, nop(i)), nop(^i)))
	}
	args := []string{"-disassemble", "-triple=amdgcn-amd-amdhsa", "-mcpu=" + target}
	if arch, _ := ArchOf(target); !arch.CDNA() {
		args = append(args, fmt.Sprintf("-mattr=+wavefrontsize%d", wave))
	}
	cmd := exec.Command(mc, args...)
	cmd.Stdin = &in
	var out, warn bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &warn
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: something was refused
		return nil, false
	}
	answers = make([]answer, len(codes))
	for _, s := range strings.Split(warn.String(), "\n") {
		rest, ok := strings.CutPrefix(s, "<stdin>:")
		if !ok || !strings.HasSuffix(s, "invalid instruction encoding") {
			continue
		}
		no, _, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(no)
		if err != nil || n%2 == 0 {
			t.Fatalf("%q", s)
		}
		answers[n/2].refused = true
	}
	arch, _ := ArchOf(target)
	mark := func(id int) string {
		in, err := Decode(arch, binary.LittleEndian.AppendUint32(nil, nop(id)))
		if err != nil {
			t.Fatal(err)
		}
		return string(AppendText(nil, arch, wave, 0, &in))
	}
	var texts []string
	for _, s := range strings.Split(out.String(), "\n") {
		if s = strings.TrimLeft(s, "\t"); s != "" && s[0] != '.' {
			texts = append(texts, s)
		}
	}
	at := 0
	for i := range answers {
		first, second := mark(i), mark(^i)
		j := at
		for j+1 < len(texts) && (texts[j] != first || texts[j+1] != second) {
			j++
		}
		if j+1 >= len(texts) {
			t.Fatalf("no mark after %x", codes[i])
		}
		if j > at {
			answers[i].text, answers[i].more = texts[at], texts[at+1:j]
		}
		at = j + 2
	}
	return answers, true
}

// makeUp gives encodings of every opcode of every encoding, most of them as an assembler could have made them.
func makeUp(arch Arch, rng *rand.Rand, each int) [][]byte {
	var codes [][]byte
	for top := range uint32(512) {
		e := &encodings[encOf[arch][top]]
		if e.format == NoFormat {
			continue
		}
		fixed := top << 23
		for op := range uint32(e.opMask) + 1 {
			head := fixed | op<<e.opLo
			if head>>23 != top || head>>e.opLo&uint32(e.opMask) != op {
				continue
			}
			low := uint32(1<<23-1) &^ (uint32(e.opMask) << e.opLo)
			n := each
			if e.format != VOPD && opIndex[int(e.base)+int(op)] == 0 { // no operation
				n = each/10 + 1
			}
			for range n {
				codes = append(codes, encode(arch, rng, head, low))
			}
		}
	}
	return codes
}

// sparse is a random number with half of its bits set or fewer.
func sparse(rng *rand.Rand) uint32 {
	v := rng.Uint32()
	for range rng.IntN(3) {
		v &= rng.Uint32()
	}
	return v
}

// oddCodes are source codes where something begins, ends or means something of its own.
var oddCodes = [...]uint32{
	102, 104, 105, 106, 107, 108, 123, 124, 125, 126, 127, 128, 192, 193, 208, 209, 230, 231, 233, 234, 235, 239, 240, 248,
	249, 250, 251, 252, 253, 254, 255, 256, 511,
}

// oddLiterals are, or are near, what inline constants stand for: integers, floats of 16, 32 and 64 bits.
var oddLiterals = [...]uint32{
	0, 1, 64, 65, 0xfffffff0, 0xffffffef, 0x3f800000, 0x3e22f983, 0x3c00, 0x3118, 0xffff, 0x3f80, 0x38003800, 0x3fc45f30, 0xc0100000,
}

// source is a random source code, the odd ones more often than chance has it.
func source(rng *rand.Rand, bits int) uint32 {
	v := rng.Uint32()
	switch rng.IntN(3) {
	case 0:
		v = oddCodes[rng.IntN(len(oddCodes))]
	case 1:
		v = 256 + rng.Uint32N(256)
	}
	return v & (1<<bits - 1)
}

// encode makes up an instruction: a head of encoding and opcode whose other bits are low, then fields of its layout, as
// far as the opcode is known.
func encode(arch Arch, rng *rand.Rand, head, low uint32) []byte {
	raw := [5]uint32{head | sparse(rng)&low, sparse(rng), rng.Uint32(), rng.Uint32(), 0xbf800000}
	b := make([]byte, 0, 20)
	for _, w := range raw {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	if rng.IntN(8) == 0 {
		return b
	}
	in, _ := DecodeLenient(arch, b)
	if in.Op == nil {
		return b
	}
	l := &layouts[layoutSets[in.Op.set][in.Form]]
	if layoutSets[in.Op.set][in.Form] == 0 {
		l = &layouts[layoutSets[in.Op.set][Base]]
	}
	calm := rng.IntN(4) // how often a field that is no operand is left 0
	for f := NoField + 1; f < numField; f++ {
		p := l.fields[f]
		if p.width == 0 {
			continue
		}
		v := rng.Uint32() & (1<<p.width - 1)
		named := in.Op.names(f) || in.OpY != nil && in.OpY.names(f)
		switch {
		case f >= FieldSrc0 && f <= FieldSrc2 || f == FieldSsrc0 || f == FieldSsrc1 || f == FieldSoffset || f == FieldSrcX0 || f == FieldSrcY0:
			v = source(rng, int(p.width))
			if !named && rng.IntN(8) != 0 {
				v = 0
			}
		case f == FieldSaddr:
			v = [...]uint32{0, 124, 127, v}[rng.IntN(4)]
		case f == FieldOpSelHi || f == FieldOpSelHi2:
			if rng.IntN(2) == 0 {
				v = 1<<p.width - 1
			}
		case f == FieldR128 && strings.Contains(in.Op.Name, "bvh"):
			v = 1
		case !named && rng.IntN(4) < calm:
			v = 0
		}
		if f == FieldAcc || f == FieldTfe || f == FieldLds {
			if rng.IntN(2) == 0 {
				v = 0
			}
		}
		shift := p.lo & 31
		raw[p.lo>>5] = raw[p.lo>>5]&^(uint32(1<<p.width-1)<<shift) | v<<shift
	}
	if low != 0 && raw[0]&^low != head {
		raw[0] = head | raw[0]&low
	}
	if in.Form == Lit && rng.IntN(2) == 0 {
		raw[in.Size/4-1] = oddLiterals[rng.IntN(len(oddLiterals))]
	}
	b = b[:0]
	for _, w := range raw {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// notAsked tells what LLVM 22 does not survive (a literal where the encoding has none, SDWA selects that mean nothing), and
// an older encoding that it takes by mistake. All of it is refused here.
func notAsked(arch Arch, b []byte) bool {
	w, x := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	switch top := w >> 26; {
	case top == 0x38 || top == 0x3a: // MUBUF, MTBUF: the scalar offset
		return x>>24 == SrcLiteral
	case !arch.CDNA() && w>>23 == 0x17d && w&0xff == SrcLiteral: // barriers by number
		op := w >> 8 & 0xff
		return op >= 0x4e && op <= 0x52
	case !arch.CDNA():
		return w>>20 == 0xd3a // gfx9's v_fma_mix
	case top == 0x34: // VOP3, VOP3P
		return w&0xff == SrcLiteral || x&0x1ff == SrcLiteral || x>>9&0x1ff == SrcLiteral || x>>18&0x1ff == SrcLiteral
	case w>>31 == 0 && w&0x1ff == markSDWA:
		return x>>8&7 == 7 || x>>11&3 == 3 || x>>16&7 == 7 || x>>24&7 == 7
	}
	return false
}

var llvmTargets = append([]string{"gfx90a"}, vectorTargets...)

// TestLLVM compares size, text and what is refused with LLVM's disassembler: encodings of every opcode, then random words.
func TestLLVM(t *testing.T) {
	mc := llvmMC(t, 22)
	if mc == "" {
		t.Skip("no llvm-mc of LLVM 22")
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, target := range llvmTargets {
		arch, _ := ArchOf(target)
		waves := []int{32, 64}
		if arch.CDNA() {
			waves = waves[1:]
		}
		for _, wave := range waves {
			t.Run(fmt.Sprintf("%s_wave%d", target, wave), func(t *testing.T) { compareLLVM(t, mc, target, arch, wave) })
		}
	}
}

func compareLLVM(t *testing.T, mc, target string, arch Arch, wave int) {
	rng := rand.New(rand.NewPCG(*llvmSeed, uint64(arch)<<8|uint64(wave)))
	codes := makeUp(arch, rng, *llvmCases)
	made := len(codes)
	for range made / 2 {
		b := make([]byte, 0, 20)
		for range 4 {
			b = binary.LittleEndian.AppendUint32(b, rng.Uint32())
		}
		codes = append(codes, binary.LittleEndian.AppendUint32(b, 0xbf800000))
	}
	codes = slices.DeleteFunc(codes, func(b []byte) bool {
		// LLVM knows no dual instructions in wave64; which waves will run the code is not known here.
		return notAsked(arch, b) || wave == 64 && !arch.CDNA() && b[3]>>2 == 0x32
	})
	texts, ask := disassembled(arch, wave, codes)
	answers := askLLVM(t, mc, target, wave, ask)
	older := askOlder(t, target, wave, ask, answers, texts)
	var taken, doubtful, old int
	faults := map[string][]string{} // examples by kind and name
	for i, a := range answers {
		kind := ""
		switch ours := texts[i]; {
		case a.crash, a.text == "" && ours == "":
		case strings.Contains(a.text, "/*"): // LLVM says that what it prints is invalid
			doubtful++
		case a.text == "" && older[i]:
			old++
		case a.text == "":
			kind = "refused"
		case ours == "":
			kind = "taken"
		case a.refused || len(a.more) > 0:
			kind = "of another size"
		case a.text != ours:
			kind = "printed otherwise"
		}
		if a.text != "" {
			taken++
		}
		if kind != "" {
			name, _, _ := strings.Cut(texts[i]+" "+a.text, " ")
			kind += " by LLVM: " + name
			faults[kind] = append(faults[kind], fmt.Sprintf("%x: got %q, want %q", ask[i], texts[i], a.text))
		}
	}
	n := 0
	for _, kind := range slices.Sorted(maps.Keys(faults)) {
		n += len(faults[kind])
		t.Logf("%s: %d, such as %s", kind, len(faults[kind]), faults[kind][0])
	}
	t.Logf("%d encodings, %d of them instructions, %d that LLVM doubts, %d that LLVM 19 alone takes; %.3f %% alike",
		len(codes), taken, doubtful, old, 100-100*float64(n)/float64(len(codes)))
	if n*500 > len(codes) {
		t.Errorf("%d of %d are not as LLVM has them", n, len(codes))
	}
}

// disassembled gives this package's text of each code, "" where it is refused, and the bytes to ask LLVM about.
func disassembled(arch Arch, wave int, codes [][]byte) (texts []string, ask [][]byte) {
	texts, ask = make([]string, len(codes)), make([][]byte, len(codes))
	for i, c := range codes {
		ask[i] = c
		if in, err := Decode(arch, c); err == nil {
			texts[i] = string(AppendText(nil, arch, wave, 0, &in))
			ask[i] = c[:in.Size]
		}
	}
	return texts, ask
}

// askOlder tells which of the codes that LLVM 22 refuses and this package takes LLVM 19 takes.
func askOlder(t *testing.T, target string, wave int, codes [][]byte, answers []answer, texts []string) map[int]bool {
	older := map[int]bool{}
	mc := llvmMC(t, 19)
	if mc == "" || target == "gfx950" { // 19 does not know it
		return older
	}
	var at []int
	var ask [][]byte
	for i, a := range answers {
		if a.text == "" && texts[i] != "" {
			at, ask = append(at, i), append(ask, codes[i])
		}
	}
	for k, a := range askLLVM(t, mc, target, wave, ask) {
		older[at[k]] = a.text != "" && !a.refused && len(a.more) == 0
	}
	return older
}
