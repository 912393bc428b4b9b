//go:build !purego

#include "go_asm.h"
#include "textflag.h"

#define KEY_START11 \
	MOVL R15, AX; \
	SHRL $7, AX; \
	ANDL $0x7ff, AX

#define KEY_START12 \
	MOVL R15, AX; \
	SHRL $7, AX; \
	ANDL $0x7f, AX; \
	MOVL R15, R14; \
	SHRL $8, R14; \
	ANDL $0xf80, R14; \
	ORL  R14, AX

#define KEY_END11 \
	MOVL R15, AX; \
	SHRL $8, AX; \
	ANDL $0x3f, AX; \
	SHRL $9, R15; \
	ANDL $0x7c0, R15; \
	ORL  R15, AX

#define KEY_END12 \
	MOVL R15, AX; \
	SHRL $8, AX; \
	ANDL $0xfff, AX

// The 64 bits at the nibble in the low 16 bits of at; see laneScan.load64.
#define LOAD64(at, i, w) \
	MOVWLZX at, i; \
	ROLW $15, i; \
	MOVQ laneScan_planes(R9)(i*1), w

// What waveRun.rdnaGeneric does, but it stops at realtime markers. SI to R8: the events; R11: their base time; R12 to R13:
// where waves go; DI: runs. Of each event DX is the scan word, CX the NOPs' bits before its token and R15 the token.
#define WAVERUN(KEY_START, KEY_END, PIPE, REALTIME, DELTA) \
	MOVQ r+0(FP), BX; \
	MOVQ events+8(FP), SI; \
	MOVQ n+16(FP), R8; \
	LEAQ (SI)(R8*8), R8; \
	MOVQ base+24(FP), R11; \
	ADDQ waveRun_origin(BX), R11; \
	MOVQ waveRun_scan(BX), R9; \
	MOVQ waveRun_live(BX), R10; \
	MOVL waveRun_runs(BX), DI; \
	MOVQ waveRun_waves(BX), CX; \
	MOVQ waveRun_n(BX), AX; \
	IMULQ $Wave__size, AX; \
	LEAQ (CX)(AX*1), R12; \
	MOVQ waveRun_waves+8(BX), R13; \
	IMULQ $Wave__size, R13; \
	ADDQ CX, R13; \
	JMP  next; \
start: \
	MOVWLZX DX, AX; \
	LEAQ (CX)(AX*4), CX; \
	ADDQ waveRun_first(BX), CX; \
	SHRQ $const_scanTime, DX; \
	ADDQ R11, DX; \
	MOVL R15, AX; \
	SHRL $5, AX; \
	ANDL $3, AX; \
	ADDQ AX, DX; \
	KEY_START; \
	LEAQ (AX)(AX*2), AX; \
	CMPL liveWave_run(R10)(AX*8), DI; \
	JEQ  done; \
	MOVQ DX, liveWave_start(R10)(AX*8); \
	MOVQ CX, liveWave_off(R10)(AX*8); \
	MOVL DI, liveWave_run(R10)(AX*8); \
	MOVL R15, liveWave_raw(R10)(AX*8); \
	INCQ waveRun_open(BX); \
skip: \
	ADDQ $8, SI; \
next: \
	CMPQ SI, R8; \
	JCC  done; \
	MOVQ (SI), DX; \
	LOAD64(DX, AX, R15); \
	MOVL R15, CX; \
	ORL  $0x1000, CX; \
	BSFL CX, CX; \
	ANDL $0xfffffffc, CX; \
	SHRQ CX, R15; \
	MOVL R15, AX; \
	ANDL $31, AX; \
	CMPL AX, $0x0c; \
	JEQ  start; \
	CMPL AX, $0x15; \
	JNE  other; \
	SHRQ $const_scanTime, DX; \
	ADDQ R11, DX; \
	MOVL R15, AX; \
	SHRL $5, AX; \
	ANDL $7, AX; \
	ADDQ AX, DX; \
	KEY_END; \
	LEAQ (AX)(AX*2), CX; \
	CMPL liveWave_run(R10)(CX*8), DI; \
	JNE  done; \
	CMPQ R12, R13; \
	JCC  done; \
	MOVL $0, liveWave_run(R10)(CX*8); \
	MOVQ liveWave_start(R10)(CX*8), R14; \
	MOVL liveWave_raw(R10)(CX*8), CX; \
	MOVQ R14, Wave_Start(R12); \
	MOVQ DX, Wave_Stop(R12); \
	MOVQ waveRun_place(BX), R14; \
	MOVL (R14)(AX*4), AX; \
	MOVL CX, DX; \
	SHRL $25, DX; \
	LEAQ ·lanesOf(SB), R14; \
	MOVL (R14)(DX*4), DX; \
	SHLL $24, DX; \
	ORL  DX, AX; \
	MOVL AX, Wave_CU(R12); \
	SHRL $PIPE, CX; \
	MOVL CX, DX; \
	ANDL $3, CX; \
	MOVB CX, Wave_Pipe(R12); \
	SHRL $2, DX; \
	ANDL $1, DX; \
	MOVB DX, Wave_ME(R12); \
	ADDQ $Wave__size, R12; \
	INCQ waveRun_n(BX); \
	JMP  skip; \
other: \
	MOVL R15, AX; \
	ANDL $(127+const_miscSave+const_miscStallBegin+const_miscStallEnd), AX; \
	CMPL AX, $0x51; \
	JEQ  skip; \
	ANDL $(127+1<<8+REALTIME), R15; \
	CMPL R15, $1; \
	JNE  done; \
	SHRL $2, CX; \
	ADDL CX, DX; \
	LOAD64(DX, AX, R15); \
	DELTA; \
	ADDQ R15, R11; \
	ADDQ R15, waveRun_origin(BX); \
	JMP  skip; \
done: \
	SUBQ events+8(FP), SI; \
	SHRQ $3, SI; \
	MOVQ SI, ret+32(FP); \
	RET

#define DELTA11 \
	SHLQ $16, R15; \
	SHRQ $28, R15

#define DELTA12 \
	SHRQ $12, R15

// func waveRun11(r *waveRun, events *uint64, n int, base Cycles) int
TEXT ·waveRun11(SB), NOSPLIT, $0-40
	WAVERUN(KEY_START11, KEY_END11, 21, 1<<9, DELTA11)

// func waveRun12(r *waveRun, events *uint64, n int, base Cycles) int
TEXT ·waveRun12(SB), NOSPLIT, $0-40
	WAVERUN(KEY_START12, KEY_END12, 20, 1<<7, DELTA12)
