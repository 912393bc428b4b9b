package open

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/launch"
)

// Every launch that the bundled kernels describe gives the right buffers. The two that must not end well are
// conformance tests.
func TestLaunches(t *testing.T) {
	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"sim:gfx1100", "sim:gfx1151", "sim:gfx1200", "sim:gfx1201", "sim:gfx90a", "sim:gfx942", "sim:gfx950"} {
		t.Run(spec, func(t *testing.T) {
			for i := range ls {
				l := &ls[i]
				if l.Name == "oob_far" || l.Name == "spin_long" {
					continue
				}
				t.Run(l.Name, func(t *testing.T) {
					d, err := Device(t.Context(), spec, Options{})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = d.Close() })
					p := loadLaunch(t, d, l)
					began := time.Now()
					pt := submit(t, d, p.launch)
					for _, f := range p.ready.Verify() {
						t.Error(f)
					}
					tm, err := d.Times(pt)
					if err != nil {
						t.Error(err)
					}
					t.Logf("modelled %v, took %v", time.Duration(tm.StopNs-tm.StartNs), time.Since(began).Round(time.Microsecond))
				})
			}
		})
	}
}
