//go:build !amd64

package sqtt

func scan9Four(kinds *scan9Kinds, win *window, a, b, c, d *chain) (stall uint32) {
	return scan9FourGeneric(kinds, win, a, b, c, d)
}
