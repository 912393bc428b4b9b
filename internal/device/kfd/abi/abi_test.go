package abi

import (
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rigprof/rigprof/internal/sharedtest"
)

var byCName = map[string]reflect.Type{
	"kfd_ioctl_get_version_args":               reflect.TypeFor[GetVersionArgs](),
	"kfd_ioctl_create_queue_args":              reflect.TypeFor[CreateQueueArgs](),
	"kfd_ioctl_destroy_queue_args":             reflect.TypeFor[DestroyQueueArgs](),
	"kfd_ioctl_get_clock_counters_args":        reflect.TypeFor[GetClockCountersArgs](),
	"kfd_process_device_apertures":             reflect.TypeFor[ProcessDeviceApertures](),
	"kfd_ioctl_get_process_apertures_new_args": reflect.TypeFor[GetProcessAperturesNewArgs](),
	"kfd_ioctl_create_event_args":              reflect.TypeFor[CreateEventArgs](),
	"kfd_ioctl_set_event_args":                 reflect.TypeFor[EventArgs](),
	"kfd_memory_exception_failure":             reflect.TypeFor[MemoryExceptionFailure](),
	"kfd_hsa_memory_exception_data":            reflect.TypeFor[HSAMemoryExceptionData](),
	"kfd_hsa_hw_exception_data":                reflect.TypeFor[HSAHWExceptionData](),
	"kfd_event_data":                           reflect.TypeFor[EventData](),
	"kfd_ioctl_wait_events_args":               reflect.TypeFor[WaitEventsArgs](),
	"kfd_ioctl_set_trap_handler_args":          reflect.TypeFor[SetTrapHandlerArgs](),
	"kfd_ioctl_acquire_vm_args":                reflect.TypeFor[AcquireVMArgs](),
	"kfd_ioctl_alloc_memory_of_gpu_args":       reflect.TypeFor[AllocMemoryOfGPUArgs](),
	"kfd_ioctl_free_memory_of_gpu_args":        reflect.TypeFor[FreeMemoryOfGPUArgs](),
	"kfd_ioctl_map_memory_to_gpu_args":         reflect.TypeFor[MapMemoryToGPUArgs](),
	"kfd_ioctl_get_available_memory_args":      reflect.TypeFor[AvailableMemoryArgs](),
	"kfd_context_save_area_header":             reflect.TypeFor[ContextSaveAreaHeader](),
	"drm_amdgpu_info":                          reflect.TypeFor[DRMInfo](),
	"drm_amdgpu_info_device":                   reflect.TypeFor[DRMInfoDevice](),
	"drm_amdgpu_ctx":                           reflect.TypeFor[DRMCtx](),
}

// plain makes a C member's name and a Go field's comparable.
func plain(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

func rows(t *testing.T, path string) [][]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, "#") {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	return out[1:]
}

func number(t *testing.T, s string) uintptr {
	t.Helper()
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(n)
}

func checkMember(t *testing.T, c, member string, off, size uintptr) {
	t.Helper()
	typ := byCName[c]
	want := plain(member)
	for f := range typ.Fields() {
		if plain(f.Name) != want {
			continue
		}
		if f.Offset != off || f.Type.Size() != size {
			t.Errorf("%s.%s: offset %d size %d, want %d and %d", c, member, f.Offset, f.Type.Size(), off, size)
		}
		return
	}
	t.Errorf("%s has no member %s", c, member)
}

func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows(t, "tables/layout.tsv") {
		c, member, off, size := r[0], r[1], number(t, r[2]), number(t, r[3])
		typ, ok := byCName[c]
		if !ok {
			t.Fatalf("%s is in the table but not in the package", c)
		}
		seen[c] = true
		if member == "" {
			if typ.Size() != size {
				t.Errorf("%s is %d bytes, want %d", c, typ.Size(), size)
			}
			continue
		}
		checkMember(t, c, member, off, size)
	}
	for c := range byCName {
		if !seen[c] {
			t.Errorf("%s is not in the table", c)
		}
	}
}

// The table is a cut of the reference data: they must agree where both speak.
func TestLayoutShared(t *testing.T) {
	for _, r := range rows(t, sharedtest.Path(t, "hw", "ioctl_fields.tsv")) {
		if _, ok := byCName[r[1]]; ok && r[2] != "wave_state" {
			checkMember(t, r[1], r[2], number(t, r[3]), number(t, r[4]))
		}
	}
}

func TestRequests(t *testing.T) {
	reqs := map[string]uintptr{
		"AMDKFD_IOC_GET_VERSION": GetVersion, "AMDKFD_IOC_CREATE_QUEUE": CreateQueue,
		"AMDKFD_IOC_DESTROY_QUEUE": DestroyQueue, "AMDKFD_IOC_GET_CLOCK_COUNTERS": GetClockCounters,
		"AMDKFD_IOC_CREATE_EVENT": CreateEvent, "AMDKFD_IOC_DESTROY_EVENT": DestroyEvent,
		"AMDKFD_IOC_SET_EVENT": SetEvent, "AMDKFD_IOC_RESET_EVENT": ResetEvent, "AMDKFD_IOC_WAIT_EVENTS": WaitEvents,
		"AMDKFD_IOC_GET_PROCESS_APERTURES_NEW": GetProcessAperturesNew, "AMDKFD_IOC_ACQUIRE_VM": AcquireVM,
		"AMDKFD_IOC_ALLOC_MEMORY_OF_GPU": AllocMemoryOfGPU, "AMDKFD_IOC_FREE_MEMORY_OF_GPU": FreeMemoryOfGPU,
		"AMDKFD_IOC_MAP_MEMORY_TO_GPU": MapMemoryToGPU, "AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU": UnmapMemoryFromGPU,
		"AMDKFD_IOC_SET_XNACK_MODE": SetXnackMode, "AMDKFD_IOC_AVAILABLE_MEMORY": AvailableMemory,
		"AMDKFD_IOC_RUNTIME_ENABLE": RuntimeEnable, "AMDKFD_IOC_SET_TRAP_HANDLER": SetTrapHandler,
	}
	n := 0
	for _, r := range rows(t, sharedtest.Path(t, "hw", "ioctls.tsv")) {
		if want, ok := reqs[r[1]]; ok {
			n++
			if got := number(t, r[4]); got != want {
				t.Errorf("%s is %#x, want %#x", r[1], want, got)
			}
		}
	}
	if n != len(reqs) {
		t.Errorf("%d of %d requests are in the reference table", n, len(reqs))
	}
}
