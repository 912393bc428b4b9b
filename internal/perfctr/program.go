package perfctr

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

type stepWhen uint8

const (
	always stepWhen = iota
	onlyFiltered
	onlyUnfiltered
)

// write is one register write of a program, to all engines and dies.
type write struct {
	reg   pm4.Reg
	value uint32
	when  stepWhen
}

type field struct {
	lo   uint8
	mask uint32 // in place
}

func (f field) put(v uint32) uint32 { return v << f.lo & f.mask }

// selector is GRBM_GFX_INDEX: what the following accesses go to.
type selector struct {
	reg                                 pm4.Reg
	engine, array, instance             field
	allEngines, allArrays, allInstances field
}

// all chooses everything, for writes.
func (s *selector) all() uint32 { return s.allEngines.mask | s.allArrays.mask | s.allInstances.mask }

type countProgram struct {
	arch                     string
	filter                   pm4.Reg
	index                    selector
	reset, start, stop, done []write
}

// regRow is where a block's counters are.
type regRow struct {
	arch, block string
	sel, lo, hi [maxCounters]pm4.Reg // by counter register; hi 0: 32 bits only
	eventLo     uint8
	eventMask   uint32
	constant    uint32 // other fields of the select
}

func regsOf(arch, block string) *regRow {
	for i := range blockRegs {
		if r := &blockRegs[i]; r.arch == arch && r.block == block {
			return r
		}
	}
	return nil
}

// programOf finds the registers for a layout on a GPU.
func programOf(g *gpu.GPU, l *Layout) (*countProgram, error) {
	tab, err := pm4.RegsFor(g.GC)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Target, err)
	}
	if l.Target != g.Target || l.Dies != g.Dies {
		return nil, fmt.Errorf("the layout is of %s on %d dies, the GPU is %s on %d", l.Target, l.Dies, g.Target, g.Dies)
	}
	if g.Dies < 1 || g.Dies > 8 {
		return nil, fmt.Errorf("%s on %d dies: programs address 1 to 8", g.Target, g.Dies)
	}
	for i := range l.Counters {
		c := &l.Counters[i]
		r := regsOf(tab.Arch, c.Block)
		if r == nil || r.sel[c.Register] == 0 || r.lo[c.Register] == 0 {
			return nil, fmt.Errorf("%s: GC %s has no register %d of block %s", c.Name, g.GC, c.Register, c.Block)
		}
	}
	for i := range countPrograms {
		if countPrograms[i].arch == tab.Arch {
			return &countPrograms[i], nil
		}
	}
	return nil, fmt.Errorf("%s: no counting program for GC %s", g.Target, g.GC)
}

// checkFiltered says what a filtered program does not serve.
func checkFiltered(g *gpu.GPU, l *Layout) error {
	if !filtered(g) {
		return fmt.Errorf("%s on %d dies has no filter by VMID", g.Target, g.Dies)
	}
	for i := range l.Counters {
		if c := &l.Counters[i]; c.Block != "SQ" {
			return fmt.Errorf("%s: the filter chooses what SQ counters count, not %s ones", c.Name, c.Block)
		}
	}
	return nil
}

// Start is the packets that start counting the layout's counters, every process's work included: they wait until the queue's earlier
// dispatches are complete, reset all counters and choose the layout's.
func Start(g *gpu.GPU, l *Layout) ([]uint32, error) { return AppendStart(nil, g, l) }

// AppendStart is Start, appended to dst; with capacity it allocates nothing.
func AppendStart(dst []uint32, g *gpu.GPU, l *Layout) ([]uint32, error) {
	p, err := programOf(g, l)
	if err != nil {
		return dst, fmt.Errorf("perfctr: start: %w", err)
	}
	return p.startWords(dst, g, l, false, 0), nil
}

// StartFiltered is Start for SQ counters of a one-die GFX12 GPU, counting only the waves that the word at filterAddress selects (see
// Filter). The packets read it when the queue's earlier dispatches are complete, so one of them may write it.
func StartFiltered(g *gpu.GPU, l *Layout, filterAddress int64) ([]uint32, error) {
	p, err := programOf(g, l)
	if err == nil {
		err = checkFiltered(g, l)
	}
	if err == nil && (filterAddress < 0 || filterAddress%4 != 0) {
		err = fmt.Errorf("filter word at %#x: the address is a multiple of 4 and not negative", filterAddress)
	}
	if err != nil {
		return nil, fmt.Errorf("perfctr: start: %w", err)
	}
	return p.startWords(nil, g, l, true, uint64(filterAddress)), nil
}

func (p *countProgram) startWords(dst []uint32, g *gpu.GPU, l *Layout, byVMID bool, filter uint64) []uint32 {
	s := pm4.Stream(dst).EventWrite(pm4.EventCSPartialFlush).AcquireMem(g.Family, pm4.System)
	s = s.SetUconfig(p.index.reg, p.index.all())
	s = writes(s, p.reset, byVMID)
	for i := range l.Counters {
		c := &l.Counters[i]
		r := regsOf(p.arch, c.Block)
		s = s.SetUconfig(r.sel[c.Register], r.constant|uint32(c.Event)<<r.eventLo&r.eventMask)
	}
	if byVMID {
		s = s.CopyMemToReg(filter, p.filter)
	}
	s = writes(s, p.start, byVMID)
	return s.EventWrite(pm4.EventCSPartialFlush)
}

func writes(s pm4.Stream, steps []write, byVMID bool) pm4.Stream {
	for _, w := range steps {
		if w.when == onlyFiltered && !byVMID || w.when == onlyUnfiltered && byVMID {
			continue
		}
		s = s.SetReg(w.reg, w.value)
	}
	return s
}

// Stop is the packets that end what Start began: they wait until the queue's earlier dispatches are complete, stop counting, store the
// layout's values at address, 0 for each unit that runs no work (live, as the trace programs take it), and let no later wave count.
func Stop(g *gpu.GPU, live [][]uint32, l *Layout, address int64) ([]uint32, error) {
	return AppendStop(nil, g, live, l, address)
}

// StopFiltered is Stop for what StartFiltered began.
func StopFiltered(g *gpu.GPU, live [][]uint32, l *Layout, address int64) ([]uint32, error) {
	if err := checkFiltered(g, l); err != nil {
		return nil, fmt.Errorf("perfctr: stop: %w", err)
	}
	return AppendStop(nil, g, live, l, address)
}

// AppendStop is Stop, appended to dst; with capacity it allocates nothing.
func AppendStop(dst []uint32, g *gpu.GPU, live [][]uint32, l *Layout, address int64) ([]uint32, error) {
	p, err := programOf(g, l)
	if err == nil {
		err = checkLive(g, live)
	}
	if err == nil && (address < 0 || address%8 != 0 || address > 1<<62) {
		err = fmt.Errorf("values at %#x: the address is a multiple of 8 and not negative", address)
	}
	if err != nil {
		return dst, fmt.Errorf("perfctr: stop: %w", err)
	}
	s := pm4.Stream(dst).EventWrite(pm4.EventCSPartialFlush)
	s = s.SetUconfig(p.index.reg, p.index.all())
	s = writes(s, p.stop, false)
	for i := range l.Counters {
		first := true
		for j := range i {
			first = first && l.Counters[j].Block != l.Counters[i].Block
		}
		if first {
			s = p.readBlock(s, g, live, l, i, uint64(address))
		}
	}
	s = s.SetUconfig(p.index.reg, p.index.all())
	s = writes(s, p.done, false)
	return s.AcquireMem(g.Family, pm4.System), nil
}

func checkLive(g *gpu.GPU, live [][]uint32) error {
	if len(live) != g.Engines() {
		return fmt.Errorf("live units of %d engines: %s has %d", len(live), g.Target, g.Engines())
	}
	for e := range live {
		if len(live[e]) != g.SAs {
			return fmt.Errorf("live units of %d arrays in engine %d: %s has %d", len(live[e]), e, g.Target, g.SAs)
		}
	}
	return nil
}

// readBlock stores the values of all counters of one block, the first of which is number first of the layout: copy by copy, all of
// its counters at each.
func (p *countProgram) readBlock(s pm4.Stream, g *gpu.GPU, live [][]uint32, l *Layout, first int, address uint64) pm4.Stream {
	c := &l.Counters[first]
	regs := regsOf(p.arch, c.Block)
	word := 0
	for die := range g.Dies {
		for inst := range c.Instances {
			for e := range c.Engines {
				for a := range c.Arrays {
					for w := range c.WGPs {
						at := len(s)
						if g.Dies > 1 {
							s = s.PredExec(1<<die, 0)
						}
						works := c.works(g, live, die, e, a, w, inst)
						if works {
							s = s.SetUconfig(p.index.reg, p.index.word(c, e, a, w, inst))
						}
						for i := first; i < len(l.Counters); i++ {
							if o := &l.Counters[i]; o.Block == c.Block {
								s = p.store(s, g, regs, o.Register, works, address+uint64(o.Offset+8*word))
							}
						}
						if g.Dies > 1 {
							s = s.EndPredExec(at)
						}
						word++
					}
				}
			}
		}
	}
	return s
}

// works reports whether a copy of the counter's block is there and can have counted anything.
func (c *Placed) works(g *gpu.GPU, live [][]uint32, die, engine, array, wgp, instance int) bool {
	if c.row.scope == perDie {
		return c.lacks(g, instance) == ""
	}
	arrays := live[die*g.SEs+engine]
	switch {
	case c.row.scope == perWGP:
		return arrays[array]>>wgp&1 != 0
	case c.Instances > 1: // GFX9: one instance for each CU
		return instance < g.Units && arrays[0]>>instance&1 != 0
	}
	for _, units := range arrays {
		if units != 0 {
			return true
		}
	}
	return false
}

// lacks says why the GPU has no such instance of the counter's block, or "".
func (c *Placed) lacks(g *gpu.GPU, instance int) string {
	switch {
	case c.row.scope == perDie && (c.Block == "GL2C" || c.Block == "TCC") && g.L2Channels > 0 && instance >= g.L2Channels:
		return fmt.Sprintf("the board has %d %s instances", g.L2Channels, c.Block)
	case c.row.scope == perEngine && c.Instances > 1 && instance >= g.Units:
		return fmt.Sprintf("an engine is built with %d %s instances", g.Units, c.Block)
	}
	return ""
}

// word chooses one copy of a counter's block.
func (s *selector) word(c *Placed, engine, array, wgp, instance int) uint32 {
	v := uint32(0)
	switch c.row.scope {
	case perDie:
		v = s.allEngines.mask | s.allArrays.mask
	case perEngine:
		v = s.engine.put(uint32(engine)) | s.allArrays.mask
	case perWGP:
		return s.engine.put(uint32(engine)) | s.array.put(uint32(array)) | s.instance.put(uint32(wgp<<2|instance))
	}
	if c.Instances == 1 {
		return v | s.allInstances.mask
	}
	return v | s.instance.put(uint32(instance))
}

// store puts one counter's value at addr. A unit that runs no work counts nothing.
func (p *countProgram) store(s pm4.Stream, g *gpu.GPU, r *regRow, reg int, works bool, addr uint64) pm4.Stream {
	if !works {
		return s.WriteData(addr, 0, 0)
	}
	s = copyOut(s, g, r.lo[reg], addr)
	if r.hi[reg] == 0 {
		return s.WriteData(addr+4, 0)
	}
	return copyOut(s, g, r.hi[reg], addr+4)
}

// confirmedCopy is COPY_DATA's control for register (selector 0) to memory through the L2, 32 bits, confirmed.
const confirmedCopy = pm4.SelReg | pm4.SelMemL2<<8 | 1<<20

func copyOut(s pm4.Stream, g *gpu.GPU, r pm4.Reg, addr uint64) pm4.Stream {
	if g.Family == gpu.GFX9 {
		return s.CopyData(confirmedCopy, uint64(r), addr)
	}
	return s.CopyRegToMem(r, addr, true)
}
