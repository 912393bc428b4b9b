// Package shader runs AMD GPU machine code: RDNA3, RDNA3.5, RDNA4, CDNA2, CDNA3 and CDNA4.
//
// It executes, it does not time. A Machine takes a Kernel, which is what the command processor's
// registers say about one dispatch, runs its workgroups and hands out a GroupLog each: what every
// wave executed and which memory it touched, enough for a timing model to replay it.
//
// Instructions come decoded from internal/isa and are compiled once per program to micro-operations:
// a function and its resolved operands. Vector operations work on whole lane arrays, 32 lanes at a
// time (AVX2 where the processor has it, the same loops in Go elsewhere); EXEC, modifiers, DPP and
// SDWA are stages around the same lane loop and cost nothing where an instruction has none.
//
// Workgroups run in parallel where no result can depend on their order: a program with atomics that
// return a value or whose order matters (floats, exchanges), or with loads that bypass caches to see
// other workgroups' stores, runs one workgroup at a time. A workgroup that spins gives way to later
// ones after a fixed number of instructions. Both make runs repeatable with any number of cores.
//
// Semantics follow AMD's ISA documents (RDNA3, RDNA4, MI300, MI350) and the execution vectors that
// the tests read; where those were made by an emulator alone and contradict the documents, the
// documents hold (vectors_test.go lists these). Transcendental functions are those of package math,
// rounded once, so more exact than hardware. What hardware leaves undefined is fixed here: registers
// and LDS start as zero, NaN results carry the host's payload, sums of matrix instructions are
// formed in float32 in order of k, clocks that a shader can read count executed instructions
// (modelled), HW_ID registers hold the VMID alone.
//
// Private memory lives inside the simulator, not at the dispatch's scratch address.
//
// Errors are *Fault: bad address, illegal or unsupported instruction, trap. Left out, and faulting:
// images, export, ray tracing, GDS and GWS, named barriers, scalar stores and atomics, transposing
// loads, block loads, sub-vector loops of wave64, trap handlers.
package shader
