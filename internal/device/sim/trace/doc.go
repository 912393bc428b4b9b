// Package trace is the thread-trace hardware of the simulated GPU: one unit for each shader engine that turns waves,
// instructions, register writes and events into tokens and writes those to memory as its registers say.
//
// It knows nothing of the decoder, and the decoder nothing of it. Its sources are the token layouts that AMD's decoder
// states, the register fields of the kernel's headers, and streams of real hardware for what no document tells: which of
// several time packets a gap gets, how packets are packed and padded, the order inside a clock, what a header holds. RDNA3, RDNA4
// and CDNA streams are written; a test writes the packets of real streams again and compares the bytes.
//
// Registers take effect as hardware's do: nothing is written unless the unit's mode is on; waves and instructions of
// dispatches that run without COMPUTE_THREAD_TRACE_ENABLE are left out; tokens are filtered by TOKEN_MASK and MASK; a
// full buffer stops the stream, and what follows is counted as dropped. THREAD_TRACE_FINISH completes the trace; a unit that
// is switched off without it loses what it had not written out. What CDNA's PERF tokens show is package count's.
//
// Times are shader cycles. Left out: UTIL_COUNTER tokens, whose encoding nobody documents,
// context switches, stalls (waves never wait for the trace), double buffering.
package trace
