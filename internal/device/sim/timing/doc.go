// Package timing gives time to what package shader executed: it places workgroups and waves on the GPU and replays
// their logs on a model of its SIMDs, caches and memory. Times are shader cycles since the GPU was powered on.
//
// Placement follows real thread traces: engines in turn beginning with engine 1 (gfx9: dies in turn, then their
// engines), the units of an engine in turn, CUs of a WGP alternating, waves of a group over the SIMDs of its CU, the
// lowest free slot (gfx9: the next one). A full unit is skipped. Pointers live as long as the Machine. VGPRs, LDS,
// slots, COMPUTE_STATIC_THREAD_MGMT and COMPUTE_RESOURCE_LIMITS limit what fits; engines start waves at measured rates.
//
// Issue is in order in each wave, out of order between the waves of a SIMD. A wave's next instruction may leave at the
// latest of: one step (1 cycle, gfx9 4) after the one before; when the registers that it reads are written, by the
// latency of the pair of units; when its wait's counters have come down, its barrier is complete, its line of code is in the
// instruction cache; and when its unit is free. Of several such instructions the earliest leaves, the oldest wave first. Units
// are VALU, SALU, vector memory, LDS and branch of each SIMD; the address path and the LDS are shared by the SIMDs of
// a CU. Loads do not block: what waits is the wait instruction, in the way the ISA's counters define.
//
// Memory is a cache of lines for each CU, each shader array and each die, then memory, each with a latency and a rate. A line's
// address is all that is kept; of accesses that scatter, the log tells the first line, the last one and how many there are, so
// those between are taken to be evenly spaced. LDS instructions take the cycles that bank conflicts make necessary. The first
// vector access to a page since power-up waits for the page tables; pages are as large as the memory behind them is contiguous. Memory
// of the host is far and not cached. What a dispatch wrote goes from the L2 to memory when its line is replaced, and at the dispatch's end.
//
// Simulation goes in windows of 20 cycles: each SIMD issues what it can inside the window, then the next one. Whatever one SIMD
// does to another (a barrier that completes, a slot that falls free) takes longer than a window, so the order in which SIMDs are
// served decides only how they share a CU's LDS and address path inside one window. It is fixed, so results depend on
// nothing but the input.
//
// Figures are in tables/model.tsv with their sources; ACCURACY.md compares with real captures. Not modelled: clocks other than the
// shader clock, the last-level cache in front of memory, translations that are forgotten again, instruction prefetch beyond fixed depth, power.
package timing
