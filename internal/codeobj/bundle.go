package codeobj

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/md5"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Embedded is one code object inside another file.
type Embedded struct {
	ID     string // the bundle's name for it: "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
	Target Target
	Data   []byte // a part of the file, or decompressed
}

// Magic numbers of clang's offload bundles, plain and compressed.
const (
	bundleMagic     = "__CLANG_OFFLOAD_BUNDLE__"
	compressedMagic = "CCOB"
)

// maxUnpacked bounds what the bundles of one file may decompress to. The largest libraries that we know of stay below
// it; a variable so that tests and fuzzing can lower it.
var maxUnpacked int64 = 2 << 30

// Objects lists the code objects of a file, in the file's order: the file itself, the members of its offload bundles
// (plain or compressed, one after another), or those of a host program's .hip_fatbin section. Bundle members that are
// empty or for the host are left out.
func Objects(data []byte) ([]Embedded, error) {
	switch {
	case isDeviceELF(data):
		o, err := openELF(data)
		if err != nil {
			return nil, err
		}
		return []Embedded{{ID: o.Target.String(), Target: o.Target, Data: data}}, nil
	case hasPrefix(data, bundleMagic), hasPrefix(data, compressedMagic):
		return unbundle(data, 0)
	case isELF(data):
		return hostObjects(data)
	}
	return nil, badAt(0, "file", "%w, nor a file that holds any (ELF, offload bundle)", ErrNotCodeObject)
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// hostObjects reads the bundles of a host program.
func hostObjects(data []byte) ([]Embedded, error) {
	if len(data) < 64 || data[4] != byte(elf.ELFCLASS64) || data[5] != byte(elf.ELFDATA2LSB) || le.Uint16(data[18:]) == 0 {
		if err := checkIdent(data); err != nil { // a header with holes, as hand-made objects have, is no host program's
			return nil, err
		}
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, &FormatError{Off: 0, What: "ELF file", Err: err}
	}
	for _, s := range f.Sections {
		if s.Name != ".hip_fatbin" || s.Type == elf.SHT_NOBITS {
			continue
		}
		if s.Offset > uint64(len(data)) || s.FileSize > uint64(len(data))-s.Offset {
			return nil, badAt(int64(s.Offset&(1<<62-1)), "section .hip_fatbin", "%d bytes reach beyond the file's %d", s.FileSize, len(data))
		}
		return unbundle(data[s.Offset:s.Offset+s.FileSize], int64(s.Offset))
	}
	return nil, badAt(-1, "host program", "%w, and it has no section .hip_fatbin", ErrNotCodeObject)
}

// unbundle reads the bundles of b, which starts at byte off of the file. A linker puts one bundle per translation unit into
// the section, with padding between them.
func unbundle(b []byte, off int64) ([]Embedded, error) {
	var out []Embedded
	left := maxUnpacked
	for at := 0; at < len(b); {
		plain := bytes.Index(b[at:], []byte(bundleMagic))
		packed := nextCompressed(b[at:])
		if plain < 0 && packed < 0 {
			break
		}
		if packed >= 0 && (plain < 0 || packed < plain) {
			at += packed
			raw, size, err := decompress(b[at:], off+int64(at), left)
			if err != nil {
				return nil, err
			}
			left -= int64(len(raw))
			members, _, err := members(raw, 0)
			if err != nil {
				return nil, fmt.Errorf("compressed bundle at byte %#x: %w", off+int64(at), err)
			}
			out = append(out, members...)
			at += size
			continue
		}
		at += plain
		members, size, err := members(b[at:], off+int64(at))
		if err != nil {
			return nil, err
		}
		out = append(out, members...)
		at += size
	}
	if len(out) == 0 {
		return nil, badAt(off, "offload bundle", "no code object for an AMD GPU in it")
	}
	return out, nil
}

// nextCompressed finds the next compressed bundle. Away from the start a header must look like one: a version of 1 does not say
// where it ends, so the search goes through its payload, where four letters may stand by chance.
func nextCompressed(b []byte) int {
	if hasPrefix(b, compressedMagic) {
		return 0
	}
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte(compressedMagic))
		if i < 0 {
			return -1
		}
		at += i
		if h := b[at:]; len(h) >= 8 && le.Uint16(h[4:])-1 < 3 && le.Uint16(h[6:]) < 2 {
			return at
		}
	}
}

// members lists the code objects of the plain bundle that b starts with. size is where its last member ends.
func members(b []byte, off int64) (out []Embedded, size int, err error) {
	const what = "offload bundle"
	if !hasPrefix(b, bundleMagic) || len(b) < len(bundleMagic)+8 {
		return nil, 0, badAt(off, what, "no header of a plain bundle")
	}
	at := len(bundleMagic)
	count := le.Uint64(b[at:])
	at += 8
	if count > uint64(len(b)-at)/24 { // an entry has 24 bytes at least
		return nil, 0, badAt(off+int64(at)-8, what, "%d entries do not fit the %d bytes there are", count, len(b))
	}
	size = at
	for range count {
		if len(b)-at < 24 {
			return nil, 0, badAt(off+int64(at), what, "ends inside its list of entries")
		}
		start, n, idLen := le.Uint64(b[at:]), le.Uint64(b[at+8:]), le.Uint64(b[at+16:])
		at += 24
		if idLen > uint64(len(b)-at) {
			return nil, 0, badAt(off+int64(at)-8, what, "an entry's name of %d bytes reaches beyond the end", idLen)
		}
		id := string(b[at : at+int(idLen)])
		at += int(idLen)
		size = max(size, at)
		if start > uint64(len(b)) || n > uint64(len(b))-start {
			return nil, 0, badAt(off+int64(at), what, "entry %q: bytes [%#x, +%#x) are outside the bundle's %d", id, start, n, len(b))
		}
		size = max(size, int(start+n))
		if n == 0 || strings.HasPrefix(id, "host") {
			continue
		}
		t, err := ParseTarget(id)
		if err != nil {
			continue // another vendor's
		}
		out = append(out, Embedded{ID: id, Target: t, Data: b[start : start+n : start+n]})
	}
	return out, size, nil
}

// decompress unpacks the compressed bundle that b starts with, to at most limit bytes. size is what it takes of b, as far
// as it says. The format is clang's CompressedOffloadBundle, versions 1 to 3.
func decompress(b []byte, off, limit int64) (raw []byte, size int, err error) {
	const what = "compressed bundle"
	if len(b) < 8 {
		return nil, 0, badAt(off, what, "ends inside its header")
	}
	version, method := le.Uint16(b[4:]), le.Uint16(b[6:])
	header := map[uint16]int{1: 20, 2: 24, 3: 32}[version]
	switch {
	case header == 0:
		return nil, 0, badAt(off+4, what, "version %d is not known (1 to 3 are)", version)
	case len(b) < header:
		return nil, 0, badAt(off, what, "ends inside its header")
	}
	total, want := uint64(len(b)), uint64(0) // version 1 does not say where it ends
	switch version {
	case 1:
		want = uint64(le.Uint32(b[8:]))
	case 2:
		total, want = uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	case 3:
		total, want = le.Uint64(b[8:]), le.Uint64(b[16:])
	}
	hash := le.Uint64(b[header-8:])
	if total < uint64(header) || total > uint64(len(b)) {
		return nil, 0, badAt(off+8, what, "it claims %d bytes, %d are there", total, len(b))
	}
	if want > uint64(limit) {
		return nil, 0, badAt(off+8, what, "it would unpack to %d bytes, the limit is %d", want, limit)
	}
	in := bytes.NewReader(b[header:total])
	var r io.Reader
	switch method {
	case 0:
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, 0, &FormatError{Off: off + int64(header), What: what, Err: err}
		}
		r = z
	case 1:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(limit, 1))), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, 0, &FormatError{Off: off + int64(header), What: what, Err: err}
		}
		defer z.Close()
		r = z
	default:
		return nil, 0, badAt(off+6, what, "compression method %d is not known (0 zlib, 1 zstd)", method)
	}
	var buf bytes.Buffer // grows with what comes out, not with what was claimed
	if _, err := io.CopyN(&buf, r, int64(want)); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("unpacks to %d bytes, not to the %d it claims", buf.Len(), want)
		}
		return nil, 0, &FormatError{Off: off + int64(header), What: what, Err: err}
	}
	if sum := md5.Sum(buf.Bytes()); le.Uint64(sum[:]) != hash {
		return nil, 0, badAt(off+int64(header)-8, what, "damaged: the checksum differs")
	}
	if version == 1 {
		total = uint64(header)
	}
	return buf.Bytes(), int(total), nil
}

// Choose opens the code object of a file that fits a device's target and holds a kernel. An empty target fits any, an
// empty kernel is in any; of several that fit, one built for exactly the target's features wins, then the first. A part of a kernel's name is enough
// where no object has a kernel of that name, and no two objects for the same target have one each.
func Choose(data []byte, target, kernel string) (*Object, error) {
	embedded, err := Objects(data)
	if err != nil {
		return nil, err
	}
	var dev Target
	if target != "" {
		if dev, err = ParseTarget(target); err != nil {
			return nil, err
		}
	}
	var fit []Embedded
	for _, e := range embedded {
		if target == "" || e.Target.RunsOn(dev) {
			fit = append(fit, e)
		}
	}
	if len(fit) == 0 {
		return nil, fmt.Errorf("codeobj: no code object for %s; there is %s", target, targetList(embedded))
	}
	// The processor itself before a generic one; then features as the device has them, or, where it does not say, as such
	// devices usually run: SRAM ECC on, XNACK off.
	feature := func(have, dev, usual Feature) int {
		if dev < FeatureOff {
			dev = usual
		}
		switch have {
		case dev:
			return 2
		case FeatureNone, FeatureAny:
			return 1
		}
		return 0
	}
	closeness := func(e Embedded) int {
		n := 2*feature(e.Target.XNACK, dev.XNACK, FeatureOff) + feature(e.Target.SRAMECC, dev.SRAMECC, FeatureOn)
		if e.Target.Processor == dev.Processor {
			n += 8
		}
		return n
	}
	slices.SortStableFunc(fit, func(a, b Embedded) int { return closeness(b) - closeness(a) })
	var first error
	var part *Object // the first with kernels of whose names kernel is a part, and
	var parts []*Kernel
	for _, e := range fit {
		o, err := openELF(e.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.ID, err)
		}
		if kernel == "" && len(o.Kernels) == 0 && len(fit) > 1 {
			continue
		}
		found := o.called(kernel)
		switch {
		case len(found) == 1 || kernel == "":
			return o, nil
		case len(found) > 1:
			first = ambiguous(kernel, found)
		case first == nil || len(o.Kernels) > 0:
			first = o.noKernel(kernel)
		}
		for _, k := range o.calledInPart(kernel) {
			if len(parts) == 0 || o.Target == part.Target && !slices.ContainsFunc(parts, func(p *Kernel) bool { return p.Name == k.Name }) {
				parts = append(parts, k)
			}
			part = cmp.Or(part, o)
		}
	}
	switch {
	case len(parts) == 1:
		return part, nil
	case len(parts) > 1:
		return nil, ambiguous(kernel, parts)
	}
	if first == nil {
		first = fmt.Errorf("codeobj: no code object for %s has a kernel", target)
	}
	return nil, first
}

// targetList names the targets of a file's objects once each.
func targetList(embedded []Embedded) string {
	var names []string
	for _, e := range embedded {
		if s := e.Target.String(); !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	if len(names) < len(embedded) {
		return fmt.Sprintf("%s (%d objects)", strings.Join(names, ", "), len(embedded))
	}
	return strings.Join(names, ", ")
}
