package sim

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// GPU is one simulated device.
type GPU struct {
	*gpu.GPU
	id     uint32
	rev    uint32 // PCI revision
	opts   Options
	regs   *pm4.RegTable
	stable atomic.Bool
	ticks  atomic.Uint64 // the constant clock, as of the last packet

	busy sync.Mutex // held by the queue that executes
	cp   *cp.Processor
	from epoch // of the busy time, guarded by busy

	running *process // whose queue executes, guarded by busy

	mu      sync.Mutex
	users   map[*process]struct{}
	entered int   // processes since it was powered up
	holder  *file // of the stable power state
	machine *machine
}

// epoch joins modelled and host time.
type epoch struct {
	cycles int64
	host   time.Time
}

// firstGPUID is the first device's id; real ones are hashes.
const firstGPUID = 0x5eed

func newGPU(m *gpu.GPU, index int, o Options) (*GPU, error) {
	regs, err := pm4.RegsFor(m.GC)
	if err != nil {
		return nil, err
	}
	g := &GPU{GPU: m, id: firstGPUID + uint32(index), opts: o, regs: regs, users: map[*process]struct{}{}}
	for rev := range 256 { // the one that tells the board from others with its device id
		if b, ok := gpu.ByPCI(m.PCIDevice, uint8(rev)); ok && b.Name == m.Name {
			g.rev = uint32(rev)
			break
		}
	}
	return g, nil
}

// enter lets a process have the GPU, beside others. The first powers it up.
func (g *GPU) enter(p *process) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.users) == 0 {
		if err := g.powerUp(); err != nil {
			return fmt.Errorf("sim: %w", err)
		}
	}
	p.vmids = g.opts.VMIDs
	if g.entered > 0 { // amdkfd has VMIDs 8 to 15 on GPUs with graphics
		p.vmids = []uint32{8 + uint32(g.entered)%8}
	}
	g.entered++
	p.runner = &runner{m: g.machine, p: p, shader: shader.NewMachine(p)}
	g.users[p] = struct{}{}
	return nil
}

func (g *GPU) powerUp() error {
	m, err := newMachine(g)
	if err != nil {
		return err
	}
	g.cp, err = cp.New(cp.Config{
		GPU: g.GPU, Regs: g.regs, Units: m.units(), Listeners: m.listeners(), Pace: g.pace, WaitLimit: g.opts.WaitLimit,
	})
	if err != nil {
		return err
	}
	g.machine, g.entered = m, 0
	g.ticks.Store(g.cp.Ticks(0))
	return nil
}

// leave powers the GPU down once its last process is gone.
func (g *GPU) leave(p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.users, p)
	if len(g.users) == 0 {
		g.cp, g.machine = nil, nil
	}
}

// begin gives a queue the GPU.
func (g *GPU) begin(ctx context.Context, p *process) error {
	g.busy.Lock()
	if p.fault.Load() != nil {
		g.busy.Unlock()
		<-ctx.Done() // nothing of a process that faulted is executed; it has been told why
		return ctx.Err()
	}
	g.from, g.running = epoch{cycles: g.cp.Now(), host: time.Now()}, p
	return nil
}

func (g *GPU) finish() {
	g.ticked()
	g.running = nil
	g.busy.Unlock()
}

func (g *GPU) ticked() { g.ticks.Store(g.cp.Ticks(g.cp.Now())) }

// pace holds results back until the host's clock has come as far as the modelled one.
func (g *GPU) pace(ctx context.Context, now int64) error {
	busy := time.Duration(float64(now-g.from.cycles) / float64(g.ClockHz) * 1e9)
	ahead := busy - time.Since(g.from.host)
	if ahead <= 0 {
		return nil
	}
	if ahead < 50*time.Microsecond { // shorter than a sleep takes
		for end := time.Now().Add(ahead); time.Now().Before(end); {
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	}
	t := time.NewTimer(ahead)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// failed stops a process and tells it why.
func (g *GPU) failed(p *process, err error) {
	p.fault.Store(&err)
	var data abi.EventData
	if m, ok := errors.AsType[*cp.MemoryError](err); ok {
		data.MemoryException = abi.HSAMemoryExceptionData{VA: m.Addr &^ (pageBytes - 1), GPUID: g.id}
		f := &data.MemoryException.Failure
		switch {
		case m.NoExec && p.find(m.Addr) != nil:
			f.NoExecute = 1
		case m.Write && p.find(m.Addr) != nil:
			f.ReadOnly = 1
		default:
			f.NotPresent = 1
		}
		p.events.raise(abi.EventMemory, data)
		return
	}
	data.SetHWException(abi.HSAHWExceptionData{GPUID: g.id})
	p.events.raise(abi.EventHWException, data)
}

// setStable takes or drops the stable power state for an open render node.
func (g *GPU) setStable(f *file, on bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opts.Unstable || g.holder != nil && g.holder != f {
		return unix.EBUSY
	}
	g.holder, f.pstate = nil, 0
	if on {
		g.holder, f.pstate = f, 1
	}
	g.stable.Store(on)
	return nil
}

// deviceInfo answers AMDGPU_INFO_DEV_INFO. The bitmap is the first die's: dies are alike.
func (g *GPU) deviceInfo() abi.DRMInfoDevice {
	d := abi.DRMInfoDevice{
		DeviceID: g.PCIDevice, PCIRev: g.rev, NumShaderEngines: uint32(g.SEs), NumShaderArraysPerEngine: uint32(g.SAs),
		GPUCounterFreq: uint32(g.RefClockHz / 1000), MaxEngineClock: uint64(g.ClockHz / 1000),
		VirtualAddressOffset: vmBase, VirtualAddressMax: vmLimit + 1, VirtualAddressAlignment: pageBytes, GARTPageSize: pageBytes,
	}
	live := g.LiveUnits()
	for s := range g.SEs {
		for a := range g.SAs {
			col := a + 2*(s/4)
			if g.SAs == 1 {
				col = s / 4
			}
			if col > 3 {
				continue
			}
			mask := live[s][a]
			if g.Family != gpu.GFX9 {
				var cus uint32
				for u := range g.Units {
					cus |= (mask >> u & 1) * 3 << (2 * u)
				}
				mask = cus
			}
			d.CUBitmap[s%4][col] = mask
			d.CUActiveNumber += uint32(bits.OnesCount32(mask) * g.Dies)
		}
	}
	return d
}

// checkSaveArea wants the sizes that topology states, as kfd_queue.c does.
func (g *GPU) checkSaveArea(p *process, a *abi.CreateQueueArgs) error {
	props := properties(g, 0)
	ctx, ctl := property(props, "cwsr_size"), property(props, "ctl_stack_size")
	m := p.find(a.CtxSaveRestoreAddress)
	if uint64(a.CtlStackSize) != ctl || uint64(a.CtxSaveRestoreSize) < ctx || m == nil || m.va != a.CtxSaveRestoreAddress ||
		uint64(len(m.bytes)) < ctx*uint64(g.Dies) {
		return unix.EINVAL
	}
	h := (*abi.ContextSaveAreaHeader)(unsafe.Pointer(&m.bytes[0]))
	if uint64(h.DebugOffset)+uint64(h.DebugSize) > uint64(len(m.bytes)) {
		return unix.EINVAL
	}
	return nil
}
