package sqtt

import (
	"math"
	"math/bits"

	"github.com/rigprof/rigprof/internal/gpu"
)

// Wave is one wave that starts and ends in a stream.
type Wave struct {
	Start, Stop Cycles
	CU          uint8 // GFX9: the CU. From GFX11 on the WGP, with its array above it: array<<3 on GFX11, array<<4 on GFX12
	SIMD        uint8
	Slot        uint8
	Lanes       uint8 // active at the start; 0 where the start says none (a restored wave, say)
	ME, Pipe    uint8 // of the queue that started it
}

// set makes w a copy of a wave whose fields may just have been stored: a processor's load of several at once would wait until they
// are in its cache.
func (w *Wave) set(from *Wave) {
	w.Start, w.Stop = from.Start, from.Stop
	w.CU, w.SIMD, w.Slot, w.Lanes, w.ME, w.Pipe = from.CU, from.SIMD, from.Slot, from.Lanes, from.ME, from.Pipe
}

// Array is the wave's shader array within its engine, Unit its WGP (CU) within the array.
func (w Wave) Array(f gpu.Family) int {
	switch f {
	case gpu.GFX11:
		return int(w.CU >> 3)
	case gpu.GFX12:
		return int(w.CU >> 4)
	}
	return 0
}

// Unit is the wave's WGP, or CU on GFX9, within its array.
func (w Wave) Unit(f gpu.Family) int {
	switch f {
	case gpu.GFX11:
		return int(w.CU & 7)
	case gpu.GFX12:
		return int(w.CU & 15)
	}
	return int(w.CU)
}

// LossKind is a way in which a stream says less than what happened.
type LossKind uint8

// The kinds of losses.
const (
	LossStart   LossKind = iota // a start whose end was lost: its slot started again
	LossEnd                     // an end whose start was lost
	LossOpen                    // a start without an end at the stream's end
	LossPackets                 // a token by which the hardware says that it lost tokens
	LossStall                   // the trace stalled the waves: nothing is lost, but times are the trace's
	LossUnknown                 // bits that no token layout matches, skipped
	LossEmpty                   // whole 64-byte lines of zeros: a hole in the buffer, or what was never written
	LossTail                    // bits at the end that are no whole token
	numLossKinds
)

var lossNames = [numLossKinds]string{
	"dropped_starts", "dropped_ends", "open_at_end", "packets_lost", "stalls", "unknown", "empty", "tail",
}

// String is the name under which outputs count the kind, "dropped_starts".
func (k LossKind) String() string {
	if k < numLossKinds {
		return lossNames[k]
	}
	return "?"
}

// Loss is one loss and where it is.
type Loss struct {
	Kind LossKind
	Off  int64  // bits from the stream's start
	Time Cycles // shader time there; -1 where it is not known (LossEmpty)
	N    int64  // how many of the kind's unit
}

// maxLosses is how many losses are kept with their place; the counts go on.
const maxLosses = 256

// Losses counts what a stream lacks.
type Losses struct {
	DroppedStarts int64
	DroppedEnds   int64
	OpenAtEnd     int64
	PacketsLost   int64 // tokens that say so; how many they stand for is not known
	Stalls        int64 // begun
	StallCycles   Cycles
	UnknownBits   int64
	EmptyBytes    int64
	TailBits      int64

	First []Loss // the first of them with their places: at most 256 in order of the tokens that showed them, then what the end
	// leaves open, then at most 256 runs of empty lines
}

// Any says whether anything is missing. A tail of a few bits alone is not: hardware cuts its last token.
func (l *Losses) Any() bool {
	return l.DroppedStarts+l.DroppedEnds+l.OpenAtEnd+l.PacketsLost+l.UnknownBits+l.EmptyBytes != 0
}

// Count is the count of a kind, in its unit: tokens, bits for LossUnknown and LossTail, bytes for LossEmpty.
func (l *Losses) Count(k LossKind) int64 {
	if p := l.counter(k); p != nil {
		return *p
	}
	return 0
}

func (l *Losses) counter(k LossKind) *int64 {
	switch k {
	case LossStart:
		return &l.DroppedStarts
	case LossEnd:
		return &l.DroppedEnds
	case LossOpen:
		return &l.OpenAtEnd
	case LossPackets:
		return &l.PacketsLost
	case LossStall:
		return &l.Stalls
	case LossUnknown:
		return &l.UnknownBits
	case LossEmpty:
		return &l.EmptyBytes
	case LossTail:
		return &l.TailBits
	}
	return nil
}

func (l *Losses) add(k LossKind, off int64, at Cycles, n int64) {
	*l.counter(k) += n
	if i := len(l.First) - 1; i >= 0 && l.First[i].Kind == k && k == LossUnknown && l.First[i].Off+l.First[i].N == off {
		l.First[i].N += n // one run
		return
	}
	if len(l.First) < maxLosses {
		l.First = append(l.First, Loss{k, off, at, n})
	}
}

// Result is what a stream holds beside its instructions.
type Result struct {
	Family gpu.Family // whose layout the stream ended with
	Bytes  int64
	Header int // bytes of the GFX9 software header that were left out

	Waves   []Wave
	Open    []Wave   // those that run when the stream ends, whose Stop means nothing; in no order
	Markers []Marker // realtime markers, as they stand
	End     Cycles   // time of the last token
	Losses  Losses
}

// Clock maps shader time to the count of the GPU's reference clock.
type Clock struct {
	m []Marker // at distinct times
}

// NewClock makes a clock of a stream's realtime markers, which stand in time order. Of several at one shader time the last
// counts. It is false with fewer than two distinct ones.
func NewClock(markers []Marker) (Clock, bool) {
	var c Clock
	for _, m := range markers {
		if n := len(c.m); n > 0 && c.m[n-1].Shader == m.Shader {
			c.m[n-1] = m
			continue
		}
		c.m = append(c.m, m)
	}
	return c, len(c.m) >= 2
}

// At is the reference clock's count at shader time t: on the line through the markers around t, or through the first or
// last two. Division truncates toward zero. A count beyond 64 bits is the nearest int64.
func (c Clock) At(t Cycles) int64 {
	if len(c.m) < 2 {
		return 0
	}
	lo, hi := 1, len(c.m)-1 // the line ends at marker lo
	for lo < hi {
		if mid := (lo + hi) / 2; c.m[mid].Shader < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	a, b := c.m[lo-1], c.m[lo]
	return addSat(a.Realtime, mulDiv(int64(t-a.Shader), b.Realtime-a.Realtime, int64(b.Shader-a.Shader)))
}

// mulDiv is x*y/z, z not 0, truncated toward zero and limited to an int64.
func mulDiv(x, y, z int64) int64 {
	neg := (x < 0) != (y < 0) != (z < 0)
	hi, lo := bits.Mul64(abs(x), abs(y))
	d := abs(z)
	q := uint64(math.MaxUint64)
	if hi < d {
		q, _ = bits.Div64(hi, lo, d)
	}
	switch {
	case neg && q > 1<<63:
		return math.MinInt64
	case neg:
		return -int64(q)
	case q > math.MaxInt64:
		return math.MaxInt64
	}
	return int64(q)
}

func abs(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func addSat(x, y int64) int64 {
	s := x + y
	switch {
	case y > 0 && s < x:
		return math.MaxInt64
	case y < 0 && s > x:
		return math.MinInt64
	}
	return s
}
