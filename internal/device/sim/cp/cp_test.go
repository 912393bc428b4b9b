package cp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

const memBase = 0x10000

// flat is memory of one mapping from memBase on; its last page is read-only.
type flat []byte

func (m flat) Map(addr uint64, write bool) ([]byte, bool) {
	end := uint64(len(m))
	if write {
		end -= 4096
	}
	if addr < memBase || addr-memBase >= end {
		return nil, false
	}
	return m[addr-memBase : end], true
}

// recorder is a Unit that owns some registers, a Listener and a Runner.
type recorder struct {
	owned  map[pm4.Reg]bool
	values map[string]uint32 // by die/se/sa/instance/register
	log    []string
	grids  []Dispatch
	code   int
	run    func(d *Dispatch) (int64, error)
}

func (r *recorder) Owns(reg pm4.Reg) bool { return r.owned[reg] }

func key(s Select, reg pm4.Reg) string {
	return fmt.Sprintf("%d/%d/%d/%d/%#x", s.Die, s.SE, s.SA, s.Instance, uint32(reg))
}

func (r *recorder) WriteReg(_ int64, s Select, reg pm4.Reg, v uint32) error {
	r.values[key(s, reg)] = v
	return nil
}

func (r *recorder) ReadReg(_ int64, s Select, reg pm4.Reg) (uint32, error) {
	return r.values[key(s, reg)], nil
}

func (r *recorder) RegWritten(_ int64, s Select, reg pm4.Reg, v uint32) {
	r.log = append(r.log, fmt.Sprintf("%s=%#x", key(s, reg), v))
}

func (r *recorder) Event(_ int64, die int, e uint32) {
	r.log = append(r.log, fmt.Sprintf("%d event %#x", die, e))
}

func (r *recorder) Dispatch(_ context.Context, d *Dispatch) (int64, error) {
	r.grids = append(r.grids, *d)
	if r.run != nil {
		return r.run(d)
	}
	return d.Start + 100, nil
}

func (r *recorder) CodeWritten() { r.code++ }

type bench struct {
	p   *Processor
	q   *Queue
	mem flat
	rec *recorder
	t   *pm4.RegTable
}

func setup(t testing.TB, name string, owned ...string) *bench {
	t.Helper()
	g, err := gpu.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	regs, err := pm4.RegsFor(g.GC)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{mem: make(flat, 1<<16), rec: &recorder{owned: map[pm4.Reg]bool{}, values: map[string]uint32{}}, t: regs}
	for _, n := range owned {
		b.rec.owned[b.reg(t, n)] = true
	}
	b.p, err = New(Config{
		GPU: g, Regs: regs, Units: []Unit{b.rec}, Listeners: []Listener{b.rec}, WaitLimit: 20 * time.Millisecond,
	})
	b.q = &Queue{Memory: b.mem, Runner: b.rec, VMID: func() uint32 { return 8 }}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) reg(t testing.TB, name string) pm4.Reg {
	t.Helper()
	r, ok := b.t.Lookup(name)
	if !ok {
		t.Fatalf("no register %s", name)
	}
	return r
}

// run puts the words into an indirect buffer and executes them on all dies.
func (b *bench) run(t testing.TB, s pm4.Stream) error {
	t.Helper()
	const at = 0x8000
	for i, w := range s {
		binary.LittleEndian.PutUint32(b.mem[at+4*i:], w)
	}
	return b.p.RunIndirect(t.Context(), b.q, 1<<b.p.GPU.Dies-1, memBase+at, len(s))
}

func (b *bench) dword(off int) uint32 { return binary.LittleEndian.Uint32(b.mem[off:]) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSelection(t *testing.T) {
	b := setup(t, "gfx1100", "SQ_THREAD_TRACE_CTRL")
	idx, ctrl, plain := b.reg(t, "GRBM_GFX_INDEX"), b.reg(t, "SQ_THREAD_TRACE_CTRL"), b.reg(t, "SPI_CONFIG_CNTL")
	s := pm4.Stream(nil).
		SetUconfig(ctrl, 7).SetUconfig(plain, 0x11).                      // everything
		SetUconfig(idx, 0x40020100).SetUconfig(ctrl, 8).                  // engine 2, array 1, all instances
		SetUconfig(plain, 0x22).CopyRegToMem(plain, memBase, true).       // engine 2's
		SetUconfig(idx, 0x00030005).CopyRegToMem(plain, memBase+4, true). // engine 3's, as broadcast
		SetUconfig(ctrl, 9).                                              // engine 3, array 0, instance 5
		SetUconfig(idx, 0x40ff0000).SetUconfig(plain, 1).                 // an engine that is not there
		CopyRegToMem(plain, memBase+8, true).CopyRegToMem(idx, memBase+12, true)
	must(t, b.run(t, s))
	want := map[string]uint32{
		key(Select{0, All, All, All}, ctrl): 7, key(Select{0, 2, 1, All}, ctrl): 8, key(Select{0, 3, 0, 5}, ctrl): 9,
	}
	for k, v := range want {
		if b.rec.values[k] != v {
			t.Errorf("%s is %d, want %d", k, b.rec.values[k], v)
		}
	}
	for i, want := range []uint32{0x22, 0x11, 0, 0x40ff0000} {
		if got := b.dword(4 * i); got != want {
			t.Errorf("dword %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestMemoryPackets(t *testing.T) {
	b := setup(t, "gfx1100")
	idx := b.reg(t, "GRBM_GFX_INDEX")
	const src, dst = memBase + 0x100, memBase + 0x200
	binary.LittleEndian.PutUint64(b.mem[0x100:], 0x1122334455667788)
	s := pm4.Stream(nil).
		CopyData(2|2<<8|1<<16, src, dst).                               // 64 bits
		CopyData(2|5<<8, src, dst+8).                                   // 32
		CopyData(5|2<<8, 0xabc, dst+12).                                // immediate
		CopyMemToReg(src, idx).CopyData(4|2<<8, uint64(idx), dst+16).   // through a register
		WriteData(dst+20, 1, 2).                                        //
		ReleaseMem(gpu.GFX11, pm4.System, dst+32, pm4.Release64, 5, 0). //
		ReleaseMem(gpu.GFX11, pm4.System, dst+40, pm4.Release32, 6<<32|7, 0)
	s = append(s, 3<<30|7<<16|uint32(pm4.OpAtomicMem)<<8, atomicAdd32, dst+20, 0, 41, 0, 0, 0, 0)
	s = append(s, 3<<30|7<<16|uint32(pm4.OpAtomicMem)<<8, atomicCmpSwap32, dst+24, 0, 9, 0, 2, 0, 0)
	s = s.CopyData(6|2<<8, 0, dst+28)                                                                            // what the atomic read
	s = append(s, 3<<30|5<<16|uint32(pm4.OpDmaData)<<8, 3<<29|3<<20, src, 0, dst+48, 0, 8)                       // copy
	s = append(s, 3<<30|5<<16|uint32(pm4.OpDmaData)<<8, 2<<29|3<<20, 0x05060708, 0, dst+56, 0, 7)                // fill
	s = append(s, 3<<30|3<<16|uint32(pm4.OpCondExec)<<8, dst+2048, 0, 0, 5).WriteData(dst+64, 1)                 // skipped
	s = append(s, 3<<30|3<<16|uint32(pm4.OpCondExec)<<8, dst, 0, 0, 5).WriteData(dst+68, 1).Nop(1).Nop(1).Nop(1) // not skipped
	must(t, b.run(t, s))
	want := []uint32{
		0x55667788, 0x11223344, 0x55667788, 0xabc, 0x55667788, 42, 9, 2, 5, 0, 7, 0,
		0x55667788, 0x11223344, 0x05060708, 0x00060708, 0, 1,
	}
	for i, w := range want {
		if got := b.dword(0x200 + 4*i); got != w {
			t.Errorf("dword %d is %#x, want %#x", i, got, w)
		}
	}
}

// What hardware would hang on, or drop without a word, is an error that names the packet and its place.
func TestErrors(t *testing.T) {
	header := func(op pm4.Op, body ...uint32) pm4.Stream {
		return append(pm4.Stream{3<<30 | uint32(len(body)-1)<<16 | uint32(op)<<8}, body...)
	}
	b := setup(t, "gfx1100")
	idx, status := b.reg(t, "GRBM_GFX_INDEX"), b.reg(t, "SQ_THREAD_TRACE_STATUS")
	for _, c := range []struct {
		name string
		s    pm4.Stream
		want string
	}{
		{"opcode", pm4.Stream(nil).Nop(3).EventWrite(7).Nop(1), ""},
		{"unknown opcode", append(pm4.Stream(nil).Nop(3), header(pm4.OpSetContextReg, 1, 2)...), "packet SET_CONTEXT_REG (0xc0016900) at dword 3 of the indirect buffer at 0x18000: opcode 0x69 is unknown"},
		{"unknown register", header(pm4.OpSetUconfigReg, 0x3ffe, 1), "register 0xfffe is unknown on GC 11.0.0"},
		{"privileged", pm4.Stream(nil).CopyData(5|4<<8, 0, uint64(b.reg(t, "GRBM_STATUS"))), "GRBM_STATUS (0x2004) is not for user queues"},
		{"outside", header(pm4.OpSetShReg, 0x3ff, 1, 2), "leave the space"},
		{"cut", pm4.Stream{3<<30 | 5<<16 | 0x4000, 0}, "at dword 0"},
		{"no header", pm4.Stream{0x12345678}, "is no type-3 header"},
		{"length", header(pm4.OpWaitRegMem, 1, 2, 3), "length"},
		{"register wait", pm4.Stream(nil).WaitReg(status, pm4.NotEqual, 0, 0xfff000), "SQ_THREAD_TRACE_STATUS is 0x0; the wait for (it & 0xfff000) != 0x0 never ends"},
		{"memory wait", pm4.Stream(nil).WaitMem(memBase, pm4.Equal, 1, 1), "the dword at 0x10000 is 0x0; the wait for (it & 0x1) == 0x1 did not end in 20ms"},
		{"unmapped", pm4.Stream(nil).WriteData(0x100, 1), "write to address 0x100"},
		{"read-only", pm4.Stream(nil).WriteData(memBase+0xf800, 1), "write to address 0x1f800"},
		{"end of memory", header(pm4.OpDmaData, 2<<29|3<<20, 0, 0, memBase+0xe000, 0, 0x1004), "write to address 0x1f000"},
		{"deep", pm4.Stream(nil).IndirectBuffer(memBase+0x8000, 4), "nested too deeply"},
		{"work-items", pm4.Stream(nil).DispatchDirect(1, 1, 1, 1), "0 x 0 x 0 work-items"},
		{"select", header(pm4.OpCopyData, 3|2<<8, 0, 0, memBase, 0), "source 3 is not modelled"},
		{"predicate", append(pm4.Stream(nil).PredExec(1, 2), pm4.Stream(nil).SetUconfig(idx, 0)...), "PRED_EXEC ends inside the packet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := b.run(t, c.s)
			if c.want == "" {
				must(t, err)
				return
			}
			if _, ok := errors.AsType[*PacketError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ...%s...", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.p.Run(ctx, b.q, 1, pm4.Stream(nil).Nop(1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPredication(t *testing.T) {
	b := setup(t, "gfx942", "SQ_THREAD_TRACE_CTRL")
	ctrl := b.reg(t, "SQ_THREAD_TRACE_CTRL")
	s := pm4.Stream(nil)
	for die := range 8 {
		at := len(s)
		s = s.PredExec(1<<die, 0).SetUconfig(ctrl, uint32(100+die)).EndPredExec(at)
	}
	s = s.EventWrite(7)
	must(t, b.run(t, s))
	for die := range 8 {
		if got := b.rec.values[key(Select{die, All, All, All}, ctrl)]; got != uint32(100+die) {
			t.Errorf("die %d has %d", die, got)
		}
	}
	if n := len(b.rec.log); n != 16 { // a write of each die, an event on each
		t.Errorf("%d entries: %v", n, b.rec.log)
	}
	// A ring's PRED_EXEC has no effect.
	must(t, b.p.Run(t.Context(), b.q, 0xff, pm4.Stream(nil).PredExec(1, 3).SetUconfig(ctrl, 5), 0))
	if got := b.rec.values[key(Select{7, All, All, All}, ctrl)]; got != 5 {
		t.Errorf("die 7 has %d", got)
	}
}

func TestDispatch(t *testing.T) {
	b := setup(t, "gfx1100")
	sh := func(name string, v ...uint32) pm4.Stream { return pm4.Stream(nil).SetSh(b.reg(t, name), v...) }
	s := slices.Concat(
		sh("COMPUTE_PGM_LO", 0x345678, 0x12), sh("COMPUTE_PGM_RSRC1", 11, 12), sh("COMPUTE_PGM_RSRC3", 13),
		sh("COMPUTE_TMPRING_SIZE", 0x5003), sh("COMPUTE_DISPATCH_SCRATCH_BASE_LO", 0x10, 0),
		sh("COMPUTE_USER_DATA_0", 1, 2, 3), sh("COMPUTE_NUM_THREAD_X", 64|10<<16, 2|2<<16, 1|1<<16),
		sh("COMPUTE_STATIC_THREAD_MGMT_SE1", 0x3), sh("COMPUTE_THREAD_TRACE_ENABLE", 1),
	)
	must(t, b.run(t, pm4.Stream(s).DispatchDirect(5, 6, 7, 0x8000|7)))
	if len(b.rec.grids) != 1 {
		t.Fatalf("%d grids", len(b.rec.grids))
	}
	d := b.rec.grids[0]
	if d.Entry != 0x1200_3456_7800 || d.RSRC1 != 11 || d.RSRC2 != 12 || d.RSRC3 != 13 || d.Tmpring != 0x5003 || d.ScratchBase[0] != 0x1000 {
		t.Errorf("%+v", d)
	}
	if d.Groups != [3]uint32{5, 6, 7} || d.Block != [3]uint32{64, 2, 1} || d.Partial != [3]uint32{10, 0, 0} || !d.Wave32 {
		t.Errorf("%+v", d)
	}
	if d.UserData[2] != 3 || d.ThreadMgmt[0] != ^uint32(0) || d.ThreadMgmt[1] != 3 || !d.TraceEnable || d.CountEnable || d.VMID != 8 {
		t.Errorf("%+v", d)
	}
	before := b.p.Now()
	b.rec.run = func(d *Dispatch) (int64, error) { return d.Start + 1e6, &MemoryError{Addr: 0x123000, Write: true} }
	err := b.run(t, pm4.Stream(nil).DispatchDirect(1, 1, 1, 0x8001))
	if m, ok := errors.AsType[*MemoryError](err); !ok || m.Addr != 0x123000 || b.p.Now() < before+1e6 {
		t.Errorf("%v at %d", err, b.p.Now()-before)
	}
	// USE_THREAD_DIMENSIONS: the packet counts work-items.
	b.rec.run = nil
	must(t, b.run(t, slices.Concat(sh("COMPUTE_NUM_THREAD_X", 64, 1, 1), pm4.Stream(nil).DispatchDirect(100, 1, 1, 0x8000|1<<5|1))))
	if d := b.rec.grids[len(b.rec.grids)-1]; d.Groups[0] != 2 || d.Partial != [3]uint32{36, 0, 0} {
		t.Errorf("%+v", d)
	}
	must(t, b.run(t, pm4.Stream(nil).DispatchDirect(0, 1, 1, 1))) // nothing to run
	must(t, b.run(t, pm4.Stream(nil).AcquireMem(gpu.GFX11, pm4.System).AcquireMem(gpu.GFX11, pm4.Agent)))
	if b.rec.code != 1 {
		t.Errorf("code was dropped %d times", b.rec.code)
	}
}

// Each queue has persistent state of its own; the other registers are the GPU's.
func TestQueues(t *testing.T) {
	b := setup(t, "gfx1100")
	other := &Queue{Memory: b.mem, Runner: b.rec}
	user, plain := b.reg(t, "COMPUTE_USER_DATA_0"), b.reg(t, "SPI_CONFIG_CNTL")
	must(t, b.run(t, pm4.Stream(nil).SetSh(user, 1).SetUconfig(plain, 2)))
	must(t, b.p.Run(t.Context(), other, 1, pm4.Stream(nil).CopyRegToMem(user, memBase, true).CopyRegToMem(plain, memBase+4, true).SetSh(user, 3), 0))
	must(t, b.run(t, pm4.Stream(nil).CopyRegToMem(user, memBase+8, true)))
	if b.dword(0) != 0 || b.dword(4) != 2 || b.dword(8) != 1 {
		t.Errorf("%d %d %d", b.dword(0), b.dword(4), b.dword(8))
	}
}

func BenchmarkIndirect(b *testing.B) {
	c := setup(b, "gfx1100")
	s := pm4.Stream(nil)
	for range 1000 {
		s = s.SetSh(c.reg(b, "COMPUTE_USER_DATA_0"), 1, 2, 3, 4)
	}
	c.rec.log = nil
	c.p.listeners = nil
	for i, w := range s {
		binary.LittleEndian.PutUint32(c.mem[0x2000+4*i:], w)
	}
	b.SetBytes(int64(4 * len(s)))
	for b.Loop() {
		if err := c.p.RunIndirect(b.Context(), c.q, 1, memBase+0x2000, len(s)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(s))/b.Elapsed().Seconds(), "words/s")
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte{0, 0x10, 0, 0xc0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := setup(t, "gfx1100")
		b.p.WaitLimit = time.Millisecond
		words := make([]uint32, min(len(data)/4, 2000))
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(data[4*i:])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = b.p.Run(ctx, b.q, 1, words, 0) // neither panics nor hangs
		if ctx.Err() != nil {
			t.Fatal("it went on for a second")
		}
	})
}
