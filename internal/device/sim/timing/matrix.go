package timing

import (
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/isa"
)

func matrixStat(name string) Stat {
	switch {
	case strings.Contains(name, "f8f6f4"):
		return StatMatrixF6F4
	case strings.Contains(name, "f64_"), strings.HasSuffix(name, "f64"):
		return StatMatrixF64
	case strings.Contains(name, "bf16"):
		return StatMatrixBF16
	case strings.Contains(name, "fp8"), strings.Contains(name, "bf8"):
		return StatMatrixF8
	case strings.Contains(name, "i32_"):
		return StatMatrixI8
	case strings.HasSuffix(name, "f16"):
		return StatMatrixF16
	}
	return StatMatrixF32
}

// matrixRate is how many multiply-adds a SIMD does in a cycle. Sources: the CDNA2, CDNA3 and CDNA4 whitepapers' figures for a
// CU, a quarter of them for a SIMD; RDNA4: 16 and 8 cycles as the trace's ops say and the captures show; RDNA3: half that rate.
func matrixRate(a isa.Arch, s Stat) int64 {
	r := map[Stat][3]int64{ // CDNA2, CDNA3, CDNA4
		StatMatrixF64:  {32, 32, 16},
		StatMatrixF32:  {32, 32, 32},
		StatMatrixF16:  {128, 256, 512},
		StatMatrixBF16: {128, 256, 512},
		StatMatrixI8:   {128, 512, 1024},
		StatMatrixF8:   {512, 512, 1024},
		StatMatrixF6F4: {512, 512, 1024},
	}[s]
	return r[a-isa.CDNA2]
}

func matrixCycles(a isa.Arch, name string) int64 {
	s := matrixStat(name)
	if !a.CDNA() {
		switch half := strings.Contains(name, "iu4"); {
		case a != isa.RDNA4 && half:
			return 16
		case a != isa.RDNA4:
			return 32
		case s == StatMatrixF16, s == StatMatrixBF16:
			return 16
		}
		return 8
	}
	mm, n, k, blocks := matrixShape(name)
	if mm == 0 {
		return 4 // v_accvgpr_read, write
	}
	if strings.Contains(name, "xf32") {
		return max(16, mm*n*k*blocks/128)
	}
	c := mm * n * k * blocks / matrixRate(a, s)
	if strings.Contains(name, "smfmac") {
		c /= 2 // half of A is zero
	}
	return max(c, 16)
}

// matrixShape reads MxNxK from a name such as v_mfma_f32_32x32x1_2b_f32, or of gfx90a v_mfma_f32_32x32x1f32.
func matrixShape(name string) (m, n, k, blocks int64) {
	for part := range strings.SplitSeq(name, "_") {
		f := strings.SplitN(part, "x", 3)
		if len(f) != 3 {
			continue
		}
		digits := 0
		for digits < len(f[2]) && f[2][digits] >= '0' && f[2][digits] <= '9' {
			digits++
		}
		a, e1 := strconv.ParseInt(f[0], 10, 32)
		b, e2 := strconv.ParseInt(f[1], 10, 32)
		c, e3 := strconv.ParseInt(f[2][:digits], 10, 32)
		if e1 == nil && e2 == nil && e3 == nil {
			m, n, k = a, b, c
		}
	}
	blocks = 1
	if i := strings.Index(name, "b_"); i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		if b, err := strconv.ParseInt(name[strings.LastIndexByte(name[:i], '_')+1:i], 10, 32); err == nil {
			blocks = b
		}
	}
	return m, n, k, blocks
}
