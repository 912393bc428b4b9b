package launch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rigprof/rigprof/internal/codeobj"
)

// Allocator gives memory that the GPU can read and write and that the caller owns: its GPU address and its bytes, which are 0.
type Allocator interface {
	Alloc(size uint64) (addr uint64, mem []byte, err error)
}

// Uploader is an Allocator that wants to know what is written: write fills n bytes of the memory that it gave at addr.
type Uploader interface {
	Upload(addr uint64, n int, write func() error) error
}

// Env is what a kernel may ask about the place it runs at. Zero where there is no such thing.
type Env struct {
	DescriptorAddr uint64 // where the kernel's descriptor is in GPU memory: load base + Kernel.DescriptorAddr
	QueueAddr      uint64 // the HSA queue structure
	PrivateBase    uint32 // upper halves of the aperture bases
	SharedBase     uint32
	ABI            int // code object version: how hidden arguments are laid out where the metadata lists none
}

// Ready is a launch with its memory.
type Ready struct {
	Kernel *codeobj.Kernel
	Launch *Launch

	Grid     [3]uint32 // work-items
	Block    [3]uint32
	Groups   [3]uint32 // whole and partial workgroups
	Partial  [3]uint32 // work-items of the last workgroup of a partly filled axis, else 0
	LDSBytes uint32    // static and dynamic

	Kernarg     []byte // as it stands in memory at KernargAddr
	KernargAddr uint64 // 0: the kernel has no arguments
	Packet      []byte // the AQL dispatch packet, 64 bytes, at PacketAddr
	PacketAddr  uint64 // 0: the kernel does not ask for it
	Buffers     []*Filled
	Warnings    []string
}

// Filled is a buffer of a launch.
type Filled struct {
	Index int    // position among the kernel's parameters, from 0
	Name  string // in the metadata, else in the launch file; may be empty
	Addr  uint64
	Mem   []byte // its bytes, as the GPU sees them
	Type  Type
	Check *Check

	names [2]string // in the metadata, in the launch file
}

// Label names a buffer in messages.
func (b *Filled) Label() string {
	if b.Name == "" {
		return strconv.Itoa(b.Index)
	}
	return fmt.Sprintf("%d (%s)", b.Index, b.Name)
}

// Shape computes the grid, block and groups of a launch of k, with the defaults where nothing was said.
func (l *Launch) Shape(k *codeobj.Kernel) (*Ready, error) {
	r := &Ready{Kernel: k, Launch: l, Grid: l.Grid, Block: l.Block}
	if r.Block == [3]uint32{} {
		r.Block = k.ReqdBlock
	}
	if r.Block == [3]uint32{} {
		r.Block = [3]uint32{64, 1, 1}
	}
	most := uint64(1024) // the largest workgroup that the hardware takes
	if k.MaxBlock != 0 {
		most = uint64(k.MaxBlock)
	}
	items := uint64(1)
	for i, n := range r.Block {
		if n > 0xffff || n == 0 {
			return nil, errorf("a block of %s: an axis has from 1 to 65535 work-items", dim(r.Block))
		}
		if items *= uint64(n); items > most {
			return nil, errorf("a block of %s is too large: %s takes at most %d work-items", dim(r.Block), k.Name, most)
		}
		if k.ReqdBlock[i] != 0 && k.ReqdBlock[i] != n {
			return nil, errorf("a block of %s: %s was compiled for %s", dim(r.Block), k.Name, dim(k.ReqdBlock))
		}
	}
	for i, n := range l.Groups {
		if n == 0 {
			continue
		}
		items := uint64(n) * uint64(r.Block[i])
		if items > 1<<32-1 {
			return nil, errorf("%d workgroups of %d work-items on one axis: a grid has at most 2^32-1", n, r.Block[i])
		}
		r.Grid[i] = uint32(items)
	}
	if r.Grid == [3]uint32{} {
		r.Grid = r.Block
	}
	all := uint64(1)
	for i, n := range r.Grid {
		if n == 0 {
			return nil, errorf("a grid of %s: an axis has 1 work-item at least", dim(r.Grid))
		}
		high, low := bits.Mul64(all, uint64(n))
		if high != 0 || low > math.MaxInt64 {
			return nil, errorf("a grid of %s: no more than 2^63-1 work-items can be counted", dim(r.Grid))
		}
		all = low
		r.Groups[i] = uint32((uint64(n) + uint64(r.Block[i]) - 1) / uint64(r.Block[i]))
		r.Partial[i] = n % r.Block[i]
	}
	if k.WholeBlocks && r.Partial != [3]uint32{} {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s was compiled for whole workgroups, and a block of %s does not divide the grid of %s", k.Name, dim(r.Block), dim(r.Grid)))
	}
	r.warnServices()
	return r, nil
}

// services are hidden arguments that a runtime backs with code of its own, and what uses them.
var services = map[string]string{
	"hidden_printf_buffer":      "printf",
	"hidden_hostcall_buffer":    "printf, assert or calls of the host",
	"hidden_heap_v1":            "malloc",
	"hidden_default_queue":      "launches of its own",
	"hidden_multigrid_sync_arg": "synchronisation of several grids",
}

// warnServices tells what the kernel must not do. Compilers list a service that they cannot prove unused.
func (r *Ready) warnServices() {
	var uses []string
	for i := range r.Kernel.Args {
		if s := services[r.Kernel.Args[i].Kind]; s != "" {
			uses = append(uses, s)
		}
	}
	if len(uses) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s may use %s, which rigprof does not serve: it would read address 0", r.Kernel.Name, strings.Join(uses, "; ")))
	}
}

func dim(d [3]uint32) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

// Waves is the number of waves that the launch starts.
func (r *Ready) Waves() uint64 {
	lanes := uint64(r.Kernel.Descriptor.WaveSize())
	var n uint64
	// Groups differ only in whether they are the partial last one of each axis: at most 8 kinds.
	for kind := range 8 {
		groups, items := uint64(1), uint64(1)
		for i := range 3 {
			switch {
			case kind>>i&1 == 0 && r.Partial[i] != 0:
				groups *= uint64(r.Groups[i] - 1)
				items *= uint64(r.Block[i])
			case kind>>i&1 == 0:
				groups *= uint64(r.Groups[i])
				items *= uint64(r.Block[i])
			case r.Partial[i] != 0:
				items *= uint64(r.Partial[i])
			default:
				groups = 0
			}
		}
		n += groups * ((items + lanes - 1) / lanes)
	}
	return n
}

// Dims is the number of axes that the grid or the block uses.
func (r *Ready) Dims() int {
	for i := 2; i > 0; i-- {
		if r.Grid[i] > 1 || r.Block[i] > 1 {
			return i + 1
		}
	}
	return 1
}

// Build checks the launch against the kernel, allocates and fills its buffers, and lays out arguments and packet.
func (l *Launch) Build(k *codeobj.Kernel, mem Allocator, env Env) (*Ready, error) {
	if err := l.Bind(k); err != nil {
		return nil, err
	}
	r, err := l.Shape(k)
	if err != nil {
		return nil, err
	}
	if max(k.KernargBytes, k.Descriptor.KernargBytes) > maxKernarg {
		return nil, errorf("%s claims %d bytes of arguments", k.Name, max(k.KernargBytes, k.Descriptor.KernargBytes))
	}
	args := userArgs(k)
	r.Kernarg = make([]byte, max(k.KernargBytes, k.Descriptor.KernargBytes))
	lds := uint64(max(k.GroupBytes, k.Descriptor.GroupBytes))
	var end uint32
	for i := range l.Params {
		p := &l.Params[i]
		off, size := plainOffset(end, p)
		name := ""
		if k.HasMeta {
			off, name = args[i].Offset, args[i].Name
		}
		end = off + size
		if uint64(off)+uint64(size) > uint64(len(r.Kernarg)) {
			return nil, errorf("argument %d of %s ends at byte %d, its arguments have %d", i, k.Name, uint64(off)+uint64(size), len(r.Kernarg))
		}
		at := r.Kernarg[off:]
		switch p.Kind {
		case Scalar:
			p.Type.put(at, p.Value)
		case Address:
			le.PutUint64(at, p.Value)
		case Struct:
			copy(at, p.Raw)
		case LDS:
			if k.HasMeta && args[i].Align > 1 {
				lds = (lds + uint64(args[i].Align) - 1) / uint64(args[i].Align) * uint64(args[i].Align)
			}
			le.PutUint32(at, uint32(lds))
			lds += p.Count
		case Buffer:
			b := &Filled{Index: i, Type: p.Type, Check: p.Check, names: [2]string{name, p.Name}}
			if b.Name = name; b.Name == "" {
				b.Name = p.Name
			}
			if b.Addr, b.Mem, err = mem.Alloc(p.Size()); err != nil {
				return nil, fmt.Errorf("launch: buffer %s of %d bytes: %w", b.Label(), p.Size(), err)
			}
			b.Mem = b.Mem[:p.Size()]
			if !p.Fill.zero() { // pages that nothing writes cost nothing
				if err := upload(mem, b.Addr, len(b.Mem), func() error { return p.Fill.Write(b.Mem, p.Type) }); err != nil {
					return nil, err
				}
			}
			le.PutUint64(at, b.Addr)
			r.Buffers = append(r.Buffers, b)
		}
	}
	if lds > 1<<32-1 {
		return nil, errorf("%d bytes of LDS", lds)
	}
	r.LDSBytes = uint32(lds)
	r.hidden(env, lds-uint64(max(k.GroupBytes, k.Descriptor.GroupBytes)))
	if len(r.Kernarg) > 0 {
		// 64: the arguments of kernels may be aligned to a cache line, and scalar loads reach whole dwords.
		addr, b, err := mem.Alloc(uint64(len(r.Kernarg)+63) &^ 63)
		if err != nil {
			return nil, fmt.Errorf("launch: kernel arguments: %w", err)
		}
		if err := upload(mem, addr, len(r.Kernarg), func() error { copy(b, r.Kernarg); return nil }); err != nil {
			return nil, err
		}
		r.KernargAddr, r.Kernarg = addr, b[:len(r.Kernarg)]
	}
	r.Packet = r.packet(env)
	if k.Descriptor.Properties&codeobj.PropDispatchPtr != 0 {
		addr, b, err := mem.Alloc(uint64(len(r.Packet)))
		if err != nil {
			return nil, fmt.Errorf("launch: dispatch packet: %w", err)
		}
		if err := upload(mem, addr, len(r.Packet), func() error { copy(b, r.Packet); return nil }); err != nil {
			return nil, err
		}
		r.PacketAddr = addr
	}
	return r, nil
}

// upload writes n bytes of memory that the allocator gave at addr.
func upload(mem Allocator, addr uint64, n int, write func() error) error {
	if u, ok := mem.(Uploader); ok {
		return u.Upload(addr, n, write)
	}
	return write()
}

// maxKernarg bounds what a descriptor may claim. Compilers stay within 4 KiB and the hidden arguments.
const maxKernarg = 1 << 20

// hidden writes the hidden arguments: those that the metadata lists, and where the kernel reads the whole area of version
// 5 and later without listing them, the ones that always have a meaning.
func (r *Ready) hidden(env Env, dynamicLDS uint64) {
	k := r.Kernel
	var explicit uint32
	listed := false
	for i := range k.Args {
		if k.Args[i].Hidden() {
			listed = true
		} else {
			explicit = max(explicit, k.Args[i].Offset+k.Args[i].Size)
		}
	}
	for i := range k.Args {
		a := &k.Args[i]
		if a.Hidden() && uint64(a.Offset)+uint64(a.Size) <= uint64(len(r.Kernarg)) {
			putSized(r.Kernarg[a.Offset:a.Offset+a.Size], r.hiddenValue(a.Kind, env, dynamicLDS))
		}
	}
	if listed || !k.HasMeta || env.ABI < 5 {
		return
	}
	start := uint64(explicit+7) &^ 7
	if start+256 > uint64(len(r.Kernarg)) {
		return
	}
	area := r.Kernarg[start:]
	for _, h := range hiddenArea {
		putSized(area[h.off:h.off+h.size], r.hiddenValue(h.kind, env, dynamicLDS))
	}
}

// hiddenArea is the layout of the hidden arguments of code objects 5 and 6, from the first multiple of 8 after the others
// (AMDGPUUsage, "Code Object V5 Metadata"). What stays 0 is left out.
var hiddenArea = []struct {
	kind      string
	off, size uint32
}{
	{"hidden_block_count_x", 0, 4},
	{"hidden_block_count_y", 4, 4},
	{"hidden_block_count_z", 8, 4},
	{"hidden_group_size_x", 12, 2},
	{"hidden_group_size_y", 14, 2},
	{"hidden_group_size_z", 16, 2},
	{"hidden_remainder_x", 18, 2},
	{"hidden_remainder_y", 20, 2},
	{"hidden_remainder_z", 22, 2},
	{"hidden_grid_dims", 64, 2},
	{"hidden_dynamic_lds_size", 120, 4},
	{"hidden_private_base", 192, 4},
	{"hidden_shared_base", 196, 4},
	{"hidden_queue_ptr", 200, 8},
}

// hiddenValue is what a hidden argument holds. Services that rigprof does not give (printf, host calls, device-side
// enqueue, a heap) are null.
func (r *Ready) hiddenValue(kind string, env Env, dynamicLDS uint64) uint64 {
	axis := 0
	if n := len(kind); n > 2 && kind[n-2] == '_' && kind[n-1] >= 'x' && kind[n-1] <= 'z' {
		axis = int(kind[n-1] - 'x')
		kind = kind[:n-2]
	}
	switch kind {
	case "hidden_block_count": // whole workgroups
		return uint64(r.Grid[axis] / r.Block[axis])
	case "hidden_group_size":
		return uint64(r.Block[axis])
	case "hidden_remainder":
		return uint64(r.Partial[axis])
	case "hidden_grid_dims":
		return uint64(r.Dims())
	case "hidden_dynamic_lds_size":
		return dynamicLDS
	case "hidden_private_base":
		return uint64(env.PrivateBase)
	case "hidden_shared_base":
		return uint64(env.SharedBase)
	case "hidden_queue_ptr":
		return env.QueueAddr
	}
	return 0
}

// putSized writes as many low bytes of v as b has; what is beyond 8 is zero.
func putSized(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v)
		v >>= 8
	}
}

// packet is the AQL kernel dispatch packet of the launch (HSA system architecture, "Kernel dispatch packet").
func (r *Ready) packet(env Env) []byte {
	const (
		kernelDispatch = 2
		barrier        = 1 << 8
		acquireSystem  = 2 << 9
		releaseSystem  = 2 << 11
	)
	p := make([]byte, 0, 64)
	p = binary.LittleEndian.AppendUint16(p, kernelDispatch|barrier|acquireSystem|releaseSystem)
	p = binary.LittleEndian.AppendUint16(p, uint16(r.Dims()))
	for _, n := range r.Block {
		p = binary.LittleEndian.AppendUint16(p, uint16(n))
	}
	p = binary.LittleEndian.AppendUint16(p, 0)
	for _, n := range r.Grid {
		p = binary.LittleEndian.AppendUint32(p, n)
	}
	p = binary.LittleEndian.AppendUint32(p, max(r.Kernel.PrivateBytes, r.Kernel.Descriptor.PrivateBytes))
	p = binary.LittleEndian.AppendUint32(p, r.LDSBytes)
	p = binary.LittleEndian.AppendUint64(p, env.DescriptorAddr)
	p = binary.LittleEndian.AppendUint64(p, r.KernargAddr)
	p = binary.LittleEndian.AppendUint64(p, 0) // reserved
	return binary.LittleEndian.AppendUint64(p, 0)
}

// Verify checks every buffer that has a check.
func (r *Ready) Verify() []Failure {
	var out []Failure
	for _, b := range r.Buffers {
		if b.Check == nil {
			continue
		}
		if lines := b.Check.verify(b.Mem, b.Type); len(lines) > 0 {
			out = append(out, Failure{Buffer: b, Lines: lines})
		}
	}
	return out
}

// Checks is the number of buffers that Verify looks at.
func (r *Ready) Checks() int {
	n := 0
	for _, b := range r.Buffers {
		if b.Check != nil {
			n++
		}
	}
	return n
}

// Buffer finds a buffer by its position or its name.
func (r *Ready) Buffer(ref string) (*Filled, error) {
	if n, err := strconv.Atoi(ref); err == nil {
		for _, b := range r.Buffers {
			if b.Index == n {
				return b, nil
			}
		}
	} else {
		for _, side := range []int{0, 1} {
			for _, b := range r.Buffers {
				if ref != "" && b.names[side] == ref {
					return b, nil
				}
			}
		}
	}
	e := &Error{Msg: fmt.Sprintf("%s has no buffer %q", r.Kernel.Name, ref), Detail: []string{Signature(r.Kernel)}}
	for _, b := range r.Buffers {
		e.Detail = append(e.Detail, fmt.Sprintf("buffer %s: %d bytes", b.Label(), len(b.Mem)))
	}
	return nil, e
}

// Save is one --save: a buffer, by position or name, and the file it goes to.
type Save struct{ Ref, Path string }

// ParseSave reads N=FILE.
func ParseSave(s string) (Save, error) {
	ref, path, ok := strings.Cut(s, "=")
	if !ok || ref == "" || path == "" {
		return Save{}, errorf("--save %s is not N=FILE (N: the argument's position from 0, or its name)", s)
	}
	// A folder that is missing should not be found out after a long launch.
	if fi, err := os.Stat(filepath.Dir(path)); err != nil {
		return Save{}, errorf("--save %s: %v", s, err)
	} else if !fi.IsDir() {
		return Save{}, errorf("--save %s: %s is no folder", s, filepath.Dir(path))
	}
	return Save{ref, path}, nil
}

// Save writes a buffer to a file.
func (r *Ready) Save(s Save) error {
	b, err := r.Buffer(s.Ref)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.Path, b.Mem, 0o666); err != nil {
		return fmt.Errorf("launch: save buffer %s: %w", b.Label(), err)
	}
	return nil
}
