package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/rigprof/rigprof/internal/gpu"
)

// chromeWriter writes waves as Chrome trace event JSON, which Perfetto, chrome://tracing and speedscope load: a process per
// stream, a thread per slot. Times are microseconds; a stream whose clock is not known counts a shader cycle as 1 ns.
type chromeWriter struct {
	w    *bufio.Writer
	some bool
}

func newChromeWriter(w io.Writer) *chromeWriter {
	c := &chromeWriter{w: bufio.NewWriterSize(w, 1<<16)}
	_, _ = c.w.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`) // close tells
	return c
}

func (c *chromeWriter) event(format string, args ...any) {
	if c.some {
		_ = c.w.WriteByte(',')
	}
	c.some = true
	_ = c.w.WriteByte('\n')
	_, _ = fmt.Fprintf(c.w, format, args...)
}

func (c *chromeWriter) name(pid, tid int, what, name string) {
	c.event(`{"ph":"M","pid":%d,"tid":%d,"name":%s,"args":{"name":%s}}`, pid, tid, quote(what), quote(name))
}

// slice writes a complete event whose times are shader cycles.
func (c *chromeWriter) slice(pid, tid int, name string, start, stop int64, psPerCycle float64, args string) {
	from, to := picos(start, psPerCycle), picos(stop, psPerCycle)
	c.event(`{"ph":"X","pid":%d,"tid":%d,"name":%s,"ts":%s,"dur":%s,"args":{%s}}`, pid, tid, quote(name), micros(from), micros(to-from), args)
}

func (c *chromeWriter) close() error {
	_, _ = c.w.WriteString("\n]}\n")
	return c.w.Flush()
}

// picos is cycles in picoseconds. It grows with cycles, so slices that nest stay nested.
func picos(cycles int64, psPerCycle float64) int64 {
	return int64(math.Round(float64(cycles) * psPerCycle))
}

// micros is picoseconds in microseconds, exact.
func micros(ps int64) string {
	if ps%1e6 == 0 {
		return strconv.FormatInt(ps/1e6, 10)
	}
	sign := ""
	if ps < 0 {
		sign, ps = "-", -ps
	}
	return fmt.Sprintf("%s%d.%06d", sign, ps/1e6, ps%1e6)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// slot is a place that holds one wave at a time.
type slot struct{ cu, simd, slot int }

// slots gives the places that waves ran in, in order of unit, SIMD and slot, and each one's number from 1.
func slots(waves []Wave) ([]slot, map[slot]int) {
	number := map[slot]int{}
	var list []slot
	for _, w := range waves {
		k := slot{w.CU, w.SIMD, w.Slot}
		if _, ok := number[k]; !ok {
			number[k] = 0
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.cu, b.cu), cmp.Compare(a.simd, b.simd), cmp.Compare(a.slot, b.slot))
	})
	for i, k := range list {
		number[k] = i + 1
	}
	return list, number
}

// waves writes a process with a thread per slot; name names a wave's slice.
func (c *chromeWriter) waves(pid int, process string, f gpu.Family, waves []Wave, psPerCycle float64, name string) {
	c.name(pid, 0, "process_name", process)
	list, number := slots(waves)
	for i, k := range list {
		c.name(pid, i+1, "thread_name", fmt.Sprintf("%s %d SIMD %d slot %d", unitName(f), k.cu, k.simd, k.slot))
	}
	for _, w := range waves {
		c.slice(pid, number[slot{w.CU, w.SIMD, w.Slot}], name, w.Start, w.Stop, psPerCycle,
			fmt.Sprintf(`"start":%d,"stop":%d,"lanes":%d`, w.Start, w.Stop, w.Lanes))
	}
}

// Chrome writes the waves for a trace viewer.
func (d *Decoded) Chrome(w io.Writer) error {
	c := newChromeWriter(w)
	for i := range d.Streams {
		s := &d.Streams[i]
		c.waves(i+1, s.File, s.family, s.Waves, psPerCycle(s.Realtime), "wave")
	}
	return c.close()
}

// refPicos is the length of a tick of realtime markers: they count at 100 MHz on the RDNA parts that write them.
const refPicos = 10000

// psPerCycle is the mean length of a shader cycle between the first and the last realtime marker; without two of them 1 ns.
func psPerCycle(realtime [][2]int64) float64 {
	if n := len(realtime); n > 1 {
		shader, ref := realtime[n-1][0]-realtime[0][0], realtime[n-1][1]-realtime[0][1]
		if shader > 0 && ref > 0 {
			return float64(ref) * refPicos / float64(shader)
		}
	}
	return 1000
}
