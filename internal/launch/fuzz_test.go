package launch

import (
	"os"
	"strings"
	"testing"
)

func FuzzReadYAML(f *testing.F) {
	f.Add([]byte("launches: [{name: a, grid: [64], args: [{name: n, type: u32, value: 1}]}]"))
	if b, err := os.ReadFile(kernelsDir + "/launches.yaml"); err == nil {
		f.Add(b[:2000])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ls, err := ReadYAML(data, ".")
		if err != nil {
			return
		}
		for i := range ls {
			for j := range ls[i].Params {
				p := &ls[i].Params[j]
				if p.Kind == Buffer && p.Size() < 1<<16 && p.Fill.Kind != FillFile {
					if err := p.Fill.Write(make([]byte, p.Size()), p.Type); err != nil {
						t.Fatalf("%+v: %v", p, err)
					}
				}
			}
		}
	})
}

func FuzzParseArg(f *testing.F) {
	for _, s := range []string{"i32:5", "buf:f32[1024]=rand:7", "buf:4K", "buf:u8[2]=const:3", "bytes:00ff", "lds:64", "f16:1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "@") {
			return
		}
		p, err := ParseArg(s)
		if err == nil && p.Kind == Buffer && (p.Size() == 0 || p.Size() > maxBuffer) {
			t.Fatalf("%q: %d bytes", s, p.Size())
		}
	})
}
