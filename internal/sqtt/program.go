package sqtt

import (
	"fmt"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

//go:generate go run ../tools/genregs -dir . -out regs_gen.go

// Limits of a trace program's addresses and sizes.
const (
	pageBytes    = 4096
	MaxSize      = (1<<22 - 1) * pageBytes // bytes of one engine's buffer: SIZE has 22 bits of pages
	addressLimit = 1 << 48                 // the base registers hold 36 bits of pages
	maxDies      = 8                       // bits of PRED_EXEC's mask
)

type stepOp uint8

const (
	opWrite stepOp = iota
	opEvent
	opSelect  // write that chooses an engine
	opWait    // until the register compares
	opCopy    // register to memory, confirmed
	opSelects // write of consecutive counter selects, one for each event
)

// stepWhen says with which option a step stands in the program.
type stepWhen uint8

const (
	whenAlways stepWhen = iota
	whenCounters
	whenStatus
)

// source names what a variable field holds.
type source uint8

const (
	fromEngine    source = iota // its number in its die
	fromPageLo                  // buffer's address in pages, low 32 bits
	fromPageHi                  // the bits above
	fromPages                   // buffer's size
	fromUnit                    // traced unit's number in its array
	fromArray                   // its array
	fromSimd                    // the traced SIMD
	fromSimds                   // mask of traced SIMDs
	fromTokens                  // classes recorded
	fromExcluded                // classes dropped
	fromWaveTypes               // GFX11's mask of them
	fromWavePs                  // 1: waves of the stage are recorded
	fromWaveVs
	fromWaveGs
	fromWaveEs
	fromWaveHs
	fromWaveLs
	fromWaveCs
	fromEvent // counter event
	fromCounterRate
	fromCountedSh0 // units of array 0 whose counters go into the trace
	fromCountedSh1
	fromEnd     // copies: address of the engine's end word
	fromStatus  // address of its status word
	fromDropped // address of the word after it
)

type variable struct {
	from source
	lo   uint8
	mask uint32 // in place
}

type step struct {
	op      stepOp
	when    stepWhen
	reg     pm4.Reg
	value   uint32 // constant part, the reference of a wait, or an event
	mask    uint32
	compare pm4.Compare
	vars    []variable
}

// phase is one program: packets before the engines, of each live engine, and after them.
type phase struct{ once, engine, end []step }

// traceProgram is the programs of one header version of package pm4's tables.
type traceProgram struct {
	arch        string
	start, stop phase
}

// builder appends steps for one GPU.
type builder struct {
	s       pm4.Stream
	o       *options
	g       *gpu.GPU
	size    int64
	address int64 // buffers for start, end words for stop
	engine  int   // global number
}

// Start is the packets that start a trace: each engine writes at most size bytes at address + engine*size. live[e][a] is the mask
// of working units in array a of engine e; an engine of zeros is left out. Without options each engine records every wave of its
// units, and engines 0 and 1 the instructions of unit 0 of array 0 (on SIMD 0 from GFX11 on, on every SIMD on GFX9).
func Start(g *gpu.GPU, live [][]uint32, size, address int64, opts ...Option) ([]uint32, error) {
	return AppendStart(nil, g, live, size, address, opts...)
}

// AppendStart is Start, appended to dst. Without options, and with capacity, it allocates nothing.
func AppendStart(dst []uint32, g *gpu.GPU, live [][]uint32, size, address int64, opts ...Option) ([]uint32, error) {
	p, err := programOf(g, live)
	if err != nil {
		return dst, fmt.Errorf("sqtt: start: %w", err)
	}
	span := size * int64(len(live))
	switch {
	case size < pageBytes || size > MaxSize || size%pageBytes != 0:
		return dst, fmt.Errorf("sqtt: start: buffers of %d bytes: the size of one engine's is a multiple of %d, from %d to %d", size, pageBytes, pageBytes, int64(MaxSize))
	case address < 0 || address%pageBytes != 0:
		return dst, fmt.Errorf("sqtt: start: buffers at %#x: the address is a multiple of %d and not negative", address, pageBytes)
	case address > addressLimit-span:
		return dst, fmt.Errorf("sqtt: start: buffers at %#x of %d bytes in all end past %#x", address, span, int64(addressLimit))
	}
	o, err := makeOptions(g, opts)
	if err != nil {
		return dst, fmt.Errorf("sqtt: start: %w", err)
	}
	b := builder{s: dst, o: o, g: g, size: size, address: address}
	return b.build(&p.start, live), nil
}

// Stop is the packets that end a trace: they wait until each live engine has written its trace out and store engine e's end as a
// 32-bit word at address + 4*e, which Length reads. Give it the options that Start had.
func Stop(g *gpu.GPU, live [][]uint32, address int64, opts ...Option) ([]uint32, error) {
	return AppendStop(nil, g, live, address, opts...)
}

// AppendStop is Stop, appended to dst. Without options, and with capacity, it allocates nothing.
func AppendStop(dst []uint32, g *gpu.GPU, live [][]uint32, address int64, opts ...Option) ([]uint32, error) {
	p, err := programOf(g, live)
	if err != nil {
		return dst, fmt.Errorf("sqtt: stop: %w", err)
	}
	if address < 0 || address%4 != 0 || address > 1<<62 {
		return dst, fmt.Errorf("sqtt: stop: ends at %#x: the address is a multiple of 4 and not negative", address)
	}
	o, err := makeOptions(g, opts)
	if err != nil {
		return dst, fmt.Errorf("sqtt: stop: %w", err)
	}
	b := builder{s: dst, o: o, g: g, address: address}
	return b.build(&p.stop, live), nil
}

// programOf finds the programs of the GPU's GC version and checks live against its shape.
func programOf(g *gpu.GPU, live [][]uint32) (*traceProgram, error) {
	tab, err := pm4.RegsFor(g.GC)
	if err != nil {
		return nil, fmt.Errorf("%s: no trace program for its GC version: %w", g.Target, err)
	}
	if g.Family == gpu.Unknown {
		return nil, fmt.Errorf("%s: no trace program for this target", g.Target)
	}
	if g.Dies < 1 || g.Dies > maxDies {
		return nil, fmt.Errorf("%s has %d dies: packets are predicated for 1 to %d", g.Target, g.Dies, maxDies)
	}
	if len(live) != g.Engines() {
		return nil, fmt.Errorf("live units of %d engines: %s has %d (%d on each of its dies, %d in all)", len(live), g.Target, g.Engines(), g.SEs, g.Dies)
	}
	for i := range tracePrograms {
		if p := &tracePrograms[i]; p.arch == tab.Arch {
			return p, nil
		}
	}
	return nil, fmt.Errorf("GC %s: no trace program", g.GC)
}

// build writes the whole program. System acquires stand first and last, so that neither side of the trace sees stale lines.
func (b *builder) build(p *phase, live [][]uint32) []uint32 {
	b.s = b.s.AcquireMem(b.g.Family, pm4.System)
	b.steps(p.once)
	for e, arrays := range live {
		if harvested(arrays) {
			continue
		}
		b.engine = e
		at := len(b.s)
		if b.g.Dies > 1 {
			b.s = b.s.PredExec(1<<(e/b.g.SEs), 0)
		}
		b.steps(p.engine)
		if b.g.Dies > 1 {
			b.s = b.s.EndPredExec(at)
		}
	}
	b.steps(p.end)
	b.s = b.s.AcquireMem(b.g.Family, pm4.System)
	return b.s
}

func harvested(arrays []uint32) bool {
	for _, units := range arrays {
		if units != 0 {
			return false
		}
	}
	return true
}

func (b *builder) steps(steps []step) {
	for i := range steps {
		st := &steps[i]
		if st.when == whenCounters && b.o.counters == nil || st.when == whenStatus && !b.o.hasStatus {
			continue
		}
		switch st.op {
		case opEvent:
			b.s = b.s.EventWrite(st.value)
		case opWait:
			b.s = b.s.WaitReg(st.reg, st.compare, st.value, st.mask)
		case opCopy:
			b.s = b.s.CopyRegToMem(st.reg, b.place(st.vars[0].from), true)
		case opSelects:
			for i, ev := range b.o.counters {
				b.s = b.s.SetUconfig(st.reg+pm4.Reg(i), st.value|ev<<st.vars[0].lo&st.vars[0].mask)
			}
		default:
			v := st.value
			for _, x := range st.vars {
				v |= b.value(x.from) << x.lo & x.mask
			}
			b.s = b.s.SetReg(st.reg, v)
		}
	}
}

// place is where a copy of the engine goes.
func (b *builder) place(from source) uint64 {
	switch from {
	case fromStatus:
		return uint64(b.o.status + 8*int64(b.engine))
	case fromDropped:
		return uint64(b.o.status + 8*int64(b.engine) + 4)
	}
	return uint64(b.address + 4*int64(b.engine))
}

func (b *builder) value(from source) uint32 {
	page := uint64(b.address+int64(b.engine)*b.size) / pageBytes
	t := b.o.target(b.engine)
	switch from {
	case fromEngine:
		return uint32(b.engine % b.g.SEs)
	case fromPageLo:
		return uint32(page)
	case fromPageHi:
		return uint32(page >> 32)
	case fromPages:
		return uint32(b.size / pageBytes)
	case fromUnit:
		return uint32(t.Unit)
	case fromArray:
		return uint32(t.Array)
	case fromSimd:
		return uint32(t.SIMD)
	case fromSimds:
		return t.simds()
	case fromTokens:
		return b.o.tokens(b.engine)
	case fromExcluded:
		return ^b.o.tokens(b.engine) & b.o.known
	case fromWaveTypes:
		return b.o.waveTypes
	case fromCounterRate:
		return b.o.counterRate
	case fromCountedSh0, fromCountedSh1:
		return b.o.counted
	}
	return b.o.waveTypes >> (from - fromWavePs) & 1
}

// Length turns an engine's stored end into the bytes of its trace, whose buffer is at address buffer: ends count 32-byte units in
// 29 bits, from the buffer's start, or from address 0 for targets 11.0.x. A result that is negative or beyond the buffer's size means that
// the trace is not whole: report it and clamp it.
func Length(g *gpu.GPU, buffer int64, word uint32) int64 {
	const units = 1<<29 - 1
	end := int64(word & units)
	if fromZero(g.GC) {
		end -= buffer / 32 & units
	}
	return end * 32
}

// fromZero reports whether the GC version's write pointer counts from address 0, as Mesa found (ac_sqtt.c).
func fromZero(gc string) bool { return strings.HasPrefix(gc, "11.0.") }
