package report

import (
	"fmt"
	"slices"
	"strings"
)

// markerStrips draws the markers of an engine below the picture of its slots: a letter for the innermost span of each piece of time.
type markerStrips struct {
	g     *grid
	spans map[slot][]*MarkerSpan
	names []string // letter by letter
}

const stripLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func newMarkerStrips(list []MarkerSpan, g *grid) *markerStrips {
	m := &markerStrips{g: g, spans: map[slot][]*MarkerSpan{}}
	for i := range list {
		s := &list[i]
		at := slot{s.CU, s.SIMD, s.Slot}
		m.spans[at] = append(m.spans[at], s)
	}
	return m
}

// row is a slot's strip; empty where it has no marker.
func (m *markerStrips) row(at slot) string {
	list := m.spans[at]
	if len(list) == 0 {
		return ""
	}
	cells := []byte(strings.Repeat(" ", int(m.g.columns)))
	depth := make([]int, m.g.columns)
	for _, s := range list {
		if s.Stop < m.g.from || s.Start >= m.g.to {
			continue
		}
		letter := m.letter(s.Name)
		first := (max(s.Start, m.g.from) - m.g.from) / m.g.per
		last := (min(max(s.Stop-1, s.Start), m.g.to-1) - m.g.from) / m.g.per
		for c := first; c <= max(first, last) && c < m.g.columns; c++ {
			if cells[c] == ' ' || s.Depth >= depth[c] {
				cells[c], depth[c] = letter, s.Depth
			}
		}
	}
	return strings.TrimRight(string(cells), " ")
}

// letter is a marker's; past their number all others share one.
func (m *markerStrips) letter(name string) byte {
	i := slices.Index(m.names, name)
	if i < 0 {
		i = len(m.names)
		m.names = append(m.names, name)
	}
	if i >= len(stripLetters) {
		return '*'
	}
	return stripLetters[i]
}

// legend names the letters.
func (m *markerStrips) legend() []string {
	if len(m.names) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("markers, the innermost of each column:")
	for i, n := range m.names[:min(len(m.names), len(stripLetters))] {
		fmt.Fprintf(&b, " %c %s,", stripLetters[i], n)
	}
	s := strings.TrimSuffix(b.String(), ",")
	if n := len(m.names) - len(stripLetters); n > 0 {
		s += fmt.Sprintf(", * %d more names", n)
	}
	return []string{s}
}
