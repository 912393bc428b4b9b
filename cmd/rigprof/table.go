package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/rigprof/rigprof/internal/report"
)

// writeTable draws a table for people: columns two spaces apart under their names, as ls or perf would.
func writeTable(w io.Writer, t *report.Table) error {
	if t.Title != "" {
		if _, err := fmt.Fprintln(w, report.Printable(t.Title)); err != nil {
			return err
		}
	}
	switch {
	case t.Again != nil, len(t.Rows) > report.Held:
		if err := drawLong(w, t); err != nil {
			return err
		}
	case len(t.Rows) > 0:
		if err := drawShort(w, t); err != nil {
			return err
		}
	}
	for _, n := range t.Notes {
		if _, err := fmt.Fprintln(w, report.Printable(n)); err != nil {
			return err
		}
	}
	return nil
}

// drawShort lays out all rows at once.
func drawShort(w io.Writer, t *report.Table) error {
	align := make([]tw.Align, len(t.Columns))
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		align[i] = tw.AlignLeft
		if c.Right {
			align[i] = tw.AlignRight
		}
		head[i] = heading(c)
	}
	none := tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off}
	pad := tw.CellPadding{Global: tw.Padding{Left: "", Right: "  ", Overwrite: true}}
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: align},
		Padding:    pad,
	}
	var buf bytes.Buffer
	table := tablewriter.NewTable(&buf,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: none,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off, ShowFooter: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowFooterLine: tw.Off, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
		tablewriter.WithHeaderConfig(cells),
		tablewriter.WithRowConfig(cells),
		tablewriter.WithTrimSpace(tw.Off),
	)
	table.Header(head)
	for _, r := range t.Rows {
		row := make([]string, len(r))
		for i, c := range r {
			row[i] = report.Printable(c)
			if c == "" {
				row[i] = unknown
			}
		}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	for line := range bytes.Lines(buf.Bytes()) { // no blanks at line ends: outputs get pasted and compared
		if _, err := w.Write(append(bytes.TrimRight(line, " \n"), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes one document, indented, with the characters of names as they are.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
