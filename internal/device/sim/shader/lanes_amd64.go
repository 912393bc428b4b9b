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
var hasAVX = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func avxAddC(d, a, b *lanes, ci uint32) uint32

//go:noescape
func avxSubC(d, a, b *lanes, ci uint32) uint32
