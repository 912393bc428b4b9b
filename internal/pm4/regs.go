package pm4

import (
	"fmt"
	"slices"
	"strings"
)

// Reg is a register's absolute dword address.
type Reg uint32

// Register spaces, by dword address. SET_SH_REG and SET_UCONFIG_REG write the two that a compute queue may.
const (
	configBase  Reg = 0x2000
	shBase      Reg = 0x2c00
	shEnd       Reg = 0x3000
	uconfigBase Reg = 0xc000
	uconfigEnd  Reg = 0x10000
)

// ShBase and UconfigBase are what the offsets of SET_SH_REG and SET_UCONFIG_REG count from.
const (
	ShBase      = shBase
	UconfigBase = uconfigBase
)

// Field is a bit field of a register: bits Lo to Hi, inclusive.
type Field struct {
	Name   string
	Lo, Hi uint8
}

// Mask is the field's bits in place.
func (f Field) Mask() uint32 { return uint32(1<<(f.Hi-f.Lo+1)-1) << f.Lo }

// Get takes the field's value from a register's.
func (f Field) Get(v uint32) uint32 { return v & f.Mask() >> f.Lo }

// Put is v in the field's place, cut to its width.
func (f Field) Put(v uint32) uint32 { return v << f.Lo & f.Mask() }

type regRow struct {
	name        string
	abs         Reg
	first, end  uint16 // of its fields in fieldPool
	enum, enumN uint16 // of its value names in enumPool
}

// RegTable is the registers of one header version.
type RegTable struct {
	GC     string // that was asked for
	Arch   string // header version whose rows these are
	gen    generation
	rows   []regRow // by address
	byName []uint16 // of rows, by name
}

// generation is a column of the packet table.
type generation uint8

const (
	gfx9 generation = iota
	gfx11
	gfx12
)

// RegsFor is the register table of a GC version as a device states it ("11.0.2").
func RegsFor(gc string) (*RegTable, error) {
	for i := range gcTables {
		if gcTables[i].GC == gc {
			return &gcTables[i], nil
		}
	}
	return nil, fmt.Errorf("pm4: no registers of GC %q are known", gc)
}

// Lookup finds a register by name.
func (t *RegTable) Lookup(name string) (Reg, bool) {
	i, ok := slices.BinarySearchFunc(t.byName, name, func(r uint16, name string) int { return strings.Compare(t.rows[r].name, name) })
	if !ok {
		return 0, false
	}
	return t.rows[t.byName[i]].abs, true
}

func (t *RegTable) row(r Reg) *regRow {
	i, ok := slices.BinarySearchFunc(t.rows, r, func(row regRow, r Reg) int { return int(row.abs) - int(r) })
	if !ok {
		return nil
	}
	return &t.rows[i]
}

// Name is a register's name, or "" if the table lacks the address.
func (t *RegTable) Name(r Reg) string {
	if row := t.row(r); row != nil {
		return row.name
	}
	return ""
}

// Fields is a register's fields, lowest first. The slice is the table's own.
func (t *RegTable) Fields(r Reg) []Field {
	if row := t.row(r); row != nil {
		return fieldPool[row.first:row.end:row.end]
	}
	return nil
}

// Field finds one field of a register by both names.
func (t *RegTable) Field(reg, field string) (Field, bool) {
	r, ok := t.Lookup(reg)
	if !ok {
		return Field{}, false
	}
	for _, f := range t.Fields(r) {
		if f.Name == field {
			return f, true
		}
	}
	return Field{}, false
}

// All lists the table's registers by address.
func (t *RegTable) All() []Reg {
	out := make([]Reg, len(t.rows))
	for i := range t.rows {
		out[i] = t.rows[i].abs
	}
	return out
}
