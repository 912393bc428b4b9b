package perfctr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
)

// maxCounters is the most counter registers that any block has.
const maxCounters = 16

// scope is what a GPU has copies of a block in.
type scope uint8

const (
	perDie scope = iota
	perEngine
	perWGP
)

// Verification says where a counter's event number comes from.
type Verification uint8

const (
	verified   Verification = iota // rocprofiler's table of the target
	assumed                        // another's, as rocprofiler leaves out the target or the event
	unverified                     // a sister target's, while the target renumbers some events
)

type blockRow struct {
	name      string
	counters  uint8
	scope     scope
	instances uint8 // of a die, engine or WGP
	bits      uint8 // of a value; 32: it saturates
}

type counterRow struct {
	name  string
	block uint8 // of the target's table
	event uint16
	how   Verification

	differs string // other AMD tables' numbers; "-": none has any
}

type counterTable struct {
	target string
	blocks []blockRow
	rows   []counterRow // by name
}

func tableOf(target string) *counterTable {
	for i := range counterTables {
		if counterTables[i].target == target {
			return &counterTables[i]
		}
	}
	return nil
}

func (t *counterTable) find(name string) *counterRow {
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.rows, name, func(r counterRow, name string) int { return strings.Compare(r.name, name) })
	if !ok {
		return nil
	}
	return &t.rows[i]
}

// Counter is an event that a GPU can count, with the copies of its block that have a value of their own.
type Counter struct {
	Name, Block string
	Event       int
	Instances   int  // of a die, engine or WGP
	Engines     int  // of a die; 1: not divided by engines
	Arrays      int  // of an engine
	WGPs        int  // of an array
	Assumed     bool // the event number is a sister target's or another source's, as rocprofiler lists none
	Unverified  bool // the event number is another target's and may be wrong here

	Compared bool   // other AMD tables number the event
	Differs  string // those that give it another number: "soc24_enum.h: 97"
}

func (t *counterTable) counter(g *gpu.GPU, r *counterRow) Counter {
	b := &t.blocks[r.block]
	c := Counter{
		Name: r.name, Block: b.name, Event: int(r.event), Instances: int(b.instances), Engines: 1, Arrays: 1, WGPs: 1,
		Assumed: r.how == assumed, Unverified: r.how == unverified,
	}
	if r.differs != "-" {
		c.Compared, c.Differs = true, r.differs
	}
	if b.scope != perDie {
		c.Engines = g.SEs
	}
	if b.scope == perWGP {
		c.Arrays, c.WGPs = g.SAs, g.Units
	}
	return c
}

// Description says what a counter counts, or nothing where we have no words for it.
func Description(counter string) string {
	i, ok := slices.BinarySearchFunc(descriptions[:], counter, func(d struct{ name, text string }, name string) int { return strings.Compare(d.name, name) })
	if !ok {
		return ""
	}
	return descriptions[i].text
}

// Counters lists what a GPU can count, by name; nothing if there is no table of its target.
func Counters(g *gpu.GPU) []Counter {
	t := tableOf(g.Target)
	if t == nil {
		return nil
	}
	out := make([]Counter, len(t.rows))
	for i := range t.rows {
		out[i] = t.counter(g, &t.rows[i])
	}
	return out
}

// UnknownError is for a name of nothing that a target counts.
type UnknownError struct{ Target, Name string }

func (e *UnknownError) Error() string { return e.Target + " counts no " + e.Name }

// Limit is how many counters of a block a GPU counts at once, 0 if it has no such block.
func Limit(g *gpu.GPU, block string) int {
	if t := tableOf(g.Target); t != nil {
		for i := range t.blocks {
			if t.blocks[i].name == block {
				return int(t.blocks[i].counters)
			}
		}
	}
	return 0
}

// Placed is a counter of a layout: the register it has and where its words begin.
type Placed struct {
	Counter
	Register int // of the block's counter registers
	Offset   int // bytes from the samples' start
	row      *blockRow
}

// Words is how many values a run stores for the counter.
func (p *Placed) Words(dies int) int { return dies * p.Instances * p.Engines * p.Arrays * p.WGPs }

// Layout is the counters of one run and where their values go.
type Layout struct {
	Target   string
	Dies     int
	Counters []Placed
	Bytes    int // of a run's samples
}

// NewLayout hands out registers and places for counters, in the order of names.
func NewLayout(g *gpu.GPU, names []string) (*Layout, error) {
	for i, n := range names {
		if slices.Contains(names[i+1:], n) {
			return nil, fmt.Errorf("%s is listed twice", n)
		}
	}
	t := tableOf(g.Target)
	l := &Layout{Target: g.Target, Dies: g.Dies, Counters: make([]Placed, 0, len(names))}
	used := map[string]int{}
	for _, n := range names {
		r := t.find(n)
		if r == nil {
			return nil, &UnknownError{g.Target, n}
		}
		b := &t.blocks[r.block]
		if used[b.name] == int(b.counters) {
			return nil, fmt.Errorf("%s counts at most %d %s counters at once", g.Target, b.counters, b.name)
		}
		p := Placed{Counter: t.counter(g, r), Register: used[b.name], Offset: l.Bytes, row: b}
		used[b.name]++
		l.Bytes += 8 * p.Words(g.Dies)
		l.Counters = append(l.Counters, p)
	}
	return l, nil
}

// maxVMID is the last of the address spaces that a GPU tells waves apart by.
const maxVMID = 15

// Filter is the word that makes only the waves of one VMID count: bit 0 turns the choice on, bit 1+v chooses VMID v (SQ_PERFCOUNTER_CTRL2's
// FORCE_EN and VMID_EN). GFX12 GPUs of one die have such a filter.
func Filter(g *gpu.GPU, vmid int) (uint32, error) {
	if !filtered(g) {
		return 0, fmt.Errorf("%s on %d dies has no filter by VMID: its counts may include other processes' work", g.Target, g.Dies)
	}
	if vmid < 0 || vmid > maxVMID {
		return 0, fmt.Errorf("VMID %d: there are 0 to %d", vmid, maxVMID)
	}
	return 1 | 1<<(vmid+1), nil
}

func filtered(g *gpu.GPU) bool { return g.Family == gpu.GFX12 && g.Dies == 1 }
