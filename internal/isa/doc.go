// Package isa decodes and prints the instructions of CDNA2, CDNA3, CDNA4, RDNA3, RDNA3.5 and RDNA4 GPUs.
//
// Opcodes, operand sizes and bit positions are generated from tables/, whose rows come from AMD's machine-readable
// ISA description; mnemonics, implicit registers and the text are LLVM's (22.1.8 where versions differ). gfx90a's rows are
// gfx942's and what LLVM's disassembler takes besides. TestLLVM compares with LLVM itself:
// size, text and what is refused, for made up and for random words.
//
// [Decode] turns bytes into an [Inst], a value that points into the static tables and allocates nothing. It refuses what
// LLVM's disassembler refuses; [DecodeLenient] takes all that hardware runs. [Inst.Arg] resolves one operand completely
// (register file, number, size, element type, modifiers), so an interpreter compiles an instruction from its operands in
// order and reads what is left (offsets, cache bits, DPP and SDWA controls) with [Inst.Field]. [AppendText] prints what
// LLVM's disassembler prints, [Inst.AppendRegs] tells which registers an instruction reads and writes, [Trace] what it
// sends to a thread trace.
//
// Left out: the encoder, and validity rules that the hardware has but LLVM's disassembler does not check (constant
// bus, VOPD banks).
package isa
