// Genpm4 writes package pm4's tables of registers, fields, packets and value names from its tables/*.tsv.
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
	"strings"

	"github.com/rigprof/rigprof/internal/tools/tsv"
)

var gens = []string{"gfx9", "gfx11", "gfx12"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("genpm4: ")
	dir := flag.String("dir", ".", "the package's directory")
	out := flag.String("out", "tables_gen.go", "file to write, in the package's directory")
	flag.Parse()
	src, err := generate(filepath.Join(*dir, "tables"))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*dir, *out), src, 0o644); err != nil {
		log.Fatal(err)
	}
}

type field struct {
	name   string
	lo, hi uint64
}

type register struct {
	name   string
	abs    uint64
	fields []field
}

func generate(dir string) ([]byte, error) {
	g := &generator{pool: map[string]int{}, enums: map[string][]enum{}}
	for _, f := range []func(string) error{g.registers, g.values, g.packets} {
		if err := f(dir); err != nil {
			return nil, err
		}
	}
	return g.render()
}

type enum struct {
	field, name string
	bit         bool
	value       uint64
}

type generator struct {
	archs   []string // in order of gc.tsv
	gcs     [][3]string
	regs    map[string][]register // by arch
	fields  []field
	pool    map[string]int    // list of fields -> its start in fields
	enums   map[string][]enum // by gen and register
	packet  bytes.Buffer      // rendered packet tables
	ops     map[string]uint64
	opOrder []string
}

func (g *generator) registers(dir string) error {
	gc, err := tsv.Read(filepath.Join(dir, "gc.tsv"), "gc", "arch", "gen")
	if err != nil {
		return err
	}
	for _, r := range gc.Rows {
		g.gcs = append(g.gcs, [3]string{r.Str("gc"), r.Str("arch"), r.Str("gen")})
		if !slices.Contains(gens, r.Str("gen")) {
			r.Errorf("gen %q is not one of %v", r.Str("gen"), gens)
		}
		if !slices.Contains(g.archs, r.Str("arch")) {
			g.archs = append(g.archs, r.Str("arch"))
		}
	}
	if gc.Err() != nil {
		return gc.Err()
	}
	ft, err := tsv.Read(filepath.Join(dir, "fields.tsv"), "archs", "register", "fields")
	if err != nil {
		return err
	}
	fields := map[string][]field{}
	for _, r := range ft.Rows {
		var fs []field
		for _, s := range r.List("fields", " ") {
			name, bits, ok := strings.Cut(s, ":")
			lo, hi, ok2 := strings.Cut(bits, "-")
			if !ok || !ok2 {
				r.Errorf("fields: %q is not NAME:lo-hi", s)
				continue
			}
			f := field{name, r.Num("fields", lo, 31), r.Num("fields", hi, 31)}
			if f.hi < f.lo || len(fs) > 0 && f.lo < fs[len(fs)-1].lo {
				r.Errorf("fields: %s is out of order", s)
			}
			fs = append(fs, f)
		}
		for _, a := range r.List("archs", ",") {
			if fields[a+" "+r.Str("register")] != nil {
				r.Errorf("%s of %s is listed twice", r.Str("register"), a)
			}
			fields[a+" "+r.Str("register")] = fs
		}
	}
	if ft.Err() != nil {
		return ft.Err()
	}
	rt, err := tsv.Read(filepath.Join(dir, "registers.tsv"), "archs", "register", "abs", "space")
	if err != nil {
		return err
	}
	g.regs = map[string][]register{}
	for _, r := range rt.Rows {
		reg := register{name: r.Str("register"), abs: r.Uint("abs", 0xffff)}
		lo, hi := uint64(0), uint64(0)
		switch r.Str("space") {
		case "sh":
			lo, hi = 0x2c00, 0x3000
		case "uconfig":
			lo, hi = 0xc000, 0x10000
		case "config":
			lo, hi = 0x2000, 0xa000
		}
		if reg.abs < lo || reg.abs >= hi {
			r.Errorf("%s: %#x is not in space %q", reg.name, reg.abs, r.Str("space"))
		}
		for _, a := range r.List("archs", ",") {
			if !slices.Contains(g.archs, a) {
				r.Errorf("arch %q is not in gc.tsv", a)
			}
			reg.fields = fields[a+" "+reg.name]
			delete(fields, a+" "+reg.name)
			for _, o := range g.regs[a] {
				if o.abs == reg.abs || o.name == reg.name {
					r.Errorf("%s of %s meets %s at %#x", reg.name, a, o.name, o.abs)
				}
			}
			g.regs[a] = append(g.regs[a], reg)
		}
	}
	if rt.Err() != nil {
		return rt.Err()
	}
	for _, r := range ft.Rows {
		for _, a := range r.List("archs", ",") {
			if fields[a+" "+r.Str("register")] != nil {
				r.Errorf("%s of %s has fields but no address in registers.tsv", r.Str("register"), a)
			}
		}
	}
	return ft.Err()
}

func (g *generator) values(dir string) error {
	t, err := tsv.Read(filepath.Join(dir, "enums.tsv"), "gens", "register", "field", "kind", "value", "name")
	if err != nil {
		return err
	}
	for _, r := range t.Rows {
		k := r.Str("kind")
		if k != "value" && k != "bit" {
			r.Errorf("kind %q is neither value nor bit", k)
		}
		for _, gen := range r.List("gens", ",") {
			key := gen + " " + r.Str("register")
			g.enums[key] = append(g.enums[key], enum{r.Str("field"), r.Str("name"), k == "bit", r.Uint("value", 1<<16)})
		}
	}
	return t.Err()
}

// packets renders the packet tables: per generation the packets by opcode, with spans of one list of fields.
func (g *generator) packets(dir string) error {
	t, err := tsv.Read(filepath.Join(dir, "packets.tsv"), "gens", "packet", "opcode", "dword", "field", "lo", "hi", "kind", "when", "values")
	if err != nil {
		return err
	}
	kinds := map[string]string{"num": "kindNum", "hex": "kindHex", "reg": "kindReg", "event": "kindEvent"}
	g.ops = map[string]uint64{}
	type pfield struct {
		at   uint64 // dword and low bit
		text string
	}
	type prow struct {
		op     uint64
		name   string
		fields []pfield
	}
	tables := make([][]prow, len(gens))
	for _, r := range t.Rows {
		name, op := r.Str("packet"), r.Uint("opcode", 255)
		if o, ok := g.ops[name]; !ok {
			g.ops[name] = op
			g.opOrder = append(g.opOrder, name)
		} else if o != op {
			r.Errorf("%s has opcodes %#x and %#x", name, o, op)
		}
		line, at := "", uint64(0)
		if r.Str("field") != "" {
			dw, rep := strings.CutSuffix(r.Str("dword"), "+")
			kind := kinds[r.Str("kind")]
			if kind == "" {
				r.Errorf("kind %q is unknown", r.Str("kind"))
			}
			dword, lo := r.Num("dword", dw, 16), r.Uint("lo", 31)
			at = dword<<8 | lo
			line = fmt.Sprintf("{dword: %d, name: %q, lo: %d, hi: %d, kind: %s", dword, r.Str("field"), lo, r.Uint("hi", 31), kind)
			if rep {
				line += ", rest: true"
			}
			if w := r.List("when", " "); w != nil {
				line += ", when: []condition{"
				for _, c := range w {
					f, vs, ok := strings.Cut(c, "=")
					if !ok {
						r.Errorf("when: %q is not field=value|…", c)
					}
					mask := uint64(0)
					for _, v := range strings.Split(vs, "|") {
						mask |= 1 << r.Num("when", v, 31)
					}
					line += fmt.Sprintf("{%q, %#x}, ", f, mask)
				}
				line += "}"
			}
			if vs := r.List("values", ";"); vs != nil {
				line += ", values: []valueName{"
				for _, v := range vs {
					n, x, ok := strings.Cut(v, "=")
					if !ok {
						r.Errorf("values: %q is not name=value", v)
					}
					line += fmt.Sprintf("{%d, %q}, ", r.Num("values", x, 1<<31), n)
				}
				line += "}"
			}
			line += "},\n"
		}
		for _, gen := range r.List("gens", ",") {
			i := slices.Index(gens, gen)
			if i < 0 {
				r.Errorf("gen %q is not one of %v", gen, gens)
				continue
			}
			j := slices.IndexFunc(tables[i], func(p prow) bool { return p.name == name })
			if j < 0 {
				j = len(tables[i])
				tables[i] = append(tables[i], prow{op: op, name: name})
			}
			if line != "" {
				tables[i][j].fields = append(tables[i][j].fields, pfield{at, line})
			}
		}
	}
	if t.Err() != nil {
		return t.Err()
	}
	fmt.Fprintf(&g.packet, "var packetTables = [...][]packetRow{\n")
	for i, gen := range gens {
		slices.SortFunc(tables[i], func(a, b prow) int { return int(a.op) - int(b.op) })
		fmt.Fprintf(&g.packet, "%s: {\n", gen)
		for j, p := range tables[i] {
			if j > 0 && tables[i][j-1].op == p.op {
				return fmt.Errorf("%s: %s and %s of %s share opcode %#x", t.Path, tables[i][j-1].name, p.name, gen, p.op)
			}
			slices.SortStableFunc(p.fields, func(a, b pfield) int { return int(a.at) - int(b.at) })
			fmt.Fprintf(&g.packet, "{op: %#x, name: %q, fields: []packetField{\n", p.op, p.name)
			for _, f := range p.fields {
				g.packet.WriteString(f.text)
			}
			g.packet.WriteString("}},\n")
		}
		fmt.Fprintf(&g.packet, "},\n")
	}
	fmt.Fprintf(&g.packet, "}\n")
	return nil
}

func (g *generator) render() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by genpm4 from tables/*.tsv. DO NOT EDIT.\n\npackage pm4\n\n// Opcodes of compute queues' packets.\nconst (\n")
	for _, name := range g.opOrder {
		fmt.Fprintf(&b, "Op%s Op = %#02x // %s\n", camel(name), g.ops[name], name)
	}
	fmt.Fprintf(&b, ")\n\n%s\n", g.packet.String())
	var enums []string
	for i, a := range g.archs {
		regs := g.regs[a]
		slices.SortFunc(regs, func(a, b register) int { return int(a.abs) - int(b.abs) })
		gen := ""
		for _, gc := range g.gcs {
			if gc[1] == a {
				gen = gc[2]
			}
		}
		fmt.Fprintf(&b, "var rows%d = [...]regRow{ // %s\n", i, a)
		for _, r := range regs {
			first := g.span(r.fields)
			e0 := len(enums)
			for _, e := range g.enums[gen+" "+r.name] {
				enums = append(enums, fmt.Sprintf("{%q, %q, %d, %v},\n", e.field, e.name, e.value, e.bit))
			}
			fmt.Fprintf(&b, "{%q, %#x, %d, %d, %d, %d},\n", r.name, r.abs, first, first+len(r.fields), e0, len(enums)-e0)
		}
		fmt.Fprintf(&b, "}\n\nvar names%d = [...]uint16{", i)
		idx := make([]int, len(regs))
		for j := range idx {
			idx[j] = j
		}
		slices.SortFunc(idx, func(a, b int) int { return strings.Compare(regs[a].name, regs[b].name) })
		for j, k := range idx {
			if j%24 == 0 {
				fmt.Fprintf(&b, "\n")
			}
			fmt.Fprintf(&b, "%d, ", k)
		}
		fmt.Fprintf(&b, "\n}\n\n")
	}
	fmt.Fprintf(&b, "var gcTables = [...]RegTable{\n")
	for _, gc := range g.gcs {
		i := slices.Index(g.archs, gc[1])
		fmt.Fprintf(&b, "{GC: %q, Arch: %q, gen: %s, rows: rows%d[:], byName: names%d[:]},\n", gc[0], gc[1], gc[2], i, i)
	}
	fmt.Fprintf(&b, "}\n\nvar fieldPool = [...]Field{\n")
	for _, f := range g.fields {
		fmt.Fprintf(&b, "{%q, %d, %d},\n", f.name, f.lo, f.hi)
	}
	fmt.Fprintf(&b, "}\n\nvar enumPool = [...]enumName{\n%s}\n\n", strings.Join(enums, ""))
	fmt.Fprintf(&b, "var eventNames = [...][]valueName{\n")
	for _, gen := range gens {
		fmt.Fprintf(&b, "%s: {\n", gen)
		for _, e := range g.enums[gen+" EVENT_WRITE"] {
			fmt.Fprintf(&b, "{%d, %q},\n", e.value, e.name)
		}
		fmt.Fprintf(&b, "},\n")
	}
	fmt.Fprintf(&b, "}\n")
	return format.Source(b.Bytes())
}

// span finds the list of fields in the pool, or adds it.
func (g *generator) span(fs []field) int {
	key := fmt.Sprint(fs)
	if at, ok := g.pool[key]; ok {
		return at
	}
	at := len(g.fields)
	g.pool[key] = at
	g.fields = append(g.fields, fs...)
	return at
}

// camel turns SET_UCONFIG_REG into SetUconfigReg.
func camel(s string) string {
	var b strings.Builder
	for _, w := range strings.Split(s, "_") {
		b.WriteString(w[:1] + strings.ToLower(w[1:]))
	}
	return b.String()
}
