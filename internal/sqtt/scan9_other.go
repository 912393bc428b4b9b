//go:build !amd64 || purego

package sqtt

func scan9Four(kinds *scan9Kinds, win *window, a, b, c, d *chain) {
	scan9FourGeneric(kinds, win, a, b, c, d)
}
