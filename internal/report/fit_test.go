package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sharedtest"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// vaddEntry is the address at which the waves of vadd's trace begin.
func vaddEntry(t *testing.T) uint64 {
	t.Helper()
	o, err := codeobj.Open(vaddCode(t))
	must2(t, err)
	return 0x200003412000 + o.Kernels[0].Entry
}

func vaddFile(t *testing.T) StreamFile {
	t.Helper()
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	return StreamFile{Name: "se0.sqtt", Open: bytesOf(data), Family: gpu.GFX11}
}

func kernelFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/kernels/" + name)
	must2(t, err)
	return b
}

// notesOf are those of hot spots and of instructions of the same files.
func notesOf(t *testing.T, target string, files []StreamFile, code []CodeFile) (hot, decoded []capture.Note) {
	t.Helper()
	h, err := HotFiles(target, files, code)
	must2(t, err)
	d, err := Decode(files)
	must2(t, err)
	must2(t, d.WithCode(target, code))
	return h.Quality.Notes, d.Quality.Notes
}

func with(notes []capture.Note, text string) (found []capture.Note) {
	for _, n := range notes {
		if strings.Contains(n.Text, text) {
			found = append(found, n)
		}
	}
	return found
}

const otherKind = "of another kind than the instruction there"

// TestOtherCode reads a trace with code that did not run, where the waves began: nothing stands where it should, and that is told.
func TestOtherCode(t *testing.T) {
	files := []StreamFile{vaddFile(t)}
	for _, name := range []string{"vadd", "gemm_f32", "reduce", "histogram"} {
		data := kernelFile(t, "gfx1100/"+name+".co")
		o, err := codeobj.Open(data)
		must2(t, err)
		hot, decoded := notesOf(t, "", files, []CodeFile{{name + ".co", vaddEntry(t) - o.Kernels[0].Entry, data}})
		for _, notes := range [][]capture.Note{hot, decoded} {
			told := with(notes, otherKind)
			if name == "vadd" && len(told) > 0 || name != "vadd" && (len(told) != 1 || told[0].Level != capture.Warning || !strings.Contains(told[0].Text, name+".co")) {
				t.Errorf("%s: %+v", name, notes)
			}
		}
	}
}

// TestFewOthers checks where a warning begins.
func TestFewOthers(t *testing.T) {
	for _, tt := range []struct {
		fit
		told bool
	}{
		{fit{0, 0}, false},
		{fit{3, 3}, false},
		{fit{4, 4}, true},
		{fit{400, 4}, true},
		{fit{401, 4}, false},
		{fit{523_727, 1}, false},
	} {
		var q Quality
		tt.note(&q, "", "a.co")
		if q.Warned() != tt.told {
			t.Errorf("%+v: %+v", tt.fit, q.Notes)
		}
	}
}

// TestRecordKinds checks what instructions may send.
func TestRecordKinds(t *testing.T) {
	for _, tt := range []struct {
		arch isa.Arch
		code uint32
		want []sqtt.Category // nil: any
	}{
		{isa.RDNA3, 0xbf890000, []sqtt.Category{sqtt.CategoryImmed}},                       // s_waitcnt
		{isa.RDNA3, 0xbfa00002, []sqtt.Category{sqtt.CategoryJump}},                        // s_branch
		{isa.RDNA3, 0xbfa10002, []sqtt.Category{sqtt.CategoryJump, sqtt.CategoryNext}},     // s_cbranch_scc0
		{isa.RDNA3, 0xbfb00000, []sqtt.Category{sqtt.CategoryMessage}},                     // s_endpgm
		{isa.RDNA3, 0x7e000280, []sqtt.Category{sqtt.CategoryVALU}},                        // v_mov_b32 v0, 0
		{isa.CDNA3, 0xbf8a0000, []sqtt.Category{sqtt.CategoryMessage, sqtt.CategoryImmed}}, // s_barrier: a second one when it is left
		{isa.RDNA4, 0xbf94ffff, nil},                                                       // s_barrier_wait
	} {
		p := sqtt.NewProgram(tt.arch)
		p.Add(0x1000, []byte{byte(tt.code), byte(tt.code >> 8), byte(tt.code >> 16), byte(tt.code >> 24)})
		k := kindsAt(p, 0x1000)
		for c := sqtt.CategorySMEM; c <= sqtt.CategoryExport; c++ {
			if k.has(c) != (tt.want == nil || slices.Contains(tt.want, c)) {
				t.Errorf("%#x of %v: %v is %v", tt.code, tt.arch, c, k.has(c))
			}
		}
		if kindsAt(p, 0x2000).has(sqtt.CategoryVALU) {
			t.Error("no code sends a record")
		}
	}
}

// TestOneGPU checks that code and streams of several GPUs are refused together, and that of a file with code for many the right one is taken.
func TestOneGPU(t *testing.T) {
	rdna3, cdna3, rdna4 := vaddCode(t), kernelFile(t, "gfx942/vadd.co"), kernelFile(t, "gfx1200/vadd.co")
	one := vaddFile(t)
	other := one
	other.Name, other.Open, other.Family = "other.sqtt", bytesOf([]byte{0x71, 0, 0, 0, 0, 0, 0, 0}), gpu.GFX9
	asked := one // its header says more
	asked.Family = gpu.GFX12
	for _, tt := range []struct {
		name   string
		target string
		files  []StreamFile
		code   []CodeFile
		want   string // empty: it works
	}{
		{"the same", "", []StreamFile{one}, []CodeFile{{"vadd.co", 0, rdna3}}, ""},
		{"a family as target", "gfx11", []StreamFile{one}, []CodeFile{{"vadd.co", 0, rdna3}}, ""},
		{"code of gfx9", "", []StreamFile{one}, []CodeFile{{"vadd.co", 0, cdna3}}, "vadd.co: code for gfx942, but se0.sqtt is a trace of gfx11"},
		{"code of gfx12", "", []StreamFile{one}, []CodeFile{{"vadd.co", 0, rdna4}}, "vadd.co: code for gfx1200, but se0.sqtt is a trace of gfx11"},
		{"code of gfx12, asked for", "gfx1200", []StreamFile{asked}, []CodeFile{{"vadd.co", 0, rdna4}}, "vadd.co: code for gfx1200, but se0.sqtt is a trace of gfx11"},
		{"the second", "", []StreamFile{one}, []CodeFile{{"vadd.co", 0, rdna3}, {"more.co", 1 << 30, cdna3}}, "more.co: "},
		{"two GPUs", "", []StreamFile{one, other}, []CodeFile{{"vadd.co", 0, rdna3}}, "se0.sqtt is a trace of gfx11 and other.sqtt of gfx9"},
	} {
		_, hot := HotFiles(tt.target, tt.files, tt.code)
		d, err := Decode(tt.files)
		must2(t, err)
		for _, err := range []error{hot, d.WithCode(tt.target, tt.code)} {
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
	if _, err := HotFiles("", []StreamFile{one, other}, nil); err == nil {
		t.Error("streams of two GPUs are summed up")
	}
	d, err := Decode([]StreamFile{asked})
	must2(t, err)
	if n := with(d.Quality.Notes, "begins with the header of a gfx11 trace and was read as that, not as gfx12"); len(n) != 1 || n[0].Level != capture.Warning {
		t.Errorf("%+v", d.Quality.Notes)
	}
	if d, err = Decode([]StreamFile{one}); err != nil || len(with(d.Quality.Notes, "begins with the header")) > 0 {
		t.Errorf("%v, %+v", err, d.Quality.Notes)
	}
}

// TestCutRecords checks that records whose kind is behind the stream's end are told of as that.
func TestCutRecords(t *testing.T) {
	placed, none, untyped := sqtt.Inst{PC: 8, Category: sqtt.CategoryVALU}, sqtt.Inst{Category: sqtt.CategoryVALU}, sqtt.Inst{}
	for _, tt := range []struct {
		name    string
		insts   []sqtt.Inst
		stop    sqtt.Cycles
		startPC uint64
		want    int64
	}{
		{"cut", []sqtt.Inst{placed, placed, untyped, untyped}, -1, 0, 2},
		{"from the start", []sqtt.Inst{untyped}, -1, 0x1000, 1},
		{"of a wave that is nowhere", []sqtt.Inst{untyped}, -1, 0, 0},
		{"in no code", []sqtt.Inst{placed, none, untyped}, -1, 0, 0},
		{"of a whole wave", []sqtt.Inst{placed, untyped}, 100, 0x1000, 0},
		{"with kinds", []sqtt.Inst{placed}, -1, 0x1000, 0},
	} {
		var c cutOff
		for i := range tt.insts {
			c.add(&tt.insts[i])
		}
		if got := c.end(&sqtt.Wave{Stop: tt.stop}, tt.startPC); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// sharedRun is a real capture of the reference data.
func sharedRun(t testing.TB, name string) (files []StreamFile, code []CodeFile) {
	t.Helper()
	dir := sharedtest.Path(t, "captures", name)
	var meta struct {
		Programs []struct {
			File     string
			LoadBase string `json:"load_base"`
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	must2(t, err)
	must2(t, json.Unmarshal(b, &meta))
	for _, p := range meta.Programs {
		data, err := os.ReadFile(filepath.Join(dir, p.File))
		must2(t, err)
		base, err := strconv.ParseUint(p.LoadBase, 0, 64)
		must2(t, err)
		code = append(code, CodeFile{p.File, base, data})
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.sqtt"))
	must2(t, err)
	target, _, _ := strings.Cut(name, "/")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must2(t, err)
		files = append(files, StreamFile{Name: filepath.Base(path), Open: bytesOf(data), Family: gpu.FamilyOf(target)})
	}
	return files, code
}

// TestCaptureKinds checks that records of real GPUs are of the kinds of the code that ran, and that those of other code are not.
func TestCaptureKinds(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "captures"), "gfx*", "*", "meta.json"))
	must2(t, err)
	for _, path := range all {
		name := filepath.Base(filepath.Dir(filepath.Dir(path))) + "/" + filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			files, code := sharedRun(t, name)
			if len(code) == 0 {
				t.Skip("no code")
			}
			h, err := HotFiles("", files, code)
			must2(t, err)
			for _, p := range h.parts {
				for i, f := range p.fits {
					if f.others > 0 {
						t.Errorf("%s: %+v of %s", p.name(), f, code[i].Name)
					}
				}
			}
			hot, decoded := notesOf(t, "", files, code)
			for _, notes := range [][]capture.Note{hot, decoded} {
				if told := append(with(notes, otherKind), with(notes, "is cut off")...); len(told) > 0 {
					t.Errorf("%+v", told)
				}
			}
		})
	}
	files, ran := sharedRun(t, "gfx1100/gemm")
	_, other := sharedRun(t, "gfx1100/plus")
	other[0].Base = ran[0].Base
	hot, decoded := notesOf(t, "", files, other)
	if len(with(hot, otherKind)) != 1 || len(with(decoded, otherKind)) == 0 {
		t.Errorf("%+v, %+v", hot, decoded)
	}
}

// TestCutKinds cuts a gfx9 stream between an issue and the token that tells its kind.
func TestCutKinds(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(sharedtest.Path(t, "captures", "gfx950/gemm"), "se0.sqtt"))
	must2(t, err)
	_, code := sharedRun(t, "gfx950/gemm")
	cut := StreamFile{Name: "cut.sqtt", Open: bytesOf(bytes.Clone(data[:2400])), Family: gpu.GFX9}
	hot, decoded := notesOf(t, "", []StreamFile{cut}, code)
	for _, notes := range [][]capture.Note{hot, decoded} {
		if len(with(notes, "1 instruction at the stream's end without an address: what tells their kind is cut off")) != 1 || len(with(notes, "in no code object")) > 0 {
			t.Errorf("%+v", notes)
		}
	}
}
