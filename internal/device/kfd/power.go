package kfd

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/gpu"
)

// stabilise asks for the power state that traces and counters need: fixed clocks, perfmon clocks on. It holds as
// long as the context, that is until the render node is closed. It returns why the state is not held, or "".
func (d *Device) stabilise() string {
	level, err := d.sys.ReadFile(path.Join("/sys/class/drm", fmt.Sprintf("renderD%d", d.node.Props["drm_render_minor"]),
		"device/power_dpm_force_performance_level"))
	if err == nil && strings.HasPrefix(string(level), "profile_") {
		return "" // an administrator set it
	}
	a := abi.DRMCtx{Op: abi.CtxAlloc}
	if err := d.ioctl(d.drm, abi.DRMAmdgpuCtx, unsafe.Pointer(&a)); err != nil {
		return d.unstable(err)
	}
	a = abi.DRMCtx{Op: abi.CtxSetStablePstate, Flags: abi.PstatePeak, CtxID: a.Op} // the answer's first word is the context
	if err := d.ioctl(d.drm, abi.DRMAmdgpuCtx, unsafe.Pointer(&a)); err != nil {
		return d.unstable(err)
	}
	return ""
}

func (d *Device) unstable(err error) string {
	if d.gpu.Family == gpu.GFX9 {
		return "" // traces and counters of gfx9 count in any power state
	}
	why := err.Error()
	if errors.Is(err, unix.EBUSY) {
		why = "another process holds it"
	}
	return fmt.Sprintf("the stable power state could not be had: %s; as root write profile_standard to "+
		"/sys/class/drm/renderD%d/device/power_dpm_force_performance_level", why, d.node.Props["drm_render_minor"])
}
