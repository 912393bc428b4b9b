//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The key of the slot that a token in CX names, in DI; DX is lost.
#define KEY_START11 \
	MOVL CX, DI; \
	SHRL $7, DI; \
	ANDL $0x7ff, DI

#define KEY_START12 \
	MOVL CX, DI; \
	SHRL $7, DI; \
	ANDL $0x7f, DI; \
	MOVL CX, DX; \
	SHRL $8, DX; \
	ANDL $0xf80, DX; \
	ORL  DX, DI

#define KEY_END11 \
	MOVL CX, DI; \
	SHRL $8, DI; \
	ANDL $0x3f, DI; \
	MOVL CX, DX; \
	SHRL $9, DX; \
	ANDL $0x7c0, DX; \
	ORL  DX, DI

#define KEY_END12 \
	MOVL CX, DI; \
	SHRL $8, DI; \
	ANDL $0xfff, DI

// The slot that a record's token in CX names, in BX; CX is lost.
#define SLOT11 \
	MOVQ CX, BX; \
	MOVBLZX walkOps_slot(R11)(DX*1), CX; \
	SHRQ CX, BX; \
	ANDL $31, BX

#define SLOT12 \
	MOVL CX, BX; \
	SHRL $7, BX; \
	ANDL $31, BX

// The value of a TIMESTAMP in CX.
#define VALUE11 \
	SHLQ $16, CX; \
	SHRQ $28, CX

#define VALUE12 \
	SHRQ $12, CX

// The token at R8's event, in R9, and its index of ops, in R15; AX is lost.
#define LOADEVENT(off) \
	MOVWLZX off(R8), AX; \
	ROLW $15, AX; \
	MOVQ laneScan_planes(R10)(AX*1), R9; \
	MOVL R9, R15; \
	SHRL $8, R15; \
	ANDL $0xff0, R15; \
	MOVL R9, AX; \
	ANDL $15, AX; \
	ORL  AX, R15

// What walkRun.takeGeneric does. R8 is the event, R10 the scan, R11 the ops, R12 the walk, R13 the nodes. Of each event CX is the
// token and DX its index of ops; the next one's are loaded before the branch on what this one is, which is often mispredicted, so
// that no wait for them follows. What stands behind the last event is loaded, too: any position is good for a load.
//
// A record waits in X0 (PC and Time) and X2 (the rest) for the next one to store it at SI, behind that one's loads: they would
// wait until it is known that this is not where they load.
#define WALKRUN(SLOT, KEY_START, KEY_END, VALUE, QUEUE, REALTIME) \
	MOVQ events+8(FP), R8; \
	MOVQ n+16(FP), R9; \
	LEAQ (R8)(R9*8), R9; \
	MOVQ R9, n+16(FP); /* the end of the events */ \
	MOVQ k+32(FP), R12; \
	MOVQ nodes_base+40(FP), R13; \
	SHLQ $4, nodes_len+48(FP); /* in bytes */ \
	MOVQ r+0(FP), BX; \
	MOVQ walkRun_scan(BX), R10; \
	MOVQ walkRun_ops(BX), R11; \
	LEAQ scratch-32(SP), SI; \
	LOADEVENT(0); \
	JMP  loop; \
next: \
	ADDQ $8, R8; \
loop: \
	CMPQ R8, n+16(FP); \
	JCC  done; \
	MOVBLZX walkOps_kind(R11)(R15*1), DI; \
	MOVQ R9, CX; \
	MOVL R15, DX; \
	LOADEVENT(8); \
	MOVQ (R8), AX; \
	SHRQ $const_scanTime, AX; \
	ADDQ base+24(FP), AX; \
	TESTL DI, DI; \
	JNE  other; \
	SLOT; \
	MOVQ walk_slots(R12)(BX*8), BX; \
	MOVL tracedWave_at(BX), DI; \
	MOVQ tracedWave_insts+8(BX), CX; \
	MOVBLZX walkOps_noUnit(R11)(DX*1), R14; \
	MOVQ tracedWave_ready(BX)(R14*8), R14; \
	MOVUPS X0, (SI); \
	MOVUPS X2, 16(SI); \
	CMPQ DI, nodes_len+48(FP); \
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
	MOVQ codeNode_pc(R13)(DI*1), X0; \
	MOVQ R14, X1; \
	PUNPCKLQDQ X1, X0; \
	MOVQ AX, CX; \
	SUBQ R14, CX; \
	MOVBLZX walkOps_taken(R11)(DX*1), R14; \
	LEAQ (DI)(R14*4), DI; \
	MOVL codeNode_succ(R13)(DI*1), DI; \
	MOVL DI, tracedWave_at(BX); \
	MOVBLZX walkOps_clocks(R11)(DX*1), R14; \
	MOVQ $-1, tracedWave_ready+0(BX); \
	ADDQ R14, AX; \
	MOVQ AX, tracedWave_ready+8(BX); \
	ADDQ CX, R14; \
	SHLQ $32, R14; \
	ORQ  R14, CX; \
	MOVQ CX, X2; \
	MOVHPS walkOps_category(R11)(DX*8), X2; \
	JMP  next; \
other: \
	CMPL DI, $const_opEnd; \
	JEQ  end; \
	CMPL DI, $const_opStart; \
	JEQ  start; \
	CMPL DI, $const_opOther; \
	JEQ  next; \
	CMPL DI, $const_opReady; \
	JNE  pass; \
	BTL  $4, CX; \
	JCC  done; \
	SHRL $8, CX; \
	MOVWLZX CX, CX; \
	TESTL CX, CX; \
	JEQ  next; \
ready: \
	BSFL CX, DI; \
	MOVQ walk_slots(R12)(DI*8), BX; \
	MOVQ AX, tracedWave_ready+0(BX); \
	LEAL -1(CX), DI; \
	ANDL DI, CX; \
	JNE  ready; \
	JMP  next; \
start: \
	BTL  $4, CX; \
	JCS  done; \
	MOVQ r+0(FP), BX; \
	KEY_START; \
	MOVL walkRun_units(BX), DX; \
	ANDL DI, DX; \
	CMPL DX, walkRun_unit(BX); \
	JEQ  done; \
	LEAQ (DI)(DI*2), DI; \
	MOVQ walkRun_live(BX), DX; \
	LEAQ (DX)(DI*8), DX; \
	MOVL walkRun_runs(BX), DI; \
	CMPL DI, liveWave_run(DX); \
	JEQ  done; \
	MOVL DI, liveWave_run(DX); \
	MOVL CX, liveWave_raw(DX); \
	MOVQ AX, liveWave_start(DX); \
	MOVWLZX (R8), DI; \
	SHLL $2, DI; \
	ADDQ walkRun_first(BX), DI; \
	MOVQ DI, liveWave_off(DX); \
	INCQ walkRun_begin(BX); \
	JMP  next; \
end: \
	BTL  $4, CX; \
	JCC  done; \
	MOVQ r+0(FP), BX; \
	KEY_END; \
	MOVL walkRun_units(BX), DX; \
	ANDL DI, DX; \
	CMPL DX, walkRun_unit(BX); \
	JEQ  done; \
	LEAQ (DI)(DI*2), R14; \
	MOVQ walkRun_live(BX), DX; \
	LEAQ (DX)(R14*8), DX; \
	MOVL walkRun_runs(BX), R14; \
	CMPL R14, liveWave_run(DX); \
	JNE  done; \
	MOVQ walkRun_n(BX), R14; \
	CMPQ R14, walkRun_waves+8(BX); \
	JGE  done; \
	INCQ walkRun_n(BX); \
	MOVL $0, liveWave_run(DX); \
	LEAQ (R14)(R14*2), R14; \
	MOVQ walkRun_waves+0(BX), CX; \
	LEAQ (CX)(R14*8), R14; /* Wave__size is 24 */ \
	MOVQ AX, Wave_Stop(R14); \
	MOVQ liveWave_start(DX), CX; \
	MOVQ CX, Wave_Start(R14); \
	MOVL liveWave_raw(DX), CX; \
	SHRL $QUEUE, CX; \
	MOVQ walkRun_begun(BX), AX; \
	MOVQ (AX)(CX*8), AX; \
	MOVQ walkRun_place(BX), DX; \
	MOVL (DX)(DI*4), DX; \
	ORQ  DX, AX; \
	MOVQ AX, Wave_CU(R14); /* and what is behind it */ \
	JMP  next; \
pass: \
	CMPL DI, $const_opReg; \
	JEQ  register; \
	MOVQ r+0(FP), BX; \
	MOVL CX, DI; \
	ANDL $(127+const_miscSave+const_miscStallBegin+const_miscStallEnd), DI; \
	CMPL DI, $0x51; \
	JEQ  next; \
	MOVL CX, DI; \
	ANDL $(127+1<<8+REALTIME), DI; \
	CMPL DI, $(1+REALTIME); \
	JEQ  marker; \
	CMPL DI, $1; \
	JNE  done; \
	VALUE; \
	MOVQ walkRun_origin(BX), DI; \
	ADDQ CX, DI; \
	MOVQ DI, DX; \
	SUBQ walkRun_hurried(BX), DX; \
	CMPQ DX, $(const_longReady/2); \
	JCC  done; \
	MOVQ DI, walkRun_origin(BX); \
	ADDQ CX, base+24(FP); \
	JMP  next; \
marker: \
	MOVQ walkRun_markers+8(BX), DI; \
	CMPQ DI, walkRun_markers+16(BX); \
	JGE  done; \
	VALUE; \
	INCQ walkRun_markers+8(BX); \
	SHLQ $4, DI; /* the size of a Marker */ \
	ADDQ walkRun_markers+0(BX), DI; \
	MOVQ AX, Marker_Shader(DI); \
	MOVQ CX, Marker_Realtime(DI); \
	JMP  next; \
register: \
	BTL  $15, CX; \
	JCC  next; \
	MOVL CX, DI; \
	SHRL $16, DI; \
	SUBL $const_regPGMLo, DI; \
	CMPL DI, $1; \
	JHI  next; \
	MOVL CX, DX; \
	SHRL $7, DX; \
	ANDL $15, DX; /* me and pipe */ \
	SHRQ $32, CX; \
	LEAQ (R12)(DX*8), DX; \
	MOVL CX, (walk_trace+trace_programs)(DX)(DI*4); \
	JMP  next; \
done: \
	MOVUPS X0, (SI); \
	MOVUPS X2, 16(SI); \
	SUBQ events+8(FP), R8; \
	SHRQ $3, R8; \
	MOVQ R8, ret+64(FP); \
	RET

// func walkRun11(r *walkRun, events *uint64, n int, base Cycles, k *walk, nodes []codeNode) int
TEXT ·walkRun11(SB), NOSPLIT, $32-72
	WALKRUN(SLOT11, KEY_START11, KEY_END11, VALUE11, 21, 1<<9)

// func walkRun12(r *walkRun, events *uint64, n int, base Cycles, k *walk, nodes []codeNode) int
TEXT ·walkRun12(SB), NOSPLIT, $32-72
	WALKRUN(SLOT12, KEY_START12, KEY_END12, VALUE12, 20, 1<<7)
