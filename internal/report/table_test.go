package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
)

// A table of many rows gives, as often as it is asked, what one of few rows holds, and tells how many a limit left out.
func TestLongTables(t *testing.T) {
	const many, few = 3 * Held, 5
	traced := &Traced{family: gpu.GFX11, Dispatches: make([]TraceDispatch, 3)}
	counted := &Counted{family: gpu.GFX11, PerUnit: true, Dispatches: make([]CounterDispatch, 3)}
	hot := &Hotspots{By: "insn", Sort: "cycles", Cycles: 1 << 20}
	var markers []MarkerSpan
	for i := range many {
		d := &traced.Dispatches[i/Held]
		d.Waves = append(d.Waves, EngineWave{i % 6, Wave{CU: i % 16, SIMD: i % 4, Slot: i % 16, Start: int64(i), Stop: int64(2*i + 7)}})
		c := &counted.Dispatches[i/Held]
		if i%2 == 0 {
			c.Counters = append(c.Counters, CounterValue{Name: fmt.Sprint("counter ", i), Value: uint64(i)})
		}
		last := &c.Counters[len(c.Counters)-1]
		value := uint64(i)
		last.Units = append(last.Units, UnitValue{Instance: i % 2, Value: &value})
		hot.Rows = append(hot.Rows, HotRow{Name: fmt.Sprint("v_nop ", i), Cycles: int64(i), Address: fmt.Sprintf("%#x", i)})
		markers = append(markers, MarkerSpan{Name: fmt.Sprint("m", i), Kind: "span", Start: int64(i), Stop: int64(i + 3)})
	}
	tests := []struct {
		name   string
		tables func(limit int) []Table
		at     int
		note   string
	}{
		{"trace waves", traced.Tables, 1, "waves: --limit 0"},
		{"units", counted.Tables, 2, "units: --limit 0"},
		{"hot spots", hot.Tables, 0, "rows: --top 0"},
		{"markers", func(limit int) []Table { return []Table{markerTable(markers, gpu.GFX11, limit)} }, 0, "markers: --limit 0"},
		{"marker sums", func(limit int) []Table { return []Table{markerSums(markers, limit)} }, 0, "names: --limit 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows := func(limit int) (rows [][]string) {
				table := tt.tables(limit)[tt.at]
				n := many
				if limit > 0 {
					n = limit
				}
				if held := len(table.Rows) > 0; held != (n <= Held) || held == (table.Again != nil) {
					t.Errorf("limit %d: %d rows are held", limit, len(table.Rows))
				}
				if limit == 0 && len(table.Notes) > 0 || limit > 0 && !strings.HasPrefix(strings.Join(table.Notes, "\n"), fmt.Sprintf("… %d more %s", many-limit, tt.note)) {
					t.Errorf("limit %d: notes %q", limit, table.Notes)
				}
				for range 2 {
					first := rows
					rows = nil
					must(t, table.Each(func(row []string) error {
						if len(row) != len(table.Columns) {
							t.Fatalf("%d cells, %d columns", len(row), len(table.Columns))
						}
						rows = append(rows, slices.Clone(row))
						return nil
					}))
					if first != nil && !slices.EqualFunc(first, rows, slices.Equal[[]string]) {
						t.Errorf("limit %d: the second time other rows than the first", limit)
					}
				}
				if len(rows) != n {
					t.Errorf("limit %d: %d rows", limit, len(rows))
				}
				return rows
			}
			all := rows(0)
			for _, limit := range []int{few, Held, Held + 1} {
				if diff := cmp.Diff(all[:limit], rows(limit)); diff != "" {
					t.Errorf("limit %d (-all +limited):\n%s", limit, diff)
				}
			}
			full := errors.New("disk full")
			table, n := tt.tables(0)[tt.at], 0
			err := table.Each(func([]string) error {
				if n++; n == few {
					return full
				}
				return nil
			})
			if err != full || n != few {
				t.Errorf("error %v after %d rows", err, n)
			}
		})
	}
}

// Long tables read their streams when they are asked for rows, and fail where these have become unreadable.
func TestLongTablesOfStreams(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must(t, err)
	code, err := os.ReadFile("../../testdata/kernels/gfx1100/vadd.co")
	must(t, err)
	data = bytes.Repeat(data, 140) // of 80 waves, 4 of them traced
	gone := false
	opened := 0
	files := []StreamFile{{Name: "a", Family: gpu.GFX11, Open: func() (io.ReadCloser, error) {
		opened++
		if gone {
			return io.NopCloser(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
		}
		return bytesOf(data)()
	}}}
	d, err := Decode(files)
	must(t, err)
	h, err := HotFiles("gfx1100", files, nil)
	must(t, err)
	l := h.WaveList()
	l.Width = 40
	held := l.Tables(0)
	defer func(n int) { heldWaves = n }(heldWaves)
	heldWaves = Held
	opened = 0
	if few := l.Tables(5); len(few[0].Rows) != 5 || opened != 1 {
		t.Errorf("%d rows and the pictures come from %d passes", len(few[0].Rows), opened)
	}
	long := l.Tables(0)
	var rows [][]string
	must(t, long[0].Each(func(row []string) error {
		rows = append(rows, slices.Clone(row))
		return nil
	}))
	if long[0].Again == nil || held[0].Again != nil {
		t.Error("waves are held where they should not be, or not where they should")
	}
	if diff := cmp.Diff(held[0].Rows, rows) + cmp.Diff(held[1:], long[1:]); diff != "" {
		t.Errorf("waves (-held +asked for again):\n%s", diff)
	}
	must(t, d.WithCode("gfx1100", []CodeFile{{Name: "vadd.co", Base: 0x200003412000, Data: code}}))
	for name, table := range map[string]Table{"waves": d.Tables(0)[1], "instructions": d.Tables(0)[2], "traced waves": long[0]} {
		count := func() (n int, err error) {
			err = table.Each(func([]string) error {
				n++
				return nil
			})
			return n, err
		}
		gone = false
		whole, err := count()
		if err != nil || whole <= Held || table.Again == nil {
			t.Fatalf("%s: %d rows, error %v", name, whole, err)
		}
		full, n := errors.New("disk full"), 0
		err = table.Each(func([]string) error {
			if n++; n >= 5 {
				return full
			}
			return nil
		})
		if err != full || n != 5 {
			t.Errorf("%s: error %v after %d rows", name, err, n)
		}
		gone = true
		if n, err := count(); !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 || n >= whole {
			t.Errorf("%s: %d of %d rows, error %v", name, n, whole, err)
		}
	}
}
