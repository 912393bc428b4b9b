package count_test

import (
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

// On a GPU with harvested units the counters of those that are left hold every wave, and what is not there is not asked.
func TestHarvested(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201", "gfx942"} {
		t.Run(target, func(t *testing.T) {
			m, err := gpu.Lookup(target)
			if err != nil {
				t.Fatal(err)
			}
			for e := range m.Live {
				m.Live[e][0] &^= 1 | 1<<2
			}
			if m.Family != gpu.GFX9 {
				clear(m.Live[1]) // no unit of the second engine works
			}
			var e executed
			g := openModel(t, m, sim.Options{Groups: e.add})
			defer g.Close()
			p, _ := g.load("vadd")
			c := g.program("SQ_WAVES", "SQ_INSTS_VALU")
			g.must(device.Words(c.start), p, device.Words(c.stop))
			want := e.want(m.Family, target)
			for n, v := range g.totals(c) {
				if v != want[n] || v == 0 {
					t.Errorf("%s is %d, executed were %d", n, v, want[n])
				}
			}
			rs, err := perfctr.Read(g.Info().GPU, c.l, c.samples.Bytes[:c.l.Bytes], perfctr.Conditions{StablePower: true})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range rs[0].Values {
				if u := rs[0].Unit(m, i); v.N > 0 && g.Info().Live[u.Engine][max(u.Array, 0)] == 0 {
					t.Errorf("%d waves on %+v, which is not there", v.N, u)
				}
			}
		})
	}
}

// A 32-bit counter that is full stays so, and is read as "at least".
func TestSaturated(t *testing.T) {
	l := count.Load{VMID: 9, Period: 500, Life: 2000, Lanes: 32}
	l.Stats.N[timing.StatVALU], l.Stats.Insts = 1<<31, 1<<31
	g := open(t, "gfx1201", sim.Options{Loads: []count.Load{l}})
	defer g.Close()
	p, _ := g.load("reduce")
	c := g.program("SQ_WAVES", "SQ_INSTS_VALU")
	g.must(device.Words(c.start), p, device.Words(c.stop))
	rs, err := perfctr.Read(g.Info().GPU, c.l, c.samples.Bytes[:c.l.Bytes], perfctr.Conditions{StablePower: true})
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Total.AtLeast || rs[0].Total.N == 0 {
		t.Errorf("SQ_WAVES: %+v", rs[0].Total)
	}
	full := 0
	for i, v := range rs[1].Values {
		if v.N == 1<<32-1 {
			full++
		} else if v.N > 1<<32-1 {
			t.Errorf("%+v counted %d", rs[1].Unit(g.Info().GPU, i), v.N)
		}
	}
	if full == 0 || !rs[1].Total.AtLeast {
		t.Errorf("SQ_INSTS_VALU: %d units are full, in all %+v", full, rs[1].Total)
	}
}
