package kfd_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/profile"
)

// What a take records of a device: its work with its times inside the host's window, copies and allocations.
func TestProfile(t *testing.T) {
	d := openDev(t, kernel(t, sim.Options{}, "gfx1100"), 0)
	before := profile.Now()
	evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
		vram, err := d.Alloc(ctx, 8192, device.AllocOptions{})
		if err != nil {
			return err
		}
		sys, err := d.Alloc(ctx, 8192, device.AllocOptions{Memory: device.System})
		if err != nil {
			return err
		}
		for _, parts := range [][]device.Part{
			{device.Copy{Dst: vram.Addr, Src: sys.Addr, Bytes: 8192}, device.Fill{Dst: vram.Addr, Bytes: 4096}},
			{device.Fill{Dst: vram.Addr, Bytes: 4096}},
			{device.Words{pm4.OneDwordNop}},
			{},
		} {
			if _, err := d.Submit(ctx, parts...); err != nil {
				return err
			}
		}
		return nil // Take waits for the work
	})
	if err != nil {
		t.Fatal(err)
	}
	after := profile.Now()
	var names []string
	for _, e := range evs {
		if e.Start < before-e.ErrorNs || e.Stop > after+e.ErrorNs || e.Stop < e.Start {
			t.Errorf("%+v is outside %d..%d", e, before, after)
		}
		switch e.Kind {
		case profile.KindWork:
			names = append(names, e.Lane+" "+e.Name)
		case profile.KindCopy:
			if e.Src != profile.Host || e.Dst != d.Info().Name || e.Bytes != 8192 || !e.HasPoint {
				t.Errorf("%+v", e)
			}
			names = append(names, "copy")
		case profile.KindAllocation:
			names = append(names, "allocation")
		}
	}
	want := "allocation, allocation, COMPUTE:0 copies, copy, COMPUTE:0 copies, COMPUTE:0 words"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A device that closes while a take is open gives what has ended.
func TestProfileClose(t *testing.T) {
	d := openDev(t, kernel(t, sim.Options{}, "gfx1100"), 0)
	evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
		p, err := d.Submit(ctx, device.Words{pm4.OneDwordNop})
		if err == nil {
			err = d.Wait(ctx, p)
		}
		return errors.Join(err, d.Close())
	})
	if err != nil || len(evs) != 1 || evs[0].Name != "words" {
		t.Errorf("%v, %v", evs, err)
	}
}

// A device that is lost while a take is open fails the take, with its name.
func TestProfileLost(t *testing.T) {
	d := openDev(t, broken{kernel(t, sim.Options{}, "gfx1100"), abi.WaitEvents, unix.EIO}, 0)
	evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
		_, err := d.Submit(ctx, device.Words{pm4.OneDwordNop})
		return err
	})
	if l, ok := errors.AsType[*profile.Lost](err); !ok || l.Device != d.Info().Name || !isLost(err) || evs != nil {
		t.Errorf("%v, %v", evs, err)
	}
}

// askew is a kernel whose report of the GPU's clock is off, or that reports none.
type askew struct {
	*sim.Kernel
	by  int64 // ticks
	err error
}

func (k askew) Ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	err := k.Kernel.Ioctl(fd, req, arg)
	if req == abi.GetClockCounters && err == nil {
		a := (*abi.GetClockCountersArgs)(arg)
		a.GPUClockCounter = uint64(int64(a.GPUClockCounter) + k.by)
		err = k.err
	}
	return err
}

// Work whose times do not fit between its submit and their conversion is no event, nor is work that cannot be timed; its copies stand
// from the submit to when their end was seen.
func TestUntimedWork(t *testing.T) {
	for name, k := range map[string]askew{
		"early": {by: 100_000_000, err: nil}, "late": {by: -100_000_000}, "none": {err: unix.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			k.Kernel = kernel(t, sim.Options{}, "gfx1100")
			d := openDev(t, k, 0)
			a, err := d.Alloc(t.Context(), 8192, device.AllocOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var p device.Point
			before := profile.Now()
			evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
				p, err = d.Submit(ctx, device.Copy{Dst: a.Addr + 4096, Src: a.Addr, Bytes: 4096})
				return err
			})
			after := profile.Now()
			if err != nil || len(evs) != 1 || evs[0].Kind != profile.KindCopy || !evs[0].HasPoint || evs[0].Point != uint64(p) {
				t.Fatalf("%v, %+v", err, evs)
			}
			if e := evs[0]; e.Start < before || e.Stop < e.Start || e.Stop > after || e.ErrorNs != 0 {
				t.Errorf("%+v is not within %d..%d", e, before, after)
			}
			_, err = d.Times(p)
			if k.err != nil && !errors.Is(err, k.err) || k.err == nil && (!errors.Is(err, device.ErrNotSupported) || !strings.Contains(err.Error(), "does not fit the host's")) {
				t.Errorf("times: %v", err)
			}
		})
	}
}

// The stated error covers how far a clock is off that is measured slowly: the GPU's clock is read in the middle of the request at best.
func TestTimesWithinError(t *testing.T) {
	d := openDev(t, slow{kernel(t, sim.Options{}, "gfx1100")}, 0)
	before := profile.Now()
	p, err := d.Submit(t.Context(), device.Words{pm4.OneDwordNop})
	if err == nil {
		err = d.Wait(t.Context(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	tm, err := d.Times(p)
	if err != nil || tm.ErrorNs < int64(time.Millisecond) {
		t.Fatalf("%+v, %v", tm, err)
	}
	if tm.StartNs+tm.ErrorNs < before || tm.StopNs-tm.ErrorNs > profile.Now() {
		t.Errorf("%+v is outside %d..%d", tm, before, profile.Now())
	}
}

// slow is a kernel that takes its time to report the GPU's clock, after reading it.
type slow struct{ *sim.Kernel }

func (k slow) Ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	err := k.Kernel.Ioctl(fd, req, arg)
	if req == abi.GetClockCounters {
		time.Sleep(2 * time.Millisecond)
	}
	return err
}

// Takes that overlap across goroutines each hold the work that was submitted while they were open, and wait for it.
func TestOverlappingTakes(t *testing.T) {
	d := openDev(t, kernel(t, sim.Options{}, "gfx1100"), 0)
	b, err := d.Alloc(t.Context(), 4096, device.AllocOptions{})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(ctx context.Context, w device.Words) {
		if _, err := d.Submit(ctx, w); err != nil {
			t.Error(err)
		}
	}
	opened, submitted, closed := make(chan bool), make(chan bool), make(chan bool)
	var inner, outer []profile.Event
	var wg sync.WaitGroup
	wg.Go(func() {
		<-opened
		inner, _ = profile.Take(t.Context(), func(ctx context.Context) error {
			submit(ctx, device.Words(pm4.Stream(nil).WaitMem(b.Addr, pm4.Equal, 1, 1))) // both takes'
			close(submitted)
			<-closed
			return nil
		})
	})
	outer, err = profile.Take(t.Context(), func(ctx context.Context) error {
		submit(ctx, device.Words{pm4.OneDwordNop}) // the outer take's alone
		close(opened)
		<-submitted
		time.AfterFunc(20*time.Millisecond, func() { b.Bytes[0] = 1 }) // while the take waits for it
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	submit(t.Context(), device.Words{pm4.OneDwordNop, pm4.OneDwordNop}) // the inner take's alone
	close(closed)
	wg.Wait()
	if len(outer) != 2 || len(inner) != 2 || outer[1].Point != inner[0].Point || outer[0].Point+2 != inner[1].Point {
		t.Errorf("outer %+v, inner %+v", outer, inner)
	}
}

// A take that fails or panics gives no events, and its failure unchanged; the work goes on.
func TestFailingTake(t *testing.T) {
	d := openDev(t, kernel(t, sim.Options{}, "gfx1100"), 0)
	bad := errors.New("bad")
	var p device.Point
	evs, err := profile.Take(t.Context(), func(ctx context.Context) (err error) {
		if p, err = d.Submit(ctx, device.Words{pm4.OneDwordNop}); err == nil {
			err = bad
		}
		return err
	})
	if err != bad || evs != nil { // the same error, not one that wraps it
		t.Errorf("%v, %v", evs, err)
	}
	func() {
		defer func() {
			if r := recover(); r != any(bad) {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = profile.Take(t.Context(), func(ctx context.Context) error {
			_, _ = d.Submit(ctx, device.Words{pm4.OneDwordNop})
			panic(bad)
		})
	}()
	if err := d.Wait(t.Context(), p); err != nil || profile.Enabled() {
		t.Errorf("%v, a take is open: %v", err, profile.Enabled())
	}
}
