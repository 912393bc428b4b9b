// What the loops through the events of RDNA windows share.

// The key of the slot that a token in CX names, in DI. R14 is lost, and CX by a WAVE_END's.
#define KEY_START11 \
	MOVL CX, DI; \
	SHRL $7, DI; \
	ANDL $0x7ff, DI

#define KEY_START12 \
	MOVL CX, DI; \
	SHRL $7, DI; \
	ANDL $0x7f, DI; \
	MOVL CX, R14; \
	SHRL $8, R14; \
	ANDL $0xf80, R14; \
	ORL  R14, DI

#define KEY_END11 \
	MOVL CX, DI; \
	SHRL $8, DI; \
	ANDL $0x3f, DI; \
	SHRL $9, CX; \
	ANDL $0x7c0, CX; \
	ORL  CX, DI

#define KEY_END12 \
	MOVL CX, DI; \
	SHRL $8, DI; \
	ANDL $0xfff, DI

// The value of a TIMESTAMP in CX.
#define VALUE11 \
	SHLQ $16, CX; \
	SHRQ $28, CX

#define VALUE12 \
	SHRQ $12, CX
