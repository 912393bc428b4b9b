package shader

// The file's name puts this behind the files that define operations: Go initializes files in order of their names.
func init() {
	if hasAVX {
		useAVX()
	}
}
