package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rigprof/rigprof/configs"
)

// refClockHz is the constant clock of every model we know; devices state it in their topology.
const refClockHz = 100e6

// FamilyOf is the family of a target such as "gfx1100"; features after a colon ("gfx90a:xnack-") do not matter. Targets that
// rigprof does not serve are Unknown.
func FamilyOf(target string) Family {
	target, _, _ = strings.Cut(target, ":")
	switch {
	case target == "gfx90a", target == "gfx942", target == "gfx950":
		return GFX9
	case len(target) == 7 && (strings.HasPrefix(target, "gfx110") || strings.HasPrefix(target, "gfx115")):
		return GFX11
	case len(target) == 7 && strings.HasPrefix(target, "gfx120"):
		return GFX12
	}
	return Unknown
}

type model struct {
	GPU
	byTarget bool // the model that the bare target means
	pciRevs  []uint8
}

var models = sync.OnceValue(func() []model {
	ms, err := parseModels(configs.GPUs)
	if err != nil {
		panic("gpu: embedded models: " + err.Error()) // our own table; a test reads it
	}
	return ms
})

// Models lists the known models, each the caller's own.
func Models() []*GPU {
	var out []*GPU
	for i := range models() {
		out = append(out, models()[i].clone())
	}
	return out
}

// Lookup finds a model by target ("gfx1100" is the Radeon RX 7900 XTX) or by marketing name, in any case, with or without the brand:
// "Radeon RX 7900 XT", "rx-7900-xt", "mi300x", "gfx942:sramecc+:xnack-". The GPU is the caller's own.
func Lookup(name string) (*GPU, error) {
	if target, _, ok := strings.Cut(name, ":"); ok && FamilyOf(target) != Unknown {
		name = target // a code object's target with features
	}
	want := plain(name)
	var near []string
	for i := range models() {
		m := &models()[i]
		short := plain(strings.TrimPrefix(strings.TrimPrefix(m.Name, "Radeon "), "Instinct "))
		if m.byTarget && m.Target == want || want == plain(m.Name) || want == short {
			return m.clone(), nil
		}
		if m.byTarget {
			near = append(near, m.Target)
		}
	}
	return nil, fmt.Errorf("no GPU model %q is known: give a target (%s) or a marketing name such as \"RX 7900 XT\"", name, strings.Join(near, ", "))
}

// ByPCI finds the model with a PCI device id and revision; a wrong revision falls back to the first model of the id.
func ByPCI(device uint32, rev uint8) (*GPU, bool) {
	var found *model
	for i := range models() {
		m := &models()[i]
		if m.PCIDevice != device {
			continue
		}
		if slices.Contains(m.pciRevs, rev) {
			return m.clone(), true
		}
		if found == nil {
			found = m
		}
	}
	if found == nil {
		return nil, false
	}
	return found.clone(), true
}

func (m *model) clone() *GPU {
	g := m.GPU
	g.Live = g.LiveUnits()
	return &g
}

// plain is a name without case, spaces, dashes and underscores.
func plain(s string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(s))
}

const modelColumns = "name target default gc pci_id pci_revs dies ses sas units live simds slots vgprs lds l0_kib l1_kib l2_kib l2_instances mall_mib clock_mhz mem_gb_s uncertain"

func parseModels(table string) ([]model, error) {
	columns := strings.Fields(modelColumns)
	var out []model
	seen := false
	for i, line := range strings.Split(table, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		if !seen {
			if strings.Join(cells, " ") != modelColumns {
				return nil, fmt.Errorf("line %d: columns are %q", i+1, cells)
			}
			seen = true
			continue
		}
		if len(cells) != len(columns) {
			return nil, fmt.Errorf("line %d: %d cells, want %d", i+1, len(cells), len(columns))
		}
		m, err := parseModel(func(col string) string { return cells[slices.Index(columns, col)] })
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func parseModel(cell func(string) string) (model, error) {
	var bad error
	num := func(col string) int {
		v, err := strconv.ParseUint(cell(col), 10, 31)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%s: %q is no number", col, cell(col))
		}
		return int(v)
	}
	m := model{byTarget: cell("default") == "yes", GPU: GPU{
		Name: cell("name"), Target: cell("target"), GC: cell("gc"), Family: FamilyOf(cell("target")),
		Dies: num("dies"), SEs: num("ses"), SAs: num("sas"), Units: num("units"), SIMDs: num("simds"), Slots: num("slots"),
		LDSBytes: num("lds"), VGPRs: num("vgprs"), ClockHz: int64(num("clock_mhz")) * 1e6, RefClockHz: refClockHz, L2Channels: num("l2_instances"),
		L0Bytes: num("l0_kib") << 10, L1Bytes: num("l1_kib") << 10, L2Bytes: num("l2_kib") << 10, MALLBytes: num("mall_mib") << 20,
		MemBytesPerSec: int64(num("mem_gb_s")) * 1e9,
	}}
	if id, err := strconv.ParseUint(cell("pci_id"), 16, 16); err == nil {
		m.PCIDevice = uint32(id)
	} else if bad == nil {
		bad = fmt.Errorf("pci_id: %q is no hexadecimal number", cell("pci_id"))
	}
	for _, s := range strings.Split(cell("pci_revs"), ",") {
		if rev, err := strconv.ParseUint(s, 16, 8); err == nil {
			m.pciRevs = append(m.pciRevs, uint8(rev))
		}
	}
	arrays := m.Engines() * m.SAs
	missing := arrays*m.Units - num("live")
	switch {
	case bad != nil:
	case m.Family == Unknown:
		bad = fmt.Errorf("target %q is of no family", m.Target)
	case arrays == 0 || m.Units == 0 || m.Units > 32:
		bad = fmt.Errorf("%d arrays of %d units", arrays, m.Units)
	case missing < 0 || missing > arrays*m.Units:
		bad = fmt.Errorf("live: %d of %d units", num("live"), arrays*m.Units)
	}
	if bad != nil {
		return model{}, bad
	}
	m.Live = harvest(m.Engines(), m.SAs, m.Units, missing)
	return m, nil
}

// harvest spreads missing units evenly over the arrays and takes each array's highest-numbered ones.
func harvest(engines, arrays, units, missing int) [][]uint32 {
	live := make([][]uint32, engines)
	total := engines * arrays
	for e := range live {
		live[e] = make([]uint32, arrays)
		for a := range live[e] {
			k := e*arrays + a
			lost := (k+1)*missing/total - k*missing/total
			live[e][a] = uint32(uint64(1)<<(units-lost) - 1)
		}
	}
	return live
}
