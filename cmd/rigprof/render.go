package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/report"
)

// view is an answer that can be written in every format.
type view interface {
	Tables(limit int) []report.Table // for people, with at most limit rows of a kind (0: all)
	WriteCSV(w io.Writer) error
	WriteJSON(w io.Writer) error
	Chrome(w io.Writer) error
}

// renderOptions are the flags that every command with a view has.
type renderOptions struct {
	Format string
	Output string
	Limit  int
	extra  []string // formats beside the common ones
}

func (o *renderOptions) flags(cmd *cobra.Command, extra ...string) {
	o.extra = extra
	names := "table, csv, json or chrome"
	if len(extra) > 0 {
		names = "table, csv, json, chrome or " + strings.Join(extra, " or ")
	}
	cmd.Flags().StringVar(&o.Format, "format", "table", "output `format`: "+names)
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
	cmd.Flags().IntVar(&o.Limit, "limit", 32, "show `n` rows of a long table (0: all); csv and json are always whole")
}

func (o *renderOptions) validate() error {
	if o.Limit < 0 {
		return fmt.Errorf("--limit %d: want 0 or more", o.Limit)
	}
	return oneOf("format", o.Format, append([]string{"table", "csv", "json", "chrome"}, o.extra...)...)
}

// render writes v as the options ask.
func (e *env) render(v view, o *renderOptions) error {
	return e.output(o.Output, func(w io.Writer) error {
		switch o.Format {
		case "csv":
			return v.WriteCSV(w)
		case "json":
			return v.WriteJSON(w)
		case "chrome":
			return v.Chrome(w)
		}
		first := true
		for _, t := range v.Tables(o.Limit) {
			if len(t.Rows) == 0 && len(t.Notes) == 0 {
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
func (l listView) Chrome(io.Writer) error      { return fmt.Errorf("a list has no timeline") }
