// Package tsv reads the tables that code is generated from: lines of # comment, a line of column names, then one fact a row.
package tsv

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Row is one row of a table. Its methods record the first bad cell in the table's error.
type Row struct {
	t     *Table
	Line  int // from 1
	cells []string
}

// Table is a table read whole.
type Table struct {
	Path string
	Rows []Row
	cols map[string]int
	err  error
}

// Read reads the table at path. It fails unless the columns are those wanted, in order.
func Read(path string, columns ...string) (*Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &Table{Path: path}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		if t.cols == nil {
			if got, want := strings.Join(cells, " "), strings.Join(columns, " "); got != want {
				return nil, fmt.Errorf("%s:%d: columns are %q, want %q", path, i+1, got, want)
			}
			t.cols = make(map[string]int)
			for j, c := range columns {
				t.cols[c] = j
			}
			continue
		}
		if len(cells) != len(columns) {
			return nil, fmt.Errorf("%s:%d: %d cells, want %d", path, i+1, len(cells), len(columns))
		}
		t.Rows = append(t.Rows, Row{t: t, Line: i + 1, cells: cells})
	}
	return t, nil
}

// Err is the first error that a row met.
func (t *Table) Err() error { return t.err }

// Errorf records an error at the row, if it is the table's first.
func (r Row) Errorf(format string, args ...any) {
	if r.t.err == nil {
		r.t.err = fmt.Errorf("%s:%d: %s", r.t.Path, r.Line, fmt.Sprintf(format, args...))
	}
}

// Str is the cell of a column.
func (r Row) Str(col string) string {
	i, ok := r.t.cols[col]
	if !ok {
		r.Errorf("no column %q", col)
		return ""
	}
	return r.cells[i]
}

// Uint is the cell of a column as a number of at most max, decimal or 0x-prefixed.
func (r Row) Uint(col string, max uint64) uint64 {
	return r.Num(col, r.Str(col), max)
}

// Num parses s, part of a cell of col.
func (r Row) Num(col, s string, max uint64) uint64 {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil || v > max {
		r.Errorf("%s: %q is no number up to %d", col, s, max)
		return 0
	}
	return v
}

// List is the cell split at sep, nil if empty.
func (r Row) List(col, sep string) []string {
	s := r.Str(col)
	if s == "" {
		return nil
	}
	return strings.Split(s, sep)
}
