package pm4_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/sharedtest"
)

func hex(t testing.TB, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func words(t testing.TB, ss []string) pm4.Stream {
	out := pm4.Stream{}
	for _, s := range ss {
		out = append(out, uint32(hex(t, s)))
	}
	return out
}

type goldenFile struct {
	GPUs map[string]struct {
		GC string `json:"gc"`
	} `json:"gpus"`
	Registers map[string]map[string]struct {
		Address string            `json:"address"`
		Fields  map[string][2]int `json:"fields"`
	} `json:"registers"`
	Cases []struct {
		ID, Fn, GPU, Error string
		Args               json.RawMessage
		Words              []string
	} `json:"cases"`
}

func golden(t testing.TB) goldenFile {
	f, err := os.Open(sharedtest.Path(t, "golden", "pm4.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var g goldenFile
	if err := json.NewDecoder(z).Decode(&g); err != nil {
		t.Fatal(err)
	}
	return g
}

func family(gc string) gpu.Family {
	switch {
	case strings.HasPrefix(gc, "9."):
		return gpu.GFX9
	case strings.HasPrefix(gc, "11."):
		return gpu.GFX11
	}
	return gpu.GFX12
}

var compares = map[string]pm4.Compare{"equal": pm4.Equal, "greater_equal": pm4.GreaterEqual}

// TestGoldenPackets compares the builder with an independent implementation wherever the packet means the same. Left out, with the
// reason beside it: what our builder has no packet for, and what the reference data says not to follow.
func TestGoldenPackets(t *testing.T) {
	g := golden(t)
	tried, left := 0, map[string]int{}
	for _, c := range g.Cases {
		fn, ok := strings.CutPrefix(c.Fn, "pm4.")
		if !ok {
			continue
		}
		var a struct {
			Scope, Address, Data, Value, Location, Cmp, Mask, Write, Source, Event, Register string
			Interrupt                                                                        *uint64
			Interval                                                                         *uint32
			Values                                                                           []string
			XccMask                                                                          uint32 `json:"xcc_mask"`
			BodyWords                                                                        int    `json:"body_words"`
			Dwords                                                                           int
		}
		if err := json.Unmarshal(c.Args, &a); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		gc := g.GPUs[c.GPU].GC
		fam := family(gc)
		scope := pm4.Agent
		if a.Scope == "system" {
			scope = pm4.System
		}
		var build func() pm4.Stream
		switch fn {
		case "acquire_mem":
			build = func() pm4.Stream { return pm4.Stream{}.AcquireMem(fam, scope) }
		case "release_mem":
			data := pm4.Release32
			if a.Data == "data64" {
				data = pm4.Release64
			}
			irq := uint32(0)
			if a.Interrupt != nil {
				irq = uint32(*a.Interrupt)
			}
			build = func() pm4.Stream {
				return pm4.Stream{}.ReleaseMem(fam, scope, hex(t, a.Address), data, hex(t, a.Value), irq)
			}
		case "wait":
			kind, at, _ := strings.Cut(a.Location, ":")
			mask := uint32(0xffffffff)
			if a.Mask != "" {
				mask = uint32(hex(t, a.Mask))
			}
			if kind == "register" && fam == gpu.GFX9 {
				left["a gfx9 register wait: the reference takes a UCONFIG-relative address"]++
				continue
			}
			if a.Interval != nil && *a.Interval != pm4.PollInterval {
				left["a poll interval other than ours"]++
				continue
			}
			build = func() pm4.Stream {
				if kind == "register" {
					return pm4.Stream{}.WaitReg(pm4.Reg(hex(t, at)), compares[a.Cmp], uint32(hex(t, a.Value)), mask)
				}
				return pm4.Stream{}.WaitMem(hex(t, at), compares[a.Cmp], uint32(hex(t, a.Value)), mask)
			}
		case "copy_data":
			confirm := a.Write == "confirmed"
			if reg, ok := strings.CutPrefix(a.Source, "counter:"); ok {
				build = func() pm4.Stream {
					return pm4.Stream{}.CopyRegToMem(pm4.Reg(hex(t, reg)), hex(t, a.Address), confirm)
				}
			} else {
				build = func() pm4.Stream {
					s := pm4.Stream{}.CopyClockToMem(hex(t, a.Address), confirm)
					return s
				}
			}
		case "pred_exec":
			build = func() pm4.Stream {
				s := pm4.Stream{}.PredExec(a.XccMask, a.BodyWords)
				return append(s, make([]uint32, a.BodyWords)...)
			}
		case "set_reg":
			vals := []uint32{}
			for _, v := range a.Values {
				vals = append(vals, uint32(hex(t, v)))
			}
			build = func() pm4.Stream { return pm4.Stream{}.SetReg(pm4.Reg(hex(t, a.Register)), vals...) }
		case "event_write":
			ev := map[string]uint32{"cs_partial_flush": pm4.EventCSPartialFlush, "thread_trace_finish": pm4.EventThreadTraceFinish}[a.Event]
			build = func() pm4.Stream { return pm4.Stream{}.EventWrite(ev) }
		case "indirect_buffer":
			build = func() pm4.Stream { return pm4.Stream{}.IndirectBuffer(hex(t, a.Address), a.Dwords) }
		case "write_data":
			_, at, _ := strings.Cut(a.Location, ":")
			build = func() pm4.Stream { return pm4.Stream{}.WriteData(hex(t, at), uint32(hex(t, a.Value))) }
		default:
			left[fn+": no such packet in our programs"]++
			continue
		}
		tried++
		got, panicked := try(build)
		if panicked != (c.Error != "") {
			t.Errorf("%s: panicked %v, reference error %q", c.ID, panicked, c.Error)
		} else if c.Error == "" && !slices.Equal(got, words(t, c.Words)) {
			t.Errorf("%s: %08x, want %v", c.ID, got, c.Words)
		}
	}
	t.Logf("%d packets agree; left out: %v", tried, left)
	if tried < 100 {
		t.Errorf("only %d cases were compared", tried)
	}
}

func try(f func() pm4.Stream) (s pm4.Stream, panicked bool) {
	defer func() { panicked = recover() != nil }()
	return f(), false
}

// TestGoldenRegisters compares addresses and fields with the independent implementation's.
func TestGoldenRegisters(t *testing.T) {
	n := 0
	for gc, regs := range golden(t).Registers {
		tab, err := pm4.RegsFor(gc)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range regs {
			r, ok := tab.Lookup(name)
			if !ok || uint64(r) != hex(t, want.Address) {
				t.Errorf("%s %s: %#x %v, want %s", gc, name, uint32(r), ok, want.Address)
				continue
			}
			n++
			for _, f := range tab.Fields(r) {
				w, ok := want.Fields[strings.ToLower(f.Name)]
				if !ok || w != [2]int{int(f.Lo), int(f.Hi)} {
					t.Errorf("%s %s.%s: %d-%d, want %v", gc, name, f.Name, f.Lo, f.Hi, w)
				}
			}
			if tab.Name(r) != name {
				t.Errorf("%s %#x: %s, want %s", gc, uint32(r), tab.Name(r), name)
			}
		}
	}
	t.Logf("%d registers agree", n)
}

func TestRegTables(t *testing.T) {
	for _, tc := range []struct {
		gc, name string
		reg      pm4.Reg
	}{
		{"11.0.0", "GRBM_GFX_INDEX", 0xc200}, // gc_11_0_0_offset.h 0x2200 in segment 1
		{"11.0.2", "SQ_THREAD_TRACE_STATUS", 0xd9f4},
		{"12.0.1", "CP_PERFMON_CNTL_1", 0xd808},
		{"9.5.0", "SQ_THREAD_TRACE_MODE", 0xc336},
		{"9.4.2", "RLC_PERFMON_CLK_CNTL", 0xdcbf},
		{"11.5.1", "COMPUTE_PGM_LO", 0x2e0c},
	} {
		tab, err := pm4.RegsFor(tc.gc)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := tab.Lookup(tc.name); r != tc.reg || !ok {
			t.Errorf("%s %s: %#x %v, want %#x", tc.gc, tc.name, uint32(r), ok, uint32(tc.reg))
		}
		if _, ok := tab.Lookup("SQ_NOTHING"); ok || tab.Name(1) != "" || tab.Fields(1) != nil {
			t.Errorf("%s has registers that do not exist", tc.gc)
		}
		for _, r := range tab.All() {
			if back, ok := tab.Lookup(tab.Name(r)); back != r || !ok {
				t.Errorf("%s %s: %#x, want %#x", tc.gc, tab.Name(r), uint32(back), uint32(r))
			}
		}
	}
	if _, err := pm4.RegsFor("10.3.0"); err == nil || !strings.Contains(err.Error(), `"10.3.0"`) {
		t.Errorf("GC 10.3.0: %v", err)
	}
	tab, _ := pm4.RegsFor("11.0.0")
	f, ok := tab.Field("SQ_THREAD_TRACE_MASK", "WGP_SEL")
	if want := (pm4.Field{Name: "WGP_SEL", Lo: 4, Hi: 7}); f != want || !ok {
		t.Errorf("WGP_SEL is %v, want %v", f, want)
	}
	if f.Put(0x1f) != 0xf0 || f.Get(0xa5a5) != 0xa || f.Mask() != 0xf0 {
		t.Errorf("field arithmetic: %#x %#x %#x", f.Put(0x1f), f.Get(0xa5a5), f.Mask())
	}
	if _, ok := tab.Field("SQ_THREAD_TRACE_MASK", "CU_SEL"); ok {
		t.Error("gfx11 has no CU_SEL")
	}
	if _, ok := tab.Field("SQ_NOTHING", "X"); ok {
		t.Error("a field of no register")
	}
	if len(pm4.GCs()) < 14 {
		t.Errorf("GC versions: %v", pm4.GCs())
	}
}

func TestPackets(t *testing.T) {
	s := pm4.Stream{}.Nop(2).SetUconfig(0xc200, 1, 2).EventWrite(pm4.EventCSPartialFlush)
	s = append(s, 0xc0021000, 7, 8, 9) // a NOP with three dwords of payload
	type pk struct {
		Off, N int
		Op     pm4.Op
	}
	var got []pk
	for p, err := range pm4.Packets(s) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, pk{p.Off, len(p.Body), p.Op})
	}
	want := []pk{{0, 0, pm4.OpNop}, {1, 0, pm4.OpNop}, {2, 3, pm4.OpSetUconfigReg}, {6, 1, pm4.OpEventWrite}, {8, 3, pm4.OpNop}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, tc := range []struct {
		words []uint32
		want  string
	}{
		{s[:5], "pm4: dword 2: packet SET_UCONFIG_REG of 4 dwords, 3 are left"},
		{[]uint32{0xffff1000, 0x80000000}, "pm4: dword 1: 0x80000000 is no type-3 header"},
		{[]uint32{0xffffff00}, "pm4: dword 0: packet opcode 0xff of 16385 dwords, 1 are left"},
	} {
		var last error
		for _, err := range pm4.Packets(tc.words) {
			last = err
		}
		if _, ok := errors.AsType[*pm4.PacketError](last); !ok || last.Error() != tc.want {
			t.Errorf("%x: %v, want %s", tc.words, last, tc.want)
		}
	}
}

func TestDisassemble(t *testing.T) {
	s := pm4.Stream{}.AcquireMem(gpu.GFX11, pm4.System)
	s = s.SetUconfig(0xc200, 0x40020000).SetUconfig(0xd9ec, 0x80023d41).SetUconfig(0xd9ee, 0x3f1127)
	s = s.SetSh(0x2e0c, 0x1000011, 0).SetSh(0x2e1e, 1)
	s = s.WaitReg(0xd9f4, pm4.GreaterEqual, 1, 0xfff000).WaitMem(0x123456780, pm4.Equal, 1, 0xffffffff)
	s = s.CopyRegToMem(0xd9ef, 0x123456780, true).CopyMemToReg(0x200000040, 0xd9e2).CopyData(pm4.SelImm|pm4.SelPerfReg<<8, 5, 0xd9e8).CopyClockToMem(0x40, false)
	at := len(s)
	s = s.PredExec(2, 0).EventWrite(pm4.EventThreadTraceFinish).EndPredExec(at)
	s = s.ReleaseMem(gpu.GFX11, pm4.System, 0x100000040, pm4.Release64, 0x200000009, 0).DispatchDirect(2, 3, 4, 0x8005)
	s = s.WriteData(0x100000040, 0xabcd, 0).IndirectBuffer(0x100, 16).Nop(1)
	s = append(s, 0xc0016900, 0x10, 1, 0xc000ee00, 3, 0x12345678, 0x9)
	var b strings.Builder
	err := pm4.Disassemble(&b, "11.0.0", s)
	if _, ok := errors.AsType[*pm4.PacketError](err); !ok {
		t.Errorf("error %v", err)
	}
	want := `000000  ACQUIRE_MEM coher_size=0xffffffff coher_size_hi=0xff coher_base_lo=0x0 gli_inv=1 glm_wb=1 glm_inv=1 glk_wb=1 glk_inv=1 glv_inv=1 gl1_inv=1 gl2_inv=1 gl2_wb=1
`
	got := b.String()
	if !strings.HasPrefix(got, want) {
		t.Errorf("disassembly starts otherwise:\n%s", got)
	}
	for _, part := range []string{
		"SET_UCONFIG_REG GRBM_GFX_INDEX=0x40020000 {SE_INDEX=2 INSTANCE_BROADCAST_WRITES=1}\n",
		"MODE=SQ_TT_MODE_ON",
		"TOKEN_EXCLUDE=SQ_TT_TOKEN_EXCLUDE_{VMEMEXEC|ALUEXEC|VALUINST|IMMEDIATE|INST}",
		"SET_SH_REG\n          COMPUTE_PGM_LO=0x1000011\n          COMPUTE_PGM_HI=0x0\n",
		"COMPUTE_THREAD_TRACE_ENABLE=0x1\n",
		"WAIT_REG_MEM function=greater_than_or_equal_reference_value reg_poll_addr=SQ_THREAD_TRACE_STATUS reference=0x1 mask=0xfff000 poll_interval=4",
		"mem_space=memory_space mem_poll_addr_lo=0x23456780 mem_poll_addr_hi=0x1",
		"COPY_DATA src_sel=perfcounters dst_sel=tc_l2 wr_confirm=wait_for_confirmation src_reg_offset=SQ_THREAD_TRACE_WPTR dst_32b_addr_lo=0x23456780 dst_addr_hi=0x1",
		"src_sel=tc_l2 dst_sel=perfcounters wr_confirm=wait_for_confirmation src_32b_addr_lo=0x40 src_memtc_addr_hi=0x2 dst_reg_offset=SQ_PERFCOUNTER_CTRL2",
		"src_sel=immediate_data dst_sel=perfcounters imm_data=0x5 dst_reg_offset=SQ_THREAD_TRACE_BUF0_BASE",
		"src_sel=gpu_clock_count dst_sel=tc_l2 count_sel=64_bits_of_data",
		"PRED_EXEC dies 0x2, next 2 dwords\n",
		"    EVENT_WRITE event_type=THREAD_TRACE_FINISH\n",
		"DISPATCH_DIRECT dim_x=2 dim_y=3 dim_z=4 COMPUTE_DISPATCH_INITIATOR=0x8005 {COMPUTE_SHADER_EN=1 FORCE_START_AT_000=1 CS_W32_EN=1}",
		"data=0xabcd data=0x0",
		"NOP 1 dwords",
		"SET_CONTEXT_REG",
		"opcode 0xee, 2 dwords: no packet of this generation's compute queues",
		"12345678 ?\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("disassembly lacks %q", part)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	if err := pm4.Disassemble(&b, "1.2.3", s); err == nil {
		t.Error("GC 1.2.3 has a table")
	}
	if err := pm4.Disassemble(badWriter{}, "9.4.2", pm4.Stream{}.AcquireMem(gpu.GFX9, pm4.Agent)); err == nil {
		t.Error("a failed write is no error")
	}
}

type badWriter struct{}

func (badWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		c    pm4.Compare
		want [3]bool // value below, at, above the reference
	}{
		{pm4.Always, [3]bool{true, true, true}},
		{pm4.Less, [3]bool{true, false, false}},
		{pm4.LessEqual, [3]bool{true, true, false}},
		{pm4.Equal, [3]bool{false, true, false}},
		{pm4.NotEqual, [3]bool{true, false, true}},
		{pm4.GreaterEqual, [3]bool{false, true, true}},
		{pm4.Greater, [3]bool{false, false, true}},
		{7, [3]bool{}},
	} {
		for i := range uint64(3) {
			if got := tc.c.Holds(0x10+i, 0xf, 1); got != tc.want[i] {
				t.Errorf("comparison %d of %d with 1: %v", tc.c, i, got)
			}
		}
	}
}

func TestAQL(t *testing.T) {
	p := pm4.AQLPM4{Header: pm4.AQLHeader(pm4.AQLVendor, true, pm4.FenceSystem, pm4.FenceSystem), Addr: 0x123456780, Dwords: 42, CompletionSignal: 0x77}
	b := p.AppendTo(nil)
	if len(b) != pm4.AQLBytes || fmt.Sprintf("%x", b[:24]) != "001501000"+"03f02c0"+"80674523"+"01000000"+"2a008000"+"0a000000" {
		t.Errorf("PM4 AQL packet: %x", b)
	}
	if back, err := pm4.ParseAQLPM4(b); back != p || err != nil {
		t.Errorf("read back as %+v, %v", back, err)
	}
	d := pm4.AQLDispatch{
		Header: pm4.AQLHeader(pm4.AQLKernelDispatch, false, pm4.FenceAgent, pm4.FenceNone), Dimensions: 3, Workgroup: [3]uint16{64, 2, 1},
		Grid: [3]uint32{256, 4, 1}, PrivateBytes: 16, LDSBytes: 1024, KernelObject: 0x1000, KernargAddress: 0x2000, CompletionSignal: 0x3000,
	}
	if db := d.AppendTo(nil); len(db) != pm4.AQLBytes {
		t.Errorf("dispatch of %d bytes", len(db))
	} else if back, err := pm4.ParseAQLDispatch(db); back != d || err != nil {
		t.Errorf("read back as %+v, %v", back, err)
	}
	a := pm4.AQLBarrier{Header: pm4.AQLHeader(pm4.AQLBarrierOr, true, 0, 0), Signals: [5]uint64{1, 2, 3, 4, 5}, CompletionSignal: 9}
	if ab := a.AppendTo(nil); len(ab) != pm4.AQLBytes {
		t.Errorf("barrier of %d bytes", len(ab))
	} else if back, err := pm4.ParseAQLBarrier(ab); back != a || err != nil {
		t.Errorf("read back as %+v, %v", back, err)
	}
	for name, f := range map[string]func([]byte) error{
		"pm4":      func(b []byte) error { _, err := pm4.ParseAQLPM4(b); return err },
		"dispatch": func(b []byte) error { _, err := pm4.ParseAQLDispatch(b); return err },
		"barrier":  func(b []byte) error { _, err := pm4.ParseAQLBarrier(b); return err },
	} {
		if f(nil) == nil || f(make([]byte, 63)) == nil || f(append([]byte{1}, make([]byte, 63)...)) == nil {
			t.Errorf("%s: a packet that is none is accepted", name)
		}
	}
	b[4+1] = 0x10
	if _, err := pm4.ParseAQLPM4(b); err == nil {
		t.Error("an AQL packet with a NOP inside is accepted")
	}
}

func TestStreamLimits(t *testing.T) {
	for name, f := range map[string]func() pm4.Stream{
		"no values":        func() pm4.Stream { return pm4.Stream{}.SetSh(0x2e00) },
		"below UCONFIG":    func() pm4.Stream { return pm4.Stream{}.SetUconfig(0xbfff, 1) },
		"long NOP":         func() pm4.Stream { return pm4.Stream{}.WriteData(0, make([]uint32, 1<<14)...) },
		"long IB":          func() pm4.Stream { return pm4.Stream{}.IndirectBuffer(0, 1<<20) },
		"no PRED_EXEC":     func() pm4.Stream { return pm4.Stream{}.Nop(3).EndPredExec(0) },
		"long PRED_EXEC":   func() pm4.Stream { return pm4.Stream{}.PredExec(1, 0).Nop(1 << 14).EndPredExec(0) },
		"dies beyond mask": func() pm4.Stream { return pm4.Stream{}.PredExec(256, 0) },
	} {
		if _, panicked := try(f); !panicked {
			t.Errorf("%s: no panic", name)
		}
	}
	buf := make(pm4.Stream, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		_ = buf.AcquireMem(gpu.GFX12, pm4.System).SetUconfig(0xc200, 1).WaitReg(0xd9f4, pm4.Equal, 1, 1).EventWrite(7).Nop(2).CopyRegToMem(1, 2, true)
	}); n != 0 {
		t.Errorf("%v allocations with capacity", n)
	}
}

func FuzzDisassemble(f *testing.F) {
	seed := []byte{}
	for _, w := range (pm4.Stream{}).AcquireMem(gpu.GFX9, pm4.System).SetSh(0x2e0c, 1, 2).PredExec(1, 3).CopyRegToMem(0xc339, 8, true).Nop(1) {
		seed = append(seed, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	f.Add(seed, uint8(0))
	f.Add([]byte{0, 0x10, 0xff, 0xff, 1}, uint8(9))
	gcs := pm4.GCs()
	f.Fuzz(func(t *testing.T, b []byte, gc uint8) {
		ws := make([]uint32, len(b)/4)
		for i := range ws {
			ws[i] = uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24
		}
		next, failed := 0, false
		for p, err := range pm4.Packets(ws) {
			if p.Off != next || failed {
				t.Fatalf("packet at %d, expected at %d", p.Off, next)
			}
			if err != nil {
				failed = true
				continue
			}
			next += len(p.Raw)
			if len(p.Raw) < 1 || next > len(ws) {
				t.Fatalf("packet of %d dwords at %d", len(p.Raw), p.Off)
			}
		}
		if !failed && next != len(ws) {
			t.Fatalf("ends at %d of %d", next, len(ws))
		}
		var out strings.Builder
		err := pm4.Disassemble(&out, gcs[int(gc)%len(gcs)], ws)
		if (err != nil) != failed {
			t.Fatalf("packets failed: %v, disassembly: %v", failed, err)
		}
		if out.Len() > 400*len(ws)+1000 {
			t.Fatalf("%d bytes for %d words", out.Len(), len(ws))
		}
	})
}
