//go:build !purego

package sqtt

// take is takeGeneric with all that events go by in registers. There is room for a wave more than the window may have.
func (r *rdnaRun) take() bool {
	s := r.scan
	var nodes *codeNode
	if r.walk != nil {
		nodes = &r.walk.cache.nodes[0]
	}
	var began, wrote int
	if r.bits == &waveBits12 {
		began, wrote = rdnaRun12(r, &s.events[r.next], r.now(0), &r.waves[r.n], nodes)
	} else {
		began, wrote = rdnaRun11(r, &s.events[r.next], r.now(0), &r.waves[r.n], nodes)
	}
	ended := wrote / waveSize
	r.n += ended
	r.open += began - ended
	return !r.atEnd()
}

const waveSize = 24 // bytes of a Wave

// rdnaRun11 takes the events from the given one on, whose piece's times are from base on, up to one that is rare, and writes waves
// from next on, for which there must be room. It leaves in r where that is, and tells how many waves began and how many bytes it
// wrote.
//
//go:noescape
func rdnaRun11(r *rdnaRun, events *uint64, base Cycles, next *Wave, nodes *codeNode) (began, wrote int)

// rdnaRun12 does the same with GFX12's tokens.
//
//go:noescape
func rdnaRun12(r *rdnaRun, events *uint64, base Cycles, next *Wave, nodes *codeNode) (began, wrote int)

// handle finds the handlers, once: each kind's code begins at a multiple of handlerSize in its run.
func (s *laneScan) handle() {
	if s.handlers[0][0] != 0 {
		return
	}
	const handlerSize = 1024
	run11, run12 := rdnaRuns()
	for b := range s.handlers[0] {
		slot := 2 // as what is rare
		switch kind := eventKind(b % numEventKinds); {
		case kind >= eventRare:
			slot += int(kind - eventRare)
		case kind >= eventInst:
			slot = 1
		case kind == eventPiece:
			slot = 9
		}
		s.handlers[0][b] = run11 + uintptr(slot)*handlerSize
		s.handlers[1][b] = run12 + uintptr(slot)*handlerSize
	}
}

// rdnaRuns are where the runs' code begins.
func rdnaRuns() (run11, run12 uintptr)
