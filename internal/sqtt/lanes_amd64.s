//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// An entry of the lane whose scan word is in acc; see laneScan.runGeneric. The event bit is the carry that counts the event.
#define ENTRY(acc) \
	MOVWLZX acc, AX; \
	ROLW $15, AX; \
	MOVQ acc, laneScan_events(BX)(CX*8); \
	MOVWLZX laneScan_planes(BX)(AX*1), AX; \
	ROLW $8, AX; \
	MOVL (DX)(AX*4), AX; \
	BTRL $const_scanEvent, AX; \
	ADCQ $0, CX; \
	ADDQ AX, acc

// A step of lane j.
#define STEP(acc, j) \
	CMPW acc, laneScan_limit+8*j(BX); \
	JCC  done; \
	MOVQ laneScan_n+8*j(BX), CX; \
	ENTRY(acc); \
	ENTRY(acc); \
	MOVQ CX, laneScan_n+8*j(BX)

// func laneRun(s *laneScan, tab *scanTable)
TEXT ·laneRun(SB), NOSPLIT, $0-16
	MOVQ s+0(FP), BX
	MOVQ tab+8(FP), DX
	MOVQ laneScan_acc+0(BX), R8
	MOVQ laneScan_acc+8(BX), R9
	MOVQ laneScan_acc+16(BX), R10
	MOVQ laneScan_acc+24(BX), R11
	MOVQ laneScan_acc+32(BX), R12
	MOVQ laneScan_acc+40(BX), R13
	MOVQ laneScan_acc+48(BX), SI
	MOVQ laneScan_acc+56(BX), DI

loop:
	STEP(R8, 0)
	STEP(R9, 1)
	STEP(R10, 2)
	STEP(R11, 3)
	STEP(R12, 4)
	STEP(R13, 5)
	STEP(SI, 6)
	STEP(DI, 7)
	JMP loop

done:
	MOVQ R8, laneScan_acc+0(BX)
	MOVQ R9, laneScan_acc+8(BX)
	MOVQ R10, laneScan_acc+16(BX)
	MOVQ R11, laneScan_acc+24(BX)
	MOVQ R12, laneScan_acc+32(BX)
	MOVQ R13, laneScan_acc+40(BX)
	MOVQ SI, laneScan_acc+48(BX)
	MOVQ DI, laneScan_acc+56(BX)
	RET

// An entry for the walk; see laneScan.walkStep. Nothing between BTRL and ADCQ changes the carry.
#define WALKENTRY(acc) \
	MOVWLZX acc, AX; \
	ROLW $15, AX; \
	MOVWLZX laneScan_planes(BX)(AX*1), AX; \
	ROLW $8, AX; \
	MOVL walkTable_word(DX)(AX*4), R15; \
	MOVBQSX walkTable_back(DX)(AX*1), AX; \
	BTRL $const_scanEvent, R15; \
	LEAQ (acc)(R15*1), acc; \
	LEAQ (acc)(AX*1), AX; \
	MOVQ AX, laneScan_events(BX)(CX*8); \
	ADCQ $0, CX

// A step of lane j for the walk.
#define WALKSTEP(acc, j) \
	CMPW acc, laneScan_limit+8*j(BX); \
	JCC  done; \
	MOVQ laneScan_n+8*j(BX), CX; \
	WALKENTRY(acc); \
	WALKENTRY(acc); \
	MOVQ CX, laneScan_n+8*j(BX)

// func laneWalk(s *laneScan, tab *walkTable)
TEXT ·laneWalk(SB), NOSPLIT, $0-16
	MOVQ s+0(FP), BX
	MOVQ tab+8(FP), DX
	MOVQ laneScan_acc+0(BX), R8
	MOVQ laneScan_acc+8(BX), R9
	MOVQ laneScan_acc+16(BX), R10
	MOVQ laneScan_acc+24(BX), R11
	MOVQ laneScan_acc+32(BX), R12
	MOVQ laneScan_acc+40(BX), R13
	MOVQ laneScan_acc+48(BX), SI
	MOVQ laneScan_acc+56(BX), DI

loop:
	WALKSTEP(R8, 0)
	WALKSTEP(R9, 1)
	WALKSTEP(R10, 2)
	WALKSTEP(R11, 3)
	WALKSTEP(R12, 4)
	WALKSTEP(R13, 5)
	WALKSTEP(SI, 6)
	WALKSTEP(DI, 7)
	JMP loop

done:
	MOVQ R8, laneScan_acc+0(BX)
	MOVQ R9, laneScan_acc+8(BX)
	MOVQ R10, laneScan_acc+16(BX)
	MOVQ R11, laneScan_acc+24(BX)
	MOVQ R12, laneScan_acc+32(BX)
	MOVQ R13, laneScan_acc+40(BX)
	MOVQ SI, laneScan_acc+48(BX)
	MOVQ DI, laneScan_acc+56(BX)
	RET

// func laneFill(even, odd, src *byte, n uint64)
TEXT ·laneFill(SB), NOSPLIT, $0-32
	MOVQ even+0(FP), AX
	MOVQ odd+8(FP), BX
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	XORL DX, DX

fill:
	MOVOU (SI)(DX*1), X0
	MOVOU 8(SI)(DX*1), X1
	MOVOU X0, (AX)(DX*1)
	PSRLQ $4, X0
	PSLLQ $60, X1
	POR   X1, X0
	MOVOU X0, (BX)(DX*1)
	ADDQ  $16, DX
	CMPQ  DX, CX
	JCS   fill
	RET
