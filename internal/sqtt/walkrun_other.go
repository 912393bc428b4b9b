//go:build !amd64 || purego

package sqtt

func (r *walkRun) take(events []uint64, base Cycles) int { return r.takeGeneric(events, base) }
