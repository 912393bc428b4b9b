package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
)

const (
	nodesDir    = "/sys/devices/virtual/kfd/kfd/topology/nodes"
	firstRender = 128
	pageBytes   = 4096
)

// topology is the files of /sys that programs read.
func topology(gpus []*GPU) map[string]string {
	files := map[string]string{
		nodesDir + "/0/gpu_id":     "0\n",
		nodesDir + "/0/name":       "\n",
		nodesDir + "/0/properties": "cpu_cores_count 1\nsimd_count 0\n",
	}
	level := "auto\n"
	for i, g := range gpus {
		node := fmt.Sprintf("%s/%d", nodesDir, i+1)
		files[node+"/gpu_id"] = fmt.Sprintf("%d\n", g.id)
		files[node+"/name"] = strings.TrimPrefix(g.Target, "gfx") + "\n"
		files[node+"/properties"] = properties(g, i)
		files[fmt.Sprintf("/sys/class/drm/renderD%d/device/power_dpm_force_performance_level", firstRender+i)] = level
	}
	return files
}

// version is gfx_target_version: major*10000 + minor*100 + step, the last two being hexadecimal digits of the name.
func version(target string) int {
	digits := strings.TrimPrefix(target, "gfx")
	n := len(digits)
	if n < 3 {
		return 0
	}
	major, err1 := strconv.Atoi(digits[:n-2])
	minor, err2 := strconv.ParseInt(digits[n-2:n-1], 16, 32)
	step, err3 := strconv.ParseInt(digits[n-1:], 16, 32)
	if err1 != nil || err2 != nil || err3 != nil {
		return 0
	}
	return major*10000 + int(minor)*100 + int(step)
}

// properties lists a node as kfd_topology.c does, the lines that say something about a compute device.
func properties(g *GPU, i int) string {
	cuPerUnit, simdsPerCU := 1, g.SIMDs
	if g.Family != gpu.GFX9 {
		cuPerUnit, simdsPerCU = 2, g.SIMDs/2
	}
	cus := 0
	for _, engine := range g.LiveUnits() {
		for _, mask := range engine {
			for ; mask != 0; mask &= mask - 1 {
				cus += cuPerUnit
			}
		}
	}
	waves := cus / g.Dies * 32 // of context save, per die
	if g.Family == gpu.GFX9 {
		waves = min(cus/g.Dies*40, g.SEs*512)
	}
	perWave := 12
	if g.Family == gpu.GFX9 {
		perWave = 8
	}
	ctl := roundUp(uint64(40+waves*perWave+8), pageBytes)
	vgpr := uint64(g.VGPRs) * 4 * 32 * uint64(simdsPerCU)
	if g.Family == gpu.GFX9 {
		vgpr = uint64(g.VGPRs) * 4 * 64 * uint64(simdsPerCU)
	}
	lds := uint64(0x10000) // of a CU, as kfd_queue.c counts it
	if g.LDSBytes > 0x10000 {
		lds = uint64(g.LDSBytes)
	}
	const sgprs, hwRegs = 0x4000, 0x1000
	group := roundUp(uint64(cus/g.Dies)*(vgpr+sgprs+lds+hwRegs), pageBytes)
	var b strings.Builder
	for _, p := range []struct {
		name  string
		value uint64
	}{
		{"cpu_cores_count", 0},
		{"simd_count", uint64(cus * simdsPerCU)},
		{"mem_banks_count", 1},
		{"caches_count", 0},
		{"io_links_count", 1},
		{"max_waves_per_simd", uint64(g.Slots)},
		{"lds_size_in_kb", uint64(g.LDSBytes >> 10)},
		{"wave_front_size", map[bool]uint64{true: 64, false: 32}[g.Family == gpu.GFX9]},
		{"array_count", uint64(g.SEs * g.SAs * g.Dies)},
		{"simd_arrays_per_engine", uint64(g.SAs)},
		{"cu_per_simd_array", uint64(g.Units * cuPerUnit)},
		{"simd_per_cu", uint64(simdsPerCU)},
		{"max_slots_scratch_cu", 32},
		{"gfx_target_version", uint64(version(g.Target))},
		{"vendor_id", 0x1002},
		{"device_id", uint64(g.PCIDevice)},
		{"location_id", uint64(0x300 + i<<8)},
		{"domain", 0},
		{"drm_render_minor", uint64(firstRender + i)},
		{"hive_id", 0},
		{"num_sdma_engines", 0},
		{"num_cp_queues", 8},
		{"max_engine_clk_fcompute", uint64(g.ClockHz / 1e6)},
		{"max_engine_clk_ccompute", 4000},
		{"local_mem_size", vramBytes},
		{"fw_version", 1},
		{"capability", 0},
		{"debug_prop", 0},
		{"sdma_fw_version", 0},
		{"unique_id", uint64(i + 1)},
		{"num_xcc", uint64(g.Dies)},
		{"cwsr_size", ctl + group},
		{"ctl_stack_size", ctl},
	} {
		fmt.Fprintf(&b, "%s %d\n", p.name, p.value)
	}
	return b.String()
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// property reads one line of properties.
func property(props, name string) uint64 {
	for line := range strings.Lines(props) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, err := strconv.ParseUint(v, 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}
