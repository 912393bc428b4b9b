//go:build !purego

package shader

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

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
func avxMulU24(d, a, b *lanes)

//go:noescape
func avxMadU24(d, a, b, c *lanes)

//go:noescape
func avxShlAdd(d, a, b, c *lanes)

//go:noescape
func avxShlOr(d, a, b, c *lanes)

//go:noescape
func avxAddShl(d, a, b, c *lanes)

//go:noescape
func avxBfeU(d, a, b, c *lanes)

//go:noescape
func avxFill(d *lanes, x uint32)

//go:noescape
func avxFill64(d *vreg, x uint32)

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
func avxWidenBF16(even, odd, v *vreg)

//go:noescape
func avxNarrowBF16(d, even, odd *vreg)

//go:noescape
func avxAddInts(d, c, sums *vreg)

//go:noescape
func avxSpread(d *[4]vreg, v *[2]vreg, index *vreg, shift uint32)

//go:noescape
func avxF64Tile(d *[256]float64, a, b *[64]float64)

//go:noescape
func avxAddC(d, a, b *lanes, ci uint32) uint32

//go:noescape
func avxSubC(d, a, b *lanes, ci uint32) uint32

//go:noescape
func avxMoved(v, rel *vreg, base uint32, n int) bool

//go:noescape
func avxLargest(v *vreg, n int) uint32

//go:noescape
func avxLDS(d, v *vreg, p unsafe.Pointer, words, n int)

//go:noescape
func avxLDSPut(v, d *vreg, p unsafe.Pointer, n int)

//go:noescape
func avxGather(d *vreg, a *[64]uint64, p unsafe.Pointer, base, limit uint64, n int) bool

//go:noescape
func avxWidenU16(d *lanes, p unsafe.Pointer)

//go:noescape
func avxLines(a *[64]uint64, n int, bytes uint64) int

//go:noescape
func avxStrided(d *lanes, p unsafe.Pointer, step uint32)

//go:noescape
func avxAddress64(a *[64]uint64, low, high *vreg, base, step uint64, n int) uint32

//go:noescape
func avxAddress32(a *[64]uint64, low *vreg, base, step uint64, n int) uint32

//go:noescape
func avxMad64(dl, dh, a, b, cl, ch *vreg, n int) uint64

//go:noescape
func avxShlAdd64(dl, dh, al, ah, cl, ch *vreg, shift uint64, n int)

//go:noescape
func avxShlAddOne(dl, dh, al, ah *vreg, c, shift uint64, n int)

//go:noescape
func avxPerm(d, a, b, c *lanes) bool

//go:noescape
func avxRsqF32(d, a *lanes)

//go:noescape
func avxRcpF32(d, a *lanes)
