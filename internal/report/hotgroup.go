package report

import "github.com/rigprof/rigprof/internal/analysis"

// hotKey tells groups apart: names alone do not, as code objects may share them.
type hotKey struct {
	object int
	name   string
	pc     uint64
	kernel int32
}

// hotGroup is a row that is being summed up.
type hotGroup struct {
	HotRow
	loads, latency, latencyMax int64
	kernels                    map[int32]int64 // cycles
	waited                     map[analysis.Where]int64
}

func (g *hotGroup) add(h *Hot, c *analysis.InstCost) {
	g.Cost.Add(c.Cost)
	g.loads += c.Loads
	g.latency += c.LatencySum
	g.latencyMax = max(g.latencyMax, c.LatencyMax)
	g.kernels[c.Kernel] += c.Cycles()
	for site, n := range c.WaitedFor {
		g.waited[h.Profile.Insts[site].Where] += n
	}
}

// groupOf is the group that an instruction belongs to.
func (h *Hot) groupOf(by string, c *analysis.InstCost) (hotKey, HotRow) {
	p := h.Place(c.Where)
	object := h.code.name(c.Object)
	switch by {
	case "line":
		return hotKey{object: c.Object, name: p.Line()}, HotRow{Name: p.Line(), Object: object}
	case "function":
		return hotKey{object: c.Object, name: p.Func()}, HotRow{Name: p.Func(), Object: object}
	case "kernel":
		r := HotRow{Name: h.kernelName(c.Kernel)}
		if int(c.Kernel) < len(h.kernels) {
			r.Object = h.code.name(h.kernels[c.Kernel].object)
		}
		return hotKey{kernel: c.Kernel}, r
	case "class":
		return hotKey{name: className(c.Class)}, HotRow{Name: className(c.Class)}
	case "branch":
		return h.branchGroup(c)
	}
	return hotKey{object: c.Object, pc: c.PC}, HotRow{
		Name: p.Text, Object: object, Address: addressOf(c.Where), Source: p.Line(), Class: className(c.Class),
	}
}

// nameGroups names the kernels that groups ran for, and tells lines and functions of one name in several objects apart.
func (h *Hot) nameGroups(by string, list []*hotGroup) {
	same := map[string]int{}
	for _, g := range list {
		same[g.Name]++
	}
	for _, g := range list {
		if (by == "line" || by == "function") && same[g.Name] > 1 {
			g.Name = inObject(g.Name, g.Object)
		}
		if by == "kernel" || by == "class" {
			continue
		}
		g.Kernel = h.kernelNames(mostFirst(g.kernels))
	}
}
