package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Index is a number of a dispatch or an engine that may not be known: -1, null in JSON.
type Index int

// MarshalJSON writes the number or null.
func (i Index) MarshalJSON() ([]byte, error) {
	if i < 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int(i))
}

// String is the number, or nothing.
func (i Index) String() string {
	if i < 0 {
		return ""
	}
	return strconv.Itoa(int(i))
}

// cell is the number for people.
func (i Index) cell() string { return dash(i.String()) }

// streamPlace says whose a stream is. Views name the stream by it.
type streamPlace struct {
	stream           int    // among those that are read together
	file             string // of trace files: the name
	dispatch, engine Index
	family           gpu.Family
}

// name is what people call the stream.
func (p *streamPlace) name() string {
	at := strings.TrimSpace(fmt.Sprintf("%s %s", prefixed("dispatch ", p.dispatch), prefixed("engine ", p.engine)))
	switch {
	case p.file == "":
		return at
	case at == "":
		return p.file
	}
	return fmt.Sprintf("%s (%s)", p.file, at)
}

// engineName names the stream where its dispatch does not matter.
func (p *streamPlace) engineName() string {
	if p.file != "" {
		return p.file
	}
	return prefixed("engine ", p.engine)
}

func prefixed(s string, i Index) string {
	if i < 0 {
		return ""
	}
	return s + i.String()
}

// Names of trace files: those that rocprofv3 gives (PID_AGENT_shader_engine_ENGINE_DISPATCH.att; AMD's ROCprof Compute Viewer finds the engine in the
// same way), and the short ones of captures, d2_se0.sqtt or se0.sqtt.
var (
	longName  = regexp.MustCompile(`_shader_engine_(\d{1,3})_(\d{1,9})$`)
	shortName = regexp.MustCompile(`(?:(?:^|[-_.])d(\d{1,9})[-_.]|^|[-_.])se(\d{1,3})$`)
)

// placeOfFile is what a trace file's name tells. The number in the header of some gfx9 files is not asked: it is optional, so that 0 may mean
// unknown, and tools disagree on where it stands.
func placeOfFile(stream int, f *StreamFile) streamPlace {
	p := streamPlace{stream: stream, file: f.Name, dispatch: -1, engine: -1, family: f.Family}
	if f.Name == "-" {
		p.file = "standard input"
		return p
	}
	base := filepath.Base(f.Name)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	number := func(s string) Index {
		n, err := strconv.Atoi(s)
		if err != nil {
			return -1
		}
		return Index(n)
	}
	if m := longName.FindStringSubmatch(base); m != nil {
		p.engine, p.dispatch = number(m[1]), number(m[2])
	} else if m := shortName.FindStringSubmatch(base); m != nil {
		p.dispatch, p.engine = number(m[1]), number(m[2])
	}
	return p
}

// placesOfFiles are those of files that are read together. Their folders are left out of the names where these tell them apart.
func placesOfFiles(files []StreamFile) []streamPlace {
	list := make([]streamPlace, len(files))
	for i := range files {
		list[i] = placeOfFile(i, &files[i])
	}
	bases := make([]string, len(list))
	for i := range list {
		bases[i] = filepath.Base(list[i].file)
	}
	sorted := slices.Sorted(slices.Values(bases))
	if len(slices.Compact(sorted)) == len(list) { // they tell files apart
		for i := range list {
			list[i].file = bases[i]
		}
	}
	return list
}
