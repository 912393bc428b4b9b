// Package shader runs AMD GPU machine code: RDNA3, RDNA3.5, RDNA4, CDNA2, CDNA3 and CDNA4.
//
// It executes, it does not time. A Machine takes a Kernel, which is what the command processor's
// registers say about one dispatch, runs its workgroups and hands out a GroupLog each: what every
// wave executed and which memory it touched, enough for a timing model to replay it.
//
// Instructions come decoded from internal/isa and are compiled once per program to micro-operations:
// a function and its resolved operands. Vector operations work on whole lane arrays, 32 lanes at a
// time (AVX2, FMA and F16C where the processor has them, the same loops in Go elsewhere and with the
// build tag purego); EXEC, modifiers, DPP and SDWA are stages around the same lane loop and cost
// nothing where an instruction has none. Matrix instructions widen their operands to float32 and
// form tiles of sums, see matrix_tile.go.
//
// Workgroups run in parallel where no result can depend on their order: a program with atomics that
// return a value or whose order matters (floats, exchanges), with loads that bypass caches to see
// other workgroups' stores, with GDS or GWS, or with jumps to addresses in registers (what is there
// may be any of these) runs one workgroup at a time. A workgroup that spins gives way to later
// ones after a fixed number of instructions, one that waits for others at once. Both make runs
// repeatable with any number of cores.
//
// Semantics follow AMD's ISA documents (MI200, MI300, CDNA4, RDNA3, RDNA4) and the execution vectors
// that the tests read; where those were made by an emulator alone and contradict the documents, the
// documents hold (vectors_test.go lists these). Transcendental functions are those of package math,
// rounded once, so more exact than hardware. What hardware leaves undefined is fixed here: registers
// and LDS start as zero, NaN results carry the host's payload, sums of matrix instructions are
// formed in float32 in order of k, clocks that a shader can read count executed instructions
// (modelled), HW_ID registers hold the VMID alone.
//
// Beyond what AMD documents for a target, or confirmed by no hardware that is known of:
//
//   - GDS and GWS are there for every process as on gfx11 (amdkfd grants none unasked): see gds.go.
//   - Named barriers of gfx12 work as gfx1250's: see sync.go. Wave64 of its transposing loads, and the
//     order of lanes in gfx950's, follow compilers: see transpose.go.
//   - s_trap without a trap handler ends the run as the amdhsa ABI's handlers would; with one
//     (AMDKFD_IOC_SET_TRAP_HANDLER) s_trap enters it. Memory violations and illegal instructions end
//     the run either way, at the instruction that made them. Exception flags are not collected.
//   - Words of RDNA3.5's scalar float instructions do nothing on RDNA3, as its hardware takes them.
//
// Private memory lives inside the simulator, not at the dispatch's scratch address.
//
// Errors are *Fault: bad address, illegal or unsupported instruction, trap, deadlock. Left out, and
// faulting: images, exports, ray tracing, parameters of pixel shaders; hardware registers, messages
// and buffer formats that AMD reserves; what cannot be known here (a queue's doorbell, the dispatch's
// number, the engine that a wave will run on). TestEveryOp walks all targets' tables against that list.
package shader
