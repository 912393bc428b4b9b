package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
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

// A stream that was cut says what it lacks, in its notes and in what was lost.
func TestCutQuality(t *testing.T) {
	whole := twoWaves()
	var ends nibbles
	ends.header()
	ends.end(0, 1, 0, 0)
	for _, c := range []struct {
		name  string
		b     []byte
		lost  string
		level string
		note  string
	}{
		{"no wave ends", whole[:len(whole)/2], "the end of 2 waves", capture.Loss, "waves start in it and none ends"},
		{"one does not", whole, "the end of 1 wave", capture.Warning, "waves start in it that do not end"},
		{"the beginning is missing", ends.b, "the start of 1 wave", capture.Loss, "wave ends whose start is missing"},
	} {
		d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(c.b), Family: gpu.GFX11}})
		must(t, err)
		if q := &d.Quality; q.rowOf(t, "lost") != c.lost || !q.noted(c.level, c.note) || !q.Warned() {
			t.Errorf("%s: lost %q, notes %+v", c.name, q.rowOf(t, "lost"), q.Notes)
		}
	}
	if q := (&Quality{EnginesWithData: []Index{0}}); q.rowOf(t, "lost") != "nothing that shows" {
		t.Errorf("nothing was lost: %q", q.rowOf(t, "lost"))
	}
	q := &Quality{EnginesWithData: []Index{0}, BufferFull: []int{0}, BytesLost: 2048, PacketsLost: 3, WavesStartOnly: 1, WavesEndOnly: 5}
	if got := q.rowOf(t, "lost"); got != "buffer full on engine 0, within the buffers 2 KiB unreadable, 3 reports of lost tokens, the end of 1 wave, the start of 5 waves" {
		t.Errorf("lost %q", got)
	}
}

// A gfx9 stream that is read out of step shows it by waves in slots that no SIMD has. They stay, and are told.
func TestOutOfStep(t *testing.T) {
	start := func(slot byte) []byte { return []byte{0x03, slot << 2, 0, 4} } // WAVE_START of CU 0, SIMD 0
	end := func(slot byte) []byte { return []byte{0x06, slot << 2} }
	for _, c := range []struct {
		b         []byte
		misplaced int64
	}{
		{slices.Concat(start(9), end(9), start(0), end(0)), 0},
		{slices.Concat(start(10), end(10), start(15), end(15), start(9), end(9), start(12)), 3},
	} {
		d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(c.b), Family: gpu.GFX9, Header: sqtt.HeaderNo}})
		must(t, err)
		q := &d.Quality
		if q.WavesMisplaced != c.misplaced || q.noted(capture.Loss, "waves in slots above 9") != (c.misplaced > 0) || strings.Contains(q.rowOf(t, "lost"), "step: 3 waves in slots that do not exist") != (c.misplaced > 0) {
			t.Errorf("%x: %d misplaced, lost %q, notes %+v", c.b, q.WavesMisplaced, q.rowOf(t, "lost"), q.Notes)
		}
		if n := int64(len(c.b) / 6); d.Streams[0].Waves != n {
			t.Errorf("%d waves, want %d", d.Streams[0].Waves, n)
		}
	}
	// Others have more slots.
	var n nibbles
	n.header()
	n.start(0, 0, 0, 15)
	n.end(0, 0, 0, 15)
	d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(n.b), Family: gpu.GFX11}})
	must(t, err)
	if d.Quality.WavesMisplaced != 0 || d.Streams[0].Waves != 1 {
		t.Errorf("gfx11: %+v", d.Quality)
	}
}

// Streams are engines only where each is another engine's.
func TestStreams(t *testing.T) {
	for _, c := range []struct {
		with, without []Index
		what          string
	}{
		{[]Index{0, 1}, []Index{2}, "engines"},
		{[]Index{0, 0}, nil, "streams"}, // of two dispatches
		{[]Index{0, 1}, []Index{1}, "streams"},
		{[]Index{0, -1}, nil, "streams"},
	} {
		q := Quality{EnginesWithData: c.with, EnginesWithoutData: c.without}
		if !strings.Contains(q.rowOf(t, c.what), " with data, ") {
			t.Errorf("%v and %v: %q", c.with, c.without, q.table().Rows)
		}
	}
}

// TestLanesReason checks that only gfx12's streams are said to have a token that nobody can read.
func TestLanesReason(t *testing.T) {
	for family, want := range map[gpu.Family]bool{gpu.GFX9: false, gpu.GFX11: false, gpu.GFX12: true} {
		q := newQuality()
		q.stream(0, &scanned{Result: sqtt.Result{Family: family, Bytes: 8}, lanes: 32, laneWaves: 1})
		q.stream(1, &scanned{Result: sqtt.Result{Family: family, Bytes: 8}})
		if text := fmt.Sprint(q.table().Rows); strings.Contains(text, "EXEC_POPCOUNT") != want || !strings.Contains(text, "32 on average when a wave starts; per instruction n/a: no token tells") {
			t.Errorf("%v: %s", family, text)
		}
	}
}
