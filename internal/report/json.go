package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes one document for people and programs alike: containers that hold containers get a line per element,
// the innermost ones (a wave, a grid) stand on one line. Names keep their characters.
func WriteJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	layOut(bw, bytes.TrimRight(buf.Bytes(), "\n"), 0)
	_ = bw.WriteByte('\n') // Flush tells
	return bw.Flush()
}

// jsonWriter writes a document whose lists are too long to hold, as WriteJSON would.
type jsonWriter struct {
	bw   *bufio.Writer
	open []byte // closing brackets, outermost first
	some bool   // the innermost container has an element
	key  bool   // a name was written
	err  error  // of marshalling
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{bw: bufio.NewWriterSize(w, 1<<16)} }

// element begins one.
func (j *jsonWriter) element() {
	if j.key || len(j.open) == 0 {
		j.key = false
		return
	}
	if j.some {
		_ = j.bw.WriteByte(',') // Flush tells
	}
	_ = j.bw.WriteByte('\n')
	for range j.open {
		_, _ = j.bw.WriteString("  ")
	}
	j.some = true
}

// begin opens a container: '{' or '['.
func (j *jsonWriter) begin(c byte) {
	j.element()
	_ = j.bw.WriteByte(c)
	j.open, j.some = append(j.open, c+2), false // "}" and "]" stand two behind
}

func (j *jsonWriter) end() {
	n := len(j.open) - 1
	c := j.open[n]
	j.open = j.open[:n]
	if j.some {
		_ = j.bw.WriteByte('\n')
		for range j.open {
			_, _ = j.bw.WriteString("  ")
		}
	}
	_ = j.bw.WriteByte(c)
	j.some = true
}

func (j *jsonWriter) name(s string) {
	j.element()
	_, _ = fmt.Fprintf(j.bw, "%q: ", s)
	j.key = true
}

// value writes a value that is held.
func (j *jsonWriter) value(v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && j.err == nil {
		j.err = err
	}
	j.element()
	layOut(j.bw, bytes.TrimRight(buf.Bytes(), "\n"), len(j.open))
}

func (j *jsonWriter) field(name string, v any) {
	j.name(name)
	j.value(v)
}

// close ends the document.
func (j *jsonWriter) close() error {
	_ = j.bw.WriteByte('\n')
	if err := j.bw.Flush(); err != nil {
		return err
	}
	return j.err
}

// layOut breaks compact JSON into lines, from an indentation on. Writes that fail show at the writer's Flush.
func layOut(w *bufio.Writer, b []byte, depth int) {
	if leafLen(b) == len(b) {
		_, _ = w.Write(b)
		return
	}
	line := func() {
		_ = w.WriteByte('\n')
		for range depth {
			_, _ = w.WriteString("  ")
		}
	}
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '"':
			n := stringLen(b[i:])
			_, _ = w.Write(b[i : i+n])
			i += n
			continue
		case '{', '[':
			if n := leafLen(b[i:]); n > 0 {
				_, _ = w.Write(b[i : i+n])
				i += n
				continue
			}
			_ = w.WriteByte(c)
			depth++
			line()
		case '}', ']':
			depth--
			line()
			_ = w.WriteByte(c)
		case ',':
			_ = w.WriteByte(c)
			line()
		case ':':
			_, _ = w.WriteString(": ")
		default:
			_ = w.WriteByte(c)
		}
		i++
	}
}

// stringLen is the length of the JSON string that b starts with, quotes included.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// maxLeaf is the longest container that is kept on one line.
const maxLeaf = 4096

// leafLen is the length of the container that b starts with if none is in it, else 0.
func leafLen(b []byte) int {
	for i := 1; i < len(b) && i < maxLeaf; i++ {
		switch b[i] {
		case '"':
			i += stringLen(b[i:]) - 1
		case '{', '[':
			return 0
		case '}', ']':
			return i + 1
		}
	}
	return 0
}
