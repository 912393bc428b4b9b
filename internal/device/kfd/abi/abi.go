// Package abi holds the structures and request codes of /dev/kfd and of the amdgpu render node that rigprof
// uses, field for field as in linux/kfd_ioctl.h (version 1.17) and drm/amdgpu_drm.h of Linux 6.12, little
// endian, 64 bits. Driver and simulated kernel both speak it. tables/layout.tsv holds the sizes and offsets
// that the tests pin.
package abi

import "structs"

// Request codes of /dev/kfd.
const (
	GetVersion             = 0x80084b01
	CreateQueue            = 0xc0604b02
	DestroyQueue           = 0xc0084b03
	GetClockCounters       = 0xc0284b05
	CreateEvent            = 0xc0204b08
	DestroyEvent           = 0x40084b09
	SetEvent               = 0x40084b0a
	ResetEvent             = 0x40084b0b
	WaitEvents             = 0xc0184b0c
	SetTrapHandler         = 0x40184b13
	GetProcessAperturesNew = 0xc0104b14
	AcquireVM              = 0x40084b15
	AllocMemoryOfGPU       = 0xc0284b16
	FreeMemoryOfGPU        = 0x40084b17
	MapMemoryToGPU         = 0xc0184b18
	UnmapMemoryFromGPU     = 0xc0184b19
	SetXnackMode           = 0xc0044b21
	AvailableMemory        = 0xc0104b23
	RuntimeEnable          = 0xc0104b25
)

// Request codes of the render node.
const (
	DRMAmdgpuCtx  = 0xc0106442
	DRMAmdgpuInfo = 0x40206445
)

// GetVersionArgs is kfd_ioctl_get_version_args.
type GetVersionArgs struct {
	_            structs.HostLayout
	MajorVersion uint32
	MinorVersion uint32
}

// Queue types of CreateQueueArgs.
const (
	QueueTypeCompute    = 0 // PM4
	QueueTypeComputeAQL = 2
)

// CreateQueueArgs is kfd_ioctl_create_queue_args.
type CreateQueueArgs struct {
	_                     structs.HostLayout
	RingBaseAddress       uint64
	WritePointerAddress   uint64
	ReadPointerAddress    uint64
	DoorbellOffset        uint64 // from KFD
	RingSize              uint32
	GPUID                 uint32
	QueueType             uint32
	QueuePercentage       uint32
	QueuePriority         uint32
	QueueID               uint32 // from KFD
	EOPBufferAddress      uint64
	EOPBufferSize         uint64
	CtxSaveRestoreAddress uint64
	CtxSaveRestoreSize    uint32
	CtlStackSize          uint32
	SDMAEngineID          uint32
	Pad                   uint32
}

// DestroyQueueArgs is kfd_ioctl_destroy_queue_args.
type DestroyQueueArgs struct {
	_       structs.HostLayout
	QueueID uint32
	Pad     uint32
}

// GetClockCountersArgs is kfd_ioctl_get_clock_counters_args.
type GetClockCountersArgs struct {
	_                  structs.HostLayout
	GPUClockCounter    uint64
	CPUClockCounter    uint64 // CLOCK_MONOTONIC_RAW, ns
	SystemClockCounter uint64 // CLOCK_BOOTTIME, ns
	SystemClockFreq    uint64
	GPUID              uint32
	Pad                uint32
}

// ProcessDeviceApertures is kfd_process_device_apertures.
type ProcessDeviceApertures struct {
	_            structs.HostLayout
	LDSBase      uint64
	LDSLimit     uint64
	ScratchBase  uint64
	ScratchLimit uint64
	GPUVMBase    uint64
	GPUVMLimit   uint64
	GPUID        uint32
	Pad          uint32
}

// GetProcessAperturesNewArgs is kfd_ioctl_get_process_apertures_new_args.
type GetProcessAperturesNewArgs struct {
	_                            structs.HostLayout
	KFDProcessDeviceAperturesPtr uint64
	NumOfNodes                   uint32
	Pad                          uint32
}

// Event types of CreateEventArgs.
const (
	EventSignal      = 0
	EventHWException = 3
	EventMemory      = 8
)

// CreateEventArgs is kfd_ioctl_create_event_args.
type CreateEventArgs struct {
	_                structs.HostLayout
	EventPageOffset  uint64
	EventTriggerData uint32
	EventType        uint32
	AutoReset        uint32
	NodeID           uint32
	EventID          uint32
	EventSlotIndex   uint32
}

// EventArgs is kfd_ioctl_destroy_event_args, kfd_ioctl_set_event_args and kfd_ioctl_reset_event_args.
type EventArgs struct {
	_       structs.HostLayout
	EventID uint32
	Pad     uint32
}

// MemoryExceptionFailure is kfd_memory_exception_failure.
type MemoryExceptionFailure struct {
	_          structs.HostLayout
	NotPresent uint32
	ReadOnly   uint32
	NoExecute  uint32
	Imprecise  uint32
}

// HSAMemoryExceptionData is kfd_hsa_memory_exception_data.
type HSAMemoryExceptionData struct {
	_         structs.HostLayout
	Failure   MemoryExceptionFailure
	VA        uint64
	GPUID     uint32
	ErrorType uint32
}

// HSAHWExceptionData is kfd_hsa_hw_exception_data.
type HSAHWExceptionData struct {
	_          structs.HostLayout
	ResetType  uint32 // 0 whole GPU, 1 per engine
	ResetCause uint32 // 0 GPU hang, 1 ECC
	MemoryLost uint32
	GPUID      uint32
}

// EventData is kfd_event_data. Its union is as large as HSAMemoryExceptionData; MemoryException and
// HWException read it.
type EventData struct {
	_               structs.HostLayout
	MemoryException HSAMemoryExceptionData // or another member of the union
	KFDEventDataExt uint64
	EventID         uint32
	Pad             uint32
}

// HWException is the union's member for hardware exceptions.
func (d *EventData) HWException() HSAHWExceptionData {
	f := d.MemoryException.Failure
	return HSAHWExceptionData{ResetType: f.NotPresent, ResetCause: f.ReadOnly, MemoryLost: f.NoExecute, GPUID: f.Imprecise}
}

// SetHWException stores the union's member for hardware exceptions.
func (d *EventData) SetHWException(e HSAHWExceptionData) {
	d.MemoryException = HSAMemoryExceptionData{Failure: MemoryExceptionFailure{
		NotPresent: e.ResetType, ReadOnly: e.ResetCause, NoExecute: e.MemoryLost, Imprecise: e.GPUID,
	}}
}

// Results of WaitEventsArgs.
const (
	WaitComplete = 0
	WaitTimeout  = 1
	WaitFail     = 2
)

// WaitEventsArgs is kfd_ioctl_wait_events_args.
type WaitEventsArgs struct {
	_          structs.HostLayout
	EventsPtr  uint64
	NumEvents  uint32
	WaitForAll uint32
	Timeout    uint32 // ms, 0xffffffff: for ever
	WaitResult uint32
}

// SetTrapHandlerArgs is kfd_ioctl_set_trap_handler_args.
type SetTrapHandlerArgs struct {
	_       structs.HostLayout
	TBAAddr uint64
	TMAAddr uint64
	GPUID   uint32
	Pad     uint32
}

// AcquireVMArgs is kfd_ioctl_acquire_vm_args.
type AcquireVMArgs struct {
	_     structs.HostLayout
	DRMFD uint32
	GPUID uint32
}

// Flags of AllocMemoryOfGPUArgs.
const (
	AllocVRAM          = 1 << 0
	AllocGTT           = 1 << 1
	AllocUserptr       = 1 << 2
	AllocDoorbell      = 1 << 3
	AllocUncached      = 1 << 25
	AllocCoherent      = 1 << 26
	AllocAQLQueueMem   = 1 << 27
	AllocNoSubstitute  = 1 << 28
	AllocPublic        = 1 << 29
	AllocExecutable    = 1 << 30
	AllocWritable      = 1 << 31
	AllocDomains       = AllocVRAM | AllocGTT | AllocUserptr | AllocDoorbell
	AllocKnown         = 0xff80001f // every bit that the header names
	AllocContiguousTry = 1 << 23
)

// AllocMemoryOfGPUArgs is kfd_ioctl_alloc_memory_of_gpu_args.
type AllocMemoryOfGPUArgs struct {
	_          structs.HostLayout
	VAAddr     uint64
	Size       uint64
	Handle     uint64
	MmapOffset uint64 // of the render node; the CPU address for user pointers
	GPUID      uint32
	Flags      uint32
}

// FreeMemoryOfGPUArgs is kfd_ioctl_free_memory_of_gpu_args.
type FreeMemoryOfGPUArgs struct {
	_      structs.HostLayout
	Handle uint64
}

// MapMemoryToGPUArgs is kfd_ioctl_map_memory_to_gpu_args and kfd_ioctl_unmap_memory_from_gpu_args.
type MapMemoryToGPUArgs struct {
	_                 structs.HostLayout
	Handle            uint64
	DeviceIDsArrayPtr uint64
	NDevices          uint32
	NSuccess          uint32
}

// AvailableMemoryArgs is kfd_ioctl_get_available_memory_args.
type AvailableMemoryArgs struct {
	_         structs.HostLayout
	Available uint64
	GPUID     uint32
	Pad       uint32
}

// ContextSaveAreaHeader is kfd_context_save_area_header, the start of each die's context save area.
type ContextSaveAreaHeader struct {
	_                  structs.HostLayout
	ControlStackOffset uint32
	ControlStackSize   uint32
	WaveStateOffset    uint32
	WaveStateSize      uint32
	DebugOffset        uint32
	DebugSize          uint32
	ErrPayloadAddr     uint64
	ErrEventID         uint32
	Reserved1          uint32
}

// Queries of DRMInfo.
const (
	InfoTimestamp = 0x05
	InfoDevInfo   = 0x16
)

// DRMInfo is drm_amdgpu_info.
type DRMInfo struct {
	_             structs.HostLayout
	ReturnPointer uint64
	ReturnSize    uint32
	Query         uint32
	Union         [4]uint32
}

// DRMInfoDevice is the start of drm_amdgpu_info_device, as far as rigprof reads it; the kernel copies
// ReturnSize bytes at most.
type DRMInfoDevice struct {
	_                        structs.HostLayout
	DeviceID                 uint32
	ChipRev                  uint32
	ExternalRev              uint32
	PCIRev                   uint32
	Family                   uint32
	NumShaderEngines         uint32
	NumShaderArraysPerEngine uint32
	GPUCounterFreq           uint32 // kHz
	MaxEngineClock           uint64 // kHz
	MaxMemoryClock           uint64 // kHz
	CUActiveNumber           uint32
	CUAOMask                 uint32
	CUBitmap                 [4][4]uint32 // engine s, array a: [s%4][a+2*(s/4)]; gfx90a: [s%4][s/4]
	EnabledRBPipesMask       uint32
	NumRBPipes               uint32
	NumHWGfxContexts         uint32
	PCIeGen                  uint32
	IDsFlags                 uint64
	VirtualAddressOffset     uint64
	VirtualAddressMax        uint64
	VirtualAddressAlignment  uint32
	PTEFragmentSize          uint32
	GARTPageSize             uint32
	CERAMSize                uint32
	VRAMType                 uint32
	VRAMBitWidth             uint32
}

// Operations of DRMCtx, and states of its SET_STABLE_PSTATE.
const (
	CtxAlloc           = 1
	CtxFree            = 2
	CtxGetStablePstate = 5
	CtxSetStablePstate = 6

	PstateNone = 0
	PstatePeak = 4
)

// DRMCtx is union drm_amdgpu_ctx. As an answer of CtxAlloc its first word is the context, of
// CtxGetStablePstate the state.
type DRMCtx struct {
	_        structs.HostLayout
	Op       uint32
	Flags    uint32
	CtxID    uint32
	Priority int32
}
