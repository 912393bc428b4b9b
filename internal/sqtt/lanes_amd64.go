//go:build !purego

package sqtt

// run is runGeneric with most scan words in registers: a lane's next step then waits for its loads alone.
func (s *laneScan) run(tab *laneTable) { laneRun(s, tab) }

//go:noescape
func laneRun(s *laneScan, tab *laneTable)

// fillPlanes is fillGeneric, 16 bytes at a time.
func fillPlanes(even, odd, src []byte) {
	n := len(src) - 16
	_, _ = even[n+15], odd[n+15]
	laneFill(&even[0], &odd[0], &src[0], uint64(n))
}

//go:noescape
func laneFill(even, odd, src *byte, n uint64)
