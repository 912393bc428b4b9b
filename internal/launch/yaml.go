package launch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// The shape of a launch file. Values stay nodes until their type is known: 0x10, 1e-3 and 18446744073709551615 are read by
// the type's own rules.
type (
	fileYAML struct {
		Launches []launchYAML `yaml:"launches"`
	}
	launchYAML struct {
		Name   string      `yaml:"name"`
		File   string      `yaml:"file"`
		Kernel string      `yaml:"kernel"`
		Note   string      `yaml:"note"`
		Grid   []uint32    `yaml:"grid,flow"`
		Groups []uint32    `yaml:"groups,flow"`
		Block  []uint32    `yaml:"block,flow"`
		Args   []paramYAML `yaml:"args"`
	}
	paramYAML struct {
		Name  string    `yaml:"name"`
		Type  string    `yaml:"type"`
		Arg   string    `yaml:"arg"` // as on the command line, instead of the rest
		Count *uint64   `yaml:"count"`
		Value yaml.Node `yaml:"value"`
		Fill  fillYAML  `yaml:"fill"`
		Check *Check    `yaml:"check"`
	}
	fillYAML struct {
		Kind   string      `yaml:"kind"`
		Seed   uint64      `yaml:"seed"`
		Value  yaml.Node   `yaml:"value"`
		Lo     int64       `yaml:"lo"`
		N      uint64      `yaml:"n"`
		Scale  *float64    `yaml:"scale"`
		Values []yaml.Node `yaml:"values"`
		Path   string      `yaml:"path"`
	}
)

// ReadFile reads all launches of a file. Paths in it are relative to its folder.
func ReadFile(path string) ([]Launch, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, errorf("%v", err)
	}
	ls, err := ReadYAML(data, filepath.Dir(path))
	if err != nil {
		return nil, errorf("%s: %v", path, trimPrefix(err))
	}
	return ls, nil
}

// trimPrefix leaves the package's name out of an error that is about to be wrapped.
func trimPrefix(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return errors.New(e.Msg)
	}
	return err
}

// ReadYAML reads the launches of a document; dir is where the paths in it start.
func ReadYAML(data []byte, dir string) ([]Launch, error) {
	var f fileYAML
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, errorf("%v", err)
	}
	if len(f.Launches) == 0 {
		return nil, errorf("no launches in it")
	}
	out := make([]Launch, 0, len(f.Launches))
	seen := map[string]bool{}
	for i, y := range f.Launches {
		if y.Name == "" {
			return nil, errorf("launch %d has no name", i)
		}
		if seen[y.Name] {
			return nil, errorf("launch %s is there twice", y.Name)
		}
		seen[y.Name] = true
		l, err := y.launch(dir)
		if err != nil {
			return nil, errorf("launch %s: %v", y.Name, trimPrefix(err))
		}
		out = append(out, l)
	}
	return out, nil
}

func (y *launchYAML) launch(dir string) (Launch, error) {
	l := Launch{Name: y.Name, File: y.File, Kernel: y.Kernel, Note: y.Note}
	for _, d := range []struct {
		what string
		v    []uint32
		to   *[3]uint32
	}{{"grid", y.Grid, &l.Grid}, {"groups", y.Groups, &l.Groups}, {"block", y.Block, &l.Block}} {
		if len(d.v) == 0 {
			continue
		}
		if len(d.v) > 3 {
			return l, errorf("%s has more than three dimensions", d.what)
		}
		*d.to = [3]uint32{1, 1, 1}
		for i, n := range d.v {
			if n == 0 {
				return l, errorf("%s of 0 work-items", d.what)
			}
			d.to[i] = n
		}
	}
	if len(y.Grid) > 0 && len(y.Groups) > 0 {
		return l, errorf("grid (work-items) and groups (workgroups) say the same thing: give one")
	}
	for i := range y.Args {
		p, err := y.Args[i].param(dir)
		if err != nil {
			name := y.Args[i].Name
			if name == "" {
				return l, errorf("argument %d: %v", i, trimPrefix(err))
			}
			return l, errorf("argument %s: %v", name, trimPrefix(err))
		}
		l.Params = append(l.Params, p)
	}
	return l, nil
}

func (y *paramYAML) param(dir string) (p Param, err error) {
	switch {
	case y.Arg != "":
		if p, err = ParseArg(y.Arg); err != nil {
			return p, err
		}
		if p.Kind != Buffer && y.Check != nil {
			return p, errorf("only a buffer can have a check")
		}
		p.Fill.Path = inDir(dir, p.Fill.Path)
	case y.Type == "":
		return p, errorf("no type")
	default:
		if p.Type, err = ParseType(y.Type); err != nil {
			return p, err
		}
		hasValue := y.Value.Kind != 0
		switch {
		case y.Count == nil && hasValue:
			if y.Check != nil || y.Fill.Kind != "" {
				return p, errorf("only a buffer can have a fill or a check: give a count instead of a value")
			}
			p.Value, err = p.Type.ParseValue(y.Value.Value)
		case y.Count == nil:
			return p, errorf("neither a value nor a count of elements")
		case hasValue:
			return p, errorf("both a value and a count of elements")
		case *y.Count == 0 || *y.Count > maxBuffer/uint64(p.Type.Size()):
			return p, errorf("a buffer of %d elements", *y.Count)
		default:
			p.Kind, p.Count = Buffer, *y.Count
			p.Fill, err = y.Fill.fill(p.Type, p.Count, dir)
		}
	}
	if err != nil {
		return p, err
	}
	p.Name, p.Check = y.Name, y.Check
	if p.Check != nil {
		p.Check.File = inDir(dir, p.Check.File)
		err = p.Check.valid(&p)
	}
	return p, err
}

func inDir(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func (y *fillYAML) fill(t Type, count uint64, dir string) (f Fill, err error) {
	f = Fill{Seed: y.Seed, Lo: y.Lo, N: y.N, Scale: 1, Path: inDir(dir, y.Path)}
	if y.Scale != nil {
		f.Scale = *y.Scale
	}
	if y.Kind != "" {
		found := false
		for k, name := range fillNames {
			if y.Kind == name {
				f.Kind, found = FillKind(k), true
			}
		}
		if !found {
			return f, errorf("%q is no kind of fill", y.Kind)
		}
	}
	switch f.Kind {
	case FillConst:
		if f.Value, err = t.ParseValue(y.Value.Value); err != nil {
			return f, err
		}
	case FillChoose:
		for _, n := range y.Values {
			v, err := t.ParseValue(n.Value)
			if err != nil {
				return f, err
			}
			f.Values = append(f.Values, v)
		}
	case FillFile:
		if f.Path == "" {
			return f, errorf("fill file needs a path")
		}
	}
	return f, f.valid(t, count)
}
