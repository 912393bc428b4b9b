package launch

import (
	"encoding/hex"
	"math"
	"os"
	"strconv"
	"strings"
)

// ParamKind says what a parameter is.
type ParamKind uint8

// The kinds.
const (
	Scalar  ParamKind = iota
	Buffer            // memory that the launch allocates; the kernel gets its address
	LDS               // dynamic LDS; the kernel gets its offset
	Address           // an address as it stands
	Struct            // bytes passed by value
)

// Param is what the user gives for one parameter of a kernel.
type Param struct {
	Name  string // in a launch file; else empty
	Kind  ParamKind
	Type  Type   // of a scalar or of a buffer's elements
	Value uint64 // bits of a scalar, or an address
	Count uint64 // elements of a buffer, bytes of LDS
	Fill  Fill
	Raw   []byte // of a Struct
	Check *Check // nil: not checked
	Spec  string // as the user wrote it
}

// Size is the size of a buffer or of dynamic LDS in bytes.
func (p *Param) Size() uint64 { return p.Count * uint64(p.Type.Size()) }

// argSize is the size of what the kernel gets.
func (p *Param) argSize() uint32 {
	switch p.Kind {
	case Scalar:
		return uint32(p.Type.Size())
	case Struct:
		return uint32(len(p.Raw))
	case LDS:
		return 4
	}
	return 8
}

// ParseArg reads one --arg; the package comment lists the forms.
func ParseArg(s string) (Param, error) {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" {
		return Param{}, &Error{Msg: "--arg " + s + " is not TYPE:VALUE or buf:…", Detail: []string{"such as i32:5, f32:2.5, buf:4096, buf:f32[1024]=iota"}}
	}
	p := Param{Spec: s}
	var err error
	switch kind {
	case "buf":
		err = p.parseBuffer(rest)
	case "lds":
		p.Kind = LDS
		p.Count, err = ParseSize(rest)
		if err == nil && p.Count > math.MaxUint32 {
			err = errorf("--arg %s: LDS is smaller than 4G", s)
		}
	case "ptr":
		p.Kind = Address
		p.Value, err = strconv.ParseUint(rest, 0, 64)
		if err != nil {
			err = errorf("--arg %s: %q is no address", s, rest)
		}
	case "bytes":
		p.Kind = Struct
		p.Raw, err = hex.DecodeString(strings.TrimPrefix(rest, "0x"))
		if err != nil {
			err = errorf("--arg %s: %v", s, err)
		}
	default:
		if p.Type, err = ParseType(kind); err == nil {
			p.Value, err = p.Type.ParseValue(rest)
		}
	}
	return p, err
}

// parseBuffer reads what stands after "buf:": SIZE, TYPE[COUNT] or TYPE, then =FILL or nothing.
func (p *Param) parseBuffer(s string) error {
	p.Kind = Buffer
	shape, fill, filled := strings.Cut(s, "=")
	if strings.HasPrefix(s, "@") {
		shape, fill, filled = "", s, true
	}
	name, count, typed := strings.Cut(shape, "[")
	var err error
	fromFile := false
	switch {
	case typed:
		if p.Type, err = ParseType(name); err != nil {
			return err
		}
		count, closed := strings.CutSuffix(count, "]")
		if !closed {
			return errorf("--arg buf:%s: no ] after the count", s)
		}
		if p.Count, err = ParseSize(count); err != nil {
			return err
		}
	case shape == "":
		fromFile = true
	case shape[0] >= '0' && shape[0] <= '9':
		if p.Count, err = ParseSize(shape); err != nil {
			return err
		}
	default:
		if p.Type, err = ParseType(shape); err != nil {
			return err
		}
		fromFile = true
	}
	if fromFile && !strings.HasPrefix(fill, "@") {
		return errorf("--arg buf:%s: how many elements? buf:TYPE[COUNT], or =@FILE to take the file's size", s)
	}
	if p.Count > maxBuffer/uint64(p.Type.Size()) || p.Count == 0 && !fromFile {
		return errorf("--arg buf:%s: a buffer has from 1 byte to 2^47", s)
	}
	if filled {
		if err := p.parseFill(fill); err != nil {
			return err
		}
	}
	if fromFile {
		fi, err := os.Stat(p.Fill.Path)
		if err != nil {
			return errorf("--arg buf:%s: %v", s, err)
		}
		p.Count = uint64(fi.Size()) / uint64(p.Type.Size())
		if p.Count == 0 || uint64(fi.Size())%uint64(p.Type.Size()) != 0 {
			return errorf("--arg buf:%s: the file's %d bytes are no whole number of %s", s, fi.Size(), p.Type)
		}
	}
	return p.Fill.valid(p.Type, p.Count)
}

func (p *Param) parseFill(s string) (err error) {
	if path, ok := strings.CutPrefix(s, "@"); ok {
		p.Fill = Fill{Kind: FillFile, Path: path}
		return nil
	}
	kind, value, hasValue := strings.Cut(s, ":")
	switch {
	case kind == "iota" && !hasValue:
		p.Fill.Kind = FillIota
	case kind == "zero" && !hasValue:
	case kind == "rand":
		p.Fill.Kind = FillRand
		if hasValue {
			if p.Fill.Seed, err = strconv.ParseUint(value, 0, 64); err != nil {
				return errorf("fill %s: %q is no seed", s, value)
			}
		}
	case kind == "const" && hasValue:
		p.Fill.Kind = FillConst
		p.Fill.Value, err = p.Type.ParseValue(value)
	default:
		return errorf("%q is no fill: iota, rand:SEED, const:VALUE, zero and @FILE are", s)
	}
	return err
}

// ParseDim reads X[,Y[,Z]]; what is left out is 1.
func ParseDim(s string) (d [3]uint32, err error) {
	d = [3]uint32{1, 1, 1}
	parts := strings.Split(s, ",")
	if len(parts) > 3 {
		return d, errorf("%q has more than three dimensions", s)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(strings.TrimSpace(p), 0, 32)
		if err != nil || n == 0 {
			return d, errorf("%q is not X[,Y[,Z]] of numbers from 1 to 2^32-1", s)
		}
		d[i] = uint32(n)
	}
	return d, nil
}
