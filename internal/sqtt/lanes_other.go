//go:build !amd64 || purego

package sqtt

func (s *laneScan) run(tab *laneTable) { s.runGeneric(tab) }

func fillPlanes(even, odd, src []byte) { fillGeneric(even, odd, src) }
