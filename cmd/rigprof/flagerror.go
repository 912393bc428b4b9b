package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// named takes at least one argument, or exactly one; what says what it names.
func named(what string, several bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return errors.New("name " + what)
		case len(args) > 1 && !several:
			return fmt.Errorf("name %s: %q is one too many", what, args[1])
		}
		return nil
	}
}

// noArgs is for commands that take none, and for those that have others below them: a misspelt one is told.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasSubCommands():
		return fmt.Errorf("it takes flags alone: %q is one too many", args[0])
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
	}
	if st, err := os.Stat(args[0]); err == nil && st.Mode().IsRegular() && !cmd.HasParent() {
		do := "trace"
		if isCapture(args[0]) {
			do = "hotspots"
		}
		return fmt.Errorf("unknown command %q: of a file say what to do with it, such as 'rigprof %s %s'", args[0], do, args[0])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// What commands take.
const (
	theCode   = "a code object, or a file with one inside"
	theTraces = "a capture, or thread trace files and their code objects (--code FILE@BASE)"
)

// flagError says of a flag's bad value what the flag wants, where the parser would give its own words for why it is none.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && cmd != nil {
		return fmt.Errorf("%w%s", err, flagHint(cmd, unknown.GetSpecifiedName()))
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f := bad.GetFlag()
	want := ""
	switch f.Value.Type() {
	case "int":
		want = "want a whole number such as " + f.DefValue
		if errors.Is(err, strconv.ErrRange) {
			want = "no number can be so large; " + want
		}
	case "duration":
		want = "want a time with its unit, such as 30s or 2m"
	case "bool":
		want = fmt.Sprintf("want true or false; --%s alone is true", f.Name)
	case "stringSlice": // read as CSV
		want = "want names with a comma between them, and no quotes"
	default:
		return err
	}
	return fmt.Errorf("--%s %q: %s", f.Name, bad.GetValue(), want)
}

// flagHint tells of flags that a wrong one may have meant: one of the command that is spelt like it, or other commands that have it.
func flagHint(cmd *cobra.Command, name string) string {
	if len(name) < 2 {
		return ""
	}
	var own []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { own = append(own, f.Name) })
	best := nearest(name, own)
	if i := slices.IndexFunc(own, func(f string) bool { return strings.HasPrefix(f, name) }); best == "" && i >= 0 {
		best = own[i]
	}
	if best != "" {
		return ": did you mean --" + best + "?"
	}
	var have []string
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c != cmd && c.LocalFlags().Lookup(name) != nil {
			have = append(have, strings.TrimPrefix(c.CommandPath(), cmd.Root().Name()+" "))
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(cmd.Root())
	if len(have) > 0 {
		return " (it is one of " + strings.Join(have, ", ") + ")"
	}
	return ""
}

// nearest is the word that is spelt most like a name, in whatever case; nothing where none is like it.
func nearest(name string, words []string) string {
	best, at := "", 3 // more than two letters apart is another word, and so is one that has hardly a letter of it
	for _, w := range words {
		if n := distance(strings.ToUpper(name), strings.ToUpper(w)); n < at && n <= len(name)/2 {
			best, at = w, n
		}
	}
	return best
}

// distance is how many letters must be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
