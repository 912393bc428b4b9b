package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// loadedCode is a code object and where it ran.
type loadedCode struct {
	name   string
	object *codeobj.Object // nil: it could not be read
	base   uint64
	lo, hi uint64 // runtime addresses of its code
	funcs  []AsmFunc
}

// hotStream is one stream to walk.
type hotStream struct {
	*StreamFile
	streamPlace
	walked bool // instructions may be in it
	cu     int
	kernel int32 // that the dispatch ran, by its number; 0: the waves' first instructions tell

	siteRoom int   // of a test: less than the constant
	called   int64 // traced waves whose first known instruction stands in a function that is no kernel

	scanned *scanned // of the first pass
	strays  strays
	crowd   *crowd
	part    *hotPart
	failed  error // of a later pass
}

// HotCapture loads the instruction traces of a capture, which must stay open while views are made.
func HotCapture(c *capture.Capture) (*Hot, error) {
	if err := c.Usable(); err != nil {
		return nil, err
	}
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
			code = append(code, loadedCode{name: c.Objects[i].Name})
			continue
		}
		code = append(code, load(c.Objects[i].Name, o, c.Objects[i].Base))
	}
	streams := make([]*hotStream, len(c.Traces))
	for i := range c.Traces {
		tr := &c.Traces[i]
		f := timedFile(c, i)
		streams[i] = &hotStream{StreamFile: f, streamPlace: streamPlace{stream: i, dispatch: Index(tr.Dispatch), engine: Index(tr.Engine), family: f.Family}}
		if tr.Detail != nil {
			streams[i].walked, streams[i].cu = true, tr.Detail.Unit
		}
	}
	kernels := []hotKernel{noKernel}
	numbers := map[hotKernel]int32{}
	byDispatch := make([]int32, len(c.Dispatches))
	for i := range c.Dispatches {
		name := c.Dispatches[i].Kernel
		k := hotKernel{name, name, c.Dispatches[i].Object}
		if _, ok := numbers[k]; !ok {
			numbers[k] = int32(len(kernels))
			kernels = append(kernels, k)
		}
		byDispatch[i] = numbers[k]
	}
	for _, s := range streams {
		if s.dispatch >= 0 && int(s.dispatch) < len(byDispatch) {
			s.kernel = byDispatch[s.dispatch]
		}
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

// HotFiles loads the instructions of trace files. Their names tell engines and dispatches, or nothing does.
func HotFiles(target string, files []StreamFile, codeFiles []CodeFile) (*Hot, error) {
	names, families := make([]string, len(files)), make([]gpu.Family, len(files))
	for i := range files {
		names[i], families[i] = files[i].Name, files[i].Family
		if len(codeFiles) > 0 || len(files) > 1 { // else there is nothing to compare it with
			families[i] = files[i].family()
		}
	}
	target, code, err := openCode(target, codeFiles, names, families)
	if err != nil {
		return nil, err
	}
	streams := make([]*hotStream, len(files))
	places := placesOfFiles(files)
	for i := range files {
		streams[i] = &hotStream{StreamFile: &files[i], streamPlace: places[i], walked: true}
	}
	var d *Decoded
	var markers []MarkerSpan
	h := makeHot(DeviceDoc{Name: "trace files", Target: target}, target, streams, code, nil, func() Quality {
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
		overlaps(code, &d.Quality)
		all := strays{}
		for _, s := range streams {
			all.join(s.strays)
		}
		all.note(&d.Quality, code)
		names := onlyFuncMap(code, &d.Quality)
		for i, s := range streams {
			if s.scanned.words > 0 {
				data, waves, left, err := s.shaderData()
				if err != nil {
					d.Quality.Note(capture.Loss, "", "markers of %s are not whole: %v", s.Name, err)
				}
				wordsLeftOut(&d.Quality, s.Name, left)
				markers = append(markers, markerSpans(&places[i], data, waves, names, &d.Quality)...)
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
	h.Markers = markers
	return h, nil
}

// openCode opens the code objects that ran in streams, for a target; by default that of the first that the streams' GPU may run.
func openCode(target string, files []CodeFile, streams []string, families []gpu.Family) (string, []loadedCode, error) {
	family, err := oneFamily(streams, families)
	if err != nil {
		return target, nil, err
	}
	if familyOf(target) != gpu.Unknown && len(files) > 0 { // "gfx11" alone names no code
		target = ""
	}
	var code []loadedCode
	for _, f := range files {
		fits := target
		if embedded, err := codeobj.Objects(f.Data); err == nil && fits == "" {
			for i := range embedded {
				if t := embedded[i].Target.Processor; fits == "" && familyOfTarget(t) == family {
					fits = t
				}
			}
		}
		o, err := codeobj.Choose(f.Data, fits, "")
		if err != nil {
			return target, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c := load(f.Name, o, f.Base)
		if len(streams) > 0 {
			if err := c.runsOn(family, streams[0]); err != nil {
				return target, nil, err
			}
		}
		if target == "" {
			target = o.Target.Processor
		}
		code = append(code, c)
	}
	return target, code, nil
}

// noteUnplaced says why instructions have no address. where is empty, or names the stream.
func noteUnplaced(q *Quality, where string, all int64, u sqtt.Unplaced) {
	if u.AfterLoss > 0 {
		q.Note(capture.Warning, "trace fewer tokens or engines, or give the trace more room, so that none are lost",
			"%s%s behind a loss without an address: the waves were not found again in the code", where, Plural(u.AfterLoss, "instruction"))
	}
	if u.NoStart > 0 {
		q.Note(capture.Warning, "was the trace begun before the kernel, and is every code object given?",
			"%s%s without an address of waves that began before the trace, or of which it does not say where their code is", where, Plural(u.NoStart, "instruction"))
	}
	if rest := all - u.AfterLoss - u.NoStart; rest > 0 {
		q.Note(capture.Warning, "is the code object the one that ran, at the base where it was loaded?", "%s%s in no code object", where, Plural(rest, "instruction"))
	}
	if u.Unfit > 0 {
		q.Note(capture.Warning, "is the code object the one that ran, at the base where it was loaded?",
			"%sinstructions of %s are not those of the code; addresses before that showed may be wrong", where, Plural(u.Unfit, "wave"))
	}
	if u.Assumed > 0 {
		q.Note(capture.Info, "", "%sthe trace does not say what %s ran: their place was found by their instructions alone", where, Plural(u.Assumed, "wave"))
	}
}

// overlaps warns of code objects whose code stands at the same addresses, as at most one of them can.
func overlaps(code []loadedCode, q *Quality) {
	for i := range code {
		for k := range i {
			a, b := &code[k], &code[i]
			lo, hi := max(a.lo, b.lo), min(a.hi, b.hi)
			if a.object == nil || b.object == nil || lo >= hi {
				continue
			}
			q.Note(capture.Warning, "give each code object the address it was loaded at: --code FILE@BASE",
				"%s and %s both have code from %#x to %#x: what ran there is shown as the first one's", a.name, b.name, lo, hi)
		}
	}
}

// mapCode finds the functions of code.
func mapCode(arch isa.Arch, code []loadedCode) *codeMap {
	objects, names := make([]*codeobj.Object, len(code)), make([]string, len(code))
	for i := range code {
		objects[i], names[i] = code[i].object, code[i].name
	}
	m := newCodeMap(arch, objects, names)
	for i := range code {
		code[i].funcs = m.funcs[i]
	}
	return m
}

// programOf is the code that the walk follows, once mapCode was there: where it begins is where waves are looked for that were lost. In an object
// that names no kernel, code without a name may be one.
func programOf(arch isa.Arch, code []loadedCode) *sqtt.Program {
	prog := sqtt.NewProgram(arch)
	for i := range code {
		if o := code[i].object; o != nil {
			lo, _ := o.Text()
			b := o.Bytes(lo)
			for _, part := range uncovered(code[:i], code[i].lo, code[i].lo+min(uint64(len(b)), code[i].hi-code[i].lo)) {
				prog.Add(part[0], b[part[0]-code[i].lo:part[1]-code[i].lo])
			}
			for k := range code[i].funcs {
				f := &code[i].funcs[k]
				if f.Kernel || len(o.Kernels) == 0 {
					prog.AddKernel(code[i].base + f.Addr)
				} else {
					prog.AddFunction(code[i].base + f.Addr)
				}
			}
		}
	}
	return prog
}

// uncovered are the parts from lo to hi where none of these code objects is: where some overlap, the first holds, as it does for names.
func uncovered(code []loadedCode, lo, hi uint64) [][2]uint64 {
	parts := [][2]uint64{{lo, hi}}
	for i := range code {
		c := &code[i]
		if c.object == nil {
			continue
		}
		var left [][2]uint64
		for _, p := range parts {
			if before := min(p[1], c.lo); p[0] < before {
				left = append(left, [2]uint64{p[0], before})
			}
			if behind := max(p[0], c.hi); behind < p[1] {
				left = append(left, [2]uint64{behind, p[1]})
			}
		}
		parts = left
	}
	return parts
}

func load(name string, o *codeobj.Object, base uint64) loadedCode {
	lo, hi := o.Text()
	return loadedCode{name: name, object: o, base: base, lo: base + lo, hi: base + hi}
}

// makeHot makes hot spots of streams. kernels are those that the streams name by number; nil: each function is one.
func makeHot(device DeviceDoc, target string, streams []*hotStream, code []loadedCode, kernels []hotKernel, quality func() Quality) *Hot {
	arch, _ := isa.ArchOf(target)
	l := &hotLoad{arch: arch, code: code, m: mapCode(arch, code)}
	if kernels == nil {
		kernels = l.everyFunction()
	}
	l.other = int32(len(kernels))
	kernels = append(kernels, otherKernels)
	parts := make([]*hotPart, len(streams))
	for i, s := range streams {
		parts[i] = &hotPart{
			streamPlace: s.streamPlace,
			kernel:      s.kernel,
			feed:        func(run *analysis.Run) int { return s.feed(l, run) },
			failed:      func() error { return s.failed },
		}
		s.crowd, s.part = &parts[i].crowd, parts[i]
	}
	h := newHot(device, target, parts, l.m, kernels, quality)
	noteOtherKernels(&h.Quality, h.Profile, l.other)
	var called int64
	for _, s := range streams {
		called += s.called
	}
	if called > 0 {
		h.Quality.Note(capture.Info, "", "%s first found inside a function that kernels call: the cycles are shown as that function's, as no token tells who called it", Plural(called, "wave"))
	}
	return h
}

// hotLoad is what all streams are read with.
type hotLoad struct {
	arch  isa.Arch
	code  []loadedCode
	m     *codeMap
	first []int32 // number of each object's first function as a kernel; nil: streams name theirs
	other int32   // number of what stands for the kernels past the bound of sites
}

// everyFunction numbers all functions.
func (l *hotLoad) everyFunction() []hotKernel {
	kernels := []hotKernel{noKernel}
	l.first = make([]int32, len(l.code))
	for i := range l.code {
		l.first[i] = int32(len(kernels))
		for k := range l.m.funcs[i] {
			name := l.m.funcs[i][k].Name
			kernels = append(kernels, hotKernel{name, name, i})
		}
	}
	return kernels
}

// kernelAt is the number of the kernel that a stream's wave runs whose first known address is pc; 0: no code is there.
func (l *hotLoad) kernelAt(s *hotStream, pc uint64) int32 {
	for i := range l.code {
		c := &l.code[i]
		if c.object == nil || pc < c.lo || pc >= c.hi {
			continue
		}
		if l.first == nil {
			return s.kernel
		}
		if f := l.m.find(i, pc-c.base); f >= 0 {
			return l.first[i] + int32(f)
		}
	}
	return 0
}

// called tells whether what stands for a kernel is a function that only others can call.
func (l *hotLoad) called(kernel int32) bool {
	for i, first := range l.first {
		if k := int(kernel - first); k >= 0 && k < len(l.m.funcs[i]) {
			f := &l.m.funcs[i][k]
			return !f.Kernel && !f.gap && len(l.code[i].object.Kernels) > 0
		}
	}
	return false
}

// feed gives the stream's traced waves to a run. It tells how many begin or end outside the stream. The first time it looks at all waves.
func (s *hotStream) feed(load *hotLoad, run *analysis.Run) (cut int) {
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
	prog := programOf(load.arch, load.code)
	f := feeding{
		stream: s, load: load, run: run, sites: newSiteTable(run, prog, load.code, load.other, cmp.Or(s.siteRoom, maxSiteRoom)),
		open: map[[3]uint8]*liveWave{}, kernels: map[uint64]int32{}, strays: strays{},
	}
	var w sqtt.Walker
	w.Reset(s.Family, sqtt.WalkOptions{Header: s.Header, CU: s.cu}, prog, f.part)
	o.walker = &w
	o.piece = func() {
		w.Flush()
		run.Advance(int64(w.Now()))
	}
	r := s.scan(o)
	s.called = f.called
	switch {
	case s.scanned == nil:
		s.scanned, s.strays = r, f.strays
		s.part.unplaced, s.part.cut, s.part.fits = w.Unplaced(), f.cutRecords, f.sites.objects()
		s.crowd.close()
	case s.scanned.err == nil:
		s.failed = cmp.Or(s.failed, r.err)
	}
	return f.cut
}

// feeding is what one turn through a stream keeps.
type feeding struct {
	stream *hotStream
	load   *hotLoad
	run    *analysis.Run
	sites  *siteTable

	open    map[[3]uint8]*liveWave // by CU, SIMD and slot
	kernels map[uint64]int32       // by the first address of waves
	recs    []analysis.Inst        // of one part, used again

	called, cutRecords int64
	cut                int
	strays             strays
}

// liveWave is a traced wave that runs.
type liveWave struct {
	*analysis.Life
	kernel int32 // 0: not known yet
	cut    cutOff
}

// part takes some of a wave's instructions, or its end.
func (f *feeding) part(p *sqtt.WaveInsts) {
	key := [3]uint8{p.Wave.CU, p.Wave.SIMD, p.Wave.Slot}
	l := f.open[key]
	if l == nil {
		l = &liveWave{Life: f.run.Begin(analysis.Wave{
			Dispatch: int(f.stream.dispatch), Engine: int(f.stream.engine), CU: int(p.Wave.CU), SIMD: int(p.Wave.SIMD), Slot: int(p.Wave.Slot), Start: int64(p.Wave.Start),
		})}
		f.open[key] = l
	}
	f.recs = f.recs[:0]
	for i := range p.Insts {
		in := &p.Insts[i]
		if l.kernel == 0 && in.PC != 0 {
			f.place(l, p.StartPC, in.PC)
		}
		site := f.sites.of(l.kernel, in)
		f.sites.fits[site].add(in.Category)
		l.cut.add(in)
		f.recs = append(f.recs, analysis.Inst{Time: int64(in.Time), Stall: clamp32(in.Stall), Dur: clamp32(in.Dur), Site: site})
	}
	f.run.Add(l.Life, f.recs)
	if p.Last {
		delete(f.open, key)
		f.end(l, p)
		return
	}
	ready, issue := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := range p.Open {
		in := &p.Open[i]
		ready = min(ready, int64(in.Time))
		if in.PC == 0 || f.run.Busy(f.sites.of(l.kernel, in)) {
			issue = min(issue, int64(in.Time)+int64(in.Stall))
		}
	}
	l.Open(ready, issue)
}

// place finds a wave's kernel by the first address that is known of it.
func (f *feeding) place(l *liveWave, start, pc uint64) {
	k, known := f.kernels[pc]
	if !known {
		k = f.load.kernelAt(f.stream, pc)
		f.kernels[pc] = k
	}
	if l.kernel = k; k > 0 && pc != start && f.load.called(k) {
		f.called++
	}
}

func (f *feeding) end(l *liveWave, p *sqtt.WaveInsts) {
	f.strays.add(p.StartPC, f.load.code)
	f.cutRecords += l.cut.end(&p.Wave, p.StartPC)
	if p.Wave.Start < 0 || p.Wave.Stop < 0 && f.run.Ran(l.Life) {
		f.cut++
	}
	f.run.End(l.Life, int64(p.Wave.Stop))
}

func clamp32(n uint32) int32 { return int32(min(n, 1<<31-1)) }
