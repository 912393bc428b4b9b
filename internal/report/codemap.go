package report

import (
	"fmt"
	"path/filepath"
	"sort"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/isa"
)

// codeMap finds the functions of code objects. It is not changed once it is made.
type codeMap struct {
	objects []*codeobj.Object // nil: one that could not be read
	names   []string          // of the objects, no two alike
	funcs   [][]AsmFunc       // of each object by address, with what no symbol names
	outer   [][]int32         // of each function the last one before it that ends behind it; -1: none does
}

func newCodeMap(arch isa.Arch, objects []*codeobj.Object, names []string) *codeMap {
	m := &codeMap{objects: objects, names: make([]string, len(objects)), funcs: make([][]AsmFunc, len(objects)), outer: make([][]int32, len(objects))}
	seen := map[string]bool{}
	for i, o := range objects {
		m.names[i] = filepath.Base(names[i])
		if seen[m.names[i]] {
			m.names[i] = fmt.Sprintf("%s, object %d", m.names[i], i)
		}
		seen[m.names[i]] = true
		if o != nil {
			m.set(i, withGaps(o, functions(o, arch)))
		}
	}
	return m
}

// set gives an object its functions, in order of address.
func (m *codeMap) set(object int, list []AsmFunc) {
	outer := make([]int32, len(list))
	for i := range list {
		k := int32(i - 1)
		for k >= 0 && list[k].end() <= list[i].end() {
			k = outer[k] // those between end no later than k
		}
		outer[i] = k
	}
	m.funcs[object], m.outer[object] = list, outer
}

func (f *AsmFunc) end() uint64 { return f.Addr + f.size }

// find is the index of the function that holds an address of an object; -1: none does. Where symbols overlap, the innermost counts.
func (m *codeMap) find(object int, pc uint64) int {
	list := m.funcs[object]
	i := sort.Search(len(list), func(i int) bool { return list[i].Addr-list[i].lead > pc }) - 1
	for i >= 0 && pc >= list[i].end() {
		i = int(m.outer[object][i]) // what is left out ends before pc, too
	}
	return i
}

// at is the function that holds an address, or nil.
func (m *codeMap) at(object int, pc uint64) *AsmFunc {
	if object < 0 || object >= len(m.funcs) {
		return nil
	}
	if i := m.find(object, pc); i >= 0 {
		return &m.funcs[object][i]
	}
	return nil
}

// name is an object's; empty for code that belongs to none.
func (m *codeMap) name(object int) string {
	if object < 0 || object >= len(m.names) {
		return ""
	}
	return m.names[object]
}
