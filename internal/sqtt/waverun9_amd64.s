//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// LIVE points SI at the live wave of the slot that the token CX names, whose key it leaves in DX. It goes to done for waves that
// are walked.
#define LIVE \
	MOVL CX, DX; \
	SHRL $6, DX; \
	ANDL $0x3ff, DX; \
	MOVL DX, DI; \
	ANDL $15, DI; \
	INCL DI; \
	CMPL DI, eventRun9_traced(R15); \
	JEQ  done; \
	MOVL DX, SI; \
	SHLL $5, SI; \
	ADDQ R11, SI // a liveWave has 32 bytes

// What eventRun9.some does with what is usual. R8 to R9: the events; R13: their base time; R12: waves so far. Of each event AX is the
// time, BX the unit and CX the token's low bits.
//
// func waveRun9(r *eventRun9, events *uint64, n int, base Cycles) int
TEXT ·waveRun9(SB), NOSPLIT, $0-40
	MOVQ r+0(FP), R15
	MOVQ events+8(FP), R8
	MOVQ n+16(FP), R9
	LEAQ (R8)(R9*8), R9
	MOVQ base+24(FP), R13
	ADDQ eventRun9_origin(R15), R13
	MOVQ eventRun9_win(R15), R10
	MOVQ eventRun9_live(R15), R11
	MOVQ eventRun9_n(R15), R12
	XORL R14, R14 // waves begun, less those that ended
	JMP  next

start:
	LIVE
	MOVL eventRun9_runs(R15), DI
	CMPL DI, liveWave_run(SI)
	JEQ  done
	SHLQ $4, BX
	ADDQ eventRun9_first(R15), BX
	MOVQ AX, liveWave_start(SI)
	MOVQ BX, liveWave_off(SI)
	MOVL DI, liveWave_run(SI)
	MOVL CX, liveWave_raw(SI)
	INCQ R14

skip:
	ADDQ $8, R8

next:
	CMPQ R8, R9
	JEQ  done
	MOVQ (R8), AX
	MOVWLZX AX, BX
	MOVL (R10)(BX*2), CX
	SHRQ $const_scanTime, AX
	LEAQ (R13)(AX*4), AX
	MOVL CX, DI
	ANDL $15, DI
	CMPL DI, $3 // WAVE_START
	JEQ  start
	CMPL DI, $6 // WAVE_END
	JEQ  end
	CMPL DI, $0 // MISC
	JEQ  misc
	CMPL DI, $5 // REG_CS
	JEQ  register
	CMPL DI, $15 // REG_CS_PRIV
	JEQ  register

done:
	MOVQ R12, eventRun9_n(R15)
	ADDQ R14, eventRun9_open(R15)
	SUBQ events+8(FP), R8
	SHRQ $3, R8
	MOVQ R8, ret+32(FP)
	RET

register: // but for those that say where code begins
	SHRL $9, CX
	ANDL $126, CX
	CMPL CX, $const_regPGMLo // and regPGMHi, one above
	JNE  skip
	JMP  done

end:
	LIVE
	MOVL eventRun9_runs(R15), DI
	CMPL DI, liveWave_run(SI)
	JNE  done
	CMPQ R12, eventRun9_waves+8(R15)
	JCC  done
	MOVQ eventRun9_waves(R15), BX
	LEAQ (R12)(R12*2), DI
	LEAQ (BX)(DI*8), BX // a Wave has 24 bytes
	MOVL $0, liveWave_run(SI)
	MOVQ liveWave_start(SI), DI
	MOVL liveWave_raw(SI), CX
	MOVQ DI, Wave_Start(BX)
	MOVQ AX, Wave_Stop(BX)
	MOVL DX, DI // see fill9
	ANDL $0x30f, DI
	ANDL $0xf0, DX
	SHLL $12, DX
	ORL  DX, DI
	MOVL CX, DX
	SHRL $22, DX
	ANDL $127, DX
	XORL AX, AX
	CMPL DX, $65
	CMOVLCC AX, DX
	SHLL $24, DX
	ORL  DX, DI
	MOVL DI, Wave_CU(BX)
	SHRL $16, CX
	MOVL CX, DX
	SHRL $2, DX
	ANDL $3, DX
	ANDL $3, CX
	MOVB DX, Wave_ME(BX)
	MOVB CX, Wave_Pipe(BX)
	INCQ R12
	DECQ R14
	JMP  skip

misc: // see timeAfter
	ANDL $const_scan9Plain, CX
	CMPL CX, $(const_misc9TimeReset<<13)
	JNE  done
	MOVQ eventRun9_clock(R15), SI
	CMPB plain_hasBase(SI), $0
	JEQ  done
	CMPQ plain_look(SI), $0
	JNE  done
	MOVQ eventRun9_blocks(R15), DI
	MOVL BX, DX
	SHRL $6, DX
	MOVL BX, CX
	MOVQ blockScan9_stamp(DI)(DX*8), BX
	SHRQ CX, BX
	TESTQ BX, BX
	JNE  stamp
	INCL DX
	MOVQ blockScan9_stamp(DI)(DX*8), BX
	MOVL DX, CX
	SHLL $6, CX
	TESTQ BX, BX
	JEQ  done

stamp:
	BSFQ BX, DX
	ADDQ CX, DX // the TIME's unit
	LEAQ 4(DX), CX
	CMPQ CX, blockScan9_size(DI)
	JHI  done
	LEAQ 8(R8), DI

between:
	CMPQ DI, R9
	JEQ  value
	MOVWLZX (DI), BX
	CMPL BX, DX
	JCC  value
	MOVWLZX (R10)(BX*2), BX
	ANDL $const_scan9Plain, BX
	CMPL BX, $(const_misc9TimeReset<<13)
	JEQ  done
	ADDQ $8, DI
	JMP  between

value: // see reset
	MOVQ (R10)(DX*2), CX
	SHLQ $2, CX
	SHRQ $18, CX
	SUBQ plain_base(SI), CX
	JLE  skip
	ANDQ $~3, CX
	SUBQ AX, CX
	ADDQ CX, R13
	ADDQ CX, eventRun9_origin(R15)
	JMP  skip
