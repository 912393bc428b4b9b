//go:build !purego

package sqtt

// records is recordsGeneric with all that it goes by in registers.
func (k *walk) records(events []uint64, add uint64, s *laneScan, ops *walkOps) int {
	return walkRecords(events, k.cache.nodes, add, s, ops, &k.slots)
}

//go:noescape
func walkRecords(events []uint64, nodes []codeNode, add uint64, s *laneScan, ops *walkOps, slots *[64]*tracedWave) int
