package shader

import (
	"math/bits"

	"github.com/rigprof/rigprof/internal/isa"
)

// vreg is one vector register. A wave of 32 uses the first half.
type vreg = [64]uint32

func lo(v *vreg) *lanes { return (*lanes)(v[:32]) }
func hi(v *vreg) *lanes { return (*lanes)(v[32:]) }

// accBase is where AGPRs start in a wave's register file.
const accBase = 256

// Why a wave stopped running.
const (
	running = iota
	stopEnd
	stopBarrier // at the workgroup's barrier
	stopWait    // for what wave.await says
	stopYield   // its slice of instructions is used up
	stopFault
	stopReload // the program grew
)

// wave is the state of one wave.
type wave struct {
	exec, full uint64 // full has a bit for each lane that the wave's size allows
	n          int    // 32 or 64
	ip         int    // index of the next micro-operation
	stop       uint8
	scc        uint32
	null, m0   uint16 // scalar codes
	arch       isa.Arch
	m          mode
	modeBits   uint32
	s          [128]uint32 // by operand code; EXEC is mirrored here, null stays 0
	v          []vreg      // VGPRs, then AGPRs from accBase
	t          [6]vreg     // operands that must be formed, results that must be merged
	x          [4][64]uint64
	p          [6]vreg // halves of packed operands
	addr       [64]uint64

	prog *Program
	code []uop

	// Where the current straight line began, and how often each was entered and left.
	first int
	hits  []int64
	fuel  int64 // instructions left in this slice
	spent uint64
	limit uint64 // instructions the wave may execute in all, 0: any number

	// How many lanes vector instructions had: those from index masked on have the lanes of exec.
	valu    []uint32 // the program's
	masked  int
	laneSum uint64

	g     *group
	index int // in the workgroup
	fault *Fault
	log   *WaveLog
	logs  bool // memory and straight lines are logged
	mem   *window

	scratch      []byte
	matrix       []float64 // operands of matrix instructions, see operands
	blocks       []mats
	scratchBytes uint32
	patched      bool // MODE has GPR_IDX_EN or VSKIP: each operation is looked at before it runs
	syncState
	trapState
}

// countLanes adds up the lanes of vector instructions of the straight line before index end.
func (w *wave) countLanes(end int) {
	if end > w.masked {
		w.laneSum += uint64(w.valu[end]-w.valu[w.masked]) * uint64(bits.OnesCount64(w.exec))
		w.masked = end
	}
}

func (w *wave) setExec(x uint64) {
	if w.logs {
		w.countLanes(w.ip)
	}
	if w.n == 32 {
		w.exec = x & 0xffffffff
		w.s[isa.ExecLo] = uint32(x)
		return
	}
	w.exec = x
	w.s[isa.ExecLo], w.s[isa.ExecHi] = uint32(x), uint32(x>>32)
}

// sget reads a scalar register or source code.
func (w *wave) sget(code uint16) uint32 {
	if code < 128 {
		return w.s[code]
	}
	return uint32(w.special(code))
}

func (w *wave) sget64(code uint16) uint64 {
	if code < 127 {
		if code == w.null {
			return 0
		}
		return uint64(w.s[code]) | uint64(w.s[code+1])<<32
	}
	if code < 128 {
		return uint64(w.s[code])
	}
	return w.special(code)
}

// Apertures of a KFD process, as SH_MEM_BASES has them (1 and 2 in the top 16 bits).
const (
	sharedBase  = 1 << 48
	privateBase = 2 << 48
)

func (w *wave) special(code uint16) uint64 {
	switch code {
	case isa.SrcSharedBase:
		return sharedBase
	case isa.SrcSharedLimit:
		return sharedBase | 0xffffffff
	case isa.SrcPrivateBase:
		return privateBase
	case isa.SrcPrivateLimit:
		return privateBase | 0xffffffff
	case isa.SrcVccz:
		return uint64(b2u(w.vcc() == 0))
	case isa.SrcExecz:
		return uint64(b2u(w.exec == 0))
	case isa.SrcScc:
		return uint64(w.scc)
	}
	return 0
}

func (w *wave) sset(code uint16, v uint32) {
	switch {
	case code < isa.Ttmp0:
		w.s[code] = v
	case code == w.null:
	case code < isa.ExecLo:
		if code > isa.Ttmp0+15 || w.priv { // trap registers are the trap handler's alone
			w.s[code] = v
		}
	case code == isa.ExecLo:
		w.setExec(w.exec&^0xffffffff | uint64(v))
	case code == isa.ExecHi:
		w.s[isa.ExecHi] = v
		if w.n == 64 {
			w.setExec(w.exec&0xffffffff | uint64(v)<<32)
		}
	}
}

func (w *wave) sset64(code uint16, v uint64) {
	switch {
	case code == w.null:
	case code == isa.ExecLo:
		w.s[isa.ExecHi] = uint32(v >> 32)
		w.setExec(v)
	case code < isa.ExecLo:
		w.sset(code, uint32(v))
		w.sset(code+1, uint32(v>>32))
	default:
		w.sset(code, uint32(v))
	}
}

// mask reads a wave mask: one SGPR in a wave of 32, a pair in a wave of 64.
func (w *wave) mask(code uint16) uint64 {
	if w.n == 32 {
		return uint64(w.sget(code))
	}
	return w.sget64(code)
}

func (w *wave) setMask(code uint16, m uint64) {
	if w.n == 32 {
		w.sset(code, uint32(m))
		return
	}
	w.sset64(code, m)
}

func (w *wave) vcc() uint64 {
	if w.n == 32 {
		return uint64(w.s[isa.VccLo])
	}
	return uint64(w.s[isa.VccLo]) | uint64(w.s[isa.VccHi])<<32
}

// put writes the lanes of mask.
func (w *wave) put(d, t *vreg, mask uint64) {
	if mask == w.full {
		*lo(d) = *lo(t)
		if w.n == 64 {
			*hi(d) = *hi(t)
		}
		return
	}
	merge(lo(d), lo(t), uint32(mask))
	if w.n == 64 {
		merge(hi(d), hi(t), uint32(mask>>32))
	}
}

func merge(d, t *lanes, mask uint32) {
	if hasAVX {
		avxSelect(d, d, t, mask)
		return
	}
	for i := range d {
		d[i] ^= (d[i] ^ t[i]) & -(mask >> i & 1)
	}
}

func fill(d *vreg, x uint32) {
	if hasAVX {
		avxFill64(d, x)
		return
	}
	for i := range d {
		d[i] = x
	}
}

func (w *wave) fail(err error, u *uop, detail string) *Fault {
	pi := &w.prog.view()[u.index]
	f := &Fault{Err: err, Kernel: w.g.k.Name, PC: pi.PC, Group: w.g.id, Wave: w.index, Lane: -1, Detail: detail}
	if pi.Inst.Op != nil {
		f.Inst = pi.Inst.Op.Base()
	}
	w.fault, w.stop = f, stopFault
	return f
}
