package launch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

const kernelsDir = "../../testdata/kernels"

// heap is memory at made-up addresses.
type heap struct{ next uint64 }

func (h *heap) Alloc(size uint64) (uint64, []byte, error) {
	if size > 1<<30 {
		return 0, nil, errors.New("no memory")
	}
	h.next += 0x10000
	addr := h.next
	h.next += (size + 0xffff) &^ 0xffff
	return addr, make([]byte, size), nil
}

func openKernel(t *testing.T, path, name string) *codeobj.Kernel {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := codeobj.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	k, err := o.Kernel(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestFills(t *testing.T) {
	// sha256 of what testdata/kernels/reference.py prints for "input LAUNCH BUFFER".
	tests := []struct{ launch, buffer, want string }{
		{"vadd", "a", "28f1f544066dae4d90adcc93afff9e3e3e598e9212b7c2a3ef557bda8eed05fa"},
		{"gemm_f16", "a", "6aae7f29c568785d55e5ec06474c84575b16dd22995fee42658fd663e6f46c78"},
		{"gather", "offsets", "41cc3848b36196c26b2ff9e83fea5000e8ba61b90dc902c20fa0e1bd3187d03c"},
		{"gather", "targets", "04a95780989c98ee1ab9c8e2155dba2d7f07946c0f1d9b8dee5fd65c95cd7ab1"},
		{"gather", "level", "fc100a98ff888ec763402fd69c664d18a672cb4a1d453dd40edc679d1d8c8903"},
		{"chase_8k", "next", "2647f0a9f54ac2318f289dfdb33510f65cd3d9cb91e6cbc599dc50caaa005909"},
		{"copy", "src", "10138288d76f2fe6a6c34767e8c504b8f23a80b3a54b3d2bb9af6529e2dc7f1a"},
		{"layernorm", "gamma", "43a756707427881e9d560352d37aa051782f047c920c0c0b699b83635807be40"},
		{"vadd", "c", "7231fac841eda8c517958f13e113bbe902f83511c5f99197af92eafe915b7a5d"},
	}
	for _, tt := range tests {
		l, err := Load(kernelsDir + "/launches.yaml#" + tt.launch)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(l.Params, func(p Param) bool { return p.Name == tt.buffer })
		mem := make([]byte, l.Params[i].Size())
		if err := l.Params[i].Fill.Write(mem, l.Params[i].Type); err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(mem); hex.EncodeToString(got[:]) != tt.want {
			t.Errorf("%s %s: sha256 %x, want %s", tt.launch, tt.buffer, got, tt.want)
		}
	}
}

func TestFillForms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "six")
	if err := os.WriteFile(file, []byte{1, 2, 3, 4, 5, 6}, 0o666); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ arg, want string }{
		{"buf:3", "000000"},
		{"buf:u16[3]=iota", "000001000200"},
		{"buf:i8[2]=const:-2", "fefe"},
		{"buf:f32[2]=iota", "000000000000803f"},
		{"buf:f16[3]=iota", "0000003c0040"},
		{"buf:bf16[2]=const:1.5", "c03fc03f"},
		{"buf:f64[1]=const:0.1", "9a9999999999b93f"},
		{"buf:u16[3]=@" + file, "010203040506"},
		{"buf:u16=@" + file, "010203040506"},
		{"buf:@" + file, "010203040506"},
		{"buf:6=@" + file, "010203040506"},
		// splitmix64's first words for seed 1234567: 0x599ed017fb08fc85, 0x2c73f08458540fa5.
		{"buf:u64[2]=rand:1234567", "85fc08fb17d09e59a50f545884f0732c"},
		{"buf:u32[2]=rand:1234567", "17d09e5984f0732c"},
		{"buf:u8[2]=rand:1234567", "1784"},
		{"buf:f32[1]=rand:1234567", hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, math.Float32bits(0x599ed0/16777216.0)))},
	}
	for _, tt := range tests {
		p, err := ParseArg(tt.arg)
		if err != nil {
			t.Errorf("%s: %v", tt.arg, err)
			continue
		}
		mem := bytes.Repeat([]byte{0x55}, int(p.Size()))
		if err := p.Fill.Write(mem, p.Type); err != nil || hex.EncodeToString(mem) != tt.want {
			t.Errorf("%s: %x, %v, want %s", tt.arg, mem, err, tt.want)
		}
	}
}

func TestParseArgErrors(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"5", "TYPE:VALUE"},
		{"i32:", "TYPE:VALUE"},
		{"i33:5", "no type"},
		{"i32:5.5", "not a number"},
		{"u8:256", "does not fit"},
		{"u32:-1", "does not fit"},
		{"f16:1e6", "does not fit"},
		{"buf:f32", "how many elements"},
		{"buf:f32[4", "no ]"},
		{"buf:f32[0]", "a buffer has"},
		{"buf:f32[1000000G]", "no size"},
		{"buf:f64[100000G]", "a buffer has"},
		{"buf:f32[4]=junk", "no fill"},
		{"buf:f32[4]=const", "no fill"},
		{"buf:f32[4]=rand:x", "no seed"},
		{"buf:f32=@/nonexistent", "no such file"},
		{"bytes:0g", "invalid byte"},
		{"ptr:here", "no address"},
	} {
		if _, err := ParseArg(tt.arg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.arg, err, tt.want)
		}
	}
}

func TestSmallFloats(t *testing.T) {
	for _, tt := range []struct {
		t    Type
		f    float64
		want uint64
	}{
		{F16, 0, 0},
		{F16, math.Copysign(0, -1), 0x8000},
		{F16, 1, 0x3c00},
		{F16, -2.5, 0xc100},
		{F16, 65504, 0x7bff},
		{F16, 65519.99, 0x7bff},
		{F16, 65520, 0x7c00}, // the tie goes to infinity
		{F16, 0x1p-24, 1},
		{F16, 0x1p-25, 0},
		{F16, 0x1.8p-24, 2},
		{F16, 0x1p-14, 0x400},
		{F16, 1 + 0x1p-11, 0x3c00},
		{F16, 1 + 0x3p-11, 0x3c02},
		{F16, math.Inf(-1), 0xfc00},
		{F16, math.NaN(), 0x7e00},
		{BF16, 1, 0x3f80},
		{BF16, 3.1415927, 0x4049},
		{BF16, 0x1p-133, 1},
	} {
		if got := tt.t.fromFloat(tt.f); got != tt.want {
			t.Errorf("%s of %g: %#x, want %#x", tt.t, tt.f, got, tt.want)
		}
	}
	for v := range uint64(1 << 16) {
		for _, typ := range []Type{F16, BF16} {
			if f := typ.float(v); !math.IsNaN(f) && typ.fromFloat(f) != v {
				t.Fatalf("%s %#x is %g, which rounds to %#x", typ, v, f, typ.fromFloat(f))
			}
		}
	}
}

func TestBuildVadd(t *testing.T) {
	k := openKernel(t, kernelsDir+"/gfx1100/vadd.co", "")
	l, err := Load(kernelsDir + "/launches.yaml#vadd")
	if err != nil {
		t.Fatal(err)
	}
	l.Grid[0] -= 56 // the last workgroup has 200 work-items
	r, err := l.Build(k, &heap{}, Env{ABI: 6})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 288)
	for i, b := range r.Buffers {
		binary.LittleEndian.PutUint64(want[8*i:], b.Addr)
	}
	binary.LittleEndian.PutUint32(want[24:], 16284)
	for off, v := range map[int]uint16{32: 63, 36: 1, 40: 1, 44: 256, 46: 1, 48: 1, 50: 200, 96: 1} {
		binary.LittleEndian.PutUint16(want[off:], v)
	}
	if diff := cmp.Diff(want, r.Kernarg); diff != "" {
		t.Errorf("kernel arguments (-want +got):\n%s", diff)
	}
	if r.Groups != [3]uint32{64, 1, 1} || r.Partial != [3]uint32{200, 0, 0} || r.Waves() != 63*8+7 || r.PacketAddr != 0 {
		t.Errorf("groups %v, partial %v, %d waves, packet at %#x", r.Groups, r.Partial, r.Waves(), r.PacketAddr)
	}
}

func TestBuildFill(t *testing.T) {
	k := openKernel(t, kernelsDir+"/gfx1100/fill.co", "")
	l, err := Flags{Launch: kernelsDir + "/launches.yaml#fill", Groups: "3,2", Block: "32,4"}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Build(k, &heap{}, Env{DescriptorAddr: 0x1122334455667788})
	if err != nil {
		t.Fatal(err)
	}
	want := "0215020020000400010000006000000008000000010000000000000000000000" + "8877665544332211" +
		hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, r.KernargAddr)) + strings.Repeat("00", 16)
	if hex.EncodeToString(r.Packet) != want || r.PacketAddr == 0 {
		t.Errorf("packet at %#x\n %x, want\n %s", r.PacketAddr, r.Packet, want)
	}
}

func TestMismatch(t *testing.T) {
	vadd := openKernel(t, kernelsDir+"/gfx1100/vadd.co", "")
	oob := openKernel(t, kernelsDir+"/gfx1100/oob.co", "")
	buf := "buf:f32[16]"
	tests := []struct {
		k    *codeobj.Kernel
		args []string
		want string
	}{
		{vadd, []string{buf, buf, buf}, "takes 4 arguments, 3 given: argument 3 (uint) is missing"},
		{vadd, []string{buf, buf, buf, "u32:1", "i8:1"}, "takes 4 arguments, 5 given: i8:1 is surplus"},
		{vadd, []string{buf, buf, buf, "u64:1"}, "argument 3 (uint) of vadd: u64:1 is of 8 bytes: the argument has 4"},
		{vadd, []string{buf, buf, buf, "f32:1"}, "f32:1 is of f32: the argument is of u32"},
		{vadd, []string{buf, buf, "i32:0", "u32:1"}, "i32:0 is no buffer: the argument is a pointer"},
		{vadd, []string{"buf:u32[16]", buf, buf, "u32:1"}, "buf:u32[16] is of u32: the argument is of f32"},
		{vadd, []string{buf, buf, buf, "buf:4"}, "buf:4 is a buffer: the argument is passed by value"},
		{vadd, []string{buf, "lds:64", buf, "u32:1"}, "lds:64 is no buffer"},
		{vadd, []string{buf, "ptr:0", "buf:64", "i32:1"}, ""},
		{oob, []string{"buf:4K", "u64:1"}, ""},
		{oob, []string{"buf:4K", "u32:1"}, "u32:1 is of 4 bytes: the argument has 8"},
	}
	for _, tt := range tests {
		l, err := Flags{Args: tt.args}.Parse()
		if err != nil {
			t.Fatal(err)
		}
		err = l.Bind(tt.k)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%v: %v", tt.args, err)
		case tt.want == "":
		case err == nil || !strings.Contains(err.Error(), tt.want) || !slices.Contains(err.(*Error).Detail, Signature(tt.k)):
			t.Errorf("%v: %v, want %q and the signature", tt.args, err, tt.want)
		}
	}
	if got, want := Signature(vadd), "vadd(float*, float*, float*, uint)"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	if got, want := exampleFlags(vadd), "--arg 'buf:f32[COUNT]' --arg 'buf:f32[COUNT]' --arg 'buf:f32[COUNT]' --arg u32:VALUE"; got != want {
		t.Errorf("example %q, want %q", got, want)
	}
}

func TestShapeErrors(t *testing.T) {
	k := openKernel(t, kernelsDir+"/gfx1100/empty.co", "")
	reqd := *k
	reqd.ReqdBlock = [3]uint32{32, 1, 1}
	for _, tt := range []struct {
		k    *codeobj.Kernel
		f    Flags
		want string
	}{
		{k, Flags{Block: "512"}, "at most 256"},
		{k, Flags{Block: "70000"}, "1 to 65535"},
		{k, Flags{Block: "64", Groups: "0x8000000"}, "2^32-1"},
		{k, Flags{Grid: "4294967295,4294967295,4294967295"}, "2^63-1"},
		{k, Flags{Grid: "2147483648,2147483648,2"}, "2^63-1"},
		{k, Flags{Grid: "2147483648,2147483648"}, ""},
		{&reqd, Flags{Block: "64"}, "compiled for 32x1x1"},
		{&reqd, Flags{}, ""},
	} {
		l, err := tt.f.Parse()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Shape(tt.k); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.f, err, tt.want)
		}
	}
	if _, err := (Flags{Grid: "1", Groups: "1"}).Parse(); err == nil {
		t.Error("--grid with --groups is accepted")
	}
	for _, s := range []string{"", "0", "1,2,3,4", "x", "4294967296", "-1"} {
		if d, err := ParseDim(s); err == nil {
			t.Errorf("ParseDim(%q) = %v", s, d)
		}
	}
}

func TestWarnings(t *testing.T) {
	k := *openKernel(t, kernelsDir+"/gfx1100/empty.co", "")
	k.WholeBlocks = true
	k.Args = []codeobj.Arg{{Kind: "hidden_printf_buffer"}, {Kind: "hidden_block_count_x"}}
	for grid, want := range map[string]int{"128": 1, "100": 2} {
		l, err := Flags{Grid: grid, Block: "64"}.Parse()
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Shape(&k)
		if err != nil || len(r.Warnings) != want {
			t.Errorf("grid %s: %v, %q", grid, err, r.Warnings)
		}
	}
}

// TestHidden checks the places of hidden arguments that are not listed, and of those of version 4.
func TestHidden(t *testing.T) {
	k := *openKernel(t, kernelsDir+"/gfx1100/empty.co", "")
	k.Args = []codeobj.Arg{{Kind: "by_value", Offset: 0, Size: 4}, {Kind: "dynamic_shared_pointer", Offset: 4, Size: 4, Align: 16}}
	k.KernargBytes, k.GroupBytes = 8+256, 20
	l, err := Flags{Grid: "70,6", Block: "32,4", Args: []string{"u32:7", "lds:100"}}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	env := Env{ABI: 5, PrivateBase: 0x11, SharedBase: 0x22, QueueAddr: 0x1_0000_0033}
	r, err := l.Build(&k, &heap{}, env)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 264)
	for off, v := range map[int]uint32{
		0: 7, 4: 32, 8 + 0: 2, 8 + 4: 1, 8 + 8: 1, 8 + 12: 4<<16 | 32, 8 + 16: 6<<16 | 1, 8 + 20: 2, 8 + 64: 2, 8 + 120: 112, 8 + 192: 0x11, 8 + 196: 0x22,
		8 + 200: 0x33, 8 + 204: 1,
	} {
		binary.LittleEndian.PutUint32(want[off:], v)
	}
	if diff := cmp.Diff(want, r.Kernarg); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.LDSBytes != 132 || r.Dims() != 2 || r.Waves() != 2*4+1*1+2*2+1 { // 32x4, 6x4, 32x2, 6x2
		t.Errorf("%d bytes of LDS, %d dimensions, %d waves", r.LDSBytes, r.Dims(), r.Waves())
	}
	env.ABI = 4 // its hidden arguments are null here
	if r, err = l.Build(&k, &heap{}, env); err != nil || !bytes.Equal(r.Kernarg[8:], make([]byte, 256)) {
		t.Errorf("version 4: %x, %v", r.Kernarg, err)
	}
}

// TestZeroFill checks that a buffer of zeros is left as it was allocated: writing would make every page of it real.
func TestZeroFill(t *testing.T) {
	k := openKernel(t, kernelsDir+"/gfx1100/oob.co", "")
	for arg, untouched := range map[string]bool{
		"buf:64": true, "buf:u32[16]": true, "buf:u32[16]=zero": true, "buf:u32[16]=const:0": true, "buf:16=const:0": true, "buf:u32[16]=const:1": false,
	} {
		l, err := Flags{Args: []string{arg, "u64:0"}}.Parse()
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Build(k, marked{}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Buffers[0].Mem[0] == 0xa5; got != untouched {
			t.Errorf("%s: left alone: %v", arg, got)
		}
	}
}

// marked gives memory that shows what was written.
type marked struct{}

func (marked) Alloc(size uint64) (uint64, []byte, error) {
	return 0x10000, bytes.Repeat([]byte{0xa5}, int(size)), nil
}

// TestNoMetadata lays arguments out as C does where a file does not describe them.
func TestNoMetadata(t *testing.T) {
	k := *openKernel(t, kernelsDir+"/gfx1100/empty.co", "")
	k.HasMeta, k.KernargBytes = false, 24
	l, err := Flags{Args: []string{"u8:1", "u32:2", "buf:16", "u16:3"}}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Build(&k, &heap{}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	want := "0100000002000000" + hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, r.Buffers[0].Addr)) + "0300000000000000"
	if got := hex.EncodeToString(r.Kernarg); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	l.Params = append(l.Params, l.Params[2])
	if _, err := l.Build(&k, &heap{}, Env{}); err == nil || !strings.Contains(err.Error(), "24 bytes of arguments, 32 given") {
		t.Errorf("%v", err)
	}
}

func TestVerify(t *testing.T) {
	l, err := ReadYAML([]byte(`launches:
- name: x
  args:
  - {name: i, type: i32, count: 3, check: {sum: -3, sha256: 0ce8d8b0b5e5c2f5a8b0f7f8e6d6a29b7b1c0b1f0e2f0a4b0c8f5e3d2c1b0a99}}
  - {name: f, type: f32, count: 2, check: {sum: 3.0, abs: 0.01, rel: 0, samples: [[1, 2.0]]}}
  - {name: u, type: u16, count: 3, check: {file: want.bin}}
`), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := l[0].Params
	if err := os.WriteFile(p[2].Check.File, []byte{1, 0, 2, 0, 3, 0}, 0o666); err != nil {
		t.Fatal(err)
	}
	ones := func(typ Type, vals ...float64) []byte {
		b := make([]byte, len(vals)*typ.Size())
		for i, v := range vals {
			typ.put(b[i*typ.Size():], typ.fromFloat(v))
		}
		return b
	}
	for _, tt := range []struct {
		p    Param
		mem  []byte
		want []string // parts of the lines
	}{
		{p[1], ones(F32, 1, 2.005), nil},
		{p[1], ones(F32, 1, 2.5), []string{"[1] is 2.5, should be 2 (off by 0.5, 0.01 allowed)", "1 of 1 sampled", "the sum is 3.5, should be 3", "starts with 1, 2.5"}},
		{p[1], ones(F32, 1, math.NaN()), []string{"[1] is NaN, should be 2", "1 of 1", "the sum is NaN", "starts"}},
		{p[0], ones(I32, -1, -1, -1), []string{"sha256 is", "starts with -1, -1, -1"}},
		{p[0], ones(I32, -1, -1, 5), []string{"sha256 is", "the sum is 3, should be -3", "starts with"}},
		{p[2], ones(U16, 1, 2, 3), nil},
		{p[2], ones(U16, 1, 7, 4), []string{"[1] is 7, should be 2", "[2] is 4, should be 3", "2 of 3 elements"}},
		{p[2], ones(U16, 1, 7), []string{"it has 4 bytes"}},
	} {
		got := tt.p.Check.verify(tt.mem, tt.p.Type)
		ok := len(got) == len(tt.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s %v: %q, want %q", tt.p.Name, tt.mem, got, tt.want)
		}
	}
}

func TestYAMLErrors(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"", "no launches"},
		{"launches: []", "no launches"},
		{"launches: [{name: a, grids: [1]}]", "grids"},
		{"launches: [{name: a}, {name: a}]", "twice"},
		{"launches: [{grid: [1]}]", "no name"},
		{"launches: [{name: a, grid: [0]}]", "grid of 0"},
		{"launches: [{name: a, grid: [1,2,3,4]}]", "three dimensions"},
		{"launches: [{name: a, args: [{name: n, type: u32}]}]", "argument n: neither a value nor a count"},
		{"launches: [{name: a, args: [{name: n, type: u32, value: 1, count: 2}]}]", "both"},
		{"launches: [{name: a, args: [{name: n, type: u32, value: 5000000000}]}]", "does not fit"},
		{"launches: [{name: a, args: [{name: n, type: u8, count: 300, fill: {kind: cycle}}]}]", "do not fit u8"},
		{"launches: [{name: a, args: [{name: n, type: u8, count: 3, fill: {kind: mod}}]}]", "needs n"},
		{"launches: [{name: a, args: [{name: n, type: u8, count: 3, fill: {kind: grid, n: 4, scale: 0.5}}]}]", "no integers"},
		{"launches: [{name: a, args: [{name: n, type: u8, count: 3, check: {}}]}]", "nothing to compare"},
		{"launches: [{name: a, args: [{name: n, type: u8, count: 3, check: {samples: [[3, 1]]}}]}]", "sample of element 3"},
		{"launches: [{name: a, args: [{name: n, type: u8, value: 3, check: {sum: 1}}]}]", "only a buffer"},
	} {
		if _, err := ReadYAML([]byte(tt.yaml), "."); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
}

// TestVerifyRight computes vadd and copy on the CPU: their checks must hold.
func TestVerifyRight(t *testing.T) {
	for _, name := range []string{"vadd", "copy"} {
		k := openKernel(t, kernelsDir+"/gfx1100/"+name+".co", name)
		l, err := Load(kernelsDir + "/launches.yaml#" + name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Build(k, &heap{}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Verify()) != 1 {
			t.Errorf("%s: the result is right before the launch", name)
		}
		if name == "copy" {
			copy(r.Buffers[1].Mem, r.Buffers[0].Mem)
		} else {
			for i := 0; i < len(r.Buffers[2].Mem); i += 4 {
				sum := float32(F32.float(F32.get(r.Buffers[0].Mem[i:]))) + float32(F32.float(F32.get(r.Buffers[1].Mem[i:])))
				F32.put(r.Buffers[2].Mem[i:], uint64(math.Float32bits(sum)))
			}
		}
		for _, f := range r.Verify() {
			t.Errorf("%s: %v", name, f.Error())
		}
	}
}

func TestSave(t *testing.T) {
	k := openKernel(t, kernelsDir+"/gfx1100/vadd.co", "")
	l, err := Load(kernelsDir + "/launches.yaml#vadd")
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Build(k, &heap{}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out")
	for _, ref := range []string{"1", "b"} {
		s, err := ParseSave(ref + "=" + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Save(s); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, r.Buffers[1].Mem) {
			t.Errorf("--save %s wrote %d other bytes", ref, len(got))
		}
	}
	for _, ref := range []string{"3", "n", "z", ""} {
		if _, err := r.Buffer(ref); err == nil {
			t.Errorf("buffer %q is found", ref)
		}
	}
	for _, s := range []string{"", "1", "=x", "1=", "1=" + path + "/x", "1=" + path + ".d/x"} {
		if _, err := ParseSave(s); err == nil {
			t.Errorf("--save %q is accepted", s)
		}
	}
}

// TestSharedLaunches binds and builds every launch for every target.
func TestSharedLaunches(t *testing.T) {
	dir := sharedtest.Path(t, "kernels")
	ls, err := ReadFile(filepath.Join(dir, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := filepath.Glob(filepath.Join(dir, "co", "*"))
	if err != nil || len(targets) == 0 {
		t.Fatal("no targets", err)
	}
	for _, target := range targets {
		for i := range ls {
			k := openKernel(t, filepath.Join(target, ls[i].File+".co"), ls[i].Kernel)
			r, err := ls[i].Build(k, &heap{}, Env{ABI: 6})
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(target), err)
				continue
			}
			if n := r.Checks(); len(r.Verify()) != n {
				t.Errorf("%s %s: %d of %d buffers are wrong before the launch", filepath.Base(target), ls[i].Name, len(r.Verify()), n)
			}
		}
	}
}
