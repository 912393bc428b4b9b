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
	Source string
}

func newAsmCmd(e *env) *cobra.Command {
	var o asmOptions
	cmd := &cobra.Command{
		Use:     "asm FILE",
		Short:   "Disassemble a code object's kernels, with labels, source lines and what they use",
		Example: "  rigprof asm vadd.co\n  rigprof asm --kernel transpose_lds --source src transpose.co",
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
				text := report.AsmText{Lines: o.Lines || o.Source != ""}
				if o.Source != "" {
					text.Source = sources(o.Source)
				}
				return a.Text(w, text)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kernel, "kernel", "", "only the kernel or function of this `name`")
	f.StringVar(&o.Target, "target", "", "of a file with several code objects, the one for this `target`")
	f.StringVar(&o.Format, "format", "text", "output `format`: text, csv or json")
	f.BoolVar(&o.Lines, "lines", true, "show source lines where the object has them")
	f.StringVar(&o.Source, "source", "", "show the text of source lines too; `folder` is where the files are (--source alone: here)")
	f.Lookup("source").NoOptDefVal = "."
	f.StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
	return cmd
}
