package kfd

import (
	"unsafe"

	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/profile"
)

// clockPair is one measure of both clocks at one moment.
type clockPair struct {
	gpu   uint64 // ticks
	host  int64  // profile.Now
	errNs int64  // the host's time is off by this at most
}

// measure reads the GPU's clock between two looks at the host's.
func (d *Device) measure() (clockPair, error) {
	a := abi.GetClockCountersArgs{GPUID: d.node.GPUID}
	before := profile.Now()
	err := d.ioctl(d.kfd, abi.GetClockCounters, unsafe.Pointer(&a))
	after := profile.Now()
	return clockPair{gpu: a.GPUClockCounter, host: before + (after-before)/2, errNs: (after - before + 1) / 2}, err
}

// The two oscillators drift apart by this at most: 50 ppm each, as crystals are sold.
const driftPPM = 100

// hostTime converts a GPU time near the pair. The error grows with the distance: what dt shows may be a true distance longer by driftPPM.
func (d *Device) hostTime(p clockPair, ticks uint64) (ns, errNs int64) {
	const rest = 1e6 - driftPPM
	dt := ticksToNs(int64(ticks-p.gpu), d.refHz)
	far := max(dt, -dt)
	return p.host + dt, p.errNs + far/rest*driftPPM + far%rest*driftPPM/rest + 1e9/d.refHz
}

// maxSeconds is further than any time that a GPU wrote is from a pair; what it never wrote may be anything.
const maxSeconds = 1 << 32

// ticksToNs divides last and keeps whole seconds apart, so that nothing overflows.
func ticksToNs(t, hz int64) int64 { return min(max(t/hz, -maxSeconds), maxSeconds)*1e9 + t%hz*1e9/hz }
