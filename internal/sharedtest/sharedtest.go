// Package sharedtest finds the reference data that stands beside the repository, for tests.
package sharedtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Path is the path of an entry of ../shared, seen from the module's root. It skips the test where the entry is absent.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = up
	}
	p := filepath.Join(append([]string{dir, "..", "shared"}, elem...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("%s is absent: the check against it is left out", filepath.Join(append([]string{"..", "shared"}, elem...)...))
	}
	return p
}
