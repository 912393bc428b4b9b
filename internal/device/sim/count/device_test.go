package count_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// slow is set under the race detector: fewer kernels and mutations are tried.
var slow bool

const kernels = "../../../../testdata/kernels"

// gpuUnder is a simulated GPU under a test's hands.
type gpuUnder struct {
	*testing.T
	device.Device
}

func open(t *testing.T, target string, o sim.Options) *gpuUnder {
	t.Helper()
	g, err := gpu.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	return openModel(t, g, o)
}

func openModel(t *testing.T, g *gpu.GPU, o sim.Options) *gpuUnder {
	t.Helper()
	k, err := sim.New([]*gpu.GPU{g}, o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := kfd.Open(k, 0, kfd.Options{Spec: "sim", Simulated: true})
	if err != nil {
		t.Fatal(err)
	}
	return &gpuUnder{t, d}
}

// run submits parts and waits for them.
func (g *gpuUnder) run(parts ...device.Part) error {
	ctx, cancel := context.WithTimeout(g.Context(), time.Minute)
	defer cancel()
	p, err := g.Submit(ctx, parts...)
	if err != nil {
		return err
	}
	return g.Wait(ctx, p)
}

func (g *gpuUnder) must(parts ...device.Part) {
	g.Helper()
	if err := g.run(parts...); err != nil {
		g.Fatal(err)
	}
}

func (g *gpuUnder) memory(size uint64) *device.Buffer {
	g.Helper()
	b, err := g.Alloc(g.Context(), max(size, 64), device.AllocOptions{Uncached: true})
	if err != nil {
		g.Fatal(err)
	}
	return b
}

// Alloc gives a launch its buffers.
type heap struct{ g *gpuUnder }

func (h heap) Alloc(size uint64) (uint64, []byte, error) {
	b, err := h.g.Device.Alloc(h.g.Context(), max(size, 1), device.AllocOptions{})
	if err != nil {
		return 0, nil, err
	}
	return b.Addr, b.Bytes, nil
}

func launches(t *testing.T) []launch.Launch {
	t.Helper()
	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

func (g *gpuUnder) load(name string) (device.Launch, *launch.Ready) {
	g.Helper()
	ls := launches(g.T)
	for i := range ls {
		if ls[i].Name == name {
			return g.loadLaunch(&ls[i])
		}
	}
	g.Fatalf("launches.yaml has no %s", name)
	return device.Launch{}, nil
}

func (g *gpuUnder) loadLaunch(l *launch.Launch) (device.Launch, *launch.Ready) {
	g.Helper()
	target := g.Info().GPU.Target
	file := strings.TrimSuffix(filepath.Base(l.File), ".co") + ".co"
	data, err := os.ReadFile(filepath.Join(kernels, target, file))
	if errors.Is(err, os.ErrNotExist) {
		data, err = os.ReadFile(sharedtest.Path(g.T, "kernels", "co", target, file))
	}
	if err != nil {
		g.Fatal(err)
	}
	return g.loadObject(data, l)
}

func (g *gpuUnder) loadObject(data []byte, l *launch.Launch) (device.Launch, *launch.Ready) {
	g.Helper()
	o, err := codeobj.Open(data)
	if err != nil {
		g.Fatal(err)
	}
	k := &o.Kernels[0]
	for i := range o.Kernels {
		if o.Kernels[i].Name == l.Kernel {
			k = &o.Kernels[i]
		}
	}
	lo, hi := o.Span()
	code, err := g.Alloc(g.Context(), hi-lo, device.AllocOptions{Executable: true})
	if err != nil {
		g.Fatal(err)
	}
	base := code.Addr - lo
	if err := o.LoadInto(code.Bytes, base); err != nil {
		g.Fatal(err)
	}
	ready, err := l.Build(k, heap{g}, launch.Env{DescriptorAddr: base + k.DescriptorAddr, ABI: o.Version})
	if err != nil {
		g.Fatal(err)
	}
	return device.Launch{
		Name: k.Name, Entry: base + k.Entry, RSRC1: k.Descriptor.RSRC1, RSRC2: k.Descriptor.RSRC2, RSRC3: k.Descriptor.RSRC3,
		Properties: k.Descriptor.Properties, KernargPreload: k.Descriptor.Preload, Kernarg: ready.KernargAddr,
		Grid: ready.Grid, Block: ready.Block, LDSBytes: ready.LDSBytes, PrivateBytes: k.Descriptor.PrivateBytes,
		DescriptorAddr: base + k.DescriptorAddr,
	}, ready
}

// counting is a layout with its programs.
type counting struct {
	l           *perfctr.Layout
	start, stop []uint32
	samples     *device.Buffer
}

func (g *gpuUnder) program(names ...string) *counting {
	g.Helper()
	info := g.Info()
	c := &counting{}
	var err error
	if c.l, err = perfctr.NewLayout(info.GPU, names); err != nil {
		g.Fatal(err)
	}
	c.samples = g.memory(uint64(c.l.Bytes))
	if c.start, err = perfctr.Start(info.GPU, c.l); err != nil {
		g.Fatal(err)
	}
	if c.stop, err = perfctr.Stop(info.GPU, info.Live, c.l, int64(c.samples.Addr)); err != nil {
		g.Fatal(err)
	}
	return c
}

// totals are the sums of the counters' values, and whether each is a true number.
func (g *gpuUnder) totals(c *counting) map[string]uint64 {
	g.Helper()
	rs, err := perfctr.Read(g.Info().GPU, c.l, c.samples.Bytes[:c.l.Bytes], perfctr.Conditions{StablePower: true})
	if err != nil {
		g.Fatal(err)
	}
	out := map[string]uint64{}
	for i := range rs {
		if rs[i].Total.NA != "" {
			g.Errorf("%s: %s", rs[i].Counter.Name, rs[i].Total.NA)
		}
		out[rs[i].Counter.Name] = rs[i].Total.N
	}
	return out
}

// executed adds up what shaders executed, as their logs have it.
type executed struct {
	mu           sync.Mutex // the queue's goroutine adds
	waves, insts uint64
	class        [shader.NumClasses]uint64
	jumps        uint64 // outside SOPP
}

func (e *executed) add(g *shader.GroupLog) {
	e.mu.Lock()
	defer e.mu.Unlock()
	insts := g.Prog.Insts()
	for i := range g.Waves {
		w := &g.Waves[i]
		e.waves++
		e.insts += w.Insts
		for c, n := range w.Class {
			e.class[c] += n
		}
		for _, p := range w.Pieces {
			for k := p.First; k < p.First+p.N; k++ {
				if in := &insts[k].Inst; in.Op.Class == isa.Branch && in.Op.Format != isa.SOPP {
					e.jumps += uint64(p.Count)
				}
			}
		}
	}
}

func (e *executed) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waves, e.insts, e.jumps, e.class = 0, 0, 0, [shader.NumClasses]uint64{}
}

// launched is how many waves there were.
func (e *executed) launched() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waves
}

// want is what the counters of a family must show of it.
func (e *executed) want(f gpu.Family, target string) map[string]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := func(classes ...isa.Class) uint64 {
		n := uint64(0)
		for _, x := range classes {
			n += e.class[x]
		}
		return n
	}
	valu := c(isa.VALU, isa.VALUTrans, isa.VALU64, isa.Matrix)
	vmem := c(isa.VMEM, isa.Global, isa.Scratch, isa.Image)
	out := map[string]uint64{"SQ_WAVES": e.waves, "SQ_INSTS_VALU": valu, "SQ_INSTS_SALU": c(isa.SALU) + e.jumps, "SQ_INSTS_SMEM": c(isa.SMEM_)}
	if f != gpu.GFX9 {
		out["SQ_INSTS_LDS"], out["SQ_INSTS_FLAT"], out["SQ_WAVE32_INSTS"] = c(isa.LDS), c(isa.Flat), e.insts-c(isa.Delay)
		out["SQ_INSTS_WAVE32"] = valu + vmem + c(isa.LDS, isa.Flat)
		return out
	}
	out["SQ_INSTS_LDS"] = c(isa.LDS)
	if target == "gfx90a" {
		out["SQ_INSTS_LDS"] += c(isa.Flat)
	}
	out["SQ_INSTS_VMEM"], out["SQ_INSTS_FLAT"] = vmem+c(isa.Flat), c(isa.Global, isa.Scratch, isa.Flat)
	out["SQ_INSTS_MFMA"], out["SQ_INSTS_BRANCH"], out["SQ_INSTS"] = c(isa.Matrix), c(isa.Branch)-e.jumps, e.insts-c(isa.Delay)
	return out
}

// SQ_WAVES and SQ_INSTS_* are what the shaders executed, for every kernel on every target.
func TestKernels(t *testing.T) {
	ls := launches(t)
	for _, target := range []string{"gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx90a", "gfx942", "gfx950"} {
		t.Run(target, func(t *testing.T) {
			for i := range ls {
				l := &ls[i]
				if l.Name == "oob_far" || l.Name == "spin_long" || (slow || testing.Short()) && l.Name != "reduce" && l.Name != "gemm_f16" {
					continue
				}
				t.Run(l.Name, func(t *testing.T) {
					var e executed
					g := open(t, target, sim.Options{Groups: e.add})
					defer g.Close()
					info := g.Info()
					p, ready := g.loadLaunch(l)
					names := slices.Sorted(maps.Keys(e.want(info.GPU.Family, target)))
					var got map[string]uint64
					for pass := range slices.Chunk(names, 8) { // gfx90a has so many counters of the SQ
						c := g.program(pass...)
						e.reset()
						g.must(device.Words(c.start), p, device.Words(c.stop))
						got = g.totals(c)
						want := e.want(info.GPU.Family, target)
						for _, n := range pass {
							if got[n] != want[n] {
								t.Errorf("%s is %d, the shaders say %d", n, got[n], want[n])
							}
						}
					}
					width := uint64(32)
					if info.GPU.Family == gpu.GFX9 {
						width = 64
					}
					launched, whole := uint64(1), true
					for i := range 3 {
						launched *= uint64(ready.Groups[i])
						whole = whole && ready.Partial[i] == 0
					}
					launched *= (uint64(ready.Block[0])*uint64(ready.Block[1])*uint64(ready.Block[2]) + width - 1) / width
					if whole && got["SQ_WAVES"] != launched { // of the last pass
						t.Errorf("SQ_WAVES is %d, %d were launched", got["SQ_WAVES"], launched)
					}
				})
			}
		})
	}
}

// A matrix product's operations are what its size says: 2 n^3, in units of 512.
func TestMatrixOps(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		g := open(t, target, sim.Options{})
		p, _ := g.load("gemm_f16") // n is 64
		c := g.program("SQ_INSTS_VALU_MFMA_MOPS_F16", "SQ_INSTS_VALU_MFMA_MOPS_F32")
		g.must(device.Words(c.start), p, device.Words(c.stop))
		if got := g.totals(c); got["SQ_INSTS_VALU_MFMA_MOPS_F16"] != 2*64*64*64/512 || got["SQ_INSTS_VALU_MFMA_MOPS_F32"] != 0 {
			t.Errorf("%s: %v", target, got)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// other is a second process's waves, in flight all the time.
func other(vmid uint8) count.Load {
	l := count.Load{VMID: vmid, Period: 700, Life: 3000, Lanes: 32}
	l.Stats.N[timing.StatVALU], l.Stats.N[timing.StatSALU], l.Stats.Insts = 11, 3, 14
	return l
}

// The filtered program counts this process's waves alone, whatever another process runs.
func TestFiltered(t *testing.T) {
	names := []string{"SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_LDS", "SQ_WAVE_CYCLES", "SQ_BUSY_CYCLES", "SQ_WAVE32_INSTS"}
	for _, target := range []string{"gfx1200", "gfx1201"} {
		t.Run(target, func(t *testing.T) {
			run := func(filter bool, vmid int, vmids []uint32, loads ...count.Load) map[string]uint64 {
				var e executed
				g := open(t, target, sim.Options{VMIDs: vmids, Loads: loads, Groups: e.add})
				defer g.Close()
				info := g.Info()
				p, _ := g.load("reduce")
				c := g.program(names...)
				word := g.memory(64)
				start := c.start
				stop := c.stop
				if filter {
					f, err := perfctr.Filter(info.GPU, vmid)
					if err != nil {
						t.Fatal(err)
					}
					if start, err = perfctr.StartFiltered(info.GPU, c.l, int64(word.Addr)); err != nil {
						t.Fatal(err)
					}
					if stop, err = perfctr.StopFiltered(info.GPU, info.Live, c.l, int64(c.samples.Addr)); err != nil {
						t.Fatal(err)
					}
					// What stands before the program may write the word.
					start = append([]uint32(pm4.Stream(nil).WriteData(word.Addr, f)), start...)
				}
				g.must(p) // as the program is set up, others' waves go on
				g.must(device.Words(start), p, device.Words(stop), p)
				got := g.totals(c)
				if filter && vmid == 8 && vmids == nil && got["SQ_WAVES"] != e.launched()/3 {
					t.Errorf("%d waves of %d in three runs", got["SQ_WAVES"], e.launched())
				}
				return got
			}
			alone := run(false, 0, nil)
			mixed := run(false, 0, nil, other(9), other(12))
			filtered := run(true, 8, nil, other(9), other(12))
			for _, n := range names {
				if filtered[n] != alone[n] || alone[n] == 0 {
					t.Errorf("%s is %d filtered, %d alone", n, filtered[n], alone[n])
				}
				if n != "SQ_INSTS_LDS" && mixed[n] <= alone[n] {
					t.Errorf("%s is %d with others' waves, %d alone", n, mixed[n], alone[n])
				}
			}
			theirs := run(true, 9, nil, other(9), other(12))
			if n := theirs["SQ_WAVES"]; n == 0 || theirs["SQ_INSTS_LDS"] != 0 {
				t.Errorf("filtered to another process: %v", theirs)
			}
			for n, v := range run(true, 15, nil, other(9)) {
				if v != 0 {
					t.Errorf("%s is %d for a VMID without waves", n, v)
				}
			}
			// The process is mapped anew between its dispatches.
			if n := run(true, 8, []uint32{8, 10, 8}, other(9))["SQ_WAVES"]; n != 0 {
				t.Errorf("%d waves counted in an address space that the filter does not hold", n)
			}
		})
	}
}

// What keeps SQ_INSTS_VALU at 0, and what then is said of it.
func TestUnstable(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201"} {
		g := open(t, target, sim.Options{Unstable: true})
		p, _ := g.load("vadd")
		c := g.program("SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU")
		g.must(device.Words(c.start), p, device.Words(c.stop))
		rs, err := perfctr.Read(g.Info().GPU, c.l, c.samples.Bytes[:c.l.Bytes], perfctr.Conditions{StablePower: g.Info().StablePower})
		if err != nil || rs[0].Total.N == 0 || rs[2].Total.N == 0 || !strings.Contains(rs[1].Total.NA, "stable power state") {
			t.Errorf("%s: %v, %+v", target, err, rs)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// values are the words of a counter.
func values(b []byte, off, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[off+8*i:])
	}
	return out
}
