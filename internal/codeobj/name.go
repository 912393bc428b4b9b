package codeobj

import (
	"fmt"
	"strings"
)

// IsPart says whether a user's name names what is demangled so in part: without parameters, return type, and, where the name has none, template
// arguments or scopes. "scale", "app::scale" and "scale<float>" are parts of void app::scale<float>(float*).
func IsPart(demangled, name string) bool {
	plain, full := partsOf(demangled)
	if plain == demangled || name == "" {
		return false
	}
	is := func(whole, part string) bool { return part == whole || strings.HasSuffix(whole, "::"+part) }
	if !strings.Contains(name, "<") {
		return is(plain, name)
	}
	p, _ := partsOf(name)
	return is(plain, p) && is(full, name)
}

// partsOf is a demangled name without parameters and return type, plain also without template arguments. Operators stay as they are.
func partsOf(s string) (plain, full string) {
	if strings.Contains(s, "operator") {
		return s, s
	}
	var p, f strings.Builder
	depth := 0 // of template arguments
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth > 0:
		case c == '(' && !strings.HasPrefix(s[i:], "(anonymous namespace)") && p.Len() > 0:
			return p.String(), f.String()
		case c == ' ' && !strings.HasSuffix(p.String(), "(anonymous"):
			p.Reset() // what stood before was the return type
			f.Reset()
			continue
		default:
			p.WriteByte(c)
		}
		f.WriteByte(c)
	}
	return p.String(), f.String()
}

// ambiguous is the error for a name of several kernels. It lists them.
func ambiguous(name string, found []*Kernel) error {
	list := make([]string, len(found))
	for i, k := range found {
		if list[i] = k.Demangled; k.Demangled != k.Name {
			list[i] += " (" + k.Name + ")"
		}
	}
	return fmt.Errorf("codeobj: %q names several kernels, give the whole name of one: %s", name, strings.Join(list, ", "))
}
