// Package gentest is what the generators' tests share.
package gentest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BadRow is a change to a table that the generator must refuse.
type BadRow = struct{ File, From, To, Want string }

// Committed fails t unless generate gives from the tables what is committed at out.
func Committed(t *testing.T, generate func(dir string) ([]byte, error), tables, out string) {
	t.Helper()
	got, err := generate(tables)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the tables give: run go generate %s", filepath.Base(out), filepath.Dir(out))
	}
}

// Refused fails t unless each wrong cell is refused with its file and line, and a folder without tables too.
func Refused(t *testing.T, generate func(dir string) ([]byte, error), tables string, rows []BadRow) {
	t.Helper()
	for _, tc := range rows {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(tables)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, tc.File)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), tc.From) {
			t.Fatalf("%s has no %q", tc.File, tc.From)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), tc.From, tc.To, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = generate(dir)
		if err == nil || !strings.Contains(err.Error(), tc.File+":") || !strings.Contains(err.Error(), tc.Want) {
			t.Errorf("%s, %q for %q: %v, want %q", tc.File, tc.To, tc.From, err, tc.Want)
		}
	}
	if _, err := generate(t.TempDir()); err == nil {
		t.Error("no tables are no error")
	}
}
