package shader

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

// valueTests lists the operations without vectors in isa/exec, and the test that knows what each of them must give.
var valueTests = []struct{ ops, test string }{
	{`buffer_(load|store)_(format|d16_(hi_)?format)_\w+`, "TestFormatValues"},
	{`tbuffer_\w+`, "TestFormatValues"},
	{`buffer_load_lds_\w+`, "TestLoadToLDS"},
	{`buffer_store_lds_dword`, "TestStoreFromLDS"},
	{`buffer_(load|store|atomic)_\w+`, "TestBufferValues"},
	{`global_load_lds_\w+`, "TestLoadToLDS"},
	{`scratch_load_lds_\w+`, "TestScratchToLDS"},
	{`global_(load|store)_block`, "TestBlocks"},
	{`scratch_(load|store)_block`, "TestBlocks"},
	{`global_load_tr_\w+`, "TestTransposeGlobal"},
	{`ds_read_b\d+_tr_b\d+`, "TestTransposeLDS"},
	{`global_atomic_ordered_add_b64`, "TestOrderedAdd"},
	{`global_(atomic|load_addtid|store_addtid)_\w+`, "TestGlobalValues"},
	{`(lds|ds)_direct_load`, "TestLDSDirect"},
	{`ds_(append|consume|nop|bpermute_fi_b32|condxchg32_rtn_b64|pk_add_(rtn_)?bf16|(load|store|read|write)_addtid_b32)`, "TestLDSValues"},
	{`ds_gws_(init|barrier)`, "TestGlobalWaveSync"},
	{`ds_gws_sema_release_all`, "TestReturns"},
	{`ds_gws_sema_\w+`, "TestSemaphores"},
	{`ds_ordered_count`, "TestOrderedCount"},
	{`ds_(add|sub)_gs_reg_rtn`, "TestOrderedCount"},
	{`s_(buffer_)?(atomic|store)_\w+`, "TestScalarMemoryValues"},
	{`s_buffer_load_\w+`, "TestScalarMemoryValues"},
	{`s_scratch_(load|store)_dwordx\d`, "TestScalarScratchWide"},
	{`s_scratch_(load|store)_dword`, "TestScalarScratch"},
	{`s_(bitreplicate|movreld|movrels|movrelsd_2)_\w+`, "TestScalarValues"},
	{`s_(max|min)_f(16|32)`, "TestScalarValues"},
	{`s_cvt_pk_rtz_f16_f32`, "TestScalarValues"},
	{`s_barrier`, "TestBarrier"},
	{`s_barrier_\w+`, "TestNamedBarriers"},
	{`s_get_barrier_state`, "TestNamedBarriers"},
	{`s_(sleep|wakeup|wakeup_barrier)`, "TestSleepAndWakeup"},
	{`s_(sleep_var|rfe_restore_b64)`, "TestReturns"},
	{`s_cbranch_(g_fork|i_fork|join)`, "TestForks"},
	{`s_subvector_loop_\w+`, "TestSubvectorLoop"},
	{`s_setvskip`, "TestVskip"},
	{`s_set_gpr_idx_\w+`, "TestGPRIndex"},
	{`s_(getreg_b32|setreg_b32|setreg_imm32_b32)`, "TestSetreg"},
	{`s_(round|denorm)_mode`, "TestModes"},
	{`s_(sendmsg|sendmsghalt|sendmsg_rtn_b32|sendmsg_rtn_b64)`, "TestMessages"},
	{`s_(trap|rfe_b64|sethalt)`, "TestTraps"},
	{`s_mem(real)?time`, "TestClocks"},
	{`s_alloc_vgpr`, "TestAllocVGPR"},
	{`v_cvt_scalef32_\w+`, "TestScaledConversions"},
	{`v_cvt_(pk_f32_(fp8|bf8)|sr_\w+|pk_?norm_\w+|pkaccum_u8_f32)`, "TestConversionValues"},
	{`v_(mad|mac|madak|madmk)(_legacy)?_f32`, "TestMultiplyAdds"},
	{`v_(mad|mac|madak|madmk)(_legacy)?_f16`, "TestHalfValues"},
	{`v_div_fixup(_legacy)?_f16`, "TestHalfValues"},
	{`v_(mad_legacy_i16|(exp|log)_legacy_f32)`, "TestHalfValues"},
	{`v_(dual_dot2acc_f32_(b?f16)|dual_mul_dx9_zero_f32|dot2_\w+|dot4_\w+)`, "TestDotValues"},
	{`v_mqsad_u32_u8`, "TestMaskedSums"},
	{`v_(movrel\w+|swap_b16|swap_b32|swaprel_b32|nop|pipeflush|clrexcp|permlane32_swap_b32)`, "TestMoves"},
	{`v_interp_\w+`, "TestInterpolation"},
	{`v_s_\w+`, "TestScalarValues"},
	{`v_mfma_scale_\w+`, "TestScaledMFMA"},
	{`v_(mfma_[fi]\d|smfmac_)\w+`, "TestMatrixValues"},
	{`v_swmmac_\w+`, "TestSparseWMMA"},
}

// noValue lists operations that give nothing to compare, with the reason.
var noValue = []struct{ ops, why string }{
	{`(buffer|global)_(inv|wb|wbinv|invl2|wbl2|wbinvl1|wbinvl1_vol|gl0_inv|gl1_inv)`, "caches, which hold nothing that memory does not"},
	{`s_(dcache|icache)_\w+`, "caches, which hold nothing that memory does not"},
	{`s_(buffer_)?prefetch_\w+`, "a hint"},
	{`s_atc_probe(_buffer)?`, "a hint to translate an address"},
	{`s_(wait|waitcnt)_?\w*`, "every operation is complete before the next"},
	{`s_(clause|singleuse_vdst|setprio|version)`, "hints to the scheduler and to tools"},
	{`s_(inc|dec)perflevel`, "performance counters' debugging"},
	{`s_ttracedata(_imm)?`, "goes to the thread trace: TestTraceData"},
	{`s_endpgm(_saved|_ordered_ps_done)?`, "ends the wave: every test of kernels"},
	{`s_cbranch_cdbg\w+`, "branches that only debuggers cause: never taken"},
	{`s_setkill`, "no wave is killed"},
	{`v_screen_partition_4se_b32`, "a table of the MI200 ISA, and nothing else to compute it from"},
	{`v_mfma_ld_scale_b32`, "part of the next instruction"},
}

var opAndAsm = regexp.MustCompile(`"(?:op|asm)": ?"([^"]*)"`)

func mnemonics(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ';' || r == ':' || r == ',' })
}

// TestEveryOpHasAValue: each operation that is executed has vectors in isa/exec or a test of its own here.
func TestEveryOpHasAValue(t *testing.T) {
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range sources {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	covered := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(sharedtest.Path(t, "isa", "exec"), "*", "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		zr, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(zr)
		sc.Buffer(nil, 1<<24)
		for sc.Scan() {
			for _, m := range opAndAsm.FindAllSubmatch(sc.Bytes(), 2) {
				for _, n := range mnemonics(string(m[1])) {
					covered[strings.TrimSuffix(strings.TrimSuffix(n, "_e32"), "_e64")] = true
				}
			}
		}
		f.Close()
	}
	compiled := map[string]*regexp.Regexp{}
	match := func(pattern, name string) bool {
		if compiled[pattern] == nil {
			compiled[pattern] = regexp.MustCompile(`^(` + pattern + `)$`)
		}
		return compiled[pattern].MatchString(name)
	}
	used := map[string]bool{}
	missing := map[string]bool{}
	for _, o := range instructions(t).ops {
		name := o.base()
		if covered[name] || refused(name) {
			continue
		}
		found := false
		for _, v := range valueTests {
			if !found && match(v.ops, name) {
				found, used[v.ops] = true, true
			}
		}
		for _, v := range noValue {
			if !found && match(v.ops, name) {
				found, used[v.ops] = true, true
			}
		}
		if !found {
			missing[name] = true
		}
	}
	for _, v := range valueTests {
		if !strings.Contains(text.String(), "func "+v.test+"(") {
			t.Errorf("there is no %s", v.test)
		}
		if !used[v.ops] {
			t.Logf("%s is not needed", v.ops)
		}
	}
	var names []string
	for n := range missing {
		names = append(names, n)
	}
	sort.Strings(names)
	if len(names) > 0 {
		t.Errorf("nothing says what these must give: %s", strings.Join(names, " "))
	}
}
