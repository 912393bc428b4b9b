package codeobj

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

const kernelsDir = "../../testdata/kernels"

func read(t testing.TB, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, elem ...string) *Object {
	t.Helper()
	o, err := Open(read(t, elem...))
	if err != nil {
		t.Fatalf("%s: %v", filepath.Join(elem...), err)
	}
	return o
}

func TestOpen(t *testing.T) {
	// want: name, entry, code bytes, kernel argument bytes, LDS, scratch, wave size, VGPRs, SGPRs; the figures are llvm-readelf's.
	type row struct {
		Name                                                      string
		Entry, Size                                               uint64
		Kernarg, LDS, Scratch, Wave, VGPRs, SGPRs, DescVGPRs, Max uint32
	}
	tests := []struct {
		file, target string
		version      int
		want         []row
	}{
		{kernelsDir + "/gfx1100/vadd.co", "gfx1100", 6, []row{{"vadd", 0x1900, 188, 288, 0, 0, 32, 6, 18, 8, 256}}},
		{kernelsDir + "/gfx1100/empty.co", "gfx1100", 6, []row{{"empty", 0x1500, 4, 0, 0, 0, 32, 0, 0, 8, 256}}},
		{"testdata/inline_v4.co", "gfx1100", 4, []row{{"inlined", 0x1900, 132, 12, 0, 0, 32, 2, 5, 8, 256}, {"scratch", 0x1a00, 196, 36, 0, 68, 32, 3, 10, 8, 256}}},
		{"testdata/inline_v5.co", "gfx1100", 5, []row{{"inlined", 0x1900, 132, 12, 0, 0, 32, 2, 5, 8, 256}, {"scratch", 0x1a00, 196, 36, 0, 68, 32, 3, 10, 8, 256}}},
		{"testdata/inline_gfx90a.co", "gfx90a:xnack-", 5, nil},
		{"testdata/mangled.co", "gfx942:sramecc+:xnack-", 4, nil},
		{"testdata/generic.co", "gfx11-generic", 6, nil},
	}
	for _, tt := range tests {
		o := open(t, tt.file)
		if o.Target.String() != tt.target || o.Version != tt.version {
			t.Errorf("%s: %s, version %d", tt.file, o.Target, o.Version)
		}
		var got []row
		for _, k := range o.Kernels {
			got = append(got, row{
				k.Name, k.Entry, k.Size, k.KernargBytes, k.GroupBytes, k.PrivateBytes, k.WaveSize, k.VGPRs, k.SGPRs,
				uint32(k.Descriptor.VGPRs(o.Target.Processor)), k.MaxBlock,
			})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" && tt.want != nil {
			t.Errorf("%s (-want +got):\n%s", tt.file, diff)
		}
	}
	if o := open(t, "testdata/generic.co"); o.Target.Generic != 1 || !o.Target.RunsOn(Target{Processor: "gfx1103"}) || o.Target.RunsOn(Target{Processor: "gfx1200"}) {
		t.Errorf("generic version %d", o.Target.Generic)
	}
}

func TestArgs(t *testing.T) {
	o := open(t, "testdata/inline_v5.co")
	k, err := o.Kernel("scratch")
	if err != nil {
		t.Fatal(err)
	}
	want := []Arg{
		{TypeName: "int*", Offset: 0, Size: 8, Kind: "global_buffer", Space: "global", Access: "read_only"},
		{TypeName: "float*", Offset: 8, Size: 8, Kind: "global_buffer", Space: "global", Access: "write_only"},
		{TypeName: "int*", Offset: 16, Size: 4, Kind: "dynamic_shared_pointer", Space: "local", Access: "", Align: 4},
		{TypeName: "double", Offset: 24, Size: 8, Kind: "by_value"},
		{TypeName: "char", Offset: 32, Size: 1, Kind: "by_value"},
	}
	for i := range k.Args {
		if i < len(want) {
			want[i].Access = k.Args[i].Access // LLVM infers it, differently by version
		}
	}
	if diff := cmp.Diff(want, k.Args); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d := k.Descriptor
	if !d.UsesScratch() || d.WaveSize() != 32 || !d.WorkgroupID(0) || d.WorkItemDims() != 1 || d.Properties&PropKernargPtr == 0 {
		t.Errorf("descriptor %+v", d)
	}
	v := open(t, kernelsDir, "gfx1100", "vadd.co").Kernels[0]
	if n := len(v.Args); n != 17 || !v.Args[4].Hidden() || v.Args[4].Kind != "hidden_block_count_x" || v.Args[16].Offset != 96 {
		t.Errorf("vadd has %d arguments: %+v", n, v.Args)
	}
	if u := v.Descriptor.UserSGPRs(); u != 15 && u != 13 {
		t.Errorf("vadd has %d user SGPRs", u)
	}
}

func TestKernelByName(t *testing.T) {
	o := open(t, "testdata/mangled.co")
	for _, name := range []string{"", "_ZN3app5scaleIfEEvPT_NS_3boxIS1_EE", "void app::scale<float>(float*, app::box<float>)", "void app::scale<float>"} {
		if _, err := o.Kernel(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	two := open(t, "testdata/inline_v6.co")
	for name, want := range map[string]string{"": "several kernels, name one: inlined, scratch", "vadd": `no kernel "vadd"; there is inlined, scratch`} {
		if _, err := two.Kernel(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestSymbols(t *testing.T) {
	o := open(t, "testdata/inline_v6.co")
	for _, tt := range []struct {
		pc   uint64
		want string
		ok   bool
	}{{0x1900, "inlined", true}, {0x1983, "inlined", true}, {0x1984, "inlined", false}, {0x1a00, "scratch", true}, {0x18ff, "", false}, {0x880, "", false}, {1 << 60, "scratch", false}} {
		if s, ok := o.Func(tt.pc); ok != tt.ok || s.Name != tt.want {
			t.Errorf("%#x is in %q, %v", tt.pc, s.Name, ok)
		}
	}
}

func TestLine(t *testing.T) {
	// What llvm-symbolizer --inlines says.
	f := func(fn string, line int) Frame { return Frame{fn, "inline.cl", line} }
	inlined := map[uint64][]Frame{
		0x1900: {f("inlined", 16)},
		0x1954: {f("twice", 7), f("fourfold", 11), f("inlined", 16)},
		0x1980: {f("inlined", 17)},
		0x1984: nil, // padding
		0x1a24: {f("scratch", 22)},
		0x18fc: nil,
	}
	for _, tt := range []struct {
		file string
		want map[uint64][]Frame
	}{
		{"testdata/inline_v4.co", inlined},
		{"testdata/inline_v6.co", inlined},
		{"testdata/mangled.co", map[uint64][]Frame{0x1910: {{"void app::scale<float>(float*, app::box<float>)", "mangled.cpp", 7}}}},
		{"testdata/generic.co", map[uint64][]Frame{0x1900: nil}},
	} {
		o := open(t, tt.file)
		for pc, want := range tt.want {
			if got := o.Line(pc); !cmp.Equal(got, want) {
				t.Errorf("%s: %#x: %v, want %v", tt.file, pc, got, want)
			}
		}
		if err := o.DebugError(); err != nil {
			t.Error(tt.file, err)
		}
	}
	// Compressed debug sections.
	o := open(t, "testdata/inline_gfx90a.co")
	if got := o.Line(o.Kernels[0].Entry); !o.HasLines() || len(got) != 1 || got[0].Func != "inlined" {
		t.Errorf("compressed debug information: %v, %v", got, o.DebugError())
	}
	n := testing.AllocsPerRun(100, func() { frames = o.AppendLine(frames[:0], o.Kernels[0].Entry) })
	if n != 0 {
		t.Errorf("a look-up makes %v allocations", n)
	}
}

var frames []Frame

func TestLoad(t *testing.T) {
	o := open(t, "testdata/inline_v6.co")
	const base = 0x7f12_3456_7000
	img, err := o.Load(base)
	if err != nil {
		t.Fatal(err)
	}
	if lo, hi := o.Span(); lo != 0 || hi != 0x3000 || len(img) != 0x3000 {
		t.Errorf("span [%#x, %#x), image of %#x", lo, hi, len(img))
	}
	for addr, want := range map[int]uint64{0x2c80: base + 0x8c0, 0x2c88: base + 0x8c4} {
		if got := le.Uint64(img[addr:]); got != want {
			t.Errorf("the pointer at %#x is %#x, want %#x", addr, got, want)
		}
	}
	if !bytes.Equal(img[0x8c0:0x8c8], []byte{3, 0, 0, 0, 5, 0, 0, 0}) || !bytes.Equal(img[0x1900:0x1984], o.Bytes(0x1900)[:0x84]) {
		t.Error("data or code is not in its place")
	}
	if err := o.LoadInto(make([]byte, 0x2fff), 0); err == nil {
		t.Error("too little memory is accepted")
	}
}

func TestNoSectionHeaders(t *testing.T) {
	data := read(t, "testdata/inline_v6.co")
	want := open(t, "testdata/inline_v6.co")
	clear(data[40:48]) // e_shoff
	clear(data[60:64]) // e_shnum, e_shstrndx
	got, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Kernels, got.Kernels); diff != "" {
		t.Errorf("kernels (-want +got):\n%s", diff)
	}
	a, _ := want.Load(0x10000)
	b, err := got.Load(0x10000)
	clear(a[40:48])
	clear(a[60:64])
	if !bytes.Equal(a, b) || err != nil {
		t.Errorf("the image differs, %v", err)
	}
}

// TestStripped reads an object whose symbols are gone: nothing says where its kernels begin, but its code is there.
func TestStripped(t *testing.T) {
	data := bytes.Clone(read(t, kernelsDir, "gfx1100", "vadd.co"))
	whole := open(t, kernelsDir, "gfx1100", "vadd.co")
	at := le.Uint64(data[40:])
	for i := range uint64(le.Uint16(data[60:])) { // section headers: no section is a symbol table any more
		if typ := data[at+64*i+4:]; le.Uint32(typ) == uint32(elf.SHT_SYMTAB) || le.Uint32(typ) == uint32(elf.SHT_DYNSYM) {
			le.PutUint32(typ, uint32(elf.SHT_NULL))
		}
	}
	o, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Kernels) != 0 || len(o.Symbols) != 0 || len(o.Unplaced) != 1 || o.Unplaced[0].Name != "vadd" || o.Unplaced[0].WaveSize != 32 {
		t.Errorf("kernels %v, symbols %v, unplaced %+v", o.Kernels, o.Symbols, o.Unplaced)
	}
	if pc := whole.Kernels[0].Entry; !bytes.Equal(o.Bytes(pc), whole.Bytes(pc)) {
		t.Error("the code differs")
	}
	for _, name := range []string{"", "vadd", "vadd.kd"} {
		if _, err := o.Kernel(name); err == nil || !strings.Contains(err.Error(), `kernel "vadd" has no symbol "vadd.kd" in the file: it was stripped`) {
			t.Errorf("kernel %q: %v", name, err)
		}
	}
	if _, err := o.Kernel("other"); err == nil || !strings.Contains(err.Error(), `no kernel "other"; there is vadd (stripped)`) {
		t.Error(err)
	}
}

func TestRelocate(t *testing.T) {
	o := open(t, "testdata/inline_v6.co")
	d, err := o.dynamic()
	if err != nil || len(d.syms) != 4 || len(d.rela) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	const base, lo = 0x1_8000_0000, 0x1000
	undef := d.syms[0]
	undef.Section, undef.Name = 0, "puts"
	syms := append(d.syms, undef)
	s := base + d.syms[0].Value
	for _, tt := range []struct {
		typ    uint32
		sym    uint32
		addend int64
		want   uint64
		err    string
	}{
		{relNone, 0, 0, 0, ""},
		{relAbs32Lo, 1, 4, (s + 4) & 0xffffffff, ""},
		{relAbs32Hi, 1, 4, (s + 4) >> 32, ""},
		{relAbs32, 1, 4, (s + 4) & 0xffffffff, ""},
		{relAbs64, 1, -4, s - 4, ""},
		{relRel32, 1, 4, (s + 4 - base - 0x1010) & 0xffffffff, ""},
		{relRel64, 1, -0x1000000, s - 0x1000000 - base - 0x1010, ""},
		{relRel32Lo, 1, 0, (s - base - 0x1010) & 0xffffffff, ""},
		{relRel32Hi, 1, -0x1000000, 0xffffffff, ""},
		{relRelative64, 0, 0x123, base + 0x123, ""},
		{relAbs64, 5, 0, 0, `undefined symbol "puts"`},
		{relAbs64, 9, 0, 0, "no symbol 9"},
		{7, 1, 0, 0, "type 7"},
	} {
		mem := make([]byte, 32)
		err := relocate(mem, lo, base, rela{addr: 0x1010, sym: tt.sym, typ: tt.typ, addend: tt.addend}, syms)
		if got := le.Uint64(mem[16:]); got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("type %d: %#x, %v, want %#x, %q", tt.typ, got, err, tt.want, tt.err)
		}
	}
	for _, addr := range []uint64{0, 0xfff, 0x1019, 0x1020, 1 << 63} {
		if err := relocate(make([]byte, 32), lo, base, rela{addr: addr, typ: relRelative64}, nil); err == nil {
			t.Errorf("a relocation at %#x is accepted", addr)
		}
	}
}

func TestDamagedHeaders(t *testing.T) {
	good := read(t, kernelsDir, "gfx1100", "vadd.co")
	patch := func(off int, b ...byte) []byte {
		d := bytes.Clone(good)
		copy(d[off:], b)
		return d
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an AMDGPU code object"},
		{"short", good[:40], "40 bytes"},
		{"no magic", patch(0, 0, 0, 0, 0), "not an AMDGPU code object"},
		{"no class", patch(4, 0), "class 0, not 64-bit"},
		{"no encoding", patch(5, 0), "data encoding 0"},
		{"no machine", patch(18, 0, 0), "machine 0, not AMDGPU"},
		{"another machine", patch(18, 62, 0), "no section .hip_fatbin"},
		{"other OS", patch(7, 65), "OS/ABI 65"},
		{"version 2", patch(8, 0), "version 2"},
		{"unknown processor", patch(48, 0xfe), "unknown processor 0xfe"},
		{"relocatable", patch(16, 1), "relocatable"},
		{"core", patch(16, 4), "type 4"},
		{"section size", patch(58, 0), "section headers of 0 bytes"},
		{"section offset", patch(40, 0xff, 0xff, 0xff, 0xff), "ELF file"},
		{"segment offset", patch(64+56+8, 0xff, 0xff, 0xff), "reach beyond the file's"},
		{"segment size", patch(64+56+40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "overlaps"},
		{"other target in metadata", patch(48, 0x46), "its target gfx1100 is not the ELF header's gfx1101"},
	} {
		_, err := Open(tt.data)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Open(nil); !errors.Is(err, ErrNotCodeObject) {
		t.Errorf("%v", err)
	}
}

// TestVersion3 reads the same object with the header of version 3, whose flags are laid out differently.
func TestVersion3(t *testing.T) {
	d := read(t, "testdata/inline_v4.co")
	d[8] = 1
	copy(d[48:], []byte{0x41, 0x01})
	o, err := Open(d)
	if err != nil {
		t.Fatal(err)
	}
	if o.Version != 3 || o.Target.String() != "gfx1100:xnack+" || len(o.Kernels) != 2 {
		t.Errorf("version %d, %s", o.Version, o.Target)
	}
}

func TestTruncated(t *testing.T) {
	good := read(t, "testdata/inline_v6.co")
	for n := range len(good) {
		if o, err := Open(good[:n]); err == nil {
			o.Line(0x1954)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"gfx1100", "gfx1100"},
		{"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"},
		{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack+"},
		{"gfx11-generic", "gfx11-generic"},
		{"host-x86_64-unknown-linux-gnu-", ""},
		{"gfx90a:xnack", ""},
		{"gfx90a:tgsplit+", ""},
		{"", ""},
	} {
		got, err := ParseTarget(tt.in)
		if got.String() != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q: %q, %v", tt.in, got, err)
		}
	}
	target := func(s string) Target {
		tt, err := ParseTarget(s)
		if err != nil {
			t.Fatal(err)
		}
		return tt
	}
	for _, tt := range []struct {
		obj, dev string
		want     bool
	}{
		{"gfx90a", "gfx90a:xnack-", true},
		{"gfx90a:xnack+", "gfx90a:xnack-", false},
		{"gfx90a:xnack+", "gfx90a", true},
		{"gfx90a", "gfx942", false},
		{"gfx9-4-generic:sramecc-", "gfx950:sramecc-", true},
		{"gfx9-4-generic:sramecc-", "gfx950:sramecc+", false},
	} {
		if got := target(tt.obj).RunsOn(target(tt.dev)); got != tt.want {
			t.Errorf("%s on %s: %v", tt.obj, tt.dev, got)
		}
	}
}

func hostObject(t testing.TB) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, "testdata/host.o.gz")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHostProgram(t *testing.T) {
	host := hostObject(t)
	es, err := Objects(host)
	if err != nil {
		t.Fatal(err)
	}
	a, b := read(t, "testdata/inline_gfx90a.co"), read(t, "testdata/mangled.co")
	const x, y = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
	want := []Embedded{{ID: x, Data: a}, {ID: y, Data: b}, {ID: x, Data: a}, {ID: y, Data: b}}
	for i := range es {
		es[i].Target = Target{}
	}
	if diff := cmp.Diff(want, es); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ target, kernel, want, err string }{
		{"gfx90a", "", "gfx90a:xnack-", ""},
		{"gfx942:sramecc+", "app::scale<int>", "", `no kernel "app::scale<int>"`},
		{"gfx942:sramecc+", "app::scale<float>", "gfx942:sramecc+:xnack-", ""},
		{"gfx942:sramecc+", "void app::scale<float>", "gfx942:sramecc+:xnack-", ""},
		{"", "scratch", "gfx90a:xnack-", ""},
		{"gfx90a", "void app::scale<float>", "", "there is inlined, scratch"},
		{"gfx1100", "", "", "no code object for gfx1100; there is gfx90a:xnack-, gfx942:sramecc+:xnack- (4 objects)"},
		{"gfx90a:xnack+", "", "", "no code object"},
		{"cpu", "", "", "no AMDGPU target"},
	} {
		o, err := Choose(host, tt.target, tt.kernel)
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s %s: %v, want %q", tt.target, tt.kernel, err, tt.err)
		case tt.err == "" && err != nil:
			t.Errorf("%s %s: %v", tt.target, tt.kernel, err)
		case tt.err == "" && o.Target.String() != tt.want:
			t.Errorf("%s %s: got %s", tt.target, tt.kernel, o.Target)
		}
	}
	if _, err := Open(host); err == nil || !strings.Contains(err.Error(), "choose one") {
		t.Errorf("Open: %v", err)
	}
}

// TestShared opens every object beside the repository.
func TestShared(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "kernels", "co"), "*", "*.co"))
	if err != nil || len(files) == 0 {
		t.Fatal("no objects", err)
	}
	for _, f := range files {
		o := open(t, f)
		if want := filepath.Base(filepath.Dir(f)); o.Target.Processor != want {
			t.Errorf("%s is for %s", f, o.Target)
		}
		if !o.HasLines() || o.DebugError() != nil {
			t.Errorf("%s: no lines, %v", f, o.DebugError())
		}
		for _, k := range o.Kernels {
			d := k.Descriptor
			if d.KernargBytes != k.KernargBytes || d.GroupBytes != k.GroupBytes || uint32(d.WaveSize()) != k.WaveSize || uint32(d.VGPRs(o.Target.Processor)) < k.VGPRs {
				t.Errorf("%s: %s: the descriptor %+v does not fit the metadata %+v", f, k.Name, d, k.Meta)
			}
			src := strings.TrimSuffix(filepath.Base(f), ".co") + ".cl"
			for pc := k.Entry; pc < k.Entry+k.Size; pc += 4 {
				for _, fr := range o.Line(pc) {
					if fr.File != src && fr.File != "common.h" || fr.Line < 0 || fr.Func == "" {
						t.Errorf("%s: %#x is at %v", f, pc, fr)
					}
				}
			}
			if _, err := o.Load(1 << 40); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}

// TestSharedCaptures compares kernels with what the hardware said when it ran them.
func TestSharedCaptures(t *testing.T) {
	metas, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "captures"), "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Fatal("no captures", err)
	}
	for _, m := range metas {
		dir := filepath.Dir(m)
		var meta struct {
			Programs []struct {
				Tag       int
				File      string
				RawFile   string `json:"raw_file"`
				TextVaddr string `json:"text_vaddr"`
			}
			Dispatches []struct {
				ProgramTag int `json:"program_tag"`
				Kernel     string
				FromTrace  struct {
					Entry string `json:"entry_pc_offset"`
					RSRC1 string `json:"pgm_rsrc1"`
					RSRC2 string `json:"pgm_rsrc2"`
				} `json:"from_trace"`
			}
		}
		if err := json.Unmarshal(read(t, m), &meta); err != nil {
			t.Fatal(err)
		}
		for _, p := range meta.Programs {
			o := open(t, dir, p.File)
			if p.RawFile != "" {
				if _, err := Open(read(t, dir, p.RawFile)); err == nil || !errors.Is(err, ErrNotCodeObject) {
					t.Errorf("%s: %v", filepath.Join(dir, p.RawFile), err)
				}
			}
			for _, d := range meta.Dispatches {
				if d.ProgramTag != p.Tag || len(o.Kernels) != 1 {
					continue
				}
				k := o.Kernels[0]
				if got := fmt.Sprintf("%#x", k.Entry); d.FromTrace.Entry != "" && got != d.FromTrace.Entry {
					t.Errorf("%s: %s starts at %s, the hardware started at %s", dir, d.Kernel, got, d.FromTrace.Entry)
				}
				if k.HasMeta && k.Name != d.Kernel {
					t.Errorf("%s: %s is called %s", dir, d.Kernel, k.Name)
				}
				// The driver sets bits of its own in the rest of RSRC1.
				if r, err := strconv.ParseUint(d.FromTrace.RSRC1, 0, 32); err == nil && k.Descriptor.RSRC1&0x3ff != uint32(r)&0x3ff {
					t.Errorf("%s: RSRC1 is %#x, the hardware had %#x", dir, k.Descriptor.RSRC1, r)
				}
			}
		}
	}
}

// TestStartValues checks the order of AMDGPUUsage and where workgroup ids go, as compiled code reads them.
func TestStartValues(t *testing.T) {
	for _, c := range []struct {
		target string
		d      Descriptor
		want   string
	}{
		{"gfx90a", Descriptor{Properties: 0x2b, RSRC2: 10<<1 | 1<<7 | 1}, "s[0:3] scratch buffer, s[4:5] dispatch packet, s[6:7] kernel arguments, s[8:9] flat scratch, s10 workgroup x, s11 scratch offset"},
		{"gfx942", Descriptor{Properties: 0x08, RSRC2: 2<<1 | 7<<7}, "s[0:1] kernel arguments, s2 workgroup x, s3 workgroup y, s4 workgroup z"},
		{"gfx950", Descriptor{Properties: 0x0a, Preload: 3, RSRC2: 7<<1 | 1<<7}, "s[0:1] dispatch packet, s[2:3] kernel arguments, s[4:6] preloaded arguments, s7 workgroup x"},
		{"gfx1100", Descriptor{Properties: 0x408, RSRC2: 13<<1 | 7<<7}, "s[0:1] kernel arguments, s13 workgroup x, s14 workgroup y, s15 workgroup z"},
		{"gfx1201", Descriptor{Properties: 0x440, RSRC2: 1<<1 | 3<<7}, "s0 scratch size, ttmp9 workgroup x, ttmp7[15:0] workgroup y"},
		{"gfx1201", Descriptor{}, ""},
	} {
		var got []string
		for _, v := range c.d.StartValues(c.target) {
			got = append(got, v.Register+" "+v.Holds)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.target, s, c.want)
		}
	}
}
