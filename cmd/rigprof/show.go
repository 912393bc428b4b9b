package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/report"
)

type showOptions struct {
	renderOptions
	View     string
	Per      string
	HostTime bool
	Strict   bool
}

func newShowCmd(e *env) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:     "show CAPTURE|-",
		Short:   "Show a capture again, in any format",
		Example: "  rigprof show vadd.rigprof\n  rigprof show --format chrome -o vadd.json vadd.rigprof",
		Args:    named("a capture", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			e.started = true
			c, done, err := openCapture(e, args[0])
			if err != nil {
				return err
			}
			defer done()
			v, q, err := o.view(c)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := e.render(v, q, &o.renderOptions); err != nil {
				return err
			}
			return e.strict(o.Strict, q)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.View, "view", "auto", "what to show: auto, trace or counters")
	cmd.Flags().StringVar(&o.Per, "per", "", "counters: `unit` gives a row per die, engine, array and WGP (CU on gfx9)")
	cmd.Flags().BoolVar(&o.HostTime, "host-time", false, hostTimeHelp)
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "exit with 3 where the data is less than was asked for")
	return cmd
}

// openCapture opens a capture, also one that can be read once alone. Call done at the end.
func openCapture(e *env, name string) (c *capture.Capture, done func(), err error) {
	if !readOnce(name) {
		if c, err = capture.Open(name); err != nil {
			return nil, nil, notCapture(name, err)
		}
		return c, func() { _ = c.Close() }, nil // only read
	}
	kept, size, err := spool(e.In, name)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = kept.Close() } // only read
	if c, err = capture.Read(kept, size); err != nil {
		var head [64]byte
		n, _ := kept.ReadAt(head[:], 0)
		done()
		return nil, nil, captureError(name, head[:n], err)
	}
	return c, done, nil
}

// notCapture is err of opening a file as a capture, which may be none.
func notCapture(name string, err error) error {
	if !errors.Is(err, capture.ErrNotCapture) {
		return folder(name, aCapture, err)
	}
	f, ferr := os.Open(name)
	if ferr != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	var head [64]byte
	n, _ := f.ReadAt(head[:], 0)
	return captureError(name, head[:n], err)
}

func (o *showOptions) validate() error {
	if err := o.renderOptions.validate(); err != nil {
		return err
	}
	if o.HostTime && o.Format != "chrome" {
		return errors.New("--host-time is for --format chrome")
	}
	if err := oneOf("view", o.View, "auto", "trace", "counters"); err != nil {
		return err
	}
	if o.Per != "" && o.Per != "unit" {
		return fmt.Errorf("--per %q: want unit, or leave it out", o.Per)
	}
	return nil
}

// view chooses what the capture holds.
func (o *showOptions) view(c *capture.Capture) (view, *report.Quality, error) {
	if o.View == "counters" || o.View == "auto" && len(c.Counters) > 0 && len(c.Traces) == 0 {
		v, err := report.Counters(c)
		if err != nil {
			return nil, nil, err
		}
		v.PerUnit, v.HostTime = o.Per == "unit", o.HostTime
		return v, &v.Quality, nil
	}
	if o.Per != "" {
		return nil, nil, &codeError{exitUsage, errors.New("--per is for counters: the view is the trace's (--view counters shows them)")}
	}
	v, err := report.Trace(c)
	if err != nil {
		return nil, nil, err
	}
	v.HostTime = o.HostTime
	return v, &v.Quality, nil
}
