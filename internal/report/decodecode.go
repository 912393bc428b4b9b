package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// InstWave is a traced wave with what it executed. Start or Stop is -1 where it lies outside the stream.
type InstWave struct {
	Wave
	Insts []DecodedInst `json:"insts"`
}

// DecodedInst is one executed instruction, in JSON the row [time, stall, cycles, category, address or null].
type DecodedInst struct {
	Time          int64 // when the wave was ready for it, in shader cycles
	Stall, Cycles uint32
	Category      sqtt.Category
	PC            uint64 // 0: not known
}

// MarshalJSON writes the row.
func (d DecodedInst) MarshalJSON() ([]byte, error) {
	var pc any
	if d.PC != 0 {
		pc = d.PC
	}
	return json.Marshal([]any{d.Time, d.Stall, d.Cycles, d.Category.String(), pc})
}

// decodedCode is what names the instructions of a Decoded.
type decodedCode struct {
	arch isa.Arch
	code []loadedCode
	prog *sqtt.Program
}

// WithCode adds the instructions of the traced waves, with their places in the given code objects.
func (d *Decoded) WithCode(target string, files []StreamFile, codeFiles []CodeFile) error {
	target, code, err := openCode(target, codeFiles)
	if err != nil {
		return err
	}
	arch, ok := isa.ArchOf(target)
	if !ok {
		return fmt.Errorf("the code objects are for %s, whose instructions rigprof does not know", target)
	}
	d.code = &decodedCode{arch, code, programOf(arch, code)}
	unplaced := make([]int64, len(files))
	parallel(len(files), func(i int) {
		f, s := &files[i], &d.Streams[i]
		s.InstWaves = []InstWave{}
		open := map[[3]uint8]int{} // of a slot's wave that is given in parts
		sqtt.Walk(f.Family, sqtt.WalkOptions{Header: f.Header}, f.Bytes, programOf(arch, code), func(p *sqtt.WaveInsts) {
			key := [3]uint8{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
			n, ok := open[key]
			if !ok || p.First == 0 {
				n = len(s.InstWaves)
				open[key] = n
				s.InstWaves = append(s.InstWaves, InstWave{Insts: make([]DecodedInst, 0, len(p.Insts))})
			}
			w := &s.InstWaves[n]
			w.Wave = waveOf(p.Wave)
			for k := range p.Insts {
				in := &p.Insts[k]
				w.Insts = append(w.Insts, DecodedInst{int64(in.Time), in.Stall, in.Dur, in.Category, in.PC})
				if in.PC == 0 {
					unplaced[i]++
				}
			}
		})
	})
	for i, n := range unplaced {
		if n > 0 {
			d.Quality.Note(capture.Warning, "is --code the object that ran, at the base where it was loaded?", "%s: %s in no code object", files[i].Name, Plural(n, "instruction"))
		}
	}
	return nil
}

// place names an address: function + offset, and the instruction there.
func (c *decodedCode) place(pc uint64) (where, text string) {
	if pc == 0 {
		return "?", ""
	}
	where = "0x" + strconv.FormatUint(pc, 16)
	for i := range c.code {
		l := &c.code[i]
		if l.object == nil || pc < l.lo || pc >= l.hi {
			continue
		}
		if s, ok := l.object.Func(pc - l.base); ok {
			where = fmt.Sprintf("%s+0x%x", s.Name, pc-l.base-s.Addr)
		}
	}
	in, ok := c.prog.Decode(pc)
	if !ok {
		return where, ""
	}
	wave := 32
	if c.arch.CDNA() {
		wave = 64
	}
	return where, strings.TrimSpace(string(isa.AppendText(nil, c.arch, wave, pc, &in)))
}

// instructions is the table of executed instructions; limit 0: all.
func (d *Decoded) instructions(limit int) Table {
	t := Table{Title: "instructions", Columns: []Column{
		Text("file"), Number("cu"), Number("simd"), Number("slot"), Number("time"), Number("stall"), Number("cycles"), Text("category"), Text("at"), Text("instruction"),
	}}
	total := 0
	for i := range d.Streams {
		s := &d.Streams[i]
		for k := range s.InstWaves {
			w := &s.InstWaves[k]
			total += len(w.Insts)
			for _, in := range w.Insts {
				if limit > 0 && len(t.Rows) >= limit {
					break
				}
				where, text := d.code.place(in.PC)
				t.Add(s.File, w.CU, w.SIMD, w.Slot, in.Time, in.Stall, in.Cycles, in.Category.String(), where, text)
			}
		}
	}
	leftOut(&t, total, "instructions", "--limit")
	return t
}
