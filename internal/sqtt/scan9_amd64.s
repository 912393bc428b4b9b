//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Where bits of a unit say that it is no MISC of type TIME, and a MISC's time once moved by 4 bits.
DATA scan9Masks<>+0(SB)/8, $0xe00fe00fe00fe00f
DATA scan9Masks<>+8(SB)/8, $0xe00fe00fe00fe00f
DATA scan9Masks<>+16(SB)/8, $0x00ff00ff00ff00ff
DATA scan9Masks<>+24(SB)/8, $0x00ff00ff00ff00ff

// 16 bytes from 16-n on are n times 0xff and zeros.
DATA scan9Masks<>+32(SB)/8, $0xffffffffffffffff
DATA scan9Masks<>+40(SB)/8, $0xffffffffffffffff
DATA scan9Masks<>+48(SB)/8, $0
DATA scan9Masks<>+56(SB)/8, $0
GLOBL scan9Masks<>(SB), RODATA|NOPTR, $64

// A step of chain j, whose scan word is in acc: at most 15 plain MISCs, then the token behind them. See run9 and step9.
#define STEP9(acc, j) \
	CMPW acc, quad9_limit+8*j(BX); \
	JCC  done; \
	MOVL acc, AX; \
	ANDL $(const_windowBytes/2-1), AX; \
	MOVOU (DX)(AX*2), X0; \
	MOVOU 16(DX)(AX*2), X1; \
	MOVO X0, X2; \
	MOVO X1, X3; \
	PAND X13, X2; \
	PAND X13, X3; \
	PCMPEQW X15, X2; \
	PCMPEQW X15, X3; \
	PACKSSWB X3, X2; \
	PMOVMSKB X2, CX; \
	NOTL CX; \
	ORL  $0x8000, CX; \
	BSFL CX, CX; \
	PSRLW $4, X0; \
	PSRLW $4, X1; \
	PAND X14, X0; \
	PAND X14, X1; \
	PACKUSWB X1, X0; \
	MOVQ R12, SI; \
	SUBQ CX, SI; \
	MOVOU (SI), X1; \
	PAND X1, X0; \
	PSADBW X15, X0; \
	PSHUFD $0xee, X0, X1; \
	PADDQ X1, X0; \
	MOVQ X0, SI; \
	SHLQ $const_scanTime, SI; \
	ADDQ SI, acc; \
	ADDQ CX, acc; \
	MOVQ quad9_n+8*j(BX), SI; \
	MOVQ quad9_ev+8*j(BX), DI; \
	LEAQ (DI)(SI*8), R15; \
	ADDL CX, AX; \
	MOVL (DX)(AX*2), AX; \
	MOVL AX, CX; \
	ANDL $15, CX; \
	MOVL scan9Kinds_step(R13)(CX*4), CX; \
	MOVL AX, DI; \
	SHRL $13, DI; \
	ANDL $7, DI; \
	ADDL $16, DI; \
	BTL  DI, CX; \
	ADCQ $0, SI; \
	MOVQ SI, quad9_n+8*j(BX); \
	ANDL CX, AX; \
	SHRL $4, AX; \
	ANDL $0xff, AX; \
	SHLQ $const_scanTime, AX; \
	ANDL $7, CX; \
	ADDQ AX, acc; \
	MOVQ acc, (R15); \
	ADDQ CX, acc

// func scan9Run(kinds *scan9Kinds, win *window, q *quad9)
TEXT ·scan9Run(SB), NOSPLIT, $0-24
	MOVQ kinds+0(FP), R13
	MOVQ win+8(FP), DX
	MOVQ q+16(FP), BX
	MOVOU scan9Masks<>+0(SB), X13
	MOVOU scan9Masks<>+16(SB), X14
	PXOR X15, X15
	LEAQ scan9Masks<>+48(SB), R12
	MOVQ quad9_acc+0(BX), R8
	MOVQ quad9_acc+8(BX), R9
	MOVQ quad9_acc+16(BX), R10
	MOVQ quad9_acc+24(BX), R11

loop:
	STEP9(R8, 0)
	STEP9(R9, 1)
	STEP9(R10, 2)
	STEP9(R11, 3)
	JMP loop

done:
	MOVQ R8, quad9_acc+0(BX)
	MOVQ R9, quad9_acc+8(BX)
	MOVQ R10, quad9_acc+16(BX)
	MOVQ R11, quad9_acc+24(BX)
	RET
