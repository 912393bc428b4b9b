package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// flagError says of a flag's bad value what the flag wants, where the parser would give its own words for why it is none.
func flagError(err error) error {
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
