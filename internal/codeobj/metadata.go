package codeobj

import (
	"strings"
)

// Arg is one argument of a kernel as its metadata describes it.
type Arg struct {
	Name     string // empty unless compiled with names
	TypeName string // "float*"; empty in HIP objects
	Offset   uint32 // bytes from the start of the kernel arguments
	Size     uint32
	Kind     string // value_kind: "by_value", "global_buffer", "hidden_block_count_x", …
	Space    string // address_space of pointers: "global", "local", …
	Access   string // "read_only", "write_only", "read_write": what the kernel does (actual_access), else what it declares
	Align    uint32 // pointee_align of dynamic LDS pointers
	Const    bool
}

// Hidden tells whether the loader fills the argument in, not the user.
func (a *Arg) Hidden() bool { return strings.HasPrefix(a.Kind, "hidden_") }

// Pointer tells whether the argument is an address of GPU memory.
func (a *Arg) Pointer() bool { return a.Kind == "global_buffer" }

// Meta is what the metadata says about one kernel. Sizes are in bytes.
type Meta struct {
	Name     string
	Symbol   string // of the descriptor: "vadd.kd"
	Language string
	Kind     string // "normal", "init", "fini"; empty: normal
	Args     []Arg

	KernargBytes uint32
	KernargAlign uint32
	GroupBytes   uint32
	PrivateBytes uint32
	WaveSize     uint32
	SGPRs        uint32
	VGPRs        uint32
	AGPRs        uint32
	SGPRSpills   uint32
	VGPRSpills   uint32
	MaxBlock     uint32    // work-items of a workgroup at most
	ReqdBlock    [3]uint32 // 0: any
	DynamicStack bool
	WholeBlocks  bool // compiled for grids that their blocks divide (uniform_work_group_size)
}

// metadata is the AMDGPU note's content.
type metadata struct {
	version [2]uint32 // amdhsa.version: 1.0 is v3, 1.1 v4, 1.2 v5 and v6
	target  string
	kernels []Meta
	printf  []string
}

// readMetadata reads the note's MessagePack map. Unknown keys are passed over.
func readMetadata(desc []byte) (*metadata, error) {
	m := &metadata{}
	r := &reader{buf: desc}
	err := r.fields(func(key string) (err error) {
		switch key {
		case "amdhsa.version":
			i := 0
			return r.array(func() error {
				v, err := r.uint()
				if i < len(m.version) {
					m.version[i] = v
				}
				i++
				return err
			})
		case "amdhsa.target":
			m.target, err = r.str()
			return err
		case "amdhsa.printf":
			return r.array(func() error {
				s, err := r.str()
				m.printf = append(m.printf, s)
				return err
			})
		case "amdhsa.kernels":
			return r.array(func() error {
				k, err := readKernel(r)
				m.kernels = append(m.kernels, k)
				return err
			})
		}
		return errSkip
	})
	if err != nil {
		return nil, badAt(int64(r.off), "metadata", "%w", err)
	}
	return m, nil
}

func readKernel(r *reader) (k Meta, err error) {
	strs := map[string]*string{".name": &k.Name, ".symbol": &k.Symbol, ".language": &k.Language, ".kind": &k.Kind}
	nums := map[string]*uint32{
		".kernarg_segment_size": &k.KernargBytes, ".kernarg_segment_align": &k.KernargAlign,
		".group_segment_fixed_size": &k.GroupBytes, ".private_segment_fixed_size": &k.PrivateBytes,
		".wavefront_size": &k.WaveSize, ".sgpr_count": &k.SGPRs, ".vgpr_count": &k.VGPRs, ".agpr_count": &k.AGPRs,
		".sgpr_spill_count": &k.SGPRSpills, ".vgpr_spill_count": &k.VGPRSpills, ".max_flat_workgroup_size": &k.MaxBlock,
	}
	err = r.fields(func(key string) (err error) {
		if p := strs[key]; p != nil {
			*p, err = r.str()
			return err
		}
		if p := nums[key]; p != nil {
			*p, err = r.uint()
			return err
		}
		switch key {
		case ".args":
			return r.array(func() error {
				a, err := readArg(r)
				k.Args = append(k.Args, a)
				return err
			})
		case ".reqd_workgroup_size":
			i := 0
			return r.array(func() error {
				v, err := r.uint()
				if i < 3 {
					k.ReqdBlock[i] = v
				}
				i++
				return err
			})
		case ".uses_dynamic_stack":
			k.DynamicStack, err = r.bool()
			return err
		case ".uniform_work_group_size":
			k.WholeBlocks, err = r.bool()
			return err
		}
		return errSkip
	})
	return k, err
}

func readArg(r *reader) (a Arg, err error) {
	var declared string
	strs := map[string]*string{
		".name": &a.Name, ".type_name": &a.TypeName, ".value_kind": &a.Kind, ".address_space": &a.Space,
		".actual_access": &a.Access, ".access": &declared,
	}
	nums := map[string]*uint32{".offset": &a.Offset, ".size": &a.Size, ".pointee_align": &a.Align}
	err = r.fields(func(key string) (err error) {
		if p := strs[key]; p != nil {
			*p, err = r.str()
			return err
		}
		if p := nums[key]; p != nil {
			*p, err = r.uint()
			return err
		}
		if key == ".is_const" {
			a.Const, err = r.bool()
			return err
		}
		return errSkip
	})
	if a.Access == "" {
		a.Access = declared
	}
	return a, err
}
