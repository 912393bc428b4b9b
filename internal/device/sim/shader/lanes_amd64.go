//go:build !purego

package shader

import "golang.org/x/sys/cpu"

//go:noescape
func avxAddF32(d, a, b *lanes)

//go:noescape
func avxSubF32(d, a, b *lanes)

//go:noescape
func avxMulF32(d, a, b *lanes)

//go:noescape
func avxAdd(d, a, b *lanes)

//go:noescape
func avxSub(d, a, b *lanes)

//go:noescape
func avxAnd(d, a, b *lanes)

//go:noescape
func avxOr(d, a, b *lanes)

//go:noescape
func avxXor(d, a, b *lanes)

//go:noescape
func avxMul(d, a, b *lanes)

//go:noescape
func avxMinU(d, a, b *lanes)

//go:noescape
func avxMaxU(d, a, b *lanes)

//go:noescape
func avxMinI(d, a, b *lanes)

//go:noescape
func avxMaxI(d, a, b *lanes)

//go:noescape
func avxShl(d, a, b *lanes)

//go:noescape
func avxShr(d, a, b *lanes)

//go:noescape
func avxSar(d, a, b *lanes)

//go:noescape
func avxFmaF32(d, a, b, c *lanes)

//go:noescape
func avxAdd3(d, a, b, c *lanes)

//go:noescape
func avxAndOr(d, a, b, c *lanes)

//go:noescape
func avxOr3(d, a, b, c *lanes)

//go:noescape
func avxXor3(d, a, b, c *lanes)

//go:noescape
func avxXad(d, a, b, c *lanes)

//go:noescape
func avxFill(d *lanes, x uint32)

//go:noescape
func avxSelect(d, a, b *lanes, m uint32)

//go:noescape
func avxLtF32(a, b *lanes) uint32

//go:noescape
func avxEqF32(a, b *lanes) uint32

//go:noescape
func avxEqU32(a, b *lanes) uint32

//go:noescape
func avxLtI32(a, b *lanes) uint32

//go:noescape
func avxLtU32(a, b *lanes) uint32

// hasAVX tells whether the processor has what the assembly needs.
var hasAVX = cpu.X86.HasAVX2 && cpu.X86.HasFMA && hasF16C()

// hasF16C asks for VCVTPH2PS and VCVTPS2PH, which the package cpu does not know.
func hasF16C() bool

//go:noescape
func avxTiles(d, a, b *vreg, q *tileQuad, n int, s *tileShape)

//go:noescape
func avxQuads(d *[4]vreg, a, b *vreg, n int)

//go:noescape
func avxWidenF16(even, odd, v *vreg)

//go:noescape
func avxNarrowF16(d, even, odd *vreg)

//go:noescape
func avxLook(d, v, next *lanes, shift, mask uint32, tab *lookup)

//go:noescape
func avxF64Tile(d *[256]float64, a, b *[64]float64)

//go:noescape
func avxAddC(d, a, b *lanes, ci uint32) uint32

//go:noescape
func avxSubC(d, a, b *lanes, ci uint32) uint32
