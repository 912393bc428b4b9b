package trace

import (
	"fmt"
	"strings"

	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// Memory is where traces are written: the bytes from addr to the end of its mapping.
type Memory interface {
	Map(addr uint64, write bool) (b []byte, ok bool)
}

// All selects every engine of a die.
const All = -1

// Registers that a unit holds, by what they are for.
const (
	rCtrl = iota // gfx9: CTRL, which resets
	rMode        // gfx9
	rMask
	rTokenMask
	rTokenMask2 // gfx9
	rBase       // low part of the page's number
	rBaseHi
	rSize
	rWptr
	rStatus
	rStatus2
	rDropped // gfx9: CNTR
	rPerf    // gfx9: CUs whose counters are shown
	rOther   // kept only: HIWATER, the second buffer, draw counters
	numRegs
)

var regNames = map[string]int{
	"CTRL": rCtrl, "MODE": rMode, "MASK": rMask, "TOKEN_MASK": rTokenMask, "TOKEN_MASK2": rTokenMask2,
	"BASE": rBase, "BASE2": rBaseHi, "SIZE": rSize, "BUF0_BASE": rBase, "BUF0_BASE_LO": rBase, "BUF0_BASE_HI": rBaseHi,
	"BUF0_SIZE": rSize, "WPTR": rWptr, "STATUS": rStatus, "STATUS2": rStatus2, "DROPPED_CNTR": rDropped, "CNTR": rDropped,
	"PERF_MASK": rPerf,
}

// Units are the trace units of all engines of a GPU. They are for one goroutine at a time.
type Units struct {
	g     *gpu.GPU
	regs  map[pm4.Reg]int // what each is for
	units []*unit
	sel   []int // per die: the engine that GRBM_GFX_INDEX selects, or All

	gfxIndex, enable, sqgEvents, dispatchEnd pm4.Reg
	computeBase, computeEnd                  pm4.Reg
	userdata                                 pm4.Reg
	seIndex, seAll                           pm4.Field
	top, bottom                              pm4.Field // of sqgEvents
}

// New makes the units of a GPU, switched off, that write to mem. regs is the register table of its GC version.
func New(g *gpu.GPU, regs *pm4.RegTable, mem Memory) (*Units, error) {
	t := &Units{g: g, regs: map[pm4.Reg]int{}}
	const prefix = "SQ_THREAD_TRACE_"
	for _, r := range regs.All() {
		name, ok := strings.CutPrefix(regs.Name(r), prefix)
		if !ok || strings.HasPrefix(name, "WORD_") {
			continue
		}
		if strings.HasPrefix(name, "USERDATA_") {
			continue // a register of the command processor's; writing it is what counts
		}
		id, ok := regNames[name]
		if !ok {
			id = rOther
		}
		t.regs[r] = id
	}
	sqg, sqgTop, sqgBottom := "SPI_CONFIG_CNTL", "ENABLE_SQG_TOP_EVENTS", "ENABLE_SQG_BOP_EVENTS"
	if g.Family == gpu.GFX12 {
		sqg = "SPI_SQG_EVENT_CTL"
	}
	for _, l := range []struct {
		r    *pm4.Reg
		name string
	}{
		{&t.gfxIndex, "GRBM_GFX_INDEX"},
		{&t.enable, "COMPUTE_THREAD_TRACE_ENABLE"},
		{&t.sqgEvents, sqg},
		{&t.computeBase, "COMPUTE_DISPATCH_INITIATOR"},
		{&t.dispatchEnd, "COMPUTE_DISPATCH_END"},
		{&t.userdata, prefix + "USERDATA_0"},
	} {
		r, ok := regs.Lookup(l.name)
		if !ok {
			return nil, fmt.Errorf("trace: GC %s has no register %s", regs.GC, l.name)
		}
		*l.r = r
	}
	t.computeEnd = t.computeBase + 0x80
	for _, l := range []struct {
		f         *pm4.Field
		reg, name string
	}{
		{&t.seIndex, "GRBM_GFX_INDEX", "SE_INDEX"},
		{&t.seAll, "GRBM_GFX_INDEX", "SE_BROADCAST_WRITES"},
		{&t.top, sqg, sqgTop},
		{&t.bottom, sqg, sqgBottom},
	} {
		f, ok := regs.Field(l.reg, l.name)
		if !ok {
			return nil, fmt.Errorf("trace: %s of GC %s has no field %s", l.reg, regs.GC, l.name)
		}
		*l.f = f
	}
	for e := range g.Engines() {
		u := &unit{g: g, engine: e, mem: mem, other: map[pm4.Reg]uint32{}}
		u.absolute = strings.HasPrefix(g.GC, "11.0.")
		switch g.Family {
		case gpu.GFX9:
			u.gfx9 = true
		case gpu.GFX12:
			u.l = &rdna4
		default:
			u.l = &rdna3
		}
		t.units = append(t.units, u)
	}
	for range g.Dies {
		t.sel = append(t.sel, All)
	}
	return t, nil
}

// TakeSamples makes traces that ask for it show samples of counters, which samples gives when a stream has come to until.
func (t *Units) TakeSamples(samples func(engine int, until int64, f func(t int64, sa, unit, bank int, v [4]uint16))) {
	for _, u := range t.units {
		u.samples = samples
	}
}

// Sampling tells whether an engine's stream shows samples of counters.
func (t *Units) Sampling(engine int) bool { return t.units[engine].sampling() }

// Owns tells whether a register is the units'.
func (t *Units) Owns(r pm4.Reg) bool {
	_, ok := t.regs[r]
	return ok
}

// engines calls f for the selected units of a die.
func (t *Units) engines(die, se int, f func(*unit)) {
	for i := range t.g.SEs {
		if se == All || se == i {
			f(t.units[die*t.g.SEs+i])
		}
	}
}

// WriteReg writes a register of engine se of a die, or of All.
func (t *Units) WriteReg(now int64, die, se int, r pm4.Reg, v uint32) {
	id := t.regs[r]
	t.engines(die, se, func(u *unit) { u.write(now, id, r, v) })
}

// ReadReg reads the register of the first selected engine.
func (t *Units) ReadReg(now int64, die, se int, r pm4.Reg) uint32 {
	if se == All || se >= t.g.SEs {
		se = 0
	}
	return t.units[die*t.g.SEs+se].read(now, t.regs[r], r)
}

// RegWritten tells of a register write of any block, which streams show.
func (t *Units) RegWritten(now int64, die int, r pm4.Reg, v uint32) {
	// Writes go where GRBM_GFX_INDEX pointed before; per-queue registers to all engines.
	se := t.sel[die]
	switch {
	case r == t.gfxIndex:
		t.sel[die] = int(t.seIndex.Get(v))
		if t.seAll.Get(v) != 0 {
			t.sel[die] = All
		}
	case r == t.sqgEvents:
		t.engines(die, All, func(u *unit) { u.top, u.bottom = t.top.Get(v) != 0, t.bottom.Get(v) != 0 })
		return
	case r >= t.computeBase && r < t.computeEnd:
		se = All
		if r == t.enable {
			t.engines(die, All, func(u *unit) { u.enabled = v&1 != 0 })
		}
	case r < t.userdata || r >= t.userdata+8:
		return // streams of compute queues show no others
	}
	cs := r >= t.computeBase && r < t.computeEnd
	addr := uint16(r)
	if cs {
		addr = uint16(r - t.computeBase)
	}
	t.engines(die, se, func(u *unit) { u.reg(now, cs, r == t.gfxIndex, addr, v) })
}

// Event tells of an EVENT_WRITE, given as type | index<<8.
func (t *Units) Event(now int64, die int, e uint32) {
	t.engines(die, All, func(u *unit) { u.event(now, uint8(e&0x3f)) })
}

// Dispatch tells that a grid starts on a die.
func (t *Units) Dispatch(now int64, die int, vmid, initiator uint32) {
	t.engines(die, All, func(u *unit) { u.dispatch(now, vmid, initiator) })
}

// Tracing tells whether any unit is on.
func (t *Units) Tracing() bool {
	for _, u := range t.units {
		if u.on {
			return true
		}
	}
	return false
}

// Detailed implements timing.Observer.
func (t *Units) Detailed(engine, sa, no, simd int) bool {
	u := t.units[engine]
	return u.on && u.inDetail(sa, no, simd) && u.wantsInsts()
}

// Events implements timing.Observer.
func (t *Units) Events(evs []timing.Event) {
	for i := range evs {
		e := &evs[i]
		u := t.units[e.Place.Engine]
		switch {
		case e.Kind == timing.AllLaunched: // the command processor writes COMPUTE_DISPATCH_END: every engine shows it
			t.engines(u.engine/t.g.SEs, All, func(u *unit) { u.launched(e.Time, uint16(t.dispatchEnd-t.computeBase)) })
		case !u.on:
		case u.gfx9: // whose MODE register alone switches tracing, as the gfx950 captures' programs show
			u.sample(e.Time)
			u.take9(e)
		case e.Flags&timing.Traced != 0:
			u.take(e)
		}
	}
}
