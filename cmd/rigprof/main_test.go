package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asRigprof is set where the test binary is to be rigprof.
const asRigprof = "TEST_AS_RIGPROF"

func TestMain(m *testing.M) {
	if os.Getenv(asRigprof) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"rigprof": main})
}

// A signal ends what reads at once, and no file is left.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "decode", "--target", "gfx942", "-o", filepath.Join(dir, "out.csv"), "-")
	cmd.Env = append(os.Environ(), asRigprof+"=1", "TMPDIR="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds: it is being read
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code tells
	if code := cmd.ProcessState.ExitCode(); code != 130 || errs.String() != "rigprof: interrupted (interrupt)\n" {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Names from files cannot drive the terminal, whatever way they take there.
func TestErrorsForTerminal(t *testing.T) {
	data, err := os.ReadFile(vaddFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a\x1b[31m.co")
	if err := os.WriteFile(file, bytes.ReplaceAll(data, []byte("vadd\x00"), []byte("va\x1b\x07\x00")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"asm", "--kernel", "x", file}, {"asm", file + "\x1b]0;x\x07"}, {"show", file}, {"asm", "--\x1b[1m", file}, {"\x1b[1m"}} {
		code, out, errs := rigprof(args...)
		if code == 0 || bytes.ContainsAny([]byte(out+errs), "\x1b\x07") {
			t.Errorf("%q: exit code %d, %q%q", args, code, out, errs)
		}
	}
}

// TestScripts runs testdata/script/*.txtar: what a user types and what comes back.
func TestScripts(t *testing.T) {
	data, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("KERNELS", data+"/../../testdata/kernels")
			e.Setenv("TESTDATA", data+"/../../testdata")
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/.config")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitcode,
			"json":     jsonCmd,
		},
	})
}
