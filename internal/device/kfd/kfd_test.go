package kfd_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

func kernel(t testing.TB, o sim.Options, names ...string) *sim.Kernel {
	t.Helper()
	var models []*gpu.GPU
	for _, n := range names {
		g, err := gpu.Lookup(n)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, g)
	}
	k, err := sim.New(models, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func openDev(t testing.TB, k kfd.System, node int) *kfd.Device {
	t.Helper()
	d, err := kfd.Open(k, node, kfd.Options{Simulated: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// counts are what the process holds of the host: descriptors and mappings.
func counts(t *testing.T) (fds, maps int) {
	t.Helper()
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("/proc/self/fd is absent: descriptors are not counted")
	}
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("/proc/self/maps is absent: mappings are not counted")
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "memfd:rigprof") {
			maps++
		}
	}
	return len(es), maps
}

func TestNothingIsLeft(t *testing.T) {
	k := kernel(t, sim.Options{}, "gfx1100")
	fds0, maps0 := counts(t)
	for i := range 3 {
		d := openDev(t, k, 0)
		for range 5 {
			if _, err := d.Alloc(t.Context(), 100_000, device.AllocOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Submit(t.Context(), device.Words(pm4.Stream(nil).Nop(1_200_000/2))); err != nil { // memory of its own
			t.Fatal(err)
		}
		if i == 1 { // what waits for ever is ended by Close
			b, err := d.Alloc(t.Context(), 4096, device.AllocOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Submit(t.Context(), device.Words(pm4.Stream(nil).WaitMem(b.Addr, pm4.Equal, 1, 1))); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if fds, maps := k.Leaks(); fds != 0 || maps != 0 {
			t.Errorf("round %d: the kernel counts %d descriptors and %d mappings", i, fds, maps)
		}
	}
	if fds, maps := counts(t); fds != fds0 || maps != maps0 {
		t.Errorf("the process holds %d descriptors and %d mappings, %d and %d before", fds, maps, fds0, maps0)
	}
}

// broken fails one kind of request.
type broken struct {
	*sim.Kernel
	req uintptr
	err error
}

func (b broken) Ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	if req == b.req {
		return b.err
	}
	return b.Kernel.Ioctl(fd, req, arg)
}

// Whatever request fails, Open says so and leaves nothing behind.
func TestOpenFails(t *testing.T) {
	k := kernel(t, sim.Options{}, "gfx1100")
	for _, req := range []uintptr{
		abi.GetVersion, abi.AcquireVM, abi.GetProcessAperturesNew, abi.DRMAmdgpuInfo, abi.AllocMemoryOfGPU, abi.MapMemoryToGPU,
		abi.CreateEvent, abi.CreateQueue,
	} {
		d, err := kfd.Open(broken{k, req, unix.EPERM}, 0, kfd.Options{})
		if !errors.Is(err, unix.EPERM) || d != nil {
			t.Errorf("request %#x: %v", req, err)
		}
		if fds, maps := k.Leaks(); fds != 0 || maps != 0 {
			t.Errorf("request %#x: %d descriptors and %d mappings are left", req, fds, maps)
		}
	}
	for _, req := range []uintptr{abi.AvailableMemory, abi.DRMAmdgpuCtx, abi.GetClockCounters} { // one can do without
		d, err := kfd.Open(broken{k, req, unix.EINVAL}, 0, kfd.Options{})
		if err != nil {
			t.Errorf("request %#x: %v", req, err)
			continue
		}
		p, err := d.Submit(t.Context(), device.Words{pm4.OneDwordNop})
		if err == nil {
			err = d.Wait(t.Context(), p)
		}
		if _, terr := d.Times(p); err != nil || (terr != nil) != (req == abi.GetClockCounters) {
			t.Errorf("request %#x: %v, %v", req, err, terr)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := kfd.Open(k, 1, kfd.Options{}); !errors.Is(err, device.ErrNotSupported) {
		t.Errorf("GPU 1: %v", err)
	}
}

// A device whose waits fail is lost, and says so to everybody.
func TestLost(t *testing.T) {
	b := broken{kernel(t, sim.Options{}, "gfx1100"), abi.WaitEvents, unix.EIO}
	d := openDev(t, b, 0)
	p, err := d.Submit(t.Context(), device.Words{pm4.OneDwordNop})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Wait(t.Context(), p); !isLost(err) {
			t.Fatalf("%v", err)
		}
	}
	if _, err := d.Submit(t.Context(), device.Words{pm4.OneDwordNop}); !isLost(err) {
		t.Errorf("submit: %v", err)
	}
	if err := d.Abort(t.Context()); !isLost(err) {
		t.Errorf("abort: %v", err)
	}
}

func isLost(err error) bool {
	_, ok := errors.AsType[*device.Lost](err)
	return ok
}

// The GPU's complaint about a packet comes out with the packet's name.
func TestBadPacket(t *testing.T) {
	d := openDev(t, kernel(t, sim.Options{}, "gfx1100"), 0)
	p, err := d.Submit(t.Context(), device.Words{0xc0016900, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Wait(t.Context(), p)
	if f, ok := errors.AsType[*device.Fault](err); !ok || f.Memory || !strings.Contains(f.Detail, "SET_CONTEXT_REG") {
		t.Errorf("%v", err)
	}
}

func TestPower(t *testing.T) {
	k := kernel(t, sim.Options{}, "gfx1100")
	if i := openDev(t, k, 0).Info(); !i.StablePower || i.PowerReason != "" {
		t.Errorf("%+v", i)
	}
	k = kernel(t, sim.Options{Unstable: true}, "gfx1100", "gfx942")
	if i := openDev(t, k, 0).Info(); i.StablePower || !strings.Contains(i.PowerReason, "another process holds it") {
		t.Errorf("%+v", i)
	}
	if i := openDev(t, k, 1).Info(); !i.StablePower {
		t.Errorf("%+v", i)
	}
	d, err := kfd.Open(kernel(t, sim.Options{}, "gfx1100"), 0, kfd.Options{KeepPower: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if i := d.Info(); i.StablePower {
		t.Errorf("%+v", i)
	}
}

// The shape that comes out of topology and device information is the model's that went in.
func TestShape(t *testing.T) {
	for _, m := range gpu.Models() {
		k, err := sim.New([]*gpu.GPU{m}, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := openDev(t, k, 0)
		got := *d.Info().GPU
		want := *m
		gotLive, wantLive := got.LiveUnits(), want.LiveUnits()
		for e := range wantLive {
			for a := range wantLive[e] {
				if gotLive[e][a] != wantLive[e%m.SEs][a] {
					t.Errorf("%s: engine %d array %d is %#x, want %#x", m.Name, e, a, gotLive[e][a], wantLive[e%m.SEs][a])
				}
			}
		}
		if got.Name != want.Name || got.Target != want.Target || got.GC != want.GC || got.Dies != want.Dies || got.SEs != want.SEs ||
			got.SAs != want.SAs || got.Units != want.Units || got.SIMDs != want.SIMDs || got.Slots != want.Slots ||
			got.ClockHz != want.ClockHz || got.RefClockHz != want.RefClockHz || got.LDSBytes != want.LDSBytes {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// files is a kernel of files alone.
type files struct {
	kfd.Linux
	m map[string]string
}

func (f files) ReadFile(path string) ([]byte, error) {
	if s, ok := f.m[path]; ok {
		return []byte(s), nil
	}
	return nil, unix.EPERM
}

func (f files) ReadDir(string) ([]string, error) { return []string{"0", "1", "x"}, nil }

func FuzzTopology(f *testing.F) {
	const nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/"
	k := kernel(f, sim.Options{}, "gfx1100")
	b, err := k.ReadFile(nodes + "1/properties")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("4660", string(b))
	f.Add("", "simd_count -1\narray_count 99999999999999999999\nnum_xcc")
	f.Fuzz(func(t *testing.T, id, props string) {
		ns, err := kfd.Nodes(files{m: map[string]string{nodes + "0/gpu_id": "0", nodes + "1/gpu_id": id, nodes + "1/properties": props}})
		if (err == nil) != (len(ns) == 1) {
			t.Fatalf("%d nodes, %v", len(ns), err)
		}
		for i := range ns {
			_ = ns[i].Target()
		}
	})
}

func TestWaitLimit(t *testing.T) {
	d, err := kfd.Open(kernel(t, sim.Options{}, "gfx1100"), 0, kfd.Options{WaitLimit: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b, err := d.Alloc(t.Context(), 4096, device.AllocOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Submit(t.Context(), device.Words(pm4.Stream(nil).WaitMem(b.Addr, pm4.Equal, 1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(context.Background(), p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	b.Bytes[0] = 1 // the host ends the wait
	if err := d.Wait(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// Two processes share a GPU: memory and faults are each one's own.
func TestTwoProcesses(t *testing.T) {
	k := kernel(t, sim.Options{}, "gfx1100")
	a, b := openDev(t, k, 0), openDev(t, k, 0)
	buf, err := a.Alloc(t.Context(), 4096, device.AllocOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(d device.Device, w device.Words) error {
		p, err := d.Submit(t.Context(), w)
		if err != nil {
			return err
		}
		return d.Wait(t.Context(), p)
	}
	write := device.Words(pm4.Stream(nil).WriteData(buf.Addr, 7))
	err = run(b, write)
	if f, ok := errors.AsType[*device.Fault](err); !ok || f.Addr != buf.Addr {
		t.Errorf("the other process's write: %v", err)
	}
	if err := run(a, write); err != nil || buf.Bytes[0] != 7 {
		t.Errorf("%v, %d", err, buf.Bytes[0])
	}
	if err := errors.Join(b.Close(), run(a, write), a.Close()); err != nil {
		t.Error(err)
	}
}

func BenchmarkSubmit(b *testing.B) {
	d := openDev(b, kernel(b, sim.Options{}, "gfx1100"), 0)
	for b.Loop() {
		p, err := d.Submit(b.Context(), device.Words{pm4.OneDwordNop})
		if err == nil {
			err = d.Wait(b.Context(), p)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSubmitPipelined(b *testing.B) {
	d := openDev(b, kernel(b, sim.Options{}, "gfx1100"), 0)
	var p device.Point
	for b.Loop() {
		var err error
		if p, err = d.Submit(b.Context(), device.Words{pm4.OneDwordNop}); err != nil {
			b.Fatal(err)
		}
	}
	if err := d.Wait(b.Context(), p); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if err := openDev(b, kernel(b, sim.Options{}, "gfx1100"), 0).Close(); err != nil {
			b.Fatal(err)
		}
	}
}
