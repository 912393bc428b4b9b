package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/report"
)

// hotOptions say which instruction traces to read: a capture, or trace files with their code.
type hotOptions struct {
	decodeOptions
}

const hotHelp = `
The input is one capture, or thread trace files of any AMD tool with their code objects (--code FILE@BASE, BASE the address it was loaded at).
- is standard input.`

func (o *hotOptions) hotFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Target, "target", "", "trace files: `target` that wrote them (default: what they and --code say)")
	f.StringVar(&o.Header, "gfx9-header", "auto", "trace files: whether a gfx9 file starts with a tool's 8-byte header: auto, yes or no")
	f.StringArrayVar(&o.Code, "code", nil, "trace files: a code object and its load address, `FILE[@BASE]`")
	f.BoolVar(&o.Strict, "strict", false, "exit with 3 where the data is not whole")
}

// load reads what the arguments name. Close what it gives once every view is made.
func (o *hotOptions) load(e *env, args []string) (h *report.Hot, done func(), err error) {
	keep := func(name string) (*os.File, int64, error) { return spool(e.In, name) }
	switch {
	case len(args) != 1:
	case isCapture(args[0]):
		c, err := capture.Open(args[0])
		if err != nil {
			return nil, nil, notCapture(args[0], err)
		}
		return o.loadCapture(args[0], c, c.Close)
	case readOnce(args[0]):
		kept, size, err := keep(args[0])
		if err != nil {
			return nil, nil, err
		}
		if c, err := capture.Read(kept, size); !errors.Is(err, capture.ErrNotCapture) {
			if err != nil {
				return nil, nil, errors.Join(fmt.Errorf("%s: %w", args[0], err), kept.Close())
			}
			return o.loadCapture(args[0], c, kept.Close)
		}
		keep = func(string) (*os.File, int64, error) { return kept, size, nil }
	}
	code, err := readCodes(o.Code)
	if err != nil {
		return nil, nil, err
	}
	files, done, err := readStreams(args, o.decodeOptions, code, keep)
	if err != nil {
		return nil, nil, err
	}
	if h, err = report.HotFiles(o.Target, files, code); err != nil {
		done()
		return nil, nil, whichCode(code, err)
	}
	return h, done, nil
}

func (o *hotOptions) loadCapture(name string, c *capture.Capture, closeIt func() error) (h *report.Hot, done func(), err error) {
	done = func() { _ = closeIt() } // only read
	if flag := o.ofTraceFiles(); flag != "" {
		done()
		return nil, nil, &codeError{exitUsage, fmt.Errorf("--%s is for trace files: %s is a capture, which says itself what it holds", flag, name)}
	}
	if h, err = report.HotCapture(c); err != nil {
		done()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, done, nil
}

// ofTraceFiles is a flag given that says nothing for captures.
func (o *hotOptions) ofTraceFiles() string {
	switch {
	case len(o.Code) > 0:
		return "code"
	case o.Target != "":
		return "target"
	case o.Header != "auto":
		return "gfx9-header"
	}
	return ""
}

func isCapture(path string) bool {
	if readOnce(path) { // what is read here would be missing later
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	var b [16]byte
	n, _ := io.ReadFull(f, b[:])
	return capture.IsCapture(b[:n])
}

func readCodes(list []string) ([]report.CodeFile, error) {
	var code []report.CodeFile
	for _, s := range list {
		f, err := readCode(s)
		if err != nil {
			return nil, err
		}
		code = append(code, f)
	}
	return code, nil
}

// codeAlign is what kernels are aligned to in code objects and in memory (LLVM's AMDGPUUsage), and so where they are loaded.
const codeAlign = 256

// readCode reads FILE[@BASE].
func readCode(s string) (report.CodeFile, error) {
	f := report.CodeFile{Name: s}
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		base, err := strconv.ParseUint(s[i+1:], 0, 64)
		if _, serr := os.Stat(s); err != nil && serr == nil { // the @ is the name's
			f.Data, err = os.ReadFile(s)
			return f, codeFlagError(s, err)
		}
		if err != nil {
			return f, &codeError{exitUsage, fmt.Errorf("--code %s: %q is no address: want FILE@BASE, such as gemm.co@0x7f0000000000", s, s[i+1:])}
		}
		if base%codeAlign != 0 || base >= 1<<addressBits {
			return f, &codeError{exitUsage, fmt.Errorf("--code %s: code is loaded at multiples of %d below 2^%d: was that a 0x left out, or a kernel's own address?", s, codeAlign, addressBits)}
		}
		f.Name, f.Base = s[:i], base
	}
	var err error
	f.Data, err = os.ReadFile(f.Name)
	return f, codeFlagError(s, err)
}

// codeFlagError is the flag's error, or nil.
func codeFlagError(value string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--code %s: %w", value, folder("it", theCode, err))
}

func newHotspotsCmd(e *env) *cobra.Command {
	var o hotOptions
	var by, sort, explain string
	var top int
	cmd := &cobra.Command{
		Use:   "hotspots CAPTURE|TRACE...",
		Short: "Say where the cycles went: by instruction, line, function, kernel, class or branch",
		Long: "Sum up traced waves' cycles by instruction, source line, function, kernel, class of instruction or divergent branch, and give advice with its evidence.\n\n" +
			"cycles are wave cycles: idle (before an instruction stood ready), stall (ready, not issued) and issue; exposed cycles are those in which no other wave\n" +
			"of the SIMD kept a pipe of the same or a higher rank busy.\n" + hotHelp,
		Example: "  rigprof hotspots vadd.rigprof\n  rigprof hotspots --by line --sort nonhidden --code gemm.hsaco@0x7f0000000000 se0.sqtt",
		Args: func(cmd *cobra.Command, args []string) error {
			if explain != "" {
				return nil
			}
			return named(theTraces, true)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if explain != "" {
				e.started = true
				return explainRule(e.Out, explain)
			}
			if err := o.validate(); err != nil {
				return err
			}
			if err := oneOf("by", by, report.HotBy...); err != nil {
				return err
			}
			if err := oneOf("sort", sort, report.HotSort...); err != nil {
				return err
			}
			if top < 0 {
				return fmt.Errorf("--top %d: want 0 or more", top)
			}
			e.started = true
			h, done, err := o.load(e, args)
			if err != nil {
				return err
			}
			defer done()
			o.Limit = top
			d := h.Hotspots(by, sort)
			if err := e.render(d, &d.Quality, &o.renderOptions); err != nil {
				return err
			}
			return e.strict(o.Strict, &d.Quality)
		},
	}
	o.formatFlags(cmd, "table", "csv", "json")
	cmd.Flags().StringVar(&by, "by", "insn", "group by insn, line, function, kernel, class or branch (an if on the exec mask whose both sides waves ran, and what is inside none)")
	cmd.Flags().StringVar(&sort, "sort", "cycles", "order by stall, latency (of memory, as the column has it), duration (stall and issue, AMD's latency), hits, nonhidden (exposed cycles) or cycles")
	cmd.Flags().IntVar(&top, "top", 20, "show the first `n` rows (0: all); csv and json are always whole")
	cmd.Flags().StringVar(&explain, "explain", "", "explain the advice `rule` and exit ('list' names them all)")
	o.hotFlags(cmd)
	return cmd
}

func explainRule(w io.Writer, name string) error {
	var names []string
	for _, r := range report.Rules() {
		if r.Name == name || name == "list" {
			if _, err := fmt.Fprintf(w, "%s: %s\n  %s\n", r.Name, r.Title, r.Explain); err != nil {
				return err
			}
		}
		names = append(names, r.Name)
	}
	if name != "list" && !slices.Contains(names, name) {
		return &codeError{exitUsage, fmt.Errorf("no rule %q; there is %s", name, strings.Join(names, ", "))}
	}
	return nil
}

func newAnnotateCmd(e *env) *cobra.Command {
	var o hotOptions
	var kernel, source, colour string
	var all bool
	cmd := &cobra.Command{
		Use:     "annotate CAPTURE|TRACE...",
		Short:   "Show the code with each instruction's cycles beside it",
		Long:    "Show the disassembly with each instruction's wave cycles beside it, and the source lines it came from.\n" + hotHelp,
		Example: "  rigprof annotate vadd.rigprof\n  rigprof annotate --kernel vadd --source src --format csv vadd.rigprof",
		Args:    named(theTraces, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if err := oneOf("colour", colour, "auto", "always", "never"); err != nil {
				return err
			}
			e.started = true
			h, done, err := o.load(e, args)
			if err != nil {
				return err
			}
			defer done()
			a, err := h.Annotate(kernel)
			if err != nil {
				return err
			}
			read, note := e.sourceNote(source, cmd.Flags().Changed("source") && o.Format == "table")
			err = e.output(o.Output, func(w io.Writer) error {
				switch o.Format {
				case "csv":
					return a.CSV().CSV(w)
				case "json":
					return report.WriteJSON(w, a)
				}
				return a.WriteText(w, report.AnnotateText{
					Colour: colour == "always" || colour == "auto" && o.Output == "" && e.terminal(), Source: read, All: all,
				})
			})
			if err != nil {
				return err
			}
			note()
			if o.Format == "csv" {
				e.warn(&a.Quality)
			}
			return e.strict(o.Strict, &a.Quality)
		},
	}
	f := cmd.Flags()
	o.formatFlags(cmd, "table", "csv", "json")
	f.StringVar(&kernel, "kernel", "", "only the kernel or function of this `name`, or of which it is a part: scale for app::scale<float>(float*)")
	f.StringVar(&source, "source", ".", "`folder` to look for source files in")
	f.StringVar(&colour, "colour", "auto", "colours: auto, always or never (NO_COLOR is honoured)")
	f.BoolVar(&all, "all", false, "show instructions that no traced wave ran, too")
	o.hotFlags(cmd)
	return cmd
}

// terminal says whether Out is a terminal that wants colours.
func (e *env) terminal() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(e.Out)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device, too
	return err != nil || !os.SameFile(st, null)
}

// sourceNote wraps what reads source lines of a folder that somebody named; call note at the end: it tells if none was found.
func (e *env) sourceNote(dir string, chosen bool) (read func(string, int) (string, bool), note func()) {
	asked, found, lines := false, false, sources(dir)
	read = func(file string, line int) (string, bool) {
		s, ok := lines(file, line)
		asked, found = true, found || ok
		return s, ok
	}
	return read, func() {
		switch {
		case !chosen || found:
		case !asked:
			e.notef("--source %s: no instruction that ran tells which line of source it is from (compile with -g)", dir)
		default:
			e.notef("--source %s: the source files are not in it", dir)
		}
	}
}

// sources reads source lines: where the file is named, below dir, or by its base name in dir.
func sources(dir string) func(string, int) (string, bool) {
	files := map[string][]string{}
	return func(file string, line int) (string, bool) {
		lines, ok := files[file]
		if !ok {
			for _, path := range []string{filepath.Join(dir, file), filepath.Join(dir, filepath.Base(file)), file} {
				b, err := os.ReadFile(path)
				if err == nil && !bytes.Contains(b[:min(len(b), 512)], []byte{0}) {
					lines = strings.Split(string(b), "\n")
					break
				}
			}
			files[file] = lines
		}
		if line < 1 || line > len(lines) {
			return "", false
		}
		return lines[line-1], true
	}
}

func newWavesCmd(e *env) *cobra.Command {
	var o hotOptions
	var width int
	cmd := &cobra.Command{
		Use:   "waves CAPTURE|TRACE...",
		Short: "List the traced waves and draw their slots over time",
		Long: "List the waves whose instructions were traced, with the share of their cycles by state, and draw each slot over time, with the markers\n" +
			"that its waves sent (s_ttracedata) below. csv has a row a wave and a row a marker, told apart by the column kind; json has the occupancy of every\n" +
			"engine, unit and SIMD besides.\n" + hotHelp,
		Example: "  rigprof waves vadd.rigprof\n  rigprof waves --width 0 --format csv vadd.rigprof",
		Args:    named(theTraces, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if !cmd.Flags().Changed("width") {
				width = pictureWidth(os.Getenv("COLUMNS"), width)
			}
			if width < 0 || width > 10000 {
				return fmt.Errorf("--width %d: want 0 to 10000", width)
			}
			e.started = true
			h, done, err := o.load(e, args)
			if err != nil {
				return err
			}
			defer done()
			l := h.WaveList()
			l.Width = width
			if err := e.render(l, &l.Quality, &o.renderOptions); err != nil {
				return err
			}
			return e.strict(o.Strict, &l.Quality)
		},
	}
	o.formatFlags(cmd, "table", "csv", "json")
	cmd.Flags().IntVar(&o.Limit, "limit", 32, "show `n` waves (0: all); csv and json are always whole")
	cmd.Flags().IntVar(&width, "width", 80, "`columns` of the picture of slots (0: none; where COLUMNS tells the terminal's, what fits)")
	o.hotFlags(cmd)
	return cmd
}

// pictureWidth is how wide a picture of slots is beside their names on a terminal of so many columns; fallback where they are not known.
func pictureWidth(columns string, fallback int) int {
	const names, least = len("array 0 WGP 10 SIMD 0 slot 15  "), 10
	n, err := strconv.Atoi(columns)
	if err != nil || n <= 0 || n > 10000 {
		return fallback
	}
	return max(n-names, least)
}

func newExportCmd(e *env) *cobra.Command {
	var o hotOptions
	var source string
	cmd := &cobra.Command{
		Use:   "export CAPTURE|TRACE...",
		Short: "Write instruction costs for pprof, flame graphs, speedscope, spreadsheets",
		Long:  "Write the traced instructions' costs for other tools.\n" + hotHelp,
		Example: "  rigprof export --format pprof -o vadd.pb.gz vadd.rigprof && go tool pprof -top vadd.pb.gz\n" +
			"  rigprof export --format html -o vadd.html vadd.rigprof",
		Args: named(theTraces, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Format == "pprof" && o.Output == "" && isTerminal(e.Out) {
				return errors.New("pprof is binary: name a file with -o")
			}
			e.started = true
			h, done, err := o.load(e, args)
			if err != nil {
				return err
			}
			defer done()
			var note func()
			h.Source, note = e.sourceNote(source, cmd.Flags().Changed("source") && o.Format == "html")
			if err := e.output(o.Output, func(w io.Writer) error { return h.Export(w, o.Format) }); err != nil {
				return err
			}
			note()
			e.warn(&h.Quality)
			return e.strict(o.Strict, &h.Quality)
		},
	}
	o.formatFlags(cmd, report.ExportFormats...)
	cmd.Flags().StringVar(&source, "source", ".", "html: `folder` to look for source files in; the lines that ran code came from are put into the page")
	o.hotFlags(cmd)
	return cmd
}
