package tsv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "t.tsv")
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRead(t *testing.T) {
	tab, err := Read(write(t, "# a head\nname\tbits\tlist\n\nx\t0x10\ta,b\ny\t7\t\n"), "name", "bits", "list")
	if err != nil || len(tab.Rows) != 2 {
		t.Fatalf("%v %v", tab, err)
	}
	x, y := tab.Rows[0], tab.Rows[1]
	if x.Str("name") != "x" || x.Uint("bits", 31) != 16 || len(x.List("list", ",")) != 2 || x.Line != 4 {
		t.Errorf("row x: %+v", x)
	}
	if y.Uint("bits", 7) != 7 || y.List("list", ",") != nil || tab.Err() != nil {
		t.Errorf("row y: %+v %v", y, tab.Err())
	}
	y.Uint("bits", 6)
	x.Errorf("a later error")
	x.Str("nothing")
	if err := tab.Err(); err == nil || !strings.HasSuffix(err.Error(), `t.tsv:5: bits: "7" is no number up to 6`) {
		t.Errorf("the first error: %v", err)
	}
}

func TestBadTables(t *testing.T) {
	for text, want := range map[string]string{
		"a\tc\n":       `t.tsv:1: columns are "a c", want "a b"`,
		"a\tb\nx\n":    "t.tsv:2: 1 cells, want 2",
		"#\n#\nb\ta\n": "t.tsv:3: columns",
	} {
		if _, err := Read(write(t, text), "a", "b"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), "a"); err == nil {
		t.Error("a table that is not there is read")
	}
}
