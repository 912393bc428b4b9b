package report

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
)

// TestFoundInFunction checks that waves whose start is lost and which are found again inside a function that is no kernel are counted, and others are not.
func TestFoundInFunction(t *testing.T) {
	data, err := os.ReadFile("../../testdata/traces/vadd-gfx1100-se0.sqtt")
	must2(t, err)
	other, err := os.ReadFile("../../testdata/kernels/gfx1100/gemm_f32.co")
	must2(t, err)
	const firstWave = 326 // bytes; what stands before it, but for the header, are the registers
	noRegisters := append(slices.Clone(data[:8]), data[firstWave:]...)
	for _, tt := range []struct {
		name   string
		stream []byte
		kernel bool // vadd is one
		found  int64
	}{
		{"a function", noRegisters, false, 4},
		{"a function, the start known", data, false, 0},
		{"a kernel", noRegisters, true, 0},
	} {
		target, code, err := openCode("", []CodeFile{{"vadd.co", 0x200003412000, vaddCode(t)}, {"gemm_f32.co", 0x200004412000, other}}, nil, nil)
		must2(t, err)
		if !tt.kernel {
			code[0].object.Kernels[0].Entry += 4 // so that no kernel begins where vadd does
		}
		s := &hotStream{StreamFile: &StreamFile{Name: "se0.sqtt", Open: bytesOf(tt.stream), Family: gpu.GFX11}, walked: true}
		h := makeHot(DeviceDoc{Name: "trace files", Target: target}, target, []*hotStream{s}, code, nil, newQuality)
		told := slices.ContainsFunc(h.Quality.Notes, func(n capture.Note) bool {
			return n.Level == capture.Info && strings.HasPrefix(n.Text, Plural(4, "wave")+" first found inside a function that kernels call")
		})
		if rows := h.Hotspots("kernel", "cycles").Rows; s.called != tt.found || told != (tt.found > 0) || len(rows) != 1 || rows[0].Name != "vadd" {
			t.Errorf("%s: %d waves, %+v; %+v", tt.name, s.called, h.Quality.Notes, rows)
		}
		conserved(t, h) // reads the stream again
		if s.called != tt.found {
			t.Errorf("%s, read again: %d waves", tt.name, s.called)
		}
	}
}
