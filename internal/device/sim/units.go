package sim

import (
	"fmt"
	"sync/atomic"

	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/trace"
	"github.com/rigprof/rigprof/internal/pm4"
)

// traceUnits joins the trace units to the command processor's seams.
type traceUnits struct {
	*trace.Units
	owner atomic.Pointer[process] // who programmed them last: the buffers are in its address space
	g     *GPU
}

func newTraceUnits(g *GPU) (*traceUnits, error) {
	u := &traceUnits{g: g}
	var err error
	if u.Units, err = trace.New(g.GPU, g.regs, u); err != nil {
		return nil, fmt.Errorf("trace units: %w", err)
	}
	return u, nil
}

// Map implements trace.Memory.
func (u *traceUnits) Map(addr uint64, write bool) ([]byte, bool) {
	p := u.owner.Load()
	if p == nil {
		return nil, false
	}
	return p.Map(addr, write)
}

// WriteReg implements cp.Unit.
func (u *traceUnits) WriteReg(now int64, s cp.Select, r pm4.Reg, v uint32) error {
	if p := u.g.running; p != nil {
		u.owner.Store(p)
	}
	u.Units.WriteReg(now, s.Die, s.SE, r, v)
	return nil
}

// ReadReg implements cp.Unit.
func (u *traceUnits) ReadReg(now int64, s cp.Select, r pm4.Reg) (uint32, error) {
	return u.Units.ReadReg(now, s.Die, s.SE, r), nil
}

// RegWritten implements cp.Listener.
func (u *traceUnits) RegWritten(now int64, s cp.Select, r pm4.Reg, v uint32) {
	u.Units.RegWritten(now, s.Die, r, v)
}
