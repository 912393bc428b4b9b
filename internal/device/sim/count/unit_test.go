package count

import (
	"math"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/device/sim/timing"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

var everything = cp.Select{SE: cp.All, SA: cp.All, Instance: cp.All}

// Events of gfx1100 and gfx12's SQ that tests use.
const (
	evAccum = 1
	evBusy  = 3
	evWaves = 4
)

func TestWaves(t *testing.T) {
	r := newRig(t, "gfx1100")
	r.now = 100
	r.start("SQ", evWaves, 62 /* VALU */, 58 /* SALU */, 24 /* WAVE_CYCLES */, evBusy, 8 /* ITEMS */, 16 /* LT_48 */, 82 /* WAVE32_INSTS */)
	st := done(map[timing.Stat]int64{timing.StatVALU: 3, timing.StatMatrixF16: 2, timing.StatSALU: 7, timing.StatDelay: 1, timing.StatEnd: 1})
	r.waves(
		aWave{start: 110, end: 150, at: timing.Place{Engine: 1, SA: 1, Unit: 2, SIMD: 0}, lanes: 32, st: st},
		aWave{start: 120, end: 170, at: timing.Place{Engine: 1, SA: 1, Unit: 2, SIMD: 3}, lanes: 64, wide: true, st: st},
		aWave{start: 200, end: 210, at: timing.Place{Engine: 1, SA: 1, Unit: 2, SIMD: 3}, lanes: 1, st: st},
		aWave{start: 115, end: 116, at: timing.Place{Engine: 5, SA: 0, Unit: 3}, lanes: 32, st: st},
		aWave{start: 115, end: 118, at: timing.Place{Engine: 5, SA: 0, Unit: 1}, lanes: 32, st: st, uncounted: true},
	)
	r.stop()
	here := wgp(1, 1, 2)
	for i, want := range []uint64{3, 15, 21, 100, 70, 97, 2, 26} {
		r.want(here, sprint("SQ", i), want)
	}
	r.want(wgp(5, 0, 3), "SQ_PERFCOUNTER0", 1)
	for _, s := range []cp.Select{wgp(5, 0, 1), wgp(1, 1, 3), wgp(0, 1, 2), wgp(1, 0, 2), wgp(6, 0, 0), wgp(1, 1, 4)} {
		r.want(s, "SQ_PERFCOUNTER0", 0) // no wave was there, or no such WGP is
	}
	if _, ok := r.u.Regs.Lookup("SQ_PERFCOUNTER0_HI"); ok {
		t.Error("gfx1100's SQ counters have a high half")
	}
}

// Selects of odd numbers serve streaming; what is read answers for the first copy of a broadcast.
func TestSelection(t *testing.T) {
	r := newRig(t, "gfx1100")
	r.start("SQ")
	r.all("SQ_PERFCOUNTER1_SELECT", evWaves)
	r.write(cp.Select{SE: 2, SA: cp.All, Instance: cp.All}, "SQ_PERFCOUNTER0_SELECT", evWaves)
	r.write(cp.Select{SE: 3, SA: 1, Instance: 1 << 2}, "SQ_PERFCOUNTER0_SELECT", evWaves)
	var ws []aWave
	for e := range 6 {
		for a := range 2 {
			for u := range 4 {
				ws = append(ws, aWave{start: 1, end: 2, at: timing.Place{Engine: uint8(e), SA: uint8(a), Unit: uint8(u)}})
			}
		}
	}
	r.waves(ws...)
	r.stop()
	total := 0
	for e := range 6 {
		for a := range 2 {
			for u := range 4 {
				want := uint64(0)
				if e == 2 || e == 3 && a == 1 && u == 1 {
					want = 1
				}
				r.want(wgp(e, a, u), "SQ_PERFCOUNTER0", want)
				total += int(want)
			}
		}
	}
	if total != 9 {
		t.Errorf("%d WGPs were selected", total)
	}
	r.want(everything, "SQ_PERFCOUNTER0", 0)
	r.want(cp.Select{SE: 2, SA: cp.All, Instance: cp.All}, "SQ_PERFCOUNTER0", 1)
	if v, _ := r.u.ReadReg(0, wgp(3, 1, 1), r.reg("SQ_PERFCOUNTER0_SELECT")); v != evWaves {
		t.Errorf("the select reads %#x", v)
	}
	if v, _ := r.u.ReadReg(0, wgp(3, 1, 2), r.reg("SQ_PERFCOUNTER0_SELECT")); v != 0 {
		t.Errorf("a select that was not written reads %#x", v)
	}
}

func TestStates(t *testing.T) {
	r := newRig(t, "gfx1201")
	at := timing.Place{Engine: 3, SA: 1, Unit: 3}
	here := wgp(3, 1, 3)
	wave := func() { r.waves(aWave{start: r.now + 5, end: r.now + 15, at: at, lanes: 32}) }
	wave() // before anything is set
	r.start("SQ", evWaves, evBusy)
	r.all("GRBM_PERFCOUNTER0_SELECT", 0)
	wave()
	r.want(here, "SQ_PERFCOUNTER0", 0) // counted, but no sample was taken
	r.all(r.cntl(), 0x401)
	r.want(here, "SQ_PERFCOUNTER0", 1)
	wave()
	r.want(here, "SQ_PERFCOUNTER0", 1)
	r.u.Event(r.now, 0, eventSample|4<<8)
	r.want(here, "SQ_PERFCOUNTER0", 2)
	r.want(everything, "GRBM_PERFCOUNTER0", 30)
	r.all(r.cntl(), 2)
	wave() // stopped
	r.now += 100
	r.all(r.cntl(), 1)
	wave()
	r.stop()
	r.want(here, "SQ_PERFCOUNTER0", 3)
	r.want(here, "SQ_PERFCOUNTER1", 30)
	r.want(everything, "GRBM_PERFCOUNTER0", 45)
	r.all(r.cntl(), 0)
	r.want(here, "SQ_PERFCOUNTER0", 0)
	r.stop()
	r.want(here, "SQ_PERFCOUNTER0", 0)
	for _, v := range []uint32{3, 4, 5, 0x10, 0x100, 0x800} {
		if err := r.u.WriteReg(r.now, everything, r.reg(r.cntl()), v); err == nil {
			t.Errorf("CP_PERFMON_CNTL %#x was taken", v)
		}
	}
	for name, v := range map[string]uint32{
		"SQ_PERFCOUNTER0_SELECT": 1 << 28, "SQ_PERFCOUNTER2_SELECT": 1 << 20, "GL2C_PERFCOUNTER0_SELECT": 1 << 28, "GL2C_PERFCOUNTER1_SELECT": 2 << 20,
	} {
		if err := r.u.WriteReg(r.now, everything, r.reg(name), v); err == nil || !strings.Contains(err.Error(), "MODE") {
			t.Errorf("%s %#x: %v", name, v, err)
		}
	}
}

// A wave that is in flight when counting starts is counted as it ends, its busy time from the start of counting.
func TestStartInFlight(t *testing.T) {
	r := newRig(t, "gfx1100", Load{VMID: 3, Period: 1000, Life: 700, Lanes: 32, Stats: done(map[timing.Stat]int64{timing.StatVALU: 5})})
	r.all("SQ_PERFCOUNTER_CTRL", 1<<6)
	r.all("SQ_PERFCOUNTER_CTRL2", 0x1ffff)
	r.all("SQ_PERFCOUNTER0_SELECT", evWaves)
	r.all("SQ_PERFCOUNTER2_SELECT", 62)
	r.all("SQ_PERFCOUNTER4_SELECT", evBusy)
	r.all("SQ_PERFCOUNTER6_SELECT", 7 /* LEVEL_WAVES */)
	r.now = 10_500 // WGP 0's wave of 10000 is in flight
	r.all(r.cntl(), 1)
	r.now = 12_100 // two of its waves have ended, two started, one of them runs
	r.all(r.cntl(), 0x402)
	for i, want := range []uint64{2, 10, 200 + 700 + 100, 1} {
		r.want(wgp(0, 0, 0), sprint("SQ", i), want)
	}
}

func TestSaturation(t *testing.T) {
	r := newRig(t, "gfx1100")
	r.start("SQ", 62, 58)
	r.all("GL2C_PERFCOUNTER0_SELECT", 42)
	at := timing.Place{}
	big := done(map[timing.Stat]int64{timing.StatVALU: math.MaxUint32 - 1, timing.StatSALU: math.MaxUint32})
	r.waves(aWave{start: 1, end: 2, at: at, st: big})
	r.l2[0] = []timing.L2Stats{{Hits: 1 << 33}}
	r.all(r.cntl(), 0x401)
	r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER0", math.MaxUint32-1)
	r.waves(aWave{start: 3, end: 4, at: at, st: big})
	r.stop()
	r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER0", math.MaxUint32)
	r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER1", math.MaxUint32)
	r.want(cp.Select{SE: cp.All, SA: cp.All}, "GL2C_PERFCOUNTER0", 1<<33)
}

func TestFilter(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx1201"} {
		r := newRig(t, target)
		at := timing.Place{Engine: 1}
		here := wgp(1, 0, 0)
		count := func(ctrl, ctrl2 uint32) uint64 {
			r.start("SQ", evWaves)
			r.all("SQ_PERFCOUNTER_CTRL", ctrl)
			r.all("SQ_PERFCOUNTER_CTRL2", ctrl2)
			r.waves(aWave{start: r.now + 1, end: r.now + 2, at: at, vmid: 8}, aWave{start: r.now + 1, end: r.now + 3, at: timing.Place{Engine: 1, SIMD: 1}, vmid: 15})
			r.stop()
			return r.value(here, "SQ_PERFCOUNTER0")
		}
		for _, c := range []struct {
			ctrl, ctrl2 uint32
			want        uint64
		}{
			{1 << 6, 0x1ffff, 2},
			{1 << 6, 1 | 1<<9, 1},
			{1 << 6, 1 | 1<<16, 1},
			{1 << 6, 1 | 1<<8, 0},
			{1 << 6, 1 << 9, 0}, // FORCE_EN is missing
			{0, 0x1ffff, 0},     // no compute waves
			{0x55 &^ (1 << 6), 0x1ffff, 0},
			{1<<6 | 1<<16, 0x1ffff, 0}, // not of this pipe
			{1<<6 | 1<<17, 0x1ffff, 2},
		} {
			if got := count(c.ctrl, c.ctrl2); got != c.want {
				t.Errorf("%s: %#x and %#x count %d, want %d", target, c.ctrl, c.ctrl2, got, c.want)
			}
		}
	}
}

// Whether a wave counts is decided when it starts.
func TestDecisionHolds(t *testing.T) {
	r := newRig(t, "gfx1200", Load{VMID: 9, Period: 1000, Life: 5000, Lanes: 32, Stats: done(map[timing.Stat]int64{timing.StatVALU: 1})})
	here := wgp(0, 0, 0) // its waves start at 0, 1000, ...
	r.start("SQ", evWaves, 50 /* VALU */)
	r.now = 3_500
	r.all("SQ_PERFCOUNTER_CTRL2", 1|1<<9) // VMID 8
	r.now = 10_500
	r.all("SQ_PERFCOUNTER_CTRL2", 1|1<<10) // VMID 9
	r.now = 12_500
	r.all("SQ_PERFCOUNTER_CTRL2", 0)
	r.now = 30_000
	r.stop()
	// The waves of 1000 to 3000, 11000 and 12000 count, though they end when the filter shuts them out. That of 0 came before all.
	r.want(here, "SQ_PERFCOUNTER0", 5)
	r.want(here, "SQ_PERFCOUNTER1", 5)
}

func TestPower(t *testing.T) {
	for _, c := range []struct {
		target string
		valu   uint32
	}{{"gfx1100", 62}, {"gfx1201", 50}} {
		r := newRig(t, c.target)
		r.stable = false
		r.start("SQ", evWaves, c.valu, 24)
		st := done(map[timing.Stat]int64{timing.StatVALU: 5})
		r.waves(aWave{start: 1, end: 11, st: st})
		r.stable = true
		r.waves(aWave{start: 12, end: 22, st: st})
		r.stop()
		r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER0", 2)
		r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER1", 5)
		r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER2", 20)
	}
}

func TestAccumulators(t *testing.T) {
	r := newRig(t, "gfx1100")
	r.start("SQ", 7 /* LEVEL_WAVES */, evAccum, evWaves, evAccum, 88 /* INST_LEVEL_LDS */, evAccum)
	st := done(map[timing.Stat]int64{timing.StatLevelLDS: 40})
	r.waves(aWave{start: 10, end: 110, st: st}, aWave{start: 60, end: 110, at: timing.Place{SIMD: 1}, st: st})
	r.now = 200
	r.stop()
	// One wave is shown from 10 on, two from 60 on.
	for i, want := range []uint64{0, 150, 2, 50 + 2*140, 0, 80} {
		r.want(wgp(0, 0, 0), sprint("SQ", i), want)
	}
	r = newRig(t, "gfx942")
	r.start("SQ", 5 /* LEVEL_WAVES */, 184 /* ACCUM_PREV_HIRES */, 5, evAccum)
	r.waves(aWave{start: 10, end: 110}, aWave{start: 60, end: 111, at: timing.Place{SIMD: 1}})
	r.stop()
	for i, want := range []uint64{0, 151, 0, 37} {
		r.want(cp.Select{SE: 0, SA: cp.All, Instance: cp.All}, sprint("SQ", i), want)
	}
}

func TestGFX9(t *testing.T) {
	r := newRig(t, "gfx90a")
	r.start("SQ", evWaves, 79-5 /* WAVE_CYCLES */, evBusy, 13 /* BUSY_CU_CYCLES */, 26 /* VALU */, 52 /* MFMA */, 7 /* LT_64 */, 271 /* SQC_ICACHE_HITS */)
	st := done(map[timing.Stat]int64{timing.StatVALU: 10, timing.StatFmaF64: 1, timing.StatMatrixF64: 4, timing.StatICacheHit: 8})
	r.waves(
		aWave{start: 4, end: 24, at: timing.Place{Engine: 7, Unit: 13, SIMD: 2}, lanes: 64, vmid: 3, wide: true, st: st},
		aWave{start: 14, end: 44, at: timing.Place{Engine: 7, Unit: 2, SIMD: 1}, lanes: 63, vmid: 3, wide: true, st: st},
	)
	r.stop()
	here := cp.Select{SE: 7, SA: cp.All, Instance: cp.All}
	for i, want := range []uint64{2, 12, 40, 12, 30, 8, 1, 16} {
		r.want(here, sprint("SQ", i), want)
	}
	r.want(cp.Select{SE: 6, SA: cp.All, Instance: cp.All}, "SQ_PERFCOUNTER0", 0)

	count := func(what func()) uint64 {
		r.start("SQ", evWaves, 271)
		what()
		r.waves(
			aWave{start: r.now + 1, end: r.now + 2, at: timing.Place{Engine: 7, Unit: 13, SIMD: 2}, lanes: 64, vmid: 3, st: st},
			aWave{start: r.now + 1, end: r.now + 2, at: timing.Place{Engine: 7, Unit: 2, SIMD: 1}, lanes: 64, vmid: 4, st: st},
		)
		r.stop()
		return r.value(here, "SQ_PERFCOUNTER0")<<8 | r.value(here, "SQ_PERFCOUNTER1")
	}
	masks := func(simd, client, bank uint32) uint32 { return simd<<24 | client<<16 | bank<<12 }
	for i, c := range []struct {
		what func()
		want uint64
	}{
		{func() {}, 0x210},
		{func() { r.all("SQ_PERFCOUNTER_MASK", 1<<13) }, 0x108},
		{func() { r.all("SQ_PERFCOUNTER_MASK", 0xffff0000) }, 0},
		{func() { r.all("SQ_PERFCOUNTER_CTRL", 1<<19|1<<6) }, 0x108},
		{func() { r.all("SQ_PERFCOUNTER_CTRL", 0xffff003f) }, 0},
		{func() { r.all("SQ_PERFCOUNTER0_SELECT", evWaves|masks(4, 15, 15)) }, 0x110},
		{func() { r.all("SQ_PERFCOUNTER1_SELECT", 271|masks(15, 2, 15)) }, 0x208},
		{func() { r.all("SQ_PERFCOUNTER1_SELECT", 271|masks(15, 15, 3)) }, 0x208},
		{func() { r.all("SQ_PERFCOUNTER1_SELECT", 271|masks(15, 15, 0)) }, 0x200},
		{func() { r.stable = false }, 0},
		{func() { r.all("RLC_PERFMON_CLK_CNTL", 1) }, 0x210},
	} {
		if got := count(c.what); got != c.want {
			t.Errorf("%d: counted %#x, want %#x", i, got, c.want)
		}
	}
}

func TestDies(t *testing.T) {
	r := newRig(t, "gfx942")
	r.start("SQ", evWaves)
	five := everything
	five.Die = 5
	r.all("TCC_PERFCOUNTER0_SELECT", 17)                                                // hits
	r.write(cp.Select{Die: 5, SE: cp.All, SA: cp.All}, "TCC_PERFCOUNTER1_SELECT", 3)    // requests, of channel 0
	r.write(cp.Select{Die: 5, SE: 1, SA: 0, Instance: 9}, "TCC_PERFCOUNTER2_SELECT", 3) // the engine is of no account
	r.l2[5] = make([]timing.L2Stats, 16)
	for i := range r.l2[5] {
		r.l2[5][i] = timing.L2Stats{Hits: int64(i), Reads: 10, Writes: 20, Atomics: 30}
	}
	r.waves(
		aWave{start: 1, end: 2, at: timing.Place{Engine: 5*4 + 2, Unit: 9}, lanes: 64, wide: true},
		aWave{start: 1, end: 2, at: timing.Place{Engine: 2, Unit: 9}, lanes: 64, wide: true},
	)
	r.write(five, r.cntl(), 2) // die 5 stops
	r.l2[5][3].Hits += 100
	r.waves(
		aWave{start: 3, end: 4, at: timing.Place{Engine: 5*4 + 2, Unit: 9}, lanes: 64, wide: true},
		aWave{start: 3, end: 4, at: timing.Place{Engine: 2, Unit: 9}, lanes: 64, wide: true},
	)
	r.stop()
	for d := range 8 {
		want := map[int]uint64{0: 2, 5: 1}[d]
		r.want(cp.Select{Die: d, SE: 2, SA: cp.All, Instance: cp.All}, "SQ_PERFCOUNTER0", want)
		r.want(cp.Select{Die: d, SE: 3, SA: cp.All, Instance: cp.All}, "SQ_PERFCOUNTER0", 0)
		for i := range 17 {
			want, req, req9 := uint64(0), uint64(0), uint64(0)
			if d == 5 && i < 16 {
				want = uint64(i)
				if i == 0 {
					req = 60
				}
				if i == 9 {
					req9 = 60
				}
			}
			s := cp.Select{Die: d, SE: cp.All, SA: cp.All, Instance: i}
			r.want(s, "TCC_PERFCOUNTER0", want)
			r.want(s, "TCC_PERFCOUNTER1", req)
			r.want(s, "TCC_PERFCOUNTER2", req9)
		}
	}
}

// A new select counts from then on.
func TestReselect(t *testing.T) {
	r := newRig(t, "gfx1100")
	r.start("GL2C", 42)
	r.l2[0] = []timing.L2Stats{{Hits: 5, Misses: 50}}
	r.all("GL2C_PERFCOUNTER0_SELECT", 43)
	r.l2[0] = []timing.L2Stats{{Hits: 6, Misses: 70}}
	r.stop()
	r.want(cp.Select{SE: cp.All, SA: cp.All}, "GL2C_PERFCOUNTER0", 25)
}

// What a dispatch that failed left in flight is forgotten.
func TestAbandoned(t *testing.T) {
	r := newRig(t, "gfx1100")
	r.start("SQ", evBusy, evWaves)
	r.now = 10
	r.u.Events([]timing.Event{{Time: 10, Kind: timing.WaveStart, Flags: timing.Counted}})
	r.now = 1000
	r.stop()
	r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER0", 0)
	r.want(wgp(0, 0, 0), "SQ_PERFCOUNTER1", 1)
}

func TestOthers(t *testing.T) {
	r := newRig(t, "gfx942")
	r.start("SPI")
	for k, e := range parsed().events {
		if k.target == "gfx942" && k.block == "SPI" && e.name == "SPI_CSN_NUM_THREADGROUPS" {
			r.all("SPI_PERFCOUNTER0_SELECT", uint32(k.number))
		}
		if k.target == "gfx942" && k.block == "TA" && e.name == "TA_FLAT_READ_WAVEFRONTS" {
			r.all("TA_PERFCOUNTER1_SELECT", uint32(k.number))
		}
	}
	st := done(map[timing.Stat]int64{timing.StatGlobalLoad: 3, timing.StatFlatLoad: 2, timing.StatBufferLoad: 7})
	r.waves(
		aWave{start: 1, end: 2, at: timing.Place{Engine: 6, Unit: 4}, first: true, uncounted: true, st: st},
		aWave{start: 1, end: 2, at: timing.Place{Engine: 6, Unit: 5}, uncounted: true, st: st},
	)
	r.stop()
	r.want(cp.Select{Die: 1, SE: 2, SA: cp.All, Instance: cp.All}, "SPI_PERFCOUNTER0", 1)
	r.want(cp.Select{Die: 1, SE: 2, SA: cp.All, Instance: 4}, "TA_PERFCOUNTER1", 5)
	r.want(cp.Select{Die: 1, SE: 2, SA: cp.All, Instance: 6}, "TA_PERFCOUNTER1", 0)
}

func TestTables(t *testing.T) {
	if _, err := parse(blocksTSV, eventsTSV); err != nil {
		t.Fatal(err)
	}
	head := "a\tb\tc\td\te\n"
	for text, want := range map[string]string{
		"gfx1100\tSQ\tx\tSQ_X\twaves\n":                                        "line 2",
		"gfx1100\tSQ\t4\tSQ_X\tnothing\n":                                      "nothing that is counted",
		"gfx1100\tSQ\t4\tSQ_X\twaves:odd\n":                                    "nothing that is counted",
		"gfx1100\tSQ\t4\tSQ_X\twaves+salu\n":                                   "another time",
		"gfx1100\tSQ\t4\tSQ_X\tlevel waves\n":                                  "level",
		"gfx1100\tSQ\t4\tSQ_X\n":                                               "4 columns",
		"gfx1100\tSQ\t4\tX\twaves\ngfx1101,gfx1100\tSQ\t4\tY\twaves\n":         "line 3: event 4 of SQ is listed twice for gfx1100",
		"# a comment\n\ngfx1100\tSQ\t4\tX\t2x*waves\n":                         "line 4",
		"gfx1100\tSQ\t4\tX\tlevel lds_level:wave32+2*lds_level:wave64+insts\n": "",
	} {
		_, err := parse(blocksTSV, head+text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, bad := range []string{"gfx8\tSQ\tse\tnone\t1\t1\t64\t1\tX\n", "gfx9\tSQ\tse\tnone\tsome\t1\t64\t1\tX\n", "gfx9\tSQ\tse\tnone\t1\tx\t64\t1\tX\n"} {
		if _, err := parse("h\th\th\th\th\th\th\th\th\n"+bad, head); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, c := range []struct {
		target, block string
		event         int
		ok            bool
	}{{"gfx1100", "SQ", 4, true}, {"gfx1100", "SQ", 183, false}, {"gfx1201", "TCP", 9, true}, {"gfx1151", "SQ", 35, false}, {"gfx950", "TCC", 21, true}, {"gfx950", "SPI", 79, false}, {"gfx90a", "TCP", 27, false}, {"gfx950", "TD", 12, false}, {"gfx942", "TCC", 45, false}, {"gfx90a", "CPC", 27, false}, {"gfx942", "CPF", 25, false}} {
		if ok, why := Modelled(c.target, c.block, c.event); ok != c.ok || ok != (why == "") {
			t.Errorf("event %d of %s on %s: %v, %q", c.event, c.block, c.target, ok, why)
		}
	}
	if _, why := Modelled("gfx1151", "SQ", 35); !strings.Contains(why, "GFX11.5") {
		t.Errorf("gfx1151: %q", why)
	}
}

// Every model with counters has them.
func TestModels(t *testing.T) {
	for _, g := range gpu.Models() {
		regs, err := pm4.RegsFor(g.GC)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(Config{GPU: g, Regs: regs}); err != nil {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
	if _, err := New(Config{GPU: &gpu.GPU{}, Regs: &pm4.RegTable{}}); err == nil {
		t.Error("a GPU of no family has counters")
	}
}
