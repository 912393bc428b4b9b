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
