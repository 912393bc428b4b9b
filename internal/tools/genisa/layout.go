package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rows reads a table: its rows as maps from column to value, with their place for messages.
func (g *gen) rows(name string) []map[string]string {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		bad("%v", err)
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
			bad("%s:%d: %d cells, want %d", name, i+1, len(cells), len(head))
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
		bad("%s: %s: %v", row[""], col, err)
	}
	return int(n)
}

// hex96 parses a number of up to 128 bits.
func hex96(row map[string]string, col string) (v [2]uint64) {
	s := strings.TrimPrefix(row[col], "0x")
	var err error
	if n := len(s) - 16; n > 0 {
		if v[1], err = strconv.ParseUint(s[:n], 16, 64); err != nil {
			bad("%s: %s: %v", row[""], col, err)
		}
		s = s[n:]
	}
	if v[0], err = strconv.ParseUint(s, 16, 64); err != nil {
		bad("%s: %s: %v", row[""], col, err)
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
				bad("%s: field %q", row[""], f)
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
				bad("%s: unknown field %q", row[""], p[0])
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
					bad("%s: opcode %d is taken", row[""], k.code)
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
