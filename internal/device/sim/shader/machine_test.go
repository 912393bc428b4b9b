package shader

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/isa"
)

// Programs of gfx1100; s[0:1] points at the buffer, s2 is the workgroup.
var testPrograms = map[string]string{
	// v_mov_b32 v1, 0; v_mov_b32 v2, s2; global_atomic_add_u32 v1, v2, s[0:1]; s_endpgm
	"add": "8002027e0202047e0000d6dc010200000000b0bf",
	// v_mov_b32 v1, 0; s_cmp_eq_u32 s2, 0; s_cbranch_scc0 set;
	// loop: global_load_b32 v0, v1, s[0:1] glc; s_waitcnt vmcnt(0); v_readfirstlane_b32 s3, v0; s_cmp_eq_u32 s3, 0; s_cbranch_scc1 loop; s_endpgm;
	// set: s_cmp_eq_u32 s2, 5; s_cbranch_scc0 end; v_mov_b32 v2, 1; global_store_b32 v1, v2, s[0:1]; end: s_endpgm
	"flag": "8002027e028006bf0700a1bf004052dc01000000f70389bf0005067e038006bffaffa2bf0000b0bf028506bf0300a1bf8102047e00006adc010200000000b0bf",
	// v_and_b32 v1, 0x3ff, v0; v_lshlrev_b32 v2, 2, v1; ds_store_b32 v2, v1; s_waitcnt lgkmcnt(0); s_barrier;
	// v_xor_b32 v3, 0x80, v2; ds_load_b32 v4, v3; s_waitcnt lgkmcnt(0); global_store_b32 v2, v4, s[0:1]; s_endpgm
	"exchange": "ff000236ff03000082020430000034d80201000007fc89bf0000bdbfff04063a800000000000d8d80300000407fc89bf00006adc020400000000b0bf",
	// loop: s_branch loop
	"forever": "ffffa0bf",
	// image_load v0, v0, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D
	"image": "000100f0000000000000b0bf",
	// s_nop 0; s_trap 2
	"trap": "000080bf020090bf0000b0bf",
	// s_getpc_b64 s[4:5]; s_add_u32 s4, s4, 20; s_addc_u32 s5, s5, 0; s_swappc_b64 s[6:7], s[4:5]; s_nop 0; s_endpgm;
	// v_mov_b32 v1, 0; v_mov_b32 v2, 42; global_store_b32 v1, v2, s[0:1]; s_setpc_b64 s[6:7]
	"call": "004784be0494048005800582044986be000080bf0000b0bf8002027eaa02047e00006adc01020000064880be",
	// v_mov_b32 v3, 1; v_and_b32 v2, 0x3ff, v0; v_lshlrev_b32 v2, 20, v2; global_store_b32 v2, v3, s[0:1]
	"far":    "8002027e8102067eff000436ff0300009404043000006adc020300000000b0bf",
	"store7": "8002027e8702047e00006adc010200000000b0bf",
	"store9": "8002027e8902047e00006adc010200000000b0bf",
	"bad":    "000080bfffffffff",
	// s_mov_b32 m0, 0x12345678; s_ttracedata; s_ttracedata_imm 0x106; s_mov_b32 m0, s2; s_ttracedata; s_endpgm
	"words": "ff00fdbe785634120000babf0601bbbf0200fdbe0000babf0000b0bf",
}

type flatMem struct {
	code []byte
	data []byte
}

func (m *flatMem) Map(addr uint64, write bool) ([]byte, bool) {
	if addr >= memBase && addr < memBase+uint64(len(m.data)) {
		return m.data[addr-memBase:], true
	}
	if addr >= codeBase && addr < codeBase+uint64(len(m.code)) && !write {
		return m.code[addr-codeBase:], true
	}
	return nil, false
}

func program(t testing.TB, name string) *flatMem {
	t.Helper()
	code, err := hex.DecodeString(testPrograms[name])
	if err != nil {
		t.Fatal(err)
	}
	return &flatMem{code, make([]byte, 1<<16)}
}

func testKernel(groups, block uint32) *Kernel {
	k := &Kernel{
		Arch: isa.RDNA3, Entry: codeBase, Wave32: true, RSRC1: 0xf << 16, RSRC2: 2<<1 | 1<<7,
		Groups: [3]uint32{groups, 1, 1}, Block: [3]uint32{block, 1, 1}, Name: "test", Log: LogFull,
	}
	k.UserData[0], k.UserData[1] = memBase&0xffffffff, memBase>>32
	return k
}

func TestParallelAtomics(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		mem := program(t, "add")
		m := NewMachine(mem)
		m.SetWorkers(workers)
		k := testKernel(500, 64)
		if err := m.Run(t.Context(), k).All(); err != nil {
			t.Fatal(err)
		}
		if got, want := le.Uint32(mem.data), uint32(64*500*499/2); got != want {
			t.Errorf("%d workers: %d, want %d", workers, got, want)
		}
	}
}

// TestSpinningGroup: a workgroup that waits for a later one gives way to it.
func TestSpinningGroup(t *testing.T) {
	for _, workers := range []int{1, 2} {
		mem := program(t, "flag")
		m := NewMachine(mem)
		m.SetWorkers(workers)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := m.Run(ctx, testKernel(8, 32)).All(); err != nil {
			t.Fatalf("%d workers: %v", workers, err)
		}
	}
}

func TestBarrier(t *testing.T) {
	mem := program(t, "exchange")
	k := testKernel(1, 64)
	k.LDSBytes = 256
	run := NewMachine(mem).Run(t.Context(), k)
	g, err := run.Next()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		if got := le.Uint32(mem.data[4*i:]); got != uint32(i^32) {
			t.Fatalf("item %d: %d, want %d", i, got, i^32)
		}
	}
	w := &g.Waves[1]
	wantMem := []MemRef{
		{Addr: 128, Bytes: 128, LDSCycles: 1, Lanes: 32, Space: SpaceLDS, Write: true},
		{Addr: 0, Bytes: 128, LDSCycles: 1, Lanes: 32, Space: SpaceLDS},
		{Addr: memBase + 128, Bytes: 128, Lines: 1, Lanes: 32, Space: SpaceGlobal, Write: true},
	}
	if !slices.Equal(w.Mem, wantMem) {
		t.Errorf("memory log %+v, want %+v", w.Mem, wantMem)
	}
	if !slices.Equal(w.Pieces, []Piece{{First: 0, N: 10, Count: 1}}) || w.Insts != 10 || w.Lanes != 32 {
		t.Errorf("log %+v", *w)
	}
	if w.Class[isa.LDS] != 2 || w.Class[isa.Global] != 1 || w.Class[isa.VALU] != 3 || w.Class[isa.Barrier] != 1 {
		t.Errorf("classes %v", w.Class)
	}
	g.Release()
	if _, err := run.Next(); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
}

func TestPartialGroups(t *testing.T) {
	mem := program(t, "add")
	k := testKernel(3, 64)
	k.Partial[0] = 40
	run := NewMachine(mem).Run(t.Context(), k)
	var lanes []int
	for {
		g, err := run.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Waves {
			lanes = append(lanes, g.Waves[i].Lanes)
		}
		g.Release()
	}
	if want := []int{32, 32, 32, 32, 32, 8}; !slices.Equal(lanes, want) {
		t.Errorf("lanes %v, want %v", lanes, want)
	}
}

func TestCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := NewMachine(program(t, "forever")).Run(ctx, testKernel(100, 64)).All()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines left of %d", runtime.NumGoroutine(), before)
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		prog   string
		err    error
		pc     uint64
		lane   int
		addr   uint64
		detail string
	}{
		{"forever", ErrBudget, codeBase, -1, 0, "s_branch"},
		{"image", ErrUnsupported, codeBase, -1, 0, "image_load"},
		{"trap", ErrTrap, codeBase + 4, -1, 0, "id 2"},
		{"far", ErrMemory, codeBase + 20, 1, memBase + 1<<20, "global_store_b32"},
		{"bad", ErrIllegal, codeBase + 4, -1, 0, "ffffffff"},
	} {
		k := testKernel(1, 32)
		k.Budget = 100000
		err := NewMachine(program(t, c.prog)).Run(t.Context(), k).All()
		f, ok := errors.AsType[*Fault](err)
		if !ok || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.prog, err, c.err)
			continue
		}
		if f.PC != c.pc || f.Lane != c.lane || f.Addr != c.addr || f.Kernel != "test" || !strings.Contains(err.Error(), c.detail) {
			t.Errorf("%s: fault %v (%+v)", c.prog, err, *f)
		}
	}
}

func TestIndirectCall(t *testing.T) {
	mem := program(t, "call")
	run := NewMachine(mem).Run(t.Context(), testKernel(1, 32))
	g, err := run.Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := le.Uint32(mem.data); got != 42 {
		t.Errorf("stored %d", got)
	}
	if w := &g.Waves[0]; w.Insts != 10 || len(w.Pieces) != 3 || !w.Pieces[0].Taken || !w.Pieces[1].Taken || w.Pieces[2].Taken {
		t.Errorf("log %+v", *w)
	}
	g.Release()
	run.Close()
}

// What waves send to the trace is in their logs, and costs nothing without one.
func TestTraceData(t *testing.T) {
	k := testKernel(3, 64)
	run := NewMachine(program(t, "words")).Run(t.Context(), k)
	for i := range uint32(3) {
		g, err := run.Next()
		if err != nil {
			t.Fatal(err)
		}
		for n := range g.Waves {
			if got, want := g.Waves[n].Data, []uint32{0x12345678, 6, i}; !slices.Equal(got, want) {
				t.Errorf("group %d wave %d sent %#x, want %#x", i, n, got, want)
			}
		}
		g.Release()
	}
	run.Close()
	k.Log = LogNone
	run = NewMachine(program(t, "words")).Run(t.Context(), k)
	defer run.Close()
	if g, err := run.Next(); err != nil || len(g.Waves[0].Data) != 0 {
		t.Errorf("without a log: %v", err)
	}
}

func TestInvalidate(t *testing.T) {
	mem := program(t, "store7")
	m := NewMachine(mem)
	k := testKernel(1, 32)
	want := func(v uint32) {
		t.Helper()
		if err := m.Run(t.Context(), k).All(); err != nil {
			t.Fatal(err)
		}
		if got := le.Uint32(mem.data); got != v {
			t.Errorf("stored %d, want %d", got, v)
		}
	}
	want(7)
	mem.code = program(t, "store9").code
	want(7) // the instruction cache still holds the old code
	m.Invalidate()
	want(9)
}

func FuzzProgram(f *testing.F) {
	for _, p := range testPrograms {
		b, _ := hex.DecodeString(p)
		f.Add(uint8(isa.RDNA3), true, false, b)
		f.Add(uint8(isa.CDNA4), false, true, b)
	}
	// Each operation of each family, some to a program.
	var code []byte
	n := 0
	for _, o := range instructions(f).ops {
		switch o.target {
		case "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201":
			code = append(code, o.encode(o.plain())...)
			if n++; n%16 == 0 || strings.HasPrefix(o.name, "s_cbranch") {
				f.Add(uint8(o.arch), n%32 == 0, n%64 == 0, code)
				code = nil
			}
		}
	}
	f.Fuzz(func(t *testing.T, arch uint8, wave32, traps bool, code []byte) {
		a := isa.Arch(arch)
		if a < isa.CDNA2 || a > isa.RDNA4 || len(code) > 4096 {
			return
		}
		k := testKernel(2, 40)
		k.Serial = true // random stores of workgroups meet, as those of sane kernels do not
		k.Arch, k.Wave32, k.Budget, k.LDSBytes, k.ScratchBytes = a, wave32 && !a.CDNA(), 2000, 1024, 64
		if traps && len(code) > 64 {
			k.TrapBase = codeBase + 64
		}
		mem := &flatMem{code, make([]byte, 4096)}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := NewMachine(mem).Run(ctx, k).All()
		if err == nil {
			return
		}
		if _, ok := errors.AsType[*Fault](err); !ok {
			t.Fatalf("got %v", err)
		}
		_ = err.Error()
	})
}
