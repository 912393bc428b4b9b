package main

import (
	"testing"

	"github.com/rigprof/rigprof/internal/tools/gentest"
)

const tables = "../../sqtt/tables"

// TestCommitted regenerates the package's tables.
func TestCommitted(t *testing.T) { gentest.Committed(t, generate, tables, "../../sqtt/regs_gen.go") }

// TestBadRows: a wrong cell is refused with its file and line.
func TestBadRows(t *testing.T) { gentest.Refused(t, generate, tables, badRows) }

var badRows = []gentest.BadRow{
	{"regs.tsv", "\twrite\t", "\twrites\t", `op "writes"`},
	{"regs.tsv", "CS_PARTIAL_FLUSH", "CS_FLUSH", `event "CS_FLUSH"`},
	{"regs.tsv", "9.4.2,", "9.4.1,", `"9.4.1"`},
	{"regs.tsv", "\tSPI_CONFIG_CNTL", "\tSPI_CONFIG", "has no SPI_CONFIG"},
	{"regs.tsv", "EXP_PRIORITY_ORDER=3", "EXP_PRIORITY=3", "has no field EXP_PRIORITY"},
	{"regs.tsv", "EXP_PRIORITY_ORDER=3", "EXP_PRIORITY_ORDER=8", "does not fit"},
	{"regs.tsv", "EXP_PRIORITY_ORDER=3", "EXP_PRIORITY_ORDER=x", "is no number"},
	{"regs.tsv", "CU_SEL=unit", "WGP_SEL=unit", "names no field"},
	{"regs.tsv", "CU_SEL=unit", "REG_STALL_EN=unit", "is given twice"},
	{"regs_tokens.tsv", "gfx9\t", "9\t", `family "9"`},
	{"regs_tokens.tsv", "misc\t0", "misc\t16", "no number up to 15"},
}
