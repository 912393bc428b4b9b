package shader_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

// arena is GPU memory: separate mappings with nothing between them.
type arena struct {
	next uint64
	maps []mapping
}

type mapping struct {
	base uint64
	b    []byte
}

func (a *arena) Alloc(size uint64) (uint64, []byte, error) {
	if a.next == 0 {
		a.next = 0x7f0000000000
	}
	size = (size + 4095) &^ 4095
	m := mapping{a.next, make([]byte, size)}
	a.next += size + 1<<20
	a.maps = append(a.maps, m)
	return m.base, m.b, nil
}

func (a *arena) Map(addr uint64, write bool) ([]byte, bool) {
	i := sort.Search(len(a.maps), func(i int) bool { return a.maps[i].base > addr }) - 1
	if i < 0 || addr-a.maps[i].base >= uint64(len(a.maps[i].b)) {
		return nil, false
	}
	return a.maps[i].b[addr-a.maps[i].base:], true
}

// job is a launch that is ready to run.
type job struct {
	mem   *arena
	ready *launch.Ready
	k     *shader.Kernel
}

func prepare(tb testing.TB, target, object string, l *launch.Launch) *job {
	tb.Helper()
	data, err := os.ReadFile(object)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := codeobj.Open(data)
	if err != nil {
		tb.Fatal(err)
	}
	kern, err := o.Kernel(l.Kernel)
	if err != nil {
		tb.Fatal(err)
	}
	mem := &arena{}
	lo, hi := o.Span()
	base, b, _ := mem.Alloc(hi)
	_ = lo
	if err := o.LoadInto(b, base); err != nil {
		tb.Fatal(err)
	}
	ready, err := l.Build(kern, mem, launch.Env{DescriptorAddr: base + kern.DescriptorAddr, PrivateBase: 0x20000, SharedBase: 0x10000, ABI: 5})
	if err != nil {
		tb.Fatal(err)
	}
	d := kern.Descriptor
	arch, ok := isa.ArchOf(target)
	if !ok {
		tb.Fatalf("unknown target %s", target)
	}
	k := &shader.Kernel{
		Arch: arch, Entry: base + kern.Entry, Wave32: d.WaveSize() == 32, RSRC1: d.RSRC1, RSRC2: d.RSRC2, RSRC3: d.RSRC3,
		Groups: ready.Groups, Block: ready.Block, Partial: ready.Partial, LDSBytes: ready.LDSBytes, ScratchBytes: d.PrivateBytes, Name: kern.Name,
	}
	n := 0
	put := func(v uint64) {
		k.UserData[n], k.UserData[n+1] = uint32(v), uint32(v>>32)
		n += 2
	}
	if d.Properties&codeobj.PropPrivateSegmentBuffer != 0 {
		n += 4
	}
	if d.Properties&codeobj.PropDispatchPtr != 0 {
		put(ready.PacketAddr)
	}
	if d.Properties&codeobj.PropQueuePtr != 0 {
		put(0)
	}
	if d.Properties&codeobj.PropKernargPtr != 0 {
		put(ready.KernargAddr)
	}
	if d.Properties&codeobj.PropDispatchID != 0 {
		put(0)
	}
	if d.Properties&codeobj.PropFlatScratchInit != 0 {
		n += 2
	}
	for i := range d.PreloadDwords() {
		k.UserData[n] = binary.LittleEndian.Uint32(ready.Kernarg[4*(d.PreloadOffset()+i):])
		n++
	}
	return &job{mem, ready, k}
}

func launches(tb testing.TB) (string, []launch.Launch) {
	dir := sharedtest.Path(tb, "kernels")
	ls, err := launch.ReadFile(filepath.Join(dir, "launches.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	return dir, ls
}

var targets = []string{"gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx90a", "gfx942", "gfx950"}

// TestKernels runs every launch of the shared kernels on every target and checks its buffers.
func TestKernels(t *testing.T) {
	dir, ls := launches(t)
	for _, target := range targets {
		for i := range ls {
			l := &ls[i]
			t.Run(target+"/"+l.Name, func(t *testing.T) {
				j := prepare(t, target, filepath.Join(dir, "co", target, l.File+".co"), l)
				ctx := context.Background()
				if l.Name == "spin_long" {
					c, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
					defer cancel()
					start := time.Now()
					err := shader.NewMachine(j.mem).Run(c, j.k).All()
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("got %v, want the deadline", err)
					}
					if d := time.Since(start); d > time.Second {
						t.Errorf("stopped after %v", d)
					}
					return
				}
				j.k.Log = shader.LogFull
				run := shader.NewMachine(j.mem).Run(ctx, j.k)
				waves, err := drain(t, run)
				if strings.HasPrefix(l.Name, "oob_far") {
					var f *shader.Fault
					if !errors.As(err, &f) || !errors.Is(err, shader.ErrMemory) || f.Addr == 0 || f.Kernel == "" || f.Lane < 0 {
						t.Fatalf("got %v, want a memory fault", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if waves != j.ready.Waves() {
					t.Errorf("%d waves ran, want %d", waves, j.ready.Waves())
				}
				for _, f := range j.ready.Verify() {
					t.Error(f)
				}
			})
		}
	}
}

// drain reads all logs and checks that they agree with themselves.
func drain(t *testing.T, run *shader.Run) (waves uint64, err error) {
	t.Helper()
	for {
		g, err := run.Next()
		if g == nil {
			if err.Error() == "EOF" {
				err = nil
			}
			return waves, err
		}
		insts := g.Prog.Insts()
		for i := range g.Waves {
			w := &g.Waves[i]
			var n, mem, sum uint64
			for _, p := range w.Pieces {
				n += uint64(p.N) * uint64(p.Count)
				for _, in := range insts[p.First : p.First+p.N] {
					if in.Mem {
						mem += uint64(p.Count)
					}
				}
			}
			for _, c := range w.Class {
				sum += c
			}
			if n != w.Insts || sum != w.Insts || mem != uint64(len(w.Mem)) {
				t.Fatalf("group %v wave %d: pieces %d, classes %d, executed %d; %d memory instructions, %d logged", g.ID, i, n, sum, w.Insts, mem, len(w.Mem))
			}
		}
		waves += uint64(len(g.Waves))
		g.Release()
	}
}

// TestWorkers: logs and memory do not depend on how many goroutines run workgroups.
func TestWorkers(t *testing.T) {
	dir, ls := launches(t)
	for i := range ls {
		l := &ls[i]
		switch l.Name {
		case "reduce", "stencil5", "histogram", "gather", "transpose_lds":
		default:
			continue
		}
		var want [sha256.Size]byte
		for n, workers := range []int{1, 2, 5} {
			j := prepare(t, "gfx1100", filepath.Join(dir, "co", "gfx1100", l.File+".co"), l)
			j.k.Log = shader.LogFull
			m := shader.NewMachine(j.mem)
			m.SetWorkers(workers)
			h := sha256.New()
			run := m.Run(t.Context(), j.k)
			for {
				g, err := run.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(h, g.ID)
				for i := range g.Waves {
					fmt.Fprintln(h, g.Waves[i])
				}
				g.Release()
			}
			for _, mp := range j.mem.maps {
				h.Write(mp.b)
			}
			var got [sha256.Size]byte
			h.Sum(got[:0])
			if n == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s: %d workers differ from one", l.Name, workers)
			}
		}
	}
}
