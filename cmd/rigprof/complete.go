package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/perfctr"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/sqtt"
)

// completeValues offers the values of flags that take names, on every command below root.
func completeValues(root *cobra.Command) {
	lists := map[string]func(f *pflag.Flag) []string{
		"device":      func(*pflag.Flag) []string { return deviceNames() },
		"target":      func(*pflag.Flag) []string { return targetNames() },
		"gpu":         func(*pflag.Flag) []string { return targetNames() },
		"events":      func(*pflag.Flag) []string { return counterNames() },
		"tokens":      func(*pflag.Flag) []string { return traceNames(sqtt.TokenClasses) },
		"wave-types":  func(*pflag.Flag) []string { return traceNames(sqtt.WaveTypes) },
		"by":          func(*pflag.Flag) []string { return report.HotBy },
		"sort":        func(*pflag.Flag) []string { return report.HotSort },
		"explain":     func(*pflag.Flag) []string { return ruleNames() },
		"per":         func(*pflag.Flag) []string { return []string{"unit"} },
		"gfx9-header": func(*pflag.Flag) []string { return []string{"auto", "yes", "no"} },
		"colour":      func(*pflag.Flag) []string { return []string{"auto", "always", "never"} },
		"format":      formatNames,
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			list, ok := lists[f.Name]
			if !ok {
				return
			}
			complete := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				head := "" // of a list: what stands before the name being typed
				if i := strings.LastIndexByte(typed, ','); i >= 0 && f.Value.Type() == "stringSlice" {
					head = typed[:i+1]
				}
				var values []string
				for _, v := range list(f) {
					values = append(values, head+v)
				}
				return values, cobra.ShellCompDirectiveNoFileComp
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only where one is registered already
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

// formatNames reads the formats that a flag takes from its own description: "output `format`: table, csv or json".
func formatNames(f *pflag.Flag) []string {
	_, list, _ := strings.Cut(f.Usage, ": ")
	list = strings.ReplaceAll(list, " or ", ", ")
	var names []string
	for name := range strings.SplitSeq(list, ", ") {
		if name, _, _ = strings.Cut(name, " "); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func deviceNames() []string {
	names := []string{"auto", "0", "sim"}
	for _, t := range targetNames() {
		names = append(names, "sim:"+t)
	}
	return names
}

func targetNames() []string {
	var names []string
	for _, g := range gpu.Models() {
		if !slices.Contains(names, g.Target) {
			names = append(names, g.Target)
		}
	}
	return names
}

// traceNames are a list's of every family, each once.
func traceNames(of func(gpu.Family) []string) []string {
	names := slices.Concat(of(gpu.GFX9), of(gpu.GFX11), of(gpu.GFX12))
	slices.Sort(names)
	return slices.Compact(names)
}

// counterNames are those of every family, each once.
func counterNames() []string {
	var names []string
	for _, t := range targetNames() {
		g, err := gpu.Lookup(t)
		if err != nil {
			continue
		}
		for _, c := range perfctr.Counters(g) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func ruleNames() []string {
	names := []string{"list"}
	for _, r := range report.Rules() {
		names = append(names, r.Name)
	}
	return names
}
