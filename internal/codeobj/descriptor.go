package codeobj

import (
	"fmt"
	"strings"
)

// DescriptorSize is the size of a kernel descriptor in bytes.
const DescriptorSize = 64

// Descriptor is the 64-byte record of a kernel's entry and resources (AMDGPUUsage, "Kernel Descriptor").
type Descriptor struct {
	GroupBytes   uint32 // LDS of a workgroup, dynamic LDS not included
	PrivateBytes uint32 // scratch of a work-item
	KernargBytes uint32
	EntryOffset  int64 // from the descriptor's own address
	RSRC1        uint32
	RSRC2        uint32
	RSRC3        uint32
	Properties   uint16 // kernel_code_properties
	Preload      uint16 // kernarg_preload
}

// DecodeDescriptor reads a descriptor; ok is false when b is shorter than one.
func DecodeDescriptor(b []byte) (d Descriptor, ok bool) {
	if len(b) < DescriptorSize {
		return d, false
	}
	return Descriptor{
		GroupBytes:   le.Uint32(b),
		PrivateBytes: le.Uint32(b[4:]),
		KernargBytes: le.Uint32(b[8:]),
		EntryOffset:  int64(le.Uint64(b[16:])),
		RSRC3:        le.Uint32(b[44:]),
		RSRC1:        le.Uint32(b[48:]),
		RSRC2:        le.Uint32(b[52:]),
		Properties:   le.Uint16(b[56:]),
		Preload:      le.Uint16(b[58:]),
	}, true
}

// Bits of kernel_code_properties: the user SGPRs that a dispatch sets up, in this order, and the wave size.
const (
	PropPrivateSegmentBuffer = 1 << 0 // 4 SGPRs; not with architected flat scratch
	PropDispatchPtr          = 1 << 1 // 2: address of the AQL packet
	PropQueuePtr             = 1 << 2 // 2
	PropKernargPtr           = 1 << 3 // 2
	PropDispatchID           = 1 << 4 // 2
	PropFlatScratchInit      = 1 << 5 // 2; not with architected flat scratch
	PropPrivateSegmentSize   = 1 << 6 // 1
	PropWave32               = 1 << 10
	PropDynamicStack         = 1 << 11
)

// WaveSize is the number of lanes of the kernel's waves.
func (d Descriptor) WaveSize() int {
	if d.Properties&PropWave32 != 0 {
		return 32
	}
	return 64
}

// UserSGPRs is the number of SGPRs that the dispatch fills; workgroup ids follow them up to gfx11.
func (d Descriptor) UserSGPRs() int { return int(d.RSRC2 >> 1 & 0x1f) }

// UsesScratch tells whether waves need private memory set up.
func (d Descriptor) UsesScratch() bool { return d.RSRC2&1 != 0 }

// WorkgroupID tells whether the id of an axis (0: x) is passed to waves.
func (d Descriptor) WorkgroupID(axis int) bool { return d.RSRC2>>(7+axis)&1 != 0 }

// WorkItemDims is the number of axes whose work-item ids are passed: 1 to 3.
func (d Descriptor) WorkItemDims() int { return min(int(d.RSRC2>>11&3)+1, 3) }

// PreloadDwords is how many dwords of kernel arguments arrive in SGPRs (gfx90a and later of GFX9), from dword PreloadOffset on.
func (d Descriptor) PreloadDwords() int { return int(d.Preload & 0x7f) }

// PreloadOffset is the first preloaded dword of the kernel arguments.
func (d Descriptor) PreloadOffset() int { return int(d.Preload >> 7) }

// WGPMode tells whether a workgroup may spread over both compute units of a WGP (gfx10 and later).
func (d Descriptor) WGPMode() bool { return d.RSRC1>>29&1 != 0 }

// VGPRs is the number of vector registers that the descriptor asks for on a target, accumulation registers included.
func (d Descriptor) VGPRs(target string) int {
	gran := 4
	switch {
	case isUnifiedVGPR(target), isRDNA(target) && d.WaveSize() == 32:
		gran = 8
	}
	return int(d.RSRC1&0x3f+1) * gran
}

// SGPRs is the number of scalar registers of a wave; always 128 from gfx10 on, where the descriptor no longer says.
func (d Descriptor) SGPRs(target string) int {
	if isRDNA(target) {
		return 128
	}
	return (int(d.RSRC1>>6&0xf)/2 + 1) * 16 // granules of 8, allocated in pairs
}

// AccumOffset is the index of the first accumulation register on targets with a unified file (gfx90a, gfx942, gfx950), else 0.
func (d Descriptor) AccumOffset(target string) int {
	if !isUnifiedVGPR(target) {
		return 0
	}
	return int(d.RSRC3&0x3f+1) * 4
}

func isUnifiedVGPR(target string) bool {
	return strings.HasPrefix(target, "gfx90a") || strings.HasPrefix(target, "gfx94") || strings.HasPrefix(target, "gfx95") ||
		strings.HasPrefix(target, "gfx9-4")
}

func isRDNA(target string) bool {
	return strings.HasPrefix(target, "gfx10") || strings.HasPrefix(target, "gfx11") || strings.HasPrefix(target, "gfx12")
}

// StartValue is what waves find in a scalar register, or a run of them, when they start.
type StartValue struct {
	Register string // "s[0:1]"
	Holds    string
}

// StartValues lists what waves of the kernel find in their scalar registers on a target (AMDGPUUsage, "Initial Kernel
// Execution State").
func (d Descriptor) StartValues(target string) []StartValue {
	var list []StartValue
	next := 0
	add := func(on bool, count int, holds string) {
		switch {
		case !on || count == 0:
			return
		case count == 1:
			list = append(list, StartValue{fmt.Sprintf("s%d", next), holds})
		default:
			list = append(list, StartValue{fmt.Sprintf("s[%d:%d]", next, next+count-1), holds})
		}
		next += count
	}
	own := !isRDNA(target) && !strings.HasPrefix(target, "gfx94") && !strings.HasPrefix(target, "gfx95") && !strings.HasPrefix(target, "gfx9-4") ||
		strings.HasPrefix(target, "gfx10") // no architected flat scratch
	add(own && d.Properties&PropPrivateSegmentBuffer != 0, 4, "scratch buffer")
	add(d.Properties&PropDispatchPtr != 0, 2, "dispatch packet")
	add(d.Properties&PropQueuePtr != 0, 2, "queue")
	add(d.Properties&PropKernargPtr != 0, 2, "kernel arguments")
	add(d.Properties&PropDispatchID != 0, 2, "dispatch id")
	add(own && d.Properties&PropFlatScratchInit != 0, 2, "flat scratch")
	add(d.Properties&PropPrivateSegmentSize != 0, 1, "scratch size")
	add(true, d.PreloadDwords(), "preloaded arguments")
	next = d.UserSGPRs() // compilers may ask for more than they use
	trap := [3]string{"ttmp9", "ttmp7[15:0]", "ttmp7[31:16]"}
	for axis, name := range [3]string{"workgroup x", "workgroup y", "workgroup z"} {
		switch {
		case !strings.HasPrefix(target, "gfx12"):
			add(d.WorkgroupID(axis), 1, name)
		case d.WorkgroupID(axis):
			list = append(list, StartValue{trap[axis], name})
		}
	}
	if !strings.HasPrefix(target, "gfx12") {
		add(d.RSRC2>>10&1 != 0, 1, "workgroup info")
	}
	add(own && d.UsesScratch(), 1, "scratch offset")
	return list
}
