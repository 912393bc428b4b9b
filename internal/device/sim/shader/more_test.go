package shader

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/isa"
)

// single runs a program on one wave whose registers prepare sets, up to the end of the code or a fault.
func single(t *testing.T, a *assembler, wave32 bool, prepare func(w *wave), setup ...func(*Kernel)) (*wave, *flatMem, *Fault) {
	t.Helper()
	mem := &flatMem{append(a.code[:len(a.code):len(a.code)], 0xff, 0xff, 0xff, 0xff), make([]byte, 1<<16)}
	m := NewMachine(mem)
	k := testKernel(1, 64)
	k.Arch = instructions(t).name[a.target+" s_endpgm"].arch
	k.Wave32, k.LDSBytes, k.ScratchBytes = wave32 && !k.Arch.CDNA(), 1<<16, 64
	if k.Wave32 {
		k.Block[0] = 32
	}
	for _, f := range setup {
		f(k)
	}
	r := &Run{m: m, k: k, prog: m.program(k), ctx: testContext}
	r.prog.maxV = 256
	if k.Arch.CDNA() {
		r.prog.maxA = 256
	}
	g := newGroup(r, 0, newWindow(mem))
	w := g.waves[0]
	w.limit = 10000
	if prepare != nil {
		prepare(w)
	}
	end := uint64(codeBase + len(a.code))
	for w.stop != stopEnd && r.prog.view()[w.ip].PC != end {
		u := &w.code[w.ip]
		w.ip++
		w.fuel = 1 << 20
		if w.patched {
			w.runPatched(u)
		} else {
			u.run(w, u)
		}
		if w.stop == stopFault {
			return w, mem, w.fault
		}
		if w.stop == stopReload {
			w.stop = running
		}
		if w.stop == stopWait || w.stop == stopBarrier {
			t.Fatal("the wave waits")
		}
	}
	return w, mem, nil
}

func TestScalarStores(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950"} {
		a := &assembler{t: t, target: target}
		at := func(f fields) fields { f["sbase"] = 0; return f }
		a.op("s_store_dwordx4", at(fields{"sdata": 8, "offset": 64}))
		a.op("s_atomic_add", at(fields{"sdata": 12, "glc": 1, "offset": 64}))        // returns the old value
		a.op("s_atomic_smax_x2", at(fields{"sdata": 14, "offset": 72}))              // does not
		a.op("s_atomic_cmpswap", at(fields{"sdata": 16, "glc": 1, "offset": 68}))    // equal: swaps
		a.op("s_atomic_cmpswap_x2", at(fields{"sdata": 20, "glc": 1, "offset": 80})) // not equal
		a.op("s_load_dwordx8", at(fields{"sdata": 24, "offset": 64}))
		a.op("s_store_dword", at(fields{"sdata": 8, "imm": 0, "soffset_en": 1, "soffset": 40}))
		a.op("s_buffer_store_dwordx2", fields{"sbase": 22, "sdata": 8, "offset": 124}) // 128 bytes: half of it is in range
		a.op("s_buffer_atomic_inc", fields{"sbase": 22, "sdata": 8, "glc": 1, "offset": 128})
		w, mem, f := single(t, a, false, func(w *wave) {
			w.s[0], w.s[1] = memBase&0xffffffff, memBase>>32
			for i := range 4 {
				w.s[8+i] = uint32(100 + i)
			}
			w.s[12], w.s[14], w.s[15] = 5, 0xfffffff0, 0xffffffff
			w.s[16], w.s[17] = 7, 101
			w.s[20], w.s[21], w.s[22], w.s[23] = 1, 2, 3, 4
			w.s[40] = 200
			w.s[44], w.s[45], w.s[46] = w.s[0]+256, w.s[1], 128
		})
		if f != nil {
			t.Fatalf("%s: %v", target, f)
		}
		got := w.s[24:30]
		if got[0] != 105 || got[1] != 7 || got[2] != 102 || got[3] != 103 || w.s[12] != 100 || w.s[16] != 101 || w.s[20] != 0 || w.s[21] != 0 || w.s[14] != 0xfffffff0 {
			t.Errorf("%s: memory %v, returned %d %d %d", target, got, w.s[12], w.s[16], w.s[20])
		}
		if b := words(mem.data[200:], 1); b[0] != 100 {
			t.Errorf("%s: stored %d at a register's offset", target, b[0])
		}
		// A store that is partly out of range writes the dwords that are in; the atomic outside does nothing and returns zero.
		if b := words(mem.data[256+124:], 2); b[0] != 100 || b[1] != 0 || w.s[8] != 0 {
			t.Errorf("%s: at the buffer's end %v, returned %d", target, b, w.s[8])
		}
	}
}

// TestScalarScratch: a register's offset counts units of 64 bytes, so it steps through lane 0's private memory as lanes'
// own offsets do.
func TestScalarScratch(t *testing.T) {
	a := &assembler{t: t, target: "gfx942"}
	a.op("scratch_store_dword", fields{"data": 4, "offset": 8})
	a.op("s_scratch_load_dwordx2", fields{"sbase": 2, "sdata": 8, "imm": 0, "soffset_en": 1, "soffset": 6})
	a.op("s_scratch_store_dword", fields{"sbase": 2, "sdata": 7, "imm": 0, "soffset_en": 1, "soffset": 6})
	a.op("scratch_load_dword", fields{"vdst": 5, "offset": 8})
	w, _, f := single(t, a, false, func(w *wave) {
		w.s[4], w.s[5], w.s[6], w.s[7] = 0x5000, 0, 8, 999
		for l := range w.n {
			w.v[4][l] = uint32(1000 + l)
		}
	}, func(k *Kernel) { k.ScratchBase = 0x5000 })
	if f != nil {
		t.Fatal(f)
	}
	if w.s[8] != 1000 || w.s[9] != 1001 || w.v[5][0] != 999 || w.v[5][1] != 1001 {
		t.Errorf("loaded %d %d, lanes %d %d", w.s[8], w.s[9], w.v[5][0], w.v[5][1])
	}
}

// bitsOf is a run of bits of a byte string, computed with big numbers.
func bitsOf(b []byte, at, n int) uint64 {
	x := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		x.Lsh(x, 8).Or(x, big.NewInt(int64(b[i])))
	}
	x.Rsh(x, uint(at)).And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(n)), big.NewInt(1)))
	return x.Uint64()
}

func TestTransposeLDS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name        string
		bits, bytes int
	}{{"ds_read_b64_tr_b4", 4, 8}, {"ds_read_b96_tr_b6", 6, 12}, {"ds_read_b64_tr_b8", 8, 8}, {"ds_read_b64_tr_b16", 16, 8}} {
		a := (&assembler{t: t, target: "gfx950"}).op(c.name, fields{"vdst": 4, "addr": 1, "offset0": 16})
		lds := make([]byte, 1<<15)
		for i := range lds {
			lds[i] = byte(r.Uint32())
		}
		var addr [64]int
		w, _, f := single(t, a, false, func(w *wave) {
			copy(w.g.lds, lds)
			for l := range w.n {
				addr[l] = 256*l + 4*r.IntN(8)
				w.v[1][l] = uint32(addr[l])
			}
		})
		if f != nil {
			t.Fatal(f)
		}
		per := c.bytes * 8 / c.bits
		for l := range 64 {
			got := make([]byte, 12)
			for k := range 3 {
				le.PutUint32(got[4*k:], w.v[4+k][l])
			}
			for row := range per { // column l%16 of the group's matrix
				e := 16*row + l%16
				src := l&^15 + e/per
				want := bitsOf(lds[addr[src]+16:][:c.bytes], e%per*c.bits, c.bits)
				if g := bitsOf(got, row*c.bits, c.bits); g != want {
					t.Fatalf("%s: lane %d element %d is %#x, want %#x", c.name, l, row, g, want)
				}
			}
		}
	}
}

// TestTransposeGlobal holds what was measured on gfx1201 against the load: the byte of a 256-byte tile that each lane
// gets, lane l reading the l-th eighth or quarter of 64 bytes.
func TestTransposeGlobal(t *testing.T) {
	for _, wave32 := range []bool{true, false} {
		a := (&assembler{t: t, target: "gfx1201"}).op("global_load_tr_b64", fields{"vdst": 4, "vaddr": 1, "saddr": 0})
		a.op("global_load_tr_b128", fields{"vdst": 8, "vaddr": 2, "saddr": 0, "ioffset": 1024})
		w, _, f := single(t, a, wave32, func(w *wave) {
			w.s[0], w.s[1] = memBase&0xffffffff, memBase>>32
			b, _ := w.mem.mem.Map(memBase, true)
			for i := range 256 {
				b[i] = byte(i)
				le.PutUint16(b[1024+2*i:], uint16(1000+i))
			}
			for l := range w.n {
				w.v[1][l], w.v[2][l] = uint32(8*l), uint32(16*l)
				if l >= 32 { // ignored
					w.v[1][l], w.v[2][l] = 1<<31, 1<<31
				}
			}
		})
		if f != nil {
			t.Fatal(f)
		}
		for l := range 32 {
			for s := range 8 {
				reg, lane := s/4, l
				reg16, half := s/2, s%2
				if !wave32 {
					reg, lane = 0, l+s/4*32
					reg16 = s % 4 / 2
				}
				got := w.v[4+reg][lane] >> (8 * (s % 4)) & 0xff
				want := l&7 + l>>3&1*32 + l>>4&1*128 + s&3*8 + s>>2&1*64
				if int(got) != want {
					t.Fatalf("lane %d byte %d: %d, want %d", l, s, got, want)
				}
				got = w.v[8+reg16][lane] >> (16 * half) & 0xffff
				if want := 1000 + 8*(8*(l/8)+s) + l%8; int(got) != want {
					t.Fatalf("lane %d half %d: %d, want %d", l, s, got, want)
				}
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	const m0 = 0x80000025 // registers 0, 2, 5 and 31
	a := (&assembler{t: t, target: "gfx1200"}).op("s_mov_b32", fields{"sdst": 125, "ssrc0": literal}).literal(m0)
	a.op("global_load_block", fields{"vdst": 40, "vaddr": 40, "saddr": 0, "ioffset": 8}) // over its own address
	a.op("global_store_block", fields{"vsrc": 100, "vaddr": 1, "saddr": 0, "ioffset": 0x4000})
	a.op("scratch_store_block", fields{"vsrc": 100, "saddr": 124, "sve": 0})
	a.op("s_mov_b32", fields{"sdst": 125, "ssrc0": inline0 + 4})
	a.op("scratch_load_block", fields{"vdst": 200, "saddr": 124, "sve": 0})
	w, mem, f := single(t, a, true, func(w *wave) {
		w.s[0], w.s[1] = memBase&0xffffffff, memBase>>32
		b, _ := w.mem.mem.Map(memBase, true)
		for i := range 2048 {
			le.PutUint32(b[4*i:], uint32(i))
		}
		for l := range w.n {
			w.v[1][l], w.v[40][l] = uint32(256*l), uint32(128*l)
			for k := range 32 {
				w.v[100+k][l] = uint32(5000*l + k)
				if k > 0 {
					w.v[40+k][l] = 7
				}
			}
		}
	}, func(k *Kernel) { k.ScratchBytes = 128 })
	if f != nil {
		t.Fatal(f)
	}
	for l := range 32 {
		for k := range 32 {
			loaded, stored := uint32(7), uint32(0)
			if m0>>k&1 != 0 {
				loaded, stored = uint32(32*l+2+k), uint32(5000*l+k)
			} else if k == 0 {
				loaded = uint32(128 * l)
			}
			if got := w.v[40+k][l]; got != loaded {
				t.Fatalf("lane %d register %d: loaded %d, want %d", l, k, got, loaded)
			}
			if got := le.Uint32(mem.data[0x4000+256*l+4*k:]); got != stored {
				t.Fatalf("lane %d register %d: stored %d, want %d", l, k, got, stored)
			}
		}
		if got := w.v[202][l]; got != uint32(5000*l+2) {
			t.Fatalf("lane %d: private memory holds %d", l, got)
		}
	}
}

func TestOrderedAdd(t *testing.T) {
	a := (&assembler{t: t, target: "gfx1201"}).op("global_atomic_ordered_add_b64", fields{"vdst": 4, "vaddr": 1, "vsrc": 2, "saddr": 0, "th": 1})
	w, mem, f := single(t, a, true, func(w *wave) {
		w.s[0], w.s[1] = memBase&0xffffffff, memBase>>32
		b, _ := w.mem.mem.Map(memBase, true)
		le.PutUint64(b, 5|100<<32)
		le.PutUint64(b[8:], 5|200<<32)
		w.setExec(3)
		w.v[1][1] = 8
		w.v[2][0], w.v[3][0] = 5, 11 // due
		w.v[2][1], w.v[3][1] = 6, 12 // not yet
	})
	if f != nil {
		t.Fatal(f)
	}
	if got := words(mem.data, 4); got[0] != 6 || got[1] != 111 || got[2] != 5 || got[3] != 200 || w.v[4][0] != 5 || w.v[5][0] != 100 || w.v[5][1] != 200 {
		t.Errorf("memory %v, returned %d %d", got, w.v[4][0], w.v[5][0])
	}
}

func TestSubvectorLoop(t *testing.T) {
	a := &assembler{t: t, target: "gfx1100"}
	a.op("s_subvector_loop_begin", fields{"sdst": 10, "simm16": 3})
	a.op("v_add_nc_u32_e32", fields{"vdst": 1, "src0": inline0 + 1, "vsrc1": 1})
	a.op("s_add_i32", fields{"sdst": 5, "ssrc0": 5, "ssrc1": inline0 + 1})
	a.op("s_subvector_loop_end", fields{"sdst": 10, "simm16": 0xffff - 2})
	for _, c := range []struct {
		exec   uint64
		passes uint32
	}{{^uint64(0), 2}, {0xff00, 1}, {0xf0 << 32, 1}, {0, 0}, {1<<63 | 1, 2}} {
		w, _, f := single(t, a, false, func(w *wave) { w.s[5] = 0; w.setExec(c.exec) })
		if f != nil {
			t.Fatal(f)
		}
		if w.exec != c.exec || w.s[5] != c.passes {
			t.Errorf("EXEC %x: %d passes, EXEC %x behind", c.exec, w.s[5], w.exec)
		}
		for l := range 64 {
			if w.v[1][l] != uint32(c.exec>>l&1) {
				t.Errorf("EXEC %x: lane %d ran %d times", c.exec, l, w.v[1][l])
			}
		}
	}
}

// TestForks: both paths of a fork run, each with its lanes, and join.
func TestForks(t *testing.T) {
	for _, c := range []struct {
		pass     uint64
		paths    uint32 // in the order in which they ran, one digit each
		absolute bool   // the target is an address
	}{{0x3, 0x12, false}, {^uint64(0x3), 0x21, true}, {^uint64(0), 1, false}, {0, 2, false}, {0x3, 0x12, true}, {^uint64(0x3), 0x21, false}, {^uint64(0), 1, true}, {0, 2, true}} {
		a := &assembler{t: t, target: "gfx90a"}
		a.op("s_getreg_b32", fields{"sdst": 41, "simm16": hwMode | modeCSP<<6 | 2<<11}) // the stack's height, for the join
		if c.absolute {
			a.op("s_cbranch_g_fork", fields{"ssrc0": 50, "ssrc1": 52})
		} else {
			a.op("s_cbranch_i_fork", fields{"sdst": 50, "simm16": 4})
		}
		path := func(n int) {
			a.op("v_mov_b32_e32", fields{"vdst": 1, "src0": inline0 + n}).op("s_lshl_b32", fields{"sdst": 60, "ssrc0": 60, "ssrc1": inline0 + 4})
			a.op("s_addk_i32", fields{"sdst": 60, "simm16": n})
		}
		path(2)
		a.op("s_branch", fields{"simm16": 3})
		path(1)
		a.op("s_cbranch_join", fields{"ssrc0": 41})
		w, _, f := single(t, a, false, func(w *wave) {
			w.s[50], w.s[51], w.s[60] = uint32(c.pass), uint32(c.pass>>32), 0
			w.s[52], w.s[53] = uint32(codeBase&0xffffffff)+24, codeBase>>32
		})
		if f != nil {
			t.Fatalf("%x: %v", c.pass, f)
		}
		if w.modeBits>>modeCSP != 0 { // EXEC is the second path's: restoring it is the program's part
			t.Errorf("%x: MODE %x behind the join", c.pass, w.modeBits)
		}
		if w.s[60] != c.paths {
			t.Errorf("%x: paths %x, want %x", c.pass, w.s[60], c.paths)
		}
		for l := range 64 {
			want := uint32(2)
			if c.pass>>l&1 != 0 {
				want = 1
			}
			if w.v[1][l] != want {
				t.Fatalf("%x: lane %d took path %d", c.pass, l, w.v[1][l])
			}
		}
	}
}

func TestVskip(t *testing.T) {
	a := &assembler{t: t, target: "gfx942"}
	a.op("s_setvskip", fields{"ssrc0": inline0 + 4, "ssrc1": inline0 + 2})
	a.op("v_mov_b32_e32", fields{"vdst": 1, "src0": inline0 + 1}).op("ds_write_b32", fields{"addr": 2, "data0": 2})
	a.op("s_mov_b32", fields{"sdst": 5, "ssrc0": inline0 + 9})
	a.op("s_setvskip", fields{"ssrc0": inline0, "ssrc1": inline0})
	a.op("v_mov_b32_e32", fields{"vdst": 3, "src0": inline0 + 3})
	w, _, f := single(t, a, false, func(w *wave) { fill(&w.v[2], 64) })
	if f != nil {
		t.Fatal(f)
	}
	if w.v[1][5] != 0 || w.v[3][5] != 3 || w.s[5] != 9 || le.Uint32(w.g.lds[64:]) != 0 {
		t.Errorf("v1 %d v3 %d s5 %d", w.v[1][5], w.v[3][5], w.s[5])
	}
}

func TestTraps(t *testing.T) {
	for _, target := range []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201"} {
		a := &assembler{t: t, target: target}
		a.op("s_nop", nil).op("s_trap", fields{"simm16": 5}).op("s_mov_b32", fields{"sdst": 9, "ssrc0": inline0 + 1}).op("s_endpgm", nil)
		handler := uint64(codeBase + len(a.code))
		a.op("s_mov_b32", fields{"sdst": 10, "ssrc0": 108}).op("s_mov_b32", fields{"sdst": 11, "ssrc0": 109})
		a.op("s_getreg_b32", fields{"sdst": 12, "simm16": hwStatus | 0xf800})
		a.op("s_mov_b32", fields{"sdst": 110, "ssrc0": inline0 + 7}) // trap registers can be written here
		add := "s_add_u32"
		if strings.HasPrefix(target, "gfx12") {
			add = "s_add_co_u32"
		}
		a.op(add, fields{"sdst": 108, "ssrc0": 108, "ssrc1": inline0 + 4})
		a.op("s_and_b32", fields{"sdst": 109, "ssrc0": 109, "ssrc1": literal}).literal(0xffff)
		a.op("s_rfe_b64", fields{"ssrc0": 108})
		w, _, f := single(t, a, true, nil, func(k *Kernel) { k.TrapBase = handler })
		if f != nil {
			t.Fatalf("%s: %v", target, f)
		}
		id := uint32(5 << 16)
		if w.arch == isa.RDNA4 {
			id = 5 << 28
		}
		if w.s[9] != 1 || w.s[10] != 4 || w.s[11] != id|1 || w.s[12]&(statusPriv|statusTrapEn) != statusPriv|statusTrapEn || w.s[110] != 7 || w.priv {
			t.Errorf("%s: after %d, pc %x id %x, STATUS %x, ttmp2 %d", target, w.s[9], w.s[10], w.s[11], w.s[12], w.s[110])
		}
		// Without a handler a trap is an error, but for debuggers' traps.
		_, err := runProgram(t, a, 1, 32)
		if f, ok := errors.AsType[*Fault](err); !ok || !errors.Is(err, ErrTrap) || f.PC != codeBase+4 || f.Detail != "id 5" {
			t.Errorf("%s: got %v", target, err)
		}
		a = (&assembler{t: t, target: target}).op("s_trap", fields{"simm16": 3}).op("s_mov_b32", fields{"sdst": 110, "ssrc0": inline0 + 7})
		w, _, f = single(t, a, true, nil)
		if f != nil || w.s[110] != 0 {
			t.Errorf("%s: llvm.debugtrap: %v, ttmp2 %d", target, f, w.s[110])
		}
		for name, want := range map[string]error{"s_rfe_b64": ErrIllegal, "s_sethalt": ErrTrap, "s_sendmsghalt": ErrTrap} {
			a = (&assembler{t: t, target: target}).op(name, fields{"simm16": 1})
			if _, _, f := single(t, a, true, nil); f == nil || f.Err != want {
				t.Errorf("%s: %s: %v", target, name, f)
			}
		}
		// A handler that halts the wave, as for llvm.trap.
		a = (&assembler{t: t, target: target}).op("s_trap", fields{"simm16": 2}).op("s_sethalt", fields{"simm16": 1}).op("s_rfe_b64", fields{"ssrc0": 108})
		_, _, f = single(t, a, true, nil, func(k *Kernel) { k.TrapBase = codeBase + 4 })
		if f == nil || f.Err != ErrTrap || !strings.Contains(f.Detail, "trap id 2") {
			t.Errorf("%s: %v", target, f)
		}
	}
}

func TestLDSDirect(t *testing.T) {
	for target, name := range map[string]string{"gfx1100": "lds_direct_load", "gfx1151": "lds_direct_load", "gfx1201": "ds_direct_load"} {
		for m0, want := range map[uint32]uint32{
			16: 0x84, 1<<16 | 16: 0x8384, 2<<16 | 16: 0x81828384, 4<<16 | 16: 0xffffff84, 5<<16 | 16: 0xffff8384, 2<<16 | 0xfffe: 0,
		} {
			a := (&assembler{t: t, target: target}).op(name, fields{"vdst": 3})
			w, _, f := single(t, a, true, func(w *wave) {
				le.PutUint32(w.g.lds[16:], 0x81828384)
				w.s[w.m0] = m0
				fill(&w.v[3], 7)
				w.setExec(1<<9 | 1<<31)
			})
			if f != nil {
				t.Fatal(f)
			}
			for l := range 32 { // lanes count by fours
				x := uint32(7)
				if l/4 == 2 || l/4 == 7 {
					x = want
				}
				if w.v[3][l] != x {
					t.Fatalf("%s: M0 %x lane %d: %x, want %x", target, m0, l, w.v[3][l], x)
				}
			}
		}
	}
}

// TestLoadToLDS moves every width that a target has straight to LDS.
func TestLoadToLDS(t *testing.T) {
	for _, c := range []struct {
		target, name string
		bytes        int
		signed       bool
	}{
		{"gfx942", "global_load_lds_ubyte", 1, false},
		{"gfx942", "global_load_lds_sbyte", 1, true},
		{"gfx942", "global_load_lds_ushort", 2, false},
		{"gfx942", "global_load_lds_sshort", 2, true},
		{"gfx942", "global_load_lds_dword", 4, false},
		{"gfx950", "global_load_lds_dword", 4, false},
		{"gfx950", "global_load_lds_dwordx3", 12, false},
		{"gfx950", "global_load_lds_dwordx4", 16, false},
		{"gfx942", "buffer_load_ubyte", 1, false},
		{"gfx942", "buffer_load_sshort", 2, true},
		{"gfx942", "buffer_load_dword", 4, false},
		{"gfx90a", "buffer_load_dword", 4, false},
		{"gfx90a", "buffer_load_format_x", 4, false},
		{"gfx950", "buffer_load_dwordx3", 12, false},
		{"gfx950", "buffer_load_dwordx4", 16, false},
		{"gfx1100", "buffer_load_lds_u8", 1, false},
		{"gfx1100", "buffer_load_lds_i8", 1, true},
		{"gfx1151", "buffer_load_lds_u16", 2, false},
		{"gfx1151", "buffer_load_lds_i16", 2, true},
		{"gfx1100", "buffer_load_lds_b32", 4, false},
		{"gfx1100", "buffer_load_lds_format_x", 4, false},
	} {
		const m0, offset = 0x10100, 8 // bit 16 counts on gfx950 alone
		a := &assembler{t: t, target: c.target}
		buffer := strings.HasPrefix(c.name, "buffer")
		if buffer {
			a.op(c.name, fields{"vaddr": 1, "offen": 1, "srsrc": 2, "lds": 1, "offset": offset})
		} else {
			a.op(c.name, fields{"addr": 1, "saddr": 0, "offset": offset})
		}
		w, mem, f := single(t, a, false, func(w *wave) {
			w.s[0], w.s[1] = memBase&0xffffffff, memBase>>32
			w.s[8], w.s[9], w.s[10], w.s[11] = w.s[0], w.s[1], 40*60+offset+uint32(c.bytes), 4<<15|4<<12|4
			if strings.HasPrefix(c.target, "gfx11") {
				w.s[11] = 2<<28 | 20<<12 | 4
			}
			b, _ := w.mem.mem.Map(memBase, true)
			for i := range 4096 {
				b[i] = byte(i*7 + 128)
			}
			w.s[w.m0] = m0
			for l := range w.n {
				w.v[1][l] = uint32(40 * l)
			}
			w.setExec(^uint64(1 << 5))
			for i := range w.g.lds {
				w.g.lds[i] = 0xee
			}
		}, func(k *Kernel) { k.LDSBytes = 0x18000 })
		if f != nil {
			t.Fatalf("%s %s: %v", c.target, c.name, f)
		}
		base, step := m0&0xffff+offset, 4
		if c.target == "gfx950" {
			base = m0 + offset
		}
		if c.bytes > 4 {
			step = 16
		}
		for l := range 64 {
			at := base + l*step
			want := make([]byte, max(c.bytes, 4))
			for i := range want {
				want[i] = 0xee
			}
			switch {
			case l == 5:
			case buffer && l > 60: // out of the buffer's range
				clear(want)
			default:
				clear(want)
				copy(want, mem.data[40*l+offset:][:c.bytes])
				if c.signed && want[c.bytes-1]&0x80 != 0 {
					for i := c.bytes; i < 4; i++ {
						want[i] = 0xff
					}
				}
			}
			if got := w.g.lds[at : at+len(want)]; string(got) != string(want) {
				t.Fatalf("%s %s: lane %d: %x, want %x", c.target, c.name, l, got, want)
			}
		}
	}
}

func TestStoreFromLDS(t *testing.T) {
	a := (&assembler{t: t, target: "gfx90a"}).op("buffer_store_lds_dword", fields{"srsrc": 2, "lds": 1, "offset": 16, "offen": 1})
	_, mem, f := single(t, a, false, func(w *wave) {
		w.s[8], w.s[9], w.s[10], w.s[11] = memBase&0xffffffff, memBase>>32, 1<<20, 0
		for l := range 64 {
			le.PutUint32(w.g.lds[0x100+16+4*l:], uint32(1000+l))
			w.v[0][l] = uint32(8 * l)
		}
		w.s[w.m0] = 0x100
		w.setExec(5)
	})
	if got := words(mem.data[16:], 6); f != nil || got[0] != 1000 || got[2] != 0 || got[4] != 1002 {
		t.Errorf("%v, stored %d", f, got)
	}
}
