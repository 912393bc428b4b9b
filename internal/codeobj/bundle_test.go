package codeobj

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// plainBundle builds a bundle of members with an id each.
func plainBundle(members ...string) []byte {
	b := []byte(bundleMagic)
	b = le.AppendUint64(b, uint64(len(members)/2))
	size := len(b)
	for i := 0; i < len(members); i += 2 {
		size += 24 + len(members[i])
	}
	for i := 0; i < len(members); i += 2 {
		b = le.AppendUint64(b, uint64(size))
		b = le.AppendUint64(b, uint64(len(members[i+1])))
		b = le.AppendUint64(b, uint64(len(members[i])))
		b = append(b, members[i]...)
		size += len(members[i+1])
	}
	for i := 1; i < len(members); i += 2 {
		b = append(b, members[i]...)
	}
	return b
}

// pack compresses a bundle in the given version and method.
func pack(version, method uint16, raw []byte) []byte {
	var body bytes.Buffer
	if method == 0 {
		z := zlib.NewWriter(&body)
		_, _ = z.Write(raw)
		_ = z.Close()
	} else {
		z, _ := zstd.NewWriter(&body)
		_, _ = z.Write(raw)
		_ = z.Close()
	}
	b := []byte(compressedMagic)
	b = le.AppendUint16(b, version)
	b = le.AppendUint16(b, method)
	switch version {
	case 1:
		b = le.AppendUint32(b, uint32(len(raw)))
	case 2:
		b = le.AppendUint32(b, uint32(24+body.Len()))
		b = le.AppendUint32(b, uint32(len(raw)))
	default:
		b = le.AppendUint64(b, uint64(32+body.Len()))
		b = le.AppendUint64(b, uint64(len(raw)))
	}
	sum := md5.Sum(raw)
	b = append(b, sum[:8]...)
	return append(b, body.Bytes()...)
}

func TestBundles(t *testing.T) {
	vadd := string(read(t, kernelsDir, "gfx1100", "vadd.co"))
	reduce := string(read(t, kernelsDir, "gfx1100", "reduce.co"))
	one := plainBundle("host-x86_64-unknown-linux-gnu-", "", "hip-amdgcn-amd-amdhsa--gfx1100", vadd, "cuda-nvptx64--sm_70", "ptx")
	two := plainBundle("hipv4-amdgcn-amd-amdhsa--gfx1100", reduce)
	pad := bytes.Repeat([]byte{0}, 777)
	for _, tt := range []struct {
		name string
		data []byte
		n    int
	}{
		{"plain", one, 1},
		{"several", bytes.Join([][]byte{one, two, one}, pad), 3},
		{"v1 zlib", pack(1, 0, one), 1},
		{"v1 zstd, padded", append(pack(1, 1, one), pad...), 1},
		{"v2 zlib", pack(2, 0, one), 1},
		{"v2 zstd", pack(2, 1, one), 1},
		{"v3 zlib", pack(3, 0, one), 1},
		{"v3 zstd", pack(3, 1, one), 1},
		{"mixed", bytes.Join([][]byte{pack(3, 1, one), two, pack(1, 0, two), pack(2, 1, one)}, pad), 4},
	} {
		es, err := Objects(tt.data)
		if err != nil || len(es) != tt.n {
			t.Errorf("%s: %d objects, %v", tt.name, len(es), err)
			continue
		}
		if string(es[0].Data) != vadd {
			t.Errorf("%s: the first object differs", tt.name)
		}
		if tt.n > 1 {
			if o, err := Choose(tt.data, "gfx1100", "reduce"); err != nil || o.Kernels[0].Name != "reduce" {
				t.Errorf("%s: %v", tt.name, err)
			}
		} else if o, err := Open(tt.data); err != nil || o.Kernels[0].Name != "vadd" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestChooseFeatures: of several objects that fit, the closest wins.
func TestChooseFeatures(t *testing.T) {
	obj := func(target string, flags ...byte) []string {
		d := read(t, kernelsDir, "gfx942", "vadd.co")
		copy(d[48:], flags)
		return []string{"hipv4-amdgcn-amd-amdhsa--" + target, string(d)}
	}
	on, off, anyX := obj("gfx942:sramecc+:xnack+", 0x4c, 0x0f), obj("gfx942:sramecc+:xnack-", 0x4c, 0x0e), obj("gfx942", 0x4c, 0x05)
	b := plainBundle(append(append(on, off...), anyX...)...)
	for _, tt := range []struct {
		data      []byte
		dev, want string
	}{
		{b, "gfx942", "gfx942:sramecc+:xnack-"},
		{b, "gfx942:xnack+", "gfx942:sramecc+:xnack+"},
		{b, "gfx942:sramecc-", "gfx942"},
		{plainBundle(append(on, anyX...)...), "gfx942", "gfx942"},
		{plainBundle(on...), "gfx942", "gfx942:sramecc+:xnack+"},
	} {
		o, err := Choose(tt.data, tt.dev, "vadd")
		if err != nil {
			t.Errorf("%s: %v", tt.dev, err)
		} else if got := o.Target.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.dev, got, tt.want)
		}
	}
}

func TestBadBundles(t *testing.T) {
	good := plainBundle("hip-amdgcn-amd-amdhsa--gfx1100", "12345678")
	patch := func(b []byte, off int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[off:], v)
		return b
	}
	v2, v3 := pack(2, 1, good), pack(3, 0, good)
	big := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"header", good[:28], "no header"},
		{"count", patch(good, 24, big...), "entries do not fit"},
		{"offset", patch(good, 32, big...), "are outside the bundle's"},
		{"size", patch(good, 40, big...), "are outside the bundle's"},
		{"name", patch(good, 48, big...), "reaches beyond the end"},
		{"cut", good[:len(good)-1], "are outside the bundle's"},
		{"no member", plainBundle("host-x86_64-unknown-linux-gnu-", "x"), "no code object"},
		{"version", patch(v2, 4, 9), "version 9"},
		{"method", patch(v2, 6, 7), "method 7"},
		{"total", patch(v2, 8, 0xff, 0xff, 0xff, 0xff), "it claims 4294967295 bytes"},
		{"total below the header", patch(v2, 8, 23, 0), "it claims 23 bytes"},
		{"short header", v3[:30], "ends inside its header"},
		{"claims too much", patch(v3, 16, big...), "the limit is"},
		{"claims more than there is", patch(v3, 16, 0xff, 0xff), "not to the 65535 it claims"},
		{"claims less than there is", patch(v2, 12, 10), "damaged"},
		{"checksum", patch(v3, 24, 0), "damaged"},
		{"body", patch(v3, 40, 0xff, 0xff, 0xff), "compressed bundle"},
		{"zstd body", patch(v2, 26, 0xff, 0xff, 0xff), "compressed bundle"},
		{"nested", pack(3, 0, v3), "no header of a plain bundle"},
	} {
		if _, err := Objects(tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestUnpackLimit: the bundles of a file share one limit.
func TestUnpackLimit(t *testing.T) {
	defer func(old int64) { maxUnpacked = old }(maxUnpacked)
	raw := plainBundle("hip-amdgcn-amd-amdhsa--gfx1100", strings.Repeat("\x00", 6000))
	maxUnpacked = 10_000
	if _, err := Objects(pack(3, 1, raw)); err != nil {
		t.Error(err)
	}
	if _, err := Objects(append(pack(3, 1, raw), pack(2, 0, raw)...)); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("%v", err)
	}
}
