//go:build !purego

package sqtt

// run takes the events up to the first one that needs a closer look, and says how many.
func (r *eventRun9) run(events []uint64, base Cycles) int {
	for i := 0; i < len(events); i++ {
		if i += waveRun9(r, &events[i], len(events)-i, base); i == len(events) || r.some(events, i, i+1, base) == i {
			return i
		}
	}
	return len(events)
}

//go:noescape
func waveRun9(r *eventRun9, events *uint64, n int, base Cycles) int
