package trace_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sqtt"
)

const (
	kernels    = "../../../../testdata/kernels"
	traceBytes = 1 << 16
)

// traced is a run of a bundled kernel on a whole simulated device, from its start program to the bytes that engines wrote.
type traced struct {
	device.Info
	streams [][]byte
	waves   int64 // that the shaders executed
}

// run traces the launch called name on a simulated GPU of this model.
func run(t *testing.T, g *gpu.GPU, name string, grid uint32, opts ...sqtt.Option) *traced {
	t.Helper()
	return runAfter(t, g, name, grid, 1, nil, opts...)
}

// runAfter is run with other packets between the start program and the launch, which comes several times.
func runAfter(t *testing.T, g *gpu.GPU, name string, grid uint32, times int, before pm4.Stream, opts ...sqtt.Option) *traced {
	t.Helper()
	out := &traced{}
	var waves atomic.Int64
	k, err := sim.New([]*gpu.GPU{g}, sim.Options{Groups: func(l *shader.GroupLog) { waves.Add(int64(len(l.Waves))) }})
	must(t, err)
	d, err := kfd.Open(k, 0, kfd.Options{Spec: "sim", Simulated: true})
	must(t, err)
	defer func() { must(t, d.Close()) }()
	out.Info = d.Info()
	n := uint64(g.Engines())
	alloc := func(size, align uint64, executable bool) *device.Buffer {
		b, err := d.Alloc(t.Context(), size, device.AllocOptions{Uncached: true, Align: align, Executable: executable})
		must(t, err)
		return b
	}
	buf, ends := alloc(n*traceBytes, 1<<20, false), alloc(4*n, 0, false)
	start, err := sqtt.Start(g, out.Live, traceBytes, int64(buf.Addr), opts...)
	must(t, err)
	stop, err := sqtt.Stop(g, out.Live, int64(ends.Addr), opts...)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts := []device.Part{device.Words(append(start, before...))}
	for range max(times, 1) {
		parts = append(parts, launchOf(t, d, name, grid))
	}
	p, err := d.Submit(ctx, append(parts, device.Words(stop))...)
	must(t, err)
	must(t, d.Wait(ctx, p))
	for e := range g.Engines() {
		length := int64(0)
		if live(out.Live, e) {
			length = sqtt.Length(g, int64(buf.Addr)+int64(e)*traceBytes, binary.LittleEndian.Uint32(ends.Bytes[4*e:]))
		}
		out.streams = append(out.streams, slices.Clone(buf.Bytes[int64(e)*traceBytes:][:length]))
		if !live(out.Live, e) && slices.ContainsFunc(buf.Bytes[e*traceBytes:(e+1)*traceBytes], func(b byte) bool { return b != 0 }) {
			t.Errorf("engine %d has no units and wrote a trace", e)
		}
	}
	out.waves = waves.Load()
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func live(units [][]uint32, e int) bool {
	return slices.ContainsFunc(units[e], func(m uint32) bool { return m != 0 })
}

// alloc gives a launch its buffers.
type alloc struct {
	*testing.T
	device.Device
}

func (a alloc) Alloc(size uint64) (uint64, []byte, error) {
	b, err := a.Device.Alloc(a.Context(), max(size, 1), device.AllocOptions{})
	if err != nil {
		return 0, nil, err
	}
	return b.Addr, b.Bytes, nil
}

func launchOf(t *testing.T, d device.Device, name string, grid uint32) device.Launch {
	t.Helper()
	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	must(t, err)
	i := slices.IndexFunc(ls, func(l launch.Launch) bool { return l.Name == name })
	data, err := os.ReadFile(filepath.Join(kernels, d.Info().GPU.Target, name+".co"))
	must(t, err)
	o, err := codeobj.Open(data)
	must(t, err)
	k := &o.Kernels[0]
	lo, hi := o.Span()
	code, err := d.Alloc(t.Context(), hi-lo, device.AllocOptions{Executable: true})
	must(t, err)
	base := code.Addr - lo
	must(t, o.LoadInto(code.Bytes, base))
	ready, err := ls[i].Build(k, alloc{t, d}, launch.Env{DescriptorAddr: base + k.DescriptorAddr, ABI: o.Version})
	must(t, err)
	if grid != 0 {
		ready.Grid[0] = grid
	}
	return device.Launch{
		Name: k.Name, Entry: base + k.Entry, RSRC1: k.Descriptor.RSRC1, RSRC2: k.Descriptor.RSRC2, RSRC3: k.Descriptor.RSRC3,
		Properties: k.Descriptor.Properties, KernargPreload: k.Descriptor.Preload, Kernarg: ready.KernargAddr,
		Grid: ready.Grid, Block: ready.Block, LDSBytes: ready.LDSBytes, PrivateBytes: k.Descriptor.PrivateBytes, DescriptorAddr: base + k.DescriptorAddr,
	}
}

func lookup(t *testing.T, target string) *gpu.GPU {
	t.Helper()
	g, err := gpu.Lookup(target)
	must(t, err)
	return g
}

// Every wave that ran is in the stream of its engine, once, and on a unit that is there: on whole GPUs and on harvested ones, where an
// engine without units has no stream. Where there are several dies each stream is of its own die's waves.
func TestEveryWaveOnce(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx90a", "gfx942", "gfx950"} {
		for _, harvested := range []bool{false, true} {
			g := lookup(t, target)
			name := target
			if harvested {
				name += "/harvested"
				for e := range g.Live {
					g.Live[e][0] &^= 1 | 1<<2 // the unit that is traced in detail, and another
				}
				if g.Family != gpu.GFX9 {
					clear(g.Live[g.SEs-1]) // an engine with nothing left; CDNA has none such
					g.Live[0][g.SAs-1] = 0
				}
			}
			t.Run(name, func(t *testing.T) {
				r := run(t, g, "vadd", 1<<15)
				seen := int64(0)
				for e, s := range r.streams {
					res := sqtt.DecodeWavesWith(g.Family, sqtt.HeaderNo, s)
					if res.Losses.Any() {
						t.Errorf("engine %d: %+v", e, res.Losses)
					}
					if live(r.Live, e) && len(res.Waves) == 0 {
						t.Errorf("engine %d traced nothing", e)
					}
					seen += int64(len(res.Waves))
					for _, w := range res.Waves {
						sa, unit := place(g, w.CU)
						if sa >= g.SAs || r.Live[e][sa]>>unit&1 == 0 {
							t.Errorf("engine %d: a wave on array %d unit %d, which is not there", e, sa, unit)
						}
					}
					if insts := count(g, s, "INST", "VALU_INST", "IMM_ONE", "ISSUE"); harvested && insts > 0 {
						t.Errorf("engine %d: %d instructions of a unit that is not there", e, insts)
					}
				}
				if seen != r.waves || r.waves == 0 {
					t.Errorf("%d waves traced, %d ran", seen, r.waves)
				}
			})
		}
	}
}

// place is the array and unit of a wave's CU number.
func place(g *gpu.GPU, cu uint8) (sa, unit int) {
	switch g.Family {
	case gpu.GFX9:
		return 0, int(cu)
	case gpu.GFX12:
		return int(cu >> 4), int(cu & 15)
	}
	return int(cu >> 3), int(cu & 7)
}

func count(g *gpu.GPU, s []byte, kinds ...string) (n int) {
	for p := range sqtt.PacketsWith(g.Family, sqtt.HeaderNo, s) {
		if slices.Contains(kinds, p.Kind.String()) {
			n++
		}
	}
	return n
}

// The engines that a program selects for detail trace the instructions of the unit it names there, and no others do.
func TestDetail(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201", "gfx90a", "gfx942"} {
		t.Run(target, func(t *testing.T) {
			g := lookup(t, target)
			last := g.Engines() - 1
			to := sqtt.Target{Array: g.SAs - 1, Unit: 1, SIMD: 3}
			if g.Family == gpu.GFX9 {
				to = sqtt.Target{Unit: 1, SIMDMask: 8}
			}
			r := run(t, g, "vadd", 1<<17, sqtt.WithDetail(1, last), sqtt.WithEngineTarget(last, to))
			for e, s := range r.streams {
				if n := count(g, s, "INST", "VALU_INST", "ISSUE"); (n > 0) != (e == 1 || e == last) {
					t.Errorf("engine %d: %d instructions", e, n)
				}
			}
			if g.Family != gpu.GFX9 {
				return
			}
			for p := range sqtt.PacketsWith(g.Family, sqtt.HeaderNo, r.streams[last]) {
				if p.Kind.String() == "ISSUE" && p.Field("simd") != 3 {
					t.Fatalf("an instruction of SIMD %d", p.Field("simd"))
				}
			}
		})
	}
}

// COMPUTE_DISPATCH_END is written once per dispatch and shows on every RDNA engine, behind the last wave's start.
func TestDispatchEnd(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201", "gfx942"} {
		t.Run(target, func(t *testing.T) {
			g := lookup(t, target)
			r := run(t, g, "vadd", 0)
			for e, s := range r.streams {
				ends, after := 0, 0
				for p := range sqtt.PacketsWith(g.Family, sqtt.HeaderNo, s) {
					switch p.Kind.String() {
					case "REG":
						if g.Family != gpu.GFX9 && p.Raw>>15&1 == 1 && p.Raw>>16&0xffff == 0x7e {
							ends++
						}
					case "REG_CS", "REG_CS_PRIV":
						if p.Raw>>9&0x7f == 0x7e {
							ends++
						}
					case "WAVE_START":
						after += ends
					}
				}
				want := 1
				if g.Family == gpu.GFX9 {
					want = 0
				}
				if ends != want || after != 0 {
					t.Errorf("engine %d: %d ends of dispatches, %d waves behind", e, ends, after)
				}
			}
		})
	}
}

// What PRED_EXEC leaves to one die is done there alone: its engines stop tracing before the launch, those of the others show their waves.
func TestPredication(t *testing.T) {
	for _, target := range []string{"gfx942", "gfx950"} {
		t.Run(target, func(t *testing.T) {
			g := lookup(t, target)
			regs, err := pm4.RegsFor(g.GC)
			must(t, err)
			mode, _ := regs.Lookup("SQ_THREAD_TRACE_MODE")
			const off = 2
			before := pm4.Stream(nil).PredExec(1<<off, 0).SetUconfig(mode, 0)
			r := runAfter(t, g, "vadd", 1<<15, 1, before.EndPredExec(0))
			all := 0
			for e, s := range r.streams {
				n := len(sqtt.DecodeWavesWith(g.Family, sqtt.HeaderNo, s).Waves)
				if (n == 0) != (e/g.SEs == off) {
					t.Errorf("die %d engine %d: %d waves", e/g.SEs, e%g.SEs, n)
				}
				all += n
			}
			if want := int(r.waves) * (g.Dies - 1) / g.Dies; all != want {
				t.Errorf("%d waves on %d dies, want %d of %d", all, g.Dies-1, want, r.waves)
			}
		})
	}
}

// Dispatches right behind each other take the same time, in their traces too.
func TestDispatchesInARow(t *testing.T) {
	g := lookup(t, "gfx1100") // whose dispatches tell of their ends late
	r := runAfter(t, g, "empty", 0, 4, nil)
	var took []sqtt.Cycles
	for _, s := range r.streams {
		for _, w := range sqtt.DecodeWavesWith(g.Family, sqtt.HeaderNo, s).Waves {
			took = append(took, w.Stop-w.Start)
		}
		if n := len(took); n > 0 && (took[n-1] < took[0]-1 || took[n-1] > took[0]+1) { // a group's second wave starts a cycle later
			t.Errorf("a wave of one instruction takes %d cycles, the first one %d", took[n-1], took[0])
		}
	}
	if len(took) != 8 {
		t.Errorf("%d waves in four dispatches", len(took))
	}
}
