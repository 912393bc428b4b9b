package perfctr_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
)

func reading(name string, values ...uint64) perfctr.Reading {
	r := perfctr.Reading{Counter: perfctr.Counter{Name: name}}
	for _, v := range values {
		r.Values = append(r.Values, perfctr.Value{N: v})
	}
	return r
}

func TestEvaluate(t *testing.T) {
	g := lookup(t, "gfx1100")
	m := perfctr.Measured{}
	m.Add(g, []perfctr.Reading{
		reading("SQ_WAVES", 10, 0, 30, 0), reading("SQ_INSTS_VALU", 100, 300), reading("GRBM_GUI_ACTIVE", 50), reading("GRBM_COUNT", 200),
		reading("GL2C_HIT", 3, 1), reading("GL2C_MISS", 0, 0), reading("SQ_INST_LEVEL_LDS", 1), reading("SQ_ACCUM_PREV", 600), reading("SQ_INSTS_LDS", 20),
	})
	stall := reading("GL2C_MC_WRREQ_STALL", 0, 0)
	stall.Values[0], stall.Values[1] = perfctr.Value{NA: "not modelled"}, perfctr.Value{NA: "the board lacks it"}
	m.Add(g, []perfctr.Reading{stall})
	for _, tc := range []struct {
		expr string
		want perfctr.Number
	}{
		{"WriteUnitStalled", perfctr.Number{NA: "not modelled"}},
		{"SQ_WAVES", perfctr.Number{F: 40}},
		{"VALUInsts", perfctr.Number{F: 10}},
		{"GPU_UTIL", perfctr.Number{F: 25}},
		{"L2CacheHit", perfctr.Number{F: 100}},
		{"CU_NUM", perfctr.Number{F: 96}},
		{"LdsLatency", perfctr.Number{F: 30}},
		{"reduce(SQ_WAVES,max) - reduce(SQ_WAVES, min) + reduce(SQ_WAVES,avr)*2", perfctr.Number{F: 50}},
		{"-(1.5+2)*-2", perfctr.Number{F: 7}},
		{"2-3-4", perfctr.Number{F: -5}},
		{"12/3/2", perfctr.Number{F: 2}},
		{"wave_front_size+array_count/simd_arrays_per_engine", perfctr.Number{F: 38}},
		{"SQ_WAVES/GL2C_MISS", perfctr.Number{NA: "it divides by 0"}},
		{"SQ_WAVES+SQ_INSTS_SALU", perfctr.Number{NA: "SQ_INSTS_SALU was not measured"}},
		{"SALUInsts", perfctr.Number{NA: "SQ_INSTS_SALU was not measured"}},
	} {
		got, err := perfctr.Evaluate(g, tc.expr, m)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v %v, want %+v", tc.expr, got, err, tc.want)
		}
	}
	full := reading("SQ_WAVES", 1)
	full.Values[0].AtLeast = true
	lost := reading("GRBM_COUNT", 1)
	lost.Values[0].NA = "the device was lost"
	m.Add(g, []perfctr.Reading{full, lost})
	if n, _ := perfctr.Evaluate(g, "VALUInsts", m); !n.AtLeast {
		t.Errorf("a metric of a full counter: %+v", n)
	}
	if n, _ := perfctr.Evaluate(g, "GPU_UTIL", m); n.NA != "the device was lost" {
		t.Errorf("a metric of what was not measured: %+v", n)
	}
	for expr, want := range map[string]string{
		"":                            "want a name",
		"SQ_FOO":                      "gfx1100 counts no SQ_FOO",
		"1+":                          "column 3: want a name, a number or (",
		"(1":                          "want )",
		"1)":                          `")" is left over`,
		"1..2":                        `"1..2" is no number`,
		"reduce SQ_WAVES":             "want ( after reduce",
		"reduce(SQ_WAVES)":            "want , in reduce",
		"reduce(SQ_WAVES,med)":        `reduce by "med"`,
		"reduce(SQ_WAVES,sum":         "want ) after reduce",
		"accumulate(SQ_WAVES,X)":      `accumulate by "X"`,
		"accumulate(SQ_FOO,HIGH_RES)": "counts no SQ_FOO",
		"SQ_WAVES $":                  "left over",
		strings.Repeat("(", 100):      "nested too deeply",
		strings.Repeat("-", 100):      "nested too deeply",
	} {
		if _, err := perfctr.Evaluate(g, expr, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", expr, err, want)
		}
	}
}

// TestMetrics: every metric of every model parses, needs counters that the target has, and is computed from counters of value 1 or says why not.
func TestMetrics(t *testing.T) {
	least := map[string]int{"gfx90a": 180, "gfx942": 160, "gfx950": 190, "gfx1100": 40, "gfx1103": 40, "gfx1150": 33, "gfx1151": 33, "gfx1152": 33, "gfx1201": 36}
	for target, n := range least {
		g, err := gpu.Lookup(target)
		if err != nil { // no model, but GPUs that state their shape themselves
			g = &gpu.GPU{Target: target, Family: gpu.FamilyOf(target), Dies: 1, SEs: 1, SAs: 2, Units: 4, SIMDs: 4, Slots: 16}
		}
		ms := perfctr.Metrics(g)
		if len(ms) < n {
			t.Errorf("%s: %d metrics, want at least %d", target, len(ms), n)
		}
		for _, mt := range ms {
			needs, err := perfctr.Needs(g, mt.Name)
			if err != nil {
				t.Errorf("%s: %v", target, err)
			}
			m := perfctr.Measured{}
			for _, nd := range needs {
				r := reading(nd.Name, 1, 1)
				m[nd] = &r
			}
			v, err := perfctr.Evaluate(g, mt.Name, m)
			if err != nil || v.NA != "" && v.NA != "it divides by 0" {
				t.Errorf("%s %s: %+v %v", target, mt.Name, v, err)
			}
			if _, err := perfctr.Plan(g, []string{mt.Name}); err != nil {
				t.Errorf("%s %s: %v", target, mt.Name, err)
			}
		}
	}
	if ms := perfctr.Metrics(&gpu.GPU{Target: "gfx1030"}); ms != nil {
		t.Errorf("gfx1030: %v", ms)
	}
}

func TestPlan(t *testing.T) {
	g := lookup(t, "gfx1100")
	for _, tc := range []struct {
		names string
		want  []string
	}{
		{"", nil},
		{"SQ_WAVES GRBM_COUNT", []string{"SQ_WAVES GRBM_COUNT"}},
		{"CU_NUM", nil},
		{"L2CacheHit GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B GL2C_EA_RDREQ_96B SQ_WAVES", []string{"GL2C_HIT GL2C_MISS GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B SQ_WAVES", "GL2C_EA_RDREQ_96B"}},
		{"SQ_WAVES LdsLatency", []string{"SQ_INST_LEVEL_LDS SQ_ACCUM_PREV SQ_WAVES SQ_INSTS_LDS"}},
		{"accumulate(SQ_INST_LEVEL_LDS,LOW_RES) accumulate(SQ_INST_LEVEL_GDS,LOW_RES)", []string{"SQ_INST_LEVEL_LDS SQ_ACCUM_PREV", "SQ_INST_LEVEL_GDS SQ_ACCUM_PREV"}},
	} {
		passes, err := perfctr.Plan(g, strings.Fields(tc.names))
		if err != nil {
			t.Errorf("%s: %v", tc.names, err)
		}
		var got []string
		for _, p := range passes {
			got = append(got, strings.Join(p, " "))
			if _, err := perfctr.NewLayout(g, p); err != nil {
				t.Errorf("%s: %v", tc.names, err)
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.names, d)
		}
	}
	if _, err := perfctr.Plan(g, []string{"SQ_FOO"}); err == nil {
		t.Error("SQ_FOO has a plan")
	}
	if _, err := perfctr.Plan(g, []string{"SQ_WAVES", "SQ_WAVES"}); err == nil || err.Error() != "SQ_WAVES is listed twice" {
		t.Errorf("twice: %v", err)
	}
}

// TestPlanIsComplete plans random choices of counters and metrics: each pass has a layout, and together they measure all that is needed.
func TestPlanIsComplete(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, target := range []string{"gfx90a", "gfx950", "gfx1100", "gfx1201"} {
		g := lookup(t, target)
		var all []string
		for _, c := range perfctr.Counters(g) {
			all = append(all, c.Name)
		}
		for _, m := range perfctr.Metrics(g) {
			if !slices.Contains(all, m.Name) {
				all = append(all, m.Name)
			}
		}
		for range 100 {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			names := all[:1+rng.IntN(min(40, len(all)))]
			passes, err := perfctr.Plan(g, names)
			if err != nil {
				t.Fatal(err)
			}
			m := perfctr.Measured{}
			for _, p := range passes {
				l := layout(t, g, p...)
				rs, err := perfctr.Read(g, l, make([]byte, l.Bytes), perfctr.Conditions{StablePower: true})
				if err != nil {
					t.Fatal(err)
				}
				m.Add(g, rs)
			}
			for _, n := range names {
				if v, err := perfctr.Evaluate(g, n, m); err != nil || v.NA != "" && v.NA != "it divides by 0" {
					t.Fatalf("%s %s: %+v %v", target, n, v, err)
				}
			}
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add("100*reduce(SQ_WAVES,sum)/(GRBM_COUNT+1)")
	f.Add("accumulate(SQ_INST_LEVEL_LDS, HIGH_RES)")
	g, err := gpu.Lookup("gfx1100")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		needs, err := perfctr.Needs(g, expr)
		v, err2 := perfctr.Evaluate(g, expr, perfctr.Measured{})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %v but %v", expr, err, err2)
		}
		if err == nil && len(needs) > 0 && v.NA == "" {
			t.Fatalf("%q: a value %v without %v", expr, v, needs)
		}
	})
}
