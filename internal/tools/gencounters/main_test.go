package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tables = "../../perfctr/tables"

// TestCommitted regenerates the package's tables: the committed file must be the generator's output.
func TestCommitted(t *testing.T) {
	got, err := generate(tables)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../perfctr/tables_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("tables_gen.go is not what the tables give: run go generate ./internal/perfctr")
	}
}

// TestBadRows: a wrong cell is refused with its file and line.
func TestBadRows(t *testing.T) {
	for _, tc := range badRows {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(tables)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, tc.file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), tc.from) {
			t.Fatalf("%s has no %q", tc.file, tc.from)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), tc.from, tc.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = generate(dir)
		if err == nil || !strings.Contains(err.Error(), tc.file+":") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, %q for %q: %v, want %q", tc.file, tc.to, tc.from, err, tc.want)
		}
	}
	if _, err := generate(t.TempDir()); err == nil {
		t.Error("no tables are no error")
	}
}

var badRows = []struct{ file, from, to, want string }{
	{"targets.tsv", "\t9.4.2", "\t9.4.1", `"9.4.1"`},
	{"blocks.tsv", "gfx90a,", "gfx908,", `target "gfx908"`},
	{"blocks.tsv", "\tdie\t", "\tdice\t", `scope "dice"`},
	{"blocks.tsv", "\t64\tPERF_SEL", "\t48\tPERF_SEL", "48 is neither"},
	{"blocks.tsv", "\tPERF_SEL\t", "\tPERF\t", "has no field PERF"},
	{"blocks.tsv", "GRBM\t2", "GRBM\t3", "has no GRBM_PERFCOUNTER2_SELECT"},
	{"blocks.tsv", "SIMD_MASK=0xf", "SIMD_MASK=0x1f", "does not fit"},
	{"blocks.tsv", "SIMD_MASK=0xf", "SIMDS=0xf", "has no field SIMDS"},
	{"counters.tsv", "\tyes\n", "\tperhaps\n", `"perhaps" is not`},
	{"counters.tsv", "\tCPC\t", "\tCPD\t", "has no block CPD"},
	{"counters.tsv", "CPC_CPC_STAT_IDLE", "CPC_CPC_STAT_BUSY", "is listed twice"},
	{"descriptions.tsv", "GRBM_COUNT", "GRBM_COUNTS", "no target counts GRBM_COUNTS"},
	{"descriptions.tsv", "SQ_WAVES\t", "SQ_ITEMS\t", "is described twice"},
	{"program.tsv", "\treset\t", "\tsetup\t", `phase "setup"`},
	{"program.tsv", "\tCP_PERFMON_CNTL\t", "\tCP_PERFMON\t", "has no CP_PERFMON"},
	{"program.tsv", "9.4.2,", "9.4.1,", `"9.4.1"`},
	{"metrics.tsv", "gfx90a", "gfx908", `target "gfx908"`},
}
