package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	magic     = "rigprof\n"
	version   = 1
	headBytes = 16 // of the file

	recordMark  = 0x43455252 // "RREC"
	recordBytes = 24         // of a record's head
	dataBytes   = 16         // of a data record before its bytes

	maxRaw   = 4 << 20           // raw bytes of one record
	chunkRaw = 1 << 20           // bytes of one data record that we write
	maxStore = maxRaw + maxRaw/8 // stored bytes of one record: zstd may grow what it cannot shrink
)

type kind uint16

const (
	kindMeta     kind = 1
	kindDevice   kind = 2
	kindObject   kind = 3
	kindDispatch kind = 4
	kindTrace    kind = 5
	kindCounters kind = 6
	kindNote     kind = 7
	kindData     kind = 8
	kindEvent    kind = 9
	kindEnd      kind = 255
)

const (
	codecPlain = 0
	codecZstd  = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrNotCapture says that a file is none of ours.
var ErrNotCapture = errors.New("not a rigprof capture")

// errDamaged marks a record whose head is intact and whose payload is not: the next one may be read.
var errDamaged = errors.New("damaged record")

// appendRecord appends a record with the given payload; enc shrinks what is worth it.
func appendRecord(dst []byte, k kind, payload []byte, enc *zstd.Encoder) []byte {
	if len(payload) > maxRaw {
		panic(fmt.Sprintf("capture: record of %d bytes", len(payload)))
	}
	codec := byte(codecPlain)
	stored := payload
	if len(payload) >= 256 {
		if z := enc.EncodeAll(payload, nil); len(z) < len(payload) {
			codec, stored = codecZstd, z
		}
	}
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, recordMark)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(k))
	dst = append(dst, codec, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(stored)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(stored, castagnoli))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
	return append(dst, stored...)
}

// head is a record's head as read.
type head struct {
	kind        kind
	codec       byte
	stored, raw uint32
	sum         uint32
}

// readHead reads the record head at off. io.EOF: the file ends here; io.ErrUnexpectedEOF: in the middle of a record.
func readHead(r io.ReaderAt, off, size int64) (head, error) {
	left := size - off
	if left <= 0 {
		return head{}, io.EOF
	}
	if left < recordBytes {
		return head{}, io.ErrUnexpectedEOF
	}
	var b [recordBytes]byte
	if _, err := r.ReadAt(b[:], off); err != nil {
		return head{}, err
	}
	le := binary.LittleEndian
	if le.Uint32(b[:]) != recordMark || le.Uint32(b[20:]) != crc32.Checksum(b[:20], castagnoli) {
		return head{}, fmt.Errorf("no record at byte %d", off)
	}
	h := head{kind: kind(le.Uint16(b[4:])), codec: b[6], stored: le.Uint32(b[8:]), raw: le.Uint32(b[12:]), sum: le.Uint32(b[16:])}
	if h.stored > maxStore || h.raw > maxRaw {
		return head{}, fmt.Errorf("record of %d bytes at byte %d", max(h.stored, h.raw), off)
	}
	if left-recordBytes < int64(h.stored) {
		return head{}, io.ErrUnexpectedEOF
	}
	return h, nil
}

// readPayload reads and checks the payload after a head at off.
func readPayload(r io.ReaderAt, off int64, h head, dec *zstd.Decoder) ([]byte, error) {
	stored := make([]byte, h.stored)
	if _, err := r.ReadAt(stored, off+recordBytes); err != nil && !(errors.Is(err, io.EOF) && h.stored == 0) {
		if errors.Is(err, io.EOF) { // not the end that readers of a blob look for
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("record at byte %d: %w", off, err)
	}
	if crc32.Checksum(stored, castagnoli) != h.sum {
		return nil, fmt.Errorf("%w at byte %d: checksum", errDamaged, off)
	}
	switch h.codec {
	case codecPlain:
		if h.stored != h.raw {
			return nil, fmt.Errorf("%w at byte %d: length", errDamaged, off)
		}
		return stored, nil
	case codecZstd:
		raw, err := dec.DecodeAll(stored, make([]byte, 0, h.raw))
		if err != nil || len(raw) != int(h.raw) {
			return nil, fmt.Errorf("%w at byte %d: zstd", errDamaged, off)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("%w at byte %d: codec %d", errDamaged, off, h.codec)
}

// newDecoder is a decoder for records alone: its window and memory are bounded by theirs.
func newDecoder() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		panic(err) // constant options
	}
	return dec
}
