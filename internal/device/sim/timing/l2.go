package timing

// l2 is a die's second-level cache. Lines that a dispatch wrote go to memory when they are replaced, and at its end.
type l2 struct {
	cache
	wrote [][4]uint32 // the dispatch that wrote each way last
	dirty []int64     // lines of each channel that the dispatch in progress wrote and memory has not
}

func newL2(bytes, channels int) l2 {
	c := l2{cache: newCache(bytes), dirty: make([]int64, channels)}
	c.wrote = make([][4]uint32, len(c.sets))
	return c
}

// access finds a line as find does, for dispatch now. replaced is the line that made way and has to be written, if there is one.
func (c *l2) access(line uint64, now uint32, write bool) (ready *int64, hit, wroteFirst bool, replaced uint64, writeBack bool) {
	at := (line ^ line>>9) & c.mask
	s, w := &c.sets[at], &c.wrote[at]
	tag := line&(1<<epochShift-1) | c.epoch
	way := 0
	for way < 3 && s.tag[way] != tag {
		way++
	}
	hit = s.tag[way] == tag
	was := w[way]
	if !hit && was == now {
		replaced, writeBack = s.tag[3]&(1<<epochShift-1), true
	}
	if !hit {
		was = 0
	}
	r := s.ready[way]
	for j := way; j > 0; j-- {
		s.tag[j], s.ready[j], w[j] = s.tag[j-1], s.ready[j-1], w[j-1]
	}
	s.tag[0], s.ready[0], w[0] = tag, r, was
	if write {
		wroteFirst = was != now
		w[0] = now
	}
	return &s.ready[0], hit, wroteFirst, replaced, writeBack
}

// L2Stats are the counts of one channel of a die's L2.
type L2Stats struct {
	Hits, Misses           int64
	Reads, Writes, Atomics int64 // requests
	MemReads, MemWrites    int64 // lines that went to and from memory
	MemReadWait            int64 // cycles that they took, added up
	MemWriteWait           int64
	Busy                   int64 // cycles with a request in it
	HostReads, HostWrites  int64 // of those lines, the host's memory's
	Replaced, Released     int64 // lines written because others took their place; because a dispatch ended
}

// BusyStats are the cycles in which any of a die's units of a kind had work.
type BusyStats struct {
	TA     int64 // address paths of CUs
	TC     int64 // vector caches
	Memory int64 // reads and writes of memory
	Walk   int64 // reading page tables
}

// busySpan adds up the time that anything was going on, given what begins and ends when, nearly in the order of beginnings.
type busySpan struct{ end int64 }

func (s *busySpan) add(from, to int64, sum *int64) {
	if to > s.end {
		*sum += to - max(from, s.end)
		s.end = to
	}
}

// fromL2 brings a line from the die's L2 or memory; at is when the request arrives at the L2's queue. ready is when the L2 has the line. What is
// the host's is not kept there.
func (m *Machine) fromL2(d *die, line uint64, at int64, write, atomic, host bool) (ready int64, hit bool) {
	no := d.channel(line)
	ch := &d.stats[no]
	t := max(at<<4, d.l2Free[no])
	d.l2Free[no] = t + m.p.l2Line
	if write && !atomic {
		d.l2Free[no] = t + m.p.l2Write
	}
	t >>= 4
	if host {
		return m.fromHost(d, ch, t, write, atomic), false
	}
	r, hit, dirty, replaced, writeBack := d.l2.access(line, m.dispatch, write || atomic)
	if dirty {
		d.l2.dirty[no]++
	}
	if writeBack {
		from := d.channel(replaced)
		d.l2.dirty[from]--
		d.stats[from].MemWrites++
		d.stats[from].Replaced++
		d.stats[from].MemWriteWait += m.p.storeMem
		d.memFree = max(d.memFree, t<<4) + m.memLine
	}
	switch {
	case atomic:
		ch.Atomics++
	case write:
		ch.Writes++
	default:
		ch.Reads++
	}
	busy := &d.l2Span[no]
	if hit {
		ch.Hits++
		ready = max(t, *r)
		busy.add(at, ready+m.p.l2, &ch.Busy)
		return ready, true
	}
	ch.Misses++
	if write && !atomic { // what is not written is read when it is asked for
		d.memSpan.add(t, t+m.p.storeMem, &d.busy.Memory)
		busy.add(at, t+m.p.storeMem, &ch.Busy)
		*r = t
		return t, false
	}
	ch.MemReads++
	mt := max(t<<4, d.memFree)
	d.memFree = mt + m.memLine
	*r = mt>>4 + m.p.mem - m.p.l2
	ch.MemReadWait += *r - t
	d.memSpan.add(t, *r, &d.busy.Memory)
	busy.add(at, *r+m.p.l2, &ch.Busy)
	return *r, false
}

// channel is where a line is kept.
func (d *die) channel(line uint64) uint64 {
	n := uint64(len(d.stats))
	h := line ^ line>>5 ^ line>>10
	if n&(n-1) == 0 {
		return h & (n - 1)
	}
	return h % n
}

// writeBack brings what the dispatch wrote to memory, as the release behind it does.
func (d *die) writeBack(took int64) {
	for i, n := range d.l2.dirty {
		d.stats[i].MemWrites += n
		d.stats[i].Released += n
		d.stats[i].MemWriteWait += n * took
		d.l2.dirty[i] = 0
	}
}

// fromHost is fromL2 of memory behind the bus. Writes are posted.
func (m *Machine) fromHost(d *die, ch *L2Stats, t int64, write, atomic bool) int64 {
	ch.Misses++
	start := max(t<<4, d.busFree)
	d.busFree = start + m.busLine
	switch {
	case write && !atomic:
		ch.Writes++
		ch.MemWrites++
		ch.HostWrites++
		ch.MemWriteWait += m.p.storeMem
		return start >> 4
	case atomic:
		ch.Atomics++
	default:
		ch.Reads++
	}
	ch.MemReads++
	ch.HostReads++
	ch.MemReadWait += m.p.host - m.p.l2
	return start>>4 + m.p.host - m.p.l2
}
