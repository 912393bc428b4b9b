//go:build !purego

#include "textflag.h"

// Addresses and data of memory instructions for AVX2: 32 lanes at a time.

DATA ·iota<>+0(SB)/4, $0
DATA ·iota<>+4(SB)/4, $1
DATA ·iota<>+8(SB)/4, $2
DATA ·iota<>+12(SB)/4, $3
DATA ·iota<>+16(SB)/4, $4
DATA ·iota<>+20(SB)/4, $5
DATA ·iota<>+24(SB)/4, $6
DATA ·iota<>+28(SB)/4, $7
GLOBL ·iota<>(SB), RODATA, $32

// STEPS puts 0 to 7 times the 32-bit register S in Y8 and 8 times it in Y9.
#define STEPS(S) \
	VMOVD S, X9 \
	VPBROADCASTD X9, Y9 \
	VPMULLD ·iota<>(SB), Y9, Y8 \
	VPSLLD $3, Y9, Y9

// func avxMoved(v, rel *vreg, base uint32, n int) bool: v[l] is base + rel[l]
TEXT ·avxMoved(SB), NOSPLIT, $0-33
	MOVQ v+0(FP), SI
	MOVQ rel+8(FP), DX
	MOVL base+16(FP), AX
	MOVQ n+24(FP), CX
	VMOVD AX, X4
	VPBROADCASTD X4, Y4
	VPXOR Y5, Y5, Y5
lanes32:
	VPADDD 0(DX), Y4, Y0
	VPADDD 32(DX), Y4, Y1
	VPADDD 64(DX), Y4, Y2
	VPADDD 96(DX), Y4, Y3
	VPXOR 0(SI), Y0, Y0
	VPXOR 32(SI), Y1, Y1
	VPXOR 64(SI), Y2, Y2
	VPXOR 96(SI), Y3, Y3
	VPOR Y0, Y1, Y1
	VPOR Y2, Y3, Y3
	VPOR Y1, Y5, Y5
	VPOR Y3, Y5, Y5
	ADDQ $128, SI
	ADDQ $128, DX
	SUBQ $32, CX
	JNZ lanes32
	VPTEST Y5, Y5
	SETEQ ret+32(FP)
	VZEROUPPER
	RET

// func avxLargest(v *vreg, n int) uint32
TEXT ·avxLargest(SB), NOSPLIT, $0-20
	MOVQ v+0(FP), SI
	MOVQ n+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
lanes32:
	VPMAXUD 0(SI), Y0, Y0
	VPMAXUD 32(SI), Y1, Y1
	VPMAXUD 64(SI), Y0, Y0
	VPMAXUD 96(SI), Y1, Y1
	ADDQ $128, SI
	SUBQ $32, CX
	JNZ lanes32
	VPMAXUD Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPMAXUD X1, X0, X0
	VMOVD X0, AX
	VZEROUPPER
	MOVL AX, ret+16(FP)
	RET

// func avxLDS(d, v *vreg, p unsafe.Pointer, words, n int): dword k of lane l is at p + v[l] + 4*k, offsets below 2^31.
// Eight lanes at a time, which often have one address, or follow each other.
TEXT ·avxLDS(SB), NOSPLIT, $0-40
	MOVQ d+0(FP), DI
	MOVQ v+8(FP), SI
	MOVQ p+16(FP), DX
	VPSLLD $2, ·iota<>(SB), Y8
	MOVQ n+32(FP), BX
	SHRQ $3, BX
eight:
	VMOVDQU (SI), Y0
	VPBROADCASTD X0, Y1
	VPSUBD Y1, Y0, Y2
	VMOVD X0, R8
	ADDQ DX, R8
	MOVQ words+24(FP), CX
	MOVQ DI, R10
	VPTEST Y2, Y2
	JZ one
	VPXOR Y2, Y8, Y3
	VPTEST Y3, Y3
	JZ row
	MOVQ DX, R8
scattered:
	VPCMPEQD Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPGATHERDD Y1, (R8)(Y0*1), Y2
	VMOVDQU Y2, (R10)
	ADDQ $4, R8
	ADDQ $256, R10
	DECQ CX
	JNZ scattered
	JMP next
one:
	VPBROADCASTD (R8), Y2
	VMOVDQU Y2, (R10)
	ADDQ $4, R8
	ADDQ $256, R10
	DECQ CX
	JNZ one
	JMP next
row:
	VMOVDQU (R8), Y2
	VMOVDQU Y2, (R10)
	ADDQ $4, R8
	ADDQ $256, R10
	DECQ CX
	JNZ row
next:
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ BX
	JNZ eight
	VZEROUPPER
	RET

#define PUT(OFF) \
	MOVL OFF(SI), AX \
	MOVL OFF(DI), R8 \
	MOVL R8, (DX)(AX*1)

// func avxLDSPut(v, d *vreg, p unsafe.Pointer, n int): d[l] goes to p + v[l], lane after lane
TEXT ·avxLDSPut(SB), NOSPLIT, $0-32
	MOVQ v+0(FP), SI
	MOVQ d+8(FP), DI
	MOVQ p+16(FP), DX
	VPSLLD $2, ·iota<>(SB), Y8
	MOVQ n+24(FP), BX
	SHRQ $3, BX
eight:
	VMOVDQU (SI), Y0
	VPBROADCASTD X0, Y1
	VPSUBD Y1, Y0, Y2
	VPXOR Y2, Y8, Y3
	VPTEST Y3, Y3
	JNZ scattered
	VMOVD X0, AX
	VMOVDQU (DI), Y2
	VMOVDQU Y2, (DX)(AX*1)
	JMP next
scattered:
	PUT(0)
	PUT(4)
	PUT(8)
	PUT(12)
	PUT(16)
	PUT(20)
	PUT(24)
	PUT(28)
next:
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ BX
	JNZ eight
	VZEROUPPER
	RET

// func avxGather(d *vreg, a *[64]uint64, p unsafe.Pointer, base, limit uint64, n int) bool: d[l] is at p + a[l] - base. It returns
// false, with some of d written, where that is not below limit, which is at most 2^63.
TEXT ·avxGather(SB), NOSPLIT, $0-49
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ p+16(FP), DX
	VPBROADCASTQ base+24(FP), Y8
	VPBROADCASTQ limit+32(FP), Y9
	VPXOR Y10, Y10, Y10
	MOVQ n+40(FP), CX
	SHRQ $2, CX
four:
	VMOVDQU (SI), Y0
	VPSUBQ Y8, Y0, Y0
	VPCMPGTQ Y0, Y9, Y1
	VPCMPGTQ Y0, Y10, Y2
	VPANDN Y1, Y2, Y1
	VMOVMSKPD Y1, AX
	CMPL AX, $15
	JNE outside
	VPCMPEQD X1, X1, X1
	VPXOR X2, X2, X2
	VPGATHERQD X1, (DX)(Y0*1), X2
	VMOVDQU X2, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	DECQ CX
	JNZ four
	MOVB $1, ret+48(FP)
	VZEROUPPER
	RET
outside:
	MOVB $0, ret+48(FP)
	VZEROUPPER
	RET

// func avxWidenU16(d *lanes, p unsafe.Pointer): 32 numbers of 16 bits
TEXT ·avxWidenU16(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), DI
	MOVQ p+8(FP), SI
	VPMOVZXWD 0(SI), Y0
	VPMOVZXWD 16(SI), Y1
	VPMOVZXWD 32(SI), Y2
	VPMOVZXWD 48(SI), Y3
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VZEROUPPER
	RET

// func avxLines(a *[64]uint64, n int, bytes uint64) int: how many 128-byte lines n ascending addresses, a multiple of 4, are
// in. It returns -1 where they do not ascend or an access is in two lines.
TEXT ·avxLines(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ bytes+16(FP), AX
	DECQ AX
	VMOVQ AX, X9
	VPBROADCASTQ X9, Y9
	VPXOR Y10, Y10, Y10 // what is wrong
	VPXOR Y11, Y11, Y11 // less the lanes in the line of the lane before
	VMOVDQU (SI), Y0
	VPERMQ $0x90, Y0, Y1 // lane 0 stands in front of itself
	JMP look
four:
	VMOVDQU (SI), Y0
	VMOVDQU -8(SI), Y1
look:
	VPCMPGTQ Y0, Y1, Y2
	VPOR Y2, Y10, Y10
	VPADDQ Y9, Y0, Y3
	VPXOR Y0, Y3, Y3
	VPXOR Y0, Y1, Y4
	VPSRLQ $7, Y3, Y3
	VPSRLQ $7, Y4, Y4
	VPOR Y3, Y10, Y10
	VPXOR Y5, Y5, Y5
	VPCMPEQQ Y5, Y4, Y4
	VPADDQ Y4, Y11, Y11
	ADDQ $32, SI
	SUBQ $4, CX
	JNZ four
	MOVQ $-1, BX
	VPTEST Y10, Y10
	JNZ done
	VEXTRACTI128 $1, Y11, X0
	VPADDQ X0, X11, X0
	VPSHUFD $0x4e, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, BX
	ADDQ n+8(FP), BX
	INCQ BX // lane 0 is in a line of its own
done:
	VZEROUPPER
	MOVQ BX, ret+24(FP)
	RET

#define GATHERSTEP(OFF) \
	VPCMPEQD Y1, Y1, Y1 \
	VPXOR Y2, Y2, Y2 \
	VPGATHERDD Y1, (DX)(Y8*1), Y2 \
	VMOVDQU Y2, OFF(DI) \
	VPADDD Y9, Y8, Y8

// func avxStrided(d *lanes, p unsafe.Pointer, step uint32): d[l] is at p + l*step
TEXT ·avxStrided(SB), NOSPLIT, $0-20
	MOVQ d+0(FP), DI
	MOVQ p+8(FP), DX
	MOVL step+16(FP), BX
	STEPS(BX)
	GATHERSTEP(0)
	GATHERSTEP(32)
	GATHERSTEP(64)
	GATHERSTEP(96)
	VZEROUPPER
	RET

// RUN stores the addresses of eight lanes, in Y0 and Y1 less the base, and shifts a bit into R8 from above, set if each is a
// step above that of the lane before. Y8 is 0 to 3 steps, Y9 four, Y10 the base.
#define RUN \
	VPADDQ Y10, Y0, Y0 \
	VPADDQ Y10, Y1, Y1 \
	VMOVDQU Y0, (DI) \
	VMOVDQU Y1, 32(DI) \
	VPBROADCASTQ X0, Y2 \
	VPADDQ Y8, Y2, Y2 \
	VPADDQ Y9, Y2, Y3 \
	VPXOR Y2, Y0, Y0 \
	VPXOR Y3, Y1, Y1 \
	VPOR Y1, Y0, Y0 \
	XORL AX, AX \
	VPTEST Y0, Y0 \
	SETEQ AX \
	SHLL $8, AX \
	SHRL $1, R8 \
	SHRL $1, AX \
	ORL AX, R8 \
	ADDQ $64, DI \
	ADDQ $32, SI

// RUNS sets up Y8 to Y10 and R8: base in AX, step in CX.
#define RUNS \
	VMOVQ AX, X10 \
	VPBROADCASTQ X10, Y10 \
	XORL BX, BX \
	VMOVQ BX, X8 \
	ADDQ CX, BX \
	VPINSRQ $1, BX, X8, X8 \
	ADDQ CX, BX \
	VMOVQ BX, X9 \
	ADDQ CX, BX \
	VPINSRQ $1, BX, X9, X9 \
	VINSERTI128 $1, X9, Y8, Y8 \
	SHLQ $2, CX \
	VMOVQ CX, X9 \
	VPBROADCASTQ X9, Y9 \
	XORL R8, R8

// func avxAddress64(a *[64]uint64, low, high *vreg, base, step uint64, n int) uint32: addresses, and a bit for each eight in
// step, that of the last at bit 7
TEXT ·avxAddress64(SB), NOSPLIT, $0-52
	MOVQ a+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ high+16(FP), DX
	MOVQ base+24(FP), AX
	MOVQ step+32(FP), CX
	RUNS
	MOVQ n+40(FP), CX
eight:
	VPMOVZXDQ (SI), Y0
	VPMOVZXDQ (DX), Y2
	VPMOVZXDQ 16(SI), Y1
	VPMOVZXDQ 16(DX), Y3
	VPSLLQ $32, Y2, Y2
	VPSLLQ $32, Y3, Y3
	VPOR Y2, Y0, Y0
	VPOR Y3, Y1, Y1
	RUN
	ADDQ $32, DX
	SUBQ $8, CX
	JNZ eight
	VZEROUPPER
	MOVL R8, ret+48(FP)
	RET

// func avxAddress32(a *[64]uint64, low *vreg, base, step uint64, n int) uint32
TEXT ·avxAddress32(SB), NOSPLIT, $0-44
	MOVQ a+0(FP), DI
	MOVQ low+8(FP), SI
	MOVQ base+16(FP), AX
	MOVQ step+24(FP), CX
	RUNS
	MOVQ n+32(FP), CX
eight:
	VPMOVZXDQ (SI), Y0
	VPMOVZXDQ 16(SI), Y1
	RUN
	SUBQ $8, CX
	JNZ eight
	VZEROUPPER
	MOVL R8, ret+40(FP)
	RET

// JOIN makes four 64-bit lanes of the halves at LOW and HIGH.
#define JOIN(LOW, HIGH, D, T) \
	VPMOVZXDQ LOW, D \
	VPMOVZXDQ HIGH, T \
	VPSLLQ $32, T, T \
	VPOR T, D, D

// SPLIT stores the halves of the eight 64-bit lanes in A and B.
#define SPLIT(A, B, OFF) \
	VSHUFPS $0x88, B, A, Y12 \
	VSHUFPS $0xdd, B, A, Y13 \
	VPERMPD $0xd8, Y12, Y12 \
	VPERMPD $0xd8, Y13, Y13 \
	VMOVUPS Y12, OFF(DI) \
	VMOVUPS Y13, OFF(R8)

// MAD64 forms four lanes' sum in D and their carries in the register M. Y15 has sign bits.
#define MAD64(OFF, D, M) \
	VPMOVZXDQ OFF(SI), D \
	VPMOVZXDQ OFF(DX), Y1 \
	VPMULUDQ Y1, D, D \
	JOIN(OFF(R9), OFF(R10), Y2, Y3) \
	VPADDQ Y2, D, D \
	VPXOR Y15, D, Y3 \
	VPXOR Y15, Y2, Y2 \
	VPCMPGTQ Y3, Y2, Y2 \
	VMOVMSKPD Y2, M

#define MADS(OFF) \
	MAD64(OFF, Y4, AX) \
	MAD64(OFF+16, Y5, BX) \
	SHLQ $8, R11 \
	SHLL $4, BX \
	ORQ AX, R11 \
	ORQ BX, R11 \
	SPLIT(Y4, Y5, OFF)

// func avxMad64(dl, dh, a, b, cl, ch *vreg, n int) uint64: a*b + c and the carries
TEXT ·avxMad64(SB), NOSPLIT, $0-64
	MOVQ dl+0(FP), DI
	MOVQ dh+8(FP), R8
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	MOVQ cl+32(FP), R9
	MOVQ ch+40(FP), R10
	VPCMPEQD Y15, Y15, Y15
	VPSLLQ $63, Y15, Y15
	XORL R11, R11
	CMPQ n+48(FP), $32
	JEQ low
	MADS(224)
	MADS(192)
	MADS(160)
	MADS(128)
low:
	MADS(96)
	MADS(64)
	MADS(32)
	MADS(0)
	VZEROUPPER
	MOVQ R11, ret+56(FP)
	RET

#define SHLADD(OFF) \
	VMOVDQU OFF(SI), Y0 \
	VMOVDQU OFF(DX), Y1 \
	VPSRLD X13, Y0, Y2 \
	VPSLLD X14, Y0, Y0 \
	VPSLLD X14, Y1, Y1 \
	VPOR Y2, Y1, Y1 \
	VMOVDQU OFF(R9), Y3 \
	VPADDD Y3, Y0, Y0 \
	VPADDD OFF(R10), Y1, Y1 \
	VPMAXUD Y3, Y0, Y3 \
	VPCMPEQD Y0, Y3, Y3 \
	VPSUBD Y15, Y1, Y1 \
	VPADDD Y3, Y1, Y1 \
	VMOVDQU Y0, OFF(DI) \
	VMOVDQU Y1, OFF(R8)

// func avxShlAdd64(dl, dh, al, ah, cl, ch *vreg, shift uint64, n int): (a << shift) + c, shift up to 32. The sum carries where its low half is
// less than c's.
TEXT ·avxShlAdd64(SB), NOSPLIT, $0-64
	MOVQ dl+0(FP), DI
	MOVQ dh+8(FP), R8
	MOVQ al+16(FP), SI
	MOVQ ah+24(FP), DX
	MOVQ cl+32(FP), R9
	MOVQ ch+40(FP), R10
	MOVQ shift+48(FP), AX
	MOVQ n+56(FP), CX
	VMOVQ AX, X14
	NEGQ AX
	ADDQ $32, AX
	VMOVQ AX, X13
	VPCMPEQD Y15, Y15, Y15
lanes32:
	SHLADD(0)
	SHLADD(32)
	SHLADD(64)
	SHLADD(96)
	ADDQ $128, SI
	ADDQ $128, DX
	ADDQ $128, R9
	ADDQ $128, R10
	ADDQ $128, DI
	ADDQ $128, R8
	SUBQ $32, CX
	JNZ lanes32
	VZEROUPPER
	RET

#define SHLADDONE(OFF) \
	VMOVDQU OFF(SI), Y0 \
	VMOVDQU OFF(DX), Y1 \
	VPSRLD X13, Y0, Y2 \
	VPSLLD X14, Y0, Y0 \
	VPSLLD X14, Y1, Y1 \
	VPOR Y2, Y1, Y1 \
	VPADDD Y10, Y0, Y0 \
	VPADDD Y11, Y1, Y1 \
	VPMAXUD Y10, Y0, Y3 \
	VPCMPEQD Y0, Y3, Y3 \
	VPADDD Y3, Y1, Y1 \
	VMOVDQU Y0, OFF(DI) \
	VMOVDQU Y1, OFF(R8)

// func avxShlAddOne(dl, dh, al, ah *vreg, c, shift uint64, n int): (a << shift) + c for one c, shift up to 32
TEXT ·avxShlAddOne(SB), NOSPLIT, $0-56
	MOVQ dl+0(FP), DI
	MOVQ dh+8(FP), R8
	MOVQ al+16(FP), SI
	MOVQ ah+24(FP), DX
	MOVQ c+32(FP), AX
	VMOVD AX, X10
	VPBROADCASTD X10, Y10
	SHRQ $32, AX
	INCL AX // less the -1 of lanes that do not carry
	VMOVD AX, X11
	VPBROADCASTD X11, Y11
	MOVQ shift+40(FP), AX
	MOVQ n+48(FP), CX
	VMOVQ AX, X14
	NEGQ AX
	ADDQ $32, AX
	VMOVQ AX, X13
lanes32:
	SHLADDONE(0)
	SHLADDONE(32)
	SHLADDONE(64)
	SHLADDONE(96)
	ADDQ $128, SI
	ADDQ $128, DX
	ADDQ $128, DI
	ADDQ $128, R8
	SUBQ $32, CX
	JNZ lanes32
	VZEROUPPER
	RET

// BYTES repeats a byte in all of Y.
#define BYTES(B, X, Y) \
	MOVL $(B*0x01010101), AX \
	VMOVD AX, X \
	VPBROADCASTD X, Y

// ODDSELECTOR collects in Y15 the bytes of OFF(CX) that are neither 0 to 7 nor 12.
#define ODDSELECTOR(OFF) \
	VMOVDQU OFF(CX), Y0 \
	VPMINUB Y9, Y0, Y1 \
	VPCMPEQB Y0, Y1, Y1 \
	VPCMPEQB Y10, Y0, Y2 \
	VPOR Y1, Y2, Y2 \
	VPAND Y2, Y15, Y15

#define PERM(OFF) \
	VMOVDQU OFF(CX), Y0 \
	VPCMPGTB Y8, Y0, Y1 \
	VPCMPGTB Y9, Y0, Y2 \
	VPADDB Y11, Y0, Y3 \
	VPOR Y1, Y3, Y3 \
	VMOVDQU OFF(DX), Y4 \
	VPSHUFB Y3, Y4, Y4 \
	VPADDB Y12, Y0, Y3 \
	VPOR Y2, Y3, Y3 \
	VPANDN Y13, Y1, Y1 \
	VPOR Y1, Y3, Y3 \
	VMOVDQU OFF(SI), Y5 \
	VPSHUFB Y3, Y5, Y5 \
	VPOR Y5, Y4, Y4 \
	VMOVDQU Y4, OFF(DI)

DATA ·dwords<>+0(SB)/4, $0x00000000
DATA ·dwords<>+4(SB)/4, $0x04040404
DATA ·dwords<>+8(SB)/4, $0x08080808
DATA ·dwords<>+12(SB)/4, $0x0c0c0c0c
DATA ·dwords<>+16(SB)/4, $0x00000000
DATA ·dwords<>+20(SB)/4, $0x04040404
DATA ·dwords<>+24(SB)/4, $0x08080808
DATA ·dwords<>+28(SB)/4, $0x0c0c0c0c
GLOBL ·dwords<>(SB), RODATA, $32

// func avxPerm(d, a, b, c *lanes) bool: bytes of b (selectors 0 to 3) and a (4 to 7), or zero (12). It does nothing and
// returns false where there are other selectors.
TEXT ·avxPerm(SB), NOSPLIT, $0-33
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), CX
	BYTES(3, X8, Y8)
	BYTES(7, X9, Y9)
	BYTES(12, X10, Y10)
	BYTES(128, X13, Y13)
	VMOVDQU ·dwords<>(SB), Y11 // the first byte of each dword, for b
	BYTES(4, X0, Y0)
	VPSUBB Y0, Y11, Y12 // 4 less, for a
	VPCMPEQD Y15, Y15, Y15
	ODDSELECTOR(0)
	ODDSELECTOR(32)
	ODDSELECTOR(64)
	ODDSELECTOR(96)
	VPCMPEQD Y0, Y0, Y0
	VPTEST Y0, Y15 // carry: all bits of Y15 are set
	SETCS ret+32(FP)
	JCC done
	PERM(0)
	PERM(32)
	PERM(64)
	PERM(96)
done:
	VZEROUPPER
	RET

// RSQ forms 1/sqrt of four lanes in float64, as the plain loop does, and rounds.
#define RSQ(OFF) \
	VCVTPS2PD OFF(SI), Y0 \
	VSQRTPD Y0, Y0 \
	VDIVPD Y0, Y8, Y0 \
	VCVTPD2PSY Y0, X0 \
	VMOVUPS X0, OFF(DI)

// func avxRsqF32(d, a *lanes)
TEXT ·avxRsqF32(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ $0x3ff0000000000000, AX
	VMOVQ AX, X8
	VPBROADCASTQ X8, Y8
	RSQ(0)
	RSQ(16)
	RSQ(32)
	RSQ(48)
	RSQ(64)
	RSQ(80)
	RSQ(96)
	RSQ(112)
	VZEROUPPER
	RET

// func avxRcpF32(d, a *lanes)
TEXT ·avxRcpF32(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVL $0x3f800000, AX
	VMOVD AX, X8
	VPBROADCASTD X8, Y8
	VDIVPS 0(SI), Y8, Y0
	VDIVPS 32(SI), Y8, Y1
	VDIVPS 64(SI), Y8, Y2
	VDIVPS 96(SI), Y8, Y3
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET
