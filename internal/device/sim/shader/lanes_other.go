//go:build !amd64 || purego

package shader

const hasAVX = false

func avxFill(d *lanes, x uint32)         {}
func avxSelect(d, a, b *lanes, m uint32) {}

func avxAddC(d, a, b *lanes, ci uint32) uint32 { return 0 }
func avxSubC(d, a, b *lanes, ci uint32) uint32 { return 0 }

func useAVX() {}

func avxTiles(d, a, b *vreg, q *tileQuad, n int, s *tileShape)   {}
func avxQuads(d *[4]vreg, a, b *vreg, n int)                     {}
func avxWidenF16(even, odd, v *vreg)                             {}
func avxNarrowF16(d, even, odd *vreg)                            {}
func avxLook(d, v, next *lanes, shift, mask uint32, tab *lookup) {}
func avxF64Tile(d *[256]float64, a, b *[64]float64)              {}
