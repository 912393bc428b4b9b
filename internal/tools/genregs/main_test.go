package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tables = "../../sqtt/tables"

// TestCommitted regenerates the package's tables: the committed file must be the generator's output.
func TestCommitted(t *testing.T) {
	got, err := generate(tables)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../sqtt/regs_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("regs_gen.go is not what the tables give: run go generate ./internal/sqtt")
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
