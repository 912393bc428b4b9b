//go:build !amd64 || purego

package sqtt

func (s *laneScan) run(tab *scanTable) { s.runGeneric(tab) }

func (s *laneScan) walkRun(tab *walkTable) { s.walkRunGeneric(tab) }

func fillPlanes(even, odd, src []byte) { fillGeneric(even, odd, src) }
