package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device/open"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/report"
)

// listing is a table that is also a JSON document.
type listing struct {
	table report.Table
	doc   any
}

type listOptions struct {
	Format string
	Output string
}

func (o *listOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Format, "format", "table", "output `format`: table, csv or json")
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
}

func newListCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List GPUs, counters, metrics, or the kernels of a code object",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	sub := func(use, short, example string, args cobra.PositionalArgs, run func(args []string) (listing, error)) {
		var o listOptions
		c := &cobra.Command{
			Use: use, Short: short, Example: example, Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := oneOf("format", o.Format, "table", "csv", "json"); err != nil {
					return err
				}
				e.started = true
				l, err := run(args)
				if err != nil {
					return err
				}
				return e.list(l, &o)
			},
		}
		o.flags(c)
		cmd.AddCommand(c)
	}
	sub("gpus", "List the GPU models that rigprof knows and can simulate", "  rigprof list gpus --format csv", noArgs,
		func([]string) (listing, error) { return listGPUs(), nil })
	sub("counters [GPU]", "List the counters of a GPU (default gfx1100)", "  rigprof list counters gfx942", cobra.MaximumNArgs(1), listCounters)
	sub("metrics [GPU]", "List the metrics computed from a GPU's counters (default gfx1100)", "  rigprof list metrics gfx942", cobra.MaximumNArgs(1), listMetrics)
	sub("kernels FILE", "List the kernels of a code object (- is standard input) and what each takes", "  rigprof list kernels vadd.co", named(theCode, false),
		func(args []string) (listing, error) { return e.listKernels(args[0]) })
	return cmd
}

func (e *env) list(l listing, o *listOptions) error {
	v := listView{l}
	r := renderOptions{Format: o.Format, Output: o.Output}
	return e.render(v, nil, &r)
}

// listGPUs lists the models in the order of the table.
func listGPUs() listing {
	type row struct {
		Spec    string `json:"device"`
		Name    string `json:"name"`
		Target  string `json:"target"`
		GC      string `json:"gc"`
		Dies    int    `json:"dies"`
		Engines int    `json:"engines"` // of a die
		Arrays  int    `json:"arrays"`
		Units   int    `json:"units"`
		SIMDs   int    `json:"simds"`
		Slots   int    `json:"slots"`
		ClockHz int64  `json:"clock_hz"`
	}
	l := listing{table: report.Table{Columns: []report.Column{
		report.Text("device"), report.Text("name"), report.Text("target"), report.Text("gc"), report.Number("dies"), report.Number("engines"),
		report.Number("arrays"), report.Number("units"), report.Number("simds"), report.Number("slots"), report.Number("MHz"),
	}}}
	var rows []row
	for _, g := range gpu.Models() {
		spec := "sim:" + strings.ReplaceAll(strings.ToLower(g.Name), " ", "-")
		if first, err := gpu.Lookup(g.Target); err == nil && first.Name == g.Name {
			spec = "sim:" + g.Target
		}
		rows = append(rows, row{spec, g.Name, g.Target, g.GC, g.Dies, g.SEs, g.SAs, g.Units, g.SIMDs, g.Slots, g.ClockHz})
		l.table.Add(spec, g.Name, g.Target, g.GC, g.Dies, g.SEs, g.SAs, g.Units, g.SIMDs, g.Slots, g.ClockHz/1e6)
	}
	l.doc = struct {
		Schema string `json:"schema"`
		GPUs   []row  `json:"gpus"`
	}{"rigprof/gpus/1", rows}
	return l
}

// gpuArg is the GPU that a list is about.
func gpuArg(args []string) (*gpu.GPU, error) {
	name := "gfx1100"
	if len(args) > 0 {
		name = args[0]
	}
	return lookupGPU(name)
}

func listCounters(args []string) (listing, error) {
	g, err := gpuArg(args)
	if err != nil {
		return listing{}, err
	}
	type row struct {
		Name       string `json:"name"`
		Block      string `json:"block"`
		Event      int    `json:"event"`
		AtOnce     int    `json:"at_once"` // counters of the block in one run
		Instances  int    `json:"instances"`
		Engines    int    `json:"engines"`
		Arrays     int    `json:"arrays"`
		WGPs       int    `json:"wgps"` // CUs on gfx9
		Unverified bool   `json:"unverified"`
		Assumed    bool   `json:"assumed"`
		Uncounted  string `json:"not_simulated,omitempty"` // why a simulated GPU does not count it
		Text       string `json:"description,omitempty"`

		Differs *string `json:"differs"` // other AMD tables that give the event another number, or "none"; null: there is none to compare with
	}
	units := strings.ToLower(report.UnitName(g.Family)) + "s"
	l := listing{table: report.Table{Title: g.Name + " (" + g.Target + ")", Columns: []report.Column{
		report.Text("counter"), report.Text("block"), report.Number("event"), report.Number("at_once"), report.Number("instances"),
		report.Number("engines"), report.Number("arrays"), report.Number(units), report.Text("verified"),
		report.Text("simulated"), report.Text("description"), report.Text("differs"),
	}}}
	rows := []row{}
	for _, c := range perfctr.Counters(g) {
		limit := perfctr.Limit(g, c.Block)
		why, text := open.Uncounted(g.Target, c.Block, c.Event), perfctr.Description(c.Name)
		differsText, differs := "-", (*string)(nil)
		if c.Compared {
			differsText = cmp.Or(c.Differs, "none")
			differs = &differsText
		}
		rows = append(rows, row{c.Name, c.Block, c.Event, limit, c.Instances, c.Engines, c.Arrays, c.WGPs, c.Unverified, c.Assumed, why, text, differs})
		verified := "yes"
		switch {
		case c.Unverified:
			verified = "no"
		case c.Assumed:
			verified = "assumed"
		}
		simulated := "yes"
		if why != "" {
			simulated = "no"
		}
		l.table.Add(c.Name, c.Block, c.Event, limit, c.Instances, c.Engines, c.Arrays, c.WGPs, verified, simulated, text, differsText)
	}
	if len(rows) == 0 {
		l.table.Notes = append(l.table.Notes, g.Target+" has no counter table")
	}
	l.doc = struct {
		Schema   string `json:"schema"`
		Target   string `json:"target"`
		Counters []row  `json:"counters"`
	}{"rigprof/counter-list/1", g.Target, rows}
	return l, nil
}

func listMetrics(args []string) (listing, error) {
	g, err := gpuArg(args)
	if err != nil {
		return listing{}, err
	}
	type row struct {
		Name        string `json:"name"`
		Expression  string `json:"expression"`
		Description string `json:"description"`
	}
	l := listing{table: report.Table{Title: g.Name + " (" + g.Target + ")", Columns: []report.Column{report.Text("metric"), report.Text("expression"), report.Text("description")}}}
	rows := []row{}
	for _, m := range perfctr.Metrics(g) {
		rows = append(rows, row(m))
		l.table.Add(m.Name, m.Expression, m.Description)
	}
	if len(rows) == 0 {
		l.table.Notes = append(l.table.Notes, g.Target+" has no metrics")
	}
	l.doc = struct {
		Schema  string `json:"schema"`
		Target  string `json:"target"`
		Metrics []row  `json:"metrics"`
	}{"rigprof/metric-list/1", g.Target, rows}
	return l, nil
}

// kernelRow is a kernel in JSON.
type kernelRow struct {
	Target    string      `json:"target"`
	Kernel    string      `json:"kernel"`
	Demangled string      `json:"demangled"`
	Args      []kernelArg `json:"args"`
	Wave      *int        `json:"wave"`
	VGPRs     *int        `json:"vgprs"` // allocated, as its descriptor asks; null: the file does not say where that is
	SGPRs     *int        `json:"sgprs"` // used, as its metadata says: from gfx10 on every wave has 128; null: no metadata
	LDS       uint32      `json:"lds_bytes"`
	Scratch   uint32      `json:"scratch_bytes"`
	Stripped  bool        `json:"stripped"` // no symbol says where it is: its metadata is all there is
}

type kernelArg struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Kind   string `json:"kind"`
	Offset uint32 `json:"offset"`
	Size   uint32 `json:"size"`
}

// placedKernel is the row of a kernel whose descriptor was found.
func placedKernel(o *codeobj.Object, k *codeobj.Kernel) kernelRow {
	wave, vgprs := k.Descriptor.WaveSize(), k.Descriptor.VGPRs(o.Target.Processor)
	r := kernelRow{
		Target: o.Target.String(), Kernel: k.Name, Demangled: k.Demangled, Wave: &wave, VGPRs: &vgprs,
		LDS: k.Descriptor.GroupBytes, Scratch: k.Descriptor.PrivateBytes,
	}
	if n := int(k.SGPRs); k.HasMeta {
		r.SGPRs = &n
	}
	return r
}

// unplacedKernel is the row of a kernel of which there is metadata alone.
func unplacedKernel(o *codeobj.Object, m *codeobj.Meta) kernelRow {
	sgprs := int(m.SGPRs)
	r := kernelRow{
		Target: o.Target.String(), Kernel: m.Name, Demangled: codeobj.Demangle(m.Name), SGPRs: &sgprs, LDS: m.GroupBytes, Scratch: m.PrivateBytes, Stripped: true,
	}
	if wave := int(m.WaveSize); wave > 0 {
		r.Wave = &wave
	}
	return r
}

// listKernels lists every kernel of every code object in a file.
func (e *env) listKernels(path string) (listing, error) {
	data, err := e.codeFile(path)
	if err != nil {
		return listing{}, err
	}
	objects, err := codeobj.Objects(data)
	if err != nil {
		return listing{}, codeFileError(path, data, err)
	}
	l := listing{table: report.Table{Columns: []report.Column{
		report.Text("target"), report.Text("kernel"), report.Text("arguments"), report.Number("wave"), report.Number("vgprs_allocated"), report.Number("sgprs_used"),
		report.Number("lds"), report.Number("scratch"), report.Text("stripped"),
	}}}
	rows := []kernelRow{}
	var unplaced []string
	add := func(r kernelRow, m *codeobj.Meta, known bool) {
		var text []string
		r.Args = []kernelArg{}
		for _, a := range m.Args {
			r.Args = append(r.Args, kernelArg{a.Name, a.TypeName, a.Kind, a.Offset, a.Size})
			if !a.Hidden() {
				text = append(text, argText(&a))
			}
		}
		args := cmp.Or(strings.Join(text, ", "), "none")
		if !known {
			args = "unknown: no metadata"
		}
		stripped := "no"
		if r.Stripped {
			stripped = "yes"
		}
		rows = append(rows, r)
		l.table.Add(r.Target, r.Demangled, args, cell(r.Wave), cell(r.VGPRs), cell(r.SGPRs), r.LDS, r.Scratch, stripped)
	}
	for _, em := range objects {
		o, err := codeobj.Open(em.Data)
		if err != nil {
			return listing{}, fmt.Errorf("%s: %s: %w", path, em.Target, err)
		}
		for i := range o.Kernels {
			k := &o.Kernels[i]
			add(placedKernel(o, k), &k.Meta, k.HasMeta)
		}
		for i := range o.Unplaced {
			m := &o.Unplaced[i]
			unplaced = append(unplaced, m.Name)
			add(unplacedKernel(o, m), m, true)
			l.table.Notes = append(l.table.Notes, fmt.Sprintf("%s, kernel %s: %s", o.Target, codeobj.Demangle(m.Name), m.Unplaced()))
		}
	}
	l.doc = struct {
		Schema   string      `json:"schema"`
		File     string      `json:"file"`
		Kernels  []kernelRow `json:"kernels"`
		Unplaced []string    `json:"unplaced,omitempty"` // no symbol says where they are
	}{"rigprof/kernels/1", path, rows, unplaced}
	return l, nil
}

// cell is a number for a table; nil: not known.
func cell(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// argText is an argument as its metadata tells: "float* a", or "8 bytes".
func argText(a *codeobj.Arg) string {
	s := a.TypeName
	if s == "" {
		s = fmt.Sprintf("%d bytes", a.Size)
		if a.Pointer() {
			s = "pointer"
		}
	}
	if a.Name != "" {
		s += " " + a.Name
	}
	return s
}
