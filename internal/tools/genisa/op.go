package main

import (
	"fmt"
	"strconv"
	"strings"
)

func (g *gen) operands(row map[string]string, format string) (first, count int) {
	if row["operands"] == "-" {
		return 0, 0
	}
	var list []string
	for _, o := range strings.Split(row["operands"], ";") {
		p := strings.Split(o, ":")
		if len(p) != 5 {
			bad("%s: operand %q", row[""], o)
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
			bad("%s: unknown field %q", row[""], p[0])
		}
		dir := map[string]string{"in": "In", "out": "Out", "inout": "InOut", "out_rtn": "OutRtn"}[p[1]]
		if dir == "" {
			bad("%s: direction %q", row[""], p[1])
		}
		bits, err := strconv.Atoi(p[2])
		if err != nil {
			bad("%s: %v", row[""], err)
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
			bad("%s: type %q", row[""], s)
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
			bad("%s: unknown flag %q", row[""], w)
		}
		flags = append(flags, "Flag"+n)
	}
	for _, w := range strings.Split(row["forms"], ",") {
		if w == "-" {
			continue
		}
		n, ok := formName[w]
		if !ok {
			bad("%s: unknown form %q", row[""], w)
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
				bad("%s: modifier %q: %v", row[""], w, err)
			}
		}
		shift, ok := map[string]int{"abs": 0, "neg": 3, "neg_hi": 6, "opsel": 9, "hi": 13, "clamp": 16, "omod": 17, "cbsz": 18, "abid": 21, "blgp": 25, "lds": 28}[name]
		if !ok {
			bad("%s: modifier %q", row[""], w)
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
			bad("%s: register %q", row[""], r)
		}
		out = append(out, "Reg"+n)
	}
	return strings.Join(out, "|")
}
