package capture

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Capture is what a file holds. Large bytes stay in the file until a Blob is asked for them.
type Capture struct {
	Meta       Meta
	Device     Device
	Objects    []Object
	Dispatches []Dispatch
	Traces     []Trace
	Counters   []Counters
	Notes      []Note
	Events     []Event

	Whole   bool     // the recording was finished
	Damage  []string // what could not be read, and where
	Unknown int      // records of kinds that this version does not know

	file *os.File
}

// Open reads the capture at path. The file stays open for its blobs until Close.
func Open(path string) (*Capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	c, err := openFile(f)
	if err != nil {
		_ = f.Close() // only read
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.file = f
	return c, nil
}

func openFile(f *os.File) (*Capture, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return Read(f, st.Size())
}

// Close closes the file that Open opened.
func (c *Capture) Close() error {
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}

// Usable is an error where nothing can be read of what was recorded.
func (c *Capture) Usable() error {
	if len(c.Dispatches)+len(c.Traces)+len(c.Counters)+len(c.Events) > 0 {
		return nil
	}
	if len(c.Damage) > 0 {
		return fmt.Errorf("nothing that was recorded can be read: %s", c.Damage[0])
	}
	if !c.Whole {
		return errors.New("nothing was recorded: the capture ends before the first dispatch")
	}
	return errors.New("the capture holds no recording")
}

// Cut says whether part of the recording is missing, or could not be read.
func (c *Capture) Cut() bool { return !c.Whole || len(c.Damage) > 0 }

// IsCapture says whether a file that starts with these bytes is one.
func IsCapture(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }

// Read reads the capture of size bytes in r, which its blobs go on reading.
func Read(r io.ReaderAt, size int64) (*Capture, error) {
	var h [headBytes]byte
	if size < headBytes {
		return nil, ErrNotCapture
	}
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return nil, err
	}
	if !IsCapture(h[:]) {
		return nil, ErrNotCapture
	}
	if v := binary.LittleEndian.Uint32(h[8:]); v != version {
		return nil, fmt.Errorf("capture format %d; this rigprof reads format %d", v, version)
	}
	c := &Capture{}
	rd := reader{c: c, r: r, dec: newDecoder()}
	defer rd.dec.Close()
	for off := int64(headBytes); ; {
		h, err := readHead(r, off, size)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.Damage = append(c.Damage, fmt.Sprintf("cut off at byte %d, in the middle of a record", off))
			break
		}
		if err != nil {
			c.Damage = append(c.Damage, fmt.Sprintf("%v: the rest is left out", err))
			break
		}
		if err := rd.record(off, h); err != nil {
			c.damaged(err.Error())
		}
		off += recordBytes + int64(h.stored)
	}
	rd.blobs()
	return c, nil
}

// maxDamage bounds the list of damages: a broken disk is described by a few.
const maxDamage = 20

func (c *Capture) damaged(text string) {
	switch {
	case len(c.Damage) < maxDamage:
		c.Damage = append(c.Damage, text)
	case len(c.Damage) == maxDamage:
		c.Damage = append(c.Damage, "… and more")
	}
}

type reader struct {
	c      *Capture
	r      io.ReaderAt
	dec    *zstd.Decoder
	chunks map[owner][]chunk
}

type owner struct {
	kind  kind
	index uint32
}

// record takes one record in. A data record's place alone is noted.
func (rd *reader) record(off int64, h head) error {
	c := rd.c
	switch h.kind {
	case kindMeta:
		return rd.json(off, h, &c.Meta)
	case kindDevice:
		return rd.json(off, h, &c.Device)
	case kindObject:
		return add(rd, off, h, &c.Objects)
	case kindDispatch:
		return add(rd, off, h, &c.Dispatches)
	case kindTrace:
		return add(rd, off, h, &c.Traces)
	case kindCounters:
		return add(rd, off, h, &c.Counters)
	case kindNote:
		return addWhole(rd, off, h, &c.Notes)
	case kindEvent:
		return addWhole(rd, off, h, &c.Events)
	case kindEnd:
		c.Whole = true
		return nil
	case kindData:
		return rd.data(off, h)
	}
	c.Unknown++
	return nil
}

// add appends a record's value. A damaged one keeps its place empty: others refer to places.
func add[T any](rd *reader, off int64, h head, list *[]T) error {
	var v T
	err := rd.json(off, h, &v)
	*list = append(*list, v)
	return err
}

// addWhole appends the value of a record that no other refers to, if it is whole.
func addWhole[T any](rd *reader, off int64, h head, list *[]T) error {
	var v T
	err := rd.json(off, h, &v)
	if err == nil {
		*list = append(*list, v)
	}
	return err
}

func (rd *reader) json(off int64, h head, v any) error {
	b, err := readPayload(rd.r, off, h, rd.dec)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w at byte %d: %w", errDamaged, off, err)
	}
	return nil
}

func (rd *reader) data(off int64, h head) error {
	b, err := readPayload(rd.r, off, h, rd.dec)
	if err != nil {
		return err
	}
	if len(b) < dataBytes {
		return fmt.Errorf("%w at byte %d: data of %d bytes", errDamaged, off, len(b))
	}
	o := owner{kind(binary.LittleEndian.Uint16(b)), binary.LittleEndian.Uint32(b[4:])}
	at := binary.LittleEndian.Uint64(b[8:])
	if at > 1<<62 {
		return fmt.Errorf("%w at byte %d: data at offset %#x", errDamaged, off, at)
	}
	if rd.chunks == nil {
		rd.chunks = map[owner][]chunk{}
	}
	rd.chunks[o] = append(rd.chunks[o], chunk{at: int64(at), n: int64(len(b) - dataBytes), off: off, head: h})
	return nil
}

// blobs gives each owner its chunks.
func (rd *reader) blobs() {
	c := rd.c
	for i := range c.Objects {
		c.Objects[i].Bytes = rd.blob(kindObject, i)
	}
	for i := range c.Traces {
		c.Traces[i].Bytes = rd.blob(kindTrace, i)
	}
	for i := range c.Counters {
		c.Counters[i].Bytes = rd.blob(kindCounters, i)
	}
}

func (rd *reader) blob(k kind, i int) Blob {
	chunks := rd.chunks[owner{k, uint32(i)}]
	slices.SortStableFunc(chunks, func(a, b chunk) int { return int(min(max(a.at-b.at, -1), 1)) })
	return Blob{r: rd.r, chunks: chunks}
}

// Blob is bytes that are still in the file.
type Blob struct {
	r      io.ReaderAt
	chunks []chunk
}

type chunk struct {
	at, n int64 // where the bytes belong, how many
	off   int64 // of the record in the file
	head  head
}

// Len is the number of bytes up to the first hole.
func (b Blob) Len() int64 {
	var n int64
	for _, c := range b.chunks {
		if c.at != n {
			break
		}
		n += c.n
	}
	return n
}

// Bytes reads the bytes up to the first hole; each call reads the file.
func (b Blob) Bytes() ([]byte, error) {
	if len(b.chunks) == 0 {
		return nil, nil
	}
	dec := newDecoder()
	defer dec.Close()
	var out []byte
	for _, c := range b.chunks {
		if c.at != int64(len(out)) {
			break // a chunk is missing or came twice
		}
		raw, err := readPayload(b.r, c.off, c.head, dec)
		if err != nil {
			return out, err
		}
		out = append(out, raw[dataBytes:]...)
	}
	return out, nil
}
