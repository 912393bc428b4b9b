package report

import (
	"os"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// Where the base of a code object is wrong or missing, the trace tells where waves began, and what base that makes.
func TestStrays(t *testing.T) {
	const began = "4 waves began at 0x200003413900, where no code object is"
	f := vaddFile(t)
	noted := func(q *Quality) (text, advice string) {
		for _, n := range q.Notes {
			if strings.Contains(n.Text, " began at 0x") {
				text, advice = n.Text, n.Advice
				if n.Level != capture.Warning {
					t.Errorf("level %s", n.Level)
				}
			}
		}
		return text, advice
	}
	for _, c := range []struct {
		code         []CodeFile
		text, advice string
	}{
		{nil, began, "BASE in --code FILE@BASE is that less"},
		{[]CodeFile{{Name: "dir/vadd.co", Data: vaddCode(t)}}, began, "a kernel would be there with --code dir/vadd.co@0x200003412000"},
		{[]CodeFile{{Name: "vadd.co", Data: vaddCode(t), Base: 0x200003412000}}, "", ""},
	} {
		h, err := HotFiles("", []StreamFile{f}, c.code)
		must(t, err)
		if text, advice := noted(&h.Quality); text != c.text || !strings.HasPrefix(advice, c.advice) {
			t.Errorf("%d code objects: %q; %q", len(c.code), text, advice)
		}
		if c.code == nil {
			continue
		}
		d, err := Decode([]StreamFile{f})
		must(t, err)
		must(t, d.WithCode("", c.code))
		if text, advice := noted(&d.Quality); text != c.text || !strings.HasPrefix(advice, c.advice) {
			t.Errorf("decode: %q; %q", text, advice)
		}
	}
}

// Kernels of one file apart by less than a page leave one base; several bases are all named, those of most waves first.
func TestStraysBases(t *testing.T) {
	o := &codeobj.Object{Kernels: []codeobj.Kernel{{}, {}}}
	o.Kernels[0].Entry, o.Kernels[1].Entry = 0x1600, 0x1900
	s := strays{0x7000_1600: 5, 0x7000_1900: 2}
	if got := s.bases(o, 3); len(got) != 1 || got[0] != 0x7000_0000 {
		t.Errorf("%#x", got)
	}
	s = strays{0x7000_1600: 5, 0x8000_1900: 6, 0x9000_1604: 100, 0x600: 1}
	if got := s.bases(o, 3); len(got) != 2 || got[0] != 0x8000_0000 || got[1] != 0x7000_0000 {
		t.Errorf("%#x", got)
	}
	for pc := range uint64(1000) {
		s.add(pc<<12, nil)
	}
	if len(s) > maxStrays {
		t.Errorf("%d addresses are kept", len(s))
	}
}

// The bases that real captures state are those that the traces give.
func TestStraysCaptures(t *testing.T) {
	for _, c := range []struct{ dir, stream, base string }{
		{"gfx1100/gemm", "se0.sqtt", "0x200001006000"}, {"gfx950/gemm", "se0.sqtt", "0x200002006000"},
	} {
		path := sharedtest.Path(t, "captures/"+c.dir)
		code, err := os.ReadFile(path + "/prog0.hsaco")
		must(t, err)
		data, err := os.ReadFile(path + "/" + c.stream)
		must(t, err)
		f := StreamFile{Name: c.stream, Open: bytesOf(data), Family: familyOfTarget(strings.Split(c.dir, "/")[0])}
		h, err := HotFiles("", []StreamFile{f}, []CodeFile{{Name: "prog0.hsaco", Data: code}})
		must(t, err)
		found := false
		for _, n := range h.Quality.Notes {
			found = found || strings.HasSuffix(n.Advice, "--code prog0.hsaco@"+c.base)
		}
		if !found {
			t.Errorf("%s: %+v", c.dir, h.Quality.Notes)
		}
	}
}
