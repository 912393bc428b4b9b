package cp

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/pm4"
)

// Register spaces, dword addresses.
const (
	configBase  pm4.Reg = 0x2000
	shBase      pm4.Reg = 0x2c00
	shEnd       pm4.Reg = 0x3000
	contextBase pm4.Reg = 0xa000
	uconfigBase pm4.Reg = 0xc000
	uconfigEnd  pm4.Reg = 0x10000
)

// broadcast is GRBM_GFX_INDEX after reset: everything.
const broadcast = 0xe0000000

// names are the registers that mean something to the processor itself. Zero: the GC version lacks it.
type names struct {
	gfxIndex                            pm4.Reg
	initiator, start, numThread         pm4.Reg
	pgmLo, rsrc1, rsrc3, tmpring        pm4.Reg
	scratchLo, pktLo, userData, limits  pm4.Reg
	traceEnable, countEnable            pm4.Reg
	threadMgmt                          []pm4.Reg
	se, sa, instance, seAll, saAll, all pm4.Field // of GRBM_GFX_INDEX
}

func findNames(t *pm4.RegTable, engines int) (names, error) {
	var n names
	for _, f := range []struct {
		reg  *pm4.Reg
		name string
	}{
		{&n.gfxIndex, "GRBM_GFX_INDEX"},
		{&n.initiator, "COMPUTE_DISPATCH_INITIATOR"},
		{&n.start, "COMPUTE_START_X"},
		{&n.numThread, "COMPUTE_NUM_THREAD_X"},
		{&n.pgmLo, "COMPUTE_PGM_LO"},
		{&n.rsrc1, "COMPUTE_PGM_RSRC1"},
		{&n.rsrc3, "COMPUTE_PGM_RSRC3"},
		{&n.tmpring, "COMPUTE_TMPRING_SIZE"},
		{&n.scratchLo, "COMPUTE_DISPATCH_SCRATCH_BASE_LO"},
		{&n.pktLo, "COMPUTE_DISPATCH_PKT_ADDR_LO"},
		{&n.userData, "COMPUTE_USER_DATA_0"},
		{&n.limits, "COMPUTE_RESOURCE_LIMITS"},
		{&n.traceEnable, "COMPUTE_THREAD_TRACE_ENABLE"},
		{&n.countEnable, "COMPUTE_PERFCOUNT_ENABLE"},
	} {
		r, ok := t.Lookup(f.name)
		if !ok {
			return n, fmt.Errorf("cp: GC %s has no register %s", t.GC, f.name)
		}
		*f.reg = r
	}
	for e := range engines {
		r, ok := t.Lookup(fmt.Sprintf("COMPUTE_STATIC_THREAD_MGMT_SE%d", e))
		if !ok {
			return n, fmt.Errorf("cp: GC %s masks fewer than %d engines", t.GC, engines)
		}
		n.threadMgmt = append(n.threadMgmt, r)
	}
	for _, f := range []struct {
		field *pm4.Field
		a, b  string // gfx9 calls an array SH
	}{
		{&n.se, "SE_INDEX", ""},
		{&n.sa, "SA_INDEX", "SH_INDEX"},
		{&n.instance, "INSTANCE_INDEX", ""},
		{&n.seAll, "SE_BROADCAST_WRITES", ""},
		{&n.saAll, "SA_BROADCAST_WRITES", "SH_BROADCAST_WRITES"},
		{&n.all, "INSTANCE_BROADCAST_WRITES", ""},
	} {
		got, ok := t.Field("GRBM_GFX_INDEX", f.a)
		if !ok {
			got, ok = t.Field("GRBM_GFX_INDEX", f.b)
		}
		if !ok {
			return n, fmt.Errorf("cp: GRBM_GFX_INDEX of GC %s has no field %s", t.GC, f.a)
		}
		*f.field = got
	}
	return n, nil
}

// regFile is one die's registers that belong to no unit.
type regFile struct {
	sh      *shState             // of the queue that executes
	uconfig map[pm4.Reg][]uint32 // per engine
	engines int
	sel     Select // of writes
	from    Select // of reads
}

func newRegFile(die, engines int) *regFile {
	return &regFile{uconfig: map[pm4.Reg][]uint32{}, engines: engines, sel: Select{Die: die, SE: All, SA: All, Instance: All}, from: Select{Die: die}}
}

func (f *regFile) get(r pm4.Reg) uint32 {
	if r >= shBase && r < shEnd {
		return f.sh[r-shBase]
	}
	v := f.uconfig[r]
	e := f.from.SE
	if e >= len(v) {
		return 0 // never written, or an engine that the die has not
	}
	return v[e]
}

func (f *regFile) set(r pm4.Reg, v uint32) {
	if r >= shBase && r < shEnd {
		f.sh[r-shBase] = v
		return
	}
	vs := f.uconfig[r]
	if vs == nil {
		vs = make([]uint32, f.engines)
		f.uconfig[r] = vs
	}
	for e := range vs {
		if f.sel.SE == All || f.sel.SE == e {
			vs[e] = v
		}
	}
}

// access says how a packet reaches a register.
type access uint8

const (
	bySet     access = iota // SET_SH_REG, SET_UCONFIG_REG
	byMapped                // COPY_DATA and WRITE_DATA, selector 0
	byPerfSel               // COPY_DATA, selector 4
)

// check refuses registers that no table names and those that a user queue does not reach.
func (p *Processor) check(r pm4.Reg, how access) error {
	if r >= uconfigEnd || p.owners[r] == nobody {
		return fmt.Errorf("register %#x is unknown on GC %s", uint32(r), p.regs.GC)
	}
	switch {
	case r >= shBase && r < shEnd, r >= uconfigBase:
		return nil
	case r >= configBase && r < contextBase && how == byPerfSel && p.owners[r] >= 0:
		return nil // performance registers of the privileged space
	}
	return fmt.Errorf("register %s (%#x) is not for user queues", p.regs.Name(r), uint32(r))
}

// Owners of registers that are no unit.
const (
	nobody = -2 // no table names it
	itself = -1 // the register file
)

// findOwners looks every register up once.
func (p *Processor) findOwners() {
	p.owners = make([]int8, uconfigEnd)
	for r := range p.owners {
		p.owners[r] = nobody
	}
	for _, r := range p.regs.All() {
		if r >= uconfigEnd {
			continue
		}
		p.owners[r] = itself
		for i, u := range p.units {
			if u.Owns(r) {
				p.owners[r] = int8(i)
				break
			}
		}
	}
}

func (p *Processor) unit(r pm4.Reg) Unit {
	if i := p.owners[r]; i >= 0 {
		return p.units[i]
	}
	return nil
}

// write stores to a register of the active dies.
func (p *Processor) write(r pm4.Reg, v uint32, how access) error {
	if err := p.check(r, how); err != nil {
		return err
	}
	u := p.unit(r)
	for die, f := range p.files {
		if p.active>>die&1 == 0 {
			continue
		}
		switch {
		case r == p.names.gfxIndex:
			f.uconfig[r] = []uint32{v}
			f.sel, f.from = p.selection(die, v)
		case u != nil:
			if err := u.WriteReg(p.now, f.sel, r, v); err != nil {
				return fmt.Errorf("register %s: %w", p.regs.Name(r), err)
			}
		default:
			f.set(r, v)
		}
		for _, l := range p.listeners {
			l.RegWritten(p.now, f.sel, r, v)
		}
	}
	return nil
}

// read loads a register of one die.
func (p *Processor) read(die int, r pm4.Reg, how access) (uint32, error) {
	if err := p.check(r, how); err != nil {
		return 0, err
	}
	f := p.files[die]
	if r == p.names.gfxIndex {
		if v := f.uconfig[r]; v != nil {
			return v[0], nil
		}
		return broadcast, nil
	}
	if u := p.unit(r); u != nil {
		v, err := u.ReadReg(p.now, f.from, r)
		if err != nil {
			return 0, fmt.Errorf("register %s: %w", p.regs.Name(r), err)
		}
		return v, nil
	}
	return f.get(r), nil
}

// selection is what GRBM_GFX_INDEX selects for writes, and for reads: those go by the indices alone, since the broadcast fields are named
// for writes. That is a guess; every driver leaves the indices of what it broadcasts 0.
func (p *Processor) selection(die int, v uint32) (writes, reads Select) {
	n := &p.names
	reads = Select{Die: die, SE: int(n.se.Get(v)), SA: int(n.sa.Get(v)), Instance: int(n.instance.Get(v))}
	writes = reads
	if n.seAll.Get(v) != 0 {
		writes.SE = All
	}
	if n.saAll.Get(v) != 0 {
		writes.SA = All
	}
	if n.all.Get(v) != 0 {
		writes.Instance = All
	}
	return writes, reads
}

// die is the lowest active one, which answers where one answer is wanted.
func (p *Processor) die() int {
	for d := range p.files {
		if p.active>>d&1 != 0 {
			return d
		}
	}
	return 0
}
