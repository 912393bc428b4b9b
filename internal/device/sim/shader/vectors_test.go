package shader

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

var vectorsShown = flag.Int("vectors", 5, "failing execution vectors to show per group")

// vector is a line of isa/exec: a state, a short program, and the state after it.
type vector struct {
	ID, Arch, Op, Asm, Code, Denorm, Fmt, Undef, Needs string
	Also                                               []string
	Wave                                               int
	HW                                                 bool `json:"hw_checked"`
	Ref                                                bool `json:"ref_checked"`
	Origin                                             string
	Tol                                                *struct{ ULP, Abs, Rel float64 }
	In, Out                                            vectorState
}

type vectorState struct {
	V, A, S   map[string]string
	VCC, Exec *string
	SCC       *uint32
	Mem, LDS  [][2]string
	Scratch   [][3]any
	Fill      map[string][3]any
	PC        string
}

const (
	codeBase    = 0x100000000
	memBase     = 0x200000000
	memSize     = 0x40000
	laneScratch = 0x400
)

// vectorMem is the memory of a vector.
type vectorMem struct {
	code []byte
	data []byte
}

func (m *vectorMem) Map(addr uint64, write bool) ([]byte, bool) {
	if addr >= memBase && addr < memBase+memSize {
		return m.data[addr-memBase:], true
	}
	if addr >= codeBase && addr < codeBase+uint64(len(m.code)) && !write {
		return m.code[addr-codeBase:], true
	}
	return nil, false
}

// leftOut is how many lines of a target fail for a reason that doubtful knows.
var leftOut = map[string]int{"gfx1100": 24, "gfx1201": 46, "gfx950": 25, "gfx942": 11}

func TestVectors(t *testing.T) {
	root := sharedtest.Path(t, "isa", "exec")
	for _, target := range []string{"gfx1100", "gfx1201", "gfx950", "gfx942"} {
		dir := target
		if target == "gfx942" {
			dir = "gfx950"
		}
		files, err := filepath.Glob(filepath.Join(root, dir, "*.jsonl.gz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no vectors of %s: %v", dir, err)
		}
		left := 0
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".jsonl.gz")
			t.Run(target+"/"+name, func(t *testing.T) {
				fh, err := os.Open(f)
				if err != nil {
					t.Fatal(err)
				}
				defer fh.Close()
				zr, err := gzip.NewReader(fh)
				if err != nil {
					t.Fatal(err)
				}
				left += runVectors(t, target, zr)
			})
		}
		if most := leftOut[target]; left > most {
			t.Errorf("%s: %d lines left out, %d known", target, left, most)
		}
	}
}

// TestOwnVectors runs a few vectors of this project's own, in the same form.
func TestOwnVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in testdata: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		runVectors(t, strings.TrimSuffix(filepath.Base(f), ".jsonl"), bytes.NewReader(b))
	}
}

func runVectors(t *testing.T, target string, r io.Reader) (left int) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<24)
	run, bad := 0, 0
	for sc.Scan() {
		var v vector
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Arch != target && !slices.Contains(v.Also, target) || v.Needs != "" {
			continue
		}
		run++
		err := v.check(target)
		if err == nil {
			continue
		}
		if v.doubtful() != "" {
			left++
			continue
		}
		bad++
		if bad <= *vectorsShown {
			checked := ""
			if v.HW {
				checked = " [hw]"
			} else if v.Ref {
				checked = " [ref]"
			} else if v.Origin != "" {
				checked = " [" + v.Origin + "]"
			}
			t.Errorf("%s%s %s\n   %s %s %s: %v", v.ID, checked, v.Asm, v.Code, v.Denorm, v.Fmt, err)
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d vectors failed", bad, run)
	}
	t.Logf("%d vectors, %d of them left out", run, left)
	return left
}

func parseLanes(s string) (r vreg) {
	if len(s) == 8 {
		v, _ := strconv.ParseUint(s, 16, 32)
		fill(&r, uint32(v))
		return r
	}
	for i := 0; i*8 < len(s); i++ {
		v, _ := strconv.ParseUint(s[i*8:i*8+8], 16, 32)
		r[i] = uint32(v)
	}
	return r
}

func hexNum(s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		panic(err)
	}
	return v
}

func number(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case string:
		return int(hexNum(v))
	}
	panic(v)
}

func fillBytes(b []byte, seed uint32) {
	x := seed
	for i := 0; i+4 <= len(b); i += 4 {
		x = x*1664525 + 1013904223
		le.PutUint32(b[i:], x)
	}
}

type machineState struct {
	v       []vreg
	s       [128]uint32
	scc     uint32
	exec    uint64
	mem     []byte
	lds     []byte
	scratch []byte
}

// apply puts a vector's state on top of st.
func (st *machineState) apply(s *vectorState, v *vector, w *wave) {
	for k, x := range s.V {
		n, _ := strconv.Atoi(k)
		st.v[n] = parseLanes(x)
	}
	for k, x := range s.A {
		n, _ := strconv.Atoi(k)
		st.v[accBase+n] = parseLanes(x)
	}
	for k, x := range s.S {
		n, err := strconv.Atoi(k)
		if err != nil {
			n = int(w.m0)
		}
		st.s[n] = uint32(hexNum(x))
	}
	if s.VCC != nil {
		x := hexNum(*s.VCC)
		st.s[isa.VccLo] = uint32(x)
		if w.n == 64 || x>>32 != 0 {
			st.s[isa.VccHi] = uint32(x >> 32)
		}
	}
	if s.Exec != nil {
		st.exec = hexNum(*s.Exec)
		st.s[isa.ExecLo] = uint32(st.exec)
		if w.n == 64 {
			st.s[isa.ExecHi] = uint32(st.exec >> 32)
		}
	}
	if s.SCC != nil {
		st.scc = *s.SCC
	}
	for k, f := range s.Fill {
		at, n, seed := number(f[0]), number(f[1]), uint32(number(f[2]))
		switch k {
		case "lds":
			fillBytes(st.lds[at:at+n], seed)
		case "mem":
			fillBytes(st.mem[at-memBase:at-memBase+n], seed)
		case "scratch":
			for l := range w.n {
				fillBytes(st.scratch[l*laneScratch+at:l*laneScratch+at+n], seed+uint32(l))
			}
		}
	}
	put := func(b []byte, base int, list [][2]string) {
		for _, e := range list {
			d, err := hex.DecodeString(e[1])
			if err != nil {
				panic(err)
			}
			copy(b[int(hexNum(e[0]))-base:], d)
		}
	}
	put(st.mem, memBase, s.Mem)
	put(st.lds, 0, s.LDS)
	for _, e := range s.Scratch {
		d, _ := hex.DecodeString(e[2].(string))
		copy(st.scratch[number(e[0])*laneScratch+number(e[1]):], d)
	}
}

// doubtful tells why a line that fails is left out: its value is the emulator's alone, and wrong by AMD's documents.
// What these operations give is tested in other ways: TestDotValues, TestConversionValues, TestSelect16, TestDivision64.
func (v *vector) doubtful() string {
	if v.HW || v.Ref || v.Origin != "" {
		return ""
	}
	switch op := strings.TrimSuffix(v.Op, "_e64"); {
	case op == "v_dot2_bf16_bf16", strings.HasPrefix(op, "v_dot4_f32_"), op == "v_dot2_f32_bf16" && v.Arch == "gfx950":
		return "the operands' bits are taken as integers"
	case op == "v_dot2_f16_f16" && strings.Contains(v.Asm, "op_sel:[0,0,1"):
		return "op_sel of source 2 is ignored"
	case op == "s_setpc_b64" && v.Out.PC == "":
		return "the jump does not happen"
	case op == "v_div_fmas_f64" && strings.Contains(v.Asm, "0.15915494309189532"):
		return "the constant has the precision of a float32"
	case op == "v_cvt_pkaccum_u8_f32":
		return "the byte is not put where source 1 says, or the others are cleared"
	case op == "v_cvt_sr_bf16_f32":
		return "the result is not next to the source"
	case strings.Contains(op, "dot2acc_f32_f16") && strings.Contains(v.Asm, "-2.0"):
		return "the constant is a float32, not a float16 in the low half"
	case op == "v_cndmask_b16" && hexNum(v.Code[2:4])>>5&1 != 0:
		return "op_sel of source 2 shifts the mask"
	case op == "v_cndmask_b16" && v.Wave == 64:
		return "the mask's high half is ignored, the register's other half cleared (not so in the lines of wave32)"
	case op == "s_code_end":
		return "no illegal instruction"
	}
	return ""
}

// excuse takes what is wrong in an expected state out of the comparison.
func (v *vector) excuse(w *wave, want *machineState) (activeOnly bool) {
	keep := func(r, l int, bits uint32) { want.v[r][l] = want.v[r][l]&^bits | w.v[r][l]&bits }
	const all = 0xffffffff
	op := strings.TrimSuffix(v.Op, "_e64")
	switch op {
	case "v_mad_u64_u32", "v_mad_i64_i32", "v_mad_co_u64_u32", "v_mad_co_i64_i32":
		// The carry out is missing: the documents define {D1, D0} as the 65-bit sum, and LLVM multiplies wide integers
		// with that carry (AMDGPULegalizerInfo::buildMultiply).
		want.s[14] = w.s[14]
		if w.n == 64 {
			want.s[15] = w.s[15]
		}
	case "ds_permute_b32", "ds_bpermute_b32", "v_permlane16_b32", "v_permlanex16_b32", "v_permlane16_var_b32", "v_permlanex16_var_b32":
		// Lanes that EXEC disables are written in these lines; hardware writes enabled lanes only.
		return true
	}
	if v.HW || v.Ref {
		return false
	}
	switch op {
	case "v_div_scale_f32", "v_div_scale_f64":
		// With these values a division would come out wrong (TestDivision32, TestDivision64): a denormal denominator
		// gives NaN, the largest ones are not scaled down, tiny numerators ask for the quotient to be scaled too.
		for l := range w.n {
			if v.badScale(w, l) {
				keep(8, l, all)
				keep(9, l, all)
				bit := uint32(1) << (l & 31)
				want.s[14+l/32] = want.s[14+l/32]&^bit | w.s[14+l/32]&bit
			}
		}
	case "v_div_fixup_f32", "v_div_fixup_f64":
		// A quotient below half of the smallest number is the smallest number here; rounded to nearest it is zero.
		for l := range w.n {
			if want.v[8][l]&^(1<<31) == 1 && w.v[8][l]&^(1<<31) == 0 {
				keep(8, l, all)
			}
		}
	case "v_mfma_f64_4x4x4_4b_f64":
		// The result has one number a lane; these lines have four.
		d := int(hexNum(v.Code[0:2]))
		for r := d + 2; r < d+8; r++ {
			want.v[r] = w.v[r]
		}
	}
	return false
}

// badScale tells whether a lane of a v_div_scale has a denormal or huge denominator, or a tiny numerator.
func (v *vector) badScale(w *wave, l int) bool {
	u := &w.code[0]
	if strings.Contains(v.Op, "f64") {
		w.fetchWide(u, 1, false)
		w.fetchWide(u, 2, false)
		b, c := w.x[1][l]&math.MaxInt64, w.x[2][l]&math.MaxInt64
		return b < 1<<52 && b != 0 || b>>52 == 0x7fe || b>>52 == 0x7fd && b<<12 != 0 || c < 1<<52 && c != 0
	}
	b, c := w.fetch(u, 1, true)[l]&math.MaxInt32, w.fetch(u, 2, true)[l]&math.MaxInt32
	return b < 1<<23 && b != 0 || b > 253<<23 && b < 255<<23 || c>>23 <= 23 && c != 0
}

// spare is what one vector leaves for the next: states are large and there are many vectors.
var spare struct {
	state *machineState
	data  []byte
	group *group
}

func newState(w *wave) *machineState {
	st := spare.state
	if st == nil {
		st = &machineState{v: make([]vreg, 2*accBase+64), mem: make([]byte, memSize), lds: make([]byte, 1<<16), scratch: make([]byte, 64*laneScratch)}
		spare.state = st
	}
	clear(st.v)
	clear(st.mem)
	clear(st.lds)
	clear(st.scratch)
	st.s, st.scc, st.exec = [128]uint32{}, 0, 0
	return &machineState{v: st.v[:len(w.v)], mem: st.mem, lds: st.lds, scratch: st.scratch[:w.n*laneScratch]}
}

func (v *vector) check(target string) (err error) {
	arch, _ := isa.ArchOf(target)
	code, err := hex.DecodeString(v.Code)
	if err != nil {
		return err
	}
	if spare.data == nil {
		spare.data = make([]byte, memSize)
	}
	mem := &vectorMem{code: code, data: spare.data}
	m := NewMachine(mem)
	if spare.group != nil {
		m.pool.Put(spare.group)
		spare.group = nil
	}
	k := &Kernel{Arch: arch, Entry: codeBase, Wave32: v.Wave == 32, Groups: [3]uint32{1, 1, 1}, Block: [3]uint32{uint32(v.Wave), 1, 1}, LDSBytes: 1 << 16, ScratchBytes: laneScratch}
	den := uint32(0xf)
	if v.Denorm == "flush32" {
		den = 0xc
	}
	k.RSRC1 = den<<16 | 1<<21 | 1<<23
	r := &Run{m: m, k: k, prog: m.program(k), ctx: testContext}
	r.prog.maxV, r.prog.maxA = 256, 0
	if arch.CDNA() {
		r.prog.maxA = 256
	}
	g := newGroup(r, 0, newWindow(mem))
	spare.group = g
	w := g.waves[0]
	w.v[0] = vreg{}
	w.s = [128]uint32{}

	before := newState(w)
	before.apply(&v.In, v, w)
	copy(w.v, before.v)
	w.s = before.s
	w.exec = before.exec
	w.scc = before.scc
	copy(mem.data, before.mem)
	copy(g.lds, before.lds)
	copy(w.scratch, before.scratch)

	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if *vectorsShown > 100 {
				panic(p)
			}
		}
	}()
	end := uint64(codeBase + len(code))
	for n := 0; ; n++ {
		u := &w.code[w.ip]
		w.ip++
		w.fuel = 1 << 20
		if w.patched {
			w.runPatched(u)
		} else {
			u.run(w, u)
		}
		if w.stop == stopFault {
			return w.fault
		}
		if w.stop == stopReload || w.stop == stopBarrier || w.stop == stopWait {
			w.stop = running
		}
		if w.stop == stopEnd || v.Fmt != "multi" {
			break
		}
		if pc := r.prog.view()[w.ip].PC; pc < codeBase || pc >= end {
			break
		}
		if n > 10000 {
			return fmt.Errorf("does not end")
		}
	}

	want := before
	want.apply(&v.Out, v, w)
	activeOnly := v.excuse(w, want)
	wantPC := fmt.Sprintf("%x", end)
	if v.Out.PC != "" {
		wantPC = v.Out.PC
	}
	gotPC := "end"
	if w.stop != stopEnd {
		gotPC = fmt.Sprintf("%x", r.prog.view()[w.ip].PC)
	}
	if gotPC != wantPC && v.Fmt != "multi" {
		return fmt.Errorf("pc %s, want %s", gotPC, wantPC)
	}
	for i := range want.s {
		if i >= isa.ExecLo && w.n == 32 && i > isa.ExecLo {
			continue
		}
		if w.s[i] != want.s[i] && !v.sameScalar(w.s[i], want.s[i]) {
			return fmt.Errorf("s[%d] = %08x, want %08x", i, w.s[i], want.s[i])
		}
	}
	if w.exec != want.exec {
		return fmt.Errorf("exec = %x, want %x", w.exec, want.exec)
	}
	if w.scc != want.scc {
		return fmt.Errorf("scc = %d, want %d", w.scc, want.scc)
	}
	for i := range want.v {
		if i >= 256 && !arch.CDNA() {
			break
		}
		for l := range w.n {
			if activeOnly && before.exec>>l&1 == 0 {
				continue
			}
			if !v.same(w.v, want.v, i, l) {
				return fmt.Errorf("v%d lane %d = %08x, want %08x (before %08x)", i, l, w.v[i][l], want.v[i][l], parseLanes(v.In.V[strconv.Itoa(i)])[l])
			}
		}
	}
	for _, c := range []struct {
		name      string
		got, want []byte
	}{{"mem", mem.data, want.mem}, {"lds", g.lds, want.lds}, {"scratch", w.scratch, want.scratch}} {
		if !bytes.Equal(c.got, c.want) {
			for i := range c.want {
				if c.got[i] != c.want[i] {
					i &^= 3
					return fmt.Errorf("%s[%#x] = %x, want %x", c.name, i, c.got[i:i+4], c.want[i:i+4])
				}
			}
		}
	}
	return nil
}

func (v *vector) sameScalar(got, want uint32) bool {
	return v.Fmt == "f32" && v.close(float64(f32(got)), float64(f32(want)), 23, -126) || v.Fmt == "f16" && v.close(float64(h2f(got)), float64(h2f(want)), 10, -14)
}

func (v *vector) same(gotV, wantV []vreg, r, l int) bool {
	got, want := gotV[r][l], wantV[r][l]
	if got == want {
		return true
	}
	if strings.HasPrefix(v.Op, "v_cvt_pk_fp8") || strings.HasPrefix(v.Op, "v_cvt_pk_bf8") {
		// Denormal results are zero in these lines, and what should round down to the largest number is NaN.
		man := uint32(0x78)
		if strings.Contains(v.Op, "bf8") {
			man = 0x7c
		}
		for b := 0; b < 32; b += 8 {
			x, y := got>>b&255, want>>b&255
			small := x&0x7f <= (man^0x7f)+1 && y&0x7f == 0
			if x != y && ((x^y)&0x80 != 0 || !small && (x&0x7f != 0x7e || y&0x7f != 0x7f)) {
				return false
			}
		}
		return true
	}
	if v.Fmt == "f32" && v.close(float64(f32(got)), float64(f32(want)), 23, -126) {
		return true
	}
	undef := v.Undef
	if op := strings.TrimSuffix(strings.TrimSuffix(v.Op, "_e64"), "_e32"); gotV != nil && len(gotV) > 2*accBase && (op == "v_exp_f16" || op == "v_frexp_mant_f16") {
		undef = "hi16" // kept in these lines, cleared in those of all other operations
	}
	switch undef {
	case "hi16":
		if got&0xffff == want&0xffff {
			return true
		}
		got, want = got&0xffff, want&0xffff
	case "lo16":
		if got>>16 == want>>16 {
			return true
		}
		got, want = got>>16, want>>16
	}
	half := func(f func(a, b uint32) bool) bool {
		return (got&0xffff == want&0xffff || f(got&0xffff, want&0xffff)) && (got>>16 == want>>16 || f(got>>16, want>>16))
	}
	switch v.Fmt {
	case "f32", "multi":
		return v.close(float64(f32(got)), float64(f32(want)), 23, -126)
	case "f16", "pkf16":
		return half(func(a, b uint32) bool { return v.close(float64(h2f(a)), float64(h2f(b)), 10, -14) })
	case "bf16", "pkbf16":
		return half(func(a, b uint32) bool { return v.close(float64(bf2f(a)), float64(bf2f(b)), 7, -126) })
	case "f64":
		p := r &^ 1
		g := f64(uint64(gotV[p][l]) | uint64(gotV[p+1][l])<<32)
		x := f64(uint64(wantV[p][l]) | uint64(wantV[p+1][l])<<32)
		return v.close(g, x, 52, -1022)
	}
	return false
}

func (v *vector) close(got, want float64, man, minExp int) bool {
	if got == want && !v.HW && (!v.Ref && strings.Contains(v.Asm, "clamp") || strings.HasPrefix(v.Op, "v_mfma")) {
		return true // the sign of a clamped zero, and of a sum that is zero, is not settled
	}
	if want != want || got != got {
		return want != want && got != got
	}
	if v.Tol == nil {
		return false
	}
	if math.IsInf(got, 0) || math.IsInf(want, 0) {
		return got == want
	}
	d := math.Abs(got - want)
	ulp := math.Ldexp(1, max(math.Ilogb(want), minExp)-man)
	return d <= v.Tol.ULP*ulp || d <= v.Tol.Abs || d <= v.Tol.Rel*math.Abs(want)
}
