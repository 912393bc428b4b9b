package report

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// vaddCode is vadd's code object.
func vaddCode(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/kernels/gfx1100/vadd.co")
	must2(t, err)
	return b
}

// calledHot is three waves: two kernels call vadd, whose own wave runs it, too. Each runs one instruction of vadd, which costs 100, 10 and 1 cycles, and one
// whose place is not known and costs none but for the first kernel's 1000.
func calledHot(t testing.TB) *Hot {
	t.Helper()
	o, err := codeobj.Open(vaddCode(t))
	must2(t, err)
	entry := o.Kernels[0].Entry
	in, err := isa.Decode(isa.RDNA3, o.Bytes(entry))
	must2(t, err)
	var sites []analysis.Site
	var waves []wholeWave
	for i, cycles := range []int32{100, 10, 1} {
		s := analysis.SiteOf(analysis.Where{PC: entry}, &in)
		s.Kernel = int32(i + 1)
		sites = append(sites, s)
		waves = append(waves, wholeWave{
			Wave:  analysis.Wave{Engine: 1, Slot: i, Stop: int64(cycles)},
			Insts: []analysis.Inst{{Dur: cycles, Site: int32(i)}},
		})
	}
	sites = append(sites, analysis.Site{Where: unplaced(6), Kernel: 1, Class: isa.VALU}, analysis.Site{Where: analysis.Where{PC: entry + 4}, Class: isa.VALU}) // the last ran in no wave
	waves[0].Insts = append(waves[0].Insts, analysis.Inst{Time: 100, Dur: 1000, Site: 3})
	waves[0].Stop = 1100
	kernels := []hotKernel{noKernel, {"first", "first", 0}, {"second", "second", 0}, {"vadd", "vadd", 0}}
	h := newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100", partOf(waves, sites),
		newCodeMap(isa.RDNA3, []*codeobj.Object{o}, []string{"a/vadd.co"}), kernels, none(newQuality()))
	h.family = gpu.GFX11
	return h
}

// TestCalled checks that a function's cycles belong to the kernels whose waves called it, in every view, and are one row where the view asks for code.
func TestCalled(t *testing.T) {
	h := calledHot(t)
	conserved(t, h)
	rows := func(by string) (out []string) {
		for _, r := range h.Hotspots(by, "cycles").Rows {
			out = append(out, strings.Join([]string{r.Name, r.Kernel, r.Object, percent(r.Cycles, 100)}, "|"))
		}
		return out
	}
	for by, want := range map[string][]string{
		"kernel":   {"first||vadd.co|1100.0", "second||vadd.co|10.0", "vadd||vadd.co|1.0"},
		"function": {"unknown code|first||1000.0", "vadd|first, second, vadd|vadd.co|111.0"},
		"insn":     {"VALU at an unknown address|first||1000.0", "s_clause 0x1|first, second, vadd|vadd.co|111.0"},
	} {
		if got := rows(by); !slices.Equal(got, want) {
			t.Errorf("by %s: %q, want %q", by, got, want)
		}
	}
	var b bytes.Buffer
	must2(t, h.WriteFolded(&b))
	for _, want := range []string{"first;vadd;vadd.cl:4;", "second;vadd;vadd.cl:4;", "vadd;vadd.cl:4;", "first;unknown code;unknown code (no line);VALU"} {
		if !strings.HasPrefix(b.String(), want) && !strings.Contains(b.String(), "\n"+want) {
			t.Errorf("no stack %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	must2(t, h.WritePprof(&b))
	p, err := profile.Parse(&b)
	must2(t, err)
	roots := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		slices.Reverse(names)
		roots[strings.Join(names[:2], ";")] += s.Value[0]
	}
	for want, n := range map[string]int64{"first;vadd": 100, "first;unknown code": 1000, "second;vadd": 10, "vadd;0x1900 s_clause 0x1": 1} {
		if roots[want] != n {
			t.Errorf("pprof %q: %d cycles of %v", want, roots[want], roots)
		}
	}
	b.Reset()
	must2(t, h.WriteHTML(&b))
	page := map[string]int64{}
	for _, s := range readPage(t, b.String()).data.Sites {
		page[s.Kernel] += s.Cycles
	}
	if page["first"] != 1100 || page["second"] != 10 || page["vadd"] != 1 {
		t.Errorf("the page has %v", page)
	}
	a, err := h.Annotate("")
	must2(t, err)
	if a.Functions[0].Cycles != 111 {
		t.Errorf("annotate: %d cycles of vadd", a.Functions[0].Cycles)
	}
	if _, err := h.Annotate("first"); err == nil || !strings.Contains(err.Error(), "traced: vadd") {
		t.Errorf("%v", err)
	}
	for _, w := range rowsOf(h) {
		if w.Kernel != []string{"first", "second", "vadd"}[w.Slot] {
			t.Errorf("slot %d ran %q", w.Slot, w.Kernel)
		}
	}
}

// TestSameNames checks that what two code objects call alike stays apart.
func TestSameNames(t *testing.T) {
	h := calledHot(t)
	o := h.Objects[0]
	var sites []analysis.Site
	var waves []wholeWave
	for i := range 2 {
		sites = append(sites, analysis.Site{Where: analysis.Where{Object: i, PC: o.Kernels[0].Entry}, Kernel: int32(i + 1), Class: isa.VALU})
		waves = append(waves, wholeWave{analysis.Wave{Slot: i, Stop: 10}, []analysis.Inst{{Dur: 10, Site: int32(i)}}})
	}
	parts := partOf(waves, sites)
	parts[0].kernel = 2 // the dispatch's
	h = newHot(h.Device, "gfx1100", parts, newCodeMap(isa.RDNA3, []*codeobj.Object{o, o}, []string{"a/vadd.co", "b/vadd.co"}),
		[]hotKernel{noKernel, {"vadd", "vadd", 0}, {"vadd", "vadd", 1}}, none(newQuality()))
	conserved(t, h)
	for by, name := range map[string]string{"kernel": "vadd", "function": "vadd", "line": "vadd.cl:4"} {
		var got []string
		for _, r := range h.Hotspots(by, "cycles").Rows {
			got = append(got, r.Name)
		}
		if want := []string{name + " (vadd.co)", name + " (vadd.co, object 1)"}; !slices.Equal(got, want) {
			t.Errorf("by %s: %q, want %q", by, got, want)
		}
	}
	if got := h.kernelsOf(h.parts[0]); got != "vadd (vadd.co, object 1)" {
		t.Errorf("the stream's kernel is %q", got)
	}
}

// withoutSymbols is a code object whose symbol tables are gone.
func withoutSymbols(data []byte) []byte {
	data = bytes.Clone(data)
	le := binary.LittleEndian
	at := le.Uint64(data[40:])
	for i := range uint64(le.Uint16(data[60:])) {
		if typ := data[at+64*i+4:]; le.Uint32(typ) == uint32(elf.SHT_SYMTAB) || le.Uint32(typ) == uint32(elf.SHT_DYNSYM) {
			le.PutUint32(typ, uint32(elf.SHT_NULL))
		}
	}
	return data
}

// TestNoSymbols checks that a trace of code without symbols has one kernel, named the same in each view.
func TestNoSymbols(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	load := func(code []byte) *Hot {
		h, err := HotFiles("", []StreamFile{{Name: "a.sqtt", Open: bytesOf(data), Family: gpu.GFX11}}, []CodeFile{{"vadd.co", 0x200003412000, code}})
		must2(t, err)
		return h
	}
	whole, h := load(vaddCode(t)), load(withoutSymbols(vaddCode(t)))
	conserved(t, h)
	rows := h.Hotspots("kernel", "cycles").Rows
	a, err := h.Annotate("code at 0x1900")
	must2(t, err)
	if len(rows) != 1 || rows[0].Name != "code at 0x1900" || rows[0].Cost != whole.Profile.Total || a.Functions[0].Cycles != rows[0].Cycles {
		t.Errorf("%+v, %d cycles annotated; with symbols %+v", rows, a.Functions[0].Cycles, whole.Hotspots("kernel", "cycles").Rows)
	}
	if got := whole.Hotspots("kernel", "cycles").Rows[0].Name; got != "vadd" {
		t.Errorf("with symbols the kernel is %q", got)
	}
}

// TestGapNames checks that code between functions which no symbol names is one function, named by where it begins behind the filling.
func TestGapNames(t *testing.T) {
	o, err := codeobj.Open(vaddCode(t))
	must2(t, err)
	entry := o.Kernels[0].Entry
	lo, hi := o.Text()
	for _, tt := range []struct {
		at   uint64 // of a function that ends before vadd's second cache line
		want string
	}{{entry + 8, "code at 0x1908"}, {entry, "code at 0x1900"}} {
		list := withGaps(o, []AsmFunc{{Name: "f", Addr: lo, Wave: 32, size: tt.at - lo}})
		if f := list[len(list)-1]; f.Name != tt.want || f.Addr+f.size > hi {
			t.Errorf("%q, want %q", f.Name, tt.want)
		}
	}
	filled := bytes.Clone(o.Data)
	at := bytes.Index(filled, o.Bytes(entry)[:64])
	for i := 16; i < 64; i += 4 { // s_nop 0, with which assemblers fill
		binary.LittleEndian.PutUint32(filled[at+i:], 0xbf800000)
	}
	o, err = codeobj.Open(filled)
	must2(t, err)
	m := newCodeMap(isa.RDNA3, make([]*codeobj.Object, 1), []string{"vadd.co"})
	m.set(0, withGaps(o, []AsmFunc{{Name: "f", Addr: lo, Wave: 32, size: entry + 16 - lo}}))
	for pc, want := range map[uint64]string{entry + 12: "f", entry + 16: "code at 0x1940", entry + 64: "code at 0x1940"} {
		if f := m.at(0, pc); f == nil || f.Name != want {
			t.Errorf("at %#x: %+v, want %s", pc, f, want)
		}
	}
}

// TestOverlap checks that code objects at the same addresses are told of, wherever they are given, and that waves are followed through the first.
func TestOverlap(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	files := []StreamFile{{Name: "se0.sqtt", Open: bytesOf(data), Family: gpu.GFX11}}
	for _, tt := range []struct {
		base uint64 // of the second
		told bool
	}{{0x200003412000, true}, {0x200003412000 + 64, true}, {0x200003512000, false}} {
		code := []CodeFile{{"a.co", 0x200003412000, vaddCode(t)}, {"b.co", tt.base, vaddCode(t)}}
		h, err := HotFiles("", files, code)
		must2(t, err)
		d, err := Decode(files)
		must2(t, err)
		must2(t, d.WithCode("", code))
		for name, q := range map[string]*Quality{"hot spots": &h.Quality, "decode": &d.Quality} {
			told := slices.ContainsFunc(q.Notes, func(n capture.Note) bool {
				return n.Level == capture.Warning && strings.HasPrefix(n.Text, "a.co and b.co both have code from 0x200003413")
			})
			if told != tt.told {
				t.Errorf("%s, the second object at %#x: %+v", name, tt.base, q.Notes)
			}
			if other := append(with(q.Notes, "are not those of the code"), with(q.Notes, "of another kind")...); len(other) > 0 {
				t.Errorf("%s, the second object at %#x: not the first one's: %+v", name, tt.base, other)
			}
		}
	}
}

func TestUncovered(t *testing.T) {
	o := new(codeobj.Object)
	for want, code := range map[string][]loadedCode{
		"[[10 20]]":         {{object: o, lo: 0, hi: 10}, {object: o, lo: 20, hi: 30}, {lo: 12, hi: 14}},
		"[]":                {{object: o, lo: 10, hi: 20}},
		"[[10 12] [14 20]]": {{object: o, lo: 12, hi: 14}},
		"[[15 17]]":         {{object: o, lo: 5, hi: 15}, {object: o, lo: 17, hi: 25}},
	} {
		if got := fmt.Sprint(uncovered(code, 10, 20)); got != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// TestFunctionNames checks that no view shows the name that compilers give the body of an OpenCL kernel.
func TestFunctionNames(t *testing.T) {
	h := hotOfTest(t)
	a, err := h.Annotate("")
	must2(t, err)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"annotate": func(b *bytes.Buffer) error { return WriteJSON(b, a) },
		"hotspots": func(b *bytes.Buffer) error { return h.Hotspots("function", "cycles").WriteJSON(b) },
		"pprof":    func(b *bytes.Buffer) error { return h.WritePprof(b) },
		"page":     func(b *bytes.Buffer) error { return h.WriteHTML(b) },
	} {
		var b bytes.Buffer
		must2(t, write(&b))
		if name == "pprof" {
			p, err := profile.Parse(&b)
			must2(t, err)
			b.Reset()
			b.WriteString(p.String())
		}
		if strings.Contains(b.String(), "__clang_ocl_kern_imp_") || !strings.Contains(b.String(), "vadd") {
			t.Errorf("%s: no plain name in\n%.2000s", name, b.String())
		}
	}
}

// TestUnplacedWhy checks that instructions without an address are told of by their cause.
func TestUnplacedWhy(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	other, err := os.ReadFile("../../testdata/kernels/gfx1100/gemm_f32.co")
	must2(t, err)
	const base, firstWave = 0x200003412000, 326 // bytes; what stands before it, but for the header, are the registers
	noRegisters := append(bytes.Clone(data[:8]), data[firstWave:]...)
	for _, tt := range []struct {
		name   string
		stream []byte
		code   CodeFile
		kernel string
		level  string // of the note; empty: there is none
		want   string
	}{
		{"whole", data, CodeFile{"vadd.co", base, vaddCode(t)}, "vadd", "", "instruction"},
		{"no registers", noRegisters, CodeFile{"vadd.co", base, vaddCode(t)}, "vadd", capture.Info, "the trace does not say what 4 waves ran: their place was found by their instructions alone"},
		{"no registers, another kernel", noRegisters, CodeFile{"gemm_f32.co", base, other}, unknownCode, capture.Warning, "104 instructions without an address of waves that began before the trace, or of which it does not say where their code is"},
		{"another base", data, CodeFile{"vadd.co", base + 1<<20, vaddCode(t)}, unknownCode, capture.Warning, "104 instructions in no code object"},
	} {
		files := []StreamFile{{Name: "se0.sqtt", Open: bytesOf(tt.stream), Family: gpu.GFX11}}
		h, err := HotFiles("", files, []CodeFile{tt.code})
		must2(t, err)
		if rows := h.Hotspots("kernel", "cycles").Rows; len(rows) != 1 || rows[0].Name != tt.kernel {
			t.Errorf("%s: %+v", tt.name, rows)
		}
		d, err := Decode(files)
		must2(t, err)
		must2(t, d.WithCode("", []CodeFile{tt.code}))
		for where, notes := range map[string][]capture.Note{"": h.Quality.Notes, "se0.sqtt: ": d.Quality.Notes} {
			told := slices.ContainsFunc(notes, func(n capture.Note) bool {
				if tt.level == "" {
					return strings.Contains(n.Text, tt.want)
				}
				return n.Text == where+tt.want && n.Level == tt.level
			})
			if told == (tt.level == "") {
				t.Errorf("%s: %+v", tt.name, notes)
			}
		}
	}
	var q Quality
	noteUnplaced(&q, "a: ", 10, sqtt.Unplaced{AfterLoss: 3, NoStart: 2, Unfit: 4})
	if len(q.Notes) != 4 || !strings.HasPrefix(q.Notes[3].Text, "a: instructions of 4 waves are not those of the code") || !strings.HasPrefix(q.Notes[0].Text, "a: 3 instructions behind a loss without an address") || !strings.HasPrefix(q.Notes[2].Text, "a: 5 instructions in no code object") {
		t.Errorf("%+v", q.Notes)
	}
}

// TestLostWaves reads a real trace of which a part is gone: the waves are found again behind it, so that hardly a cycle has no place.
func TestLostWaves(t *testing.T) {
	dir := sharedtest.Path(t, "captures", "gfx1200/gemmbig")
	data, err := os.ReadFile(filepath.Join(dir, "d2_se0.sqtt"))
	must2(t, err)
	code, err := os.ReadFile(filepath.Join(dir, "prog2.hsaco"))
	must2(t, err)
	half := append(bytes.Clone(data[:8]), data[len(data)/2&^31:]...) // the header, then the waves' second half
	h, err := HotFiles("", []StreamFile{{Name: "half.sqtt", Open: bytesOf(half), Family: gpu.GFX12}}, []CodeFile{{"prog2.hsaco", 0x200001018000, code}})
	must2(t, err)
	conserved(t, h)
	rows := h.Hotspots("kernel", "cycles").Rows
	if rows[0].Name != "r_32_16_8_16_4_4_256_4" || rows[0].Cycles*100 < 99*h.Profile.Total.Cycles() || rows[0].Hits < 200_000 {
		t.Errorf("%+v of %+v", rows, h.Profile.Total)
	}
}
