// Package count is the performance-counter hardware of the simulated GPU: the select and value registers of every copy of a block,
// the controls that reset, start, stop and sample them, and the events that they count.
//
// A Unit sees register accesses of the command processor (cp.Unit, cp.Listener) and what waves do (timing.Observer). Which blocks there
// are is tables/blocks.tsv, what their events count tables/events.tsv; the heads name the sources. Nothing here is shared with package
// perfctr, which writes the programs and reads the values.
//
// # Exact
//
// Copies: each die, engine, WGP or instance that GRBM_GFX_INDEX can choose has its own selects, controls and values; broadcasts write all
// that they reach, a read goes by the indices (package cp says why) and reads 0 of a copy that is not there. SQ counters of RDNA hold 32 bits and stop at 2^32-1, all others
// hold 64. CP_PERFMON_CNTL: PERFMON_STATE 0 resets every counter of the die, 1 counts, 2 stops; PERFMON_SAMPLE_ENABLE, or the event
// PERFCOUNTER_SAMPLE, takes the sample that value registers show until the next. Whether the SQ counts a wave is decided when it starts and holds for
// its life: its dispatch had COMPUTE_PERFCOUNT_ENABLE, its SQ's SQ_PERFCOUNTER_CTRL has CS_EN, and its VMID is let through (from GFX11 on
// SQ_PERFCOUNTER_CTRL2 with FORCE_EN, on GFX9 SQ_PERFCOUNTER_CTRL.VMID_MASK; there SQ_PERFCOUNTER_MASK names the CUs and the
// select's SIMD_MASK the SIMDs too). SQ_INSTS_VALU of RDNA stays 0 outside the stable power state. Waves, work-items and instructions are counted
// as they were executed; a wave's are added when it ends.
//
// # Modelled
//
// Cycles, levels, waits, cache and memory counts are the time model's, see package timing. Which lines waves' accesses touch is exact where
// they do not scatter beyond what the shaders' log holds; caches have lines of 128 bytes everywhere (gfx90a's vector cache has 64), the L2 fetches and
// writes whole ones. An address path, a vector cache or an L2 channel is busy from a request's arrival to its data or
// acknowledgement; of the GRBM's "any of them" events the same, added up without overlap. The GPU's clock stands still while no queue
// has work, so GRBM_COUNT leaves that out. SQ_BUSY_CYCLES are those with a counted wave in flight; real gfx1200 GPUs add some 90000 to them
// whatever runs, real gfx1100 and gfx950 ones do not (the tests read these captures). L2, GRBM
// and other blocks outside the SQ count all processes' work, filter or not, as hardware's do.
//
// # Guesses
//
// A value register never shows more than the last sample (all drivers sample before they read). Without the stable power state GFX9 counts only while
// RLC_PERFMON_CLK_CNTL holds the counters' clock on (aqlprofile writes it, and tinygrad does without in that state). SQ_PERFCOUNTER_MASK is 0
// after power-up. Compute queues are on pipe 0 for SQ_PERFCOUNTER_CTRL.DISABLE_ME1PIPE0_PERF.
//
// What is not modelled is told: Modelled says it of an event, and modes of a select other than plain accumulation are an error.
package count
