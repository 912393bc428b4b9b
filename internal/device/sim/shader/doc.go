// Package shader runs AMD GPU machine code: RDNA3, RDNA3.5, RDNA4, CDNA2, CDNA3 and CDNA4.
//
// It executes, it does not time. A Machine takes a Kernel, which is what the command processor's
// registers say about one dispatch, runs its workgroups and hands out a GroupLog each: what every
// wave executed and which memory it touched, enough for a timing model to replay it.
//
// Instructions come decoded from internal/isa and are compiled once per program to micro-operations:
// a function and its resolved operands. Vector operations work on whole lane arrays, 32 lanes at a
// time; EXEC, modifiers, DPP and SDWA are stages around the same lane loop and cost nothing where
// an instruction has none.
//
// Semantics follow AMD's ISA documents (RDNA3, RDNA4, MI300, MI350) and the execution vectors that
// the tests read. What hardware leaves undefined is fixed here: registers and LDS start as zero, NaN
// results carry the host's payload, clocks that a shader can read count executed instructions.
//
// Errors are *Fault: bad address, illegal or unsupported instruction, trap. Images, export and ray
// tracing are left out and fault.
package shader
