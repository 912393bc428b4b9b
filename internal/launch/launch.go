package launch

import (
	"fmt"
	"slices"
	"strings"
)

// Launch is one launch of a kernel as the user describes it.
type Launch struct {
	Name   string // in a launch file; else empty
	File   string // the code object's base name without suffix, in a launch file; else empty
	Kernel string // empty: the object's only one
	Note   string
	Grid   [3]uint32 // work-items
	Groups [3]uint32 // workgroups; used instead of Grid where it is not 0
	Block  [3]uint32 // work-items of a workgroup
	Params []Param
	Source string // where it was written, for messages: "launches.yaml#vadd"; empty for flags
}

// Flags are the command line's words for a launch.
type Flags struct {
	Launch string // FILE.yaml#NAME
	Kernel string
	Grid   string // X[,Y[,Z]] work-items
	Groups string // X[,Y[,Z]] workgroups
	Block  string
	Args   []string
}

// Parse makes a launch of flags. Where they name a launch file, the other flags replace what it says; --arg replaces all
// its arguments. A block that is not given is 64 work-items, or the kernel's required size; a grid is one workgroup.
func (f Flags) Parse() (*Launch, error) {
	l := &Launch{}
	if f.Launch != "" {
		var err error
		if l, err = Load(f.Launch); err != nil {
			return nil, err
		}
	}
	if f.Kernel != "" {
		l.Kernel = f.Kernel
	}
	if f.Grid != "" && f.Groups != "" {
		return nil, errorf("--grid (work-items) and --groups (workgroups) say the same thing: give one")
	}
	for _, d := range []struct {
		flag, s string
		to      *[3]uint32
	}{{"grid", f.Grid, &l.Grid}, {"groups", f.Groups, &l.Groups}, {"block", f.Block, &l.Block}} {
		if d.s == "" {
			continue
		}
		v, err := ParseDim(d.s)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", d.flag, err)
		}
		*d.to = v
	}
	if f.Grid != "" {
		l.Groups = [3]uint32{}
	}
	if len(f.Args) > 0 {
		l.Params = nil
		for _, a := range f.Args {
			p, err := ParseArg(a)
			if err != nil {
				return nil, err
			}
			l.Params = append(l.Params, p)
		}
	}
	return l, nil
}

// Load reads FILE.yaml#NAME; without #NAME the file must hold one launch.
func Load(spec string) (*Launch, error) {
	path, name := spec, ""
	if i := strings.LastIndexByte(spec, '#'); i >= 0 {
		path, name = spec[:i], spec[i+1:]
	}
	all, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i := range all {
		if all[i].Name == name || name == "" && len(all) == 1 {
			all[i].Source = path + "#" + all[i].Name
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	slices.Sort(names)
	if name == "" {
		return nil, errorf("%s holds several launches: add #NAME, one of %s", path, strings.Join(names, ", "))
	}
	return nil, errorf("%s has no launch %q; there is %s", path, name, strings.Join(names, ", "))
}
