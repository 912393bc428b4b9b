package shader

// matrix is a compiled matrix instruction.
type matrix struct{}

func (c *compiler) matrix(name string) {}

func (c *compiler) specialCvt(name string) bool { return false }
