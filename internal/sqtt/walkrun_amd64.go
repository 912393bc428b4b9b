//go:build !purego

package sqtt

// take is takeGeneric with all that records go by in registers.
func (r *walkRun) take(events []uint64, base Cycles) int {
	if len(events) == 0 {
		return 0
	}
	base += r.origin
	if r.bits == &waveBits12 {
		return walkRun12(r, &events[0], len(events), base, r.walk.cache.nodes)
	}
	return walkRun11(r, &events[0], len(events), base, r.walk.cache.nodes)
}

//go:noescape
func walkRun11(r *walkRun, events *uint64, n int, base Cycles, nodes []codeNode) int

//go:noescape
func walkRun12(r *walkRun, events *uint64, n int, base Cycles, nodes []codeNode) int
