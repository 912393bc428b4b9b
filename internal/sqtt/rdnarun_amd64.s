//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Where the entry of an event ends, in BX, the eight pairs before, in CX, and the event's time, in AX. A token of 32 bits begins
// there; shorter ones that are long enough for an entry to end with them end there.
#define PAIRSTIME \
	MOVQ (R8), AX; \
	MOVWLZX AX, BX; \
	MOVQ (laneScan_nibbles-8)(R12)(BX*1), CX; \
	SHRQ $const_laneTime, AX; \
	ADDQ SI, AX

// Where the entry of an event ends, in AX, and the first eight pairs of a token of so many nibbles, in CX.
#define PAIRSOF(nibbles) \
	MOVWLZX (R8), AX; \
	MOVQ (laneScan_nibbles-nibbles)(R12)(AX*1), CX

// A field in pairs x, of those that pairTables has.
#define FIELD(field, x, to) PEXTQ (rdnaRun_tables+field)(R12), x, to

// The value of a TIMESTAMP of so many nibbles, in CX; DX is lost.
#define VALUE(nibbles) \
	FIELD(pairTables_timeLow, CX, CX); \
	MOVQ (laneScan_nibbles-nibbles+8)(R12)(AX*1), DX; \
	FIELD(pairTables_timeHigh, DX, DX); \
	SHLQ $20, DX; \
	ORQ  DX, CX

// An event's time, in AX.
#define TIME \
	MOVQ (R8), AX; \
	SHRQ $const_laneTime, AX; \
	ADDQ SI, AX

// The event at R8 is next: its code's handler takes it. DI is the code.
#define EVENT(HANDLERS) \
	MOVBLZX 2(R8), DI; \
	JMP  HANDLERS(R12)(DI*8)

#define NEXT(HANDLERS) \
	ADDQ $8, R8; \
	EVENT(HANDLERS)

// How many tracedSteps there are, in R14, and the wave of the slot at DI, in BP; DX is lost.
#define STEPROOM(SLOTAT) \
	MOVQ rdnaRun_untold(R12), R14; \
	CMPQ R14, $const_maxSteps; \
	JCC  done; \
	MOVL DI, DX; \
	SHRL $SLOTAT, DX; \
	MOVQ rdnaRun_slots(R12)(DX*8), BP

// Another tracedStep, of the wave that starts by DX or, if that is 0, ends where it stood at CX. R14 is how many there are.
#define STEP \
	INCQ rdnaRun_untold(R12); \
	LEAQ (R14)(R14*2), R14; /* a tracedStep has three words */ \
	LEAQ rdnaRun_steps(R12)(R14*8), R14; \
	MOVL CX, tracedStep_at(R14); \
	MOVL DX, tracedStep_raw(R14); \
	MOVQ AX, tracedStep_now(R14); \
	MOVL DI, tracedStep_in(R14)

// What rdnaRun.takeGeneric does. Each event's handler goes to the next event's itself, so that a branch predictor sees each kind's
// successors apart; handlers begin at multiples of 1024 bytes, see laneScan.handle. R8 is the event, R10 the code's nodes, R11 live, R12
// the rdnaRun and its laneScan, SI the time that events count from, R13 where the next wave goes, R15 runs, X4 how many waves began.
//
// A record waits in X0 (PC and Time) and X2 (the rest) for the next one to store it at R9, behind that one's loads of what the
// records of its wave left: they would wait until it is known that this is not where they load.
#define RDNARUN(HANDLERS, SLOTAT, QUEUE, TIMESTAMP, REALTIME) \
	MOVQ r+0(FP), R12; \
	MOVQ events+8(FP), R8; \
	MOVQ base+16(FP), SI; \
	MOVQ next+24(FP), R13; \
	MOVQ nodes+32(FP), R10; \
	MOVQ rdnaRun_live(R12), R11; \
	MOVL rdnaRun_runs(R12), R15; \
	MOVQ SI, AX; \
	SUBQ rdnaRun_origin(R12), AX; \
	MOVQ AX, piece-40(SP); /* the piece's base */ \
	LEAQ scratch-32(SP), R9; \
	PXOR X4, X4; \
	PCMPEQL X5, X5; /* -1, twice */ \
	EVENT(HANDLERS); \
	PCALIGN $1024; /* records */ \
	PAIRSTIME; \
	PEXTQ (rdnaRun_tables+pairTables_opMask)(R12)(DI*8), CX, DX; \
	PEXTQ (rdnaRun_tables+pairTables_slotMask)(R12)(DI*8), CX, BP; \
	MOVQ (rdnaRun_tables+pairTables_ops)(R12)(DX*8), DX; \
	MOVQ rdnaRun_slots(R12)(BP*8), BP; \
	RORXQ $56, DX, DI; /* the last byte first */ \
	TESTQ DX, DX; \
	JMI  unusual; \
	MOVL DI, BX; \
	ANDL $const_opNoUnit, DI; \
	MOVL tracedWave_at(BP), CX; \
	MOVQ tracedWave_insts+8(BP), R14; \
	MOVQ tracedWave_ready(BP)(DI*1), DI; \
	MOVUPS X0, (R9); \
	MOVUPS X2, 16(R9); \
	TESTL CX, CX; \
	JMI  done; /* nodeRare */ \
	CMPQ R14, $const_partRecords; \
	JGE  done; \
	ADDQ R10, CX; \
	ANDL $const_opTaken, BX; \
	MOVL codeNode_succ(CX)(BX*1), BX; \
	MOVL BX, tracedWave_at(BP); \
	MOVQ codeNode_pc(CX), X0; \
	RORXQ $59, R14, R9; /* times the size of an Inst */ \
	ADDQ tracedWave_insts+0(BP), R9; \
	INCQ R14; \
	MOVQ R14, tracedWave_insts+8(BP); \
	CMPQ AX, DI; \
	CMOVQCS AX, DI; \
	MOVQ DI, X1; \
	PUNPCKLQDQ X1, X0; \
	MOVQ DX, X1; \
	SHRL $16, DX; /* clocks */ \
	MOVQ AX, R14; \
	SUBQ DI, R14; /* the stall */ \
	ADDQ DX, AX; \
	MOVQ $-1, tracedWave_ready+0(BP); \
	MOVQ AX, tracedWave_ready+8(BP); \
	ADDQ R14, DX; \
	SHLQ $32, DX; \
	ORQ  R14, DX; \
	MOVQ DX, X2; \
	PUNPCKLQDQ X1, X2; \
next: \
	NEXT(HANDLERS); \
unusual: \
	CMPB DI, $const_opOther; \
	JEQ  next; \
	JMP  done; \
	PCALIGN $1024; /* eventRare */ \
	JMP  done; \
	PCALIGN $1024; /* eventReady */ \
	PAIRSTIME; \
	FIELD(pairTables_ready, CX, CX); \
	TESTL CX, CX; \
	JEQ  next; \
ready: \
	BSFL CX, DI; \
	MOVQ rdnaRun_slots(R12)(DI*8), DX; \
	MOVQ AX, tracedWave_ready+0(DX); \
	LEAL -1(CX), DI; \
	ANDL DI, CX; \
	JNE  ready; \
	NEXT(HANDLERS); \
	PCALIGN $1024; /* eventTime */ \
	PAIRSOF(TIMESTAMP); \
	MOVL CX, DI; \
	ANDL $(const_pairLost+REALTIME), DI; \
	JNE  marker; \
	VALUE(TIMESTAMP); \
	ADDQ SI, CX; \
	MOVQ CX, DX; \
	SUBQ piece-40(SP), DX; \
	SUBQ rdnaRun_hurried(R12), DX; \
	CMPQ DX, rdnaRun_ahead(R12); \
	JCC  done; \
	MOVQ CX, SI; \
	NEXT(HANDLERS); \
marker: \
	CMPL DI, $REALTIME; \
	JNE  done; \
	MOVQ rdnaRun_markers+8(R12), DI; \
	CMPQ DI, rdnaRun_markers+16(R12); \
	JGE  done; \
	VALUE(TIMESTAMP); \
	TIME; \
	INCQ rdnaRun_markers+8(R12); \
	SHLQ $4, DI; /* the size of a Marker */ \
	ADDQ rdnaRun_markers+0(R12), DI; \
	MOVQ AX, Marker_Shader(DI); \
	MOVQ CX, Marker_Realtime(DI); \
	NEXT(HANDLERS); \
	PCALIGN $1024; /* eventReg */ \
	PAIRSOF(16); \
	FIELD(pairTables_regAddr, CX, DX); \
	SUBL $const_regPGMLo, DX; \
	CMPL DX, $1; \
	JHI  next; \
	TESTL CX, CX; /* a compute register has bit 15, which is here */ \
	JPL  next; \
	FIELD(pairTables_regQueue, CX, CX); \
	MOVQ (laneScan_nibbles-8)(R12)(AX*1), AX; \
	FIELD(pairTables_raw, AX, AX); \
	MOVQ rdnaRun_walk(R12), R14; \
	LEAQ (R14)(CX*8), CX; \
	MOVL AX, (walk_trace+trace_programs)(CX)(DX*4); \
	MOVQ $-0x7fffffff80000000, AX; /* nodeRare, twice */ \
	MOVQ AX, rdnaRun_starts+0(R12); \
	MOVQ AX, rdnaRun_starts+8(R12); \
	MOVQ AX, rdnaRun_starts+16(R12); \
	MOVQ AX, rdnaRun_starts+24(R12); \
	NEXT(HANDLERS); \
	PCALIGN $1024; /* eventMisc */ \
	MOVWLZX (R8), AX; \
	MOVWLZX (laneScan_nibbles-2)(R12)(AX*1), CX; \
	TESTL $const_pairMisc, CX; \
	JNE  done; \
	NEXT(HANDLERS); \
	PCALIGN $1024; /* eventEnd */ \
	PAIRSTIME; \
	FIELD(pairTables_endKey, CX, DI); \
	SHLL $5, DI; /* the size of a liveWave */ \
	MOVL liveWave_place(R11)(DI*1), BX; \
	CMPL R15, liveWave_run(R11)(DI*1); \
	JNE  done; \
	CMPW BX, rdnaRun_unit(R12); \
	JEQ  endTraced; \
ended: \
	MOVL $0, liveWave_run(R11)(DI*1); \
	MOVQ AX, Wave_Stop(R13); \
	MOVQ liveWave_start(R11)(DI*1), AX; \
	MOVQ AX, Wave_Start(R13); \
	MOVL liveWave_raw(R11)(DI*1), AX; \
	SHRL $QUEUE, AX; \
	ORQ  (rdnaRun_tables+pairTables_begun)(R12)(AX*8), BX; \
	MOVQ BX, Wave_CU(R13); /* and what is behind it */ \
	ADDQ $const_waveSize, R13; \
	NEXT(HANDLERS); \
endTraced: /* as rdnaRun.endTraced */ \
	STEPROOM(SLOTAT); \
	MOVL tracedWave_at(BP), CX; \
	CMPL CX, $const_nodeRare; \
	JEQ  done; \
	MOVL $const_nodeRare, tracedWave_at(BP); \
	XORL DX, DX; \
	STEP; \
	JMP  ended; \
	PCALIGN $1024; /* eventStart */ \
	PAIRSTIME; \
	FIELD(pairTables_startKey, CX, DI); \
	FIELD(pairTables_raw, CX, CX); \
	SHLL $5, DI; \
	MOVWLZX liveWave_place(R11)(DI*1), DX; \
	CMPL R15, liveWave_run(R11)(DI*1); \
	JEQ  done; \
	CMPW DX, rdnaRun_unit(R12); \
	JEQ  startTraced; \
started: \
	MOVL R15, liveWave_run(R11)(DI*1); \
	MOVL CX, liveWave_raw(R11)(DI*1); \
	MOVQ AX, liveWave_start(R11)(DI*1); \
	MOVQ rdnaRun_first(R12), R14; \
	LEAQ -32(R14)(BX*4), R14; \
	MOVQ R14, liveWave_off(R11)(DI*1); \
	PSUBQ X5, X4; \
	NEXT(HANDLERS); \
startTraced: /* as rdnaRun.startTraced */ \
	MOVL CX, DX; \
	SHRL $25, DX; \
	CMPL DX, $90; \
	JCS  done; \
	STEPROOM(SLOTAT); \
	CMPB (tracedWave_waveState+waveState_live)(BP), $0; \
	JNE  done; \
	CMPQ tracedWave_insts+16(BP), $const_partRecords; \
	JNE  done; \
	MOVL CX, DX; \
	SHRL $QUEUE, DX; \
	ANDL $7, DX; \
	MOVL rdnaRun_starts(R12)(DX*4), DX; \
	TESTL DX, DX; \
	JMI  done; /* nodeRare */ \
	MOVL DX, tracedWave_at(BP); \
	MOVB $1, (tracedWave_waveState+waveState_live)(BP); \
	MOVQ $-1, tracedWave_ready+0(BP); \
	MOVQ $-1, tracedWave_ready+8(BP); \
	MOVQ $0, tracedWave_insts+8(BP); \
	MOVL CX, DX; \
	XORL CX, CX; \
	STEP; \
	MOVL DX, CX; \
	JMP  started; \
	PCALIGN $1024; /* eventPiece */ \
	INCQ rdnaRun_piece(R12); \
	MOVQ rdnaRun_piece(R12), DX; \
	LEAQ (DX)(DX*2), DX; /* a lanePiece has three words */ \
	LEAQ laneScan_pieces(R12)(DX*8), DX; \
	MOVQ lanePiece_base(DX), AX; \
	SUBQ piece-40(SP), SI; \
	ADDQ AX, SI; \
	MOVQ AX, piece-40(SP); \
	MOVQ lanePiece_first(DX), AX; \
	LEAQ laneScan_events(R12)(AX*8), R8; \
	EVENT(HANDLERS); \
done: \
	MOVUPS X0, (R9); \
	MOVUPS X2, 16(R9); \
	SUBQ piece-40(SP), SI; \
	MOVQ SI, rdnaRun_origin(R12); \
	LEAQ laneScan_events(R12), AX; \
	SUBQ AX, R8; \
	SHRQ $3, R8; \
	MOVQ R8, rdnaRun_next(R12); \
	MOVQ X4, began+40(FP); \
	SUBQ next+24(FP), R13; \
	MOVQ R13, wrote+48(FP); \
	RET

// func rdnaRun11(r *rdnaRun, events *uint64, base Cycles, next *Wave, nodes *codeNode) (began, wrote int)
TEXT ·rdnaRun11(SB), NOSPLIT, $48-56
	RDNARUN(laneScan_handlers, 11, 21, 12, const_pairRealtime11)

// func rdnaRun12(r *rdnaRun, events *uint64, base Cycles, next *Wave, nodes *codeNode) (began, wrote int)
TEXT ·rdnaRun12(SB), NOSPLIT, $48-56
	RDNARUN(laneScan_handlers+8*const_numEventCodes, 12, 20, 16, const_pairRealtime12)

// func rdnaRuns() (run11, run12 uintptr)
TEXT ·rdnaRuns(SB), NOSPLIT, $0-16
	LEAQ ·rdnaRun11(SB), AX
	MOVQ AX, run11+0(FP)
	LEAQ ·rdnaRun12(SB), AX
	MOVQ AX, run12+8(FP)
	RET

// func cpuid(leaf uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET
