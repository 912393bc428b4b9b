package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rec is a record with any head and stored payload, its checksums right.
func rec(k kind, codec byte, raw uint32, stored []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, recordMark)
	b = binary.LittleEndian.AppendUint16(b, uint16(k))
	b = append(b, codec, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(stored)))
	b = binary.LittleEndian.AppendUint32(b, raw)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(stored, castagnoli))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, stored...)
}

// Records that checksums call right and that make no sense are told as damage, or end the reading; what stands around them is read.
func TestDamagedRecords(t *testing.T) {
	file, _ := sample(t)
	head := file[:headBytes]
	note := []byte(`{"text":"still here"}`)
	good := rec(kindNote, codecPlain, uint32(len(note)), note)
	for name, c := range map[string]struct {
		bad  []byte
		want string // in Damage
		goon bool   // what follows is read
	}{
		"no JSON":             {rec(kindNote, codecPlain, 1, []byte("{")), "damaged record at byte 16", true},
		"plain, other length": {rec(kindNote, codecPlain, 5, []byte("{}")), "length", true},
		"no zstd":             {rec(kindNote, codecZstd, 5, []byte("{}")), "zstd", true},
		"unknown codec":       {rec(kindNote, 7, 2, []byte("{}")), "codec 7", true},
		"data too short":      {rec(kindData, codecPlain, 3, []byte("abc")), "data of 3 bytes", true},
		"data far away":       {rec(kindData, codecPlain, dataBytes, bytes.Repeat([]byte{0xff}, dataBytes)), "data at offset 0xffffffffffffffff", true},
		"huge":                {rec(kindNote, codecZstd, 1<<31, []byte("{}")), "record of 2147483648 bytes", false},
		"unknown kind":        {rec(200, codecPlain, 2, []byte("{}")), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := append(append(append([]byte{}, head...), c.bad...), good...)
			r, err := Read(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			damage := strings.Join(r.Damage, "; ")
			if c.want == "" && len(r.Damage) > 0 || !strings.Contains(damage, c.want) {
				t.Errorf("damage %q, want %q", damage, c.want)
			}
			if got := len(r.Notes) == 1 && r.Notes[0].Text == "still here"; got != c.goon {
				t.Errorf("notes %+v", r.Notes)
			}
			if name == "unknown kind" && r.Unknown != 1 {
				t.Errorf("%d unknown records", r.Unknown)
			}
		})
	}
	// Very many are not all told.
	b := append([]byte{}, head...)
	for range maxDamage + 5 {
		b = append(b, rec(kindNote, codecPlain, 1, []byte("{"))...)
	}
	if r, err := Read(bytes.NewReader(b), int64(len(b))); err != nil || len(r.Damage) != maxDamage+1 || r.Damage[maxDamage] != "… and more" {
		t.Errorf("%v, %d told", err, len(r.Damage))
	}
}

// Files that are no captures of ours say so.
func TestNoCapture(t *testing.T) {
	later := append([]byte(magic), 9, 0, 0, 0, 0, 0, 0, 0)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty": {nil, ""}, "short": {[]byte("rigprof"), ""}, "other": {bytes.Repeat([]byte("x"), 64), "not a rigprof capture"}, "later": {later, "capture format 9; this rigprof reads format 1"},
	} {
		path := filepath.Join(t.TempDir(), "a.rigprof")
		if err := os.WriteFile(path, c.b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nix")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// failing takes n bytes and no more.
type failing struct{ n int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.n {
		return 0, errFull
	}
	f.n -= len(b)
	return len(b), nil
}

// The first write that fails is what every later call and Close return, wherever it is.
func TestWriteFails(t *testing.T) {
	var whole bytes.Buffer
	write := func(w *Writer) error {
		_ = w.Meta(Meta{Tool: "t"})
		_ = w.Object(Object{Name: "o"}, make([]byte, 100))
		_ = w.Trace(Trace{Family: "gfx11"}, []byte("bytes"))
		_ = w.Counters(Counters{}, []byte("samples"))
		return w.Note(Note{Text: "n"})
	}
	w, err := NewWriter(&whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(w), w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	for n := range whole.Len() {
		w, err := NewWriter(&failing{n: n})
		if n < headBytes {
			if !errors.Is(err, errFull) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		err = write(w)
		if cerr := w.Close(); !errors.Is(cerr, errFull) || err != nil && !errors.Is(err, errFull) {
			t.Fatalf("%d bytes: %v, then %v", n, err, cerr)
		}
	}
	w, _ = NewWriter(&whole)
	if err := w.Note(Note{Text: strings.Repeat("x", maxRaw)}); err == nil || !strings.Contains(err.Error(), "a record of") {
		t.Errorf("a record that is too long: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("its capture is whole")
	}
}

// Which SIMDs of the traced unit have instructions.
func TestDetailHas(t *testing.T) {
	for _, c := range []struct {
		d    Detail
		want string
	}{{Detail{SIMD: 2}, "0010"}, {Detail{SIMD: -1}, "1111"}, {Detail{SIMD: -1, SIMDs: 0b1001}, "1001"}} {
		got := ""
		for i := range 4 {
			got += map[bool]string{true: "1", false: "0"}[c.d.Has(i)]
		}
		if got != c.want {
			t.Errorf("%+v has %s, want %s", c.d, got, c.want)
		}
	}
}
