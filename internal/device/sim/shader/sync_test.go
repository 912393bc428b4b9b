package shader

import (
	"errors"
	"strings"
	"testing"
)

// Codes of scalar operands that tests write.
const (
	inline0  = 128 // inline constants 0, 1, …
	inlineM1 = 193 // -1, then -2
	literal  = 255
)

func v(n int) int { return 256 + n } // a VGPR as a source

// runProgram runs groups of block work-items of a test program in wave32 where there is one. s[0:1] is the buffer; s2 the
// workgroup's number, after start on gfx12 too.
func runProgram(t *testing.T, a *assembler, groups, block uint32, setup ...func(*Kernel)) (*flatMem, error) {
	t.Helper()
	mem := &flatMem{a.code, make([]byte, 1<<16)}
	return mem, runOn(t, NewMachine(mem), a, groups, block, setup...)
}

func runOn(t *testing.T, m *Machine, a *assembler, groups, block uint32, setup ...func(*Kernel)) error {
	t.Helper()
	k := testKernel(groups, block)
	k.Arch, k.LDSBytes, k.Budget = instructions(t).name[a.target+" s_endpgm"].arch, 4096, 1<<20
	k.Wave32 = !k.Arch.CDNA()
	for _, f := range setup {
		f(k)
	}
	return m.Run(t.Context(), k).All()
}

// start begins a program: s2 is the workgroup's number, s3 the wave's, v0 the lane's in the workgroup, v1 four times that.
func start(t *testing.T, target string) *assembler {
	a := &assembler{t: t, target: target}
	if a.target == "gfx1201" {
		a.op("s_mov_b32", fields{"sdst": 2, "ssrc0": 108 + 9})
		a.op("s_bfe_u32", fields{"sdst": 3, "ssrc0": 108 + 8, "ssrc1": literal}).literal(25 | 5<<16)
	}
	a.op("v_and_b32_e32", fields{"vdst": 0, "src0": literal, "vsrc1": 0}).literal(0x3ff)
	return a.op("v_lshlrev_b32_e32", fields{"vdst": 1, "src0": inline0 + 2, "vsrc1": 0})
}

// store appends a store of v2 to the buffer at the byte offset in v1, and the end.
func (a *assembler) storeEnd() *assembler {
	name, data := "global_store_b32", "data"
	switch {
	case strings.HasPrefix(a.target, "gfx9"):
		name = "global_store_dword"
	case strings.HasPrefix(a.target, "gfx12"):
		data = "vsrc"
	}
	addr := "addr"
	if strings.HasPrefix(a.target, "gfx12") {
		addr = "vaddr"
	}
	return a.op(name, fields{addr: 1, data: 2, "saddr": 0}).op("s_endpgm", nil)
}

func words(b []byte, n int) []uint32 {
	r := make([]uint32, n)
	for i := range r {
		r[i] = le.Uint32(b[4*i:])
	}
	return r
}

func TestNamedBarriers(t *testing.T) {
	a := start(t, "gfx1201")
	// Wave 0 makes barrier 3 one of two members, then all join it.
	a.op("s_mov_b32", fields{"sdst": 125, "ssrc0": literal}).literal(2<<16 | 3)
	a.op("s_cmp_lg_u32", fields{"ssrc0": 3, "ssrc1": inline0})
	a.op("s_cbranch_scc1", fields{"simm16": 1})
	a.op("s_barrier_init", fields{"ssrc0": 125})
	a.op("s_barrier_signal", fields{"ssrc0": inlineM1}).op("s_barrier_wait", fields{"simm16": 0xffff})
	a.op("s_barrier_join", fields{"ssrc0": inline0 + 3})
	a.op("s_get_barrier_state", fields{"sdst": 4, "ssrc0": inline0 + 3})
	a.op("s_barrier_signal", fields{"ssrc0": inlineM1}).op("s_barrier_wait", fields{"simm16": 0xffff})
	// Each writes its LDS words, meets the other at barrier 3 and reads the other's.
	a.op("ds_store_b32", fields{"addr": 1, "data0": 0})
	a.op("s_barrier_signal_isfirst", fields{"ssrc0": inline0 + 3})
	a.op("s_cselect_b32", fields{"sdst": 5, "ssrc0": inline0 + 1, "ssrc1": inline0})
	a.op("s_barrier_wait", fields{"simm16": 3})
	a.op("v_xor_b32_e32", fields{"vdst": 3, "src0": literal, "vsrc1": 1}).literal(128)
	a.op("ds_load_b32", fields{"addr": 3, "vdst": 2})
	// The first to signal was wave 0; the last to leave is told so.
	a.op("v_lshl_or_b32", fields{"vdst": 2, "src0": 5, "src1": inline0 + 8, "src2": v(2)})
	a.op("s_barrier_leave", nil)
	a.op("s_cselect_b32", fields{"sdst": 6, "ssrc0": inline0 + 1, "ssrc1": inline0})
	a.op("v_lshl_or_b32", fields{"vdst": 2, "src0": 6, "src1": inline0 + 9, "src2": v(2)})
	a.op("v_lshl_or_b32", fields{"vdst": 2, "src0": 4, "src1": inline0 + 10, "src2": v(2)})
	a.storeEnd()
	mem, err := runProgram(t, a, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range words(mem.data, 64) {
		first, last := uint32(1-i/32), uint32(1-i/32) // wave 1 completes the barrier and leaves while wave 0 waits
		if want := uint32(i^32) | first<<8 | last<<9 | (2<<4|1)<<10; got != want {
			t.Fatalf("item %d: %#x, want %#x", i, got, want)
		}
	}
}

// TestBarrierWithoutSignal: a wave that waits for a barrier it has not signalled waits for all others.
func TestBarrierWithoutSignal(t *testing.T) {
	a := start(t, "gfx1201")
	at := len(a.code)
	a.op("s_barrier_wait", fields{"simm16": 0xffff}).op("s_endpgm", nil)
	_, err := runProgram(t, a, 1, 64)
	f, ok := errors.AsType[*Fault](err)
	if !ok || !errors.Is(err, ErrDeadlock) || f.PC != codeBase+uint64(at) || f.Inst != "s_barrier_wait" {
		t.Errorf("got %v", err)
	}
	if _, err := runProgram(t, a, 1, 32); err != nil { // one wave is no workgroup
		t.Error(err)
	}
	// The trap barrier is not for programs.
	a = start(t, "gfx1201").op("s_barrier_wait", fields{"simm16": 0xfffe}).op("s_endpgm", nil)
	if _, err := runProgram(t, a, 1, 64); err != nil {
		t.Error(err)
	}
}

func TestSleepAndWakeup(t *testing.T) {
	for _, wake := range []string{"s_wakeup", "s_wakeup_barrier", ""} {
		a := start(t, "gfx1201")
		a.op("s_barrier_join", fields{"ssrc0": inline0 + 3})
		a.op("s_cmp_lg_u32", fields{"ssrc0": 3, "ssrc1": inline0})
		a.op("s_cbranch_scc1", fields{"simm16": 1}) // wave 0 sleeps, wave 1 goes on
		a.op("s_sleep", fields{"simm16": 0x8000})
		a.op("ds_load_b32", fields{"addr": 1, "vdst": 2})
		a.op("ds_store_b32", fields{"addr": 1, "data0": 0, "offset0": 128})
		a.op("s_nop", nil)
		switch wake {
		case "s_wakeup":
			a.op(wake, nil)
		case "s_wakeup_barrier":
			a.op(wake, fields{"ssrc0": inline0 + 4}).op(wake, fields{"ssrc0": inline0 + 3}) // the first has no sleeping members
		}
		a.op("ds_load_b32", fields{"addr": 1, "vdst": 2, "offset0": 128})
		a.storeEnd()
		mem, err := runProgram(t, a, 1, 64)
		if wake == "" {
			if !errors.Is(err, ErrDeadlock) {
				t.Errorf("nobody wakes the wave: got %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range words(mem.data, 64) {
			if got != uint32(i) {
				t.Fatalf("item %d: %d", i, got)
			}
		}
	}
}

// TestGlobalWaveSync: as many workgroups as wait together for each other, more than run side by side at first.
func TestGlobalWaveSync(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151"} {
		const groups = 150
		m0 := 124
		load, add := "global_load_dword", "global_atomic_add"
		if !strings.HasPrefix(target, "gfx9") {
			m0, load, add = 125, "global_load_b32", "global_atomic_add_u32"
		}
		begin := func() *assembler {
			a := start(t, target).op("s_mov_b32", fields{"sdst": m0, "ssrc0": literal}).literal(5 << 16)
			return a.op("v_mov_b32_e32", fields{"vdst": 4, "src0": literal}).literal(groups - 1)
		}
		init := begin().op("ds_gws_init", fields{"addr": 4, "gds": 1, "offset0": 2}).op("s_endpgm", nil)
		a := begin()
		a.op("v_mov_b32_e32", fields{"vdst": 5, "src0": inline0 + 1}).op("v_mov_b32_e32", fields{"vdst": 6, "src0": inline0})
		a.op(add, fields{"addr": 6, "data": 5, "saddr": 0, "offset": 2048})
		a.op("ds_gws_barrier", fields{"addr": 4, "gds": 1, "offset0": 2})
		a.op(load, fields{"addr": 6, "vdst": 2, "saddr": 0, "offset": 2048})
		a.op("v_mov_b32_e32", fields{"vdst": 1, "src0": 2}) // the workgroup's word
		a.op("v_lshlrev_b32_e32", fields{"vdst": 1, "src0": inline0 + 2, "vsrc1": 1})
		a.storeEnd()
		for _, workers := range []int{1, 4} {
			mem := &flatMem{init.code, make([]byte, 1<<16)}
			m := NewMachine(mem)
			m.SetWorkers(workers)
			if err := runOn(t, m, init, 1, 1); err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			mem.code = a.code
			m.Invalidate()
			for turn := range 2 { // the barrier is ready again after it was passed
				if err := runOn(t, m, a, groups, 1); err != nil {
					t.Fatalf("%s: %v", target, err)
				}
				for i, got := range words(mem.data, groups) {
					if want := uint32(groups * (turn + 1)); got != want {
						t.Fatalf("%s: workgroup %d saw %d, want %d", target, i, got, want)
					}
				}
			}
		}
		// One wave too few.
		mem := &flatMem{init.code, make([]byte, 1<<16)}
		m := NewMachine(mem)
		if err := runOn(t, m, init, 1, 1); err != nil {
			t.Fatal(err)
		}
		mem.code = a.code
		m.Invalidate()
		err := runOn(t, m, a, groups-1, 1)
		if f, ok := errors.AsType[*Fault](err); !ok || !errors.Is(err, ErrDeadlock) || f.Inst != "ds_gws_barrier" || f.Group[0] != 0 {
			t.Errorf("%s: got %v", target, err)
		}
	}
}

func TestSemaphores(t *testing.T) {
	// Workgroup 0 waits for two signals of workgroup 7 and then stores; workgroup 3 waits for the bulk release that 9 makes.
	a := start(t, "gfx1100").op("s_mov_b32", fields{"sdst": 125, "ssrc0": inline0})
	a.op("v_mov_b32_e32", fields{"vdst": 2, "src0": literal}).literal(77)
	a.op("v_mov_b32_e32", fields{"vdst": 3, "src0": inline0 + 1})
	a.op("v_mov_b32_e32", fields{"vdst": 1, "src0": inline0})
	only := func(group, dwords int) {
		a.op("s_cmp_lg_u32", fields{"ssrc0": 2, "ssrc1": inline0 + group}).op("s_cbranch_scc1", fields{"simm16": dwords})
	}
	wait := fields{"gds": 1, "offset0": 1}
	only(0, 8)
	a.op("ds_gws_sema_p", wait).op("ds_gws_sema_p", wait)
	a.op("global_load_b32", fields{"addr": 1, "vdst": 2, "saddr": 0, "offset": 256})
	a.op("global_store_b32", fields{"addr": 1, "data": 2, "saddr": 0})
	only(3, 4)
	a.op("ds_gws_sema_p", fields{"gds": 1, "offset0": 9}).op("global_store_b32", fields{"addr": 1, "data": 2, "saddr": 0, "offset": 12})
	only(7, 6)
	a.op("global_store_b32", fields{"addr": 1, "data": 2, "saddr": 0, "offset": 256})
	a.op("ds_gws_sema_v", wait).op("ds_gws_sema_v", wait)
	only(9, 2)
	a.op("ds_gws_sema_br", fields{"gds": 1, "offset0": 9, "addr": 3})
	a.op("s_endpgm", nil)
	mem, err := runProgram(t, a, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := words(mem.data, 4); got[0] != 77 || got[3] != 77 {
		t.Errorf("stored %v", got)
	}
	if _, err := runProgram(t, a, 7, 1); !errors.Is(err, ErrDeadlock) {
		t.Errorf("nobody signals: got %v", err)
	}
}

func TestGDS(t *testing.T) {
	// GDS from byte 512 on, 64 bytes of it; lanes other than the first do nothing.
	a := start(t, "gfx1100").op("s_mov_b32", fields{"sdst": 125, "ssrc0": literal}).literal(512<<16 | 64)
	a.op("v_mov_b32_e32", fields{"vdst": 4, "src0": inline0}).op("v_mov_b32_e32", fields{"vdst": 5, "src0": inline0 + 3})
	a.op("v_mov_b32_e32", fields{"vdst": 6, "src0": literal}).literal(0xdead)
	a.op("v_mov_b32_e32", fields{"vdst": 2, "src0": v(6)})
	a.op("ds_add_rtn_u32", fields{"addr": 4, "data0": 5, "vdst": 2, "gds": 1, "offset0": 4})
	a.op("ds_load_b32", fields{"addr": 4, "vdst": 6, "gds": 1, "offset0": 64}) // out of range
	a.op("ds_append", fields{"vdst": 7, "gds": 1})
	a.op("v_mov_b32_e32", fields{"vdst": 1, "src0": 2}).op("v_lshlrev_b32_e32", fields{"vdst": 1, "src0": inline0 + 4, "vsrc1": 1})
	a.op("v_readlane_b32", fields{"vdst": 8, "src0": v(2), "src1": inline0 + 1}).op("s_mov_b32", fields{"sdst": 126, "ssrc0": inline0 + 1})
	for i, r := range []int{2, 6, 7} {
		a.op("global_store_b32", fields{"addr": 1, "data": r, "saddr": 0, "offset": 4 * i})
	}
	// Lane 1's v2 is still what it was.
	a.op("v_mov_b32_e32", fields{"vdst": 8, "src0": 8})
	a.op("global_store_b32", fields{"addr": 1, "data": 8, "saddr": 0, "offset": 12}).op("s_endpgm", nil)
	mem, err := runProgram(t, a, 40, 20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(40) {
		got := words(mem.data[16*i:], 4)
		if got[0] != 3*i || got[1] != 0 || got[2] != 20*i || got[3] != 0xdead {
			t.Fatalf("workgroup %d: %v", i, got)
		}
	}
}

func TestOrderedCount(t *testing.T) {
	// Each wave adds its workgroup's number plus one, whatever the order in which workgroups get there.
	a := start(t, "gfx1100").op("s_mov_b32", fields{"sdst": 125, "ssrc0": inline0})
	a.op("v_mov_b32_e32", fields{"vdst": 3, "src0": 2}).op("v_add_nc_u32_e32", fields{"vdst": 3, "src0": inline0 + 1, "vsrc1": 3})
	a.op("ds_ordered_count", fields{"addr": 3, "vdst": 2, "gds": 1, "offset0": 4 * 4, "offset1": 1})
	a.op("v_mov_b32_e32", fields{"vdst": 1, "src0": 2}).op("v_lshlrev_b32_e32", fields{"vdst": 1, "src0": inline0 + 2, "vsrc1": 1})
	a.storeEnd()
	mem, err := runProgram(t, a, 90, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range words(mem.data, 90) {
		if want := uint32(i * (i + 1) / 2); got != want {
			t.Fatalf("workgroup %d: %d, want %d", i, got, want)
		}
	}
	// The register is the one that ds_sub_gs_reg_rtn reads.
	m := NewMachine(mem)
	if err := runOn(t, m, a, 3, 1); err != nil {
		t.Fatal(err)
	}
	b := start(t, "gfx1100").op("v_mov_b32_e32", fields{"vdst": 3, "src0": inline0 + 2})
	b.op("ds_sub_gs_reg_rtn", fields{"data0": 3, "vdst": 2, "gds": 1, "offset0": 4 * 4})
	b.op("ds_add_gs_reg_rtn", fields{"data0": 3, "vdst": 2, "gds": 1, "offset0": 4 * 4}).storeEnd()
	mem.code = b.code
	m.Invalidate()
	if err := runOn(t, m, b, 1, 1); err != nil {
		t.Fatal(err)
	}
	if got := le.Uint32(mem.data); got != 4 {
		t.Errorf("the register holds %d, want 1+2+3-2", got)
	}
}
