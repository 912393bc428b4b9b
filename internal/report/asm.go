package report

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/isa"
)

// Asm is the disassembly of a code object's kernels and functions: the document rigprof/asm/1.
type Asm struct {
	Schema    string    `json:"schema"`
	Target    string    `json:"target"`
	Functions []AsmFunc `json:"functions"`
}

// AsmFunc is one function's instructions.
type AsmFunc struct {
	Name   string    `json:"name"` // demangled
	Symbol string    `json:"symbol"`
	Addr   uint64    `json:"address"` // the file's virtual address, as all here
	Kernel bool      `json:"kernel"`
	Wave   int       `json:"wave"`
	Insts  []AsmInst `json:"instructions"`

	size uint64
}

// AsmInst is one instruction, or a word that is none.
type AsmInst struct {
	Addr   uint64       `json:"address"`
	Words  []uint32     `json:"words"`
	Text   string       `json:"text"`
	Target uint64       `json:"target,omitempty"` // of a direct branch
	Lines  []SourceLine `json:"lines,omitempty"`  // innermost inlined function first
	Inst   isa.Inst     `json:"-"`
	Valid  bool         `json:"valid"`
}

// SourceLine is a place in the source.
type SourceLine struct {
	Func string `json:"function,omitempty"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Disassemble lists the functions of an object in address order; an empty name takes all, else the kernel or function of that name.
func Disassemble(o *codeobj.Object, name string) (*Asm, error) {
	arch, ok := isa.ArchOf(o.Target.Processor)
	if !ok {
		return nil, fmt.Errorf("no instruction table for %s", o.Target.Processor)
	}
	a := &Asm{Schema: "rigprof/asm/1", Target: o.Target.String(), Functions: []AsmFunc{}}
	for _, f := range functions(o, arch) {
		if name != "" && name != f.Symbol && name != f.Name {
			continue
		}
		code := o.Bytes(f.Addr)
		f.Insts = disassemble(o, arch, f.Wave, f.Addr, code[:min(uint64(len(code)), f.size)])
		a.Functions = append(a.Functions, f)
	}
	if len(a.Functions) == 0 {
		if name != "" {
			if _, err := o.Kernel(name); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("no function with code")
	}
	return a, nil
}

// functions lists an object's functions by address, without their instructions. An object without symbols of functions has its kernels; one
// without those either has its code as one function.
func functions(o *codeobj.Object, arch isa.Arch) []AsmFunc {
	wave := 64
	if !arch.CDNA() {
		wave = 32
	}
	var list []AsmFunc
	for _, s := range o.Symbols {
		if s.Func && s.Size > 0 {
			list = append(list, AsmFunc{Name: codeobj.Demangle(s.Name), Symbol: s.Name, Addr: s.Addr, Wave: wave, size: s.Size})
		}
	}
	_, hi := o.Text()
	if len(list) == 0 {
		for i := range o.Kernels {
			if k := &o.Kernels[i]; len(o.Bytes(k.Entry)) > 0 {
				size := k.Size
				if size == 0 && k.Entry < hi {
					size = hi - k.Entry
				}
				list = append(list, AsmFunc{Name: k.Demangled, Symbol: k.Name, Addr: k.Entry, size: size})
			}
		}
		slices.SortFunc(list, func(a, b AsmFunc) int { return cmp.Compare(a.Addr, b.Addr) })
	}
	if lo, hi := o.Text(); len(list) == 0 && hi > lo {
		list = append(list, AsmFunc{Name: fmt.Sprintf("code at %#x", lo), Addr: lo, Wave: wave, size: hi - lo})
	}
	for i := range list {
		for k := range o.Kernels {
			if o.Kernels[k].Entry == list[i].Addr {
				list[i].Kernel, list[i].Wave = true, o.Kernels[k].Descriptor.WaveSize()
			}
		}
	}
	return list
}

// disassemble lists the instructions of code, which is at addr.
func disassemble(o *codeobj.Object, arch isa.Arch, wave int, addr uint64, code []byte) []AsmInst {
	var list []AsmInst
	var text []byte
	for len(code) >= 4 {
		in := AsmInst{Addr: addr}
		n := 4
		if d, err := isa.Decode(arch, code); err == nil {
			n = int(d.Size)
			in.Valid, in.Inst = true, d
			text = isa.AppendText(text[:0], arch, wave, addr, &d)
			in.Text = string(text)
			in.Words = append(in.Words, d.Dwords()...)
			if t, ok := d.Target(addr); ok {
				in.Target = t
			}
		} else {
			in.Words = []uint32{binary.LittleEndian.Uint32(code)}
			in.Text = fmt.Sprintf(".long 0x%08x", in.Words[0])
		}
		for _, f := range o.Line(addr) {
			in.Lines = append(in.Lines, SourceLine{f.Func, f.File, f.Line})
		}
		list = append(list, in)
		code, addr = code[n:], addr+uint64(n)
	}
	return list
}

// Text writes the disassembly as objdump would: a line an instruction, with the source line where it changes.
func (a *Asm) Text(w io.Writer, lines bool) error {
	bw := bufio.NewWriter(w)
	for i := range a.Functions {
		f := &a.Functions[i]
		if i > 0 {
			_ = bw.WriteByte('\n') // Flush tells
		}
		what := "function"
		if f.Kernel {
			what = "kernel"
		}
		_, _ = fmt.Fprintf(bw, "%s:  # %s, %s, wave%d\n", Printable(f.Name), what, a.Target, f.Wave)
		last := ""
		for k := range f.Insts {
			in := &f.Insts[k]
			if at := in.place(); lines && at != last {
				last = at
				if at != "" {
					_, _ = fmt.Fprintf(bw, "  ; %s\n", at)
				}
			}
			words := ""
			for _, v := range in.Words {
				words += fmt.Sprintf(" %08x", v)
			}
			_, _ = fmt.Fprintf(bw, "  %8x: %-27s  %s", in.Addr, words, in.Text)
			if in.Target != 0 {
				_, _ = fmt.Fprintf(bw, "  -> %x", in.Target)
			}
			_ = bw.WriteByte('\n')
		}
	}
	return bw.Flush()
}

// place is the source line of an instruction, "vadd.cl:7", or nothing.
func (in *AsmInst) place() string {
	if len(in.Lines) == 0 || in.Lines[0].Line == 0 { // line 0: code that the compiler made up
		return ""
	}
	return fmt.Sprintf("%s:%d", Printable(in.Lines[0].File), in.Lines[0].Line)
}

// CSV is one row an instruction.
func (a *Asm) CSV() *Table {
	t := &Table{Columns: []Column{Text("function"), Text("address"), Text("words"), Text("text"), Text("target"), Text("file"), Number("line")}}
	for i := range a.Functions {
		f := &a.Functions[i]
		for k := range f.Insts {
			in := &f.Insts[k]
			var target, file, line any
			if in.Target != 0 {
				target = fmt.Sprintf("%#x", in.Target)
			}
			if in.place() != "" {
				file, line = in.Lines[0].File, in.Lines[0].Line
			}
			words := ""
			for j, v := range in.Words {
				if j > 0 {
					words += " "
				}
				words += fmt.Sprintf("%08x", v)
			}
			t.Add(f.Name, fmt.Sprintf("%#x", in.Addr), words, in.Text, target, file, line)
		}
	}
	return t
}
