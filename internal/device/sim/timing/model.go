package timing

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/rigprof/rigprof/internal/gpu"
)

//go:embed tables/model.tsv
var modelTSV string

// model is one family's column of tables/model.tsv.
type model struct {
	step, dispatchToWave, dispatchEnd, groupPeriod, wavePeriod, cuPeriod, slotReuse int64
	warmStart, coldStart, waveEnd                                                   int64
	valuVALU, maskVALU, valuSALU, valuVMEM, valuBranch                              int64
	saluVALU, saluSALU, saluSMEM, saluVMEM, saluBranch                              int64
	vmemRead, vmemNext, saluDone                                                    int64
	branchTaken, branchNot, waitDone, barrier                                       int64
	valu64, valuShift64, valuMul, valuTrans                                         int64
	valuExec, f64Exec, saluExec, smemExec, ldsExec, vmemExec                        int64
	saluFloat, saluMul                                                              int64
	smemHit, smemL2, smemMem                                                        int64
	lds, ldsWide, l0, l1, l2, mem, store, storeMem, vmemLines, l2Line, l2Write      int64
	l0KiB, walk, host, icacheMiss, icacheKiB, smemRate, matrixQueue, matrixLatency  int64
}

func (m *model) fields() map[string]*int64 {
	return map[string]*int64{
		"step": &m.step, "dispatch_to_wave": &m.dispatchToWave, "dispatch_end": &m.dispatchEnd, "group_period": &m.groupPeriod, "wave_period": &m.wavePeriod,
		"cu_period": &m.cuPeriod, "slot_reuse": &m.slotReuse, "warm_start": &m.warmStart, "cold_start": &m.coldStart,
		"wave_end": &m.waveEnd, "valu_valu": &m.valuVALU, "mask_valu": &m.maskVALU, "valu_salu": &m.valuSALU, "valu_vmem": &m.valuVMEM,
		"valu_branch": &m.valuBranch, "salu_valu": &m.saluVALU, "salu_salu": &m.saluSALU, "salu_smem": &m.saluSMEM,
		"salu_vmem": &m.saluVMEM, "salu_branch": &m.saluBranch, "branch_taken": &m.branchTaken, "branch_not": &m.branchNot,
		"wait_done": &m.waitDone, "barrier": &m.barrier, "valu64": &m.valu64, "valu_shift64": &m.valuShift64,
		"valu_mul": &m.valuMul, "valu_trans": &m.valuTrans, "valu_exec": &m.valuExec, "f64_exec": &m.f64Exec,
		"salu_exec": &m.saluExec, "smem_exec": &m.smemExec, "lds_exec": &m.ldsExec, "vmem_exec": &m.vmemExec,
		"salu_float": &m.saluFloat, "salu_mul": &m.saluMul, "smem_hit": &m.smemHit, "smem_l2": &m.smemL2, "smem_mem": &m.smemMem,
		"lds": &m.lds, "lds_wide": &m.ldsWide, "l0": &m.l0, "l1": &m.l1, "l2": &m.l2, "mem": &m.mem, "store": &m.store,
		"store_mem": &m.storeMem, "vmem_lines": &m.vmemLines, "l2_line": &m.l2Line, "l2_write": &m.l2Write,
		"walk": &m.walk, "l0_kib": &m.l0KiB, "host": &m.host,
		"icache_miss": &m.icacheMiss, "icache_kib": &m.icacheKiB, "smem_rate": &m.smemRate, "matrix_queue": &m.matrixQueue, "matrix_latency": &m.matrixLatency,
		"vmem_read": &m.vmemRead, "vmem_next": &m.vmemNext, "salu_done": &m.saluDone,
	}
}

// models are the table's columns by family.
var models = sync.OnceValue(func() map[gpu.Family]*model {
	ms, err := parseModels(modelTSV)
	if err != nil {
		panic("timing: tables/model.tsv: " + err.Error()) // our own table; a test reads it
	}
	return ms
})

func parseModels(text string) (map[gpu.Family]*model, error) {
	families := []gpu.Family{gpu.GFX9, gpu.GFX11, gpu.GFX12}
	out := map[gpu.Family]*model{}
	fields := map[gpu.Family]map[string]*int64{}
	for _, f := range families {
		out[f] = &model{}
		fields[f] = out[f].fields()
	}
	seen := 0
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "name\t") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 5 {
			return nil, fmt.Errorf("line %d has %d columns", i+1, len(c))
		}
		for k, f := range families {
			v, err := strconv.ParseInt(c[k+1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			p := fields[f][c[0]]
			if p == nil {
				return nil, fmt.Errorf("line %d: the model has no %s", i+1, c[0])
			}
			*p = v
		}
		seen++
	}
	if want := len(fields[gpu.GFX9]); seen != want {
		return nil, fmt.Errorf("%d rows for %d parameters", seen, want)
	}
	return out, nil
}
