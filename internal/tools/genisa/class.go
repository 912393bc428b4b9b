package main

import (
	"strconv"
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
		bad("%s: format %q has no class", row[""], enc)
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

// traceForm tells which second fact a row of the trace tables gives, and whether this row is the second.
var traceForms = map[string]struct {
	form   string
	second bool
}{
	"-": {"traceOne", false}, "saddr": {"traceVaddr", false}, "vaddr": {"traceVaddr", true},
	"off, offen or idxen": {"traceBoth", false}, "offen+idxen": {"traceBoth", true},
	"not taken": {"traceBranch", false}, "taken": {"traceBranch", true},
	"4-byte": {"traceSize", false}, "8-byte": {"traceSize", true}, "8-byte (literal)": {"traceSize", true}, "8-byte (literal, DPP, SDWA)": {"traceSize", true},
	"a16=0": {"traceA16", false}, "a16=1": {"traceA16", true}, "wave64": {"traceWave", false}, "wave32": {"traceWave", true},
	"entry": {"traceExit", false}, "exit": {"traceExit", true},
	"HEADER bit 59 = 1": {"traceHeader", false}, "HEADER bit 59 = 0": {"traceHeader", true},
	"n address dwords": {"traceAddresses", false}, "n = address + data dwords": {"traceData", false},
}

// traceOf is what the row sends to a thread trace: the form, then two facts.
func (g *gen) traceOf(f family, row map[string]string) string {
	if g.trace == nil {
		g.trace = map[string][]map[string]string{}
		for _, fam := range families {
			for _, r := range g.rows(fam.trace) {
				k := fam.file + r["mnemonic"] + " " + r["format"]
				g.trace[k] = append(g.trace[k], r)
			}
		}
	}
	rows := g.trace[f.file+row["mnemonic"]+" "+row["format"]]
	if rows == nil {
		rows = g.traceFallback(f, row)
	}
	form := ""
	fact := [2]string{"{}", "{}"}
	for _, r := range rows {
		t, ok := traceForms[r["form"]]
		if !ok {
			bad("%s: form %q", r[""], r["form"])
		}
		if form == "" || t.form != "traceOne" {
			form = t.form
		}
		n := 0
		if t.second {
			n = 1
		}
		kind, ok := map[string]string{"NONE": "TraceNone", "INST": "TraceInst", "VALU": "TraceVALU", "IMM": "TraceImm", "END": "TraceEnd"}[r["packet"]]
		if !ok {
			bad("%s: packet %q", r[""], r["packet"])
		}
		op := strings.TrimSuffix(r["op"], "+n")
		if op == "-" {
			op = "0"
		}
		clocks := r["clocks"]
		switch clocks {
		case "-", "n":
			clocks = "0"
		case "dprate":
			clocks = "ClocksDPRate"
		}
		fact[n] = "{" + kind + ", " + op + ", " + clocks + ", " + strconv.FormatBool(r["evidence"] == "seen") + "}"
	}
	switch { // one row stands for both
	case fact[0] == "{}":
		fact[0] = fact[1]
	case fact[1] == "{}":
		fact[1] = fact[0]
	}
	return "traceRow{" + form + ", [2]traceFact{" + fact[0] + ", " + fact[1] + "}}"
}

// traceFallback gives a row without facts of its own those that the class rules of the tables' source give.
func (g *gen) traceFallback(f family, row map[string]string) []map[string]string {
	r := map[string]string{"form": "-", "op": "-", "clocks": "1", "evidence": "inferred-low", "packet": "VALU", "": row[""]}
	if f.file != "cdna.tsv" {
		if row["format"] != "VOP3" {
			bad("%s: no trace fact for %s", row[""], row["mnemonic"])
		}
		return []map[string]string{r}
	}
	r["packet"], r["clocks"] = "INST", "-"
	switch {
	case strings.Contains(row["flags"], "mfma"):
		r["op"] = "28"
	case row["format"] == "VOP3":
		r["op"] = "18"
	case row["format"] == "MUBUF":
		r["op"] = "2"
	default:
		bad("%s: no trace fact for %s", row[""], row["mnemonic"])
	}
	return []map[string]string{r}
}

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
