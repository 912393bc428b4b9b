//go:build !purego

package sqtt

import "golang.org/x/sys/cpu"

// run is runGeneric with most scan words in registers: a lane's next step then waits for its loads alone.
func (s *laneScan) run(tab *laneTable) { laneRun(s, tab) }

//go:noescape
func laneRun(s *laneScan, tab *laneTable)

var hasAVX2 = cpu.X86.HasAVX2

// fillPlanes is fillGeneric, by 64 or 16 bytes at a time.
func fillPlanes(even, odd, src []byte) {
	n := len(src) - 8
	_, _, _ = even[n-1], odd[n-1], src[fillBlock+7]
	if hasAVX2 {
		laneFillAVX2(&even[0], &odd[0], &src[0], uint64(n))
	} else {
		laneFill(&even[0], &odd[0], &src[0], uint64(n))
	}
}

//go:noescape
func laneFill(even, odd, src *byte, n uint64)

//go:noescape
func laneFillAVX2(even, odd, src *byte, n uint64)
