package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/rigprof/rigprof/internal/report"
)

// Exit codes. Commands that record use the first group, all others the second.
const (
	exitCheckFailed = 1   // recording: a buffer is not what the launch file says
	exitTimeout     = 124 // recording: --timeout passed
	exitRecord      = 125 // recording: rigprof failed, was misused, or the GPU faulted

	exitUsage = 2 // analysis: the command line is wrong
	exitData  = 3 // analysis: data unusable; both: less than asked for under --strict
)

// records marks, as a cobra annotation, the commands that record.
const records = "rigprof/records"

// env is what a run has of the world outside: tests build it from buffers.
type env struct {
	In     io.Reader
	Out    io.Writer // data
	Err    io.Writer // everything else
	Config *viper.Viper

	recording  atomic.Bool // the command records
	unfinished sync.Map    // files that are written beside their names

	settings map[string]string // who set a flag that the command line does not: RIGPROF_TOP, or the settings file

	started bool // the command line was accepted: what fails from here on is not the command line
}

func newEnv(in io.Reader, out, errw io.Writer) *env {
	v := viper.New()
	v.SetEnvPrefix("RIGPROF")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_", ".", "_"))
	v.AutomaticEnv()
	return &env{In: in, Out: out, Err: errw, Config: v, settings: map[string]string{}}
}

// notef writes a remark for the user.
func (e *env) notef(format string, args ...any) {
	fmt.Fprintf(e.Err, "rigprof: %s\n", forTerminal(fmt.Sprintf(format, args...)))
}

// forTerminal is text that may hold names from files, fit for a terminal. Its lines stay lines.
func forTerminal(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = report.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// abandon ends the program at once where a signal is the cause. A recording goes on: it stops the GPU's work and keeps what there is.
func (e *env) abandon(cause error) {
	sig, ok := errors.AsType[*interruptError](cause)
	if !ok || e.recording.Load() {
		return
	}
	e.unfinished.Range(func(name, _ any) bool {
		_ = os.Remove(name.(string)) // of our making
		return true
	})
	e.notef("%v", sig)
	os.Exit(sig.code())
}

// codeError is an error that asks for its own exit code.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// report tells the user what went wrong and says which exit code that is.
func (e *env) report(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	var ce *codeError
	silent := errors.As(err, &ce) && ce.err == nil
	name := "rigprof"
	if cmd != nil {
		name = cmd.CommandPath()
	}
	if !silent {
		fmt.Fprintf(e.Err, "%s: %s%s\n", name, forTerminal(err.Error()), e.setBy(err))
		if !e.started {
			fmt.Fprintf(e.Err, "see '%s --help'\n", name)
		}
	}
	switch {
	case ce != nil:
		return ce.code
	case cmd != nil && cmd.Annotations[records] != "":
		return exitRecord
	case !e.started:
		return exitUsage
	}
	return exitData
}

// setBy says who set the flag that an error is about, if the command line did not.
func (e *env) setBy(err error) string {
	name, _, _ := strings.Cut(err.Error(), " ")
	if by := e.settings[strings.TrimSuffix(strings.TrimPrefix(name, "--"), ":")]; by != "" && strings.HasPrefix(name, "--") {
		return " (set by " + by + ")"
	}
	return ""
}

// configure fills every flag that the command line does not set from RIGPROF_* or from the settings file.
// A setting of a command's own table ("trace: {device: sim}") goes before one of the whole file.
func (e *env) configure(cmd *cobra.Command) error {
	if err := e.readSettings(cmd); err != nil {
		return err
	}
	var first error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || first != nil || f.Name == "help" || f.Name == "config" {
			return
		}
		key, variable := f.Name, "RIGPROF_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if os.Getenv(variable) == "" {
			if own := cmd.Name() + "." + f.Name; e.Config.InConfig(cmd.Name()) && e.Config.IsSet(own) {
				key = own
			}
		}
		if !e.Config.IsSet(key) {
			return
		}
		if os.Getenv(variable) != "" { // viper takes an empty one as unset
			e.settings[f.Name] = variable
		} else {
			e.settings[f.Name] = e.Config.ConfigFileUsed()
		}
		values := []string{e.Config.GetString(key)}
		if _, ok := f.Value.(pflag.SliceValue); ok {
			values = e.Config.GetStringSlice(key)
		}
		for _, val := range values {
			if err := cmd.Flags().Set(f.Name, val); err != nil {
				first = flagError(cmd, err)
				return
			}
		}
	})
	return first
}

// readSettings reads --config, RIGPROF_CONFIG, or the first rigprof.yaml of the working directory and the user's configuration.
func (e *env) readSettings(cmd *cobra.Command) error {
	path := e.Config.GetString("config")
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	}
	if path == "" {
		candidates := []string{"rigprof.yaml"}
		if dir, err := os.UserConfigDir(); err == nil {
			candidates = append(candidates, filepath.Join(dir, "rigprof", "rigprof.yaml"))
		}
		for _, c := range candidates {
			if _, err := os.Stat(c); err == nil {
				path = c
				break
			}
		}
	}
	if path == "" {
		return nil
	}
	if st, err := os.Stat(path); err != nil {
		return fmt.Errorf("read settings: %w", err)
	} else if st.IsDir() {
		return fmt.Errorf("read settings: %s is a folder", path)
	}
	switch ext := strings.TrimPrefix(filepath.Ext(path), "."); {
	case slices.Contains(viper.SupportedExts, ext):
	case ext == "": // whatever it is called, it is what rigprof.yaml would be
		e.Config.SetConfigType("yaml")
	default:
		return fmt.Errorf("read settings: %s: want a file whose name ends in .yaml", path)
	}
	e.Config.SetConfigFile(path)
	if err := e.Config.ReadInConfig(); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	known := map[string]bool{}
	settingsOf(cmd.Root(), known)
	for _, key := range slices.Sorted(maps.Keys(e.Config.AllSettings())) {
		sub := e.Config.GetStringMap(key)
		if len(sub) == 0 && !known[key] {
			e.notef("%s: no command has a setting %q", path, key)
		}
		for _, k := range slices.Sorted(maps.Keys(sub)) {
			if !known[key+"."+k] {
				e.notef("%s: no setting %q of a command %q", path, k, key)
			}
		}
	}
	return nil
}

// settingsOf collects what a settings file may say: flags, and flags below the name of their command.
func settingsOf(cmd *cobra.Command, known map[string]bool) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		known[f.Name], known[cmd.Name()+"."+f.Name] = true, true
	})
	for _, c := range cmd.Commands() {
		settingsOf(c, known)
	}
}

// output calls write with the file that -o names, or with Out. A file appears whole or not at all; what is no
// regular file (a device, a pipe) is written to as it stands.
func (e *env) output(path string, write func(w io.Writer) error) error {
	if path == "" || path == "-" {
		data, err := buffered(e.Out, write)
		return cmp.Or(err, data)
	}
	mode := os.FileMode(0o644)
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		mode = st.Mode().Perm()
	} else if err == nil {
		if st.IsDir() {
			return fmt.Errorf("--output %s is a folder: name a file in it", path)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		data, err := buffered(f, write)
		return cmp.Or(err, f.Close(), data)
	}
	if dst, err := filepath.EvalSymlinks(path); err == nil {
		path = dst // the file changes, the link stays
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err // of a name that nobody gave
		}
		return fmt.Errorf("write %s: %w", path, err)
	}
	e.unfinished.Store(f.Name(), true)
	defer func() {
		_ = os.Remove(f.Name()) // fails once renamed, as it should
		e.unfinished.Delete(f.Name())
	}()
	data, err := buffered(f, write)
	err = cmp.Or(err, f.Chmod(mode), f.Close())
	if err == nil && data == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if data != nil {
		return data
	}
	e.notef("wrote %s", path)
	return nil
}

// buffered calls write with w behind a buffer. It tells what write failed of for want of data, and what w failed of, apart.
func buffered(w io.Writer, write func(w io.Writer) error) (data, err error) {
	bw := bufio.NewWriterSize(w, 1<<16)
	data = write(bw)
	if err = bw.Flush(); err != nil { // also what it failed of before: write may only pass that on
		data = nil
	}
	return data, err
}
