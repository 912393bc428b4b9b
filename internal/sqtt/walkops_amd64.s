//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// func walkRecords(events []uint64, nodes []codeNode, add uint64, s *laneScan, ops *walkOps, slots *[64]*tracedWave) int
//
// See recordsGeneric. R8 is the event, R9 the end of them, R10 the scan, R11 the ops, R12 the slots, R13 the nodes, R15 how many
// of those. In a turn AX is the time, BX the wave, DX the index of ops. A record waits in X0 (PC and Time) and X2 (the rest) for
// the next turn to store it at SI, behind that turn's loads: they would wait until it is known that this is not where they load.
TEXT ·walkRecords(SB), NOSPLIT, $32-88
	MOVQ events_base+0(FP), R8
	MOVQ events_len+8(FP), R9
	LEAQ (R8)(R9*8), R9
	MOVQ nodes_base+24(FP), R13
	MOVQ nodes_len+32(FP), R15
	LEAQ scratch-32(SP), SI
	MOVQ s+56(FP), R10
	MOVQ ops+64(FP), R11
	MOVQ slots+72(FP), R12

loop:
	CMPQ R8, R9
	JCC  done
	MOVQ (R8), AX
	ADDQ add+48(FP), AX
	MOVWLZX AX, DX
	ROLW $15, DX
	MOVQ laneScan_planes(R10)(DX*1), CX // the token
	SHRQ $const_scanTime, AX
	MOVL CX, DX
	SHRL $12, DX
	MOVBLZX DX, DX
	MOVL CX, DI
	ANDL $15, DI
	SHLL $8, DI
	ORL  DI, DX
	MOVBLZX walkOps_kind(R11)(DX*1), DI
	TESTL DI, DI
	JNE  other

	MOVQ CX, BX
	MOVBLZX walkOps_slot(R11)(DX*1), CX
	SHRQ CX, BX
	ANDL $31, BX
	MOVQ (R12)(BX*8), BX
	MOVL tracedWave_at(BX), DI
	MOVQ tracedWave_insts+8(BX), CX
	MOVBLZX walkOps_noUnit(R11)(DX*1), R14
	MOVQ tracedWave_ready(BX)(R14*8), R14
	MOVUPS X0, (SI)
	MOVUPS X2, 16(SI)
	CMPQ DI, R15
	JCC  done
	CMPQ CX, tracedWave_insts+16(BX)
	JGE  done
	SHLQ $4, DI // the size of a codeNode
	ADDQ R13, DI
	SHLQ $5, CX // the size of an Inst
	INCQ tracedWave_insts+8(BX)
	ADDQ tracedWave_insts+0(BX), CX
	MOVQ CX, SI

	CMPQ AX, R14
	CMOVQCS AX, R14
	MOVQ codeNode_pc(DI), X0
	MOVQ R14, X1
	PUNPCKLQDQ X1, X0
	MOVQ AX, CX
	SUBQ R14, CX
	MOVBLZX walkOps_taken(R11)(DX*1), R14
	MOVL codeNode_succ(DI)(R14*4), DI
	MOVL DI, tracedWave_at(BX)
	MOVBLZX walkOps_clocks(R11)(DX*1), R14
	MOVQ $-1, tracedWave_ready+0(BX)
	ADDQ R14, AX
	MOVQ AX, tracedWave_ready+8(BX)
	ADDQ CX, R14
	SHLQ $32, R14
	ORQ  R14, CX
	MOVQ CX, X2
	MOVBLZX walkOps_category(R11)(DX*1), DI
	MOVQ DI, X3
	PUNPCKLQDQ X3, X2

next:
	ADDQ $8, R8
	JMP  loop

other:
	CMPL DI, $const_opOther
	JEQ  next
	CMPL DI, $const_opReady
	JNE  done
	BTL  $4, CX
	JCC  done
	SHRL $8, CX
	MOVWLZX CX, CX
	TESTL CX, CX
	JEQ  next

ready:
	BSFL CX, DI
	MOVQ (R12)(DI*8), BX
	MOVQ AX, tracedWave_ready+0(BX)
	LEAL -1(CX), DI
	ANDL DI, CX
	JNE  ready
	JMP  next

done:
	MOVUPS X0, (SI)
	MOVUPS X2, 16(SI)
	SUBQ events_base+0(FP), R8
	SHRQ $3, R8
	MOVQ R8, ret+80(FP)
	RET
