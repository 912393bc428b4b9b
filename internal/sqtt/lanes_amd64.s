//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// An entry of lane j, whose scan word is in acc and its place in AX; see laneScan.step. INDEX puts into CX how many events the lane has
// had. The event's code stays in the word.
#define ENTRY(INDEX, acc, j) \
	MOVWLZX laneScan_nibbles(BX)(AX*1), AX; \
	INDEX(acc); \
	ADDQ laneTable_entry(DX)(AX*8), acc; \
	MOVQ acc, (laneScan_events+8*j*const_laneEvents)(BX)(CX*8)

#define BYPEXT(acc) PEXTQ R15, acc, CX

#define BYSHIFTS(acc) \
	MOVQ acc, CX; \
	SHRQ $const_laneEvent, CX; \
	MOVWLZX CX, CX

// A step of lane j, which goes to fin at its limit.
#define STEP(INDEX, acc, j, fin) \
	CMPW acc, laneScan_limit+8*j(BX); \
	JCC  fin; \
	MOVWLZX acc, AX; \
	ENTRY(INDEX, acc, j); \
	MOVWLZX acc, AX; \
	ANDQ $~const_eventCodeMask, acc; \
	ENTRY(INDEX, acc, j); \
	ANDQ $~const_eventCodeMask, acc

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

// Pairs of n bytes from src on. BLEND makes Y1 the even and Y3 the odd ones: of the bytes in Y0 and those behind in Y1, and of both
// moved by a nibble, towards each other, in Y2 and Y3. Y7 has the lower halves.
//
// The pairs are seldom in the first-level cache any more, and stores wait for it one after another: so it is asked ahead.
#define FILL(BLEND) \
	MOVQ pairs+0(FP), BX; \
	MOVQ src+8(FP), SI; \
	MOVQ n+16(FP), CX; \
	LEAQ (BX)(CX*2), BX; \
	LEAQ (SI)(CX*1), SI; \
	NEGQ CX; \
	VPCMPEQB Y7, Y7, Y7; \
	VPSRLW $12, Y7, Y7; \
	VPSLLW $8, Y7, Y6; \
	VPOR Y6, Y7, Y7; \
fill: \
	PREFETCHT0 1024(BX)(CX*2); \
	VPERMQ $0xd8, (SI)(CX*1), Y0; /* so that unpacking leaves all in order */ \
	VPERMQ $0xd8, 1(SI)(CX*1), Y1; \
	VPSLLQ $4, Y0, Y2; \
	VPSRLQ $4, Y1, Y3; \
	BLEND; \
	VPUNPCKLBW Y3, Y1, Y4; \
	VPUNPCKHBW Y3, Y1, Y5; \
	VMOVDQU Y4, (BX)(CX*2); \
	VMOVDQU Y5, 32(BX)(CX*2); \
	ADDQ $32, CX; \
	JNE  fill; \
	VZEROUPPER; \
	RET

#define BLENDAVX2 \
	VPXOR Y2, Y1, Y1; \
	VPXOR Y0, Y3, Y3; \
	VPAND Y7, Y1, Y1; \
	VPAND Y7, Y3, Y3; \
	VPXOR Y2, Y1, Y1; \
	VPXOR Y0, Y3, Y3

#define BLENDAVX512 \
	VPTERNLOGQ $0xe4, Y7, Y2, Y1; \
	VPTERNLOGQ $0xe4, Y7, Y0, Y3

// What laneScan.runGeneric does. BX is the scan, DX the table; each lane's scan word has a register.
#define LANES(INDEX) \
	MOVQ s+0(FP), BX; \
	MOVQ tab+8(FP), DX; \
	MOVQ laneScan_acc+0(BX), R8; \
	MOVQ laneScan_acc+8(BX), R9; \
	MOVQ laneScan_acc+16(BX), R10; \
	MOVQ laneScan_acc+24(BX), R11; \
	MOVQ laneScan_acc+32(BX), R12; \
	MOVQ laneScan_acc+40(BX), R13; \
	MOVQ laneScan_acc+48(BX), SI; \
	MOVQ laneScan_acc+56(BX), DI; \
	MOVQ laneScan_acc+64(BX), R14; \
lane0: \
	STEP(INDEX, R8, 0, fin0); \
lane1: \
	STEP(INDEX, R9, 1, fin1); \
lane2: \
	STEP(INDEX, R10, 2, fin2); \
lane3: \
	STEP(INDEX, R11, 3, fin3); \
lane4: \
	STEP(INDEX, R12, 4, fin4); \
lane5: \
	STEP(INDEX, R13, 5, fin5); \
lane6: \
	STEP(INDEX, SI, 6, fin6); \
lane7: \
	STEP(INDEX, DI, 7, fin7); \
lane8: \
	STEP(INDEX, R14, 8, fin8); \
round: \
	INCQ laneScan_rounds(BX); \
	JMP lane0; \
fin0: \
	FINISH(R8, 0, lane1); \
fin1: \
	FINISH(R9, 1, lane2); \
fin2: \
	FINISH(R10, 2, lane3); \
fin3: \
	FINISH(R11, 3, lane4); \
fin4: \
	FINISH(R12, 4, lane5); \
fin5: \
	FINISH(R13, 5, lane6); \
fin6: \
	FINISH(SI, 6, lane7); \
fin7: \
	FINISH(DI, 7, lane8); \
fin8: \
	FINISH(R14, 8, round)

// func laneRun(s *laneScan, tab *laneTable)
TEXT ·laneRun(SB), NOSPLIT, $0-16
	LANES(BYSHIFTS)

// func laneRunPEXT(s *laneScan, tab *laneTable)
TEXT ·laneRunPEXT(SB), NOSPLIT, $0-16
	MOVQ $(0xffff<<const_laneEvent), R15
	LANES(BYPEXT)

// func laneFill(pairs, src *byte, n uint64)
TEXT ·laneFill(SB), NOSPLIT, $0-24
	FILL(BLENDAVX2)

// func laneFill512(pairs, src *byte, n uint64)
TEXT ·laneFill512(SB), NOSPLIT, $0-24
	FILL(BLENDAVX512)
