package open

import "github.com/rigprof/rigprof/internal/sqtt"

var scenes = []scene{
	{name: "gfx1100", target: "gfx1100", detail: []int{0, 1}},
	{name: "gfx1151", target: "gfx1151", detail: []int{0, 1}},
	{name: "gfx1201", target: "gfx1201", detail: []int{0, 1}},
	{name: "gfx90a", target: "gfx90a", detail: []int{0, 1}},
	{name: "gfx942", target: "gfx942", dies: 2, detail: []int{0, 1}},
	{name: "gfx950", target: "gfx950", dies: 2, detail: []int{0, 1}},
	{name: "gfx1100 with options", target: "gfx1100", detail: []int{1, 3}, options: rdnaOptions},
	{name: "gfx1201 with options", target: "gfx1201", detail: []int{1, 3}, options: rdnaOptions},
	{name: "gfx942 with options", target: "gfx942", dies: 2, detail: []int{0, 6}, options: func(status int64) []sqtt.Option {
		return []sqtt.Option{
			sqtt.WithTarget(sqtt.Target{Unit: 1, SIMDMask: 5}), sqtt.WithEngineTarget(6, sqtt.Target{Unit: 2, SIMDMask: 2}), sqtt.WithDetail(0, 6),
			sqtt.WithTokens("misc", "timestamp", "wave_start", "wave_end", "inst", "inst_pc", "issue", "reg_cs"), sqtt.WithWaveTypes("cs"),
			sqtt.WithCounters([]uint32{4, 26}, 2, 0x3), sqtt.WithStatus(status),
		}
	}},
}

func rdnaOptions(status int64) []sqtt.Option {
	return []sqtt.Option{
		sqtt.WithTarget(sqtt.Target{Array: 1, Unit: 1, SIMD: 2}), sqtt.WithEngineTarget(1, sqtt.Target{Array: 0, Unit: 3, SIMD: 1}), sqtt.WithDetail(1, 3),
		sqtt.WithTokens("valu_inst", "wave_ready", "wave_start_end", "immediate", "reg", "inst"), sqtt.WithWaveTypes("cs", "gs"), sqtt.WithStatus(status),
	}
}

// Groups of scenes.
var (
	gfx9     = []string{"gfx90a", "gfx942", "gfx950", "gfx942 with options"}
	gfx11    = []string{"gfx1100", "gfx1151", "gfx1100 with options"} // whose streams show writes of GRBM_GFX_INDEX
	noIndex  = append([]string{"gfx1201", "gfx1201 with options"}, gfx9...)
	noBottom = append([]string{"gfx1100 with options"}, noIndex...) // no events of the pipe's bottom
	bare9    = []string{"gfx90a", "gfx942", "gfx950"}
)

// quiet are the mutations that do not show in the streams: the beginnings of their names, where they are (nil: anywhere), how they show and why no more. A
// mutation that is not here shows in the streams; one that is here and shows in another way fails the test as well.
var quiet = []struct {
	what  []string
	at    []string
	in    []string // scenes; nil: all
	shows string
	why   string
	used  bool
}{
	{
		what:  []string{"start GRBM_GFX_INDEX INSTANCE_BROADCAST_WRITES"},
		at:    []string{"first"},
		in:    gfx11,
		shows: nowhere,
		why:   "an engine has one of each trace register, so no instance is chosen; of the next engines the write shows in the first one's stream",
	},
	{
		what:  []string{"start GRBM_GFX_INDEX INSTANCE_BROADCAST_WRITES"},
		at:    []string{"first", "next"},
		in:    noIndex,
		shows: nowhere,
		why:   "an engine has one of each trace register, so no instance is chosen; these streams leave writes of GRBM_GFX_INDEX out",
	},
	{
		what:  []string{"stop GRBM_GFX_INDEX INSTANCE_BROADCAST_WRITES"},
		at:    []string{"next"},
		shows: nowhere,
		why:   "an engine has one of each trace register, so no instance is chosen",
	},
	{
		what: []string{
			"stop GRBM_GFX_INDEX INSTANCE_BROADCAST_WRITES", "stop GRBM_GFX_INDEX dropped",
		},
		at:    []string{"first"},
		in:    noIndex,
		shows: nowhere,
		why:   "an engine has one of each trace register, so no instance is chosen; with all engines selected still, reads go to the first, and the others end a moment early, when nothing runs",
	},
	{
		what: []string{
			"stop CP_PERFMON_CNTL PERFMON_STATE", "stop CP_PERFMON_CNTL dropped",
		},
		shows: nowhere,
		why:   "the write of 0 that follows stops the counters too",
	},
	{
		what:  []string{"start GRBM_GFX_INDEX"},
		at:    []string{"all"},
		in:    noIndex,
		shows: inRegisters,
		why:   "what is selected in the end: nobody relies on it here",
	},
	{
		what:  []string{"stop GRBM_GFX_INDEX"},
		at:    []string{"all"},
		shows: inRegisters,
		why:   "what is selected in the end: nobody relies on it here",
	},
	{
		what: []string{
			"start SPI_CONFIG_CNTL GPR_WRITE_PRIORITY", "start SPI_CONFIG_CNTL EXP_PRIORITY_ORDER", "start SPI_CONFIG_CNTL PS_PKR_PRIORITY_CNTL",
		},
		shows: inRegisters,
		why:   "whose register writes and exports go first: the time model knows no such contention",
	},
	{
		what: []string{
			"stop SPI_CONFIG_CNTL", "stop SPI_SQG_EVENT_CTL",
		},
		shows: inRegisters,
		why:   "what events show once nothing is traced, and priorities",
	},
	{
		what: []string{
			"start SPI_CONFIG_CNTL ENABLE_SQG_BOP_EVENTS", "start SPI_SQG_EVENT_CTL ENABLE_SQG_BOP_EVENTS",
		},
		in:    noBottom,
		shows: inRegisters,
		why:   "events of the pipe's bottom: the simulated gfx9 and gfx12 units show none, and these options leave gfx11's out",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_TOKEN_MASK BOP_EVENTS_TOKEN_INCLUDE"},
		in:    noBottom,
		shows: inRegisters,
		why:   "events of the pipe's bottom: the simulated gfx9 and gfx12 units show none, and these options leave gfx11's out",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_CTRL HIWATER", "start SQ_THREAD_TRACE_CTRL LOWATER_OFFSET", "start SQ_THREAD_TRACE_CTRL REG_AT_HWM",
			"start SQ_THREAD_TRACE_CTRL SPI_STALL_EN", "start SQ_THREAD_TRACE_CTRL SQ_STALL_EN", "start SQ_THREAD_TRACE_HIWATER",
			"start SQ_THREAD_TRACE_MASK REG_STALL_EN", "start SQ_THREAD_TRACE_MASK SPI_STALL_EN", "start SQ_THREAD_TRACE_MASK SQ_STALL_EN",
		},
		shows: inRegisters,
		why:   "what waits when the trace cannot keep up: the simulated unit always keeps up",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_CTRL UTIL_TIMER"},
		shows: inRegisters,
		why:   "UTIL_COUNTER tokens, which nobody documents and the simulated unit does not write",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_CTRL RT_FREQ"},
		shows: inRegisters,
		why:   "how often the clock is shown: the simulated gfx11 unit knows one rate",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_CTRL DRAW_EVENT_EN"},
		shows: inRegisters,
		why:   "events of draws, which a compute queue has none of",
	},
	{
		what: []string{
			"stop SQ_THREAD_TRACE_CTRL HIWATER", "stop SQ_THREAD_TRACE_CTRL LOWATER_OFFSET", "stop SQ_THREAD_TRACE_CTRL REG_AT_HWM",
			"stop SQ_THREAD_TRACE_CTRL SPI_STALL_EN", "stop SQ_THREAD_TRACE_CTRL SQ_STALL_EN", "stop SQ_THREAD_TRACE_CTRL UTIL_TIMER",
			"stop SQ_THREAD_TRACE_CTRL RT_FREQ", "stop SQ_THREAD_TRACE_CTRL DRAW_EVENT_EN", "stop SQ_THREAD_TRACE_MODE 0 becomes",
		},
		shows: inRegisters,
		why:   "how a unit would trace that is switched off",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_MASK WTYPE_INCLUDE less", "start SQ_THREAD_TRACE_MODE MASK_PS", "start SQ_THREAD_TRACE_MODE MASK_VS",
			"start SQ_THREAD_TRACE_MODE MASK_GS", "start SQ_THREAD_TRACE_MODE MASK_ES", "start SQ_THREAD_TRACE_MODE MASK_HS",
			"start SQ_THREAD_TRACE_MODE MASK_LS",
		},
		shows: inRegisters,
		why:   "waves of a stage of the graphics pipe: a compute queue has none",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_TOKEN_MASK REG_INCLUDE less", "start SQ_THREAD_TRACE_TOKEN_MASK REG_MASK",
		},
		shows: inRegisters,
		why:   "writes of registers of which none is written between the programs",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_TOKEN_MASK TOKEN_MASK less 0x1"},
		in:    gfx9,
		shows: inRegisters,
		why:   "MISC tokens, which the simulated unit needs for its time and writes always",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_PERF_MASK"},
		in:    bare9,
		shows: inRegisters,
		why:   "samples of counters, which these traces have none of",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_PERF_MASK SH1_MASK", "start SQ_PERFCOUNTER_MASK SH1_MASK",
		},
		shows: inRegisters,
		why:   "the engine's second array, which is not there",
	},
	{
		what:  []string{"start SQ_THREAD_TRACE_STATUS"},
		in:    bare9,
		shows: inRegisters,
		why:   "what is known of an earlier trace: the simulated unit forgets it when it is switched on, and without status words nobody asks",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_CTRL RESET_BUFFER", "start SQ_THREAD_TRACE_CTRL dropped",
		},
		in:    gfx9,
		shows: inRegisters,
		why:   "where an earlier trace ended: the simulated unit starts at its buffer's beginning even so",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_MODE AUTOFLUSH_EN", "start SQ_THREAD_TRACE_MODE TC_PERF_EN",
		},
		shows: inRegisters,
		why:   "when tokens reach memory, and events of the texture cache: the simulated unit writes all when it is switched off, and has no such events",
	},
	{
		what: []string{
			"start SQ_THREAD_TRACE_MASK SIMD_EN", "start SQ_THREAD_TRACE_MASK CU_SEL", "start SQ_THREAD_TRACE_MASK dropped",
			"start SQ_THREAD_TRACE_TOKEN_MASK2",
		},
		at:    []string{"plain"},
		in:    gfx9,
		shows: inRegisters,
		why:   "whose instructions of which kind this engine traces: none anyway",
	},
	{
		what: []string{
			"start SQ_PERFCOUNTER0_SELECT SQC_BANK_MASK", "start SQ_PERFCOUNTER0_SELECT SQC_CLIENT_MASK", "start SQ_PERFCOUNTER1_SELECT SQC_BANK_MASK",
			"start SQ_PERFCOUNTER1_SELECT SQC_CLIENT_MASK",
		},
		shows: inRegisters,
		why:   "of caches' counters: these count waves",
	},
	{
		what: []string{
			"start SQ_PERFCOUNTER_CTRL PS_EN", "start SQ_PERFCOUNTER_CTRL VS_EN", "start SQ_PERFCOUNTER_CTRL GS_EN", "start SQ_PERFCOUNTER_CTRL ES_EN",
			"start SQ_PERFCOUNTER_CTRL HS_EN", "start SQ_PERFCOUNTER_CTRL LS_EN",
		},
		shows: inRegisters,
		why:   "waves of a stage of the graphics pipe: a compute queue has none",
	},
	{
		what:  []string{"start SQ_PERFCOUNTER_CTRL VMID_MASK less"},
		shows: inRegisters,
		why:   "waves of VMID 0: there are none",
	},
	{
		what: []string{
			"stop COMPUTE_PERFCOUNT_ENABLE", "stop CP_PERFMON_CNTL 0", "stop RLC_PERFMON_CLK_CNTL",
		},
		shows: inRegisters,
		why:   "counters that would count on: nothing runs any more, and nobody reads them",
	},
}
