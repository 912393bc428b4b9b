package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/report"
)

// numbered is a table like that of decoded instructions, with n rows that are made when they are asked for.
func numbered(n int) *report.Table {
	times := make([]string, 1000)
	for i := range times {
		times[i] = strconv.Itoa(999_900 + i)
	}
	return &report.Table{
		Columns: []report.Column{
			report.Text("file"), report.Number("array"), report.Number("wgp"), report.Number("simd"), report.Number("slot"), report.Number("time"),
			report.Number("stall"), report.Number("cycles"), report.Text("category"), report.Text("at"), report.Text("instruction"),
		},
		Again: func(f func(row []string) error) error {
			row := []string{"d2_se0.sqtt", "0", "3", "1", "14", "", "0", "1", "VALU", "r_32_16_8_16_4_4_256_4+0x2a8", "v_add_co_ci_u32_e32 v17, vcc_lo, s5, v17, vcc_lo"}
			for i := range n {
				row[5] = times[i%len(times)]
				if err := f(row); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Both ways to draw a table give the same bytes, whatever the cells hold.
func TestLongTableAsShort(t *testing.T) {
	pieces := []string{"a", "v_add3_u32", " ", "  ", "0", "12345678", "ü", "日本語", "e\u0301", "🙂", "\x1b[31m", "\n", "\t", "\u00a0", "\xff", "_", "│", strings.Repeat("x", 150)}
	heads := []string{"", "at", "waves_launched", "idle %", "Größe", "実行"}
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 300 {
		var table report.Table
		for range 1 + r.IntN(6) {
			table.Columns = append(table.Columns, report.Column{Name: heads[r.IntN(len(heads))], Right: r.IntN(2) == 0})
		}
		for range 1 + r.IntN(8) {
			cells := make([]any, len(table.Columns))
			for i := range cells {
				cells[i] = text(3)
			}
			table.Add(cells...)
		}
		var short, long bytes.Buffer
		if err := errors.Join(drawShort(&short, &table), drawLong(&long, &table)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(short.String(), long.String()); diff != "" {
			t.Fatalf("%q (-short +long):\n%s", table.Rows, diff)
		}
	}
}

// Rows are written as they come, and what is allocated does not grow with their number.
func TestLongTableHoldsNoRows(t *testing.T) {
	const n = 100_000
	given, written, most := 0, 0, 0
	table := numbered(n)
	rows := table.Again
	table.Again = func(f func(row []string) error) error {
		given = 0
		return rows(func(row []string) error {
			given++
			return f(row)
		})
	}
	count := writerFunc(func(p []byte) (int, error) {
		if written > 0 { // the head is there: columns were measured
			most = max(most, given-written)
		}
		written += bytes.Count(p, []byte("\n"))
		return len(p), nil
	})
	if err := writeTable(count, table); err != nil {
		t.Fatal(err)
	}
	if written != n+1 || most > 0 {
		t.Errorf("%d lines, %d rows held", written, most)
	}
	allocs := func(table *report.Table) float64 {
		return testing.AllocsPerRun(5, func() {
			if err := writeTable(io.Discard, table); err != nil {
				t.Error(err)
			}
		})
	}
	few, many, own := allocs(numbered(10)), allocs(numbered(20_000)), allocs(held(t, 20_000))
	if many > few || own > few {
		t.Errorf("%v allocations for 20000 rows, %v for as many that the table holds, %v for 10", many, own, few)
	}
}

// held is numbered with rows that it holds.
func held(t testing.TB, n int) *report.Table {
	table := numbered(n)
	if err := table.Again(func(row []string) error {
		table.Rows = append(table.Rows, slices.Clone(row))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	table.Again = nil
	return table
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A row that turns up in the second pass alone moves its line and is not cut.
func TestLongTableGrows(t *testing.T) {
	pass := 0
	table := &report.Table{Columns: []report.Column{report.Number("time"), report.Text("at"), report.Text("what")}, Again: func(f func(row []string) error) error {
		pass++
		if err := f([]string{"1", "vadd", "x"}); err != nil || pass == 1 {
			return err
		}
		return errors.Join(f([]string{"123456", "vadd+0x18", "y"}), f([]string{"22", "v", "z"}))
	}}
	var b bytes.Buffer
	if err := writeTable(&b, table); err != nil {
		t.Fatal(err)
	}
	if want := "time  at    what\n   1  vadd  x\n123456  vadd+0x18  y\n  22  v     z\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestLongTableFails(t *testing.T) {
	lost, full := errors.New("file lost"), errors.New("disk full")
	for pass := 1; pass <= 2; pass++ { // measuring, writing
		n := 0
		table := numbered(10)
		rows := table.Again
		table.Again = func(f func(row []string) error) error {
			if n++; n == pass {
				return errors.Join(rows(f), lost)
			}
			return rows(f)
		}
		if err := writeTable(io.Discard, table); !errors.Is(err, lost) {
			t.Errorf("pass %d: error %v", pass, err)
		}
	}
	if err := writeTable(writerFunc(func([]byte) (int, error) { return 0, full }), numbered(10)); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// manyWaves is a trace file with the waves of the bundled trace n times over.
func manyWaves(t testing.TB, n int) string {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "many.sqtt")
	if err := os.WriteFile(name, bytes.Repeat(data, n), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const vaddCode = "../../testdata/kernels/gfx1100/vadd.co@0x200003412000"

// Long tables of decode are what tablewriter makes of the rows that CSV has.
func TestDecodeLongTables(t *testing.T) {
	name := manyWaves(t, 12)
	csvOf := func(args ...string) [][]string {
		t.Helper()
		code, out, errs := rigprof(append([]string{"decode", "--format", "csv", name}, args...)...)
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if code != 0 || err != nil {
			t.Fatalf("exit code %d, %v, %s", code, err, errs)
		}
		return rows[1:]
	}
	number := func(s string) int {
		t.Helper()
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	place := []report.Column{report.Text("file"), report.Number("array"), report.Number("wgp"), report.Number("simd"), report.Number("slot")}
	waves := report.Table{Columns: append(slices.Clone(place), report.Number("start"), report.Number("stop"), report.Number("cycles"))}
	for _, r := range csvOf() { // file, family, cu, simd, slot, start, stop, lanes
		cu := number(r[2]) // array*8 + WGP
		waves.Add(r[0], cu/8, cu%8, r[3], r[4], r[5], r[6], number(r[6])-number(r[5]))
	}
	insts := report.Table{Columns: append(slices.Clone(place),
		report.Number("time"), report.Number("stall"), report.Number("cycles"), report.Text("category"), report.Text("at"), report.Text("instruction"))}
	for _, r := range csvOf("--code", vaddCode) { // file, cu, simd, slot, time, ...
		cu := number(r[1])
		row := []any{r[0], cu / 8, cu % 8}
		for _, c := range r[2:] {
			row = append(row, c)
		}
		insts.Add(row...)
	}
	if len(waves.Rows) <= report.Held || len(insts.Rows) <= report.Held {
		t.Fatalf("%d waves, %d instructions: not long", len(waves.Rows), len(insts.Rows))
	}
	for _, limit := range []int{0, report.Held + 1, report.Held} {
		code, out, errs := rigprof("decode", "--code", vaddCode, "--limit", strconv.Itoa(limit), name)
		if code != 0 {
			t.Fatalf("exit code %d, %s", code, errs)
		}
		want := ""
		for _, section := range []struct {
			title string
			report.Table
		}{{"waves", waves}, {"instructions", insts}} {
			all := len(section.Rows)
			if limit > 0 {
				section.Rows = section.Rows[:limit]
			}
			var b bytes.Buffer
			if err := drawShort(&b, &section.Table); err != nil {
				t.Fatal(err)
			}
			want += section.title + "\n" + b.String()
			if limit > 0 {
				want += fmt.Sprintf("… %d more %s: --limit 0 shows all, --format csv or json are for programs\n", all-limit, section.title)
			}
			want += "\n"
		}
		_, got, _ := strings.Cut(out, "\n\n") // behind the table of streams
		got = got[:max(strings.LastIndex(got, "quality\n"), 0)]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("--limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

// A long table of waves has, beside the pictures, what a short one has.
func TestWavesLongTable(t *testing.T) {
	const limit = report.Held // held rows and pictures come from one pass
	run := func(args ...string) string {
		t.Helper()
		code, out, errs := rigprof(append([]string{"waves", "--code", vaddCode}, args...)...)
		if code != 0 {
			t.Fatalf("exit code %d, %s", code, errs)
		}
		return out
	}
	name := manyWaves(t, 140) // of 4 traced waves
	short, long := run("--limit", strconv.Itoa(limit), name), run("--limit", "0", name)
	shortTable, shortRest, _ := strings.Cut(short, "\n\n")
	longTable, longRest, _ := strings.Cut(long, "\n\n")
	note := "\n… 48 more waves: --limit 0 shows all, --format csv or json are for programs"
	head, noted := strings.CutSuffix(shortTable, note)
	words := func(s string) (lines [][]string) {
		for l := range strings.Lines(s) {
			lines = append(lines, strings.Fields(l))
		}
		return lines
	}
	got := words(longTable)
	if !noted || len(got) != 2+560 {
		t.Fatalf("%d lines; the short table ends %q", len(got), shortTable[max(0, len(shortTable)-len(note)):])
	}
	if diff := cmp.Diff(words(head), got[:2+limit]); diff != "" {
		t.Errorf("waves (-short +long):\n%s", diff)
	}
	if diff := cmp.Diff(shortRest, longRest); diff != "" || !strings.Contains(longRest, "# issue, s stall") {
		t.Errorf("beside the waves (-short +long):\n%s", diff)
	}
}

func BenchmarkTable(b *testing.B) {
	for _, bm := range []struct {
		name string
		rows int
		draw func(io.Writer, *report.Table) error
	}{{"Short", 500, drawShort}, {"Long", 100_000, drawLong}} {
		b.Run(bm.name, func(b *testing.B) {
			table := numbered(bm.rows)
			if bm.name == "Short" { // it needs rows that are held
				table = held(b, bm.rows)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := bm.draw(io.Discard, table); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(bm.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkDecode decodes a stream and writes its instructions, the table its waves as well, start to end.
func BenchmarkDecode(b *testing.B) {
	name := manyWaves(b, 1000)
	for _, format := range []string{"table", "csv"} {
		b.Run(format, func(b *testing.B) {
			out := filepath.Join(b.TempDir(), "out")
			b.ReportAllocs()
			for b.Loop() {
				if code, _, errs := rigprof("decode", "--code", vaddCode, "--limit", "0", "--format", format, "-o", out, name); code != 0 {
					b.Fatalf("exit code %d, %s", code, errs)
				}
			}
			b.StopTimer()
			data, err := os.ReadFile(out)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(bytes.Count(data, []byte("\n")))*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
