//go:build !amd64 || purego

package sqtt

func (r *waveRun) rdna(events []uint64, base Cycles) int { return r.rdnaGeneric(events, base) }
