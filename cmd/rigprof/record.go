package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/open"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/session"
)

// recordOptions are the flags of every command that records a code object.
type recordOptions struct {
	renderOptions
	Device  string
	Flags   launch.Flags
	Check   bool
	Save    []string
	Timeout time.Duration
	Capture string
	Strict  bool
	Target  string

	Overhead bool
	HostTime bool

	launch *launch.Launch
	saves  []launch.Save
}

const launchHelp = `
TARGET is an AMDGPU code object (.co, .hsaco; - is standard input), or a file with code objects inside (HIP fat binary, offload bundle, host
program). How to launch its kernel comes from flags, or from a launch file.

  --grid is in work items, --groups in workgroups, --block in work items of a workgroup.
  --arg gives the kernel's parameters in order:
    i32:5 u64:7 f32:2.5 f16:1             a number
    buf:4096                              a zeroed buffer of that many bytes
    buf:f32[1024]=iota|rand:SEED|const:1|@file   a filled buffer
    lds:BYTES ptr:ADDRESS bytes:HEX       dynamic LDS, an address, a structure`

func (o *recordOptions) flags(cmd *cobra.Command) {
	o.renderOptions.flags(cmd)
	f := cmd.Flags()
	f.Lookup("output").Usage = "write the view to `file`; --capture names the recording"
	f.StringVar(&o.Device, "device", "auto", "`device` to run on: auto, 0, 1, …, sim, sim:gfx1100, … (see 'rigprof list gpus')")
	f.StringVar(&o.Flags.Launch, "launch", "", "take the launch from `FILE.yaml#NAME`; the flags below replace what it says")
	f.StringVar(&o.Flags.Kernel, "kernel", "", "`name` of the kernel, or a part: scale for app::scale<float>(float*) (not needed where the object has one)")
	f.StringVar(&o.Flags.Grid, "grid", "", "`X[,Y[,Z]]` work items in all")
	f.StringVar(&o.Flags.Groups, "groups", "", "`X[,Y[,Z]]` workgroups, instead of --grid")
	f.StringVar(&o.Flags.Block, "block", "", "`X[,Y[,Z]]` work items of a workgroup (default 64, or what the kernel requires)")
	f.StringArrayVar(&o.Flags.Args, "arg", nil, "`value` of the next parameter, see above")
	f.BoolVar(&o.Check, "check", false, "verify the buffers that the launch file describes; exit with 1 if one is wrong")
	f.StringArrayVar(&o.Save, "save", nil, "write a buffer back after the launch: `N=FILE`, N its position from 0 or its name")
	f.DurationVar(&o.Timeout, "timeout", time.Minute, "stop the GPU's work after this `time` (0: never)")
	f.StringVar(&o.Capture, "capture", "", "capture `file` (default NAME.rigprof; an existing file is never overwritten, -1, -2, … is added)")
	f.BoolVar(&o.Overhead, "overhead", false, "run the launch twice without recording first, to tell what recording costs (overhead_ns)")
	f.BoolVar(&o.HostTime, "host-time", false, hostTimeHelp)
	f.BoolVar(&o.Strict, "strict", false, "exit with 3 where the data is less than was asked for")
	cmd.Annotations = map[string]string{records: "yes"}
}

func (o *recordOptions) validate() error {
	if err := o.renderOptions.validate(); err != nil {
		return err
	}
	if o.Output != "" { // a folder that is missing should not be found out after a long run
		if _, err := os.Stat(filepath.Dir(o.Output)); err != nil {
			return fmt.Errorf("--output %s: %w", o.Output, err)
		}
	}
	if o.Timeout < 0 {
		return fmt.Errorf("--timeout %v: want 0 or more", o.Timeout)
	}
	var err error
	if o.launch, err = o.Flags.Parse(); err != nil {
		return err
	}
	for _, s := range o.Save {
		sv, err := launch.ParseSave(s)
		if err != nil {
			return err
		}
		o.saves = append(o.saves, sv)
	}
	if o.HostTime && o.Format != "chrome" {
		return errors.New("--host-time is for --format chrome")
	}
	if o.Check && o.Flags.Launch == "" {
		return errors.New("--check needs a launch file with checks: --launch FILE.yaml#NAME")
	}
	return nil
}

const hostTimeHelp = "chrome: write the profile's events alone (work, copies, spans, memory, counters, traces) by the host's clock"

// recording is one run of a recording command.
type recording struct {
	session.Options
	path string // of the capture
	dev  device.Device
}

// begin reads the target, opens the device and creates the capture.
func (o *recordOptions) begin(ctx context.Context, e *env, tool string) (*recording, error) {
	data, err := e.codeFile(o.Target)
	if err != nil {
		return nil, err
	}
	if _, err := codeobj.Objects(data); err != nil {
		return nil, codeFileError(o.Target, data, err)
	}
	dev, err := openDevice(ctx, e, o.Device, data, o.launch.Kernel)
	if err != nil {
		return nil, err
	}
	name := o.Capture
	if name == "" {
		base := filepath.Base(o.Target)
		if o.Target == "-" {
			base = "stdin"
		}
		name = strings.TrimSuffix(base, filepath.Ext(base)) + ".rigprof"
	}
	w, path, err := capture.Create(name)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	if o.Overhead && dev.Info().Simulated {
		e.notef("--overhead: recording takes none of a simulated GPU's time")
	}
	return &recording{path: path, dev: dev, Options: session.Options{
		Device: dev, Name: o.Target, Data: data, Launch: o.launch, Timeout: o.Timeout, Check: o.Check, Saves: o.saves, Capture: w,
		Notef: e.notef, Overhead: o.Overhead,
		Meta: capture.Meta{
			Tool: "rigprof " + tool, Version: buildVersion(), CreatedNs: time.Now().UnixNano(), Command: os.Args,
			Host: capture.Host{OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: readHost("/").Kernel, CPUs: runtime.NumCPU()},
		},
	}}, nil
}

// end closes capture and device, renders what was recorded, and turns the recording's error into an exit code.
func (r *recording) end(e *env, o *recordOptions, out *session.Outcome, err error, show func(c *capture.Capture) (view, *report.Quality, error)) error {
	err = errors.Join(err, r.Capture.Close(), r.dev.Close())
	c, rerr := capture.Open(r.path)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	defer func() { _ = c.Close() }() // only read
	if len(c.Dispatches) == 0 {      // nothing ran: no capture to keep
		if err != nil {
			_ = os.Remove(r.path) // ours, and without content
			return o.recordError(err)
		}
	}
	v, q, verr := show(c)
	if verr == nil {
		verr = e.render(v, q, &o.renderOptions)
	}
	e.notef("capture %s ('rigprof show %s' shows it again)", r.path, r.path)
	if err != nil {
		return o.recordError(err)
	}
	if verr != nil {
		return verr
	}
	if len(out.Wrong) > 0 {
		for _, f := range out.Wrong {
			e.notef("%v", f)
		}
		return &codeError{exitCheckFailed, fmt.Errorf("--check: %s of %d wrong", report.Plural(int64(len(out.Wrong)), "buffer"), out.Checked)}
	}
	if o.Check {
		e.notef("--check: %s right", report.Plural(int64(out.Checked), "buffer"))
	}
	return e.strict(o.Strict, q)
}

// recordError gives a time-out its exit code; all else is the commands' own.
func (o *recordOptions) recordError(err error) error {
	if _, ok := errors.AsType[*session.TimeoutError](err); ok {
		return &codeError{exitTimeout, err}
	}
	if errors.Is(err, context.DeadlineExceeded) { // nothing but --timeout sets a deadline
		return &codeError{exitTimeout, fmt.Errorf("--timeout %v passed before the kernel ended: %w", o.Timeout, err)}
	}
	if le, ok := errors.AsType[*launch.Error](err); ok && len(le.Detail) > 0 {
		return fmt.Errorf("%s\n  %s", le.Error(), strings.Join(le.Detail, "\n  "))
	}
	return err
}

// openDevice opens what --device says. Where that leaves the choice open, it is one that runs the target's code.
func openDevice(ctx context.Context, e *env, spec string, data []byte, kernel string) (device.Device, error) {
	objects, err := codeobj.Objects(data)
	if err != nil {
		return nil, err
	}
	target := ""
	for _, o := range objects {
		obj, err := codeobj.Open(o.Data)
		if err != nil || gpu.FamilyOf(o.Target.Processor) == gpu.Unknown {
			continue // Choose names what is wrong with it, if it is the one to run
		}
		if _, err := obj.Kernel(kernel); err == nil {
			target = o.Target.String()
			break
		}
		target = cmp.Or(target, o.Target.String()) // where it would run, but for its name: the error is about that
	}
	return open.Device(ctx, spec, open.Options{Target: target, Warn: func(msg string) { e.notef("%s", msg) }})
}
