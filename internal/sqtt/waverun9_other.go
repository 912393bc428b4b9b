//go:build !amd64 || purego

package sqtt

// run takes the events up to the first one that needs a closer look, and says how many.
func (r *eventRun9) run(events []uint64, base Cycles) int {
	return r.some(events, 0, len(events), base)
}
