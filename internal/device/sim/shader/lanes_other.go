//go:build !amd64 || purego

package shader

import "unsafe"

const hasAVX = false

func avxFill64(d *vreg, x uint32)        {}
func avxFill(d *lanes, x uint32)         {}
func avxSelect(d, a, b *lanes, m uint32) {}

func useAVX() {}

func avxAddC(d, a, b *lanes, ci uint32) uint32 { return 0 }
func avxSubC(d, a, b *lanes, ci uint32) uint32 { return 0 }

func avxTiles(d, a, b *vreg, q *tileQuad, n int, s *tileShape)    {}
func avxQuads(d *[4]vreg, a, b *vreg, n int)                      {}
func avxWidenF16(even, odd, v *vreg)                              {}
func avxNarrowF16(d, even, odd *vreg)                             {}
func avxLook(d, v, next *lanes, shift, mask uint32, tab *lookup)  {}
func avxWidenBF16(even, odd, v *vreg)                             {}
func avxNarrowBF16(d, even, odd *vreg)                            {}
func avxAddInts(d, c, sums *vreg)                                 {}
func avxSpread(d *[4]vreg, v *[2]vreg, index *vreg, shift uint32) {}
func avxF64Tile(d *[256]float64, a, b *[64]float64)               {}

func avxMoved(v, rel *vreg, base uint32, n int) bool    { return false }
func avxLargest(v *vreg, n int) uint32                  { return 0 }
func avxLDS(d, v *vreg, p unsafe.Pointer, words, n int) {}
func avxLDSPut(v, d *vreg, p unsafe.Pointer, n int)     {}
func avxGather(d *vreg, a *[64]uint64, p unsafe.Pointer, base, limit uint64, n int) bool {
	return false
}
func avxWidenU16(d *lanes, p unsafe.Pointer)                                       {}
func avxLines(a *[64]uint64, n int, bytes uint64) int                              { return 0 }
func avxStrided(d *lanes, p unsafe.Pointer, step uint32)                           {}
func avxAddress64(a *[64]uint64, low, high *vreg, base, step uint64, n int) uint32 { return 0 }
func avxAddress32(a *[64]uint64, low *vreg, base, step uint64, n int) uint32       { return 0 }
func avxMad64(dl, dh, a, b, cl, ch *vreg, n int) uint64                            { return 0 }
func avxShlAdd64(dl, dh, al, ah, cl, ch *vreg, shift uint64, n int)                {}
func avxShlAddOne(dl, dh, al, ah *vreg, c, shift uint64, n int)                    {}
func avxPerm(d, a, b, c *lanes) bool                                               { return false }
