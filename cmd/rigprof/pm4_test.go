package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/gpu"
)

// cmdOf is a command with the program's flags.
func cmdOf(o *programOptions) *cobra.Command {
	cmd := &cobra.Command{}
	o.programFlags(cmd, "start")
	return cmd
}

// A number is refused or stands in the words whole: no two values that are taken give the same program.
func TestProgramNumbersAreNotCut(t *testing.T) {
	numbers := []string{"0", "1", "2", "3", "4", "5", "7", "8", "9", "10", "15", "16", "31", "32", "63", "64", "127", "128", "255", "256", "257", "65536", "65537", "4294967296", "4294967297", "4611686018427387904"}
	for _, target := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1103", "gfx1201"} {
		flags := map[string]string{ // how each number is given
			"array": "--array=%s", "unit": "--unit=%s", "engines": "--engines=%s", "dies": "--dies=%s", "detail": "--detail-engines=%s",
			"engine-unit": "--engine-unit=%s=0/1", "array of engine": "--engine-unit=0=%s/1", "unit of engine": "--engine-unit=0=0/%s",
			"address": "--address=0x%s000", "size": "--size=%sK",
		}
		if gpu.FamilyOf(target) == gpu.GFX9 {
			flags["simds"] = "--simds=%s"
			flags["rate"] = "--trace-counter-rate=%s"
		} else {
			flags["simd"] = "--simd=%s"
			flags["SIMD of engine"] = "--engine-unit=0=0/1/%s"
		}
		for name, form := range flags {
			taken, last := map[string]string{}, "" // value by program; the largest number, if it is taken
			for _, n := range numbers {
				args := []string{"--gpu=" + target, "--detail-engines=0"}
				switch name {
				case "engine-unit":
					args[1] = "--detail-engines=all"
				case "rate":
					args = append(args, "--trace-counters=SQ_WAVES")
				}
				var o programOptions
				cmd := cmdOf(&o)
				if err := cmd.ParseFlags(append(args, fmt.Sprintf(form, n))); err != nil {
					t.Fatal(err)
				}
				words, _, err := o.program("start")
				if last = ""; err != nil {
					continue
				}
				last = n
				key := fmt.Sprint(words)
				if other, ok := taken[key]; ok {
					t.Errorf("%s: %s %s and %s give the same words", target, name, other, n)
				}
				taken[key] = n
			}
			if len(taken) == 0 || last != "" {
				t.Errorf("%s: of %s %s are taken: %v", target, name, numbers, slices.Collect(maps.Values(taken)))
			}
		}
	}
}
