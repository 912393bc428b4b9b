package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// loadedCode is a code object and where it ran.
type loadedCode struct {
	object *codeobj.Object
	base   uint64
	lo, hi uint64 // runtime addresses of its code
}

// hotStream is one stream to walk.
type hotStream struct {
	*StreamFile
	dispatch, engine int
	walked           bool // instructions may be in it
	cu               int

	scanned *scanned // of the first pass
	crowd   *crowd
	failed  error // of a later pass
}

// HotCapture loads the instruction traces of a capture, which must stay open while views are made.
func HotCapture(c *capture.Capture) (*Hot, error) {
	q := newQuality() // of code objects
	var code []loadedCode
	for i := range c.Objects {
		b, err := c.Objects[i].Bytes.Bytes()
		if err != nil {
			q.Note(capture.Loss, "", "code object %s: %v", c.Objects[i].Name, err)
		}
		o, err := codeobj.Open(b)
		if err != nil {
			q.Note(capture.Loss, "", "code object %s: %v", c.Objects[i].Name, err)
			code = append(code, loadedCode{})
			continue
		}
		code = append(code, load(o, c.Objects[i].Base))
	}
	streams := make([]*hotStream, len(c.Traces))
	for i := range c.Traces {
		tr := &c.Traces[i]
		streams[i] = &hotStream{StreamFile: traceFile(tr), dispatch: tr.Dispatch, engine: tr.Engine}
		if tr.Detail != nil {
			streams[i].walked, streams[i].cu = true, tr.Detail.Unit
		}
	}
	kernels := make([]string, len(c.Dispatches))
	for i := range c.Dispatches {
		kernels[i] = c.Dispatches[i].Kernel
	}
	var markers []MarkerSpan
	h := makeHot(deviceDoc(&c.Device), c.Device.Target, streams, code, kernels, func() Quality {
		scans := make([]*scanned, len(streams))
		for i, s := range streams {
			scans[i] = s.scanned
		}
		t := traceOf(c, scans)
		markers = t.markers
		t.Quality.Notes = append(t.Quality.Notes, q.Notes...)
		return t.Quality
	})
	h.family, h.Markers = familyOf(c.Device.Family), markers
	return h, nil
}

// CodeFile is a code object given beside trace files.
type CodeFile struct {
	Name string
	Base uint64
	Data []byte
}

// HotFiles loads the instructions of trace files; each file counts as an engine of its own.
func HotFiles(target string, files []StreamFile, codeFiles []CodeFile) (*Hot, error) {
	target, code, err := openCode(target, codeFiles)
	if err != nil {
		return nil, err
	}
	streams := make([]*hotStream, len(files))
	kernels := make([]string, len(files))
	for i := range files {
		streams[i] = &hotStream{StreamFile: &files[i], dispatch: i, engine: i, walked: true}
		kernels[i] = files[i].Name
	}
	var d *Decoded
	var markers []MarkerSpan
	h := makeHot(DeviceDoc{Name: "trace files", Target: target}, target, streams, code, kernels, func() Quality {
		scans := make([]*scanned, len(streams))
		for i, s := range streams {
			scans[i] = s.scanned
		}
		if d, err = decodedOf(files, scans); err != nil {
			return newQuality()
		}
		if len(code) == 0 {
			d.Quality.Note(capture.Warning, "give the code object with --code FILE@BASE", "no code object: instructions have neither names nor addresses")
		}
		names := onlyFuncMap(code, &d.Quality)
		for i, s := range streams {
			if s.scanned.words > 0 {
				data, waves, err := s.shaderData()
				if err != nil {
					d.Quality.Note(capture.Loss, "", "markers of %s are not whole: %v", s.Name, err)
				}
				markers = append(markers, markerSpans(i, i, data, waves, names, &d.Quality)...)
			}
		}
		return d.Quality
	})
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		h.family = d.Streams[0].family
	}
	h.Files, h.Markers = true, markers
	return h, nil
}

// openCode opens code objects for a target, by default that of the first.
func openCode(target string, files []CodeFile) (string, []loadedCode, error) {
	var code []loadedCode
	for _, f := range files {
		o, err := codeobj.Choose(f.Data, target, "")
		if err != nil {
			return target, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if target == "" {
			target = o.Target.Processor
		}
		code = append(code, load(o, f.Base))
	}
	return target, code, nil
}

// programOf is the code that the walk follows.
func programOf(arch isa.Arch, code []loadedCode) *sqtt.Program {
	prog := sqtt.NewProgram(arch)
	for i := range code {
		if o := code[i].object; o != nil {
			lo, hi := o.Text()
			b := o.Bytes(lo)
			prog.Add(code[i].lo, b[:min(uint64(len(b)), hi-lo)])
		}
	}
	return prog
}

func load(o *codeobj.Object, base uint64) loadedCode {
	lo, hi := o.Text()
	return loadedCode{o, base, base + lo, base + hi}
}

func makeHot(device DeviceDoc, target string, streams []*hotStream, code []loadedCode, kernels []string, quality func() Quality) *Hot {
	arch, _ := isa.ArchOf(target)
	parts := make([]*hotPart, len(streams))
	for i, s := range streams {
		parts[i] = &hotPart{
			dispatch: s.dispatch, engine: s.engine,
			feed:   func(run *analysis.Run) int { return s.feed(arch, code, run) },
			failed: func() error { return s.failed },
		}
		s.crowd = &parts[i].crowd
	}
	objects := make([]*codeobj.Object, len(code))
	for i := range code {
		objects[i] = code[i].object
	}
	return newHot(device, target, parts, objects, kernels, quality)
}

// unplaced stands for an instruction whose address is not known: its category takes the address's place.
func unplaced(c sqtt.Category) analysis.Where { return analysis.Where{Object: -1, PC: uint64(c)} }

// siteTable finds a run's sites by address or, where there is none, by category.
type siteTable struct {
	run        *analysis.Run
	prog       *sqtt.Program
	code       []loadedCode
	pages      map[uint64]*sitePage
	last       *sitePage
	lastPage   uint64
	byCategory [256]int32 // and 1
}

const sitePageShift = 11

// sitePage is the sites of 2 KiB of code by their first dword, and 1.
type sitePage [1 << (sitePageShift - 2)]int32

func (t *siteTable) of(in *sqtt.Inst) int32 {
	if in.PC != 0 {
		if n := in.PC >> sitePageShift; t.last == nil || n != t.lastPage {
			t.last = t.pages[n]
			if t.last == nil {
				t.last = new(sitePage)
				t.pages[n] = t.last
			}
			t.lastPage = n
		}
		at := &t.last[in.PC>>2%uint64(len(t.last))]
		if *at > 0 {
			return *at - 1
		}
		if *at == 0 {
			*at = -1
			if s, found := siteAt(in, t.prog, t.code); found {
				n := t.run.AddSite(s)
				*at = n + 1
				return n
			}
		}
	}
	at := &t.byCategory[in.Category]
	if *at == 0 {
		*at = t.run.AddSite(analysis.Site{Where: unplaced(in.Category), Class: classOf(in.Category)}) + 1
	}
	return *at - 1
}

// feed gives the stream's traced waves to a run. It tells how many begin or end outside the stream. The first time it looks at all waves.
func (s *hotStream) feed(arch isa.Arch, code []loadedCode, run *analysis.Run) (cut int) {
	o := scan{}
	if s.scanned == nil {
		o.count = true
		o.waves = s.crowd.add
	}
	if !s.walked {
		if s.scanned == nil {
			s.scanned = s.scan(o)
			s.crowd.close()
		}
		return 0
	}
	prog := programOf(arch, code)
	sites := siteTable{run: run, prog: prog, code: code, pages: map[uint64]*sitePage{}}
	open := map[[3]uint8]*analysis.Life{}
	var recs []analysis.Inst
	var w sqtt.Walker
	w.Reset(s.Family, sqtt.WalkOptions{Header: s.Header, CU: s.cu}, prog, func(p *sqtt.WaveInsts) {
		key := [3]uint8{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
		l := open[key]
		if l == nil {
			l = run.Begin(analysis.Wave{
				Dispatch: s.dispatch, Engine: s.engine, CU: int(p.Wave.CU), SIMD: int(p.Wave.SIMD), Slot: int(p.Wave.Slot), Start: int64(p.Wave.Start),
			})
			open[key] = l
		}
		recs = recs[:0]
		for i := range p.Insts {
			in := &p.Insts[i]
			recs = append(recs, analysis.Inst{Time: int64(in.Time), Stall: clamp32(in.Stall), Dur: clamp32(in.Dur), Site: sites.of(in)})
		}
		run.Add(l, recs)
		if p.Last {
			delete(open, key)
			if p.Wave.Start < 0 || p.Wave.Stop < 0 && run.Ran(l) {
				cut++
			}
			run.End(l, int64(p.Wave.Stop))
			return
		}
		ready, issue := int64(math.MaxInt64), int64(math.MaxInt64)
		for i := range p.Open {
			in := &p.Open[i]
			ready = min(ready, int64(in.Time))
			if in.PC == 0 || run.Busy(sites.of(in)) {
				issue = min(issue, int64(in.Time)+int64(in.Stall))
			}
		}
		l.Open(ready, issue)
	})
	o.walker = &w
	o.piece = func() {
		w.Flush()
		run.Advance(int64(w.Now()))
	}
	r := s.scan(o)
	switch {
	case s.scanned == nil:
		s.scanned = r
		s.crowd.close()
	case s.scanned.err == nil:
		s.failed = cmp.Or(s.failed, r.err)
	}
	return cut
}

func clamp32(n uint32) int32 { return int32(min(n, 1<<31-1)) }

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
