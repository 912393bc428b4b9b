//go:build !amd64

package sqtt

func (s *laneScan) run(tab *scanTable) { s.runGeneric(tab) }

func fillPlanes(even, odd, src []byte) { fillGeneric(even, odd, src) }
