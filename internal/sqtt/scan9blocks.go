package sqtt

import (
	"encoding/binary"
	"math/bits"
)

// Where the processor can, GFX9 windows are scanned by blocks of 64 units, whose tokens, events and times vector instructions
// find at once. Where the next token starts depends on the one before only behind those of more than one unit: of all
// units that could start such a one, those do that no other one covers that does.
const (
	blockUnits   = 64
	windowBlocks = windowBytes / 2 / blockUnits
)

// blockScan9 is what one decoder scans blocks with. Of a block's units each word has a bit.
type blockScan9 struct {
	begin [windowBlocks + 1]uint64 // where a token begins, also behind the window's end, where all may be one
	stamp [windowBlocks + 1]uint64 // where a TIME begins
	event [windowBlocks + 1]uint64 // where an event does
	times blockTimes9
	size  uint64 // units of the window; 0 where it was not scanned by blocks
}

// blockTimes9 are the times of the tokens that would begin at a window's units.
type blockTimes9 [windowBlocks * blockUnits]uint8

// timeAfter is the timestamp of the next TIME behind the TIME_RESET that is the first of the events, before another one; false where
// the window has no such TIME as a whole.
func (b *blockScan9) timeAfter(win *window, events []uint64) (ts int64, ok bool) {
	at := b.nextStamp(events[0] & (1<<16 - 1))
	if at+4 > b.size {
		return 0, false
	}
	for _, e := range events[1:] {
		if e&(1<<16-1) >= at {
			break
		}
		j := e << 1 & (windowBytes - 1)
		if binary.LittleEndian.Uint16(win[j:j+2])&scan9Plain == misc9TimeReset<<13 {
			return 0, false
		}
	}
	at = at << 1 & (windowBytes - 1)
	return int64(binary.LittleEndian.Uint64(win[at:at+8])>>16) & (1<<46 - 1), true
}

// nextStamp is the unit behind the given one where the next TIME begins; the window's end or more where there is none.
func (b *blockScan9) nextStamp(unit uint64) uint64 {
	i := unit / blockUnits % windowBlocks
	for m := b.stamp[i] >> (unit % blockUnits) << (unit % blockUnits); i*blockUnits < b.size; m = b.stamp[i] {
		if m != 0 {
			return i*blockUnits + uint64(bits.TrailingZeros64(m))
		}
		i++
	}
	return b.size
}
