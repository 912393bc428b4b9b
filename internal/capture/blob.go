package capture

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// Reader reads the bytes up to the first hole, a record of the file at a time.
func (b Blob) Reader() *BlobReader { return &BlobReader{b: b} }

// BlobReader is a Blob being read. Close it.
type BlobReader struct {
	b    Blob
	dec  *zstd.Decoder
	at   int64
	rest []byte
}

// Read reads what is left of a record.
func (r *BlobReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if len(r.b.chunks) == 0 || r.b.chunks[0].at != r.at {
			return 0, io.EOF
		}
		if r.dec == nil {
			r.dec = newDecoder()
		}
		c := r.b.chunks[0]
		raw, err := readPayload(r.b.r, c.off, c.head, r.dec)
		if err != nil {
			return 0, err
		}
		r.b.chunks = r.b.chunks[1:]
		r.rest = raw[dataBytes:]
		r.at += int64(len(r.rest))
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close gives back what reading took.
func (r *BlobReader) Close() error {
	if r.dec != nil {
		r.dec.Close()
		r.dec = nil
	}
	r.b.chunks, r.rest = nil, nil
	return nil
}
