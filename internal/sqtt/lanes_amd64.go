//go:build !purego

package sqtt

import "golang.org/x/sys/cpu"

// run is runGeneric with most scan words in registers: a lane's next step then waits for its loads alone.
func (s *laneScan) run(tab *laneTable) { laneRun(s, tab) }

//go:noescape
func laneRun(s *laneScan, tab *laneTable)

var (
	hasAVX2   = cpu.X86.HasAVX2
	hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL
)

// fillPairs is fillGeneric, by 32 bytes at a time.
func fillPairs(pairs, src []byte) {
	n := len(src) - 8
	_, _ = pairs[2*n-1], src[fillBlock+7]
	switch {
	case hasAVX512:
		laneFill512(&pairs[0], &src[0], uint64(n))
	case hasAVX2:
		laneFill(&pairs[0], &src[0], uint64(n))
	default:
		fillGeneric(pairs, src)
	}
}

//go:noescape
func laneFill(pairs, src *byte, n uint64)

//go:noescape
func laneFill512(pairs, src *byte, n uint64)
