package report

import "github.com/rigprof/rigprof/internal/codeobj"

// calledBy picks the functions that a user's name means: those of exactly that name or symbol, else those of whose names it is a part.
func calledBy(list []AsmFunc, name string) []AsmFunc {
	var exact, parts []AsmFunc
	for _, f := range list {
		switch {
		case name == f.Symbol || name == f.Name:
			exact = append(exact, f)
		case codeobj.IsPart(f.Name, name):
			parts = append(parts, f)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return parts
}
