package codeobj

import (
	"debug/elf"
	"math"
)

// Span is the range of addresses that a loaded object takes, its ends rounded out to pages of 4096 bytes.
func (o *Object) Span() (lo, hi uint64) {
	last := o.segments[len(o.segments)-1]
	hi = last.addr + last.size
	if hi > math.MaxUint64-4095 {
		return o.segments[0].addr &^ 4095, math.MaxUint64 &^ 4095
	}
	return o.segments[0].addr &^ 4095, (hi + 4095) &^ 4095
}

// maxGrowth bounds how much larger than its file an image that Load allocates may be: zeroed variables and the gaps
// between segments. LoadInto knows no such bound, as its caller owns the memory.
const maxGrowth = 256 << 20

// Load is the object's image as it stands in memory when address 0 of the file is at base: byte i of it belongs at
// base + lo + i, where lo is the start of Span.
func (o *Object) Load(base uint64) ([]byte, error) {
	lo, hi := o.Span()
	if hi-lo > uint64(len(o.Data))+maxGrowth {
		return nil, badAt(-1, "segments", "they span %d bytes, the file has %d", hi-lo, len(o.Data))
	}
	img := make([]byte, hi-lo)
	return img, o.LoadInto(img, base)
}

// LoadInto writes the image of Load to mem, which has at least the size of Span.
func (o *Object) LoadInto(mem []byte, base uint64) error {
	lo, hi := o.Span()
	if uint64(len(mem)) < hi-lo {
		return badAt(-1, "segments", "they span %d bytes, there is memory of %d", hi-lo, len(mem))
	}
	mem = mem[:hi-lo]
	clear(mem)
	for _, s := range o.segments {
		copy(mem[s.addr-lo:], s.data)
	}
	d, err := o.dynamic()
	if err != nil {
		return err
	}
	for _, r := range d.rela {
		if err := relocate(mem, lo, base, r, d.syms); err != nil {
			return err
		}
	}
	return nil
}

// Relocations that stand in loadable objects (AMDGPUUsage, "Relocation Records"). The GOT's kinds are the linker's.
const (
	relNone       = 0
	relAbs32Lo    = 1
	relAbs32Hi    = 2
	relAbs64      = 3
	relRel32      = 4
	relRel64      = 5
	relAbs32      = 6
	relRel32Lo    = 10
	relRel32Hi    = 11
	relRelative64 = 13
)

// relocate applies one relocation to the image mem, whose first byte has the file's address lo.
func relocate(mem []byte, lo, base uint64, r rela, syms []elf.Symbol) error {
	const what = "relocation"
	size := uint64(4)
	switch r.typ {
	case relAbs64, relRel64, relRelative64:
		size = 8
	case relNone:
		return nil
	}
	at := r.addr - lo
	if at > uint64(len(mem)) || uint64(len(mem))-at < size {
		return badAt(-1, what, "address %#x is outside the image", r.addr)
	}
	var sym uint64 // symbols that stay undefined and weak are at 0
	if r.sym != 0 {
		if uint64(r.sym) > uint64(len(syms)) {
			return badAt(-1, what, "at address %#x: no symbol %d", r.addr, r.sym)
		}
		s := syms[r.sym-1]
		switch {
		case s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_WEAK:
			return badAt(-1, what, "at address %#x: undefined symbol %q", r.addr, s.Name)
		case s.Section == elf.SHN_ABS:
			sym = s.Value
		case s.Section != elf.SHN_UNDEF:
			sym = base + s.Value
		}
	}
	v := sym + uint64(r.addend)
	place := base + r.addr
	switch r.typ {
	case relAbs64:
		le.PutUint64(mem[at:], v)
	case relRelative64:
		le.PutUint64(mem[at:], base+uint64(r.addend))
	case relRel64:
		le.PutUint64(mem[at:], v-place)
	case relAbs32, relAbs32Lo:
		le.PutUint32(mem[at:], uint32(v))
	case relAbs32Hi:
		le.PutUint32(mem[at:], uint32(v>>32))
	case relRel32, relRel32Lo:
		le.PutUint32(mem[at:], uint32(v-place))
	case relRel32Hi:
		le.PutUint32(mem[at:], uint32((v-place)>>32))
	default:
		return badAt(-1, what, "at address %#x: type %d is not one of a loadable object", r.addr, r.typ)
	}
	return nil
}
