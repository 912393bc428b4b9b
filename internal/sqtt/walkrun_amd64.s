//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rdna_amd64.h"

// The slot that a record's token in CX names, in BX; its low byte is in DX, and CX is lost.
#define SLOT11 \
	MOVQ CX, BX; \
	MOVBLZX walkOps_slot(R11)(DX*1), CX; \
	SHRQ CX, BX; \
	ANDL $31, BX

#define SLOT12 \
	MOVL CX, BX; \
	SHRL $7, BX; \
	ANDL $31, BX

// The token at an event, in R9; AX is lost.
#define LOADTOKEN(off) \
	MOVWLZX off(R8), AX; \
	ROLW $15, AX; \
	MOVQ laneScan_planes(R10)(AX*1), R9

// What walkRun.takeGeneric does, in two loops: one for records (next, loop), another for tokens of waves and of time (wnext, wloop),
// which often come many at a time. R8 is the event, R10 the scan, R12 the walkRun. Of each event CX is the token and AX the time;
// the next one's token, in R9, is loaded before the branch on what this one is, which is often mispredicted, so that no wait for it
// follows. What stands behind the last event is loaded, too: any position is good for a load.
//
// In the loop for records R11 is the ops, R13 the nodes, DX the token's low byte and R15 the next one's. A record waits in X0 (PC
// and Time) and X2 (the rest) for the next one to store it at SI, behind that one's loads: they would wait until it is known that
// this is not where they load.
//
// In the other one R11 is live, R13 where the next wave goes, SI the events' base time, R15 runs, and BX how many waves began.
#define WALKRUN(SLOT, KEY_START, KEY_END, VALUE, QUEUE, REALTIME) \
	MOVQ r+0(FP), R12; \
	MOVQ events+8(FP), R8; \
	MOVQ n+16(FP), AX; \
	LEAQ (R8)(AX*8), AX; \
	MOVQ AX, n+16(FP); /* the end of the events */ \
	MOVQ base+24(FP), AX; \
	SUBQ waveRun_origin(R12), AX; \
	MOVQ AX, piece-40(SP); /* base less origin */ \
	ADDQ walkRun_hurried(R12), AX; \
	MOVQ AX, hurried-48(SP); \
	MOVQ wave+32(FP), AX; \
	MOVQ AX, first-56(SP); \
	MOVQ $0, began+72(FP); \
	SHLQ $4, nodes_len+48(FP); /* in bytes */ \
	MOVQ waveRun_scan(R12), R10; \
	MOVQ walkRun_ops(R12), R11; \
	MOVQ nodes_base+40(FP), R13; \
	LEAQ scratch-32(SP), SI; \
	LOADTOKEN(0); \
	MOVBLZX R9, R15; \
	JMP  loop; \
next: \
	ADDQ $8, R8; \
loop: \
	CMPQ R8, n+16(FP); \
	JCC  done; \
	MOVBLZX walkOps_kind(R11)(R15*1), DI; \
	MOVQ R9, CX; \
	MOVL R15, DX; \
	LOADTOKEN(8); \
	MOVBLZX R9, R15; \
	MOVQ (R8), AX; \
	SHRQ $const_scanTime, AX; \
	ADDQ base+24(FP), AX; \
	TESTL DI, DI; \
	JNE  other; \
record: \
	MOVL CX, DI; \
	SHRL $12, DI; \
	ANDL (walkOps_row+opRow_mask)(R11)(DX*8), DI; \
	ADDL (walkOps_row+opRow_base)(R11)(DX*8), DI; \
	CMPB (walkOps_ops+opInst_kind)(R11)(DI*8), $const_opPlain; \
	JNE  unusual; \
	SLOT; \
	MOVQ walkRun_slots(R12)(BX*8), BX; \
	MOVL tracedWave_at(BX), DX; \
	MOVQ tracedWave_insts+8(BX), CX; \
	MOVBLZX (walkOps_ops+opInst_noUnit)(R11)(DI*8), R14; \
	MOVQ tracedWave_ready(BX)(R14*8), R14; \
	MOVUPS X0, (SI); \
	MOVUPS X2, 16(SI); \
	CMPQ DX, nodes_len+48(FP); \
	JCC  done; \
	CMPQ CX, tracedWave_insts+16(BX); \
	JGE  done; \
	LEAQ 1(CX), SI; \
	MOVQ SI, tracedWave_insts+8(BX); \
	SHLQ $5, CX; /* the size of an Inst */ \
	ADDQ tracedWave_insts+0(BX), CX; \
	MOVQ CX, SI; \
	CMPQ AX, R14; \
	CMOVQCS AX, R14; \
	MOVQ codeNode_pc(R13)(DX*1), X0; \
	MOVQ R14, X1; \
	PUNPCKLQDQ X1, X0; \
	MOVQ AX, CX; \
	SUBQ R14, CX; \
	MOVBLZX (walkOps_ops+opInst_taken)(R11)(DI*8), R14; \
	LEAQ (DX)(R14*4), DX; \
	MOVL codeNode_succ(R13)(DX*1), DX; \
	MOVL DX, tracedWave_at(BX); \
	MOVBLZX (walkOps_ops+opInst_clocks)(R11)(DI*8), R14; \
	MOVQ $-1, tracedWave_ready+0(BX); \
	ADDQ R14, AX; \
	MOVQ AX, tracedWave_ready+8(BX); \
	ADDQ CX, R14; \
	SHLQ $32, R14; \
	ORQ  R14, CX; \
	MOVQ CX, X2; \
	MOVHPS walkOps_ops(R11)(DI*8), X2; \
	JMP  next; \
unusual: \
	CMPB (walkOps_ops+opInst_kind)(R11)(DI*8), $const_opOther; \
	JEQ  next; \
	JMP  done; \
other: \
	CMPL DI, $const_opReady; \
	JNE  away; \
	SHRL $8, CX; \
	MOVWLZX CX, CX; \
	TESTL CX, CX; \
	JEQ  next; \
ready: \
	BSFL CX, DI; \
	MOVQ walkRun_slots(R12)(DI*8), BX; \
	MOVQ AX, tracedWave_ready+0(BX); \
	LEAL -1(CX), DI; \
	ANDL DI, CX; \
	JNE  ready; \
	JMP  next; \
away: \
	MOVUPS X0, (SI); \
	MOVUPS X2, 16(SI); \
	MOVQ waveRun_live(R12), R11; \
	MOVQ wave+32(FP), R13; \
	MOVQ base+24(FP), SI; \
	MOVL waveRun_runs(R12), R15; \
	XORL BX, BX; \
	JMP  token; \
start: \
	KEY_START; \
	MOVL walkRun_units(R12), DX; \
	ANDL DI, DX; \
	CMPL DX, walkRun_unit(R12); \
	JEQ  wdone; \
	LEAQ (DI)(DI*2), DI; \
	CMPL R15, liveWave_run(R11)(DI*8); \
	JEQ  wdone; \
	MOVL R15, liveWave_run(R11)(DI*8); \
	MOVL CX, liveWave_raw(R11)(DI*8); \
	MOVQ AX, liveWave_start(R11)(DI*8); \
	MOVWLZX (R8), AX; \
	SHLL $2, AX; \
	ADDQ waveRun_first(R12), AX; \
	MOVQ AX, liveWave_off(R11)(DI*8); \
	INCQ BX; \
wnext: \
	ADDQ $8, R8; \
	CMPQ R8, n+16(FP); \
	JCC  wdone; \
	MOVQ R9, CX; \
	LOADTOKEN(8); \
	MOVQ (R8), AX; \
	SHRQ $const_scanTime, AX; \
	ADDQ SI, AX; \
token: \
	MOVL CX, DI; \
	ANDL $31, DI; \
	CMPL DI, $0x0c; \
	JEQ  start; \
	CMPL DI, $0x15; \
	JNE  pass; \
	KEY_END; \
	MOVL walkRun_units(R12), DX; \
	ANDL DI, DX; \
	CMPL DX, walkRun_unit(R12); \
	JEQ  wdone; \
	LEAQ (DI)(DI*2), R14; \
	CMPL R15, liveWave_run(R11)(R14*8); \
	JNE  wdone; \
	MOVL $0, liveWave_run(R11)(R14*8); \
	MOVQ AX, Wave_Stop(R13); \
	MOVQ liveWave_start(R11)(R14*8), AX; \
	MOVQ AX, Wave_Start(R13); \
	MOVL liveWave_raw(R11)(R14*8), AX; \
	SHRL $QUEUE, AX; \
	MOVQ waveRun_begun(R12), R14; \
	MOVQ (R14)(AX*8), AX; \
	MOVQ waveRun_place(R12), R14; \
	MOVL (R14)(DI*4), DI; \
	ORQ  DI, AX; \
	MOVQ AX, Wave_CU(R13); /* and what is behind it */ \
	ADDQ $const_waveSize, R13; \
	JMP  wnext; \
pass: \
	ANDL $15, DI; \
	CMPL DI, $9; \
	JEQ  register; \
	MOVL CX, DI; \
	ANDL $(127+const_miscSave+const_miscStallBegin+const_miscStallEnd), DI; \
	CMPL DI, $0x51; \
	JEQ  wnext; \
	MOVL CX, DI; \
	ANDL $(127+1<<8+REALTIME), DI; \
	CMPL DI, $(1+REALTIME); \
	JEQ  marker; \
	CMPL DI, $1; \
	JNE  back; \
	VALUE; \
	ADDQ SI, CX; \
	MOVQ CX, DX; \
	SUBQ hurried-48(SP), DX; \
	CMPQ DX, $(const_longReady/2); \
	JCC  wdone; \
	MOVQ CX, SI; \
	JMP  wnext; \
marker: \
	MOVQ waveRun_markers+8(R12), DI; \
	CMPQ DI, waveRun_markers+16(R12); \
	JGE  wdone; \
	VALUE; \
	INCQ waveRun_markers+8(R12); \
	SHLQ $4, DI; /* the size of a Marker */ \
	ADDQ waveRun_markers+0(R12), DI; \
	MOVQ AX, Marker_Shader(DI); \
	MOVQ CX, Marker_Realtime(DI); \
	JMP  wnext; \
register: \
	BTL  $15, CX; \
	JCC  wnext; \
	MOVL CX, DI; \
	SHRL $16, DI; \
	SUBL $const_regPGMLo, DI; \
	CMPL DI, $1; \
	JHI  wnext; \
	MOVL CX, DX; \
	SHRL $7, DX; \
	ANDL $15, DX; /* me and pipe */ \
	SHRQ $32, CX; \
	MOVQ walkRun_walk(R12), R14; \
	LEAQ (R14)(DX*8), DX; \
	MOVL CX, (walk_trace+trace_programs)(DX)(DI*4); \
	JMP  wnext; \
back: \
	MOVQ walkRun_ops(R12), R14; \
	MOVBLZX CX, DX; \
	MOVBLZX walkOps_kind(R14)(DX*1), DI; \
	CMPL DI, $const_opReady; \
	JHI  wdone; \
	MOVQ SI, base+24(FP); \
	MOVQ R13, wave+32(FP); \
	ADDQ BX, began+72(FP); \
	MOVQ R14, R11; \
	MOVQ nodes_base+40(FP), R13; \
	LEAQ scratch-32(SP), SI; \
	MOVBLZX R9, R15; \
	TESTL DI, DI; \
	JEQ  record; \
	JMP  other; \
wdone: \
	MOVQ SI, base+24(FP); \
	MOVQ R13, wave+32(FP); \
	ADDQ BX, began+72(FP); \
	LEAQ scratch-32(SP), SI; \
done: \
	MOVUPS X0, (SI); \
	MOVUPS X2, 16(SI); \
	MOVQ base+24(FP), AX; \
	SUBQ piece-40(SP), AX; \
	MOVQ AX, waveRun_origin(R12); \
	SUBQ events+8(FP), R8; \
	SHRQ $3, R8; \
	MOVQ R8, taken+64(FP); \
	MOVQ wave+32(FP), AX; \
	SUBQ first-56(SP), AX; \
	MOVQ AX, wrote+80(FP); \
	RET

// func walkRun11(r *walkRun, events *uint64, n int, base Cycles, wave *Wave, nodes []codeNode) (taken, began, wrote int)
TEXT ·walkRun11(SB), NOSPLIT, $56-88
	WALKRUN(SLOT11, KEY_START11, KEY_END11, VALUE11, 21, 1<<9)

// func walkRun12(r *walkRun, events *uint64, n int, base Cycles, wave *Wave, nodes []codeNode) (taken, began, wrote int)
TEXT ·walkRun12(SB), NOSPLIT, $56-88
	WALKRUN(SLOT12, KEY_START12, KEY_END12, VALUE12, 20, 1<<7)
