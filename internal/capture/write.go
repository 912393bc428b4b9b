package capture

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Writer appends records. Each method writes whole records at once, so that a recording that dies leaves a file that can be
// read. Methods are for one goroutine.
type Writer struct {
	w       io.Writer
	file    *os.File // nil: not ours to close
	enc     *zstd.Encoder
	buf     []byte
	counts  map[kind]uint32
	records int
	err     error
}

// NewWriter writes the head of a capture to w.
func NewWriter(w io.Writer) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	var h [headBytes]byte
	copy(h[:], magic)
	binary.LittleEndian.PutUint32(h[8:], version)
	if _, err := w.Write(h[:]); err != nil {
		return nil, err
	}
	return &Writer{w: w, enc: enc, counts: map[kind]uint32{}}, nil
}

// maxNames bounds the search for a name that is free.
const maxNames = 10000

// Create makes a capture file at path, or at the first of NAME-1.rigprof, NAME-2.rigprof, … that does not exist: a capture
// is never overwritten. It returns the path taken.
func Create(path string) (*Writer, string, error) {
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	name := path
	for i := 1; ; i++ {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
		if errors.Is(err, fs.ErrExist) && i == 1 {
			if st, serr := os.Stat(path); serr == nil && !st.Mode().IsRegular() {
				return nil, "", fmt.Errorf("create capture: %s is no file that could be one (%v)", path, kindOfFile(st.Mode()))
			}
		}
		if errors.Is(err, fs.ErrExist) && i < maxNames {
			name = stem + "-" + strconv.Itoa(i) + ext
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("create capture: %w", err)
		}
		w, err := NewWriter(f)
		if err != nil {
			_ = f.Close() // the write's error is the one to tell
			return nil, "", fmt.Errorf("create capture %s: %w", name, err)
		}
		w.file = f
		return w, name, nil
	}
}

// kindOfFile names what is no regular file.
func kindOfFile(m fs.FileMode) string {
	if m.IsDir() {
		return "a folder"
	}
	return "a device, pipe or socket"
}

// Close ends the recording and closes the file that Create made.
func (w *Writer) Close() error {
	if w.enc == nil {
		return w.err
	}
	w.json(kindEnd, End{Records: w.records})
	_ = w.enc.Close() // it holds nothing back
	w.enc = nil
	if w.file != nil {
		if err := w.file.Close(); w.err == nil {
			w.err = err
		}
	}
	return w.err
}

// Each of the following appends one record; the first error stays and is what they and Close return.

// Meta says how the capture came to be.
func (w *Writer) Meta(m Meta) error { return w.json(kindMeta, m) }

// Device says what ran the work.
func (w *Writer) Device(d Device) error { return w.json(kindDevice, d) }

// Object adds a code object and returns nothing but its error: objects are numbered as they are added.
func (w *Writer) Object(o Object, elf []byte) error {
	o.Size = int64(len(elf))
	return w.owner(kindObject, o, elf)
}

// Dispatch adds a launch.
func (w *Writer) Dispatch(d Dispatch) error { return w.json(kindDispatch, d) }

// Trace adds an engine's trace.
func (w *Writer) Trace(t Trace, data []byte) error {
	t.Length = int64(len(data))
	return w.owner(kindTrace, t, data)
}

// Counters adds a run's samples.
func (w *Writer) Counters(c Counters, samples []byte) error {
	c.Size = int64(len(samples))
	return w.owner(kindCounters, c, samples)
}

// Note adds a remark on quality.
func (w *Writer) Note(n Note) error { return w.json(kindNote, n) }

// Event adds an entry of the timeline.
func (w *Writer) Event(e Event) error { return w.json(kindEvent, e) }

func (w *Writer) json(k kind, v any) error {
	if w.err != nil {
		return w.err
	}
	b, err := json.Marshal(v)
	if err != nil {
		w.err = err
		return err
	}
	if len(b) > maxRaw {
		w.err = fmt.Errorf("capture: a record of %d bytes", len(b))
		return w.err
	}
	return w.record(k, b)
}

// owner writes a record and the data it owns.
func (w *Writer) owner(k kind, v any, data []byte) error {
	index := w.counts[k]
	if err := w.json(k, v); err != nil {
		return err
	}
	for off := 0; off < len(data); off += chunkRaw {
		part := data[off:min(off+chunkRaw, len(data))]
		b := make([]byte, 0, dataBytes+len(part))
		b = binary.LittleEndian.AppendUint16(b, uint16(k))
		b = binary.LittleEndian.AppendUint16(b, 0)
		b = binary.LittleEndian.AppendUint32(b, index)
		b = binary.LittleEndian.AppendUint64(b, uint64(off))
		if err := w.record(kindData, append(b, part...)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) record(k kind, payload []byte) error {
	if w.err != nil {
		return w.err
	}
	w.buf = appendRecord(w.buf[:0], k, payload, w.enc)
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("write capture: %w", err)
	}
	w.counts[k]++
	w.records++
	return w.err
}
