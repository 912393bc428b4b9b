package perfctr

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Value is what one copy of a block counted, or a total.
type Value struct {
	N       uint64
	AtLeast bool   // the register was full: the count is N or more
	NA      string // why nothing was measured; N means nothing then
}

// Unit is the copy of a block that a value is of. Engine numbers are those of the device, over all dies.
type Unit struct {
	Die, Instance, Engine, Array, WGP int
}

// Reading is one counter's values of a run.
type Reading struct {
	Counter Counter
	Values  []Value // one for each word, the last of die, instance, engine, array, WGP varying fastest
	Total   Value   // sum of the measured ones; n/a if none is
}

// Unit is the copy that Values[i] is of.
func (r *Reading) Unit(g *gpu.GPU, i int) Unit {
	c := &r.Counter
	var u Unit
	u.WGP, i = i%c.WGPs, i/c.WGPs
	u.Array, i = i%c.Arrays, i/c.Arrays
	u.Engine, i = i%c.Engines, i/c.Engines
	u.Instance, u.Die = i%c.Instances, i/c.Instances
	if c.Engines > 1 {
		u.Engine += u.Die * g.SEs
	}
	return u
}

// Conditions is what a run's values depend on beside the samples.
type Conditions struct {
	StablePower bool // the device held its stable power state while it counted
	Unverified  bool // show counters with an unverified event all the same
	// Unmeasured says why the device could not count some counters, by name.
	Unmeasured map[string]string
}

// stableOnly are counters that stay 0 unless the device holds its stable power state.
func stableOnly(name string) bool { return name == "SQ_INSTS_VALU" }

// saturated is what a full 32-bit counter shows.
const saturated = math.MaxUint32

// Read turns a run's samples, as the stop program stored them, into values.
func Read(g *gpu.GPU, l *Layout, samples []byte, cond Conditions) ([]Reading, error) {
	if len(samples) < l.Bytes {
		return nil, fmt.Errorf("perfctr: %d bytes of samples, the layout has %d", len(samples), l.Bytes)
	}
	out := make([]Reading, len(l.Counters))
	for i := range l.Counters {
		c := &l.Counters[i]
		r := &out[i]
		r.Counter = c.Counter
		r.Values = make([]Value, c.Words(l.Dies))
		why := ""
		if c.Unverified && !cond.Unverified {
			why = fmt.Sprintf("the event number of %s is not verified on %s", c.Name, l.Target)
		}
		if u := cond.Unmeasured[c.Name]; u != "" {
			why = u
		}
		any := uint64(0)
		for j := range r.Values {
			v := &r.Values[j]
			v.N = binary.LittleEndian.Uint64(samples[c.Offset+8*j:])
			any |= v.N
			switch lacks := c.lacks(g, r.Unit(g, j).Instance); {
			case lacks != "":
				*v = Value{NA: lacks}
			case why != "":
				*v = Value{NA: why}
			case c.row.bits == 32:
				v.AtLeast = v.N >= saturated
			}
		}
		if stableOnly(c.Name) && !cond.StablePower && any == 0 {
			for j := range r.Values {
				r.Values[j] = Value{NA: c.Name + " stays 0 outside the stable power state"}
			}
		}
		r.Total = Sum(r.Values)
	}
	return out, nil
}

// Sum adds the measured values; it is n/a, with the first reason, if there is none.
func Sum(values []Value) Value {
	total, measured, why := Value{}, false, "the counter has no unit"
	for i := len(values) - 1; i >= 0; i-- {
		v := values[i]
		if v.NA != "" {
			why = v.NA
			continue
		}
		measured = true
		total.AtLeast = total.AtLeast || v.AtLeast
		if total.N > math.MaxUint64-v.N {
			total.N, total.AtLeast = math.MaxUint64, true
			continue
		}
		total.N += v.N
	}
	if !measured {
		return Value{NA: why}
	}
	return total
}
