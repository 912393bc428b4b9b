package sqtt

import (
	"math/bits"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

// The walk's windows of RDNA streams are scanned as those of waves are (see scanTable and laneScan), but nearly every other token is
// an event. So an entry may have tokens before its event and NOPs behind, and the scan word that is kept of an event has the
// place where its token begins and the time with its delta. MISCs are events.
//
// Its index is the next 16 bits, bytes swapped, as that of a scanTable.
type walkTable struct {
	word [1 << 16]uint32
	back [1 << 16]int8 // from the entry's end to where its event's token begins, in nibbles; not above 0
}

func newWalkTable(f gpu.Family) *walkTable {
	keys := keysOf(f)
	tab := new(walkTable)
	for key := range uint32(len(tab.word)) {
		var pos, time, event, begin uint32
		for pos < 16 && event == 0 {
			rest, have := key>>pos, 16-pos
			if rest&15 == 0 {
				pos += 4
				continue
			}
			l := &keys[rest&0xff]
			if have < 8 || uint32(l.lo+l.w) > have {
				break
			}
			other := l.kind == KindReg && pos == 0 && rest>>15 == 0 // no compute register
			if walkEvents(l.kind) && !other || l.kind == KindMisc {
				event, begin = 1<<scanEvent, pos
			}
			pos += uint32(max(l.bits, 4))
			time += rest>>l.lo&(1<<l.w-1) + uint32(l.addend)
		}
		for event != 0 && pos < 16 && key>>pos&15 == 0 {
			pos += 4
		}
		i := bits.ReverseBytes16(uint16(key))
		tab.word[i] = pos/4 | time<<scanTime | event
		if event != 0 {
			tab.back[i] = int8(begin/4) - int8(pos/4)
		}
	}
	return tab
}

var (
	walkTable11 = sync.OnceValue(func() *walkTable { return newWalkTable(gpu.GFX11) })
	walkTable12 = sync.OnceValue(func() *walkTable { return newWalkTable(gpu.GFX12) })
)

// walkRunGeneric steps all lanes, by two entries each time, until one is at its limit.
func (s *laneScan) walkRunGeneric(tab *walkTable) {
	_, _ = tab.word[0], s.planes[0]
	for {
		for j := range s.acc {
			acc := s.acc[j]
			if uint16(acc) >= uint16(s.limit[j]) {
				return
			}
			acc, n := s.walkStep(tab, acc, s.n[j])
			s.acc[j], s.n[j] = s.walkStep(tab, acc, n)
		}
	}
}

// walkStep takes one entry.
func (s *laneScan) walkStep(tab *walkTable, acc, n uint64) (uint64, uint64) {
	key := bits.ReverseBytes16(s.key(acc))
	e := tab.word[key]
	acc += uint64(e & (1<<scanEvent - 1))
	s.events[n%uint64(len(s.events))] = acc + uint64(int64(tab.back[key]))
	return acc, n + uint64(e>>scanEvent)
}

// walkOne scans alone from acc to a limit or a little beyond.
func (s *laneScan) walkOne(tab *walkTable, acc, n, limit uint64) (uint64, uint64) {
	for uint64(uint16(acc)) < limit {
		acc, n = s.walkStep(tab, acc, n)
	}
	return acc, n
}

// walkWindow is window for the walk.
func (s *laneScan) walkWindow(tab *walkTable, win *window, start, size uint64) (end uint64, pieces []piece) {
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
		s.walkLanes(tab)
	} else {
		s.done[0].acc, s.done[0].n = s.walkOne(tab, start, 0, limit)
	}

	acc, n, first, base := s.done[0].acc, s.done[0].n, uint64(0), uint64(0)
	pieces = s.pieces[:0]
	for j := 1; j < lanes; j++ {
		stop, guess, skip := s.start[j+1], s.start[j], uint64(j)*laneEvents
		for uint16(acc) != uint16(guess) && uint64(uint16(acc)) < stop && uint64(uint16(guess)) < stop {
			if uint16(acc) < uint16(guess) {
				acc, n = s.walkStep(tab, acc, n)
			} else {
				e := tab.word[bits.ReverseBytes16(s.key(guess))]
				skip += uint64(e >> scanEvent)
				guess += uint64(e & (1<<scanEvent - 1))
			}
		}
		if uint16(acc) != uint16(guess) {
			acc, n = s.walkOne(tab, acc, n, stop)
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
		acc, n = s.walkStep(tab, acc, n)
	}
	pieces = append(pieces, piece{events: s.events[first:n], base: base})
	return acc + base<<scanTime, pieces
}

// walkLanes takes every lane from its start to the next one's. Those that are there already go on for nothing meanwhile.
func (s *laneScan) walkLanes(tab *walkTable) {
	for j := range s.acc {
		s.acc[j], s.n[j], s.limit[j] = s.start[j], uint64(j)*laneEvents, s.start[j+1]
	}
	const never = 1<<16 - 1
	for left := scanLanes; left > 0; {
		s.walkRun(tab)
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
