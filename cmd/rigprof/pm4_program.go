package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/pm4"
	"github.com/rigprof/rigprof/internal/report"
	"github.com/rigprof/rigprof/internal/session"
	"github.com/rigprof/rigprof/internal/sqtt"
)

type programOptions struct {
	traceFlags
	GPU     string
	Dies    int
	Engines int
	Size    string
	Address string
	Live    string
	Raw     bool
	Output  string
}

// newPM4ProgramCmd is pm4 start or pm4 stop.
func newPM4ProgramCmd(e *env, name string) *cobra.Command {
	var o programOptions
	short := "Print the packets that start a thread trace"
	example := "  rigprof pm4 start --gpu gfx942 --dies 8 --engines 4 --size 1M --address 0x7f0000000000"
	if name == "stop" {
		short = "Print the packets that stop a thread trace and store each engine's end"
		example = "  rigprof pm4 stop --gpu gfx1100 --address 0x1000 --live f,f/f,f/0/f,f/f,f/f,7 --raw"
	}
	cmd := &cobra.Command{
		Use: name, Short: short, Example: example, Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, g, err := o.program(name)
			if err != nil {
				return err
			}
			e.started = true
			return e.output(o.Output, func(w io.Writer) error {
				if o.Raw {
					return writeWords(w, words)
				}
				return pm4.Disassemble(w, g.GC, words)
			})
		},
	}
	o.programFlags(cmd, name)
	return cmd
}

func (o *programOptions) programFlags(cmd *cobra.Command, name string) {
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.GPU, "gpu", "gfx1100", "`GPU`: a target or a model of 'rigprof list gpus'")
	f.IntVar(&o.Dies, "dies", 0, "`n` dies instead of the model's")
	f.IntVar(&o.Engines, "engines", 0, "`n` engines of each die instead of the model's")
	if name == "start" {
		f.StringVar(&o.Size, "size", "1M", "trace `bytes` per engine")
	}
	f.StringVar(&o.Address, "address", "0x100000", "GPU `address` of the trace buffers (start) or of the ends (stop)")
	f.StringVar(&o.Live, "live", "", "working units as hex `masks`: engines apart by /, arrays by comma; of all dies or of one for every die (default: the model's)")
	f.BoolVar(&o.Raw, "raw", false, "print one hex word a line instead of the disassembly")
	f.StringVarP(&o.Output, "output", "o", "", "write the output to `file`")
}

// program builds the words that the flags ask for.
func (o *programOptions) program(name string) ([]uint32, *gpu.GPU, error) {
	g, err := lookupGPU(o.GPU)
	if err != nil {
		return nil, nil, err
	}
	if err := o.shape(g); err != nil {
		return nil, nil, err
	}
	live := g.LiveUnits()
	if o.Live != "" {
		if live, err = parseLive(o.Live); err != nil {
			return nil, nil, err
		}
		if len(live) == g.SEs { // one die's engines stand for every die's
			die := live
			for range g.Dies - 1 {
				live = append(live, die...)
			}
		}
		if err := checkLive(g, o.Live, live); err != nil {
			return nil, nil, err
		}
	}
	address, err := strconv.ParseInt(o.Address, 0, 64)
	if err != nil || address < 0 || address >= 1<<addressBits {
		return nil, nil, fmt.Errorf("--address %q: want a number of %d bits such as 0x100000", o.Address, addressBits)
	}
	var words []uint32
	var t session.TraceOptions
	if err := o.apply(&t); err != nil {
		return nil, nil, err
	}
	t.DetailAuto = false // that is for launches: a program alone has its own default
	err = o.fit(g, &t, func(e int) string {
		if harvested(live, e) {
			return "--live has no unit of it"
		}
		return ""
	})
	if err != nil {
		return nil, nil, err
	}
	opts, err := t.Program(g)
	if err != nil {
		return nil, nil, err
	}
	if name == "stop" {
		words, err = sqtt.Stop(g, live, address, opts...)
		return words, g, err
	}
	size, err := bufferSize("size", o.Size)
	if err != nil {
		return nil, nil, err
	}
	words, err = sqtt.Start(g, live, size, address, opts...)
	return words, g, err
}

// addressBits is what GPU addresses of these families have.
const addressBits = 48

// shape gives g the dies and engines asked for. There are no more than a part of the target has.
func (o *programOptions) shape(g *gpu.GPU) error {
	dies, engines := g.Dies, g.SEs
	for _, m := range gpu.Models() {
		if m.Target == g.Target {
			dies, engines = max(dies, m.Dies), max(engines, m.SEs)
		}
	}
	for _, n := range []struct {
		flag        string
		asked, most int
		have        *int
		what        string
	}{{"dies", o.Dies, dies, &g.Dies, "dies"}, {"engines", o.Engines, engines, &g.SEs, "engines on a die"}} {
		if !o.given(n.flag) || n.asked == *n.have {
			continue
		}
		if n.asked < 1 || n.asked > n.most {
			return fmt.Errorf("--%s %d: %s has 1 to %d %s", n.flag, n.asked, g.Target, n.most, n.what)
		}
		*n.have, g.Live = n.asked, nil // the model's masks are of its own shape
	}
	return nil
}

// checkLive is an error for units and arrays that the GPU is not built with.
func checkLive(g *gpu.GPU, flag string, live [][]uint32) error {
	if len(live) != g.Engines() {
		return fmt.Errorf("--live %s: units of %s; %s has %d%s", flag, report.Plural(int64(len(live)), "engine"), g.Target, g.Engines(), acrossDies(g))
	}
	for e, arrays := range live {
		if len(arrays) > g.SAs {
			return fmt.Errorf("--live %s: engine %d has %d masks, an engine of %s has %s", flag, e, len(arrays), g.Target, report.Plural(int64(g.SAs), "array"))
		}
		for _, m := range arrays {
			if m>>g.Units != 0 {
				return fmt.Errorf("--live %s: mask %x of engine %d: an array of %s has %d units, so %x at most", flag, m, e, g.Target, g.Units, 1<<g.Units-1)
			}
		}
	}
	return nil
}

// parseLive reads 3ff/3ff,1ff/0.
func parseLive(s string) ([][]uint32, error) {
	var live [][]uint32
	for engine := range strings.SplitSeq(s, "/") {
		var arrays []uint32
		for mask := range strings.SplitSeq(engine, ",") {
			v, err := strconv.ParseUint(strings.TrimPrefix(mask, "0x"), 16, 32)
			if err != nil {
				return nil, fmt.Errorf("--live %q: %q is no hex mask", s, mask)
			}
			arrays = append(arrays, uint32(v))
		}
		live = append(live, arrays)
	}
	return live, nil
}

func writeWords(w io.Writer, words []uint32) error {
	bw := bufio.NewWriter(w)
	for _, v := range words {
		if _, err := fmt.Fprintf(bw, "%08x\n", v); err != nil {
			return err
		}
	}
	return bw.Flush()
}
