package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rigprof/rigprof/internal/report"
)

// hostInfo is what info prints: facts of this machine that decide whether a GPU can be profiled here.
type hostInfo struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`
	OS      string   `json:"os"`
	Kernel  string   `json:"kernel"`
	CPUs    int      `json:"cpus"`
	KFD     string   `json:"kfd"` // "ok", or why not
	Render  []string `json:"render_nodes"`
	GPUs    []string `json:"gpus"` // targets that the kernel lists
}

func newInfoCmd(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Say what this machine offers: kernel driver, GPUs, access",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, "table", "json"); err != nil {
				return err
			}
			e.started = true
			info := readHost("/")
			if format == "json" {
				return writeJSON(e.Out, info)
			}
			t := report.Table{Columns: []report.Column{report.Text("what"), report.Text("value")}}
			t.Add("rigprof", info.Version)
			t.Add("system", info.OS+", "+info.Kernel)
			t.Add("processors", info.CPUs)
			t.Add("/dev/kfd", info.KFD)
			t.Add("render nodes", orNone(info.Render))
			t.Add("GPUs", orNone(info.GPUs))
			t.Add("simulated", "yes: --device sim:TARGET ('rigprof list gpus' names them)")
			return writeTable(e.Out, &t)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "output `format`: table or json")
	return cmd
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// readHost looks below root, which tests replace.
func readHost(root string) hostInfo {
	info := hostInfo{
		Schema: "rigprof/info/1", Version: buildVersion(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Kernel: "unknown kernel", KFD: "ok",
		Render: []string{}, GPUs: []string{},
	}
	if b, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease")); err == nil {
		info.Kernel = strings.TrimSpace(string(b))
	}
	f, err := os.OpenFile(filepath.Join(root, "dev/kfd"), os.O_RDWR, 0)
	switch {
	case err == nil:
		_ = f.Close() // opened to see whether it may be
	case os.IsNotExist(err):
		info.KFD = "absent: the amdgpu kernel driver is not loaded (rigprof then simulates)"
	case os.IsPermission(err):
		info.KFD = "no permission: add this user to the groups that own /dev/kfd and /dev/dri (often render, video)"
	default:
		info.KFD = err.Error()
	}
	if nodes, err := filepath.Glob(filepath.Join(root, "dev/dri/renderD*")); err == nil {
		for _, n := range nodes {
			info.Render = append(info.Render, filepath.Base(n))
		}
	}
	props, _ := filepath.Glob(filepath.Join(root, "sys/class/kfd/kfd/topology/nodes/*/properties"))
	for _, p := range props {
		b, err := os.ReadFile(p)
		if err != nil {
			continue // nodes of other users' cgroups are unreadable
		}
		for line := range strings.Lines(string(b)) {
			var v int
			if n, _ := fmt.Sscanf(line, "gfx_target_version %d", &v); n == 1 && v > 0 {
				// Decimal digits pairwise: 110000 is gfx1100, 90402 is gfx942; the step is one hex digit.
				info.GPUs = append(info.GPUs, fmt.Sprintf("gfx%d%d%x", v/10000, v/100%100, v%100))
			}
		}
	}
	return info
}
