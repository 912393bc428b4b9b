package sqtt

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// A scan waits for its own loads most of the time: the next one's address is what the last one said. So a window of an RDNA
// stream is scanned for waves in several places at the same time, by lanes: all but the first start from a guess, at their
// part's begin. Token streams find their step by themselves: the lane that comes out of one part soon stands where the next
// part's guess went, and from there on all that the guess led to holds, with another base for its times. Where they do not
// meet, the lane goes on alone to the next part.
const (
	scanLanes  = 8
	laneEvents = 2 * windowBytes // of one lane: one a nibble at most, and a lane may have to take the whole window
	planeOdd   = 1 << 15
	laneTail   = 48 // nibbles at a window's end that lanes leave: more than a step may take
)

// laneScan is what one decoder scans RDNA windows with.
type laneScan struct {
	// The window, and from planeOdd on the window moved by a nibble, so that the 16 bits at any nibble are one load: the one
	// at its number rotated right by one bit.
	planes [1<<16 + 8]byte

	acc   [scanLanes]uint64 // scan words
	n     [scanLanes]uint64 // where in events the next one goes
	limit [scanLanes]uint64 // a lane scans to here or a little beyond

	events [scanLanes * laneEvents]uint64
	start  [scanLanes + 1]uint64
	done   [scanLanes]struct{ acc, n uint64 }
	pieces [scanLanes]piece
}

// waveLanes11 and waveLanes12 find waves, markers and losses.
var (
	waveLanes11 = sync.OnceValue(func() *scanTable { return newScanTable(gpu.GFX11, waveLaneEvents) })
	waveLanes12 = sync.OnceValue(func() *scanTable { return newScanTable(gpu.GFX12, waveLaneEvents) })
)

func waveLaneEvents(k Kind) bool { return k == KindMisc || waveEvents(k) }

// laneTable is what lanes scan by: a scanTable, or a walkTable, whose words are a scanTable's too.
type laneTable struct {
	word *scanTable
	walk *walkTable // nil: of an event the scan word before its entry is kept
}

// fill takes the first size bytes of a window, and some more.
func (s *laneScan) fill(win *window, size uint64) {
	fillPlanes(s.planes[:planeOdd], s.planes[planeOdd:], win[:min((size+47)&^15, windowBytes+windowSlack)])
}

// fillGeneric copies src to even and, moved by a nibble, to odd, but for the last units, whose end no scan needs. The length
// is a multiple of 16 bytes.
func fillGeneric(even, odd, src []byte) {
	copy(even, src)
	x := binary.LittleEndian.Uint64(src)
	for len(src) >= 24 && len(odd) >= 16 {
		y, z := binary.LittleEndian.Uint64(src[8:]), binary.LittleEndian.Uint64(src[16:])
		binary.LittleEndian.PutUint64(odd, x>>4|y<<60)
		binary.LittleEndian.PutUint64(odd[8:], y>>4|z<<60)
		src, odd, x = src[16:], odd[16:], z
	}
}

// key is the 16 bits from where a scan stands.
func (s *laneScan) key(acc uint64) uint16 {
	i := int(bits.RotateLeft16(uint16(acc), 15))
	return binary.LittleEndian.Uint16(s.planes[i : i+2])
}

// load64 is the 64 bits from a nibble on.
func (s *laneScan) load64(nibble uint16) uint64 {
	i := int(bits.RotateLeft16(nibble, 15))
	return binary.LittleEndian.Uint64(s.planes[i : i+8])
}

// event is the nibble of an event's token. Up to two NOPs stand before it.
func (s *laneScan) event(e uint64) (nibble uint16) {
	return uint16(e) + uint16(bits.TrailingZeros32(uint32(s.load64(uint16(e)))|1<<12)>>2)
}

// runGeneric steps all lanes, by two entries each time, until one is at its limit.
func (s *laneScan) runGeneric(tab *scanTable) {
	_, _ = tab[0], s.planes[0]
	for {
		for j := range s.acc {
			acc, n := s.acc[j], s.n[j]
			if uint16(acc) >= uint16(s.limit[j]) {
				return
			}
			i := int(bits.RotateLeft16(uint16(acc), 15))
			s.events[n%uint64(len(s.events))] = acc
			e := tab[binary.BigEndian.Uint16(s.planes[i:i+2])]
			n += uint64(e >> scanEvent)
			acc += uint64(e & (1<<scanEvent - 1))
			i = int(bits.RotateLeft16(uint16(acc), 15))
			s.events[n%uint64(len(s.events))] = acc
			e = tab[binary.BigEndian.Uint16(s.planes[i:i+2])]
			s.n[j] = n + uint64(e>>scanEvent)
			s.acc[j] = acc + uint64(e&(1<<scanEvent-1))
		}
	}
}

// step takes one entry.
func (s *laneScan) step(tab laneTable, acc, n uint64) (uint64, uint64) {
	key := bits.ReverseBytes16(s.key(acc))
	e := tab.word[key]
	next, kept := acc+uint64(e&(1<<scanEvent-1)), acc
	if tab.walk != nil {
		kept = next + uint64(int64(tab.walk.back[key]))
	}
	s.events[n%uint64(len(s.events))] = kept
	return next, n + uint64(e>>scanEvent)
}

// one scans alone from acc to a limit or a little beyond. Events go to index n on.
func (s *laneScan) one(tab laneTable, acc, n, limit uint64) (uint64, uint64) {
	for uint64(uint16(acc)) < limit {
		acc, n = s.step(tab, acc, n)
	}
	return acc, n
}

// window scans the tokens of the first size nibbles of a window, from nibble start on. In a full window it leaves the last
// few to the next one. It gives the scan word at the end and the events in one or more pieces.
func (s *laneScan) window(tab laneTable, win *window, start, size uint64) (end uint64, pieces []piece) {
	const least = 128 // nibbles that are worth a lane
	s.fill(win, size/2)
	limit := max(start, size-min(size, laneTail))
	lanes := 1
	if part := (limit - start) / scanLanes; part >= least {
		lanes = scanLanes
		for j := range s.start {
			s.start[j] = (start + uint64(j)*part) &^ 63
		}
	}
	s.start[0], s.start[lanes] = start, limit
	if lanes > 1 {
		s.scan(tab)
	} else {
		s.done[0].acc, s.done[0].n = s.one(tab, start, 0, limit)
	}

	// Follow two neighbours until they stand at one place. The guess is followed anew from where it began, to count the events
	// before that place.
	acc, n, first, base := s.done[0].acc, s.done[0].n, uint64(0), uint64(0)
	pieces = s.pieces[:0]
	for j := 1; j < lanes; j++ {
		stop, guess, skip := s.start[j+1], s.start[j], uint64(j)*laneEvents
		for uint16(acc) != uint16(guess) && uint64(uint16(acc)) < stop && uint64(uint16(guess)) < stop {
			if uint16(acc) < uint16(guess) {
				acc, n = s.step(tab, acc, n)
			} else {
				e := tab.word[bits.ReverseBytes16(s.key(guess))]
				skip += uint64(e >> scanEvent)
				guess += uint64(e & (1<<scanEvent - 1))
			}
		}
		if uint16(acc) != uint16(guess) {
			acc, n = s.one(tab, acc, n, stop)
			continue
		}
		pieces = append(pieces, piece{events: s.events[first:n], base: base})
		base += acc>>scanTime - guess>>scanTime
		acc, n, first = s.done[j].acc, s.done[j].n, skip
	}
	for uint64(uint16(acc)) < size { // the stream's end, as far as entries are wholly before it
		if uint64(uint16(acc))+uint64(tab.word[bits.ReverseBytes16(s.key(acc))]&31) > size {
			break
		}
		acc, n = s.step(tab, acc, n)
	}
	pieces = append(pieces, piece{events: s.events[first:n], base: base})
	return acc + base<<scanTime, pieces
}

// scan takes every lane from its start to the next one's. Those that are there already go on for nothing meanwhile.
func (s *laneScan) scan(tab laneTable) {
	for j := range s.acc {
		s.acc[j], s.n[j], s.limit[j] = s.start[j], uint64(j)*laneEvents, s.start[j+1]
	}
	const never = 1<<16 - 1
	for left := scanLanes; left > 0; {
		if tab.walk != nil {
			s.walkRun(tab.walk)
		} else {
			s.run(tab.word)
		}
		for j := range s.acc {
			switch {
			case uint64(uint16(s.acc[j])) < s.limit[j]:
			case s.limit[j] == never:
				s.acc[j] = 0
			default:
				s.done[j].acc, s.done[j].n, s.limit[j] = s.acc[j], s.n[j], never
				left--
			}
		}
	}
}
