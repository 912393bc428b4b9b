package report

import "strings"

// calledBy picks the functions that a user's name means: those of exactly that name or symbol, else those that it names without
// parameters, template arguments, return type or scopes: "scale" and "app::scale" for void app::scale<float>(float*).
func calledBy(list []AsmFunc, name string) []AsmFunc {
	var exact, plain []AsmFunc
	for _, f := range list {
		switch p := plainName(f.Name); {
		case name == f.Symbol || name == f.Name:
			exact = append(exact, f)
		case p != f.Name && (name == p || strings.HasSuffix(p, "::"+name)):
			plain = append(plain, f)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return plain
}

// plainName is a demangled name without parameters, template arguments and return type. Operators stay as they are.
func plainName(s string) string {
	if strings.Contains(s, "operator") {
		return s
	}
	var b strings.Builder
	depth := 0 // of template arguments
	for i := range len(s) {
		switch c := s[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth > 0:
		case c == '(' && !strings.HasPrefix(s[i:], "(anonymous namespace)") && b.Len() > 0:
			return b.String()
		case c == ' ' && !strings.HasSuffix(b.String(), "(anonymous"):
			b.Reset() // what stood before was the return type
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
