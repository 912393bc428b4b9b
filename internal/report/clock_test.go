package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sharedtest"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// stamp is an RDNA3 TIMESTAMP: a marker or a delta.
func (n *nibbles) stamp(marker, value uint64) { n.put(1|marker<<9|value<<12, 48) }

// clocked is a stream with a wave, which lasts jump cycles more than it did. The markers around it tell.
func clocked(jump uint64, markers bool) []byte {
	var n nibbles
	n.header()
	mark := func(ticks uint64) {
		if markers {
			n.stamp(1, ticks)
		}
	}
	mark(5000)
	n.start(0, 0, 0, 0)
	n.stamp(0, 2000)
	mark(5100)
	n.stamp(0, 1000+jump)
	n.end(0, 0, 0, 0)
	mark(5150)
	for len(n.b)%32 != 0 {
		n.put(0, 4)
	}
	return n.b
}

// Times that markers, or the time that the recording took, contradict are told in every view, with the place and the figures.
func TestClockDoubts(t *testing.T) {
	const place = "times are contradicted from byte 24 to byte 38: 601000 shader cycles pass while the reference clock counts 500 ns, " +
		"which no clock below 4.70 GHz does (601000 of them in the token at byte 30); 601000 cycles are doubtful"
	for _, c := range []struct {
		name string
		b    []byte
		note string // nothing: no doubt
		n    int64
		sum  int64
		file bool // trace files tell, too
	}{
		{"right", clocked(0, true), "", 0, 0, true},
		{"markers", clocked(600000, true), place, 1, 601000, true},
		{"long, without markers", clocked(1<<30, false), "times are contradicted at byte 18: one token passes 1073742824 shader cycles, 228.7 ms at least, where the recording took no more than 10 ms; 1073742824 cycles are doubtful", 1, 1073742824, false},
		{"not too long", clocked(1<<20, false), "", 0, 0, false},
	} {
		d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(c.b), Family: gpu.GFX11}})
		must(t, err)
		files, err := HotFiles("gfx1100", []StreamFile{{Name: "a", Open: bytesOf(c.b), Family: gpu.GFX11}}, nil)
		must(t, err)
		rec := record(t, func(w *capture.Writer) {
			must(t, w.Dispatch(launchOfTest(1)))
			must(t, w.Trace(capture.Trace{Family: "gfx11", Buffer: 4096, Detail: &capture.Detail{Alive: true}}, c.b))
		})
		traced, err := Trace(rec)
		must(t, err)
		hot, err := HotCapture(rec)
		must(t, err)
		for _, v := range []struct {
			name string
			q    *Quality
			told bool
		}{
			{"decode", &d.Quality, c.file},
			{"hotspots of files", &files.Quality, c.file},
			{"trace", &traced.Quality, true},
			{"hotspots", &hot.Quality, true},
			{"waves", &hot.WaveList().Quality, true},
		} {
			n, sum, row := c.n, c.sum, "contradicted once: "
			if !v.told || c.note == "" {
				n, sum, row = 0, 0, ""
			}
			if v.q.ClockDoubts != n || v.q.CyclesDoubtful != sum || !strings.HasPrefix(v.q.rowOf(t, "clock"), row) || (row == "") != (v.q.rowOf(t, "clock") == "") {
				t.Errorf("%s, %s: %d doubts of %d cycles, %q", c.name, v.name, v.q.ClockDoubts, v.q.CyclesDoubtful, v.q.rowOf(t, "clock"))
			}
			if n > 0 && (!v.q.Warned() || !v.q.noted(capture.Warning, c.note)) {
				t.Errorf("%s, %s: %+v", c.name, v.name, v.q.Notes)
			}
			if n == 0 && len(with(v.q.Notes, "contradicted")) > 0 {
				t.Errorf("%s, %s: %+v", c.name, v.name, v.q.Notes)
			}
		}
		if l := d.Streams[0].Losses; c.file && (l.ClockDoubts != c.n || l.DoubtCycles != c.sum || (c.n > 0) != strings.Contains(l.brief(), "doubtful cycles")) {
			t.Errorf("%s: losses %+v, %q", c.name, l, l.brief())
		}
		if c.name == "markers" { // what contradicts itself does not count for how long a cycle is: 100 ticks of 10 ns for 2000 cycles
			if ps := d.Streams[0].scan.psPerCycle(); ps != 500 {
				t.Errorf("a cycle takes %v ps", ps)
			}
		}
	}
}

// Where markers alone contradict each other the first place is looked for and the rest is counted without: it comes to the same.
func TestClockCounts(t *testing.T) {
	var b []byte
	for range 3 {
		b = append(b, clocked(600000, true)...)
	}
	s := StreamFile{Open: bytesOf(b), Family: gpu.GFX11}
	fast := s.scan(scan{count: true})
	c := fast.clock
	if c.suspect || c.misfits.N != 3+2 { // time is right between 5100 and 5150 alone, but the next stream begins at 5000 again
		t.Errorf("%+v", c)
	}
	c.suspect = true
	if whole := c.doubts(&s, fast.Bytes, fast.End); fast.doubts != whole || whole.N != 5 || whole.Cycles != 3*601000 {
		t.Errorf("%+v, token by token %+v", fast.doubts, whole)
	}
}

// A real GPU's trace may last as long as the recording, by the host's clock.
func TestRecorded(t *testing.T) {
	from, to := int64(1000), int64(3500)
	c := &capture.Capture{
		Whole: true, Device: capture.Device{ClockHz: 8e9}, Traces: make([]capture.Trace, 1),
		Dispatches: []capture.Dispatch{{StartNs: &from, EndNs: &to}}, Events: []capture.Event{{Start: 500, Stop: 900}, {Start: 1e9, Stop: 2e9 + 500}},
	}
	if l := recordedOf(c, &c.Traces[0]).limits(); l.MaxHz != 12e9 || math.Abs(float64(l.Total)-12e9*2.01) > 1 || l.Longest != l.Total {
		t.Errorf("%+v", l)
	}
	c.Device.Simulated = true
	if l := recordedOf(c, &c.Traces[0]).limits(); math.Abs(float64(l.Total)-12e9*(2.5e-6+windowSlack)) > 1 {
		t.Errorf("simulated: %+v", l)
	}
	c.Whole = false
	if l := recordedOf(c, &c.Traces[0]).limits(); l.Total != 0 || l.Longest == 0 {
		t.Errorf("cut: %+v", l)
	}
}

// clockBefore tells whether anything but contradicted times is told of a stream.
func clockBefore(q *Quality) bool {
	return slices.ContainsFunc(q.Notes, func(n capture.Note) bool {
		return n.Level != capture.Info && !strings.Contains(n.Text, "contradicted") && !strings.Contains(n.Text, "no wave starts and ends in it") &&
			!strings.Contains(n.Text, "ends inside one of the 32-byte lines") // a tool that drops a byte need not keep to lines
	})
}

// TestClockDamage damages TIMESTAMPs of real captures (TIMEs on gfx9): a bit is flipped, or a byte is missing. Of those by which a wave or the
// stream's end moves by more than 1000 cycles, or waves are lost, it counts how many are told of with and without what contradicts times.
func TestClockDamage(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "captures"), "gfx*", "*", "*.sqtt"))
	must(t, err)
	type share struct{ n, before, after, recorded int }
	sums := map[string]*share{"bit": {}, "byte": {}}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, path := range all {
		data, err := os.ReadFile(path)
		must(t, err)
		family := gpu.FamilyOf(filepath.Base(filepath.Dir(filepath.Dir(path))))
		file := StreamFile{Name: "x", Open: bytesOf(data), Family: family}
		if d, err := Decode([]StreamFile{file}); err != nil || d.Quality.ClockDoubts > 0 {
			t.Fatalf("%s: %v, %+v", path, err, d.Quality.Notes)
		}
		if len(data) > 1<<20 { // it takes long, and is like the others
			continue
		}
		var spots []sqtt.Packet
		for p := range sqtt.Packets(family, data) {
			if p.Kind == sqtt.KindTimestamp || p.Kind == sqtt.KindTime && family == gpu.GFX9 {
				spots = append(spots, p)
			}
		}
		whole := file.scan(scan{keep: true})
		for i := range 20 * min(1, len(spots)) {
			p, b, kind := spots[rng.IntN(len(spots))], slices.Clone(data), "bit"
			if i%2 == 0 {
				bit := int(p.Off) + rng.IntN(int(p.Bits))
				b[bit/8] ^= 1 << (bit % 8)
			} else {
				at := (int(p.Off) + rng.IntN(int(p.Bits))) / 8
				b, kind = slices.Delete(b, at, at+1), "byte"
			}
			f := StreamFile{Name: "x", Open: bytesOf(b), Family: family}
			if !moved(whole, f.scan(scan{keep: true})) {
				continue
			}
			d, err := Decode([]StreamFile{f})
			must(t, err)
			f.recorded.seconds = 0.1
			in, err := Decode([]StreamFile{f})
			must(t, err)
			s := sums[kind]
			s.n++
			for _, c := range []struct {
				n    *int
				told bool
			}{{&s.before, clockBefore(&d.Quality)}, {&s.after, clockBefore(&d.Quality) || d.Quality.ClockDoubts > 0}, {&s.recorded, clockBefore(&in.Quality) || in.Quality.ClockDoubts > 0}} {
				if c.told {
					*c.n++
				}
			}
		}
	}
	for kind, s := range sums {
		t.Logf("%s: of %d mutations %d are told of without contradictions, %d with them, %d where the recording took 0.1 s", kind, s.n, s.before, s.after, s.recorded)
		if s.n < 500 || s.after < s.n*map[string]int{"bit": 35, "byte": 85}[kind]/100 || s.after < s.before+s.n/20 || s.recorded < s.after {
			t.Errorf("%s: %+v", kind, *s)
		}
	}
}

// moved tells whether a wave or the end stands elsewhere by more than 1000 cycles, or there are others.
func moved(a, b *scanned) bool {
	far := func(a, b int64) bool { return max(a, b)-min(a, b) > 1000 }
	if len(a.list) != len(b.list) || far(int64(a.End), int64(b.End)) {
		return true
	}
	for i := range a.list {
		if far(a.list[i].Start, b.list[i].Start) || far(a.list[i].Stop, b.list[i].Stop) {
			return true
		}
	}
	return false
}

// A gfx9 stream has no markers; that a timestamp takes time back shows.
func TestClockBack(t *testing.T) {
	var b []byte
	for _, ts := range []byte{0, 9, 1} { // TIME_RESET of 1020 cycles and TIME, whose third byte of the timestamp counts 65536
		b = append(b, 0xf0, 0x2f, 0x01, 0, 0, 0, ts, 1, 0, 0)
	}
	d, err := Decode([]StreamFile{{Name: "a", Open: bytesOf(b), Family: gpu.GFX9, Header: sqtt.HeaderNo}})
	must(t, err)
	if q := &d.Quality; !q.noted(capture.Warning, "times are contradicted at byte 22: shader time goes back by 525308 cycles; 525308 cycles are doubtful") {
		t.Errorf("%+v", q.Notes)
	}
	var out bytes.Buffer
	must(t, d.WriteJSON(&out))
	if !strings.Contains(out.String(), `"clock_doubts": 1`) || !strings.Contains(out.String(), `"cycles_doubtful": 525308`) {
		t.Errorf("%s", out.String())
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{80e-9: "80 ns", 4.48e-3: "4.48 ms", 3600 * 3.5: "3.5 hours", 86400 * 3.513: "3.513 days", 86400 * 365.25 * 3.2: "3.2 years", 0: "0 ns"} {
		if got := seconds(s); got != want {
			t.Errorf("%v s: %q, want %q", s, got, want)
		}
	}
}
