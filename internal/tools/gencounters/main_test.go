package main

import (
	"testing"

	"github.com/rigprof/rigprof/internal/tools/gentest"
)

const tables = "../../perfctr/tables"

// TestCommitted regenerates the package's tables.
func TestCommitted(t *testing.T) {
	gentest.Committed(t, generate, tables, "../../perfctr/tables_gen.go")
}

// TestBadRows: a wrong cell is refused with its file and line.
func TestBadRows(t *testing.T) { gentest.Refused(t, generate, tables, badRows) }

var badRows = []gentest.BadRow{
	{"targets.tsv", "\t9.4.2", "\t9.4.1", `"9.4.1"`},
	{"blocks.tsv", "gfx90a,", "gfx908,", `target "gfx908"`},
	{"blocks.tsv", "\tdie\t", "\tdice\t", `scope "dice"`},
	{"blocks.tsv", "\t64\tPERF_SEL", "\t48\tPERF_SEL", "48 is neither"},
	{"blocks.tsv", "\tPERF_SEL\t", "\tPERF\t", "has no field PERF"},
	{"blocks.tsv", "GRBM\t2", "GRBM\t3", "has no GRBM_PERFCOUNTER2_SELECT"},
	{"blocks.tsv", "SIMD_MASK=0xf", "SIMD_MASK=0x1f", "does not fit"},
	{"blocks.tsv", "SIMD_MASK=0xf", "SIMDS=0xf", "has no field SIMDS"},
	{"counters.tsv", "\tyes\t", "\tperhaps\t", `"perhaps" is not`},
	{"counters.tsv", "soc24_enum.h: 97", "soc24_enum.h: 148", `"soc24_enum.h: 148" is not a source with another number`},
	{"counters.tsv", "soc24_enum.h: 97", "soc24_enum.h 97", "is no number up to 1023"},
	{"counters.tsv", "\tCPC\t", "\tCPD\t", "has no block CPD"},
	{"counters.tsv", "CPC_CPC_STAT_IDLE", "CPC_CPC_STAT_BUSY", "is listed twice"},
	{"descriptions.tsv", "GRBM_COUNT", "GRBM_COUNTS", "no target counts GRBM_COUNTS"},
	{"descriptions.tsv", "SQ_WAVES\t", "SQ_ITEMS\t", "is described twice"},
	{"program.tsv", "\treset\t", "\tsetup\t", `phase "setup"`},
	{"program.tsv", "\tCP_PERFMON_CNTL\t", "\tCP_PERFMON\t", "has no CP_PERFMON"},
	{"program.tsv", "9.4.2,", "9.4.1,", `"9.4.1"`},
	{"metrics.tsv", "gfx90a", "gfx908", `target "gfx908"`},
}
