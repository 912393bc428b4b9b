package shader

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
		"s_getpc_b64": func(w *wave, u *uop) { w.sset64(u.sd, w.pcAfter(u)) },
		"s_setpc_b64": func(w *wave, u *uop) { w.jumpTo(u, w.sval(u, 0)) },
		"s_rfe_b64":   runRfe, "s_rfe_restore_b64": runRfe,
		"s_swappc_b64": runSwappc,
		"s_call_b64":   runCall,
		"s_barrier": func(w *wave, _ *uop) {
			w.arrive()
			w.wait()
		},
		"s_barrier_signal":         runBarrierSignal,
		"s_barrier_signal_isfirst": runBarrierSignal,
		"s_barrier_wait":           runBarrierWait,
		"s_barrier_init":           runBarrierInit,
		"s_barrier_join":           runBarrierJoin,
		"s_barrier_leave":          runBarrierLeave,
		"s_get_barrier_state":      runBarrierState,
		"s_wakeup_barrier":         runWakeup, "s_wakeup": runWakeup, "s_sleep": runSleep,
		"s_trap": runTrap, "s_sethalt": runHalt, "s_sendmsghalt": runHalt,
		"s_sendmsg": runSendmsg,
		"s_nop":     runNop, "s_clause": runNop, "s_delay_alu": runNop, "s_sleep_var": runNop,
		"s_setprio": func(w *wave, u *uop) { w.prio = uint32(u.imm) & 3 },
		"s_setkill": func(w *wave, u *uop) {
			if u.imm&1 != 0 {
				w.end(u)
			}
		},
		"s_icache_inv": runNop, "s_incperflevel": runNop, "s_decperflevel": runNop,
		"s_ttracedata": runTraceData, "s_ttracedata_imm": runTraceData, "s_set_inst_prefetch_distance": runNop, "s_version": runNop,
		"s_singleuse_vdst": runNop, "s_code_end": runEndOfCode,
		"s_set_valu_coexec_mode": runNop,
		"s_round_mode":           func(w *wave, u *uop) { w.setMode(w.modeBits&^0xf | uint32(u.imm)&0xf) },
		"s_denorm_mode":          func(w *wave, u *uop) { w.setMode(w.modeBits&^0xf0 | uint32(u.imm)&0xf<<4) },
		"s_getreg_b32":           runGetreg,
		"s_setreg_b32":           runSetreg, "s_setreg_imm32_b32": runSetreg,
		"s_sendmsg_rtn_b32": runMsgRtn,
		"s_sendmsg_rtn_b64": runMsgRtn,
		"s_cmov_b32":        runCmov, "s_cmov_b64": runCmov, "s_cmovk_i32": runCmov,
		"s_bitset0_b32": runBitset, "s_bitset1_b32": runBitset, "s_bitset0_b64": runBitset, "s_bitset1_b64": runBitset,
		"s_movrels_b32": runSMovrel, "s_movrels_b64": runSMovrel, "s_movreld_b32": runSMovrel, "s_movreld_b64": runSMovrel, "s_movrelsd_2_b32": runSMovrel,
		"s_subvector_loop_begin": runSubvectorBegin, "s_subvector_loop_end": runSubvectorEnd,
		"s_alloc_vgpr":     runAllocVGPR,
		"s_cbranch_g_fork": runFork, "s_cbranch_i_fork": runFork, "s_cbranch_join": runJoinPaths, "s_setvskip": runSetVskip,
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
		w.code, w.valu = st.code, st.valu
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
