//go:build !purego

package sqtt

// take is takeGeneric with all that records and waves go by in registers.
func (r *walkRun) take(events []uint64, base Cycles) int {
	events = events[:r.room(len(events))]
	if len(events) == 0 {
		return 0
	}
	base += r.origin
	wave, nodes := &r.waves[r.n], r.walk.cache.nodes
	var taken, began, wrote int
	if r.bits == &waveBits12 {
		taken, began, wrote = walkRun12(r, &events[0], len(events), base, wave, nodes)
	} else {
		taken, began, wrote = walkRun11(r, &events[0], len(events), base, wave, nodes)
	}
	r.count(began, wrote)
	return taken
}

// walkRun11 takes events as waveRun11 does.
//
//go:noescape
func walkRun11(r *walkRun, events *uint64, n int, base Cycles, wave *Wave, nodes []codeNode) (taken, began, wrote int)

//go:noescape
func walkRun12(r *walkRun, events *uint64, n int, base Cycles, wave *Wave, nodes []codeNode) (taken, began, wrote int)
