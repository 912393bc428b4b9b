package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/report"
)

type asmOptions struct {
	File   string
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
		Use:   "asm FILE",
		Short: "Disassemble a code object's kernels, with labels, source lines and what they use",
		Long: `Disassemble a code object (- is standard input), or those inside a host program, library or offload bundle: each kernel and function with labels
where branches go, the source lines of its debug information, and what the kernel's descriptor asks for.

Instructions print as LLVM 22 prints them. Bytes that LLVM refuses print as .long, as llvm-objdump does, with a comment: why
they are no instruction, or what hardware runs them as where only bits are set that mean nothing.`,
		Example: "  rigprof asm vadd.co\n  rigprof asm --kernel transpose_lds --source=src transpose.co\n  rigprof asm --target gfx942 --format json libapp.so",
		Args:    named(theCode, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			if err := oneOf("format", o.Format, "text", "csv", "json"); err != nil {
				return err
			}
			e.started = true
			return runAsm(e, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kernel, "kernel", "", "only the kernel or function of this `name`, or of which it is a part: scale for app::scale<float>(float*)")
	f.StringVar(&o.Target, "target", "", "of a file with code for several targets, take this `target`")
	f.StringVar(&o.Format, "format", "text", "output `format`: text, csv or json")
	f.BoolVar(&o.Lines, "lines", true, "show source lines where the object has them")
	f.StringVar(&o.Source, "source", "", "show the text of source lines too; `folder` is where the files are (--source alone: here)")
	f.Lookup("source").NoOptDefVal = "."
	f.StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
	return cmd
}

func runAsm(e *env, o asmOptions) error {
	data, err := e.codeFile(o.File)
	if err != nil {
		return err
	}
	objects, err := e.asmObjects(data, o)
	if err != nil {
		return codeFileError(o.File, data, err)
	}
	a, err := disassembleAll(objects, o.Kernel)
	if err != nil {
		return fmt.Errorf("%s: %w", o.File, err)
	}
	text := report.AsmText{Lines: o.Lines || o.Source != ""}
	found := true
	if o.Source != "" {
		read := sources(o.Source)
		found = false
		text.Source = func(file string, line int) (string, bool) {
			s, ok := read(file, line)
			found = found || ok
			return s, ok
		}
	}
	err = e.output(o.Output, func(w io.Writer) error {
		switch o.Format {
		case "csv":
			return a.CSV().CSV(w)
		case "json":
			return report.WriteJSON(w, a)
		}
		return a.Text(w, text)
	})
	if err == nil && !found && o.Format == "text" {
		e.noteSources(objects, o)
	}
	return err
}

// asmObjects opens the objects to disassemble: those of one target, or the one that holds the kernel.
func (e *env) asmObjects(data []byte, o asmOptions) ([]*codeobj.Object, error) {
	embedded, err := codeobj.Objects(data)
	if err != nil {
		return nil, err
	}
	target := o.Target
	if target == "" && o.Kernel == "" { // the first that can be disassembled
		if i := slices.IndexFunc(embedded, func(em codeobj.Embedded) bool { _, ok := isa.ArchOf(em.Target.Processor); return ok }); i >= 0 {
			target = embedded[i].Target.String()
		}
	}
	first, err := codeobj.Choose(data, target, o.Kernel)
	if err != nil {
		if first = functionIn(embedded, o); first == nil {
			return nil, err
		}
	}
	objects := []*codeobj.Object{first}
	chosen := first.Target
	if i := slices.IndexFunc(embedded, func(em codeobj.Embedded) bool { return bytes.Equal(em.Data, first.Data) }); i >= 0 {
		chosen = embedded[i].Target // the bundle may say more than the object
	}
	var others []string
	for _, em := range embedded {
		switch {
		case em.Target != chosen:
			others = append(others, em.Target.String())
		case o.Kernel == "" && !bytes.Equal(em.Data, first.Data):
			obj, err := codeobj.Open(em.Data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", em.ID, err)
			}
			objects = append(objects, obj)
		}
	}
	if len(others) > 0 && o.Target == "" {
		slices.Sort(others)
		e.notef("this is %s; the file has code for %s too: --target chooses", chosen, strings.Join(slices.Compact(others), ", "))
	}
	return objects, nil
}

// functionIn is the first object that has the function asked for, or a kernel that a part of its name names; nil: none.
func functionIn(embedded []codeobj.Embedded, o asmOptions) *codeobj.Object {
	want, err := codeobj.ParseTarget(o.Target)
	for _, em := range embedded {
		if o.Kernel == "" || o.Target != "" && (err != nil || !em.Target.RunsOn(want)) {
			continue
		}
		if obj, err := codeobj.Open(em.Data); err == nil {
			if _, err := report.Disassemble(obj, o.Kernel); err == nil {
				return obj
			}
		}
	}
	return nil
}

// disassembleAll makes one document of several objects' functions. Objects without code are passed over where others have some.
func disassembleAll(objects []*codeobj.Object, kernel string) (*report.Asm, error) {
	var all *report.Asm
	var first error
	for i, obj := range objects {
		a, err := report.Disassemble(obj, kernel)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if len(objects) > 1 {
			for k := range a.Functions {
				a.Functions[k].Object = i + 1
			}
		}
		if all == nil {
			all = a
		} else {
			all.Functions = append(all.Functions, a.Functions...)
		}
	}
	if all == nil {
		return nil, first
	}
	return all, nil
}

// noteSources says why no source was shown.
func (e *env) noteSources(objects []*codeobj.Object, o asmOptions) {
	for _, obj := range objects {
		switch err := obj.DebugError(); {
		case err != nil:
			e.notef("no source lines: %v", err)
			return
		case obj.HasLines():
			e.notef("the source files are not in %q: --source=FOLDER says where they are", o.Source)
			return
		}
	}
	e.notef("no source lines: the object has no debug information (compile with -g)")
}
