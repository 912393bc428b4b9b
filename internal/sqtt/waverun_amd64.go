//go:build !purego

package sqtt

// rdna is rdnaGeneric.
func (r *waveRun) rdna(events []uint64, base Cycles) int {
	n := r.room(len(events))
	if n <= 0 {
		return 0
	}
	var taken, began, wrote int
	if r.bits == &waveBits12 {
		taken, began, wrote = waveRun12(r, &events[0], n, base, &r.waves[r.n])
	} else {
		taken, began, wrote = waveRun11(r, &events[0], n, base, &r.waves[r.n])
	}
	r.count(began, wrote)
	return taken
}

// count counts waves that began, and those that ended by the bytes written of them.
func (r *waveRun) count(began, wrote int) {
	ended := wrote / waveSize
	r.n += ended
	r.open += began - ended
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
