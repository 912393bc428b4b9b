package analysis

import (
	"math"
	"slices"

	"github.com/rigprof/rigprof/internal/isa"
)

// Run sums up the traced waves of one stream while their records come. It keeps sums, the waves that run, and the records and busy
// times that are not settled yet: its memory does not grow with the stream.
//
// Records may come in any order among waves, in time order within one. [Run.Advance] says up to where all are known; what ended
// before is settled then.
type Run struct {
	// Visit, if set, is called for each window, those of a wave in order. What is left at a wave's end is one more of its last site, or of -1
	// where it has none.
	Visit func(l *Life, site int32, w Window)
	Done  func(l *Life) // if set, called when a wave's every cycle is counted; l is the run's own
	// Settled, if set, is called at the end of Advance: waves that come later started at or after the given time.
	Settled func(before int64)

	p       Profile
	simds   []*simd
	free    []*Life
	waves   int
	pending int

	maxPending, maxHistory int // of a test: less than the constants
}

// maxPending bounds the records that wait for one whose place or kind does not come, maxHistory the busy intervals kept for waves that
// were ready long ago. Past them hidden cycles are a lower bound.
const (
	maxPending = 1 << 22
	maxHistory = 1 << 18
)

// Life is a wave that is being summed up.
type Life struct {
	Wave
	N     int   // waves of the run that ended before it
	Cost  Cost  // so far
	First int32 // its first site with an address; -1: none yet

	simd   *simd
	recs   []Inst // not settled
	ended  bool
	prev   int64          // end of the last settled window
	added  int64          // end of the last added record's window
	marked bool           // base is known
	mark   int64          // a time up to which the history may be gone,
	base   [numRank]int64 // and the busy time before it, by rank
	cursor [numRank]int   // into the history
	hold   int64          // when a record that is still open keeps a pipe busy at the earliest
	from   int64          // what still comes of this wave concerns no time before
	seen   []uint64       // sites that it ran, as bits
	last   int32          // the site of its last settled window; -1: none
	queues queues
}

// simd is what the waves of one SIMD share.
type simd struct {
	cu, simd int
	lives    []*Life
	spans    []span // not in busy yet
	scratch  []span // of sorting
	busy     [numRank]history
	merged   int64  // up to when busy is whole
	alive    []span // times in which waves that ended were there, disjoint, in order
}

type span struct {
	from, to int64
	rank     int
}

// history is when pipes of a rank and higher were busy: disjoint intervals in order.
type history []interval

type interval struct {
	from, to int64
	before   int64 // busy time before it, of intervals that are gone too
}

// NewRun makes a run without sites and waves.
func NewRun() *Run { return &Run{maxPending: maxPending, maxHistory: maxHistory} }

// AddSite adds an instruction of the code and gives the index by which records name it.
func (r *Run) AddSite(s Site) int32 {
	r.p.Insts = append(r.p.Insts, InstCost{Site: s, rank: rankOf(s.Class)})
	return int32(len(r.p.Insts) - 1)
}

// SiteAt is a site that was added.
func (r *Run) SiteAt(i int32) *Site { return &r.p.Insts[i].Site }

// Busy says whether a site keeps a pipe busy.
func (r *Run) Busy(site int32) bool { return r.p.Insts[site].rank > rankNone }

// Ran says whether a wave has records.
func (r *Run) Ran(l *Life) bool { return len(l.recs) > 0 || l.last >= 0 }

// Pending is how many records are not settled.
func (r *Run) Pending() int { return r.pending }

// Begin adds a wave. A negative Start is that of its first record.
func (r *Run) Begin(w Wave) *Life {
	var s *simd
	for _, have := range r.simds {
		if have.cu == w.CU && have.simd == w.SIMD {
			s = have
		}
	}
	if s == nil {
		s = &simd{cu: w.CU, simd: w.SIMD, merged: math.MinInt64}
		r.simds = append(r.simds, s)
	}
	l := &Life{}
	if n := len(r.free); n > 0 {
		l = r.free[n-1]
		r.free = r.free[:n-1]
	}
	q := l.queues
	for i := range q.q {
		q.q[i] = q.q[i][:0]
	}
	q.n, q.words = 0, 0
	clear(l.seen)
	*l = Life{Wave: w, simd: s, recs: l.recs[:0], seen: l.seen, First: -1, last: -1, prev: w.Start, added: w.Start, hold: math.MaxInt64, from: math.MaxInt64, queues: q}
	s.lives = append(s.lives, l)
	return l
}

// Add takes a wave's next records.
func (r *Run) Add(l *Life, recs []Inst) {
	if len(recs) == 0 {
		return
	}
	if l.Start < 0 {
		l.Start, l.prev, l.added = recs[0].Time, recs[0].Time, recs[0].Time
	}
	l.recs = append(l.recs, recs...)
	r.pending += len(recs)
	s := l.simd
	for i := range recs {
		in := &recs[i]
		site := &r.p.Insts[in.Site]
		// A wave keeps a pipe busy in its own windows only, so that it hides nothing of itself. What a barrier's window is longer by ends where the next
		// record stands ready.
		w := windowOf(l.added, in)
		if l.added = w.End; site.rank > rankNone && w.End > w.Issue {
			s.spans = append(s.spans, span{w.Issue, w.End, site.rank})
		}
		if l.First < 0 && site.Object >= 0 {
			l.First = in.Site
		}
	}
}

// Open says of a wave's records that may still change when the first of them was ready, and when the first of them that may keep a pipe
// busy was issued. [Run.Advance] forgets it.
func (l *Life) Open(ready, issue int64) { l.from, l.hold = ready, issue }

// End ends a wave. A negative stop is where the last of its records ends; then a wave without records is forgotten.
func (r *Run) End(l *Life, stop int64) {
	if l.Start < 0 || stop < 0 && len(l.recs) == 0 && l.last < 0 {
		r.drop(l)
		return
	}
	if stop < 0 {
		stop = l.prev
		for i := range l.recs {
			stop = max(stop, l.recs[i].Time+int64(l.recs[i].Dur))
		}
	}
	l.Stop, l.ended, l.N = stop, true, r.waves
	r.waves++
	l.simd.live(span{from: l.Start, to: l.Stop})
}

func (r *Run) drop(l *Life) {
	r.pending -= len(l.recs)
	l.simd.lives = slices.DeleteFunc(l.simd.lives, func(x *Life) bool { return x == l })
	r.free = append(r.free, l)
}

// Advance settles what ended by now. Records that come later were issued at now or later, but for those that Open told of.
func (r *Run) Advance(now int64) {
	force := r.pending > r.maxPending
	for _, s := range r.simds {
		until := now
		for _, l := range s.lives {
			if !force {
				until = min(until, l.hold)
			}
		}
		s.merge(until)
		for _, l := range s.lives {
			r.settle(l, until)
		}
		s.lives = slices.DeleteFunc(s.lives, func(l *Life) bool {
			if !l.ended || len(l.recs) > 0 || l.Stop > until {
				return false
			}
			if r.Done != nil {
				r.Done(l)
			}
			r.free = append(r.free, l)
			return true
		})
		s.trim(r, until)
	}
	if r.Settled != nil {
		before := now
		for _, s := range r.simds {
			for _, l := range s.lives {
				before = min(before, l.Start)
			}
		}
		r.Settled(before)
	}
}

// Close settles all there is and gives the sums.
func (r *Run) Close() *Profile {
	for _, s := range r.simds {
		for _, l := range s.lives {
			l.hold = math.MaxInt64
		}
	}
	r.Advance(math.MaxInt64)
	r.p.Waves = int64(r.waves)
	return &r.p
}

// merge moves the spans that begin before until into the history.
func (s *simd) merge(until int64) {
	late := 0
	for i := range s.spans {
		if s.spans[i].from < until {
			s.spans[late], s.spans[i] = s.spans[i], s.spans[late]
			s.spans[late].from = max(s.spans[late].from, s.merged) // past the bound of records some come late: what was asked for stays as it was
			late++
		}
	}
	s.scratch = sortSpans(s.spans[:late], s.scratch)
	for _, x := range s.spans[:late] {
		for rank := rankScalar; rank <= x.rank && x.to > x.from; rank++ {
			s.busy[rank].add(x.from, x.to)
		}
	}
	s.spans = append(s.spans[:0], s.spans[late:]...)
	s.merged = max(s.merged, until)
}

func (h *history) add(from, to int64) {
	n := len(*h)
	if n == 0 {
		*h = append(*h, interval{from: from, to: to})
		return
	}
	last := &(*h)[n-1]
	if from <= last.to {
		last.to = max(last.to, to)
		return
	}
	*h = append(*h, interval{from, to, last.before + last.to - last.from})
}

// busyUntil is how long pipes of the rank and higher were busy before t. Times of one wave do not fall between calls.
func (l *Life) busyUntil(rank int, t int64) int64 {
	if l.marked && t <= l.mark {
		return l.base[rank]
	}
	h := l.simd.busy[rank]
	lo := l.cursor[rank] // intervals before it begin before t
	step := 1
	for lo+step <= len(h) && h[lo+step-1].from < t {
		lo += step
		step *= 2
	}
	for step /= 2; step > 0; step /= 2 {
		if lo+step <= len(h) && h[lo+step-1].from < t {
			lo += step
		}
	}
	l.cursor[rank] = lo
	if lo == 0 {
		if len(h) == 0 {
			return 0
		}
		return h[0].before
	}
	x := &h[lo-1]
	return x.before + min(x.to, t) - x.from
}

// settle counts the windows that end by until.
func (r *Run) settle(l *Life, until int64) {
	l.cursor = [numRank]int{}
	done := 0
	for ; done < len(l.recs); done++ {
		in := l.recs[done]
		leaves := 0 // records of the same instruction behind it
		site := &r.p.Insts[in.Site]
		switch site.Class {
		case isa.Barrier:
			// A barrier's record tells when the wave arrived; it leaves with the last wave of its workgroup, and nothing issues meanwhile. GFX9 writes a
			// second record of the same instruction when it leaves: one cannot run twice without a branch between.
			next := done + 1
			if next < len(l.recs) && l.recs[next].Site == in.Site {
				in.until(l.recs[next].Time + int64(l.recs[next].Dur))
				next++
			}
			if next < len(l.recs) {
				in.until(l.recs[next].Time)
			} else if !l.ended {
				r.settled(l, done)
				return
			}
			leaves = next - done - 1
			in.Stall = in.Dur
		case isa.End:
			in.Stall = in.Dur // the wave waits for its stores; nothing issues
		}
		w := windowOf(l.prev, &in)
		if l.ended {
			w.Ready, w.Issue, w.End = min(w.Ready, l.Stop), min(w.Issue, l.Stop), min(w.End, l.Stop)
		}
		if w.End > until {
			break
		}
		r.count(l, in.Site, site, w)
		done += leaves
	}
	r.settled(l, done)
	if l.ended && len(l.recs) == 0 && l.Stop <= until {
		r.tail(l)
	}
}

// settled drops a wave's first records, which are counted.
func (r *Run) settled(l *Life, n int) {
	l.recs = append(l.recs[:0], l.recs[n:]...)
	r.pending -= n
}

// until makes the record last until a time at least.
func (in *Inst) until(t int64) {
	in.Dur = int32(min(max(int64(in.Dur), t-in.Time), math.MaxInt32))
}

// windowOf is the window of the record that follows one which ended at prev.
func windowOf(prev int64, in *Inst) Window {
	ready := max(in.Time, prev)
	issue := max(in.Time+int64(in.Stall), ready)
	return Window{prev, ready, issue, max(in.Time+int64(in.Dur), issue)}
}

// count counts one window.
func (r *Run) count(l *Life, i int32, ic *InstCost, w Window) {
	c := Cost{Hits: 1, Idle: w.Ready - w.Begin, Stall: w.Issue - w.Ready, Issue: w.End - w.Issue}
	if rank := max(ic.rank, rankScalar); w.Issue > w.Begin {
		c.Hidden = l.hidden(rank, w.Begin, w.Issue)
	}
	if rank := ic.rank + 1; rank < numRank && w.End > w.Issue {
		c.Hidden += l.hidden(rank, w.Issue, w.End)
	}
	ic.Cost.Add(c)
	ic.MaxStall = max(ic.MaxStall, c.Stall)
	word, bit := int(i>>6), uint64(1)<<(i&63)
	if word >= len(l.seen) {
		l.seen = append(l.seen, make([]uint64, word+1-len(l.seen))...)
	}
	if l.seen[word]&bit == 0 {
		l.seen[word] |= bit
		ic.Waves++
	}
	l.Cost.Add(c)
	r.p.Total.Add(c)
	l.prev, l.last = w.End, i
	l.queues.step(&r.p, i, w)
	if r.Visit != nil {
		r.Visit(l, i, w)
	}
}

// hidden is how much of a time pipes of at least the rank ran.
func (l *Life) hidden(rank int, from, to int64) int64 {
	before := l.busyUntil(rank, from)
	return min(max(l.busyUntil(rank, to)-before, 0), to-from)
}

// tail counts what is left from the last record's end to the wave's.
func (r *Run) tail(l *Life) {
	if l.Stop <= l.prev {
		return
	}
	c := Cost{Idle: l.Stop - l.prev, Hidden: l.hidden(rankScalar, l.prev, l.Stop)}
	l.Cost.Add(c)
	r.p.Total.Add(c)
	if l.last >= 0 {
		r.p.Insts[l.last].Cost.Add(c)
	} else {
		r.p.Idle.Add(c)
	}
	if r.Visit != nil {
		r.Visit(l, l.last, Window{l.prev, l.Stop, l.Stop, l.Stop})
	}
	l.prev = l.Stop
}

// trim drops the history that no wave asks for any more.
func (s *simd) trim(r *Run, until int64) {
	from := until
	start := until // of waves that run
	for _, l := range s.lives {
		if l.Start >= 0 && l.prev <= until { // its next window begins there
			l.cursor = [numRank]int{}
			for rank := rankScalar; rank < numRank; rank++ {
				l.base[rank] = l.busyUntil(rank, l.prev)
			}
			l.mark, l.marked = l.prev, true
		}
		if len(l.recs) > 0 {
			from = min(from, max(l.prev, l.recs[0].Time))
		}
		from = min(from, max(l.prev, l.from))
		l.from, l.hold = math.MaxInt64, math.MaxInt64
		if l.Start < 0 {
			start = math.MinInt64
		}
		start = min(start, l.Start)
	}
	for rank := range s.busy {
		h := s.busy[rank]
		n := 0
		for n+1 < len(h) && (h[n].to <= from || len(h)-n > r.maxHistory) {
			n++
		}
		if n > len(h)/2 || n > 1024 {
			s.busy[rank] = append(h[:0], h[n:]...)
		}
	}
	n := 0
	for ; n < len(s.alive) && s.alive[n].to < start; n++ {
		r.p.busy += s.alive[n].to - s.alive[n].from
	}
	s.alive = append(s.alive[:0], s.alive[n:]...)
	if until == math.MaxInt64 {
		for _, x := range s.alive {
			r.p.busy += x.to - x.from
		}
		s.alive = s.alive[:0]
	}
}

// live adds the time of a wave to those in which any was there.
func (s *simd) live(x span) {
	i := len(s.alive)
	for i > 0 && s.alive[i-1].to >= x.from {
		i--
	}
	j := i // alive[i:j] touch x
	for j < len(s.alive) && s.alive[j].from <= x.to {
		x.from, x.to = min(x.from, s.alive[j].from), max(x.to, s.alive[j].to)
		j++
	}
	s.alive = slices.Replace(s.alive, i, j, x)
}
