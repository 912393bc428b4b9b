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
	size = min(size, windowBytes/2)
	last := (size - 1) / blockUnits
	behind := ^uint64(0) << ((size - 1) % blockUnits) << 1 // of the last block, what is behind the window's end
	blockTokens9(b, &b.times, kinds, win, last+1)
	b.size = size
	b.stamp[last] &^= behind
	b.event[last] &^= behind
	n, time := blockEvents9(b, &b.times, events, last+1, (size-1)%blockUnits)
	end = size
	if !b.begins(end) { // a token goes on behind the end
		for end--; end > 0 && !b.begins(end); end-- {
		}
		w := binary.LittleEndian.Uint16(win[end*2 : end*2+2])
		time -= uint64(w >> 4 & uint16(kinds.time[w&15]))
		if n > 0 && events[n-1]&0xffff == end {
			n--
		}
	}
	return time<<scanTime | end, events[:n]
}

func (b *blockScan9) begins(unit uint64) bool {
	return b.begin[unit/blockUnits]>>(unit%blockUnits)&1 != 0
}

// blockTokens9 finds the tokens and events of the window's first blocks, one at least, and their times.
//
//go:noescape
func blockTokens9(b *blockScan9, times *blockTimes9, kinds *scan9Kinds, win *window, blocks uint64)

// blockEvents9 lists the events of the blocks and tells how many there are, and the time when all tokens have passed that begin up
// to a unit of the last block.
//
//go:noescape
func blockEvents9(b *blockScan9, times *blockTimes9, events *eventList, blocks, last uint64) (n, time uint64)
