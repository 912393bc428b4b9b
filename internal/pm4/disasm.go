package pm4

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

type fieldKind uint8

const (
	kindNum   fieldKind = iota
	kindHex             // shown in place, so that an address without its low bits stays an address
	kindReg             // a register's absolute address
	kindEvent           // a VGT_EVENT_TYPE
)

type valueName struct {
	value uint32
	name  string
}

type enumName struct {
	field, name string
	value       uint32 // of the field, or with bit the number of a bit of it
	bit         bool
}

// condition holds when the named earlier field's value is one of the mask's bits.
type condition struct {
	field string
	mask  uint32
}

type packetField struct {
	dword  uint8 // from 1, the header
	name   string
	lo, hi uint8
	kind   fieldKind
	rest   bool // repeats to the packet's end
	when   []condition
	values []valueName
}

type packetRow struct {
	op     Op
	name   string
	fields []packetField
}

func packetOf(g generation, op Op) *packetRow {
	i, ok := slices.BinarySearchFunc(packetTables[g], op, func(r packetRow, op Op) int { return int(r.op) - int(op) })
	if !ok {
		return nil
	}
	return &packetTables[g][i]
}

// String is the packet's name, or its opcode where no generation's table has it.
func (op Op) String() string {
	for g := range packetTables {
		if r := packetOf(generation(g), op); r != nil {
			return r.name
		}
	}
	return fmt.Sprintf("opcode %#02x", uint8(op))
}

// OpName is the packet's name on the table's generation, or "".
func (t *RegTable) OpName(op Op) string {
	if r := packetOf(t.gen, op); r != nil {
		return r.name
	}
	return ""
}

// EventName is the name of an event type (bits 0..5 of EVENT_WRITE's second dword), or "".
func (t *RegTable) EventName(event uint32) string {
	return nameOf(eventNames[t.gen], event&0x3f)
}

func nameOf(vs []valueName, v uint32) string {
	for i := range vs {
		if vs[i].value == v {
			return vs[i].name
		}
	}
	return ""
}

// Disassemble writes words as text, a line a packet and one more for each register it writes: the packet's place in dwords, its
// name, and its fields that are not 0. Packets that a PRED_EXEC governs are indented. What is no packet ends it with a *PacketError,
// after a line that shows the word.
func Disassemble(w io.Writer, gc string, words []uint32) error {
	t, err := RegsFor(gc)
	if err != nil {
		return err
	}
	d := &disassembler{t: t, w: bufio.NewWriter(w)}
	var bad error
	for p, err := range Packets(words) {
		if err != nil {
			bad = err
			for i := p.Off; i < min(len(words), p.Off+8); i++ {
				fmt.Fprintf(d.w, "%06x  %08x ?\n", i, words[i])
			}
			break
		}
		d.packet(p)
	}
	if err := d.w.Flush(); err != nil {
		return fmt.Errorf("pm4: write disassembly: %w", err)
	}
	return bad
}

type disassembler struct {
	t       *RegTable
	w       *bufio.Writer
	predEnd int // dword where the last PRED_EXEC's reach ends
}

func (d *disassembler) packet(p Packet) {
	indent := ""
	if p.Off < d.predEnd {
		indent = "  "
	}
	row := packetOf(d.t.gen, p.Op)
	if row == nil {
		fmt.Fprintf(d.w, "%06x  %sopcode %#02x, %d dwords: no packet of this generation's compute queues\n", p.Off, indent, uint8(p.Op), len(p.Raw))
		return
	}
	fmt.Fprintf(d.w, "%06x  %s%s", p.Off, indent, row.name)
	if p.Predicated() {
		d.w.WriteString(" predicated")
	}
	switch p.Op {
	case OpSetShReg, OpSetUconfigReg, OpSetShRegIndex, OpSetConfigReg:
		d.set(p, indent)
		return
	case OpNop:
		fmt.Fprintf(d.w, " %d dwords\n", len(p.Raw))
		return
	case OpPredExec:
		if len(p.Body) > 0 {
			d.predEnd = p.Off + 2 + int(p.Body[0]&MaxPredExec)
			fmt.Fprintf(d.w, " dies %#x, next %d dwords\n", p.Body[0]>>24, p.Body[0]&MaxPredExec)
			return
		}
	}
	for i := range row.fields {
		f := &row.fields[i]
		if !row.applies(f, p.Raw) {
			continue
		}
		for dw := int(f.dword) - 1; dw < len(p.Raw); dw++ {
			d.field(f, p.Raw[dw])
			if !f.rest {
				break
			}
		}
	}
	d.w.WriteByte('\n')
}

// applies reports whether the field is there in a packet of these dwords.
func (r *packetRow) applies(f *packetField, raw []uint32) bool {
	for _, c := range f.when {
		ok := false
		for i := range r.fields {
			if o := &r.fields[i]; o.name == c.field && int(o.dword) <= len(raw) {
				v := Field{Lo: o.lo, Hi: o.hi}.Get(raw[o.dword-1])
				ok = v < 32 && c.mask>>v&1 != 0
				break
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (d *disassembler) field(f *packetField, dword uint32) {
	bits := Field{Lo: f.lo, Hi: f.hi}
	v := bits.Get(dword)
	name := ""
	switch f.kind {
	case kindReg:
		fmt.Fprintf(d.w, " %s=%s", f.name, d.reg(Reg(v)))
		return
	case kindHex:
		if f.name == "dispatch_initiator" {
			if r, ok := d.t.Lookup("COMPUTE_DISPATCH_INITIATOR"); ok {
				d.w.WriteByte(' ')
				d.value(r, dword)
				return
			}
		}
		if dword&bits.Mask() != 0 || f.rest || strings.HasSuffix(f.name, "_lo") {
			fmt.Fprintf(d.w, " %s=%#x", f.name, dword&bits.Mask())
		}
		return
	case kindEvent:
		name = d.t.EventName(v)
	default:
		name = nameOf(f.values, v)
	}
	switch {
	case v == 0 && (name == "" || f.name != "src_sel" && f.name != "dst_sel"):
	case name != "":
		fmt.Fprintf(d.w, " %s=%s", f.name, name)
	default:
		fmt.Fprintf(d.w, " %s=%d", f.name, v)
	}
}

func (d *disassembler) reg(r Reg) string {
	if n := d.t.Name(r); n != "" {
		return n
	}
	return fmt.Sprintf("%#x", uint32(r))
}

// set shows the registers that a SET packet writes, each on a line of its own unless it is the only one.
func (d *disassembler) set(p Packet, indent string) {
	if len(p.Body) == 0 {
		d.w.WriteByte('\n')
		return
	}
	base := Reg(0)
	switch p.Op {
	case OpSetShReg, OpSetShRegIndex:
		base = shBase
	case OpSetUconfigReg:
		base = uconfigBase
	case OpSetConfigReg:
		base = configBase
	}
	r := base + Reg(p.Body[0]&0xffff)
	if i := p.Body[0] >> 28; i != 0 {
		fmt.Fprintf(d.w, " index=%d", i)
	}
	vals := p.Body[1:]
	for i, v := range vals {
		if len(vals) > 1 {
			fmt.Fprintf(d.w, "\n        %s  ", indent)
		} else {
			d.w.WriteByte(' ')
		}
		d.value(r+Reg(i), v)
	}
	d.w.WriteByte('\n')
}

// value shows a register's value with its fields that are not 0.
func (d *disassembler) value(r Reg, v uint32) {
	fmt.Fprintf(d.w, "%s=%#x", d.reg(r), v)
	fields := d.t.Fields(r)
	if len(fields) == 0 || len(fields) == 1 && fields[0].Lo == 0 {
		return
	}
	row := d.t.row(r)
	sep := " {"
	rest := v
	for _, f := range fields {
		x := f.Get(v)
		rest &^= f.Mask()
		names := fieldNames(enumPool[row.enum:row.enum+row.enumN], f.Name, x)
		if x == 0 && (names == "" || f.Name != "MODE" && f.Name != "PERFMON_STATE") {
			continue
		}
		fmt.Fprintf(d.w, "%s%s=", sep, f.Name)
		switch {
		case names != "":
			d.w.WriteString(names)
		case f.Hi-f.Lo >= 8:
			fmt.Fprintf(d.w, "%#x", x)
		default:
			fmt.Fprintf(d.w, "%d", x)
		}
		sep = " "
	}
	if rest != 0 {
		fmt.Fprintf(d.w, "%sreserved=%#x", sep, rest)
		sep = " "
	}
	if sep == " " {
		d.w.WriteByte('}')
	}
}

// fieldNames names a field's value, or the set bits of it; "" where the table has no name.
func fieldNames(enums []enumName, field string, v uint32) string {
	var out []string
	for _, e := range enums {
		switch {
		case e.field != field:
		case !e.bit && e.value == v:
			return e.name
		case e.bit && v>>e.value&1 != 0:
			out = append(out, e.name)
			v &^= 1 << e.value
		}
	}
	if out == nil {
		return ""
	}
	// Many bits' names start alike: what they share is written once.
	prefix := out[0]
	for _, n := range out[1:] {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndexByte(prefix, '_')+1]
	if len(out) > 1 && prefix != "" {
		for i := range out {
			out[i] = strings.TrimPrefix(out[i], prefix)
		}
		prefix += "{"
	} else {
		prefix = ""
	}
	if v != 0 {
		out = append(out, fmt.Sprintf("%#x", v))
	}
	s := prefix + strings.Join(out, "|")
	if prefix != "" {
		s += "}"
	}
	return s
}
