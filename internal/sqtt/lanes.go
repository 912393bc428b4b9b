package sqtt

import (
	"encoding/binary"
	"math/bits"

	"github.com/rigprof/rigprof/internal/gpu"
)

// A scan waits for its own loads most of the time: the next one's address is what the last one said. So a window of an RDNA
// stream is scanned in several places at the same time, by lanes: all but the first start from a guess, at their part's begin.
// Token streams find their step by themselves: the lane that comes out of one part soon stands where the next part's guess
// went, and from there on all that the guess led to holds, with another base for its times. Where they do not meet, the lane
// goes on alone to the next part.
const (
	scanLanes = 9
	// Events of one lane: one a nibble at most, and a lane may have to take the whole window. The lanes' events are not a
	// multiple of 4096 bytes apart: they would share the first-level cache's sets, and loads would wait for stores to another
	// lane's events.
	laneEvents = 2*windowBytes + 56
	planeOdd   = 1 << 15
	laneTail   = 48 // nibbles at a window's end that lanes leave: more than a step may take
)

// laneTable is what lanes scan by: what the tokens are that begin in the next 16 bits, bytes swapped. Bits 8..11, which most
// tokens leave open, are the index's lowest, so that few cache lines hold what streams use. An entry ends with its first event
// and the NOPs behind it.
type laneTable struct {
	word [1 << 16]uint32 // the entry's length and time, as a scan adds them
	back [1 << 16]int8   // from the entry's end to where its event begins, in nibbles; 0: it has none
}

// newLaneTable makes a family's table. isEvent says whether a token is an event, by its kind and as many of its first bits as
// are known (others are 0); unknown keys have the zero kind.
func newLaneTable(f gpu.Family, isEvent func(k Kind, bits, known uint32) bool) *laneTable {
	keys := keysOf(f)
	tab := new(laneTable)
	for key := range uint32(len(tab.word)) {
		var pos, time, begin uint32
		event := false
		for pos < 16 && !event {
			rest, have := key>>pos, 16-pos
			if rest&15 == 0 {
				pos += 4
				continue
			}
			l := &keys[rest&0xff]
			if have < 8 || uint32(l.lo+l.w) > have { // the token's kind or its time is beyond the key
				break
			}
			event, begin = isEvent(l.kind, rest, have), pos
			pos += uint32(max(l.bits, 4))
			time += rest>>l.lo&(1<<l.w-1) + uint32(l.addend)
		}
		for event && pos < 16 && key>>pos&15 == 0 {
			pos += 4
		}
		i := bits.ReverseBytes16(uint16(key))
		tab.word[i] = pos/4 | time<<scanTime
		if event {
			tab.back[i] = int8(begin/4) - int8(pos/4)
		}
	}
	return tab
}

// waveLaneEvents are what waves, markers and losses need.
func waveLaneEvents(k Kind, _, _ uint32) bool { return k == KindMisc || waveEvents(k) }

// laneScan is what one decoder scans RDNA windows with.
type laneScan struct {
	// The window, and from planeOdd on the window moved by a nibble, so that the 16 bits at any nibble are one load: the one
	// at its number rotated right by one bit.
	planes [1<<16 + 8]byte

	acc   [scanLanes]uint64 // scan words
	n     [scanLanes]uint64 // where in events the next one goes
	limit [scanLanes]uint64 // a lane scans to here or a little beyond; 0: it is there
	left  uint64            // lanes that are not

	// Scan words at the events: where they begin, and the time with their deltas.
	events [scanLanes * laneEvents]uint64
	start  [scanLanes + 1]uint64
	pieces [scanLanes]piece
}

// fillBlock is what planes are filled by, in bytes.
const fillBlock = 64

// fill takes what stands from a window's begin on, as far as it is of use. Behind src are zeros.
func (s *laneScan) fill(src []byte) {
	src = src[:min(len(src), windowBytes+windowSlack)]
	n := max(len(src)-8, 0) &^ (fillBlock - 1)
	if n > 0 {
		fillPlanes(s.planes[:planeOdd], s.planes[planeOdd:], src[:n+8])
	}
	var tail [2*fillBlock + 8]byte // at most 71 bytes, and zeros
	copy(tail[:], src[n:])
	fillPlanes(s.planes[n:planeOdd], s.planes[planeOdd+n:], tail[:])
}

// fillGeneric copies src, but for its last eight bytes, to even and, moved by a nibble, to odd. The length is one of blocks and
// eight bytes.
func fillGeneric(even, odd, src []byte) {
	x := binary.LittleEndian.Uint64(src)
	for len(src) >= 16 && len(even) >= 8 && len(odd) >= 8 {
		y := binary.LittleEndian.Uint64(src[8:])
		binary.LittleEndian.PutUint64(even, x)
		binary.LittleEndian.PutUint64(odd, x>>4|y<<60)
		even, odd, src, x = even[8:], odd[8:], src[8:], y
	}
}

// load64 is the 64 bits from a nibble on.
func (s *laneScan) load64(nibble uint16) uint64 {
	i := int(bits.RotateLeft16(nibble, 15))
	return binary.LittleEndian.Uint64(s.planes[i : i+8])
}

// skipNops is the first nibble from the given one on that is not 0, or the limit.
func (s *laneScan) skipNops(nibble, limit uint16) uint16 {
	for nibble < limit && s.load64(nibble)&15 == 0 {
		nibble++
	}
	return nibble
}

// key is the index of the entry at a scan word.
func (s *laneScan) key(acc uint64) uint16 {
	i := int(bits.RotateLeft16(uint16(acc), 15))
	return binary.BigEndian.Uint16(s.planes[i : i+2])
}

// step takes one entry.
func (s *laneScan) step(tab *laneTable, acc, n uint64) (uint64, uint64) {
	key := s.key(acc)
	acc += uint64(tab.word[key])
	back := uint64(int64(tab.back[key]))
	s.events[n] = acc + back
	return acc, n + back>>63
}

// runGeneric takes all lanes to their limits, by two entries each time.
func (s *laneScan) runGeneric(tab *laneTable) {
	for {
		for j := range s.acc {
			acc, n := s.acc[j], s.n[j]
			if uint16(acc) < uint16(s.limit[j]) {
				acc, n = s.step(tab, acc, n)
				s.acc[j], s.n[j] = s.step(tab, acc, n)
				continue
			}
			if s.limit[j] == 0 {
				continue
			}
			s.limit[j] = 0
			s.left--
			if s.left == 0 {
				return
			}
		}
	}
}

// one scans alone from acc to a limit or a little beyond. Events go to index n on.
func (s *laneScan) one(tab *laneTable, acc, n, limit uint64) (uint64, uint64) {
	for uint64(uint16(acc)) < limit {
		acc, n = s.step(tab, acc, n)
	}
	return acc, n
}

// window scans the tokens of the first size nibbles of the window that src begins with, from nibble start on. In a full window it
// leaves the last few to the next one. It gives the scan word at the end and the events in one or more pieces.
func (s *laneScan) window(tab *laneTable, src []byte, start, size uint64) (end uint64, pieces []piece) {
	const least = 128 // nibbles that are worth a lane
	s.fill(src)
	limit := max(start, size-min(size, laneTail))
	lanes := 1
	part := (limit - start) / scanLanes
	if part >= least {
		lanes = scanLanes
	}
	for j := range s.acc {
		s.start[j] = (start + uint64(j)*part) &^ 63
	}
	s.start[0], s.start[lanes] = start, limit
	if lanes > 1 {
		for j := range s.acc {
			s.acc[j], s.n[j], s.limit[j] = s.start[j], uint64(j)*laneEvents, s.start[j+1]
		}
		s.left = scanLanes
		s.run(tab)
	} else {
		s.acc[0], s.n[0] = s.one(tab, start, 0, limit)
	}

	// Follow two neighbours until they stand at one place. The guess is followed anew from where it began, to count the events
	// before that place.
	acc, n, first, base := s.acc[0], s.n[0], uint64(0), uint64(0)
	pieces = s.pieces[:0]
	for j := 1; j < lanes; j++ {
		stop, guess, skip := s.start[j+1], s.start[j], uint64(j)*laneEvents
		for uint16(acc) != uint16(guess) && uint64(uint16(acc)) < stop && uint64(uint16(guess)) < stop {
			if uint16(acc) < uint16(guess) {
				acc, n = s.step(tab, acc, n)
			} else {
				key := s.key(guess)
				guess += uint64(tab.word[key])
				skip += uint64(int64(tab.back[key])) >> 63
			}
		}
		if uint16(acc) != uint16(guess) {
			acc, n = s.one(tab, acc, n, stop)
			continue
		}
		pieces = append(pieces, piece{events: s.events[first:n], base: base})
		base += acc>>scanTime - guess>>scanTime
		acc, n, first = s.acc[j], s.n[j], skip
	}
	for uint64(uint16(acc)) < size { // the stream's end, as far as entries are wholly before it
		if uint64(uint16(acc))+uint64(tab.word[s.key(acc)]&31) > size {
			break
		}
		acc, n = s.step(tab, acc, n)
	}
	pieces = append(pieces, piece{events: s.events[first:n], base: base})
	return acc + base<<scanTime, pieces
}
