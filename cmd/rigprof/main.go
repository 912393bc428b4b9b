// Command rigprof profiles AMD GPU kernels: it records thread traces and counters of a code object's kernels on a
// GPU or on the simulated one, and shows what they say.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker (see the Makefile).
var version = ""

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := (<-sigs).(syscall.Signal) // os/signal delivers nothing else here
		signal.Stop(sigs)              // a second one ends the program at once
		cancel(&interruptError{s})
	}()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(code)
}

// interruptError is why a signal ended the run.
type interruptError struct{ signal syscall.Signal }

func (e *interruptError) Error() string { return "interrupted (" + e.signal.String() + ")" }

// code is the exit code, as shells give it to what a signal ended.
func (e *interruptError) code() int { return 128 + int(e.signal) }

// run is one invocation of rigprof; it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	e := newEnv(in, out, errw)
	root := newRootCmd(e)
	root.SetArgs(args)
	defer context.AfterFunc(ctx, func() { e.abandon(context.Cause(ctx)) })()
	cmd, err := root.ExecuteContextC(ctx)
	if cause, ok := errors.AsType[*interruptError](context.Cause(ctx)); ok && err != nil {
		err = &codeError{cause.code(), cause}
	}
	return e.report(cmd, err)
}
