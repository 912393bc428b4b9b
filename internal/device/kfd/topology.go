package kfd

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device"
	"github.com/rigprof/rigprof/internal/gpu"
)

const nodesDir = "/sys/devices/virtual/kfd/kfd/topology/nodes"

// Node is one GPU of the kernel's topology.
type Node struct {
	Index int    // of the topology node
	GPUID uint32 // what requests call it
	Props map[string]uint64
}

// Nodes lists the GPUs that the kernel shows, in its order. No driver or no GPU is ErrNotSupported.
func Nodes(sys System) ([]Node, error) {
	names, err := sys.ReadDir(nodesDir)
	if err != nil {
		return nil, fmt.Errorf("read topology: %w: the kernel has no amdkfd, or no GPU that it drives (%v)", device.ErrNotSupported, err)
	}
	var nodes []Node
	var denied int
	for _, name := range names {
		i, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		id, err := sys.ReadFile(path.Join(nodesDir, name, "gpu_id"))
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || err == nil && len(bytes.TrimSpace(id)) == 0 {
			denied++ // the devices cgroup hides it
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read topology: %w", err)
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(id)), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read topology: gpu_id of node %d: %w", i, err)
		}
		if n == 0 {
			continue // a CPU
		}
		b, err := sys.ReadFile(path.Join(nodesDir, name, "properties"))
		if err != nil {
			return nil, fmt.Errorf("read topology: %w", err)
		}
		nodes = append(nodes, Node{Index: i, GPUID: uint32(n), Props: parseProperties(b)})
	}
	if len(nodes) == 0 {
		why := "there is no GPU"
		if denied > 0 {
			why = fmt.Sprintf("permission for %d nodes is lacking", denied)
		}
		return nil, fmt.Errorf("read topology: %w: %s", device.ErrNotSupported, why)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return a.Index - b.Index })
	return nodes, nil
}

// parseProperties reads lines of a name and a value. What is no such line is skipped: newer kernels add lines.
func parseProperties(b []byte) map[string]uint64 {
	props := map[string]uint64{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); ok && err == nil {
			props[name] = n
		}
	}
	return props
}

// Target is the node's processor, "gfx90a": gfx_target_version is major*10000 + minor*100 + step.
func (n *Node) Target() string {
	v := n.Props["gfx_target_version"]
	return fmt.Sprintf("gfx%d%x%x", v/10000, v/100%100, v%100)
}

// Per die; simd_count and array_count are the device's.
func (n *Node) dies() int { return max(1, int(n.Props["num_xcc"])) }

func (n *Node) cus() int {
	return int(n.Props["simd_count"]) / max(1, int(n.Props["simd_per_cu"])) / n.dies()
}

// limits on what topology may claim, so that nothing is sized by nonsense
const (
	maxDies    = 16
	maxEngines = 64 // of a die
	maxArrays  = 4
	maxUnits   = 32
)

// shape makes a GPU of what topology says and of the model that fits it best for the rest.
func (n *Node) shape(rev uint8) (*gpu.GPU, error) {
	target := n.Target()
	g := model(target, uint32(n.Props["device_id"]), rev)
	if g == nil {
		return nil, fmt.Errorf("%w: rigprof knows no %s", device.ErrNotSupported, target)
	}
	g.Dies = n.dies()
	g.SAs = max(1, int(n.Props["simd_arrays_per_engine"]))
	g.SEs = int(n.Props["array_count"]) / g.Dies / g.SAs
	units := int(n.Props["cu_per_simd_array"])
	if g.Family != gpu.GFX9 {
		units /= 2 // a WGP is two CUs
	}
	g.Units = max(g.Units, units)
	if mhz := int64(n.Props["max_engine_clk_fcompute"]); mhz > 0 {
		g.ClockHz = mhz * 1e6
	}
	if g.Dies > maxDies || g.SEs < 1 || g.SEs > maxEngines || g.SAs > maxArrays || g.Units < 1 || g.Units > maxUnits {
		return nil, fmt.Errorf("%w: topology of node %d makes no sense: %d dies of %d engines of %d arrays of %d units",
			device.ErrNotSupported, n.Index, g.Dies, g.SEs, g.SAs, g.Units)
	}
	return g, nil
}

// model is a copy of the known GPU with the PCI ids, or of the one that stands for the target.
func model(target string, pci uint32, rev uint8) *gpu.GPU {
	g, ok := gpu.ByPCI(pci, rev)
	if !ok || g.Target != target {
		var err error
		if g, err = gpu.Lookup(target); err != nil {
			return nil
		}
		g.Name = fmt.Sprintf("%s device %04x", target, pci)
	}
	g.Live = nil
	return g
}
