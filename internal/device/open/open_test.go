package open

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
)

func TestSpecs(t *testing.T) {
	for _, c := range []struct {
		spec, target string
		want         string // in the name or in the error
		fails        bool
	}{
		{"sim", "", "simulated Radeon RX 7900 XTX (gfx1100)", false},
		{"sim", "gfx90a:xnack-", "simulated Instinct MI250X (gfx90a)", false},
		{"sim:gfx1201", "gfx1100", "simulated Radeon RX 9070 XT (gfx1201)", false},
		{"sim:rx-7900-xt", "", "simulated Radeon RX 7900 XT (gfx1100)", false},
		{"sim:mi300a", "", "simulated Instinct MI300A (gfx942)", false},
		{"sim:gfx803", "", "gfx803", true},
		{"sim", "gfx803", "gfx803", true},
		{"gpu", "", `device "gpu": want auto`, true},
		{"-1", "", "want auto", true},
	} {
		d, err := Device(t.Context(), c.spec, Options{Target: c.target})
		if c.fails {
			if err == nil || !strings.Contains(err.Error(), c.want) || d != nil {
				t.Errorf("%q: %v", c.spec, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.spec, err)
			continue
		}
		if got := d.Info().Name; got != c.want {
			t.Errorf("%q is %q, want %q", c.spec, got, c.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Device(ctx, "sim", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Without a GPU, a number is not supported, and auto says what it took instead.
func TestNoGPU(t *testing.T) {
	if _, err := os.Stat("/dev/kfd"); err == nil {
		t.Skip("/dev/kfd is there: what happens without it is not checked")
	}
	if _, err := Device(t.Context(), "0", Options{}); !errors.Is(err, device.ErrNotSupported) {
		t.Errorf("%v", err)
	}
	var said string
	d, err := Device(t.Context(), "auto", Options{Target: "gfx1151", Warn: func(s string) { said = s }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want := "device: simulated Radeon 8060S (gfx1151), since no AMD GPU was found; times are modelled"
	if said != want || !d.Info().Simulated {
		t.Errorf("it said %q, want %q", said, want)
	}
}

func TestHarvested(t *testing.T) {
	live := [][]uint32{{0xf, 0xf}, {0, 0}, {1, 0}, {0xf, 0xf}, {0xf, 0xf}, {0xf, 0x8}}
	d, err := Device(t.Context(), "sim:gfx1100", Options{Sim: SimOptions{Live: live, Unstable: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	info := d.Info()
	if info.StablePower || len(info.Live) != len(live) {
		t.Errorf("%+v", info)
	}
	for e := range live {
		if !slices.Equal(info.Live[e], live[e]) {
			t.Errorf("engine %d: %x, want %x", e, info.Live[e], live[e])
		}
	}
}
