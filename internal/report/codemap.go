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
}

func newCodeMap(arch isa.Arch, objects []*codeobj.Object, names []string) *codeMap {
	m := &codeMap{objects: objects, names: make([]string, len(objects)), funcs: make([][]AsmFunc, len(objects))}
	seen := map[string]bool{}
	for i, o := range objects {
		m.names[i] = filepath.Base(names[i])
		if seen[m.names[i]] {
			m.names[i] = fmt.Sprintf("%s, object %d", m.names[i], i)
		}
		seen[m.names[i]] = true
		if o != nil {
			m.funcs[i] = withGaps(o, functions(o, arch))
		}
	}
	return m
}

// find is the index of the function that holds an address of an object; -1: none does. Where symbols overlap, the innermost counts.
func (m *codeMap) find(object int, pc uint64) int {
	list := m.funcs[object]
	for i := sort.Search(len(list), func(i int) bool { return list[i].Addr-list[i].lead > pc }) - 1; i >= 0; i-- {
		if f := &list[i]; pc < f.Addr+f.size {
			return i
		}
	}
	return -1
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
