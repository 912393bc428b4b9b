package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/report"
)

// view is an answer for people and for programs.
type view interface {
	Tables(limit int) []report.Table // for people, with at most limit rows of a kind (0: all)
	WriteCSV(w io.Writer) error
	WriteJSON(w io.Writer) error
}

// timelineView is one that trace viewers can show, too.
type timelineView interface {
	view
	Chrome(w io.Writer) error
}

// renderOptions are the flags that every command with a view has.
type renderOptions struct {
	Format string
	Output string
	Limit  int

	formats []string // that the command has
}

// flags are those of a command whose view has a timeline; extra are formats beside the common ones.
func (o *renderOptions) flags(cmd *cobra.Command, extra ...string) {
	o.formatFlags(cmd, append([]string{"table", "csv", "json", "chrome"}, extra...)...)
	cmd.Flags().IntVar(&o.Limit, "limit", 32, "show `n` rows of a long table (0: all); csv and json are always whole")
}

// formatFlags are the flags of a command that writes in these formats, by default in the first.
func (o *renderOptions) formatFlags(cmd *cobra.Command, formats ...string) {
	o.formats = formats
	last := len(formats) - 1
	cmd.Flags().StringVar(&o.Format, "format", formats[0], "output `format`: "+strings.Join(formats[:last], ", ")+" or "+formats[last])
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
}

func (o *renderOptions) validate() error {
	if o.Limit < 0 {
		return fmt.Errorf("--limit %d: want 0 or more", o.Limit)
	}
	return oneOf("format", o.Format, o.formats...)
}

// render writes v as the options ask. Of forms that have no quality block, Err tells what to know about the data.
func (e *env) render(v view, q *report.Quality, o *renderOptions) error {
	if err := e.renderTo(v, o); err != nil {
		return err
	}
	if o.Format == "csv" || o.Format == "chrome" {
		e.warn(q)
	}
	return nil
}

// warn tells what is wrong with the data behind an output. q may be nil.
func (e *env) warn(q *report.Quality) {
	if q == nil {
		return
	}
	for _, s := range q.Warnings() {
		e.notef("%s", s)
	}
}

func (e *env) renderTo(v view, o *renderOptions) error {
	return e.output(o.Output, func(w io.Writer) error {
		switch o.Format {
		case "csv":
			return v.WriteCSV(w)
		case "json":
			return v.WriteJSON(w)
		case "chrome":
			if t, ok := v.(timelineView); ok {
				return t.Chrome(w)
			}
			return fmt.Errorf("a %T has no timeline", v) // no command that has the format has such a view
		}
		first := true
		for _, t := range v.Tables(o.Limit) {
			if t.Empty() {
				continue
			}
			if !first {
				if _, err := fmt.Fprintln(w); err != nil {
					return err
				}
			}
			first = false
			if err := writeTable(w, &t); err != nil {
				return err
			}
		}
		return nil
	})
}

// listView makes a view of a listing.
type listView struct{ listing }

func (l listView) Tables(int) []report.Table   { return []report.Table{l.table} }
func (l listView) WriteCSV(w io.Writer) error  { return l.table.CSV(w) }
func (l listView) WriteJSON(w io.Writer) error { return report.WriteJSON(w, l.doc) }
