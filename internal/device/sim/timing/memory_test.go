package timing_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
)

// mostAtOnce runs a kernel and gives the most waves that were on an array, and the most on a CU, at once.
func mostAtOnce(t *testing.T, g *gpu.GPU, groups, block, limits uint32) (array, cu int, o *observer) {
	mem, k := bundled(t, g.Target, "vadd", groups, block)
	k.RSRC1 &^= 1 << 29 // a workgroup stays on one CU
	o = &observer{}
	execute(t, g, mem, k, timing.Dispatch{ResourceLimits: limits}, o)
	arrays, cus := map[timing.Place]int{}, map[timing.Place]int{}
	for _, e := range o.events {
		d := map[timing.EventKind]int{timing.WaveStart: 1, timing.WaveEnd: -1}[e.Kind]
		p := e.Place
		p.Slot = 0
		if p.SIMD &= 1; g.Family == gpu.GFX9 {
			p.SIMD = 0
		}
		cus[p] += d
		cu = max(cu, cus[p])
		p.Unit, p.SIMD = 0, 0
		arrays[p] += d
		array = max(array, arrays[p])
	}
	return array, cu, o
}

// COMPUTE_RESOURCE_LIMITS bounds the waves of an array and the workgroups of a CU, and says how many groups in a row a unit takes.
func TestResourceLimits(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201", "gfx942"} {
		g := lookup(t, target)
		wave := uint32(32)
		if g.Family == gpu.GFX9 {
			wave = 64
		}
		if a, c, _ := mostAtOnce(t, g, 20000, 2*wave, 0); a <= 12 || c <= 6 {
			t.Errorf("%s: %d waves of an array and %d of a CU without a limit: the test is too small", target, a, c)
		}
		if a, _, o := mostAtOnce(t, g, 20000, 2*wave, 13); a < 12 || a > 13 || len(o.stats) != 40000 {
			t.Errorf("%s: %d waves on an array, at most 13 may be; %d ended", target, a, len(o.stats))
		}
		if _, c, o := mostAtOnce(t, g, 20000, 2*wave, 3<<12); c != 6 || len(o.stats) != 40000 {
			t.Errorf("%s: %d waves on a CU, want 6 of three groups; %d ended", target, c, len(o.stats))
		}
		_, _, o := mostAtOnce(t, g, 240, wave, 2<<24)
		row := map[uint8][]timing.Place{}
		for _, e := range o.events {
			if e.Kind == timing.WaveStart {
				row[e.Place.Engine] = append(row[e.Place.Engine], timing.Place{SA: e.Place.SA, Unit: e.Place.Unit})
			}
		}
		for e, ps := range row {
			for i := range ps {
				if ps[i] != ps[i/3*3] || i >= 3 && i%3 == 0 && ps[i] == ps[i-1] {
					t.Fatalf("%s engine %d: group %d went to %+v, want three in a row", target, e, i, ps[i])
				}
			}
		}
		m, _ := timing.New(g, nil)
		mem, k := bundled(t, target, "vadd", 4, 4*wave)
		run := shader.NewMachine(mem).Run(context.Background(), k)
		_, err := m.Dispatch(context.Background(), timing.Dispatch{Kernel: k, Source: run, ResourceLimits: 3})
		run.Close()
		if err == nil || !strings.Contains(err.Error(), "COMPUTE_RESOURCE_LIMITS") {
			t.Errorf("%s: four waves where three may be: %v", target, err)
		}
	}
}

// A page is walked once; the host's memory is far each time.
func TestPages(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201", "gfx942"} {
		g := lookup(t, target)
		mem, k := bundled(t, target, "vadd", 1, 64)
		took := func(m *timing.Machine, pages func(uint64) timing.Page, at int64) int64 {
			res := executeOn(t, m, mem, k, timing.Dispatch{Start: at, Pages: pages}, &observer{})
			return res.End - res.Start
		}
		pages := func(host bool) func(uint64) timing.Page {
			return func(addr uint64) timing.Page { return timing.Page{Shift: 21, Host: host && addr >= 0x40000000} }
		}
		m, _ := timing.New(g, nil)
		first, again := took(m, pages(false), 0), took(m, pages(false), 1<<20)
		if first < again+300 {
			t.Errorf("%s: %d cycles with page walks, %d without", target, first, again)
		}
		if host := took(m, pages(true), 2<<20); host < again+3000 {
			t.Errorf("%s: %d cycles with the host's memory, %d with the GPU's", target, host, again)
		}
		if host := took(m, pages(true), 3<<20); host < again+3000 {
			t.Errorf("%s: %d cycles with the host's memory again, as if the L2 had kept it", target, host)
		}
		few, _ := timing.New(g, nil)
		if all := took(few, func(uint64) timing.Page { return timing.Page{Shift: 63} }, 0); all >= first {
			t.Errorf("%s: %d cycles where everything is one page, %d where pages differ", target, all, first)
		}
	}
}

// What a dispatch wrote goes to memory once: at its end, or before when its line is replaced.
func TestWriteBack(t *testing.T) {
	g := lookup(t, "gfx1100")
	g.L2Bytes = 1 << 20
	m, _ := timing.New(g, nil)
	writes := func() (n int64) {
		for _, c := range m.L2(0) {
			n += c.MemWrites
		}
		return n
	}
	for i, c := range []struct {
		bytes uint32 // of the buffer, in each workgroup's part 1 KiB
		want  int64
	}{{64 << 10, 512}, {64 << 10, 512}, {4 << 20, 32768}} {
		mem, k := bundled(t, "gfx1100", "vadd", c.bytes>>10, 256)
		args, _ := mem.Map(0x20000000, true)
		binary.LittleEndian.PutUint32(args[24:], 1<<20) // elements, behind three pointers
		before := writes()
		executeOn(t, m, mem, k, timing.Dispatch{Start: int64(i) << 24}, &observer{})
		if n := writes() - before; n != c.want {
			t.Errorf("%d bytes written, %d lines went to memory, want %d", c.bytes, n, c.want)
		}
	}
}
