package shader

import (
	"fmt"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

// Hardware registers that s_getreg and s_setreg reach. Sources: the register tables of AMD's ISA documents (MI200 5.3,
// MI300 5.3, MI350, RDNA3 3.4, RDNA4 3.4); sizes of GPR_ALLOC and LDS_ALLOC as the Linux driver's context-switch handlers
// read them (cwsr_trap_handler_gfx9.asm, cwsr_trap_handler_gfx10.asm).
//
// What depends on where a wave runs (HW_ID but its VMID, the bases of allocations) reads as zero: the documents call it
// unpredictable, and the time model places waves after they have run here. Counts of outstanding instructions (IB_STS)
// are zero too: memory answers at once. No exception flags of the ALUs are collected, so reading them is refused.

const (
	hwNone     = 0 // reserved; RX 7900 XTX and RX 9070 XT read and write it without a trap in the captures of all operations
	hwMode     = 1
	hwStatus   = 2
	hwTrapSts  = 3
	hwHWID     = 4 // CDNA
	hwPriv     = 4 // RDNA4: STATE_PRIV
	hwGPRAlloc = 5
	hwLDSAlloc = 6
	hwIBSts    = 7
	hwFlushIB  = 14
	hwSHMem    = 15 // RDNA4: performance snapshot
	hwTBALo    = 16
	hwTBAHi    = 17
	hwTMALo    = 18
	hwTMAHi    = 19
	hwXCC      = 20 // CDNA
	hwFlatLo   = 20 // RDNA
	hwFlatHi   = 21
	hwHWID1    = 23
	hwHWID2    = 24
	hwPops     = 25 // RDNA3
	hwSched    = 26
	hwIBSts2   = 28
	hwCycles   = 29
	hwCyclesHi = 30 // RDNA4
	hwDvgprLo  = 31
	hwDvgprHi  = 32

	hwExcpPriv = 17 // RDNA4
	hwExcpUser = 18
	hwTrapCtrl = 19

	clockFactor = 4  // modelled: cycles an instruction takes when a program reads the clock
	realFactor  = 25 // shader cycles of one tick of the constant clock, modelled
)

const excpFlags = 0x7f // of the ALUs, in TRAPSTS and EXCP_FLAG_USER

// clock is what the shader's cycle counter shows: a function of the instructions that the wave has executed, so that
// every run is the same.
func (w *wave) clock() uint64 {
	return (w.spent + uint64(w.ip-w.first)) * clockFactor
}

func (w *wave) realtime() uint64 { return w.clock() / realFactor }

// Bits of MODE that only CDNA has, and of STATUS.
const (
	modeGprIdx = 1 << 27
	modeVskip  = 1 << 28
	modeCSP    = 29

	statusPriv    = 1 << 5
	statusTrapEn  = 1 << 6
	statusInGroup = 1 << 11
	statusHalt    = 1 << 13
	statusValid   = 1 << 16
)

// mode is the MODE register as a program reads it.
func (w *wave) modeReg() uint32 {
	if w.arch == isa.RDNA4 {
		return w.modeBits &^ 0x300 // neither DX10_CLAMP nor IEEE
	}
	return w.modeBits
}

func (w *wave) setMode(bits uint32) {
	if w.arch == isa.RDNA4 {
		bits = bits&^0x300 | 0x100 // clamping is DX10's
	}
	w.modeBits = bits
	w.m.set(bits)
	if patched := w.arch.CDNA() && bits&(modeGprIdx|modeVskip) != 0; patched != w.patched {
		w.patched = patched
		if w.stop == running {
			w.stop = stopReload // the loop for the new mode
		}
	}
}

func (w *wave) status() uint32 {
	v := b2u(w.exec == 0)<<9 | b2u(w.vcc() == 0)<<10 | b2u(w.g.inGroup())*statusInGroup | b2u(w.priv)*statusPriv |
		b2u(w.g.k.TrapBase != 0)*statusTrapEn | statusValid
	if w.arch == isa.RDNA4 {
		return v | b2u(w.n == 64)<<29
	}
	v |= w.scc | w.prio<<3 | w.g.k.RSRC1>>10&3<<1 | b2u(w.halt)*statusHalt
	if !w.arch.CDNA() {
		v |= b2u(w.scratchBytes != 0) << 29
	}
	return v
}

// statePriv is RDNA4's STATE_PRIV.
func (w *wave) statePriv() uint32 {
	return b2u(w.credit)<<1 | b2u(w.g.user.phase > w.seen)<<2 | w.scc<<9 | w.g.k.RSRC1>>10&3<<10 | w.prio<<12 | b2u(w.halt)<<14 |
		b2u(w.scratchBytes != 0)<<18
}

// gprAlloc is the size of the wave's registers; it starts at register 0 of the model.
func (w *wave) gprAlloc() uint32 {
	vgprs, sgprs := w.g.k.RSRC1&63, w.g.k.RSRC1>>6&15
	if w.arch.CDNA() { // VGPRs in units of 4 less one, the first accumulation VGPR in units of 4, SGPRs in units of 16 less one
		return min(vgprs*2+1, 63)<<6 | min(w.g.k.RSRC3&63+1, 63)<<12 | sgprs/2<<24
	}
	return vgprs << 12 // in RSRC1's units
}

func (w *wave) ldsAlloc() uint32 {
	unit := uint32(512)
	if w.arch.CDNA() {
		unit = 256
	}
	return (w.g.k.LDSBytes + unit - 1) / unit & 0x1ff << 12
}

func (w *wave) hwreg(id uint32) (uint32, bool) {
	switch id {
	case hwNone:
		return 0, true
	case hwMode:
		return w.modeReg(), true
	case hwStatus:
		return w.status(), true
	case hwGPRAlloc:
		return w.gprAlloc(), true
	case hwLDSAlloc:
		return w.ldsAlloc(), true
	case hwIBSts:
		return 0, true
	}
	if w.arch.CDNA() {
		return w.hwregCDNA(id)
	}
	switch id {
	case hwFlatLo:
		return uint32(w.g.k.ScratchBase), true
	case hwFlatHi:
		return uint32(w.g.k.ScratchBase >> 32), true
	case hwHWID1, hwIBSts2:
		return 0, true
	case hwHWID2: // VM_ID in bits 24 to 27
		return w.g.k.VMID & 15 << 24, true
	}
	if w.arch == isa.RDNA4 {
		return w.hwregRDNA4(id)
	}
	switch id {
	case hwTrapSts:
		return w.trapSts, true
	case hwSHMem:
		return apertures, true
	case hwTBALo:
		return uint32(w.g.k.TrapBase), true
	case hwTBAHi:
		return uint32(w.g.k.TrapBase >> 32), true
	case 18, 19, 27: // performance snapshots, which nobody takes: PC, data without its valid bit
		return 0, true
	case hwPops: // of pixel shaders
		return 0, true
	case hwCycles:
		return uint32(w.clock()) & 0xfffff, true // a 20-bit counter
	}
	return 0, false
}

// apertures is SH_MEM_BASES: private base, shared base.
const apertures = sharedBase>>32&0xffff0000 | privateBase>>48

func (w *wave) hwregCDNA(id uint32) (uint32, bool) {
	switch id {
	case hwTrapSts:
		return w.trapSts, true
	case hwHWID: // VM_ID in bits 20 to 23
		return w.g.k.VMID & 15 << 20, true
	case hwSHMem:
		return apertures, true
	case hwTBALo:
		return uint32(w.g.k.TrapBase), true
	case hwTBAHi:
		return uint32(w.g.k.TrapBase >> 32), true
	case hwTMALo:
		return uint32(w.g.k.TrapMem), true
	case hwTMAHi:
		return uint32(w.g.k.TrapMem >> 32), true
	}
	if w.arch == isa.CDNA2 {
		return 0, false
	}
	switch id {
	case hwXCC:
		return w.g.k.XCC, true
	case 21, 22, 23, 24: // performance snapshots, which nobody takes: the valid bit is clear
		return 0, true
	}
	return 0, false
}

func (w *wave) hwregRDNA4(id uint32) (uint32, bool) {
	switch id {
	case hwPriv:
		return w.statePriv(), true
	case 10, 11, 12, 15, 16: // performance snapshots, which nobody takes: they read zero
		return 0, true
	case hwExcpPriv:
		return w.excp, true
	case hwExcpUser:
		return w.trapSts, true
	case hwTrapCtrl:
		return w.ctrl, true
	case hwCycles:
		return uint32(w.clock()), true
	case hwCyclesHi:
		return uint32(w.clock() >> 32), true
	case hwSched:
		return w.sched, true
	case hwDvgprLo, hwDvgprHi: // no dynamic allocation
		return 0, true
	}
	return 0, false
}

// flagsOf tells whether a register's lowest bits are the ALUs' exception flags.
func (w *wave) flagsOf(id uint32) bool {
	if w.arch == isa.RDNA4 {
		return id == hwExcpUser
	}
	return id == hwTrapSts
}

func runGetreg(w *wave, u *uop) {
	simm := uint32(u.imm)
	id, off, size := simm&63, simm>>6&31, simm>>11&31+1
	v, ok := w.hwreg(id)
	if !ok {
		w.fail(ErrUnsupported, u, fmt.Sprintf("hardware register %d", id))
		return
	}
	mask := uint32(1<<size - 1)
	if w.flagsOf(id) && mask<<off&excpFlags != 0 && !w.priv {
		w.fail(ErrUnsupported, u, "exception flags are not collected")
		return
	}
	w.sset(u.sd, v>>off&mask)
}

func runSetreg(w *wave, u *uop) {
	v := u.x.in.Lit
	if u.x.name == "s_setreg_b32" {
		v = w.sget(u.sd)
	}
	simm := uint32(u.imm)
	id, off, size := simm&63, simm>>6&31, simm>>11&31+1
	mask := uint32(1<<size-1) << off
	v = v << off & mask
	into := func(r *uint32, writable uint32) { *r = *r&^(mask&writable) | v&writable }
	switch {
	case id == hwMode:
		w.setMode(w.modeReg()&^mask | v)
	case id == hwSched && w.arch == isa.RDNA4: // DEP_MODE, which Linux's trap handler saves; every instruction waits here
		into(&w.sched, 3)
	case id == hwFlushIB && w.arch != isa.RDNA4, id == hwSched && !w.arch.CDNA():
		// The instruction buffer is not modelled, nor how instructions are picked.
	case w.flagsOf(id):
		writable := ^uint32(0)
		if w.arch != isa.RDNA4 && !w.priv {
			writable = 0x1ff // EXCP
		}
		into(&w.trapSts, writable)
	case w.priv && id == hwStatus && w.arch != isa.RDNA4:
		if mask&1 != 0 {
			w.scc = v & 1
		}
		if mask>>3&3 == 3 {
			w.prio = v >> 3 & 3
		}
		if mask&statusHalt != 0 {
			w.halt = v&statusHalt != 0
		}
	case w.priv && w.arch == isa.RDNA4 && id == hwPriv:
		if mask>>9&1 != 0 {
			w.scc = v >> 9 & 1
		}
		if mask>>12&3 == 3 {
			w.prio = v >> 12 & 3
		}
		if mask>>14&1 != 0 {
			w.halt = v>>14&1 != 0
		}
	case w.priv && w.arch == isa.RDNA4 && id == hwExcpPriv:
		into(&w.excp, ^uint32(0))
	case w.priv && w.arch == isa.RDNA4 && id == hwTrapCtrl:
		into(&w.ctrl, ^uint32(0))
	default: // read-only, or writable by trap handlers alone
		if _, ok := w.hwreg(id); !ok {
			w.fail(ErrUnsupported, u, fmt.Sprintf("hardware register %d", id))
		}
	}
}

// Messages of s_sendmsg, by number (isa/tables/names.tsv), and of s_sendmsg_rtn (RDNA3 and RDNA4 ISA, 5.4).
const (
	messagesCDNA  = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<9 | 1<<15
	messagesRDNA  = 1<<1 | 1<<2 | 1<<3 | 1<<9
	messagesGFX11 = messagesRDNA | 1<<5 | 1<<6

	msgGetDoorbell = 10 // CDNA: the answer comes in EXEC

	msgRtnDoorbell = 128
	msgRtnDDID     = 129
	msgRtnTMA      = 130
	msgRtnRealtime = 131
	msgRtnTBA      = 133
	msgRtnTBAToPC  = 134
	msgRtnSEAndAID = 135
)

// runSendmsg: messages to units that compute kernels have nothing to do with, to the host, which nobody listens to, and
// hints. None changes what the wave computes.
func runSendmsg(w *wave, u *uop) {
	id, known := uint32(u.imm)&0xff, uint32(messagesRDNA)
	switch {
	case w.arch.CDNA():
		id, known = id&0xf, messagesCDNA
	case w.arch != isa.RDNA4:
		known = messagesGFX11
	}
	switch {
	case id == 0: // illegal; ignored
	case w.arch.CDNA() && id == msgGetDoorbell:
		w.fail(ErrUnsupported, u, "the doorbell is not known here")
	case id < 32 && known>>id&1 != 0:
	default:
		w.fail(ErrUnsupported, u, fmt.Sprintf("message %d", id))
	}
}

// runMsgRtn answers messages that return a value.
func runMsgRtn(w *wave, u *uop) {
	var v uint64
	switch id := u.x.in.Field(isa.FieldSsrc0); {
	case id == msgRtnRealtime:
		v = w.realtime()
	case id == msgRtnTMA:
		v = w.g.k.TrapMem
	case id == msgRtnTBA:
		if v = w.g.k.TrapBase; v != 0 {
			v |= 1 << 63 // a handler is there (RDNA3 ISA, 3.2)
		}
	case id == msgRtnTBAToPC && w.g.k.TrapBase != 0 && w.priv:
		w.jumpTo(u, w.g.k.TrapBase)
		return
	default:
		why := fmt.Sprintf("message %d", id)
		switch id {
		case msgRtnDoorbell, msgRtnDDID:
			why = "the queue's doorbell and the dispatch's number are not known here"
		case msgRtnSEAndAID:
			why = "waves are placed after they have run"
		}
		w.fail(ErrUnsupported, u, why)
		return
	}
	if strings.HasSuffix(u.x.name, "b64") {
		w.sset64(u.sd, v)
		return
	}
	w.sset(u.sd, uint32(v))
}
