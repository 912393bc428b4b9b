//go:build !purego

package sqtt

import (
	"encoding/binary"

	"golang.org/x/sys/cpu"
)

// hasBlocks9 says whether the processor has what the assembly needs.
var hasBlocks9 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

// scan9 scans the first size units of a window; see byChains.
func (s *scanBuffers) scan9(kinds *scan9Kinds, win *window, size uint64) (end uint64, pieces []piece) {
	if !hasBlocks9 {
		s.blocks.size = 0
		return s.byChains(kinds, win, size)
	}
	end, events := s.blocks.window(kinds, win, &s.events[0], size)
	return end, append(s.pieces[:0], piece{events: events})
}

// window scans the first size units of a window, at least one.
func (b *blockScan9) window(kinds *scan9Kinds, win *window, events *eventList, size uint64) (end uint64, found []uint64) {
	b.size = min(size, windowBytes/2)
	b.left = b.size
	n := scanBlocks9(b, kinds, win, events)
	pos, time := b.size, b.acc>>scanTime
	if !b.begins(pos) { // a token goes on behind the end
		for pos--; pos > 0 && !b.begins(pos); pos-- {
		}
		w := binary.LittleEndian.Uint16(win[pos*2 : pos*2+2])
		time -= uint64(w >> 4 & uint16(kinds.time[w&15]))
		if n > 0 && events[n-1]&0xffff == pos {
			n--
		}
	}
	return time<<scanTime | pos, events[:n]
}

func (b *blockScan9) begins(unit uint64) bool {
	return b.begin[unit/blockUnits]>>(unit%blockUnits)&1 != 0
}

// scanBlocks9 scans whole blocks from the window's begin on until none of b's units is left, and tells how many events they have.
//
//go:noescape
func scanBlocks9(b *blockScan9, kinds *scan9Kinds, win *window, events *eventList) uint64
