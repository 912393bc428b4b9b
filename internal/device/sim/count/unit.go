package count

import (
	"fmt"
	"math"

	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// Config is what a Unit is part of.
type Config struct {
	GPU    *gpu.GPU
	Regs   *pm4.RegTable
	Stable func() bool                    // whether the stable power state is held; nil: always
	L2     func(die int) []timing.L2Stats // what a die's channels have counted so far; nil: nothing
	Busy   func(die int) timing.BusyStats // in which cycles a die's units had work; nil: never
	Loads  []Load                         // waves of other processes
	// Sampling tells whether an engine's trace unit wants samples of the SQ's counters; nil: none does.
	Sampling func(engine int) bool
}

// Unit is all counters of a GPU. It is not for use by several goroutines at once.
type Unit struct {
	Config
	gfx9   bool
	blocks []*block
	sq     *block
	regs   map[pm4.Reg]register
	dies   []*die
	state  pm4.Field // of CP_PERFMON_CNTL
	sample pm4.Field
	ctrl   controls

	counted []uint32    // by SIMD: slots whose wave the SQ counts
	units   []busySpan  // by WGP or CU: counted waves in flight
	loads   []loadState // running ones
	flying  int         // waves of the dispatch in progress

	samplers []sampler // by engine, GFX9
}

// register is what an address of ours means.
type register struct {
	kind  regKind
	block *block
	n     int
}

type regKind uint8

const (
	regSelect regKind = iota
	regLo
	regHi
	regState
	regClock
	regCtrl
	regCtrl2
	regMask
)

// controls are the fields by which waves are let through.
type controls struct {
	csEn, vmidMask, disable, forceEn, vmidEn, rate pm4.Field
	mask                                           [2]pm4.Field // of the CUs of an array
}

// die is one die's control of its counters.
type die struct {
	no     int
	cntl   uint32
	clock  uint32 // RLC_PERFMON_CLK_CNTL
	since  int64  // clock counters have counted up to here
	l2Last []timing.L2Stats
	busy   timing.BusyStats // so far
}

// block is all copies of a block.
type block struct {
	blockRow
	copies []copyOf
	perDie int
	event  pm4.Field // of a select
	simd   pm4.Field // gfx9's SQ: masks; width 0 elsewhere
	client pm4.Field
	bank   pm4.Field
	modes  []pm4.Field // that must be 0
}

// copyOf is one copy of a block.
type copyOf struct {
	selects           []uint32
	counters          []counter
	busy              busySpan
	ctrl, ctrl2, mask uint32 // SQ
	first, n          int    // SQ: its units
}

// counter is one counter register.
type counter struct {
	event              *event
	simd, client, bank uint32
	value              uint64
	shown              uint64 // by the last sample
	at                 int64  // accumulators: integrated up to here
}

// busySpan is a number of waves in flight and since when there is one.
type busySpan struct {
	n     int
	since int64
}

func (b *busySpan) start(t int64) {
	if b.n == 0 {
		b.since = t
	}
	b.n++
}

// New makes the counters of a powered-on GPU: nothing selected, reset, stopped.
func New(c Config) (*Unit, error) {
	u := &Unit{Config: c, gfx9: c.GPU.Family == gpu.GFX9, regs: map[pm4.Reg]register{}}
	if u.Stable == nil {
		u.Stable = func() bool { return true }
	}
	g := c.GPU
	for _, row := range parsed().blocks {
		if row.family == g.Family {
			b, err := u.newBlock(row)
			if err != nil {
				return nil, err
			}
			u.blocks = append(u.blocks, b)
			if row.name == "SQ" {
				u.sq = b
			}
		}
	}
	if u.sq == nil {
		return nil, fmt.Errorf("count: no counters of %s GPUs are known", g.Family)
	}
	if err := u.findControls(); err != nil {
		return nil, err
	}
	for d := range g.Dies {
		u.dies = append(u.dies, &die{no: d})
	}
	units := g.Engines() * g.SAs * g.Units
	u.counted = make([]uint32, units*g.SIMDs)
	u.units = make([]busySpan, units)
	for i := range u.sq.copies {
		s := &u.sq.copies[i]
		s.n = units / len(u.sq.copies)
		s.first = i * s.n
	}
	u.samplers = make([]sampler, g.Engines())
	u.newLoads()
	return u, nil
}

// newBlock makes all copies of a block and finds its registers.
func (u *Unit) newBlock(row blockRow) (*block, error) {
	g := u.GPU
	switch row.instances {
	case manyChannels:
		row.instances = max(g.L2Channels, 1)
	case manyUnits:
		row.instances = g.Units
	}
	b := &block{blockRow: row}
	n := g.Dies * row.instances
	if row.scope != perDie {
		n *= g.SEs
	}
	if row.scope == perWGP {
		n *= g.SAs * g.Units
	}
	b.copies, b.perDie = make([]copyOf, n), n/g.Dies
	for i := range b.copies {
		b.copies[i] = copyOf{selects: make([]uint32, row.counters*row.step), counters: make([]counter, row.counters)}
	}
	found := 0
	for i := range row.counters * row.step {
		if r, ok := u.Regs.Lookup(fmt.Sprintf("%s_PERFCOUNTER%d_SELECT", row.name, i)); ok {
			u.regs[r] = register{regSelect, b, i}
			found++
		}
	}
	for i := range row.counters {
		if r, ok := u.Regs.Lookup(fmt.Sprintf("%s_PERFCOUNTER%d_LO", row.name, i)); ok {
			u.regs[r] = register{regLo, b, i}
			found++
		}
		if r, ok := u.Regs.Lookup(fmt.Sprintf("%s_PERFCOUNTER%d_HI", row.name, i)); ok {
			u.regs[r] = register{regHi, b, i}
		}
	}
	if found != row.counters*(row.step+1) {
		return nil, fmt.Errorf("count: GC %s lacks counter registers of block %s", u.Regs.GC, row.name)
	}
	name := row.name + "_PERFCOUNTER0_SELECT"
	r, _ := u.Regs.Lookup(name)
	for _, f := range u.Regs.Fields(r) {
		switch f.Name {
		case row.field:
			b.event = f
		case "SIMD_MASK":
			b.simd = f
		case "SQC_CLIENT_MASK":
			b.client = f
		case "SQC_BANK_MASK":
			b.bank = f
		case "SPM_MODE", "CNTR_MODE", "PERF_MODE", "CNTR_MODE0":
			b.modes = append(b.modes, f)
		}
	}
	if b.event.Name == "" {
		return nil, fmt.Errorf("count: %s of GC %s has no field %s", name, u.Regs.GC, row.field)
	}
	return b, nil
}

func (u *Unit) findControls() error {
	cntl := "CP_PERFMON_CNTL"
	if _, ok := u.Regs.Lookup(cntl); !ok {
		cntl = "CP_PERFMON_CNTL_1" // gfx12's name
	}
	for _, c := range []struct {
		name string
		kind regKind
		gfx9 bool // alone
	}{
		{cntl, regState, false},
		{"SQ_PERFCOUNTER_CTRL", regCtrl, false},
		{"SQ_PERFCOUNTER_CTRL2", regCtrl2, false},
		{"SQ_PERFCOUNTER_MASK", regMask, true},
		{"RLC_PERFMON_CLK_CNTL", regClock, true},
	} {
		r, ok := u.Regs.Lookup(c.name)
		if !ok && (u.gfx9 || !c.gfx9) {
			return fmt.Errorf("count: GC %s has no register %s", u.Regs.GC, c.name)
		}
		if ok {
			u.regs[r] = register{c.kind, u.sq, 0}
		}
	}
	for _, f := range []struct {
		field          *pm4.Field
		reg, name      string
		gfx9, notOlder bool
	}{
		{&u.state, cntl, "PERFMON_STATE", true, true},
		{&u.sample, cntl, "PERFMON_SAMPLE_ENABLE", true, true},
		{&u.ctrl.csEn, "SQ_PERFCOUNTER_CTRL", "CS_EN", true, true},
		{&u.ctrl.vmidMask, "SQ_PERFCOUNTER_CTRL", "VMID_MASK", true, false},
		{&u.ctrl.rate, "SQ_PERFCOUNTER_CTRL", "CNTR_RATE", true, false},
		{&u.ctrl.disable, "SQ_PERFCOUNTER_CTRL", "DISABLE_ME1PIPE0_PERF", false, true},
		{&u.ctrl.forceEn, "SQ_PERFCOUNTER_CTRL2", "FORCE_EN", false, true},
		{&u.ctrl.vmidEn, "SQ_PERFCOUNTER_CTRL2", "VMID_EN", false, true},
		{&u.ctrl.mask[0], "SQ_PERFCOUNTER_MASK", "SH0_MASK", true, false},
		{&u.ctrl.mask[1], "SQ_PERFCOUNTER_MASK", "SH1_MASK", true, false},
	} {
		if u.gfx9 && !f.gfx9 || !u.gfx9 && !f.notOlder {
			continue
		}
		got, ok := u.Regs.Field(f.reg, f.name)
		if !ok {
			return fmt.Errorf("count: %s of GC %s has no field %s", f.reg, u.Regs.GC, f.name)
		}
		*f.field = got
	}
	return nil
}

// Owns implements cp.Unit.
func (u *Unit) Owns(r pm4.Reg) bool {
	_, ok := u.regs[r]
	return ok
}

// each calls f with the copies of a block that a selection means, in order, until it returns false.
func (u *Unit) each(b *block, s cp.Select, f func(*copyOf) bool) {
	g := u.GPU
	wgp, inst := cp.All, s.Instance
	switch b.index {
	case byNone:
		inst = cp.All
	case byWGP:
		if inst != cp.All {
			wgp, inst = inst>>2, inst&3
		}
		if b.instances == 1 {
			inst = cp.All
		}
	}
	ses, sas, wgps := 1, 1, 1
	if b.scope != perDie {
		ses = g.SEs
	} else {
		s.SE = cp.All
	}
	if b.scope == perWGP {
		sas, wgps = g.SAs, g.Units
	} else {
		s.SA = cp.All
	}
	for e := range ses {
		for a := range sas {
			for w := range wgps {
				for i := range b.instances {
					if !meant(s.SE, e) || !meant(s.SA, a) || !meant(wgp, w) || !meant(inst, i) {
						continue
					}
					if !f(&b.copies[(((s.Die*ses+e)*sas+a)*wgps+w)*b.instances+i]) {
						return
					}
				}
			}
		}
	}
}

func meant(index, n int) bool { return index == cp.All || index == n }

// WriteReg implements cp.Unit. Value registers do not take writes.
func (u *Unit) WriteReg(now int64, s cp.Select, r pm4.Reg, v uint32) error {
	reg, d := u.regs[r], u.dies[s.Die]
	u.catchUp(now)
	switch reg.kind {
	case regState:
		return u.setState(d, now, v)
	case regClock:
		u.settle(d, now)
		d.clock = v
	case regSelect:
		return u.choose(d, now, s, reg, v)
	case regCtrl, regCtrl2, regMask:
		u.each(reg.block, s, func(c *copyOf) bool {
			switch reg.kind {
			case regCtrl:
				c.ctrl = v
			case regCtrl2:
				c.ctrl2 = v
			default:
				c.mask = v
			}
			return true
		})
	}
	return nil
}

// catchUp comes to now, where no dispatch is in progress.
func (u *Unit) catchUp(now int64) {
	if u.flying != 0 {
		u.abandon(now)
	}
	u.advance(now)
}

// States of CP_PERFMON_CNTL.PERFMON_STATE.
const (
	stateReset = iota
	stateStart
	stateStop
)

func (u *Unit) setState(d *die, now int64, v uint32) error {
	if left := v &^ (u.state.Mask() | u.sample.Mask()); left != 0 {
		return fmt.Errorf("%#x: streaming and windowed counting are not modelled", left)
	}
	state := u.state.Get(v)
	if state > stateStop {
		return fmt.Errorf("PERFMON_STATE %d is not modelled", state)
	}
	u.settle(d, now)
	if state == stateStart && u.state.Get(d.cntl) != stateStart {
		u.restart(d, now)
	}
	d.cntl = v
	if state == stateReset {
		u.counters(d, func(_ *block, _ *copyOf, c *counter) { c.value, c.shown, c.at = 0, 0, now })
	}
	if u.sample.Get(v) != 0 {
		u.latch(d)
	}
	return nil
}

func (u *Unit) counters(d *die, f func(*block, *copyOf, *counter)) {
	for _, b := range u.blocks {
		own := b.of(d)
		for i := range own {
			for j := range own[i].counters {
				f(b, &own[i], &own[i].counters[j])
			}
		}
	}
}

// of is the copies that a die has.
func (b *block) of(d *die) []copyOf {
	n := b.perDie
	return b.copies[d.no*n : (d.no+1)*n]
}

// latch takes a sample of counters that have been settled.
func (u *Unit) latch(d *die) {
	u.counters(d, func(b *block, c *copyOf, n *counter) {
		n.shown = 0
		if n.event == nil {
			return
		}
		n.shown = n.value / n.event.div
		if n.event.how == byLevel && n.event.terms[0].what == qWaveCycles {
			n.shown = uint64(c.busy.n)
		}
		if b.bits == 32 {
			n.shown = min(n.shown, math.MaxUint32)
		}
	})
}

// choose writes a select.
func (u *Unit) choose(d *die, now int64, s cp.Select, reg register, v uint32) error {
	b := reg.block
	if reg.n%b.step != 0 { // for streaming
		u.each(b, s, func(c *copyOf) bool { c.selects[reg.n] = v; return true })
		return nil
	}
	for _, m := range b.modes {
		if m.Get(v) != 0 {
			return fmt.Errorf("%s %d: simulated counters know no mode but plain counting", m.Name, m.Get(v))
		}
	}
	u.settle(d, now)
	e := lookup(u.GPU.Target, b.name, int(b.event.Get(v)))
	u.each(b, s, func(c *copyOf) bool {
		c.selects[reg.n] = v
		n := &c.counters[reg.n/b.step]
		n.event, n.at = e, now
		n.simd, n.client, n.bank = ^uint32(0), ^uint32(0), ^uint32(0)
		if b.simd.Name != "" {
			n.simd, n.client, n.bank = b.simd.Get(v), b.client.Get(v), b.bank.Get(v)
		}
		return true
	})
	return nil
}

// ReadReg implements cp.Unit.
func (u *Unit) ReadReg(now int64, s cp.Select, r pm4.Reg) (uint32, error) {
	reg, d := u.regs[r], u.dies[s.Die]
	u.catchUp(now)
	switch reg.kind {
	case regState:
		return d.cntl, nil
	case regClock:
		return d.clock, nil
	}
	var v uint32
	u.each(reg.block, s, func(c *copyOf) bool {
		switch reg.kind {
		case regSelect:
			v = c.selects[reg.n]
		case regLo:
			v = uint32(c.counters[reg.n].shown)
		case regHi:
			v = uint32(c.counters[reg.n].shown >> 32)
		case regCtrl:
			v = c.ctrl
		case regCtrl2:
			v = c.ctrl2
		case regMask:
			v = c.mask
		}
		return false
	})
	return v, nil
}

// RegWritten implements cp.Listener.
func (u *Unit) RegWritten(int64, cp.Select, pm4.Reg, uint32) {}

// eventSample is VGT_EVENT_TYPE's PERFCOUNTER_SAMPLE.
const eventSample = 0x1b

// Event implements cp.Listener.
func (u *Unit) Event(now int64, die int, e uint32) {
	if e&0x3f == eventSample {
		u.catchUp(now)
		d := u.dies[die]
		u.settle(d, now)
		u.latch(d)
	}
}
