package open

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/profile"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// Everything at once, from several goroutines, until the device is closed under them: no call hangs, panics or gives an error
// that it must not.
func TestStress(t *testing.T) {
	for seed := range uint64(3) {
		d, err := Device(t.Context(), "sim:gfx1100", Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(g)))
				for {
					if err := stressOnce(ctx, d, r); errors.Is(err, device.ErrClosed) {
						return
					} else if err != nil && !errors.Is(err, device.ErrAborted) {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
				}
			})
		}
		time.Sleep(150 * time.Millisecond)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

func stressOnce(ctx context.Context, d device.Device, r *rand.Rand) error {
	b, err := d.Alloc(ctx, 1+r.Uint64N(1<<20), device.AllocOptions{Memory: device.Memory(r.IntN(2))})
	if err != nil {
		return err
	}
	defer b.Free()
	if len(b.Bytes) < 8 {
		return nil
	}
	run := func(ctx context.Context) error {
		p, err := d.Submit(ctx, device.Fill{Dst: b.Addr, Bytes: 8, Value: 5}, device.Words(pm4.Stream(nil).WriteData(b.Addr, 7)))
		if err == nil {
			err = d.Wait(ctx, p)
		}
		return err
	}
	switch r.IntN(12) {
	case 0:
		err = d.Abort(ctx)
	case 1:
		_, err = profile.Take(ctx, run)
		if _, ok := errors.AsType[*profile.Lost](err); ok {
			return device.ErrClosed // what a take says of a device that is closed under it
		}
	default:
		err = run(ctx)
	}
	return err
}

// Nothing runs on harvested engines and units, and the trace programs pass them over.
func TestHarvestedTrace(t *testing.T) {
	live := [][]uint32{{0xf, 0xf}, {0, 0}, {0x1, 0}, {0, 0x8}, {0xf, 0xf}, {0, 0}}
	d, err := Device(t.Context(), "sim:gfx1100", Options{Sim: SimOptions{Live: live}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const size = 64 << 10
	info := d.Info()
	n := uint64(info.GPU.Engines())
	buf := alloc(t, d, n*size, device.AllocOptions{Uncached: true, Align: size})
	ends := alloc(t, d, 4*n, device.AllocOptions{Uncached: true})
	start, err1 := sqtt.Start(info.GPU, info.Live, size, int64(buf.Addr))
	stop, err2 := sqtt.Stop(info.GPU, info.Live, int64(ends.Addr))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	p := load(t, d, "vadd")
	submit(t, d, device.Words(start), p.launch, device.Words(stop))
	for _, f := range p.ready.Verify() {
		t.Error(f)
	}
	total := 0
	for e := range live {
		word := binary.LittleEndian.Uint32(ends.Bytes[4*e:])
		if live[e][0]|live[e][1] == 0 {
			if word != 0 {
				t.Errorf("engine %d is harvested and ends at %#x", e, word)
			}
			continue
		}
		at := buf.Addr + uint64(e)*size
		length := sqtt.Length(info.GPU, int64(at), word)
		if length <= 0 || length > size {
			t.Fatalf("engine %d wrote %d bytes", e, length)
		}
		f := info.GPU.Family
		waves := sqtt.DecodeWaves(f, buf.Bytes[uint64(e)*size:][:length]).Waves
		total += len(waves)
		for _, w := range waves {
			if live[e][w.Array(f)]>>w.Unit(f)&1 == 0 {
				t.Fatalf("engine %d: a wave ran on array %d unit %d", e, w.Array(f), w.Unit(f))
			}
		}
	}
	if total != int(p.ready.Waves()) {
		t.Errorf("%d waves, want %d", total, p.ready.Waves())
	}
}
