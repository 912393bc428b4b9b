//go:build !amd64 || purego

package sqtt

func scan9Four(kinds *scan9Kinds, win *window, a, b, c, d *chain) {
	scan9FourGeneric(kinds, win, a, b, c, d)
}

// scan9 scans the first size units of a window; see byChains.
func (s *scanBuffers) scan9(kinds *scan9Kinds, win *window, size uint64) (end uint64, pieces []piece) {
	return s.byChains(kinds, win, size)
}
