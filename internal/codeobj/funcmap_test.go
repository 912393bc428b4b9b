package codeobj

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mapOfTest = "M:shader_clock_bits=12;shader_clock_shift=4\n" +
	"K:_Z4kernPf@k.hip:9\n" +
	"R:4:extra_payload_count=2\n" +
	"F:1:_Z3dotPf@k.hip:3\r\n" +
	"U:2:load tile\n" +
	"W:32\n\x00" +
	"P:3:barrier\n" +
	"P:4:addr_trace_load@k.hip:5 -> k.hip:12\n"

func TestFuncMap(t *testing.T) {
	want := &FuncMap{
		Names: map[uint32]MarkerName{
			1: {Kind: MarkerFunction, Name: "_Z3dotPf", Loc: "k.hip:3"},
			2: {Kind: MarkerUser, Name: "load tile"},
			3: {Kind: MarkerPoint, Name: "barrier"},
			4: {Kind: MarkerPoint, Name: "addr_trace_load", Loc: "k.hip:5 -> k.hip:12", Payload: 2},
		},
		Kernels: []string{"_Z4kernPf"}, WaveSize: 32, ClockBits: 12, ClockShift: 4,
	}
	m := ParseFuncMap(mapOfTest)
	if d := cmp.Diff(want, m); d != "" {
		t.Fatal(d)
	}
	type word struct {
		id          uint32
		enter, exit bool
	}
	for _, c := range []struct {
		m     *FuncMap
		value uint32
		short bool
		want  word
	}{
		{m, 0xabc<<20 | 2<<2 | 2, false, word{2, true, false}},
		{m, 0xabc<<20 | 1, false, word{0, false, true}},
		{m, 0xabc<<20 | 2<<2 | 3, false, word{2, true, true}},
		{m, 0xabc<<20 | 77<<2, false, word{0xabc<<18 | 77, false, false}}, // not the pass's
		{m, 2<<2 | 2, true, word{2, true, false}},
		{nil, 0xffffffff, false, word{1<<30 - 1, true, true}},
		{&FuncMap{}, 5 << 2, false, word{5, false, false}},
	} {
		var got word
		if got.id, got.enter, got.exit = c.m.Marker(c.value, c.short); got != c.want {
			t.Errorf("%#x: %+v, want %+v", c.value, got, c.want)
		}
	}
}

func TestFuncMapBadRows(t *testing.T) {
	for _, row := range []string{
		"x", "F:", "F:1", "F:x:name", "F:-1:name", "F:1073741824:name", "Z:1:name", "W:", "W:99999999", "R:1", "R:1:extra_payload_count=4097",
		"M:shader_clock_bits=12", "M:shader_clock_bits=30;shader_clock_shift=0", "M:shader_clock_bits=20;shader_clock_shift=20", "U:1:a\nU:1:b",
	} {
		if m := ParseFuncMap(row); m.BadRows != 1 || m.ClockBits != 0 {
			t.Errorf("%q: %d bad rows, %d clock bits", row, m.BadRows, m.ClockBits)
		}
	}
	if m := ParseFuncMap("U:1:a\nU:1:b"); m.Names[1].Name != "b" {
		t.Errorf("of two names the first counts: %+v", m.Names)
	}
}

func TestFuncMapOfObject(t *testing.T) {
	o, err := Open(read(t, "testdata/markers.co"))
	if err != nil {
		t.Fatal(err)
	}
	want := &FuncMap{Kernels: []string{"marked"}, Names: map[uint32]MarkerName{
		1:  {Kind: MarkerUser, Name: "load"},
		2:  {Kind: MarkerFunction, Name: "_Z3sumPf", Loc: "markers.cl:12"},
		70: {Kind: MarkerPoint, Name: "value", Payload: 1},
	}}
	if d := cmp.Diff(want, o.FuncMap()); d != "" {
		t.Error(d)
	}
}

// Objects without the section have no map.
func TestNoFuncMap(t *testing.T) {
	o, err := Open(read(t, "testdata/inline_v6.co"))
	if err != nil {
		t.Fatal(err)
	}
	if m := o.FuncMap(); m != nil {
		t.Errorf("%+v", m)
	}
	if _, ok := o.FuncMap().Name(1); ok {
		t.Error("a name without a map")
	}
}

func FuzzFuncMap(f *testing.F) {
	f.Add(mapOfTest, uint32(0xabc<<20|2<<2|2))
	f.Add("M:shader_clock_bits=29;shader_clock_shift=3\nU:1:a", uint32(6))
	f.Fuzz(func(t *testing.T, text string, value uint32) {
		m := ParseFuncMap(text)
		if n := len(m.Names) + len(m.Kernels) + m.BadRows; n > len(text) {
			t.Fatalf("%d rows of %d bytes", n, len(text))
		}
		id, _, _ := m.Marker(value, false)
		if n, ok := m.Name(id); ok && (n.Payload < 0 || n.Payload > maxPayload) {
			t.Fatalf("%+v", n)
		}
	})
}
