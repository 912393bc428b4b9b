package codeobj

import (
	"bytes"
	"testing"
)

func FuzzOpen(f *testing.F) {
	for _, p := range []string{"/gfx1100/empty.co", "/gfx1100/vadd.co"} {
		f.Add(read(f, kernelsDir+p))
	}
	f.Add(read(f, "testdata/inline_v6.co"))
	f.Add(read(f, "testdata/inline_gfx90a.co"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Open(data)
		if err != nil {
			return
		}
		lo, hi := o.Text()
		for i, k := range o.Kernels {
			if k.Entry < lo || k.Entry >= hi || k.Size > uint64(len(data)) {
				t.Fatalf("kernel %d at %#x of %d bytes, code at [%#x, %#x)", i, k.Entry, k.Size, lo, hi)
			}
			for pc := k.Entry; pc < min(k.Entry+k.Size, k.Entry+1024); pc += 4 {
				o.Line(pc)
			}
			o.Func(k.Entry)
		}
		if a, b := o.Span(); b-a < 1<<24 {
			_, _ = o.Load(1 << 40)
		}
	})
}

func FuzzObjects(f *testing.F) {
	one := plainBundle("host-x86_64-unknown-linux-gnu-", "", "hip-amdgcn-amd-amdhsa--gfx1100", "123")
	for _, b := range [][]byte{one, pack(1, 0, one), pack(2, 1, one), pack(3, 0, one), append(pack(3, 1, one), one...)} {
		f.Add(b)
	}
	f.Add(hostObject(f))
	maxUnpacked = 1 << 20
	f.Fuzz(func(t *testing.T, data []byte) {
		es, err := Objects(data)
		if err == nil && len(es) == 0 {
			t.Fatal("neither objects nor an error")
		}
	})
}

func FuzzMetadata(f *testing.F) {
	o := open(f, kernelsDir, "gfx1100", "vadd.co")
	if i := bytes.Index(o.Data, []byte("AMDGPU\x00\x00")); i > 0 {
		f.Add(bytes.Clone(o.Data[i+8 : 0x7f4]))
	}
	f.Add(bytes.Repeat([]byte{0x91}, 200))                                                                                        // arrays in arrays
	f.Add([]byte{0x81, 0xae, 'a', 'm', 'd', 'h', 's', 'a', '.', 'k', 'e', 'r', 'n', 'e', 'l', 's', 0xdd, 0xff, 0xff, 0xff, 0xff}) // 2^32-1 kernels
	f.Add([]byte{0x81, 0xa1, 'x', 0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readMetadata(data)
		if err != nil {
			return
		}
		if n := len(m.kernels) + len(m.printf); n > len(data) {
			t.Fatalf("%d elements of %d bytes", n, len(data))
		}
	})
}
