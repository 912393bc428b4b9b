package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
)

// hotKernel is what waves ran: a dispatch's kernel or, where no dispatch tells, the function of their first instruction. Number 0 is what waves
// ran of which no instruction's place is known.
type hotKernel struct {
	name   string // tells kernels apart
	symbol string // as the code object names it
	object int    // -1: not known
}

// unknownCode stands for what no code object holds.
const unknownCode = "unknown code"

// noKernel is the kernel of number 0.
var noKernel = hotKernel{unknownCode, unknownCode, -1}

// kernelName is a kernel's name by its number.
func (h *Hot) kernelName(kernel int32) string {
	if kernel < 0 || int(kernel) >= len(h.kernels) {
		return unknownCode
	}
	return h.kernels[kernel].name
}

// kernelsOf lists the kernels that waves ran, those with most cycles first.
func kernelsOf(p *analysis.Profile) []int32 {
	cycles := map[int32]int64{}
	for i := range p.Insts {
		if c := &p.Insts[i]; c.Hits > 0 {
			cycles[c.Kernel] += c.Cycles()
		}
	}
	return mostFirst(cycles)
}

// mostFirst lists kernels by falling cycles.
func mostFirst(cycles map[int32]int64) []int32 {
	ids := slices.Sorted(maps.Keys(cycles))
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(cycles[b], cycles[a]) })
	return ids
}

// maxKernels is how many kernels a name of several has.
const maxKernels = 3

// kernelNames names several kernels.
func (h *Hot) kernelNames(ids []int32) string {
	var names []string
	for _, k := range ids[:min(len(ids), maxKernels)] {
		names = append(names, h.kernelName(k))
	}
	s := strings.Join(names, ", ")
	if len(ids) > maxKernels {
		s += fmt.Sprintf(" and %d more", len(ids)-maxKernels)
	}
	return s
}

// kernelsOf names what a stream's traced waves ran: the dispatch's kernel, or what their code tells.
func (h *Hot) kernelsOf(p *hotPart) string {
	if p.kernel > 0 {
		return h.kernelName(p.kernel)
	}
	return h.kernelNames(p.ran)
}

// nameKernels makes kernels of one name in several objects that ran tell which is whose.
func (h *Hot) nameKernels() {
	ran := make([]bool, len(h.kernels))
	for i := range h.Profile.Insts {
		if k := h.Profile.Insts[i].Kernel; int(k) < len(ran) {
			ran[k] = true
		}
	}
	objects := map[string]map[int]bool{}
	for i := range h.kernels {
		if k := &h.kernels[i]; ran[i] && k.object >= 0 {
			if objects[k.name] == nil {
				objects[k.name] = map[int]bool{}
			}
			objects[k.name][k.object] = true
		}
	}
	for i := range h.kernels {
		if k := &h.kernels[i]; len(objects[k.name]) > 1 {
			k.name = inObject(k.name, h.code.name(k.object))
		}
	}
}

// inObject is a name that several code objects have.
func inObject(name, object string) string { return fmt.Sprintf("%s (%s)", name, dash(object)) }
