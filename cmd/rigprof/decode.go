package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/sqtt"
)

type decodeOptions struct {
	renderOptions
	Target string
	Header string
	Strict bool
	Files  []string
	Code   []string
}

func newDecodeCmd(e *env) *cobra.Command {
	var o decodeOptions
	cmd := &cobra.Command{
		Use:   "decode [flags] FILE...",
		Short: "Decode thread trace files of any AMD tool: waves, tokens, clock",
		Long: `Decode thread trace files: the bytes that shader engines wrote, one file an engine. - is standard input.

In csv and json "cu" is the number that tokens have: on gfx9 the CU, on gfx11 array*8 + WGP, on gfx12 array*16 + WGP. The table has array and unit apart.

RDNA streams say by themselves which format they have; for gfx9 name the --target, or give the --code. With --code the instructions that traced waves
executed are shown too, in table, csv (one row an instruction) and json ("inst_waves": rows of time, stall, cycles, category, address; of
waves that run more than 16384 instructions in parts, whose "first" numbers their first instruction).`,
		Example: `  rigprof decode --target gfx1100 se0.sqtt se1.sqtt
  rigprof decode --code gemm.hsaco@0x7f0000000000 --format csv -o instructions.csv se0.sqtt
  rigprof decode --target gfx942 --format packets -o tokens.txt se0.sqtt`,
		Args: named("thread trace files", true),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files = args
			if err := o.validate(); err != nil {
				return err
			}
			e.started = true
			return runDecode(e, o)
		},
	}
	o.flags(cmd, "packets")
	cmd.Flags().StringVar(&o.Target, "target", "", "`target` that wrote the traces, gfx1100 or just gfx11 (default: what they and --code say)")
	cmd.Flags().StringVar(&o.Header, "gfx9-header", "auto", "whether a gfx9 file starts with a tool's 8-byte header: auto, yes or no")
	cmd.Flags().StringArrayVar(&o.Code, "code", nil, "code object that ran and its load address, `FILE[@BASE]`: shows the traced waves' instructions")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "exit with 3 where the data is not whole")
	return cmd
}

var gfx9Headers = map[string]sqtt.Header{"auto": sqtt.HeaderAuto, "yes": sqtt.HeaderYes, "no": sqtt.HeaderNo}

func (o *decodeOptions) validate() error {
	if err := o.renderOptions.validate(); err != nil {
		return err
	}
	if o.Target != "" && o.family() == gpu.Unknown {
		g, err := gpu.Lookup(strings.ToLower(o.Target)) // people know their card by its name
		if err != nil {
			return fmt.Errorf("--target %q: want a target such as gfx942, gfx1100 or gfx1201, or a model of 'rigprof list gpus'", o.Target)
		}
		o.Target = g.Target
	}
	return oneOf("gfx9-header", o.Header, "auto", "yes", "no")
}

// family is that of the target, or of the beginning of one: "gfx11".
func (o *decodeOptions) family() gpu.Family {
	for _, f := range []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12} {
		if o.Target == f.String() {
			return f
		}
	}
	return gpu.FamilyOf(o.Target)
}

func runDecode(e *env, o decodeOptions) error {
	code, err := readCodes(o.Code)
	if err != nil {
		return err
	}
	files, done, err := readStreams(o.Files, o, code, func(name string) (*os.File, int64, error) { return spool(e.In, name) })
	if err != nil {
		return err
	}
	defer done()
	if o.Format == "packets" {
		err := e.output(o.Output, func(w io.Writer) error {
			for _, f := range files {
				if len(files) > 1 {
					if _, err := fmt.Fprintf(w, "# %s\n", report.Printable(f.Name)); err != nil {
						return err
					}
				}
				if err := report.WritePackets(w, f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		d, err := report.Decode(files) // for what is wrong with them
		if err != nil {
			return err
		}
		e.warn(&d.Quality)
		return e.strict(o.Strict, &d.Quality)
	}
	d, err := report.Decode(files)
	if err != nil {
		return err
	}
	if len(o.Code) > 0 {
		if err := d.WithCode(o.Target, code); err != nil {
			return whichCode(code, err)
		}
	}
	if err := e.render(d, &d.Quality, &o.renderOptions); err != nil {
		return err
	}
	return e.strict(o.Strict, &d.Quality)
}

// strict is the error that --strict asks for.
func (e *env) strict(on bool, q *report.Quality) error {
	if on && q.Warned() {
		return &codeError{exitData, fmt.Errorf("--strict: the data is not whole (see the quality notes)")}
	}
	return nil
}

// readStreams says how to read trace files; spool keeps those that can be read once alone. Call done at the end.
func readStreams(names []string, o decodeOptions, code []report.CodeFile, spool func(name string) (*os.File, int64, error)) (files []report.StreamFile, done func(), err error) {
	var kept []*os.File
	done = func() {
		for _, f := range kept {
			_ = f.Close() // only read
		}
	}
	for _, name := range names {
		read := openSized
		if readOnce(name) {
			read = spool
		}
		k, size, err := read(name)
		if err != nil {
			done()
			return nil, nil, err
		}
		kept = append(kept, k)
		f, err := readStream(name, func() (io.ReadCloser, error) { return &sizedReader{f: k, name: name, size: size}, nil }, o, code)
		if err != nil {
			done()
			return nil, nil, err
		}
		files = append(files, f)
	}
	return files, done, nil
}

// openSized opens a file and says how long it is.
func openSized(name string) (f *os.File, size int64, err error) {
	if f, err = os.Open(name); err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = folder(name, aTrace, syscall.EISDIR)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// sizedReader reads a file from its beginning to the size it had when it was opened. Views go through streams more than once, and each pass is to
// find what the first one did: what is written behind that meanwhile, or put in the file's place, does not count. An earlier end is an error.
type sizedReader struct {
	f        *os.File
	name     string
	at, size int64
}

func (r *sizedReader) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), r.size-r.at)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := r.f.ReadAt(p, r.at)
	r.at += int64(n)
	if err == io.EOF && n < len(p) {
		err = &fs.PathError{Op: "read", Path: r.name, Err: errShorter}
	}
	return n, err
}

func (r *sizedReader) Close() error { return nil } // the file is read again

var errShorter = errors.New("the file became shorter meanwhile")

// readOnce tells of standard input, a pipe or a device: what cannot be read from its beginning again.
func readOnce(name string) bool {
	st, err := os.Stat(name)
	return name == "-" || err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// spool keeps what can be read once alone, standard input or a pipe, in a file without a name: views read streams more than once.
func spool(in io.Reader, name string) (f *os.File, size int64, err error) {
	if name != "-" {
		r, err := os.Open(name)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = r.Close() }() // only read
		in = r
	}
	f, err = os.CreateTemp("", "rigprof-*.sqtt")
	if err != nil {
		return nil, 0, fmt.Errorf("%s: a place to keep it: %w", name, err)
	}
	if err = os.Remove(f.Name()); err == nil { // however the program ends, nothing is left
		size, err = io.Copy(f, in)
	}
	if err != nil {
		_ = f.Close() // the error says more
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return f, size, nil
}

// readStream looks at the beginning of a trace file.
func readStream(name string, open func() (io.ReadCloser, error), o decodeOptions, code []report.CodeFile) (report.StreamFile, error) {
	f := report.StreamFile{Name: name, Family: o.family(), Header: gfx9Headers[o.Header], Open: open}
	r, err := open()
	if err != nil {
		return f, err
	}
	defer func() { _ = r.Close() }() // only read
	var head [64]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return f, err
	}
	if err := noTrace(name, head[:n]); err != nil {
		return f, err
	}
	if o.Target == "" {
		f.Family = sqtt.FamilyOf(head[:n])
		if _, ok := sqtt.ReadSoftwareHeader(head[:n]); ok {
			f.Family = gpu.GFX9
		}
		if f.Family == gpu.Unknown {
			f.Family = codeFamily(code)
		}
		if f.Family == gpu.Unknown {
			if n == 0 {
				return f, fmt.Errorf("%s is empty", name)
			}
			if k := kindOf(head[:n]); k.what != "" {
				return f, fmt.Errorf("%s looks like %s, no trace file; if it is one, say which GPU wrote it: --target gfx942, gfx1100, …", name, k.what)
			}
			return f, fmt.Errorf("%s does not say which GPU wrote it: give --target gfx942, gfx1100, …", name)
		}
	}
	if o.Header != "auto" && f.Family != gpu.GFX9 {
		return f, &codeError{exitUsage, fmt.Errorf("--gfx9-header is for gfx9 traces: %s is one of %s, which has no such header", name, f.Family)}
	}
	return f, nil
}

// noTrace is an error for files of other kinds, by how they begin.
func noTrace(name string, head []byte) error {
	switch {
	case capture.IsCapture(head):
		return fmt.Errorf("%s is a capture, no trace file: 'rigprof show %s' shows it; hotspots, annotate, waves and export take one capture, alone", name, name)
	case bytes.HasPrefix(head, []byte("\x7fELF")), bytes.HasPrefix(head, []byte("__CLANG_OFFLOAD_BUNDLE__")):
		return fmt.Errorf("%s holds code, no trace: give it with --code %s@BASE beside the trace files; 'rigprof trace %s' records its kernels", name, name, name)
	}
	if k := kindOf(head); k.sure {
		if try := k.wrapped(); try != "" {
			return fmt.Errorf("%s is no trace file but %s: %s", name, k.what, try)
		}
		return fmt.Errorf("%s is no trace file but %s", name, k.what)
	}
	return nil
}

// codeFamily is the family of all code objects given, if they have the same one.
func codeFamily(code []report.CodeFile) gpu.Family {
	family := gpu.Unknown
	for _, c := range code {
		objects, err := codeobj.Objects(c.Data)
		if err != nil {
			return gpu.Unknown
		}
		for _, o := range objects {
			f := gpu.FamilyOf(o.Target.Processor)
			if f == gpu.Unknown || family != gpu.Unknown && f != family {
				return gpu.Unknown
			}
			family = f
		}
	}
	return family
}
