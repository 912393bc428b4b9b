package main

import (
	"log"
	"strings"
)

// class derives the issue class of a row from its encoding, flags and name.
func class(row map[string]string, enc, format string) string {
	name, flags := row["mnemonic"], ","+row["flags"]+","
	has := func(f string) bool { return strings.Contains(flags, ","+f+",") }
	prefix := func(ps ...string) bool {
		for _, p := range ps {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
	switch format {
	case "SMEM":
		return "SMEM_"
	case "DS", "LDSDIR":
		return "LDS"
	case "FLAT":
		return "Flat"
	case "GLOBAL":
		return "Global"
	case "SCRATCH":
		return "Scratch"
	case "MUBUF", "MTBUF":
		return "VMEM"
	case "MIMG":
		return "Image"
	case "EXP":
		return "Export"
	case "SOP1", "SOP2", "SOPC", "SOPK", "SOPP":
		switch {
		case has("endpgm"):
			return "End"
		case prefix("s_delay_alu", "s_waitcnt_depctr", "s_wait_alu"):
			return "Delay"
		case has("wait"), prefix("s_wait"):
			return "Wait"
		case has("barrier"), prefix("s_barrier"):
			return "Barrier"
		case prefix("s_sendmsg"):
			return "Message"
		case has("branch"), prefix("s_trap", "s_rfe"):
			return "Branch"
		case prefix("s_round_mode", "s_denorm_mode", "s_setkill"), format != "SOPP":
			return "SALU"
		}
		return "Immediate"
	}
	if enc[0] != 'V' {
		log.Fatalf("%s: format %q has no class", row[""], enc)
	}
	return vectorClass(row, name, has)
}

// vectorClass follows the class rules of the instruction records that hardware was seen to send (tables/trace_*.tsv):
// transcendentals, then 64-bit float and the quarter-rate integer multiplies.
func vectorClass(row map[string]string, name string, has func(string) bool) string {
	base := strings.TrimSuffix(strings.TrimSuffix(name, "_e32"), "_e64")
	switch {
	case has("mfma"), has("smfmac"), has("wmma"), has("swmmac"):
		return "Matrix"
	case has("trans") && !strings.HasSuffix(base, "_f64"):
		return "VALUTrans"
	case has("dp"), strings.Contains(base, "_f64"), strings.HasPrefix(base, "v_mul_lo_u32"), strings.HasPrefix(base, "v_mul_hi_") && !strings.Contains(base, "24"),
		strings.HasPrefix(base, "v_mad_i64"), strings.HasPrefix(base, "v_mad_u64"), strings.HasPrefix(base, "v_mad_co_"), strings.Contains(base, "qsad"):
		return "VALU64"
	}
	return "VALU"
}

// traceOf is what the row sends to a thread trace.
func (g *gen) traceOf(f family, row map[string]string) string { return "traceRow{}" }

// names emits the tables of names that numbers print as, one array per kind.
func (g *gen) names(p func(string, ...any)) {
	size := map[string]int{"hwreg": 64, "msg": 256, "bufformat": 128, "dfmt": 16, "nfmt": 8}
	kinds := []string{"hwreg", "msg", "bufformat", "dfmt", "nfmt"}
	rows := g.rows("names.tsv")
	for _, k := range kinds {
		p("var %sNames = [numFamily][%d]string{\n", k, size[k])
		for _, col := range []string{"cdna", "rdna3", "rdna4"} {
			p("{")
			for _, row := range rows {
				if row["kind"] == k && row[col] != "" {
					p("%d: %q,\n", atoi(row, "code"), row[col])
				}
			}
			p("},\n")
		}
		p("}\n\n")
	}
}
