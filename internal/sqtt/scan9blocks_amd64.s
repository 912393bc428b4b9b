//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// 16 bytes each, but for what says otherwise.
DATA blocks9<>+0(SB)/8, $0x000f000f000f000f // a token's kind
DATA blocks9<>+8(SB)/8, $0x000f000f000f000f
DATA blocks9<>+16(SB)/8, $0x00ff00ff00ff00ff // its time, once moved by 4 bits
DATA blocks9<>+24(SB)/8, $0x00ff00ff00ff00ff
DATA blocks9<>+32(SB)/8, $0x8040201008040201 // byte n is 1<<n
DATA blocks9<>+40(SB)/8, $0x8040201008040201
DATA blocks9<>+48(SB)/8, $0x0f0e0f0e0f0e0f0e // shuffles: the last word everywhere
DATA blocks9<>+56(SB)/8, $0x0f0e0f0e0f0e0f0e
DATA blocks9<>+64(SB)/8, $0x0101010101010101
DATA blocks9<>+72(SB)/8, $0x0101010101010101

// Shuffles of 32 bytes: 8 times each of bytes 0 to 3, and of bytes 4 to 7.
DATA blocks9<>+80(SB)/8, $0x0000000000000000
DATA blocks9<>+88(SB)/8, $0x0101010101010101
DATA blocks9<>+96(SB)/8, $0x0202020202020202
DATA blocks9<>+104(SB)/8, $0x0303030303030303
DATA blocks9<>+112(SB)/8, $0x0404040404040404
DATA blocks9<>+120(SB)/8, $0x0505050505050505
DATA blocks9<>+128(SB)/8, $0x0606060606060606
DATA blocks9<>+136(SB)/8, $0x0707070707070707
GLOBL blocks9<>(SB), RODATA|NOPTR, $144

// KINDS takes 32 units: by unit a byte of their times, and bits in AX for no event, BX, CX, DI for tokens that would be of at least
// two, three, four units, R12 for a TIME.
#define KINDS(off, times) \
	VMOVDQU off(SI), X4; \
	VINSERTI128 $1, off+32(SI), Y4, Y4; \
	VMOVDQU off+16(SI), X5; \
	VINSERTI128 $1, off+48(SI), Y5, Y5; \
	VPAND Y12, Y4, Y2; \
	VPAND Y12, Y5, Y3; \
	VPACKUSWB Y3, Y2, Y2; \
	VPSRLW $4, Y4, times; \
	VPSRLW $4, Y5, Y3; \
	VPAND Y11, times, times; \
	VPAND Y11, Y3, Y3; \
	VPACKUSWB Y3, times, times; \
	VPSRLW $13, Y4, Y4; \
	VPSRLW $13, Y5, Y5; \
	VPACKUSWB Y5, Y4, Y4; \
	VPSHUFB Y2, Y13, Y3; \
	VPAND Y3, times, times; \
	VPSHUFB Y2, Y14, Y3; \
	VPSHUFB Y4, Y10, Y5; \
	VPAND Y3, Y5, Y5; \
	VPCMPEQB Y7, Y5, Y5; \
	VPMOVMSKB Y5, AX; \
	VPSHUFB Y2, Y15, Y2; \
	VPMOVMSKB Y2, BX; \
	VPADDB Y2, Y2, Y2; \
	VPMOVMSKB Y2, CX; \
	VPADDB Y2, Y2, Y2; \
	VPMOVMSKB Y2, DI; \
	VPADDB Y2, Y2, Y2; \
	VPMOVMSKB Y2, R12

// COVER leaves in CX what tokens of more than one unit that begin at AX cover but for their first unit, in BX and DI the same moved
// back.
#define COVER \
	MOVQ AX, BX; \
	ANDQ R9, BX; \
	MOVQ AX, DI; \
	ANDQ R10, DI; \
	LEAQ (AX)(AX*1), CX; \
	SHLQ $2, BX; \
	SHLQ $3, DI; \
	ORQ  BX, CX; \
	ORQ  DI, CX

// SUMS takes the times of 32 units, those of units that begin no token masked out by the bits of Y4 that shuffle has. It leaves
// in sum what has passed behind every other unit since the first of 16.
#define SUMS(times, shuffle, sum) \
	VPSHUFB shuffle, Y4, Y5; \
	VPAND Y9, Y5, Y5; \
	VPCMPEQB Y9, Y5, Y5; \
	VPAND Y5, times, times; \
	VPMADDUBSW Y6, times, sum; \
	VPSLLDQ $2, sum, Y5; \
	VPADDW Y5, sum, sum; \
	VPSLLDQ $4, sum, Y5; \
	VPADDW Y5, sum, sum; \
	VPSLLDQ $8, sum, Y5; \
	VPADDW Y5, sum, sum

// CARRY adds to the upper half of sum what its lower half has last.
#define CARRY(sum) \
	VPSHUFB Y8, sum, Y5; \
	VPERM2I128 $0x08, Y5, Y5, Y5; \
	VPADDW Y5, sum, sum

// UNTIL stores the time until every one of 32 units.
#define UNTIL(times, sum, off) \
	VPSRLW $8, times, Y5; \
	VPSUBW Y5, sum, Y5; \
	VPUNPCKLWD sum, Y5, Y4; \
	VPUNPCKHWD sum, Y5, Y5; \
	VMOVDQU X4, until-(136-off)(SP); \
	VMOVDQU X5, until-(120-off)(SP); \
	VEXTRACTI128 $1, Y4, until-(104-off)(SP); \
	VEXTRACTI128 $1, Y5, until-(88-off)(SP)

// EVENT stores event k of those whose bits are in AX.
#define EVENT(k) \
	TZCNTQ AX, BX; \
	BLSRQ AX, AX; \
	MOVWLZX until-136(SP)(BX*2), CX; \
	ADDQ R13, BX; \
	SHLQ $const_scanTime, CX; \
	ADDQ BX, CX; \
	MOVQ CX, (8*k)(R15)

// func blockTokens9(b *blockScan9, times *blockTimes9, kinds *scan9Kinds, win *window, blocks uint64)
TEXT ·blockTokens9(SB), NOSPLIT, $8-40
	MOVQ b+0(FP), DX
	MOVQ times+8(FP), R15
	MOVQ kinds+16(FP), AX
	MOVQ win+24(FP), SI
	VBROADCASTI128 scan9Kinds_long(AX), Y15
	VBROADCASTI128 scan9Kinds_event(AX), Y14
	VBROADCASTI128 scan9Kinds_time(AX), Y13
	VBROADCASTI128 blocks9<>+0(SB), Y12
	VBROADCASTI128 blocks9<>+16(SB), Y11
	VBROADCASTI128 blocks9<>+32(SB), Y10
	VPXOR Y7, Y7, Y7
	XORL R13, R13 // the block
	XORL R14, R14 // its units that a token before it covers

block:
	KINDS(64, Y1)
	SHLQ $32, AX
	SHLQ $32, BX
	SHLQ $32, CX
	SHLQ $32, DI
	SHLQ $32, R12
	MOVQ AX, R11
	MOVQ BX, R8
	MOVQ CX, R9
	MOVQ DI, R10
	MOVQ R12, stamp-8(SP)
	KINDS(0, Y0)
	VMOVDQU Y0, (R15)
	VMOVDQU Y1, 32(R15)
	ORQ  AX, R11
	ORQ  BX, R8
	ORQ  CX, R9
	ORQ  DI, R10
	ORQ  stamp-8(SP), R12

	ANDNQ R8, R14, R8
	MOVQ R8, AX
	COVER
	ANDNQ R8, CX, AX

cover: // few blocks need more than one turn
	COVER
	MOVQ AX, BX
	ANDNQ R8, CX, AX
	CMPQ AX, BX
	JNE  cover

	ORQ  R14, CX
	NOTQ CX // where tokens begin
	MOVQ CX, blockScan9_begin(DX)(R13*8)
	ANDQ CX, R12
	MOVQ R12, blockScan9_stamp(DX)(R13*8)
	ANDNQ CX, R11, R11
	MOVQ R11, blockScan9_event(DX)(R13*8)
	MOVQ AX, R14
	SHRQ $63, R14
	ANDQ AX, R9
	SHRQ $62, R9
	ORQ  R9, R14
	ANDQ AX, R10
	SHRQ $61, R10
	ORQ  R10, R14

	INCQ R13
	ADDQ $128, SI
	ADDQ $64, R15
	CMPQ R13, blocks+32(FP)
	JCS  block

	NOTQ R14
	MOVQ R14, blockScan9_begin(DX)(R13*8)
	VZEROUPPER
	RET

// On the stack: until, by unit of a block the time from the block's begin until then, with that of a token that begins there. Its
// last words are what an EVENT too many reads.
//
// func blockEvents9(b *blockScan9, times *blockTimes9, events *eventList, blocks, last uint64) (n, time uint64)
TEXT ·blockEvents9(SB), NOSPLIT, $136-56
	MOVQ b+0(FP), DX
	MOVQ times+8(FP), SI
	MOVQ events+16(FP), R15
	MOVQ blocks+24(FP), DI
	VBROADCASTI128 blocks9<>+32(SB), Y9
	VBROADCASTI128 blocks9<>+48(SB), Y8
	VBROADCASTI128 blocks9<>+64(SB), Y6
	XORL R13, R13 // scan word at the block's begin

block:
	VPBROADCASTQ blockScan9_begin(DX), Y4
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	SUMS(Y0, blocks9<>+80(SB), Y2)
	SUMS(Y1, blocks9<>+112(SB), Y3)
	CARRY(Y2)
	CARRY(Y3)
	VPERMQ $0xee, Y2, Y5
	VPSHUFB Y8, Y5, Y5
	VPADDW Y5, Y3, Y3
	UNTIL(Y0, Y2, 0)
	UNTIL(Y1, Y3, 64)

	MOVQ blockScan9_event(DX), AX
	POPCNTQ AX, R8
	EVENT(0)
	EVENT(1)
	EVENT(2)
	EVENT(3)
	EVENT(4)
	EVENT(5)
	EVENT(6)
	EVENT(7)
	LEAQ (R15)(R8*8), R9
	CMPQ R8, $8
	JA   more

next:
	MOVQ R9, R15
	DECQ DI
	JEQ  end
	MOVWLZX until-10(SP), BX
	SHLQ $const_scanTime, BX
	LEAQ 64(R13)(BX*1), R13
	ADDQ $64, SI
	ADDQ $8, DX
	JMP  block

more:
	ADDQ $64, R15

one:
	EVENT(0)
	ADDQ $8, R15
	TESTQ AX, AX
	JNE  one
	JMP  next

end:
	MOVQ last+32(FP), BX
	MOVWLZX until-136(SP)(BX*2), CX
	SHRQ $const_scanTime, R13
	ADDQ CX, R13
	MOVQ R13, time+48(FP)
	SUBQ events+16(FP), R15
	SHRQ $3, R15
	MOVQ R15, n+40(FP)
	VZEROUPPER
	RET
