package report

import (
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
)

// rowOf is a row of the quality block for people, by its first cell.
func (q *Quality) rowOf(t *testing.T, what string) string {
	t.Helper()
	table := q.table()
	for _, r := range table.Rows {
		if r[0] == what {
			return r[1]
		}
	}
	return ""
}

// noted tells whether a remark begins so.
func (q *Quality) noted(level, text string) bool {
	for _, n := range q.Notes {
		if n.Level == level && strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

// stalled9 is a gfx9 stream, a token a line; deltas count four cycles. The second stall lasts to the stream's end.
var stalled9 = []byte{
	0x10, 0x80, // MISC stall begins, 4 cycles on
	0x43, 0, 1, 4, // WAVE_START of CU 1, slot 0
	0x10, 0xa0, // MISC stall ends, 4 cycles on
	0xf0, 0, // MISC time, 60 on
	0x46, 0, // WAVE_END
	0x10, 0x80, // MISC stall begins
	0xf0, 0x0f, // MISC time, 1020 on
	0xa0, 0, // and 40
}

// Waves that waited for the trace are told in every view: their times are not the kernel's alone.
func TestStalls(t *testing.T) {
	d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(stalled9), Family: gpu.GFX9}})
	must(t, err)
	c := record(t, func(w *capture.Writer) {
		must(t, w.Dispatch(launchOfTest(1)))
		must(t, w.Trace(capture.Trace{Family: "gfx9", Buffer: 4096}, stalled9))
	})
	traced, err := Trace(c)
	must(t, err)
	hot, err := HotCapture(c)
	must(t, err)
	if b := d.Streams[0].Losses.brief(); !strings.Contains(b, "stalls") {
		t.Errorf("losses %q", b)
	}
	for name, q := range map[string]*Quality{"decode": &d.Quality, "trace": &traced.Quality, "hotspots": &hot.Quality} {
		if !q.Warned() || !q.noted(capture.Warning, "the trace stalled the waves") {
			t.Errorf("%s: notes %+v", name, q.Notes)
		}
		if r := q.rowOf(t, "stalled"); r != "waves waited for the trace 2 times, 1064 cycles" {
			t.Errorf("%s: %q", name, r)
		}
	}
}
