package report

import (
	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// unplaced stands for an instruction whose address is not known: its category takes the address's place.
func unplaced(c sqtt.Category) analysis.Where { return analysis.Where{Object: -1, PC: uint64(c)} }

// siteTable finds a run's sites by kernel, and by address or, where there is none, by category. Many kernels that run much of the same code
// would need their product of sites: past a bound the sites of further kernels, and further sites of all, are those of one kernel
// that stands for them. So its memory depends on the code's size at most.
type siteTable struct {
	run      *analysis.Run
	prog     *sqtt.Program
	code     []loadedCode
	byKernel map[int32]*kernelSites
	last     *kernelSites
	other    *kernelSites // of the kernel that stands for those past the bound
	room     int          // bytes that kernels and sites may still take
	fits     []siteFit    // by site
}

// kernelSites are those of one kernel's waves.
type kernelSites struct {
	kernel     int32
	pages      map[uint64]*sitePage
	last       *sitePage
	lastPage   uint64
	byCategory [256]int32 // and 1
}

const sitePageShift = 11

// sitePage is the sites of 2 KiB of code by their first dword, and 1.
type sitePage [1 << (sitePageShift - 2)]int32

// maxSiteRoom bounds a table's bytes. It is enough for 64 K pages, or for 512 K sites of which the run keeps the costs; the largest
// libraries' kernels share less.
const maxSiteRoom = 128 << 20

// What a kernel, a page and a site take, roughly.
const (
	kernelRoom = 4*256 + 256
	pageRoom   = 1 << sitePageShift
	siteRoom   = 256
)

func newSiteTable(run *analysis.Run, prog *sqtt.Program, code []loadedCode, other int32, room int) *siteTable {
	k := &kernelSites{kernel: other, pages: map[uint64]*sitePage{}}
	return &siteTable{run: run, prog: prog, code: code, byKernel: map[int32]*kernelSites{other: k}, other: k, room: room}
}

// take takes room for something of a kernel's. Once there is not enough, nothing gets any.
func (t *siteTable) take(k *kernelSites, n int) bool {
	if k == t.other {
		return true
	}
	if t.room < n {
		t.room = 0
		return false
	}
	t.room -= n
	return true
}

// of is the site of a record of a kernel's wave.
func (t *siteTable) of(kernel int32, in *sqtt.Inst) int32 {
	k := t.last
	if k == nil || k.kernel != kernel {
		k = t.sitesOf(kernel)
		t.last = k
	}
	if in.PC != 0 {
		if n := in.PC >> sitePageShift; k.last == nil || n != k.lastPage {
			page := k.pages[n]
			if page == nil {
				if !t.take(k, pageRoom) {
					return t.of(t.other.kernel, in)
				}
				page = new(sitePage)
				k.pages[n] = page
			}
			k.last, k.lastPage = page, n
		}
		at := &k.last[in.PC>>2%uint64(len(k.last))]
		if *at > 0 {
			return *at - 1
		}
		if *at == 0 {
			*at = -1
			if s, found := siteAt(in, t.prog, t.code); found {
				*at = t.add(k, in, s) + 1
				return *at - 1
			}
		}
	}
	at := &k.byCategory[in.Category]
	if *at == 0 {
		*at = t.add(k, in, analysis.Site{Where: unplaced(in.Category), Class: classOf(in.Category)}) + 1
	}
	return *at - 1
}

func (t *siteTable) sitesOf(kernel int32) *kernelSites {
	k := t.byKernel[kernel]
	if k != nil {
		return k
	}
	k = &kernelSites{kernel: kernel, pages: map[uint64]*sitePage{}}
	if !t.take(k, kernelRoom) {
		return t.other
	}
	t.byKernel[kernel] = k
	return k
}

// add adds a record's site to a kernel's or, where there is no room, finds the one that stands for it.
func (t *siteTable) add(k *kernelSites, in *sqtt.Inst, s analysis.Site) int32 {
	if !t.take(k, siteRoom) {
		return t.of(t.other.kernel, in)
	}
	s.Kernel = k.kernel
	kinds := anyRecord
	if s.Object >= 0 {
		kinds = kindsAt(t.prog, in.PC)
	}
	t.fits = append(t.fits, siteFit{kinds: kinds})
	return t.run.AddSite(s)
}

// objects sums up the sites' fits by code object.
func (t *siteTable) objects() []fit {
	list := make([]fit, len(t.code))
	for i := range t.fits {
		if s := t.run.SiteAt(int32(i)); s.Object >= 0 {
			list[s.Object].add(t.fits[i].fit)
		}
	}
	return list
}

// otherKernels is the kernel that stands for those past a table's bound.
var otherKernels = hotKernel{"other kernels", "other kernels", -1}

// noteOtherKernels tells of kernels that are not told apart.
func noteOtherKernels(q *Quality, p *analysis.Profile, other int32) {
	told := map[int32]bool{}
	for i := range p.Insts {
		if c := &p.Insts[i]; c.Hits > 0 {
			told[c.Kernel] = true
		}
	}
	if told[other] {
		q.Note(capture.Warning, "trace fewer kernels at once",
			"more kernels and code ran than is kept apart: what ran beyond %s is shown as of %q", Plural(int64(len(told)-1), "kernel"), otherKernels.name)
	}
}

// siteAt describes the instruction at a runtime address, if a code object covers it.
func siteAt(in *sqtt.Inst, prog *sqtt.Program, code []loadedCode) (analysis.Site, bool) {
	for i := range code {
		if code[i].object == nil || in.PC < code[i].lo || in.PC >= code[i].hi {
			continue
		}
		where := analysis.Where{Object: i, PC: in.PC - code[i].base}
		if d, ok := prog.Decode(in.PC); ok {
			return analysis.SiteOf(where, &d), true
		}
		return analysis.Site{Where: where, Class: classOf(in.Category)}, true
	}
	return analysis.Site{}, false
}

// classOf is the class that a token's category stands for, where the instruction is not known.
func classOf(c sqtt.Category) isa.Class {
	switch c {
	case sqtt.CategorySMEM:
		return isa.SMEM_
	case sqtt.CategorySALU:
		return isa.SALU
	case sqtt.CategoryVMEM, sqtt.CategoryBVH:
		return isa.Global
	case sqtt.CategoryFLAT:
		return isa.Flat
	case sqtt.CategoryLDS:
		return isa.LDS
	case sqtt.CategoryVALU:
		return isa.VALU
	case sqtt.CategoryJump, sqtt.CategoryNext:
		return isa.Branch
	case sqtt.CategoryImmed:
		return isa.Immediate
	case sqtt.CategoryMessage:
		return isa.Message
	case sqtt.CategoryExport:
		return isa.Export
	}
	return isa.NoClass
}
