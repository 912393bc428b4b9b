package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/rigprof/rigprof/internal/report"
)

// What becomes of a trace file while it is read does not mix: later passes read what the first one did, or fail.
func TestStreamsThatChange(t *testing.T) {
	more, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(name string) error
		want   error
	}{
		{"is as it was", func(string) error { return nil }, nil},
		{"grows", func(name string) error {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(more)
			return errors.Join(err, f.Close())
		}, nil},
		{"is replaced", func(name string) error {
			return errors.Join(os.WriteFile(name+".new", more, 0o600), os.Rename(name+".new", name))
		}, nil},
		{"is removed", os.Remove, nil},
		{"becomes shorter", func(name string) error { return os.Truncate(name, int64(7*len(more))) }, errShorter},
		{"is emptied", func(name string) error { return os.Truncate(name, 0) }, errShorter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := manyWaves(t, 12)
			files, done, err := readStreams([]string{name}, decodeOptions{Header: "auto"}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			d, err := report.Decode(files)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(name); err != nil {
				t.Fatal(err)
			}
			waves := d.Tables(0)[1]
			if waves.Again == nil {
				t.Fatal("the table is not long")
			}
			for form, write := range map[string]func(io.Writer) error{"table": func(w io.Writer) error { return writeTable(w, &waves) }, "csv": d.WriteCSV, "json": d.WriteJSON} {
				var b bytes.Buffer
				if err := write(&b); !errors.Is(err, tt.want) {
					t.Errorf("%s: error %v, want %v", form, err, tt.want)
				}
				if form == "csv" && tt.want == nil && int64(bytes.Count(b.Bytes(), []byte("\n"))) != 1+d.Streams[0].Waves {
					t.Errorf("csv: %d lines for %d waves", bytes.Count(b.Bytes(), []byte("\n")), d.Streams[0].Waves)
				}
			}
		})
	}
}
