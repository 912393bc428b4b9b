// Package analysis says where the cycles of traced waves went.
//
// Its input is waves with their instructions in order, each with the time it began to wait for issue, how long it stalled and how
// long it ran, all in shader cycles of one engine. Every cycle of a wave's life belongs to exactly one instruction, so that totals
// by instruction, line, function, kernel, class and wave are the same number:
//
//   - an instruction's window runs from the end of the one before (from the wave's start for the first) to its own end;
//     where two overlap, the later one's window begins at the earlier one's end;
//   - the window's parts are idle (before the instruction stood ready), stall (ready, not issued) and issue (running);
//   - what is left from the last instruction's end to the wave's end is idle of the last instruction.
//
// Two records stand for more than their token tells: a barrier lasts until the wave goes on, and all of it is stall, as is the time at the
// program's end, where the wave waits for its stores. GFX9 writes a second record when a wave leaves a barrier: both are one execution.
//
// [Run] sums up a stream while its waves' records come, in bounded memory. Its result is that of a plain computation on whole waves, which the tests
// keep, as long as no record waits for its place or type while 4 million others come, and no wave stays ready while a SIMD's pipes begin 262,144
// busy times: past these bounds hidden cycles are a lower bound.
//
// # Hidden cycles
//
// A cycle of an instruction's window is hidden if another wave of the same SIMD kept a pipe busy at that time whose rank is at least
// that of the instruction's own pipe: matrix over vector ALU over vector memory, LDS and flat over scalar ALU and scalar memory.
// While an instruction runs itself, only pipes of higher rank count. An instruction keeps its pipe busy while it runs in its own window, so a wave
// hides nothing of itself. What no pipe ran (waits, branches, messages) has the lowest
// rank. Busy times that overlap are merged, not added, so hidden never exceeds the window. AMD's decoder adds overlaps of one
// pipe and counts a matrix instruction as three quarters of a vector one as well; we do neither.
//
// A cycle that is not hidden is one in which nothing of at least this rank ran: shortening the instruction could shorten the kernel.
package analysis
