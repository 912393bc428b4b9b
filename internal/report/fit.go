package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// fit compares records with the instructions at the addresses that they were given. A walk through code that did not run gives addresses, too: only that
// the records are of other kinds shows it.
type fit struct{ records, others int64 }

func (f *fit) add(o fit) {
	f.records += o.records
	f.others += o.others
}

// In captures of real GPUs none of 523,727 records is of another kind (TestCaptureKinds). The bounds leave room for instructions whose record the tables
// only infer, and for waves that were found again in the wrong place.
const (
	fewOthers     = 4   // fewer say nothing,
	othersPercent = 1.0 // nor does a smaller share
)

// note warns where the records are not those of the code.
func (f *fit) note(q *Quality, where, object string) {
	if f.others < fewOthers || float64(f.others)*100 < othersPercent*float64(f.records) {
		return
	}
	q.Note(capture.Warning, "is that the code that ran, at the base where it was loaded?",
		"%s%d of %s with an address in %s are of another kind than the instruction there", where, f.others, Plural(f.records, "record"), object)
}

// recordKinds are categories of records, as bits, of which one is set in all.
type recordKinds uint16

const (
	noRecord  = recordKinds(1 << 15)
	anyRecord = ^recordKinds(0)
)

func (k recordKinds) has(c sqtt.Category) bool { return k>>(c&15)&1 != 0 }

// kindsAt are the records that the instruction at an address may send. One that the tables lack may send any, as may a barrier wait, whose record depends
// on the stream's header.
func kindsAt(prog *sqtt.Program, pc uint64) recordKinds {
	at, ok := prog.At(pc)
	switch {
	case !ok:
		return noRecord
	case at.Step == sqtt.StepBarrier, at.Step == sqtt.StepRecord && at.Category == sqtt.CategoryNone:
		return anyRecord
	}
	k := noRecord | 1<<at.Category
	if at.Category == sqtt.CategoryJump && !at.Always {
		k |= 1 << sqtt.CategoryNext
	}
	if at.Again {
		k |= 1 << sqtt.CategoryImmed
	}
	return k
}

// siteFit is a site's fit and what its records may be.
type siteFit struct {
	fit
	kinds recordKinds
}

// add counts a record.
func (s *siteFit) add(c sqtt.Category) {
	s.records++
	if !s.kinds.has(c) {
		s.others++
	}
}

// fitTable counts records by code object, where there are no sites.
type fitTable struct {
	prog   *sqtt.Program
	code   []loadedCode
	fits   []fit // by code object
	object int   // that the last record was in
	pages  map[uint64]*kindsPage
	last   *kindsPage
	page   uint64 // of last
}

// kindsPage is what 2 KiB of code send, by their first dword; 0: nobody asked yet.
type kindsPage [1 << (sitePageShift - 2)]recordKinds

func newFitTable(prog *sqtt.Program, code []loadedCode) *fitTable {
	return &fitTable{prog: prog, code: code, fits: make([]fit, len(code)), object: -1, pages: map[uint64]*kindsPage{}}
}

// add counts a record with an address.
func (t *fitTable) add(in *sqtt.Inst) {
	if k := t.object; k < 0 || in.PC < t.code[k].lo || in.PC >= t.code[k].hi {
		if t.object = objectAt(t.code, in.PC); t.object < 0 {
			return
		}
	}
	if n := in.PC >> sitePageShift; t.last == nil || n != t.page {
		if t.last = t.pages[n]; t.last == nil {
			t.last = new(kindsPage)
			t.pages[n] = t.last
		}
		t.page = n
	}
	kinds := &t.last[in.PC>>2%uint64(len(t.last))]
	if *kinds == 0 {
		*kinds = kindsAt(t.prog, in.PC)
	}
	s := siteFit{kinds: *kinds}
	s.add(in.Category)
	t.fits[t.object].add(s.fit)
}

// objectAt is the code object that covers a runtime address; -1: none does.
func objectAt(code []loadedCode, pc uint64) int {
	for i := range code {
		if code[i].object != nil && pc >= code[i].lo && pc < code[i].hi {
			return i
		}
	}
	return -1
}

// cutOff counts a wave's records that the stream's end left without a kind: GFX9 tells of an issue first and in a token behind that what was issued.
type cutOff struct {
	placed bool  // the wave's last record with a kind has an address: else the end is not why one has none
	open   int64 // records without a kind behind that
}

func (c *cutOff) add(in *sqtt.Inst) {
	switch {
	case in.Category != sqtt.CategoryNone:
		*c = cutOff{placed: in.PC != 0}
	case in.PC == 0:
		c.open++
	}
}

// end is how many there are at the end of a wave.
func (c *cutOff) end(w *sqtt.Wave, startPC uint64) int64 {
	if w.Stop >= 0 || !c.placed && startPC == 0 {
		return 0
	}
	return c.open
}

// noteCut tells of them.
func noteCut(q *Quality, where string, n int64) {
	if n > 0 {
		q.Note(capture.Warning, "is the file whole?", "%s%s at the stream's end without an address: what tells their kind is cut off", where, Plural(n, "instruction"))
	}
}

// family is what the stream is read as: RDNA streams say it in their header, whatever was asked for.
func (s *StreamFile) family() gpu.Family {
	r, err := s.Open()
	if err != nil {
		return s.Family // the pass over it will tell
	}
	defer func() { _ = r.Close() }() // only read
	var head [8]byte
	n, _ := io.ReadFull(r, head[:])
	if f := sqtt.FamilyOf(head[:n]); f != gpu.Unknown && s.Family != gpu.GFX9 {
		return f
	}
	return s.Family
}

// oneFamily is the family of streams that one code is looked up in, which runs on one GPU.
func oneFamily(names []string, families []gpu.Family) (gpu.Family, error) {
	for i := range families {
		if families[i] != families[0] {
			return gpu.Unknown, fmt.Errorf("%s is a trace of %s and %s of %s: give those of one GPU at a time", names[0], families[0], names[i], families[i])
		}
	}
	if len(families) == 0 {
		return gpu.Unknown, nil
	}
	return families[0], nil
}

// familyOfTarget is a target's family, of generic ones too.
func familyOfTarget(target string) gpu.Family {
	switch a, _ := isa.ArchOf(target); {
	case a.CDNA():
		return gpu.GFX9
	case a == isa.RDNA3 || a == isa.RDNA35:
		return gpu.GFX11
	case a == isa.RDNA4:
		return gpu.GFX12
	}
	return gpu.Unknown
}

// runsOn refuses code that a stream's GPU cannot run.
func (c *loadedCode) runsOn(f gpu.Family, stream string) error {
	target := cmp.Or(c.object.Target.Processor, "an unknown target")
	switch have := familyOfTarget(target); {
	case have == gpu.Unknown:
		return fmt.Errorf("%s: code for %s, whose instructions rigprof does not know", c.name, target)
	case f != gpu.Unknown && have != f:
		return fmt.Errorf("%s: code for %s, but %s is a trace of %s: is it the code that ran?", c.name, target, stream, f)
	}
	return nil
}
