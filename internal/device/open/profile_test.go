package open

import (
	"context"
	"errors"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/profile"
)

// Work is named after what its launches run, in order, whatever else stands beside them; copies of the submission take its times.
func TestProfileLaunches(t *testing.T) {
	for _, spec := range []string{"sim:gfx1100", "sim:gfx1201", "sim:gfx942"} { // a PM4 queue and an AQL queue of eight dies
		t.Run(spec, func(t *testing.T) {
			d, err := Device(t.Context(), spec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			one, two := load(t, d, "vadd"), load(t, d, "empty")
			a, b := alloc(t, d, 8192, device.AllocOptions{}), alloc(t, d, 8192, device.AllocOptions{Memory: device.System})
			var points []device.Point
			evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
				for _, parts := range [][]device.Part{
					{device.Copy{Dst: a.Addr, Src: b.Addr, Bytes: 4096}, one.launch, two.launch, device.Copy{Dst: b.Addr, Src: a.Addr, Bytes: 100}},
					{two.launch},
				} {
					p, err := d.Submit(ctx, parts...)
					if err != nil {
						return err
					}
					points = append(points, p)
				}
				return nil
			})
			if err != nil || len(evs) != 4 {
				t.Fatalf("%v, %+v", err, evs)
			}
			name, work, in, out, last := d.Info().Name, evs[0], evs[1], evs[2], evs[3]
			if work.Kind != profile.KindWork || work.Name != one.launch.Name+", "+two.launch.Name || work.Device != name || work.Lane != "COMPUTE:0" || work.Point != uint64(points[0]) {
				t.Errorf("work %+v", work)
			}
			if in.Kind != profile.KindCopy || in.Src != profile.Host || in.Dst != name || in.Bytes != 4096 || out.Src != name || out.Dst != profile.Host || out.Bytes != 100 {
				t.Errorf("copies %+v, %+v", in, out)
			}
			for _, c := range []profile.Event{in, out} {
				if c.Start != work.Start || c.Stop != work.Stop || c.ErrorNs != work.ErrorNs || c.Point != work.Point || !c.HasPoint {
					t.Errorf("copy %+v of %+v", c, work)
				}
			}
			tm, err := d.Times(points[0])
			if err != nil || tm.StartNs != work.Start || tm.StopNs != work.Stop || tm.ErrorNs != work.ErrorNs {
				t.Errorf("%+v, %v, want the times of %+v", tm, err, work)
			}
			if last.Name != two.launch.Name || last.Point != uint64(points[1]) || last.Start < work.Stop-work.ErrorNs-last.ErrorNs {
				t.Errorf("%+v after %+v", last, work)
			}
		})
	}
}

// A fault loses the device to the takes that had work in flight; they say which, and why.
func TestProfileFault(t *testing.T) {
	d, err := Device(t.Context(), "sim:gfx1100", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	bad := load(t, d, "oob_far")
	evs, err := profile.Take(t.Context(), func(ctx context.Context) error {
		_, err := d.Submit(ctx, bad.launch)
		return err
	})
	l, ok := errors.AsType[*profile.Lost](err)
	f, fault := errors.AsType[*device.Fault](err)
	if !ok || l.Device != d.Info().Name || !fault || f.Kernel != bad.launch.Name || evs != nil {
		t.Errorf("%v, %v", evs, err)
	}
}
