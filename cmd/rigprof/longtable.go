package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/rigprof/rigprof/internal/report"
)

// columnGap stands between columns.
const columnGap = 2

// drawLong writes a table as drawShort does, whatever its length: one pass over the rows measures the columns, a second one writes. No row is kept, and
// one takes less than a microsecond (BenchmarkTable). tablewriter takes 50 and holds two kilobytes a row until it writes the first; its mode for
// streams takes twice as long and wants to be told the columns' widths, too. A cell that was not there when columns were measured, because a file
// was written over, moves the rest of its line and is not cut.
func drawLong(w io.Writer, t *report.Table) error {
	head := make([]string, len(t.Columns))
	widths := make([]int, len(t.Columns))
	for i := range head {
		head[i] = heading(t.Columns[i])
		_, widths[i] = measured(head[i], "")
	}
	err := t.Each(func(row []string) error {
		for i := range widths {
			if _, n := measured(row[i], unknown); n > widths[i] {
				widths[i] = n
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var line []byte
	write := func(row []string, empty string) error {
		line = line[:0]
		gap := 0
		for i, c := range t.Columns {
			s, n := measured(row[i], empty)
			pad := max(widths[i]-n, 0)
			if c.Right {
				line = appendBlanks(line, gap+pad)
				line = append(line, s...)
				gap = columnGap
			} else {
				line = appendBlanks(line, gap)
				line = append(line, s...)
				gap = pad + columnGap
			}
		}
		line = append(bytes.TrimRight(line, " "), '\n')
		_, err := w.Write(line)
		return err
	}
	if err := write(head, ""); err != nil {
		return err
	}
	return t.Each(func(row []string) error { return write(row, unknown) })
}

// unknown stands for an empty cell.
const unknown = "n/a"

// heading is what stands above a column.
func heading(c report.Column) string { return strings.ReplaceAll(c.Name, "_", " ") }

// measured is a cell's text, that of an empty one is given, and how many characters of a terminal it takes.
func measured(s, empty string) (string, int) {
	if s == "" {
		s = empty
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			s = report.Printable(s)
			return s, twwidth.WidthNoCache(s)
		}
	}
	return s, len(s)
}

const blanks = "                                                                "

func appendBlanks(b []byte, n int) []byte {
	for ; n > len(blanks); n -= len(blanks) {
		b = append(b, blanks...)
	}
	return append(b, blanks[:n]...)
}
