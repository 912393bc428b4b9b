// Package perfctr lays out hardware counters, writes the programs that set and read them, turns what they stored into values with
// reasons for what could not be measured, and computes derived metrics.
//
// A counter is an event of one block (GRBM, SQ, GL2C, TCC, …) that one of the block's counter registers selects. Its value is one
// 64-bit word for each die, instance, engine, array and WGP that the block has a copy in, the last varying fastest. Tables are
// generated from tables/*.tsv, whose heads name their sources and say where AMD's sources disagree and what we chose.
//
// # What the programs touch
//
// Writes go to all engines, arrays and instances of all dies at once (GRBM_GFX_INDEX 0xe0000000, written first by each program) unless
// said otherwise, with SET_UCONFIG_REG or SET_SH_REG. The registers and their values are tables/program.tsv's:
//
//   - start: EVENT_WRITE CS_PARTIAL_FLUSH and a system ACQUIRE_MEM (earlier dispatches are complete, what they wrote is seen);
//     GRBM_GFX_INDEX; RLC_PERFMON_CLK_CNTL 1 (GFX9); CP_PERFMON_CNTL 0, which resets every counter; SQ_PERFCOUNTER_MASK (GFX9);
//     SQ_PERFCOUNTER_CTRL (stages that count); SQ_PERFCOUNTER_CTRL2 0x1ffff (GFX11 and GFX12, unfiltered only); one
//     BLOCK_PERFCOUNTERn_SELECT for each counter, with the event in its select field; SQ_PERFCOUNTER_CTRL2 by COPY_DATA from memory
//     (filtered only); COMPUTE_PERFCOUNT_ENABLE 1; CP_PERFMON_CNTL 1 (counting); CS_PARTIAL_FLUSH.
//   - stop: CS_PARTIAL_FLUSH; GRBM_GFX_INDEX; CP_PERFMON_CNTL 0x402 (stopped, sampled); then for every copy of a block that has counters
//     in the layout GRBM_GFX_INDEX with SE_INDEX, SA_INDEX and INSTANCE_INDEX of the copy (broadcast bits for those the block is not
//     divided by; WGP-level blocks: INSTANCE_INDEX = wgp<<2 | instance) and one confirmed COPY_DATA for each value register:
//     BLOCK_PERFCOUNTERn_LO, and _HI where values have 64 bits, else a confirmed WRITE_DATA of 0. A copy in a unit that runs no work gets
//     WRITE_DATA of zeros and no selection. With several dies all of this stands in one PRED_EXEC per copy. Then GRBM_GFX_INDEX
//     0xe0000000; SQ_PERFCOUNTER_CTRL2 0 (GFX9: SQ_PERFCOUNTER_CTRL 0): no later wave counts; COMPUTE_PERFCOUNT_ENABLE 0;
//     CP_PERFMON_CNTL 0; RLC_PERFMON_CLK_CNTL 0 (GFX9); a system ACQUIRE_MEM (values reach the host).
//
// SQ counters of GFX11 and GFX12 use even selects: counter n is selected by SQ_PERFCOUNTER(2n)_SELECT and read from
// SQ_PERFCOUNTERn_LO. GFX9 reads through COPY_DATA's register selector 0 (aqlprofile: selector 4 can hang MI300's firmware), later ones through
// selector 4 (tinygrad, Mesa). The registers are one set for the whole GPU: two profilers at once corrupt each other.
//
// Errors name the target; a program is never partial. Nothing here reads files or clocks.
package perfctr

//go:generate go run ../tools/gencounters -dir . -out tables_gen.go
