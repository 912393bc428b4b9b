package report

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	layOut(bw, bytes.TrimRight(buf.Bytes(), "\n"))
	_ = bw.WriteByte('\n') // Flush tells
	return bw.Flush()
}

// layOut breaks compact JSON into lines. Writes that fail show at the writer's Flush.
func layOut(w *bufio.Writer, b []byte) {
	depth := 0
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
