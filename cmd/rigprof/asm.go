package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/report"
)

type asmOptions struct {
	Kernel string
	Target string
	Format string
	Output string
	Lines  bool
}

func newAsmCmd(e *env) *cobra.Command {
	var o asmOptions
	cmd := &cobra.Command{
		Use:     "asm FILE",
		Short:   "Disassemble a code object's kernels, with source lines",
		Example: "  rigprof asm vadd.co\n  rigprof asm --kernel transpose_lds --format csv transpose.co",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", o.Format, "text", "csv", "json"); err != nil {
				return err
			}
			e.started = true
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			obj, err := codeobj.Choose(data, o.Target, o.Kernel)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			a, err := report.Disassemble(obj, o.Kernel)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return e.output(o.Output, func(w io.Writer) error {
				switch o.Format {
				case "csv":
					return a.CSV().CSV(w)
				case "json":
					return report.WriteJSON(w, a)
				}
				return a.Text(w, o.Lines)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kernel, "kernel", "", "only the kernel or function of this `name`")
	f.StringVar(&o.Target, "target", "", "of a file with several code objects, the one for this `target`")
	f.StringVar(&o.Format, "format", "text", "output `format`: text, csv or json")
	f.BoolVar(&o.Lines, "lines", true, "show source lines where the object has them")
	f.StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
	return cmd
}
