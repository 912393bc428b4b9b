package open

import (
	"bytes"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// Every launch that the bundled kernels describe gives the right buffers. The two that must not end well are
// conformance tests.
func TestLaunches(t *testing.T) {
	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	specs := []string{"sim:gfx1100", "sim:gfx1151", "sim:gfx1200", "sim:gfx1201", "sim:gfx90a", "sim:gfx942", "sim:gfx950"}
	if testing.Short() {
		specs, ls = specs[:1], ls[:6]
	}
	for _, spec := range specs {
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

// A trace is the same on every run and however many cores run it, the shaders' results too.
func TestDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"reduce", "histogram", "gather", "gemm_f32", "scan", "nbody"}
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var want []byte
			for _, procs := range []int{1, 2, 4, 2} {
				runtime.GOMAXPROCS(procs)
				got := streams(t, "sim:gfx1100", ls, name)
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("with GOMAXPROCS=%d the streams differ", procs)
				}
			}
		})
	}
}

// streams traces a launch by the default programs and returns the buffers of all engines.
func streams(t *testing.T, spec string, ls []launch.Launch, name string) []byte {
	t.Helper()
	d, err := Device(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const size = 256 << 10
	info := d.Info()
	n := uint64(info.GPU.Engines())
	buf := alloc(t, d, n*size, device.AllocOptions{Uncached: true, Align: size})
	ends := alloc(t, d, 4*n, device.AllocOptions{Uncached: true})
	start, err := sqtt.Start(info.GPU, info.Live, size, int64(buf.Addr))
	if err != nil {
		t.Fatal(err)
	}
	stop, err := sqtt.Stop(info.GPU, info.Live, int64(ends.Addr))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(ls, func(l launch.Launch) bool { return l.Name == name })
	p := loadLaunch(t, d, &ls[i])
	submit(t, d, device.Words(start), p.launch, device.Words(stop))
	return append(bytes.Clone(buf.Bytes), ends.Bytes...)
}
