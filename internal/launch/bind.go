package launch

import (
	"fmt"
	"strings"

	"github.com/rigprof/rigprof/internal/codeobj"
)

// Bind checks the launch against a kernel: its parameters one by one, its block against the kernel's limits.
func (l *Launch) Bind(k *codeobj.Kernel) error {
	if !k.HasMeta {
		return l.bindPlain(k)
	}
	args := userArgs(k)
	fail := func(format string, a ...any) error {
		return &Error{Msg: fmt.Sprintf(format, a...), Detail: []string{Signature(k), "as flags: " + exampleFlags(k)}}
	}
	if n, want := len(l.Params), len(args); n != want {
		if n < want {
			return fail("%s takes %s, %d given: %s is missing", k.Name, plural(want, "argument"), n, describe(n, args[n]))
		}
		return fail("%s takes %s, %d given: %s is surplus", k.Name, plural(want, "argument"), n, spec(&l.Params[want]))
	}
	for i := range args {
		if why := mismatch(args[i], &l.Params[i]); why != "" {
			return fail("%s of %s: %s is %s", describe(i, args[i]), k.Name, spec(&l.Params[i]), why)
		}
	}
	return nil
}

// bindPlain checks a launch of a kernel without metadata: all that is known is the size of its arguments.
func (l *Launch) bindPlain(k *codeobj.Kernel) error {
	var end uint32
	for i := range l.Params {
		off, size := plainOffset(end, &l.Params[i])
		end = off + size
	}
	if end > k.KernargBytes {
		return errorf("%s has no metadata and reads %d bytes of arguments, %d given", k.Name, k.KernargBytes, end)
	}
	return nil
}

// plainOffset lays a parameter out as C does, after the one that ends at end.
func plainOffset(end uint32, p *Param) (off, size uint32) {
	size = p.argSize()
	align := size
	if p.Kind == Struct {
		align = 8
	}
	if align > 1 {
		end = (end + align - 1) / align * align
	}
	return end, size
}

// userArgs are a kernel's arguments without the hidden ones.
func userArgs(k *codeobj.Kernel) []*codeobj.Arg {
	var out []*codeobj.Arg
	for i := range k.Args {
		if !k.Args[i].Hidden() {
			out = append(out, &k.Args[i])
		}
	}
	return out
}

// describe names an argument in messages: "argument 3 (uint n)".
func describe(i int, a *codeobj.Arg) string { return fmt.Sprintf("argument %d (%s)", i, declare(a)) }

// spec is a parameter as the user wrote it.
func spec(p *Param) string {
	switch {
	case p.Spec != "":
		return p.Spec
	case p.Kind == Buffer:
		return fmt.Sprintf("%s, a buffer of %d %s", p.Name, p.Count, p.Type)
	}
	return fmt.Sprintf("%s, %s %s", p.Name, p.Type, p.Type.format(p.Value))
}

// declare is an argument as a declaration: its type, or what is known of it, and its name.
func declare(a *codeobj.Arg) string {
	s := a.TypeName
	switch {
	case s != "":
	case a.Kind == "global_buffer":
		s = "pointer"
	case a.Kind == "dynamic_shared_pointer":
		s = "local pointer"
	case a.Kind == "by_value" || a.Kind == "":
		s = fmt.Sprintf("%d bytes", a.Size)
	default:
		s = a.Kind
	}
	if a.Name != "" {
		s += " " + a.Name
	}
	return s
}

// Signature is a kernel's declaration as its metadata tells it: "vadd(float* a, float* b, uint n)".
func Signature(k *codeobj.Kernel) string {
	if !k.HasMeta {
		return fmt.Sprintf("%s(%d bytes of arguments; the file has no metadata)", k.Name, k.KernargBytes)
	}
	args := userArgs(k)
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = declare(a)
	}
	name, _, _ := strings.Cut(k.Demangled, "(")
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// exampleFlags shows flags that would do.
func exampleFlags(k *codeobj.Kernel) string {
	args := userArgs(k)
	if len(args) == 0 {
		return "no --arg"
	}
	parts := make([]string, len(args))
	for i, a := range args {
		t, known := elementType(a)
		switch {
		case a.Kind == "dynamic_shared_pointer":
			parts[i] = "--arg lds:BYTES"
		case a.Pointer() && known:
			parts[i] = fmt.Sprintf("--arg 'buf:%s[COUNT]'", t)
		case a.Pointer():
			parts[i] = "--arg buf:BYTES"
		case known && t.Size() == int(a.Size):
			parts[i] = fmt.Sprintf("--arg %s:VALUE", t)
		case a.Size == 1 || a.Size == 2 || a.Size == 4 || a.Size == 8:
			parts[i] = fmt.Sprintf("--arg u%d:VALUE", a.Size*8)
		default:
			parts[i] = fmt.Sprintf("--arg bytes:HEX (%d bytes)", a.Size)
		}
	}
	return strings.Join(parts, " ")
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// mismatch says why a parameter does not fit an argument, or nothing.
func mismatch(a *codeobj.Arg, p *Param) string {
	switch a.Kind {
	case "global_buffer":
		if p.Kind != Buffer && p.Kind != Address {
			return "no buffer: the argument is a pointer"
		}
	case "dynamic_shared_pointer":
		if p.Kind != LDS {
			return "no LDS: the argument is a pointer to dynamic LDS (lds:BYTES)"
		}
		return ""
	case "by_value", "":
		switch {
		case p.Kind == Buffer && a.Size == 8 && a.TypeName == "", p.Kind == Address && a.Size == 8:
			return "" // a pointer that the compiler passes as a number
		case p.Kind == Buffer:
			return "a buffer: the argument is passed by value"
		case p.Kind == LDS:
			return "LDS: the argument is passed by value"
		case p.argSize() != a.Size:
			return fmt.Sprintf("of %d bytes: the argument has %d", p.argSize(), a.Size)
		}
	default:
		return fmt.Sprintf("not what the argument is: rigprof passes no %s", a.Kind)
	}
	want, known := elementType(a)
	if !known || p.Kind != Scalar && p.Kind != Buffer || p.Type == Bytes {
		return ""
	}
	switch {
	case want.Float() != p.Type.Float() || want.Float() && want != p.Type && want.Size() == p.Type.Size():
		return fmt.Sprintf("of %s: the argument is of %s", p.Type, want)
	case p.Kind == Buffer && want.Size() != p.Type.Size() && p.Type.Size() != 1:
		return fmt.Sprintf("of %s: the argument is of %s", p.Type, want)
	}
	return ""
}

// elementType is the type that a C or OpenCL type name means, a pointer's target or a vector's element; known is false
// for structures and names that are not known.
func elementType(a *codeobj.Arg) (t Type, known bool) {
	s := strings.TrimRight(a.TypeName, "* ")
	for _, q := range []string{"const ", "volatile ", "__global ", "global "} {
		s = strings.TrimPrefix(s, q)
	}
	s = strings.TrimRight(s, "0123456789") // uint4; fixed-width names end in _t
	switch s {
	case "char", "signed char", "int8_t":
		return I8, true
	case "uchar", "unsigned char", "uint8_t", "bool":
		return U8, true
	case "short", "int16_t":
		return I16, true
	case "ushort", "unsigned short", "uint16_t":
		return U16, true
	case "int", "int32_t":
		return I32, true
	case "uint", "unsigned int", "unsigned", "uint32_t":
		return U32, true
	case "long", "long long", "int64_t", "ptrdiff_t":
		return I64, true
	case "ulong", "unsigned long", "unsigned long long", "uint64_t", "size_t":
		return U64, true
	case "half", "_Float", "__half":
		return F16, true
	case "__bf", "bfloat", "__hip_bfloat":
		return BF16, true
	case "float":
		return F32, true
	case "double":
		return F64, true
	}
	return 0, false
}
