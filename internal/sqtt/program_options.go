package sqtt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Target is the unit of an engine that a trace shows in detail. Numbers may name harvested units: nothing is traced there then.
type Target struct {
	Array, Unit int
	SIMD        int    // GFX11 on: the one whose instructions are traced
	SIMDMask    uint32 // GFX9: those whose waves are traced; 0 means all
}

func (t Target) simds() uint32 {
	if t.SIMDMask == 0 {
		return 0xf
	}
	return t.SIMDMask
}

// Option changes what a trace records. Without any, the words of the programs are the default ones.
type Option func(*options) error

// options is what the steps' variables are taken from.
type options struct {
	g           *gpu.GPU
	all         Target         // of the engines without one of their own
	targets     map[int]Target // by engine
	detail      []int          // engines that trace instructions
	include     uint32         // token classes that detailed engines record, as bits of the family's register
	inst        uint32         // of those, what the other engines leave out
	sampled     uint32         // the class of counters' samples, where there are counters
	known       uint32         // every class of the family
	waveTypes   uint32
	counters    []uint32 // events, in the trace itself
	counterRate uint32
	counted     uint32 // units of an array whose counters are sampled
	hasStatus   bool
	status      int64
}

// Wave types in the order of the registers' fields: a bit of SQ_THREAD_TRACE_MASK.WTYPE_INCLUDE on GFX11 and GFX12 (bits 1, 3 and 5 are
// reserved), a MASK field of SQ_THREAD_TRACE_MODE on GFX9.
var waveTypes = map[gpu.Family][]string{
	gpu.GFX9:  {"ps", "vs", "gs", "es", "hs", "ls", "cs"},
	gpu.GFX11: {"ps", "", "gs", "", "hs", "", "cs"},
	gpu.GFX12: {"ps", "", "gs", "", "hs", "", "cs"},
}

const (
	allWaveTypes9  = 0x7f // every stage
	allWaveTypes11 = 0x55 // every bit that is not reserved
	maxCounters    = 8    // SQ_PERFCOUNTER0..7, as aqlprofile
	maxCounterRate = 31   // CNTR_RATE has 5 bits
)

// detailEngines are those that trace instructions by default; few, as instruction tokens are many.
var detailEngines = []int{0, 1}

type tokenClass struct {
	families uint32 // bits 1<<gpu.Family
	name     string
	bit      uint8
	inst     bool // left out on engines that trace no instructions
	always   bool // recorded by default
}

// defaultOptions holds each family's, so that programs without options allocate nothing.
var defaultOptions = func() (all [gpu.GFX12 + 1]options) {
	for f := gpu.GFX9; f <= gpu.GFX12; f++ {
		o := &all[f]
		o.detail, o.waveTypes, o.counted = detailEngines, allWaveTypes11, 0xffff
		if f == gpu.GFX9 {
			o.waveTypes = allWaveTypes9
		}
		for _, c := range tokenClasses {
			if c.families>>f&1 == 0 {
				continue
			}
			o.known |= 1 << c.bit
			if c.always {
				o.include |= 1 << c.bit
			}
			if c.inst {
				o.inst |= 1 << c.bit
			}
		}
	}
	return all
}()

func makeOptions(g *gpu.GPU, opts []Option) (*options, error) {
	if len(opts) == 0 {
		return &defaultOptions[g.Family], nil
	}
	o := defaultOptions[g.Family]
	o.g = g
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

func (o *options) target(engine int) Target {
	if t, ok := o.targets[engine]; ok {
		return t
	}
	return o.all
}

// tokens is the classes that an engine records.
func (o *options) tokens(engine int) uint32 {
	include := o.include | o.sampled
	for _, e := range o.detail {
		if e == engine {
			return include
		}
	}
	return include &^ o.inst
}

func (o *options) check(t Target) error {
	g := o.g
	if t.Array < 0 || t.Array >= max(g.SAs, 1) || t.Unit < 0 || t.Unit >= g.Units {
		return fmt.Errorf("unit %d of array %d: %s has %d arrays of %d units", t.Unit, t.Array, g.Target, g.SAs, g.Units)
	}
	if t.SIMD < 0 || t.SIMD > 3 || t.SIMDMask > 0xf {
		return fmt.Errorf("SIMD %d, mask %#x: a unit has SIMDs 0 to 3", t.SIMD, t.SIMDMask)
	}
	if g.Family == gpu.GFX9 && t.SIMD != 0 {
		return fmt.Errorf("SIMD %d: %s traces SIMDs by mask", t.SIMD, g.Target)
	}
	if g.Family != gpu.GFX9 && t.SIMDMask != 0 {
		return fmt.Errorf("SIMD mask %#x: %s traces one SIMD of a unit", t.SIMDMask, g.Target)
	}
	return nil
}

// WithTarget traces the unit t in every engine.
func WithTarget(t Target) Option {
	return func(o *options) error {
		o.all = t
		return o.check(t)
	}
}

// WithEngineTarget traces the unit t in one engine (numbered over all dies).
func WithEngineTarget(engine int, t Target) Option {
	return func(o *options) error {
		if engine < 0 || engine >= o.g.Engines() {
			return fmt.Errorf("engine %d: %s has %d", engine, o.g.Target, o.g.Engines())
		}
		if o.targets == nil {
			o.targets = map[int]Target{}
		}
		o.targets[engine] = t
		return o.check(t)
	}
}

// WithDetail names the engines (numbered over all dies) that trace instructions; none is allowed.
func WithDetail(engines ...int) Option {
	return func(o *options) error {
		for _, e := range engines {
			if e < 0 || e >= o.g.Engines() {
				return fmt.Errorf("engine %d traces instructions: %s has %d", e, o.g.Target, o.g.Engines())
			}
		}
		o.detail = slices.Clone(engines)
		return nil
	}
}

// TokenClasses lists the token classes that WithTokens takes for a family.
func TokenClasses(f gpu.Family) []string {
	var out []string
	for _, c := range tokenClasses {
		if c.families>>f&1 != 0 {
			out = append(out, c.name)
		}
	}
	return out
}

// InstructionClasses lists those that only engines which trace instructions record.
func InstructionClasses(f gpu.Family) []string {
	var out []string
	for _, c := range tokenClasses {
		if c.families>>f&1 != 0 && c.inst {
			out = append(out, c.name)
		}
	}
	return out
}

// WaveTypes lists the stages that WithWaveTypes takes for a family.
func WaveTypes(f gpu.Family) []string {
	return slices.DeleteFunc(slices.Clone(waveTypes[f]), func(s string) bool { return s == "" })
}

// WithTokens records the named token classes only, and WithCounters' samples. Engines that trace no instructions leave the instruction classes
// out still.
func WithTokens(classes ...string) Option {
	return func(o *options) error {
		o.include = 0
		for _, name := range classes {
			i := slices.IndexFunc(tokenClasses[:], func(c tokenClass) bool { return c.name == name && c.families>>o.g.Family&1 != 0 })
			if i < 0 {
				return fmt.Errorf("token class %q: %s has %s", name, o.g.Target, strings.Join(TokenClasses(o.g.Family), ", "))
			}
			o.include |= 1 << tokenClasses[i].bit
		}
		return nil
	}
}

// WithWaveTypes records waves of the named stages only: cs, ps, gs, hs, and on GFX9 vs, es, ls.
func WithWaveTypes(stages ...string) Option {
	return func(o *options) error {
		o.waveTypes = 0
		for _, name := range stages {
			i := slices.Index(waveTypes[o.g.Family], name)
			if i < 0 || name == "" {
				return fmt.Errorf("wave type %q: %s has %s", name, o.g.Target, strings.Join(WaveTypes(o.g.Family), ", "))
			}
			o.waveTypes |= 1 << i
		}
		return nil
	}
}

// WithCounters puts samples of SQ counters into the trace (GFX9 only): the events, of the units in the mask of each array. rate is
// SQ_PERFCOUNTER_CTRL's CNTR_RATE: at 1 a CU is sampled every 40 cycles or so, half as often with more than four events (ROCm's documentation of
// rocprofv3's thread traces; how other rates scale it does not say). Stop needs the option too.
func WithCounters(events []uint32, rate int, units uint32) Option {
	return func(o *options) error {
		if o.g.Family != gpu.GFX9 {
			return fmt.Errorf("counters in the trace: %s has none", o.g.Target)
		}
		if len(events) < 1 || len(events) > maxCounters || rate < 0 || rate > maxCounterRate {
			return fmt.Errorf("%d counters at rate %d in the trace: 1 to %d at rate 0 to %d are possible", len(events), rate, maxCounters, maxCounterRate)
		}
		for _, e := range events {
			if e > 0x1ff {
				return fmt.Errorf("counter event %d: the register holds 9 bits", e)
			}
		}
		o.counters, o.counterRate, o.counted = slices.Clone(events), uint32(rate), units
		for _, c := range tokenClasses {
			if c.name == "perf" && c.families>>o.g.Family&1 != 0 {
				o.sampled = 1 << c.bit
			}
		}
		return nil
	}
}

// WithStatus makes Stop store two more words for each live engine e, at address + 8*e: SQ_THREAD_TRACE_STATUS and the counter of what was
// lost (DROPPED_CNTR; on GFX9 CNTR, the bytes' count, which differs from the end in a full buffer).
func WithStatus(address int64) Option {
	return func(o *options) error {
		if address < 0 || address%4 != 0 || address > 1<<62 {
			return fmt.Errorf("status words at %#x: the address is a multiple of 4 and not negative", address)
		}
		o.hasStatus, o.status = true, address
		return nil
	}
}
