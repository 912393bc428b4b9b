package report

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/chrome"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// Decoded is what trace files hold: the document rigprof/decode/1. Waves and instructions stay in the files: views read them once more.
type Decoded struct {
	Schema  string
	Streams []Stream
	Quality Quality

	code *decodedCode // nil: no code object was given
}

// Stream is one file. Times are shader cycles from its start.
type Stream struct {
	File    string
	Family  string
	Bytes   int64
	Packets int64
	Cycles  int64 // time of the last token
	Waves   int64
	Losses  Losses

	family gpu.Family
	file   *StreamFile
	scan   *scanned
	insts  int64 // with code
	waves  int64 // that ran them
}

// Wave is one wave of a stream.
type Wave struct {
	CU    int   `json:"cu"`
	SIMD  int   `json:"simd"`
	Slot  int   `json:"slot"`
	Start int64 `json:"start"`
	Stop  int64 `json:"stop"`
	Lanes int   `json:"lanes,omitempty"`
}

// Losses counts what a stream lacks; First locates the first ones.
type Losses struct {
	DroppedStarts int64      `json:"dropped_starts"`
	DroppedEnds   int64      `json:"dropped_ends"`
	OpenAtEnd     int64      `json:"open_at_end"`
	PacketsLost   int64      `json:"packets_lost"`
	Stalls        int64      `json:"stalls"`
	StallCycles   int64      `json:"stall_cycles"`
	ClockDoubts   int64      `json:"clock_doubts"`    // places where times cannot be, and
	DoubtCycles   int64      `json:"cycles_doubtful"` // what passes there
	UnknownBits   int64      `json:"unknown_bits"`
	EmptyBytes    int64      `json:"empty_bytes"`
	TailBits      int64      `json:"tail_bits"`
	First         []LossSpot `json:"first"`
}

// LossSpot is one loss.
type LossSpot struct {
	Kind string `json:"kind"`
	Bit  int64  `json:"bit"`
	Time int64  `json:"time"`
	N    int64  `json:"n"`
}

// parallel calls f for 0..n-1 on as many goroutines as there are processors.
func parallel(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Decode decodes trace files, several at once.
func Decode(files []StreamFile) (*Decoded, error) {
	scans := make([]*scanned, len(files))
	parallel(len(files), func(i int) { scans[i] = files[i].scan(scan{count: true}) })
	return decodedOf(files, scans)
}

// Hardware writes traces, and counts their lengths, in lines; tools may put a header before a gfx9 one.
const (
	lineBytes   = 32
	headerBytes = 8
)

// decodedOf is the view of files that were scanned.
func decodedOf(files []StreamFile, scans []*scanned) (*Decoded, error) {
	d := &Decoded{Schema: "rigprof/decode/1", Streams: make([]Stream, len(files)), Quality: newQuality()}
	d.Quality.OverheadNA = "trace files do not say"
	q := &d.Quality
	var notes grouped
	idle := capture.Warning // a stream without waves, unless others have some
	for _, r := range scans {
		if r.waves > 0 {
			idle = capture.Info
		}
	}
	for i, r := range scans {
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].Name, r.err)
		}
		d.Streams[i] = streamOf(&files[i], r)
		at := placeOfFile(i, &files[i])
		q.stream(at.engine, r)
		name := files[i].Name
		notes.losses(name, r)
		if h := r.header; r.Family == gpu.GFX9 && h != gpu.Unknown && h != gpu.GFX9 {
			notes.add(name, capture.Warning, "begins with the header of a "+h.String()+" trace but was read as gfx9", "is --target right?")
		}
		if h, asked := r.header, files[i].Family; asked != gpu.GFX9 && asked != gpu.Unknown && h != gpu.Unknown && h != asked {
			notes.add(name, capture.Warning, "begins with the header of a "+h.String()+" trace and was read as that, not as "+asked.String(), "is --target right?")
		}
		if r.Header > 0 {
			notes.add(name, capture.Info, "the first 8 bytes are a tool's header and were left out", "--gfx9-header no reads them as tokens")
		}
		if rest := r.Bytes % lineBytes; rest != 0 && (r.Family != gpu.GFX9 || rest != headerBytes) {
			notes.add(name, capture.Warning, "ends inside one of the 32-byte lines that hardware writes", "is the file whole?")
		}
		switch {
		case r.Bytes == 0:
			notes.add(name, capture.Warning, "empty, nothing was traced", "was the engine harvested, or the trace never started?")
		case r.tokens == 0:
			notes.add(name, capture.Warning, "no token could be read", "check --target")
		case r.waves == 0 && r.Losses.OpenAtEnd+r.Losses.DroppedStarts > 0:
			notes.add(name, capture.Loss, "waves start in it and none ends", "is the file whole?")
		case r.waves == 0:
			notes.add(name, idle, "no wave starts and ends in it", "no work may have run on this engine; 'rigprof decode --format packets' shows what there is")
		case r.Losses.OpenAtEnd > 0:
			notes.add(name, capture.Warning, "waves start in it that do not end", "is the file whole?")
		}
	}
	notes.into(q)
	return d, twice(files, scans, q)
}

// twice warns of files whose bytes are the same: what they hold is counted once for each. Only what is alike in all sums is compared.
func twice(files []StreamFile, scans []*scanned, q *Quality) error {
	type sums struct {
		bytes, waves, lanes int64
		end                 sqtt.Cycles
		family              gpu.Family
	}
	alike := map[sums][]int{} // files of which no two are the same
	for i, r := range scans {
		if r.waves == 0 { // engines that had nothing to do may well say the same
			continue
		}
		k := sums{r.Bytes, r.waves, r.lanes, r.End, r.Family}
		same := false
		for _, j := range alike[k] {
			var err error
			if same, err = sameBytes(&files[i], &files[j]); err != nil {
				return err
			}
			if same {
				what := files[j].Name + " and " + files[i].Name + " hold the same: it"
				if files[i].Name == files[j].Name {
					what = files[i].Name + " is given more than once: what it holds"
				}
				q.Note(capture.Warning, "give each file once", "%s is counted again each time", what)
				break
			}
		}
		if !same && len(alike[k]) < maxAlike {
			alike[k] = append(alike[k], i)
		}
	}
	return nil
}

// maxAlike bounds how many files each file is compared with.
const maxAlike = 4

func sameBytes(a, b *StreamFile) (bool, error) {
	f, err := a.Open()
	if err != nil {
		return false, fmt.Errorf("%s: %w", a.Name, err)
	}
	defer func() { _ = f.Close() }() // only read
	same, buf := true, make([]byte, scanPiece)
	err = b.pieces(func(p []byte, _ bool) error {
		n, err := io.ReadFull(f, buf[:len(p)])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if same = bytes.Equal(buf[:n], p); !same {
			return errEnough
		}
		return nil
	})
	if err == errEnough {
		err = nil
	}
	return same, err
}

func streamOf(f *StreamFile, r *scanned) Stream {
	l := &r.Losses
	s := Stream{
		File: f.Name, Family: r.Family.String(), Bytes: r.Bytes, Packets: r.tokens, Cycles: int64(r.End), Waves: r.waves,
		family: r.Family, file: f, scan: r,
		Losses: Losses{
			l.DroppedStarts, l.DroppedEnds, l.OpenAtEnd, l.PacketsLost, l.Stalls, int64(l.StallCycles), r.doubts.N, int64(r.doubts.Cycles), l.UnknownBits,
			l.EmptyBytes, l.TailBits, make([]LossSpot, len(l.First)),
		},
	}
	for i, f := range l.First {
		s.Losses.First[i] = LossSpot{f.Kind.String(), f.Off, int64(f.Time), f.N}
	}
	return s
}

func waveOf(w sqtt.Wave) Wave {
	return Wave{int(w.CU), int(w.SIMD), int(w.Slot), int64(w.Start), int64(w.Stop), int(w.Lanes)}
}

// eachWave reads the stream's waves again, in the order they end, until f fails.
func (s *Stream) eachWave(f func(w Wave) error) error {
	var d sqtt.WaveDecoder
	d.Reset(s.file.Family, s.file.Header)
	take := func() error {
		for _, w := range d.TakeWaves() {
			if err := f(waveOf(w)); err != nil {
				return err
			}
		}
		return nil
	}
	err := s.file.pieces(func(b []byte, _ bool) error {
		d.Feed(b)
		return take()
	})
	if err != nil {
		return err
	}
	d.Close()
	return take()
}

// eachMarker reads the stream's realtime markers again.
func (s *Stream) eachMarker(f func(m [2]int64)) error {
	var d sqtt.WaveDecoder
	d.Reset(s.file.Family, s.file.Header)
	take := func() {
		for _, m := range d.Result().Markers {
			f([2]int64{int64(m.Shader), m.Realtime})
		}
		d.TakeWaves()
	}
	err := s.file.pieces(func(b []byte, _ bool) error {
		d.Feed(b)
		take()
		return nil
	})
	d.Close()
	take()
	return err
}

// UnitName is what CU numbers count in a family.
func UnitName(f gpu.Family) string {
	if f == gpu.GFX9 {
		return "CU"
	}
	return "WGP"
}

// unitColumn is the column of units within their arrays: streams may be of several families.
func (d *Decoded) unitColumn() Column {
	name := ""
	for i := range d.Streams {
		if n := strings.ToLower(UnitName(d.Streams[i].family)); name == "" || n == name {
			name = n
		} else {
			name = "unit"
		}
	}
	return Number(name)
}

// Tables is the view for people; limit bounds the waves listed (0: all).
func (d *Decoded) Tables(limit int) []Table {
	streams := Table{Title: "streams", Columns: []Column{
		Text("file"), Text("family"), Number("bytes"), Number("packets"), Number("waves"), Number("cycles"), Number("markers"), Text("losses"),
	}}
	waves := Table{Title: "waves", Columns: []Column{Text("file"), Number("array"), d.unitColumn(), Number("simd"), Number("slot"), Number("start"), Number("stop"), Number("cycles")}}
	total := int64(0)
	for i := range d.Streams {
		s := &d.Streams[i]
		streams.Add(s.File, s.Family, s.Bytes, s.Packets, s.Waves, s.Cycles, s.scan.clock.markers, s.Losses.brief())
		total += s.Waves
	}
	d.notWhole(waves.fill(Held, limit, int(total), "waves", "--limit", d.waveRows))
	out := []Table{streams, waves}
	if d.code != nil {
		out = append(out, d.instructions(limit))
	}
	return append(out, d.Quality.table())
}

// waveRows are the table's rows of waves.
func (d *Decoded) waveRows(f func(row []string) error) error {
	var row []string
	for i := range d.Streams {
		s := &d.Streams[i]
		file := text(s.File)
		err := s.eachWave(func(w Wave) error {
			array, unit := arrayOf(s.family, w.CU), unitOf(s.family, w.CU)
			row = appendNumbers(append(row[:0], file), int64(array), int64(unit), int64(w.SIMD), int64(w.Slot), w.Start, w.Stop, w.Stop-w.Start)
			return f(row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// notWhole notes an error of a pass that a table needs, if there is one.
func (d *Decoded) notWhole(err error) {
	if err != nil {
		d.Quality.Note(capture.Loss, "", "the tables are not whole: %v", err)
	}
}

func (l *Losses) brief() string {
	s := ""
	add := func(n int64, what string) {
		if n > 0 {
			if s != "" {
				s += ", "
			}
			s += fmt.Sprintf("%d %s", n, what)
		}
	}
	add(l.DroppedStarts, "starts")
	add(l.DroppedEnds, "ends")
	add(l.OpenAtEnd, "open")
	add(l.PacketsLost, "lost packets")
	add(l.Stalls, "stalls")
	add(l.DoubtCycles, "doubtful cycles")
	add(l.UnknownBits, "unknown bits")
	add(l.EmptyBytes, "empty bytes")
	if s == "" {
		return "none"
	}
	return s
}

// WriteCSV writes one row a wave; with code, one row an executed instruction, those of a wave up to 16,384 at a time.
func (d *Decoded) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	if d.code != nil {
		if err := cw.Write(names(instructionColumns)); err != nil {
			return err
		}
		err := d.eachInstruction(func(_ gpu.Family, _ *InstWave, row []string) error { return cw.Write(row) })
		cw.Flush()
		return errors.Join(err, cw.Error())
	}
	row := []string{"file", "family", "cu", "simd", "slot", "start", "stop", "lanes"}
	if err := cw.Write(row); err != nil {
		return err
	}
	for i := range d.Streams {
		s := &d.Streams[i]
		row[0], row[1] = text(s.File), s.Family
		err := s.eachWave(func(w Wave) error {
			return cw.Write(appendNumbers(row[:2], int64(w.CU), int64(w.SIMD), int64(w.Slot), w.Start, w.Stop, int64(w.Lanes)))
		})
		if err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// WriteJSON writes the document.
func (d *Decoded) WriteJSON(w io.Writer) error {
	j := newJSONWriter(w)
	j.begin('{')
	j.field("schema", d.Schema)
	j.name("streams")
	j.begin('[')
	for i := range d.Streams {
		if err := d.writeStream(j, &d.Streams[i]); err != nil {
			return err
		}
	}
	j.end()
	j.field("quality", d.Quality)
	j.end()
	return j.close()
}

func (d *Decoded) writeStream(j *jsonWriter, s *Stream) error {
	j.begin('{')
	j.field("file", s.File)
	j.field("family", s.Family)
	j.field("bytes", s.Bytes)
	j.field("packets", s.Packets)
	j.field("cycles", s.Cycles)
	j.name("waves")
	j.begin('[')
	err := s.eachWave(func(w Wave) error {
		j.value(w)
		return nil
	})
	if err != nil {
		return err
	}
	j.end()
	j.name("realtime")
	j.begin('[')
	if err := s.eachMarker(func(m [2]int64) { j.value(m) }); err != nil {
		return err
	}
	j.end()
	j.field("losses", s.Losses)
	if d.code != nil && s.waves > 0 {
		j.name("inst_waves")
		j.begin('[')
		if err := s.eachInstWave(d.code, func(w *InstWave) error {
			j.value(w)
			return nil
		}); err != nil {
			return err
		}
		j.end()
	}
	j.end()
	return nil
}

// Chrome writes the waves for a trace viewer. What it leaves out is noted in the quality, and in the file.
func (d *Decoded) Chrome(w io.Writer) error {
	var failed error
	for i := range d.Streams {
		if s := &d.Streams[i]; s.scan.words > int64(maxWords) {
			_, _, left, _ := s.file.shaderData() // an error shows below
			wordsLeftOut(&d.Quality, s.File, left)
		}
	}
	err := timeline(w, d.Quality.meta(), func(c *chrome.Writer) {
		for i := range d.Streams {
			s := &d.Streams[i]
			markers, err := d.markers(i)
			failed = errors.Join(failed, err)
			l := newLanes(c, s.File, s.family, slotsOf(s.scan.where), markers, s.scan.psPerCycle(), 0, "wave")
			failed = errors.Join(failed, s.eachWave(func(w Wave) error {
				l.wave(w)
				return nil
			}))
			l.close()
		}
	})
	return errors.Join(failed, err)
}

// WritePackets lists a file's tokens, one a line: bit offset, time, name, fields.
func WritePackets(w io.Writer, f StreamFile) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	var fields []sqtt.Field
	list := func(p *sqtt.Packet) error {
		line = strconv.AppendInt(line[:0], p.Off, 10)
		line = append(line, '\t')
		line = strconv.AppendInt(line, int64(p.Time), 10)
		line = append(line, '\t')
		line = append(line, p.Kind.String()...)
		fields = p.AppendFields(fields[:0])
		for i, fl := range fields {
			sep := byte(' ')
			if i == 0 {
				sep = '\t'
			}
			line = append(line, sep)
			line = append(line, fl.Name...)
			line = append(line, '=')
			if hexField[fl.Name] {
				line = append(line, "0x"...)
				line = strconv.AppendUint(line, fl.Value, 16)
			} else {
				line = strconv.AppendUint(line, fl.Value, 10)
			}
		}
		line = append(line, '\n')
		_, err := bw.Write(line)
		return err
	}
	var l sqtt.Lister
	l.Reset(f.Family, f.Header)
	if err := f.pieces(func(b []byte, _ bool) error { return l.Feed(b, list) }); err != nil {
		return err
	}
	if err := l.Close(list); err != nil {
		return err
	}
	return bw.Flush()
}

// hexField names the fields that hold addresses, masks and raw data.
var hexField = map[string]bool{
	"addr": true, "data": true, "data2": true, "pc": true, "mask": true, "op": true, "flags": true, "exec": true, "id": true,
}
