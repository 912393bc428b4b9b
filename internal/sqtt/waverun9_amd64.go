//go:build !purego

package sqtt

// run takes the events up to the first one that needs a closer look, and says how many.
func (r *eventRun9) run(events []uint64, base Cycles) int {
	for i := 0; i < len(events); {
		if i += waveRun9(r, &events[i], len(events)-i, base); i == len(events) {
			break
		}
		stop := i + 1
		for stop < len(events) && r.walks(events[stop]) {
			stop++
		}
		if i = r.some(events, i, stop, base); i < stop {
			return i
		}
	}
	return len(events)
}

// walks says whether an event is an INST, INST_PC or ISSUE, which come in runs and are nothing for assembly.
func (r *eventRun9) walks(e uint64) bool {
	const tokens = 1<<10 | 1<<11 | 1<<13
	return tokens>>(r.win[e<<1&(windowBytes-1)]&15)&1 != 0
}

//go:noescape
func waveRun9(r *eventRun9, events *uint64, n int, base Cycles) int
