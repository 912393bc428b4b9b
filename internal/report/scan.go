package report

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// StreamFile is one trace file to decode. Open gives its bytes from the start, as often as it is asked.
type StreamFile struct {
	Name   string
	Open   func() (io.ReadCloser, error)
	Family gpu.Family
	Header sqtt.Header

	recorded recorded
}

// traceFile is a capture's trace as a file.
func traceFile(tr *capture.Trace) *StreamFile {
	return &StreamFile{
		Family: familyOf(tr.Family), Header: sqtt.HeaderNo,
		Open: func() (io.ReadCloser, error) { return tr.Bytes.Reader(), nil },
	}
}

// scanned is what a stream holds beside its instructions, in sums.
type scanned struct {
	sqtt.Result // without Waves and Markers; Open are kept

	err    error // the stream ended early
	header gpu.Family
	waves  int64
	tokens int64
	words  int64 // tokens of s_ttracedata
	where  map[slot]int64

	lanes, laneWaves int64 // active at their starts, of the waves that tell

	clock  clockWatch
	doubts sqtt.Doubts // if tokens are counted

	list     []Wave     // every wave, if they are kept
	realtime [][2]int64 // every marker, if they are kept
}

// scan are the choices of a pass over a stream. Each of its functions may be nil.
type scan struct {
	walker *sqtt.Walker // fed beside; one that was Reset
	piece  func()       // called after each piece but the last
	waves  func(ended []sqtt.Wave, oldest sqtt.Cycles)
	keep   bool // waves and markers
	count  bool // tokens, and times that cannot be
}

// scanPiece is how much of a stream is decoded at once. Tests change it: no result depends on it.
var scanPiece = 256 << 10

// pieces calls f with a stream's bytes, piece by piece.
func (s *StreamFile) pieces(f func(b []byte, last bool) error) error {
	r, err := s.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	buf := make([]byte, scanPiece)
	for {
		n := 0
		var err error
		for n < len(buf) && err == nil {
			var k int
			k, err = r.Read(buf[n:])
			n += k
		}
		if ferr := f(buf[:n], err != nil); ferr != nil {
			return ferr
		}
		if err == io.EOF { // itself: what damage cut off is io.ErrUnexpectedEOF, or wrapped
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// scan goes through a stream once. What could be read before an error counts.
func (s *StreamFile) scan(o scan) *scanned {
	r := &scanned{where: map[slot]int64{}, realtime: [][2]int64{}, clock: clockWatch{limits: s.recorded.limits()}}
	var own sqtt.WaveDecoder
	d := &own
	if o.walker != nil {
		d = &o.walker.WaveDecoder
	} else {
		own.Reset(s.Family, s.Header)
	}
	var tokens sqtt.Lister
	tokens.Reset(s.Family, s.Header)
	first := true
	ended := func() {
		for _, m := range d.Result().Markers {
			r.clock.marker(m)
			if o.keep {
				r.realtime = append(r.realtime, [2]int64{int64(m.Shader), m.Realtime})
			}
		}
		list := d.TakeWaves()
		r.waves += int64(len(list))
		for i := range list {
			w := &list[i]
			r.clock.wave(w)
			r.where[slot{int(w.CU), int(w.SIMD), int(w.Slot)}]++
			if w.Lanes > 0 {
				r.lanes += int64(w.Lanes)
				r.laneWaves++
			}
			if o.keep {
				r.list = append(r.list, waveOf(*w))
			}
		}
		if o.waves != nil {
			o.waves(list, d.OldestOpen())
		}
	}
	r.err = s.pieces(func(b []byte, last bool) error {
		if first {
			r.header, first = sqtt.FamilyOf(b), false
		}
		d.Feed(b)
		if o.count {
			_ = tokens.Feed(b, nil) // counting fails never
		}
		if !last {
			ended()
			if o.piece != nil {
				o.piece()
			}
		}
		return nil
	})
	d.Close()
	_ = tokens.Close(nil)
	ended()
	r.Result = *d.Result()
	r.Open = slices.Clone(r.Open) // the decoder's
	r.Result.Waves, r.Result.Markers = nil, nil
	r.tokens, r.words = tokens.Tokens, tokens.ShaderData
	if o.count {
		r.doubts = r.clock.doubts(s, r.Bytes, r.End)
	}
	return r
}

// lastSlot9 is the last wave slot of a gfx9 SIMD. Tokens have room for 16, and gfx9 streams no other sign that their reader lost step
// (AMD rocprof-trace-decoder).
const lastSlot9 = 9

// misplaced is how many of the waves, also of those that only start, are in slots that do not exist.
func (r *scanned) misplaced() (n int64) {
	if r.Family != gpu.GFX9 {
		return 0
	}
	for at, waves := range r.where {
		if at.slot > lastSlot9 {
			n += waves
		}
	}
	for _, w := range r.Open {
		if w.Slot > lastSlot9 {
			n++
		}
	}
	return n
}

// psPerCycle is the mean length of a shader cycle by the realtime markers.
func (r *scanned) psPerCycle() float64 {
	ps, _ := psOfCycles(r.clock.cycles, r.clock.ticks)
	return ps
}

// slotsOf are the places that waves ran in, in order.
func slotsOf(where map[slot]int64) []slot { return slices.SortedFunc(maps.Keys(where), slot.compare) }

// maxWords bounds the words that are kept of a stream: they become spans of some hundred bytes each. Tests change it.
var maxWords = 1 << 17

// shaderData reads the words that a stream's waves sent, the first maxWords of them and how many more there are, and those waves that ran in slots that sent any.
func (s *StreamFile) shaderData() (data []sqtt.ShaderData, waves []Wave, left int64, err error) {
	var last sqtt.Cycles
	var l sqtt.Lister
	l.Reset(s.Family, s.Header)
	sent := map[slot]bool{}
	take := func(p *sqtt.Packet) error {
		d, ok := p.ShaderData()
		switch {
		case ok && len(data) >= maxWords:
			left++
		case ok:
			data = append(data, d)
			last = max(last, d.Time)
			sent[slot{int(d.CU), int(d.SIMD), int(d.Slot)}] = true
		}
		return nil
	}
	err = s.pieces(func(b []byte, _ bool) error { return l.Feed(b, take) })
	_ = l.Close(take) // take never fails
	if len(data) == 0 {
		return nil, nil, 0, err
	}
	r := s.scan(scan{waves: func(ended []sqtt.Wave, _ sqtt.Cycles) {
		for _, w := range ended {
			if w.Start <= last && sent[slot{int(w.CU), int(w.SIMD), int(w.Slot)}] {
				waves = append(waves, waveOf(w))
			}
		}
	}})
	return data, waves, left, errors.Join(err, r.err)
}
