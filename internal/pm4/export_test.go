package pm4

// GCs lists the GC versions that have a table, in order.
func GCs() []string {
	out := make([]string, len(gcTables))
	for i := range gcTables {
		out[i] = gcTables[i].GC
	}
	return out
}
