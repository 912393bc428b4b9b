package trace

import (
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

// Bits of TOKEN_EXCLUDE (GFX11 and GFX12), enumeration SQ_TT_TOKEN_MASK_TOKEN_EXCLUDE_SHIFT.
const (
	exVMEMExec = 1 << iota
	exALUExec
	exVALUInst
	exWaveReady
	exWaveStartEnd
	exImmediate
	exReg
	exEvent
	exInst
	exUtil
	exWaveAlloc
	exRealtime // GFX12
)

// Bits of REG_INCLUDE and REG_EXCLUDE, in place in TOKEN_MASK, and of what else the register holds.
const (
	incSQ          = 1 << 16
	incGFX         = 1 << 18
	incCompute     = 1 << 19
	incAll         = 1 << 22
	exOtherSIMD    = 1 << 24
	exUserData     = 1 << 26
	exReadAddress  = 1 << 27 // GRBM_GFX_INDEX is among them: gfx12 captures have it set and lack those writes
	exGRBMCompute  = 1 << 28
	bopEvents11    = 1 << 12
	bopEvents12    = 1 << 13
	excludeBarrier = 1 << 14 // GFX12
)

// Bits of STATUS.
const (
	statusDone     = 0xfff << 12
	statusError    = 1 << 24
	statusBusy     = 1 << 25
	ownerShift     = 28
	status9Pending = 0x3ff
	status9Done    = 0x3ff << 16
	status9Error   = 1 << 28
	status9Busy    = 1 << 30
	status9Full    = 1 << 31
	wtypeCS        = 1 << 16 // MASK: bit 6 of WTYPE_INCLUDE
	userData0      = 0x40    // COMPUTE_USER_DATA_0 from the block's start
	numUserData    = 16
	gfx9Reset      = 1 << 31 // CTRL
	gfx9MaskCS     = 7 << 18 // MODE
	gfx9ModeShift  = 21
	finishEvent    = 0x37
	cacheFlush     = 0x14
	eventDelay     = 6    // clocks from an event's register write to its token, gfx11 captures
	markerPeriod12 = 256  // clocks between realtime markers, gfx12 captures
	markerPeriod11 = 4096 // RT_FREQ of the usual program
)

// unit is the trace unit of one engine.
type unit struct {
	g        *gpu.GPU
	engine   int
	gfx9     bool
	absolute bool // WPTR counts from address 0
	l        *layout
	mem      Memory
	value    [numRegs]uint32
	other    map[pm4.Reg]uint32

	on       bool
	enabled  bool // COMPUTE_THREAD_TRACE_ENABLE
	done     bool // THREAD_TRACE_FINISH came
	top      bool // events of the pipe's top and bottom are shown
	bottom   bool
	start    int64
	firstPtr uint32 // WPTR at the start
	sink     sink
	w        writer
	w9       writer9
	later    []laterToken // events that show some clocks behind their cause
	waves    int
	active   bool
	marker   int64 // when the next realtime marker is due

	// samples gives what the engine's counters show of the time up to until and have not shown; nil: there are none.
	samples func(engine int, until int64, f func(t int64, sa, unit, bank int, v [4]uint16))
}

type laterToken struct {
	t int64
	k token
}

func (u *unit) write(now int64, id int, r pm4.Reg, v uint32) {
	switch id {
	case rOther:
		u.other[r] = v
		return
	case rStatus, rStatus2, rDropped:
		if id == rStatus && u.gfx9 {
			// Programs write 0. What else is written is taken to stand where hardware has nothing to say: a guess.
			u.value[id] = v & status9Pending
			u.sink.full, u.sink.failed, u.done = false, false, false
		}
		return
	case rWptr:
		if !u.on {
			u.value[id] = v
		}
		return
	}
	u.value[id] = v
	switch {
	case id == rCtrl && u.gfx9:
		if v&gfx9Reset != 0 {
			u.value[rWptr] = 0
			u.sink = sink{}
		}
	case id == rCtrl:
		u.setMode(now, v&3 == 1)
	case id == rMode:
		u.setMode(now, v>>gfx9ModeShift&3 == 1)
	}
}

func (u *unit) setMode(now int64, on bool) {
	switch {
	case on == u.on:
	case on:
		u.begin(now)
	default:
		u.end(now)
	}
}

// buffer is where the stream goes, by the registers.
func (u *unit) buffer() (addr uint64, size int64) {
	lo, hi, sz := uint64(u.value[rBase]), uint64(u.value[rBaseHi]&15), u.value[rSize]
	switch {
	case u.gfx9:
		sz &= 1<<22 - 1
	case u.l.gfx12:
		hi = uint64(u.value[rBaseHi] & 0x1fff)
		sz &= 1<<22 - 1
	default:
		hi = uint64(sz & 15)
		sz = sz >> 8 & (1<<22 - 1)
	}
	return (hi<<32 | lo) << 12, int64(sz) << 12
}

func (u *unit) begin(now int64) {
	addr, size := u.buffer()
	u.on, u.done, u.start, u.later, u.waves, u.active = true, false, now, u.later[:0], 0, false
	u.sink = sink{mem: u.mem, addr: addr}
	if u.gfx9 {
		u.firstPtr = 0
		u.sink.limit = size
		u.w9.reset(&u.sink, now)
		return
	}
	// The last chunk is never written: a full buffer's pointer stands 32 bytes before its end.
	u.sink.limit = size - chunkBytes
	switch {
	case u.absolute:
		u.firstPtr = uint32(addr >> 5 & (1<<29 - 1))
	case u.l.gfx12:
		u.firstPtr = u.value[rWptr] & (1<<29 - 1)
		u.sink.addr += uint64(u.firstPtr) * chunkBytes
		u.sink.limit -= int64(u.firstPtr) * chunkBytes
	default:
		u.firstPtr = 0
	}
	u.w.reset(u.l, &u.sink, now)
	m := u.value[rMask]
	noBarrier := u.l.gfx12 && u.value[rTokenMask]&excludeBarrier != 0
	u.w.add(now, u.l.header(uint8(m>>9&1), uint8(m>>4&15), uint8(m&3), u.g.Units, u.wantsInsts(), noBarrier))
	u.marker = now
}

// end switches the unit off. What was not completed by a finish is lost.
func (u *unit) end(now int64) {
	u.due(now + eventDelay + 1)
	u.sample(now)
	if u.done {
		if u.gfx9 {
			u.w9.finish()
		} else {
			u.w.finish()
		}
	} else if u.gfx9 {
		// The CDNA unit has no need of the event: switching it off writes everything out.
		u.w9.finish()
	}
	u.on = false
	u.value[rWptr] = (u.firstPtr + uint32(u.sink.written/chunkBytes)) & (1<<29 - 1)
}

func (u *unit) read(_ int64, id int, r pm4.Reg) uint32 {
	chunks := uint32(u.sink.written / chunkBytes)
	switch id {
	case rOther:
		return u.other[r]
	case rStatus:
		return u.status()
	case rStatus2:
		if u.sink.full {
			return 1
		}
		return 0
	case rDropped:
		if u.gfx9 { // CNTR counts what was meant to be written: more than WPTR where the buffer was full
			return chunks + uint32(u.sink.dropped)
		}
		return uint32(u.sink.dropped)
	case rWptr:
		if u.on {
			return (u.firstPtr + chunks) & (1<<29 - 1)
		}
	}
	return u.value[id]
}

func (u *unit) status() uint32 {
	var v uint32
	if u.gfx9 {
		v = u.value[rStatus]
		if u.on {
			v |= status9Busy
		}
		if u.done {
			v |= status9Done
		}
		if u.sink.failed {
			v |= status9Error
		}
		if u.sink.full {
			v |= status9Full
		}
		return v
	}
	if u.on {
		v |= statusBusy
	}
	if u.done {
		v |= statusDone
	}
	if u.sink.failed {
		v |= statusError
	}
	return v
}

// excluded tells whether TOKEN_MASK drops a class of RDNA tokens.
func (u *unit) excluded(bit uint32) bool { return u.value[rTokenMask]&bit != 0 }

// wants9 tells whether TOKEN_MASK records a type of CDNA tokens.
func (u *unit) wants9(typ uint) bool { return u.value[rTokenMask]>>typ&1 != 0 }

func (u *unit) wantsInsts() bool {
	if u.gfx9 {
		return u.wants9(10) || u.wants9(13)
	}
	const all = exVMEMExec | exALUExec | exVALUInst | exImmediate | exInst
	return u.value[rTokenMask]&all != all
}

// sampling tells whether a CDNA stream shows samples of counters.
func (u *unit) sampling() bool {
	return u.on && u.gfx9 && u.samples != nil && u.wants9(tok9Perf) && u.value[rPerf] != 0
}

// sample shows the samples of the time up to until.
func (u *unit) sample(until int64) {
	if !u.sampling() {
		return
	}
	u.samples(u.engine, until, func(t int64, sa, no, bank int, v [4]uint16) {
		if u.value[rPerf]>>(sa*16+no)&1 != 0 {
			u.w9.add(t, perf9(sa, no, bank, v))
		}
	})
}

func (u *unit) inDetail(sa, no, simd int) bool {
	m := u.value[rMask]
	if u.gfx9 {
		return int(m&31) == no && int(m>>5&1) == sa && m>>8>>simd&1 != 0
	}
	return int(m>>9&1) == sa && int(m>>4&15) == no && int(m&3) == simd
}

// due writes out events that show before t.
func (u *unit) due(t int64) {
	for len(u.later) > 0 && u.later[0].t <= t {
		u.w.add(u.later[0].t, u.later[0].k)
		u.later = u.later[1:]
	}
}

// add puts an RDNA token into the stream.
func (u *unit) add(t int64, k token) {
	if len(u.later) > 0 {
		u.due(t)
	}
	u.w.add(t, k)
	if !u.l.gfx12 && t-u.marker >= markerPeriod11 || u.marker == u.start && k.kind != tokHeader && !u.l.gfx12 {
		u.mark(max(t, u.w.now))
		u.marker = t
	}
}

// mark puts a realtime marker into the stream.
func (u *unit) mark(t int64) {
	ref, clk := u.g.RefClockHz, u.g.ClockHz
	ticks := uint64(t/clk*ref + t%clk*ref/clk)
	u.w.add(t, u.l.realtime(ticks))
}

// marks12 writes the markers that are due before t while waves run.
func (u *unit) marks12(t int64) {
	if u.excluded(exRealtime) {
		return
	}
	for u.active && u.marker <= t {
		u.due(u.marker)
		u.mark(u.marker)
		u.marker += markerPeriod12
	}
}

func (u *unit) reg(now int64, cs, index bool, addr uint16, v uint32) {
	if !u.on {
		return
	}
	if u.gfx9 {
		switch {
		case cs && u.wants9(15), cs && u.wants9(5):
			u.w9.add(now, regCS9(addr, v))
		case !cs && !index && u.wants9(2):
			u.w9.add(now, reg9(addr, v))
		}
		return
	}
	m := u.value[rTokenMask]
	include := uint32(incGFX)
	switch {
	case cs:
		include = incCompute
	case !index:
		include |= incSQ // USERDATA is the SQ's own
	}
	switch {
	case m&exReg != 0, m&(include|incAll) == 0,
		index && m&exReadAddress != 0,
		cs && m&exUserData != 0 && addr >= userData0 && addr < userData0+numUserData,
		cs && m&exGRBMCompute != 0:
		return
	}
	u.add(now, regWrite(cs, addr, v))
}

func (u *unit) event(now int64, id uint8) {
	if !u.on {
		return
	}
	if u.gfx9 {
		if u.top && (u.wants9(15) || u.wants9(5)) {
			u.w9.add(now, regCS9(0x7f, uint32(id)))
		}
	} else {
		u.eventRDNA(now, id)
	}
	if id == finishEvent {
		u.done = true
	}
}

func (u *unit) eventRDNA(now int64, id uint8) {
	if u.top {
		u.reg(now, true, false, 0xff, uint32(id))
	}
	if id == finishEvent && !(u.l.gfx12 && u.excluded(exRealtime)) {
		u.due(now)
		u.mark(now)
	}
	if u.l.gfx12 || u.excluded(exEvent) {
		return
	}
	bottom := u.bottom && u.value[rTokenMask]&bopEvents11 != 0
	twice := id == cacheFlush || id == finishEvent
	if u.top {
		u.later = append(u.later, laterToken{now + eventDelay, event(id, false)})
	}
	if twice && bottom {
		u.later = append(u.later, laterToken{now + eventDelay + 1, event(id, true)})
	}
}

func (u *unit) dispatch(now int64, vmid, initiator uint32) {
	if !u.on {
		return
	}
	if u.gfx9 {
		if u.wants9(15) || u.wants9(5) {
			u.w9.add(now, regCS9(0, initiator))
		}
		return
	}
	if !u.excluded(exReg) {
		u.add(now, dispatchStart(vmid, initiator))
	}
}

// launched is the write of COMPUTE_DISPATCH_END that follows a dispatch's last workgroup, while waves may still run.
func (u *unit) launched(now int64, addr uint16) {
	if u.on && u.l.gfx12 {
		u.marks12(now - 1)
	}
	u.reg(now, true, false, addr, 0)
}

// take turns an event of an RDNA GPU into a token.
func (u *unit) take(e *timing.Event) {
	if u.value[rMask]&wtypeCS == 0 {
		return // compute waves are not wanted
	}
	if u.l.gfx12 {
		if e.Kind == timing.WaveStart && u.waves == 0 {
			u.active, u.marker = true, e.Time
		}
		u.marks12(e.Time - 1)
	}
	p := &e.Place
	switch e.Kind {
	case timing.WaveStart:
		u.waves++
		if u.excluded(exWaveStartEnd) {
			break
		}
		count := uint64(0x60 + int(e.Lanes) - 1)
		if e.Wide {
			count = uint64(e.Lanes) - 1 // a guess: no capture has wave64
		}
		u.add(e.Time, u.l.waveStart(p.SA, p.Unit, p.SIMD, p.Slot, count&0x7f))
	case timing.WaveEnd:
		u.waves--
		if !u.excluded(exWaveStartEnd) {
			u.add(e.Time, waveEnd(p.SA, p.Unit, p.SIMD, p.Slot))
		}
		if u.waves == 0 {
			u.active = false
		}
	case timing.SentData: // TOKEN_EXCLUDE has no bit for it; of any SIMD, or AMD's instrument pass need not limit markers to one
		u.add(e.Time, u.l.shaderData(p.SA, p.Unit, p.SIMD, p.Slot, e.Data, e.Code == 1))
	default:
		if u.inDetail(int(p.SA), int(p.Unit), int(p.SIMD)) {
			u.detail(e)
		}
	}
}

func (u *unit) detail(e *timing.Event) {
	slot := e.Place.Slot
	switch e.Kind {
	case timing.Issue:
		switch {
		case e.Code == timing.CodeVALU:
			if !u.excluded(exVALUInst) {
				u.add(e.Time, valuInst(slot, false))
			}
		case !u.excluded(exInst):
			u.add(e.Time, u.l.inst(slot, e.Code, false))
		}
	case timing.OtherSIMD:
		if !u.excluded(exInst) && !u.excluded(exOtherSIMD) {
			u.add(e.Time, u.l.inst(0, e.Code, false))
		}
	case timing.Immediate:
		u.immediate(e, slot)
	case timing.WaveReady:
		if !u.excluded(exWaveReady) {
			t := e.Time
			if !u.l.gfx12 {
				t++ // decoders take a clock off
			}
			u.merge(t, waveReady(1<<slot))
		}
	case timing.ExecALU:
		if !u.excluded(exALUExec) {
			u.exec(e.Time, e.Code)
		}
	case timing.ExecMem:
		if !u.excluded(exVMEMExec) {
			u.add(e.Time, memExec(e.Code))
		}
	case timing.NewPC:
		if !u.excluded(exInst) {
			u.add(e.Time, u.l.newPC(slot, e.PC))
		}
	}
}

func (u *unit) immediate(e *timing.Event, slot uint8) {
	if e.Flags&timing.BarrierWait != 0 {
		if u.value[rTokenMask]&excludeBarrier != 0 || u.excluded(exInst) {
			return
		}
		u.add(e.Time, u.l.inst(slot, 0x13, false))
		return
	}
	if u.excluded(exImmediate) {
		return
	}
	// Waves that do one in the same clock share a token.
	if u.w.now == e.Time {
		for i := range u.w.group {
			k := &u.w.group[i]
			if k.kind != tokImm {
				continue
			}
			if k.bits == 12 {
				other := uint8(k.lo >> 7 & 31)
				if other == slot || other > 15 || slot > 15 {
					continue
				}
				*k = immMask(1 << other)
			} else if k.lo>>8>>slot&1 != 0 {
				continue
			}
			k.lo |= 1 << slot << 8
			return
		}
	}
	u.add(e.Time, immOne(slot))
}

// merge adds to the mask of a WAVE_READY of the same clock.
func (u *unit) merge(t int64, k token) {
	if u.w.now == t {
		for i := range u.w.group {
			if g := &u.w.group[i]; g.kind == k.kind {
				g.lo |= k.lo
				return
			}
		}
	}
	u.add(t, k)
}

// exec joins a VALU's and a SALU's beginning of one clock.
func (u *unit) exec(t int64, src uint8) {
	if u.w.now == t {
		for i := range u.w.group {
			if g := &u.w.group[i]; g.kind == tokAlu && g.lo>>6&3 != 3 && uint8(g.lo>>6&3) != src {
				g.lo |= 3 << 6
				return
			}
		}
	}
	u.add(t, aluExec(src))
}
