package sqtt

// A Mapped is a Code that also tells where its kernels and functions begin. Only there can waves be looked for that began before the
// stream, or whose registers the stream lacks.
type Mapped interface {
	Code
	Kernels() []uint64
	Functions() []uint64
}

// region is the code that waves reach from where they enter it: every place that sends a record.
type region struct {
	spots   []spot
	entries []int32 // of spots: where kernels begin
	leaves  bool    // it goes on where only tokens tell: in functions, say
	cut     bool    // there is more of it than is kept
	round   uint32  // of looking
	index   spotIndex
}

// spotIndex finds spots by address: that of the record, or of what comes before it and sends none.
type spotIndex struct {
	pages map[uint64]*spotPage
	last  *spotPage // the one of lastBase
	base  uint64
}

type spotPage [1 << (pageShift - 2)]int32 // and 1

// at is where the index keeps the number, and 1, of an address's spot.
func (x *spotIndex) at(pc uint64) *int32 {
	if base := pc >> pageShift; x.last == nil || base != x.base {
		x.base, x.last = base, x.pages[base]
		if x.last == nil {
			x.last = new(spotPage)
			x.pages[base] = x.last
		}
	}
	return &x.last[pc>>2%uint64(len(x.last))]
}

// find is the spot of an address, if it is of the region.
func (r *region) find(pc uint64) (int32, bool) {
	p := r.index.pages[pc>>pageShift]
	if p == nil || p[pc>>2%uint64(len(p))] == 0 {
		return 0, false
	}
	return p[pc>>2%uint64(len(p))] - 1, true
}

// spot is a place that sends a record.
type spot struct {
	pc    uint64
	takes uint32   // the records that it can have sent, as bits; see recordBit
	next  [2]int32 // the spot behind it, and where a branch is taken; below 0: spotNone, spotEnded
	exit  bool     // the second record of an instruction that sends two, where it comes
	end   bool     // s_endpgm
	round uint32   // in which a candidate came here last
	by    int32    // which
}

const (
	spotNone  = -1 - iota // in no code, or where a token tells
	spotEnded             // behind s_endpgm
)

// maxSpots bounds a region.
const maxSpots = 1 << 17

// recordBit is a record's kind as a bit of spot.takes.
func recordBit(in *Inst) uint32 {
	b := uint32(1) << (in.Category & 15)
	if in.newPC {
		b <<= 16
	}
	return b
}

// takesOf are the records that an instruction can send. One that nothing is known of may send any.
func takesOf(at *Insn) uint32 {
	switch {
	case at.Step == StepBarrier:
		return 1 << CategoryImmed
	case at.Category == CategoryNone:
		return 1<<32 - 1
	case at.Category == CategoryJump && at.Always:
		return 1 << CategoryJump
	case at.Category == CategoryJump:
		return 1<<CategoryJump | 1<<CategoryNext
	case at.Leaves:
		return 1 << (at.Category & 15) << 16
	}
	return 1 << (at.Category & 15)
}

// regionOf follows code from entries on. silentBarriers: barrier waits send nothing.
func regionOf(code Code, kernels, functions []uint64, silentBarriers bool) *region {
	b := regionBuilder{code: code, silent: silentBarriers, region: &region{index: spotIndex{pages: map[uint64]*spotPage{}}}}
	for _, pc := range kernels {
		if i := b.spot(pc); i >= 0 {
			b.entries = append(b.entries, i)
		}
		b.follow()
	}
	for _, pc := range functions {
		b.spot(pc)
		b.follow()
	}
	return b.region
}

type regionBuilder struct {
	*region
	code   Code
	silent bool
	todo   []int32 // spots whose next are not known
}

// spot is the place that sends the first record from an address on.
func (b *regionBuilder) spot(pc uint64) int32 {
	if pc%4 != 0 {
		return spotNone
	}
	first := pc
	for range skipLimit {
		if i := *b.index.at(pc); i > 0 {
			*b.index.at(first) = i
			return i - 1
		}
		at, ok := b.code.At(pc)
		switch {
		case !ok || at.Size == 0:
			return spotNone
		case at.Step == StepSkip, at.Step == StepBarrier && b.silent:
			pc += uint64(at.Size)
			continue
		case len(b.spots) >= maxSpots:
			b.cut = true
			return spotNone
		}
		i := int32(len(b.spots))
		b.spots = append(b.spots, spot{pc: pc, takes: takesOf(&at), next: [2]int32{spotNone, spotNone}, end: at.Step == StepEnd})
		*b.index.at(pc), *b.index.at(first) = i+1, i+1
		b.todo = append(b.todo, i)
		return i
	}
	return spotNone
}

// follow finds what is behind the spots that are new.
func (b *regionBuilder) follow() {
	for len(b.todo) > 0 {
		i := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		pc := b.spots[i].pc
		at, _ := b.code.At(pc)
		behind := pc + uint64(at.Size)
		b.leaves = b.leaves || at.Leaves
		if at.Step == StepEnd {
			b.spots[i].next = [2]int32{spotEnded, spotEnded}
			continue
		}
		if at.Offset != 0 || at.Category == CategoryJump {
			b.spots[i].next[1] = b.spot(behind + uint64(int64(at.Offset)))
		}
		next := int32(spotNone)
		if !at.Always {
			next = b.spot(behind)
		}
		if at.Again && len(b.spots) < maxSpots {
			exit := int32(len(b.spots))
			b.spots = append(b.spots, spot{pc: pc, takes: 1 << CategoryImmed, next: [2]int32{next, next}, exit: true})
			next = exit
		}
		b.spots[i].next[0] = next
		if at.Leaves { // the next record is wherever a token tells
			b.spots[i].next = [2]int32{spotNone, spotNone}
		}
	}
}

// step is where a wave stands that stood at a spot and sent a record; false where it cannot have.
func (r *region) step(at int32, record uint32) (next int32, ok bool) {
	if at < 0 {
		return 0, false
	}
	s := &r.spots[at]
	if s.exit && record != 1<<CategoryImmed { // it sends none where the wave did not have to wait
		if s.next[0] < 0 {
			return 0, false
		}
		s = &r.spots[s.next[0]]
	}
	if s.takes&record == 0 {
		return 0, false
	}
	if record == 1<<CategoryJump {
		return s.next[1], true
	}
	return s.next[0], true
}

// run is where a wave stands that stood at a spot and sent records, and how many of them it can have sent.
func (r *region) run(at int32, records []uint32) (next int32, n int) {
	for i, record := range records {
		to, ok := r.step(at, record)
		if !ok {
			return at, i
		}
		at = to
	}
	return at, len(records)
}

// noRegion is what is searched where nothing is known of the code.
var noRegion region

// ends says whether a wave that stands at a spot sends no more records but that of its end.
func (r *region) ends(at int32) bool {
	if at >= 0 && r.spots[at].exit {
		at = r.spots[at].next[0]
	}
	return at == spotEnded || at >= 0 && r.spots[at].end
}
