// Package open chooses a device by what the user typed.
package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/device/kfd"
	"github.com/rigprof/rigprof/internal/device/sim"
	"github.com/rigprof/rigprof/internal/device/sim/count"
	"github.com/rigprof/rigprof/internal/gpu"
)

// Options qualifies Open.
type Options struct {
	// Target is what the program to run was built for, "gfx1100", or "" where it runs anywhere. It chooses among
	// simulated models for "auto" and "sim", and "auto" passes real GPUs of other targets by.
	Target    string
	Warn      func(msg string) // told which device "auto" took and why; nil: nobody
	KeepPower bool             // leave the power state as it is
	WaitLimit time.Duration    // of a wait without deadline; 0: an hour
	Sim       SimOptions
}

// SimOptions are the simulated GPU's, for tests mostly.
type SimOptions struct {
	Unstable bool         // the stable power state cannot be had
	VMIDs    []uint32     // of this process's dispatches, in turn; nil: 8
	Loads    []count.Load // waves of other processes, in flight all the time
	Live     [][]uint32   // units that work; nil: the model's
}

const fallbackTarget = "gfx1100" // where nothing says which model to take

// Device opens what spec says: "auto" (or ""), a number, "sim", or "sim:" and a model's target or name.
func Device(ctx context.Context, spec string, o Options) (device.Device, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch model, isSim := strings.CutPrefix(spec, "sim:"); {
	case isSim:
		return simulated(model, o)
	case spec == "sim":
		return simulated(orFallback(o.Target), o)
	case spec == "auto", spec == "":
		return auto(o)
	}
	n, err := strconv.Atoi(spec)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("device %q: want auto, a GPU's number, sim or sim:MODEL", spec)
	}
	d, err := kfd.Open(kfd.Linux{}, n, kfd.Options{Spec: spec, KeepPower: o.KeepPower, WaitLimit: o.WaitLimit})
	if errors.Is(err, device.ErrNotSupported) {
		return nil, fmt.Errorf("device %d: %w; device sim is a simulated GPU", n, err)
	}
	if err != nil {
		return nil, fmt.Errorf("device %d: %w", n, err)
	}
	return d, nil
}

func orFallback(target string) string {
	target, _, _ = strings.Cut(target, ":") // "gfx90a:xnack-"
	if target == "" {
		return fallbackTarget
	}
	return target
}

func simulated(model string, o Options) (device.Device, error) {
	g, err := gpu.Lookup(model)
	if err != nil {
		return nil, fmt.Errorf("device sim:%s: %w", model, err)
	}
	if o.Sim.Live != nil {
		g.Live = o.Sim.Live
	}
	k, err := sim.New([]*gpu.GPU{g}, sim.Options{Unstable: o.Sim.Unstable, VMIDs: o.Sim.VMIDs, Loads: o.Sim.Loads})
	if err != nil {
		return nil, fmt.Errorf("device sim:%s: %w", model, err)
	}
	d, err := kfd.Open(k, 0, kfd.Options{
		Spec: "sim:" + model, Simulated: true, KeepPower: o.KeepPower, WaitLimit: o.WaitLimit,
		Uncounted: func(block string, event int) string { return Uncounted(g.Target, block, event) },
		Unsampled: func(event int) string {
			if count.Sampled(g.Target, event) {
				return ""
			}
			return "the simulator samples what waves did, no levels and no clocks"
		},
	})
	if err != nil {
		return nil, fmt.Errorf("device sim:%s: %w", model, err)
	}
	return d, nil
}

// Uncounted says why a simulated GPU of a target does not count an event of a block; "" if it does.
func Uncounted(target, block string, event int) string {
	_, why := count.Modelled(target, block, event)
	return why
}

// auto takes the first real GPU that works and that the target fits, else the simulated model of the target.
func auto(o Options) (device.Device, error) {
	warn := o.Warn
	if warn == nil {
		warn = func(string) {}
	}
	want, _, _ := strings.Cut(o.Target, ":")
	nodes, err := kfd.Nodes(kfd.Linux{})
	why := "no AMD GPU was found"
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, device.ErrNotSupported) {
		why = err.Error()
	}
	for i := range nodes {
		if t := nodes[i].Target(); want != "" && t != want {
			why = fmt.Sprintf("GPU %d is %s, the code is for %s", i, t, want)
			continue
		}
		d, err := kfd.Open(kfd.Linux{}, i, kfd.Options{
			Spec: strconv.Itoa(i), KeepPower: o.KeepPower, WaitLimit: o.WaitLimit,
		})
		if err == nil {
			warn("device: " + d.Info().Name)
			return d, nil
		}
		why = err.Error()
	}
	d, err := simulated(orFallback(o.Target), o)
	if err == nil {
		warn(fmt.Sprintf("device: %s, since %s; times are modelled", d.Info().Name, why))
	}
	return d, err
}
