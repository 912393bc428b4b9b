package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// machine is what a GPU has beside its command processor: timing of the shaders, trace and counter units.
type machine struct {
	g      *GPU
	arch   isa.Arch
	apu    bool // the host's memory is the GPU's own
	timing *timing.Machine
	trace  *traceUnits
	count  *count.Unit

	observers  []timing.Observer
	dispatches int // so far
}

func newMachine(g *GPU) (*machine, error) {
	arch, ok := isa.ArchOf(g.Target)
	if !ok {
		return nil, fmt.Errorf("no instructions of %s are known", g.Target)
	}
	tm, err := timing.New(g.GPU, g.LiveUnits())
	if err != nil {
		return nil, err
	}
	tr, err := newTraceUnits(g)
	if err != nil {
		return nil, err
	}
	c, err := count.New(count.Config{GPU: g.GPU, Regs: g.regs, Stable: g.stable.Load, L2: tm.L2, Busy: tm.Busy, Loads: g.opts.Loads, Sampling: tr.Sampling})
	if err != nil {
		return nil, err
	}
	tr.TakeSamples(c.Samples)
	apu := strings.HasPrefix(g.GC, "11.5.") || g.GC == "11.0.1" || g.GC == "11.0.4" // Strix, Phoenix
	// The counters come first: streams show what they have counted.
	return &machine{g: g, arch: arch, apu: apu, timing: tm, trace: tr, count: c, observers: []timing.Observer{c, tr}}, nil
}

func (m *machine) units() []cp.Unit         { return []cp.Unit{m.trace, m.count} }
func (m *machine) listeners() []cp.Listener { return []cp.Listener{m.trace, m.count} }

// runner runs a process's dispatches: its shaders see its memory.
type runner struct {
	m      *machine
	p      *process
	shader *shader.Machine
}

// CodeWritten implements cp.Runner.
func (r *runner) CodeWritten() { r.shader.Invalidate() }

// Bits of COMPUTE_PGM_RSRC2 and the units of its LDS_SIZE, and of COMPUTE_TMPRING_SIZE's WAVESIZE.
const (
	rsrc2ScratchEn = 1 << 0
	ldsShift       = 15
	ldsMask        = 0x1ff
	waveSizeShift  = 12
)

// kernel reads a dispatch's registers as the shaders' input.
func (m *machine) kernel(d *cp.Dispatch) *shader.Kernel {
	k := &shader.Kernel{
		Arch: m.arch, Entry: d.Entry, Wave32: d.Wave32, RSRC1: d.RSRC1, RSRC2: d.RSRC2, RSRC3: d.RSRC3,
		Groups: d.Groups, Block: d.Block, Partial: d.Partial, VMID: d.VMID, DispatchPkt: d.PacketAddr,
		Log: shader.LogFull,
	}
	copy(k.UserData[:], d.UserData[:])
	unit := uint32(512)
	if m.g.Target == "gfx950" {
		unit = 1280
	}
	k.LDSBytes = min(d.RSRC2>>ldsShift&ldsMask*unit, uint32(m.g.LDSBytes))
	if waveUnits := d.Tmpring >> waveSizeShift; d.RSRC2&rsrc2ScratchEn != 0 && waveUnits > 0 {
		unit, lanes := uint32(256), uint32(64)
		if m.g.Family == gpu.GFX9 {
			unit = 1024
		}
		if d.Wave32 {
			lanes = 32
		}
		k.ScratchBytes = waveUnits * unit / lanes
		k.ScratchBase = d.ScratchBase[0]
	}
	return k
}

// kernel is a dispatch of the process.
func (r *runner) kernel(d *cp.Dispatch) *shader.Kernel {
	k := r.m.kernel(d)
	k.TrapBase, k.TrapMem = r.p.trapHandler()
	return k
}

// Dispatch implements cp.Runner.
func (r *runner) Dispatch(ctx context.Context, d *cp.Dispatch) (int64, error) {
	k := r.kernel(d)
	run := r.shader.Run(ctx, k)
	defer run.Close()
	end, err := r.time(ctx, d, k, run)
	if f, ok := errors.AsType[*shader.Fault](err); ok && errors.Is(f, shader.ErrMemory) {
		err = &cp.MemoryError{Addr: f.Addr, Write: f.Write, Err: f, Kernel: f.Kernel}
	}
	return end, err
}

// time runs the grid's workgroups and says when the last ends.
func (r *runner) time(ctx context.Context, d *cp.Dispatch, k *shader.Kernel, run *shader.Run) (int64, error) {
	m := r.m
	m.dispatches++
	for _, die := range d.Dies {
		m.trace.Dispatch(d.Start, die, d.VMID, d.Initiator)
	}
	res, err := m.timing.Dispatch(ctx, timing.Dispatch{
		Start: d.Start, Kernel: k, Source: m.source(run), Dies: d.Dies, ThreadMgmt: d.ThreadMgmt, ResourceLimits: d.ResourceLimits,
		Pages: r.page, ID: m.dispatches, Traced: d.TraceEnable, Counted: d.CountEnable,
	}, m.observers...)
	return max(res.End, d.Start), err
}

// maxFragment is log2 of the largest piece of contiguous memory that amdgpu's page tables describe by one entry: 2 MiB.
const maxFragment = 21

// page is what the page tables say of an address: how large a piece of memory around it is contiguous and aligned, and whose it is.
func (r *runner) page(addr uint64) timing.Page {
	a := r.p.find(addr)
	if a == nil {
		return timing.Page{}
	}
	p := timing.Page{Shift: maxFragment, Host: a.flags&abi.AllocGTT != 0 && !r.m.apu}
	for p.Shift > 12 {
		if start := addr &^ (1<<p.Shift - 1); start >= a.va && start+(1<<p.Shift) <= a.va+uint64(len(a.bytes)) {
			break
		}
		p.Shift--
	}
	return p
}

// source is what the run hands out, shown to whoever wants to see it.
func (m *machine) source(run *shader.Run) timing.Source {
	if m.g.opts.Groups == nil {
		return run
	}
	return &shown{run, m.g.opts.Groups}
}

type shown struct {
	*shader.Run
	show func(*shader.GroupLog)
}

func (s *shown) Next() (*shader.GroupLog, error) {
	g, err := s.Run.Next()
	if err == nil {
		s.show(g)
	}
	return g, err
}
