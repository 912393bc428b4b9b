package codeobj

import (
	"fmt"
	"slices"
	"strings"
)

// Feature is the setting of a processor feature that a code object was built for.
type Feature uint8

// The settings. Any runs whether the feature is on or off.
const (
	FeatureNone Feature = iota // the processor has no such feature, or the object does not say
	FeatureAny
	FeatureOff
	FeatureOn
)

// Target is what a code object was compiled for.
type Target struct {
	Processor string  // "gfx942", "gfx11-generic"
	XNACK     Feature // retry of faulting accesses
	SRAMECC   Feature
	Generic   uint8 // version of a generic processor's object, else 0
}

// String is the target as compilers spell it: "gfx942:sramecc+:xnack-".
func (t Target) String() string {
	s := t.Processor
	for _, f := range []struct {
		name string
		f    Feature
	}{{"sramecc", t.SRAMECC}, {"xnack", t.XNACK}} {
		switch f.f {
		case FeatureOn:
			s += ":" + f.name + "+"
		case FeatureOff:
			s += ":" + f.name + "-"
		}
	}
	return s
}

// ParseTarget reads a target with or without its triple: "gfx90a:xnack-", "amdgcn-amd-amdhsa--gfx942:sramecc+",
// "hipv4-amdgcn-amd-amdhsa--gfx1100".
func ParseTarget(s string) (Target, error) {
	if i := strings.LastIndex(s, "gfx"); i > 0 && s[i-1] == '-' {
		s = s[i:]
	}
	parts := strings.Split(s, ":")
	t := Target{Processor: parts[0]}
	if !strings.HasPrefix(t.Processor, "gfx") || len(t.Processor) < 6 || strings.ContainsAny(t.Processor, " /\x00") {
		return Target{}, fmt.Errorf("codeobj: %q is no AMDGPU target", s)
	}
	for _, p := range parts[1:] {
		f := FeatureOff
		name, on := strings.CutSuffix(p, "+")
		if on {
			f = FeatureOn
		} else if name, on = strings.CutSuffix(p, "-"); !on {
			return Target{}, fmt.Errorf("codeobj: feature %q of target %q ends neither in + nor in -", p, s)
		}
		switch name {
		case "xnack":
			t.XNACK = f
		case "sramecc":
			t.SRAMECC = f
		default:
			return Target{}, fmt.Errorf("codeobj: target %q has the unknown feature %q", s, name)
		}
	}
	return t, nil
}

// RunsOn tells whether an object built for t runs on a device dev, whose unset features are unknown and fit anything.
func (t Target) RunsOn(dev Target) bool {
	if t.Processor != dev.Processor && !slices.Contains(generics[t.Processor], dev.Processor) {
		return false
	}
	fits := func(have, want Feature) bool {
		return have < FeatureOff || want < FeatureOff || have == want
	}
	return fits(t.XNACK, dev.XNACK) && fits(t.SRAMECC, dev.SRAMECC)
}

// generics are the processors that a generic target's objects run on (AMDGPUUsage, "Generic processors").
var generics = map[string][]string{
	"gfx9-generic":    {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"},
	"gfx9-4-generic":  {"gfx942", "gfx950"},
	"gfx10-1-generic": {"gfx1010", "gfx1011", "gfx1012", "gfx1013"},
	"gfx10-3-generic": {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"},
	"gfx11-generic":   {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"},
	"gfx12-generic":   {"gfx1200", "gfx1201"},
}

// processors names the EF_AMDGPU_MACH values of e_flags (AMDGPUUsage, "AMDGPU EF_AMDGPU_MACH values").
var processors = map[uint8]string{
	0x2c: "gfx900", 0x2d: "gfx902", 0x2e: "gfx904", 0x2f: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c",
	0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033",
	0x3d: "gfx1035", 0x3e: "gfx1034", 0x3f: "gfx90a", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103",
	0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x49: "gfx1250", 0x4a: "gfx1151", 0x4c: "gfx942",
	0x4e: "gfx1201", 0x4f: "gfx950", 0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic",
	0x54: "gfx11-generic", 0x55: "gfx1152", 0x58: "gfx1153", 0x59: "gfx12-generic", 0x5f: "gfx9-4-generic",
}

// targetOf reads the target from an ELF header's flags. The object's version gives the flags' layout.
func targetOf(flags uint32, version int) (Target, error) {
	name, ok := processors[uint8(flags)]
	if !ok {
		return Target{}, fmt.Errorf("e_flags %#x name the unknown processor %#x", flags, uint8(flags))
	}
	t := Target{Processor: name}
	if version < 4 { // one bit per feature, which says no more than "on"
		if flags&0x100 != 0 {
			t.XNACK = FeatureOn
		}
		if flags&0x200 != 0 {
			t.SRAMECC = FeatureOn
		}
		return t, nil
	}
	t.XNACK = Feature(flags >> 8 & 3)
	t.SRAMECC = Feature(flags >> 10 & 3)
	if version >= 6 {
		t.Generic = uint8(flags >> 24)
	}
	return t, nil
}
