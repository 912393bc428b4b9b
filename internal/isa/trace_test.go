package isa

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

// TestTraceFacts compares the generated facts with the tables they were cut from: every vector of the instruction
// whose form a row describes must send what the row says.
func TestTraceFacts(t *testing.T) {
	for _, f := range []struct{ file, target string }{{"ops_rdna3.tsv", "gfx1100"}, {"ops_rdna4.tsv", "gfx1201"}, {"ops_gfx9.tsv", "gfx950"}} {
		arch, _ := ArchOf(f.target)
		file, err := os.Open(sharedtest.Path(t, "formats", f.file))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		want := map[string][]string{} // mnemonic and form: packet, op
		for s := bufio.NewScanner(file); s.Scan(); {
			c := strings.Split(s.Text(), "\t")
			if s.Text()[0] != '#' && c[0] != "mnemonic" {
				want[c[0]+" "+c[2]] = c[3:5]
			}
		}
		checked := 0
		for _, v := range readVectors(t, "enc_"+f.target) {
			in, err := DecodeLenient(arch, v.code)
			if err != nil || in.OpY != nil {
				continue
			}
			form := "-"
			switch r := in.Op.trace.form; {
			case r == traceVaddr && (in.Field(FieldSaddr) == 0x7f || in.Field(FieldSaddr) == 124):
				form = "vaddr"
			case r == traceVaddr:
				form = "saddr"
			case r == traceBoth && in.Flag(FieldOffen) && in.Flag(FieldIdxen):
				form = "offen+idxen"
			case r == traceBoth:
				form = "off, offen or idxen"
			case r == traceBranch:
				form = "taken"
			case r == traceSize && in.Size == 4:
				form = "4-byte"
			case r == traceSize:
				form = "8-byte"
				for _, s := range []string{"8-byte (literal)", "8-byte (literal, DPP, SDWA)"} {
					if want[in.Op.Name+" "+s] != nil {
						form = s
					}
				}
			}
			w := want[in.Op.Name+" "+form]
			if w == nil {
				continue
			}
			info := Trace(&in, 64)
			kind := map[string]TraceKind{"INST": TraceInst, "VALU_INST": TraceVALU, "IMM_ONE/IMMEDIATE": TraceImm, "none": TraceNone, "none (WAVE_END)": TraceEnd, "2": TraceInst, "3": TraceImm}[w[0]]
			op, _ := strconv.ParseUint(w[1], 0, 8)
			if info.Op == opExecWrite && op == 0 {
				continue // writes EXEC
			}
			if info.Kind != kind || uint64(info.OpTaken) != op {
				t.Fatalf("%s %s: %s: got %+v, want %v", f.target, v.text, form, info, w)
			}
			checked++
		}
		if checked < 5000 {
			t.Errorf("%s: only %d vectors have a fact", f.target, checked)
		}
	}
}
