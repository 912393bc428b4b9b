package launch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// FillKind says how a buffer starts.
type FillKind uint8

// The kinds. The words are those of launch files; see the package comment for r and h.
const (
	FillZero    FillKind = iota
	FillConst            // value
	FillIota             // i
	FillRand             // the type's random values
	FillGrid             // (lo + h(i) mod n) * scale, exact in the type
	FillBits             // h(i)
	FillMod              // h(i) mod n
	FillChoose           // values[h(i) mod their number]
	FillOffsets          // sum of h(j) mod n over j < i
	FillCycle            // one cycle through all elements
	FillFile             // a file's bytes
)

var fillNames = [...]string{
	FillZero: "zero", FillConst: "const", FillIota: "iota", FillRand: "rand", FillGrid: "grid", FillBits: "bits", FillMod: "mod",
	FillChoose: "choose", FillOffsets: "offsets", FillCycle: "cycle", FillFile: "file",
}

func (k FillKind) String() string { return fillNames[k] }

// Fill is the starting content of a buffer.
type Fill struct {
	Kind   FillKind
	Seed   uint64
	Value  uint64 // FillConst: bits of the type
	Lo     int64
	N      uint64
	Scale  float64
	Values []uint64 // bits of the type
	Path   string
}

// word is r(i) of a seed.
func word(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func high(seed, i uint64) uint64 { return word(seed, i) >> 32 }

// valid checks the parts that a fill of the type needs.
func (f *Fill) valid(t Type, count uint64) error {
	switch f.Kind {
	case FillGrid, FillMod, FillOffsets:
		if f.N == 0 {
			return errorf("fill %s needs n above 0", f.Kind)
		}
	case FillChoose:
		if len(f.Values) == 0 {
			return errorf("fill choose needs values")
		}
	case FillCycle:
		if t.Float() || t.Size() < 8 && count > 1<<(8*t.Size()) {
			return errorf("fill cycle: %d indices do not fit %s", count, t)
		}
	}
	if f.Kind == FillGrid && !t.Float() && f.Scale != math.Trunc(f.Scale) {
		return errorf("fill grid: scale %g gives no integers for %s", f.Scale, t)
	}
	return nil
}

// zero says that every byte will be 0.
func (f *Fill) zero() bool { return f.Kind == FillZero || f.Kind == FillConst && f.Value == 0 }

// Write fills mem, whose size is a multiple of the type's, and which may hold anything before.
func (f *Fill) Write(mem []byte, t Type) error {
	size := t.Size()
	count := uint64(len(mem) / size)
	if err := f.valid(t, count); err != nil {
		return err
	}
	switch f.Kind {
	case FillZero:
		clear(mem)
		return nil
	case FillFile:
		return f.read(mem)
	case FillCycle:
		f.cycle(mem, t, count)
		return nil
	}
	each(mem, size, f.element(t))
	return nil
}

// element gives the bits of element i; it is called for 0, 1, … in turn.
func (f *Fill) element(t Type) func(i uint64) uint64 {
	seed, n := f.Seed, f.N
	switch f.Kind {
	case FillConst:
		return func(uint64) uint64 { return f.Value }
	case FillIota:
		return t.fromInt
	case FillRand:
		switch t {
		case F32:
			return func(i uint64) uint64 { return uint64(math.Float32bits(float32(word(seed, i)>>40) * 0x1p-24)) }
		case F64:
			return func(i uint64) uint64 { return math.Float64bits(float64(word(seed, i)>>11) * 0x1p-53) }
		case F16:
			return func(i uint64) uint64 { return t.fromFloat(float64(word(seed, i)>>53) * 0x1p-11) }
		case BF16:
			return func(i uint64) uint64 { return t.fromFloat(float64(word(seed, i)>>56) * 0x1p-8) }
		case I64, U64:
			return func(i uint64) uint64 { return word(seed, i) }
		}
		return func(i uint64) uint64 { return high(seed, i) }
	case FillGrid:
		return func(i uint64) uint64 { return t.fromFloat(float64(f.Lo+int64(high(seed, i)%n)) * f.Scale) }
	case FillBits:
		return func(i uint64) uint64 { return t.fromInt(high(seed, i)) }
	case FillMod:
		return func(i uint64) uint64 { return t.fromInt(high(seed, i) % n) }
	case FillChoose:
		return func(i uint64) uint64 { return f.Values[high(seed, i)%uint64(len(f.Values))] }
	}
	var sum uint64 // FillOffsets
	return func(i uint64) uint64 {
		v := t.fromInt(sum)
		sum += high(seed, i) % n
		return v
	}
}

// each writes elements of a size; the bits beyond it are dropped.
func each(mem []byte, size int, value func(uint64) uint64) {
	i := uint64(0)
	switch size {
	case 1:
		for at := range mem {
			mem[at] = byte(value(i))
			i++
		}
	case 2:
		for ; len(mem) >= 2; mem = mem[2:] {
			le.PutUint16(mem, uint16(value(i)))
			i++
		}
	case 4:
		for ; len(mem) >= 4; mem = mem[4:] {
			le.PutUint32(mem, uint32(value(i)))
			i++
		}
	default:
		for ; len(mem) >= 8; mem = mem[8:] {
			le.PutUint64(mem, value(i))
			i++
		}
	}
}

// cycle writes a permutation that is one cycle (Sattolo's shuffle): p = 0, 1, …; for i from count-1 down to 1 swap p[i]
// with p[h(count-1-i) mod i].
func (f *Fill) cycle(mem []byte, t Type, count uint64) {
	size := uint64(t.Size())
	for i := range count {
		t.put(mem[i*size:], i)
	}
	for i := count; i > 1; {
		i--
		j := high(f.Seed, count-1-i) % i
		a, b := mem[i*size:], mem[j*size:]
		x, y := t.get(a), t.get(b)
		t.put(a, y)
		t.put(b, x)
	}
}

func (f *Fill) read(mem []byte) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return errorf("buffer from a file: %v", err)
	}
	defer file.Close()
	if n, err := io.ReadFull(file, mem); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("it has %d bytes, the buffer %d", n, len(mem))
		}
		return errorf("buffer from %s: %v", f.Path, err)
	}
	var one [1]byte
	if n, _ := file.Read(one[:]); n > 0 {
		return errorf("buffer from %s: it has more than the buffer's %d bytes", f.Path, len(mem))
	}
	return nil
}
