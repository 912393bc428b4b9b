package shader

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/isa"
)

// scalarOther holds scalar operations that are more than a function of two values: control flow, MODE, hardware
// registers, messages, barriers.
var scalarOther map[string]func(w *wave, u *uop)

func init() {
	scalarOther = map[string]func(w *wave, u *uop){
		"s_endpgm": runEnd, "s_endpgm_saved": runEnd, "s_endpgm_ordered_ps_done": runEnd,
		"s_branch":         func(w *wave, u *uop) { w.jump(u, int(u.target)) },
		"s_cbranch_scc0":   func(w *wave, u *uop) { w.branch(u, w.scc == 0) },
		"s_cbranch_scc1":   func(w *wave, u *uop) { w.branch(u, w.scc != 0) },
		"s_cbranch_vccz":   func(w *wave, u *uop) { w.branch(u, w.vcc() == 0) },
		"s_cbranch_vccnz":  func(w *wave, u *uop) { w.branch(u, w.vcc() != 0) },
		"s_cbranch_execz":  func(w *wave, u *uop) { w.branch(u, w.exec == 0) },
		"s_cbranch_execnz": func(w *wave, u *uop) { w.branch(u, w.exec != 0) },
		// No debugger is attached.
		"s_cbranch_cdbgsys": runNop, "s_cbranch_cdbguser": runNop, "s_cbranch_cdbgsys_or_user": runNop, "s_cbranch_cdbgsys_and_user": runNop,
		"s_getpc_b64":  func(w *wave, u *uop) { w.sset64(u.sd, w.pcAfter(u)) },
		"s_setpc_b64":  func(w *wave, u *uop) { w.jumpTo(u, w.sval(u, 0)) },
		"s_rfe_b64":    runUnsupported,
		"s_swappc_b64": runSwappc,
		"s_call_b64":   runCall,
		"s_barrier": func(w *wave, u *uop) {
			w.signal()
			w.wait()
		},
		"s_barrier_signal":         runBarrierSignal,
		"s_barrier_signal_isfirst": runBarrierSignal,
		"s_barrier_wait":           runBarrierWait,
		"s_barrier_leave":          runNop,
		"s_trap": func(w *wave, u *uop) {
			w.fail(ErrTrap, u, fmt.Sprintf("id %d", u.imm&0xff))
		},
		"s_sethalt":     runHalt,
		"s_sendmsghalt": runHalt,
		"s_sendmsg":     runNop,
		"s_nop":         runNop, "s_clause": runNop, "s_delay_alu": runNop, "s_sleep": runNop, "s_sleep_var": runNop, "s_setprio": runNop,
		"s_setkill": runUnsupported, "s_icache_inv": runNop, "s_incperflevel": runNop, "s_decperflevel": runNop,
		"s_ttracedata": runTraceData, "s_ttracedata_imm": runTraceData, "s_set_inst_prefetch_distance": runNop, "s_version": runNop,
		"s_wakeup": runNop, "s_singleuse_vdst": runNop, "s_wakeup_barrier": runUnsupported, "s_code_end": runEndOfCode,
		"s_set_valu_coexec_mode": runNop,
		"s_round_mode":           func(w *wave, u *uop) { w.setMode(w.modeBits&^0xf | uint32(u.imm)&0xf) },
		"s_denorm_mode":          func(w *wave, u *uop) { w.setMode(w.modeBits&^0xf0 | uint32(u.imm)&0xf<<4) },
		"s_getreg_b32":           func(w *wave, u *uop) { w.sset(u.sd, w.getreg(u, uint32(u.imm))) },
		"s_setreg_b32":           func(w *wave, u *uop) { w.setreg(u, uint32(u.imm), w.sget(u.sd)) },
		"s_setreg_imm32_b32":     func(w *wave, u *uop) { w.setreg(u, uint32(u.imm), u.x.in.Lit) },
		"s_sendmsg_rtn_b32":      runMsgRtn,
		"s_sendmsg_rtn_b64":      runMsgRtn,
		"s_cmov_b32":             runCmov, "s_cmov_b64": runCmov, "s_cmovk_i32": runCmov,
		"s_bitset0_b32": runBitset, "s_bitset1_b32": runBitset, "s_bitset0_b64": runBitset, "s_bitset1_b64": runBitset,
		"s_movrels_b32": runSMovrel, "s_movrels_b64": runSMovrel, "s_movreld_b32": runSMovrel, "s_movreld_b64": runSMovrel, "s_movrelsd_2_b32": runSMovrel,
		"s_subvector_loop_begin": runSubvector, "s_subvector_loop_end": runSubvector,
		"s_alloc_vgpr":     runUnsupported,
		"s_set_gpr_idx_on": runGprIdx, "s_set_gpr_idx_off": runGprIdx, "s_set_gpr_idx_mode": runGprIdx, "s_set_gpr_idx_idx": runGprIdx,
	}
}

func runEnd(w *wave, u *uop) { w.end(u) }

func runEndOfCode(w *wave, u *uop) { w.fail(ErrIllegal, u, "padding behind the kernel's code") }

// runTraceData sends a word to the thread trace: M0, or the one byte that the immediate form's token has room for.
func runTraceData(w *wave, u *uop) {
	if !w.logs {
		return
	}
	v := w.s[w.m0]
	if u.x.name == "s_ttracedata_imm" {
		v = uint32(u.imm) & 0xff
	}
	w.log.data(v)
}

func runHalt(w *wave, u *uop) {
	if u.imm&1 != 0 {
		w.fail(ErrTrap, u, "the wave halts for ever")
	}
}

func (w *wave) branch(u *uop, take bool) {
	if take {
		w.jump(u, int(u.target))
	}
}

func (w *wave) pcOf(u *uop) uint64    { return w.prog.view()[u.index].PC }
func (w *wave) pcAfter(u *uop) uint64 { return w.pcOf(u) + uint64(u.size) }

// jumpTo takes a branch to an address that a register holds.
func (w *wave) jumpTo(u *uop, pc uint64) {
	i := w.prog.target(pc &^ 3)
	if st := w.prog.state.Load(); len(st.code) != len(w.code) {
		w.code = st.code
		for len(w.hits) < len(w.code)+1 {
			w.hits = append(w.hits, 0)
		}
	}
	w.jump(u, i)
	if w.stop == running {
		w.stop = stopReload
	}
}

func runSwappc(w *wave, u *uop) {
	to := w.sval(u, 0)
	w.sset64(u.sd, w.pcAfter(u))
	w.jumpTo(u, to)
}

func runCall(w *wave, u *uop) {
	w.sset64(u.sd, w.pcAfter(u))
	w.jump(u, int(u.target))
}

// barrierID is the barrier that an instruction means: -1 is the workgroup's.
func barrierID(w *wave, u *uop) int32 {
	if u.a.kind != fromNone {
		return int32(w.s32(&u.a))
	}
	return int32(u.imm)
}

func runBarrierSignal(w *wave, u *uop) {
	if barrierID(w, u) != -1 {
		w.fail(ErrUnsupported, u, "named barrier")
		return
	}
	if u.x.name == "s_barrier_signal_isfirst" {
		w.scc = b2u(w.g.signalled == 0)
	}
	w.signal()
}

func runBarrierWait(w *wave, u *uop) {
	if int16(u.imm) != -1 {
		w.fail(ErrUnsupported, u, "named barrier")
		return
	}
	w.wait()
}

func runCmov(w *wave, u *uop) {
	if w.scc == 0 {
		return
	}
	switch u.x.name {
	case "s_cmovk_i32":
		w.sset(u.sd, uint32(u.imm))
	case "s_cmov_b64":
		w.sset64(u.sd, w.sval(u, 0))
	default:
		w.sset(u.sd, w.s32(&u.a))
	}
}

func runBitset(w *wave, u *uop) {
	n := w.s32(&u.a)
	set := u.x.name[8] == '1'
	if u.x.name[11:] == "64" {
		v := w.sget64(u.sd) &^ (1 << (n & 63))
		if set {
			v |= 1 << (n & 63)
		}
		w.sset64(u.sd, v)
		return
	}
	v := w.sget(u.sd) &^ (1 << (n & 31))
	if set {
		v |= 1 << (n & 31)
	}
	w.sset(u.sd, v)
}

func runSMovrel(w *wave, u *uop) {
	m0 := w.s[w.m0]
	s, d := u.a.reg, u.sd
	switch u.x.name[:9] {
	case "s_movreld":
		d = uint16((uint32(d) + m0) & 127)
	default:
		s = uint16((uint32(s) + m0) & 127)
	}
	if u.x.name == "s_movrelsd_2_b32" {
		s, d = uint16((uint32(u.a.reg)+m0&0x3ff)&127), uint16((uint32(u.sd)+m0>>16&0x3ff)&127)
	}
	if u.x.name[len(u.x.name)-2:] == "64" {
		v := w.sval(u, 0)
		if u.a.kind == fromS {
			v = w.sget64(s)
		}
		w.sset64(d, v)
		return
	}
	v := w.s32(&u.a)
	if u.a.kind == fromS {
		v = w.sget(s)
	}
	w.sset(d, v)
}

// runSubvector: wave64 loops over halves of EXEC. In wave32 they do nothing.
func runSubvector(w *wave, u *uop) {
	if w.n == 64 {
		w.fail(ErrUnsupported, u, "")
	}
}

func (w *wave) setMode(bits uint32) {
	w.modeBits = bits
	w.m.set(bits)
}

// Hardware register numbers that programs read.
const (
	hwMode      = 1
	hwStatus    = 2
	hwTrapSts   = 3
	hwHWID      = 4
	hwGPRAlloc  = 5
	hwLDSAlloc  = 6
	hwIBSts     = 7
	hwSHMem     = 15
	hwXCC       = 20 // CDNA
	hwFlatLo    = 20 // RDNA
	hwFlatHi    = 21
	hwHWID1     = 23
	hwHWID2     = 24
	hwCycles    = 29
	hwCyclesHi  = 30 // RDNA4
	clockFactor = 4  // modelled: cycles an instruction takes when a program reads the clock
	realFactor  = 25 // shader cycles of one tick of the constant clock, modelled
)

// clock is what the shader's cycle counter shows: a function of the instructions that the wave has executed, so that
// every run is the same.
func (w *wave) clock() uint64 {
	return (w.spent + uint64(w.ip-w.first)) * clockFactor
}

func (w *wave) realtime() uint64 { return w.clock() / realFactor }

func (w *wave) hwreg(u *uop, id uint32) (uint32, bool) {
	switch id {
	case hwMode:
		return w.modeBits, true
	case hwStatus:
		return w.scc | b2u(w.exec == 0)<<9 | b2u(w.vcc() == 0)<<10, true
	case hwTrapSts, hwGPRAlloc, hwLDSAlloc, hwIBSts:
		return 0, true
	case hwHWID: // gfx9: VM_ID in bits 20 to 23; placement belongs to the timing model
		return w.g.k.VMID & 15 << 20, true
	case hwHWID2: // VM_ID in bits 24 to 27
		return w.g.k.VMID & 15 << 24, true
	case hwHWID1:
		return 0, true
	case hwSHMem:
		return sharedBase>>32&0xffff0000 | privateBase>>48, true
	case hwXCC:
		if w.arch.CDNA() {
			return w.g.k.XCC, true
		}
		return uint32(w.g.k.ScratchBase), true
	case hwFlatHi:
		return uint32(w.g.k.ScratchBase >> 32), true
	case hwCycles:
		if w.arch == isa.RDNA4 {
			return uint32(w.clock()), true
		}
		return uint32(w.clock()) & 0xfffff, true // a 20-bit counter
	case hwCyclesHi:
		return uint32(w.clock() >> 32), true
	}
	return 0, false
}

func (w *wave) getreg(u *uop, simm uint32) uint32 {
	v, ok := w.hwreg(u, simm&63)
	if !ok {
		w.fail(ErrUnsupported, u, fmt.Sprintf("hardware register %d", simm&63))
	}
	off, size := simm>>6&31, simm>>11&31+1
	return uint32(uint64(v) >> off & (1<<size - 1))
}

func (w *wave) setreg(u *uop, simm, v uint32) {
	off, size := simm>>6&31, simm>>11&31+1
	mask := uint32((uint64(1)<<size - 1) << off)
	if simm&63 == hwMode {
		w.setMode(w.modeBits&^mask | v<<off&mask)
		return
	}
	// Other registers' writable fields (trap state, scheduling) have no effect on results.
	if _, ok := w.hwreg(u, simm&63); !ok {
		if id := simm & 63; id < 32 {
			return
		}
		w.fail(ErrUnsupported, u, fmt.Sprintf("hardware register %d", simm&63))
	}
}

// runMsgRtn answers messages that return a value.
func runMsgRtn(w *wave, u *uop) {
	var v uint64
	switch id := msgID(w, u); id {
	case 131: // GET_REALTIME
		v = w.realtime()
	case 128, 129, 130, 133, 134, 135: // doorbell, dispatch, trap addresses: nothing to tell
	default:
		w.fail(ErrUnsupported, u, fmt.Sprintf("message %d", id))
		return
	}
	if u.x.name == "s_sendmsg_rtn_b64" {
		w.sset64(u.sd, v)
		return
	}
	w.sset(u.sd, uint32(v))
}

func msgID(w *wave, u *uop) uint32 { return u.x.in.Field(isa.FieldSsrc0) }
