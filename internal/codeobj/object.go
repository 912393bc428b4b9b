package codeobj

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/ianlancetaylor/demangle"
)

// Object is one AMDGPU code object. It keeps the bytes it was opened from, which must not change. Its methods may be
// called from several goroutines.
type Object struct {
	Target  Target
	Version int // of the code object format: 3 to 6
	Kernels []Kernel
	Symbols []Symbol // functions and variables with an address, by address
	// Unplaced are kernels of the metadata whose descriptor no symbol names, as in stripped files: where their code begins is not known.
	Unplaced []Meta
	Printf   []string // format strings of device-side printf, as the metadata holds them
	Data     []byte   // the ELF file

	elf      *elf.File
	segments []segment

	dwarfOnce sync.Once
	lines     *lineIndex
	dwarfErr  error
}

// Kernel is one kernel of an object.
type Kernel struct {
	Meta
	Descriptor     Descriptor
	DescriptorAddr uint64
	Entry          uint64 // address of the first instruction, 256-byte aligned
	Size           uint64 // bytes of code from Entry on
	Demangled      string // the name as the source spells it
	HasMeta        bool   // Meta came from the file's metadata, not from the descriptor alone
}

// Symbol is a named range of addresses.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64 // as the file says, or up to the next symbol for functions that do not say
	Func bool
}

// segment is a piece of the file that is loaded. data may be shorter than size: the rest is zero.
type segment struct {
	addr uint64
	size uint64
	data []byte
	exec bool
}

// Open reads a code object. Where data is a bundle or a host program with exactly one code object inside, that one is
// opened; with several, the error lists them: see Choose.
func Open(data []byte) (*Object, error) {
	if isDeviceELF(data) {
		return openELF(data)
	}
	embedded, err := Objects(data)
	if err != nil {
		return nil, err
	}
	if len(embedded) == 1 {
		return openELF(embedded[0].Data)
	}
	return nil, fmt.Errorf("codeobj: the file holds code objects for %s: choose one", targetList(embedded))
}

// emAMDGPU is the ELF machine number of AMDGPU.
const emAMDGPU = 224

func isELF(data []byte) bool { return len(data) >= 4 && string(data[:4]) == elf.ELFMAG }

func isDeviceELF(data []byte) bool {
	return len(data) >= 20 && isELF(data) && le.Uint16(data[18:]) == emAMDGPU
}

func openELF(data []byte) (*Object, error) {
	if err := checkIdent(data); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		if fe, ok := errors.AsType[*elf.FormatError](err); ok {
			err = fe
		}
		return nil, &FormatError{Off: 0, What: "ELF file", Err: err}
	}
	o := &Object{Data: data, Version: int(data[8]) + 2, elf: f}
	o.Target, err = targetOf(le.Uint32(data[48:]), o.Version)
	if err != nil {
		return nil, &FormatError{Off: 48, What: "ELF header", Err: err}
	}
	if err := o.readSegments(); err != nil {
		return nil, err
	}
	syms, err := o.elfSymbols()
	if err != nil {
		return nil, err
	}
	o.nameSymbols(syms)
	if err := o.readKernels(); err != nil {
		return nil, err
	}
	return o, nil
}

// checkIdent says what is wrong with a header in words of a code object. Tools that build objects by hand leave parts of it empty.
func checkIdent(data []byte) error {
	const what = "ELF header"
	if len(data) < 64 {
		return badAt(0, what, "%w: %d bytes, an ELF header has 64", ErrNotCodeObject, len(data))
	}
	switch {
	case !isELF(data):
		return badAt(0, what, "%w: no ELF magic", ErrNotCodeObject)
	case data[4] != byte(elf.ELFCLASS64):
		return badAt(4, what, "%w: class %d, not 64-bit", ErrNotCodeObject, data[4])
	case data[5] != byte(elf.ELFDATA2LSB):
		return badAt(5, what, "%w: data encoding %d, not little-endian", ErrNotCodeObject, data[5])
	case le.Uint16(data[18:]) != emAMDGPU:
		return badAt(18, what, "%w: machine %d, not AMDGPU (%d)", ErrNotCodeObject, le.Uint16(data[18:]), emAMDGPU)
	case data[7] != 64:
		return badAt(7, what, "OS/ABI %d is not that of HSA code objects (64)", data[7])
	case data[8] == 0:
		return badAt(8, what, "code object version 2 is not read: build with -mcode-object-version=4 or later")
	case elf.Type(le.Uint16(data[16:])) == elf.ET_REL:
		return badAt(16, what, "a relocatable object: link it first (ld.lld -shared)")
	case elf.Type(le.Uint16(data[16:])) != elf.ET_DYN && elf.Type(le.Uint16(data[16:])) != elf.ET_EXEC:
		return badAt(16, what, "type %d is not that of a loadable object", le.Uint16(data[16:]))
	case le.Uint16(data[58:]) != 64 && le.Uint16(data[60:]) != 0:
		return badAt(58, what, "section headers of %d bytes, not 64", le.Uint16(data[58:]))
	}
	return nil
}

// fileBytes is the part of the file that a header names.
func (o *Object) fileBytes(what string, off, size uint64) ([]byte, error) {
	if off > uint64(len(o.Data)) || size > uint64(len(o.Data))-off {
		return nil, badAt(int64(off&(1<<62-1)), what, "%d bytes reach beyond the file's %d", size, len(o.Data))
	}
	return o.Data[off : off+size : off+size], nil
}

// readSegments lists what is loaded: the PT_LOAD segments, or the allocated sections of a file without program headers.
func (o *Object) readSegments() error {
	for _, p := range o.elf.Progs {
		if p.Type != elf.PT_LOAD || p.Memsz == 0 {
			continue
		}
		b, err := o.fileBytes("segment", p.Off, min(p.Filesz, p.Memsz))
		if err != nil {
			return err
		}
		o.segments = append(o.segments, segment{addr: p.Vaddr, size: p.Memsz, data: b, exec: p.Flags&elf.PF_X != 0})
	}
	if len(o.elf.Progs) == 0 {
		for _, s := range o.elf.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 {
				continue
			}
			seg := segment{addr: s.Addr, size: s.Size, exec: s.Flags&elf.SHF_EXECINSTR != 0}
			if s.Type != elf.SHT_NOBITS {
				b, err := o.fileBytes("section "+s.Name, s.Offset, s.Size)
				if err != nil {
					return err
				}
				seg.data = b
			}
			o.segments = append(o.segments, seg)
		}
	}
	if len(o.segments) == 0 {
		return badAt(-1, "ELF file", "nothing in it is loaded")
	}
	slices.SortStableFunc(o.segments, func(a, b segment) int { return cmp.Compare(a.addr, b.addr) })
	end := uint64(0)
	for _, s := range o.segments {
		if s.addr < end || s.addr+s.size < s.addr {
			return badAt(-1, "ELF file", "the segment at address %#x overlaps another or wraps", s.addr)
		}
		end = s.addr + s.size
	}
	return nil
}

// Bytes is what the file holds at an address up to the end of that piece, or nil. The zeros of .bss are not part of it.
func (o *Object) Bytes(addr uint64) []byte {
	i := sort.Search(len(o.segments), func(i int) bool { return o.segments[i].addr > addr }) - 1
	if i < 0 || addr-o.segments[i].addr >= uint64(len(o.segments[i].data)) {
		return nil
	}
	return o.segments[i].data[addr-o.segments[i].addr:]
}

// Text is the range of addresses that holds code: the span of all executable segments.
func (o *Object) Text() (lo, hi uint64) {
	for _, s := range o.segments {
		if s.exec {
			if hi == 0 {
				lo = s.addr
			}
			hi = s.addr + s.size
		}
	}
	return lo, hi
}

// nameSymbols keeps the functions and variables of syms.
func (o *Object) nameSymbols(syms []elf.Symbol) {
	for _, s := range syms {
		t := elf.ST_TYPE(s.Info)
		// Undefined (0) and absolute symbols (LLVM's NAME.num_vgpr and the like) are no addresses.
		if s.Name == "" || s.Section == elf.SHN_UNDEF || s.Section >= elf.SHN_LORESERVE || t != elf.STT_FUNC && t != elf.STT_OBJECT {
			continue
		}
		o.Symbols = append(o.Symbols, Symbol{Name: s.Name, Addr: s.Value, Size: s.Size, Func: t != elf.STT_OBJECT})
	}
	slices.SortFunc(o.Symbols, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.Size, a.Size), strings.Compare(a.Name, b.Name))
	})
	o.Symbols = slices.Compact(o.Symbols) // .dynsym and .symtab hold the same ones
	_, textEnd := o.Text()
	for i := range o.Symbols {
		s := &o.Symbols[i]
		if s.Size != 0 || !s.Func {
			continue
		}
		end := textEnd
		for _, next := range o.Symbols[i+1:] {
			if next.Addr > s.Addr {
				end = min(end, next.Addr)
				break
			}
		}
		if end > s.Addr {
			s.Size = end - s.Addr
		}
	}
}

// Func is the function that holds an address.
func (o *Object) Func(addr uint64) (Symbol, bool) {
	i := sort.Search(len(o.Symbols), func(i int) bool { return o.Symbols[i].Addr > addr }) - 1
	for ; i >= 0; i-- {
		if s := o.Symbols[i]; s.Func {
			return s, addr-s.Addr < s.Size
		}
	}
	return Symbol{}, false
}

func (o *Object) symbol(name string) (Symbol, bool) {
	for _, s := range o.Symbols {
		if s.Name == name {
			return s, true
		}
	}
	return Symbol{}, false
}

// readKernels joins metadata and descriptors. Objects without metadata have the kernels whose descriptors are named
// NAME.kd, or, in a file without symbols, the one descriptor that is its read-only data.
func (o *Object) readKernels() error {
	meta, err := o.note()
	if err != nil {
		return err
	}
	if meta != nil {
		o.Printf = meta.printf
		if t, err := ParseTarget(meta.target); err == nil && t.Processor != o.Target.Processor {
			return badAt(-1, "metadata", "its target %s is not the ELF header's %s", t, o.Target)
		}
		for _, m := range meta.kernels {
			if m.Symbol == "" {
				m.Symbol = m.Name + ".kd"
			}
			s, ok := o.symbol(m.Symbol)
			if !ok {
				o.Unplaced = append(o.Unplaced, m)
				continue
			}
			if err := o.addKernel(Kernel{Meta: m, DescriptorAddr: s.Addr, HasMeta: true}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range o.Symbols {
		if name, ok := strings.CutSuffix(s.Name, ".kd"); ok && !s.Func {
			if err := o.addKernel(Kernel{Meta: Meta{Name: name, Symbol: s.Name}, DescriptorAddr: s.Addr}); err != nil {
				return err
			}
		}
	}
	if len(o.Symbols) > 0 {
		return nil
	}
	for _, s := range o.segments {
		if !s.exec && len(s.data) == DescriptorSize {
			return o.addKernel(Kernel{Meta: Meta{Name: "kernel"}, DescriptorAddr: s.addr})
		}
	}
	return nil
}

func (o *Object) addKernel(k Kernel) error {
	d, ok := DecodeDescriptor(o.Bytes(k.DescriptorAddr))
	if !ok {
		return badAt(-1, "kernel descriptor", "%q at address %#x is not in the file", k.Name, k.DescriptorAddr)
	}
	k.Descriptor = d
	// The register that holds the entry has no low 8 bits, so hardware starts at the aligned address whatever the descriptor says.
	k.Entry = (k.DescriptorAddr + uint64(d.EntryOffset)) &^ 0xff
	lo, hi := o.Text()
	if k.Entry < lo || k.Entry >= hi {
		return badAt(-1, "kernel descriptor", "%q starts at %#x, outside the code at [%#x, %#x)", k.Name, k.Entry, lo, hi)
	}
	k.Size = hi - k.Entry
	if s, ok := o.Func(k.Entry); ok {
		k.Size = s.Addr + s.Size - k.Entry
	}
	k.Size = min(k.Size, uint64(len(o.Bytes(k.Entry))))
	if !k.HasMeta {
		k.KernargBytes, k.KernargAlign = d.KernargBytes, 8
		k.GroupBytes, k.PrivateBytes = d.GroupBytes, d.PrivateBytes
		k.WaveSize = uint32(d.WaveSize())
		k.VGPRs = uint32(d.VGPRs(o.Target.Processor))
	}
	k.Demangled = Demangle(k.Name)
	o.Kernels = append(o.Kernels, k)
	return nil
}

// Kernel finds a kernel by its name, its demangled name, or its demangled name without parameters; where none has such a one, by a part of it: see
// [IsPart]. An empty name means the only kernel there is. The error lists what there is.
func (o *Object) Kernel(name string) (*Kernel, error) {
	found := o.called(name)
	if len(found) == 0 {
		found = o.calledInPart(name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name != "":
		return nil, ambiguous(name, found)
	}
	return nil, o.noKernel(name)
}

// called are the kernels of a name; all where it is empty.
func (o *Object) called(name string) (found []*Kernel) {
	for i := range o.Kernels {
		k := &o.Kernels[i]
		if name == k.Name && name != "" {
			return []*Kernel{k}
		}
		short, _, _ := strings.Cut(k.Demangled, "(")
		if name == "" || name == k.Demangled || name == short || name == k.Symbol {
			found = append(found, k)
		}
	}
	return found
}

// calledInPart are the kernels of whose names it is a part.
func (o *Object) calledInPart(name string) (found []*Kernel) {
	for i := range o.Kernels {
		if k := &o.Kernels[i]; IsPart(k.Demangled, name) {
			found = append(found, k)
		}
	}
	return found
}

// noKernel is the error for a name of no kernel, or for none where there are several.
func (o *Object) noKernel(name string) error {
	names := make([]string, len(o.Kernels))
	for i := range o.Kernels {
		names[i] = o.Kernels[i].Name
	}
	slices.Sort(names)
	for i := range o.Unplaced {
		m := &o.Unplaced[i]
		if name == m.Name || name == m.Symbol || name == Demangle(m.Name) || name == "" && len(names) == 0 {
			return fmt.Errorf("codeobj: kernel %q has %s", m.Name, m.Unplaced())
		}
	}
	for i := range o.Unplaced {
		names = append(names, o.Unplaced[i].Name+" (stripped)")
	}
	switch {
	case len(names) == 0:
		return errors.New("codeobj: the code object has no kernel")
	case name == "":
		return fmt.Errorf("codeobj: the code object has several kernels, name one: %s", strings.Join(names, ", "))
	}
	return fmt.Errorf("codeobj: no kernel %q; there is %s", name, strings.Join(names, ", "))
}

// Unplaced says why nothing tells where a kernel's code begins.
func (m *Meta) Unplaced() string {
	return fmt.Sprintf("no symbol %q in the file: it was stripped, so its code can be read, not launched", m.Symbol)
}

// note is the AMDGPU metadata, nil where the file has none.
func (o *Object) note() (*metadata, error) {
	const ntMetadata = 32
	read := func(what string, off, size uint64) (*metadata, error) {
		b, err := o.fileBytes(what, off, size)
		if err != nil {
			return nil, err
		}
		for at := off; len(b) >= 12; {
			name, desc, typ := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
			descAt := 12 + (name+3)&^3
			next := descAt + (desc+3)&^3
			if descAt+desc > uint64(len(b)) {
				return nil, badAt(int64(at), what, "a note of %d bytes reaches beyond its end", desc)
			}
			if owner := string(bytes.TrimRight(b[12:12+name], "\x00")); owner == "AMDGPU" && typ == ntMetadata {
				m, err := readMetadata(b[descAt : descAt+desc])
				if fe, ok := errors.AsType[*FormatError](err); ok {
					fe.Off += int64(at + descAt)
				}
				return m, err
			}
			b = b[min(next, uint64(len(b))):]
			at += next
		}
		return nil, nil
	}
	for _, p := range o.elf.Progs {
		if p.Type == elf.PT_NOTE {
			if m, err := read("note segment", p.Off, p.Filesz); m != nil || err != nil {
				return m, err
			}
		}
	}
	for _, s := range o.elf.Sections {
		if s.Type == elf.SHT_NOTE {
			if m, err := read("note section", s.Offset, s.Size); m != nil || err != nil {
				return m, err
			}
		}
	}
	return nil, nil
}

// Demangle is the source's spelling of a symbol, or the symbol itself.
func Demangle(name string) string {
	name = strings.TrimSuffix(name, ".kd")
	if len(name) > 1<<16 {
		return name
	}
	// At most 2^16 bytes: substitutions let a short name expand without end.
	s, err := demangle.ToString(name, demangle.LLVMStyle, demangle.MaxLength(16))
	if err != nil {
		return name
	}
	return s
}

// sectionData reads a section, decompressed; the size it claims is not trusted.
func sectionData(s *elf.Section, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(s.Open(), limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return b, nil
}
