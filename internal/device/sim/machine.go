package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// machine is what a GPU has beside its command processor: shaders, their timing, trace and counter units.
type machine struct {
	g      *GPU
	arch   isa.Arch
	shader *shader.Machine
}

func newMachine(g *GPU, p *process) (*machine, error) {
	arch, ok := isa.ArchOf(g.Target)
	if !ok {
		return nil, fmt.Errorf("no instructions of %s are known", g.Target)
	}
	return &machine{g: g, arch: arch, shader: shader.NewMachine(p)}, nil
}

func (m *machine) units() []cp.Unit         { return nil }
func (m *machine) listeners() []cp.Listener { return nil }

// CodeWritten implements cp.Runner.
func (m *machine) CodeWritten() { m.shader.Invalidate() }

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

// Dispatch implements cp.Runner.
func (m *machine) Dispatch(ctx context.Context, d *cp.Dispatch) (int64, error) {
	if err := m.placeable(d); err != nil {
		return d.Start, err
	}
	k := m.kernel(d)
	run := m.shader.Run(ctx, k)
	defer run.Close()
	end, err := m.time(ctx, d, k, run)
	if f, ok := errors.AsType[*shader.Fault](err); ok && errors.Is(f, shader.ErrMemory) {
		err = &cp.MemoryError{Addr: f.Addr, Write: f.Write, Err: f, Kernel: f.Kernel}
	}
	return end, err
}

// placeable refuses a grid that no unit may run: hardware would wait for ever.
func (m *machine) placeable(d *cp.Dispatch) error {
	live := m.g.LiveUnits()
	for _, die := range d.Dies {
		for s := range m.g.SEs {
			e := die*m.g.SEs + s
			for a, mask := range live[e] {
				if mask&m.allowed(d.ThreadMgmt[e]>>(16*a)&0xffff) != 0 {
					return nil
				}
			}
		}
	}
	return errors.New("COMPUTE_STATIC_THREAD_MGMT leaves no unit to run the grid")
}

// allowed is the units that an array's half of COMPUTE_STATIC_THREAD_MGMT lets run: its bits are CUs, two of a WGP from gfx11 on.
func (m *machine) allowed(cus uint32) uint32 {
	if m.g.Family == gpu.GFX9 {
		return cus
	}
	var units uint32
	for u := range m.g.Units {
		if cus>>(2*u)&3 != 0 {
			units |= 1 << u
		}
	}
	return units
}

// time runs the grid's workgroups and says when the last ends.
func (m *machine) time(_ context.Context, d *cp.Dispatch, _ *shader.Kernel, run *shader.Run) (int64, error) {
	var insts uint64
	units := 0
	for _, engine := range m.g.LiveUnits() {
		for _, mask := range engine {
			units += bits.OnesCount32(mask)
		}
	}
	for {
		g, err := run.Next()
		if errors.Is(err, io.EOF) {
			return d.Start + int64(insts)/int64(units*m.g.SIMDs) + 1000, nil
		}
		if err != nil {
			return d.Start, err
		}
		for i := range g.Waves {
			insts += g.Waves[i].Insts
		}
		g.Release()
	}
}
