//go:build !amd64 || purego

package sqtt

func (s *laneScan) run(tab *laneTable) { s.runGeneric(tab) }

func fillPairs(pairs, src []byte) { fillGeneric(pairs, src) }
