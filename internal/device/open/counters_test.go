package open

import (
	"testing"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/pm4"
)

// counted adds up what a counter's units hold.
func counted(t *testing.T, l *perfctr.Layout, samples []byte, name string) uint64 {
	t.Helper()
	for i := range l.Counters {
		c := &l.Counters[i]
		if c.Name != name {
			continue
		}
		n := l.Dies * c.Instances * c.Engines * c.Arrays * c.WGPs
		var sum uint64
		for k := range n {
			for b := range 8 {
				sum += uint64(samples[c.Offset+8*k+b]) << (8 * b)
			}
		}
		return sum
	}
	t.Fatalf("the layout has no %s", name)
	return 0
}

// Of two processes that use the GPU in turn the filter counts the one whose VMID it names; without it both count.
func TestFilterOfTwoProcesses(t *testing.T) {
	g, err := gpu.Lookup("gfx1201")
	if err != nil {
		t.Fatal(err)
	}
	k, err := sim.New([]*gpu.GPU{g}, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var devs [2]device.Device
	var progs [2]program
	for i := range devs {
		d, err := kfd.Open(k, 0, kfd.Options{Simulated: true, KeepPower: i > 0})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		devs[i], progs[i] = d, load(t, d, "vadd")
	}
	a, b := devs[0], devs[1]
	l, err := perfctr.NewLayout(g, []string{"SQ_WAVES", "SQ_INSTS_VALU"})
	if err != nil {
		t.Fatal(err)
	}
	// The second process counts too, or its dispatches would not be counted at all.
	regs, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	enable, _ := regs.Lookup("COMPUTE_PERFCOUNT_ENABLE")
	submit(t, b, device.Words(pm4.Stream(nil).SetSh(enable, 1)))
	samples := alloc(t, a, uint64(l.Bytes), device.AllocOptions{Uncached: true})
	filter := alloc(t, a, 4096, device.AllocOptions{Uncached: true})
	stop, err := perfctr.Stop(g, a.Info().Live, l, int64(samples.Addr))
	if err != nil {
		t.Fatal(err)
	}
	waves := progs[0].ready.Waves()
	run := func(start []uint32) (w, insts uint64) {
		t.Helper()
		submit(t, a, device.Words(start))
		submit(t, a, progs[0].launch)
		submit(t, b, progs[1].launch)
		submit(t, a, progs[0].launch)
		submit(t, a, device.Words(stop))
		submit(t, b, progs[1].launch) // counts no more
		return counted(t, l, samples.Bytes, "SQ_WAVES"), counted(t, l, samples.Bytes, "SQ_INSTS_VALU")
	}
	word := func(vmid int) []uint32 {
		t.Helper()
		w, err := perfctr.Filter(g, vmid)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			filter.Bytes[i] = byte(w >> (8 * i))
		}
		s, err := perfctr.StartFiltered(g, l, int64(filter.Addr))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all, err := perfctr.Start(g, l)
	if err != nil {
		t.Fatal(err)
	}
	w3, i3 := run(all)
	w2, i2 := run(word(8)) // the first process
	w1, i1 := run(word(9)) // the second
	w0, i0 := run(word(10))
	if w3 != 3*waves || w2 != 2*waves || w1 != waves || w0 != 0 {
		t.Errorf("waves: all %d, first process %d, second %d, neither %d; a launch has %d", w3, w2, w1, w0, waves)
	}
	if i3 == 0 || i2+i1 != i3 || i2 != 2*i1 || i0 != 0 {
		t.Errorf("VALU instructions: all %d, first process %d, second %d, neither %d", i3, i2, i1, i0)
	}
}
