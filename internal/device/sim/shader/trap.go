package shader

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/isa"
)

// trapState is what a wave keeps for trap handlers.
type trapState struct {
	priv    bool // in the trap handler
	halt    bool // to halt when it is left
	trapID  uint32
	trapSts uint32 // TRAPSTS, on RDNA4 EXCP_FLAG_USER
	excp    uint32 // RDNA4: EXCP_FLAG_PRIV
	ctrl    uint32 // RDNA4: TRAP_CTRL
	sched   uint32 // RDNA4: SCHED_MODE
}

// Traps that the amdhsa ABI names (LLVM's AMDGPUUsage, Trap Handler ABI).
const (
	trapDebugger   = 1 // a debugger's breakpoint
	trapAbort      = 2 // llvm.trap
	trapDebugTrap  = 3 // llvm.debugtrap
	trapNoDebugger = 1<<trapDebugger | 1<<trapDebugTrap
)

// runTrap enters the process's trap handler. Hardware takes s_trap for a no-op where there is none, but the ABI says what
// a handler does: traps for debuggers go on without one, any other trap ends the wave with an error of the queue.
func runTrap(w *wave, u *uop) {
	id := uint32(u.imm) & 0xff
	if w.arch == isa.RDNA4 {
		id &= 0xf
	}
	if w.g.k.TrapBase == 0 {
		if id < 32 && trapNoDebugger>>id&1 != 0 {
			return
		}
		detail := fmt.Sprintf("id %d", id)
		if id == trapAbort {
			detail += ", the program's abort"
		}
		w.fail(ErrTrap, u, detail)
		return
	}
	pc := w.pcOf(u) // of s_trap itself
	w.s[isa.Ttmp0] = uint32(pc)
	w.s[isa.Ttmp0+1] = uint32(pc>>32)&0xffff | id<<16
	if w.arch == isa.RDNA4 {
		w.s[isa.Ttmp0+1] = uint32(pc>>32)&0xffff | id<<28
	}
	// amdkfd's first level hands STATUS and the second level's memory over (cwsr_trap_handler_gfx9.asm, L_FETCH_2ND_TRAP).
	w.s[isa.Ttmp0+12] = w.status()
	w.s[isa.Ttmp0+14], w.s[isa.Ttmp0+15] = uint32(w.g.k.TrapMem), uint32(w.g.k.TrapMem>>32)
	w.priv, w.trapID = true, id
	w.jumpTo(u, w.g.k.TrapBase)
}

// runRfe returns from the trap handler.
func runRfe(w *wave, u *uop) {
	if !w.priv {
		w.fail(ErrIllegal, u, "outside a trap handler")
		return
	}
	to := w.sval(u, 0)
	w.priv = false
	if w.halt {
		w.halts(u)
		return
	}
	w.jumpTo(u, to)
}

// runHalt is s_sethalt and s_sendmsghalt: nobody is there to let the wave go on.
func runHalt(w *wave, u *uop) {
	if u.x.name == "s_sendmsghalt" {
		w.halts(u)
		return
	}
	fatal := !w.arch.CDNA() && u.imm&4 != 0 // halts in the trap handler too
	on := u.imm&1 != 0
	if w.priv && !fatal {
		w.halt = on
		return
	}
	if on {
		w.halts(u)
	}
}

func (w *wave) halts(u *uop) {
	detail := "the wave halts for ever"
	if w.g.k.TrapBase != 0 && w.trapID != 0 {
		detail += fmt.Sprintf(", after trap id %d", w.trapID)
	}
	w.fail(ErrTrap, u, detail)
}
