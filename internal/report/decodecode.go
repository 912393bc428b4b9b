package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// InstWave is a traced wave with what it executed, or a part of that: long waves come up to 16,384 instructions at a time. Start or Stop is -1
// where it lies outside the stream, Stop also where more of the wave follows.
type InstWave struct {
	Wave
	First int           `json:"first,omitempty"` // number of its first instruction in the wave
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
	arch  isa.Arch
	code  []loadedCode
	prog  *sqtt.Program
	names map[uint64][2]string // by address
}

// WithCode adds the instructions of the traced waves, with their places in the given code objects.
func (d *Decoded) WithCode(target string, codeFiles []CodeFile) error {
	names, families := make([]string, len(d.Streams)), make([]gpu.Family, len(d.Streams))
	for i := range d.Streams {
		names[i], families[i] = d.Streams[i].File, d.Streams[i].family
	}
	target, code, err := openCode(target, codeFiles, names, families)
	if err != nil {
		return err
	}
	arch, ok := isa.ArchOf(target)
	if !ok {
		return fmt.Errorf("the code objects are for %s, whose instructions rigprof does not know", target)
	}
	overlaps(code, &d.Quality)
	mapCode(arch, code)
	d.code = &decodedCode{arch: arch, code: code, prog: programOf(arch, code), names: map[uint64][2]string{}}
	unplaced := make([]int64, len(d.Streams))
	cut := make([]int64, len(d.Streams))
	fits := make([][]fit, len(d.Streams))
	why := make([]sqtt.Unplaced, len(d.Streams))
	lost := make([]strays, len(d.Streams))
	errs := make([]error, len(d.Streams))
	parallel(len(d.Streams), func(i int) {
		s := &d.Streams[i]
		ends := map[[3]uint8]cutOff{}
		table := newFitTable(d.code.prog, code)
		lost[i] = strays{}
		why[i], errs[i] = s.walk(d.code, func(p *sqtt.WaveInsts) error {
			key := [3]uint8{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
			end := ends[key]
			for k := range p.Insts {
				in := &p.Insts[k]
				end.add(in)
				if in.PC == 0 {
					unplaced[i]++
				} else {
					table.add(in)
				}
			}
			s.insts += int64(len(p.Insts))
			ends[key] = end
			if p.Last {
				s.waves++
				lost[i].add(p.StartPC, code)
				cut[i] += end.end(&p.Wave, p.StartPC)
				delete(ends, key)
			}
			return nil
		})
		fits[i] = table.fits
	})
	all := strays{}
	for _, l := range lost {
		all.join(l)
	}
	all.note(&d.Quality, code)
	for i, n := range unplaced {
		if errs[i] != nil {
			return fmt.Errorf("%s: %w", d.Streams[i].File, errs[i])
		}
		where := d.Streams[i].File + ": "
		noteUnplaced(&d.Quality, where, n-cut[i], why[i])
		noteCut(&d.Quality, where, cut[i])
		for k := range code {
			fits[i][k].note(&d.Quality, where, code[k].name)
		}
	}
	return nil
}

// walk walks the stream, until f fails, and tells why instructions have no address.
func (s *Stream) walk(c *decodedCode, f func(p *sqtt.WaveInsts) error) (sqtt.Unplaced, error) {
	var w sqtt.Walker
	var failed error
	w.Reset(s.file.Family, sqtt.WalkOptions{Header: s.file.Header}, programOf(c.arch, c.code), func(p *sqtt.WaveInsts) {
		if failed == nil {
			failed = f(p)
		}
	})
	err := s.file.pieces(func(b []byte, _ bool) error {
		w.Feed(b)
		w.TakeWaves()
		return failed
	})
	if err == nil {
		w.Close()
		err = failed
	}
	return w.Unplaced(), err
}

// maxInsts is how many instructions of a wave are held until it ends.
const maxInsts = 1 << 14

// eachInstWave reads the traced waves again, in the order they end. What f is given is used again.
func (s *Stream) eachInstWave(c *decodedCode, f func(w *InstWave) error) error {
	open := map[[3]uint8]*InstWave{}
	var spare []*InstWave
	_, err := s.walk(c, func(p *sqtt.WaveInsts) error {
		key := [3]uint8{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
		w := open[key]
		if w == nil {
			if n := len(spare); n > 0 {
				w, spare = spare[n-1], spare[:n-1]
			} else {
				w = &InstWave{Insts: []DecodedInst{}}
			}
			w.First, w.Insts = p.First, w.Insts[:0]
			open[key] = w
		}
		w.Wave = waveOf(p.Wave)
		for k := range p.Insts {
			in := &p.Insts[k]
			w.Insts = append(w.Insts, DecodedInst{int64(in.Time), in.Stall, in.Dur, in.Category, in.PC})
		}
		if !p.Last && len(w.Insts) < maxInsts {
			return nil
		}
		delete(open, key)
		spare = append(spare, w)
		return f(w)
	})
	return err
}

// place names an address: function + offset, and the instruction there.
func (c *decodedCode) place(pc uint64) (where, what string) {
	if pc == 0 {
		return "?", ""
	}
	if n, ok := c.names[pc]; ok {
		return n[0], n[1]
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
	if in, ok := c.prog.Decode(pc); ok {
		wave := 32
		if c.arch.CDNA() {
			wave = 64
		}
		what = strings.TrimSpace(string(isa.AppendText(nil, c.arch, wave, pc, &in)))
	}
	where = text(where)
	c.names[pc] = [2]string{where, what}
	return where, what
}

var instructionColumns = []Column{
	Text("file"), Number("cu"), Number("simd"), Number("slot"), Number("time"), Number("stall"), Number("cycles"), Text("category"), Text("at"), Text("instruction"),
}

// eachInstruction gives the rows of executed instructions, until f fails. f may keep a row's cells, not the row.
func (d *Decoded) eachInstruction(f func(family gpu.Family, w *InstWave, row []string) error) error {
	var row []string
	for i := range d.Streams {
		s := &d.Streams[i]
		file := text(s.File)
		err := s.eachInstWave(d.code, func(w *InstWave) error {
			row = appendNumbers(append(row[:0], file), int64(w.CU), int64(w.SIMD), int64(w.Slot))
			wave := len(row)
			for _, in := range w.Insts {
				where, what := d.code.place(in.PC)
				row = appendNumbers(row[:wave], in.Time, int64(in.Stall), int64(in.Cycles))
				row = append(row, in.Category.String(), where, what)
				if err := f(s.family, w, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// instructions is the table of executed instructions; limit 0: all.
func (d *Decoded) instructions(limit int) Table {
	t := Table{Title: "instructions", Columns: slices.Replace(slices.Clone(instructionColumns), 1, 2, Number("array"), d.unitColumn())}
	total := int64(0)
	for i := range d.Streams {
		total += d.Streams[i].insts
	}
	d.notWhole(t.fill(Held, limit, int(total), "instructions", "--limit", func(f func(row []string) error) error {
		var out []string
		return d.eachInstruction(func(family gpu.Family, w *InstWave, row []string) error {
			out = append(out[:0], row[0], strconv.Itoa(arrayOf(family, w.CU)), strconv.Itoa(unitOf(family, w.CU)))
			out = append(out, row[2:]...)
			return f(out)
		})
	}))
	return t
}
