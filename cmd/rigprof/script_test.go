package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// exitcode runs rigprof and checks its exit code: exitcode 2 decode --format x.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N args...")
	}
	var out, errb bytes.Buffer
	e := exitcodeRunner(ts, &out, &errb, args[1:])
	fmt.Fprint(ts.Stdout(), out.String())
	fmt.Fprint(ts.Stderr(), errb.String())
	if want, err := strconv.Atoi(args[0]); err != nil || e != want {
		ts.Fatalf("rigprof %s: exit code %d, want %s\n%s", strings.Join(args[1:], " "), e, args[0], errb.String())
	}
}

// exitcodeRunner runs the program as a child, so that its working directory and environment are the script's.
func exitcodeRunner(ts *testscript.TestScript, out, errb *bytes.Buffer, args []string) int {
	err := ts.Exec("rigprof", args...)
	out.WriteString(ts.ReadFile("stdout"))
	errb.WriteString(ts.ReadFile("stderr"))
	if err == nil {
		return 0
	}
	var n int
	if _, serr := fmt.Sscanf(err.Error(), "exit status %d", &n); serr != nil {
		ts.Fatalf("rigprof: %v", err)
	}
	return n
}

// jsonCmd checks values of a JSON file: json FILE path=value..., path as in dispatches.0.kernel; len counts an array.
func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: json FILE path=value...")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil {
		ts.Fatalf("%s is not one JSON document: %v", args[0], err)
	}
	for _, a := range args[1:] {
		path, want, _ := strings.Cut(a, "=")
		got := doc
		for key := range strings.SplitSeq(path, ".") {
			switch v := got.(type) {
			case map[string]any:
				got = v[key]
			case []any:
				if key == "len" {
					got = float64(len(v))
					continue
				}
				i, err := strconv.Atoi(key)
				if err != nil || i >= len(v) {
					ts.Fatalf("%s: no %s", args[0], path)
				}
				got = v[i]
			default:
				ts.Fatalf("%s: no %s", args[0], path)
			}
		}
		if f, ok := got.(float64); ok {
			got = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if s := fmt.Sprint(got); s != want {
			ts.Fatalf("%s: %s is %s, want %s", args[0], path, s, want)
		}
	}
}
