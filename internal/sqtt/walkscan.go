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

// lanes is the table as lanes take it.
func (t *walkTable) lanes() laneTable { return laneTable{(*scanTable)(&t.word), t} }

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
			acc, n := s.step(tab.lanes(), acc, s.n[j])
			s.acc[j], s.n[j] = s.step(tab.lanes(), acc, n)
		}
	}
}
