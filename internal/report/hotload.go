package report

import (
	"fmt"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
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
	name             string
	dispatch, engine int
	family           gpu.Family
	header           sqtt.Header
	cu               int
	bytes            []byte
}

// walked is what one stream gave. Sites are its own until merged.
type walked struct {
	waves  []analysis.Wave
	sites  []analysis.Site
	result *sqtt.Result
	cut    int // waves that begin or end outside the trace
}

// HotCapture loads the instruction traces of a capture.
func HotCapture(c *capture.Capture) (*Hot, error) {
	t, err := Trace(c)
	if err != nil {
		return nil, err
	}
	var code []loadedCode
	for i := range c.Objects {
		b, err := c.Objects[i].Bytes.Bytes()
		if err != nil {
			t.Quality.Note(capture.Loss, "", "code object %s: %v", c.Objects[i].Name, err)
		}
		o, err := codeobj.Open(b)
		if err != nil {
			t.Quality.Note(capture.Loss, "", "code object %s: %v", c.Objects[i].Name, err)
			code = append(code, loadedCode{})
			continue
		}
		code = append(code, load(o, c.Objects[i].Base))
	}
	var streams []hotStream
	for i := range c.Traces {
		tr := &c.Traces[i]
		if tr.Detail == nil {
			continue
		}
		b, err := tr.Bytes.Bytes()
		if err != nil {
			continue // Trace has told
		}
		streams = append(streams, hotStream{
			name: fmt.Sprintf("engine %d", tr.Engine), dispatch: tr.Dispatch, engine: tr.Engine, family: familyOf(tr.Family), header: sqtt.HeaderNo,
			cu: tr.Detail.Unit, bytes: b,
		})
	}
	kernels := make([]string, len(c.Dispatches))
	for i := range c.Dispatches {
		kernels[i] = c.Dispatches[i].Kernel
	}
	h := makeHot(deviceDoc(&c.Device), t.family, c.Device.Target, streams, code, kernels, t.Quality)
	h.Markers = t.markers
	for i := range t.Dispatches {
		for _, w := range t.Dispatches[i].Waves {
			h.All = append(h.All, RanWave{i, w})
		}
	}
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
	d := Decode(files)
	target, code, err := openCode(target, codeFiles)
	if err != nil {
		return nil, err
	}
	var streams []hotStream
	var kernels []string
	for i, f := range files {
		streams = append(streams, hotStream{name: f.Name, dispatch: i, engine: i, family: f.Family, header: f.Header, bytes: f.Bytes})
		kernels = append(kernels, f.Name)
	}
	if len(code) == 0 {
		d.Quality.Note(capture.Warning, "give the code object with --code FILE@BASE", "no code object: instructions have neither names nor addresses")
	}
	var markers []MarkerSpan
	names := onlyFuncMap(code, &d.Quality)
	for i := range d.Streams {
		s := &d.Streams[i]
		markers = append(markers, markerSpans(i, i, s.shader, s.Waves, names, &d.Quality)...)
	}
	family := gpu.Unknown
	if len(files) > 0 {
		family = d.Streams[0].family
	}
	h := makeHot(DeviceDoc{Name: "trace files", Target: target}, family, target, streams, code, kernels, d.Quality)
	h.Files, h.Markers = true, markers
	for i := range d.Streams {
		for _, w := range d.Streams[i].Waves {
			h.All = append(h.All, RanWave{i, EngineWave{i, w}})
		}
	}
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

func makeHot(device DeviceDoc, f gpu.Family, target string, streams []hotStream, code []loadedCode, kernels []string, q Quality) *Hot {
	arch, _ := isa.ArchOf(target)
	parts := make([]walked, len(streams))
	parallel(len(streams), func(i int) { parts[i] = walkStream(&streams[i], arch, code) })
	var waves []analysis.Wave
	var sites []analysis.Site
	index := map[analysis.Where]int32{}
	cut, unknown := 0, int64(0)
	for i := range parts {
		p := &parts[i]
		remap := make([]int32, len(p.sites))
		for k, s := range p.sites {
			n, ok := index[s.Where]
			if !ok {
				n = int32(len(sites))
				index[s.Where] = n
				sites = append(sites, s)
			}
			remap[k] = n
		}
		for k := range p.waves {
			insts := p.waves[k].Insts
			for j := range insts {
				insts[j].Site = remap[insts[j].Site]
				if sites[insts[j].Site].Object < 0 {
					unknown++
				}
			}
		}
		waves = append(waves, p.waves...)
		cut += p.cut
	}
	objects := make([]*codeobj.Object, len(code))
	for i := range code {
		objects[i] = code[i].object
	}
	if cut > 0 {
		q.Note(capture.Info, "", "%s began before the trace or ended after it: their cycles are those inside it", Plural(int64(cut), "wave"))
	}
	if unknown > 0 && len(code) > 0 {
		q.Note(capture.Warning, "is the code object the one that ran, at the base where it was loaded?", "%s in no code object", Plural(unknown, "instruction"))
	}
	return newHot(device, f, target, waves, sites, objects, kernels, q)
}

// unplaced stands for an instruction whose address is not known: its category takes the address's place.
func unplaced(c sqtt.Category) analysis.Where { return analysis.Where{Object: -1, PC: uint64(c)} }

// walkStream walks one stream's waves.
func walkStream(s *hotStream, arch isa.Arch, code []loadedCode) walked {
	var w walked
	prog := programOf(arch, code)
	byPC := map[uint64]int32{}
	byCategory := map[sqtt.Category]int32{}
	site := func(in *sqtt.Inst) int32 {
		if in.PC != 0 {
			n, ok := byPC[in.PC]
			if !ok {
				n = int32(len(w.sites))
				if st, found := siteAt(in, prog, code); found {
					byPC[in.PC] = n
					w.sites = append(w.sites, st)
					return n
				}
			} else {
				return n
			}
		}
		n, ok := byCategory[in.Category]
		if !ok {
			n = int32(len(w.sites))
			byCategory[in.Category] = n
			w.sites = append(w.sites, analysis.Site{Where: unplaced(in.Category), Class: classOf(in.Category)})
		}
		return n
	}
	open := map[[3]uint8]*analysis.Wave{} // given in part
	w.result = sqtt.Walk(s.family, sqtt.WalkOptions{Header: s.header, CU: s.cu}, s.bytes, prog, func(p *sqtt.WaveInsts) {
		key := [3]uint8{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
		a := open[key]
		if a == nil || p.First == 0 {
			a = &analysis.Wave{Dispatch: s.dispatch, Engine: s.engine}
			open[key] = a
		}
		if a.Insts == nil {
			a.Insts = make([]analysis.Inst, 0, len(p.Insts))
		}
		for i := range p.Insts {
			in := &p.Insts[i]
			rec := analysis.Inst{Time: int64(in.Time), Stall: clamp32(in.Stall), Dur: clamp32(in.Dur), Site: site(in)}
			if w.sites[rec.Site].Class == isa.End {
				rec.Stall = rec.Dur // the wave waits for its stores; nothing issues
			}
			if n := len(a.Insts); n > 0 && w.sites[a.Insts[n-1].Site].Class == isa.Barrier {
				atBarrier(&a.Insts[n-1], rec.Time)
			}
			a.Insts = append(a.Insts, rec)
		}
		if !p.Last {
			return
		}
		delete(open, key)
		a.CU, a.SIMD, a.Slot = int(p.Wave.CU), int(p.Wave.SIMD), int(p.Wave.Slot)
		a.Start, a.Stop = int64(p.Wave.Start), int64(p.Wave.Stop)
		if a.Start < 0 || a.Stop < 0 {
			if len(a.Insts) == 0 {
				return
			}
			w.cut++
			if a.Start < 0 {
				a.Start = a.Insts[0].Time
			}
			if last := &a.Insts[len(a.Insts)-1]; a.Stop < 0 {
				a.Stop = max(a.Start, last.Time+int64(last.Dur))
			}
		}
		w.waves = append(w.waves, *a)
	})
	if len(w.sites) == 0 { // the engine traces no instructions: its waves say nothing
		return walked{result: w.result}
	}
	return w
}

// atBarrier lets a barrier last until the wave's next instruction stands ready: a barrier's token tells when the wave arrived, and it leaves with
// the last wave of its workgroup.
func atBarrier(barrier *analysis.Inst, next int64) {
	if gap := next - barrier.Time - int64(barrier.Dur); gap > 0 {
		gap = min(gap, int64(1<<31-1-barrier.Dur))
		barrier.Stall += int32(gap)
		barrier.Dur += int32(gap)
	}
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
