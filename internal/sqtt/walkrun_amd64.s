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

// The value of a TIMESTAMP in CX.
#define VALUE11 \
	SHLQ $16, CX; \
	SHRQ $28, CX

#define VALUE12 \
	SHRQ $12, CX

// The token at R8's event, in R9, and its low byte, in R15; AX is lost.
#define LOADEVENT(off) \
	MOVWLZX off(R8), AX; \
	ROLW $15, AX; \
	MOVQ laneScan_planes(R10)(AX*1), R9; \
	MOVBLZX R9, R15

// What walkRun.takeGeneric does. R8 is the event, R10 the scan, R11 the ops, R12 the walkRun, R13 the nodes. Of each event CX is
// the token and DX its low byte; the next one's are loaded before the branch on what this one is, which is often mispredicted, so
// that no wait for them follows. What stands behind the last event is loaded, too: any position is good for a load.
//
// A record waits in X0 (PC and Time) and X2 (the rest) for the next one to store it at SI, behind that one's loads: they would
// wait until it is known that this is not where they load.
#define WALKRUN(SLOT, KEY_START, KEY_END, VALUE, QUEUE, REALTIME) \
	MOVQ events+8(FP), R8; \
	MOVQ n+16(FP), R9; \
	LEAQ (R8)(R9*8), R9; \
	MOVQ R9, n+16(FP); /* the end of the events */ \
	MOVQ nodes_base+32(FP), R13; \
	SHLQ $4, nodes_len+40(FP); /* in bytes */ \
	MOVQ r+0(FP), R12; \
	MOVQ walkRun_scan(R12), R10; \
	MOVQ walkRun_ops(R12), R11; \
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
	CMPQ DX, nodes_len+40(FP); \
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
	CMPL DI, $const_opEnd; \
	JEQ  end; \
	CMPL DI, $const_opStart; \
	JEQ  start; \
	CMPL DI, $const_opReg; \
	JEQ  register; \
	CMPL DI, $const_opReady; \
	JNE  pass; \
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
start: \
	KEY_START; \
	MOVL walkRun_units(R12), DX; \
	ANDL DI, DX; \
	CMPL DX, walkRun_unit(R12); \
	JEQ  done; \
	LEAQ (DI)(DI*2), DI; \
	MOVQ walkRun_live(R12), DX; \
	LEAQ (DX)(DI*8), DX; \
	MOVL walkRun_runs(R12), DI; \
	CMPL DI, liveWave_run(DX); \
	JEQ  done; \
	MOVL DI, liveWave_run(DX); \
	MOVL CX, liveWave_raw(DX); \
	MOVQ AX, liveWave_start(DX); \
	MOVWLZX (R8), DI; \
	SHLL $2, DI; \
	ADDQ walkRun_first(R12), DI; \
	MOVQ DI, liveWave_off(DX); \
	INCQ walkRun_begin(R12); \
	JMP  next; \
end: \
	KEY_END; \
	MOVL walkRun_units(R12), DX; \
	ANDL DI, DX; \
	CMPL DX, walkRun_unit(R12); \
	JEQ  done; \
	LEAQ (DI)(DI*2), R14; \
	MOVQ walkRun_live(R12), DX; \
	LEAQ (DX)(R14*8), DX; \
	MOVL walkRun_runs(R12), R14; \
	CMPL R14, liveWave_run(DX); \
	JNE  done; \
	MOVQ walkRun_n(R12), R14; \
	CMPQ R14, walkRun_waves+8(R12); \
	JGE  done; \
	INCQ walkRun_n(R12); \
	MOVL $0, liveWave_run(DX); \
	LEAQ (R14)(R14*2), R14; \
	MOVQ walkRun_waves+0(R12), CX; \
	LEAQ (CX)(R14*8), R14; /* Wave__size is 24 */ \
	MOVQ AX, Wave_Stop(R14); \
	MOVQ liveWave_start(DX), CX; \
	MOVQ CX, Wave_Start(R14); \
	MOVL liveWave_raw(DX), CX; \
	SHRL $QUEUE, CX; \
	MOVQ walkRun_begun(R12), AX; \
	MOVQ (AX)(CX*8), AX; \
	MOVQ walkRun_place(R12), DX; \
	MOVL (DX)(DI*4), DX; \
	ORQ  DX, AX; \
	MOVQ AX, Wave_CU(R14); /* and what is behind it */ \
	JMP  next; \
pass: \
	CMPL DI, $const_opMisc; \
	JNE  time; \
	TESTL $(const_miscSave+const_miscStallBegin+const_miscStallEnd), CX; \
	JEQ  next; \
	JMP  done; \
time: \
	CMPL DI, $const_opTime; \
	JNE  done; \
	MOVL CX, DI; \
	ANDL $(1<<8+REALTIME), DI; \
	CMPL DI, $REALTIME; \
	JEQ  marker; \
	TESTL DI, DI; \
	JNE  done; \
	VALUE; \
	MOVQ walkRun_origin(R12), DI; \
	ADDQ CX, DI; \
	MOVQ DI, DX; \
	SUBQ walkRun_hurried(R12), DX; \
	CMPQ DX, $(const_longReady/2); \
	JCC  done; \
	MOVQ DI, walkRun_origin(R12); \
	ADDQ CX, base+24(FP); \
	JMP  next; \
marker: \
	MOVQ walkRun_markers+8(R12), DI; \
	CMPQ DI, walkRun_markers+16(R12); \
	JGE  done; \
	VALUE; \
	INCQ walkRun_markers+8(R12); \
	SHLQ $4, DI; /* the size of a Marker */ \
	ADDQ walkRun_markers+0(R12), DI; \
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
	MOVQ walkRun_walk(R12), BX; \
	LEAQ (BX)(DX*8), DX; \
	MOVL CX, (walk_trace+trace_programs)(DX)(DI*4); \
	JMP  next; \
done: \
	MOVUPS X0, (SI); \
	MOVUPS X2, 16(SI); \
	SUBQ events+8(FP), R8; \
	SHRQ $3, R8; \
	MOVQ R8, ret+56(FP); \
	RET

// func walkRun11(r *walkRun, events *uint64, n int, base Cycles, nodes []codeNode) int
TEXT ·walkRun11(SB), NOSPLIT, $32-64
	WALKRUN(SLOT11, KEY_START11, KEY_END11, VALUE11, 21, 1<<9)

// func walkRun12(r *walkRun, events *uint64, n int, base Cycles, nodes []codeNode) int
TEXT ·walkRun12(SB), NOSPLIT, $32-64
	WALKRUN(SLOT12, KEY_START12, KEY_END12, VALUE12, 20, 1<<7)
