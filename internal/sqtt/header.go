package sqtt

import (
	"encoding/binary"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Header says whether a GFX9 stream starts with the 8-byte software header that capture tools write and hardware does not.
type Header uint8

// The choices.
const (
	HeaderAuto Header = iota // where the first bytes look like one and the stream goes on as hardware begins it
	HeaderYes
	HeaderNo
)

const softwareHeaderBytes = 8

// SoftwareHeader is the header that tools put before a GFX9 stream.
type SoftwareHeader struct {
	Version int // 4: MI200 or earlier, 5: MI300, 6: MI350
	SIMDs   uint8
	CU      int // the unit traced in detail. Not to be trusted: some tools write the engine over it
	Engine  int
}

// ReadSoftwareHeader reads the header of a GFX9 stream; false where it has none.
//
// Bits 0..12 are 0 or 0x11, 13..15 the version, 16..19 the SIMDs, 20..24 the CU, 26..31 the engine, 33..63 reserved. A token
// stream could start with such bits, so what follows must be a TIME_RESET, with which hardware starts every stream.
func ReadSoftwareHeader(buf []byte) (SoftwareHeader, bool) {
	if len(buf) < softwareHeaderBytes+2 || !looksLikeHeader(buf) {
		return SoftwareHeader{}, false
	}
	if next := binary.LittleEndian.Uint16(buf[8:]); next&0xe00f != misc9TimeReset<<13 {
		return SoftwareHeader{}, false
	}
	w := binary.LittleEndian.Uint64(buf)
	return SoftwareHeader{
		Version: int(w >> 13 & 7),
		SIMDs:   uint8(w >> 16 & 15),
		CU:      int(w >> 20 & 31),
		Engine:  int(w >> 26 & 63),
	}, true
}

func looksLikeHeader(buf []byte) bool {
	w := binary.LittleEndian.Uint64(buf)
	legacy, version := w&0x1fff, w>>13&7
	return (legacy == 0 || legacy == 0x11) && version >= 4 && version <= 6 && w>>33 == 0
}

// headerBytes is the length of a GFX9 stream's software header under the given choice.
func headerBytes(h Header, buf []byte) int {
	if h == HeaderAuto {
		if _, ok := ReadSoftwareHeader(buf); !ok {
			return 0
		}
	}
	if h == HeaderNo {
		return 0
	}
	return min(softwareHeaderBytes, len(buf))
}

// FamilyOf is the family that a stream's first token announces, Unknown where it has no HEADER (GFX9, or an RDNA stream
// without one).
func FamilyOf(buf []byte) gpu.Family {
	if len(buf) < 8 {
		return gpu.Unknown
	}
	w := binary.LittleEndian.Uint64(buf)
	if gfx11Keys[w&0xff].kind != KindHeader || looksLikeHeader(buf) {
		return gpu.Unknown
	}
	return headerFamily(gpu.GFX11, w)
}
