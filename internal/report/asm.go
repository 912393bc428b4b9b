package report

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
	Uses   *AsmUses  `json:"uses,omitempty"`   // kernels: what the descriptor asks for
	Object int       `json:"object,omitempty"` // 1, 2, …: which of the file's objects for the target, where there are several
	Insts  []AsmInst `json:"instructions"`

	size uint64
	gap  bool   // no function: bytes that no symbol names
	lead uint64 // bytes of padding before it, which belong to it should they run
}

// AsmUses is what a kernel's descriptor and metadata ask for.
type AsmUses struct {
	Descriptor   uint64 `json:"descriptor"` // address
	VGPRs        int    `json:"vgprs"`      // allocated, accumulation registers included
	AccumOffset  int    `json:"accum_offset,omitempty"`
	SGPRs        int    `json:"sgprs"` // allocated: from gfx10 on always 128
	LDSBytes     uint32 `json:"lds_bytes"`
	ScratchBytes uint32 `json:"scratch_bytes"` // of a work-item
	KernargBytes uint32 `json:"kernarg_bytes"`
	UserSGPRs    int    `json:"user_sgprs"`
	WorkItemDims int    `json:"work_item_dims"`
	WGPMode      bool   `json:"wgp_mode,omitempty"`
	RSRC1        uint32 `json:"rsrc1"`
	RSRC2        uint32 `json:"rsrc2"`
	RSRC3        uint32 `json:"rsrc3"`
	Properties   uint16 `json:"properties"`

	Start     []AsmStart `json:"start"` // what waves find in scalar registers
	Signature string     `json:"signature,omitempty"`
	UsedVGPRs *uint32    `json:"vgprs_used"` // by the metadata; null: there is none
	UsedSGPRs *uint32    `json:"sgprs_used"`
}

// AsmStart is a scalar register, or a run of them, that waves find filled.
type AsmStart struct {
	Register string `json:"register"` // "s[0:1]"
	Holds    string `json:"holds"`
}

func usesOf(o *codeobj.Object, k *codeobj.Kernel) *AsmUses {
	d, t := k.Descriptor, o.Target.Processor
	u := &AsmUses{
		Descriptor: k.DescriptorAddr, VGPRs: d.VGPRs(t), AccumOffset: d.AccumOffset(t), SGPRs: d.SGPRs(t), LDSBytes: d.GroupBytes,
		ScratchBytes: d.PrivateBytes, KernargBytes: d.KernargBytes, UserSGPRs: d.UserSGPRs(), WorkItemDims: d.WorkItemDims(),
		WGPMode: d.WGPMode() && d.WaveSize() == 32, RSRC1: d.RSRC1, RSRC2: d.RSRC2, RSRC3: d.RSRC3, Properties: d.Properties,
	}
	u.Start = []AsmStart{}
	for _, v := range d.StartValues(t) {
		u.Start = append(u.Start, AsmStart(v))
	}
	if !k.HasMeta {
		return u
	}
	var args []string
	for i := range k.Args {
		a := &k.Args[i]
		if a.Hidden() {
			continue
		}
		name := strings.TrimSpace(a.TypeName + " " + a.Name)
		if name == "" {
			name = fmt.Sprintf("%s, %s", a.Kind, Plural(int64(a.Size), "byte"))
		}
		args = append(args, name)
	}
	u.UsedVGPRs, u.UsedSGPRs = &k.VGPRs, &k.SGPRs
	u.Signature = fmt.Sprintf("%s(%s)", k.Demangled, strings.Join(args, ", "))
	return u
}

func (u *AsmUses) text(w io.Writer) {
	acc := ""
	if u.AccumOffset > 0 {
		acc = fmt.Sprintf(" (a0 at %d)", u.AccumOffset)
	}
	used := ""
	if u.UsedVGPRs != nil && u.UsedSGPRs != nil {
		used = fmt.Sprintf("; used: VGPRs %d, SGPRs %d", *u.UsedVGPRs, *u.UsedSGPRs)
	}
	mode := ""
	if u.WGPMode {
		mode = ", WGP mode"
	}
	if u.Signature != "" {
		_, _ = fmt.Fprintf(w, "  # %s\n", Printable(u.Signature))
	}
	_, _ = fmt.Fprintf(w, "  # allocated: VGPRs %d%s, SGPRs %d (%d user), LDS %d B, scratch %d B a work-item, arguments %d B, work-item ids of %s%s%s\n",
		u.VGPRs, acc, u.SGPRs, u.UserSGPRs, u.LDSBytes, u.ScratchBytes, u.KernargBytes, Plural(int64(u.WorkItemDims), "dimension"), mode, used)
	_, _ = fmt.Fprintf(w, "  # descriptor at 0x%x: rsrc1 0x%08x, rsrc2 0x%08x, rsrc3 0x%08x, properties 0x%04x\n", u.Descriptor, u.RSRC1, u.RSRC2, u.RSRC3, u.Properties)
	for i, r := range u.Start {
		_, _ = fmt.Fprintf(w, "%s%s %s", [...]string{"  # at start: ", ", "}[min(i, 1)], r.Register, r.Holds)
	}
	if len(u.Start) > 0 {
		_, _ = fmt.Fprintln(w)
	}
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

// Disassemble lists the functions of an object in address order; an empty name takes all, else the kernel or function of that name, or the unnamed
// code that is called so.
func Disassemble(o *codeobj.Object, name string) (*Asm, error) {
	arch, ok := isa.ArchOf(o.Target.Processor)
	if !ok {
		return nil, fmt.Errorf("no instruction table for %s", o.Target.Processor)
	}
	a := &Asm{Schema: "rigprof/asm/1", Target: o.Target.String(), Functions: []AsmFunc{}}
	list := withGaps(o, functions(o, arch))
	if name != "" {
		list = calledBy(list, name)
	}
	for _, f := range list {
		code := o.Bytes(f.Addr)
		f.Insts = disassemble(o, arch, &f, code[:min(uint64(len(code)), f.size)])
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
// without those either has its code as one function, of waves of the metadata's size.
func functions(o *codeobj.Object, arch isa.Arch) []AsmFunc {
	wave := waveSize(o, arch)
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
	entries := map[uint64]*codeobj.Kernel{}
	for k := range o.Kernels {
		entries[o.Kernels[k].Entry] = &o.Kernels[k]
	}
	for i := range list {
		if k := entries[list[i].Addr]; k != nil {
			list[i].Kernel, list[i].Wave, list[i].Uses = true, k.Descriptor.WaveSize(), usesOf(o, k)
		}
	}
	return list
}

// waveSize is how many lanes the waves of unnamed code have.
func waveSize(o *codeobj.Object, arch isa.Arch) int {
	if len(o.Kernels) == 0 && len(o.Unplaced) > 0 {
		n := o.Unplaced[0].WaveSize
		if (n == 32 || n == 64) && !slices.ContainsFunc(o.Unplaced, func(m codeobj.Meta) bool { return m.WaveSize != n }) {
			return int(n)
		}
	}
	if arch.CDNA() {
		return 64
	}
	return 32
}

// withGaps adds what no function holds, but for padding: hand-written code without symbols, tables between functions.
func withGaps(o *codeobj.Object, list []AsmFunc) []AsmFunc {
	at, end := o.Text()
	out := make([]AsmFunc, 0, len(list)+1)
	gap := func(to uint64) {
		if at >= to {
			return
		}
		code := o.Bytes(at)
		code = code[:min(uint64(len(code)), to-at)]
		for len(code) >= 4 && padding(code[len(code)&^3-4:]) {
			code = code[:len(code)&^3-4]
		}
		lead := uint64(0)
		for lead+4 <= uint64(len(code)) && padding(code[lead:]) {
			lead += 4
		}
		if (at+lead)%codeAlign != 0 { // no filling up to where code begins
			lead = 0
		}
		if size := uint64(len(code)) - lead; size > 0 {
			at += lead
			out = append(out, AsmFunc{Name: fmt.Sprintf("code at %#x", at), Addr: at, Wave: list[0].Wave, size: size, gap: true, lead: lead})
		}
	}
	for _, f := range list {
		gap(f.Addr)
		out = append(out, f)
		at = max(at, f.Addr+f.size)
	}
	gap(end)
	return out
}

// codeAlign is the alignment that padding before unnamed code must reach to count as filling; else it may be nops that run.
const codeAlign = 64

// padding tells whether the word is what compilers fill gaps with: 0, s_nop 0 or s_code_end, which all targets encode alike.
func padding(code []byte) bool {
	w := binary.LittleEndian.Uint32(code)
	return w == 0 || w == 0xbf800000 || w == 0xbf9f0000
}

// disassemble lists the instructions of a function, whose bytes are code.
func disassemble(o *codeobj.Object, arch isa.Arch, f *AsmFunc, code []byte) []AsmInst {
	var list []AsmInst
	var text []byte
	addr := f.Addr
	for len(code) >= 4 {
		in := AsmInst{Addr: addr}
		n := 4
		d, refused := isa.Decode(arch, code)
		err := refused
		if err != nil && !f.gap { // what may be data is read as LLVM reads it
			d, err = isa.DecodeLenient(arch, code)
		}
		if err != nil {
			in.Words = []uint32{binary.LittleEndian.Uint32(code)}
			in.Text = fmt.Sprintf(".long 0x%08x  // %v", in.Words[0], errors.Unwrap(err))
		} else {
			n = int(d.Size)
			in.Valid, in.Inst = true, d
			in.Words = append(in.Words, d.Dwords()...)
			text = text[:0]
			if refused != nil { // LLVM shows such bytes as data, hardware runs them
				for i, w := range in.Words {
					text = fmt.Appendf(text, "%s0x%08x", [...]string{".long ", ", "}[min(i, 1)], w)
				}
				text = append(text, "  // runs as "...)
			}
			text = isa.AppendText(text, arch, f.Wave, addr, &d)
			in.Text = string(text)
			if t, ok := d.Target(addr); ok {
				in.Target = t
			}
		}
		for _, f := range o.Line(addr) {
			in.Lines = append(in.Lines, SourceLine{functionName(f.Func), f.File, f.Line})
		}
		list = append(list, in)
		code, addr = code[n:], addr+uint64(n)
	}
	if len(code) > 0 {
		list = append(list, AsmInst{Addr: addr, Words: []uint32{}, Text: ".byte " + strings.ReplaceAll(fmt.Sprintf("% #x", code), " ", ", ")})
	}
	return list
}

// AsmText qualifies Text.
type AsmText struct {
	Lines  bool                                       // name the source line where it changes
	Source func(file string, line int) (string, bool) // and show its text, where there is any; may be nil
}

// Text writes the disassembly as objdump would: a line an instruction, labels where branches go.
func (a *Asm) Text(w io.Writer, o AsmText) error {
	bw := bufio.NewWriter(w)
	for i := range a.Functions {
		f := &a.Functions[i]
		if i > 0 {
			_ = bw.WriteByte('\n') // Flush tells
		}
		what := "function"
		switch {
		case f.Kernel:
			what = "kernel"
		case f.gap:
			what = "no symbol"
		}
		which := ""
		if f.Object > 0 {
			which = fmt.Sprintf(", object %d", f.Object)
		}
		_, _ = fmt.Fprintf(bw, "%s:  # %s, %s, wave%d%s\n", Printable(f.Name), what, a.Target, f.Wave, which)
		if f.Uses != nil {
			f.Uses.text(bw)
		}
		f.text(bw, o)
	}
	return bw.Flush()
}

func (f *AsmFunc) text(bw *bufio.Writer, o AsmText) {
	labels := f.labels()
	last := ""
	for k := range f.Insts {
		in := &f.Insts[k]
		if at := in.place(); o.Lines && at != last {
			last = at
			if at != "" {
				_, _ = fmt.Fprintf(bw, "  ; %s", at)
				if o.Source != nil {
					if s, ok := o.Source(in.Lines[0].File, in.Lines[0].Line); ok {
						_, _ = fmt.Fprintf(bw, "  %s", Printable(s))
					}
				}
				_ = bw.WriteByte('\n')
			}
		}
		if l, ok := labels[in.Addr]; ok {
			_, _ = fmt.Fprintf(bw, "%s:\n", l)
		}
		words := ""
		for _, v := range in.Words {
			words += fmt.Sprintf(" %08x", v)
		}
		_, _ = fmt.Fprintf(bw, "  %8x: %-27s  %s", in.Addr, words, in.Text)
		if l, ok := labels[in.Target]; ok && in.Target != 0 {
			_, _ = fmt.Fprintf(bw, "  -> %s", l)
		} else if in.Target != 0 {
			_, _ = fmt.Fprintf(bw, "  -> 0x%x", in.Target)
		}
		_ = bw.WriteByte('\n')
	}
}

// labels names the instructions that branches of the function go to, in address order: L0, L1, …
func (f *AsmFunc) labels() map[uint64]string {
	targets := map[uint64]bool{}
	for i := range f.Insts {
		if f.Insts[i].Target != 0 {
			targets[f.Insts[i].Target] = true
		}
	}
	labels := map[uint64]string{}
	for i := range f.Insts {
		if at := f.Insts[i].Addr; targets[at] {
			labels[at] = fmt.Sprintf("L%d", len(labels))
		}
	}
	return labels
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
