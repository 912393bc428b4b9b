package count_test

import (
	"fmt"
	"slices"
)

// survivor says why a mutation of a counting program changes nothing.
type survivor struct {
	in   []string // targets
	what []string // names
	n    int      // how many of those that are named so; 0: all
	why  string
}

// of is how many survive of n that are named so.
func (s survivor) of(n int) int {
	switch {
	case s.why == "":
		return 0
	case s.n > 0:
		return s.n
	}
	return n
}

// survivorsOf are a target's, by name.
func survivorsOf(target string) map[string]survivor {
	out := map[string]survivor{}
	for _, s := range survivors {
		for _, what := range s.what {
			if slices.Contains(s.in, target) {
				out[what] = s
			}
		}
	}
	return out
}

// index names mutations of the stop program's write of an index in front of next.
func index(value, next string, changes ...string) (out []string) {
	for _, c := range changes {
		out = append(out, fmt.Sprintf("stop: GRBM_GFX_INDEX %s %s, before %s", value, c, next))
	}
	return out
}

var (
	gfx9  = []string{"gfx90a", "gfx942", "gfx950"}
	gfx11 = []string{"gfx1100", "gfx1151"}
)

var survivors = []survivor{
	{
		in:   append(gfx11, gfx9...),
		what: index("0xe0000000", "CP_PERFMON_CNTL 0x402", "becomes 0x0", "becomes 0x1fffffff", "becomes 0xc0000000", "dropped"),
		why:  "a die has one command processor, whatever is selected",
	},
	{
		in:   []string{"gfx1201"},
		what: index("0xe0000000", "CP_PERFMON_CNTL_1 0x402", "becomes 0x0", "becomes 0x1fffffff", "becomes 0xc0000000", "dropped"),
		why:  "a die has one command processor, whatever is selected",
	},
	{
		in:   []string{"gfx1100"},
		what: index("0xe0000000", "a read of GRBM_PERFCOUNTER0_LO", "becomes 0x0", "becomes 0x1fffffff", "becomes 0xc0000000", "dropped"),
		why:  "a die has one GRBM, whatever is selected",
	},
	{
		in:   []string{"gfx1100"},
		what: index("0xe0000000", "SQ_PERFCOUNTER_CTRL2 0x0", "dropped"),
		why:  "all is selected already",
	},
	{
		in:   []string{"gfx1100", "gfx1151", "gfx1201"},
		what: index("0x0", "a read of SQ_PERFCOUNTER0_LO", "dropped"),
		why:  "reads go by the indices, which are 0 already",
	},
	{
		in:   []string{"gfx1100"},
		what: index("0xa0000000", "a read of GL2C_PERFCOUNTER0_LO", "becomes 0x0", "becomes 0x80000000"),
		why:  "reads go by the indices; the other bits are for writes",
	},
	{
		in:   gfx9,
		what: index("0xa0000000", "a read of TCC_PERFCOUNTER0_LO", "becomes 0x0", "becomes 0x80000000", "dropped"),
		why:  "reads go by the indices, which are 0 already; the other bits are for writes",
	},
	{
		in:   gfx9,
		what: index("0x60000000", "a read of SQ_PERFCOUNTER0_LO", "becomes 0x0", "becomes 0x40000000", "dropped"),
		why:  "reads go by the indices, which are 0 already; the other bits are for writes",
	},
	{
		in:   []string{"gfx942", "gfx950"},
		what: index("0x20000000", "a read of TA_PERFCOUNTER0_LO", "becomes 0x0"),
		why:  "reads go by the indices; the other bits are for writes",
	},
	{
		in:   gfx9,
		what: []string{"start: GRBM_GFX_INDEX 0xe0000000 becomes 0xc0000000, before RLC_PERFMON_CLK_CNTL 0x1"},
		why:  "engines have one array, so that selecting the first is selecting all",
	},
	{
		in:   gfx11,
		what: []string{"start: SQ_PERFCOUNTER_CTRL 0x55 becomes 0x54, before SQ_PERFCOUNTER_CTRL2 0x1ffff"},
		why:  "waves of pixel shaders: a compute queue has none",
	},
	{
		in:   []string{"gfx1201"},
		what: []string{"start: SQ_PERFCOUNTER_CTRL 0x55 becomes 0x54, before SQ_PERFCOUNTER0_SELECT 0x18"},
		why:  "waves of pixel shaders: a compute queue has none",
	},
	{
		in:   []string{"gfx90a"},
		what: []string{"start: SQ_PERFCOUNTER_CTRL 0xffff007f becomes 0xffff007e, before SQ_PERFCOUNTER0_SELECT 0xf0ff04a"},
		why:  "waves of pixel shaders: a compute queue has none",
	},
	{
		in:   []string{"gfx942"},
		what: []string{"start: SQ_PERFCOUNTER_CTRL 0xffff007f becomes 0xffff007e, before SQ_PERFCOUNTER0_SELECT 0xf0ff04f"},
		why:  "waves of pixel shaders: a compute queue has none",
	},
	{
		in:   []string{"gfx950"},
		what: []string{"start: SQ_PERFCOUNTER_CTRL 0xffff007f becomes 0xffff007e, before SQ_PERFCOUNTER0_SELECT 0xf0ff05f"},
		why:  "waves of pixel shaders: a compute queue has none",
	},
	{
		in: []string{"gfx1100"},
		what: slices.Concat(index("0x40108", "a read of SQ_PERFCOUNTER0_LO", "dropped"), index("0x50000", "a read of SQ_PERFCOUNTER0_LO", "dropped"),
			index("0xa0000003", "a read of GL2C_PERFCOUNTER0_LO", "becomes 0xa0000002", "dropped")),
		why: "the copy that is read twice happened to count what the right one counted",
	},
	{
		in: []string{"gfx942"},
		what: slices.Concat(index("0x20020005", "a read of TA_PERFCOUNTER0_LO", "becomes 0x20020004"),
			index("0x20030005", "a read of TA_PERFCOUNTER0_LO", "becomes 0x20030004")),
		n:   1,
		why: "of one die: the copy that is read twice happened to count what the right one counted",
	},
}
