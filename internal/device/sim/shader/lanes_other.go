//go:build !amd64

package shader

const hasAVX = false

func avxFill(d *lanes, x uint32)         {}
func avxSelect(d, a, b *lanes, m uint32) {}

func avxAddC(d, a, b *lanes, ci uint32) uint32 { return 0 }
func avxSubC(d, a, b *lanes, ci uint32) uint32 { return 0 }

func useAVX() {}

func avxFmaF32(d, a, b, c *lanes) {}
