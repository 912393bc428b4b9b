package count

import (
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// rig is a Unit under a test's hands.
type rig struct {
	*testing.T
	u      *Unit
	stable bool
	l2     map[int][]timing.L2Stats
	now    int64
}

func newRig(t *testing.T, target string, loads ...Load) *rig {
	t.Helper()
	g, err := gpu.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	regs, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, stable: true, l2: map[int][]timing.L2Stats{}}
	r.u, err = New(Config{
		GPU: g, Regs: regs, Stable: func() bool { return r.stable },
		L2: func(d int) []timing.L2Stats { return r.l2[d] }, Loads: loads,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) reg(name string) pm4.Reg {
	r.Helper()
	a, ok := r.u.Regs.Lookup(name)
	if !ok || !r.u.Owns(a) {
		r.Fatalf("%s is not the unit's", name)
	}
	return a
}

func (r *rig) write(s cp.Select, name string, v uint32) {
	r.Helper()
	if err := r.u.WriteReg(r.now, s, r.reg(name), v); err != nil {
		r.Fatalf("%s: %v", name, err)
	}
}

// all writes to every die.
func (r *rig) all(name string, v uint32) {
	r.Helper()
	for d := range r.u.GPU.Dies {
		s := everything
		s.Die = d
		r.write(s, name, v)
	}
}

func (r *rig) value(s cp.Select, name string) uint64 {
	r.Helper()
	lo, err := r.u.ReadReg(r.now, s, r.reg(name+"_LO"))
	if err != nil {
		r.Fatal(err)
	}
	hi := uint32(0)
	if a, ok := r.u.Regs.Lookup(name + "_HI"); ok && r.u.Owns(a) {
		hi, _ = r.u.ReadReg(r.now, s, a)
	}
	return uint64(hi)<<32 | uint64(lo)
}

func (r *rig) want(s cp.Select, name string, want uint64) {
	r.Helper()
	if got := r.value(s, name); got != want {
		r.Errorf("%s of %+v is %d, want %d", name, s, got, want)
	}
}

// aWave is a wave for waves.
type aWave struct {
	start, end int64
	at         timing.Place
	lanes      uint8
	vmid       uint8
	wide       bool
	first      bool
	uncounted  bool
	st         timing.Stats
}

// waves runs waves, their starts and ends in order of time, ends first.
func (r *rig) waves(ws ...aWave) {
	last := r.now
	for _, w := range ws {
		last = max(last, w.end)
	}
	for t := r.now; t <= last; t++ {
		for i := range ws {
			w := &ws[i]
			flags := uint8(timing.Counted)
			if w.uncounted {
				flags = 0
			}
			if w.end == t {
				w.st.Start, w.st.End = w.start, w.end
				r.u.Events([]timing.Event{{Time: t, Kind: timing.WaveEnd, Place: w.at, Stats: &w.st, VMID: w.vmid, Wide: w.wide, Flags: flags}})
			}
		}
		for _, w := range ws {
			flags := uint8(timing.Counted)
			if w.uncounted {
				flags = 0
			}
			if w.start == t {
				r.u.Events([]timing.Event{{
					Time: t, Kind: timing.WaveStart, Place: w.at, Lanes: w.lanes, VMID: w.vmid, Wide: w.wide, First: w.first, Flags: flags,
				}})
			}
		}
	}
	r.now = last
}

// start selects events of a block and starts counting, as a program would.
func (r *rig) start(block string, events ...uint32) {
	r.Helper()
	step := 1
	if block == "SQ" && r.u.GPU.Family != gpu.GFX9 {
		step = 2
	}
	other := uint32(0)
	r.all(r.cntl(), 0)
	if r.u.GPU.Family == gpu.GFX9 {
		r.all("SQ_PERFCOUNTER_MASK", 0xffffffff)
		r.all("SQ_PERFCOUNTER_CTRL", 0xffff007f)
		if block == "SQ" {
			other = 0xf<<24 | 0xf<<16 | 0xf<<12
		}
	} else {
		r.all("SQ_PERFCOUNTER_CTRL", 1<<6)
		r.all("SQ_PERFCOUNTER_CTRL2", 0x1ffff)
	}
	for i, e := range events {
		r.all(sprint(block, i*step)+"_SELECT", e|other)
	}
	r.all(r.cntl(), 1)
}

func (r *rig) stop() { r.all(r.cntl(), 0x402) }

func (r *rig) cntl() string {
	if r.u.GPU.Family == gpu.GFX12 {
		return "CP_PERFMON_CNTL_1"
	}
	return "CP_PERFMON_CNTL"
}

func sprint(block string, n int) string {
	return block + "_PERFCOUNTER" + strings.TrimLeft(string([]byte{byte('0' + n/10), byte('0' + n%10)}), "0") + map[bool]string{true: "0"}[n == 0]
}

// wgp selects one WGP's SQ.
func wgp(se, sa, n int) cp.Select { return cp.Select{SE: se, SA: sa, Instance: n << 2} }

// done is what a wave did.
func done(n map[timing.Stat]int64) timing.Stats {
	var s timing.Stats
	for k, v := range n {
		s.N[k] = v
		if k < timing.NumInstStats {
			s.Insts += uint64(v)
		}
	}
	return s
}
