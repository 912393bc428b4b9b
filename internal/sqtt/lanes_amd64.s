//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// An entry of the lane whose scan word is in acc; see laneScan.step. The sum of where the entry ends and an event's place, which
// is before that, has the carry that counts the event.
#define ENTRY(acc) \
	MOVWLZX acc, AX; \
	ROLW $15, AX; \
	MOVWLZX laneScan_planes(BX)(AX*1), AX; \
	ROLW $8, AX; \
	MOVL (laneTable_entry+laneEntry_word)(DX)(AX*8), R15; \
	MOVLQSX (laneTable_entry+laneEntry_back)(DX)(AX*8), AX; \
	ADDQ R15, acc; \
	ADDQ acc, AX; \
	MOVQ AX, laneScan_events(BX)(CX*8); \
	ADCQ $0, CX

// A step of lane j, which goes to fin at its limit.
#define STEP(acc, j, fin) \
	CMPW acc, laneScan_limit+8*j(BX); \
	JCC  fin; \
	MOVQ laneScan_n+8*j(BX), CX; \
	ENTRY(acc); \
	ENTRY(acc); \
	MOVQ CX, laneScan_n+8*j(BX)

// Lane j is at its limit: for the first time, or as it was.
#define FINISH(acc, j, next) \
	CMPQ laneScan_limit+8*j(BX), $0; \
	JEQ  next; \
	MOVQ acc, laneScan_acc+8*j(BX); \
	MOVQ $0, laneScan_limit+8*j(BX); \
	MOVQ laneScan_rounds(BX), CX; \
	MOVQ CX, laneScan_took+8*j(BX); \
	DECQ laneScan_left(BX); \
	JNE  next; \
	RET

// func laneRun(s *laneScan, tab *laneTable)
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
	MOVQ laneScan_acc+64(BX), R14

lane0:
	STEP(R8, 0, fin0)
lane1:
	STEP(R9, 1, fin1)
lane2:
	STEP(R10, 2, fin2)
lane3:
	STEP(R11, 3, fin3)
lane4:
	STEP(R12, 4, fin4)
lane5:
	STEP(R13, 5, fin5)
lane6:
	STEP(SI, 6, fin6)
lane7:
	STEP(DI, 7, fin7)
lane8:
	STEP(R14, 8, fin8)
round:
	INCQ laneScan_rounds(BX)
	JMP lane0

fin0:
	FINISH(R8, 0, lane1)

fin1:
	FINISH(R9, 1, lane2)

fin2:
	FINISH(R10, 2, lane3)

fin3:
	FINISH(R11, 3, lane4)

fin4:
	FINISH(R12, 4, lane5)

fin5:
	FINISH(R13, 5, lane6)

fin6:
	FINISH(SI, 6, lane7)

fin7:
	FINISH(DI, 7, lane8)

fin8:
	FINISH(R14, 8, round)

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

// func laneFillAVX2(even, odd, src *byte, n uint64)
//
// The planes are seldom in the first-level cache any more, and stores wait for it one after another: so it is asked ahead.
TEXT ·laneFillAVX2(SB), NOSPLIT, $0-32
	MOVQ even+0(FP), AX
	MOVQ odd+8(FP), BX
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	XORL DX, DX

fill:
	PREFETCHT0 512(AX)(DX*1)
	PREFETCHT0 512(BX)(DX*1)
	VMOVDQU (SI)(DX*1), Y0
	VMOVDQU 8(SI)(DX*1), Y1
	VPSLLQ  $60, Y1, Y1
	VPSRLQ  $4, Y0, Y2
	VPOR    Y1, Y2, Y2
	VMOVDQU Y0, (AX)(DX*1)
	VMOVDQU Y2, (BX)(DX*1)
	VMOVDQU 32(SI)(DX*1), Y0
	VMOVDQU 40(SI)(DX*1), Y1
	VPSLLQ  $60, Y1, Y1
	VPSRLQ  $4, Y0, Y2
	VPOR    Y1, Y2, Y2
	VMOVDQU Y0, 32(AX)(DX*1)
	VMOVDQU Y2, 32(BX)(DX*1)
	ADDQ    $64, DX
	CMPQ    DX, CX
	JCS     fill
	VZEROUPPER
	RET
