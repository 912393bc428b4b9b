package device_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/open"
	"github.com/rigprof/rigprof/internal/profile"
)

func openSim(t *testing.T, spec string) device.Device {
	t.Helper()
	d, err := open.Device(t.Context(), spec, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func take(t *testing.T, f func(context.Context) error) []profile.Event {
	t.Helper()
	evs, err := profile.Take(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

// A copy between devices goes through the host by pieces: each is recorded into it and out of it, and nothing else is.
func TestCopyAcross(t *testing.T) {
	a, b := openSim(t, "sim:gfx1100"), openSim(t, "sim:gfx942")
	const n = 2<<20 + 100
	src, err1 := a.Alloc(t.Context(), n, device.AllocOptions{})
	dst, err2 := b.Alloc(t.Context(), n+8, device.AllocOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for i := range src.Bytes {
		src.Bytes[i] = byte(i * 7)
	}
	evs := take(t, func(ctx context.Context) error { return device.CopyAcross(ctx, dst, 8, src, 0, n) })
	if !bytes.Equal(dst.Bytes[8:], src.Bytes) {
		t.Error("the copy is not the original")
	}
	in, out := uint64(0), uint64(0)
	for _, e := range evs {
		switch {
		case e.Kind != profile.KindCopy || e.HasPoint || e.Stop < e.Start:
			t.Errorf("%+v", e)
		case e.Src == a.Info().Name && e.Dst == profile.Host:
			in += e.Bytes
		case e.Src == profile.Host && e.Dst == b.Info().Name:
			out += e.Bytes
		}
	}
	if len(evs) != 6 || in != n || out != n {
		t.Errorf("%d events, %d bytes in, %d out", len(evs), in, out)
	}
	if err := device.CopyAcross(t.Context(), dst, 9, src, 0, n); err == nil {
		t.Error("a copy beyond the end was done")
	}
	if err := src.Read(n+1, nil); err == nil {
		t.Error("a read beyond the end was done")
	}
}

// A rectangular copy moves its rows and counts their bytes.
func TestCopyRows(t *testing.T) {
	d := openSim(t, "sim:gfx1100")
	src, err1 := d.Alloc(t.Context(), 4096, device.AllocOptions{Memory: device.System})
	dst, err2 := d.Alloc(t.Context(), 4096, device.AllocOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for i := range src.Bytes {
		src.Bytes[i] = byte(i)
	}
	evs := take(t, func(ctx context.Context) error {
		_, err := d.Submit(ctx, device.CopyRows{Dst: dst.Addr, DstPitch: 16, Src: src.Addr + 1, SrcPitch: 100, Bytes: 10, Rows: 5})
		return err
	})
	for r := range 5 {
		for i := range 16 {
			want := byte(0)
			if i < 10 {
				want = byte(1 + r*100 + i)
			}
			if got := dst.Bytes[r*16+i]; got != want {
				t.Fatalf("row %d byte %d is %d, want %d", r, i, got, want)
			}
		}
	}
	if len(evs) != 2 || evs[1].Bytes != 50 || evs[1].Src != profile.Host || evs[1].Dst != d.Info().Name || evs[1].Start != evs[0].Start || evs[1].Stop != evs[0].Stop {
		t.Errorf("%+v", evs)
	}
	if _, err := d.Submit(t.Context(), device.CopyRows{Rows: 1 << 40, Bytes: 1}); err == nil {
		t.Error("more rows than a submission holds were accepted")
	}
}

func TestLoad(t *testing.T) {
	d := openSim(t, "sim:gfx1100")
	image := []byte("image")
	var b *device.Buffer
	evs := take(t, func(ctx context.Context) (err error) {
		b, err = device.Load(ctx, d, "k.co", image, 100, func(addr uint64, mem []byte) error {
			copy(mem, image)
			return nil
		})
		return err
	})
	if len(evs) != 2 || evs[1].Kind != profile.KindLoad || evs[1].Name != "k.co" || evs[1].Address != b.Addr || !bytes.Equal(evs[1].Data, image) {
		t.Errorf("%+v", evs)
	}
	bad := errors.New("bad")
	if _, err := device.Load(t.Context(), d, "k.co", nil, 100, func(uint64, []byte) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
	if _, err := device.Load(t.Context(), d, "k.co", nil, 0, nil); err == nil {
		t.Error("an empty image was loaded")
	}
}
