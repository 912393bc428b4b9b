package sqtt

import (
	"math/bits"
	"slices"
)

// Waves whose place in the code is not known are looked for. The last records of such a wave are kept back. Once there are
// enough, the code is searched for places from which a wave would send just these: the same kinds, branches taken where they were.
// What more records come rules out more of them, until one is left. Then the wave is there, and the records that are still kept
// get their addresses, too. While there are several, none is given: a wrong one would be worse.
//
// A place is believed only after some records that agree, because records can be missing where no token says so.

// doubt says why a wave's place is or was not known.
type doubt uint8

const (
	doubtNone  doubt = iota
	doubtLoss        // records of it may have been lost
	doubtStart       // it began before the stream, or no register told where
	doubtCode        // its records are not of the code; it is not looked for
)

// lookout is what is kept of a wave that is looked for. Records from tracedWave.from on are kept back.
type lookout struct {
	region *region
	set    []candidate // places where the records from some on fit; none: not searched yet
	n      int         // how many records fit
	need   int         // how many have to
	next   int         // how many are to be kept back before the next search
	begun  bool        // the set holds where the wave may have begun
	wide   bool        // search beyond the kernel that it began in
	token  int         // the number in the wave of the first record behind a token with an address, tracedWave.pcs[0]; of a jump that was lost, perhaps

	// Of GFX9: whether INST tokens are known to belong to records that are here, and when one last might not have.
	paired bool
	seen   Cycles
}

// candidate is where a wave may be.
type candidate struct {
	start int32 // the spot of the first record kept back; spotNone: one of several
	at    int32 // the spot of the next record
}

const (
	// lookWindow is how many records the code is searched for; far fewer would be in many places.
	lookWindow = 16
	// maxHeld is how many records are kept back: unrolled loops are that long. It is half of maxRecords.
	maxHeld = 1<<13 - 8
	// maxCandidates bounds the work for a record.
	maxCandidates = 256
	// needWide, where a wave may be in any kernel, or in none that is known.
	needWide = 24
	// needEnd is how many records in one place are enough where the wave's end fits besides.
	needEnd = 8
	// pairedGap is how many clocks without a record make sure that no INST of an earlier one is to come. In captures they come within 8.
	pairedGap = 16
)

// Searches cost time, so they are paid for: streams can be made that lose records all the time.
const (
	firstCredit  = 1 << 22 // in steps; for some hundred searches of a kernel
	recordCredit = 64      // that a record of a wave that is looked for adds
	newRegion    = 16      // for each spot of a region that the stream needs for the first time
	maxKept      = 1 << 19 // spots of all regions that are kept
)

// Unplaced counts records without an address, by cause. Those of neither cause are of code that was not given.
type Unplaced struct {
	AfterLoss int64 // of waves that were not found again behind a loss
	NoStart   int64 // of waves that began before the stream, or where none of its registers says where
	Assumed   int64 // of the waves that were found, those whose kernel only their records told
	Unfit     int64 // waves whose records left the code without a loss, are none that it sends or end before it does; their addresses may be wrong before that
}

// Add adds what another stream's records lack.
func (u *Unplaced) Add(o Unplaced) {
	u.AfterLoss += o.AfterLoss
	u.NoStart += o.NoStart
	u.Assumed += o.Assumed
	u.Unfit += o.Unfit
}

// Unplaced is what records given so far lack an address for.
func (w *Walker) Unplaced() Unplaced { return w.walk.finder.unplaced }

// finder looks for waves.
type finder struct {
	regions  map[regionKey]*region
	kept     int // spots of them
	paid     map[regionKey]bool
	credit   int
	unplaced Unplaced
	kernels  []uint64 // of a Mapped
	records  []uint32 // for search
	mapped   Mapped
	stale    [4][4]struct{ lo, hi uint32 } // programs as they were at a loss, until something confirms them
}

type regionKey struct {
	entry  uint64 // 0: all kernels and functions
	silent bool
}

// begin makes the finder ready for a stream. Regions are kept where the code is the same.
func (f *finder) begin(code Code, same bool) {
	regions := f.regions
	kept := f.kept
	if !same || regions == nil || kept > maxKept/2 {
		regions, kept = map[regionKey]*region{}, 0
	}
	if len(f.paid) > 0 {
		clear(f.paid)
	}
	*f = finder{regions: regions, kept: kept, paid: f.paid, credit: firstCredit, records: f.records}
	if f.paid == nil {
		f.paid = map[regionKey]bool{}
	}
	if m, ok := code.(Mapped); ok && len(m.Kernels()) > 0 {
		f.mapped, f.kernels = m, m.Kernels()
	}
}

// regionAt is the code from an entry on, 0 for all. nil: there is none, or it cannot be paid for yet.
func (k *walk) regionAt(entry uint64) *region {
	f := &k.finder
	key := regionKey{entry, k.noBarrierWait}
	if !f.paid[key] && f.credit <= 0 {
		return nil
	}
	r := f.regions[key]
	if r == nil {
		kernels, functions := []uint64{entry}, []uint64(nil)
		if entry == 0 {
			kernels = nil
			if f.mapped != nil {
				kernels, functions = f.kernels, f.mapped.Functions()
			}
		}
		r = regionOf(k.cache.code, kernels, functions, k.noBarrierWait)
		if f.kept += len(r.spots) + 100; f.kept > maxKept {
			clear(f.regions)
			f.kept = len(r.spots) + 100
		}
		f.regions[key] = r
	}
	if !f.paid[key] {
		f.paid[key] = true
		f.credit -= newRegion * len(r.spots)
	}
	return r
}

// lookFor begins to look for a wave: its records from number from of t.insts on are kept back.
func (k *walk) lookFor(t *tracedWave, why doubt, from int, now Cycles) *lookout {
	if t.look == nil {
		t.look = new(lookout)
	}
	*t.look = lookout{set: t.look.set[:0], need: lookWindow, next: lookWindow, paired: true, seen: now}
	k.unlink(t)
	t.doubt, t.lost, t.from = why, true, from
	t.pc, t.waiting, t.again = 0, false, false
	k.settle(t)
	return t.look
}

// emptyBytes is a hole in a stream's bytes.
type emptyBytes struct{ from, to int64 }

// hole notes an empty line of the stream at byte off.
func (k *walk) hole(off int64) {
	if i := len(k.holes) - 1; i >= 0 && k.holes[i].to == off {
		k.holes[i].to += emptyLine
		return
	}
	k.holes = append(k.holes, emptyBytes{off, off + emptyLine})
}

// loss is called where records of all waves may be missing.
func (k *walk) loss(now Cycles) {
	k.lost++
	k.finder.stale = k.programs
	for i := k.used; i != 0; i &= i - 1 {
		if t := k.slots[bits.TrailingZeros64(i)%64]; t.live {
			k.lose(t, now)
		}
	}
}

// lose is called where records of a wave may be missing.
func (k *walk) lose(t *tracedWave, now Cycles) {
	if t.lost && t.from == len(t.insts) && len(t.look.set) == 0 && len(t.pcs)+len(t.gfx9.open) == 0 { // nothing came since the last loss
		t.look.paired, t.look.seen = !t.gfx9.on, now
		t.gfx9.stalls = t.gfx9.stalls[:0]
		return
	}
	t.pcs = t.pcs[:0]
	why := doubtLoss
	if t.doubt == doubtStart && !t.found {
		why = doubtStart
	}
	if t.waiting && k.cache.code != nil { // for an address that may be among what was lost
		k.lookFor(t, why, t.from, now)
		k.placeWaiting(t)
	}
	k.conclude(t, t.placed())
	k.unlink(t)
	t.pc, t.waiting, t.again = 0, false, false
	if t.ended {
		k.give(t, true)
		return
	}
	if t.gfx9.on { // INSTs to come may be of any
		t.gfx9.stalls, t.gfx9.open = t.gfx9.stalls[:0], t.gfx9.open[:0]
		t.gfx9.placed = t.first + len(t.insts)
	}
	if k.cache.code == nil || t.doubt == doubtCode || t.startPC != 0 && k.cache.at(&t.page, t.startPC) == nil { // it runs other code
		k.settle(t)
		return
	}
	k.lookFor(t, why, len(t.insts), now).paired = !t.gfx9.on
}

// uncertain is called where a wave starts whose registers may be others by now, or were never seen.
func (k *walk) uncertain(t *tracedWave) {
	f := &k.finder
	p := k.programs[t.wave.ME&3][t.wave.Pipe&3]
	entry, why := t.startPC, doubtLoss
	switch {
	case k.cache.code == nil:
		return
	case entry == 0:
		if f.mapped == nil {
			return
		}
		why = doubtStart
	case p != f.stale[t.wave.ME&3][t.wave.Pipe&3] || k.cache.at(&t.page, entry) == nil:
		return
	}
	l := k.lookFor(t, why, 0, t.wave.Start)
	r := k.regionAt(entry)
	if r == nil || r.cut || len(r.entries) > maxCandidates {
		return
	}
	l.region, l.begun = r, true
	for _, i := range r.entries {
		l.set = append(l.set, candidate{i, i})
	}
}

// unseen is called where records come of a wave whose start nobody saw.
func (k *walk) unseen(t *tracedWave) {
	if k.cache.code != nil {
		k.lookFor(t, doubtStart, 0, 0)
	}
}

// onlyProgram is where waves of all queues start that registers tell of; 0 where none do or they start at several places.
func (k *walk) onlyProgram() (entry uint64) {
	for i := range k.programs {
		for _, p := range k.programs[i] {
			pc := (uint64(p.hi)<<40 | uint64(p.lo)<<8) & (1<<48 - 1)
			if pc != 0 && entry != 0 && pc != entry {
				return 0
			}
			entry |= pc
		}
	}
	return entry
}

// strays is called where a wave comes to where its records cannot be of the code.
func (k *walk) strays(t *tracedWave) {
	if t.pc != t.startPC && t.doubt == doubtNone {
		k.finder.unplaced.Unfit++
		t.doubt = doubtCode
	}
	t.pc = 0
}

// doubts says whether an address that a token tells may be of another jump than the last one that is known of.
func (k *walk) doubts(t *tracedWave) bool { return t.sought() && k.lost > 0 }

// sought says whether a wave is looked for wherever its place is not known.
func (t *tracedWave) sought() bool { return t.doubt == doubtLoss || t.doubt == doubtStart }

// tryAt looks for a wave first at the address that a token tells for record from.
func (k *walk) tryAt(t *tracedWave, pc uint64, from int) {
	l := k.lookFor(t, t.doubt, from, 0)
	for _, entry := range [...]uint64{t.startPC, 0, pc} {
		r := k.regionAt(entry)
		if r == nil || r.cut {
			continue
		}
		if i, ok := r.find(pc); ok {
			l.region = r
			l.set = append(l.set, candidate{i, i})
			return
		}
	}
}

// look takes record i of a wave that is looked for. It tells how many records it put before it.
func (k *walk) look(t *tracedWave, i int) (added int) {
	l, in := t.look, &t.insts[i]
	in.PC = 0
	k.finder.credit += recordCredit
	if !l.paired {
		t.from = i + 1
		return 0
	}
	if len(l.set) > 0 {
		l.narrow(recordBit(in))
		l.n++
		if len(l.set) == 0 {
			k.missed(t, i)
		}
	}
	if len(l.set) == 0 && i+1-t.from >= l.next {
		k.search(t, i+1)
	}
	switch {
	case in.newPC:
		found := false
		if added, found = k.conclude(t, i+1); !found {
			k.jump(t, i)
		}
	case len(l.set) == 1 && l.n >= l.need:
		added = k.found(t, i)
	case i+1-t.from <= maxHeld:
	case len(l.set) == 0:
		t.from = i + 1 - maxHeld
	default:
		for j := range l.set {
			l.set[j].start = l.set[j].at
		}
		t.from = i + 1
	}
	return added
}

// missed is called where no place fits that was thought of; records from i on may fit elsewhere.
func (k *walk) missed(t *tracedWave, i int) {
	l := t.look
	if l.begun { // not where it began, then
		l.begun, t.startPC = false, 0
	}
	l.wide = !l.wide
	l.set, l.n, l.next, t.from = l.set[:0], 0, lookWindow, i
}

// narrow keeps the places where a record fits that comes now. Where two come together, where the wave came from is not known.
func (l *lookout) narrow(record uint32) {
	r := l.region
	r.round++
	kept := l.set[:0]
	for _, c := range l.set {
		next, ok := r.step(c.at, record)
		if !ok {
			continue
		}
		c.at = next
		if next >= 0 {
			s := &r.spots[next]
			if s.round == r.round {
				kept[s.by].start = spotNone
				continue
			}
			s.round, s.by = r.round, int32(len(kept))
		}
		kept = append(kept, c)
	}
	l.set = kept
}

// search looks through the code for the records that are kept back, up to number end.
func (k *walk) search(t *tracedWave, end int) {
	l, f := t.look, &k.finder
	entry, wide := t.startPC, t.startPC == 0 || l.wide
	if entry == 0 && f.mapped == nil {
		entry = k.onlyProgram()
	}
	r := &noRegion
	if entry != 0 {
		r = k.regionAt(entry)
		wide = wide || r != nil && r.leaves
	}
	if wide && f.mapped != nil {
		r = k.regionAt(0)
	}
	if r == nil || f.credit < len(r.spots) { // once more records have paid for it
		return
	}
	records := f.records[:0]
	for i := t.from; i < end; i++ {
		records = append(records, recordBit(&t.insts[i]))
	}
	f.records = records
	n := len(records)
	l.region, l.need, l.n = r, lookWindow, n
	if wide {
		l.need = needWide
	}
	steps, most := 0, 8*len(r.spots)+4*maxCandidates*n
	for i := range r.spots {
		if r.cut || len(l.set) > maxCandidates || steps > most {
			break
		}
		steps++
		if r.spots[i].exit && records[0] != 1<<CategoryImmed { // the next spot stands for it
			continue
		}
		at, fit := r.run(int32(i), records)
		if steps += fit; fit == n {
			l.set = append(l.set, candidate{int32(i), at})
		}
	}
	f.credit -= steps
	switch {
	case len(l.set) > maxCandidates || steps > most: // more records may tell
		l.set, l.n, l.next = l.set[:0], 0, 2*n
		if l.next > maxHeld {
			t.from, l.next = end-n/2, n
		}
	case len(l.set) == 0:
		if !k.tryToken(t, records) {
			k.missed(t, end)
		}
	}
}

// tokenReach is how many records may come between a jump and the token with its address.
const tokenReach = 8

// tryToken looks whether some of the records, which are those that are kept back, follow from the address that a token told.
func (k *walk) tryToken(t *tracedWave, records []uint32) bool {
	l := t.look
	if len(t.pcs) == 0 || l.token < t.first+t.from {
		return false
	}
	pc := t.pcs[0]
	r := l.region
	i, ok := r.find(pc)
	if !ok {
		if r = k.regionAt(pc); r == nil || r.cut {
			return false
		}
		if i, ok = r.find(pc); !ok {
			return false
		}
	}
	first := l.token - t.first - t.from
	for j := min(first, len(records)-1); j >= max(0, first-tokenReach); j-- {
		if at, n := r.run(i, records[j:]); n == len(records)-j {
			l.region, l.n = r, n
			l.set = append(l.set, candidate{i, at})
			t.from += j
			return true
		}
	}
	return false
}

// found places the records kept back up to number i, where one place is left.
func (k *walk) found(t *tracedWave, i int) (added int) {
	l := t.look
	c, stale := l.set[0], &k.finder.stale[t.wave.ME&3][t.wave.Pipe&3]
	switch p := k.programs[t.wave.ME&3][t.wave.Pipe&3]; {
	case t.startPC == 0 && !t.found:
		k.finder.unplaced.Assumed++
	case l.begun && p == *stale:
		*stale = struct{ lo, hi uint32 }{}
	}
	t.lost, t.found = false, true
	if c.start < 0 {
		l.stand(t, c.at)
		return 0
	}
	l.stand(t, c.start)
	for j := t.from; j <= i; j++ {
		n := k.seek(t, j)
		i, j, added = i+n, j+n, added+n
	}
	return added
}

func (l *lookout) stand(t *tracedWave, at int32) {
	if at >= 0 {
		t.pc, t.again = l.region.spots[at].pc, l.region.spots[at].exit
	}
}

// placed is how many of a wave's records were given their place or taken by look.
func (t *tracedWave) placed() int {
	if t.gfx9.on {
		return t.gfx9.placed - t.first
	}
	return len(t.insts)
}

// conclude ends looking for a wave, where none of its records from number end on are behind those before: at its end, at a loss, at a jump.
func (k *walk) conclude(t *tracedWave, end int) (added int, found bool) {
	if !t.lost {
		return 0, false
	}
	l := t.look
	ended := t.wave.Stop >= 0 && !t.standby
	least := lookWindow
	if ended {
		least = needEnd
	}
	if l.paired && len(l.set) == 0 && end-t.from >= least {
		k.search(t, end)
	}
	if ended {
		l.set = slices.DeleteFunc(l.set, func(c candidate) bool { return !l.region.ends(c.at) })
	}
	least = l.need
	switch {
	case ended && l.begun && t.startPC != 0:
		least = 1
	case ended && least == lookWindow:
		least = needEnd
	case ended:
		least = lookWindow
	}
	if len(l.set) == 1 && l.n >= least && end > t.from {
		return k.found(t, end-1), true
	}
	t.lost = false
	return 0, false
}

// unplacedIn counts records that are given without an address.
func (k *walk) unplacedIn(t *tracedWave, insts []Inst) {
	n := int64(0)
	for i := range insts {
		if insts[i].PC == 0 && insts[i].Category != CategoryContext {
			n++
		}
	}
	switch t.doubt {
	case doubtLoss:
		k.finder.unplaced.AfterLoss += n
	case doubtStart:
		k.finder.unplaced.NoStart += n
	}
}

// pair is called when an ISSUE comes of a GFX9 wave whose INST tokens may be of records that were lost.
func (t *tracedWave) pair(now Cycles) {
	if l := t.look; !l.paired {
		l.paired = len(t.gfx9.open) == 0 && now-l.seen >= pairedGap
		l.seen = now
	}
}

// begin9 is called when the first ISSUE comes of a wave.
func (t *tracedWave) begin9() {
	t.gfx9.on = true
	if t.lost && !t.look.begun {
		t.look.paired = false
	}
}

// strayed is called when an INST comes of a wave that was lost. Where it is of no record, those before may have been typed by
// others' tokens.
func (k *walk) strayed(t *tracedWave, op uint8, now Cycles) {
	switch {
	case t.lost && !t.look.paired:
		t.look.seen = now
	case len(t.gfx9.open) == 0 && gfx9Ops[op].category != CategoryNone && !t.deaf && op != 7:
		k.lose(t, now)
	}
}
