package codeobj

import (
	"bytes"
	"debug/elf"
	"errors"
)

// elfSymbols are the symbols of both tables. Files without section headers are read through their dynamic segment.
func (o *Object) elfSymbols() ([]elf.Symbol, error) {
	if len(o.elf.Sections) == 0 {
		d, err := o.dynamic()
		return d.syms, err
	}
	var out []elf.Symbol
	for _, read := range []func() ([]elf.Symbol, error){o.elf.DynamicSymbols, o.elf.Symbols} {
		syms, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return nil, &FormatError{Off: -1, What: "symbol table", Err: err}
		}
		out = append(out, syms...)
	}
	return out, nil
}

// dynamic is what the PT_DYNAMIC segment names.
type dynamic struct {
	syms []elf.Symbol // from symbol 1 on, like debug/elf's
	rela []rela
}

// rela is one relocation.
type rela struct {
	addr   uint64
	sym    uint32 // 0: none
	typ    uint32
	addend int64
}

func (o *Object) dynamic() (d dynamic, err error) {
	var tags map[elf.DynTag]uint64
	for _, p := range o.elf.Progs {
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		b, err := o.fileBytes("dynamic segment", p.Off, p.Filesz)
		if err != nil {
			return d, err
		}
		tags = map[elf.DynTag]uint64{}
		for ; len(b) >= 16; b = b[16:] {
			tag := elf.DynTag(le.Uint64(b))
			if tag == elf.DT_NULL {
				break
			}
			tags[tag] = le.Uint64(b[8:])
		}
	}
	if tags == nil {
		return d, nil
	}
	at := func(what string, tag elf.DynTag, size uint64) ([]byte, error) {
		b := o.Bytes(tags[tag])
		if uint64(len(b)) < size {
			return nil, badAt(-1, what, "%d bytes at address %#x are not in the file", size, tags[tag])
		}
		return b[:size:size], nil
	}
	if _, ok := tags[elf.DT_HASH]; ok { // its second word is the number of symbols
		h, err := at("symbol hash table", elf.DT_HASH, 8)
		if err != nil {
			return d, err
		}
		n := uint64(le.Uint32(h[4:]))
		syms, err := at("dynamic symbols", elf.DT_SYMTAB, n*elf.Sym64Size)
		if err != nil {
			return d, err
		}
		str, err := at("dynamic strings", elf.DT_STRTAB, tags[elf.DT_STRSZ])
		if err != nil {
			return d, err
		}
		for i := uint64(1); i < n; i++ {
			e := syms[i*elf.Sym64Size:]
			s := elf.Symbol{
				Info: e[4], Other: e[5], Section: elf.SectionIndex(le.Uint16(e[6:])),
				Value: le.Uint64(e[8:]), Size: le.Uint64(e[16:]),
			}
			if name := uint64(le.Uint32(e)); name < uint64(len(str)) {
				if end := bytes.IndexByte(str[name:], 0); end >= 0 {
					s.Name = string(str[name : name+uint64(end)])
				}
			}
			d.syms = append(d.syms, s)
		}
	}
	for _, t := range []struct {
		what      string
		tab, size elf.DynTag
	}{{"relocations", elf.DT_RELA, elf.DT_RELASZ}, {"PLT relocations", elf.DT_JMPREL, elf.DT_PLTRELSZ}} {
		if tags[t.size] == 0 {
			continue
		}
		b, err := at(t.what, t.tab, tags[t.size])
		if err != nil {
			return d, err
		}
		for ; len(b) >= 24; b = b[24:] {
			info := le.Uint64(b[8:])
			d.rela = append(d.rela, rela{addr: le.Uint64(b), sym: uint32(info >> 32), typ: uint32(info), addend: int64(le.Uint64(b[16:]))})
		}
	}
	return d, nil
}
