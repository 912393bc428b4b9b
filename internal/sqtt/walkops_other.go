//go:build !amd64 || purego

package sqtt

func (k *walk) records(events []uint64, add uint64, s *laneScan, ops *walkOps) int {
	return k.recordsGeneric(events, add, s, ops)
}
