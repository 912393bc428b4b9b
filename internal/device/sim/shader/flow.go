package shader

import (
	"math/bits"

	"github.com/rigprof/rigprof/internal/isa"
)

// Branches that also change EXEC: loops over halves of a wave64, and gfx9's forks, which run both paths of a branch one
// after the other.

// runSubvectorBegin starts a loop over the halves of EXEC (RDNA1 and RDNA2 ISA, 4.2.1; LLVM takes it on gfx11 too).
func runSubvectorBegin(w *wave, u *uop) {
	low, high := w.s[isa.ExecLo], w.s[isa.ExecHi]
	if w.n == 32 {
		high = 0
	}
	switch {
	case low|high == 0:
		w.jump(u, int(u.target))
	case low == 0: // the high pass alone
		w.sset(u.sd, low)
	default:
		w.sset(u.sd, high)
		w.sset(isa.ExecHi, 0)
	}
}

// runSubvectorEnd goes back for the high half, or restores the low one. Which pass this is shows in EXEC.
func runSubvectorEnd(w *wave, u *uop) {
	low, high := w.s[isa.ExecLo], w.s[isa.ExecHi]
	if w.n == 32 {
		high = 0
	}
	saved := w.sget(u.sd)
	switch {
	case high != 0:
		w.sset(isa.ExecLo, saved)
	case saved == 0: // no high half
	default:
		w.sset(isa.ExecHi, saved)
		w.sset(u.sd, low)
		w.sset(isa.ExecLo, 0)
		w.jump(u, int(u.target))
	}
}

// runFork is s_cbranch_g_fork and s_cbranch_i_fork: lanes whose bit in the first operand is set go to the target, the
// others on. Where there are both, the smaller part runs first and the rest is put on a stack of SGPRs, four an entry,
// that MODE's CSP counts (MI200 ISA, S_CBRANCH_G_FORK).
func runFork(w *wave, u *uop) {
	next := w.pcAfter(u)
	var cond, target uint64
	if u.x.name == "s_cbranch_i_fork" {
		cond = w.sget64(u.sd)
		target = next + uint64(u.imm*4)
	} else {
		cond, target = w.sval(u, 0), w.sval(u, 1)
	}
	pass, fail := cond&w.exec, ^cond&w.exec
	switch {
	case pass == w.exec:
		w.jumpTo(u, target)
	case fail == w.exec:
	case bits.OnesCount64(fail) < bits.OnesCount64(pass):
		if w.pushPath(u, target, pass) {
			w.setExec(fail)
		}
	default:
		if w.pushPath(u, next, fail) {
			w.setExec(pass)
			w.jumpTo(u, target)
		}
	}
}

func (w *wave) pushPath(u *uop, pc, exec uint64) bool {
	csp := w.modeBits >> modeCSP
	if csp == 7 {
		w.fail(ErrIllegal, u, "forks are nested too deep")
		return false
	}
	at := uint16(csp * 4)
	w.sset64(at, exec)
	w.sset64(at+2, pc)
	w.setMode(w.modeBits&^(7<<modeCSP) | (csp+1)<<modeCSP)
	return true
}

// runJoinPaths is s_cbranch_join: the first time it takes the other path from the stack, the second it goes on.
func runJoinPaths(w *wave, u *uop) {
	csp := w.modeBits >> modeCSP
	if csp == w.s32(&u.a) {
		return
	}
	csp = (csp - 1) & 7
	w.setMode(w.modeBits&^(7<<modeCSP) | csp<<modeCSP)
	at := uint16(csp * 4)
	w.setExec(w.sget64(at))
	w.jumpTo(u, w.sget64(at+2))
}

// runAllocVGPR: the instruction is illegal unless a dispatch asks for dynamic registers, which amdkfd's queues do not do.
func runAllocVGPR(w *wave, u *uop) {
	w.fail(ErrIllegal, u, "the kernel was not started with dynamic VGPRs")
}
