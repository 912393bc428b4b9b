//go:build race

package sqtt

func init() { slow = true }
