//go:build race

package count_test

func init() { slow = true }
