//go:build !amd64 || purego

package sqtt

func (r *rdnaRun) take() bool { return r.takeGeneric() }

func (s *laneScan) handle() {}

// pairTables are of assembly alone.
type pairTables struct{}

func (*pairTables) make(*waveBits, *[numBegun]uint64, *walkOps) {}
