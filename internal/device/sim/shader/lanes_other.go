//go:build !amd64

package shader

const hasAVX = false

func avxFill(d *lanes, x uint32)         {}
func avxSelect(d, a, b *lanes, m uint32) {}
func avxLtF32(a, b *lanes) uint32        { return 0 }
func avxEqF32(a, b *lanes) uint32        { return 0 }
func avxEqU32(a, b *lanes) uint32        { return 0 }
func avxLtI32(a, b *lanes) uint32        { return 0 }
func avxLtU32(a, b *lanes) uint32        { return 0 }
func useAVX()                            {}
