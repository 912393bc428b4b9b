package sim

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rigprof/rigprof/internal/codeobj"
	"github.com/rigprof/rigprof/internal/device/kfd/abi"
	"github.com/rigprof/rigprof/internal/device/sim/cp"
	"github.com/rigprof/rigprof/internal/launch"
	"github.com/rigprof/rigprof/internal/pm4"
)

// arena hands out pieces of one allocation.
type arena struct {
	va   uint64
	mem  []byte
	used uint64
}

func (a *arena) Alloc(size uint64) (uint64, []byte, error) {
	at := a.used
	a.used += roundUp(size, 256)
	return a.va + at, a.mem[at:][:size:size], nil
}

// A dispatch packet in an AQL queue runs a kernel, as the queues of other programs' runtimes do: on one die and on eight.
func TestAQLQueue(t *testing.T) {
	for _, target := range []string{"gfx1100", "gfx90a", "gfx942"} {
		t.Run(target, func(t *testing.T) { testAQLQueue(t, target) })
	}
}

func testAQLQueue(t *testing.T, target string) {
	const kernels = "../../../testdata/kernels"
	c := newClient(t, testKernel(t, target))
	c.acquire()
	const rw = abi.AllocGTT | abi.AllocWritable | abi.AllocExecutable
	props := c.k.files[nodesDir+"/1/properties"]
	ctx, ctl, dies := property(props, "cwsr_size"), property(props, "ctl_stack_size"), property(props, "num_xcc")
	const ring, queue, eop, save, data = 0x10000000, 0x20000000, 0x30000000, 0x40000000, 0x1_0000_0000
	c.memory(ring, pageBytes, rw)
	c.memory(queue, pageBytes, rw)
	c.memory(eop, pageBytes, rw)
	c.memory(save, (ctx+0x20000)*dies, rw)
	c.memory(data, 8<<20, rw)
	p := c.k.file(c.kfd).process
	mem, _ := p.Map(data, true)
	heap := &arena{va: data, mem: mem}

	ls, err := launch.ReadFile(filepath.Join(kernels, "launches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(kernels, target, "vadd.co"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := codeobj.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := o.Span()
	heap.used = roundUp(heap.used, pageBytes)
	code, image, _ := heap.Alloc(hi - lo)
	base := code - lo
	if err := o.LoadInto(image, base); err != nil {
		t.Fatal(err)
	}
	var l *launch.Launch
	for i := range ls {
		if ls[i].Name == "vadd" {
			l = &ls[i]
		}
	}
	var k *codeobj.Kernel
	for i := range o.Kernels {
		if o.Kernels[i].Name == l.Kernel {
			k = &o.Kernels[i]
		}
	}
	ready, err := l.Build(k, heap, launch.Env{DescriptorAddr: base + k.DescriptorAddr, ABI: o.Version})
	if err != nil {
		t.Fatal(err)
	}
	signal, sig, _ := heap.Alloc(64)
	binary.LittleEndian.PutUint64(sig[8:], 1)

	a := abi.CreateQueueArgs{
		RingBaseAddress: ring, RingSize: pageBytes, WritePointerAddress: queue + cp.QueueWriteIndex, ReadPointerAddress: queue + 128,
		GPUID: c.id, QueueType: abi.QueueTypeComputeAQL, QueuePercentage: 100, QueuePriority: 7, EOPBufferAddress: eop, EOPBufferSize: 4096,
		CtxSaveRestoreAddress: save, CtxSaveRestoreSize: uint32(ctx), CtlStackSize: uint32(ctl),
	}
	c.want(c.do(abi.CreateQueue, unsafe.Pointer(&a)), nil, "queue")
	bells, err := c.k.Mmap(0, doorbellBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, c.kfd, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.k.Munmap(bells, doorbellBytes)
	packet := pm4.AQLDispatch{
		Header: pm4.AQLHeader(pm4.AQLKernelDispatch, true, pm4.FenceSystem, pm4.FenceSystem), Dimensions: 3, Grid: ready.Grid,
		LDSBytes: ready.LDSBytes, PrivateBytes: k.Descriptor.PrivateBytes, KernelObject: base + k.DescriptorAddr,
		KernargAddress: ready.KernargAddr, CompletionSignal: signal,
	}
	for i, b := range ready.Block {
		packet.Workgroup[i] = uint16(b)
	}
	at, _ := p.Map(ring, true)
	copy(at, packet.AppendTo(nil))
	atomic.StoreUint64(p.word(queue+cp.QueueWriteIndex), 1)
	c.ring(bells, a.DoorbellOffset, 0)
	c.until(func() bool {
		return atomic.LoadUint64((*uint64)(unsafe.Pointer(&sig[8]))) == 0 || c.k.Explain(c.kfd) != ""
	})
	if why := c.k.Explain(c.kfd); why != "" {
		t.Fatal(why)
	}
	for _, f := range ready.Verify() {
		t.Error(f)
	}
	c.until(func() bool { return atomic.LoadUint64(p.word(queue+128)) == 1 })
	if pm4.AQLType(at[0]) != pm4.AQLInvalid {
		t.Error("the packet's place was not given back")
	}
}
