// Command genisa turns internal/isa/tables into the static Go tables of package isa.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("genisa: ")
	dir := flag.String("tables", "tables", "`directory` of the tables")
	out := flag.String("out", "tables_gen.go", "output `file`")
	flag.Parse()
	g := newGen(*dir)
	g.layouts()
	for _, f := range families {
		g.family(f)
	}
	src, err := format.Source(g.emit())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, src, 0o644); err != nil {
		log.Fatal(err)
	}
}

// family is one instruction table; targets maps its target names to Arch constants, in order.
type family struct {
	file    string
	trace   string
	formats []string // values of the family column of formats.tsv
	targets []target
}

type target struct {
	name string
	arch int
	id   string
}

var families = []family{
	{"cdna.tsv", "trace_gfx9.tsv", []string{"cdna3+cdna4", "cdna4"}, []target{{"gfx90a", 1, "CDNA2"}, {"gfx942", 2, "CDNA3"}, {"gfx950", 3, "CDNA4"}}},
	{"rdna3.tsv", "trace_rdna3.tsv", []string{"rdna3"}, []target{{"gfx1100", 4, "RDNA3"}, {"gfx1151", 5, "RDNA35"}}},
	{"rdna4.tsv", "trace_rdna4.tsv", []string{"rdna4"}, []target{{"gfx1200", 6, "RDNA4"}, {"gfx1201", 6, "RDNA4"}}},
}

const numArch = 7

// formatName maps the tables' encodings to the package's formats.
var formatName = map[string]string{
	"VOP3PX2": "VOP3PX", "VFLAT": "FLAT", "VGLOBAL": "GLOBAL", "VSCRATCH": "SCRATCH", "VBUFFER": "MUBUF", "VIMAGE": "MIMG",
	"VSAMPLE": "MIMG", "VDSDIR": "LDSDIR", "VEXPORT": "EXP",
}

// fieldName maps the tables' fields to the package's.
var fieldName = map[string]string{
	"a16": "A16", "abid": "Abid", "abs": "Abs", "acc": "Acc", "acc_cd": "AccCD", "addr": "Vaddr", "attr": "Attr",
	"attr_chan": "AttrChan", "bank_mask": "DppBankMask", "bc": "DppBC", "blgp": "Blgp", "cbsz": "Cbsz", "clmp": "Clamp",
	"d16": "D16", "data": "Data", "data0": "Data", "data1": "Data1", "dfmt": "Dfmt", "dim": "Dim", "dlc": "DLC",
	"dmask": "Dmask", "done": "Done", "dpp": "DppCtrl", "dst_sel": "DstSel", "dst_unused": "DstUnused", "en": "En",
	"fi": "DppFI", "format": "Format", "gds": "Gds", "glc": "GLC", "idxen": "Idxen", "imm": "Imm", "ioffset": "Offset",
	"lane_sel_0": "Dpp8", "lds": "Lds", "lwe": "Lwe", "neg": "Neg", "neg_hi": "NegHi", "nfmt": "Nfmt", "nt": "NT", "nv": "NV", "scale_offset": "ScaleOffset",
	"offen": "Offen", "offset": "Offset", "offset0": "Offset0", "offset1": "Offset1", "omod": "Omod", "opsel": "OpSel",
	"opsel_hi": "OpSelHi", "opsel_hi2": "OpSelHi2", "opx": "OpX", "opy": "OpY", "r128": "R128", "row": "Row",
	"row_mask": "DppRowMask", "rsrc": "Rsrc", "s0": "S0", "s1": "S1", "saddr": "Saddr", "samp": "Samp", "sbase": "Sbase",
	"sc0": "SC0", "sc1": "SC1", "scale_src0": "ScaleSrc0", "scale_src1": "ScaleSrc1", "scope": "Scope", "sd": "SD",
	"sdata": "Sdata", "sdst": "Sdst", "simm16": "Simm16", "slc": "SLC", "soffset": "Soffset", "soffset_en": "SoffsetEn",
	"src0": "Src0", "src0_abs": "Src0Abs", "src0_neg": "Src0Neg", "src0_sel": "Src0Sel", "src0_sext": "Src0Sext",
	"src1": "Src1", "src1_abs": "Src1Abs", "src1_neg": "Src1Neg", "src1_sel": "Src1Sel", "src1_sext": "Src1Sext",
	"src2": "Src2", "srcx0": "SrcX0", "srcy0": "SrcY0", "srsrc": "Rsrc", "ssamp": "Samp", "ssrc0": "Ssrc0", "ssrc1": "Ssrc1",
	"sve": "Sve", "target": "Target", "tfe": "Tfe", "th": "TH", "unrm": "Unorm", "da": "DA", "vaddr": "Vaddr", "vaddr0": "Vaddr",
	"vaddr1": "Vaddr1", "vaddr2": "Vaddr2", "vaddr3": "Vaddr3", "vaddr4": "Vaddr4", "vdata": "Vdata", "vdst": "Vdst",
	"vdstx": "VdstX", "vdsty": "VdstY", "vsrc0": "Src0", "vsrc1": "Src1", "vsrc": "Data", "vsrcx1": "SrcX1",
	"vsrcy1": "SrcY1", "wait_va_vdst": "WaitVdst", "wait_vdst": "WaitVdst", "wait_vm_vsrc": "WaitVmVsrc", "waitexp": "WaitExp",
	"tgt": "Target",
}

// expField holds EXP's data fields, whose names mean other things elsewhere.
var expField = map[string]string{"vsrc0": "Exp0", "vsrc1": "Exp1", "vsrc2": "Exp2", "vsrc3": "Exp3"}

// skipField lists fields that need no name: they only tell forms apart.
var skipField = map[string]bool{
	"dpp8_marker": true, "literal": true, "lane_sel_1": true, "lane_sel_2": true, "lane_sel_3": true, "lane_sel_4": true,
	"lane_sel_5": true, "lane_sel_6": true, "lane_sel_7": true,
}

var kindName = map[string]string{
	"VGPR": "KindVGPR", "VGPR_OR_ACCVGPR": "KindAV", "ACCVGPR": "KindAcc", "SREG": "KindSGPR", "SREG_NOVCC": "KindSGPR",
	"SDST": "KindSGPR", "SDST_NULL": "KindSGPR", "SREG_M0": "KindSGPR", "SREG_M0_INL": "KindSSrc", "SSRC": "KindSSrc",
	"SSRC_NOLIT": "KindSSrc", "SSRC_LANESEL": "KindSSrc", "SSRC_BARRIER_ID": "KindSSrc", "SREG_LITERAL": "KindSSrc", "SRC": "KindSrc",
	"SRC_NOLIT": "KindSrc", "SRC_SIMPLE": "KindSrc", "SRC_NOLDS": "KindSrc", "SRC_VGPR": "KindSrcV", "VGPR_OR_LDS": "KindSrcV",
	"SRC_VGPR_OR_INLINE": "KindSrcVI", "SRC_VGPR_OR_ACCVGPR": "KindSrcAV", "SRC_VGPR_OR_ACCVGPR_OR_CONST": "KindSrcAVI",
	"SRC_ACCVGPR": "KindSrcAcc", "SMEM_OFFSET": "KindSoff", "SMEM_OFFSET_NOK": "KindSoff",
}

// layout is one row of formats.tsv.
type layout struct {
	fam, name, base string
	mask, value     [2]uint64
	opLo, opWidth   int
	fields          []string // "FieldX: {lo, width}"
	signed          bool
	dwords          int
	id              int
}

type gen struct {
	dir   string
	lay   []layout
	sets  []string // layout sets as Go text, index is the set's number
	pool  []string
	lists map[string]int
	ops   []string
	encs  []string
	index []int
	encOf [numArch][512]int
	px    int // the encoding of VOP3PX
	trace map[string][]map[string]string
}

func newGen(dir string) *gen {
	return &gen{dir: dir, lists: map[string]int{}, sets: []string{"{}"}, encs: []string{"{}"}}
}

// rows reads a table: its rows as maps from column to value, with their place for messages.
func (g *gen) rows(name string) []map[string]string {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		log.Fatal(err)
	}
	var head []string
	var out []map[string]string
	for i, line := range strings.Split(string(b), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		if head == nil {
			head = cells
			continue
		}
		if len(cells) != len(head) {
			log.Fatalf("%s:%d: %d cells, want %d", name, i+1, len(cells), len(head))
		}
		row := map[string]string{"": fmt.Sprintf("%s:%d", name, i+1)}
		for k, c := range cells {
			row[head[k]] = c
		}
		out = append(out, row)
	}
	return out
}

func atoi(row map[string]string, col string) int {
	n, err := strconv.ParseInt(row[col], 0, 64)
	if err != nil {
		log.Fatalf("%s: %s: %v", row[""], col, err)
	}
	return int(n)
}

// hex96 parses a number of up to 128 bits.
func hex96(row map[string]string, col string) (v [2]uint64) {
	s := strings.TrimPrefix(row[col], "0x")
	var err error
	if n := len(s) - 16; n > 0 {
		if v[1], err = strconv.ParseUint(s[:n], 16, 64); err != nil {
			log.Fatalf("%s: %s: %v", row[""], col, err)
		}
		s = s[n:]
	}
	if v[0], err = strconv.ParseUint(s, 16, 64); err != nil {
		log.Fatalf("%s: %s: %v", row[""], col, err)
	}
	return v
}

func (g *gen) layouts() {
	for _, row := range g.rows("formats.tsv") {
		l := layout{fam: row["family"], name: row["format"], base: row["base"], mask: hex96(row, "mask"), value: hex96(row, "value"), dwords: atoi(row, "dwords"), id: len(g.lay)}
		if row["opcode_lo"] != "-" {
			l.opLo, l.opWidth = atoi(row, "opcode_lo"), atoi(row, "opcode_width")
		}
		for _, f := range strings.Fields(row["fields"]) {
			p := strings.Split(f, ":")
			if len(p) != 4 {
				log.Fatalf("%s: field %q", row[""], f)
			}
			if skipField[p[0]] {
				continue
			}
			name := fieldName[p[0]]
			if l.base == "EXP" || l.base == "VEXPORT" {
				if n, ok := expField[p[0]]; ok {
					name = n
				}
			}
			if name == "" {
				log.Fatalf("%s: unknown field %q", row[""], p[0])
			}
			if name == "Dpp8" {
				p[2] = "24"
			}
			if name == "Offset" && p[3][0] == 's' {
				l.signed = true
			}
			l.fields = append(l.fields, fmt.Sprintf("Field%s: {%s, %s}", name, p[1], p[2]))
		}
		g.lay = append(g.lay, l)
	}
}

// find is the layout of the given name in the family, or nil.
func (g *gen) find(f family, name string) *layout {
	for i := range g.lay {
		if g.lay[i].name == name && slices.Contains(f.formats, g.lay[i].fam) {
			return &g.lay[i]
		}
	}
	return nil
}

// set is the number of the layout set of a format: one layout per Form.
func (g *gen) set(f family, base string, first string) int {
	forms := []string{first, base + "_LIT", base + "_DPP16", base + "_DPP8", base + "_SDWA"}
	if base == "MIMG" {
		forms[1] = "MIMG_NSA"
	}
	ids := make([]string, len(forms))
	for i, n := range forms {
		ids[i] = "0"
		if l := g.find(f, n); l != nil {
			ids[i] = strconv.Itoa(l.id + 1)
		}
	}
	s := "{" + strings.Join(ids, ", ") + "}"
	if i := slices.Index(g.sets, s); i > 0 {
		return i
	}
	g.sets = append(g.sets, s)
	return len(g.sets) - 1
}

func (g *gen) family(f family) {
	rows := g.rows(f.file)
	type key struct {
		arch int
		enc  string
		code int
	}
	byCode := map[key]int{}
	for _, row := range rows {
		n := len(g.ops)
		g.ops = append(g.ops, g.op(f, row))
		for _, t := range strings.Split(row["targets"], ",") {
			for _, ft := range f.targets {
				if ft.name != t {
					continue
				}
				k := key{ft.arch, row["format"], atoi(row, "opcode")}
				if k.enc == "VOP3SD" {
					k.enc = "VOP3"
				}
				if old, ok := byCode[k]; ok && old != n {
					log.Fatalf("%s: opcode %d is taken", row[""], k.code)
				}
				byCode[k] = n
			}
		}
	}
	done := map[int]bool{}
	for _, t := range f.targets {
		if done[t.arch] {
			continue
		}
		done[t.arch] = true
		g.encodings(f, t.arch, func(enc string, code int) int {
			if n, ok := byCode[key{t.arch, enc, code}]; ok {
				return n + 1
			}
			return 0
		})
	}
}

// encodings writes the opcode index of one architecture and the table from the top nine bits to the encoding.
func (g *gen) encodings(f family, arch int, op func(string, int) int) {
	type cand struct{ enc, bits int }
	var best [512]cand
	for i := range g.lay {
		l := &g.lay[i]
		if !slices.Contains(f.formats, l.fam) || l.base != l.name || l.name == "VOP3SD" || l.name == "VOP3PX2" && arch != 3 {
			continue
		}
		id := len(g.encs)
		width := l.opWidth
		if l.name == "VOPD" {
			width = 5
		}
		base := len(g.index)
		for c := range 1 << width {
			g.index = append(g.index, op(l.name, c))
		}
		kind := formatName[l.name]
		if kind == "" {
			kind = l.name
		}
		seg := 0
		if l.mask[0]&0xffffffff == 0xfc030000 {
			seg = 16
		} else if l.mask[0]&0xffffffff == 0xfc00c000 {
			seg = 14
		}
		g.encs = append(g.encs, fmt.Sprintf("{%s, %d, %d, %d, %d, %d}", kind, l.opLo, 1<<width-1, base, l.dwords, seg))
		if l.name == "VOP3PX2" {
			g.px = id
			continue
		}
		m, v := uint32(l.mask[0])>>23, uint32(l.value[0])>>23
		bits := 0
		for b := m; b != 0; b &= b - 1 {
			bits++
		}
		if seg != 0 && l.name != "FLAT" {
			continue // found through FLAT, which stands first of the three
		}
		for x := range best {
			if uint32(x)&m == v && bits > best[x].bits {
				best[x] = cand{id, bits}
			}
		}
	}
	for x, b := range best {
		g.encOf[arch][x] = b.enc
	}
}

func (g *gen) operands(row map[string]string, format string) (first, count int) {
	if row["operands"] == "-" {
		return 0, 0
	}
	var list []string
	for _, o := range strings.Split(row["operands"], ";") {
		p := strings.Split(o, ":")
		if len(p) != 5 {
			log.Fatalf("%s: operand %q", row[""], o)
		}
		if p[3] == "EXEC" {
			continue // v_cmpx writes EXEC, whatever the field says
		}
		field := fieldName[p[0]]
		switch {
		case format == "EXP" && expField[p[0]] != "":
			field = expField[p[0]]
		case format == "DS" && p[0] == "vsrc0":
			field = "Data"
		}
		if field == "" {
			log.Fatalf("%s: unknown field %q", row[""], p[0])
		}
		dir := map[string]string{"in": "In", "out": "Out", "inout": "InOut", "out_rtn": "OutRtn"}[p[1]]
		if dir == "" {
			log.Fatalf("%s: direction %q", row[""], p[1])
		}
		bits, err := strconv.Atoi(p[2])
		if err != nil {
			log.Fatalf("%s: %v", row[""], err)
		}
		kind := kindName[p[3]]
		switch {
		case kind == "":
			kind = "KindImm"
		case kind == "KindVGPR" && (format == "VOP3" || format == "VOP3SD" || format == "VOP3P" || format == "VINTERP") && strings.HasPrefix(p[0], "src"):
			kind = "KindSrc" // LLVM takes any source there
		case kind == "KindVGPR" && format == "VOP1" && p[0] == "src0":
			kind = "KindSrcV"
		}
		typ, count := elem(row, p[4], bits)
		list = append(list, fmt.Sprintf("{Field%s, %s, Type%s, %d, %s, %d}", field, dir, typ, count, kind, bits))
	}
	if len(list) == 0 {
		return 0, 0
	}
	text := strings.Join(list, ",\n")
	if i, ok := g.lists[text]; ok {
		return i, len(list)
	}
	g.lists[text] = len(g.pool)
	g.pool = append(g.pool, list...)
	return g.lists[text], len(list)
}

var elemTypes = map[string]string{
	"ANY": "Any", "M64": "Mask", "BUF": "Rsrc", "IMG": "Rsrc", "IMG_BVH": "Rsrc", "SAMP": "Rsrc", "RSRC_SCALAR": "Rsrc",
	"RSRC_SCRATCH": "Rsrc", "RSRC_TYPED": "Rsrc", "WMMA_INDEX_SET": "B32",
}

// elem splits a type of the tables into the element's type and the number of elements.
func elem(row map[string]string, s string, bits int) (string, int) {
	if t, ok := elemTypes[s]; ok {
		return t, 0
	}
	if rest, ok := strings.CutPrefix(s, "PK"); ok {
		n, t, _ := strings.Cut(rest, "_")
		c, err := strconv.Atoi(n)
		if err != nil {
			log.Fatalf("%s: type %q", row[""], s)
		}
		return t, c
	}
	if strings.HasPrefix(s, "WMMA_") {
		t := s[strings.LastIndex(s, "_")+1:]
		size, _ := strconv.Atoi(strings.TrimLeft(t, "ABDFIPU"))
		return t, bits / max(size, 1)
	}
	return s, 0
}

func (g *gen) op(f family, row map[string]string) string {
	name, enc := row["mnemonic"], row["format"]
	format := formatName[enc]
	if format == "" {
		format = enc
	}
	if enc == "VBUFFER" && strings.HasPrefix(name, "tbuffer") {
		format = "MTBUF"
	}
	firstForm := enc
	var flags []string
	ops := row["operands"]
	if enc == "VOP3" && (strings.HasPrefix(ops, "vdst:out:32:S") || strings.HasPrefix(ops, "vdst:out:64:S")) {
		firstForm = "VOP3_SDST"
		flags = append(flags, "FlagSDST")
	}
	if enc == "VOP1" && strings.HasPrefix(ops, "vdst:out:32:S") {
		flags = append(flags, "FlagSDST")
	}
	if enc == "VOP3P" && f.file == "cdna.tsv" && (strings.Contains(row["flags"], "mfma") && name != "v_mfma_ld_scale_b32" || strings.Contains(row["flags"], "smfmac") || strings.Contains(name, "accvgpr")) {
		firstForm = "VOP3P_MFMA"
	}
	for _, w := range strings.Split(row["flags"], ",") {
		if w == "-" {
			continue
		}
		n, ok := flagName[w]
		if !ok {
			log.Fatalf("%s: unknown flag %q", row[""], w)
		}
		flags = append(flags, "Flag"+n)
	}
	for _, w := range strings.Split(row["forms"], ",") {
		if w == "-" {
			continue
		}
		n, ok := formName[w]
		if !ok {
			log.Fatalf("%s: unknown form %q", row[""], w)
		}
		flags = append(flags, "Flag"+n)
	}
	if alwaysLiteral(name) && enc != "VOPD" {
		flags = append(flags, "FlagLiteral")
	}
	if strings.Contains(name, "_mix") {
		flags = append(flags, "FlagMix")
	}
	if f.file != "cdna.tsv" && (enc == "VOP1" || enc == "VOP2" || enc == "VOPC") && strings.Contains(ops, ":16:") {
		flags = append(flags, "FlagTrue16")
	}
	if len(flags) == 0 {
		flags = []string{"0"}
	}
	first, count := g.operands(row, format)
	return fmt.Sprintf("{%q, %s, %s, %d, %d, %d, %s, %s, %s, %s, %#x, %#x, %#x, %s}", name, strings.Join(flags, "|"),
		row["opcode"], first, count, g.set(f, enc, firstForm), format, class(row, enc, format), regs(row, "reads"), regs(row, "writes"), mods(row, "modifiers"), mods(row, "ignored"), mods(row, "ignored19"), g.traceOf(f, row))
}

// mods packs a column of modifiers as mods.go of package isa lays them out.
func mods(row map[string]string, col string) uint32 {
	m := uint32(0)
	if row[col] == "-" {
		return 0
	}
	for _, w := range strings.Split(row[col], ",") {
		name, val, _ := strings.Cut(w, ":")
		bits := uint64(1)
		if val != "" {
			var err error
			if bits, err = strconv.ParseUint(val, 0, 4); err != nil {
				log.Fatalf("%s: modifier %q: %v", row[""], w, err)
			}
		}
		shift, ok := map[string]int{"abs": 0, "neg": 3, "neg_hi": 6, "opsel": 9, "hi": 13, "clamp": 16, "omod": 17, "cbsz": 18, "abid": 21, "blgp": 25, "lds": 28}[name]
		if !ok {
			log.Fatalf("%s: modifier %q", row[""], w)
		}
		m |= uint32(bits) << shift
	}
	return m
}

// alwaysLiteral tells whether a literal dword follows whatever the sources are.
func alwaysLiteral(name string) bool {
	for _, s := range []string{"_fmaak_", "_fmamk_", "_madak_", "_madmk_", "s_setreg_imm32"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

func regs(row map[string]string, col string) string {
	if row[col] == "-" {
		return "0"
	}
	var out []string
	for _, r := range strings.Split(row[col], ",") {
		n := map[string]string{"SCC": "SCC", "VCC": "VCC", "EXEC": "EXEC", "M0": "M0", "MODE": "MODE", "FLAT_SCRATCH": "FlatScratch"}[r]
		if n == "" {
			log.Fatalf("%s: register %q", row[""], r)
		}
		out = append(out, "Reg"+n)
	}
	return strings.Join(out, "|")
}

var flagName = map[string]string{
	"atomic": "Atomic", "barrier": "Barrier", "branch": "Branch", "cache": "Cache", "call": "Call", "cond": "Cond",
	"crosslane": "Crosslane", "d16": "D16", "dot": "Dot", "dp": "DP", "dst_also_src": "DstAlsoSrc", "dual": "Dual",
	"endpgm": "End", "export": "Export", "flat": "Flat", "gds": "GDS", "hint": "Hint", "indirect": "Indirect", "lds": "LDS",
	"literal": "Literal", "load": "Load", "mfma": "MFMA", "msg": "Msg", "rtn": "Rtn", "rtn_opt": "RtnOpt",
	"scalar_mem": "ScalarMem", "smfmac": "SMFMAC", "store": "Store", "swmmac": "SWMMAC", "trans": "Trans", "w64": "W64",
	"wait": "Wait", "wmma": "WMMA", "writes_exec": "WritesExec", "writes_scc": "WritesSCC",
}

var formName = map[string]string{"dpp16": "DPP16", "dpp8": "DPP8", "sdwa": "SDWA", "x": "SlotX", "y": "SlotY"}

func (g *gen) emit() []byte {
	var b bytes.Buffer
	p := func(f string, a ...any) { fmt.Fprintf(&b, f, a...) }
	p("// Code generated by genisa from tables/; DO NOT EDIT.\n\npackage isa\n\n")
	p("var operandPool = [...]Operand{\n%s,\n}\n\n", strings.Join(g.pool, ",\n"))
	p("var layouts = [...]layout{\n{},\n")
	for _, l := range g.lay {
		p("{fields: [numField]place{%s}, signedOffset: %t}, // %s %s\n", strings.Join(l.fields, ", "), l.signed, l.fam, l.name)
	}
	p("}\n\nvar layoutSets = [...][5]uint8{\n%s,\n}\n\n", strings.Join(g.sets, ",\n"))
	p("var ops = [...]Op{\n%s,\n}\n\n", strings.Join(g.ops, ",\n"))
	p("var encodings = [...]encoding{\n%s,\n}\n\n", strings.Join(g.encs, ",\n"))
	p("const encVOP3PX = %d\n\n", g.px)
	p("var encOf = [numArch][512]uint8{\n")
	for _, row := range g.encOf {
		p("{%s},\n", ints(row[:]))
	}
	p("}\n\nvar opIndex = [...]uint16{\n%s,\n}\n", ints(g.index))
	p("\n")
	g.names(p)
	return b.Bytes()
}

func ints(v []int) string {
	var b strings.Builder
	for i, n := range v {
		if i > 0 {
			b.WriteString(", ")
			if i%32 == 0 {
				b.WriteString("\n")
			}
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}
