package main

import (
	"testing"

	"github.com/rigprof/rigprof/internal/tools/gentest"
)

const tables = "../../pm4/tables"

// TestCommitted regenerates the package's tables.
func TestCommitted(t *testing.T) { gentest.Committed(t, generate, tables, "../../pm4/tables_gen.go") }

// TestBadRows: a wrong cell is refused with its file and line.
func TestBadRows(t *testing.T) { gentest.Refused(t, generate, tables, badRows) }

var badRows = []gentest.BadRow{
	{"gc.tsv", "\tgfx9\n", "\tgfx8\n", `gen "gfx8"`},
	{"fields.tsv", "INSTANCE_INDEX:0-7", "INSTANCE_INDEX:0", "is not NAME:lo-hi"},
	{"fields.tsv", "INSTANCE_INDEX:0-7", "INSTANCE_INDEX:9-7", "is out of order"},
	{"fields.tsv", "INSTANCE_INDEX:0-7", "INSTANCE_INDEX:0-77", "no number up to 31"},
	{"registers.tsv", "GRBM_GFX_INDEX\t0x0c200", "GRBM_GFX_INDEX\t0x02e00", "is not in space"},
	{"registers.tsv", "\tCOMPUTE_DIM_X\t0x02e01", "\tCOMPUTE_DIM_X\t0x02e02", "meets"},
	{"fields.tsv", "\tGRBM_GFX_INDEX\t", "\tGRBM_GFX_INDEX_\t", "has fields but no address"},
	{"enums.tsv", "\tbit\t", "\tbits\t", `kind "bits"`},
	{"packets.tsv", "\tnum\t", "\tnumber\t", `kind "number"`},
	{"packets.tsv", "mem_space=1", "mem_space", "is not field=value"},
	{"packets.tsv", "lru=0", "lru", "is not name=value"},
	{"packets.tsv", "gfx9,", "gfx8,", `gen "gfx8"`},
	{"packets.tsv", "\tDISPATCH_DIRECT\t0x15\t3", "\tDISPATCH_DIRECT\t0x16\t3", "has opcodes 0x15 and 0x16"},
}
