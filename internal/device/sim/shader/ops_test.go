package shader

import (
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
)

// tableOp is one row of the instruction tables.
type tableOp struct {
	name, target string
	format       *formatRow
	arch         isa.Arch
	opcode       int
	dual         [2]int // VOPD
}

// base is the mnemonic without what only concerns its encoding.
func (o *tableOp) base() string {
	return strings.TrimSuffix(strings.TrimSuffix(o.name, "_e32"), "_e64")
}

// formatRow is a line of formats.tsv: the bits that all instructions of a format share, and its fields.
type formatRow struct {
	name      string
	value     *big.Int
	lo        int // of the opcode
	hasOpcode bool
	fields    map[string][2]int // bit and width
}

func tableLines(t testing.TB, name string) (rows []map[string]string) {
	t.Helper()
	var head []string
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "isa", "tables", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cells := strings.Split(line, "\t")
		if head == nil {
			head = cells
			continue
		}
		row := map[string]string{}
		for i, h := range head {
			if i < len(cells) {
				row[h] = cells[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// table is the instruction tables as tests see them.
type table struct {
	ops  []tableOp
	name map[string]*tableOp // by target and mnemonic
}

var theTable *table

// instructions reads the tables of all targets.
func instructions(t testing.TB) *table {
	t.Helper()
	if theTable != nil {
		return theTable
	}
	formats := map[string]*formatRow{}
	for _, r := range tableLines(t, "formats.tsv") {
		f := &formatRow{value: new(big.Int), fields: map[string][2]int{}, name: r["format"]}
		f.value.SetString(strings.TrimPrefix(r["value"], "0x"), 16)
		lo, err := strconv.Atoi(r["opcode_lo"])
		f.lo, f.hasOpcode = lo, err == nil
		for s := range strings.FieldsSeq(r["fields"]) {
			p := strings.Split(s, ":")
			at, _ := strconv.Atoi(p[1])
			w, _ := strconv.Atoi(p[2])
			f.fields[p[0]] = [2]int{at, w}
		}
		for fam := range strings.SplitSeq(r["family"], "+") {
			formats[fam+" "+r["format"]] = f
		}
	}
	tab := &table{name: map[string]*tableOp{}}
	for _, file := range []struct{ name, family string }{{"cdna.tsv", "cdna4"}, {"rdna3.tsv", "rdna3"}, {"rdna4.tsv", "rdna4"}} {
		rows := tableLines(t, file.name)
		var x, y []int // halves of dual instructions
		for _, r := range rows {
			if r["format"] != "VOPD" {
				continue
			}
			n, _ := strconv.Atoi(r["opcode"])
			if strings.Contains(r["forms"], "x") {
				x = append(x, n)
			}
			if strings.Contains(r["forms"], "y") {
				y = append(y, n)
			}
		}
		for _, r := range rows {
			f := formats[file.family+" "+r["format"]]
			if f == nil {
				t.Fatalf("%s: no format %s", file.name, r["format"])
			}
			for target := range strings.SplitSeq(r["targets"], ",") {
				o := tableOp{name: r["mnemonic"], format: f, target: target}
				o.arch, _ = isa.ArchOf(target)
				o.opcode, _ = strconv.Atoi(r["opcode"])
				if f.name == "VOPD" {
					o.dual = [2]int{x[0], y[0]}
					if slices.Contains(x, o.opcode) {
						o.dual[0] = o.opcode
					} else {
						o.dual[1] = o.opcode
					}
				}
				tab.ops = append(tab.ops, o)
			}
		}
	}
	slices.SortStableFunc(tab.ops, func(a, b tableOp) int {
		return strings.Compare(a.target+" "+a.format.name+" "+a.name, b.target+" "+b.format.name+" "+b.name)
	})
	for i := range tab.ops {
		o := &tab.ops[i]
		for _, n := range []string{o.name, o.base()} {
			if tab.name[o.target+" "+n] == nil {
				tab.name[o.target+" "+n] = o
			}
		}
	}
	theTable = tab
	return tab
}

// fields are the values of an encoding's bit fields, by their names in formats.tsv.
type fields map[string]int

// plain is a value for each field: registers of their own, nothing else.
func (o *tableOp) plain() fields {
	v := fields{
		"vdst": 8, "vdstx": 8, "vdsty": 10, "data": 48, "data0": 48, "data1": 96, "vdata": 48, "vsrc": 48, "addr": 4, "vaddr": 4,
		"vaddr0": 4, "src0": 256 + 64, "src1": 256 + 128, "src2": 256 + 192, "vsrc1": 128, "srcx0": 256 + 64, "srcy0": 256 + 65,
		"vsrcx1": 66, "vsrcy1": 67, "scale_src0": 256 + 60, "scale_src1": 256 + 62, "ssrc0": 16, "ssrc1": 18, "sdst": 20, "sdata": 24,
		"sbase": 4, "srsrc": 2, "rsrc": 8, "dmask": 15, "format": 20, "dfmt": 4, "nfmt": 4,
	}
	switch o.base() {
	case "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32":
		v["simm16"] = hwMode
	case "s_sendmsg", "s_sendmsghalt":
		v["simm16"] = 1
	case "s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64":
		v["ssrc0"] = msgRtnRealtime
	}
	return v
}

// encode puts field values in place. Fields that are not named stay zero, or say that an operand is absent.
func (o *tableOp) encode(set fields) []byte {
	f := o.format
	v := new(big.Int).Set(f.value)
	put := func(lo, n int) { v.Or(v, new(big.Int).Lsh(big.NewInt(int64(n)), uint(lo))) }
	if f.hasOpcode {
		put(f.lo, o.opcode)
	}
	absent := fields{"saddr": 124, "soffset": 124, "sve": 1, "offen": 1, "imm": 1, "opsel_hi": 3, "opsel_hi2": 1}
	if o.arch.CDNA() {
		absent["saddr"], absent["soffset"], absent["sve"] = 0x7f, 0x80, 0
		if f.name == "SMEM" {
			absent["soffset"] = 0
		}
	}
	if !strings.Contains(f.name, "SCRATCH") {
		absent["sve"] = 0
	}
	if f.name == "VOPD" {
		absent["opx"], absent["opy"] = o.dual[0], o.dual[1]
	}
	for name, at := range f.fields {
		n, ok := set[name]
		if !ok {
			n = absent[name]
		}
		put(at[0], n&(1<<at[1]-1))
	}
	if f.name == "VOP3PX2" {
		put(75, 1) // abid, without which LLVM takes it for two instructions
	}
	code := make([]byte, 32)
	b := v.Bytes()
	slices.Reverse(b)
	copy(code, b)
	in, err := isa.DecodeLenient(o.arch, code)
	if err != nil {
		panic(err)
	}
	return code[:in.Size]
}

// assembler writes programs of one target for tests.
type assembler struct {
	t      testing.TB
	target string
	code   []byte
}

// op appends an instruction; a literal follows as four bytes of their own.
func (a *assembler) op(name string, set fields) *assembler {
	a.t.Helper()
	o := instructions(a.t).name[a.target+" "+name]
	if o == nil {
		a.t.Fatalf("%s has no %s", a.target, name)
	}
	a.code = append(a.code, o.encode(set)...)
	return a
}

func (a *assembler) literal(v uint32) *assembler {
	a.code = le.AppendUint32(a.code[:len(a.code)-4], v)
	return a
}

// notExecuted lists what the interpreter refuses, by the beginning of the mnemonic, with the reason.
var notExecuted = map[string]string{
	"image_":    "images and ray tracing are left out: compute kernels that compilers emit have none",
	"ds_bvh_":   "ray tracing is left out",
	"exp":       "exports go to units of the graphics pipeline",
	"lds_param": "parameters of pixel shaders, which compute kernels do not have",
	"ds_param":  "parameters of pixel shaders, which compute kernels do not have",
	"v_illegal": "the hardware takes it for no instruction either",
}

func refused(name string) bool {
	for prefix := range notExecuted {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// TestEveryOp executes each row of each target's table: all but those of notExecuted run.
func TestEveryOp(t *testing.T) {
	used := map[string]bool{}
	ran := map[string]int{}
	r := rand.New(rand.NewPCG(21, 22))
	for i := range instructions(t).ops {
		o := &instructions(t).ops[i]
		code := append(o.encode(o.plain()), make([]byte, 16)...)
		in, err := isa.DecodeLenient(o.arch, code)
		if err != nil {
			t.Errorf("%s %s: %v", o.target, o.name, err)
			continue
		}
		if in.Op.Name != o.name && (in.OpY == nil || in.OpY.Name != o.name) {
			t.Errorf("%s %s: decodes as %s", o.target, o.name, in.Op.Name)
		}
		f := execute(o.arch, code, r, func(w *wave) { // a buffer of 32-bit integers
			w.s[11] = 20<<12 | 4<<3 | 5<<6 | 6<<9 | 4
			if o.arch.CDNA() {
				w.s[11] = 4<<15 | 4<<12 | 4
			}
		})
		no := f != nil && f.Err == ErrUnsupported
		if no != refused(o.name) {
			t.Errorf("%s %s: %v", o.target, o.name, f)
		}
		for prefix := range notExecuted {
			used[prefix] = used[prefix] || no && strings.HasPrefix(o.name, prefix)
		}
		ran[o.target]++
	}
	for prefix := range notExecuted {
		if !used[prefix] {
			t.Errorf("nothing that begins with %s is refused", prefix)
		}
	}
	if len(ran) != 7 {
		t.Errorf("targets %v", ran)
	}
	t.Log(ran)
}
