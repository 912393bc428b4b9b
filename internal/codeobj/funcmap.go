package codeobj

import (
	"debug/elf"
	"strconv"
	"strings"
)

// funcMapSection is where AMD's SQTT instrumentation pass for LLVM names its markers.
const funcMapSection = ".sqtt_funcmap"

// MarkerKind is what a marker stands for.
type MarkerKind byte

// The kinds, by the letters of their rows. Kernels have no marker.
const (
	MarkerFunction MarkerKind = 'F'
	MarkerUser     MarkerKind = 'U'
	MarkerPoint    MarkerKind = 'P'
)

// MarkerName is one named marker.
type MarkerName struct {
	Kind    MarkerKind
	Name    string // of functions: mangled
	Loc     string // "file:line", inlined: "inner:line -> outer:line"; may be empty
	Payload int    // words that follow the marker and are none themselves
}

// FuncMap is what a code object says about the markers that its kernels send with s_ttracedata. The methods of a nil map
// are those of an empty one.
//
// Source: AMD's specification of the SQTT instrument pass (docs/markers/SPEC.md of rocprof-trace-decoder).
type FuncMap struct {
	Names    map[uint32]MarkerName
	Kernels  []string // that the pass saw, mangled
	WaveSize int      // of address traces; 0: not said

	ClockBits, ClockShift int // high bits of a marker that hold the shader clock from bit ClockShift on; 0: none

	BadRows int // rows that make no sense, and names given twice: the last counts
}

// maxPayload bounds a marker's payload: an address trace sends two words a lane.
const maxPayload = 4096

// FuncMap reads the object's function map; nil where it has none.
func (o *Object) FuncMap() *FuncMap {
	var text []byte
	for _, s := range o.elf.Sections {
		if s.Name != funcMapSection || s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		b, err := o.fileBytes("section "+s.Name, s.Offset, s.FileSize)
		if err != nil {
			return nil // the section reaches beyond the file: there is nothing to be named by
		}
		text = append(append(text, b...), 0)
	}
	if text == nil {
		return nil
	}
	return ParseFuncMap(string(text))
}

// ParseFuncMap reads the rows of a function map. Rows end at a line's end or a NUL, which stands between those of the modules
// that were linked. What it cannot read it counts.
func ParseFuncMap(text string) *FuncMap {
	m := &FuncMap{Names: map[uint32]MarkerName{}}
	payload := map[uint32]int{} // an R row may stand before its marker's
	for text != "" {
		line := text
		if i := strings.IndexAny(text, "\n\x00"); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		if line = strings.TrimRight(line, "\r \t"); line != "" && !m.row(line, payload) {
			m.BadRows++
		}
	}
	for id, n := range payload {
		if e, ok := m.Names[id]; ok {
			e.Payload = n
			m.Names[id] = e
		}
	}
	return m
}

func (m *FuncMap) row(line string, payload map[uint32]int) bool {
	if len(line) < 2 || line[1] != ':' {
		return false
	}
	rest := line[2:]
	switch line[0] {
	case 'K':
		name, _, _ := strings.Cut(rest, "@")
		m.Kernels = append(m.Kernels, name)
		return true
	case 'W':
		n, err := strconv.ParseUint(rest, 10, 16)
		m.WaveSize = int(n)
		return err == nil
	case 'M':
		return m.layout(rest)
	}
	number, rest, ok := strings.Cut(rest, ":")
	id, err := strconv.ParseUint(number, 10, 30)
	if !ok || err != nil {
		return false
	}
	switch line[0] {
	case 'F', 'U', 'P':
		name, loc, _ := strings.Cut(rest, "@")
		_, twice := m.Names[uint32(id)]
		m.Names[uint32(id)] = MarkerName{Kind: MarkerKind(line[0]), Name: name, Loc: loc}
		return !twice
	case 'R':
		value, ok := strings.CutPrefix(rest, "extra_payload_count=")
		n, err := strconv.ParseUint(value, 10, 32)
		if !ok || err != nil || n > maxPayload {
			return false
		}
		payload[uint32(id)] = int(n)
		return true
	}
	return false
}

// layout reads an M row. One that is not whole leaves the markers without a clock.
func (m *FuncMap) layout(s string) bool {
	bits, shift := -1, -1
	for attr := range strings.SplitSeq(s, ";") {
		key, value, _ := strings.Cut(attr, "=")
		n, err := strconv.ParseUint(value, 10, 8)
		switch {
		case key == "shader_clock_bits" && err == nil:
			bits = int(n)
		case key == "shader_clock_shift" && err == nil:
			shift = int(n)
		}
	}
	if bits < 0 || shift < 0 || bits > 29 || bits+shift > 32 {
		return false
	}
	m.ClockBits, m.ClockShift = bits, shift
	return true
}

// Marker splits a word that a wave sent: its id, whether it enters a span of this name, and whether it ends the innermost one
// before. short says that it came from s_ttracedata_imm, which has no room for a clock.
//
// Only what the pass wrote holds the clock; words of ids that the map does not name are the program's own.
func (m *FuncMap) Marker(value uint32, short bool) (id uint32, enter, exit bool) {
	id, enter, exit = value>>2, value&2 != 0, value&1 != 0
	if m == nil || m.ClockBits == 0 || short {
		return id, enter, exit
	}
	packed := id & (1<<(30-m.ClockBits) - 1)
	if _, ok := m.Names[packed]; ok || packed == 0 && exit && !enter {
		return packed, enter, exit
	}
	return id, enter, exit
}

// Name is a marker's name.
func (m *FuncMap) Name(id uint32) (MarkerName, bool) {
	if m == nil {
		return MarkerName{}, false
	}
	n, ok := m.Names[id]
	return n, ok
}
