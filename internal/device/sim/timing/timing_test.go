package timing_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// bundled sets a kernel of the repository's own up: a buffer for each pointer, 4096 for each number.
func bundled(t testing.TB, target, name string, groups, block uint32) (*space, *shader.Kernel) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "kernels", target, name+".co"))
	if err != nil {
		t.Fatal(err)
	}
	obj, err := codeobj.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	const base = 0x10000000
	lo, hi := obj.Span()
	img := make([]byte, hi-lo+4096)
	if err := obj.LoadInto(img, base); err != nil {
		t.Fatal(err)
	}
	mem := &space{}
	mem.add(base+lo, img)
	kern := &obj.Kernels[0]
	args := make([]byte, 4096)
	for i, a := range kern.Args {
		switch {
		case a.Kind == "hidden_block_count_x":
			binary.LittleEndian.PutUint32(args[a.Offset:], groups)
		case a.Kind == "hidden_group_size_x":
			binary.LittleEndian.PutUint16(args[a.Offset:], uint16(block))
		case a.Hidden():
		case a.Pointer():
			at := uint64(0x40000000) + uint64(i)<<24
			binary.LittleEndian.PutUint64(args[a.Offset:], at)
			mem.add(at, make([]byte, 4<<20))
		default:
			binary.LittleEndian.PutUint32(args[a.Offset:], 4096)
		}
	}
	mem.add(0x20000000, args)
	d := kern.Descriptor
	arch, _ := isa.ArchOf(target)
	k := &shader.Kernel{
		Arch: arch, Entry: base + kern.Entry, Wave32: d.WaveSize() == 32, RSRC1: d.RSRC1, RSRC2: d.RSRC2, RSRC3: d.RSRC3,
		Groups: [3]uint32{groups, 1, 1}, Block: [3]uint32{block, 1, 1}, LDSBytes: d.GroupBytes, Log: shader.LogFull, Name: name,
		Budget: 1 << 20, // a kernel that does not end is a mistake of the test
	}
	n := 0
	for bit, size := range []int{4, 2, 2, 2} {
		if d.Properties>>bit&1 == 0 {
			continue
		}
		if 1<<bit == codeobj.PropKernargPtr {
			k.UserData[n] = 0x20000000
		}
		n += size
	}
	return mem, k
}

func lookup(t testing.TB, name string) *gpu.GPU {
	t.Helper()
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// execute runs a kernel on a new machine.
func execute(t testing.TB, g *gpu.GPU, mem *space, k *shader.Kernel, d timing.Dispatch, o *observer) timing.Result {
	t.Helper()
	m, err := timing.New(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return executeOn(t, m, mem, k, d, o)
}

func executeOn(t testing.TB, m *timing.Machine, mem *space, k *shader.Kernel, d timing.Dispatch, o *observer) timing.Result {
	t.Helper()
	run := shader.NewMachine(mem).Run(context.Background(), k)
	defer run.Close()
	d.Kernel, d.Source = k, run
	res, err := m.Dispatch(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestPlacement(t *testing.T) {
	g := lookup(t, "gfx1100")
	mem, k := bundled(t, "gfx1100", "empty", 96, 32)
	o := &observer{}
	res := execute(t, g, mem, k, timing.Dispatch{Start: 500}, o)
	if res.Waves != 96 || res.Groups != 96 {
		t.Fatalf("%d groups, %d waves", res.Groups, res.Waves)
	}
	var starts []timing.Place
	perUnit := map[[3]uint8][]uint8{}
	for _, e := range o.events {
		if e.Kind != timing.WaveStart {
			continue
		}
		starts = append(starts, e.Place)
		u := [3]uint8{e.Place.Engine, e.Place.SA, e.Place.Unit}
		perUnit[u] = append(perUnit[u], e.Place.SIMD)
		if want := int64(500 + 70); e.Time < want {
			t.Errorf("a wave starts at %d, %d cycles after the dispatch", e.Time, e.Time-500)
		}
	}
	// In order of dispatch: engines 1 to 5, 0, and so on. Events of one clock are in order of engines' turns.
	for i, p := range starts[:6] {
		if int(p.Engine) != (i+1)%6 || p.SA != 0 || p.Unit != 0 {
			t.Errorf("workgroup %d is on %+v", i, p)
		}
	}
	if len(perUnit) != 48 {
		t.Errorf("%d units are used, want all 48", len(perUnit))
	}
	if got := perUnit[[3]uint8{0, 0, 0}]; !reflect.DeepEqual(got, []uint8{0, 1}) {
		t.Errorf("SIMDs of an even unit: %v", got)
	}
	if got := perUnit[[3]uint8{0, 0, 1}]; !reflect.DeepEqual(got, []uint8{2, 3}) {
		t.Errorf("SIMDs of an odd unit: %v", got)
	}
	// The pointers go on with the next dispatch on the same machine.
	m, _ := timing.New(g, nil)
	first, second := &observer{}, &observer{}
	_, k1 := bundled(t, "gfx1100", "empty", 1, 32)
	end := executeOn(t, m, mem, k1, timing.Dispatch{Start: 500}, first).End
	executeOn(t, m, mem, k1, timing.Dispatch{Start: end + 10}, second)
	if a, b := first.events[0].Place.Engine, second.events[0].Place.Engine; a != 1 || b != 2 {
		t.Errorf("two dispatches of one workgroup are on engines %d and %d, want 1 and 2", a, b)
	}
}

func TestPlacementCDNA(t *testing.T) {
	g := lookup(t, "gfx942")
	mem, k := bundled(t, "gfx942", "vadd", 16, 64)
	o := &observer{}
	dies := []int{0, 1, 2, 3, 4, 5, 6, 7}
	execute(t, g, mem, k, timing.Dispatch{Dies: dies}, o)
	perDie := make([]int, 8)
	for _, e := range o.events {
		if e.Kind == timing.WaveStart {
			perDie[int(e.Place.Engine)/g.SEs]++
			if e.Time%4 != 0 {
				t.Errorf("a wave starts at %d, which is not a multiple of 4", e.Time)
			}
		}
	}
	for d, n := range perDie {
		if n != 2 {
			t.Errorf("die %d has %d of 16 workgroups", d, n)
		}
	}
}

func TestEvents(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx90a", "gfx942", "gfx950"} {
		t.Run(target, func(t *testing.T) {
			g := lookup(t, target)
			mem, k := bundled(t, target, "reduce", 64, 256)
			o := &observer{detail: func(engine, sa, unit, simd int) bool { return engine < 2 }}
			res := execute(t, g, mem, k, timing.Dispatch{Start: 1000, Traced: true}, o)
			last := int64(0)
			for _, e := range o.events {
				if e.Time < last {
					t.Fatalf("%v at %d after %d", e.Kind, e.Time, last)
				}
				last = e.Time
				if e.Flags&timing.Traced == 0 {
					t.Fatal("an event without the dispatch's flag")
				}
			}
			ws := o.waves(t)
			if uint64(len(ws)) != res.Waves {
				t.Errorf("%d of %d waves are seen", len(ws), res.Waves)
			}
			insts := uint64(0)
			for _, s := range o.stats {
				insts += s.Insts
				n := int64(0)
				for i := timing.Stat(0); i < timing.NumInstStats; i++ {
					n += s.N[i]
				}
				if uint64(n) != s.Insts {
					t.Fatalf("a wave of %d instructions counts %d", s.Insts, n)
				}
				if s.N[timing.StatLDS] == 0 || s.N[timing.StatBarrier] == 0 {
					t.Error("a wave without LDS or barriers")
				}
			}
			if insts != res.Insts {
				t.Errorf("%d of %d instructions are counted", insts, res.Insts)
			}
		})
	}
}

// TestBarrier looks at the waves of one workgroup: none leaves a barrier before all have come.
func TestBarrier(t *testing.T) {
	g := lookup(t, "gfx1100")
	mem, k := bundled(t, "gfx1100", "reduce", 1, 256)
	o := &observer{detail: func(engine, sa, unit, simd int) bool { return true }}
	execute(t, g, mem, k, timing.Dispatch{}, o)
	const opBarrier = 0x13
	arrived := map[timing.Place]int{}
	for _, e := range o.events {
		switch {
		case e.Kind != timing.Issue && e.Kind != timing.Immediate:
		case e.Kind == timing.Issue && e.Code == opBarrier:
			arrived[e.Place]++
		default:
			// Whoever has passed a barrier needs all eight waves to have reached it.
			for p, n := range arrived {
				if arrived[e.Place] > n {
					t.Fatalf("%+v issues behind barrier %d at %d, %+v has reached %d", e.Place, arrived[e.Place], e.Time, p, n)
				}
			}
		}
	}
	if len(arrived) != 8 {
		t.Errorf("%d waves reach a barrier", len(arrived))
	}
}

// TestBarrierCDNA wants both records of a barrier: the arrival and the way out.
func TestBarrierCDNA(t *testing.T) {
	g := lookup(t, "gfx942")
	mem, k := bundled(t, "gfx942", "reduce", 1, 256)
	o := &observer{detail: func(engine, sa, unit, simd int) bool { return true }}
	execute(t, g, mem, k, timing.Dispatch{}, o)
	const message = 15
	in, out := map[uint64]int{}, map[uint64]int{}
	for _, e := range o.events {
		switch {
		case e.Kind == timing.Issue && e.Code == message:
			in[e.PC]++
		case e.Kind == timing.Immediate && in[e.PC] > 0:
			if out[e.PC]++; in[e.PC]%4 != 0 {
				t.Errorf("a wave leaves the barrier at %#x with %d arrivals", e.PC, in[e.PC])
			}
		}
	}
	if len(out) == 0 {
		t.Error("no barrier is left")
	}
	for pc, n := range out {
		if n != in[pc] {
			t.Errorf("%d arrivals at the barrier at %#x, %d leave", in[pc], pc, n)
		}
	}
}

func TestSameEveryTime(t *testing.T) {
	g := lookup(t, "gfx1201")
	var want *observer
	for i, procs := range []int{1, 2, 2} {
		old := runtime.GOMAXPROCS(procs)
		mem, k := bundled(t, "gfx1201", "reduce", 300, 256)
		o := &observer{detail: func(engine, sa, unit, simd int) bool { return simd == 0 }}
		execute(t, g, mem, k, timing.Dispatch{}, o)
		runtime.GOMAXPROCS(old)
		if i == 0 {
			want = o
		} else if !reflect.DeepEqual(want.events, o.events) || !reflect.DeepEqual(want.stats, o.stats) {
			t.Fatalf("run %d differs", i)
		}
	}
}

func TestThreadMgmt(t *testing.T) {
	g := lookup(t, "gfx1100")
	mem, k := bundled(t, "gfx1100", "vadd", 64, 64)
	mask := make([]uint32, g.Engines())
	mask[2] = 1<<17 | 1<<4 // SA 1 WGP 0 CU B, SA 0 WGP 2 CU A
	o := &observer{}
	execute(t, g, mem, k, timing.Dispatch{ThreadMgmt: mask}, o)
	for _, w := range o.waves(t) {
		p := w.place
		a := p.SA == 0 && p.Unit == 2 && p.SIMD&1 == 0
		b := p.SA == 1 && p.Unit == 0 && p.SIMD&1 == 1
		if p.Engine != 2 || !a && !b {
			t.Errorf("a wave on %+v", p)
		}
	}
	mask[2] = 0
	m, _ := timing.New(g, nil)
	run := shader.NewMachine(mem).Run(context.Background(), k)
	defer run.Close()
	if _, err := m.Dispatch(context.Background(), timing.Dispatch{Kernel: k, Source: run, ThreadMgmt: mask}); err == nil || !strings.Contains(err.Error(), "fits no unit") {
		t.Errorf("a dispatch with every CU masked: %v", err)
	}
}

func TestHarvested(t *testing.T) {
	g := lookup(t, "gfx1100")
	live := g.LiveUnits()
	for e := range live {
		live[e][0] = 0
	}
	live[3] = []uint32{0, 0}
	m, err := timing.New(g, live)
	if err != nil {
		t.Fatal(err)
	}
	mem, k := bundled(t, "gfx1100", "empty", 100, 32)
	o := &observer{}
	executeOn(t, m, mem, k, timing.Dispatch{}, o)
	for _, w := range o.waves(t) {
		if w.place.SA == 0 || w.place.Engine == 3 {
			t.Errorf("a wave on the harvested %+v", w.place)
		}
	}
}

// TestLimits counts how many waves are on a SIMD, or workgroups on a CU, at once.
func TestLimits(t *testing.T) {
	g := lookup(t, "gfx1100")
	one := make([]uint32, g.Engines())
	one[0] = 1
	most := func(k *shader.Kernel, mem *space) (waves int) {
		o := &observer{}
		execute(t, g, mem, k, timing.Dispatch{ThreadMgmt: one}, o)
		n := 0
		for _, e := range o.events {
			switch e.Kind {
			case timing.WaveStart:
				n++
			case timing.WaveEnd:
				n--
			}
			waves = max(waves, n)
		}
		return waves
	}
	mem, k := bundled(t, "gfx1100", "vadd", 200, 32)
	if n := most(k, mem); n != 32 {
		t.Errorf("%d waves on one CU, want 32: 16 slots on each of two SIMDs", n)
	}
	mem, k = bundled(t, "gfx1100", "vadd", 200, 32)
	k.RSRC1 = k.RSRC1&^0x3f | 31 // 256 VGPRs: 264 by their grain, so 5 waves on a SIMD of 1536
	if n := most(k, mem); n != 10 {
		t.Errorf("%d waves of 256 VGPRs on one CU, want 10", n)
	}
	mem, k = bundled(t, "gfx1100", "vadd", 100, 64)
	k.LDSBytes = 20 << 10
	k.RSRC1 &^= 1 << 29 // a workgroup stays on one CU
	if n := most(k, mem); n != 6 {
		t.Errorf("%d waves with 20 KiB for two, want 6 on 64 KiB", n)
	}
}

var errBroken = errors.New("broken")

// broken hands out some groups, then fails.
type broken struct {
	run  *shader.Run
	left int
}

func (b *broken) Next() (*shader.GroupLog, error) {
	if b.left == 0 {
		return nil, errBroken
	}
	b.left--
	return b.run.Next()
}

func TestFailureLeavesTheMachineIdle(t *testing.T) {
	g := lookup(t, "gfx1100")
	m, _ := timing.New(g, nil)
	mem, k := bundled(t, "gfx1100", "reduce", 500, 256)
	run := shader.NewMachine(mem).Run(context.Background(), k)
	_, err := m.Dispatch(context.Background(), timing.Dispatch{Kernel: k, Source: &broken{run, 300}})
	run.Close()
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	run = shader.NewMachine(mem).Run(context.Background(), k)
	_, err = m.Dispatch(ctx, timing.Dispatch{Kernel: k, Source: run})
	run.Close()
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	o := &observer{}
	res := executeOn(t, m, mem, k, timing.Dispatch{Start: 1 << 20}, o)
	if n := len(o.waves(t)); uint64(n) != res.Waves || n != 4000 {
		t.Errorf("%d of %d waves end after the failures", n, res.Waves)
	}
	if _, err := m.Dispatch(context.Background(), timing.Dispatch{Kernel: k, Source: &broken{}}); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if res, err := m.Dispatch(context.Background(), timing.Dispatch{Start: 7, Kernel: k, Source: empty{}}); err != nil || res.Start != 7 || res.End != 7 {
		t.Errorf("a grid of nothing: %+v, %v", res, err)
	}
}

type empty struct{}

func (empty) Next() (*shader.GroupLog, error) { return nil, io.EOF }

// TestConflictsCost reads LDS with two strides: one without and one with bank conflicts.
func TestConflictsCost(t *testing.T) {
	g := lookup(t, "gfx1100")
	var took, conflicts [2]int64
	for i, stride := range []uint32{1, 32} {
		mem, k := bundled(t, "gfx1100", "bank_conflict", 4, 256)
		args, _ := mem.Map(0x20000000, true)
		binary.LittleEndian.PutUint32(args[8:], stride)
		binary.LittleEndian.PutUint32(args[12:], 100) // rounds
		o := &observer{}
		res := execute(t, g, mem, k, timing.Dispatch{}, o)
		took[i] = res.End - res.Start
		for _, s := range o.stats {
			conflicts[i] += s.N[timing.StatLDSConflict]
		}
	}
	if conflicts[0] != 0 || conflicts[1] == 0 || took[1] < 2*took[0] {
		t.Errorf("%d and %d cycles, %d and %d of them for conflicts", took[0], took[1], conflicts[0], conflicts[1])
	}
}
