package report

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"

	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// StreamFile is one trace file to decode.
type StreamFile struct {
	Name   string
	Bytes  []byte
	Family gpu.Family
	Header sqtt.Header
}

// Decoded is what trace files hold: the document rigprof/decode/1.
type Decoded struct {
	Schema  string   `json:"schema"`
	Streams []Stream `json:"streams"`
	Quality Quality  `json:"quality"`

	code *decodedCode // nil: no code object was given
}

// Stream is one file's waves. Times are shader cycles from its start.
type Stream struct {
	File     string     `json:"file"`
	Family   string     `json:"family"`
	Bytes    int64      `json:"bytes"`
	Packets  int64      `json:"packets"`
	Cycles   int64      `json:"cycles"` // time of the last token
	Waves    []Wave     `json:"waves"`
	Realtime [][2]int64 `json:"realtime"`
	Losses   Losses     `json:"losses"`

	InstWaves []InstWave `json:"inst_waves,omitempty"` // with code: the traced waves' instructions

	family gpu.Family
	shader []sqtt.ShaderData
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
func Decode(files []StreamFile) *Decoded {
	d := &Decoded{Schema: "rigprof/decode/1", Streams: make([]Stream, len(files)), Quality: newQuality()}
	results := make([]*sqtt.Result, len(files))
	parallel(len(files), func(i int) {
		f := &files[i]
		results[i] = sqtt.DecodeWavesWith(f.Family, f.Header, f.Bytes)
		d.Streams[i] = streamOf(f.Name, results[i])
		d.Streams[i].shader, d.Streams[i].Packets = sqtt.ReadShaderData(f.Family, f.Header, f.Bytes)
	})
	q := &d.Quality
	var notes grouped
	idle := capture.Warning // a stream without waves, unless others have some
	for _, r := range results {
		if len(r.Waves) > 0 {
			idle = capture.Info
		}
	}
	for i, r := range results {
		q.stream(i, r, d.Streams[i].Packets)
		name := d.Streams[i].File
		notes.losses(name, r)
		if h := sqtt.FamilyOf(files[i].Bytes); r.Family == gpu.GFX9 && h != gpu.Unknown && h != gpu.GFX9 {
			notes.add(name, capture.Warning, "begins with the header of a "+h.String()+" trace but was read as gfx9", "is --target right?")
		}
		if r.Header > 0 {
			notes.add(name, capture.Info, "the first 8 bytes are a tool's header and were left out", "--gfx9-header no reads them as tokens")
		}
		switch {
		case r.Bytes == 0:
			notes.add(name, capture.Warning, "empty, nothing was traced", "was the engine harvested, or the trace never started?")
		case d.Streams[i].Packets == 0:
			notes.add(name, capture.Warning, "no token could be read", "check --target")
		case len(r.Waves) == 0 && r.Losses.OpenAtEnd+r.Losses.DroppedStarts > 0:
			notes.add(name, capture.Loss, "waves start in it and none ends", "is the file whole?")
		case len(r.Waves) == 0:
			notes.add(name, idle, "no wave starts and ends in it", "no work may have run on this engine; --format packets shows what there is")
		}
	}
	notes.into(q)
	return d
}

func streamOf(name string, r *sqtt.Result) Stream {
	s := Stream{
		File: name, Family: r.Family.String(), Bytes: r.Bytes, Cycles: int64(r.End),
		Waves: wavesOf(r.Waves), Realtime: make([][2]int64, len(r.Markers)), family: r.Family,
	}
	for i, m := range r.Markers {
		s.Realtime[i] = [2]int64{int64(m.Shader), m.Realtime}
	}
	l := &r.Losses
	s.Losses = Losses{
		l.DroppedStarts, l.DroppedEnds, l.OpenAtEnd, l.PacketsLost, l.Stalls, int64(l.StallCycles), l.UnknownBits,
		l.EmptyBytes, l.TailBits, make([]LossSpot, len(l.First)),
	}
	for i, f := range l.First {
		s.Losses.First[i] = LossSpot{f.Kind.String(), f.Off, int64(f.Time), f.N}
	}
	return s
}

func wavesOf(waves []sqtt.Wave) []Wave {
	list := make([]Wave, len(waves))
	for i, w := range waves {
		list[i] = waveOf(w)
	}
	return list
}

func waveOf(w sqtt.Wave) Wave {
	return Wave{int(w.CU), int(w.SIMD), int(w.Slot), int64(w.Start), int64(w.Stop), int(w.Lanes)}
}

// unitName is what CU numbers count in a family.
func unitName(f gpu.Family) string {
	if f == gpu.GFX9 {
		return "CU"
	}
	return "WGP"
}

// Tables is the view for people; limit bounds the waves listed (0: all).
func (d *Decoded) Tables(limit int) []Table {
	streams := Table{Title: "streams", Columns: []Column{
		Text("file"), Text("family"), Number("bytes"), Number("packets"), Number("waves"), Number("cycles"), Number("markers"), Text("losses"),
	}}
	waves := Table{Title: "waves", Columns: []Column{Text("file"), Number("cu"), Number("simd"), Number("slot"), Number("start"), Number("stop"), Number("cycles")}}
	total := 0
	for i := range d.Streams {
		s := &d.Streams[i]
		streams.Add(s.File, s.Family, s.Bytes, s.Packets, len(s.Waves), s.Cycles, len(s.Realtime), s.Losses.brief())
		total += len(s.Waves)
		for _, w := range s.Waves {
			if limit > 0 && len(waves.Rows) >= limit {
				break
			}
			waves.Add(s.File, w.CU, w.SIMD, w.Slot, w.Start, w.Stop, w.Stop-w.Start)
		}
	}
	leftOut(&waves, total, "waves", "--limit")
	if d.code != nil {
		return []Table{streams, waves, d.instructions(limit), d.Quality.table()}
	}
	return []Table{streams, waves, d.Quality.table()}
}

// leftOut says below a table how many of its rows are missing.
func leftOut(t *Table, total int, what, flag string) {
	if n := total - len(t.Rows); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("… %d more %s: %s 0 shows all, --format csv or json are for programs", n, what, flag))
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
	add(l.UnknownBits, "unknown bits")
	add(l.EmptyBytes, "empty bytes")
	if s == "" {
		return "none"
	}
	return s
}

// CSV is one row a wave; with code, one row an executed instruction.
func (d *Decoded) CSV() *Table {
	if d.code != nil {
		t := d.instructions(0)
		return &t
	}
	t := &Table{Columns: []Column{Text("file"), Text("family"), Number("cu"), Number("simd"), Number("slot"), Number("start"), Number("stop"), Number("lanes")}}
	for i := range d.Streams {
		s := &d.Streams[i]
		for _, w := range s.Waves {
			t.Add(s.File, s.Family, w.CU, w.SIMD, w.Slot, w.Start, w.Stop, w.Lanes)
		}
	}
	return t
}

// JSON is the document.
func (d *Decoded) JSON() any { return d }

// WritePackets lists a file's tokens, one a line: bit offset, time, name, fields.
func WritePackets(w io.Writer, f StreamFile) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	var fields []sqtt.Field
	for p := range sqtt.PacketsWith(f.Family, f.Header, f.Bytes) {
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
		if _, err := bw.Write(line); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// hexField names the fields that hold addresses, masks and raw data.
var hexField = map[string]bool{
	"addr": true, "data": true, "data2": true, "pc": true, "mask": true, "op": true, "flags": true, "exec": true, "id": true,
}
