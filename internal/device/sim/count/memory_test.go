package count_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/device/sim/shader"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

// accesses adds up what shaders accessed, as their logs have it.
type accesses struct {
	mu                              sync.Mutex
	load, store, atomic             uint64 // lines
	loads, stores, atomics          uint64 // instructions with an active lane
	ldsLoads, ldsStores, ldsAtomics uint64
	scalar16, scalar4               uint64
}

func (a *accesses) add(g *shader.GroupLog) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range g.Waves {
		for _, r := range g.Waves[i].Mem {
			lines := uint64(r.Lines)
			switch {
			case r.Space == shader.SpaceNone:
			case r.Space == shader.SpaceScalar:
				switch r.Bytes {
				case 64:
					a.scalar16++
				case 16:
					a.scalar4++
				}
			case r.Space == shader.SpaceLDS && r.Atomic:
				a.ldsAtomics++
			case r.Space == shader.SpaceLDS && r.Write:
				a.ldsStores++
			case r.Space == shader.SpaceLDS:
				a.ldsLoads++
			case r.Atomic:
				a.atomic += lines
				a.atomics++
			case r.Write:
				a.store += lines
				a.stores++
			default:
				a.load += lines
				a.loads++
			}
		}
	}
}

// countAll runs a launch once for each pass that the counters need.
func (g *gpuUnder) countAll(p device.Launch, reset func(), names ...string) map[string]uint64 {
	g.Helper()
	passes, err := perfctr.Plan(g.Info().GPU, names)
	if err != nil {
		g.Fatal(err)
	}
	got := map[string]uint64{}
	for _, pass := range passes {
		c := g.program(pass...)
		reset()
		g.must(device.Words(c.start), p, device.Words(c.stop))
		maps.Copy(got, g.totals(c))
	}
	return got
}

// What the memory's units count is what the shaders accessed, and busy cycles fit into the time that the GPU was busy.
func TestMemoryCounters(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1201"} {
		for _, kernel := range []string{"vadd", "reduce", "histogram"} {
			if (slow || testing.Short()) && kernel != "reduce" {
				continue
			}
			t.Run(target+"/"+kernel, func(t *testing.T) {
				var a accesses
				g := open(t, target, sim.Options{Groups: a.add})
				defer g.Close()
				info := g.Info()
				p, _ := g.load(kernel)
				gfx9 := info.GPU.Family == gpu.GFX9
				names := []string{"GRBM_GUI_ACTIVE", "TA_TA_BUSY"}
				if gfx9 {
					names = append(names, strings.Fields(`TCP_TOTAL_ACCESSES TCP_TOTAL_CACHE_ACCESSES TCP_TOTAL_READ TCP_TOTAL_WRITE TCP_TOTAL_ATOMIC_WITH_RET
						TCP_TOTAL_ATOMIC_WITHOUT_RET TCP_TCC_READ_REQ TCP_TCC_WRITE_REQ TD_LOAD_WAVEFRONT TD_STORE_WAVEFRONT TD_ATOMIC_WAVEFRONT TD_TD_BUSY
						TCC_READ TCC_WRITE TCC_ATOMIC TCC_BUSY GRBM_TA_BUSY GRBM_TC_BUSY SQC_DCACHE_REQ_READ_4 SQC_DCACHE_REQ_READ_16
						SQC_TC_DATA_READ_REQ SQ_INSTS_VMEM TCP_UTCL1_REQUEST TCP_UTCL1_TRANSLATION_HIT TCP_UTCL1_TRANSLATION_MISS`)...)
				} else {
					names = append(names, "TCP_REQ", "TCP_REQ_MISS")
				}
				if target == "gfx950" {
					names = append(names, "SQ_INSTS_LDS_LOAD", "SQ_INSTS_LDS_STORE", "SQ_INSTS_LDS_ATOMIC")
				}
				got := g.countAll(p, func() { a = accesses{} }, names...)
				a.mu.Lock()
				defer a.mu.Unlock()
				want := map[string]uint64{"TCP_REQ": a.load + a.store + a.atomic}
				if gfx9 {
					all := a.load + a.store + a.atomic
					want = map[string]uint64{
						"TCP_UTCL1_REQUEST": all, "TCP_UTCL1_TRANSLATION_MISS": all - got["TCP_UTCL1_TRANSLATION_HIT"], "TCP_TOTAL_ACCESSES": all, "TCP_TOTAL_CACHE_ACCESSES": all, "TCP_TOTAL_READ": a.load, "TCP_TOTAL_WRITE": a.store, "TCP_TCC_WRITE_REQ": a.store,
						"TCC_WRITE": a.store, "TCC_ATOMIC": a.atomic, "TD_LOAD_WAVEFRONT": got["SQ_INSTS_VMEM"], "SQC_DCACHE_REQ_READ_4": a.scalar4,
						"SQC_DCACHE_REQ_READ_16": a.scalar16, "TCC_READ": got["TCP_TCC_READ_REQ"] + got["SQC_TC_DATA_READ_REQ"],
					}
					if n := got["TCP_TOTAL_ATOMIC_WITH_RET"] + got["TCP_TOTAL_ATOMIC_WITHOUT_RET"]; n != a.atomic {
						t.Errorf("%d lines of atomics, the shaders say %d", n, a.atomic)
					}
					if n := got["TD_STORE_WAVEFRONT"] + got["TD_ATOMIC_WAVEFRONT"]; n < a.stores+a.atomics || got["SQ_INSTS_VMEM"]-n < a.loads {
						t.Errorf("%d stores and atomics of %d accesses, the shaders say %d and %d loads", n, got["SQ_INSTS_VMEM"], a.stores+a.atomics, a.loads)
					}
				}
				if target == "gfx950" {
					want["SQ_INSTS_LDS_LOAD"], want["SQ_INSTS_LDS_STORE"], want["SQ_INSTS_LDS_ATOMIC"] = a.ldsLoads, a.ldsStores, a.ldsAtomics
				}
				if a.load == 0 || a.store+a.atomic == 0 {
					t.Fatal("the kernel accesses no memory")
				}
				for _, n := range slices.Sorted(maps.Keys(want)) {
					if got[n] != want[n] {
						t.Errorf("%s is %d, the shaders say %d", n, got[n], want[n])
					}
				}
				if !gfx9 { // stores and atomics always go on, so do loads that miss
					if m := got["TCP_REQ_MISS"]; m < a.store+a.atomic || m > got["TCP_REQ"] {
						t.Errorf("%d of %d requests missed", m, got["TCP_REQ"])
					}
				}
				active := got["GRBM_GUI_ACTIVE"] / uint64(info.GPU.Dies) // a die's, or somewhat more
				for n, most := range map[string]uint64{
					"TA_TA_BUSY": active * uint64(info.GPU.Engines()*info.GPU.SAs*info.GPU.Units*2), "TD_TD_BUSY": active * uint64(info.GPU.Engines()*info.GPU.Units),
					"TCC_BUSY": active * uint64(info.GPU.Dies*info.GPU.L2Channels), "GRBM_TA_BUSY": active * uint64(info.GPU.Dies),
					"GRBM_TC_BUSY": active * uint64(info.GPU.Dies),
				} {
					if slices.Contains(names, n) && (got[n] == 0 || got[n] > most) {
						t.Errorf("%s is %d of %d cycles", n, got[n], most)
					}
				}
			})
		}
	}
}

// The first run finds nothing in the L2: what it reads comes from memory, each request takes what the model has for it.
func TestColdMemory(t *testing.T) {
	for target, rd := range map[string]string{"gfx90a": "TCC_EA_RDREQ", "gfx942": "TCC_EA0_RDREQ", "gfx950": "TCC_EA0_RDREQ"} {
		g := open(t, target, sim.Options{})
		p, _ := g.load("vadd")
		c := g.program(rd, rd+"_DRAM", rd+"_LEVEL", "TCC_MISS", "GRBM_EA_BUSY", "GRBM_COUNT")
		g.must(device.Words(c.start), p, device.Words(c.stop))
		got := g.totals(c)
		n := got[rd]
		if n == 0 || got[rd+"_DRAM"] != n || got[rd+"_LEVEL"] < 10*n || got[rd+"_LEVEL"] > 10000*n || got["TCC_MISS"] == 0 {
			t.Errorf("%s: %v", target, got)
		}
		if b := got["GRBM_EA_BUSY"]; b < 100 || b > got["GRBM_COUNT"] {
			t.Errorf("%s: memory is busy for %d of %d cycles", target, b, got["GRBM_COUNT"])
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		// What vadd writes, 65136 bytes, goes to memory when it ends: nothing makes way for other lines.
		g = open(t, target, sim.Options{})
		p, _ = g.load("vadd")
		c = g.program("TCC_WRITEBACK", "TCC_ALL_TC_OP_WB_WRITEBACK", "TCC_NORMAL_WRITEBACK", strings.Replace(rd, "RD", "WR", 1), "GRBM_UTCL2_BUSY")
		g.must(device.Words(c.start), p, device.Words(c.stop))
		got = g.totals(c)
		if n := uint64(65136+127) / 128; got["TCC_WRITEBACK"] != n || got["TCC_ALL_TC_OP_WB_WRITEBACK"] != n || got["TCC_NORMAL_WRITEBACK"] != 0 || got[strings.Replace(rd, "RD", "WR", 1)] != 2*n {
			t.Errorf("%s: %v, want %d lines written back", target, got, n)
		}
		if got["GRBM_UTCL2_BUSY"] == 0 {
			t.Errorf("%s: no page table was read", target)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Of vadd's 256 waves of gfx942 the last but one has 28 lanes that add, the last none: 8 vector instructions each, 2 of them before the check.
func TestLanes(t *testing.T) {
	g := open(t, "gfx942", sim.Options{})
	defer g.Close()
	p, _ := g.load("vadd")
	got := g.countAll(p, func() {}, "SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU", "SQ_INSTS_VALU")
	if want := uint64(254*8*64 + 2*64 + 6*28 + 2*64); got["SQ_THREAD_CYCLES_VALU"] != want || got["SQ_ACTIVE_INST_VALU"] != got["SQ_INSTS_VALU"] {
		t.Errorf("%v, want %d lanes", got, want)
	}
}
