package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `rigprof profiles AMD GPU kernels without ROCm: it writes the command packets, speaks to the kernel driver
and decodes the hardware's traces itself. Without a GPU it runs kernels on a simulated one.

Every flag may also be set as RIGPROF_<FLAG> or in rigprof.yaml (flag over environment over file over default).`

func newRootCmd(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "rigprof",
		Short:         "Profile AMD GPU kernels",
		Long:          rootLong,
		Args:          noArgs,
		SilenceErrors: true, // report prints them
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			e.recording.Store(cmd.Annotations[records] != "")
			if cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
				return nil
			}
			if err := e.configure(cmd); err != nil && cmd.Name() != "version" { // which works whatever the settings say
				return err
			}
			return keepInputs(cmd, args)
		},
	}
	root.Version = buildVersion()
	root.SetVersionTemplate("rigprof {{.Version}}\n")
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().String("config", "", "settings `file` (default rigprof.yaml here, then in the user's configuration)")
	root.AddGroup(
		&cobra.Group{ID: "record", Title: "Record:"},
		&cobra.Group{ID: "read", Title: "Read:"},
		&cobra.Group{ID: "explain", Title: "Explain:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("record", newTraceCmd(e), newCountersCmd(e))
	add("read", newShowCmd(e), newHotspotsCmd(e), newAnnotateCmd(e), newWavesCmd(e), newExportCmd(e), newDecodeCmd(e))
	add("explain", newListCmd(e), newAsmCmd(e), newPM4Cmd(e), newInfoCmd(e), newVersionCmd(e))
	completeValues(root)
	return root
}

func newVersionCmd(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print rigprof's version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, "table", "json"); err != nil {
				return err
			}
			e.started = true
			v := buildVersion()
			if format == "json" {
				return writeJSON(e.Out, map[string]string{
					"schema": "rigprof/version/1", "version": v,
					"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				})
			}
			_, err := fmt.Fprintf(e.Out, "rigprof %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "output `format`: table or json")
	return cmd
}

// buildVersion is what the linker was told, else what the module system knows.
func buildVersion() string {
	if version != "" {
		return version
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return bi.Main.Version
	}
	return "devel"
}

// keepInputs refuses an output that would replace a file that the command reads, or a capture; and one that is named like a capture, which it is not.
func keepInputs(cmd *cobra.Command, args []string) error {
	f := cmd.Flags().Lookup("output")
	if f == nil {
		return nil
	}
	if name := f.Value.String(); filepath.Ext(name) == ".rigprof" || isCapture(name) {
		what := "outputs are views of captures, and none replaces one"
		if cmd.Annotations[records] != "" {
			what = "it takes the view; --capture names the capture"
		}
		return fmt.Errorf("--output %s: %s", name, what)
	}
	out, err := os.Stat(f.Value.String())
	if err != nil || !out.Mode().IsRegular() { // new, or a device
		return nil
	}
	inputs := slices.Clone(args)
	if code, err := cmd.Flags().GetStringArray("code"); err == nil {
		for _, c := range code {
			inputs = append(inputs, c)
			if i := strings.LastIndexByte(c, '@'); i > 0 {
				inputs = append(inputs, c[:i])
			}
		}
	}
	for _, in := range inputs {
		if st, err := os.Stat(in); err == nil && os.SameFile(st, out) {
			return fmt.Errorf("--output %s would replace %s, which the command reads", f.Value, in)
		}
	}
	return nil
}

// oneOf is nil if value is one of the allowed ones of a flag.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s %q: want %s", flag, value, strings.Join(allowed, ", "))
}
