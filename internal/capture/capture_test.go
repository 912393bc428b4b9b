package capture

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sample writes a capture with one record of each kind and returns it with the bytes of its trace.
func sample(t testing.TB) (file, trace []byte) {
	t.Helper()
	trace = make([]byte, 5*chunkRaw/2)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range trace {
		trace[i] = byte(r.IntN(4))
	}
	var buf bytes.Buffer
	w, err := NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	start := int64(17)
	for _, err := range []error{
		w.Meta(Meta{Tool: "rigprof trace", Command: []string{"a", "b"}}),
		w.Device(Device{Name: "Radeon", Target: "gfx1100", Simulated: true, Live: [][]uint32{{15, 7}}}),
		w.Object(Object{Name: "x.co", Base: 1 << 63}, []byte("ELF")),
		w.Dispatch(Dispatch{Kernel: "k\"\n", Grid: [3]uint32{1, 2, 3}, StartNs: &start}),
		w.Trace(Trace{Engine: 0}, nil),
		w.Trace(Trace{Engine: 1, Detail: &Detail{SIMD: -1}}, trace),
		w.Counters(Counters{Layout: []Counter{{Name: "SQ_WAVES", Instances: 1, Engines: 1, Arrays: 1, WGPs: 1}}}, []byte{1, 0, 0, 0, 0, 0, 0, 0}),
		w.Note(Note{Level: Warning, Text: "x"}),
		w.Event(Event{Kind: "work", Stop: 5}),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes(), trace
}

func read(t testing.TB, b []byte) *Capture {
	t.Helper()
	c, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	file, trace := sample(t)
	c := read(t, file)
	start := int64(17)
	want := &Capture{
		Meta:       Meta{Tool: "rigprof trace", Command: []string{"a", "b"}},
		Device:     Device{Name: "Radeon", Target: "gfx1100", Simulated: true, Live: [][]uint32{{15, 7}}},
		Objects:    []Object{{Name: "x.co", Base: 1 << 63, Size: 3}},
		Dispatches: []Dispatch{{Kernel: "k\"\n", Grid: [3]uint32{1, 2, 3}, StartNs: &start}},
		Traces:     []Trace{{Engine: 0}, {Engine: 1, Detail: &Detail{SIMD: -1}, Length: int64(len(trace))}},
		Counters:   []Counters{{Layout: []Counter{{Name: "SQ_WAVES", Instances: 1, Engines: 1, Arrays: 1, WGPs: 1}}, Size: 8}},
		Notes:      []Note{{Level: Warning, Text: "x"}},
		Events:     []Event{{Kind: "work", Stop: 5}},
		Whole:      true,
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Capture{}), cmpopts.IgnoreTypes(Blob{})); diff != "" {
		t.Error(diff)
	}
	if got, err := c.Traces[1].Bytes.Bytes(); err != nil || !bytes.Equal(got, trace) {
		t.Errorf("trace: %d bytes, %v; want %d", len(got), err, len(trace))
	}
	if n := c.Traces[1].Bytes.Len(); n != int64(len(trace)) {
		t.Errorf("length %d, want %d", n, len(trace))
	}
	if got, err := c.Traces[0].Bytes.Bytes(); err != nil || len(got) != 0 {
		t.Errorf("empty trace: %d bytes, %v", len(got), err)
	}
}

// A file cut anywhere gives the records before the cut and says that it was cut.
func TestCut(t *testing.T) {
	file, _ := sample(t)
	last := 0
	for n := headBytes; n < len(file); n += 1 + n/97 {
		c := read(t, file[:n])
		got := len(c.Objects) + len(c.Dispatches) + len(c.Traces) + len(c.Counters) + len(c.Notes) + len(c.Events)
		if c.Whole || got < last {
			t.Fatalf("cut at %d: whole %v, %d records after %d", n, c.Whole, got, last)
		}
		last = got
	}
	if _, err := Read(bytes.NewReader(file[:5]), 5); err == nil {
		t.Error("five bytes are a capture")
	}
}

// A flipped bit loses one record, or the rest where it hits a head; it is always reported.
func TestFlip(t *testing.T) {
	file, trace := sample(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b := bytes.Clone(file)
		at := headBytes + r.IntN(len(b)-headBytes)
		b[at] ^= 1 << r.IntN(8)
		c := read(t, b)
		if len(c.Damage) == 0 && c.Whole {
			// The end record's payload tells nothing that is used.
			if got, err := c.Traces[1].Bytes.Bytes(); err != nil || !bytes.Equal(got, trace) {
				t.Fatalf("flip at %d went unnoticed", at)
			}
		}
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"k.rigprof", "k-1.rigprof", "k-2.rigprof"} {
		w, path, err := Create(filepath.Join(dir, "k.rigprof"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) != want {
			t.Errorf("%s, want %s", path, want)
		}
		c, err := Open(path)
		if err != nil || !c.Whole {
			t.Errorf("open: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := Create(filepath.Join(dir, "no", "k.rigprof")); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("missing folder: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		if _, ok := err.(*os.PathError); ok {
			return err
		}
		err = u.Unwrap()
	}
}

func FuzzRead(f *testing.F) {
	var buf bytes.Buffer
	w, err := NewWriter(&buf)
	if err != nil {
		f.Fatal(err)
	}
	_ = w.Device(Device{Name: "x"})                              // into memory
	_ = w.Trace(Trace{Engine: 1}, bytes.Repeat([]byte{7}, 1000)) // into memory
	_ = w.Close()                                                // into memory
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, tr := range c.Traces {
			got, err := tr.Bytes.Bytes()
			if err == nil && int64(len(got)) != tr.Bytes.Len() {
				t.Fatalf("%d bytes, Len says %d", len(got), tr.Bytes.Len())
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	_, trace := sample(b)
	b.SetBytes(int64(len(trace)))
	for b.Loop() {
		var buf bytes.Buffer
		w, err := NewWriter(&buf)
		if err != nil {
			b.Fatal(err)
		}
		_ = w.Trace(Trace{}, trace) // into memory
		_ = w.Close()               // into memory
	}
}
