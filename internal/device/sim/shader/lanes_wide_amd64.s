//go:build !purego

#include "textflag.h"

// 64-bit sums, byte permutes and reciprocals for AVX2.

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
