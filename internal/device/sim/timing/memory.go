package timing

import "github.com/rigprof/rigprof/internal/device/sim/shader"

// cache keeps which lines are present and from when. Four ways, the least recently used one goes.
type cache struct {
	sets  []cacheSet
	mask  uint64
	epoch uint64 // above the line's number in tags: clearing is a new epoch
}

type cacheSet struct {
	tag   [4]uint64
	ready [4]int64
}

const epochShift = 48

func newCache(bytes int) cache {
	sets := 1
	for sets*4*lineBytes < bytes {
		sets *= 2
	}
	if bytes == 0 {
		return cache{}
	}
	return cache{sets: make([]cacheSet, sets), mask: uint64(sets - 1), epoch: 1 << epochShift}
}

func (c *cache) clear() { c.epoch += 1 << epochShift }

// find tells whether the line is there, and when it came or will come. A line that is not is taken in; the caller sets its time.
func (c *cache) find(line uint64) (ready *int64, hit bool) {
	s := &c.sets[(line^line>>9)&c.mask]
	tag := line&(1<<epochShift-1) | c.epoch
	for i := range s.tag {
		if s.tag[i] == tag {
			if i > 0 { // to the front
				r := s.ready[i]
				for j := i; j > 0; j-- {
					s.tag[j], s.ready[j] = s.tag[j-1], s.ready[j-1]
				}
				s.tag[0], s.ready[0] = tag, r
			}
			return &s.ready[0], true
		}
	}
	for j := 3; j > 0; j-- {
		s.tag[j], s.ready[j] = s.tag[j-1], s.ready[j-1]
	}
	s.tag[0] = tag
	return &s.ready[0], false
}

// vector times a vector memory access that issues at t: when its data are back, or its stores acknowledged.
func (m *Machine) vector(u *unit, c int, ref *shader.MemRef, t int64, st *Stats) int64 {
	cu := &u.cus[c]
	lines := int(ref.Lines)
	if lines == 0 { // no lane was active
		return t + m.p.l0/2
	}
	busy := (int64(lines)*m.p.vmemLines + 15) >> 4
	data := int64(ref.Bytes) * m.p.l0KiB >> 10
	busy = max(busy, data)
	start := max(t, cu.vmemFree)
	cu.vmemFree = start + busy
	if ref.Write && !m.gfx9 {
		// Stores of a shader array leave it through one path, 128 bytes in a cycle: gemmbig's fill kernels come near this rate.
		start = max(start, u.array.stores)
		u.array.stores = start + max(int64(ref.Bytes)>>7, 1)
	}
	d := u.die
	st.N[StatCyclesTA] += busy
	d.taSpan.add(start, start+busy, &d.busy.TA)
	first := ref.Addr >> lineShift
	private := ref.Space == shader.SpaceScratch
	if private {
		first += 1 << 40 // private memory is nowhere else
	}
	// The log has a scattered access's first and last line, and their number: those between are taken to be evenly spaced.
	span := max(uint64(ref.Span), uint64(lines-1))
	scattered := span != uint64(lines-1)
	done := int64(0)
	for i := range lines {
		line := first + uint64(i)
		if scattered {
			line = first + span*uint64(i)/uint64(lines-1)
		}
		at := start + int64(i)*m.p.vmemLines>>4
		host := false
		if !private {
			e, known := m.translate(d, &cu.tlb, line, at)
			st.N[StatTranslate]++
			if known {
				st.N[StatTranslateHit]++
			}
			at, host = max(at, e.ready), e.host
		}
		var ready int64
		switch {
		case ref.Atomic:
			r, _ := m.fromL2(d, line, at, true, true, host)
			ready = r + m.p.l2
			st.N[StatL2StoreWait] += ready - at
		case ref.Write:
			r, hit := m.fromL2(d, line, at, true, false, host)
			ready = r + m.p.store
			if !hit {
				ready = r + m.p.storeMem
			}
			st.N[StatL2StoreWait] += ready - at
		default:
			ready = m.load(d, u, cu, line, at, host, st)
		}
		done = max(done, ready)
	}
	done = max(done, start+busy)
	if !ref.Write { // data come back through one path of the CU
		done = max(done, cu.back+data)
		cu.back = done
		st.N[StatCyclesTD] += max(data, 1)
	}
	d.tcSpan.add(start, done, &d.busy.TC)
	return done
}

func (m *Machine) load(d *die, u *unit, cu *cu, line uint64, at int64, host bool, st *Stats) int64 {
	r0, hit := cu.l0.find(line)
	if hit {
		st.N[StatL0Hit]++
		return max(at+m.p.l0, *r0)
	}
	st.N[StatL0Miss]++
	if l1 := &u.array.l1; l1.sets != nil {
		r1, hit := l1.find(line)
		if hit {
			*r0 = max(at+m.p.l1, *r1)
			return *r0
		}
		*r1 = m.loadL2(d, line, at, host, st)
		*r0 = *r1
		return *r0
	}
	*r0 = m.loadL2(d, line, at, host, st)
	return *r0
}

func (m *Machine) loadL2(d *die, line uint64, at int64, host bool, st *Stats) int64 {
	r, _ := m.fromL2(d, line, at, false, false, host)
	st.N[StatL2Load]++
	st.N[StatL2LoadWait] += r + m.p.l2 - at
	return r + m.p.l2
}

// scalar times a scalar load.
func (m *Machine) scalar(u *unit, ref *shader.MemRef, t int64, st *Stats) int64 {
	t = max(t, u.scalarFree)
	u.scalarFree = t + m.p.smemRate
	d := u.die
	done := t
	first := ref.Addr >> lineShift
	for i := range max(int(ref.Lines), 1) {
		r, hit := u.scalar.find(first + uint64(i))
		if hit {
			st.N[StatDCacheHit]++
			done = max(done, t+m.p.smemHit, *r)
			continue
		}
		st.N[StatDCacheMiss]++
		e, _ := m.translate(d, &u.tlb, first+uint64(i), t)
		at, hit := m.fromL2(d, first+uint64(i), t, ref.Write, ref.Atomic, e.host)
		if !hit && !e.host {
			at += m.p.smemMem
		}
		*r = at + m.p.smemL2
		done = max(done, *r)
	}
	return done
}

// localAccess times an LDS access of a wave: when its data are back, how many cycles it takes, and how many of those for bank conflicts.
func (m *Machine) localAccess(cu *cu, ref *shader.MemRef, lanes int64, t int64) (done, cycles, conflict int64) {
	cycles = max(int64(ref.LDSCycles), 1) * m.p.step
	if ref.Lanes > 0 {
		words := (int64(ref.Bytes)/int64(ref.Lanes) + 3) / 4
		group := max(32/max(words, 1), 8)
		if m.g.Target == "gfx950" && words >= 4 && !ref.Write {
			group = 16
		}
		conflict = max(cycles-m.p.step*max(lanes/group, 1), 0)
	}
	start := max(t, cu.ldsFree)
	cu.ldsFree = start + cycles
	return start + m.p.lds + cycles - m.p.step, cycles, conflict
}

// icacheLine is a line of the instruction cache.
type icacheLine struct {
	tag   uint64
	ready int64
}

// fetch is when the line of code at pc can be decoded, for an instruction that could otherwise issue at t.
func (m *Machine) fetch(u *unit, pc uint64, t int64, st *Stats) int64 {
	line := pc >> codeShift
	l := &u.icache[line&uint64(len(u.icache)-1)]
	tag := line&(1<<epochShift-1) | m.codeEpoch
	if l.tag == tag {
		st.N[StatICacheHit]++
		return max(t, l.ready)
	}
	st.N[StatICacheMiss]++
	st.N[StatLevelFetch] += m.p.icacheMiss
	l.tag, l.ready = tag, t+m.p.icacheMiss
	m.translate(u.die, &u.tlb, pc>>lineShift, t) // whose time the figures of cold code hold
	return l.ready
}
