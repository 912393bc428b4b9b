package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Table is rows for people or for CSV. Cells hold no formatting: the renderer escapes what its format needs.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string
	Notes   []string // lines below the table
}

// Column is a table's column. CSV takes Name as it stands.
type Column struct {
	Name  string
	Right bool // numbers stand right
}

// Text is a left-aligned column, Number a right-aligned one.
func Text(name string) Column   { return Column{Name: name} }
func Number(name string) Column { return Column{Name: name, Right: true} }

// Add appends a row; cells are strings or what fmt.Sprint makes of them. A nil cell is unknown: empty in CSV, n/a for people.
func (t *Table) Add(cells ...any) {
	if len(cells) != len(t.Columns) {
		panic(fmt.Sprintf("report: %d cells in a table of %d columns", len(cells), len(t.Columns)))
	}
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case nil:
		case string:
			row[i] = text(c)
		default:
			row[i] = fmt.Sprint(c)
		}
	}
	t.Rows = append(t.Rows, row)
}

// text is a cell's text: names come from files.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// names are columns' names.
func names(cols []Column) []string {
	list := make([]string, len(cols))
	for i, c := range cols {
		list[i] = c.Name
	}
	return list
}

// CSV writes the table as RFC 4180 has it, one header row first. Title and notes are left out.
func (t *Table) CSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	if err := cw.Write(names(t.Columns)); err != nil {
		return err
	}
	if err := cw.WriteAll(t.Rows); err != nil {
		return err
	}
	return cw.Error()
}

// Printable is s fit for a terminal: control characters and line ends become escapes, so that a kernel's name can
// neither break a table nor drive the terminal.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := fmt.Sprintf("%q", string(r))
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool {
	return !unicode.IsPrint(r) && r != ' '
}
