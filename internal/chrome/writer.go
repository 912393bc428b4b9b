package chrome

import (
	"io"
	"strconv"
	"unicode/utf8"
)

// Options are what a Writer's document says besides its events.
type Options struct {
	Origin int64 // the time that is written as 0
	Picos  bool  // times are picoseconds, not nanoseconds
	Meta   []Arg // of the whole document: "simulated", …
}

// Arg is one detail of an event: a text, or a number where Text is empty and Number says so.
type Arg struct {
	Key    string
	Text   string
	Value  int64
	Number bool
}

// Text is a detail in words.
func Text(key, value string) Arg { return Arg{Key: key, Text: value} }

// Int is a detail that is a number.
func Int(key string, value int64) Arg { return Arg{Key: key, Value: value, Number: true} }

// Slice is something that lasts, on a lane.
type Slice struct {
	Process, Lane string
	Name          string
	Start, Stop   int64
	Args          []Arg
}

// Writer writes one document. It is not safe for use by several goroutines. Errors of the writer below stick and are
// returned by Close.
type Writer struct {
	w         io.Writer
	buf       []byte
	err       error
	some      bool // an event was written
	origin    int64
	unit      uint64 // times per microsecond
	processes map[string]*process
	tracks    int
}

type process struct {
	id    int
	lanes map[string]*lane
}

// lane is one lane's threads.
type lane struct{ tracks []*track }

// track is a thread. ends holds the ends of the slices that are open at the latest start, the innermost last.
type track struct {
	id    int
	start int64
	ends  []int64
}

// picosPerMicro is a document's unit where its times are picoseconds.
const picosPerMicro = 1e6

// flushAt is how many bytes are gathered before they are written.
const flushAt = 64 << 10

// NewWriter starts a document.
func NewWriter(w io.Writer, o Options) *Writer {
	c := &Writer{w: w, buf: make([]byte, 0, flushAt+4096), origin: o.Origin, unit: 1e3, processes: map[string]*process{}}
	if o.Picos {
		c.unit = picosPerMicro
	}
	c.buf = append(c.buf, `{"displayTimeUnit":"ns",`...)
	if len(o.Meta) > 0 {
		c.buf = append(c.buf, `"otherData":`...)
		c.args(o.Meta)
		c.buf = append(c.buf, ',')
	}
	c.buf = append(c.buf, `"traceEvents":[`...)
	return c
}

// Close ends the document and gives the first error. It neither flushes nor closes the writer below.
func (c *Writer) Close() error {
	c.buf = append(c.buf, "\n]}\n"...)
	c.flush()
	return c.err
}

func (c *Writer) flush() {
	if c.err == nil && len(c.buf) > 0 {
		var n int
		if n, c.err = c.w.Write(c.buf); c.err == nil && n < len(c.buf) {
			c.err = io.ErrShortWrite
		}
	}
	c.buf = c.buf[:0]
}

// Lane makes a lane's thread appear before those that come later.
func (c *Writer) Lane(process, name string) {
	p := c.process(process)
	c.lane(p, name)
}

// Slice writes a complete event. The slices of a lane come in the order of their starts, those that hold others first.
func (c *Writer) Slice(s *Slice) {
	c.beginSlice(s.Process, s.Lane, s.Start, s.Stop)
	c.buf = append(c.buf, `,"name":`...)
	c.string(s.Name)
	if len(s.Args) > 0 {
		c.buf = append(c.buf, `,"args":`...)
		c.args(s.Args)
	}
	c.end()
}

// beginSlice writes a complete event up to its times, on a thread where it nests.
func (c *Writer) beginSlice(process, name string, start, stop int64) {
	stop = max(stop, start)
	p := c.process(process)
	l := c.lane(p, name)
	var t *track
	for _, o := range l.tracks {
		if o.fits(start, stop) {
			t = o
			break
		}
	}
	if t == nil {
		t = c.track(p, l, name)
	}
	t.start = start
	t.ends = append(t.ends, stop)
	c.begin('X', p.id, t.id, start)
	c.buf = append(c.buf, `,"dur":`...)
	c.micros(uint64(stop) - uint64(start))
}

// fits drops the slices that ended by start and tells whether one up to stop nests in the rest.
func (t *track) fits(start, stop int64) bool {
	if len(t.ends) > 0 && start < t.start {
		return false
	}
	for len(t.ends) > 0 && t.ends[len(t.ends)-1] <= start {
		t.ends = t.ends[:len(t.ends)-1]
	}
	return len(t.ends) == 0 || stop <= t.ends[len(t.ends)-1]
}

// Counter writes the value of a counter track from a time on.
func (c *Writer) Counter(process, track, series string, at int64, value uint64) {
	c.begin('C', c.process(process).id, 0, at)
	c.buf = append(c.buf, `,"name":`...)
	c.string(track)
	c.buf = append(c.buf, `,"args":{`...)
	c.string(series)
	c.buf = append(c.buf, ':')
	c.buf = strconv.AppendUint(c.buf, value, 10)
	c.buf = append(c.buf, '}')
	c.end()
}

// begin starts an event.
func (c *Writer) begin(phase byte, pid, tid int, at int64) {
	c.open(phase, pid, tid)
	c.buf = append(c.buf, `,"ts":`...)
	if at < c.origin {
		c.buf = append(c.buf, '-')
		c.micros(uint64(c.origin) - uint64(at))
		return
	}
	c.micros(uint64(at) - uint64(c.origin))
}

func (c *Writer) open(phase byte, pid, tid int) {
	if c.some {
		c.buf = append(c.buf, ',')
	}
	c.some = true
	c.buf = append(c.buf, "\n{\"ph\":\""...)
	c.buf = append(c.buf, phase)
	c.buf = append(c.buf, `","pid":`...)
	c.buf = strconv.AppendInt(c.buf, int64(pid), 10)
	c.buf = append(c.buf, `,"tid":`...)
	c.buf = strconv.AppendInt(c.buf, int64(tid), 10)
}

func (c *Writer) end() {
	c.buf = append(c.buf, '}')
	if len(c.buf) >= flushAt {
		c.flush()
	}
}

// process gives a process's number, writing its name at its first use.
func (c *Writer) process(name string) *process {
	p := c.processes[name]
	if p == nil {
		p = &process{id: len(c.processes) + 1, lanes: map[string]*lane{}}
		c.processes[name] = p
		c.named(p.id, 0, "process_name", name, 0)
		c.sorted(p.id, 0, "process_sort_index", p.id)
	}
	return p
}

func (c *Writer) lane(p *process, name string) *lane {
	l := p.lanes[name]
	if l == nil {
		l = &lane{}
		p.lanes[name] = l
		c.track(p, l, name)
	}
	return l
}

// track adds a thread to a lane.
func (c *Writer) track(p *process, l *lane, name string) *track {
	c.tracks++
	t := &track{id: c.tracks}
	l.tracks = append(l.tracks, t)
	c.named(p.id, t.id, "thread_name", name, len(l.tracks))
	c.sorted(p.id, t.id, "thread_sort_index", t.id)
	return t
}

// named writes a name; copies of a thread from the second on are numbered.
func (c *Writer) named(pid, tid int, what, name string, copyOf int) {
	c.open('M', pid, tid)
	c.buf = append(c.buf, `,"name":"`...)
	c.buf = append(c.buf, what...)
	c.buf = append(c.buf, `","args":{"name":`...)
	c.string(name)
	if copyOf > 1 {
		c.buf = append(c.buf[:len(c.buf)-1], " ("...)
		c.buf = strconv.AppendInt(c.buf, int64(copyOf), 10)
		c.buf = append(c.buf, `)"`...)
	}
	c.buf = append(c.buf, '}')
	c.end()
}

func (c *Writer) sorted(pid, tid int, what string, index int) {
	c.open('M', pid, tid)
	c.buf = append(c.buf, `,"name":"`...)
	c.buf = append(c.buf, what...)
	c.buf = append(c.buf, `","args":{"sort_index":`...)
	c.buf = strconv.AppendInt(c.buf, int64(index), 10)
	c.buf = append(c.buf, '}')
	c.end()
}

func (c *Writer) args(args []Arg) {
	c.buf = append(c.buf, '{')
	for i := range args {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.string(args[i].Key)
		c.buf = append(c.buf, ':')
		if args[i].Number {
			c.buf = strconv.AppendInt(c.buf, args[i].Value, 10)
		} else {
			c.string(args[i].Text)
		}
	}
	c.buf = append(c.buf, '}')
}

// micros writes a time or duration in microseconds, every digit of it.
func (c *Writer) micros(t uint64) {
	c.buf = strconv.AppendUint(c.buf, t/c.unit, 10)
	c.buf = append(c.buf, '.')
	for rest, unit := t%c.unit, c.unit/10; unit > 0; unit /= 10 {
		c.buf = append(c.buf, byte('0'+rest/unit%10))
	}
}

// string writes a JSON string. What is not UTF-8 becomes U+FFFD.
func (c *Writer) string(s string) { c.prefixed("", s) }

// prefixed is string, with plain ASCII before it.
func (c *Writer) prefixed(ascii, s string) {
	c.buf = append(c.buf, '"')
	c.buf = append(c.buf, ascii...)
	from := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if b >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		c.buf = append(c.buf, s[from:i]...)
		const hex = "0123456789abcdef"
		switch {
		case b >= utf8.RuneSelf:
			c.buf = append(c.buf, `\ufffd`...)
		case b == '"' || b == '\\':
			c.buf = append(c.buf, '\\', b)
		case b == '\n':
			c.buf = append(c.buf, `\n`...)
		case b == '\t':
			c.buf = append(c.buf, `\t`...)
		default:
			c.buf = append(c.buf, `\u00`...)
			c.buf = append(c.buf, hex[b>>4], hex[b&15])
		}
		i += size
		from = i
	}
	c.buf = append(c.buf, s[from:]...)
	c.buf = append(c.buf, '"')
}
