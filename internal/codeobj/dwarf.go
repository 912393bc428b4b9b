package codeobj

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// Frame is one source position of an address. Func is empty where the debug information names no function. Line is 0 for
// code that the compiler made up and that belongs to no line.
type Frame struct {
	Func string
	File string
	Line int
}

func (f Frame) String() string { return fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line) }

// maxDebug bounds the size of one decompressed debug section.
const maxDebug = 1 << 30

// lineIndex answers queries by address. Rows are sorted; each holds up to the next.
type lineIndex struct {
	rows  []lineRow
	files []string
	funcs []scope // sorted by start, then longest first: a scope stands after those that hold it
}

type lineRow struct {
	addr uint64
	file int32 // index of files; -1: no code from here on
	line int32
}

// scope is an address range of a function's body or of a copy of one that was inlined.
type scope struct {
	lo, hi   uint64
	name     string
	depth    int32
	callFile int32 // where the inlined function was called: index of files, -1: unknown
	callLine int32
	inlined  bool
}

// Line is the source position of an address, the innermost inlined function first. It is empty without debug information.
func (o *Object) Line(pc uint64) []Frame { return o.AppendLine(nil, pc) }

// AppendLine is Line into memory that the caller owns.
func (o *Object) AppendLine(dst []Frame, pc uint64) []Frame {
	o.dwarfOnce.Do(o.readDWARF)
	x := o.lines
	if x == nil {
		return dst
	}
	i := sort.Search(len(x.rows), func(i int) bool { return x.rows[i].addr > pc }) - 1
	at := Frame{}
	found := false
	if i >= 0 && x.rows[i].file >= 0 {
		at.File, at.Line = x.files[x.rows[i].file], int(x.rows[i].line)
		found = true
	}
	// Scopes that hold pc, innermost first: deeper ones stand later.
	j := sort.Search(len(x.funcs), func(i int) bool { return x.funcs[i].lo > pc })
	depth := int32(1 << 30)
	for j--; j >= 0 && depth > 0; j-- {
		s := &x.funcs[j]
		if pc >= s.hi && s.depth == 0 {
			break // functions do not overlap
		}
		if pc >= s.hi || s.depth >= depth {
			continue
		}
		depth = s.depth
		at.Func = s.name
		if s.name != "" || found {
			dst = append(dst, at)
		}
		found = false
		if !s.inlined {
			return dst
		}
		at = Frame{}
		if s.callFile >= 0 {
			at.File, at.Line = x.files[s.callFile], int(s.callLine)
			found = true
		}
	}
	if found {
		s, ok := o.Func(pc)
		if !ok && len(o.Symbols) > 0 {
			return dst // padding after a function
		}
		at.Func = Demangle(s.Name)
		dst = append(dst, at)
	}
	return dst
}

// DebugError is why Line knows nothing although the file has debug sections, or nil.
func (o *Object) DebugError() error {
	o.dwarfOnce.Do(o.readDWARF)
	return o.dwarfErr
}

// HasLines tells whether the object has line tables.
func (o *Object) HasLines() bool {
	o.dwarfOnce.Do(o.readDWARF)
	return o.lines != nil && len(o.lines.rows) > 0
}

func (o *Object) readDWARF() {
	// debug/dwarf trusts some of what it reads; a panic in it must not take a profile along.
	defer func() {
		if r := recover(); r != nil {
			o.lines, o.dwarfErr = nil, badAt(-1, "debug information", "%v", r)
		}
	}()
	sections := map[string][]byte{}
	for _, s := range o.elf.Sections {
		if !strings.HasPrefix(s.Name, ".debug_") || s.Type == elf.SHT_NOBITS {
			continue
		}
		b, err := sectionData(s, maxDebug)
		if err != nil {
			o.dwarfErr = &FormatError{Off: -1, What: "debug information", Err: err}
			return
		}
		sections[s.Name] = b
	}
	if len(sections[".debug_info"]) == 0 {
		return
	}
	d, err := dwarf.New(sections[".debug_abbrev"], nil, nil, sections[".debug_info"], sections[".debug_line"], nil, sections[".debug_ranges"], sections[".debug_str"])
	if err == nil {
		for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
			if b := sections[name]; b != nil && err == nil {
				err = d.AddSection(name, b)
			}
		}
	}
	if err != nil {
		o.dwarfErr = &FormatError{Off: -1, What: "debug information", Err: err}
		return
	}
	size := 0
	for _, b := range sections {
		size += len(b)
	}
	lo, hi := o.Text()
	b := &lineBuilder{d: d, r: d.Reader(), lo: lo, hi: hi, left: size, names: map[dwarf.Offset]string{}, fileAt: map[string]int32{}}
	if err := b.read(); err != nil {
		o.dwarfErr = &FormatError{Off: -1, What: "debug information", Err: err}
	}
	o.lines = b.finish() // what could be read before an error is of use
}

// lineBuilder gathers an index.
type lineBuilder struct {
	d      *dwarf.Data
	r      *dwarf.Reader
	lo, hi uint64 // addresses outside are of functions that the linker dropped
	x      lineIndex
	names  map[dwarf.Offset]string
	fileAt map[string]int32
	left   int       // entries, rows and ranges that may still come: each takes a byte or more of the sections
	seqs   []lineRow // rows of the sequence at hand
	order  []lineSeq
}

// lineSeq is a run of rows that a line table closes with an end.
type lineSeq struct{ rows []lineRow }

func (b *lineBuilder) file(name string) int32 {
	i, ok := b.fileAt[name]
	if !ok {
		i = int32(len(b.x.files))
		b.x.files = append(b.x.files, strings.TrimPrefix(name, "./"))
		b.fileAt[name] = i
	}
	return i
}

// next is the reader's next entry. debug/dwarf does not always advance on damaged input, and tables can be named by many
// entries, so what is read is counted.
func (b *lineBuilder) next() (*dwarf.Entry, error) {
	if err := b.spend(1); err != nil {
		return nil, err
	}
	return b.r.Next()
}

func (b *lineBuilder) spend(n int) error {
	if b.left -= n; b.left < 0 {
		return errors.New("more entries than it has bytes")
	}
	return nil
}

func (b *lineBuilder) read() error {
	for {
		e, err := b.next()
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		// Entries of other units are walked one by one: the offsets by which they could be skipped may lead back.
		if e.Tag != dwarf.TagCompileUnit {
			continue
		}
		files, err := b.table(e)
		if err != nil {
			return err
		}
		if e.Children {
			if err := b.scopes(files); err != nil {
				return err
			}
		}
	}
}

// table reads a unit's line table and gives its files.
func (b *lineBuilder) table(cu *dwarf.Entry) ([]*dwarf.LineFile, error) {
	lr, err := b.d.LineReader(cu)
	if err != nil || lr == nil {
		return nil, err
	}
	var row dwarf.LineEntry
	for {
		if err := lr.Next(&row); err != nil {
			if errors.Is(err, io.EOF) {
				return lr.Files(), nil
			}
			return nil, err
		}
		if err := b.spend(1); err != nil {
			return nil, err
		}
		r := lineRow{addr: row.Address, file: -1, line: int32(row.Line)}
		if !row.EndSequence && row.File != nil {
			r.file = b.file(row.File.Name)
		}
		b.seqs = append(b.seqs, r)
		if row.EndSequence {
			if first := b.seqs[0].addr; first >= b.lo && first < b.hi {
				b.order = append(b.order, lineSeq{b.seqs})
			}
			b.seqs = nil
		}
	}
}

// maxScopes bounds the nesting of inlined functions that is followed.
const maxScopes = 1 << 10

// scopes reads the functions of the unit whose entry was just read.
func (b *lineBuilder) scopes(files []*dwarf.LineFile) error {
	kind := []int32{0} // depth of functions at each open level of entries
	for len(kind) > 0 {
		e, err := b.next()
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		if e.Tag == 0 {
			kind = kind[:len(kind)-1]
			continue
		}
		depth := kind[len(kind)-1]
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			ranges, err := b.d.Ranges(e)
			if err == nil {
				err = b.spend(len(ranges))
			}
			if err != nil {
				return err
			}
			s := scope{depth: depth, callFile: -1, inlined: e.Tag == dwarf.TagInlinedSubroutine}
			if s.inlined {
				if f, ok := e.Val(dwarf.AttrCallFile).(int64); ok && f >= 0 && f < int64(len(files)) && files[f] != nil {
					s.callFile = b.file(files[f].Name)
				}
				if l, ok := e.Val(dwarf.AttrCallLine).(int64); ok {
					s.callLine = int32(l)
				}
			} else {
				s.depth = 0
			}
			at := e.Offset
			for _, r := range ranges {
				if r[0] < b.lo || r[1] > b.hi || r[0] >= r[1] {
					continue
				}
				if s.name == "" {
					if s.name, err = b.name(at, e); err != nil {
						return err
					}
				}
				s.lo, s.hi = r[0], r[1]
				b.x.funcs = append(b.x.funcs, s)
			}
			depth = s.depth + 1
		}
		if e.Children {
			if len(kind) > maxScopes {
				return errors.New("entries nested too deep")
			}
			kind = append(kind, depth)
		}
	}
	return nil
}

// name is an entry's function, found through the entry it is a copy of.
func (b *lineBuilder) name(at dwarf.Offset, e *dwarf.Entry) (string, error) {
	var r *dwarf.Reader
	for range 8 { // abstract origin, then specification: more is a loop
		if s, ok := b.names[e.Offset]; ok {
			b.names[at] = s
			return s, nil
		}
		for _, a := range []dwarf.Attr{dwarf.AttrLinkageName, dwarf.AttrName} {
			if s, ok := e.Val(a).(string); ok && s != "" {
				s = Demangle(s)
				b.names[at], b.names[e.Offset] = s, s
				return s, nil
			}
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				break
			}
		}
		if r == nil {
			r = b.d.Reader() // the walk's own reader keeps its place
		}
		r.Seek(next)
		var err error
		if e, err = r.Next(); err != nil {
			return "", err
		}
		if e == nil {
			break
		}
	}
	b.names[at] = ""
	return "", nil
}

// finish sorts what was gathered.
func (b *lineBuilder) finish() *lineIndex {
	slices.SortStableFunc(b.order, func(x, y lineSeq) int { return cmp.Compare(x.rows[0].addr, y.rows[0].addr) })
	for _, s := range b.order {
		for _, r := range s.rows {
			// Several rows at one address: the last says what the instruction belongs to. Rows never go back.
			if n := len(b.x.rows); n > 0 && b.x.rows[n-1].addr >= r.addr {
				if b.x.rows[n-1].addr > r.addr {
					continue
				}
				b.x.rows[n-1] = r
				continue
			}
			b.x.rows = append(b.x.rows, r)
		}
	}
	slices.SortStableFunc(b.x.funcs, func(x, y scope) int {
		return cmp.Or(cmp.Compare(x.lo, y.lo), cmp.Compare(y.hi, x.hi), cmp.Compare(x.depth, y.depth))
	})
	return &b.x
}
