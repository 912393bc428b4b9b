// Command rigprof profiles AMD GPU kernels: it records thread traces and counters of a code object's kernels on a
// GPU or on the simulated one, and shows what they say.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker (see the Makefile).
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is one invocation of rigprof; it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	e := newEnv(in, out, errw)
	root := newRootCmd(e)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return e.report(cmd, err)
}
