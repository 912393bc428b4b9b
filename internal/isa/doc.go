// Package isa decodes and prints the instructions of CDNA2, CDNA3, CDNA4, RDNA3, RDNA3.5 and RDNA4 GPUs.
//
// Opcodes, operand sizes and bit positions are generated from tables/, whose rows come from AMD's machine-readable
// ISA description; mnemonics, implicit registers and the text are LLVM's (22.1.8 where versions differ). Tables for
// gfx90a are derived from gfx942's by the differences that LLVM's public sources name, and are marked unverified.
//
// [Decode] turns bytes into an [Inst], a value that points into the static tables and allocates nothing. It takes what
// hardware runs; [DecodeStrict] refuses more, all that LLVM's disassembler refuses. [Inst.Arg]
// resolves one operand completely (register file, number, size, element type, modifiers), so an interpreter compiles
// an instruction from its operands in order and reads what is left (offsets, cache bits, DPP and SDWA controls) with
// [Inst.Field]. [AppendText] prints what LLVM's disassembler prints, [Inst.AppendRegs] tells which registers an
// instruction reads and writes, [Trace] what it sends to a thread trace.
//
// Left out: the encoder, and validity rules that the hardware has but LLVM's disassembler does not check (constant
// bus, VOPD banks).
package isa
