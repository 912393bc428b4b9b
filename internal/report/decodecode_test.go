package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Instructions of a wave that runs many come in parts, numbered by their first ones; waves behind it begin anew.
func TestInstructionParts(t *testing.T) {
	counts := []int{2*maxInsts + 100, 30, maxInsts + 1, 1}
	var n nibbles
	n.header()
	n.time(100)
	for _, count := range counts {
		n.start(0, 0, 0, 0)
		for range count {
			n.put(0b011|2<<3, 12) // VALU_INST of slot 0, 2 cycles behind the last token
		}
		n.time(8)
		n.end(0, 0, 0, 0)
	}
	code, err := os.ReadFile("../../testdata/kernels/gfx1100/vadd.co")
	must(t, err)
	d, err := Decode([]StreamFile{{Name: "a", Family: gpu.GFX11, Open: bytesOf(n.b)}})
	must(t, err)
	must(t, d.WithCode("gfx1100", []CodeFile{{Name: "vadd.co", Data: code}}))
	var b bytes.Buffer
	must(t, d.WriteJSON(&b))
	var doc struct {
		Streams []struct {
			Waves []Wave
			Parts []struct {
				First, Stop int
				Insts       [][5]any
			} `json:"inst_waves"`
		}
	}
	must(t, json.Unmarshal(b.Bytes(), &doc))
	parts := doc.Streams[0].Parts
	b.Reset()
	must(t, d.WriteCSV(&b))
	rows, err := csv.NewReader(&b).ReadAll()
	must(t, err)
	rows = rows[1:]
	last := -1.0
	for i, count := range counts {
		count++ // its end is one, too
		stop := int(doc.Streams[0].Waves[i].Stop)
		for first := 0; first < count; {
			if len(parts) == 0 {
				t.Fatalf("wave %d: no part from instruction %d on", i, first)
			}
			p := parts[0]
			parts = parts[1:]
			if p.First != first || len(p.Insts) == 0 || len(rows) < len(p.Insts) || first+len(p.Insts) > count {
				t.Fatalf("wave %d of %d instructions: a part has %d from number %d on, want it to begin with %d", i, count, len(p.Insts), p.First, first)
			}
			for k, in := range p.Insts {
				if time := in[0].(float64); time <= last || rows[k][4] != strconv.FormatFloat(time, 'f', -1, 64) {
					t.Fatalf("wave %d, instruction %d: time %v behind %v, in CSV %s", i, first+k, time, last, rows[k][4])
				}
				last = in[0].(float64)
			}
			rows = rows[len(p.Insts):]
			first += len(p.Insts)
			if want := map[bool]int{true: stop, false: -1}[first == count]; p.Stop != want {
				t.Errorf("wave %d: a part up to instruction %d stops at %d, want %d", i, first, p.Stop, want)
			}
		}
	}
	if len(parts)+len(rows) > 0 {
		t.Errorf("%d parts and %d rows more", len(parts), len(rows))
	}
}
