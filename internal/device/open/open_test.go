package open

import (
	"context"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
)

func TestOpenModels(t *testing.T) {
	for _, spec := range Simulated() {
		t.Run(spec, func(t *testing.T) {
			d, err := Device(t.Context(), spec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			p, err := d.Submit(t.Context(), device.Words{0xffff1000})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Wait(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			tm, err := d.Times(p)
			t.Log(d.Info().Name, d.Info().StablePower, tm, err)
		})
	}
	_ = context.Background
}
