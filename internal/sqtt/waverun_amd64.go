//go:build !purego

package sqtt

// rdna is rdnaGeneric.
func (r *waveRun) rdna(events []uint64, base Cycles) int {
	done := 0
	for done < len(events) {
		before := r.n
		rest := events[done:]
		var n int
		if r.bits == &waveBits12 {
			n = waveRun12(r, &rest[0], len(rest), base)
		} else {
			n = waveRun11(r, &rest[0], len(rest), base)
		}
		r.open -= r.n - before
		done += n
		if n == len(rest) || !r.marker(rest[n], base) {
			break
		}
		done++
	}
	return done
}

// marker takes an event that is a realtime marker.
func (r *waveRun) marker(e uint64, base Cycles) bool {
	w := r.scan.load64(r.scan.event(e))
	if uint32(w)&(127|1<<8|r.bits.realtime) != 1|r.bits.realtime {
		return false
	}
	r.markers = append(r.markers, Marker{r.origin + base + Cycles(e>>scanTime), int64(w >> 12 & r.bits.delta)})
	return true
}

//go:noescape
func waveRun11(r *waveRun, events *uint64, n int, base Cycles) int

//go:noescape
func waveRun12(r *waveRun, events *uint64, n int, base Cycles) int
