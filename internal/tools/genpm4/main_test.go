package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tables = "../../pm4/tables"

// TestCommitted regenerates the package's tables: the committed file must be the generator's output.
func TestCommitted(t *testing.T) {
	got, err := generate(tables)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../pm4/tables_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("tables_gen.go is not what the tables give: run go generate ./internal/pm4")
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
