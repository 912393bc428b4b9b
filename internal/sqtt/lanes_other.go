//go:build !amd64 || purego

package sqtt

import (
	"encoding/binary"
	"math/bits"
)

func (s *laneScan) run(tab *laneTable) { s.runGeneric(tab) }

// laneNibbles is a window, with room for loads at every place that 16 bits can say.
type laneNibbles [1<<15 + 16]byte

// key is the index of a lane's entry at a scan word: the next 16 bits, the upper eight in the lower half.
func (b *laneNibbles) key(acc uint64) uint16 {
	i := uint16(acc)
	return bits.RotateLeft16(uint16(binary.LittleEndian.Uint32(b[i>>1:])>>(i&1*4)), 8)
}

// bitsOfKey are the bits that a key is of.
func bitsOfKey(key uint32) uint32 { return key>>8 | key&255<<8 }

func (b *laneNibbles) at(nibble uint16) byte { return b[nibble>>1] >> (nibble & 1 * 4) & 15 }

// token is the 64 bits from a nibble on of the window that src begins with.
func (b *laneNibbles) token(_ []byte, nibble uint16) uint64 {
	return load64(b[:], int(nibble))
}

// fill takes what stands from a window's begin on, as far as it is of use. Behind src are zeros.
func (b *laneNibbles) fill(src []byte) {
	n := copy(b[:windowBytes+windowSlack], src)
	clear(b[n : n+windowSlack])
}
