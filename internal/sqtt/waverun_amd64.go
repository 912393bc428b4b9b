//go:build !purego

package sqtt

// rdna is rdnaGeneric.
func (r *waveRun) rdna(events []uint64, base Cycles) int {
	n := min(len(events), len(r.waves)-r.n)
	if n <= 0 {
		return 0
	}
	var taken, began, ended int
	if r.bits == &waveBits12 {
		taken, began, ended = waveRun12(r, &events[0], n, base, &r.waves[r.n])
	} else {
		taken, began, ended = waveRun11(r, &events[0], n, base, &r.waves[r.n])
	}
	ended /= waveSize
	r.n += ended
	r.open += began - ended
	return taken
}

const waveSize = 24 // bytes of a Wave

// waveRun11 takes up to n events and writes waves from next on, for which there must be room. It tells how many events it took,
// how many waves began and how many bytes it wrote.
//
//go:noescape
func waveRun11(r *waveRun, events *uint64, n int, base Cycles, next *Wave) (taken, began, wrote int)

// waveRun12 does the same with GFX12's tokens.
//
//go:noescape
func waveRun12(r *waveRun, events *uint64, n int, base Cycles, next *Wave) (taken, began, wrote int)
