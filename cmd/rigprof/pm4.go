package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
)

func newPM4Cmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pm4",
		Short: "Print the packets of a trace program, or disassemble words",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPM4ProgramCmd(e, "start"), newPM4ProgramCmd(e, "stop"), newPM4DisasmCmd(e))
	return cmd
}

func newPM4DisasmCmd(e *env) *cobra.Command {
	var name, output string
	cmd := &cobra.Command{
		Use:   "disasm --gpu GPU FILE|-",
		Short: "Disassemble packets: binary dwords, or hex words in text",
		Example: `  rigprof pm4 start --gpu gfx1100 --size 1M --address 0x100000 --raw | rigprof pm4 disasm --gpu gfx1100 -
  rigprof pm4 disasm --gpu gfx942 ring.bin`,
		Args: named("a file of packets, or - for standard input", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := lookupGPU(name)
			if err != nil {
				return err
			}
			e.started = true
			words, err := readWords(e.In, args[0])
			if err != nil {
				return err
			}
			return e.output(output, func(w io.Writer) error {
				if err := pm4.Disassemble(w, g.GC, words); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "gpu", "gfx1100", "`GPU` whose registers the words name: a target or a model of 'rigprof list gpus'")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the output to `file`")
	return cmd
}

func lookupGPU(name string) (*gpu.GPU, error) {
	g, err := gpu.Lookup(strings.TrimPrefix(name, "sim:"))
	if err != nil {
		return nil, &codeError{exitUsage, fmt.Errorf("%w ('rigprof list gpus' names what is known)", err)}
	}
	return g, nil
}

// readWords reads dwords: text with a hex word per blank-separated item, # starting a comment, or little-endian binary.
func readWords(in io.Reader, path string) ([]uint32, error) {
	var b []byte
	var err error
	if path == "-" {
		b, err = io.ReadAll(in)
	} else {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	if !bytes.ContainsFunc(b, func(r rune) bool { return r == unicode.ReplacementChar || r < ' ' && !unicode.IsSpace(r) }) {
		return parseWords(path, string(b))
	}
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("%s: %d bytes are no whole dwords", path, len(b))
	}
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return words, nil
}

func parseWords(path, text string) ([]uint32, error) {
	var words []uint32
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		for _, f := range strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
			v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(f), "0x"), 16, 32)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %q is no 32-bit hex word", path, n, f)
			}
			words = append(words, uint32(v))
		}
	}
	return words, nil
}
