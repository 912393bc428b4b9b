package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rigprof/rigprof/"

// layers is ARCHITECTURE.md's list: a package imports only packages of lower rows. A row covers the packages below it.
var layers = []string{
	"cmd/rigprof",
	"internal/report",
	"internal/analysis",
	"internal/session",
	"internal/launch",
	"internal/capture",
	"internal/device",
	"internal/chrome",
	"internal/profile",
	"internal/perfctr",
	"internal/sqtt",
	"internal/isa",
	"internal/codeobj",
	"internal/pm4",
	"internal/gpu",
	"configs",
}

// never lists imports (by prefix) that a package must not have even though the layers allow them, and why.
var never = []struct{ pkg, imports, why string }{
	{"internal/sqtt", "internal/perfctr", "what joins them is above both"},
	{"internal/perfctr", "internal/sqtt", "what joins them is above both"},
	{"internal/chrome", "internal/sqtt", "it knows events, not tokens"},
	{"internal/chrome", "internal/perfctr", "it knows events, not counters"},
	{"internal/device", "internal/sqtt", "the simulated GPU shares no code with the decoder that reads it"},
	{"internal/device", "internal/perfctr", "the simulated GPU shares no code with what reads its counters"},
	{"internal/profile", "internal/", "it knows nothing below but time"},
	{"internal/session", "internal/report", "a session knows nothing of views"},
	{"internal/report", "internal/device", "a view knows nothing of devices"},
	{"internal/report", "internal/session", "a view needs a capture alone"},
	{"internal/capture", "internal/device", "a capture is a file"},
}

// pure packages take slices, readers and writers and give values: no files, clock, environment or logging.
var (
	pure   = []string{"internal/gpu", "internal/pm4", "internal/perfctr", "internal/sqtt", "internal/isa", "internal/chrome"}
	impure = []string{"os", "os/exec", "net", "net/http", "log", "log/slog", "time", "golang.org/x/sys", "syscall"}
)

// homes says where alone a dependency may stand.
var homes = map[string][]string{
	"golang.org/x/sys/unix":              {"internal/device"},
	"golang.org/x/sys/cpu":               {"internal/device", "internal/sqtt"}, // what the processor can
	"github.com/spf13/":                  {"cmd/rigprof"},
	"github.com/olekukonko/tablewriter":  {"cmd/rigprof"},
	"github.com/klauspost/compress/zstd": {"internal/capture", "internal/codeobj"},
}

func layer(pkg string) int {
	for i, l := range layers {
		if under(pkg, l) {
			return i
		}
	}
	return -1
}

func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,Standard", "-deps", module+"...").Output()
	if err != nil {
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			t.Skipf("go list: %v: %s", err, ee.Stderr)
		}
		t.Skipf("go list: %v", err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Standard   bool
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || under(pkg, "internal/tools") || under(pkg, "internal/sharedtest") {
			continue
		}
		seen++
		for _, problem := range check(pkg, p.Imports) {
			t.Error(problem)
		}
	}
	if seen < 3 {
		t.Errorf("go list named %d packages of the module", seen)
	}
}

// check says what is wrong with a package's imports.
func check(pkg string, imports []string) []string {
	var bad []string
	complain := func(imp, why string) { bad = append(bad, pkg+" imports "+imp+": "+why) }
	if layer(pkg) < 0 {
		bad = append(bad, pkg+" is in no layer: give it a row in layers and in ARCHITECTURE.md")
	}
	for _, imp := range imports {
		own, ours := strings.CutPrefix(imp, module)
		if ours {
			if a, b := layer(pkg), layer(own); b < a {
				complain(imp, "it stands above")
			} else if a == b && !under(own, layers[max(a, 0)]) {
				complain(imp, "it stands beside")
			}
			for _, n := range never {
				if under(pkg, n.pkg) && (under(own, n.imports) || strings.HasSuffix(n.imports, "/") && strings.HasPrefix(own, n.imports)) && !under(own, n.pkg) {
					complain(imp, n.why)
				}
			}
			continue
		}
		if slices.ContainsFunc(pure, func(l string) bool { return under(pkg, l) }) && slices.Contains(impure, imp) {
			complain(imp, "this package is pure")
		}
		for dep, at := range homes {
			if strings.HasPrefix(imp, dep) && !slices.ContainsFunc(at, func(l string) bool { return under(pkg, l) }) {
				complain(imp, "it belongs in "+strings.Join(at, ", "))
			}
		}
	}
	return bad
}

// TestCheck proves that the rules can fail.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		bad      bool
	}{
		{"internal/sqtt", module + "internal/pm4", false},
		{"internal/pm4", module + "internal/sqtt", true},
		{"internal/perfctr", module + "internal/sqtt", true},
		{"internal/profile", module + "internal/gpu", true},
		{"internal/device/sim/trace", module + "internal/sqtt", true},
		{"internal/device/sim", module + "internal/device", false},
		{"internal/report", module + "internal/device", true},
		{"internal/sqtt", "os", true},
		{"internal/session", "os", false},
		{"internal/sqtt", "golang.org/x/sys/unix", true},
		{"internal/sqtt", "golang.org/x/sys/cpu", false},
		{"internal/session", "golang.org/x/sys/cpu", true},
		{"internal/stray", "fmt", true},
	} {
		if got := len(check(c.pkg, []string{c.imp})) > 0; got != c.bad {
			t.Errorf("%s imports %s: bad is %v, want %v", c.pkg, c.imp, got, c.bad)
		}
	}
}
