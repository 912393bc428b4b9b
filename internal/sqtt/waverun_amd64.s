//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rdna_amd64.h"

// The token at an event, in R15; AX is lost.
#define LOADTOKEN(off) \
	MOVWLZX off(SI), AX; \
	ROLW $15, AX; \
	MOVQ laneScan_planes(R9)(AX*1), R15

// What waveRun.rdnaGeneric does. SI to R8: the events; R11: their base time; R12: where the next wave goes; R13: how many began;
// DX: runs. Of each event CX is the token and AX its time; the next one's token is loaded before the branch on what this one is,
// which is often mispredicted, so that no wait for it follows. Behind the last event any position is good for a load.
#define WAVERUN(KEY_START, KEY_END, VALUE, QUEUE, REALTIME) \
	MOVQ r+0(FP), BX; \
	MOVQ events+8(FP), SI; \
	MOVQ n+16(FP), R8; \
	LEAQ (SI)(R8*8), R8; \
	MOVQ base+24(FP), R11; \
	ADDQ waveRun_origin(BX), R11; \
	MOVQ next+32(FP), R12; \
	XORL R13, R13; \
	MOVQ waveRun_scan(BX), R9; \
	MOVQ waveRun_live(BX), R10; \
	MOVL waveRun_runs(BX), DX; \
	LOADTOKEN(0); \
	JMP  loop; \
start: \
	KEY_START; \
	LEAQ (DI)(DI*2), DI; \
	CMPL DX, liveWave_run(R10)(DI*8); \
	JEQ  done; \
	MOVQ AX, liveWave_start(R10)(DI*8); \
	MOVL DX, liveWave_run(R10)(DI*8); \
	MOVL CX, liveWave_raw(R10)(DI*8); \
	MOVWLZX (SI), AX; \
	SHLL $2, AX; \
	ADDQ waveRun_first(BX), AX; \
	MOVQ AX, liveWave_off(R10)(DI*8); \
	INCQ R13; \
next: \
	ADDQ $8, SI; \
loop: \
	CMPQ SI, R8; \
	JCC  done; \
	MOVQ R15, CX; \
	LOADTOKEN(8); \
	MOVQ (SI), AX; \
	SHRQ $const_scanTime, AX; \
	ADDQ R11, AX; \
	MOVL CX, DI; \
	ANDL $31, DI; \
	CMPL DI, $0x0c; \
	JEQ  start; \
	CMPL DI, $0x15; \
	JNE  other; \
	KEY_END; \
	LEAQ (DI)(DI*2), R14; \
	CMPL DX, liveWave_run(R10)(R14*8); \
	JNE  done; \
	MOVL $0, liveWave_run(R10)(R14*8); \
	MOVQ AX, Wave_Stop(R12); \
	MOVQ liveWave_start(R10)(R14*8), AX; \
	MOVQ AX, Wave_Start(R12); \
	MOVL liveWave_raw(R10)(R14*8), AX; \
	SHRL $QUEUE, AX; \
	MOVQ waveRun_begun(BX), R14; \
	MOVQ (R14)(AX*8), AX; \
	MOVQ waveRun_place(BX), R14; \
	MOVL (R14)(DI*4), DI; \
	ORQ  DI, AX; \
	MOVQ AX, Wave_CU(R12); /* and what is behind it */ \
	ADDQ $const_waveSize, R12; \
	JMP  next; \
other: \
	MOVL CX, DI; \
	ANDL $(127+const_miscSave+const_miscStallBegin+const_miscStallEnd), DI; \
	CMPL DI, $0x51; \
	JEQ  next; \
	MOVL CX, DI; \
	ANDL $(127+1<<8+REALTIME), DI; \
	CMPL DI, $1; \
	JNE  marker; \
	VALUE; \
	ADDQ CX, R11; \
	JMP  next; \
marker: \
	CMPL DI, $(1+REALTIME); \
	JNE  done; \
	MOVQ waveRun_markers+8(BX), DI; \
	CMPQ DI, waveRun_markers+16(BX); \
	JGE  done; \
	VALUE; \
	INCQ waveRun_markers+8(BX); \
	SHLQ $4, DI; /* the size of a Marker */ \
	ADDQ waveRun_markers+0(BX), DI; \
	MOVQ AX, Marker_Shader(DI); \
	MOVQ CX, Marker_Realtime(DI); \
	JMP  next; \
done: \
	SUBQ base+24(FP), R11; \
	MOVQ R11, waveRun_origin(BX); \
	SUBQ events+8(FP), SI; \
	SHRQ $3, SI; \
	MOVQ SI, taken+40(FP); \
	MOVQ R13, began+48(FP); \
	SUBQ next+32(FP), R12; \
	MOVQ R12, wrote+56(FP); \
	RET

// func waveRun11(r *waveRun, events *uint64, n int, base Cycles, next *Wave) (taken, began, wrote int)
TEXT ·waveRun11(SB), NOSPLIT, $0-64
	WAVERUN(KEY_START11, KEY_END11, VALUE11, 21, 1<<9)

// func waveRun12(r *waveRun, events *uint64, n int, base Cycles, next *Wave) (taken, began, wrote int)
TEXT ·waveRun12(SB), NOSPLIT, $0-64
	WAVERUN(KEY_START12, KEY_END12, VALUE12, 20, 1<<7)
