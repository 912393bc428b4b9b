package codeobj

import (
	"strings"
	"testing"
)

func TestPartsOf(t *testing.T) {
	for name, want := range map[string][2]string{
		"vadd": {"vadd", "vadd"},
		"void app::scale<float>(float*, app::box<float>)": {"app::scale", "app::scale<float>"},
		"scale(float*)":                                      {"scale", "scale"},
		"(anonymous namespace)::f(int)":                      {"(anonymous namespace)::f", "(anonymous namespace)::f"},
		"void (anonymous namespace)::g<a::b<1> >(int (*)())": {"(anonymous namespace)::g", "(anonymous namespace)::g<a::b<1> >"},
		"code at 0x1600":                                     {"0x1600", "0x1600"},
		"bool operator< <int>(a, b)":                         {"bool operator< <int>(a, b)", "bool operator< <int>(a, b)"},
		"x<(y)3>::z(q<r>)":                                   {"x::z", "x<(y)3>::z"},
		"":                                                   {"", ""}, "<": {"", "<"}, "(": {"(", "("}, ">": {">", ">"},
	} {
		if plain, full := partsOf(name); plain != want[0] || full != want[1] {
			t.Errorf("%q: %q and %q, want %q", name, plain, full, want)
		}
	}
}

func TestIsPart(t *testing.T) {
	const scale = "void app::scale<a::b<1>, int>(float*)"
	for name, want := range map[string]bool{
		"scale": true, "app::scale": true, "scale<a::b<1>, int>": true, "app::scale<a::b<1>, int>": true,
		"cale": false, "pp::scale": false, "": false, "scale<int>": false, "b<1>, int>": false, "app": false, "scale<": false, "app::scale(float*)": false,
	} {
		if IsPart(scale, name) != want {
			t.Errorf("%q of %q: want %v", name, scale, want)
		}
	}
	if IsPart("vadd", "vadd") || IsPart("bool operator< <int>(a, b)", "operator<") {
		t.Error("a whole name is no part, and operators have none")
	}
}

// A part of a name finds the kernel that it is a part of; of several it names none. A whole name is never a part of another.
func TestKernelByPart(t *testing.T) {
	kernel := func(name string) Kernel {
		return Kernel{Meta: Meta{Name: name, Symbol: name + ".kd"}, Demangled: Demangle(name)}
	}
	o := &Object{Kernels: []Kernel{kernel("_ZN3app5scaleIfEEvPT_"), kernel("_ZN3app5scaleIiEEvPT_"), kernel("_ZN1a4copyEPi"), kernel("copy"), kernel("_ZN1a4moveEPi")}}
	for name, want := range map[string]string{
		"scale<float>": "_ZN3app5scaleIfEEvPT_", "app::scale<int>": "_ZN3app5scaleIiEEvPT_", "copy": "copy", "a::copy": "_ZN1a4copyEPi", "move": "_ZN1a4moveEPi",
		"scale": `error codeobj: "scale" names several kernels, give the whole name of one: ` +
			"void app::scale<float>(float*) (_ZN3app5scaleIfEEvPT_), void app::scale<int>(int*) (_ZN3app5scaleIiEEvPT_)",
		"fill": `error codeobj: no kernel "fill"; there is _ZN1a4copyEPi, `,
	} {
		k, err := o.Kernel(name)
		got := ""
		if err != nil {
			got = "error " + err.Error()
		} else {
			got = k.Name
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// Of several objects for one target that have a kernel of such a name each, none is taken; of those for others the first.
func TestChooseByPart(t *testing.T) {
	a := string(read(t, "testdata/mangled.co"))
	b := strings.ReplaceAll(a, "_ZN3app5scaleIfEEv", "_ZN3box5scaleIfEEv")
	const id = "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
	one, two := plainBundle(id, a), plainBundle(id, a, id, b)
	for _, c := range []struct {
		data       []byte
		name, want string
	}{
		{one, "scale", "_ZN3app5scaleIfEEvPT_NS_3boxIS1_EE"},
		{two, "app::scale", "_ZN3app5scaleIfEEvPT_NS_3boxIS1_EE"},
		{two, "box::scale<float>", "_ZN3box5scaleIfEEvPT_NS_3boxIS1_EE"},
		{two, "scale", `"scale" names several kernels, give the whole name of one: void app::scale<float>(`},
		{two, "rescale", `no kernel "rescale"; there is _ZN3`},
	} {
		o, err := Choose(c.data, "gfx942:sramecc+:xnack-", c.name)
		got := ""
		if err != nil {
			got = err.Error()
		} else if k, err := o.Kernel(c.name); err == nil {
			got = k.Name
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
