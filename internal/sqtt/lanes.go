package sqtt

import "github.com/rigprof/rigprof/internal/gpu"

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
	laneTail   = 48 // nibbles at a window's end that lanes leave: more than two entries, of at most 19 each, may take
)

// laneTable is what lanes scan by: what the tokens are that begin in the next 16 bits, as laneNibbles.key has them. Bits 8..11,
// which most tokens leave open, are the key's lowest, so that few cache lines hold what streams use. An entry ends with its first
// event and the NOPs behind it.
type laneTable struct {
	entry [1 << 16]laneEntry
}

// laneEntry is what a scan word grows by: the entry's length in nibbles, the code of its event and one event more if there is one,
// and its time. The code goes into the event's word only; the scan word goes on without it.
type laneEntry uint64

// unknown says whether its event is a token of no known kind, which is the only rare one that ends in an entry's 16 bits.
func (e laneEntry) unknown() bool {
	code := eventCodeIn(uint64(e))
	return code > codeRare && code <= codeRare+4
}

// nibbles is its length.
func (e laneEntry) nibbles() uint64 { return uint64(e & 31) }

// newLaneTable makes a family's table. eventOf says what event a token of a kind is; unknown keys have the zero kind.
func newLaneTable(f gpu.Family, eventOf func(Kind) eventKind) *laneTable {
	keys := keysOf(f)
	var events [len(keys)]eventKind
	for i, l := range keys {
		events[i] = eventOf(l.kind)
	}
	tab := new(laneTable)
	var fewer [4][]laneEntry // by how many nibbles are known, the entries of fewer than four
	entry := func(key, have uint32) laneEntry {
		if key&15 == 0 && have > 0 { // a NOP
			e := fewer[have-1][key>>4]
			return e + 1
		}
		l := &keys[key&0xff]
		if have < 2 || uint32(l.lo+l.w) > 4*have { // the token's kind or its time is beyond the key
			return 0
		}
		e, n := laneEntry(0), uint32(max(l.bits, 4))/4
		event := events[key&0xff]
		if event == eventReg && have == 4 && key>>15 == 0 { // of no compute register
			event = eventNone
		}
		if event != eventNone {
			for n < have && key>>(4*n)&15 == 0 {
				n++
			}
			e = laneEntry(eventCodeOf(event, int(n)))<<eventCodeAt | 1<<laneEvent
		} else if n < have {
			e = fewer[have-n][key>>(4*n)]
		}
		return e + laneEntry(n) + laneEntry(key>>l.lo&(1<<l.w-1)+uint32(l.addend))<<laneTime
	}
	for have := range uint32(len(fewer)) {
		fewer[have] = make([]laneEntry, 1<<(4*have))
		for key := range fewer[have] {
			fewer[have][key] = entry(uint32(key), have)
		}
	}
	for i := range uint32(len(tab.entry)) {
		tab.entry[i] = entry(bitsOfKey(i), 4)
	}
	return tab
}

// laneScan is what one decoder scans RDNA windows with.
type laneScan struct {
	rdna rdnaRun // that takes the events

	nibbles laneNibbles // of the window

	acc   [scanLanes]uint64 // scan words
	limit [scanLanes]uint64 // a lane scans to here or a little beyond; 0: it is there
	left  uint64            // lanes that are not

	rounds uint64            // of all lanes that run, so far
	took   [scanLanes]uint64 // when each was at its limit
	known  [4]laneParts
	next   int // of known, the one to forget

	handlers [2][numEventCodes]uintptr // of rdnaRun, by family and an event's code

	// Scan words at the ends of entries with events, a lane's behind the other's. Behind a lane's last one may stand that of an entry
	// without one.
	events [scanLanes * laneEvents]uint64
	start  [scanLanes + 1]uint64
	guess  [scanLanes]uint64 // where the lanes began
	pieces [scanLanes]lanePiece
}

// lanePiece is a run of events whose times are from base on. At end stands an eventPiece, of the last one something rare.
type lanePiece struct {
	first, end uint64 // in laneScan.events
	base       uint64 // time to add
}

// skipNops is the first nibble from the given one on that is not 0, or the limit.
func (s *laneScan) skipNops(nibble, limit uint16) uint16 {
	for nibble < limit && s.nibbles.at(nibble) == 0 {
		nibble++
	}
	return nibble
}

// eventsIn is how many events a scan word has had, or an entry has.
func eventsIn(acc uint64) uint64 { return uint64(uint16(acc >> laneEvent)) }

// eventsOf are a lane's.
func (s *laneScan) eventsOf(lane int) *[laneEvents]uint64 {
	return (*[laneEvents]uint64)(s.events[lane*laneEvents:])
}

// step takes one entry.
func (s *laneScan) step(tab *laneTable, acc uint64, events *[laneEvents]uint64) uint64 {
	n := eventsIn(acc)
	acc += uint64(tab.entry[s.nibbles.key(acc)])
	events[n] = acc
	return acc &^ eventCodeMask
}

// runGeneric takes all lanes to their limits, by two entries each time.
func (s *laneScan) runGeneric(tab *laneTable) {
	for {
		for j := range s.acc {
			if uint16(s.acc[j]) < uint16(s.limit[j]) {
				events := s.eventsOf(j)
				acc := s.step(tab, s.acc[j], events)
				s.acc[j] = s.step(tab, acc, events)
				continue
			}
			if s.limit[j] == 0 {
				continue
			}
			s.limit[j], s.took[j] = 0, s.rounds
			s.left--
			if s.left == 0 {
				return
			}
		}
		s.rounds++
	}
}

// one scans alone from acc to a limit or a little beyond.
func (s *laneScan) one(tab *laneTable, acc, limit uint64, events *[laneEvents]uint64) uint64 {
	for uint64(uint16(acc)) < limit {
		acc = s.step(tab, acc, events)
	}
	return acc
}

// leastPart is how many nibbles are worth a lane.
const leastPart = 128

// laneParts is how a window was divided, and how many rounds each part took.
type laneParts struct {
	tab   *laneTable
	off   int64
	start [scanLanes + 1]uint64
	took  [scanLanes]uint64
}

// like is what is known of a window about as long at the same place of its stream.
func (s *laneScan) like(tab *laneTable, off int64, limit uint64) *laneParts {
	for i := range s.known {
		p := &s.known[i]
		if had := p.start[scanLanes]; p.tab == tab && p.off == off && max(had, limit)-min(had, limit) <= limit/16 {
			return p
		}
	}
	return nil
}

// balanced says whether no part took much longer than the others.
func (p *laneParts) balanced() bool {
	total, longest := uint64(0), uint64(0)
	for _, n := range p.took {
		total += n
		longest = max(longest, n)
	}
	return longest*scanLanes <= total+total/10
}

// split divides the nibbles from start to limit among the lanes. Where one of the scans before was of a window like this one, most
// likely another engine's with much the same tokens, what its lanes took tells where tokens are short; else all parts are of one
// length.
func (s *laneScan) split(like *laneParts, start, limit uint64) {
	const unit = 64 // parts begin at multiples
	if like != nil && like.balanced() && limit >= like.start[scanLanes-1]+unit {
		s.start = like.start
		s.start[0], s.start[scanLanes] = start, limit
		return
	}
	was, work, last := [scanLanes + 1]uint64{start, limit}, [scanLanes]uint64{limit - start}, 0
	if like != nil {
		was, work = like.start, like.took
		was[0] = start
		for last < scanLanes-1 && was[last+1] < limit {
			last++
		}
		work[last] = work[last] * (limit - was[last]) / (was[last+1] - was[last])
		was[last+1] = limit
	}
	total := uint64(0)
	for _, w := range work[:last+1] {
		total += w
	}
	j, done := 0, uint64(0)
	for k := range uint64(scanLanes) {
		want := total * k / scanLanes
		for ; j < last && done+work[j] <= want; j++ {
			done += work[j]
		}
		at := was[j] + (want-done)*(was[j+1]-was[j])/max(work[j], 1)
		if k > 0 {
			at = max(at, s.start[k-1]+unit)
		}
		s.start[k] = min(at, limit-unit*(scanLanes-k)) &^ (unit - 1)
	}
	s.start[0], s.start[scanLanes] = start, limit
}

// likely is where from a nibble on tokens may well begin: neither of the next two entries has an unknown one. In a run of tokens of one
// length, of waves that start, a wrong guess would go on beside the tokens to the run's end.
func (s *laneScan) likely(tab *laneTable, at uint64) uint64 {
next:
	for p := at; p < at+16; p++ {
		acc := p
		for range 2 {
			e := tab.entry[s.nibbles.key(acc)]
			if e.unknown() {
				continue next
			}
			acc += e.nibbles()
		}
		return p
	}
	return at
}

// window scans the tokens of the first size nibbles of the window that src begins with, from nibble start on. The window is at
// off of its stream. In a full window it leaves the last few to the next one. It gives the scan word at the end and the events in one or more pieces.
func (s *laneScan) window(tab *laneTable, src []byte, off int64, start, size uint64) (end uint64, pieces []lanePiece) {
	s.nibbles.fill(src)
	limit := max(start, size-min(size, laneTail))
	lanes := 1
	if limit-start >= scanLanes*leastPart {
		lanes = scanLanes
		like := s.like(tab, off, limit)
		s.split(like, start, limit)
		for j := range s.acc {
			s.acc[j], s.limit[j] = s.start[j], s.start[j+1]
			if j > 0 {
				s.acc[j] = s.likely(tab, s.start[j])
			}
			s.guess[j] = s.acc[j]
		}
		s.left, s.rounds = scanLanes, 0
		s.run(tab)
		if like == nil {
			like = &s.known[s.next]
			s.next = (s.next + 1) % len(s.known)
		}
		*like = laneParts{tab, off, s.start, s.took}
	} else {
		s.start[0], s.start[1] = start, limit
		s.acc[0] = s.one(tab, start, limit, s.eventsOf(0))
	}

	// Follow two neighbours until they stand at one place. The guess is followed anew from where it began, to count the events
	// before that place.
	acc, lane, first, base := s.acc[0], 0, uint64(0), uint64(0)
	pieces = s.pieces[:0]
	for j := 1; j < lanes; j++ {
		stop, guess, events := s.start[j+1], s.guess[j], s.eventsOf(lane)
		for uint16(acc) != uint16(guess) && uint64(uint16(acc)) < stop && uint64(uint16(guess)) < stop {
			if uint16(acc) < uint16(guess) {
				acc = s.step(tab, acc, events)
			} else {
				guess += uint64(tab.entry[s.nibbles.key(guess)] &^ eventCodeMask)
			}
		}
		if uint16(acc) != uint16(guess) {
			acc = s.one(tab, acc, stop, events)
			continue
		}
		pieces = append(pieces, lanePiece{first, s.endPiece(lane, acc, codePiece), base})
		base += acc>>laneTime - guess>>laneTime
		acc, lane, first = s.acc[j], j, uint64(j)*laneEvents+eventsIn(guess)
	}
	for events := s.eventsOf(lane); uint64(uint16(acc)) < size; { // the stream's end, as far as entries are wholly before it
		if uint64(uint16(acc))+tab.entry[s.nibbles.key(acc)].nibbles() > size {
			break
		}
		acc = s.step(tab, acc, events)
	}
	pieces = append(pieces, lanePiece{first, s.endPiece(lane, acc, codeRare), base})
	return acc + base<<laneTime, pieces
}

// endPiece ends a piece with an event of no token, behind those that a lane has had. It gives that one's place.
func (s *laneScan) endPiece(lane int, acc uint64, code eventCode) uint64 {
	n := uint64(lane)*laneEvents + eventsIn(acc)
	s.events[n] = uint64(code) << eventCodeAt
	return n
}
