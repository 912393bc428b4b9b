package launch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Check is what a buffer must hold after the launch: bytes with a checksum, or the bytes of a file, or, where a kernel
// rounds as it likes, a sum and samples within a tolerance: |got - want| <= abs + rel * |want|.
type Check struct {
	SHA256  string       `yaml:"sha256"`
	File    string       `yaml:"file"` // the right bytes
	Sum     Number       `yaml:"sum"`  // of all elements
	Abs     float64      `yaml:"abs"`
	Rel     float64      `yaml:"rel"`
	Samples [][2]float64 `yaml:"samples"` // index, value
}

// Number is a number as it is written, of any size.
type Number string

// UnmarshalYAML keeps the text of a scalar.
func (n *Number) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a number is expected", node.Line)
	}
	*n = Number(node.Value)
	return nil
}

func (c *Check) valid(p *Param) error {
	if c.SHA256 != "" {
		if b, err := hex.DecodeString(c.SHA256); err != nil || len(b) != sha256.Size {
			return errorf("check: sha256 is not of 64 hex digits")
		}
	}
	if c.SHA256 == "" && c.File == "" && c.Sum == "" && len(c.Samples) == 0 {
		return errorf("check: nothing to compare with: sha256, file, sum or samples")
	}
	if c.Sum != "" {
		if _, ok := new(big.Float).SetString(string(c.Sum)); !ok {
			return errorf("check: sum %q is no number", string(c.Sum))
		}
	}
	for _, s := range c.Samples {
		if s[0] < 0 || s[0] != math.Trunc(s[0]) || s[0] >= float64(p.Count) {
			return errorf("check: sample of element %g, the buffer has %d", s[0], p.Count)
		}
	}
	return nil
}

// Failure is a buffer that does not hold what it should.
type Failure struct {
	Buffer *Filled
	Lines  []string // what differs, the most telling first
}

func (f Failure) Error() string {
	return fmt.Sprintf("launch: buffer %s is wrong:\n  %s", f.Buffer.Label(), strings.Join(f.Lines, "\n  "))
}

// maxShown is how many wrong elements a failure lists.
const maxShown = 8

// verify compares a buffer's content; nil means that it is right.
func (c *Check) verify(mem []byte, t Type) []string {
	var out []string
	if c.File != "" {
		want, err := os.ReadFile(c.File)
		if err != nil {
			return []string{fmt.Sprintf("%v", err)}
		}
		out = append(out, c.compare(mem, want, t)...)
	}
	if c.SHA256 != "" {
		got := sha256.Sum256(mem)
		if hex.EncodeToString(got[:]) == strings.ToLower(c.SHA256) {
			return out // exact: sum and samples can tell no more
		}
		out = append(out, fmt.Sprintf("sha256 is %x, should be %s", got, strings.ToLower(c.SHA256)))
	}
	size := t.Size()
	wrong := 0
	for _, s := range c.Samples {
		i := int(s[0])
		got := t.float(t.get(mem[i*size:]))
		if !c.close(got, s[1]) {
			if wrong++; wrong <= maxShown {
				out = append(out, fmt.Sprintf("[%d] is %s, should be %.9g (off by %.3g, %.3g allowed)", i, t.format(t.get(mem[i*size:])), s[1],
					math.Abs(got-s[1]), c.Abs+c.Rel*math.Abs(s[1])))
			}
		}
	}
	if wrong > 0 {
		out = append(out, fmt.Sprintf("%d of %d sampled elements are wrong", wrong, len(c.Samples)))
	}
	if c.Sum != "" {
		out = append(out, c.verifySum(mem, t)...)
	}
	if len(out) > 0 && c.File == "" { // the right elements are not known: show what is there
		var first []string
		for i := 0; i < min(maxShown, len(mem)/size); i++ {
			first = append(first, t.format(t.get(mem[i*size:])))
		}
		out = append(out, "it starts with "+strings.Join(first, ", "))
	}
	return out
}

func (c *Check) close(got, want float64) bool {
	return got == want || math.Abs(got-want) <= c.Abs+c.Rel*math.Abs(want)
}

// compare lists the first elements that differ from those of want.
func (c *Check) compare(mem, want []byte, t Type) (out []string) {
	if len(want) != len(mem) {
		return []string{fmt.Sprintf("it has %d bytes, %s %d", len(mem), c.File, len(want))}
	}
	if bytes.Equal(mem, want) {
		return nil
	}
	size, wrong := t.Size(), 0
	for i := 0; i < len(mem); i += size {
		g, w := t.get(mem[i:]), t.get(want[i:])
		if g == w || t.Float() && c.close(t.float(g), t.float(w)) {
			continue
		}
		if wrong++; wrong <= maxShown {
			out = append(out, fmt.Sprintf("[%d] is %s, should be %s", i/size, t.format(g), t.format(w)))
		}
	}
	if wrong > 0 {
		out = append(out, fmt.Sprintf("%d of %d elements are wrong", wrong, len(mem)/size))
	}
	return out
}

// verifySum compares the sum: of integers exactly, of floats within the tolerance of all elements together.
func (c *Check) verifySum(mem []byte, t Type) []string {
	size := t.Size()
	if !t.Float() {
		want, ok := new(big.Int).SetString(string(c.Sum), 0)
		if !ok {
			return []string{fmt.Sprintf("the check's sum %s is no integer, the buffer is of %s", string(c.Sum), t)}
		}
		got, part, left := new(big.Int), int64(0), 0
		flush := func() {
			got.Add(got, big.NewInt(part))
			part, left = 0, 1<<30
		}
		for i := 0; i+size <= len(mem); i += size {
			v := t.get(mem[i:])
			switch {
			case t == U64:
				got.Add(got, new(big.Int).SetUint64(v))
				continue
			case t == I64:
				got.Add(got, big.NewInt(int64(v)))
				continue
			case t.Signed():
				part += t.signed(v)
			default:
				part += int64(v)
			}
			if left--; left <= 0 {
				flush()
			}
		}
		flush()
		if got.Cmp(want) != 0 {
			return []string{fmt.Sprintf("the sum is %v, should be %v", got, want)}
		}
		return nil
	}
	want, _ := new(big.Float).SetString(string(c.Sum))
	w, _ := want.Float64()
	// Neumaier's summation: the error does not grow with the count.
	var sum, rest, abs float64
	for i := 0; i+size <= len(mem); i += size {
		v := t.float(t.get(mem[i:]))
		s := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			rest += sum - s + v
		} else {
			rest += v - s + sum
		}
		sum = s
		abs += math.Abs(v)
	}
	got := sum + rest
	allowed := float64(len(mem)/size)*c.Abs + abs*(c.Rel+0x1p-52)
	if math.Abs(got-w) <= allowed {
		return nil
	}
	return []string{fmt.Sprintf("the sum is %.9g, should be %.9g (%.3g allowed)", got, w, allowed)}
}
