//go:build !purego

package sqtt

import (
	"encoding/binary"

	"golang.org/x/sys/cpu"
)

// laneNibbles has, by each nibble of a window, it in the upper four bits and in the lower ones the second next. So two of these pairs
// are a key, and every upper half of eight are the next 32 bits. Assembly loads eight that end at an event, and may begin before
// the window.
type laneNibbles [1<<16 + 16]byte

// key is the index of a lane's entry at a scan word: the nibbles of bits 8, 0, 12 and 4 of the next 16.
func (p *laneNibbles) key(acc uint64) uint16 {
	i := uint32(uint16(acc))
	return binary.LittleEndian.Uint16(p[i : i+2])
}

// bitsOfKey are the bits that a key is of.
func bitsOfKey(key uint32) uint32 { return key>>4&15 | key>>12<<4 | key&15<<8 | key>>8&15<<12 }

func (p *laneNibbles) at(nibble uint16) byte { return p[nibble] >> 4 }

// token is the 64 bits from a nibble on of the window that src begins with.
func (*laneNibbles) token(src []byte, nibble uint16) uint64 {
	if int(nibble>>1)+9 <= len(src) {
		return load64(src, int(nibble))
	}
	w, _ := load(src, int(nibble)*4)
	return w
}

// fillBlock is what pairs are filled by, in bytes of the window.
const fillBlock = 32

// fill takes what stands from a window's begin on, as far as it is of use. Behind src are zeros.
func (p *laneNibbles) fill(src []byte) {
	src = src[:min(len(src), windowBytes+windowSlack)]
	n := max(len(src)-8, 0) &^ (fillBlock - 1)
	if n > 0 {
		fillPairs(p[:], src[:n+8])
	}
	var tail [2*fillBlock + 8]byte // at most 39 bytes, and zeros
	copy(tail[:], src[n:])
	fillPairs(p[2*n:], tail[:])
}

// run is runGeneric with scan words in registers: a lane's next step then waits for its loads alone.
func (s *laneScan) run(tab *laneTable) {
	if fastPairs {
		laneRunPEXT(s, tab)
		return
	}
	laneRun(s, tab)
}

//go:noescape
func laneRun(s *laneScan, tab *laneTable)

//go:noescape
func laneRunPEXT(s *laneScan, tab *laneTable)

var (
	hasAVX2   = cpu.X86.HasAVX2
	hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL
)

// fillPairs fills pairs from src, but for its last eight bytes, which it may look at. The length is one of blocks and eight bytes.
func fillPairs(pairs, src []byte) {
	n := len(src) - 8
	_, _ = pairs[2*n-1], src[fillBlock+7]
	switch {
	case hasAVX512:
		laneFill512(&pairs[0], &src[0], uint64(n))
	case hasAVX2:
		laneFill(&pairs[0], &src[0], uint64(n))
	default:
		fillGeneric(pairs, src)
	}
}

//go:noescape
func laneFill(pairs, src *byte, n uint64)

//go:noescape
func laneFill512(pairs, src *byte, n uint64)

// fillGeneric is fillPairs without vectors.
func fillGeneric(pairs, src []byte) {
	x := spread(uint64(binary.LittleEndian.Uint32(src)))
	for len(src) >= 16 && len(pairs) >= 16 {
		w := binary.LittleEndian.Uint64(src[4:])
		y, z := spread(w&0xffffffff), spread(w>>32)
		binary.LittleEndian.PutUint64(pairs, x<<4|x>>16|y<<48)
		binary.LittleEndian.PutUint64(pairs[8:], y<<4|y>>16|z<<48)
		pairs, src, x = pairs[16:], src[8:], z
	}
}

// spread puts each nibble of 32 bits into the lower half of a byte.
func spread(x uint64) uint64 {
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	return (x | x<<4) & 0x0f0f0f0f0f0f0f0f
}
