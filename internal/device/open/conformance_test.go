package open

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// The real and the simulated GPU pass one set of tests.
func TestConformance(t *testing.T) {
	specs := simulatedSpecs()
	if testing.Short() {
		specs = []string{"sim:gfx1100", "sim:gfx942"} // a PM4 and an AQL queue
	}
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) { conform(t, spec) })
	}
	t.Run("kfd", func(t *testing.T) {
		if _, err := os.Stat("/dev/kfd"); err != nil {
			t.Skip("/dev/kfd is absent: the driver is checked on the simulated kernel alone")
		}
		conform(t, "0")
	})
}

// simulatedSpecs lists the specs of the simulated models that bare targets name.
func simulatedSpecs() []string {
	var out []string
	for _, g := range gpu.Models() {
		if m, err := gpu.Lookup(g.Target); err == nil && m.Name == g.Name {
			out = append(out, "sim:"+g.Target)
		}
	}
	return out
}

func conform(t *testing.T, spec string) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T, d device.Device)
	}{
		{"info", testInfo},
		{"memory", testMemory},
		{"copies", testCopies},
		{"words", testWords},
		{"order", testOrder},
		{"many", testMany},
		{"concurrent", testConcurrent},
		{"empty", func(t *testing.T, d device.Device) { testLaunch(t, d, "empty") }},
		{"vadd", func(t *testing.T, d device.Device) { testLaunch(t, d, "vadd") }},
		{"copy", func(t *testing.T, d device.Device) { testLaunch(t, d, "copy") }},
		{"fault", testFault},
		{"timeout", testTimeout},
		{"points", testPoints},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Device(t.Context(), spec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() }) // a test that is skipped ends here
			c.f(t, d)
			if err := d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := d.Close(); err != nil {
				t.Errorf("close again: %v", err)
			}
			if _, err := d.Submit(t.Context(), device.Words{pm4.OneDwordNop}); !errors.Is(err, device.ErrClosed) {
				t.Errorf("submit to a closed device: %v", err)
			}
			if _, err := d.Alloc(t.Context(), 4096, device.AllocOptions{}); !errors.Is(err, device.ErrClosed) {
				t.Errorf("allocate on a closed device: %v", err)
			}
		})
	}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func submit(t *testing.T, d device.Device, parts ...device.Part) device.Point {
	t.Helper()
	ctx := bounded(t)
	p, err := d.Submit(ctx, parts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(ctx, p); err != nil {
		t.Fatal(err)
	}
	return p
}

func alloc(t *testing.T, d device.Device, size uint64, o device.AllocOptions) *device.Buffer {
	t.Helper()
	b, err := d.Alloc(t.Context(), size, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testInfo(t *testing.T, d device.Device) {
	info := d.Info()
	if info.GPU == nil || len(info.Live) != info.GPU.Engines() || info.GPU.ClockHz == 0 || info.GPU.RefClockHz == 0 {
		t.Fatalf("%+v", info)
	}
	units := uint32(0)
	for _, e := range info.Live {
		for _, a := range e {
			units |= a
		}
	}
	if units == 0 {
		t.Error("no unit works")
	}
	info.Live[0][0] = ^uint32(0)
	if d.Info().Live[0][0] == ^uint32(0) {
		t.Error("Info shares its memory")
	}
}

func testMemory(t *testing.T, d device.Device) {
	for _, o := range []device.AllocOptions{
		{}, {Memory: device.System}, {Executable: true, Uncached: true}, {Align: 1 << 21}, {Memory: device.System, Align: 1 << 16},
	} {
		for _, size := range []uint64{1, 4096, 5000, 3 << 20} {
			b := alloc(t, d, size, o)
			if uint64(len(b.Bytes)) != size || b.Addr%4096 != 0 || o.Align != 0 && b.Addr%o.Align != 0 {
				t.Errorf("%d bytes with %+v: got %d at %#x", size, o, len(b.Bytes), b.Addr)
			}
			for i, v := range b.Bytes {
				if v != 0 {
					t.Fatalf("byte %d of a new buffer is %#x", i, v)
				}
			}
			b.Bytes[size-1] = 1
			if size != 5000 { // the others are Close's
				if err := errors.Join(b.Free(), b.Free()); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if _, err := d.Alloc(t.Context(), 0, device.AllocOptions{}); err == nil {
		t.Error("an empty buffer was given")
	}
	if _, err := d.Alloc(t.Context(), 16, device.AllocOptions{Align: 3}); err == nil {
		t.Error("an alignment of 3 was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Alloc(ctx, 16, device.AllocOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled allocation: %v", err)
	}
}

func testCopies(t *testing.T, d device.Device) {
	const n = 70 << 20 // more than one packet moves
	a, b := alloc(t, d, n, device.AllocOptions{}), alloc(t, d, n, device.AllocOptions{Memory: device.System})
	for i := 0; i < n; i += 4096 {
		binary.LittleEndian.PutUint32(a.Bytes[i:], uint32(i))
	}
	submit(t, d, device.Copy{Dst: b.Addr, Src: a.Addr, Bytes: n}, device.Fill{Dst: a.Addr, Bytes: n - 4, Value: 0x12345678})
	for i := 0; i < n; i += 4096 {
		if got := binary.LittleEndian.Uint32(b.Bytes[i:]); got != uint32(i) {
			t.Fatalf("byte %d of the copy is %#x", i, got)
		}
		if got := binary.LittleEndian.Uint32(a.Bytes[i:]); got != 0x12345678 {
			t.Fatalf("byte %d of the fill is %#x", i, got)
		}
	}
	if got := binary.LittleEndian.Uint32(a.Bytes[n-4:]); got != 0 {
		t.Errorf("the fill went too far: %#x", got)
	}
	if _, err := d.Submit(t.Context(), device.Fill{Dst: a.Addr, Bytes: 3}); err == nil {
		t.Error("a fill of 3 bytes was accepted")
	}
}

func testWords(t *testing.T, d device.Device) {
	b := alloc(t, d, 4096, device.AllocOptions{Uncached: true})
	submit(t, d, device.Words(pm4.Stream(nil).WriteData(b.Addr, 1, 2, 3)), device.Words(pm4.Stream(nil).CopyClockToMem(b.Addr+16, true)))
	for i := range 3 {
		if got := binary.LittleEndian.Uint32(b.Bytes[4*i:]); got != uint32(i+1) {
			t.Errorf("dword %d is %d", i, got)
		}
	}
	if binary.LittleEndian.Uint64(b.Bytes[16:]) == 0 {
		t.Error("the clock is 0")
	}
	big := pm4.Stream(nil).Nop(700_000) // more than half of the arena
	submit(t, d, device.Words(big.WriteData(b.Addr, 9)))
	if b.Bytes[0] != 9 {
		t.Error("the long submission did not end")
	}
	if _, err := d.Submit(t.Context(), device.Words(pm4.Stream(nil).Nop(1<<20))); err == nil {
		t.Error("more words than an indirect buffer holds were accepted")
	}
}

// Submissions run one after the other, and their times say so.
func testOrder(t *testing.T, d device.Device) {
	b := alloc(t, d, 4096, device.AllocOptions{Uncached: true})
	var last device.Point
	for i := range uint32(8) {
		p, err := d.Submit(t.Context(), device.Words(pm4.Stream(nil).WaitMem(b.Addr, pm4.Equal, i, ^uint32(0)).WriteData(b.Addr, i+1)))
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	if err := d.Wait(bounded(t), last); err != nil {
		t.Fatal(err)
	}
	var before device.Times
	for p := last - 7; p <= last; p++ {
		tm, err := d.Times(p)
		if err != nil {
			t.Fatal(err)
		}
		if tm.Start < before.Stop || tm.Stop < tm.Start {
			t.Errorf("point %d ran from %d to %d, the one before ended at %d", p, tm.Start, tm.Stop, before.Stop)
		}
		before = tm
	}
}

func testMany(t *testing.T, d device.Device) {
	var p device.Point
	for range 2100 { // more than there are slots
		var err error
		if p, err = d.Submit(bounded(t), device.Words{pm4.OneDwordNop}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Wait(bounded(t), p); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Times(p - 2000); err == nil {
		t.Error("times of an old submission were kept")
	}
}

func testConcurrent(t *testing.T, d device.Device) {
	b := alloc(t, d, 4096, device.AllocOptions{Uncached: true})
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				p, err := d.Submit(t.Context(), device.Words(pm4.Stream(nil).WriteData(b.Addr+uint64(4*g), uint32(i+1))))
				if err == nil {
					err = d.Wait(t.Context(), p)
				}
				if got := binary.LittleEndian.Uint32(b.Bytes[4*g:]); err == nil && got != uint32(i+1) {
					err = fmt.Errorf("goroutine %d reads %d, want %d", g, got, i+1)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func testPoints(t *testing.T, d device.Device) {
	if err := d.Wait(t.Context(), 0); err == nil {
		t.Error("the zero point was waited for")
	}
	if err := d.Wait(t.Context(), 7); err == nil {
		t.Error("a point to come was waited for")
	}
	p := submit(t, d, device.Words{pm4.OneDwordNop})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Wait(ctx, p); err != nil {
		t.Errorf("a point that has ended: %v", err)
	}
}

// program is a loaded kernel with its arguments.
type program struct {
	launch device.Launch
	ready  *launch.Ready
}

type heap struct {
	t *testing.T
	d device.Device
}

func (h heap) Alloc(size uint64) (uint64, []byte, error) {
	b := alloc(h.t, h.d, max(size, 1), device.AllocOptions{})
	return b.Addr, b.Bytes, nil
}

const kernels = "../../../testdata/kernels"

func load(t *testing.T, d device.Device, name string) program {
	t.Helper()
	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range ls {
		if ls[i].Name == name {
			return loadLaunch(t, d, &ls[i])
		}
	}
	t.Fatalf("launches.yaml has no %s", name)
	return program{}
}

func loadLaunch(t *testing.T, d device.Device, l *launch.Launch) program {
	t.Helper()
	target := d.Info().GPU.Target
	file := strings.TrimSuffix(filepath.Base(l.File), ".co") + ".co"
	data, err := os.ReadFile(filepath.Join(kernels, target, file))
	if errors.Is(err, os.ErrNotExist) {
		data, err = os.ReadFile(sharedtest.Path(t, "kernels", "co", target, file))
	}
	if err != nil {
		t.Fatal(err)
	}
	o, err := codeobj.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	var k *codeobj.Kernel
	for i := range o.Kernels {
		if o.Kernels[i].Name == l.Kernel {
			k = &o.Kernels[i]
		}
	}
	if k == nil {
		t.Fatalf("%s has no kernel %s", file, l.Kernel)
	}
	lo, hi := o.Span()
	code := alloc(t, d, hi-lo, device.AllocOptions{Executable: true})
	base := code.Addr - lo
	if err := o.LoadInto(code.Bytes, base); err != nil {
		t.Fatal(err)
	}
	ready, err := l.Build(k, heap{t, d}, launch.Env{DescriptorAddr: base + k.DescriptorAddr, ABI: o.Version})
	if err != nil {
		t.Fatal(err)
	}
	return program{ready: ready, launch: device.Launch{
		Name: k.Name, Entry: base + k.Entry, RSRC1: k.Descriptor.RSRC1, RSRC2: k.Descriptor.RSRC2, RSRC3: k.Descriptor.RSRC3,
		Properties: k.Descriptor.Properties, KernargPreload: k.Descriptor.Preload, Kernarg: ready.KernargAddr,
		Grid: ready.Grid, Block: ready.Block, LDSBytes: ready.LDSBytes, PrivateBytes: k.Descriptor.PrivateBytes,
		DescriptorAddr: base + k.DescriptorAddr,
	}}
}

func testLaunch(t *testing.T, d device.Device, name string) {
	p := load(t, d, name)
	pt := submit(t, d, p.launch)
	for _, f := range p.ready.Verify() {
		t.Error(f)
	}
	tm, err := d.Times(pt)
	if err != nil {
		t.Fatal(err)
	}
	if tm.Stop <= tm.Start {
		t.Errorf("it ran from %d to %d", tm.Start, tm.Stop)
	}
}

func testFault(t *testing.T, d device.Device) {
	p := load(t, d, "oob_far")
	good := load(t, d, "empty")
	pt, err := d.Submit(t.Context(), good.launch, p.launch, good.launch)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Wait(bounded(t), pt)
	f, ok := errors.AsType[*device.Fault](err)
	if !ok || !f.Memory || f.Kernel != p.launch.Name || f.Addr == 0 || f.Addr%4096 != 0 || f.Reason != "page not present" {
		t.Fatalf("%v (%#v)", err, f)
	}
	t.Log(f)
	if _, err := d.Submit(t.Context(), good.launch); !errors.As(err, &f) {
		t.Errorf("a submission after the fault: %v", err)
	}
}

func testTimeout(t *testing.T, d device.Device) {
	p := load(t, d, "spin_long")
	pt, err := d.Submit(t.Context(), p.launch)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx, pt); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the wait ended with %v", err)
	}
	if err := d.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(t.Context(), pt); !errors.Is(err, device.ErrAborted) {
		t.Errorf("the aborted point: %v", err)
	}
	testWords(t, d) // it goes on
	if _, err := d.Submit(t.Context(), p.launch); err != nil {
		t.Fatal(err)
	}
	// Close ends what spins.
}
