package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Table is rows for people or for CSV. Cells hold no formatting: the renderer escapes what its format needs.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string
	Again   Rows     // a long table's rows, which are not held: Rows is empty
	Notes   []string // lines below the table
}

// Rows gives rows, the same ones as often as it is called, until f fails. f may keep a row's cells, not the row.
type Rows func(f func(row []string) error) error

// Held is how many rows a table holds itself where there may be millions.
const Held = 512

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
	t.Rows = append(t.Rows, appendCells(make([]string, 0, len(cells)), cells...))
}

// appendCells adds the texts of cells to a row.
func appendCells(row []string, cells ...any) []string {
	for _, c := range cells {
		switch c := c.(type) {
		case nil:
			row = append(row, "")
		case string:
			row = append(row, text(c))
		default:
			row = append(row, fmt.Sprint(c))
		}
	}
	return row
}

// appendNumbers adds numbers to a row, with no more allocations than their texts need.
func appendNumbers(row []string, numbers ...int64) []string {
	for _, n := range numbers {
		row = append(row, strconv.FormatInt(n, 10))
	}
	return row
}

// Each gives the rows of a table, held or not, until f fails.
func (t *Table) Each(f func(row []string) error) error {
	if t.Again != nil {
		return t.Again(f)
	}
	for _, row := range t.Rows {
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// Empty tells that there is nothing to show.
func (t *Table) Empty() bool { return len(t.Rows) == 0 && t.Again == nil && len(t.Notes) == 0 }

// fill gives an empty table the first limit (0: all) of total rows: up to hold of them to hold, more to ask for again. A note tells how many are
// left out, what they are, and which flag shows them.
func (t *Table) fill(hold, limit, total int, what, flag string, rows Rows) error {
	n := shown(limit, total)
	if left := total - n; left > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("… %d more %s: %s 0 shows all, --format csv or json are for programs", left, what, flag))
	}
	first := func(f func(row []string) error) error {
		left := n
		err := rows(func(row []string) error {
			if left == 0 {
				return errEnough
			}
			left--
			return f(row)
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	}
	if n > hold {
		t.Again = first
		return nil
	}
	return first(func(row []string) error {
		t.Rows = append(t.Rows, slices.Clone(row))
		return nil
	})
}

// shown is how many of total rows a limit leaves.
func shown(limit, total int) int {
	if limit > 0 {
		return min(limit, total)
	}
	return total
}

// errEnough ends a pass early.
var errEnough = errors.New("enough")

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
	if err := t.Each(cw.Write); err != nil {
		return err
	}
	cw.Flush()
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
